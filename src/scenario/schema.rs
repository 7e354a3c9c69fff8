//! The JSON Schema of the experiment file, for editors and readers.
//!
//! A released experiment stays valid: fields and choices are added, and no field is removed, changes its type or
//! becomes required. `docs/experiment.schema.released.txt` lists them, and a test compares the schema with it. A
//! change that violates this increments the version of the format.

use serde_json::Value;

/// Returns the JSON Schema (2020-12) of an experiment file. `docs/experiment.schema.json` has the same content.
/// Experiments begin with a line that refers editors to it.
#[must_use]
pub fn schema() -> Value {
    serde_json::from_str(include_str!("../../docs/experiment.schema.json"))
        .expect("it is written by a test")
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Map;

    use super::*;
    use crate::scenario::file::ExperimentFile;

    /// Version of the format of experiment files.
    const VERSION: u32 = 1;

    /// The URL at which the schema is published.
    const ID: &str =
        "https://raw.githubusercontent.com/fleetsim/fleetsim/main/docs/experiment.schema.json";

    /// Returns the schema generated from the types.
    fn generated() -> Value {
        let mut schema = schemars::schema_for!(ExperimentFile).to_value();
        write_defaults_as_a_user_would(&mut schema);
        if let Value::Object(fields) = &mut schema {
            fields.insert("$id".to_owned(), ID.into());
            fields.insert("version".to_owned(), VERSION.into());
        }
        schema
    }

    /// Replaces every default with the form that a user would write, see [`as_written`].
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

    /// Returns a default in the form that a user would write. Keys that begin with `~` mark groups whose settings are
    /// written at their parent's level; null marks a setting without a value.
    pub(in crate::scenario) fn as_written(default: Value) -> Value {
        let Value::Object(fields) = default else {
            return default;
        };
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

    #[test]
    fn the_schema_in_docs_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/experiment.schema.json");
        let current = serde_json::to_string_pretty(&generated()).expect("a schema is JSON") + "\n";
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
            Value::Object(map) => map
                .iter()
                .map(|(key, child)| (key.as_str(), child))
                .collect(),
            Value::Array(items) => items.iter().map(|child| ("", child)).collect(),
            _ => Vec::new(),
        };
        for (name, property) in value
            .get("properties")
            .and_then(|found| found.as_object())
            .into_iter()
            .flatten()
        {
            see(path, name, property);
        }
        for (key, child) in children {
            walk(child, &format!("{path}/{key}"), see);
        }
    }

    /// Returns a type as one word: the name of a definition, or a JSON type.
    fn type_of(schema: &Value) -> String {
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let all = |values: &Vec<Value>, each: &dyn Fn(&Value) -> String| {
            let mut words: Vec<String> = values
                .iter()
                .map(each)
                .filter(|word| word != "null")
                .collect();
            words.sort();
            words.dedup();
            words.join(" or ")
        };
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            return name.rsplit('/').next().unwrap_or_default().to_owned();
        }
        match (
            schema.get("type"),
            schema.get("anyOf").or_else(|| schema.get("oneOf")),
        ) {
            (Some(Value::Array(types)), _) => all(types, &text),
            (Some(Value::String(name)), _) if name == "array" => {
                format!(
                    "list of {}",
                    schema
                        .get("items")
                        .map_or_else(|| "anything".to_owned(), type_of)
                )
            }
            (Some(name), _) => text(name),
            (None, Some(Value::Array(choices))) => all(choices, &type_of),
            (None, _) => "anything".to_owned(),
        }
    }

    /// Collects everything that a user can write: fields with their types, choices, and required fields.
    fn lines(schema: &Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
        let Value::Object(fields) = schema else {
            schema
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|child| lines(child, path, found));
            return;
        };
        let of = |key: &str| {
            fields
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
        };
        found.extend(
            of("properties").map(|(name, field)| format!("{path}.{name}: {}", type_of(field))),
        );
        let choices = fields
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .chain(fields.get("const"));
        found.extend(choices.map(|choice| format!("{path} may be {choice}")));
        let required = fields
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        found.extend(required.map(|name| format!("{path} requires {name}")));
        for (name, child) in of("properties") {
            lines(child, &format!("{path}.{name}"), found);
        }
        for (name, child) in of("$defs") {
            lines(child, name, found);
        }
        for (_, child) in fields.iter().filter(|(key, _)| {
            !["properties", "$defs", "default", "examples"].contains(&key.as_str())
        }) {
            lines(child, path, found);
        }
    }

    #[test]
    fn the_released_schema_is_still_valid() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/docs/experiment.schema.released.txt"
        );
        let mut now = std::collections::BTreeSet::new();
        lines(&generated(), "experiment", &mut now);
        let written = std::fs::read_to_string(path).unwrap_or_default();
        let released: std::collections::BTreeSet<String> =
            written.lines().map(str::to_owned).collect();
        let is_demand = |line: &&String| line.contains(" requires ");
        // A field for a rate may later also accept `unlimited`, and a field for a duration may accept `off`. A value
        // may become a distribution.
        let widened = [
            (": Rate", "RateLimit"),
            (": Rate", "RateDistribution"),
            (": Duration", "Timeout"),
            (": integer", "FactorDistribution"),
        ];
        let is_wider = |line: &&String| {
            widened.iter().any(|(narrow, wide)| {
                line.strip_suffix(narrow)
                    .is_some_and(|field| now.contains(&format!("{field}: {wide}")))
            })
        };
        let gone: Vec<&String> = released
            .difference(&now)
            .filter(|line| !is_demand(line) && !is_wider(line))
            .collect();
        assert!(
            gone.is_empty(),
            "experiments that were valid have these; keep them, or raise the format's version: {gone:#?}"
        );
        let is_old = |line: &&String| {
            let owner = line.split(" requires ").next().unwrap_or_default();
            released
                .iter()
                .any(|known| known.starts_with(&format!("{owner}.")))
        };
        let demanded: Vec<&String> = now
            .difference(&released)
            .filter(is_demand)
            .filter(is_old)
            .collect();
        assert!(
            demanded.is_empty() || released.is_empty(),
            "experiments that were valid lack these: {demanded:#?}"
        );
        if now != released && std::env::var_os("UPDATE_SCHEMA").is_some() {
            let text: Vec<String> = now.into_iter().collect();
            std::fs::write(path, text.join("\n") + "\n").expect("docs can be written");
            return;
        }
        let new: Vec<&String> = now.symmetric_difference(&released).collect();
        assert!(
            new.is_empty(),
            "{path} lacks {new:#?}; `UPDATE_SCHEMA=1 cargo test --lib schema` writes them"
        );
    }

    #[test]
    fn changed_field_types_and_removed_choices_are_detected() {
        let found = |schema: &str| {
            let mut found = std::collections::BTreeSet::new();
            lines(
                &serde_json::from_str(schema).expect("JSON"),
                "experiment",
                &mut found,
            );
            found.into_iter().collect::<Vec<_>>()
        };
        let before = found(
            r##"{"properties": {"a": {"$ref": "#/$defs/Rate"}, "b": {"type": ["integer", "null"]}}, "required": ["a"],
            "$defs": {"Rate": {"type": "string"}, "Kind": {"enum": ["x", "y"]}}}"##,
        );
        assert_eq!(
            before,
            [
                "Kind may be \"x\"",
                "Kind may be \"y\"",
                "experiment requires \"a\"",
                "experiment.a: Rate",
                "experiment.b: integer"
            ]
        );
        assert_eq!(
            found(r#"{"properties": {"a": {"type": "array", "items": {"type": "string"}}}}"#),
            ["experiment.a: list of string"]
        );
    }

    #[test]
    fn the_format_document_names_every_field() {
        let pages = crate::scenario::tests::documented::format_pages();
        let document: String = pages
            .iter()
            .map(|page| std::fs::read_to_string(page).expect("a page of the format"))
            .collect();
        let mut silent = Vec::new();
        walk(&generated(), "", &mut |path, name, _| {
            // Kubernetes' own selectors and Fleet's partitions are documented by their projects.
            let is_foreign = ["LabelSelector", "LabelRequirement", "ManualPartition"]
                .iter()
                .any(|of| path.contains(of));
            let is_named = document.match_indices(name).any(|(at, _)| {
                let around = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
                around(document[..at].chars().next_back())
                    && around(document[at + name.len()..].chars().next())
            });
            if !is_foreign && !is_named {
                silent.push(format!("{path}.{name}"));
            }
        });
        assert_eq!(silent, [""; 0]);
    }

    #[test]
    fn every_field_has_a_description() {
        let mut silent = Vec::new();
        walk(&generated(), "", &mut |path, name, property| {
            if property.get("description").is_none() && property.get("$ref").is_none() {
                silent.push(format!("{path}.{name}"));
            }
        });
        // The choice of a strategy, or of a distribution method, is described at its key.
        silent.retain(|path| {
            !path.contains("Strategy/oneOf") && !path.contains("DistributionFile/oneOf")
        });
        assert_eq!(silent, [""; 0]);
    }
}
