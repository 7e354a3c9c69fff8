//! `accept`: the fields of a product's file that affect the rollout but are not simulated, and that the user accepts
//! anyway.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::table::{self, FieldClass};
use super::{APP_MANIFEST, DecidingField, PROCESS};
use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::problem::{Problem, Source, nearest};
use crate::document::tree::Node;
use crate::document::wording::Wording;

/// Names of fields in the strategy's file that affect the rollout but are not simulated, e.g. `helm.waitForJobs`. A
/// listed field adds a note to the results; any other such field is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(inline))]
#[serde(transparent)]
pub(crate) struct Accepted(Vec<String>);

impl Accepted {
    /// Reports the file's fields that affect the rollout but are not simulated, and adds a note for each accepted
    /// field. `path` is the strategy's path in the experiment.
    pub(crate) fn apply(
        &self,
        deciding: &[DecidingField],
        root: &Node,
        source: &Arc<Source>,
        path: &Path,
        context: &mut Context<'_>,
    ) {
        self.check_names(path, context);
        for field in deciding {
            if self.has(&field.name) {
                context.notes.push(field.accepted());
            } else {
                context.problems.push(problem(field, root, source));
            }
        }
    }

    /// Returns whether a field, or a field that contains it, is accepted.
    pub(crate) fn has(&self, name: &str) -> bool {
        let name = plain(name);
        self.0.iter().any(|accepted| is_in(&name, &plain(accepted)))
    }

    /// Reports accepted names that no table lists as affecting the rollout.
    fn check_names(&self, path: &Path, context: &mut Context<'_>) {
        if self.0.is_empty() {
            return;
        }
        let mut known = Vec::new();
        for row in table::rows() {
            if row.class == FieldClass::Decides {
                known.push(plain(&row.path));
            }
        }
        for (at, name) in self.0.iter().enumerate() {
            let written = plain(name);
            if known.iter().any(|known| is_in(known, &written)) {
                continue;
            }
            let help = match nearest(&written, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it".to_owned(),
            };
            let message = format!("`{name}` is not a field that needs acceptance");
            context.report(&path.key("accept").index(at), message, &help);
        }
    }
}

/// Returns whether a field equals another one, or is a subfield of it.
fn is_in(name: &str, around: &str) -> bool {
    match name.strip_prefix(around) {
        Some(rest) => rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}

/// Returns names in the form that `accept` uses, without duplicates.
pub(crate) fn names_to_accept<'f>(
    deciding: impl IntoIterator<Item = &'f DecidingField>,
) -> Vec<String> {
    let mut names = Vec::new();
    for field in deciding {
        let name = plain(&field.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the effect of a Cloud Foundry app's field, given its name in `accept`. `None`: the field is unknown or
/// simulated.
pub(crate) fn effect_of_app_field(name: &str) -> Option<String> {
    let name = plain(name);
    for row in table::rows() {
        let is_of_app = [APP_MANIFEST.kind, PROCESS.kind].contains(&row.kind.as_str());
        if is_of_app && row.class == FieldClass::Decides && plain(&row.path) == name {
            return Some(row.effect.clone());
        }
    }
    None
}

/// Returns a name without indices and list marks, which a user may omit.
fn plain(name: &str) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let (inside, after) = after.split_once(']').unwrap_or(("", after));
        let is_index = inside.is_empty() || inside == "*" || inside.parse::<usize>().is_ok();
        if !is_index {
            text.push('.');
            text.push_str(inside);
        }
        rest = after;
    }
    text.push_str(rest);
    text.strip_suffix(".*").map(str::to_owned).unwrap_or(text)
}

fn problem(field: &DecidingField, root: &Node, source: &Arc<Source>) -> Problem {
    let message = Wording::quoting(
        format!(
            "`{}` is not simulated and can change the answer ({})",
            field.path, field.effect
        ),
        "the file has a field that is not simulated and can change the answer",
    );
    let help = format!(
        "remove it from the file, or write `accept: [{}]` in the strategy to go on without it",
        plain(&field.name)
    );
    source
        .at(root.key_place(&field.path), field.path.to_string(), message)
        .with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_accepted_with_and_without_the_marks_of_lists() {
        let accepted = Accepted(vec!["targets.helm".to_owned(), "dependsOn[]".to_owned()]);
        for name in [
            "targets[].helm",
            "targets[].helm.atomic",
            "dependsOn[].name",
        ] {
            assert!(accepted.has(name), "{name}");
        }
        for name in ["targets[].helmet", "targets[]", "ignore"] {
            assert!(!accepted.has(name), "{name}");
        }
        assert_eq!(plain("a[0].b[].c.*"), "a.b.c");
        assert_eq!(plain("annotations[x.io/y]"), "annotations.x.io/y");
    }
}
