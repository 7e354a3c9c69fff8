//! Errors of the YAML reader in our own words, with a fix for the frequent ones.
//!
//! Other errors keep the reader's own message. A tab in an indentation is reported at the tab, because the reader
//! notices some tabs only at the next key.

use std::ops::Range;
use std::sync::Arc;

use serde_saphyr::Location;
use serde_saphyr::budget::BudgetBreach;

use super::problem::{Problem, Source};
use super::wording::Wording;

/// The message for all syntax errors.
const NOT_YAML: &str = "not YAML";

/// Converts an error of the reader to a problem at its location.
pub(super) fn problem(error: &serde_saphyr::Error, source: &Arc<Source>) -> Problem {
    let error = error.without_snippet();
    let at = error
        .location()
        .map_or(0..0, |location| span(&location, source));
    if is_of_syntax(error)
        && let Some(tab) = tab_in_indentation(&source.text, at.start)
    {
        let help = "replace the tabs at the beginning of lines with spaces";
        return source
            .at(
                tab..tab,
                "",
                "a tab in the indentation; YAML indents with spaces",
            )
            .with_help(help);
    }
    let (message, help) = in_words(error);
    source.at(at, "", message).with_help(help)
}

/// Returns whether the reader rejected an alias.
pub(super) fn is_of_alias(error: &serde_saphyr::Error) -> bool {
    matches!(
        error.without_snippet(),
        serde_saphyr::Error::Budget {
            breach: BudgetBreach::Aliases { .. },
            ..
        }
    )
}

/// Returns the message for an error, and the fix.
fn in_words(error: &serde_saphyr::Error) -> (Wording, &'static str) {
    use serde_saphyr::Error;
    let inner = match error {
        Error::AliasError { error, .. } => error.without_snippet(),
        other => other,
    };
    match inner {
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => too_deep(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => (
            "the YAML expands to too many values".into(),
            "an experiment needs at most 250 000 values; write repeated clusters as one group with a range, or as an \
             inventory in JSON",
        ),
        Error::DuplicateMappingKey { key, .. } => (
            Wording::quoting(
                format!("the key `{}` appears twice", key.as_deref().unwrap_or("?")),
                "a key appears twice",
            ),
            "keep one of the two; the file does not say which one is meant",
        ),
        Error::MultipleDocuments { .. } => (
            "the file contains several YAML documents".into(),
            "keep one; `---` starts a new document",
        ),
        Error::RecursiveReferencesRequireWeakTypes { .. } => (
            "this alias is inside the value that it refers to, so it would never end".into(),
            "move the anchor (`&name`) to a value without this alias, or write the value out here",
        ),
        Error::UnknownAnchor { .. } => (
            not_yaml(inner),
            "name the value with `&name` above this line, or quote the text if it begins with `*`",
        ),
        other if plain_message(other).starts_with("recursion limit") => too_deep(),
        other if plain_message(other).ends_with("is not a finite number") => (
            Wording::quoting(plain_message(other), "a number is not finite"),
            "write a finite number; to omit a limit, remove its line; quote text that only looks like a number",
        ),
        other => (
            not_yaml(other),
            "quote text that contains `: `, `#`, `{` or `[`",
        ),
    }
}

fn too_deep() -> (Wording, &'static str) {
    (
        "the YAML is nested too deeply".into(),
        "use at most 64 levels",
    )
}

fn not_yaml(error: &serde_saphyr::Error) -> Wording {
    Wording::quoting(format!("not YAML: {}", plain_message(error)), NOT_YAML)
}

/// Returns true if the text is not YAML at all, and false for YAML of an unwanted form.
fn is_of_syntax(error: &serde_saphyr::Error) -> bool {
    in_words(error).0.bare() == Some(NOT_YAML)
}

/// Finds a tab in the indentation of the line at `at`, of the line after it, or of the line before it.
fn tab_in_indentation(text: &str, at: usize) -> Option<usize> {
    let here = line_start(text, at);
    let mut lines = vec![here];
    if let Some(length) = text[at..].find('\n') {
        lines.push(at + length + 1);
    }
    if here > 0 {
        lines.push(line_start(text, here - 1));
    }
    for start in lines {
        let line = text[start..].lines().next().unwrap_or_default();
        let indentation = &line[..line.len() - line.trim_start().len()];
        if let Some(tab) = indentation.find('\t') {
            return Some(start + tab);
        }
    }
    None
}

/// Returns the byte offset of the start of the line at `at`.
fn line_start(text: &str, at: usize) -> usize {
    match text[..at].rfind('\n') {
        Some(end) => end + 1,
        None => 0,
    }
}

/// Returns the YAML reader's own message without the position, which is reported separately.
fn plain_message(error: &serde_saphyr::Error) -> String {
    let message = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
    message
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the bytes that a location covers, limited to the text.
pub(super) fn span(location: &Location, source: &Source) -> Range<usize> {
    let whole = source.text.len();
    let offset = location
        .span()
        .byte_offset()
        .and_then(|offset| usize::try_from(offset).ok());
    let start = match offset {
        Some(offset) if source.text.is_char_boundary(offset) => offset.min(whole),
        _ => source.offset(location.line() as usize, location.column() as usize),
    };
    let len = location
        .span()
        .byte_len()
        .and_then(|len| usize::try_from(len).ok())
        .unwrap_or(0);
    let end = start.saturating_add(len).min(whole);
    start..if source.text.is_char_boundary(end) {
        end
    } else {
        start
    }
}
