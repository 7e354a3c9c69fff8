//! A partial pass makes the same decision as a plain scan of all clusters, for random bundles with several changes
//! between passes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::super::{TargetId, TargetSet};
use super::super::ledger::MemberGroup;
use super::invariants::{cluster, fleet_of, strategy};
use super::*;

/// Number of clusters of a bundle; a set of them needs more than one word.
const CLUSTERS: usize = 90;

/// An event between two passes; clusters are given by number.
#[derive(Clone, Debug)]
enum Event {
    /// The view of a cluster is replaced.
    Replace(usize, ClusterView),
    /// The agent applies the deployed id, and reports whether it is ready.
    Apply(usize, bool),
    /// The bundle is paused or resumed.
    Pause(bool),
    /// All clusters want another version.
    Release(Revision),
    /// The strategy is replaced.
    Strategy(&'static str),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..CLUSTERS, cluster()).prop_map(|(at, view)| Event::Replace(at, view)),
        20 => (0..CLUSTERS, prop::bool::weighted(0.9)).prop_map(|(at, is_ready)| Event::Apply(at, is_ready)),
        1 => any::<bool>().prop_map(Event::Pause),
        1 => prop_oneof![Just(OLD), Just(NEW), Just(Revision(3))].prop_map(Event::Release),
        1 => strategy().prop_map(Event::Strategy),
    ]
}

/// The members of the partitions, determined by a plain scan of all clusters without incremental sets and counts.
struct Scan<'a> {
    plan: &'a Partitioning,
    flags: Vec<u8>,
}

impl PartitionMembers for Scan<'_> {
    fn next(&self, partition: usize, group: MemberGroup, from: u32) -> Option<u32> {
        let members = &self.plan.partitions[partition].members;
        (from..members.len() as u32).find(|place| group.has(self.flags(members[*place as usize])))
    }

    fn count(&self, partition: usize, group: MemberGroup) -> i64 {
        let members = self.plan.partitions[partition].members.iter();
        members
            .filter(|member| group.has(self.flags(**member)))
            .count() as i64
    }

    fn flags(&self, cluster: u32) -> u8 {
        self.flags[cluster as usize]
    }

    fn add_flags(&mut self, cluster: u32, flags: u8) {
        self.flags[cluster as usize] |= flags;
    }
}

/// Returns the actions of a scanning pass, without removals, and the published numbers of its partitions.
fn scanned(fleet: &RancherFleet, view: &BundleView) -> (Vec<BundleAction>, Vec<i64>, i64) {
    let plan = fleet
        .partitioning_of(view)
        .expect("the strategies are valid");
    let ledger = BundleLedger::new(&plan, &fleet.by_name, view, true);
    let mut scan = Scan {
        plan: &plan,
        flags: (0..CLUSTERS as u32)
            .map(|index| ledger.flags(index))
            .collect(),
    };
    let mut pass = BundlePass::new(&plan, &mut scan, ledger.unavailable);
    fleet.decide(&mut pass);
    (
        pass.actions,
        pass.status.partitions,
        pass.status.unavailable_partitions,
    )
}

/// Two schedulers over one view: one examines all clusters in every pass, and the other only clusters that changed.
struct Twins {
    full: RancherFleet,
    quick: RancherFleet,
    view: BundleView,
    changed: TargetSet,
}

impl Twins {
    fn happen(&mut self, event: &Event) {
        match event {
            Event::Replace(at, cluster) => self.view.clusters[*at] = *cluster,
            Event::Apply(at, is_ready) => {
                let Some(deployment) = self.view.clusters[*at].deployment.as_mut() else {
                    return;
                };
                (deployment.applied, deployment.ready) = (deployment.deployed, *is_ready);
            }
            Event::Pause(is_paused) => self.view.paused = *is_paused,
            Event::Release(revision) => {
                self.view
                    .clusters
                    .iter_mut()
                    .for_each(|cluster| cluster.wanted = *revision);
                self.changed.insert_all();
            }
            Event::Strategy(text) => {
                let strategy: RolloutStrategy = serde_saphyr::from_str(text).expect("valid");
                self.full.set_strategy(strategy.clone());
                self.quick.set_strategy(strategy);
            }
        }
        if let Event::Replace(at, _) | Event::Apply(at, _) = event {
            self.changed.insert(*at as u32);
        }
    }

    /// Runs a pass on both schedulers, and stores it unless it is lost. Panics if the passes differ.
    fn pass(&mut self, is_stored: bool) {
        let full = self.full.reconcile(SimTime::ZERO, &self.view);
        let quick = self
            .quick
            .reconcile_changed(SimTime::ZERO, &self.view, &self.changed);
        assert_eq!(quick, full);
        assert_eq!(self.quick.plan, self.full.plan);
        let (actions, partitions, unavailable_partitions) = scanned(&self.full, &self.view);
        let removals = full
            .actions
            .iter()
            .copied()
            .filter(|action| matches!(action, BundleAction::Delete(_)));
        assert_eq!(
            actions.into_iter().chain(removals).collect::<Vec<_>>(),
            full.actions
        );
        assert_eq!(
            (partitions, unavailable_partitions),
            (full.status.partitions, full.status.unavailable_partitions)
        );
        self.changed.clear();
        if is_stored {
            self.view.store(&quick);
            quick
                .status
                .stored
                .iter()
                .for_each(|index| _ = self.changed.insert(*index));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn passes_over_changes_decide_like_full_passes(
        clusters in vec(cluster(), CLUSTERS),
        yaml in strategy(),
        is_documented in any::<bool>(),
        rounds in vec((vec(event(), 0..12), prop::bool::weighted(0.8)), 1..15),
    ) {
        let rules = if is_documented { RuleSet::Documented } else { RuleSet::Shipped };
        let full = RancherFleet::new(serde_saphyr::from_str(yaml).expect("valid"), rules, fleet_of(CLUSTERS));
        let quick = full.clone();
        let (view, changed) = (BundleView { paused: false, clusters }, TargetSet::all(CLUSTERS));
        let mut twins = Twins { full, quick, view, changed };
        for (events, is_stored) in rounds {
            events.iter().for_each(|event| twins.happen(event));
            twins.pass(is_stored);
        }
    }
}

#[test]
fn an_unreported_change_is_not_noticed() {
    let full = RancherFleet::new(
        RolloutStrategy::default(),
        RuleSet::Shipped,
        fleet_of(CLUSTERS),
    );
    let view = BundleView {
        paused: false,
        clusters: vec![ClusterView::settled(OLD); CLUSTERS],
    };
    let mut quick = full;
    let none = TargetSet::new(CLUSTERS);
    assert!(
        quick
            .reconcile_changed(SimTime::ZERO, &view, &none)
            .actions
            .is_empty(),
        "the first pass looks at all"
    );
    let mut later = view;
    later.clusters[3].wanted = NEW;
    assert!(
        quick
            .reconcile_changed(SimTime::ZERO, &later, &none)
            .actions
            .is_empty(),
        "the test above can fail"
    );
    let mut named = none;
    named.insert(3);
    let pass = quick.reconcile_changed(SimTime::ZERO, &later, &named);
    assert_eq!(
        pass.actions,
        [
            BundleAction::Stage(TargetId(3)),
            BundleAction::Deploy(TargetId(3))
        ]
    );
}
