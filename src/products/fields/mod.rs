//! Reads files of the products as the products do. Every field has a class, and no field that affects the rollout is
//! silently ignored.
//!
//! `table` contains the fields of the products' types. [`checked`] walks a file along its table: it accepts names in
//! any letter case if the product does, rejects values of a type that the product rejects, and finds the fields that
//! affect the rollout but are not simulated. These are errors unless the experiment accepts them by name. The product
//! ignores fields that are not in the table, and a note says so. Left out: enums and patterns of the API server,
//! except for those that the products' own readers check here.

mod accepted;
mod document;
pub(crate) mod table;

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use itertools::Itertools;

use crate::document::path::{Path, Step};
use crate::document::problem::{Problem, Source, nearest};
use crate::document::tree::{Key, Node, Value};
use crate::document::wording::Wording;
use table::{DecidesWhen, FieldClass, FieldNode, FieldRow, ValueForm};

pub(crate) use table::deciding_names;

pub(crate) use accepted::{Accepted, effect_of_app_field, names_to_accept};
pub(crate) use document::{
    BundleDocument, BundleKind, FileChoice, ObjectKind, ReadFile, bundle, deciding_of, object,
    objects, read_file,
};

/// A product's rules for reading one kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileReader {
    /// The name of the kind in the tables of fields.
    pub(crate) kind: &'static str,
    /// The name of the reader for messages.
    pub(crate) product: &'static str,
    pub(crate) names: NameSpellings,
    /// Fields that require text and in which numbers and booleans are converted to text. In other such fields they are
    /// rejected.
    pub(crate) rewritten: &'static [&'static str],
    /// Whether the experiment has a quota.
    pub(crate) has_quota: bool,
}

/// The spellings of a field's name that a product accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NameSpellings {
    /// The exact name. Fields with other spellings are pruned.
    Exact,
    /// Any letter case. If a field occurs several times, the last spelling in byte order wins, because the
    /// intermediate JSON is sorted.
    AnyCase,
    /// All spellings that Rails converts to the same word: any letter case, and `-` or `_`. If a field occurs several
    /// times, the last one in the file wins.
    Underscored,
}

impl NameSpellings {
    /// Returns whether a written name is a spelling of a field's name.
    fn are_same(self, written: &str, name: &str) -> bool {
        match self {
            Self::Exact => written == name,
            Self::AnyCase => written.eq_ignore_ascii_case(name),
            Self::Underscored => underscored(written) == underscored(name),
        }
    }

    /// Describes the spellings that the product accepts.
    const fn in_words(self) -> &'static str {
        match self {
            Self::Exact => "names as they are",
            Self::AnyCase => "names in any letter case",
            Self::Underscored => "names in any letter case, with `-` or `_`",
        }
    }
}

/// Converts a name like Rails' `underscore`: `healthCheck-Type` becomes `health_check_type`.
fn underscored(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut text = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let begins_word = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                let ends_word = before.is_ascii_lowercase() || before.is_ascii_digit();
                let is_next_lower = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
                ends_word || before.is_ascii_uppercase() && is_next_lower
            });
        if begins_word {
            text.push('_');
        }
        text.push(if *letter == '-' {
            '_'
        } else {
            letter.to_ascii_lowercase()
        });
    }
    text
}

/// Fleet's reader for a fleet.yaml. Source: `internal/bundlereader/read.go` of rancher/fleet.
pub(crate) const FLEET_YAML: FileReader = FileReader {
    kind: "FleetYAML",
    product: "Fleet",
    names: NameSpellings::AnyCase,
    rewritten: &["overrideTargets", "targetCustomizations"],
    has_quota: false,
};

/// Cloud Foundry's reader for an app manifest. Source: `app/messages/app_manifest_message.rb` of
/// cloudfoundry/cloud_controller_ng. During an import there is no quota.
pub(crate) const APP_MANIFEST: FileReader = FileReader {
    kind: "manifest",
    product: "Cloud Foundry",
    names: NameSpellings::Underscored,
    rewritten: &[],
    has_quota: false,
};

/// The reader for Cloud Foundry's API response about a process.
pub(crate) const PROCESS: FileReader = FileReader {
    kind: "process",
    product: "Cloud Foundry",
    names: NameSpellings::Exact,
    rewritten: &[],
    has_quota: false,
};

impl FileReader {
    fn is_of_cloud_foundry(&self) -> bool {
        self.product == APP_MANIFEST.product
    }

    /// Creates the reader for an object that the API server parses.
    const fn object(kind: &ObjectKind) -> Self {
        Self {
            kind: kind.table,
            product: kind.product,
            names: NameSpellings::Exact,
            rewritten: &[],
            has_quota: kind.has_quota,
        }
    }
}

/// A field that affects the rollout but is not simulated.
#[derive(Clone, Debug)]
pub(crate) struct DecidingField {
    /// The field's path in the file.
    pub(crate) path: Path,
    /// The byte range of the field's value.
    pub(crate) at: Range<usize>,
    /// The field's name in the table, such as `targets[].helm.atomic`.
    pub(crate) name: String,
    /// The field's possible effect on the rollout.
    pub(crate) effect: String,
}

impl DecidingField {
    /// Returns the note for a field that the user accepts.
    pub(crate) fn accepted(&self) -> String {
        format!(
            "`{}` is accepted and not simulated ({})",
            self.path, self.effect
        )
    }
}

/// The result of checking a file against the table of fields.
#[derive(Debug, Default)]
pub(crate) struct FileCheck {
    /// Problems that the product rejects.
    pub(crate) problems: Vec<Problem>,
    /// Settings that the product accepts but that are rarely intended; one sentence each.
    pub(crate) notes: Vec<String>,
    /// The fields that affect the rollout but are not simulated, in the order of the file.
    pub(crate) deciding: Vec<DecidingField>,
    /// The paths of fields that cannot change the rollout, in order.
    pub(crate) neutral: Vec<String>,
}

/// Checks a file against its table, and renames its fields to the names in the table.
pub(crate) fn checked(
    root: &mut Node,
    replaced: &[Key],
    source: &Arc<Source>,
    reader: &FileReader,
) -> FileCheck {
    let mut found = FileCheck::default();
    for name in replaced.iter().map(|key| &key.text).unique() {
        found.notes.push(if source.is_withheld() {
            format!("a key appears twice; {} uses the last", reader.product)
        } else {
            format!("`{name}` appears twice; {} uses the last", reader.product)
        });
    }
    let Some(table) = table::fields_of(reader.kind) else {
        return found;
    };
    found
        .problems
        .extend(of_no_known_field(root, table, source, reader));
    let mut walk = FieldWalk {
        source,
        reader,
        has_picked: has_picked(root),
        found: &mut found,
    };
    walk.map(root, table, &Path::default(), false);
    found.neutral.sort_unstable();
    found
}

/// Returns the problem with a file that has no known field: it is probably the wrong file. This also applies to an
/// object without `kind`, which is treated as the expected kind. Cloud Foundry has its own messages: its API names
/// every unknown field of a request, and a manifest needs `applications`.
fn of_no_known_field(
    root: &Node,
    table: &FieldNode,
    source: &Arc<Source>,
    reader: &FileReader,
) -> Option<Problem> {
    let entries = root.entries();
    let (first, _) = entries.first()?;
    if reader.is_of_cloud_foundry() || knows_some(table, entries, reader.names) {
        return None;
    }
    // An object of another kind is reported as such.
    if entries.iter().any(|(key, _)| key.text == "kind") {
        return None;
    }
    let (message, help) = if reader.kind == FLEET_YAML.kind {
        let help = "name the fleet.yaml of the bundle; Fleet would ignore this file's fields and use its defaults";
        let message = "the file has no field of a fleet.yaml";
        (message.to_owned(), help.to_owned())
    } else {
        let kind = reader.kind;
        let message = format!("the file has no field of an object of kind `{kind}`");
        let help = format!("name the file with the {kind}; Kubernetes would refuse this one");
        (message, help)
    };
    let message = Wording::quoting(message, "no field of the file is known");
    let problem = source.at(first.at.clone(), first.text.clone(), message);
    Some(problem.with_help(help))
}

/// Returns whether a table has a field with one of these names.
fn knows_some(table: &FieldNode, entries: &[(Key, Node)], names: NameSpellings) -> bool {
    for (key, _) in entries {
        for name in table.fields.keys() {
            if names.are_same(&key.text, name) {
                return true;
            }
        }
    }
    false
}

/// The state of a check of a file.
struct FieldWalk<'w> {
    source: &'w Arc<Source>,
    reader: &'w FileReader,
    /// Whether the file is a placement whose status lists its clusters.
    has_picked: bool,
    found: &'w mut FileCheck,
}

/// Returns whether the file is a KubeFleet placement whose status lists its clusters.
fn has_picked(root: &Node) -> bool {
    let mut names = ["placementStatuses", "perClusterPlacementStatuses"].iter();
    names.any(|name| {
        let statuses = root.get(&Path::of("status").key(name));
        let mut clusters = statuses.into_iter().flat_map(Node::items);
        clusters.any(|cluster| cluster.get(&Path::of("clusterName")).is_some())
    })
}

impl FieldWalk<'_> {
    /// Checks a value. `is_decided`: whether it is inside a field that was found to affect the rollout.
    fn value(&mut self, node: &mut Node, field: &FieldNode, path: &Path, is_decided: bool) {
        if node.is_empty() {
            return;
        }
        let form = field.form();
        self.take_form(node, form, path);
        let decides = !is_decided && self.decides(node, field);
        if decides && let Some(row) = row_of(field) {
            self.found.deciding.push(DecidingField {
                path: path.clone(),
                at: node.at.clone(),
                name: row.path.clone(),
                effect: row.effect.clone(),
            });
        }
        let is_leaf = !matches!(form, ValueForm::List) && field.fields.is_empty();
        if is_leaf && has_class(field, FieldClass::Neutral) {
            self.found.neutral.push(path.to_string());
        }
        let is_decided = is_decided || decides;
        match &mut node.value {
            Value::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    // A text in a list may have its own row in the table, such as the name of an option.
                    let named = field.fields.get(&item.short_text());
                    if let Some(field) = named.or(field.items.as_deref()) {
                        self.value(item, field, &path.index(at), is_decided);
                    }
                }
            }
            Value::Map(_) => self.map(node, field, path, is_decided),
            _ => {}
        }
    }

    /// Checks the entries of a map.
    fn map(&mut self, node: &mut Node, field: &FieldNode, path: &Path, is_decided: bool) {
        let Value::Map(entries) = &mut node.value else {
            return;
        };
        if self.reader.names != NameSpellings::Exact {
            self.take_names(entries, field);
        }
        for (key, value) in entries {
            let below = path.key(&key.text);
            let known = field.fields.get(&key.text).or(field.values.as_deref());
            match known {
                Some(known) => self.value(value, known, &below, is_decided),
                // A map without fields in the table may have arbitrary keys.
                None if field.fields.is_empty() => {}
                None => self.unknown(field, &below),
            }
        }
    }

    /// Renames keys to the names in the table, if the product accepts their spelling.
    fn take_names(&mut self, entries: &mut Vec<(Key, Node)>, field: &FieldNode) {
        if field.fields.is_empty() {
            return;
        }
        let names = self.reader.names;
        for name in field.fields.keys() {
            let mut spellings: Vec<usize> = Vec::new();
            for (at, (key, _)) in entries.iter().enumerate() {
                if names.are_same(&key.text, name) {
                    spellings.push(at);
                }
            }
            let counts = match names {
                NameSpellings::Underscored => spellings.last().copied(),
                NameSpellings::Exact | NameSpellings::AnyCase => spellings
                    .iter()
                    .copied()
                    .max_by_key(|&at| entries[at].0.text.clone()),
            };
            let Some(counts) = counts else {
                continue;
            };
            let written = entries[counts].0.text.clone();
            if written != *name {
                let product = self.reader.product;
                self.found.notes.push(format!(
                    "`{written}` is read as `{name}`: {product} accepts {}",
                    names.in_words()
                ));
                entries[counts].0.text.clone_from(name);
            }
            if spellings.len() > 1 {
                let product = self.reader.product;
                self.found.notes.push(format!(
                    "`{name}` appears in two spellings; {product} uses `{written}`"
                ));
            }
            for at in spellings.into_iter().rev() {
                if at != counts {
                    entries.remove(at);
                }
            }
        }
    }

    /// Handles a field name that the product does not know.
    fn unknown(&mut self, field: &FieldNode, path: &Path) {
        // The API server always knows `apiVersion` and `kind` of the object itself.
        let is_of_object = ["apiVersion", "kind"].contains(&path.to_string().as_str());
        let is_pruned = self.reader.names == NameSpellings::Exact;
        if is_of_object || is_pruned || self.source.is_withheld() {
            return;
        }
        let written = path.last_key();
        let mut note = format!(
            "`{path}` is not a field of {}, so it is ignored",
            self.reader.product
        );
        if let Some(near) = nearest(&written, field.fields.keys().map(String::as_str)) {
            let _ = write!(note, "; did you mean `{near}`?");
        }
        self.found.notes.push(note);
    }

    /// Rejects a value with a type that the product rejects, or converts the value as the product does.
    fn take_form(&mut self, node: &mut Node, form: ValueForm, path: &Path) {
        let expected = match (form, &node.value) {
            (ValueForm::Text, Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                if self.is_rewritten(path) {
                    node.value = Value::Text(node.short_text());
                    return;
                }
                "a text"
            }
            (ValueForm::Text, Value::List(_) | Value::Map(_)) => "a text",
            (ValueForm::Bool, value) if !matches!(value, Value::Bool(_)) => "true or false",
            (ValueForm::WholeNumber, value) if !matches!(value, Value::Int(_)) => "a whole number",
            (ValueForm::WholeNumberOrText, value)
                if !matches!(value, Value::Int(_) | Value::Text(_)) =>
            {
                "a whole number or a text"
            }
            (ValueForm::Map, value) if !matches!(value, Value::Map(_)) => "a map",
            (ValueForm::List, value) if !matches!(value, Value::List(_)) => "a list",
            _ => return,
        };
        let message = Wording::quoting(
            format!("must be {expected}, but this is {}", in_words(&node.value)),
            "the value has a type that the product refuses",
        );
        let help = match (form, &node.value) {
            (ValueForm::Text, Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                format!(
                    "write it in quotes; {} refuses the file",
                    self.reader.product
                )
            }
            (ValueForm::Bool | ValueForm::WholeNumber, Value::Text(_)) => format!(
                "write it without quotes; {} refuses the file",
                self.reader.product
            ),
            _ => format!("{} refuses the file", self.reader.product),
        };
        let problem = self.source.at(node.at.clone(), path.to_string(), message);
        self.found.problems.push(problem.with_help(help));
        node.struck = true;
    }

    fn is_rewritten(&self, path: &Path) -> bool {
        let top = match path.0.first() {
            Some(Step::Key(key)) => key.as_str(),
            _ => "",
        };
        self.reader.rewritten.contains(&top)
    }

    /// Returns whether a value affects the rollout without being simulated.
    fn decides(&self, node: &Node, field: &FieldNode) -> bool {
        let Some(row) = row_of(field) else {
            return false;
        };
        row.class == FieldClass::Decides
            && !(field.zero_is_absent() && is_zero(&node.value))
            && !is_default(node, row)
            && match row.when {
                DecidesWhen::Always => true,
                DecidesWhen::HasTemplate => has_template(node),
                DecidesWhen::HasQuota => self.reader.has_quota,
                DecidesWhen::NotPicked => !self.has_picked,
                DecidesWhen::Above5Min => {
                    matches!(node.value, Value::Int(seconds) if seconds > 300)
                }
                DecidesWhen::Unhealthy => is_unhealthy(node),
            }
    }
}

/// Returns a field's row in the table. For a list, or a map with free keys, this is the row of its entries.
fn row_of(field: &FieldNode) -> Option<&FieldRow> {
    let entry = field.items.as_ref().or(field.values.as_ref());
    match (&field.row, entry) {
        (Some(row), _) => Some(row),
        (None, Some(entry)) => entry.row.as_ref(),
        (None, None) => None,
    }
}

fn has_class(field: &FieldNode, class: FieldClass) -> bool {
    field.row.as_ref().is_some_and(|row| row.class == class)
}

/// Returns whether the value is the zero value of a type in Go.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Int(0) => true,
        Value::Bool(true) | Value::Int(_) => false,
        Value::Float(number) => *number == 0.0,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
    }
}

fn is_default(node: &Node, row: &FieldRow) -> bool {
    let text = node.short_text();
    !row.default.is_empty() && row.default.split('|').any(|default| default == text)
}

/// Returns whether a text in a value contains a Fleet template.
fn has_template(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => text.contains("${"),
        Value::List(items) => items.iter().any(has_template),
        Value::Map(entries) => entries.iter().any(|(_, value)| has_template(value)),
        _ => false,
    }
}

/// Returns whether a list of conditions contains a `Healthy` condition that is not true.
fn is_unhealthy(conditions: &Node) -> bool {
    let mut conditions = conditions.items().iter();
    conditions.any(|condition| {
        is_text_at(condition, "type", "Healthy") && !is_text_at(condition, "status", "True")
    })
}

/// Returns whether an entry of a map has this text as its value.
fn is_text_at(node: &Node, key: &str, text: &str) -> bool {
    let value = node.get(&Path::of(key));
    value.is_some_and(|value| value.short_text() == text)
}

/// Describes a value in words.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Int(value) => format!("the number {value}"),
        Value::Float(value) => format!("the number {value}"),
        Value::Text(text) => format!("the text `{text}`"),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    }
}

#[cfg(test)]
mod tests;
