//! The product's own file that contains the strategy: its product, and its text for the experiment.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::draft::StrategyFile;
use super::kinds::{ExpectedKind, ExportShape};
use super::sources::{Texts, written};
use crate::document::problem::{OrProblems, Problem, Source};
use crate::document::wording::Wording;
use crate::document::yaml::to_yaml;
use crate::io::is_stdin;
use crate::scenario::import::objects::{ExportObject, objects_of_product, unpacked_name};

/// A strategy for some product.
pub(super) struct FoundStrategy {
    pub(super) file: StrategyFile,
    /// The object's kind. `None`: the object is not a Kubernetes object.
    pub(super) kind: Option<String>,
    /// The user's file, which positions of problems refer to.
    source: Arc<Source>,
    number: usize,
    /// The kinds of other objects in the file.
    pub(super) others: Vec<String>,
}

impl FoundStrategy {
    /// Reads the relevant fields.
    ///
    /// # Errors
    /// Returns every field with a wrong type, and its path.
    pub(super) fn read<T: DeserializeOwned>(&self) -> OrProblems<T> {
        self.objects()[self.number].read()
    }

    /// Returns a problem with a field of the object.
    pub(super) fn problem(&self, field: &str, message: impl Into<Wording>) -> Problem {
        self.objects()[self.number].problem(field, message)
    }

    fn objects(&self) -> Vec<ExportObject<'_>> {
        objects_of_product(&self.source)
            .unwrap_or_else(|_| unreachable!("the text was read before"))
    }
}

/// Reads the strategy's file, if a file is named. `is_it` selects the object if there are several documents.
///
/// # Errors
/// Returns an error if the file has no such object.
pub(super) fn read(
    path: Option<&Path>,
    expected: &ExpectedKind,
    is_it: impl Fn(&ExportShape) -> bool,
    default_name: &str,
    texts: &mut Texts,
) -> OrProblems<Option<FoundStrategy>> {
    let Some(path) = path else { return Ok(None) };
    let source = texts.read(path, expected.command)?;
    in_file(path, &source, expected, is_it, default_name).map(Some)
}

/// Reads the strategy in a file with this text. `is_it` selects the object if there are several documents.
///
/// # Errors
/// Returns an error if the file has no such object, or several of them.
pub(super) fn in_file(
    path: &Path,
    source: &Arc<Source>,
    expected: &ExpectedKind,
    is_it: impl Fn(&ExportShape) -> bool,
    default_name: &str,
) -> OrProblems<FoundStrategy> {
    let all = objects_of_product(source)?;
    let shapes: Vec<ExportShape> = all.iter().map(ExportShape::of).collect();
    let mut found = all
        .iter()
        .zip(&shapes)
        .enumerate()
        .filter(|(_, (_, shape))| is_it(shape));
    let Some((number, (object, _))) = found.next() else {
        if all.is_empty() && expected.may_be_empty() {
            return Ok(empty(path, default_name, source));
        }
        let help = written(expected.command);
        return Err(match (all.first(), shapes.first()) {
            (Some(object), Some(shape)) => vec![expected.wrong_kind(object, shape)],
            _ => vec![Problem::of_file(&source.name, "the file has no values").with_help(help)],
        });
    };
    if let Some((_, (second, _))) = found.next() {
        let problem = second.problem("", "the file has two strategies");
        let help = format!(
            "keep the one that is rolled out, or name only that one: {}",
            written(expected.command)
        );
        return Err(vec![problem.with_help(help)]);
    }
    let (name, text) = text_of(path, default_name, source, object, all.len());
    let file = StrategyFile {
        name,
        origin: source.name.clone(),
        text,
    };
    let mut others = Vec::new();
    for (at, shape) in shapes.iter().enumerate() {
        if at != number {
            others.push(shape.name());
        }
    }
    Ok(FoundStrategy {
        file,
        kind: shapes[number].kind(),
        source: Arc::clone(source),
        number,
        others,
    })
}

/// Returns the strategy for a file that contains only comments. It uses all defaults.
fn empty(path: &Path, default_name: &str, source: &Arc<Source>) -> FoundStrategy {
    let own = path.file_name().map(|name| name.to_string_lossy());
    FoundStrategy {
        file: StrategyFile {
            name: plain_name(own.as_deref().unwrap_or(default_name), default_name),
            origin: source.name.clone(),
            text: source.text.clone(),
        },
        kind: None,
        source: Arc::clone(source),
        number: 0,
        others: Vec::new(),
    }
}

/// Returns the whole text if the object is alone in it, otherwise the object as YAML.
fn text_of(
    path: &Path,
    default_name: &str,
    source: &Arc<Source>,
    object: &ExportObject<'_>,
    count: usize,
) -> (String, String) {
    let is_whole = count == 1 && object.path.0.is_empty();
    let own = path
        .file_name()
        .map(|name| unpacked_name(&name.to_string_lossy()).to_owned());
    let own = own.filter(|_| !is_stdin(path) && is_whole);
    let text = if is_whole {
        source.text.clone()
    } else {
        to_yaml(&object.to_json())
    };
    (
        plain_name(own.as_deref().unwrap_or(default_name), default_name),
        text,
    )
}

/// Returns `name` if it is a plain, unused file name of letters, digits, `-`, `_` and `.`, otherwise `default`.
pub(super) fn plain_name(name: &str, default: &str) -> String {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_used = ["experiment.yaml", super::page::TABLE, super::page::GROUPS].contains(&name);
    let name = if is_plain && !name.is_empty() && !name.starts_with('.') && !is_used {
        name
    } else {
        default
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_file_keeps_its_name_if_it_is_plain() {
        assert_eq!(plain_name("fleet.yaml", "x.yaml"), "fleet.yaml");
        for odd in [
            "",
            ".hidden",
            "a b.yaml",
            "clusters.csv",
            "experiment.yaml",
            "ä.yaml",
        ] {
            assert_eq!(plain_name(odd, "x.yaml"), "x.yaml", "{odd}");
        }
    }
}
