//! The objects of an export: JSON or YAML, several documents, lists, and bare arrays.
//!
//! A large export is read in passes over its text: JSON is split into its objects without building a tree, and only
//! the relevant fields of each object are read. Only an object with an error is parsed to a tree, which has the
//! positions of its fields. YAML is parsed to a tree and converted to JSON, so its size is limited to
//! [`MOST_YAML_VALUES`] values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::object::KubeObject;
use crate::document::documents::{documents, only};
use crate::document::files::json_problem;
use crate::document::path::Path;
use crate::document::problem::{OrProblems, Problem, Source};
use crate::document::reader::{self, Kind, ReadError};
use crate::document::tree::{self, MOST_YAML_VALUES, Node};
use crate::document::wording::Wording;

/// Maximum number of documents in a YAML file.
const MOST_DOCUMENTS: usize = 2_000;

/// One object of an export.
pub(crate) struct ExportObject<'s> {
    source: &'s Arc<Source>,
    /// The object as JSON text, which is a part of the source unless the source is YAML.
    text: Cow<'s, str>,
    /// The object's document, if the source is YAML.
    yaml: Option<Arc<Node>>,
    /// The object's path in its document. Empty if the document is the object.
    pub(crate) path: Path,
}

/// An object, and the fields that were read from it.
pub(crate) struct ReadObject<'s, T> {
    pub(crate) object: ExportObject<'s>,
    pub(crate) value: T,
}

/// A list in the format of kubectl, Argo CD or Cloud Foundry.
#[derive(Deserialize)]
struct ListEnvelope<'s> {
    #[serde(borrow)]
    items: Option<&'s RawValue>,
    #[serde(borrow)]
    resources: Option<&'s RawValue>,
    #[serde(borrow)]
    pagination: Option<&'s RawValue>,
}

/// Returns the objects in an export, in the file's order.
///
/// # Errors
/// Returns an error with its position if the text is neither JSON nor YAML.
pub(crate) fn objects(source: &Arc<Source>) -> OrProblems<Vec<ExportObject<'_>>> {
    objects_in(source, YamlWords::Core)
}

/// Returns the objects in a product's file, with YAML interpreted as the product does.
///
/// # Errors
/// See [`objects`].
pub(crate) fn objects_of_product(source: &Arc<Source>) -> OrProblems<Vec<ExportObject<'_>>> {
    objects_in(source, YamlWords::OfProducts)
}

/// How scalars and duplicate keys in YAML are interpreted.
#[derive(Clone, Copy)]
enum YamlWords {
    /// YAML's core schema. Duplicate keys are rejected.
    Core,
    /// The rules of the products' parsers.
    OfProducts,
}

fn objects_in(source: &Arc<Source>, words: YamlWords) -> OrProblems<Vec<ExportObject<'_>>> {
    let is_json = source.text.trim_start().starts_with(['{', '[']);
    let is_yaml = [".yaml", ".yml"]
        .iter()
        .any(|ending| unpacked_name(&source.name.to_lowercase()).ends_with(ending));
    if !is_json {
        return yaml_objects(source, words);
    }
    let error = match json_objects(&source.text) {
        Ok(texts) => {
            let mut found = Vec::new();
            for ObjectText { path, text } in texts {
                found.push(ExportObject {
                    source,
                    text: Cow::Borrowed(text),
                    yaml: None,
                    path,
                });
            }
            return Ok(found);
        }
        Err(error) => error,
    };
    // A text that begins with a brace may also be YAML in flow style.
    if is_yaml && let Ok(found) = yaml_objects(source, words) {
        return Ok(found);
    }
    Err(vec![json_problem(source, &error)])
}

/// Returns the name of a file without a compression extension.
pub(crate) fn unpacked_name(name: &str) -> &str {
    name.strip_suffix(".gz").unwrap_or(name)
}

/// The JSON text of an object.
struct ObjectText<'t> {
    /// The object's path in its document.
    path: Path,
    text: &'t str,
}

/// Returns the texts of the objects in JSON documents.
fn json_objects(text: &str) -> Result<Vec<ObjectText<'_>>, serde_json::Error> {
    let mut found = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let text = document?.get();
        // Argo CD's client prints an empty list as `null`.
        if text == "null" {
            continue;
        }
        let Some(list) = list_in(text)? else {
            let path = Path::default();
            found.push(ObjectText { path, text });
            continue;
        };
        for (at, item) in raw_items(list.text)?.into_iter().enumerate() {
            let path = list.path.index(at);
            let text = item.get();
            // `jq -s` creates an array of lists, from several clusters or pages.
            let Some(inner) = items_of_list(text) else {
                found.push(ObjectText { path, text });
                continue;
            };
            let path = path.key("items");
            for (at, item) in inner.into_iter().enumerate() {
                found.push(ObjectText {
                    path: path.index(at),
                    text: item.get(),
                });
            }
        }
    }
    Ok(found)
}

/// Returns the list that a document is or contains. `None`: the document is a single object.
fn list_in(text: &str) -> Result<Option<ObjectText<'_>>, serde_json::Error> {
    if text.starts_with('[') {
        let path = Path::default();
        return Ok(Some(ObjectText { path, text }));
    }
    if !text.starts_with('{') {
        return Ok(None);
    }
    let envelope: ListEnvelope<'_> = serde_json::from_str(text)?;
    let (key, list) = match (envelope.items, envelope.resources) {
        (Some(items), _) => ("items", items),
        (None, Some(resources)) if envelope.pagination.is_some() => ("resources", resources),
        (None, _) => return Ok(None),
    };
    let list = list.get();
    Ok(list.starts_with('[').then(|| ObjectText {
        path: Path::of(key),
        text: list,
    }))
}

fn raw_items(list: &str) -> Result<Vec<&RawValue>, serde_json::Error> {
    serde_json::from_str(list)
}

/// Returns the items of an object that is a list. `None`: the object is not a list.
fn items_of_list(text: &str) -> Option<Vec<&RawValue>> {
    if !is_list(text) {
        return None;
    }
    let ListEnvelope { items, .. } = serde_json::from_str(text).ok()?;
    raw_items(items?.get()).ok()
}

/// Returns, without parsing the text, whether an object may be a list.
fn is_list(text: &str) -> bool {
    text.starts_with('{') && text.contains("\"items\"") && text.contains("List\"")
}

fn yaml_objects(source: &Arc<Source>, words: YamlWords) -> OrProblems<Vec<ExportObject<'_>>> {
    let documents = documents(&source.text);
    if documents.len() > MOST_DOCUMENTS {
        let message = format!("the file has more than {MOST_DOCUMENTS} YAML documents");
        return Err(vec![
            Problem::of_file(&source.name, message)
                .with_help("export one list, as JSON: `-o json`"),
        ]);
    }
    let is_only = documents.len() == 1;
    let mut found = Vec::new();
    for range in documents {
        let root = Arc::new(if is_only {
            yaml_tree(source, words)?
        } else {
            yaml_document(source, &range, words)?
        });
        let json = root.to_json().to_string();
        let objects = json_objects(&json).map_err(|error| vec![json_problem(source, &error)])?;
        for ObjectText { path, text } in objects {
            found.push(ExportObject {
                source,
                text: Cow::Owned(text.to_owned()),
                yaml: Some(Arc::clone(&root)),
                path,
            });
        }
    }
    Ok(found)
}

/// Parses one of several YAML documents, with positions that refer to the file.
fn yaml_document(source: &Arc<Source>, range: &Range<usize>, words: YamlWords) -> OrProblems<Node> {
    let part = source.with_text(&source.text[range.clone()]);
    match yaml_tree(&Arc::new(part), words) {
        Ok(mut root) => {
            root.shift(range.start);
            Ok(root)
        }
        // The document is parsed again with the other documents as blank lines, so that the error has its position in
        // the file.
        Err(problems) => {
            let alone = source.with_text(only(&source.text, range));
            match yaml_tree(&Arc::new(alone), words) {
                Ok(_) => Err(problems),
                Err(placed) => Err(placed),
            }
        }
    }
}

fn yaml_tree(source: &Arc<Source>, words: YamlWords) -> OrProblems<Node> {
    let read = match words {
        YamlWords::Core => tree::parse_up_to(MOST_YAML_VALUES, source),
        YamlWords::OfProducts => {
            tree::parse_as_product(MOST_YAML_VALUES, source).map(|(root, _)| root)
        }
    };
    read.map_err(|problem| {
        if problem.message.contains("too many values") {
            return vec![problem.with_help("export it as JSON: `-o json`")];
        }
        let help = problem.help.clone();
        vec![problem.with_optional_help(help)]
    })
}

/// Reports at most 20 objects with a missing or duplicate name.
pub(crate) fn name_problems<Spec, Status>(
    found: &[ReadObject<'_, KubeObject<Spec, Status>>],
) -> Vec<Problem> {
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for ReadObject { object, value } in found {
        if problems.len() == 20 {
            break;
        }
        let name = value.name();
        if name.is_empty() {
            let problem = object.problem("metadata", "the object has no `metadata.name`");
            problems.push(problem.with_help("export whole objects, with `-o json` or `-o yaml`"));
        } else if !names.insert((value.namespace(), name)) {
            let message = format!("two objects are named `{name}` in the same namespace");
            let problem = object.problem("metadata.name", message);
            problems.push(problem.with_help("keep one; export every object only once"));
        }
    }
    problems
}

/// Returns whether an error is in a field that is read. Errors in other fields are ignored.
const fn is_of_known_field(error: &ReadError) -> bool {
    !matches!(error.kind, Kind::UnknownField { .. })
}

impl<'s> ExportObject<'s> {
    /// Reads the relevant fields; other fields are ignored.
    ///
    /// # Errors
    /// Returns every field with a wrong type, and its path.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> OrProblems<T> {
        let error = match self.try_read() {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let mut problems = Vec::new();
        if let Some(tree) = self.tree() {
            for error in reader::read_where::<T>(tree, is_of_known_field).errors {
                let problem = self.at(&error.path, error.wording());
                problems.push(problem.with_optional_help(error.help()));
            }
        }
        if problems.is_empty() {
            // The error has no field, so it is reported for the object as a whole.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            problems.push(self.problem("", message.to_owned()));
        }
        Err(problems)
    }

    /// Reads the relevant fields like [`ExportObject::read`], without determining the positions of errors.
    ///
    /// # Errors
    /// Returns the first field with a wrong type.
    pub(crate) fn try_read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.text)
    }

    /// Returns a problem with a field.
    pub(crate) fn problem(&self, field: &str, message: impl Into<Wording>) -> Problem {
        self.at(&Path::parse(field).unwrap_or_default(), message)
    }

    fn at(&self, field: &Path, message: impl Into<Wording>) -> Problem {
        let path = self.path.then(field);
        let span = match &self.yaml {
            Some(document) => document.place(&path),
            None => {
                // The text is a slice of the source's text.
                let start = (self.text.as_ptr() as usize)
                    .saturating_sub(self.source.text.as_ptr() as usize);
                let place = self.tree().map_or(0..0, |tree| tree.place(field));
                start + place.start..start + place.end
            }
        };
        self.source.at(span, path.to_string(), message)
    }

    /// Returns the object as a tree. Positions count from the object's start in JSON, and from the file's start in
    /// YAML.
    fn tree(&self) -> Option<Node> {
        match &self.yaml {
            Some(document) => document.get(&self.path).cloned(),
            None => {
                let own = self.source.with_text(&*self.text);
                tree::parse_up_to(MOST_YAML_VALUES, &Arc::new(own)).ok()
            }
        }
    }

    /// Returns the object as JSON, for writing it to a separate file.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        self.try_read().unwrap_or_default()
    }

    /// Returns the exact JSON text of an object. `None`: the source is YAML.
    pub(crate) const fn json_text(&self) -> Option<&'s str> {
        match self.text {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Arc<Source> {
        Arc::new(Source::new(name, text))
    }

    #[derive(Debug, Deserialize)]
    struct Named {
        name: String,
        #[serde(default)]
        tags: Vec<u32>,
    }

    fn names(text: &str) -> Vec<String> {
        let source = source("x", text);
        let objects = objects(&source).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        objects
            .iter()
            .map(|object| object.read::<Named>().expect("named").name)
            .collect()
    }

    #[test]
    fn every_form_of_several_objects_is_read() {
        for text in [
            r#"[{"name": "a"}, {"name": "b", "other": {"x": [1]}}]"#,
            r#"{"kind": "List", "items": [{"name": "a"}, {"name": "b"}]}"#,
            r#"[{"kind": "List", "items": [{"name": "a"}]}, {"items": [{"name": "b"}], "kind": "ClusterList"}]"#,
            "- kind: List\n  items: [{name: a}]\n- kind: List\n  items: [{name: b}]\n",
            r#"{"pagination": {}, "resources": [{"name": "a"}, {"name": "b"}]}"#,
            "{\"name\": \"a\"}\n{\"name\": \"b\"}\n",
            "name: a\n---\n# nothing\n---\nname: b\n",
            "--- # first\nname: a\n...\n---\nname: b\nother: {x: y}\n",
            "items:\n- name: a\n- name: b\nkind: List\n",
            "- name: a\n- name: b\n",
        ] {
            assert_eq!(names(text), ["a", "b"], "{text}");
        }
        assert_eq!(
            names("{\"kind\": \"List\", \"items\": []}"),
            Vec::<String>::new()
        );
        assert_eq!(
            names("resources: [1]\nname: a\n"),
            ["a"],
            "no page of a list"
        );
    }

    #[test]
    fn an_error_in_an_object_has_its_position_in_the_file() {
        for (text, shown) in [
            (
                "{\"items\": [{\"name\": \"a\"},\n {\"x\": 1, \"name\": 7}]}",
                "x:2:19: items[1].name: expected text, found `7`; write it in quotes: \"7\"",
            ),
            (
                "name: a\n---\nname: b\ntags: [1, x]\n",
                "x:4:11: tags[1]: expected a whole number, 0 or more, found the text `x`",
            ),
            ("{\"kind\": \"X\"}", "x:1:1: the field `name` is missing"),
        ] {
            let source = source("x", text);
            let objects = objects(&source).expect("well-formed");
            let problems = objects
                .last()
                .expect("one")
                .read::<Named>()
                .map(|named| named.tags)
                .expect_err(text);
            let shown_now: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert_eq!(shown_now, [shown], "{text}");
        }
    }

    #[test]
    fn yaml_with_more_values_than_the_limit_is_refused_with_the_fix() {
        // Every document is small, but the list in one of them exceeds the limit.
        let text = format!(
            "name: a\n---\nname: b\ntags: [{}]\n",
            "1, ".repeat(MOST_YAML_VALUES)
        );
        let problems = objects(&source("x.yaml", &text))
            .err()
            .expect("too many values");
        let shown = problems[0].to_string();
        assert!(
            shown.starts_with("x.yaml:4:")
                && shown.ends_with("(help: export it as JSON: `-o json`)"),
            "{shown}"
        );
        let text = "name: a\n---\n".repeat(MOST_DOCUMENTS + 1);
        let problems = objects(&source("x.yaml", &text))
            .err()
            .expect("too many documents");
        assert!(
            problems[0]
                .to_string()
                .contains("more than 2000 YAML documents"),
            "{problems:?}"
        );
    }

    #[test]
    fn malformed_text_is_refused_with_its_position() {
        for (text, start) in [
            (
                "{\"items\": [\n{\"name\": \"a\"",
                "x:2:12: the JSON ends too early",
            ),
            (
                "{\"items\": [\n{\"name\" \"a\"}]}",
                "x:2:9: not JSON: expected `:`",
            ),
            ("a: 1\n---\nb: [1\n", "x:"),
            ("a: 1\na: 2\n", "x:2:1: the key `a` appears twice"),
        ] {
            let source = source("x", text);
            let problems = objects(&source).err().expect(text);
            assert!(problems[0].to_string().starts_with(start), "{problems:?}");
        }
    }
}
