//! Published times of KubeFleet with many staged runs at once.
//!
//! A hub with 1,000 members and 1,000 placements begins 100 staged runs, each over 100 clusters in stages of 20, 30 and
//! 50 with `maxConcurrency` 50 % and no gates. From a run's creation to Succeeded, 116, 132 and 136 s passed (least,
//! median, most; kubefleet-dev/website @7647ead7, report of Q1 2026; 10 attempts). Payloads have no pods.
//!
//! Here 100 placements are 100 applications, ten on each tenth of the members. Nothing is set on these times.
//!
//! Left out: the other 900 placements, which are at rest; the hub's CPU.

use super::{compare, median, runs};

const MEASURED_S: f64 = 132.0;

/// Returns the fleet: tenths of 100 members, each with three parts for the stages.
fn fleet(tenths: usize) -> String {
    let mut members = Vec::new();
    for tenth in 0..tenths {
        for (stage, count) in [20, 30, 50].into_iter().enumerate() {
            members.push(format!(
                "{{name: 'm-{tenth}-{stage}-{{01..{count}}}', nodes: 1, downlink: 10 Gbit/s, rtt: 2 ms, labels: \
                 {{tenth: t{tenth}, stage: s{stage}}}}}"
            ));
        }
    }
    members.join(", ")
}

/// Returns the median time until the product reports a run as complete, in seconds. `runs_each`: the number of runs on
/// each tenth of the members.
fn succeeded_s(tenths: usize, runs_each: usize) -> f64 {
    let mut applications = String::new();
    for tenth in 0..tenths {
        applications += &format!(
            "  'p-{tenth}-{{01..{runs_each:02}}}': {{clusters: {{matchLabels: {{tenth: t{tenth}}}}}, release: \
             {{workloads: []}}}}\n"
        );
    }
    let mut stages = Vec::new();
    for stage in 0..3 {
        stages.push(format!(
            "{{name: s{stage}, labelSelector: {{matchLabels: {{stage: s{stage}}}}}, maxConcurrency: 50%}}"
        ));
    }
    let text = format!(
        "name: runs
question: How long do a hundred staged runs take?
seed: 1
replicates: 1
horizon: 6h
fleet: [{}]
applications:
{applications}strategies:
  staged: {{kubeFleetStaged: {{stages: [{}]}}}}
",
        fleet(tenths),
        stages.join(", ")
    );
    let mut times = Vec::new();
    for record in runs(&text, 1) {
        for row in &record.applications {
            times.push(row.completion_s.expect("every run succeeds"));
        }
    }
    median(times)
}

#[test]
#[ignore = "takes minutes; run it with `cargo test --lib published -- --ignored --nocapture`"]
fn a_hundred_staged_runs_take_longer_than_published() {
    let hundred = succeeded_s(10, 10);
    let error = compare("100 staged runs at once, median, s", hundred, MEASURED_S);
    assert!(error > 0.2, "missed: the only worker is busy for too long");
}
