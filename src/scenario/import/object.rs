//! Objects of the Kubernetes API: the fields that all kinds have.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// A Kubernetes object, with the relevant parts of its specification and status.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(
    deserialize = "Spec: Default + Deserialize<'de>, Status: Default + Deserialize<'de>"
))]
pub(crate) struct KubeObject<Spec, Status> {
    pub(crate) api_version: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) metadata: OrDefault<KubeMetadata>,
    pub(crate) spec: OrDefault<Spec>,
    pub(crate) status: OrDefault<Status>,
}

/// A field that may be null, because Go writes some empty values as null. Null means the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrDefault<T>(pub(crate) T);

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for OrDefault<T> {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        Ok(Self(Option::deserialize(field)?.unwrap_or_default()))
    }
}

impl<T> Deref for OrDefault<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// The name, labels, times and owners of an object.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeMetadata {
    pub(crate) name: OrDefault<String>,
    pub(crate) namespace: OrDefault<String>,
    pub(crate) labels: OrDefault<BTreeMap<String, String>>,
    pub(crate) annotations: OrDefault<BTreeMap<String, String>>,
    pub(crate) creation_timestamp: Option<String>,
    /// The time of the deletion, if the object is being deleted.
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) owner_references: OrDefault<Vec<OwnerReference>>,
}

/// An object that this one belongs to.
#[derive(Clone, Deserialize)]
pub(crate) struct OwnerReference {
    pub(crate) kind: Option<String>,
    pub(crate) name: Option<String>,
}

/// A condition in the status of an object.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct KubeCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
}

/// A part of an object that is not read.
pub(crate) type IgnoredPart = IgnoredAny;

impl<Spec, Status> KubeObject<Spec, Status> {
    /// Returns the name; empty if the object has none.
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Returns the namespace; empty if the object has none.
    pub(crate) fn namespace(&self) -> &str {
        &self.metadata.namespace
    }

    /// Returns the labels.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.labels.0.clone()
    }

    /// Returns whether the object is being deleted.
    pub(crate) const fn is_leaving(&self) -> bool {
        self.metadata.0.deletion_timestamp.is_some()
    }
}
