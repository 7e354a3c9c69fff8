//! Two structs whose fields stand side by side in one map: a product's own configuration, and what only this program
//! knows of it. Serde's `flatten` would do the same, but loses the places of errors.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};

use super::reader::{self, Kind, ReadError, Reading};
use super::tree::{Node, Value};

/// What can be read of a [`Node`] with all errors at once.
pub(crate) trait FromNode: Sized {
    fn from_node(node: Node) -> Reading<Self>;
}

impl<T: DeserializeOwned> FromNode for T {
    fn from_node(node: Node) -> Reading<Self> {
        reader::read(node)
    }
}

/// The fields of both structs in one map; their names differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside<A, B> {
    pub(crate) first: A,
    pub(crate) second: B,
}

impl<A: DeserializeOwned, B: DeserializeOwned> FromNode for Beside<A, B> {
    fn from_node(mut node: Node) -> Reading<Self> {
        let (in_first, in_second) = (fields_of::<A>(), fields_of::<B>());
        let of_second = match &mut node.value {
            Value::Map(entries) => {
                let (second, first) = entries.drain(..).partition(|(key, _)| in_second.contains(&&*key.text));
                *entries = first;
                second
            }
            _ => Vec::new(),
        };
        let second = reader::read::<B>(Node { at: node.at.clone(), value: Value::Map(of_second), struck: false });
        let mut first = reader::read::<A>(node);
        for error in &mut first.errors {
            if let Kind::UnknownField { known, .. } = &mut error.kind
                && error.path.0.len() == 1
            {
                *known = [in_first, in_second].concat();
            }
        }
        first.errors.extend(second.errors);
        first.struck.extend(second.struck);
        let value = first.value.zip(second.value).map(|(first, second)| Self { first, second });
        Reading { value, errors: first.errors, struck: first.struck }
    }
}

impl<A: JsonSchema, B: JsonSchema> JsonSchema for Beside<A, B> {
    fn schema_name() -> Cow<'static, str> {
        A::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = A::json_schema(generator);
        let mut other = B::json_schema(generator).to_value();
        for part in ["properties", "required"] {
            match (schema.get_mut(part), other.get_mut(part).map(serde_json::Value::take)) {
                (Some(serde_json::Value::Object(mine)), Some(serde_json::Value::Object(theirs))) => mine.extend(theirs),
                (Some(serde_json::Value::Array(mine)), Some(serde_json::Value::Array(theirs))) => mine.extend(theirs),
                (None, Some(theirs)) => {
                    schema.insert(part.to_owned(), theirs);
                }
                _ => {}
            }
        }
        schema
    }
}

/// The names of a struct's fields, as serde hands them to a deserializer.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Probe<'f>(&'f mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Probe<'_> {
        type Error = ReadError;

        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, ReadError> {
            Err(ReadError::custom("a probe holds no value"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, ReadError> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

#[cfg(test)]
mod tests {
    use super::super::tree::{self, tests::source};
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize, JsonSchema, PartialEq)]
    #[serde(default)]
    struct Own {
        file: Option<String>,
    }

    #[derive(Debug, Default, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "camelCase", default)]
    struct Theirs {
        max_new: u32,
    }

    #[test]
    fn each_struct_reads_its_own_fields_and_an_unknown_one_names_all() {
        let read = |text| Beside::<Own, Theirs>::from_node(tree::parse(&source(text)).expect("YAML"));
        let both = read("{maxNew: 3, file: a.yaml}").value.expect("it is right");
        assert_eq!((both.first.file.as_deref(), both.second.max_new), (Some("a.yaml"), 3));
        assert_eq!(read("").value.expect("all is optional").second, Theirs::default());
        let wrong = read("{maxnew: 3, file: [], maxNew: x}");
        let errors: Vec<(String, Option<String>)> =
            wrong.errors.iter().map(|error| (error.to_string(), error.help())).collect();
        assert_eq!(errors[0].0, "maxnew: unknown field `maxnew`");
        assert_eq!(errors[0].1.as_deref(), Some("did you mean `maxNew`?"));
        assert!(errors[1].0.starts_with("file: ") && errors[2].0.starts_with("maxNew: "), "{errors:?}");
        assert_eq!((wrong.errors.len(), wrong.struck.len()), (3, 3));
        assert!(wrong.value.is_some(), "what is left can be read");
    }

    #[test]
    fn the_schema_has_the_fields_of_both() {
        let schema = schemars::schema_for!(Beside<Own, Theirs>).to_value();
        let fields = schema["properties"].as_object().expect("an object");
        assert!(fields.contains_key("file") && fields.contains_key("maxNew"), "{schema}");
    }
}
