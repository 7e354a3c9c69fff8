//! A YAML file as a tree in which every value and key has its location.
//!
//! The tree is needed between the YAML reader and the file types for three reasons: an error found after reading (a
//! selector that matches nothing) still points at its line; a sweep sets a value at a path and reads again; and one
//! invalid value must not hide the next. Only this file and, for errors, `yaml_error` depend on the YAML crate.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;
use std::ops::Range;
use std::sync::Arc;

use itertools::Itertools;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::path::{Path, Step};
use super::problem::{Problem, Source};
use super::words::{self, PlainScalar};
use super::yaml_error::{self, span};

/// A value and its location.
#[derive(Clone, Debug)]
pub struct Node {
    /// The byte range of the value in the text.
    pub at: Range<usize>,
    /// The parsed value.
    pub value: Value,
    /// Whether the value was already reported, so that readers skip it.
    pub struck: bool,
}

/// A value of YAML's core schema: `10` is a number, `"10"` is text.
#[derive(Clone, Debug)]
pub enum Value {
    /// Empty, or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number that fits 64 bits, with or without a sign.
    Int(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys with their values, in the order of the text.
    Map(Vec<(Key, Node)>),
}

/// A key of a map and its location.
#[derive(Clone, Debug)]
pub struct Key {
    /// The byte range of the key in the text.
    pub at: Range<usize>,
    /// The text of the key.
    pub text: String,
}

/// Maximum number of values in an experiment file, which normally has hundreds. Lists of thousands of clusters are
/// JSON and are read elsewhere.
const MOST_VALUES: usize = 250_000;

/// Maximum number of values in a YAML export: about 4,000 clusters. JSON has no such limit.
pub const MOST_YAML_VALUES: usize = 1_000_000;

/// Parses a file's text.
///
/// # Errors
/// If the text is not YAML, or is larger or more deeply nested than any experiment.
pub fn parse(source: &Arc<Source>) -> Result<Node, Box<Problem>> {
    parse_up_to(MOST_VALUES, source)
}

/// Like [`parse`], but with up to `most` values.
///
/// # Errors
/// Same as [`parse`].
pub fn parse_up_to(most: usize, source: &Arc<Source>) -> Result<Node, Box<Problem>> {
    let raw = parse_raw(most, DuplicateKeyPolicy::Error, source)?;
    Ok(located(raw, source, &mut ScalarWords::Core))
}

/// Parses a file of a product like the product's own reader: with the scalars of YAML 1.1, and the last of equal keys.
/// The second result contains the keys that a later equal key replaces.
///
/// # Errors
/// Same as [`parse`], with up to `most` values.
pub fn parse_as_product(
    most: usize,
    source: &Arc<Source>,
) -> Result<(Node, Vec<Key>), Box<Problem>> {
    let raw = parse_raw(most, DuplicateKeyPolicy::LastWins, source)?;
    let mut replaced = Vec::new();
    let root = located(raw, source, &mut ScalarWords::OfProducts(&mut replaced));
    Ok((root, replaced))
}

/// Returns whether a file repeats a value with an alias (`*name`). Returns false for a file that is not YAML.
pub fn has_alias(source: &Arc<Source>) -> bool {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_depth: 64 },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let read: Result<de::IgnoredAny, _> =
        serde_saphyr::from_str_with_options(&source.text, options);
    read.is_err_and(|error| yaml_error::is_of_alias(&error))
}

fn parse_raw(
    most: usize,
    duplicate_keys: DuplicateKeyPolicy,
    source: &Arc<Source>,
) -> Result<Spanned<Raw>, Box<Problem>> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: most, max_events: most.saturating_mul(4), max_depth: 64 },
        strict_booleans: true,
        duplicate_keys: duplicate_keys,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options(&source.text, options) {
        Ok(raw) => Ok(raw),
        Err(error) => Err(Box::new(yaml_error::problem(&error, source))),
    }
}

/// How plain scalars and equal keys are interpreted.
enum ScalarWords<'r> {
    /// Scalars follow YAML's core schema. Equal keys were already rejected.
    Core,
    /// Scalars and keys are interpreted like in Go's readers. Keys that a later equal key replaces are added to the
    /// list.
    OfProducts(&'r mut Vec<Key>),
}

fn located(raw: Spanned<Raw>, source: &Source, words: &mut ScalarWords<'_>) -> Node {
    let at = span(&raw.referenced, source);
    let value = match raw.value {
        Raw::Scalar(value) => {
            // An alias repeats a value that is written elsewhere.
            let written = span(&raw.defined, source);
            scalar(value, &written, source, words)
        }
        Raw::List(items) => Value::List(
            items
                .into_iter()
                .map(|item| located(item, source, words))
                .collect(),
        ),
        Raw::Map(entries) => Value::Map(located_entries(entries, source, words)),
    };
    Node {
        at,
        value,
        struck: false,
    }
}

fn located_entries(
    entries: Vec<(Spanned<String>, Spanned<Raw>)>,
    source: &Source,
    words: &mut ScalarWords<'_>,
) -> Vec<(Key, Node)> {
    let mut found: Vec<(Key, Node)> = Vec::with_capacity(entries.len());
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (key, value) in entries {
        let at = span(&key.referenced, source);
        let text = match words {
            ScalarWords::OfProducts(_) if source.text[at.clone()] == key.value => {
                words::key(&key.value)
            }
            _ => key.value,
        };
        let node = located(value, source, words);
        let key = Key { at, text };
        let ScalarWords::OfProducts(replaced) = words else {
            found.push((key, node));
            continue;
        };
        match places.entry(key.text.clone()) {
            MapEntry::Occupied(place) => {
                let (earlier, _) = std::mem::replace(&mut found[*place.get()], (key, node));
                replaced.push(earlier);
            }
            MapEntry::Vacant(place) => {
                place.insert(found.len());
                found.push((key, node));
            }
        }
    }
    found
}

/// Interprets a scalar that is written at `at`.
fn scalar(value: Value, at: &Range<usize>, source: &Source, words: &ScalarWords<'_>) -> Value {
    let written = &source.text[at.clone()];
    match (words, value) {
        (ScalarWords::Core, Value::Int(_) | Value::Float(_)) if is_padded(written) => {
            Value::Text(written.to_owned())
        }
        (ScalarWords::OfProducts(_), value) if has_tag(&source.text[..at.start]) => value,
        (ScalarWords::OfProducts(_), Value::Text(read)) if read == written => {
            plain_value(words::scalar(&read))
        }
        (ScalarWords::OfProducts(_), Value::Int(_) | Value::Float(_) | Value::Bool(_)) => {
            plain_value(words::scalar(written))
        }
        (_, value) => value,
    }
}

fn plain_value(scalar: PlainScalar) -> Value {
    match scalar {
        PlainScalar::Null => Value::Null,
        PlainScalar::Bool(value) => Value::Bool(value),
        PlainScalar::Whole(value) => Value::Int(value),
        PlainScalar::Fraction(value) => Value::Float(value),
        PlainScalar::Text(text) => Value::Text(text),
    }
}

/// Returns true if the text before a value ends with a tag, such as `!!str`, which determines the value's type.
fn has_tag(before: &str) -> bool {
    match before.trim_end().rsplit(char::is_whitespace).next() {
        Some(word) => word.starts_with('!'),
        None => false,
    }
}

/// Returns true for digits with a leading 0, such as `0008` in names of shops and in labels. YAML 1.1 writers do not
/// quote them.
fn is_padded(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A value as the YAML reader returns it, with the locations of the reader.
enum Raw {
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyVisitor;
        impl<'de> Visitor<'de> for AnyVisitor {
            type Value = Raw;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Bool(value)))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Int(value.into())))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Int(value.into())))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Float(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Text(value.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Null))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Raw::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Raw::Map(entries))
            }
        }
        deserializer.deserialize_any(AnyVisitor)
    }
}

/// Serializes the value without its location.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(value) => serializer.serialize_i128(*value),
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items),
            Value::Map(entries) => {
                serializer.collect_map(entries.iter().map(|(key, node)| (&key.text, node)))
            }
        }
    }
}

impl Node {
    /// Creates a value that is not written in a file, e.g. a map on the path to a swept value.
    fn made(at: Range<usize>, value: Value) -> Self {
        Self {
            at,
            value,
            struck: false,
        }
    }

    /// Moves every location towards the end of the text by this number of bytes.
    pub fn shift(&mut self, bytes: usize) {
        self.relocate(&|at| at.start + bytes..at.end + bytes);
    }

    /// Returns the value with location `at` for itself and for all values in it.
    pub fn moved(mut self, at: &Range<usize>) -> Self {
        self.relocate(&|_| at.clone());
        self
    }

    fn relocate(&mut self, to: &dyn Fn(&Range<usize>) -> Range<usize>) {
        self.at = to(&self.at);
        match &mut self.value {
            Value::List(items) => {
                for item in items {
                    item.relocate(to);
                }
            }
            Value::Map(entries) => {
                for (key, node) in entries {
                    key.at = to(&key.at);
                    node.relocate(to);
                }
            }
            _ => {}
        }
    }

    /// Returns the entries of a map; empty for any other value.
    pub fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the entry of a map with this key.
    fn entry(&self, key: &str) -> Option<&(Key, Self)> {
        self.entries().iter().find(|(known, _)| known.text == key)
    }

    /// Returns a copy without one top-level entry.
    pub fn without(&self, top: &str) -> Self {
        let Value::Map(entries) = &self.value else {
            return self.clone();
        };
        let mut others = Vec::new();
        for entry in entries {
            if entry.0.text != top {
                others.push(entry.clone());
            }
        }
        Self {
            at: self.at.clone(),
            value: Value::Map(others),
            struck: self.struck,
        }
    }

    /// Removes the entry with the key `path` from the map at a top-level key.
    pub fn remove_from(&mut self, top: &str, path: &Path) {
        if let Some(Self {
            value: Value::Map(entries),
            ..
        }) = self.get_mut(&Path::of(top).0)
        {
            entries.retain(|(key, _)| !Path::parse(&key.text).is_ok_and(|own| own == *path));
        }
    }

    /// Converts a value to a tree with location `at`. The fields of flattened structs are among the other fields.
    pub fn of_value(value: &impl Serialize, at: &Range<usize>) -> Self {
        let json = serde_json::to_value(value).expect("settings can be written");
        Self::of_json(json, at)
    }

    fn of_json(json: serde_json::Value, at: &Range<usize>) -> Self {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => match number.as_i128() {
                Some(value) => Value::Int(value),
                None => Value::Float(number.as_f64().unwrap_or_default()),
            },
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Array(items) => Value::List(
                items
                    .into_iter()
                    .map(|item| Self::of_json(item, at))
                    .collect(),
            ),
            serde_json::Value::Object(fields) => {
                let mut entries = Vec::new();
                for (text, field) in fields {
                    entries.extend(Self::of_field(text, field, at));
                }
                Value::Map(entries)
            }
        };
        Self::made(at.clone(), value)
    }

    /// Returns the entries for a field: one entry, or the entries of a flattened struct, which are written in its
    /// parent's map.
    fn of_field(text: String, field: serde_json::Value, at: &Range<usize>) -> Vec<(Key, Self)> {
        let is_flat = text.starts_with('~');
        let node = Self::of_json(field, at);
        match node.value {
            Value::Map(inner) if is_flat => inner,
            _ => vec![(
                Key {
                    at: at.clone(),
                    text,
                },
                node,
            )],
        }
    }

    /// Returns the value as JSON, without locations.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("numbers fit 64 bits")
    }

    /// Returns `base` with its values replaced by those of this tree; keys that `base` does not have are ignored.
    /// Values are replaced as a whole, except the maps of the keys in `deep`, which are merged in the same way.
    pub fn over(&self, base: Self, deep: &[&str]) -> Self {
        let Value::Map(written) = &self.value else {
            return self.clone();
        };
        let Value::Map(mut entries) = base.value else {
            return self.clone();
        };
        for (key, node) in written {
            if node.struck {
                continue;
            }
            match entries.iter_mut().find(|(known, _)| known.text == key.text) {
                Some((_, known)) if deep.contains(&&*key.text) => {
                    *known = node.over(known.clone(), &[]);
                }
                Some((_, known)) => *known = node.clone(),
                None => {}
            }
        }
        Self::made(self.at.clone(), Value::Map(entries))
    }

    /// Returns whether the value is empty.
    pub const fn is_empty(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// Returns the items of a list; empty for any other value.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the value at `path`. In a list, a key selects the item with this `name`.
    pub fn get(&self, path: &Path) -> Option<&Self> {
        let mut node = self;
        for step in &path.0 {
            node = match step {
                Step::Key(key) if node.items().is_empty() => node.value_of(key)?,
                Step::Key(name) => node.items().iter().find(|item| item.is_named(name))?,
                Step::Index(index) => node.items().get(*index)?,
            };
        }
        Some(node)
    }

    /// Returns the value of a key in a map.
    fn value_of(&self, key: &str) -> Option<&Self> {
        let (_, value) = self.entry(key)?;
        Some(value)
    }

    /// Returns whether an item of a list has this `name`.
    fn is_named(&self, name: &str) -> bool {
        matches!(self.value_of("name"), Some(Self { value: Value::Text(text), .. }) if text == name)
    }

    fn get_mut(&mut self, path: &[Step]) -> Option<&mut Self> {
        let Some((step, rest)) = path.split_first() else {
            return Some(self);
        };
        let below = match (&mut self.value, step) {
            (Value::Map(entries), Step::Key(key)) => {
                let (_, value) = entries.iter_mut().find(|(known, _)| known.text == *key)?;
                value
            }
            (Value::List(items), Step::Index(index)) => items.get_mut(*index)?,
            _ => return None,
        };
        below.get_mut(rest)
    }

    /// Marks the value at `path` so that readers skip it. Returns false if there is no such value.
    pub(crate) fn strike(&mut self, path: &Path) -> bool {
        self.get_mut(&path.0)
            .is_some_and(|node| !std::mem::replace(&mut node.struck, true))
    }

    /// Returns the bytes to point at for `path`: the value if it is short, otherwise its key; if the value does not
    /// exist, the nearest enclosing value.
    pub fn place(&self, path: &Path) -> Range<usize> {
        let mut node = self;
        let mut best = &self.at;
        for step in &path.0 {
            match step {
                Step::Key(key) => {
                    let Some((key, value)) = node.entry(key) else {
                        break;
                    };
                    best = match value.value {
                        Value::Map(_) | Value::List(_) | Value::Null => &key.at,
                        _ => &value.at,
                    };
                    node = value;
                }
                Step::Index(index) => {
                    let Some(item) = node.items().get(*index) else {
                        break;
                    };
                    best = match item.entries().first() {
                        Some((key, _)) => &key.at,
                        None => &item.at,
                    };
                    node = item;
                }
            }
        }
        best.clone()
    }

    /// Returns the bytes of the last key of `path`. Without a key, like [`Node::place`].
    pub fn key_place(&self, path: &Path) -> Range<usize> {
        if let Some((Step::Key(last), parent)) = path.0.split_last()
            && let Some(parent) = self.get(&Path(parent.to_vec()))
            && let Some((key, _)) = parent.entry(last)
        {
            return key.at.clone();
        }
        self.place(path)
    }

    /// Sets the value at `path` to `node`, with its key at `key_at`. Missing maps on the path are created, with their
    /// keys at `key_at` too. In a list, a key selects the item with this `name`, and `*` selects all items.
    ///
    /// # Errors
    /// The part of the path that cannot contain a value: an index or a name that does not exist, or a key of a value
    /// that is not a map.
    pub fn set(&mut self, path: &Path, node: &Self, key_at: &Range<usize>) -> Result<(), Path> {
        self.put(&path.0, node, key_at)
            .map_err(|left| Path(path.0[..=path.0.len() - left].to_vec()))
    }

    /// Like [`Node::set`]. The error is the number of remaining steps.
    fn put(&mut self, path: &[Step], node: &Self, key_at: &Range<usize>) -> Result<(), usize> {
        let Some((step, rest)) = path.split_first() else {
            *self = node.clone();
            return Ok(());
        };
        if matches!(self.value, Value::Null) && matches!(step, Step::Key(_)) {
            self.value = Value::Map(Vec::new());
        }
        let below = match (&mut self.value, step) {
            (Value::Map(entries), Step::Key(text)) => {
                let (key, value) = entry_or_new(entries, text, key_at);
                if rest.is_empty() {
                    key.at = key_at.clone();
                }
                Some(value)
            }
            (Value::List(items), Step::Key(all)) if all == "*" && !items.is_empty() => {
                for item in items {
                    item.put(rest, node, key_at)?;
                }
                return Ok(());
            }
            (Value::List(items), Step::Key(name)) => {
                items.iter_mut().find(|item| item.is_named(name))
            }
            (Value::List(items), Step::Index(index)) => items.get_mut(*index),
            _ => None,
        };
        below.ok_or(path.len())?.put(rest, node, key_at)
    }

    /// Returns the value as it appears in the name of a swept setting: like [`Node::short_text`], except that a map
    /// with one key, which chooses a kind, is shown as a call: `{cache: {per: cluster}}` is `cache(per=cluster)`.
    pub fn label(&self) -> String {
        let Value::Map(entries) = &self.value else {
            return self.short_text();
        };
        let [(kind, fields)] = entries.as_slice() else {
            return self.short_text();
        };
        match &fields.value {
            Value::Map(fields) if fields.is_empty() => kind.text.clone(),
            Value::Map(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| format!("{}={}", key.text, value.label()));
                format!("{}({})", kind.text, fields.format(", "))
            }
            _ => self.short_text(),
        }
    }

    /// Returns the value as a short text.
    pub fn short_text(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Text(value) => value.clone(),
            Value::List(items) => format!("[{}]", items.iter().map(Self::short_text).format(", ")),
            Value::Map(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| format!("{}: {}", key.text, value.short_text()));
                format!("{{{}}}", entries.format(", "))
            }
        }
    }
}

/// Returns the entry of a map with this key. If there is none, an entry without a value is added.
fn entry_or_new<'m>(
    entries: &'m mut Vec<(Key, Node)>,
    text: &str,
    at: &Range<usize>,
) -> &'m mut (Key, Node) {
    let known = entries.iter().position(|(key, _)| key.text == text);
    let index = known.unwrap_or(entries.len());
    if known.is_none() {
        let key = Key {
            at: at.clone(),
            text: text.to_owned(),
        };
        entries.push((key, Node::made(at.clone(), Value::Null)));
    }
    &mut entries[index]
}

#[cfg(test)]
mod tests;
