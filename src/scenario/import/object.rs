//! Objects of the Kubernetes API, as far as every kind has the same fields.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// An object, with the parts of its specification and status that decide something.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "Spec: Deserialize<'de>, Status: Deserialize<'de>"))]
pub(crate) struct KubeObject<Spec, Status> {
    pub(crate) api_version: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) metadata: Option<KubeMetadata>,
    pub(crate) spec: Option<Spec>,
    pub(crate) status: Option<Status>,
}

/// Name, labels and owners of an object.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeMetadata {
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Option<BTreeMap<String, String>>,
    /// Set while the object is being deleted.
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) owner_references: Option<Vec<OwnerReference>>,
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
        self.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default()
    }

    /// The namespace; empty where there is none.
    pub(crate) fn namespace(&self) -> &str {
        self.metadata.as_ref().and_then(|metadata| metadata.namespace.as_deref()).unwrap_or_default()
    }

    /// The labels.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.as_ref().and_then(|metadata| metadata.labels.clone()).unwrap_or_default()
    }

    /// Whether it is being deleted.
    pub(crate) fn is_leaving(&self) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| metadata.deletion_timestamp.is_some())
    }
}
