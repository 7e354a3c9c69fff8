//! The document that a strategy's `file` names: finds the right object, and reads and checks it as the product does.

use std::sync::Arc;

use super::{Accepted, DecidingField, FLEET_YAML, FileCheck, FileReader, checked};
use crate::document::context::{Context, Document};
use crate::document::documents::{documents, only};
use crate::document::path::Path;
use crate::document::problem::{OrProblem, Problem, Source, any_of};
use crate::document::tree::{self, Key, Node, Value};
use crate::document::yaml::to_yaml;

/// Maximum number of values in a product's file; typical files have hundreds.
const MOST_VALUES: usize = 250_000;

/// A product's file that a strategy names.
#[derive(Clone, Copy)]
pub(crate) struct FileChoice<'c> {
    /// The file's name. `None`: the strategy names no file.
    pub(crate) name: Option<&'c str>,
    /// The strategy's path in the experiment.
    pub(crate) path: &'c Path,
    pub(crate) accept: &'c Accepted,
    /// Fields that the strategy's settings replace, with all their subfields.
    pub(crate) moot: &'c [&'c str],
}

impl FileChoice<'_> {
    fn is_moot(&self, field: &DecidingField) -> bool {
        self.moot.iter().any(|moot| field.name.starts_with(moot))
    }
}

/// A kind of object that a file may contain, and its table of fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectKind {
    pub(crate) kind: &'static str,
    /// The name of the kind in the tables of fields.
    pub(crate) table: &'static str,
    /// The name of the reader for messages.
    pub(crate) product: &'static str,
    /// The part of the object that corresponds to another kind of file. Empty: the whole object.
    pub(crate) part: &'static str,
    /// Whether the experiment has a quota.
    pub(crate) has_quota: bool,
}

impl ObjectKind {
    /// Creates a kind whose table has the same name.
    pub(crate) const fn of(kind: &'static str) -> Self {
        Self::as_in(kind, kind)
    }

    /// Creates a kind that shares the table of another kind.
    pub(crate) const fn as_in(kind: &'static str, table: &'static str) -> Self {
        Self {
            kind,
            table,
            product: "Kubernetes",
            part: "",
            has_quota: false,
        }
    }
}

/// Kinds of objects whose `spec` has the fields of a fleet.yaml.
const BUNDLES: [ObjectKind; 2] = [
    ObjectKind {
        part: "spec",
        ..ObjectKind::of("Bundle")
    },
    ObjectKind {
        part: "spec",
        ..ObjectKind::of("HelmOp")
    },
];

/// A document in a file, as the product's reader interprets it.
struct FoundDocument {
    root: Node,
    replaced: Vec<Key>,
}

impl FoundDocument {
    fn kind(&self) -> &str {
        text_at(&self.root, "kind")
    }

    /// Returns the kind of bundle. `None`: the document is not an object of Fleet's API with a bundle.
    fn bundle(&self) -> Option<&'static ObjectKind> {
        if !text_at(&self.root, "apiVersion").starts_with("fleet.cattle.io/") {
            return None;
        }
        BUNDLES.iter().find(|known| known.kind == self.kind())
    }

    /// Checks the fields against the reader's table, and renames them to the names in the table.
    fn checked(&mut self, source: &Arc<Source>, reader: &FileReader) -> FileCheck {
        checked(&mut self.root, &self.replaced, source, reader)
    }

    /// Checks the fields, reports the findings, and returns the document. `None`: a problem was reported.
    fn reported(
        mut self,
        source: &Arc<Source>,
        reader: &FileReader,
        choice: FileChoice<'_>,
        context: &mut Context<'_>,
    ) -> Option<Document> {
        let check = self.checked(source, reader);
        let name = choice.name.unwrap_or(&source.name);
        let before = context.problems.len();
        context
            .files
            .read_as_product(name, &to_yaml(&self.root.to_json()), &check.neutral);
        context.problems.extend(check.problems);
        for note in check.notes {
            context.notes.push(format!("{name}: {note}"));
        }
        let mut deciding = check.deciding;
        deciding.retain(|field| !choice.is_moot(field));
        let noted = context.notes.len();
        choice
            .accept
            .apply(&deciding, &self.root, source, choice.path, context);
        for note in &mut context.notes[noted..] {
            *note = format!("{name}: {note}");
        }
        (context.problems.len() == before).then(|| Document::of(Arc::clone(source), self.root))
    }

    /// Returns the name of the field table for a product's strategy. `None`: the document is not a strategy.
    fn table(&self, product: &str) -> Option<&'static str> {
        match (product, self.kind()) {
            ("rancherFleet", "") => Some("FleetYAML"),
            ("rancherFleet", "Bundle") => Some("Bundle"),
            ("rancherFleet", "HelmOp") => Some("HelmOp"),
            ("argoCd" | "argoCdProposal", _) => Some("ApplicationSet"),
            ("kubeFleetStaged", "ClusterStagedUpdateStrategy" | "StagedUpdateStrategy") => {
                Some("ClusterStagedUpdateStrategy")
            }
            ("kubeFleetRolling", "ClusterResourcePlacement" | "ResourcePlacement") => {
                Some("ClusterResourcePlacement")
            }
            ("cloudFoundry", _) => Some("deployment"),
            _ => None,
        }
    }
}

/// Returns the text in a field of an object; empty if the field is absent.
fn text_at<'n>(root: &'n Node, key: &str) -> &'n str {
    match root.get(&Path::of(key)).map(|node| &node.value) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

/// The kind of file that contains a bundle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BundleKind {
    /// A fleet.yaml in a GitRepo.
    FleetYaml,
    /// A Bundle or a HelmOp, with its own targets.
    Object,
}

/// A fleet.yaml, or the `spec` of a Bundle or HelmOp.
pub(crate) struct BundleDocument {
    pub(crate) document: Document,
    pub(crate) kind: BundleKind,
}

/// Returns the fleet.yaml, Bundle or HelmOp that a strategy names. `None`: a problem was reported.
pub(crate) fn bundle(
    name: &str,
    choice: FileChoice<'_>,
    context: &mut Context<'_>,
) -> Option<BundleDocument> {
    let source = context.file(name, &choice.path.key("file"))?;
    let found = or_reported(all_documents(&source), context)?;
    let count = found.len();
    let (document, kind) = match found.iter().position(|found| found.bundle().is_some()) {
        Some(at) => {
            let document = found.into_iter().nth(at)?;
            let kind = document.bundle();
            (document, kind)
        }
        None => match found.into_iter().next() {
            Some(document) => (document, None),
            // A file that contains only comments is a bundle with all defaults.
            None => {
                return Some(BundleDocument {
                    document: Document::of(source, empty_map()),
                    kind: BundleKind::FleetYaml,
                });
            }
        },
    };
    if count > 1 {
        let read = match kind {
            Some(kind) => format!("the {}", kind.kind),
            None => "the first, as Fleet does".to_owned(),
        };
        context
            .notes
            .push(format!("{name}: of {count} YAML documents {read} is read"));
    }
    let Some(kind) = kind else {
        return Some(BundleDocument {
            document: document.reported(&source, &FLEET_YAML, choice, context)?,
            kind: BundleKind::FleetYaml,
        });
    };
    let whole = document.reported(&source, &FileReader::object(kind), choice, context)?;
    let part = whole.tree.get(&Path::of(kind.part)).cloned();
    Some(BundleDocument {
        document: Document::of(source, part.unwrap_or_else(empty_map)),
        kind: BundleKind::Object,
    })
}

/// Returns the object of one of these kinds in the file that a strategy names. A single object without `kind` is
/// treated as the first kind. `None`: a problem was reported.
pub(crate) fn object(
    name: &str,
    kinds: &[ObjectKind],
    choice: FileChoice<'_>,
    context: &mut Context<'_>,
) -> Option<Document> {
    let source = context.file(name, &choice.path.key("file"))?;
    let mut found = Vec::new();
    for document in or_reported(all_documents(&source), context)? {
        found.extend(objects_of(document));
    }
    let all = found.len();
    let mut meant: Vec<(FoundDocument, ObjectKind)> = Vec::new();
    let mut others = Vec::new();
    for document in found {
        match kinds.iter().find(|known| known.kind == document.kind()) {
            Some(kind) => meant.push((document, *kind)),
            None if document.kind().is_empty() && all == 1 => meant.push((document, kinds[0])),
            None => others.push(document),
        }
    }
    let names: Vec<&str> = kinds.iter().map(|known| known.kind).collect();
    let help = format!("give a file with a {}", any_of(&names));
    if meant.len() > 1 {
        let (second, kind) = &meant[1];
        let message = format!("the file has several objects of kind `{}`", kind.kind);
        let problem = source.at(second.root.at.clone(), "", message);
        context
            .problems
            .push(problem.with_help("keep the one that is rolled out"));
        return None;
    }
    let Some((document, kind)) = meant.pop() else {
        let problem = match others.first() {
            Some(other) => {
                let at = other.root.key_place(&Path::of("kind"));
                let message = format!("an object of kind `{}` cannot be used here", other.kind());
                source.at(at, "kind", message)
            }
            None => Problem::of_file(&source.name, "the file has no values"),
        };
        context.problems.push(problem.with_help(help));
        return None;
    };
    if all > 1 {
        context.notes.push(format!(
            "{name}: of {all} objects the {} is read",
            kind.kind
        ));
    }
    document.reported(&source, &FileReader::object(&kind), choice, context)
}

/// Reads all objects of a kind, in order, from the file that the value at `path` names. `None`: a problem was
/// reported.
pub(crate) fn objects(
    name: &str,
    kind: &ObjectKind,
    path: &Path,
    context: &mut Context<'_>,
) -> Option<Vec<Document>> {
    let source = context.file(name, path)?;
    let mut found = Vec::new();
    for document in or_reported(all_documents(&source), context)? {
        found.extend(objects_of(document));
    }
    let all = found.len();
    found.retain(|document| document.kind() == kind.kind);
    if found.is_empty() {
        let message = format!("the file has no object of kind `{}`", kind.kind);
        let problem = Problem::of_file(&source.name, &message);
        let help = format!("name a file with objects of kind {}", kind.kind);
        context.problems.push(problem.with_help(help));
        return None;
    }
    if found.len() < all {
        context.notes.push(format!(
            "{name}: of {all} objects those of kind {} are read",
            kind.kind
        ));
    }
    let before = context.problems.len();
    let mut documents = Vec::new();
    let mut neutral = Vec::new();
    let mut read_as = String::new();
    for mut document in found {
        let check = document.checked(&source, &FileReader::object(kind));
        context.problems.extend(check.problems);
        neutral.extend(check.neutral);
        for note in check.notes {
            context.notes.push(format!("{name}: {note}"));
        }
        read_as.push_str("---\n");
        read_as.push_str(&to_yaml(&document.root.to_json()));
        documents.push(Document::of(Arc::clone(&source), document.root));
    }
    context.files.read_as_product(name, &read_as, &neutral);
    (context.problems.len() == before).then_some(documents)
}

/// A file as a product's reader interprets it, without an experiment.
#[derive(Debug)]
pub(crate) struct ReadFile {
    /// The file as YAML, with the field names of the tables.
    pub(crate) yaml: String,
    /// Fields that affect the rollout but are not simulated.
    pub(crate) deciding: Vec<DecidingField>,
}

/// Reads the file of a strategy for this product. `None`: the file cannot be read.
pub(crate) fn read_file(product: &str, source: &Arc<Source>) -> Option<ReadFile> {
    let mut found = Vec::new();
    for document in all_documents(source).ok()? {
        found.extend(objects_of(document));
    }
    found.retain(|document| document.table(product).is_some());
    let mut document = found.into_iter().next()?;
    let kind = document.table(product)?;
    let reader = if kind == FLEET_YAML.kind {
        FLEET_YAML
    } else {
        FileReader::object(&ObjectKind::of(kind))
    };
    let mut deciding = document.checked(source, &reader).deciding;
    // The generated applications are already in the fleet, so generators no longer matter.
    deciding.retain(|field| kind != "ApplicationSet" || !field.name.starts_with("spec.generators"));
    Some(ReadFile {
        yaml: to_yaml(&document.root.to_json()),
        deciding,
    })
}

/// Returns an object's fields that affect the rollout but are not simulated.
pub(crate) fn deciding_of(
    mut root: Node,
    source: &Arc<Source>,
    kind: &ObjectKind,
) -> Vec<DecidingField> {
    checked(&mut root, &[], source, &FileReader::object(kind)).deciding
}

/// Returns the value, or `None` after reporting its problem.
fn or_reported<T>(read: OrProblem<T>, context: &mut Context<'_>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(problem) => {
            context.problems.push(*problem);
            None
        }
    }
}

/// Returns all documents of a file that contain more than comments.
fn all_documents(source: &Arc<Source>) -> OrProblem<Vec<FoundDocument>> {
    let ranges = documents(&source.text);
    let mut found = Vec::new();
    for range in &ranges {
        let alone = if ranges.len() == 1 {
            Arc::clone(source)
        } else {
            Arc::new(source.with_text(only(&source.text, range)))
        };
        let (root, replaced) = tree::parse_as_product(MOST_VALUES, &alone)?;
        if !root.is_empty() {
            found.push(FoundDocument { root, replaced });
        }
    }
    Ok(found)
}

/// Returns the objects in a document: its items if it is a list, otherwise the document itself.
fn objects_of(document: FoundDocument) -> Vec<FoundDocument> {
    let is_list = document.kind().ends_with("List");
    let items = document.root.get(&Path::of("items"));
    let Some(items) = items.filter(|items| is_list && !items.items().is_empty()) else {
        return vec![document];
    };
    let mut found = Vec::new();
    for item in items.items() {
        found.push(FoundDocument {
            root: item.clone(),
            replaced: document.replaced.clone(),
        });
    }
    found
}

fn empty_map() -> Node {
    Node {
        at: 0..0,
        value: Value::Map(Vec::new()),
        struck: false,
    }
}
