//! The settings that differ between two versions, with all defaults filled in.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::ReviewSide;
use crate::report::format::number;
use fleetsim_units::counted;

/// A setting that differs, or a file with different contents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingChange {
    /// The path of the setting in the experiment, or the name of the file.
    pub setting: String,
    /// The value in the old version. `None`: the old version does not have the setting.
    pub old: Option<String>,
    /// The value in the new version. `None`: the new version does not have the setting.
    pub new: Option<String>,
}

/// Settings that do not affect a result.
const NAMES: [&str; 4] = ["name", "question", "replicates", "seed"];

/// The changes, sorted by path; those of files come last.
pub(super) fn changes(old: &ReviewSide, new: &ReviewSide) -> Vec<SettingChange> {
    let [before, after] = [old, new].map(|side| settings(&side.resolved));
    let mut changes = differing("", &before, &after);
    changes.extend(files(old, new));
    changes
}

/// The values that differ between files of the same name. The experiment itself, the first file, is compared by its
/// settings.
fn files(old: &ReviewSide, new: &ReviewSide) -> Vec<SettingChange> {
    let experiment = new.results.provenance.inputs.first();
    let experiment = experiment.map(|input| &input.path);
    let mut changes = Vec::new();
    for (name, after) in &new.files {
        if Some(name) == experiment {
            continue;
        }
        if let Some(before) = old.files.get(name) {
            changes.extend(file(name, before, after));
        }
    }
    changes
}

/// The values that differ between two versions of a file, or the statement that it differs.
fn file(name: &str, before: &[u8], after: &[u8]) -> Vec<SettingChange> {
    if before == after {
        return Vec::new();
    }
    let [Some(old), Some(new)] = [before, after].map(values) else {
        return vec![SettingChange {
            setting: name.to_owned(),
            old: Some("earlier contents".to_owned()),
            new: Some("other contents".to_owned()),
        }];
    };
    if let [Some(old), Some(new)] = [&old, &new].map(image) {
        if old == new {
            return Vec::new();
        }
        return vec![SettingChange {
            setting: name.to_owned(),
            old: Some(old),
            new: Some(new),
        }];
    }
    let [mut before, mut after] = [BTreeMap::new(), BTreeMap::new()];
    leaves(&old, String::new(), &mut before);
    leaves(&new, String::new(), &mut after);
    differing(&format!("{name}: "), &before, &after)
}

/// The contents of a YAML or JSON file.
fn values(bytes: &[u8]) -> Option<Value> {
    serde_saphyr::from_str(str::from_utf8(bytes).ok()?).ok()
}

/// Size and number of layers of an image manifest.
fn image(manifest: &Value) -> Option<String> {
    let layers = manifest.get("layers")?.as_array()?;
    // A layer that is listed twice is downloaded once.
    let mut digests = BTreeSet::new();
    let mut bytes = 0;
    for layer in layers {
        let digest = layer.get("digest");
        if digest.is_none_or(|digest| digests.insert(digest.to_string())) {
            bytes += layer.get("size").and_then(Value::as_u64).unwrap_or(0);
        }
    }
    Some(format!(
        "{} MB in {}",
        number(bytes as f64 / 1e6),
        counted(layers.len(), "layer")
    ))
}

/// Every scalar of a document by its path.
fn leaves(value: &Value, path: String, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, value) in fields {
                leaves(value, format!("{path}{dot}{name}"), found);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                leaves(value, format!("{path}[{at}]"), found);
            }
        }
        Value::String(text) => _ = found.insert(path, text.clone()),
        other => _ = found.insert(path, other.to_string()),
    }
}

/// The entries that differ. The prefix `of` is put in front of each key.
fn differing(
    of: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<SettingChange> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut changes = Vec::new();
    for key in keys {
        let old = before.get(key).cloned();
        let new = after.get(key).cloned();
        if old != new {
            let setting = format!("{of}{key}");
            changes.push(SettingChange { setting, old, new });
        }
    }
    changes
}

/// The settings of a `resolved.yaml` by their paths, without their origins. The settings of a product's agents and
/// controller have the name of the strategy in front of the path. In files of model versions before 10, each strategy
/// repeats the common settings.
fn settings(resolved: &str) -> BTreeMap<String, String> {
    let mut strategy = None;
    let mut settings = BTreeMap::new();
    for line in resolved.lines().filter(|line| line.starts_with("  ")) {
        let Some((path, value)) = line.trim_start().split_once(':') else {
            continue;
        };
        let (value, _) = value.rsplit_once("  # ").unwrap_or((value, ""));
        let value = value.trim().trim_matches('"');
        if value.is_empty() && !line.starts_with("   ") {
            strategy = Some(path.trim_matches('"'));
            continue;
        }
        if NAMES.contains(&path) || strategy.is_some() && settings.contains_key(path) {
            continue;
        }
        let place = match strategy {
            Some(name) if !path.starts_with("strategies.") => format!("{name}: {path}"),
            _ => path.to_owned(),
        };
        settings.insert(place, value.to_owned());
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_without_their_origin() {
        let text = "# Every setting\neverywhere:\n  seed: 1  # line 5\n  a.b: \"{c: 1}\"  # default: guess\n  e: off\n\
                    strategies:\n  x:  # rancherFleet\n    a.b: \"{c: 1}\"\n    strategies.x.d: 5%\n    \
                    agent.wait: true\n  y:  # allAtOnce\n    agent.wait: false\n";
        let found: Vec<(String, String)> = settings(text).into_iter().collect();
        let expected = [
            ("a.b", "{c: 1}"),
            ("e", "off"),
            ("strategies.x.d", "5%"),
            ("x: agent.wait", "true"),
            ("y: agent.wait", "false"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, value)| (path.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn files_are_compared_by_their_values_and_manifests_by_their_size() {
        let of = |old: &str, new: &str| -> Vec<String> {
            let words = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            let line = |change: SettingChange| {
                format!(
                    "{} {} > {}",
                    change.setting,
                    words(change.old),
                    words(change.new)
                )
            };
            file("f", old.as_bytes(), new.as_bytes())
                .into_iter()
                .map(line)
                .collect()
        };
        let strategy = |limit: &str, more: &str| {
            format!(
                "# comment {limit}\nrolloutStrategy:\n  maxUnavailable: {limit}\n  partitions: [{{name: a}}{more}]\n"
            )
        };
        assert_eq!(
            of(&strategy("10%", ""), &strategy("25%", ", {name: b}")),
            [
                "f: rolloutStrategy.maxUnavailable 10% > 25%",
                "f: rolloutStrategy.partitions[1].name - > b"
            ]
        );
        assert!(
            of("a: 1 # x\n", "a: 1\n").is_empty(),
            "comments change nothing"
        );
        let manifest =
            |size: u64| format!("{{\"layers\": [{{\"size\": {size}}}, {{\"size\": 1000000}}]}}");
        assert_eq!(
            of(&manifest(99_000_000), &manifest(399_000_000)),
            ["f 100 MB in 2 layers > 400 MB in 2 layers"]
        );
        assert_eq!(of("a,b", "\u{0}"), ["f earlier contents > other contents"]);
    }
}
