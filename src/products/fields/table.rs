//! Tables of the fields in the products' files, each field with its type and class: `*.csv` next to this file.
//!
//! The tables list every field of the products' types at the pinned commits: rancher/fleet 3b2c622c, argoproj/argo-cd
//! 37ee0097, kubefleet-dev/kubefleet e160c1cd and cloudfoundry/cloud_controller_ng 3bbba906. A row gives the location
//! in the source that shows the field's effect.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Whether a field affects the rollout, and whether it is simulated.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FieldClass {
    /// The field is simulated.
    Simulated,
    /// The field cannot change which targets are updated, in which order, how fast, or whether an update succeeds.
    Neutral,
    /// The field can change which targets are updated, their order or speed, or whether an update succeeds, and is not
    /// simulated.
    Decides,
}

/// A row of a table.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct FieldRow {
    /// The kind of file or object.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The field's path, such as `a.b[].c`: `[]` is each entry of a list, and `*` each value of a map.
    pub(crate) path: String,
    /// The field's type in the product's source.
    pub(crate) go_type: String,
    pub(crate) class: FieldClass,
    /// The field's possible effect on the rollout.
    pub(crate) effect: String,
    /// Values with the same effect as an absent field, separated by `|`. The zero value of the type may be another.
    pub(crate) default: String,
    /// The condition under which the field affects the rollout. Empty: it always does.
    pub(crate) when: DecidesWhen,
    /// The location in the product's source that shows the effect.
    #[cfg(test)]
    pub(crate) source: String,
}

/// The condition under which a field affects the rollout.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DecidesWhen {
    #[default]
    #[serde(rename = "")]
    Always,
    /// A text in the value contains a Fleet template, `${ … }`.
    HasTemplate,
    /// The experiment has a Cloud Foundry quota.
    HasQuota,
    /// The placement has no status that lists its clusters.
    NotPicked,
    /// The number is above 300 s.
    #[serde(rename = "above5Min")]
    Above5Min,
    /// A `Healthy` condition is not true.
    Unhealthy,
}

/// The form of value that a product's reader requires.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ValueForm {
    Text,
    Bool,
    WholeNumber,
    WholeNumberOrText,
    /// A map: any map, or one with the fields in the table.
    Map,
    List,
    /// The table does not specify a form.
    Any,
}

/// A field and its subfields.
#[derive(Debug, Default)]
pub(crate) struct FieldNode {
    /// The field's row. `None`: the table lists only its subfields.
    pub(crate) row: Option<FieldRow>,
    pub(crate) fields: BTreeMap<String, FieldNode>,
    /// The field for the entries of a list.
    pub(crate) items: Option<Box<FieldNode>>,
    /// The field for the values of a map with free keys.
    pub(crate) values: Option<Box<FieldNode>>,
}

impl FieldNode {
    /// Returns the form that the field's value must have.
    pub(crate) fn form(&self) -> ValueForm {
        if self.items.is_some() {
            return ValueForm::List;
        }
        if !self.fields.is_empty() || self.values.is_some() {
            return ValueForm::Map;
        }
        let Some(row) = &self.row else {
            return ValueForm::Any;
        };
        let is_entry = row.path.ends_with(['*', ']']);
        if row.go_type.starts_with("map[") && !is_entry {
            return ValueForm::Map;
        }
        // Cloud Foundry's messages check their own values. The row of a list or map contains the type of the list or
        // map.
        let element = row.go_type.trim_start_matches("[]");
        match element.trim_start_matches('*') {
            "string" | "map[string]string" => ValueForm::Text,
            "bool" => ValueForm::Bool,
            "int" | "int32" | "int64" => ValueForm::WholeNumber,
            "intstr.IntOrString" => ValueForm::WholeNumberOrText,
            "GenericMap" => ValueForm::Map,
            _ => ValueForm::Any,
        }
    }

    /// Returns whether the zero value of the field's type has the same effect as an absent field.
    pub(crate) fn zero_is_absent(&self) -> bool {
        self.row.as_ref().is_none_or(|row| {
            !row.go_type.starts_with('*') || row.go_type == "*metav1.LabelSelector"
        })
    }
}

/// The tables of all products, by kind of file or object.
static TABLES: LazyLock<BTreeMap<String, FieldNode>> = LazyLock::new(|| {
    let mut tables: BTreeMap<String, FieldNode> = BTreeMap::new();
    for row in rows() {
        let table = tables.entry(row.kind.clone()).or_default();
        insert(table, row.clone());
    }
    tables
});

/// Returns the rows of all products' tables. They are parsed once, because an experiment with drawn constants is
/// loaded for each draw.
pub(crate) fn rows() -> &'static [FieldRow] {
    static ROWS: LazyLock<Vec<FieldRow>> = LazyLock::new(read_rows);
    &ROWS
}

fn read_rows() -> Vec<FieldRow> {
    let files = [
        include_str!("fleet.csv"),
        include_str!("argo_cd.csv"),
        include_str!("kubefleet.csv"),
        include_str!("cloud_foundry.csv"),
    ];
    let mut rows = Vec::new();
    for file in files {
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        for row in reader.deserialize() {
            rows.push(row.expect("the tables of fields are well-formed, which a test reads"));
        }
    }
    rows
}

/// Returns the last path components of a kind's fields that affect the rollout but are not simulated, without
/// duplicates.
pub(crate) fn deciding_names(kind: &str) -> Vec<String> {
    let mut names = Vec::new();
    for row in rows() {
        if row.kind != kind || row.class != FieldClass::Decides {
            continue;
        }
        let named = row.path.trim_end_matches("[]");
        let last = named.rsplit('.').next().unwrap_or(named).to_owned();
        if !names.contains(&last) {
            names.push(last);
        }
    }
    names
}

/// Returns the fields of a kind of file or object. `None`: it has no table.
pub(crate) fn fields_of(kind: &str) -> Option<&'static FieldNode> {
    TABLES.get(kind)
}

/// Inserts a row at its path.
fn insert(table: &mut FieldNode, row: FieldRow) {
    let mut node = table;
    for step in steps(&row.path) {
        node = match step {
            FieldStep::Items => node.items.get_or_insert_default(),
            FieldStep::Values => node.values.get_or_insert_default(),
            FieldStep::Field(name) => node.fields.entry(name).or_default(),
        };
    }
    if row.go_type.ends_with("metav1.LabelSelector") {
        insert_selector(node, &row);
    }
    node.row = Some(row);
}

/// Inserts the fields of a label selector, which the tables leave out.
fn insert_selector(selector: &mut FieldNode, row: &FieldRow) {
    for (below, go_type) in [
        ("matchLabels.*", "map[string]string"),
        ("matchExpressions[].key", "string"),
        ("matchExpressions[].operator", "string"),
        ("matchExpressions[].values[]", "[]string"),
    ] {
        let inside = FieldRow {
            path: below.to_owned(),
            go_type: go_type.to_owned(),
            ..row.clone()
        };
        insert(selector, inside);
    }
}

/// One step of a path in a table.
#[derive(Debug, Eq, PartialEq)]
enum FieldStep {
    Field(String),
    Items,
    Values,
}

/// Returns the steps of a path such as `a.b[].c.*` or `annotations[example.com/key]`.
fn steps(path: &str) -> Vec<FieldStep> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        match name {
            "" => {}
            "*" => steps.push(FieldStep::Values),
            _ => steps.push(FieldStep::Field(name.to_owned())),
        }
        rest = match after.strip_prefix('[') {
            Some(inside) => {
                let (key, after) = inside.split_once(']').unwrap_or((inside, ""));
                if key.is_empty() {
                    steps.push(FieldStep::Items);
                } else {
                    steps.push(FieldStep::Field(key.to_owned()));
                }
                after
            }
            None => after.strip_prefix('.').unwrap_or(after),
        };
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_path_has_a_step_for_each_field_list_and_map() {
        use FieldStep::{Field, Items, Values};
        let field = |name: &str| Field(name.to_owned());
        assert_eq!(
            steps("targets[].ignore.conditions[].*"),
            [
                field("targets"),
                Items,
                field("ignore"),
                field("conditions"),
                Items,
                Values
            ]
        );
        assert_eq!(
            steps("metadata.annotations[example.com/key]"),
            [
                field("metadata"),
                field("annotations"),
                field("example.com/key")
            ]
        );
    }

    #[test]
    fn every_row_has_a_source_and_deciding_fields_have_an_effect() {
        let rows = rows();
        assert!(rows.len() > 1_700, "{}", rows.len());
        for row in rows {
            assert!(!row.source.is_empty(), "{}: {}", row.kind, row.path);
            if row.class == FieldClass::Neutral {
                assert!(
                    row.effect.starts_with("none"),
                    "{}: {}: {}",
                    row.kind,
                    row.path,
                    row.effect
                );
            }
            if row.class == FieldClass::Decides {
                let effect = row.effect.split([':', ' ', ',']).next().unwrap_or_default();
                assert!(
                    ["who", "order", "pace", "success"].contains(&effect),
                    "{}: {}: {}",
                    row.kind,
                    row.path,
                    row.effect
                );
            }
        }
    }
}
