//! Tests that a snippet in a product's own file is read as the same strategy.

use std::any::Any;
use std::fs;

use super::super::{Overrides, load};
use super::*;
use crate::products::Strategy;
use crate::products::argo_cd::ArgoCdStrategy;

/// Returns the strategy in an experiment file for ten clusters. `files` are written next to the experiment.
fn strategy(written: &str, files: &[(&str, &str)]) -> Arc<dyn Strategy> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let text = format!(
        "name: snippets\nfleet:\n  - {{name: \"a-{{1..4}}\", labels: {{env: staging}}}}\n  - {{name: \"b-{{1..6}}\", \
         labels: {{env: prod}}}}\nrelease:\n  kind: update\n  images: [{{name: shop, manifest: {{layers: [{{size: \
         1 MB}}]}}, previous: {{layers: [{{size: 1 MB}}]}}}}]\n  workloads: [{{kind: DaemonSet, image: shop}}]\n\
         strategies:\n  it: {written}\n"
    );
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, text).expect("written");
    let experiment =
        load(&file, &Overrides::default()).unwrap_or_else(|error| panic!("{written}: {error}"));
    Arc::clone(&experiment.variants[0].scenario.applications[0].strategy)
}

/// The user's own text around a snippet, as a function of the snippet.
type Around = fn(&str) -> String;

/// Returns an ApplicationSet that contains a snippet, which is a `spec` without the parts that produce applications.
fn application_set(snippet: &str) -> String {
    format!(
        "kind: ApplicationSet\n{snippet}  generators: [{{clusters: {{}}}}]\n  template: {{spec: {{syncPolicy: {{automated: {{enabled: true}}}}}}}}\n"
    )
}

#[test]
fn a_snippet_in_the_products_own_file_gives_the_same_strategy() {
    let fleet = "{rancherFleet: {maxUnavailable: 7%, autoPartitionSize: 3, maxNew: 9, maxUnavailablePartitions: 1, \
                 partitions: [{name: canary, maxUnavailable: 1, clusterSelector: {matchLabels: {env: staging}}}, \
                 {name: rest, clusterSelector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}}]}}";
    let argo = "{argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: env, \
                operator: In, values: [staging]}]}, {matchExpressions: [{key: env, operator: NotIn, values: \
                [staging]}], maxUpdate: 25%}]}}}}";
    let proposal = "{argoCdProposal: {strategy: {type: RollingUpdate, rollingUpdate: {steps: [{maxUpdate: 3}, \
                    {maxUpdate: 50%}]}}}}";
    let staged = "{kubeFleetStaged: {stages: [{name: canary, labelSelector: {matchLabels: {env: staging}}, \
                  afterStageTasks: [{type: TimedWait, waitTime: 1h}]}, {name: rest, labelSelector: {matchLabels: \
                  {env: prod}}, maxConcurrency: 50%}]}}";
    let rolling =
        "{kubeFleetRolling: {maxUnavailable: 20%, maxSurge: 0, unavailablePeriodSeconds: 15}}";
    let cloud = "{cloudFoundry: {strategy: canary, maxInFlight: 4, canarySteps: [{instance_weight: 10}, \
                 {instance_weight: 50}]}}";
    let cloud_rolling = "{cloudFoundry: {strategy: rolling, maxInFlight: 7}}";
    let plain = |text: &str| text.to_owned();
    let cases: [(&str, &str, Around, &str); 7] = [
        (
            fleet,
            "fleet.yaml",
            plain,
            "{rancherFleet: {file: fleet.yaml}}",
        ),
        (
            argo,
            "set.yaml",
            application_set,
            "{argoCd: {file: set.yaml, generate: false}}",
        ),
        (
            proposal,
            "set.yaml",
            application_set,
            "{argoCdProposal: {file: set.yaml}}",
        ),
        (
            staged,
            "staged.yaml",
            plain,
            "{kubeFleetStaged: {file: staged.yaml}}",
        ),
        (
            rolling,
            "placement.yaml",
            plain,
            "{kubeFleetRolling: {file: placement.yaml}}",
        ),
        (
            cloud,
            "deployment.json",
            plain,
            "{cloudFoundry: {file: deployment.json}}",
        ),
        (
            cloud_rolling,
            "deployment.json",
            plain,
            "{cloudFoundry: {file: deployment.json}}",
        ),
    ];
    for (written, name, around, from_file) in cases {
        let wanted = strategy(written, &[]);
        let snippet = wanted.snippet().expect("products have files");
        let read = strategy(from_file, &[(name, &around(&snippet.text))]);
        // For an ApplicationSet only the strategy comes from the snippet; the rest comes from the user's file.
        let sets = [&wanted, &read]
            .map(|strategy| (&**strategy as &dyn Any).downcast_ref::<ArgoCdStrategy>());
        match sets {
            [Some(wanted), Some(read)] => {
                assert_eq!(wanted.spec.strategy, read.spec.strategy, "{}", snippet.text);
            }
            _ => assert_eq!(
                format!("{wanted:?}"),
                format!("{read:?}"),
                "{}",
                snippet.text
            ),
        }
    }
}

#[test]
fn baselines_belong_to_no_product() {
    for written in ["{allAtOnce: {}}", "{oneByOne: {}}", "{batches: {size: 2}}"] {
        assert_eq!(strategy(written, &[]).snippet(), None, "{written}");
    }
}
