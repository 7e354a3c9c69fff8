//! The experiments of Cloud Foundry.

use super::super::files;
use super::{DocumentSetup, UPDATE};

macro_rules! cf {
    ($fields:literal) => {
        (
            concat!(
                "{cloudFoundry: {rules: documented, statuses: documented, countInstances: true, ",
                $fields,
                "}}"
            ),
            concat!("{cloudFoundry: {countInstances: true, ", $fields, "}}"),
        )
    };
}

/// An experiment of Cloud Foundry with this number of instances.
const fn of_cloud_foundry(
    name: &'static str,
    fleet: &'static [(&'static str, &'static str)],
    (documented, shipped): (&'static str, &'static str),
) -> DocumentSetup {
    DocumentSetup {
        name,
        fleet,
        documented,
        shipped,
        ..UPDATE
    }
}

const TEN: &[(&str, &str)] = &[("i-{01..10}", "")];
const FIFTY: &[(&str, &str)] = &[("i-{01..50}", "")];

/// Old instances take eight seconds to end.
const SLOW_ENDS: &str = "  images: [{name: shop, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 1, start: 4 s, readiness: {period: 10 s}, termination: 8 s}]
";

pub(in super::super) const CLOUD_FOUNDRY: &[DocumentSetup] = &[
    DocumentSetup {
        files: &[("deployment.json", files::CANARY)],
        ..of_cloud_foundry("example-canary", TEN, cf!("file: deployment.json, continueAfter: 1 min"))
    },
    of_cloud_foundry("weight-101", TEN, cf!("strategy: canary, canarySteps: [{instance_weight: 101}]")),
    of_cloud_foundry("halves", TEN, cf!("strategy: canary, continueAfter: 1 min, canarySteps: [{instance_weight: 1}, \
        {instance_weight: 15}, {instance_weight: 25}, {instance_weight: 45}]")),
    of_cloud_foundry("same-size", TEN, cf!("strategy: canary, continueAfter: 1 min, canarySteps: [{instance_weight: 19}, \
        {instance_weight: 20}, {instance_weight: 20}, {instance_weight: 21}]")),
    of_cloud_foundry("single-step", TEN, cf!("strategy: canary, continueAfter: 1 min")),
    of_cloud_foundry("cancelled", TEN, cf!("strategy: canary, cancelAfter: 10 min, canarySteps: [{instance_weight: 20}]")),
    of_cloud_foundry("integers", TEN, cf!("strategy: canary, canarySteps: [19, 20, 20, 21]")),
    of_cloud_foundry("default-flight", TEN, cf!("strategy: rolling")),
    of_cloud_foundry("canary-3", TEN, cf!("strategy: canary, maxInFlight: 3, continueAfter: 1 min, canarySteps: [\
        {instance_weight: 50}]")),
    DocumentSetup {
        others: "  images: [{name: shop, manifest: {layers: [{digest: app, size: 100 MB}]}, previous: {layers: [{digest: app, size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 1, start: 4 s, readiness: {period: 10 s}}]
",
        ..of_cloud_foundry("restart", TEN, cf!("strategy: rolling, maxInFlight: 3"))
    },
    DocumentSetup {
        files: &[("deployment.json", files::ROLLING)],
        ..of_cloud_foundry("example-rolling", FIFTY, cf!("file: deployment.json"))
    },
    DocumentSetup { others: SLOW_ENDS, ..of_cloud_foundry("fifty-5", FIFTY, cf!("strategy: rolling, maxInFlight: 5")) },
    of_cloud_foundry("two-in-flight", TEN, cf!("strategy: rolling, maxInFlight: 2")),
    of_cloud_foundry("quota-55", FIFTY, cf!("strategy: rolling, maxInFlight: 5, quota: {organization: {totalInstances: 55}}")),
    of_cloud_foundry("quota-54", FIFTY, cf!("strategy: rolling, maxInFlight: 5, quota: {organization: {totalInstances: 54}}")),
    DocumentSetup {
        others: "faults: {defect: {share: 20%, kind: unready}}\n",
        ..of_cloud_foundry("unhealthy", TEN, cf!("strategy: rolling, maxInFlight: 2"))
    },
];
