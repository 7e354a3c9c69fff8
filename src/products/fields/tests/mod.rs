mod page;
mod upstream_types;

use super::table::fields_of;
use super::*;
use crate::document::tree::parse_as_product;

fn of_fleet_yaml(text: &str) -> (serde_json::Value, FileCheck) {
    let source = Arc::new(Source::new("fleet.yaml", text));
    let (mut root, replaced) = parse_as_product(1_000, &source).expect("YAML");
    let found = checked(&mut root, &replaced, &source, &FLEET_YAML);
    (root.to_json(), found)
}

fn names(found: &FileCheck) -> Vec<&str> {
    let mut names = Vec::new();
    for field in &found.deciding {
        names.push(&*field.name);
    }
    names
}

#[test]
fn a_deciding_field_is_reported_once_with_its_content() {
    let (_, found) = of_fleet_yaml(
        "helm: {waitForJobs: true, disablePreProcess: false, chart: x}\ndependsOn: [{name: base}, {name: other}]\n\
         ignore: {conditions: [{type: Ready}]}\n",
    );
    assert_eq!(names(&found), ["helm.waitForJobs", "dependsOn[]", "ignore"]);
    assert!(found.problems.is_empty() && found.notes.is_empty());
    let (_, plain) = of_fleet_yaml("helm: {values: {a: 1, b: [x]}}\n");
    assert_eq!(names(&plain), [""; 0]);
    let (_, template) = of_fleet_yaml("helm: {values: {a: ['${ .ClusterLabels.env }']}}\n");
    assert_eq!(names(&template), ["helm.values"]);
}

#[test]
fn names_are_accepted_in_any_letter_case_and_unknown_names_are_noted() {
    let (json, found) =
        of_fleet_yaml("ROLLOUTSTRATEGY: {MaxUnavailable: 5%}\nPaused: true\nmine: 1\n");
    let expected = serde_json::json!({
        "rolloutStrategy": {"maxUnavailable": "5%"}, "paused": true, "mine": 1,
    });
    assert_eq!(json, expected);
    assert_eq!(
        found.notes,
        [
            "`Paused` is read as `paused`: Fleet accepts names in any letter case",
            "`ROLLOUTSTRATEGY` is read as `rolloutStrategy`: Fleet accepts names in any letter case",
            "`MaxUnavailable` is read as `maxUnavailable`: Fleet accepts names in any letter case",
            "`mine` is not a field of Fleet, so it is ignored",
        ]
    );
}

#[test]
fn types_are_rejected_or_rewritten_as_by_fleet() {
    for (text, problem) in [
        (
            "paused: \"true\"\n",
            "fleet.yaml:1:9: paused: must be true or false, but this is the text `true` (help: write it without \
             quotes; Fleet refuses the file)",
        ),
        (
            "helm:\n  timeoutSeconds: \"300\"\n",
            "fleet.yaml:2:19: helm.timeoutSeconds: must be a whole number, but this is the text `300` (help: write it \
             without quotes; Fleet refuses the file)",
        ),
        (
            "rolloutStrategy: {partitions: [{clusterSelector: {matchLabels: {a: yes}}}]}\n",
            "fleet.yaml:1:68: rolloutStrategy.partitions[0].clusterSelector.matchLabels.a: must be a text, but this is \
             `true` (help: write it in quotes; Fleet refuses the file)",
        ),
        (
            "targets: {}\n",
            "fleet.yaml:1:10: targets: must be a list, but this is a map (help: Fleet refuses the file)",
        ),
    ] {
        let (_, found) = of_fleet_yaml(text);
        let shown: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown, [problem]);
    }
    let (json, found) =
        of_fleet_yaml("overrideTargets: [{clusterSelector: {matchLabels: {a: yes, b: 010}}}]\n");
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let labels = json.pointer("/overrideTargets/0/clusterSelector/matchLabels");
    assert_eq!(labels, Some(&serde_json::json!({"a": "true", "b": "8"})));
}

#[test]
fn every_kind_that_a_strategy_reads_has_a_table() {
    for kind in [
        "FleetYAML",
        "Bundle",
        "HelmOp",
        "ApplicationSet",
        "ClusterStagedUpdateStrategy",
        "ClusterResourcePlacement",
        "ClusterStagedUpdateRun",
        "deployment",
    ] {
        assert!(fields_of(kind).is_some(), "{kind}");
    }
}

/// Fields of the types in the pinned modules: the output of `target/controllers/fleet -fields` and `argocd -fields`,
/// without statuses, metadata, and nested generators.
const PINNED: [&str; 2] = [
    include_str!("../pinned/fleet.txt"),
    include_str!("../pinned/argocd.txt"),
];

/// Returns whether a table contains the field, one of its subfields, or a parent field whose contents the table does
/// not list.
fn is_covered(table: &FieldNode, path: &str) -> bool {
    let mut node = table;
    for step in path.replace("[]", ".[]").split('.') {
        let below = match step {
            "[]" => node.items.as_deref(),
            "*" => node.values.as_deref(),
            name => node.fields.get(name),
        };
        let is_leaf = node.fields.is_empty() && node.items.is_none() && node.values.is_none();
        match below {
            Some(below) => node = below,
            None => return is_leaf && node.row.is_some(),
        }
    }
    true
}

fn uncovered(fields: &str) -> Vec<&str> {
    let mut missing = Vec::new();
    for line in fields.lines() {
        let mut parts = line.splitn(3, ',');
        let kind = parts.next().unwrap_or_default();
        let path = parts.next().unwrap_or_default();
        let is_known = fields_of(kind).is_some_and(|table| is_covered(table, path));
        if !is_known {
            missing.push(line);
        }
    }
    missing
}

#[test]
fn every_field_of_the_pinned_types_has_a_class() {
    for fields in PINNED {
        assert!(fields.lines().count() > 400);
        assert_eq!(uncovered(fields), [""; 0]);
    }
}

#[test]
fn a_field_missing_from_the_tables_has_no_class() {
    let added = "FleetYAML,helm.newOption,bool\nFleetYAML,helm.atomic,bool\nBundle,spec.targets[].newList[],[]string\n";
    let missing = uncovered(added);
    assert_eq!(
        missing,
        [
            "FleetYAML,helm.newOption,bool",
            "Bundle,spec.targets[].newList[],[]string"
        ]
    );
}

#[test]
fn cloud_foundry_normalises_several_spellings_of_a_word() {
    for name in [
        "health-check-type",
        "health_check_type",
        "healthCheckType",
        "Health-Check-Type",
    ] {
        assert_eq!(underscored(name), "health_check_type", "{name}");
    }
    assert_eq!(underscored("INSTANCES"), "instances");
    assert_eq!(underscored("HTTPEndpoint"), "http_endpoint");
    assert_eq!(underscored("instances2Max"), "instances2_max");
}

#[test]
fn a_status_that_names_clusters_replaces_selection_by_properties() {
    let kind = ObjectKind::of("ClusterResourcePlacement");
    let policy = "spec: {policy: {placementType: PickN, topologySpreadConstraints: [{topologyKey: zone}]}}\n";
    let of = |text: String| {
        let source = Arc::new(Source::new("placement.yaml", text));
        let (mut root, replaced) = parse_as_product(1_000, &source).expect("YAML");
        checked(&mut root, &replaced, &source, &FileReader::object(&kind))
    };
    let found = of(policy.to_owned());
    assert_eq!(names(&found), ["spec.policy.topologySpreadConstraints[]"]);
    let found = of(format!(
        "{policy}status: {{placementStatuses: [{{clusterName: a}}]}}\n"
    ));
    assert_eq!(names(&found), [""; 0]);
}
