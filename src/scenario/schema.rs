//! The JSON Schema of the experiment file, for editors and for reading.

use super::file::ExperimentFile;

/// The JSON Schema (2020-12) of an experiment file. `docs/experiment.schema.json` holds the same, and experiments
/// begin with a line that points editors to it.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ExperimentFile).to_value()
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

    #[test]
    fn every_field_says_what_it_is() {
        fn look(value: &serde_json::Value, path: &str, silent: &mut Vec<String>) {
            if let Some(properties) = value.get("properties").and_then(|properties| properties.as_object()) {
                for (name, property) in properties {
                    if property.get("description").is_none() && property.get("$ref").is_none() {
                        silent.push(format!("{path}.{name}"));
                    }
                }
            }
            let children = match value {
                serde_json::Value::Object(map) => map.iter().map(|(key, child)| (key.clone(), child)).collect(),
                serde_json::Value::Array(items) => items.iter().map(|child| (String::new(), child)).collect(),
                _ => Vec::new(),
            };
            for (key, child) in children {
                look(child, &format!("{path}/{key}"), silent);
            }
        }
        let mut silent = Vec::new();
        look(&schema(), "", &mut silent);
        // The choice of a strategy is described beside its key, not in it.
        silent.retain(|path| !path.contains("StrategyFile/oneOf"));
        assert_eq!(silent, [""; 0]);
    }
}
