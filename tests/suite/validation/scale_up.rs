//! Scale-ups from zero nodes: the time until a new node is ready, as users report it.
//!
//! *Karpenter.* An event list of aws/karpenter-provider-aws#1639 (2022) has a pod that fits on no node after 8 min 8 s
//! before its end, and its first pull 88 s later, on the new node. A report on placeholders for nodes (2026) has one
//! pod on AWS that is bound after 59 s. *OVHcloud.* ovh/public-cloud-roadmap#1198 (2026): 5 to 10 min from a request to
//! a ready node, and 1 to 3 min on EKS and Scaleway Kapsule.
//!
//! All are simulated with the defaults, whose sources are other reports.

use fleetsim::stats;
use fleetsim::world::{
    AutoscalingSpec, CountOrPercent, Event, ScalingEvent, WorkloadKind, WorldSpec, calibration,
};

use super::table::{check_missed, compare, title};
use super::worlds::{DAY, cloud, play};

/// Number of runs of which the median is taken.
const RUNS: u64 = 101;

/// One pod in a cluster without nodes, as a user gets it.
fn from_zero() -> WorldSpec {
    let mut world = cloud();
    world.clusters[0].autoscaling = Some(AutoscalingSpec {
        min_nodes: Some(0),
        max_nodes: 1,
        pods_per_node: 1,
        decision: calibration::SCALING_DECISION,
        provisioning: calibration::NODE_PROVISIONING,
        creation: None,
    });
    world.applications[0].workloads[0].kind = WorkloadKind::Deployment {
        replicas: 1,
        max_unavailable: CountOrPercent::Percent(25),
        max_surge: CountOrPercent::Percent(25),
        progress_deadline: DAY,
    };
    world
}

#[test]
fn a_new_node_takes_the_time_of_reports_in_the_middle() {
    let world = from_zero();
    let mut joins = Vec::new();
    let mut pulls = Vec::new();
    for seed in 0..RUNS {
        let played = play(&world, seed, DAY);
        joins.extend(
            played.times(|event| matches!(event, Event::Scaling(_, ScalingEvent::NodeJoins))),
        );
        pulls.push(played.pulls[0].began.as_secs_f64());
    }
    let median = |times: &[f64]| stats::median(&stats::sorted(times)).expect("runs");
    let (join, pull) = (median(&joins), median(&pulls));
    title("From zero nodes, one pod, s", "none");
    let mut missed = Vec::new();
    for (name, ours, published) in [
        ("Karpenter, to the first pull", pull, 88.0),
        ("Karpenter, to a bound pod", join, 59.0),
        ("OVHcloud, to a ready node", join, 450.0),
    ] {
        if compare(name, ours, published).abs() > 0.2 {
            missed.push(name.to_owned());
        }
    }
    assert!(
        (60.0..180.0).contains(&join),
        "1 to 3 min on EKS and Scaleway: {join}"
    );
    let differs = "clouds differ by a factor of ten, and the default is in their middle";
    check_missed(
        &missed,
        &[
            ("Karpenter, to a bound pod", differs),
            ("OVHcloud, to a ready node", differs),
        ],
        "20 %",
    );
}
