//! Compares how the products' own types and the readers here read the files of `tests/files`, field by field.
//!
//! `fleet -read KIND` and `argocd -read KIND` print a file as the pinned types parse it. Every field in a table must
//! have the same value here, or be absent in both; a file is rejected by both or by neither. Left out: lists of
//! objects, which have no type in a product, and the meaning of values, which `tests/suite/product_files.rs` tests.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path as FsPath, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value as Json;

use super::super::document::ObjectKind;
use super::super::table::{FieldNode, fields_of};
use super::super::{FLEET_YAML, FileReader, checked};
use crate::document::documents::{documents, only};
use crate::document::path::Path;
use crate::document::problem::Source;
use crate::document::tree::{Value, parse_as_product};

/// A permitted difference between the readers, and its reason.
struct Departure {
    file: &'static str,
    /// The field's name. Empty: the whole file.
    field: &'static str,
    #[expect(dead_code, reason = "the reason is for the reader of the list")]
    reason: &'static str,
}

/// Files that the types alone read differently than the whole product does, or than the reader here.
const DEPARTURES: [Departure; 4] = [
    Departure {
        file: "labels-number.yaml",
        field: "",
        reason: "Fleet reads the file a second time, as metadata (read.go:351), and that reading refuses it",
    },
    Departure {
        file: "label-bool.yaml",
        field: "",
        reason: "the API server gets JSON without types, and the set's CRD refuses a bool",
    },
    Departure {
        file: "selector-bool.yaml",
        field: "",
        reason: "as label-bool.yaml",
    },
    Departure {
        file: "no-known-field.yaml",
        field: "",
        reason: "the type ignores every name; whoever names such a file has named the wrong one",
    },
];

/// Returns the folder of the products' programs. `None`: the environment names no folder, so the test is skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("FLEETSIM_CONTROLLERS").map(PathBuf::from);
    if named.is_none() {
        eprintln!("skipped: FLEETSIM_CONTROLLERS names no folder with the programs");
    }
    named
}

/// The result of reading a file: the values of the fields in the tables, or an error.
type FieldReading = Result<BTreeMap<String, Json>, String>;

/// A document in a file, and the kind as which it is read.
struct TypedDocument {
    text: String,
    kind: String,
}

/// Returns the document in a file that a strategy would read. `None`: it is a list, or the file has no document.
fn document_of(text: &str, product: &str) -> Option<TypedDocument> {
    let mut first = None;
    for range in documents(text) {
        let alone = only(text, &range);
        let source = Arc::new(Source::new("file", alone.clone()));
        let root = match parse_as_product(10_000, &source) {
            Ok((root, _)) => Some(root),
            Err(_) => None,
        };
        let kind = root.as_ref().and_then(|root| {
            let kind = root.get(&Path::of("kind"))?;
            match &kind.value {
                Value::Text(kind) => Some(kind.clone()),
                _ => None,
            }
        });
        match kind.as_deref() {
            Some(kind @ ("Bundle" | "HelmOp" | "ApplicationSet")) => {
                return Some(TypedDocument {
                    text: alone,
                    kind: kind.to_owned(),
                });
            }
            Some(kind) if kind.ends_with("List") => return None,
            _ => {}
        }
        first.get_or_insert(alone);
    }
    let kind = match product {
        "fleet" => FLEET_YAML.kind,
        _ => "ApplicationSet",
    };
    Some(TypedDocument {
        text: first?,
        kind: kind.to_owned(),
    })
}

/// Reads the document with the program that uses the product's types.
fn read_by_types(program: &FsPath, document: &TypedDocument, table: &FieldNode) -> FieldReading {
    let mut child = Command::new(program)
        .args(["-read", &document.kind])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(document.text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let json: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    Ok(known_values(&json, table))
}

/// Reads the document with fleetsim's own reader.
fn read_here(document: &TypedDocument, table: &FieldNode) -> FieldReading {
    let source = Arc::new(Source::new("file", document.text.clone()));
    let (mut root, replaced) =
        parse_as_product(10_000, &source).map_err(|problem| problem.to_string())?;
    let object = ObjectKind::of(match document.kind.as_str() {
        "Bundle" => "Bundle",
        "HelmOp" => "HelmOp",
        _ => "ApplicationSet",
    });
    let reader = if document.kind == FLEET_YAML.kind {
        FLEET_YAML
    } else {
        FileReader::object(&object)
    };
    let found = checked(&mut root, &replaced, &source, &reader);
    if let Some(problem) = found.problems.first() {
        return Err(problem.to_string());
    }
    Ok(known_values(&root.to_json(), table))
}

/// Returns the values of the fields that a table lists, by path, without values that are equivalent to an absent
/// field.
fn known_values(json: &Json, table: &FieldNode) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    collect(json, table, "", &mut found);
    found
}

fn collect(json: &Json, field: &FieldNode, place: &str, found: &mut BTreeMap<String, Json>) {
    match json {
        Json::Object(entries) if has_parts(field) => {
            for (key, value) in entries {
                let known = field.fields.get(key).or(field.values.as_deref());
                if let Some(known) = known {
                    let place = format!("{place}.{key}");
                    collect(value, known, place.trim_start_matches('.'), found);
                }
            }
        }
        Json::Array(items) if field.items.is_some() => {
            let entry = field.items.as_deref().expect("a list");
            for (at, item) in items.iter().enumerate() {
                collect(item, entry, &format!("{place}[{at}]"), found);
            }
        }
        _ if json.is_null() || field.zero_is_absent() && is_zero(json) => {}
        _ => {
            found.insert(place.to_owned(), pruned(json));
        }
    }
}

fn has_parts(field: &FieldNode) -> bool {
    !field.fields.is_empty() || field.values.is_some()
}

/// Removes fields that are equivalent to absent ones, because the types print them.
fn pruned(json: &Json) -> Json {
    match json {
        Json::Object(entries) => {
            let mut kept = serde_json::Map::new();
            for (key, value) in entries {
                if !is_zero(value) {
                    kept.insert(key.clone(), pruned(value));
                }
            }
            Json::Object(kept)
        }
        _ => json.clone(),
    }
}

fn is_zero(json: &Json) -> bool {
    match json {
        Json::Null | Json::Bool(false) => true,
        Json::Bool(true) => false,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(entries) => entries.values().all(is_zero),
    }
}

/// Returns whether two values are equal. 5 and 5.0 are equal.
fn are_same(one: Option<&Json>, other: Option<&Json>) -> bool {
    match (one, other) {
        (Some(Json::Number(one)), Some(Json::Number(other))) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// Counts of the compared files.
#[derive(Debug, Default)]
struct ComparedFiles {
    files: usize,
    fields: usize,
    refused_by_both: usize,
    lists: usize,
    departures: usize,
    differences: Vec<String>,
}

impl ComparedFiles {
    fn add(&mut self, file: &str, field: &str, words: &str) {
        let is_known = DEPARTURES
            .iter()
            .any(|known| known.file == file && known.field == field);
        if is_known {
            self.departures += 1;
        } else {
            self.differences.push(format!("{file}: {field}: {words}"));
        }
    }

    fn compare(&mut self, file: &str, upstream: FieldReading, here: FieldReading) {
        self.files += 1;
        match (upstream, here) {
            (Err(_), Err(_)) => self.refused_by_both += 1,
            (Err(error), Ok(_)) => {
                self.add(file, "", &format!("only the type refuses it: {error}"));
            }
            (Ok(_), Err(error)) => {
                self.add(file, "", &format!("the type accepts it: {error}"));
            }
            (Ok(upstream), Ok(here)) => {
                let mut places: Vec<&String> = upstream.keys().chain(here.keys()).collect();
                places.sort_unstable();
                places.dedup();
                for place in places {
                    self.fields += 1;
                    let (theirs, ours) = (upstream.get(place), here.get(place));
                    if !are_same(theirs, ours) {
                        self.add(
                            file,
                            place,
                            &format!("the type has {theirs:?}, here {ours:?}"),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_products_own_types_read_the_corpus_with_the_same_values() {
    let Some(programs) = programs() else { return };
    let mut compared = ComparedFiles::default();
    for (folder, product) in [("fleet", "fleet"), ("argo-cd", "argocd")] {
        let folder = FsPath::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/files")
            .join(folder);
        let entries = fs::read_dir(folder).expect("a folder of files");
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("a file");
            let name = file
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let Some(document) = document_of(&text, product) else {
                compared.lists += 1;
                continue;
            };
            let table = fields_of(&document.kind).expect("a table");
            let upstream = read_by_types(&programs.join(product), &document, table);
            compared.compare(&name, upstream, read_here(&document, table));
        }
    }
    assert!(compared.differences.is_empty(), "{compared:#?}");
    assert!(
        compared.files > 80 && compared.fields > 500,
        "{compared:#?}"
    );
}
