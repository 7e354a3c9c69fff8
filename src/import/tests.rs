//! Tests of whole imports without the command line: the output can be loaded, and guesses equal the program's
//! defaults.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

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

/// Creates a folder with these files.
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

/// Returns the text with every guess active: commented-out settings lose their `#`.
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
fn guesses_in_comments_equal_the_values_in_force() {
    let folder = folder(&[("clusters.json", FLEET), ("v2.json", IMAGE)]);
    let out = folder.path().join("out");
    let imported = import(&fleet_sources(folder.path()), &out, false)
        .unwrap_or_else(|error| panic!("{error:?}"));
    let before = loaded(&out);
    let file = out.join("experiment.yaml");
    let text = fs::read_to_string(&file).expect("written");
    let changed = with_guesses(&text);
    let settings = changed
        .lines()
        .filter(|line| !text.lines().any(|old| old == *line))
        .count();
    assert!(settings >= 7, "{changed}");
    fs::write(&file, changed).expect("written");
    let after = loaded(&out);
    for (before, after) in before.variants.iter().zip(&after.variants) {
        assert_eq!(before.scenario.world, after.scenario.world);
    }
    for guess in &imported.guesses {
        assert!(
            text.contains(&format!("Assumption, {}", guess.range)),
            "{}: {text}",
            guess.setting
        );
    }
}

#[test]
fn nothing_is_written_when_one_of_several_inputs_is_wrong() {
    let folder = folder(&[("clusters.json", FLEET), ("v2.json", "{\"layers\": [}")]);
    let error = import(
        &fleet_sources(folder.path()),
        &folder.path().join("out"),
        false,
    )
    .expect_err("no manifest");
    let ImportError::Input(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.problems.len(), 1);
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .expect("read")
        .map(|entry| entry.expect("one").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["clusters.json", "v2.json"]);
}

const SCHEDULE: &str = r#"{"kind": "Schedule", "apiVersion": "fleet.cattle.io/v1alpha1",
  "metadata": {"name": "s", "namespace": "fleet-default"}, "spec": {"schedule": "0 0 22 * * ?", "duration": "2h",
  "location": "UTC", "targets": {"clusters": [{"clusterSelector": {"matchLabels": {"env": "prod"}}}]}}}"#;

const PROJECT: &str = r#"{"kind": "AppProject", "apiVersion": "argoproj.io/v1alpha1", "metadata": {"name": "default"},
  "spec": {"syncWindows": [{"kind": "deny", "schedule": "0 18 * * *", "duration": "1h", "clusters": ["https://x"]}]}}"#;

const MEMBERS: &str = r#"{"kind": "List", "items": [{"apiVersion": "cluster.kubernetes-fleet.io/v1", "kind": "MemberCluster",
  "metadata": {"name": "m", "labels": {"a": "b"}}, "spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]},
  "status": {"conditions": [{"type": "Joined", "status": "True"}], "properties": {"p": {"value": "3"}}}}]}"#;

const PLACEMENT: &str = "kind: ClusterResourcePlacement
apiVersion: placement.kubernetes-fleet.io/v1
metadata: {name: p}
spec:
  policy:
    placementType: PickAll
    tolerations: [{key: x, operator: Exists}]
    affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {a: b}}}]}}}
";

const APPLICATIONS: &str = r#"[{"metadata": {"name": "a", "namespace": "argocd", "ownerReferences": [{"kind": "ApplicationSet", "name": "s"}]},
  "spec": {"destination": {"server": "https://x"}}}]"#;

const SET: &str = "metadata: {name: s}
spec:
  generators: [{clusters: {selector: {matchLabels: {a: b}}, values: {v: '{{name}}'}}}]
  template: {metadata: {labels: {ring: '{{values.v}}'}}}
";

const SECRETS: &str = r#"[{"server": "https://x", "name": "c", "config": {}, "labels": {"a": "b"}},
  {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
   "data": {"name": "ZXUtMA==", "server": "eA=="}}]"#;

const PROCESSES: &str = r#"{"pagination": {}, "resources": [{"guid": "g", "type": "web", "instances": 3,
  "readiness_health_check": {"type": "http", "data": {"interval": 5}}}]}"#;

const DEPLOYMENT: &str = r#"{"guid": "d", "strategy": "canary", "status": {"value": "ACTIVE"},
  "options": {"max_in_flight": 2, "canary": {"steps": [{"instance_weight": 10}]}}}"#;

const NODES: &str = r#"{"kind": "List", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"},
  "status": {"nodeInfo": {"containerRuntimeVersion": "containerd://1.7.1"}}}]}"#;

/// Returns the sources of several imports, each with the files that it needs.
fn exports() -> Vec<(ImportSources, Vec<(&'static str, &'static str)>)> {
    let file = |name: &str| Some(PathBuf::from(name));
    let none = ImportSources {
        platform: "linux/amd64".to_owned(),
        ..ImportSources::default()
    };
    let fleet = ImportSources {
        images: vec!["image".into()],
        fleet: file("fleet"),
        nodes: file("nodes"),
        schedules: file("schedules"),
        ..none.clone()
    };
    let members = ImportSources {
        members: file("members"),
        placement: file("placement"),
        ..none.clone()
    };
    let applications = ImportSources {
        applications: file("apps"),
        strategy: file("set"),
        project: file("project"),
        ..none.clone()
    };
    let clusters = ImportSources {
        clusters: file("secrets"),
        strategy: file("set"),
        ..none.clone()
    };
    let process = ImportSources {
        process: file("process"),
        deployment: file("deployment"),
        ..none
    };
    vec![
        (
            fleet,
            vec![
                ("fleet", FLEET),
                ("image", IMAGE),
                ("nodes", NODES),
                ("schedules", SCHEDULE),
            ],
        ),
        (
            members,
            vec![("members", MEMBERS), ("placement", PLACEMENT)],
        ),
        (
            applications,
            vec![("apps", APPLICATIONS), ("set", SET), ("project", PROJECT)],
        ),
        (clusters, vec![("secrets", SECRETS), ("set", SET)]),
        (
            process,
            vec![("process", PROCESSES), ("deployment", DEPLOYMENT)],
        ),
    ]
}

#[test]
fn the_exports_that_the_tests_use_are_valid() {
    for (sources, files) in exports() {
        let draft = draft(&sources, Texts::of(&files));
        let draft = draft.unwrap_or_else(|problems| panic!("{files:?}: {problems:?}"));
        assert!(!draft.fleet.targets.is_empty(), "{files:?}");
        let has_windows = draft.fleet.strategy.windows.is_some();
        assert_eq!(has_windows, files.len() > 2, "{files:?}");
    }
}

/// Returns the text with one part replaced.
fn damaged(text: &str, from: usize, length: usize, by: &str) -> String {
    let floor = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let from = floor(from % text.len());
    let to = floor((from + length).min(text.len()));
    format!("{}{by}{}", &text[..from], &text[to.max(from)..])
}

proptest! {
    #[test]
    fn a_damaged_export_is_read_or_refused_with_an_error(
        which in 0_usize..5,
        file in 0_usize..4,
        from in 0_usize..2000,
        length in 0_usize..40,
        by in prop::sample::select(vec!["", "null", "[]", "{}", "\"", "0", "-1", "1e99", "true", "\u{0}", "\n---\n", "é", "{{", "a: b"]),
    ) {
        let (sources, files) = exports().swap_remove(which);
        let bad = file % files.len();
        let text = damaged(files[bad].1, from, length, by);
        let files: Vec<(&str, &str)> =
            files.iter().enumerate().map(|(at, file)| (file.0, if at == bad { text.as_str() } else { file.1 })).collect();
        match draft(&sources, Texts::of(&files)) {
            Ok(draft) => prop_assert!(!draft.fleet.targets.is_empty()),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                prop_assert!(!LoadError::new(problems, "").render(false).is_empty());
            }
        }
    }
}
