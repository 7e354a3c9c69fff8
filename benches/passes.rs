//! One pass of a controller over many clusters of which 100 changed: a full pass, and one over what changed.
//!
//! The load is in the id: product, kind of pass, clusters. In each iteration 100 clusters, spread evenly, turn not ready
//! or ready again; the pass is decided and not stored. Before, a rollout of `maxUnavailable: 10%` has begun. A checksum of
//! the decisions is printed, and must be the same for both kinds. Of Cloud Foundry, the load is the only part of a pass
//! that looked at all instances: counting them by state. `cargo test` runs a small load once, so this file keeps working.

#![allow(missing_docs, reason = "the macros of criterion generate public functions")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fleetsim::rollout::cloud_foundry::{InstanceCounts, InstanceReports, LrpState};
use fleetsim::rollout::rancher_fleet::{
    BundleAction, BundleView, ClusterView, FleetCluster, IntOrString, RancherFleet, RolloutStrategy, RuleSet,
};
use fleetsim::rollout::{Revision, TargetSet};
use fleetsim::units::SimTime;

const CHANGES: usize = 100;

/// A bundle in the middle of an update, and the clusters that change in each iteration.
struct Load {
    fleet: RancherFleet,
    view: BundleView,
    changed: TargetSet,
    is_ready: bool,
}

impl Load {
    fn new(clusters: usize) -> Self {
        let max_unavailable = Some(IntOrString::String("10%".to_owned()));
        let strategy = RolloutStrategy { max_unavailable, ..RolloutStrategy::default() };
        let named = |at: usize| FleetCluster { name: format!("c-{at:07}"), ..FleetCluster::default() };
        let mut fleet = RancherFleet::new(strategy, RuleSet::Shipped, (0..clusters).map(named).collect());
        let cluster = ClusterView { wanted: Revision(2), ..ClusterView::settled(Revision(1)) };
        let mut view = BundleView { paused: false, clusters: vec![cluster; clusters] };
        let pass = fleet.reconcile_changed(SimTime::ZERO, &view, &TargetSet::all(clusters));
        view.store(&pass);
        let _ = fleet.reconcile_changed(SimTime::ZERO, &view, &TargetSet::all(clusters));
        let mut changed = TargetSet::new(clusters);
        (0..clusters).step_by((clusters / CHANGES).max(1)).for_each(|at| _ = changed.insert(at as u32));
        Self { fleet, view, changed, is_ready: true }
    }

    fn change(&mut self) {
        self.is_ready = !self.is_ready;
        for index in self.changed.iter() {
            let deployment = self.view.clusters[index as usize].deployment.as_mut();
            deployment.expect("all have one").ready = self.is_ready;
        }
    }

    /// Some passes of one kind: the sum of what they promote.
    fn checksum(&mut self, is_full: bool) -> u64 {
        let mut sum = 0;
        for _ in 0..3 {
            self.change();
            for action in self.pass(is_full) {
                let BundleAction::Deploy(target, revision) = action else { continue };
                sum += u64::from(target.0 + 1) * u64::from(revision.0);
            }
        }
        sum
    }

    fn pass(&mut self, is_full: bool) -> Vec<BundleAction> {
        if is_full {
            self.fleet.reconcile(SimTime::ZERO, &self.view).actions
        } else {
            self.fleet.reconcile_changed(SimTime::ZERO, &self.view, &self.changed).actions
        }
    }
}

#[allow(clippy::print_stderr, reason = "a bench prints its checksum")]
fn passes(criterion: &mut Criterion) {
    let sizes: &[usize] =
        if std::env::args().any(|arg| arg == "--bench") { &[1_000, 100_000, 1_000_000] } else { &[300] };
    let mut group = criterion.benchmark_group("pass");
    group.sample_size(10);
    for &clusters in sizes {
        let sums = [true, false].map(|is_full| Load::new(clusters).checksum(is_full));
        assert_eq!(sums[0], sums[1], "both kinds of pass decide the same");
        eprintln!("fleet {clusters} clusters: checksum {}", sums[0]);
        for (name, is_full) in [("fleet-full", true), ("fleet-changed", false)] {
            let mut load = Load::new(clusters);
            group.bench_function(BenchmarkId::new(name, clusters), |bencher| {
                bencher.iter(|| {
                    load.change();
                    black_box(load.pass(is_full))
                });
            });
        }
    }
    group.finish();
}

/// The reports of a process of which some instances start or become routable, and their counts.
fn instance_counts(criterion: &mut Criterion) {
    let sizes: &[usize] =
        if std::env::args().any(|arg| arg == "--bench") { &[1_000, 100_000, 1_000_000] } else { &[300] };
    let mut group = criterion.benchmark_group("pass");
    group.sample_size(10);
    for &instances in sizes {
        for (name, is_full) in [("cloud-foundry-full", true), ("cloud-foundry-changed", false)] {
            let mut reports = InstanceReports::from(vec![LrpState::Running; instances]);
            let mut is_routable = true;
            group.bench_function(BenchmarkId::new(name, instances), |bencher| {
                bencher.iter(|| {
                    is_routable = !is_routable;
                    let state = if is_routable { LrpState::Running } else { LrpState::Claimed };
                    (0..instances).step_by((instances / CHANGES).max(1)).for_each(|at| reports.set(at, state));
                    let wanted = instances as u32;
                    black_box(if is_full { InstanceCounts::of(wanted, &reports) } else { reports.counts(wanted) })
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // Criterion's plots would need a font that plotters is built without.
    config = Criterion::default().without_plots();
    targets = passes, instance_counts
}
criterion_main!(benches);
