//! A strategy as its product's own file has it, ready to be pasted: with all its settings, not only those that were
//! searched, so that nothing is left to a default that somebody else's file has changed.
//!
//! Left out: what is of this program alone, such as `rules`, `defects` and when people give approvals.

use serde_json::{Map, Value, json};

use super::Strategy;
use crate::document::yaml::to_yaml;
use crate::results::Snippet;
use crate::rollout::cloud_foundry::DeploymentOptions;

const KUBEFLEET: &str = "placement.kubernetes-fleet.io/v1beta1";

/// The strategy as a piece of its product's own file. `None` for the baselines, which no product has.
#[must_use]
pub fn snippet(strategy: &Strategy) -> Option<Snippet> {
    let json = |value: Result<Value, serde_json::Error>| value.expect("configurations are plain data");
    let (place, text) = match strategy {
        Strategy::RancherFleet { strategy, .. } => {
            let block = json(serde_json::to_value(strategy));
            ("Rancher Fleet, in fleet.yaml", to_yaml(&json!({ "rolloutStrategy": block })))
        }
        Strategy::ArgoCd { spec, .. } => {
            let block =
                spec.strategy.as_ref().map_or_else(|| json!({}), |strategy| json(serde_json::to_value(strategy)));
            ("Argo CD, in the ApplicationSet", to_yaml(&json!({ "spec": { "strategy": block } })))
        }
        Strategy::ArgoCdProposal { strategy } => {
            let block = json(serde_json::to_value(strategy));
            ("the proposal for Argo CD, which no release has", to_yaml(&json!({ "spec": { "strategy": block } })))
        }
        Strategy::KubeFleetStaged { strategy, .. } => {
            let object = json!({
                "apiVersion": KUBEFLEET,
                "kind": "ClusterStagedUpdateStrategy",
                "metadata": { "name": "planned" },
                "spec": json(serde_json::to_value(strategy)),
            });
            ("KubeFleet, a strategy for staged update runs", to_yaml(&object))
        }
        Strategy::KubeFleetRolling { config, .. } => {
            let block = json(serde_json::to_value(config));
            let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": block });
            ("KubeFleet, in the ClusterResourcePlacement", to_yaml(&json!({ "spec": { "strategy": strategy } })))
        }
        Strategy::CloudFoundry { deployment } => {
            let body = request(&deployment.options);
            let mut text = serde_json::to_string_pretty(&body).expect("plain data");
            text.push('\n');
            ("Cloud Foundry, the body of POST /v3/deployments (without the app)", text)
        }
        Strategy::AllAtOnce {} | Strategy::Batches { .. } | Strategy::OneByOne {} => return None,
    };
    Some(Snippet { place: place.to_owned(), text })
}

/// The body of the request that means these options. `cf push` has them as `--strategy`, `--max-in-flight` and
/// `--instance-steps`.
fn request(options: &DeploymentOptions) -> Value {
    let mut of_request = Map::new();
    of_request.insert("max_in_flight".to_owned(), json!(options.max_in_flight));
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            of_request.insert(key.to_owned(), value);
        }
    };
    set("web_instances", options.web_instances.map(Value::from));
    set("memory_in_mb", options.memory_in_mb.map(Value::from));
    set("disk_in_mb", options.disk_in_mb.map(Value::from));
    set("log_rate_limit_in_bytes_per_second", options.log_rate_limit_in_bytes_per_second.map(Value::from));
    let steps = options.canary_steps.as_ref().map(|steps| {
        let steps: Vec<Value> = steps.iter().map(|weight| json!({ "instance_weight": weight })).collect();
        json!({ "steps": steps })
    });
    set("canary", steps);
    json!({ "strategy": options.strategy, "options": of_request })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Overrides, load};
    use super::*;

    /// One strategy of an experiment file over ten clusters; `files` are written beside it.
    fn strategy(written: &str, files: &[(&str, &str)]) -> Strategy {
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
        let experiment = load(&file, &Overrides::default()).unwrap_or_else(|error| panic!("{written}: {error}"));
        experiment.variants[0].scenario.strategy.clone()
    }

    /// What is the user's own around a snippet.
    type Around = fn(&str) -> String;

    /// An ApplicationSet around a snippet, which is its `spec` without what makes applications.
    fn application_set(snippet: &str) -> String {
        format!(
            "kind: ApplicationSet\n{snippet}  generators: [{{list: {{}}}}]\n  template: {{spec: {{syncPolicy: {{automated: {{enabled: true}}}}}}}}\n"
        )
    }

    #[test]
    fn a_snippet_put_into_the_products_own_file_is_the_very_same_strategy() {
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
        let rolling = "{kubeFleetRolling: {maxUnavailable: 20%, maxSurge: 0, unavailablePeriodSeconds: 15}}";
        let cloud = "{cloudFoundry: {strategy: canary, maxInFlight: 4, canarySteps: [{instance_weight: 10}, \
                     {instance_weight: 50}]}}";
        let cloud_rolling = "{cloudFoundry: {strategy: rolling, maxInFlight: 7}}";
        let plain = |text: &str| text.to_owned();
        let cases: [(&str, &str, Around, &str); 7] = [
            (fleet, "fleet.yaml", plain, "{rancherFleet: {file: fleet.yaml}}"),
            (argo, "set.yaml", application_set, "{argoCd: {file: set.yaml}}"),
            (proposal, "set.yaml", application_set, "{argoCdProposal: {file: set.yaml}}"),
            (staged, "staged.yaml", plain, "{kubeFleetStaged: {file: staged.yaml}}"),
            (rolling, "placement.yaml", plain, "{kubeFleetRolling: {file: placement.yaml}}"),
            (cloud, "deployment.json", plain, "{cloudFoundry: {file: deployment.json}}"),
            (cloud_rolling, "deployment.json", plain, "{cloudFoundry: {file: deployment.json}}"),
        ];
        for (written, name, around, from_file) in cases {
            let wanted = strategy(written, &[]);
            let snippet = snippet(&wanted).expect("products have files");
            let read = strategy(from_file, &[(name, &around(&snippet.text))]);
            // Of an ApplicationSet the strategy is the snippet's; what is around it is the user's own.
            match (&wanted, &read) {
                (Strategy::ArgoCd { spec: wanted, .. }, Strategy::ArgoCd { spec: read, .. }) => {
                    assert_eq!(wanted.strategy, read.strategy, "{}", snippet.text);
                }
                _ => assert_eq!(wanted, read, "{}", snippet.text),
            }
        }
    }

    #[test]
    fn baselines_belong_to_no_product() {
        for written in ["{allAtOnce: {}}", "{oneByOne: {}}", "{batches: {size: 2}}"] {
            assert_eq!(snippet(&strategy(written, &[])), None, "{written}");
        }
    }
}
