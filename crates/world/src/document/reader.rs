//! Converts a [`Node`] tree to typed values, and reports every error with its path.
//!
//! Serde stops at the first error. To report all errors, [`read`] records the error, strikes the value from the tree,
//! and reads again until the rest can be read. Errors that result only from a struck value are not reported.
//!
//! A field whose name begins with `~` is a struct whose fields are written in the map of its parent. Serde calls this
//! `flatten`, but its own implementation loses the paths of errors.

use std::cell::RefCell;
use std::iter::Enumerate;
use std::rc::Rc;
use std::slice;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::path::{Path, Step};
use super::problem::{any_of, nearest};
pub use super::read_error::{Kind, ReadError};
use super::tree::{Node, Value};

/// The result of reading a tree.
#[derive(Debug)]
pub struct Reading<T> {
    /// The value without its invalid parts; `None` if nothing can be read.
    pub value: Option<T>,
    /// All errors.
    pub errors: Vec<ReadError>,
    /// Paths of the values that were skipped.
    pub struck: Vec<Path>,
}

impl<T> Reading<T> {
    /// Converts the value, and keeps the errors.
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Reading<U> {
        Reading {
            value: self.value.map(map),
            errors: self.errors,
            struck: self.struck,
        }
    }
}

/// Reads `tree` as a `T`, and collects all errors.
pub fn read<T: de::DeserializeOwned>(tree: Node) -> Reading<T> {
    read_where(tree, |_| true)
}

/// Like [`read`], but collects only the errors that count, e.g. errors in known fields.
pub fn read_where<T: de::DeserializeOwned>(
    mut tree: Node,
    counts: impl Fn(&ReadError) -> bool,
) -> Reading<T> {
    const MOST_ERRORS: usize = 100;
    let mut reading = Reading {
        value: None,
        errors: Vec::new(),
        struck: Vec::new(),
    };
    while reading.errors.len() < MOST_ERRORS {
        let error = match T::deserialize(ReadPlace::At(&tree)) {
            Ok(value) => {
                reading.value = Some(value);
                return reading;
            }
            Err(error) => error,
        };
        let path = error.path.clone();
        if !follows_from(&error, &reading.errors, &reading.struck) && counts(&error) {
            reading.errors.push(error);
        }
        if path.0.is_empty() || !tree.strike(&path) {
            return reading;
        }
        reading.struck.push(path);
    }
    reading
}

/// Returns whether an error is a consequence of earlier errors, or of the values that were struck because of earlier
/// errors.
fn follows_from(error: &ReadError, earlier: &[ReadError], struck: &[Path]) -> bool {
    let path = &error.path;
    match &error.kind {
        Kind::MissingField(field) => {
            struck.contains(&path.key(field))
                || earlier
                    .iter()
                    .any(|earlier| is_misspelt(earlier, path, field))
        }
        Kind::Other(_) => struck
            .iter()
            .any(|struck| struck.0.len() > path.0.len() && struck.starts_with(path)),
        Kind::UnknownField { .. } | Kind::UnknownChoice { .. } => false,
    }
}

/// Returns whether an error is an unknown field that was probably meant to be the field `field` of the map at `path`.
fn is_misspelt(error: &ReadError, path: &Path, field: &str) -> bool {
    match &error.kind {
        Kind::UnknownField {
            field: written,
            known,
        } => {
            error.path == path.key(written)
                && nearest(written, known.iter().copied()) == Some(field)
        }
        _ => false,
    }
}

/// A value of the tree, or the entries of a map for a flattened struct, whose fields are written in its parent's map.
/// There is one type for both, because each deserializer adds a copy of the code of every type that is read.
enum ReadPlace<'de> {
    At(&'de Node),
    Among {
        entries: &'de [MapEntry],
        known: KnownFields,
    },
}

/// The fields of flattened structs that were read so far.
type KnownFields = Rc<RefCell<Vec<&'static str>>>;

impl<'de> Deserializer<'de> for ReadPlace<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let node = match self {
            Self::At(node) => node,
            Self::Among { entries, .. } => return visitor.visit_map(Entries::of(entries)),
        };
        match &node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Int(value) => match u64::try_from(*value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(*value as i64),
            },
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            Value::List(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Map(entries) => visitor.visit_map(Entries::of(entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Self::At(Node {
                value: Value::Null, ..
            }) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Reads only texts. Names and labels may look like numbers: YAML reads `name: 007` as the number 7, so such a
    /// text needs quotes.
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Self::At(node)
                if matches!(node.value, Value::Bool(_) | Value::Int(_) | Value::Float(_)) =>
            {
                let written = node.short_text();
                Err(de::Error::custom(format!(
                    "expected text, found `{written}`; write it in quotes: \"{written}\""
                )))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    /// Accepts an empty value for a struct whose fields are all optional: `rancherFleet:` is `rancherFleet: {}`.
    /// Unknown fields are rejected in every struct, even in structs that ignore them in a product's own files: a
    /// setting that is not simulated must not be ignored silently.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: FieldNames,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let entries: &'de [MapEntry] = match self {
            Self::Among { entries, known } => {
                known.borrow_mut().extend(fields);
                return visitor.visit_map(Entries {
                    fields: AllowedFields::Among(fields),
                    ..Entries::of(entries)
                });
            }
            Self::At(node) => match &node.value {
                Value::Null => &[],
                Value::Map(entries) => entries.as_slice(),
                // Serde would use the items as fields, in order.
                Value::List(_) => return Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
                _ => return Self::At(node).deserialize_any(visitor),
            },
        };
        let fields = if fields.iter().any(|field| field.starts_with('~')) {
            AllowedFields::Flattened {
                fields,
                flat: fields.iter(),
                known: KnownFields::default(),
            }
        } else {
            AllowedFields::Only(fields)
        };
        visitor.visit_map(Entries {
            fields,
            ..Entries::of(entries)
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: FieldNames,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let Self::At(node) = self else {
            return self.deserialize_any(visitor);
        };
        match &node.value {
            Value::Text(text) => visitor.visit_enum(Choice {
                key: text,
                content: None,
            }),
            Value::Map(entries) => {
                let mut left = entries.iter().filter(|(_, value)| !value.struck);
                match (left.next(), left.next()) {
                    (Some((key, value)), None) => visitor.visit_enum(Choice {
                        key: &key.text,
                        content: Some(value),
                    }),
                    _ => Err(de::Error::custom(format!(
                        "choose exactly one of {}",
                        any_of(variants)
                    ))),
                }
            }
            _ => Err(de::Error::custom(format!(
                "expected one of {}, found `{}`",
                any_of(variants),
                node.short_text()
            ))),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// Wraps a key as the name of a field or a choice.
fn named(key: &str) -> de::value::StrDeserializer<'_, ReadError> {
    de::IntoDeserializer::into_deserializer(key)
}

/// The items of a list that are not struck.
struct Items<'de>(Enumerate<slice::Iter<'de, Node>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let Some((at, item)) = self.0.find(|(_, item)| !item.struck) else {
            return Ok(None);
        };
        seed.deserialize(ReadPlace::At(item))
            .map(Some)
            .map_err(|error| error.under(Step::Index(at)))
    }
}

type MapEntry = (super::tree::Key, Node);

type FieldNames = &'static [&'static str];

/// The entries of a map that are not struck.
struct Entries<'de> {
    entries: &'de [MapEntry],
    left: slice::Iter<'de, MapEntry>,
    last: Option<(Option<&'de str>, ReadPlace<'de>)>,
    fields: AllowedFields,
}

/// The fields that a map may have.
enum AllowedFields {
    Any,
    /// Only these fields: an unknown field is rejected before serde sees it.
    Only(FieldNames),
    /// These fields; other fields may belong to another struct.
    Among(FieldNames),
    /// These fields, and those of the structs `flat`, whose fields are written in the same map. The structs are read
    /// last, because only then it is known which remaining fields are unknown.
    Flattened {
        fields: FieldNames,
        flat: slice::Iter<'static, &'static str>,
        known: KnownFields,
    },
}

impl<'de> Entries<'de> {
    fn of(entries: &'de [MapEntry]) -> Self {
        Self {
            entries,
            left: entries.iter(),
            last: None,
            fields: AllowedFields::Any,
        }
    }

    /// Returns the next key, and stores its value in `last`.
    fn next(&mut self) -> Result<Option<&'de str>, ReadError> {
        for (key, value) in self.left.by_ref().filter(|(_, value)| !value.struck) {
            let is_wanted = match &self.fields {
                AllowedFields::Any => true,
                AllowedFields::Only(fields) if !fields.contains(&&*key.text) => {
                    return Err(under(
                        de::Error::unknown_field(&key.text, fields),
                        &key.text,
                    ));
                }
                AllowedFields::Only(fields)
                | AllowedFields::Among(fields)
                | AllowedFields::Flattened { fields, .. } => fields.contains(&&*key.text),
            };
            if is_wanted {
                self.last = Some((Some(key.text.as_str()), ReadPlace::At(value)));
                return Ok(Some(key.text.as_str()));
            }
        }
        let AllowedFields::Flattened {
            fields,
            flat,
            known,
        } = &mut self.fields
        else {
            return Ok(None);
        };
        if let Some(field) = flat.find(|field| field.starts_with('~')) {
            self.last = Some((
                None,
                ReadPlace::Among {
                    entries: self.entries,
                    known: Rc::clone(known),
                },
            ));
            return Ok(Some(*field));
        }
        let mut known_here: Vec<&'static str> = fields
            .iter()
            .copied()
            .filter(|field| !field.starts_with('~'))
            .collect();
        known_here.append(&mut known.borrow_mut());
        match self
            .entries
            .iter()
            .find(|(key, value)| !value.struck && !known_here.contains(&&*key.text))
        {
            Some((key, _)) => {
                let kind = Kind::UnknownField {
                    field: key.text.clone(),
                    known: known_here,
                };
                Err(under(ReadError::new(kind), &key.text))
            }
            None => Ok(None),
        }
    }
}

fn under(error: ReadError, key: &str) -> ReadError {
    error.under(Step::Key(key.to_owned()))
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(key) = self.next()? else {
            return Ok(None);
        };
        seed.deserialize(named(key))
            .map(Some)
            .map_err(|error| under(error, key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (key, place) = self
            .last
            .take()
            .expect("serde asks for a value after its key");
        seed.deserialize(place).map_err(|error| match key {
            Some(key) => under(error, key),
            None => error,
        })
    }
}

/// An enum variant: a plain text, or the only key of a map with the variant's content.
struct Choice<'de> {
    key: &'de str,
    content: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        match seed.deserialize(named(self.key)) {
            Ok(value) => Ok((value, self)),
            Err(error) if self.content.is_some() => Err(under(error, self.key)),
            Err(error) => Err(error),
        }
    }
}

impl<'de> Choice<'de> {
    fn content(&self) -> Result<ReadPlace<'de>, ReadError> {
        self.content
            .map(ReadPlace::At)
            .ok_or_else(|| de::Error::custom(format!("`{0}` must be a map: `{0}: {{}}`", self.key)))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(de::Error::custom(format!(
                "`{}` must not have a value",
                self.key
            ))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self.content()?)
            .map_err(|error| under(error, self.key))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.content()?
            .deserialize_any(visitor)
            .map_err(|error| under(error, self.key))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: FieldNames,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.content()?
            .deserialize_struct("", fields, visitor)
            .map_err(|error| under(error, self.key))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::testing::source;
    use super::super::tree;
    use super::*;
    use serde::Deserialize;

    /// Reads a value, or returns the first error.
    pub(crate) fn read_one<T: de::DeserializeOwned>(text: &str) -> Result<T, String> {
        let reading = read(tree::parse(&source(text)).map_err(|problem| problem.message)?);
        match reading.errors.first() {
            Some(error) => Err(error.message()),
            None => Ok(reading.value.expect("no errors")),
        }
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct File {
        name: String,
        sizes: Option<Vec<u32>>,
        way: Option<Way>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Outer {
        name: String,
        #[serde(rename = "~inner")]
        inner: Inner,
        #[serde(rename = "~more")]
        more: More,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct More {
        weight: u32,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    enum Way {
        Short,
        Long { steps: u32 },
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        size: u32,
    }

    fn read_text(text: &str) -> (Option<File>, Vec<String>) {
        let reading = read(tree::parse(&source(text)).expect("YAML"));
        (
            reading.value,
            reading.errors.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn a_valid_file_is_read() {
        let (file, errors) =
            read_text("name: x\nsizes: [1, 2]\nway: {long: {steps: 3}}\ninner: {size: 4}\n");
        assert_eq!(errors, [""; 0]);
        let way = Some(Way::Long { steps: 3 });
        assert_eq!(
            file,
            Some(File {
                name: "x".into(),
                sizes: Some(vec![1, 2]),
                way,
                inner: Some(Inner { size: 4 })
            })
        );
        assert_eq!(
            read_text("name: x\nway: short").0.and_then(|file| file.way),
            Some(Way::Short)
        );
    }

    #[test]
    fn the_fields_of_a_flattened_struct_are_on_the_level_of_the_other_fields() {
        let outer = |weight| {
            Ok(Outer {
                name: "x".into(),
                inner: Inner { size: 4 },
                more: More { weight },
            })
        };
        assert_eq!(read_one("size: 4\nname: x\nweight: 3"), outer(3));
        assert_eq!(read_one("size: 4\nname: x"), outer(0));
        assert_eq!(
            read_one::<Outer>("name: x"),
            Err("the field `size` is missing".to_owned())
        );
        let reading =
            read::<Outer>(tree::parse(&source("size: 1\nname: 7\nwieght: 3")).expect("YAML"));
        let errors: Vec<String> = reading
            .errors
            .iter()
            .map(|error| format!("{error} {}", error.help().unwrap_or_default()))
            .collect();
        assert_eq!(
            errors,
            [
                "name: expected text, found `7`; write it in quotes: \"7\" ",
                "wieght: unknown field `wieght` did you mean `weight`?"
            ]
        );
    }

    #[test]
    fn all_errors_are_reported_together_without_errors_that_follow_from_others() {
        let (file, errors) = read_text(
            "name: x\nsizes: [1, -2, a, 4]\nwya: 1\nway: {long: {stesp: 3}}\ninner: {size: x}\n",
        );
        assert_eq!(
            errors,
            [
                "sizes[1]: expected a whole number, 0 or more, found the number -2",
                "sizes[2]: expected a whole number, 0 or more, found the text `a`",
                "wya: unknown field `wya`",
                "way.long.stesp: unknown field `stesp`",
                "inner.size: expected a whole number, 0 or more, found the text `x`",
            ]
        );
        assert_eq!(
            file,
            Some(File {
                name: "x".into(),
                sizes: Some(vec![1, 4]),
                way: None,
                inner: None
            })
        );
    }

    #[test]
    fn number_errors_show_the_maximum_or_suggest_a_whole_number() {
        for (size, error) in [
            (
                "1000000000000",
                "expected a whole number, at most 4294967295, found the number 1000000000000",
            ),
            (
                "99999999999999999999",
                "expected a whole number, at most 4294967295, found the number 1e20",
            ),
            (
                "3.0",
                "expected a whole number, 0 or more, found the number 3.0; write it as `3`",
            ),
            (
                "1e3",
                "expected a whole number, 0 or more, found the number 1000.0; write it as `1000`",
            ),
            (
                "3.5",
                "expected a whole number, 0 or more, found the number 3.5",
            ),
        ] {
            let (_, errors) = read_text(&format!("name: x\ninner: {{size: {size}}}"));
            assert_eq!(errors, [format!("inner.size: {error}")], "{size}");
        }
    }

    #[test]
    fn a_choice_has_exactly_one_key() {
        for (text, error) in [
            (
                "name: x\nway: {short: 1, long: {steps: 1}}",
                "way: choose exactly one of `short` or `long`",
            ),
            (
                "name: x\nway: {}",
                "way: choose exactly one of `short` or `long`",
            ),
            (
                "name: x\nway: 3",
                "way: expected one of `short` or `long`, found `3`",
            ),
            (
                "name: x\nway: {lnog: {}}",
                "way.lnog: unknown choice `lnog`",
            ),
            (
                "name: x\nway: long",
                "way: `long` must be a map: `long: {}`",
            ),
            (
                "name: x\nway: {long: {}}",
                "way.long: the field `steps` is missing",
            ),
            (
                "name: 7",
                "name: expected text, found `7`; write it in quotes: \"7\"",
            ),
        ] {
            assert_eq!(read_text(text).1, [error], "{text}");
        }
    }
}
