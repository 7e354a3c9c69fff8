//! Each row of the tables of fields that has an effect, in a minimal file: all commands and imports treat it the same
//! way.
//!
//! `check`, `explain`, `run` and `plan` read an experiment with one function of the library, which is called here; a
//! sample tests that they do. `import` is also called as a function.

mod minimal;
mod tried;

use std::fs;
use std::path::Path;

use fleetsim::import::{ImportSources, import};
use serde_json::{Value, json};

use super::common::{fleetsim, text};
use minimal::{ClassedField, outermost, rows};
use tried::{
    TriedRow, WAYS, experiment, exports, in_full, in_words, is_simple, loaded, same_field,
};

/// Returns whether a field belongs to the generators of a set, which are computed or refused as a whole.
fn is_of_generators(row: &ClassedField) -> bool {
    row.path.starts_with("spec.generators[]")
}

/// Fails if any row is treated differently, or if fewer than `least` rows were tested.
#[track_caller]
fn assert_alike(found: &[String], count: usize, least: usize) {
    assert!(
        found.is_empty(),
        "{} of {count} rows:\n{}",
        found.len(),
        found.join("\n")
    );
    assert!(count > least, "{count} rows");
}

#[test]
fn experiments_and_imports_treat_every_deciding_field_alike() {
    let rows = rows();
    let exports = exports();
    let mut found = Vec::new();
    let mut count = 0;
    for way in WAYS.iter().filter(|way| !way.product.is_empty()) {
        for row in &rows {
            if row.kind != way.kind || row.class != "decides" || is_of_generators(row) {
                continue;
            }
            let tried = TriedRow::of(way, row, &rows, exports.path());
            tried.differences_of_experiment(&mut found);
            // Exports do not contain the quotas of an app.
            if row.when != "hasQuota" {
                tried.differences_of_import(&mut found);
            }
            count += 1;
        }
    }
    assert_alike(&found, count, 100);
}

/// The generators of an ApplicationSet are computed, or rejected with an alternative, regardless of what is accepted.
/// With an export of the applications, generators have no further effect.
#[test]
fn every_field_of_a_generator_is_refused_unless_the_applications_are_given() {
    let rows = rows();
    let exports = exports();
    let way = &WAYS[3];
    let mut found = Vec::new();
    let mut count = 0;
    for row in &rows {
        if row.kind != way.kind || row.class != "decides" || !is_of_generators(row) {
            continue;
        }
        let tried = TriedRow::of(way, row, &rows, exports.path());
        for settings in ["", ", accept: [spec.generators]"] {
            match tried.load_with(settings) {
                Err(said) if said.contains("write `generate: false`") => {}
                Err(said) => tried.add(&mut found, "refused otherwise", &said),
                Ok(said) => tried.add(&mut found, "passed over", &said),
            }
        }
        if let Err(said) = tried.load_with(", generate: false") {
            tried.add(
                &mut found,
                "refused although the applications are given",
                &said,
            );
        }
        match tried.import() {
            Ok(imported) if imported.undecided.is_empty() => {
                let path = tried.folder.path().join("out/experiment.yaml");
                if let Err(said) = loaded(&path) {
                    tried.add(&mut found, "the imported experiment is refused", &said);
                }
            }
            Ok(imported) => tried.add(&mut found, "import refuses it", &imported.to_string()),
            Err(error) => tried.add(&mut found, "import fails", &in_full(&error)),
        }
        if tried.import_for_clusters().is_ok() {
            tried.add(&mut found, "an import of clusters alone passes it over", "");
        }
        count += 1;
    }
    assert_alike(&found, count, 80);
}

/// Manifests and processes are read only by `import`.
#[test]
fn an_import_rejects_every_deciding_field_of_an_app() {
    let rows = rows();
    let exports = exports();
    let mut found = Vec::new();
    let mut count = 0;
    for way in WAYS.iter().filter(|way| way.product.is_empty()) {
        for row in &rows {
            if row.kind != way.kind || row.class != "decides" {
                continue;
            }
            let tried = TriedRow::of(way, row, &rows, exports.path());
            count += 1;
            // An import does not know the quota.
            let has_effect = row.when != "hasQuota";
            let said = match tried.import() {
                Err(error) => in_full(&error),
                Ok(imported) => in_words(&imported.undecided),
            };
            if has_effect && !tried.refuses(&said) {
                tried.add(&mut found, "passed over", &said);
            } else if !has_effect && !said.is_empty() {
                tried.add(&mut found, "refused without a quota", &said);
            }
        }
    }
    assert_alike(&found, count, 8);
}

/// A field that no file can contain: KubeFleet's admission rejects a placement with it.
const REFUSED: &str = "clusterSelectorTerms[].propertySorter";

/// A field without effect never causes an error, and `check` includes it in its count.
#[test]
fn neutral_fields_are_counted_and_never_refused() {
    let rows = rows();
    let exports = exports();
    let mut found = Vec::new();
    let mut count = 0;
    for way in WAYS.iter().filter(|way| !way.product.is_empty()) {
        let neutral = rows
            .iter()
            .filter(|row| row.kind == way.kind && row.class == "neutral");
        let simple = neutral.filter(|row| {
            is_simple(row)
                && !is_of_generators(row)
                && outermost(&rows, row).is_none()
                && !row.path.contains(REFUSED)
        });
        // Every fourth row is a sample with all parts of a type.
        for row in simple.step_by(4) {
            let tried = TriedRow::of(way, row, &rows, exports.path());
            let counted = tried.counted_fields();
            match counted {
                Ok(fields) if fields.iter().any(|field| same_field(field, &row.path)) => {}
                Ok(fields) => tried.add(&mut found, "not counted", &fields.join(", ")),
                Err(said) => tried.add(&mut found, "refused", &said),
            }
            match tried.import() {
                Ok(imported) if imported.undecided.is_empty() => {}
                Ok(imported) => tried.add(&mut found, "import refuses it", &imported.to_string()),
                Err(error) => tried.add(&mut found, "import fails", &in_full(&error)),
            }
            count += 1;
        }
    }
    assert_alike(&found, count, 60);
}

/// Calls the commands themselves for one row of each product: they must give the same answers as the functions.
#[test]
fn all_commands_treat_a_deciding_field_alike() {
    let rows = rows();
    let exports = exports();
    for (kind, path) in SAMPLE {
        let way = WAYS.iter().find(|way| way.kind == kind).expect("a way");
        let row = rows.iter().find(|row| row.kind == kind && row.path == path);
        let tried = TriedRow::of(way, row.expect("a row"), &rows, exports.path());
        let name = tried.reported.name();
        let plan = "plan: {minimise: registry.egress, limits: [completion < 1d], confirm: 2, search: {registry.egress: [250 Mbit/s, 1 Gbit/s]}}\n";
        for (settings, code) in [(String::new(), 2), (format!(", accept: [{name}]"), 0)] {
            let page = experiment(way, tried.row, &settings);
            fs::write(tried.folder.path().join("experiment.yaml"), &page).expect("written");
            for words in [
                "check experiment.yaml",
                "explain experiment.yaml",
                "run experiment.yaml --replicates 1 --out results",
                "plan experiment.yaml --replicates 2",
            ] {
                if words.starts_with("plan") {
                    let page = format!("{page}{plan}");
                    fs::write(tried.folder.path().join("experiment.yaml"), page).expect("written");
                }
                let output = fleetsim(tried.folder.path())
                    .args(words.split(' '))
                    .output()
                    .expect("run");
                let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
                let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
                // A plan with few runs may be uncertain, with exit code 99.
                let found = output.status.code().expect("it ended itself");
                let is_right = found == code || code == 0 && found == 99;
                assert!(is_right, "{kind} {path}: {words}: {found}: {said}");
                if code == 2 {
                    assert!(tried.refuses(&flat), "{kind} {path}: {words}: {said}");
                } else {
                    assert!(tried.is_noted(&flat), "{kind} {path}: {words}: {said}");
                }
            }
        }
        tried.check_import_command();
    }
}

/// One row of each product.
const SAMPLE: [(&str, &str); 4] = [
    ("FleetYAML", "dependsOn[].name"),
    ("HelmOp", "spec.ignore"),
    ("ApplicationSet", "spec.templatePatch"),
    (
        "ClusterResourcePlacement",
        "spec.strategy.applyStrategy.whenToApply",
    ),
];

/// Every kind in the tables is either tested here, or is one that no option reads as a strategy's file.
#[test]
fn every_kind_in_the_tables_is_tested_or_known_not_to_be_a_strategy() {
    let mut kinds: Vec<String> = rows().into_iter().map(|row| row.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.retain(|kind| !WAYS.iter().any(|way| way.kind == kind));
    assert_eq!(kinds, NO_STRATEGIES);
}

/// Kinds that are not strategies: exports of a fleet, whose fields an import uses as far as `clusters.csv` can hold
/// them, and objects that no option reads.
const NO_STRATEGIES: [&str; 19] = [
    "AppProject",
    "Application",
    "BundleNamespaceMapping",
    "Cluster",
    "ClusterApprovalRequest",
    "ClusterGroup",
    "ClusterResourceOverride",
    "ClusterResourcePlacementDisruptionBudget",
    "ClusterResourcePlacementEviction",
    "ClusterStagedUpdateRun",
    "ClusterStagedUpdateStrategy",
    "GitRepo",
    "GitRepoRestriction",
    "MemberCluster",
    "Policy",
    "ResourceOverride",
    "Schedule",
    "Secret",
    "deploymentAnswer",
];

/// An export of a fleet cannot contain `accept`: the import lists the fields that have an effect but are not
/// simulated.
#[test]
fn an_import_names_the_ignored_fields_of_an_export() {
    let exports = exports();
    let of_clusters = json!({"status": {"scheduled": true, "activeSchedule": false}});
    let schedule = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Schedule",
        "metadata": {"name": "nights", "namespace": "fleet-default"},
        "spec": {"schedule": "0 0 1 * * ?", "duration": "2h", "targets": {"clusters": [{"clusterName": "a2"}]}},
    });
    let said = notes_with(
        exports.path(),
        "clusters.json",
        &of_clusters,
        Some(schedule),
    );
    let part = "`status.scheduled` of Cluster `a1`. Outside of the times of its Schedule";
    assert!(said.contains(part), "{said}");
    // Schedules are simulated.
    assert!(!said.contains("of Schedule"), "{said}");
    let unhealthy = json!({"spec": {"heartbeatPeriodSeconds": 600}, "status": {"agentStatus": [
        {"type": "MemberAgent", "conditions": [{"type": "Healthy", "status": "False"}]},
    ]}});
    let said = notes_with(exports.path(), "members.json", &unhealthy, None);
    for part in [
        "`spec.heartbeatPeriodSeconds` of MemberCluster `a1`",
        "`status.agentStatus[].conditions[]`",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let healthy = json!({"spec": {"heartbeatPeriodSeconds": 60}, "status": {"agentStatus": [
        {"type": "MemberAgent", "conditions": [{"type": "Healthy", "status": "True"}]},
    ]}});
    let said = notes_with(exports.path(), "members.json", &healthy, None);
    assert!(!said.contains("can change the answer"), "{said}");
}

/// The notes of an import of a fleet whose first object also has the given fields, with another object in the file.
fn notes_with(exports: &Path, file: &str, fields: &Value, other: Option<Value>) -> String {
    let path = exports.join(file);
    let text = fs::read_to_string(&path).expect("an export");
    let mut export: Value = serde_json::from_str(&text).expect("JSON");
    for part in ["spec", "status"] {
        for (key, value) in fields[part].as_object().into_iter().flatten() {
            export["items"][0][part][key] = value.clone();
        }
    }
    if let (Some(items), Some(other)) = (export["items"].as_array_mut(), other) {
        items.push(other);
    }
    let changed = exports.join("changed.json");
    fs::write(&changed, export.to_string()).expect("written");
    let mut sources = ImportSources {
        images: vec![exports.join("image.json")],
        ..ImportSources::default()
    };
    if file == "members.json" {
        sources.members = Some(changed);
    } else {
        sources.fleet = Some(changed);
    }
    let out = tempfile::tempdir().expect("a folder");
    let imported = import(&sources, &out.path().join("changed"), false);
    imported
        .unwrap_or_else(|error| panic!("{}", in_full(&error)))
        .notes
        .join("\n")
}
