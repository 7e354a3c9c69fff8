//! Fields of exported objects that affect the rollout but are not simulated.
//!
//! Unlike a field of a strategy's file, such a field cannot be accepted by name, because `clusters.csv` has no column
//! for it. The import therefore reports each such field once, with the objects that have it. Objects that no option
//! reads, such as overrides, are checked in the same way. Left out: Applications and the Secrets of clusters, which
//! `argo_cd` reads, windows, which `windows` reads, and strategies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::sources::Texts;
use crate::document::problem::{Source, some_of};
use crate::document::tree::{MOST_YAML_VALUES, parse_as_product};
use crate::products::fields::{ObjectKind, deciding_names, deciding_of};
use crate::scenario::import::objects::{ExportObject, objects_of_product};

/// A kind of exported object that has a table of fields.
struct ExportedKind {
    /// The prefix of the object's `apiVersion`.
    group: &'static str,
    kind: &'static str,
}

impl ExportedKind {
    const fn of(group: &'static str, kind: &'static str) -> Self {
        Self { group, kind }
    }
}

const FLEET: &str = "fleet.cattle.io/";
const KUBEFLEET: &str = "placement.kubernetes-fleet.io/";

/// The kinds of objects that are checked.
const EXPORTED: [ExportedKind; 10] = [
    ExportedKind::of(FLEET, "Cluster"),
    ExportedKind::of(FLEET, "Schedule"),
    ExportedKind::of(FLEET, "BundleNamespaceMapping"),
    ExportedKind::of(FLEET, "GitRepoRestriction"),
    ExportedKind::of(FLEET, "Policy"),
    ExportedKind::of("cluster.kubernetes-fleet.io/", "MemberCluster"),
    ExportedKind::of(KUBEFLEET, "ClusterResourceOverride"),
    ExportedKind::of(KUBEFLEET, "ResourceOverride"),
    ExportedKind::of(KUBEFLEET, "ClusterResourcePlacementEviction"),
    ExportedKind::of("argoproj.io/", "AppProject"),
];

/// Fields with the same effect in one kind of object, and the objects that have them.
#[derive(Default)]
struct PassedOver {
    fields: BTreeSet<String>,
    objects: BTreeSet<String>,
}

/// Returns a note for each kind of object and each effect, across all files that were read.
pub(super) fn notes(texts: &Texts) -> Vec<String> {
    let mut notes = Vec::new();
    for source in texts.sources() {
        notes.extend(notes_on(source));
    }
    notes
}

fn notes_on(source: &Arc<Source>) -> Vec<String> {
    // Most exports have no such field, and some have 100,000 objects, so the kinds are filtered first.
    let mut kinds = Vec::new();
    for exported in &EXPORTED {
        if !source.text.contains(exported.kind) {
            continue;
        }
        let names = deciding_names(exported.kind);
        if names.iter().any(|name| source.text.contains(name)) {
            kinds.push(exported);
        }
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<(&str, String), PassedOver> = BTreeMap::new();
    for object in objects_of_product(source).unwrap_or_default() {
        if let Some(kind) = kind_of(&object, &kinds) {
            add_fields(&object, kind, &mut found);
        }
    }
    let mut notes = Vec::new();
    for ((kind, effect), passed) in found {
        let fields: Vec<String> = passed.fields.into_iter().collect();
        let objects: Vec<String> = passed.objects.into_iter().collect();
        notes.push(format!(
            "{}: not simulated, and can change the answer: {} of {kind} {} ({effect})",
            source.name,
            some_of(&fields),
            some_of(&objects)
        ));
    }
    notes
}

/// Returns the kind of an object, if it is in `kinds`.
fn kind_of(object: &ExportObject<'_>, kinds: &[&'static ExportedKind]) -> Option<&'static str> {
    let json = object.to_json();
    let group = json["apiVersion"].as_str().unwrap_or_default();
    let kind = json["kind"].as_str().unwrap_or_default();
    let mut known = kinds.iter();
    known
        .find(|known| known.kind == kind && group.starts_with(known.group))
        .map(|known| known.kind)
}

/// Adds the fields of an object that affect the rollout.
fn add_fields(
    object: &ExportObject<'_>,
    kind: &'static str,
    found: &mut BTreeMap<(&'static str, String), PassedOver>,
) {
    let json = object.to_json();
    let source = Arc::new(Source::new(kind, json.to_string()));
    let Ok((root, _)) = parse_as_product(MOST_YAML_VALUES, &source) else {
        return;
    };
    let name = json["metadata"]["name"].as_str().unwrap_or_default();
    for field in deciding_of(root, &source, &ObjectKind::of(kind)) {
        let passed = found.entry((kind, field.effect)).or_default();
        passed.fields.insert(field.name);
        passed.objects.insert(name.to_owned());
    }
}
