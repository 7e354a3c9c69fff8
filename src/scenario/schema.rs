//! The JSON Schema of the experiment file, for editors and for reading.

use serde_json::{Map, Value};

use super::file::ExperimentFile;

/// The JSON Schema (2020-12) of an experiment file. `docs/experiment.schema.json` holds the same, and experiments
/// begin with a line that points editors to it.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(ExperimentFile).to_value();
    write_defaults_as_a_user_would(&mut schema);
    schema
}

/// Replaces every default by what a user would write, see [`as_written`].
fn write_defaults_as_a_user_would(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(default) = map.get_mut("default") {
                *default = as_written(default.take());
            }
            map.retain(|key, value| key != "default" || !value.is_null());
            map.values_mut().for_each(write_defaults_as_a_user_would);
        }
        Value::Array(items) => items.iter_mut().for_each(write_defaults_as_a_user_would),
        _ => {}
    }
}

/// A default as a user would write it. In values, a group of settings that stands in its parent's map has a key that
/// begins with `~`, and a setting without a value is null.
pub(super) fn as_written(default: Value) -> Value {
    let Value::Object(fields) = default else { return default };
    let mut written = Map::new();
    for (key, value) in fields {
        match as_written(value) {
            Value::Null => {}
            Value::Object(group) if key.starts_with('~') => written.extend(group),
            value => _ = written.insert(key, value),
        }
    }
    Value::Object(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_in_docs_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/experiment.schema.json");
        let current = serde_json::to_string_pretty(&schema()).expect("a schema is JSON") + "\n";
        let written = std::fs::read_to_string(path).unwrap_or_default();
        if written != current && std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &current).expect("docs can be written");
            return;
        }
        assert!(
            written == current,
            "docs/experiment.schema.json is out of date; write it with `UPDATE_SCHEMA=1 cargo test --lib schema`"
        );
    }

    /// Calls `see` with every schema that has properties, and its path.
    fn walk(value: &Value, path: &str, see: &mut impl FnMut(&str, &str, &Value)) {
        let children: Vec<(&str, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(key, child)| (key.as_str(), child)).collect(),
            Value::Array(items) => items.iter().map(|child| ("", child)).collect(),
            _ => Vec::new(),
        };
        for (name, property) in value.get("properties").and_then(|found| found.as_object()).into_iter().flatten() {
            see(path, name, property);
        }
        for (key, child) in children {
            walk(child, &format!("{path}/{key}"), see);
        }
    }

    #[test]
    fn the_format_document_names_every_field() {
        let document = include_str!("../../docs/experiment-format.md");
        let mut silent = Vec::new();
        walk(&schema(), "", &mut |path, name, _| {
            // Kubernetes' own selectors and Fleet's partitions are documented by their projects.
            let is_foreign =
                ["LabelSelector", "LabelRequirement", "ManualPartition"].iter().any(|of| path.contains(of));
            let is_named = document.match_indices(name).any(|(at, _)| {
                let around = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
                around(document[..at].chars().next_back()) && around(document[at + name.len()..].chars().next())
            });
            if !is_foreign && !is_named {
                silent.push(format!("{path}.{name}"));
            }
        });
        assert_eq!(silent, [""; 0]);
    }

    #[test]
    fn every_field_says_what_it_is() {
        let mut silent = Vec::new();
        walk(&schema(), "", &mut |path, name, property| {
            if property.get("description").is_none() && property.get("$ref").is_none() {
                silent.push(format!("{path}.{name}"));
            }
        });
        // The choice of a strategy, or of a way of distribution, is described beside its key, not in it.
        silent.retain(|path| !path.contains("Strategy/oneOf") && !path.contains("DistributionFile/oneOf"));
        assert_eq!(silent, [""; 0]);
    }
}
