//! Objects of the Kubernetes API, as far as every kind has the same fields.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// An object, with the parts of its specification and status that decide something.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "Spec: Default + Deserialize<'de>, Status: Default + Deserialize<'de>"))]
pub(crate) struct KubeObject<Spec, Status> {
    pub(crate) api_version: Option<String>,
    pub(crate) kind: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) metadata: KubeMetadata,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) spec: Spec,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) status: Status,
}

/// Reads a field that may be null, as Go writes what is empty.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(field: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(field)?.unwrap_or_default())
}

/// Name, labels, times and owners of an object.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeMetadata {
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) creation_timestamp: Option<String>,
    /// Set while the object is being deleted.
    pub(crate) deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) owner_references: Vec<OwnerReference>,
}

/// An object that this one belongs to.
#[derive(Clone, Deserialize)]
pub(crate) struct OwnerReference {
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<String>,
}

/// A part of an object that decides nothing here.
pub(crate) type IgnoredPart = IgnoredAny;

impl<Spec, Status> KubeObject<Spec, Status> {
    /// The name; empty where there is none.
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The namespace; empty where there is none.
    pub(crate) fn namespace(&self) -> &str {
        &self.metadata.namespace
    }

    /// The labels.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.labels.clone()
    }

    /// Whether it is being deleted.
    pub(crate) const fn is_leaving(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}
