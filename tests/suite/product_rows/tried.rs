//! The ways in which the program reads a file, and a test of a row in each of these ways.

use std::fs;
use std::path::{Path, PathBuf};

use fleetsim::document::Problem;
use fleetsim::import::{ImportError, ImportSources, Imported, import};
use fleetsim::scenario::{Overrides, load};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::common::{fleetsim, text};
use super::minimal::{ClassedField, file_with, outermost};

/// The fleet of all experiments here.
const FLEET: &str = "fleet:\n\
    \x20 - {name: \"a{1..2}\", labels: {kind: shop, env: prod, ring: canary}}\n\
    \x20 - {name: \"b{1..3}\", labels: {kind: shop, env: prod, ring: rest}}\n";

/// How the program reads a kind of file.
pub(super) struct FileWay {
    pub(super) kind: &'static str,
    /// The product whose strategy names the file. Empty: only `import` reads the file.
    pub(super) product: &'static str,
    /// Puts the file into the options of an import; `exports` has the fleet.
    import: fn(&mut ImportSources, file: PathBuf, exports: &Path),
}

pub(super) const WAYS: [FileWay; 8] = [
    FileWay {
        kind: "FleetYAML",
        product: "rancherFleet",
        import: with_clusters,
    },
    FileWay {
        kind: "Bundle",
        product: "rancherFleet",
        import: with_clusters,
    },
    FileWay {
        kind: "HelmOp",
        product: "rancherFleet",
        import: with_clusters,
    },
    FileWay {
        kind: "ApplicationSet",
        product: "argoCd",
        import: with_applications,
    },
    FileWay {
        kind: "ClusterResourcePlacement",
        product: "kubeFleetRolling",
        import: with_members,
    },
    FileWay {
        kind: "deployment",
        product: "cloudFoundry",
        import: with_process,
    },
    FileWay {
        kind: "manifest",
        product: "",
        import: as_manifest,
    },
    FileWay {
        kind: "process",
        product: "",
        import: as_process,
    },
];

fn with_clusters(sources: &mut ImportSources, file: PathBuf, exports: &Path) {
    sources.fleet = Some(exports.join("clusters.json"));
    sources.strategy = Some(file);
}

fn with_applications(sources: &mut ImportSources, file: PathBuf, exports: &Path) {
    sources.applications = Some(exports.join("applications.json"));
    sources.strategy = Some(file);
}

fn with_members(sources: &mut ImportSources, file: PathBuf, exports: &Path) {
    sources.members = Some(exports.join("members.json"));
    sources.placement = Some(file);
}

fn with_process(sources: &mut ImportSources, file: PathBuf, exports: &Path) {
    sources.process = Some(exports.join("processes.json"));
    sources.deployment = Some(file);
}

fn as_manifest(sources: &mut ImportSources, file: PathBuf, _: &Path) {
    sources.manifest = Some(file);
}

fn as_process(sources: &mut ImportSources, file: PathBuf, _: &Path) {
    sources.process = Some(file);
}

/// A folder with exports of the fleet and an image.
pub(super) fn exports() -> TempDir {
    let mut clusters = Vec::new();
    let mut members = Vec::new();
    let mut applications = Vec::new();
    let mut secrets = Vec::new();
    for name in ["a1", "a2", "b1", "b2", "b3"] {
        let ring = if name.starts_with('a') {
            "canary"
        } else {
            "rest"
        };
        let labels = json!({"kind": "shop", "env": "prod", "ring": ring});
        clusters.push(json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name, "namespace": "fleet-default", "labels": labels},
            "status": {"agent": {"lastSeen": "2026-03-02T08:00:00Z"}},
        }));
        let mut of_secret = labels.clone();
        of_secret["argocd.argoproj.io/secret-type"] = json!("cluster");
        let server = format!("https://{name}.example.com");
        secrets.push(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "namespace": "argocd", "labels": of_secret},
            "stringData": {"name": name, "server": server},
        }));
        members.push(json!({
            "apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
            "metadata": {"name": name, "labels": labels},
            "status": {"conditions": [{"type": "Joined", "status": "True"}]},
        }));
        applications.push(json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": name, "namespace": "argocd", "labels": labels},
            "spec": {"destination": {"server": server}},
        }));
    }
    let image = json!({"schemaVersion": 2, "layers": [{"size": 1_000_000, "digest": format!("sha256:{}", "1".repeat(64))}]});
    let process = json!([{"guid": "g", "type": "web", "instances": 5}]);
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value) in [
        ("secrets.json", list(&secrets)),
        ("clusters.json", list(&clusters)),
        ("members.json", list(&members)),
        ("applications.json", list(&applications)),
        ("processes.json", process),
        ("image.json", image),
    ] {
        fs::write(folder.path().join(name), value.to_string()).expect("written");
    }
    folder
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// The notes on an experiment, or its problems.
pub(super) fn loaded(path: &Path) -> Result<String, String> {
    match load(path, &Overrides::default()) {
        Ok(experiment) => Ok(experiment.variants[0].scenario.notes().join("\n")),
        Err(error) => Err(in_words(&error.problems)),
    }
}

pub(super) fn in_words(problems: &[Problem]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    problems.join("\n")
}

/// All problems of an import as one text.
pub(super) fn in_full(error: &ImportError) -> String {
    match error {
        ImportError::Input(error) => in_words(&error.problems),
        error => error.to_string(),
    }
}

/// Returns whether a position in a file is a field of the table: `a[0].b` corresponds to `a[].b`.
pub(super) fn same_field(place: &str, path: &str) -> bool {
    let (before, option) = path.split_once('[').unwrap_or((path, ""));
    let path = if option.contains('=') {
        before.to_owned()
    } else {
        path.replace(".*", ".a")
    };
    let path = path.strip_suffix("[]").unwrap_or(&path);
    let place = place.replace("[0]", "[]");
    let place = place.strip_suffix("[]").unwrap_or(&place);
    place == path
}

/// Returns whether a value of the row is a single text, number or bool.
pub(super) fn is_simple(row: &ClassedField) -> bool {
    let types = [
        "string", "bool", "int", "int32", "int64", "*bool", "[]string",
    ];
    types.contains(&row.go_type.as_str())
}

/// An experiment whose strategy names the row's file, with further settings.
pub(super) fn experiment(way: &FileWay, row: &ClassedField, settings: &str) -> String {
    let quota = if row.when == "hasQuota" {
        ", quota: {organization: {totalInstances: 100}}"
    } else {
        ""
    };
    format!(
        "name: rows\nquestion: What is said of the field?\nseed: 1\n{FLEET}release:\n  kind: update\n  images: [{{name: app, \
         manifest: {{layers: [{{size: 1 MB}}]}}}}]\n  workloads: [{{kind: Deployment, image: app}}]\nstrategies:\n  it: \
         {{{}: {{file: file.yaml{settings}{quota}}}}}\n",
        way.product
    )
}

/// A row in a file, and the ways in which the program reads the file.
pub(super) struct TriedRow<'r> {
    way: &'r FileWay,
    pub(super) row: &'r ClassedField,
    /// The field that messages should name.
    pub(super) reported: &'r ClassedField,
    exports: &'r Path,
    pub(super) folder: TempDir,
}

impl<'r> TriedRow<'r> {
    pub(super) fn of(
        way: &'r FileWay,
        row: &'r ClassedField,
        rows: &'r [ClassedField],
        exports: &'r Path,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = file_with(row, rows).to_string();
        fs::write(folder.path().join("file.yaml"), file).expect("written");
        Self {
            way,
            row,
            reported: outermost(rows, row).unwrap_or(row),
            exports,
            folder,
        }
    }

    pub(super) fn load_with(&self, settings: &str) -> Result<String, String> {
        let path = self.folder.path().join("experiment.yaml");
        fs::write(&path, experiment(self.way, self.row, settings)).expect("written");
        loaded(&path)
    }

    pub(super) fn import(&self) -> Result<Imported, ImportError> {
        let mut sources = ImportSources {
            images: vec![self.exports.join("image.json")],
            ..ImportSources::default()
        };
        let file = self.folder.path().join("file.yaml");
        (self.way.import)(&mut sources, file, self.exports);
        import(&sources, &self.folder.path().join("out"), true)
    }

    /// Returns whether a message rejects the field with the field's reason.
    pub(super) fn refuses(&self, said: &str) -> bool {
        said.contains("is not simulated and can change the answer")
            && said.contains(&self.reported.effect)
    }

    pub(super) fn is_noted(&self, said: &str) -> bool {
        said.contains("is accepted and not simulated") && said.contains(&self.reported.effect)
    }

    /// Adds the differences between expected and actual messages of an experiment, without and with `accept`.
    pub(super) fn differences_of_experiment(&self, found: &mut Vec<String>) {
        let name = self.reported.name();
        match self.load_with("") {
            Err(said) if !self.refuses(&said) => {
                self.add(found, "check refuses it otherwise", &said);
            }
            Err(said) if !said.contains(&format!("`accept: [{name}]`")) => {
                self.add(found, "check names another field to accept", &said);
            }
            Err(_) => {}
            Ok(said) => self.add(found, "check passes it over", &said),
        }
        match self.load_with(&format!(", accept: [{name}]")) {
            Ok(said) if self.is_noted(&said) => {}
            Ok(said) => self.add(found, "no note that it is accepted", &said),
            Err(said) => self.add(found, "refused although it is accepted", &said),
        }
    }

    /// Adds the differences between expected and actual messages of an import, and of the experiment that it writes.
    pub(super) fn differences_of_import(&self, found: &mut Vec<String>) {
        let imported = match self.import() {
            Ok(imported) => imported,
            Err(error) => return self.add(found, "import fails", &in_full(&error)),
        };
        let said = in_words(&imported.undecided);
        if !self.refuses(&said) {
            return self.add(found, "import passes it over", &imported.to_string());
        }
        let path = self.folder.path().join("out/experiment.yaml");
        let written = fs::read_to_string(&path).expect("an experiment");
        let line = format!("accept: [{}]", self.reported.name());
        if !written.contains(&format!("# {line}\n")) {
            return self.add(found, "import writes no line to accept it", &written);
        }
        match loaded(&path) {
            Err(said) if self.refuses(&said) => {}
            Err(said) => self.add(found, "the imported experiment is refused otherwise", &said),
            Ok(said) => self.add(found, "the imported experiment passes it over", &said),
        }
        let accepting = written.replace(&format!("# {line}\n"), &format!("{line}\n"));
        fs::write(&path, accepting).expect("written");
        match loaded(&path) {
            Ok(said) if self.is_noted(&said) => {}
            Ok(said) => self.add(found, "the imported experiment does not note it", &said),
            Err(said) => self.add(found, "the imported experiment stays refused", &said),
        }
    }

    /// An import of the clusters known to Argo CD, from which the set creates applications.
    pub(super) fn import_for_clusters(&self) -> Result<Imported, ImportError> {
        let sources = ImportSources {
            images: vec![self.exports.join("image.json")],
            clusters: Some(self.exports.join("secrets.json")),
            strategy: Some(self.folder.path().join("file.yaml")),
            ..ImportSources::default()
        };
        import(&sources, &self.folder.path().join("of-clusters"), true)
    }

    /// The fields of the file that are counted as neutral, or the problems of the file.
    pub(super) fn counted_fields(&self) -> Result<Vec<String>, String> {
        let path = self.folder.path().join("experiment.yaml");
        fs::write(&path, experiment(self.way, self.row, "")).expect("written");
        match load(&path, &Overrides::default()) {
            Ok(experiment) => {
                let file = experiment
                    .inputs
                    .iter()
                    .find(|input| input.path == "file.yaml");
                Ok(file.expect("it was read").neutral_fields.clone())
            }
            Err(error) => Err(in_words(&error.problems)),
        }
    }

    /// Asserts that the command `import` ends with exit code 2, and names the field with its reason.
    pub(super) fn check_import_command(&self) {
        let exports = self.exports.display();
        let fleet = match self.way.product {
            "rancherFleet" => format!("--fleet {exports}/clusters.json --strategy"),
            "argoCd" => format!("--applications {exports}/applications.json --strategy"),
            _ => format!("--members {exports}/members.json --placement"),
        };
        let words = format!("import {fleet} file.yaml --image {exports}/image.json -o imported");
        let output = fleetsim(self.folder.path())
            .args(words.split(' '))
            .output()
            .expect("run");
        let said = text(&output.stderr);
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(self.refuses(&flat), "{words}: {said}");
    }

    pub(super) fn add(&self, found: &mut Vec<String>, what: &str, said: &str) {
        let ClassedField { kind, path, .. } = self.row;
        found.push(format!("{kind} {path}: {what}: {said}"));
    }
}
