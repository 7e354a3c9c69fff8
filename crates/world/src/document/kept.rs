//! The part of a product's file that affects a rollout. Only this part is copied next to an import or into results.
//!
//! Files of products contain passwords and tokens: Helm values, addresses with credentials, annotations. Results are
//! shared, so a copy contains only fields that this program reads for some product. Whether a bundle has Helm values
//! affects the number of requests from Fleet's agent, so the copy records this fact instead of the values. Comments
//! are kept if nothing else is omitted. Labels, which select clusters, are also kept. A table is copied as a whole
//! once it was read as a table.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::problem::Source;
use super::tree;
use super::yaml::to_yaml;

/// The part of a field that is copied.
#[derive(Clone, Copy, PartialEq)]
enum KeptPart {
    /// The field and everything in it.
    Whole,
    /// For a map or a list: only those of its fields that are themselves in the list.
    Part,
    /// Only a single value, not a map or a list.
    Value,
}

/// The fields that are copied, from `kept.csv`.
static FIELDS: LazyLock<BTreeMap<&str, KeptPart>> = LazyLock::new(read_fields);

fn read_fields() -> BTreeMap<&'static str, KeptPart> {
    let mut fields = BTreeMap::new();
    for row in include_str!("kept.csv").lines().skip(1) {
        if let Some((field, part)) = row.split_once(',') {
            let part = match part {
                "whole" => KeptPart::Whole,
                "part" => KeptPart::Part,
                _ => KeptPart::Value,
            };
            fields.insert(field, part);
        }
    }
    fields
}

/// Fields of `helm` in a fleet.yaml that are only checked for being empty.
const HELM_VALUES: [&str; 4] = ["templateValues", "values", "valuesFiles", "valuesFrom"];

/// The name of the omitted part in a file that is neither a map nor a list of maps.
const ALL: &str = "the whole file";

/// Returns the text of a YAML or JSON file without the fields that have no effect, and the names of the omitted
/// fields. A file without fields is omitted entirely, because it may be a link to a key. `None`: nothing is omitted.
pub fn kept(name: &str, text: &str) -> Option<(String, Vec<String>)> {
    let Some(mut documents) = parsed(name, text) else {
        return Some((String::new(), vec![ALL.to_owned()]));
    };
    let mut left_out = Vec::new();
    for document in &mut documents {
        keep_document(document, &mut left_out);
    }
    left_out.sort_unstable();
    left_out.dedup();
    if left_out.is_empty() {
        return None;
    }
    let is_json = text.trim_start().starts_with(['{', '[']);
    let texts: Vec<String> = documents
        .iter()
        .map(|value| written(value, is_json))
        .collect();
    Some((texts.join("---\n"), left_out))
}

/// Like [`kept`], for a file from which a product's reader extracts the YAML `read_as`: this YAML is copied, unless
/// the whole text is copied.
pub fn kept_as(name: &str, text: &str, read_as: Option<&str>) -> Option<(String, Vec<String>)> {
    let part = kept(name, text)?;
    let Some(yaml) = read_as else {
        return Some(part);
    };
    match kept("read.yaml", yaml) {
        Some(part) => Some(part),
        None => Some((yaml.to_owned(), Vec::new())),
    }
}

/// Returns the documents of a YAML or JSON file. `None`: the file is of another kind.
fn parsed(name: &str, text: &str) -> Option<Vec<Value>> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(vec![value]);
    }
    if let Some(value) = from_yaml(name, text) {
        return Some(vec![value]);
    }
    split(text)
        .iter()
        .map(|document| from_yaml(name, document))
        .collect()
}

fn from_yaml(name: &str, text: &str) -> Option<Value> {
    let tree = tree::parse(&Arc::new(Source::new(name, text)));
    Some(tree.ok()?.to_json())
}

/// Splits a file into its documents.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if matches!(line.trim_end(), "---" | "...") {
            documents.push(String::new());
        } else {
            let document = documents.last_mut().expect("one from the start");
            document.push_str(line.strip_prefix("--- ").unwrap_or(line));
            document.push('\n');
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    documents
}

fn written(value: &Value, is_json: bool) -> String {
    match value {
        Value::Null => String::new(),
        _ if is_json => format!("{value:#}\n"),
        _ => to_yaml(value),
    }
}

/// Keeps the fields of a map, or of the maps in a list, that have an effect.
fn keep_document(document: &mut Value, left_out: &mut Vec<String>) {
    match document {
        Value::Object(_) => keep(document, "", left_out),
        Value::Array(items) => {
            let before = items.len();
            items.retain(Value::is_object);
            if items.len() < before {
                left_out.push(ALL.to_owned());
            }
            for item in items {
                keep(item, "", left_out);
            }
        }
        _ => {
            *document = Value::Null;
            left_out.push(ALL.to_owned());
        }
    }
}

fn keep(value: &mut Value, path: &str, left_out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                keep(item, path, left_out);
            }
        }
        Value::Object(fields) => {
            fields.retain(|key, value| keep_field(key, value, path, left_out));
        }
        _ => {}
    }
}

/// Keeps the parts of a field that have an effect. Returns whether the field itself is kept. `path`: the path of the
/// map that contains it.
fn keep_field(key: &str, value: &mut Value, path: &str, left_out: &mut Vec<String>) -> bool {
    let own_path = if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    };
    let is_part = value.is_object() || value.is_array() || value.is_null();
    let is_of_helm = path == "helm" || path.ends_with(".helm");
    if HELM_VALUES.contains(&key) && is_of_helm && is_part {
        left_out.push(own_path);
        return fact(key, value);
    }
    // Keep the values of generators, which are parameters of the template.
    if key == "values" && path.ends_with("generators.clusters") {
        return true;
    }
    let is_of_object = key != "annotations" || path.ends_with("metadata");
    let kept = if is_of_object {
        FIELDS.get(key).copied()
    } else {
        None
    };
    let is_kept = match kept {
        None => false,
        Some(KeptPart::Whole) => true,
        Some(KeptPart::Part) => is_part,
        Some(KeptPart::Value) => !is_part && !is_address(value),
    };
    if !is_kept {
        left_out.push(own_path);
    } else if kept != Some(KeptPart::Whole) {
        keep(value, &own_path, left_out);
    }
    is_kept
}

/// Returns whether a value is an address, which may contain credentials.
fn is_address(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("://"))
}

/// Replaces the content of a map or list with a mark. Returns whether the map or list had content. The mark also shows
/// whether a text contains a Fleet template, because a template may stop the bundle.
fn fact(key: &str, value: &mut Value) -> bool {
    let has_template = has_template(value);
    match value {
        Value::Array(items) if !items.is_empty() && key == "valuesFrom" => *value = json!([{}]),
        Value::Array(items) if !items.is_empty() => *value = json!(["left out"]),
        Value::Object(fields) if !fields.is_empty() && has_template => {
            *value = json!({"leftOut": "${ }"});
        }
        Value::Object(fields) if !fields.is_empty() => *value = json!({"leftOut": "yes"}),
        _ => return false,
    }
    true
}

fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${"),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(fields) => fields.values().any(has_template),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_an_effect_are_kept_and_helm_values_only_as_present() {
        let text = "# mine\nhelm:\n  chart: ./chart\n  values: {password: s3cr3t}\n  valuesFrom: []\n  repo: https://u:s3cr3t@x\n\
                    rolloutStrategy: {maxUnavailable: 5%}\npaused: true\nnamespaceAnnotations: {token: s3cr3t}\n";
        let (copy, left_out) = kept("fleet.yaml", text).expect("secrets");
        assert_eq!(
            left_out,
            [
                "helm.repo",
                "helm.values",
                "helm.valuesFrom",
                "namespaceAnnotations"
            ]
        );
        let expected = json!({"helm": {"chart": "./chart", "values": {"leftOut": "yes"}}, "paused": true,
                              "rolloutStrategy": {"maxUnavailable": "5%"}});
        assert_eq!(
            serde_saphyr::from_str::<Value>(&copy).expect("YAML"),
            expected
        );
        assert_eq!(
            kept(
                "fleet.yaml",
                "# mine\nrolloutStrategy: {maxUnavailable: 5%}\n"
            ),
            None,
            "comments stay"
        );
    }

    #[test]
    fn a_file_without_known_fields_keeps_nothing_whatever_its_name() {
        let key =
            "-----BEGIN OPENSSH PRIVATE KEY-----\nczNjcjN0\n-----END OPENSSH PRIVATE KEY-----\n";
        let secrets = [
            ("link-id_rsa", key),
            ("key.yaml", key),
            ("keys.csv", key),
            (".env", "TOKEN=s3cr3t\n"),
            (".netrc", "machine x login y password s3cr3t\n"),
            ("x.json", "[\"s3cr3t\"]"),
            ("x.yaml", "- s3cr3t\n- {name: a}\n"),
            ("x.yaml", "# s3cr3t\n"),
            ("x.yaml", "a: [s3cr3t\n"),
            (
                "x.yaml",
                "name: a\npassword: s3cr3t\n---\nname: b\ntoken: s3cr3t\n",
            ),
        ];
        for (name, text) in secrets {
            let (copy, left_out) = kept(name, text).expect("something is left out");
            assert!(!copy.contains("s3cr3t") && !copy.contains("czNj"), "{copy}");
            assert!(!left_out.is_empty(), "{name}");
        }
        let (copy, _) = kept("x.yaml", secrets[9].1).expect("two documents");
        assert_eq!(copy, "name: a\n---\nname: b\n");
    }

    #[test]
    fn omitted_fields_of_list_objects_are_named_once_and_in_order() {
        let item = r#"{"name": "a", "password": "s3cr3t", "annotations": {"b": "s3cr3t"}}"#;
        let (_, left_out) = kept("x.json", &format!("[{item}, {item}, {item}]")).expect("secrets");
        assert_eq!(left_out, ["annotations", "password"]);
    }

    #[test]
    fn a_field_with_an_unexpected_type_is_left_out() {
        let (copy, _) = kept(
            "x.json",
            r#"{"config": "s3cr3t", "name": {"a": "s3cr3t"}, "status": null}"#,
        )
        .expect("secrets");
        assert_eq!(
            serde_json::from_str::<Value>(&copy).expect("JSON"),
            json!({"status": null})
        );
    }
}
