//! Imports as a whole, without the program: what is written can be loaded, and guesses are the program's own values.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::scenario::{Experiment, Overrides, load};

const FLEET: &str = r#"{"kind": "List", "items": [
  {"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "a", "namespace": "fleet-default",
   "labels": {"env": "prod"}}, "spec": {"paused": true}, "status": {"namespace": "x"}},
  {"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "b", "namespace": "fleet-default"},
   "status": {"namespace": "x"}},
  {"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "local", "namespace": "fleet-local"}}]}"#;

const IMAGE: &str = r#"{"schemaVersion": 2, "config": {"digest": "sha256:c", "size": 7000},
  "layers": [{"digest": "sha256:a", "size": 30000000}, {"digest": "sha256:b", "size": 1000000}]}"#;

/// A folder with these files, and the sources that name them.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn loaded(folder: &Path) -> Experiment {
    load(folder, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn fleet_sources(folder: &Path) -> ImportSources {
    let at = |name: &str| -> PathBuf { folder.join(name) };
    ImportSources {
        fleet: Some(at("clusters.json")),
        images: vec![at("v2.json")],
        platform: "linux/amd64".to_owned(),
        ..ImportSources::default()
    }
}

/// The same text with every guess in force: comments that are settings lose their `#`.
fn with_guesses(text: &str) -> String {
    let line = |line: &str| {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let setting = rest.strip_prefix("# ").filter(|rest| {
            let key = rest.split(':').next().unwrap_or_default();
            rest.contains(": ")
                && key.bytes().all(|byte| byte.is_ascii_alphabetic())
                && key != "Note"
                && key != "previous"
        });
        format!("{indent}{}\n", setting.unwrap_or(rest))
    };
    text.lines().map(line).collect()
}

#[test]
fn every_guess_that_is_commented_out_is_the_value_in_force() {
    let folder = folder(&[("clusters.json", FLEET), ("v2.json", IMAGE)]);
    let out = folder.path().join("out");
    let imported = import(&fleet_sources(folder.path()), &out, false).unwrap_or_else(|error| panic!("{error:?}"));
    let before = loaded(&out);
    let file = out.join("experiment.yaml");
    let text = fs::read_to_string(&file).expect("written");
    let changed = with_guesses(&text);
    let settings = changed.lines().filter(|line| !text.lines().any(|old| old == *line)).count();
    assert!(settings >= 7, "{changed}");
    fs::write(&file, changed).expect("written");
    let after = loaded(&out);
    for (before, after) in before.variants.iter().zip(&after.variants) {
        assert_eq!(before.scenario.world, after.scenario.world);
    }
    for guess in &imported.guesses {
        assert!(text.contains(&format!("Guess, {}", guess.range)), "{}: {text}", guess.setting);
    }
}

#[test]
fn nothing_is_written_when_one_of_several_inputs_is_wrong() {
    let folder = folder(&[("clusters.json", FLEET), ("v2.json", "{\"layers\": [}")]);
    let error = import(&fleet_sources(folder.path()), &folder.path().join("out"), false).expect_err("no manifest");
    let ImportError::Input(error) = error else { panic!("{error:?}") };
    assert_eq!(error.problems.len(), 1);
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).expect("read").map(|entry| entry.expect("one").file_name()).collect();
    left.sort();
    assert_eq!(left, ["clusters.json", "v2.json"]);
}
