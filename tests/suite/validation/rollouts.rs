//! Whole rollouts with little work: the overhead of the products themselves.
//!
//! *KubeFleet*: ten placements on 100 of 1,000 member clusters, of a Deployment without pods, `maxUnavailable` 100 %:
//! available after a median of 18 s, range 9 to 22 (kubefleet-dev/website @7647ead7, report of Q1 2026).
//! `placementDelay` is fitted to the median.
//!
//! *Argo CD*: an ApplicationSet of five applications in two steps on one cluster: Healthy after 9, 9 and 10 s, polled
//! every 5 s, so the true times are within (4, 10] (ranakan19/test-yamls @880d01d7). `agent.apply` is fitted to such
//! rollouts. Each application has its own cluster here.
//!
//! Left out: KubeFleet's hundred runs at the same time, which share controllers with 1,000 placements.

use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;

use super::super::common::folder_with;
use super::table::{compare, title};

/// The median over ten runs of the time until all clusters are ready, in seconds.
fn median_s(fleet: &str, replicas: u32, strategy: &str) -> f64 {
    let text = format!(
        "name: rollout\nreplicates: 10\nfleet: {fleet}\nrelease:\n  kind: initial\n  images: [{{name: app, manifest: \
         {{layers: [{{size: 1 kB}}]}}}}]\n  workloads: [{{kind: Deployment, image: app, replicas: {replicas}, start: 0 \
         s}}]\nstrategies: {{one: {{{strategy}}}}}\n"
    );
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let experiment = load(folder.path(), &Overrides::default()).expect("a good experiment");
    let run = |replicate| {
        sim::run(&experiment.variants[0], experiment.seed, replicate).expect("no process")
    };
    let mut times: Vec<f64> = (0..10)
        .map(|at| run(at).run.reachable_ready_s.expect("complete"))
        .collect();
    times.sort_by(f64::total_cmp);
    f64::midpoint(times[4], times[5])
}

#[test]
fn a_placement_of_kubefleet_and_an_application_set_take_as_long_as_measured() {
    let fleet = "[{name: 'm-{001..100}', nodes: 1, downlink: 10 Gbit/s, rtt: 2 ms}]";
    let placement = median_s(
        fleet,
        0,
        "kubeFleetRolling: {maxUnavailable: 100%, unavailablePeriodSeconds: 1}",
    );
    title(
        "KubeFleet, a placement on 100 clusters, s",
        "1 (placementDelay)",
    );
    assert!(
        compare("median of ten", placement, 18.0).abs() < 0.2,
        "calibrated"
    );
    let fleet = "[{name: 'dev-{1..3}', nodes: 1, labels: {env: dev}, downlink: 10 Gbit/s, rtt: 1 ms}, {name: \
                 'prod-{1..2}', nodes: 1, labels: {env: prod}, downlink: 10 Gbit/s, rtt: 1 ms}]";
    let step =
        |env: &str| format!("{{matchExpressions: [{{key: env, operator: In, values: [{env}]}}]}}");
    let steps = format!(
        "rollingSync: {{steps: [{}, {}]}}",
        step("dev"),
        step("prod")
    );
    let set = median_s(
        fleet,
        1,
        &format!("argoCd: {{strategy: {{type: RollingSync, {steps}}}}}"),
    );
    title(
        "Argo CD, an ApplicationSet of five applications, s",
        "1 (agent.apply)",
    );
    compare("median of three, within (4, 10]", set, 7.0);
    assert!((4.0..=10.0).contains(&set), "{set} s");
}
