//! Kubernetes label selectors: `matchLabels` and `matchExpressions`, with Kubernetes' checks.
//!
//! Follows `pkg/apis/meta/v1/helpers.go` (`LabelSelectorAsSelector`), `pkg/labels/selector.go` and
//! `pkg/util/validation` of kubernetes/apimachinery v0.36.3.
//!
//! Two rules are easy to get wrong: an empty selector matches everything, and `NotIn` matches an absent label. Left
//! out: the text form (`env in (a,b)`) and `Gt`/`Lt`, which label selectors in objects do not have.

use std::collections::BTreeMap;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The labels of an object.
pub type Labels = BTreeMap<String, String>;

/// An unchecked selector. All its parts must hold; an empty selector matches everything.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must be present with exactly this value.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub match_labels: Labels,
    /// Further requirements.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_expressions: Vec<LabelRequirement>,
}

/// One requirement of a selector.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LabelRequirement {
    /// The key of the label that the requirement concerns.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operator: String,
    /// The values: at least one for `In` and `NotIn`, empty for the other operators.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub values: Vec<String>,
}

/// A checked selector.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckedSelector {
    selector: LabelSelector,
}

/// The reason why Kubernetes rejects a selector.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum SelectorError {
    /// A key that is not a qualified name.
    #[error(
        "`{0}` is not a label key: use [prefix/]name, with a name of up to 63 letters, digits, `-`, `_` and `.`"
    )]
    BadKey(String),
    /// An invalid label value.
    #[error(
        "`{0}` is not a label value: use up to 63 letters, digits, `-`, `_`, `.`, with a letter or digit at both ends"
    )]
    BadValue(String),
    /// An operator that does not exist.
    #[error("`{0}` is not an operator; use In, NotIn, Exists or DoesNotExist")]
    UnknownOperator(String),
    /// `In` or `NotIn` without a value.
    #[error("`{operator}` on `{key}` needs at least one value")]
    NoValues { key: String, operator: String },
    /// `Exists` or `DoesNotExist` with values.
    #[error("`{operator}` on `{key}` must not have values")]
    UselessValues { key: String, operator: String },
}

impl LabelSelector {
    /// Checks keys, operators and values like Kubernetes.
    ///
    /// # Errors
    /// The first part that Kubernetes would reject.
    pub fn check(&self) -> Result<CheckedSelector, SelectorError> {
        for (key, value) in &self.match_labels {
            check_key(key)?;
            check_value(value)?;
        }
        for requirement in &self.match_expressions {
            requirement.check()?;
        }
        Ok(CheckedSelector {
            selector: self.clone(),
        })
    }
}

impl LabelRequirement {
    fn check(&self) -> Result<(), SelectorError> {
        check_key(&self.key)?;
        let key = self.key.clone();
        let operator = self.operator.clone();
        match self.operator.as_str() {
            "In" | "NotIn" if self.values.is_empty() => {
                Err(SelectorError::NoValues { key, operator })
            }
            "In" | "NotIn" => {
                for value in &self.values {
                    check_value(value)?;
                }
                Ok(())
            }
            "Exists" | "DoesNotExist" if self.values.is_empty() => Ok(()),
            "Exists" | "DoesNotExist" => Err(SelectorError::UselessValues { key, operator }),
            _ => Err(SelectorError::UnknownOperator(operator)),
        }
    }

    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let is_among_values = value.is_some_and(|value| self.values.contains(value));
        match self.operator.as_str() {
            "In" => is_among_values,
            "NotIn" => !is_among_values,
            "Exists" => value.is_some(),
            // `check` rejects all other operators.
            _ => value.is_none(),
        }
    }
}

impl CheckedSelector {
    /// Returns a label that must have one of these values, if a requirement demands this.
    pub fn needs(&self) -> Option<(&str, &[String])> {
        let LabelSelector {
            match_labels,
            match_expressions,
        } = &self.selector;
        if let Some((key, value)) = match_labels.first_key_value() {
            return Some((key, std::slice::from_ref(value)));
        }
        let mut parts = match_expressions.iter();
        let part = parts.find(|part| part.operator == "In")?;
        Some((&part.key, &part.values))
    }

    /// Returns whether every requirement holds for these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        let LabelSelector {
            match_labels,
            match_expressions,
        } = &self.selector;
        let mut pairs = match_labels.iter();
        pairs.all(|(key, value)| labels.get(key) == Some(value))
            && match_expressions.iter().all(|part| part.matches(labels))
    }
}

/// Deserializes a value; like Go, it treats `null` as absent.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Checks a key of the form `[prefix/]name`, where the prefix is a DNS subdomain of up to 253 characters.
fn check_key(key: &str) -> Result<(), SelectorError> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let good = prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_name(name);
    if good {
        Ok(())
    } else {
        Err(SelectorError::BadKey(key.to_owned()))
    }
}

fn check_value(value: &str) -> Result<(), SelectorError> {
    if is_label_name(value) {
        Ok(())
    } else {
        Err(SelectorError::BadValue(value.to_owned()))
    }
}

/// Returns whether a text is empty, or up to 63 letters, digits, `-`, `_` and `.` that begin and end with a letter or
/// digit.
fn is_label_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [first, ..] = bytes else {
        return true;
    };
    let last = bytes[bytes.len() - 1];
    bytes.len() <= 63
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// Returns whether a text consists of lowercase letters, digits and `-`, without `-` at its ends.
fn is_dns_label(text: &str) -> bool {
    let has_valid_bytes = text
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    !text.is_empty() && has_valid_bytes && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(json: &str) -> LabelSelector {
        serde_json::from_str(json).expect("a selector")
    }

    #[test]
    fn a_selector_matches_as_in_kubernetes() {
        let labels: Labels = [("env", "prod"), ("zone", "")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        let cases = [
            // selector, whether it matches, why
            ("{}", true, "an empty selector matches everything"),
            (
                r#"{"matchLabels":null,"matchExpressions":null}"#,
                true,
                "null is absent",
            ),
            (r#"{"matchLabels":{"env":"prod"}}"#, true, "equal"),
            (r#"{"matchLabels":{"env":"Prod"}}"#, false, "case counts"),
            (
                r#"{"matchLabels":{"zone":""}}"#,
                true,
                "an empty value is a value",
            ),
            (
                r#"{"matchLabels":{"rack":""}}"#,
                false,
                "an absent label has no value, not an empty one",
            ),
            (
                r#"{"matchExpressions":[{"key":"env","operator":"In","values":["a","prod"]}]}"#,
                true,
                "one of them",
            ),
            (
                r#"{"matchExpressions":[{"key":"rack","operator":"In","values":["a"]}]}"#,
                false,
                "In needs the key",
            ),
            (
                r#"{"matchExpressions":[{"key":"rack","operator":"NotIn","values":["a"]}]}"#,
                true,
                "NotIn does not",
            ),
            (
                r#"{"matchExpressions":[{"key":"env","operator":"NotIn","values":["prod"]}]}"#,
                false,
                "it is in",
            ),
            (
                r#"{"matchExpressions":[{"key":"zone","operator":"Exists"}]}"#,
                true,
                "also with an empty value",
            ),
            (
                r#"{"matchExpressions":[{"key":"rack","operator":"DoesNotExist"}]}"#,
                true,
                "absent",
            ),
            (
                r#"{"matchLabels":{"env":"prod"},"matchExpressions":[{"key":"rack","operator":"Exists"}]}"#,
                false,
                "all parts must hold",
            ),
        ];
        for (text, expected, why) in cases {
            let checked = selector(text).check().expect(text);
            assert_eq!(checked.matches(&labels), expected, "{text}: {why}");
        }
    }

    #[test]
    fn a_selector_that_kubernetes_rejects_is_rejected() {
        let (long, longest) = ("x".repeat(64), "x".repeat(63));
        let cases = [
            // key, operator, values, accepted, why
            ("env", "In", vec![], false, "In needs values"),
            ("env", "NotIn", vec![], false, "so does NotIn"),
            ("env", "Exists", vec!["a"], false, "Exists takes none"),
            (
                "env",
                "DoesNotExist",
                vec!["a"],
                false,
                "nor does DoesNotExist",
            ),
            (
                "env",
                "in",
                vec!["a"],
                false,
                "operators are written as they are",
            ),
            ("env", "", vec!["a"], false, "an operator is needed"),
            ("", "Exists", vec![], false, "a key is needed"),
            (
                "fleet.cattle.io/env",
                "Exists",
                vec![],
                true,
                "a prefix is a DNS name",
            ),
            ("Fleet/env", "Exists", vec![], false, "in small letters"),
            ("/env", "Exists", vec![], false, "and not empty"),
            ("a..b/env", "Exists", vec![], false, "nor are its parts"),
            ("a/b/c", "Exists", vec![], false, "there is one prefix"),
            ("a/", "Exists", vec![], false, "the name may not be empty"),
            (
                "-env",
                "Exists",
                vec![],
                false,
                "it begins with a letter or digit",
            ),
            (
                "e.n_v-1",
                "Exists",
                vec![],
                true,
                "these three signs are fine inside",
            ),
            (longest.as_str(), "Exists", vec![], true, "63 characters"),
            (long.as_str(), "Exists", vec![], false, "64 are too many"),
            ("env", "In", vec![""], true, "an empty value is a value"),
            ("env", "In", vec!["a b"], false, "no spaces"),
            (
                "env",
                "In",
                vec!["a", "b-"],
                false,
                "every value is checked",
            ),
            (
                "env",
                "In",
                vec![long.as_str()],
                false,
                "a value is 63 long at most",
            ),
        ];
        for (key, operator, values, accepted, why) in cases {
            let values = values.into_iter().map(str::to_owned).collect();
            let requirement = LabelRequirement {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values,
            };
            let selector = LabelSelector {
                match_expressions: vec![requirement],
                ..LabelSelector::default()
            };
            assert_eq!(selector.check().is_ok(), accepted, "{selector:?}: {why}");
        }
        assert!(
            selector(r#"{"matchLabels":{"env":"a b"}}"#)
                .check()
                .is_err(),
            "matchLabels are checked too"
        );
    }
}
