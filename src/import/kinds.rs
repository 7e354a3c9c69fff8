//! The kinds of objects in exports, and the options that read them.
//!
//! Kubernetes objects contain their kind. Objects printed by Argo CD's and Cloud Foundry's own clients do not, so they
//! are recognised by their fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::sources::is_command;
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::scenario::import::objects::{ExportObject, ReadObject, objects};

/// API group of Rancher Fleet.
const FLEET: &str = "fleet.cattle.io";
/// Suffix of the API groups of KubeFleet.
const KUBEFLEET: &str = "kubernetes-fleet.io";
/// API group of Argo CD.
const ARGO: &str = "argoproj.io";
/// The API group of core Kubernetes objects, which is empty.
const CORE: &str = "";

/// The kinds of objects that an option expects.
#[derive(Clone, Copy)]
pub(super) struct ExpectedKind {
    /// The option that names the file.
    pub(super) option: &'static str,
    /// The kinds. Empty for objects printed by the product's own client, which have no kind.
    pub(super) kinds: &'static [&'static str],
    /// The suffix of the API group.
    group: &'static str,
    /// Whether objects without a kind are also accepted.
    may_lack_kind: bool,
    /// The command that writes the option's file, or the file's name if it is hand-written.
    pub(super) command: &'static str,
}

const fn kubernetes(
    option: &'static str,
    kinds: &'static [&'static str],
    group: &'static str,
    command: &'static str,
) -> ExpectedKind {
    ExpectedKind {
        option,
        kinds,
        group,
        may_lack_kind: false,
        command,
    }
}

const fn without_kind(option: &'static str, command: &'static str) -> ExpectedKind {
    ExpectedKind {
        option,
        kinds: &[],
        group: "",
        may_lack_kind: true,
        command,
    }
}

/// The option for a strategy of any product.
const STRATEGY: &str = "--strategy";

pub(super) const FLEET_CLUSTERS: ExpectedKind = kubernetes(
    "--fleet",
    &["Cluster"],
    FLEET,
    "kubectl get clusters.fleet.cattle.io -A -o json",
);
pub(super) const CLUSTER_GROUPS: ExpectedKind = kubernetes(
    "--cluster-groups",
    &["ClusterGroup"],
    FLEET,
    "kubectl get clustergroups.fleet.cattle.io -A -o json",
);
pub(super) const GIT_REPO: ExpectedKind = kubernetes(
    "--gitrepo",
    &["GitRepo"],
    FLEET,
    "kubectl get gitrepos.fleet.cattle.io NAME -n NAMESPACE -o yaml",
);
pub(super) const SCHEDULES: ExpectedKind = kubernetes(
    "--schedules",
    &["Schedule"],
    FLEET,
    "kubectl get schedules.fleet.cattle.io -A -o json",
);
pub(super) const FLEET_YAML: ExpectedKind = without_kind(STRATEGY, "fleet.yaml");
pub(super) const MEMBERS: ExpectedKind = kubernetes(
    "--members",
    &["MemberCluster"],
    KUBEFLEET,
    "kubectl get memberclusters -o json",
);
pub(super) const PLACEMENT: ExpectedKind = kubernetes(
    "--placement",
    &["ClusterResourcePlacement", "ResourcePlacement"],
    KUBEFLEET,
    "kubectl get clusterresourceplacements NAME -o yaml",
);
pub(super) const STAGES: ExpectedKind = kubernetes(
    STRATEGY,
    &["ClusterStagedUpdateStrategy", "StagedUpdateStrategy"],
    KUBEFLEET,
    "kubectl get clusterstagedupdatestrategies NAME -o yaml",
);
pub(super) const UPDATE_RUN: ExpectedKind = kubernetes(
    STRATEGY,
    &["ClusterStagedUpdateRun", "StagedUpdateRun"],
    KUBEFLEET,
    "kubectl get clusterstagedupdateruns NAME -o yaml",
);
pub(super) const APPLICATIONS: ExpectedKind = kubernetes(
    "--applications",
    &["Application"],
    ARGO,
    "argocd app list -o json",
)
.or_without_kind();
pub(super) const APPLICATION_SET: ExpectedKind = kubernetes(
    STRATEGY,
    &["ApplicationSet"],
    ARGO,
    "argocd appset get NAME -o yaml",
)
.or_without_kind();
pub(super) const ARGO_CLUSTERS: ExpectedKind = kubernetes(
    "--clusters",
    &["Secret"],
    CORE,
    "argocd cluster list -o json",
)
.or_without_kind();
pub(super) const PROJECTS: ExpectedKind = kubernetes(
    "--project",
    &["AppProject"],
    ARGO,
    "kubectl get appprojects -A -o json",
)
.or_without_kind();
pub(super) const PROCESS: ExpectedKind =
    without_kind("--process", "cf curl /v3/apps/GUID/processes");
pub(super) const DEPLOYMENT: ExpectedKind =
    without_kind("--deployment", "cf curl /v3/deployments/GUID");
pub(super) const MANIFEST: ExpectedKind = without_kind("--manifest", "cf create-app-manifest APP");
pub(super) const NODES: ExpectedKind =
    kubernetes("--nodes", &["Node"], CORE, "kubectl get nodes -o json");
pub(super) const IMAGE: ExpectedKind = without_kind("--image", "crane manifest IMAGE");

/// The kinds of Kubernetes objects that each option reads.
const KNOWN: [ExpectedKind; 12] = [
    FLEET_CLUSTERS,
    CLUSTER_GROUPS,
    GIT_REPO,
    SCHEDULES,
    MEMBERS,
    PLACEMENT,
    STAGES,
    APPLICATIONS,
    APPLICATION_SET,
    ARGO_CLUSTERS,
    PROJECTS,
    NODES,
];

/// Objects of the expected kind, and the number of other objects in the export.
pub(super) struct ReadObjects<'s, T> {
    pub(super) found: Vec<ReadObject<'s, T>>,
    /// Names of other kinds, without duplicates.
    pub(super) others: Vec<String>,
}

impl<T> ReadObjects<'_, T> {
    /// Returns the note about objects of other kinds in the file, if there are any.
    pub(super) fn note_on_others(&self, file: &str) -> Option<String> {
        (!self.others.is_empty()).then(|| {
            format!(
                "left out: objects of other kinds in {file}: {}",
                some_of(&self.others)
            )
        })
    }
}

impl ExpectedKind {
    /// Returns whether an empty file may be of this kind. A fleet.yaml may be empty, because all its fields have
    /// defaults.
    pub(super) fn may_be_empty(&self) -> bool {
        self.command == "fleet.yaml"
    }

    /// Returns false if a text has no object of this kind. Cheap, because a text may have 100,000 objects.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        self.may_lack_kind || self.kinds.iter().any(|kind| text.contains(kind))
    }

    /// Also accepts objects without a kind, because the product's own client omits it.
    const fn or_without_kind(self) -> Self {
        Self {
            may_lack_kind: true,
            ..self
        }
    }

    /// Reads the objects of this kind. Objects of other kinds are left out if there is at least one of this kind.
    ///
    /// # Errors
    /// Returns an error if the text is invalid, an object has an invalid field, or there is no object of this kind.
    pub(super) fn read<'s, T: DeserializeOwned>(
        &self,
        source: &'s Arc<Source>,
    ) -> OrProblems<ReadObjects<'s, T>> {
        let all = objects(source)?;
        if all.is_empty() {
            let problem =
                Problem::of_file(&source.name, "the export has no objects").with_help(format!(
                    "check the context, the namespace and the permissions with which `{}` was run",
                    self.command
                ));
            return Err(vec![problem]);
        }
        let mut found = Vec::new();
        let mut others = Vec::new();
        let mut wrong = None;
        let mut problems = Vec::new();
        for object in all {
            let shape = ExportShape::of(&object);
            if !shape.is_of(self) {
                others.push(shape.name());
                wrong.get_or_insert_with(|| self.wrong_kind(&object, &shape));
                continue;
            }
            match object.read() {
                Ok(value) => found.push(ReadObject { object, value }),
                Err(more) => problems.extend(more),
            }
            if problems.len() >= 20 {
                break;
            }
        }
        match wrong {
            _ if !problems.is_empty() => Err(problems),
            Some(problem) if found.is_empty() => Err(vec![problem]),
            _ => Ok(ReadObjects {
                found,
                others: others.into_iter().unique().collect(),
            }),
        }
    }

    fn has(&self, kind: &str, api_version: &str) -> bool {
        self.kinds.contains(&kind) && is_of_group(api_version, self.group)
    }

    /// Returns the problem with an export of another kind.
    pub(super) fn wrong_kind(&self, object: &ExportObject<'_>, shape: &ExportShape) -> Problem {
        let is_list = !object.path.0.is_empty();
        let what = shape.in_words(is_list);
        let message = match shape.option() {
            Some(option) if option != self.option => format!("this is {what}; use {option}"),
            _ => format!("this is {what}"),
        };
        let help = shape.help().unwrap_or_else(|| self.instead_of(shape));
        object.problem("", message).with_help(help)
    }

    /// Returns the fix. If the strategy belongs to another product, the clusters may be given with the wrong option.
    fn instead_of(&self, shape: &ExportShape) -> String {
        let wanted = match is_command(self.command) {
            true => format!("`{}`", self.command),
            false => format!("a {}", self.command),
        };
        match shape.option_of_clusters() {
            Some(clusters) if self.option == STRATEGY => {
                format!(
                    "name its clusters with {clusters}; for the clusters that are named now, add {wanted}"
                )
            }
            _ => format!("{} reads {wanted}", self.option),
        }
    }
}

/// Returns whether an `apiVersion` belongs to an API group, given the group's suffix.
fn is_of_group(version: &str, group: &str) -> bool {
    let of = version.split_once('/').map_or("", |(of, _)| of);
    of == group || (!group.is_empty() && of.ends_with(&format!(".{group}")))
}

/// The fields that identify an object's kind.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Marks {
    kind: Value,
    api_version: Value,
}

/// Fields by name. A null value counts as an absent field.
type NamedFields = BTreeMap<String, Option<IgnoredAny>>;

#[derive(Default, Deserialize)]
struct SpecNames {
    spec: NamedFields,
}

/// The kinds of objects without the field `kind`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ClientObject {
    ArgoApplication,
    ArgoApplicationSet,
    ArgoProject,
    ArgoCluster,
    ImageIndex,
    ImageInspection,
    ImageManifest,
    CloudFoundryError,
    CloudFoundryManifest,
    CloudFoundryProcess,
    CloudFoundryDeployment,
    CloudFoundryApp,
    FleetYaml,
}

use ClientObject::*;

/// How to recognise an object without the field `kind`.
pub(super) struct KnownObject {
    object: ClientObject,
    /// The required fields: at least one from each of these lists.
    fields: &'static [&'static [&'static str]],
    name: &'static str,
    /// The option that reads the object.
    option: Option<&'static str>,
}

impl KnownObject {
    /// Returns whether an object with these fields, and with these fields in its `spec`, is of this kind.
    fn is_shown_by(&self, fields: &NamedFields, spec: &NamedFields) -> bool {
        self.fields.iter().all(|alternatives| {
            let mut alternatives = alternatives.iter();
            alternatives.any(|field| match field.strip_prefix("spec.") {
                Some(field) => spec.contains_key(field),
                None => fields.get(*field).is_some_and(Option::is_some),
            })
        })
    }
}

const fn known(
    object: ClientObject,
    fields: &'static [&'static [&'static str]],
    name: &'static str,
    option: Option<&'static str>,
) -> KnownObject {
    KnownObject {
        object,
        fields,
        name,
        option,
    }
}

/// The objects without the field `kind`. The first entry that matches an object's fields applies.
static CLIENT_OBJECTS: [KnownObject; 13] = [
    known(
        ArgoApplication,
        &[&["metadata"], &["spec.destination"]],
        "Application",
        Some("--applications"),
    ),
    known(
        ArgoApplicationSet,
        &[&["metadata"], &["spec.generators"]],
        "ApplicationSet",
        Some(STRATEGY),
    ),
    known(
        ArgoProject,
        &[
            &["metadata"],
            &["spec.syncWindows", "spec.sourceRepos", "spec.destinations"],
        ],
        "AppProject",
        Some("--project"),
    ),
    known(
        ArgoCluster,
        &[&["server"], &["connectionState", "config"]],
        "cluster of Argo CD",
        Some("--clusters"),
    ),
    known(
        ImageIndex,
        &[&["manifests"]],
        "image index",
        Some("--image"),
    ),
    known(
        ImageInspection,
        &[&["LayersData", "Descriptor"]],
        "inspection of an image",
        None,
    ),
    known(
        ImageManifest,
        &[&["layers", "fsLayers"]],
        "image manifest",
        Some("--image"),
    ),
    known(
        CloudFoundryError,
        &[&["errors"]],
        "error of Cloud Foundry",
        None,
    ),
    known(
        CloudFoundryManifest,
        &[&["applications"]],
        "app manifest of Cloud Foundry",
        Some("--manifest"),
    ),
    known(
        CloudFoundryProcess,
        &[&["guid"], &["instances"]],
        "process of Cloud Foundry",
        Some("--process"),
    ),
    known(
        CloudFoundryDeployment,
        &[&["strategy"]],
        "deployment of Cloud Foundry",
        Some("--deployment"),
    ),
    known(
        CloudFoundryApp,
        &[&["guid"], &["lifecycle"]],
        "app of Cloud Foundry",
        None,
    ),
    known(
        FleetYaml,
        &[&["rolloutStrategy", "helm"]],
        "fleet.yaml",
        Some(STRATEGY),
    ),
];

/// The kind of an exported object, as determined by its field `kind` or by its other fields.
pub(super) enum ExportShape {
    /// A Kubernetes object, with its kind and `apiVersion`.
    Kubernetes(String, String),
    /// An object without the field `kind`, with the details if it is a Cloud Foundry error.
    Client(&'static KnownObject, String),
    Unknown,
}

impl ExportShape {
    pub(super) fn of(object: &ExportObject<'_>) -> Self {
        let Ok(marks) = object.try_read::<Marks>() else {
            return Self::Unknown;
        };
        if let Some(kind) = marks.kind.as_str() {
            return Self::Kubernetes(
                kind.to_owned(),
                marks.api_version.as_str().unwrap_or_default().to_owned(),
            );
        }
        let fields: NamedFields = object.try_read().unwrap_or_default();
        let SpecNames { spec } = object.try_read().unwrap_or_default();
        for known in &CLIENT_OBJECTS {
            if !known.is_shown_by(&fields, &spec) {
                continue;
            }
            let details = match known.object {
                CloudFoundryError => error_of(object),
                _ => String::new(),
            };
            return Self::Client(known, details);
        }
        Self::Unknown
    }

    /// Returns true if this is the given kind of object without the field `kind`.
    pub(super) fn is_client(&self, wanted: ClientObject) -> bool {
        matches!(self, Self::Client(found, _) if found.object == wanted)
    }

    /// Returns whether the object is of an expected kind.
    pub(super) fn is_of(&self, expected: &ExpectedKind) -> bool {
        match self {
            Self::Kubernetes(kind, version) if version.is_empty() => {
                expected.kinds.contains(&kind.as_str())
            }
            Self::Kubernetes(kind, version) => expected.has(kind, version),
            other => expected.may_lack_kind && other.option() == Some(expected.option),
        }
    }

    /// Returns the option that reads the object.
    pub(super) fn option(&self) -> Option<&'static str> {
        match self {
            Self::Kubernetes(kind, version) => KNOWN
                .iter()
                .find(|known| known.has(kind, version))
                .map(|known| known.option),
            Self::Client(found, _) => found.option,
            Self::Unknown => None,
        }
    }

    /// Returns the option that reads the clusters for this strategy. `None`: the object is not a strategy.
    fn option_of_clusters(&self) -> Option<&'static str> {
        if self.is_client(FleetYaml) {
            return Some(FLEET_CLUSTERS.option);
        }
        if self.is_client(ArgoApplicationSet) || self.is_of(&APPLICATION_SET) {
            return Some(ARGO_CLUSTERS.option);
        }
        if self.is_of(&STAGES) {
            return Some(MEMBERS.option);
        }
        None
    }

    /// Returns the kind of a Kubernetes object.
    pub(super) fn kind(&self) -> Option<String> {
        match self {
            Self::Kubernetes(kind, _) => Some(kind.clone()),
            Self::Client(..) | Self::Unknown => None,
        }
    }

    /// Returns a short name for the object.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Kubernetes(kind, _) => kind.clone(),
            Self::Client(found, _) => found.name.to_owned(),
            Self::Unknown => "object of an unknown kind".to_owned(),
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
        if let Self::Client(
            KnownObject {
                object: CloudFoundryError,
                ..
            },
            message,
        ) = self
        {
            return format!("an error of Cloud Foundry: {message}");
        }
        let article = if name.starts_with(['A', 'E', 'I', 'O', 'U', 'a', 'e', 'i', 'o']) {
            "an"
        } else {
            "a"
        };
        match self {
            Self::Kubernetes(kind, version)
                if is_list && (self.option().is_some() || version.is_empty()) =>
            {
                format!("{article} {kind} list")
            }
            _ if is_list && self.is_client(ArgoApplication) => "an Application list".to_owned(),
            _ if is_list => format!("a list whose first object is {article} {name}"),
            _ => format!("{article} {name}"),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Kubernetes(kind, _) if kind == "Bundle" || kind == "BundleDeployment" => {
                "name the fleet.yaml that it was created from with --strategy, and the clusters with --fleet"
            }
            Self::Kubernetes(kind, version) if kind == "Cluster" && !version.contains(FLEET) => {
                "name the group: `kubectl get clusters.fleet.cattle.io -A -o json`"
            }
            Self::Kubernetes(kind, _) if kind == "Table" => "kubectl needs `-o json` or `-o yaml`",
            Self::Client(
                KnownObject {
                    object: CloudFoundryApp,
                    ..
                },
                _,
            ) => "export its processes: `cf curl /v3/apps/GUID/processes`",
            Self::Client(
                KnownObject {
                    object: CloudFoundryError,
                    ..
                },
                _,
            ) => "check the GUID, and log in again with `cf login`",
            Self::Client(
                KnownObject {
                    object: ImageInspection,
                    ..
                },
                _,
            ) => "write the manifest: `skopeo inspect --raw` or `crane manifest`",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// Returns the details in a Cloud Foundry error response.
fn error_of(object: &ExportObject<'_>) -> String {
    let errors = object.to_json();
    let details = errors["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|error| error["detail"].as_str());
    let details: Vec<&str> = details.collect();
    if details.is_empty() {
        "it has no details".to_owned()
    } else {
        details.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_of_another_product_is_reported_with_the_option_for_its_clusters() {
        for (text, expected, help) in [
            (
                r#"{"rolloutStrategy": {}}"#,
                &APPLICATION_SET,
                "name its clusters with --fleet; for the clusters that are named now, add `argocd appset get NAME -o \
                 yaml`",
            ),
            (
                r#"{"kind": "ApplicationSet", "apiVersion": "argoproj.io/v1alpha1"}"#,
                &FLEET_YAML,
                "name its clusters with --clusters; for the clusters that are named now, add a fleet.yaml",
            ),
            (
                r#"{"metadata": {}, "spec": {"generators": []}}"#,
                &FLEET_YAML,
                "name its clusters with --clusters; for the clusters that are named now, add a fleet.yaml",
            ),
            (
                r#"{"kind": "ClusterStagedUpdateStrategy", "apiVersion": "placement.kubernetes-fleet.io/v1"}"#,
                &FLEET_YAML,
                "name its clusters with --members; for the clusters that are named now, add a fleet.yaml",
            ),
            (
                r#"{"layers": []}"#,
                &FLEET_YAML,
                "--strategy reads a fleet.yaml",
            ),
        ] {
            let source = Arc::new(Source::new("x", text));
            let objects = objects(&source).expect("well-formed");
            let shape = ExportShape::of(&objects[0]);
            let problem = expected.wrong_kind(&objects[0], &shape).to_string();
            assert!(problem.contains(help), "{problem}");
        }
    }

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
            (
                r#"{"kind": "Node", "apiVersion": "v1"}"#,
                "a Node",
                Some("--nodes"),
            ),
            (
                r#"{"metadata": {}, "spec": {"destination": {}}}"#,
                "an Application",
                Some("--applications"),
            ),
            (
                r#"{"metadata": {}, "spec": {"sourceRepos": ["*"]}}"#,
                "an AppProject",
                Some("--project"),
            ),
            (
                r#"{"server": "x", "config": {}}"#,
                "a cluster of Argo CD",
                Some("--clusters"),
            ),
            (r#"{"manifests": []}"#, "an image index", Some("--image")),
            (r#"{"layers": []}"#, "an image manifest", Some("--image")),
            (
                r#"{"guid": "x", "instances": 3}"#,
                "a process of Cloud Foundry",
                Some("--process"),
            ),
            (
                r#"{"strategy": "rolling"}"#,
                "a deployment of Cloud Foundry",
                Some("--deployment"),
            ),
            (
                r#"{"applications": []}"#,
                "an app manifest of Cloud Foundry",
                Some("--manifest"),
            ),
            (
                r#"{"errors": [{"detail": "App not found"}]}"#,
                "an error of Cloud Foundry: App not found",
                None,
            ),
            (
                r#"{"rolloutStrategy": {}}"#,
                "a fleet.yaml",
                Some("--strategy"),
            ),
            ("7", "an object of an unknown kind", None),
        ] {
            let source = Arc::new(Source::new("x", text));
            let objects = objects(&source).expect("well-formed");
            let shape = ExportShape::of(&objects[0]);
            assert_eq!(
                (shape.in_words(false).as_str(), shape.option()),
                (words, option),
                "{text}"
            );
        }
    }
}
