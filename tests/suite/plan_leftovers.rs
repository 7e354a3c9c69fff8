//! A plan recommends no setting that leaves more targets on the old version than another one, unless it is allowed.

use super::common::{fleetsim, folder_with, text};

/// Two of twenty sites are cut off for an hour. Without retries, Argo CD leaves them on the old version for good.
const RETRIES: &str = r#"
name: retries
seed: 1
replicates: 4
horizon: 6h
fleet:
  - {name: "near-{01..18}", nodes: 1, downlink: 100 Mbit/s, rtt: 20 ms}
  - {name: "far-{1..2}", labels: {far: "yes"}, nodes: 1, downlink: 100 Mbit/s, rtt: 20 ms}
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
faults: {regional: [{selector: {matchLabels: {far: "yes"}}, windows: [{from: 0s, for: 1h}]}]}
strategies: {argo: {argoCd: {file: never.yaml}}}
plan:
  minimise: t90_median
  limits: [peak_pulls < 100]
  search: {strategies.argo.argoCd.file: [never.yaml, always.yaml]}
"#;

/// An ApplicationSet whose syncs are tried again this often.
fn with_retries(limit: i32) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
spec:
  generators: [{{clusters: {{}}}}]
  template:
    metadata: {{name: '{{{{name}}}}'}}
    spec: {{syncPolicy: {{automated: {{}}, retry: {{limit: {limit}}}}}}}
"
    )
}

/// The plan of [`RETRIES`] with a further line, in one line.
fn retries_planned(allowed: &str) -> String {
    let folder = folder_with(&[
        ("experiment.yaml", &format!("{RETRIES}{allowed}")),
        ("never.yaml", &with_retries(0)),
        ("always.yaml", &with_retries(-1)),
    ]);
    let planned = fleetsim(folder.path())
        .args(["plan", "."])
        .output()
        .expect("it runs");
    let told = text(&planned.stdout);
    assert!(!told.is_empty(), "{}", text(&planned.stderr));
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_setting_that_leaves_more_behind_is_not_recommended_unless_it_is_allowed() {
    let told = retries_planned("");
    for expected in [
        "argo file=always.yaml: t90_median ",
        "argo file=never.yaml: leaves up to 2 behind, more than another setting.",
        "never.yaml leaves more behind",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    // Both are as fast then, and the first is the best so far.
    for allowed in ["allowLeftBehind: 10%", "allowLeftBehind: 2"] {
        let told = retries_planned(allowed);
        let expected = "The best estimate is argo file=never.yaml: ";
        assert!(told.contains(expected), "{told}");
        assert!(
            told.contains(" may stay behind.") && !told.contains("leaves more"),
            "{told}"
        );
    }
}
