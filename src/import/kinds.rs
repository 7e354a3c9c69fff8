//! What an object of an export is, and which option reads it.
//!
//! Kubernetes objects say their kind. What Argo CD's and Cloud Foundry's own clients print does not, and is known by its
//! fields.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::objects::{ExportObject, objects};
use crate::document::problem::{Problem, Source};
use crate::scenario::import::object::KubeObject;
use std::sync::Arc;

/// A kind of Kubernetes object that an option reads.
struct KnownKind {
    kind: &'static str,
    /// The end of its API group.
    group: &'static str,
    option: &'static str,
}

const fn known(kind: &'static str, group: &'static str, option: &'static str) -> KnownKind {
    KnownKind { kind, group, option }
}

/// API group of Rancher Fleet.
pub(super) const FLEET: &str = "fleet.cattle.io";
/// End of the API groups of KubeFleet.
pub(super) const KUBEFLEET: &str = "kubernetes-fleet.io";
/// API group of Argo CD.
pub(super) const ARGO: &str = "argoproj.io";
/// Kubernetes' own objects have no group.
pub(super) const CORE: &str = "";

const KNOWN: &[KnownKind] = &[
    known("Cluster", FLEET, "--fleet"),
    known("ClusterGroup", FLEET, "--cluster-groups"),
    known("GitRepo", FLEET, "--gitrepo"),
    known("MemberCluster", KUBEFLEET, "--members"),
    known("ClusterResourcePlacement", KUBEFLEET, "--placement"),
    known("ResourcePlacement", KUBEFLEET, "--placement"),
    known("ClusterStagedUpdateStrategy", KUBEFLEET, "--strategy"),
    known("StagedUpdateStrategy", KUBEFLEET, "--strategy"),
    known("Application", ARGO, "--applications"),
    known("ApplicationSet", ARGO, "--strategy"),
    known("Secret", CORE, "--clusters"),
    known("Node", CORE, "--nodes"),
];

/// What an importer reads.
pub(super) struct ExpectedKind {
    /// The option that names the file.
    pub(super) option: &'static str,
    pub(super) kinds: &'static [&'static str],
    /// The end of the API group.
    pub(super) group: &'static str,
    /// Whether objects of the product's own client, which have no kind, are expected too.
    pub(super) may_lack_kind: bool,
    /// The command that writes such a file.
    pub(super) command: &'static str,
}

/// An object with what was read of it.
pub(super) struct ReadObject<'s, T> {
    pub(super) object: ExportObject<'s>,
    pub(super) value: T,
}

/// Objects of the expected kind, and how many others the export has.
pub(super) struct ReadObjects<'s, T> {
    pub(super) found: Vec<ReadObject<'s, T>>,
    /// Names of other kinds, each once.
    pub(super) others: Vec<String>,
}

/// An object that may say what it is.
pub(super) trait MaybeKinded {
    fn kind(&self) -> Option<&str>;
    fn api_version(&self) -> Option<&str>;
}

impl<Spec, Status> MaybeKinded for KubeObject<Spec, Status> {
    fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    fn api_version(&self) -> Option<&str> {
        self.api_version.as_deref()
    }
}

impl ExpectedKind {
    /// Reads the objects of this kind. Objects of other kinds are left out where there is at least one of it.
    ///
    /// # Errors
    /// When the text is broken, an object has a wrong field, or there is no object of this kind.
    pub(super) fn read<'s, T>(&self, source: &'s Arc<Source>) -> Result<ReadObjects<'s, T>, Vec<Problem>>
    where
        T: DeserializeOwned + MaybeKinded,
    {
        let all = objects(source)?;
        if all.is_empty() {
            let problem = Problem::of_file(&source.name, "the export has no objects").with_help(format!(
                "look at the context, the namespace and the rights with which `{}` was run",
                self.command
            ));
            return Err(vec![problem]);
        }
        let (mut found, mut others, mut wrong, mut problems) = (Vec::new(), Vec::new(), None, Vec::new());
        for object in all {
            let read = object.try_read::<T>();
            let shape = match read {
                Ok(value) if self.is_expected(value.kind(), value.api_version()) => {
                    let shape = value.kind().is_none().then(|| ExportShape::of(&object));
                    if shape.as_ref().is_none_or(|shape| shape.is_of(self)) {
                        found.push(ReadObject { object, value });
                        continue;
                    }
                    shape
                }
                _ => None,
            };
            let shape = shape.unwrap_or_else(|| ExportShape::of(&object));
            if shape.is_of(self) {
                problems.extend(object.read::<T>().err().into_iter().flatten());
            } else {
                let name = shape.name();
                if !others.contains(&name) {
                    others.push(name);
                }
                wrong.get_or_insert_with(|| self.wrong_kind(&object, &shape));
            }
            if problems.len() >= 20 {
                break;
            }
        }
        match wrong {
            _ if !problems.is_empty() => Err(problems),
            Some(problem) if found.is_empty() => Err(vec![problem]),
            _ => Ok(ReadObjects { found, others }),
        }
    }

    fn is_expected(&self, kind: Option<&str>, api_version: Option<&str>) -> bool {
        let is_kind = kind.map_or(self.may_lack_kind, |kind| self.kinds.contains(&kind));
        is_kind && api_version.is_none_or(|version| is_of_group(version, self.group))
    }

    /// The problem with an export of another kind.
    pub(super) fn wrong_kind(&self, object: &ExportObject<'_>, shape: &ExportShape) -> Problem {
        let is_list = !object.path().0.is_empty();
        let what = shape.in_words(is_list);
        let message = match shape.option() {
            Some(option) if option != self.option => format!("this is {what}; use {option}"),
            _ => format!("this is {what}"),
        };
        let help = shape.help().unwrap_or_else(|| format!("{} reads `{}`", self.option, self.command));
        object.problem("", message).with_help(help)
    }
}

/// Whether an `apiVersion` is of a group, given by its end.
fn is_of_group(version: &str, group: &str) -> bool {
    let of = version.split_once('/').map_or("", |(of, _)| of);
    of == group || (!group.is_empty() && of.ends_with(&format!(".{group}")))
}

/// Fields by which an object without a kind is known.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Marks {
    kind: Option<serde_json::Value>,
    api_version: Option<serde_json::Value>,
    metadata: Option<IgnoredAny>,
    spec: Option<serde_json::Value>,
    layers: Option<IgnoredAny>,
    manifests: Option<IgnoredAny>,
    fs_layers: Option<IgnoredAny>,
    #[serde(rename = "LayersData")]
    layers_data: Option<IgnoredAny>,
    #[serde(rename = "Descriptor")]
    descriptor: Option<IgnoredAny>,
    server: Option<IgnoredAny>,
    connection_state: Option<IgnoredAny>,
    config: Option<IgnoredAny>,
    instances: Option<IgnoredAny>,
    guid: Option<IgnoredAny>,
    strategy: Option<IgnoredAny>,
    errors: Option<IgnoredAny>,
    applications: Option<IgnoredAny>,
    rollout_strategy: Option<IgnoredAny>,
    helm: Option<IgnoredAny>,
    resources: Option<IgnoredAny>,
    lifecycle: Option<IgnoredAny>,
}

/// What an object is.
pub(super) enum ExportShape {
    /// A Kubernetes object, with its `apiVersion`.
    Kubernetes(String, String),
    ArgoApplication,
    ArgoApplicationSet,
    ArgoCluster,
    ImageManifest,
    ImageIndex,
    ImageInspection,
    CloudFoundryProcess,
    CloudFoundryDeployment,
    CloudFoundryApp,
    CloudFoundryManifest,
    /// An answer of Cloud Foundry's API that is an error.
    CloudFoundryError(String),
    FleetYaml,
    Unknown,
}

impl ExportShape {
    pub(super) fn of(object: &ExportObject<'_>) -> Self {
        let Ok(marks) = object.try_read::<Marks>() else { return Self::Unknown };
        let text =
            |value: &Option<serde_json::Value>| value.as_ref().and_then(|value| value.as_str()).map(str::to_owned);
        if let Some(kind) = text(&marks.kind) {
            return Self::Kubernetes(kind, text(&marks.api_version).unwrap_or_default());
        }
        let has_destination = marks.spec.as_ref().is_some_and(|spec| spec.get("destination").is_some());
        let has_generators = marks.spec.as_ref().is_some_and(|spec| spec.get("generators").is_some());
        if marks.metadata.is_some() && has_destination {
            Self::ArgoApplication
        } else if marks.metadata.is_some() && has_generators {
            Self::ArgoApplicationSet
        } else if marks.server.is_some() && (marks.connection_state.is_some() || marks.config.is_some()) {
            Self::ArgoCluster
        } else if marks.manifests.is_some() {
            Self::ImageIndex
        } else if marks.layers_data.is_some() || marks.descriptor.is_some() {
            Self::ImageInspection
        } else if marks.layers.is_some() || marks.fs_layers.is_some() {
            Self::ImageManifest
        } else if marks.errors.is_some() {
            Self::CloudFoundryError(error_of(object))
        } else if marks.applications.is_some() {
            Self::CloudFoundryManifest
        } else if marks.guid.is_some() && marks.instances.is_some() {
            Self::CloudFoundryProcess
        } else if marks.strategy.is_some() {
            Self::CloudFoundryDeployment
        } else if marks.guid.is_some() && marks.lifecycle.is_some() {
            Self::CloudFoundryApp
        } else if marks.rollout_strategy.is_some() || marks.helm.is_some() {
            Self::FleetYaml
        } else {
            Self::Unknown
        }
    }

    /// Whether an importer reads it.
    fn is_of(&self, expected: &ExpectedKind) -> bool {
        match self {
            Self::Kubernetes(kind, version) => {
                let version = Some(version.as_str()).filter(|version| !version.is_empty());
                expected.is_expected(Some(kind), version)
            }
            other => expected.may_lack_kind && other.option() == Some(expected.option),
        }
    }

    /// The option that reads it.
    pub(super) fn option(&self) -> Option<&'static str> {
        match self {
            Self::Kubernetes(kind, version) => {
                let is = |known: &&KnownKind| known.kind == kind && is_of_group(version, known.group);
                KNOWN.iter().find(is).map(|known| known.option)
            }
            Self::ArgoApplication => Some("--applications"),
            Self::ArgoCluster => Some("--clusters"),
            Self::ImageManifest | Self::ImageIndex => Some("--image"),
            Self::CloudFoundryProcess => Some("--process"),
            Self::CloudFoundryDeployment => Some("--deployment"),
            Self::CloudFoundryManifest => Some("--manifest"),
            Self::FleetYaml | Self::ArgoApplicationSet => Some("--strategy"),
            Self::ImageInspection | Self::CloudFoundryApp | Self::CloudFoundryError(_) | Self::Unknown => None,
        }
    }

    /// A short name.
    fn name(&self) -> String {
        match self {
            Self::Kubernetes(kind, _) => kind.clone(),
            Self::ArgoApplication => "Application".to_owned(),
            Self::ArgoApplicationSet => "ApplicationSet".to_owned(),
            Self::ArgoCluster => "cluster of Argo CD".to_owned(),
            Self::ImageManifest => "image manifest".to_owned(),
            Self::ImageIndex => "image index".to_owned(),
            Self::ImageInspection => "inspection of an image".to_owned(),
            Self::CloudFoundryProcess => "process of Cloud Foundry".to_owned(),
            Self::CloudFoundryDeployment => "deployment of Cloud Foundry".to_owned(),
            Self::CloudFoundryApp => "app of Cloud Foundry".to_owned(),
            Self::CloudFoundryManifest => "app manifest of Cloud Foundry".to_owned(),
            Self::CloudFoundryError(_) => "error of Cloud Foundry".to_owned(),
            Self::FleetYaml => "fleet.yaml".to_owned(),
            Self::Unknown => "object of no known kind".to_owned(),
        }
    }

    fn in_words(&self, is_list: bool) -> String {
        let mut name = self.name();
        if let Self::Kubernetes(_, version) = self
            && self.option().is_none()
            && !version.is_empty()
        {
            name = format!("{name} of {version}");
        }
        if let Self::CloudFoundryError(message) = self {
            return format!("an error of Cloud Foundry: {message}");
        }
        let article = if name.starts_with(['A', 'E', 'I', 'O', 'U', 'a', 'e', 'i', 'o']) { "an" } else { "a" };
        match self {
            Self::Kubernetes(kind, version) if is_list && (self.option().is_some() || version.is_empty()) => {
                format!("{article} {kind} list")
            }
            Self::ArgoApplication if is_list => "an Application list".to_owned(),
            _ if is_list => format!("a list whose first object is {article} {name}"),
            _ => format!("{article} {name}"),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Kubernetes(kind, _) if kind == "Bundle" || kind == "BundleDeployment" => {
                "name the fleet.yaml that it was made from with --strategy, and the clusters with --fleet"
            }
            Self::Kubernetes(kind, version) if kind == "Cluster" && !version.contains(FLEET) => {
                "name the group: `kubectl get clusters.fleet.cattle.io -A -o json`"
            }
            Self::Kubernetes(kind, _) if kind == "Table" => "kubectl needs `-o json` or `-o yaml`",
            Self::CloudFoundryApp => "ask for its processes: `cf curl /v3/apps/GUID/processes`",
            Self::CloudFoundryError(_) => "look at the GUID, and log in again with `cf login`",
            Self::ImageInspection => "write the manifest: `skopeo inspect --raw` or `crane manifest`",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// The details of an answer of Cloud Foundry that is an error.
fn error_of(object: &ExportObject<'_>) -> String {
    let errors = object.to_json();
    let details = errors["errors"].as_array().into_iter().flatten().filter_map(|error| error["detail"].as_str());
    let details: Vec<&str> = details.collect();
    if details.is_empty() { "it has no details".to_owned() } else { details.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_named_with_the_option_that_reads_it() {
        for (text, words, option) in [
            (
                r#"{"kind": "Application", "apiVersion": "argoproj.io/v1alpha1"}"#,
                "an Application",
                Some("--applications"),
            ),
            (
                r#"{"kind": "Cluster", "apiVersion": "cluster.x-k8s.io/v1beta1"}"#,
                "a Cluster of cluster.x-k8s.io/v1beta1",
                None,
            ),
            (
                r#"{"kind": "MemberCluster", "apiVersion": "cluster.kubernetes-fleet.io/v1"}"#,
                "a MemberCluster",
                Some("--members"),
            ),
            (r#"{"kind": "Node", "apiVersion": "v1"}"#, "a Node", Some("--nodes")),
            (r#"{"metadata": {}, "spec": {"destination": {}}}"#, "an Application", Some("--applications")),
            (r#"{"server": "x", "config": {}}"#, "a cluster of Argo CD", Some("--clusters")),
            (r#"{"manifests": []}"#, "an image index", Some("--image")),
            (r#"{"layers": []}"#, "an image manifest", Some("--image")),
            (r#"{"guid": "x", "instances": 3}"#, "a process of Cloud Foundry", Some("--process")),
            (r#"{"strategy": "rolling"}"#, "a deployment of Cloud Foundry", Some("--deployment")),
            (r#"{"applications": []}"#, "an app manifest of Cloud Foundry", Some("--manifest")),
            (r#"{"errors": [{"detail": "App not found"}]}"#, "an error of Cloud Foundry: App not found", None),
            (r#"{"rolloutStrategy": {}}"#, "a fleet.yaml", Some("--strategy")),
            ("7", "an object of no known kind", None),
        ] {
            let source = Arc::new(Source { name: "x".into(), text: text.into() });
            let objects = objects(&source).expect("well-formed");
            let shape = ExportShape::of(&objects[0]);
            assert_eq!((shape.in_words(false).as_str(), shape.option()), (words, option), "{text}");
        }
    }
}
