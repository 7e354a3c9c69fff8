//! Files of the products, each with one feature, and the targets that the product derives from it or the reason why it
//! rejects it.
//!
//! A file states in comments what its product does with it and where the source shows that:
//!
//! ```text
//! # trait: names of fields in any letter case
//! # source: internal/bundlereader/read.go:157 of rancher/fleet
//! # targets: a1 a2 b1 b2 c1          the entries of the fleet that are in the rollout, or
//! # refused: must be true or false   a part of the error
//! # note: in any letter case         a part of a note, where there is one
//! # setting: accept: [helm.waitForJobs]   further settings of the strategy
//! # strategy: {kubeFleetStaged: {file: FILE}}   the strategy, where it is not the one of all files of the product
//! # import: --manifest               the file is for this option of `fleetsim import`
//! ```
//!
//! JSON has no comments, so the lines for `x.json` are in `x.json.txt`.

use std::fs;
use std::path::{Path, PathBuf};

use fleetsim::scenario::{Overrides, load};

use super::common::{fleetsim, text};

/// The fleet for all files: clusters with their labels. Clusters with `env: prod` form the group `shops`.
const FLEET: &str = "fleet:\n\
    \x20 - {name: \"a{1..2}\", labels: {env: prod, ring: canary}}\n\
    \x20 - {name: \"b{1..2}\", labels: {env: prod, ring: rest}}\n\
    \x20 - {name: c1, labels: {env: dev, ring: rest}}\n\
    clusterGroups:\n\
    \x20 - {name: shops, labels: {kind: shop}, selector: {matchLabels: {env: prod}}}\n\
    \x20 - {name: default, selector: {matchLabels: {ring: canary}}}\n";

/// The expected result of a file.
#[derive(Debug, Default)]
struct Expected {
    targets: Option<Vec<String>>,
    refused: Option<String>,
    notes: Vec<String>,
    setting: String,
    strategy: Option<String>,
    import: Option<String>,
}

fn expected(text: &str) -> Expected {
    let mut found = Expected::default();
    for line in text.lines() {
        let Some((key, value)) = line
            .strip_prefix("# ")
            .and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        let value = value.trim();
        match key {
            "targets" => found.targets = Some(value.split(' ').map(str::to_owned).collect()),
            "refused" => found.refused = Some(value.to_owned()),
            "note" => found.notes.push(value.to_owned()),
            "strategy" => found.strategy = Some(value.to_owned()),
            "import" => found.import = Some(value.to_owned()),
            "setting" => found.setting = format!(", {value}"),
            _ => {}
        }
    }
    found
}

fn files(product: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/files")
        .join(product);
    let entries = fs::read_dir(&folder).expect("a folder of files");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| file.extension().is_none_or(|ending| ending != "txt"));
    files.sort();
    files
}

/// The rollout that a file defines: its targets and notes.
struct FoundRollout {
    targets: Vec<String>,
    notes: Vec<String>,
}

/// Loads an experiment whose strategy names a file in its folder. Returns the rollout, or the errors.
fn loaded(
    folder: &Path,
    name: &str,
    key: &str,
    expected: &Expected,
) -> Result<FoundRollout, String> {
    let strategy = match &expected.strategy {
        Some(strategy) => strategy.replace("FILE", name),
        None => format!("{{{key}: {{file: {name}{}}}}}", expected.setting),
    };
    let experiment = format!(
        "name: files\nquestion: Which targets has it?\nseed: 1\n{FLEET}release:\n  kind: update\n  images: [{{name: app, \
         manifest: {{layers: [{{size: 1 MB}}]}}}}]\n  workloads: [{{kind: Deployment, image: app}}]\nstrategies:\n  it: \
         {strategy}\n"
    );
    let path = folder.join("experiment.yaml");
    fs::write(&path, experiment).expect("written");
    match load(&path, &Overrides::default()) {
        Ok(experiment) => {
            let scenario = &experiment.variants[0].scenario;
            let clusters = scenario.world.clusters.iter();
            Ok(FoundRollout {
                targets: clusters.map(|cluster| cluster.name.clone()).collect(),
                notes: scenario.notes(),
            })
        }
        Err(error) => Err(error
            .problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")),
    }
}

/// The rollout that `fleetsim import` creates from a file in its folder, or its errors.
fn imported(folder: &Path, name: &str, option: &str) -> Result<FoundRollout, String> {
    let output = fleetsim(folder)
        .args(["import", option, name, "-o", "out"])
        .output()
        .expect("run");
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    let table = fs::read_to_string(folder.join("out/clusters.csv")).expect("a table");
    let rows = table.lines().skip(1);
    Ok(FoundRollout {
        targets: rows
            .filter_map(|row| row.split(',').next())
            .map(str::to_owned)
            .collect(),
        notes: vec![text(&output.stdout)],
    })
}

/// The difference between the expected and the actual result of a file. `None`: the results are equal.
fn difference(file: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).expect("a file");
    let name = file
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let expected = match fs::read_to_string(file.with_file_name(format!("{name}.txt"))) {
        Ok(comments) => expected(&comments),
        Err(_) => expected(&text),
    };
    assert!(
        expected.targets.is_some() != expected.refused.is_some(),
        "{name}: a file has targets or is refused"
    );
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(&name), &text).expect("written");
    let found = match &expected.import {
        Some(option) => imported(folder.path(), &name, option),
        None => loaded(folder.path(), &name, key, &expected),
    };
    match (&expected.targets, &expected.refused, found) {
        (Some(targets), _, Ok(found)) if *targets == found.targets => {
            for note in &expected.notes {
                if !found.notes.iter().any(|found| found.contains(note)) {
                    return Some(format!("{name}: no note `{note}` in {:#?}", found.notes));
                }
            }
            None
        }
        (_, Some(part), Err(text)) if text.contains(part) => None,
        (_, _, Ok(found)) => Some(format!(
            "{name}: expected {expected:?}, found {:?}",
            found.targets
        )),
        (_, _, Err(text)) => Some(format!("{name}: expected {expected:?}, found {text}")),
    }
}

fn check(product: &str, key: &str, least: usize) {
    let files = files(product);
    assert!(files.len() >= least, "{product}: {} files", files.len());
    let mut differences = Vec::new();
    for file in &files {
        differences.extend(difference(file, key));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn files_of_rancher_fleet_select_the_same_targets_as_fleet() {
    check("fleet", "rancherFleet", 40);
}

#[test]
fn application_sets_select_the_same_targets_as_argo_cd() {
    check("argo-cd", "argoCd", 30);
}

#[test]
fn files_of_kubefleet_select_the_same_targets_as_kubefleet() {
    check("kubefleet", "kubeFleetRolling", 70);
}

#[test]
fn files_of_cloud_foundry_select_the_same_targets_as_cloud_foundry() {
    check("cloud-foundry", "cloudFoundry", 50);
}
