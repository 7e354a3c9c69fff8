//! The setting `version` of a product in an experiment: the minor version, with or without `v` and the patch version.

use std::convert::Infallible;

use serde::de::{Deserialize, Deserializer, IntoDeserializer};

use crate::units::serial::TextVisitor;

/// Reads a product's version such as `3.5`, for `#[serde(deserialize_with)]`. Also accepts `v3.5.7`, and numbers.
///
/// # Errors
/// Returns an error that lists the known versions if the version is unknown.
pub(crate) fn read<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<V, D::Error> {
    let text = deserializer.deserialize_any(TextVisitor {
        expecting: "a version such as `\"3.5\"`",
        read: |text: &str| Ok::<_, Infallible>(minor(text)),
    })?;
    V::deserialize(text.into_deserializer())
}

/// Shortens `v3.5.7` to `3.5`. Text that does not begin like a version is returned unchanged.
fn minor(text: &str) -> String {
    let text = text.trim();
    let number = text.strip_prefix('v').unwrap_or(text);
    let mut parts = number.splitn(3, '.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(major), Some(minor), Some(_))
            if [major, minor]
                .iter()
                .all(|part| part.parse::<u32>().is_ok()) =>
        {
            format!("{major}.{minor}")
        }
        _ if number.starts_with(|first: char| first.is_ascii_digit()) => number.to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::argo_cd::ArgoCdVersion;

    #[derive(Debug, serde::Deserialize)]
    struct Versioned {
        #[serde(deserialize_with = "read")]
        version: ArgoCdVersion,
    }

    #[test]
    fn a_version_is_read_with_and_without_its_patch_and_others_are_refused_with_a_list() {
        for written in ["\"3.3\"", "3.3", "v3.3", "v3.3.12", "3.3.0-rc1"] {
            let read: Versioned =
                serde_saphyr::from_str(&format!("version: {written}")).expect(written);
            assert_eq!(read.version, ArgoCdVersion::V3_3, "{written}");
        }
        for written in ["\"2.14\"", "latest", "3"] {
            let error = serde_saphyr::from_str::<Versioned>(&format!("version: {written}"))
                .expect_err(written);
            let error = error.to_string();
            assert!(
                error.contains("3.3") && error.contains("3.6"),
                "{written}: {error}"
            );
        }
    }
}
