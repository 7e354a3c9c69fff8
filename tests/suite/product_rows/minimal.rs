//! The rows of the tables of fields, and a minimal file for each: the smallest object of its kind with that one field.
//!
//! A value follows from the type of the row. The lists [`VALUES`] and [`SURROUNDINGS`] have the exceptions: the
//! product accepts only certain words, or reads a field only together with others.

use std::fs;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::common::root;

/// A row of `src/products/fields/*.csv`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ClassedField {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) path: String,
    pub(super) go_type: String,
    pub(super) class: String,
    pub(super) effect: String,
    /// The condition under which the field has an effect.
    pub(super) when: String,
}

impl ClassedField {
    /// Returns whether a field is the row's field or inside it.
    fn holds(&self, path: &str) -> bool {
        match path.strip_prefix(&self.path) {
            Some(rest) => rest.is_empty() || rest.starts_with(['.', '[']),
            None => false,
        }
    }

    /// The name by which `accept` refers to the field: its path without the marks of lists and maps.
    pub(super) fn name(&self) -> String {
        let plain = self.path.replace("[]", "");
        let plain = plain.replace('[', ".").replace(']', "");
        plain.trim_end_matches(".*").to_owned()
    }
}

/// The rows of all tables.
pub(super) fn rows() -> Vec<ClassedField> {
    let mut rows = Vec::new();
    for product in ["fleet", "argo_cd", "kubefleet", "cloud_foundry"] {
        let path = root().join(format!("src/products/fields/{product}.csv"));
        let text = fs::read_to_string(path).expect("a table of fields");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for row in reader.deserialize() {
            rows.push(row.expect("a row"));
        }
    }
    rows
}

/// The outermost field with an effect that contains the row's field; messages name that one. `None`: the field has no
/// effect.
pub(super) fn outermost<'r>(
    rows: &'r [ClassedField],
    row: &ClassedField,
) -> Option<&'r ClassedField> {
    let mut around = rows.iter().filter(|outer| {
        outer.kind == row.kind && outer.class == "decides" && outer.holds(&row.path)
    });
    around.next()
}

/// Values that do not follow from the type of the row: the end of a path, and the value in JSON.
const VALUES: [(&str, &str); 22] = [
    ("helm.values", r#"{"a": "${ .ClusterLabels.env }"}"#),
    ("helm.templateValues.*", r#""${ .ClusterLabels.env }""#),
    ("acceptedStates[]", r#""Ready""#),
    ("deletionTimestamp", r#""2026-03-02T08:11:09Z""#),
    (
        "annotations[argocd.argoproj.io/skip-reconcile]",
        r#""true""#,
    ),
    (
        "annotations[argocd.argoproj.io/manifest-generate-paths]",
        r#""/deploy""#,
    ),
    (
        "propertySelector.matchExpressions[].name",
        r#""kubernetes-fleet.io/node-count""#,
    ),
    ("propertySelector.matchExpressions[].operator", r#""Ge""#),
    ("propertySelector.matchExpressions[].values[]", r#""3""#),
    ("propertySorter.name", r#""kubernetes-fleet.io/node-count""#),
    ("propertySorter.sortOrder", r#""Descending""#),
    (
        "topologySpreadConstraints[].whenUnsatisfiable",
        r#""ScheduleAnyway""#,
    ),
    ("topologySpreadConstraints[].topologyKey", r#""ring""#),
    ("applyStrategy.comparisonOption", r#""FullComparison""#),
    ("applyStrategy.whenToApply", r#""IfNotDrifted""#),
    ("applyStrategy.whenToTakeOver", r#""Never""#),
    ("health-check-type", r#""process""#),
    ("health_check.type", r#""process""#),
    ("state", r#""STOPPED""#),
    ("memory", r#""1G""#),
    ("log-rate-limit-per-second", r#""1K""#),
    (
        "sidecars",
        r#"[{"name": "s", "command": "run", "process_types": ["web"]}]"#,
    ),
];

/// A field that is required next to another one: the kind, the path that requires it, its own path, and its value in
/// JSON.
struct Surrounding {
    kind: &'static str,
    asked_by: &'static str,
    path: &'static str,
    value: &'static str,
}

impl Surrounding {
    const fn of(
        kind: &'static str,
        asked_by: &'static str,
        path: &'static str,
        value: &'static str,
    ) -> Self {
        Self {
            kind,
            asked_by,
            path,
            value,
        }
    }
}

const PLACEMENT: &str = "ClusterResourcePlacement";
const REQUIRED: &str = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[]";
const PREFERRED: &str =
    "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[]";

const SURROUNDINGS: [Surrounding; 7] = [
    Surrounding::of(
        "FleetYAML",
        "overrideTargets[]",
        "overrideTargets[]",
        r#"{"clusterSelector": {}}"#,
    ),
    Surrounding::of(
        PLACEMENT,
        "spec.policy.affinity.clusterAffinity.required",
        REQUIRED,
        r#"{"propertySelector": {"matchExpressions": [
            {"name": "kubernetes-fleet.io/node-count", "operator": "Ge", "values": ["2"]}]}}"#,
    ),
    Surrounding::of(
        PLACEMENT,
        "spec.policy.affinity.clusterAffinity.preferred",
        PREFERRED,
        r#"{"weight": 1, "preference": {"labelSelector": {}}}"#,
    ),
    Surrounding::of(
        PLACEMENT,
        "spec.policy.affinity.clusterAffinity.preferred",
        "spec.policy",
        r#"{"placementType": "PickN", "numberOfClusters": 5}"#,
    ),
    Surrounding::of(
        PLACEMENT,
        "spec.policy.topologySpreadConstraints",
        "spec.policy",
        r#"{"placementType": "PickN", "numberOfClusters": 5, "topologySpreadConstraints": [{"topologyKey": "env"}]}"#,
    ),
    Surrounding::of(
        "ApplicationSet",
        "spec.template.spec.syncPolicy.retry.refresh",
        "spec.template.spec.syncPolicy",
        r#"{"automated": {}, "retry": {"limit": 2}}"#,
    ),
    Surrounding::of(
        PLACEMENT,
        "spec.strategy.applyStrategy.serverSideApplyConfig",
        "spec.strategy.applyStrategy",
        r#"{"type": "ServerSideApply"}"#,
    ),
];

/// An object of Kubernetes without a spec.
fn object(kind: &str, version: &str) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": "shop"}})
}

/// The smallest valid file of a kind.
fn base(kind: &str) -> Value {
    match kind {
        "FleetYAML" => json!({"defaultNamespace": "shop"}),
        "Bundle" | "HelmOp" => {
            let mut bundle = object(kind, "fleet.cattle.io/v1alpha1");
            bundle["spec"] = json!({"targets": [{"clusterSelector": {}}]});
            bundle
        }
        "ApplicationSet" => {
            let mut set = object(kind, "argoproj.io/v1alpha1");
            set["spec"] = json!({
                "generators": [{"clusters": {"selector": {"matchLabels": {"kind": "shop"}}}}],
                "template": {
                    "metadata": {"name": "{{name}}", "labels": {"ring": "{{metadata.labels.ring}}"}},
                    "spec": {
                        "project": "default",
                        "source": {"repoURL": "https://git.example.com/shop.git", "path": "deploy", "targetRevision": "v2"},
                        "destination": {"server": "{{server}}", "namespace": "shop"},
                    },
                },
            });
            set
        }
        PLACEMENT => {
            let mut placement = object(kind, "placement.kubernetes-fleet.io/v1beta1");
            placement["spec"] = json!({"strategy": {"type": "RollingUpdate"}});
            placement
        }
        "deployment" => json!({"strategy": "rolling"}),
        "manifest" => json!({"applications": [{"name": "shop", "instances": 5}]}),
        "process" => json!({"guid": "g", "type": "web", "instances": 5}),
        _ => panic!("no file of the kind {kind} is known"),
    }
}

/// A file of the row's kind with the row's field. `rows`: all rows.
pub(super) fn file_with(row: &ClassedField, rows: &[ClassedField]) -> Value {
    let mut file = base(&row.kind);
    if row.path.starts_with("spec.generators[]") {
        file["spec"]["generators"] = json!([]);
    }
    for surrounding in &SURROUNDINGS {
        if surrounding.kind == row.kind && row.path.starts_with(surrounding.asked_by) {
            put(
                &mut file,
                &steps(surrounding.path),
                in_json(surrounding.value),
            );
        }
    }
    if row.path.contains("processes[].") {
        put(
            &mut file,
            &steps("applications[].processes[]"),
            json!({"type": "web", "instances": 5}),
        );
    }
    set(&mut file, row, rows);
    file
}

/// Sets the field of a row; if the row has no value of its own, sets the first field inside it.
fn set(file: &mut Value, row: &ClassedField, rows: &[ClassedField]) {
    if let Some(value) = value_of(row) {
        put(file, &steps(&row.path), value);
        return;
    }
    let inside = rows.iter().find(|inside| {
        inside.kind == row.kind && inside.path != row.path && row.holds(&inside.path)
    });
    let inside = inside.unwrap_or_else(|| panic!("write a value for {} {}", row.kind, row.path));
    set(file, inside, rows);
}

/// The value of a row, if its path or its type determines it.
fn value_of(row: &ClassedField) -> Option<Value> {
    if let Some((_, value)) = VALUES.iter().find(|(end, _)| ends_with(&row.path, end)) {
        return Some(in_json(value));
    }
    let is_entry = row.path.ends_with(['*', ']']);
    let value = match row.go_type.trim_start_matches(['*', '[', ']']) {
        "bool" | "Boolean" => json!(true),
        "int" | "int32" | "int64" | "Integer" | "Integer (seconds)" | "as above" => json!(7),
        "string" | "String" => json!("x"),
        "map[string]string" if is_entry => json!("x"),
        "map[string]string" | "PluginParameters" | "ApplicationSourceHelm" => json!({"a": "x"}),
        "ApplicationSourceKustomize" | "ApplicationSourceDirectory" | "ApplicationSourcePlugin" => {
            json!({"a": "x"})
        }
        "metav1.LabelSelector" => json!({"matchLabels": {"env": "prod"}}),
        "ApplicationSetTemplate" => json!({"metadata": {"labels": {"ring": "rest"}}}),
        _ => return None,
    };
    Some(value)
}

/// Returns whether a path ends with the given text, at the beginning of a name.
fn ends_with(path: &str, end: &str) -> bool {
    match path.strip_suffix(end) {
        Some(before) => before.is_empty() || before.ends_with('.'),
        None => false,
    }
}

fn in_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// One step of a row's path.
#[derive(Debug)]
enum RowStep {
    Field(String),
    /// The first entry of a list.
    Item,
    /// Any key of a map.
    AnyKey,
    /// A text in a list.
    Text(String),
}

/// The steps of `a.b[].c.*`, of `annotations[example.com/key]` and of `syncOptions[Prune=true]`.
fn steps(path: &str) -> Vec<RowStep> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (key, after) = inside.split_once(']').expect("a bracket that is closed");
            steps.push(match key {
                "" => RowStep::Item,
                _ if key.contains('=') => RowStep::Text(key.to_owned()),
                _ => RowStep::Field(key.to_owned()),
            });
            rest = after;
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        steps.push(match name {
            "*" => RowStep::AnyKey,
            _ => RowStep::Field(name.to_owned()),
        });
        rest = after;
    }
    steps
}

/// Sets the value at the position to which the steps lead. Two maps are merged.
fn put(target: &mut Value, steps: &[RowStep], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        merge(target, value);
        return;
    };
    match step {
        RowStep::Field(name) => put(
            map_in(target).entry(name).or_insert(Value::Null),
            rest,
            value,
        ),
        RowStep::AnyKey => put(
            map_in(target).entry("a").or_insert(Value::Null),
            rest,
            value,
        ),
        RowStep::Item => {
            let items = list_in(target);
            if items.is_empty() {
                items.push(Value::Null);
            }
            put(&mut items[0], rest, value);
        }
        RowStep::Text(text) => list_in(target).push(json!(text)),
    }
}

fn merge(target: &mut Value, value: Value) {
    match (target, value) {
        (Value::Object(fields), Value::Object(more)) => fields.extend(more),
        (target, value) => *target = value,
    }
}

fn map_in(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("a map")
}

fn list_in(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().expect("a list")
}
