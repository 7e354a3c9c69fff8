//! An ApplicationSet: its name, and the applications that its cluster generators produce.
//!
//! The rules are in `products::argo_cd::generate`. If they cannot compute a set's applications from the clusters,
//! `--applications` is needed.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use serde::Deserialize;
use serde_json::Value;

use super::argo_clusters::ArgoCluster;
use super::argo_own::{ArgoApplicationSpec, SetSync, project_name};
use super::draft::StrategyFile;
use super::kinds::{ClientObject, ExportShape};
use super::strategy::FoundStrategy;
use super::target::FleetTarget;
use crate::document::problem::{OrProblems, Source, some_of};
use crate::document::tree;
use crate::document::yaml::to_yaml;
use crate::products::argo_cd::generate::{
    KnownCluster, LOCAL_NAME, NotRendered, TemplateParameters, generate, rendered,
};
use crate::rollout::argo_cd::ROLLING_SYNC;
use crate::scenario::import::object::{IgnoredPart, KubeObject, OrDefault};

const NEEDS_APPLICATIONS: &str =
    "name the generated applications: --applications with `argocd app list -o json`";

/// Returns whether an object is an ApplicationSet.
pub(super) fn is_application_set(shape: &ExportShape) -> bool {
    shape.is_client(ClientObject::ArgoApplicationSet)
        || matches!(shape, ExportShape::Kubernetes(kind, _) if kind == "ApplicationSet")
}

/// Appends the kind to a file, because Argo CD's client omits it. Appending keeps positions in the file valid.
pub(super) fn with_kind(found: FoundStrategy) -> StrategyFile {
    let has_kind = found
        .read::<ApplicationSetFacts>()
        .is_ok_and(|set| set.kind.is_some());
    let mut file = found.file;
    if !has_kind {
        let is_json = file.text.trim_start().starts_with('{');
        let end = file.text.trim_end().len();
        file.text.truncate(end);
        if is_json && file.text.ends_with('}') {
            file.text.pop();
            file.text.push_str(", \"kind\": \"ApplicationSet\"}\n");
        } else {
            file.text.push_str("\nkind: ApplicationSet\n");
        }
    }
    file
}

/// Returns a copy of a set without the names and labels in its template, and without its generators' values. The table
/// of clusters already contains names and labels, and a template would apply them again. `None`: the set has none of
/// these.
pub(super) fn without_template_names(text: &str) -> Option<String> {
    let source = Arc::new(Source::new("", text));
    let mut set = tree::parse(&source).ok()?.to_json();
    let metadata = set
        .pointer_mut("/spec/template/metadata")?
        .as_object_mut()?;
    let labels = metadata.remove("labels");
    let name = metadata.remove("name");
    // Values in generators are parameters of the template, and may be secrets.
    let has_values = set
        .pointer_mut("/spec/generators")
        .is_some_and(remove_values);
    if labels.is_none() && name.is_none() && !has_values {
        return None;
    }
    let is_json = text.trim_start().starts_with('{');
    Some(if is_json {
        format!("{set:#}\n")
    } else {
        to_yaml(&set)
    })
}

/// Removes the values and elements of generators. Returns whether any were removed.
fn remove_values(generators: &mut Value) -> bool {
    let mut found = false;
    match generators {
        Value::Array(items) => {
            for item in items {
                found |= remove_values(item);
            }
        }
        Value::Object(fields) => {
            for name in ["values", "elements", "elementsYaml"] {
                found |= fields.remove(name).is_some();
            }
            for field in fields.values_mut() {
                found |= remove_values(field);
            }
        }
        _ => {}
    }
    found
}

/// The parts of an ApplicationSet that describe its applications.
pub(super) type ApplicationSetFacts = KubeObject<SetSpec, IgnoredPart>;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetSpec {
    go_template: OrDefault<bool>,
    strategy: OrDefault<SetStrategy>,
    template: OrDefault<SetTemplate>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetStrategy {
    #[serde(rename = "type")]
    kind: OrDefault<String>,
    rolling_sync: Option<IgnoredPart>,
}

#[derive(Default, Deserialize)]
struct SetTemplate {
    metadata: OrDefault<SetMetadata>,
    spec: OrDefault<ArgoApplicationSpec>,
}

impl SetSpec {
    /// Returns the project of all applications. `None`: it depends on the cluster.
    pub(super) fn project(&self) -> Option<&str> {
        let project = project_name(&self.template.spec.project);
        (!project.contains("{{")).then_some(project)
    }

    /// Returns the set's settings for automatic sync and its timing.
    pub(super) fn sync(&self) -> SetSync<'_> {
        SetSync {
            is_there: true,
            is_rolling: *self.strategy.kind == ROLLING_SYNC && self.strategy.rolling_sync.is_some(),
            is_automated: self.template.spec.is_automated(),
            moving: self.template.spec.moving_revision(),
        }
    }
}

#[derive(Default, Deserialize)]
struct SetMetadata {
    name: OrDefault<String>,
    labels: OrDefault<BTreeMap<String, String>>,
}

/// A cluster that a generator selects, and the target for its application.
pub(super) struct GeneratedTarget<'c> {
    /// The selected cluster. `None`: the cluster that Argo CD runs in, which no Secret declares.
    pub(super) cluster: Option<&'c ArgoCluster>,
    pub(super) target: FleetTarget,
}

/// The application for a cluster, rendered from the template.
struct RenderedApplication<'c> {
    cluster: Option<&'c ArgoCluster>,
    labels: BTreeMap<String, String>,
    /// The application's name. `None`: the name cannot be computed, or the template has no name.
    name: Option<String>,
}

impl ApplicationSetFacts {
    /// Returns the clusters that a generator selects, each with its application. Applications are named by the
    /// template, or by their clusters if the template's names cannot be computed.
    ///
    /// # Errors
    /// Returns an error if a generator or a label cannot be computed from the clusters, no cluster is selected, or two
    /// applications have the same name.
    pub(super) fn generate<'c>(
        &self,
        found: &FoundStrategy,
        clusters: &'c [ArgoCluster],
        notes: &mut Vec<String>,
    ) -> OrProblems<Vec<GeneratedTarget<'c>>> {
        let applications = self.applications(found, clusters, notes)?;
        if applications.is_empty() {
            let problem = found.problem("spec.generators", "the generators select no cluster");
            return Err(vec![problem.with_help(
                "compare their selectors with the labels of the clusters",
            )]);
        }
        let has_names = applications.iter().all(|of| of.name.is_some());
        if has_names {
            check_names(found, &applications)?;
        } else if !self.spec.template.metadata.name.is_empty() {
            let name = self.spec.template.metadata.name.as_str();
            notes.push(format!(
                "the name `{name}` cannot be computed from clusters: applications have the names, and the order, \
                 of their clusters; {NEEDS_APPLICATIONS}"
            ));
        }
        let mut targets = Vec::new();
        for application in applications {
            let RenderedApplication {
                cluster,
                labels,
                name,
            } = application;
            let name = name.filter(|_| has_names);
            let target = FleetTarget {
                name: name.unwrap_or_else(|| name_of(cluster).to_owned()),
                labels,
                ..FleetTarget::default()
            };
            targets.push(GeneratedTarget { cluster, target });
        }
        Ok(targets)
    }

    /// Returns the applications that the set produces.
    fn applications<'c>(
        &self,
        found: &FoundStrategy,
        clusters: &'c [ArgoCluster],
        notes: &mut Vec<String>,
    ) -> OrProblems<Vec<RenderedApplication<'c>>> {
        let mut known = Vec::with_capacity(clusters.len());
        for cluster in clusters {
            known.push(KnownCluster {
                name: &cluster.name,
                server: Some(&cluster.server),
                labels: &cluster.labels,
            });
        }
        let set: Value = found.read()?;
        let spec = set.get("spec").cloned().unwrap_or_default();
        let set = generate(&spec, &known).map_err(|error| {
            let problem = found.problem(&error.field, error.message);
            vec![problem.with_help(NEEDS_APPLICATIONS)]
        })?;
        let mut applications = Vec::new();
        let mut lacking = LackedLabels::default();
        for application in set.applications {
            let cluster = Some(&clusters[application.cluster]);
            let rendered = self.rendered(cluster, &application.parameters, &mut lacking);
            applications.extend(rendered);
        }
        if let Some(parameters) = &set.local {
            applications.extend(self.rendered(None, parameters, &mut lacking));
        }
        lacking.report(found, notes)?;
        Ok(applications)
    }

    /// Returns the application for a parameter set. `None`: one of its labels has no value.
    fn rendered<'c>(
        &self,
        cluster: Option<&'c ArgoCluster>,
        parameters: &TemplateParameters,
        lacking: &mut LackedLabels,
    ) -> Option<RenderedApplication<'c>> {
        let template = &self.spec.template.metadata;
        let is_go = *self.spec.go_template;
        let mut labels = BTreeMap::new();
        let mut is_whole = true;
        for (key, text) in template.labels.iter() {
            match rendered(text, parameters, is_go) {
                Ok(value) => _ = labels.insert(key.clone(), value),
                Err(why) => {
                    is_whole = false;
                    lacking.add(key, text, why, cluster);
                }
            }
        }
        let name = rendered(&template.name, parameters, is_go).ok();
        is_whole.then(|| RenderedApplication {
            cluster,
            labels,
            name: name.filter(|name| !name.is_empty()),
        })
    }
}

/// Returns a cluster's name, used in messages and for its application.
fn name_of(cluster: Option<&ArgoCluster>) -> &str {
    cluster.map_or(LOCAL_NAME, |cluster| &cluster.name)
}

/// Labels of the template that cannot be computed, with the clusters that lack the required values.
#[derive(Default)]
struct LackedLabels {
    found: BTreeMap<LackedLabel, LackingClusters>,
}

#[derive(Eq, Ord, PartialEq, PartialOrd)]
struct LackedLabel {
    key: String,
    text: String,
    why: NotRendered,
}

#[derive(Default)]
struct LackingClusters {
    names: Vec<String>,
    /// Whether the cluster that Argo CD runs in lacks a label.
    has_local: bool,
}

/// The description of the cluster that Argo CD runs in.
const LOCAL_CLUSTER: &str =
    "the cluster that Argo CD runs in (a `clusters` generator without a selector adds it)";

impl LackedLabels {
    fn add(&mut self, key: &str, text: &str, why: NotRendered, cluster: Option<&ArgoCluster>) {
        let label = LackedLabel {
            key: key.to_owned(),
            text: text.to_owned(),
            why,
        };
        let lacking = self.found.entry(label).or_default();
        match cluster {
            Some(cluster) => lacking.names.push(cluster.name.clone()),
            None => lacking.has_local = true,
        }
    }

    /// Returns the problem with the first missing label. If only the local cluster lacks the label, Kubernetes rejects
    /// the local application, which is then left out with a note.
    fn report(self, found: &FoundStrategy, notes: &mut Vec<String>) -> OrProblems<()> {
        for (LackedLabel { key, text, why }, lacking) in self.found {
            if lacking.names.is_empty() {
                notes.push(format!(
                    "left out: {LOCAL_CLUSTER}: the label `{key}: {text}` of its application has no value, and Kubernetes \
                     refuses it"
                ));
                continue;
            }
            let mut names = some_of(&lacking.names);
            if lacking.has_local {
                names = format!("{names} and {LOCAL_CLUSTER}");
            }
            let field = format!("spec.template.metadata.labels.{key}");
            let (message, help) = match why {
                NotRendered::Missing => (
                    format!("the label `{key}: {text}` has no value for {names}"),
                    "give the clusters the label, or let the generator select by it; Kubernetes refuses such an \
                     application",
                ),
                NotRendered::Unknown => (
                    format!("the label `{key}: {text}` cannot be computed from clusters"),
                    NEEDS_APPLICATIONS,
                ),
            };
            return Err(vec![found.problem(&field, message).with_help(help)]);
        }
        Ok(())
    }
}

/// Checks that the names of the applications are unique.
fn check_names(found: &FoundStrategy, applications: &[RenderedApplication<'_>]) -> OrProblems<()> {
    let names = applications.iter().filter_map(|of| of.name.as_ref());
    let Some(name) = names.duplicates().next() else {
        return Ok(());
    };
    let message = format!("several applications would have the name `{name}`");
    let problem = found.problem("spec.template.metadata.name", message);
    Err(vec![problem.with_help(
        "Argo CD refuses them too; make each name unique, e.g. with the name of the cluster",
    )])
}
