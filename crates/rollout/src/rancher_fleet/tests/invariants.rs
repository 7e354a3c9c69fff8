//! Properties of every pass of random bundles, and a simple, slow implementation of a pass.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn id() -> impl Strategy<Value = Option<Revision>> {
    prop_oneof![Just(None), Just(Some(OLD)), Just(Some(NEW))]
}

prop_compose! {
    pub(super) fn cluster()(
        flags in any::<[bool; 8]>(),
        ids in (id(), id(), id()),
        wanted in prop_oneof![1 => Just(OLD), 4 => Just(NEW)],
        rare in 0..10_u8,
    ) -> ClusterView {
        let [exists, ready, non_modified, failed, paused, off_schedule, was_paused, was_off] = flags;
        let deployment = BundleDeployment {
            staged: ids.0, deployed: ids.1, applied: ids.2, ready, non_modified, failed,
            failure: None,
            paused: was_paused, off_schedule: was_off,
        };
        ClusterView {
            wanted,
            targeted: rare != 0,
            registered: rare != 1,
            paused: paused && rare < 5,
            off_schedule,
            deployment: exists.then_some(deployment),
        }
    }
}

pub(super) fn strategy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{}",
        "{maxUnavailable: 2}",
        "{maxUnavailable: 0}",
        "{maxUnavailable: 20%, autoPartitionThreshold: 1, autoPartitionSize: 3, maxNew: 2}",
        "{maxUnavailablePartitions: 1, autoPartitionThreshold: 1, autoPartitionSize: 30%}",
        "{maxUnavailable: 3, maxNew: 1, partitions: [{name: a, clusterSelector: {matchLabels: {stage: a}}},
          {name: all, maxUnavailable: 1, clusterSelector: {}}]}",
        "{maxNew: 0, partitions: [{name: b, clusterSelector: {matchLabels: {stage: b}}}]}",
    ])
}

pub(super) fn fleet_of(count: usize) -> Vec<FleetCluster> {
    clusters(&[("a", count / 2), ("b", count - count / 2)])
}

/// Runs the shipped pass on the stored objects, one action at a time. Returns the bundle after the pass is stored.
fn naive(strategy: &RolloutStrategy, clusters: &[FleetCluster], view: &BundleView) -> BundleView {
    let names = by_name(clusters, |cluster| &cluster.name);
    let targets: Vec<u32> = names
        .into_iter()
        .filter(|target| view.clusters[*target as usize].targeted)
        .collect();
    let plan = Partitioning::new(strategy, clusters, &targets).expect("the strategies are valid");
    let mut now: Vec<Option<BundleDeployment>> = view
        .clusters
        .iter()
        .map(|c| c.deployment.filter(|_| c.targeted && c.registered))
        .collect();
    let is_unavailable =
        |deployment: &Option<BundleDeployment>| deployment.is_some_and(|d| d.is_unavailable());
    let mut bundle = now
        .iter()
        .filter(|deployment| is_unavailable(deployment))
        .count() as i64;
    let before: Vec<i64> = plan
        .partitions
        .iter()
        .map(|p| {
            p.members
                .iter()
                .filter(|member| is_unavailable(&now[**member as usize]))
                .count() as i64
        })
        .collect();
    let (mut created, mut unavailable_partitions) = (0, 0);
    for (partition, mut unavailable) in plan.partitions.iter().zip(before) {
        for &member in &partition.members {
            let deployment = &mut now[member as usize];
            if deployment.is_none() && created < strategy.max_new.unwrap_or(50) {
                created += 1;
                *deployment = Some(BundleDeployment::default());
            }
            if let Some(deployment) = deployment {
                deployment.staged = Some(view.clusters[member as usize].wanted);
            }
        }
        for &member in &partition.members {
            let Some(deployment) = &mut now[member as usize] else {
                continue;
            };
            let is_paused = view.paused || view.clusters[member as usize].paused;
            if is_paused || deployment.staged.is_none() || deployment.staged == deployment.deployed
            {
                continue;
            }
            let exempt = deployment.is_unavailable();
            if exempt || (bundle < plan.max_unavailable && unavailable < partition.max_unavailable)
            {
                deployment.deployed = deployment.staged;
                bundle += i64::from(!exempt);
                unavailable += i64::from(!exempt);
            }
        }
        let is_behind = |member: &&u32| {
            let wanted = Some(view.clusters[**member as usize].wanted);
            now[**member as usize].is_none_or(|d| {
                d.staged != wanted
                    || d.deployed != wanted
                    || d.applied != wanted
                    || d.is_unavailable()
            })
        };
        let behind = partition.members.iter().filter(is_behind).count() as i64;
        unavailable_partitions += i64::from(behind > partition.max_unavailable);
        if unavailable_partitions > plan.max_unavailable_partitions {
            break;
        }
    }
    let mut after = view.clone();
    for (cluster, deployment) in after.clusters.iter_mut().zip(now) {
        if cluster.targeted && cluster.registered {
            cluster.deployment = deployment.map(|deployment| BundleDeployment {
                paused: cluster.paused || view.paused,
                off_schedule: cluster.off_schedule,
                ..deployment
            });
        } else {
            cluster.deployment = cluster.deployment.filter(|stored| stored.off_schedule);
        }
    }
    after
}

proptest! {
    #[test]
    fn a_pass_stores_the_same_as_a_simple_reference_pass(
        cluster_views in vec(cluster(), 0..25),
        yaml in strategy(),
        paused in prop::bool::weighted(0.1),
    ) {
        let clusters = fleet_of(cluster_views.len());
        let strategy: RolloutStrategy = serde_saphyr::from_str(yaml).expect(yaml);
        let mut view = BundleView { paused, clusters: cluster_views };
        let mut fleet = RancherFleet::new(strategy.clone(), RuleSet::Shipped, clusters.clone());
        let expected = naive(&strategy, &clusters, &view);
        let pass = fleet.reconcile(SimTime::ZERO, &view);
        view.store(&pass);
        prop_assert_eq!(view, expected);
    }

    /// A scheduler's state between passes only saves work, so a new scheduler makes the same decisions.
    #[test]
    fn a_restarted_scheduler_makes_the_same_decisions(
        views in vec(vec(cluster(), 12), 1..5),
        yaml in strategy(),
        documented in any::<bool>(),
    ) {
        let rules = if documented { RuleSet::Documented } else { RuleSet::Shipped };
        let make = || RancherFleet::new(serde_saphyr::from_str(yaml).expect(yaml), rules, fleet_of(12));
        let mut kept = make();
        for clusters in views {
            let view = BundleView { paused: false, clusters };
            prop_assert_eq!(kept.hold(&view), make().hold(&view));
            prop_assert_eq!(kept.reconcile(SimTime::ZERO, &view), make().reconcile(SimTime::ZERO, &view));
        }
    }

    /// The scheduler's decisions depend on the names of the clusters, not on the order of the caller's list.
    #[test]
    fn the_order_of_the_list_has_no_effect(views in vec(cluster(), 12), yaml in strategy(), rotate in 0..12_usize) {
        let strategy: RolloutStrategy = serde_saphyr::from_str(yaml).expect(yaml);
        let decide = |clusters: Vec<FleetCluster>, views: Vec<ClusterView>| {
            let mut view = BundleView { paused: false, clusters: views };
            let pass = RancherFleet::new(strategy.clone(), RuleSet::Shipped, clusters).reconcile(SimTime::ZERO, &view);
            view.store(&pass);
            view.clusters
        };
        let (mut clusters, mut rotated) = (fleet_of(12), views.clone());
        let expected = decide(clusters.clone(), views);
        clusters.rotate_left(rotate);
        rotated.rotate_left(rotate);
        let mut found = decide(clusters, rotated);
        found.rotate_right(rotate);
        prop_assert_eq!(found, expected);
    }

    /// Shipped: at most `maxUnavailable` available clusters of the bundle are updated. Documented: a partition above
    /// its limit starts no batch; without ready clusters, at most 50 clusters more than the limit start.
    #[test]
    fn no_limit_is_exceeded(views in vec(cluster(), 0..25), yaml in strategy(), documented in any::<bool>()) {
        let rules = if documented { RuleSet::Documented } else { RuleSet::Shipped };
        let mut fleet = RancherFleet::new(serde_saphyr::from_str(yaml).expect(yaml), rules, fleet_of(views.len()));
        let view = BundleView { paused: false, clusters: views };
        let pass = fleet.reconcile(SimTime::ZERO, &view);
        let promoted: Vec<&ClusterView> = pass.actions.iter().filter_map(|action| match action {
            BundleAction::Deploy(target) => Some(&view.clusters[target.index()]),
            _ => None,
        }).collect();
        prop_assert!(promoted.iter().all(|cluster| !cluster.paused && cluster.targeted && cluster.registered));
        if rules == RuleSet::Shipped {
            let is_available = |cluster: &&&ClusterView| cluster.deployment.is_some_and(|d| !d.is_unavailable());
            let taken = promoted.iter().filter(is_available).count() as i64;
            let was = view.clusters.iter().filter(|cluster| cluster.targeted && cluster.registered)
                .filter(|cluster| cluster.deployment.is_some_and(|d| d.is_unavailable())).count() as i64;
            let limit = fleet.partitioning().expect("valid").max_unavailable;
            prop_assert!(taken <= (limit - was).max(0));
        }
        // A hold never contradicts a pass that makes progress.
        let moves = pass.actions.iter().any(|a| matches!(a, BundleAction::Deploy(..) | BundleAction::Create(..)));
        let finished = view.clusters.iter().filter(|c| c.targeted).all(ClusterView::is_done);
        prop_assert_eq!(fleet.hold(&view).is_some(), !moves && !finished);
    }
}
