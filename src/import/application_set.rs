//! An ApplicationSet: its name, and the applications that its cluster generators make.
//!
//! Only what the cluster generator does is computed here: its selector, and the template's labels with the parameters
//! `name`, `server`, `metadata.labels` and `values`, in both template languages. Other generators, and functions of
//! templates, need `--applications`.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use serde::Deserialize;

use super::argo_clusters::ArgoCluster;
use super::draft::StrategyFile;
use super::kinds::{ClientObject, ExportShape};
use super::strategy::FoundStrategy;
use super::target::FleetTarget;
use crate::document::problem::{OrProblems, Source};
use crate::document::tree;
use crate::document::yaml::to_yaml;
use crate::rollout::label_selector::LabelSelector;
use crate::scenario::import::object::{IgnoredPart, KubeObject, OrDefault};

const NEEDS_APPLICATIONS: &str =
    "name the generated applications: --applications with `argocd app list -o json`";

/// Whether an object is an ApplicationSet.
pub(super) fn is_application_set(shape: &ExportShape) -> bool {
    shape.is_client(ClientObject::ArgoApplicationSet)
        || matches!(shape, ExportShape::Kubernetes(kind, _) if kind == "ApplicationSet")
}

/// The file with its kind at the end, so that places stay true: Argo CD's client leaves it out.
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

/// The copy of a set whose applications are in the table: they have the template's names and labels already, and a
/// template would be computed from these again. `None`: the template sets none.
pub(super) fn without_template_names(text: &str) -> Option<String> {
    let source = Arc::new(Source::new("", text));
    let mut set = tree::parse(&source).ok()?.to_json();
    let metadata = set
        .pointer_mut("/spec/template/metadata")?
        .as_object_mut()?;
    let labels = metadata.remove("labels");
    let name = metadata.remove("name");
    if labels.is_none() && name.is_none() {
        return None;
    }
    let is_json = text.trim_start().starts_with('{');
    Some(if is_json {
        format!("{set:#}\n")
    } else {
        to_yaml(&set)
    })
}

/// The parts of an ApplicationSet that describe its applications.
pub(super) type ApplicationSetFacts = KubeObject<SetSpec, IgnoredPart>;

#[derive(Default, Deserialize)]
pub(super) struct SetSpec {
    generators: OrDefault<Vec<SetGenerator>>,
    template: OrDefault<SetTemplate>,
}

#[derive(Default, Deserialize)]
struct SetGenerator {
    clusters: Option<ClusterGenerator>,
}

#[derive(Default, Deserialize)]
struct ClusterGenerator {
    selector: Option<LabelSelector>,
    values: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct SetTemplate {
    metadata: OrDefault<SetMetadata>,
}

#[derive(Default, Deserialize)]
struct SetMetadata {
    name: OrDefault<String>,
    labels: OrDefault<BTreeMap<String, String>>,
}

/// A cluster that a generator selects, and the target that its application is.
pub(super) struct GeneratedTarget<'c> {
    pub(super) cluster: &'c ArgoCluster,
    pub(super) target: FleetTarget,
}

/// The application of a cluster, from the template.
struct RenderedApplication<'c> {
    cluster: &'c ArgoCluster,
    labels: BTreeMap<String, String>,
    /// `None`: it cannot be computed, or the template has none.
    name: Option<String>,
}

impl ApplicationSetFacts {
    /// The clusters that a generator selects, each with its application. Applications have the template's names, or
    /// those of their clusters where these cannot be computed.
    ///
    /// # Errors
    /// When a generator or a label cannot be computed from the clusters, none is selected, or two applications have
    /// the same name.
    pub(super) fn generate<'c>(
        &self,
        found: &FoundStrategy,
        clusters: &'c [ArgoCluster],
        notes: &mut Vec<String>,
    ) -> OrProblems<Vec<GeneratedTarget<'c>>> {
        let applications = self.applications(found, clusters)?;
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
                name: name.unwrap_or_else(|| cluster.name.clone()),
                labels,
                ..FleetTarget::default()
            };
            targets.push(GeneratedTarget { cluster, target });
        }
        Ok(targets)
    }

    /// The applications of the clusters that the generators select, each cluster once.
    fn applications<'c>(
        &self,
        found: &FoundStrategy,
        clusters: &'c [ArgoCluster],
    ) -> OrProblems<Vec<RenderedApplication<'c>>> {
        let template = &self.spec.template.metadata;
        let mut applications: Vec<RenderedApplication<'_>> = Vec::new();
        for (at, generator) in self.spec.generators.iter().enumerate() {
            let field = format!("spec.generators[{at}]");
            let Some(generator) = &generator.clusters else {
                let message = "only the generator `clusters` can be computed from clusters";
                let problem = found.problem(&field, message);
                return Err(vec![problem.with_help(NEEDS_APPLICATIONS)]);
            };
            let selector = generator.selector.clone().unwrap_or_default();
            let selector = selector.check().map_err(|error| {
                let field = format!("{field}.clusters.selector");
                let problem = found.problem(&field, error.to_string());
                vec![problem.with_help("Kubernetes would refuse this too")]
            })?;
            for cluster in clusters {
                if !selector.matches(&cluster.labels) {
                    continue;
                }
                let labels = template.labels_of(cluster, generator, found)?;
                if applications
                    .iter()
                    .any(|known| known.cluster.name == cluster.name)
                {
                    continue;
                }
                let name = rendered(&template.name, cluster, generator);
                applications.push(RenderedApplication {
                    cluster,
                    labels,
                    name: name.filter(|name| !name.is_empty()),
                });
            }
        }
        Ok(applications)
    }
}

impl SetMetadata {
    /// The labels of the application of a cluster.
    fn labels_of(
        &self,
        cluster: &ArgoCluster,
        generator: &ClusterGenerator,
        found: &FoundStrategy,
    ) -> OrProblems<BTreeMap<String, String>> {
        let mut labels = BTreeMap::new();
        for (key, text) in self.labels.iter() {
            let Some(value) = rendered(text, cluster, generator) else {
                let message = format!("the label `{key}: {text}` cannot be computed from clusters");
                let problem = found.problem("spec.template.metadata.labels", message);
                return Err(vec![problem.with_help(NEEDS_APPLICATIONS)]);
            };
            labels.insert(key.clone(), value);
        }
        Ok(labels)
    }
}

/// Checks that each application has a name of its own.
fn check_names(found: &FoundStrategy, applications: &[RenderedApplication<'_>]) -> OrProblems<()> {
    let names = applications.iter().filter_map(|of| of.name.as_ref());
    let Some(name) = names.duplicates().next() else {
        return Ok(());
    };
    let message = format!("several applications would have the name `{name}`");
    let problem = found.problem("spec.template.metadata.name", message);
    Err(vec![problem.with_help(
        "Argo CD refuses them too; a name must be unique, e.g. by the name of the cluster",
    )])
}

/// A text with its parameters replaced. `None`: it has one that is no plain parameter.
fn rendered(text: &str, cluster: &ArgoCluster, generator: &ClusterGenerator) -> Option<String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}")?;
        result.push_str(before);
        result.push_str(&parameter(
            inside.trim_matches('-').trim(),
            cluster,
            generator,
        )?);
        rest = after;
    }
    result.push_str(rest);
    Some(result)
}

fn parameter(inside: &str, cluster: &ArgoCluster, generator: &ClusterGenerator) -> Option<String> {
    if let Some(rest) = inside.strip_prefix("index ") {
        let (path, key) = rest.trim().split_once(' ')?;
        let key = key
            .trim()
            .strip_prefix(['"', '`'])?
            .strip_suffix(['"', '`'])?;
        return (path == ".metadata.labels")
            .then(|| cluster.labels.get(key).cloned().unwrap_or_default());
    }
    let name = inside.strip_prefix('.').unwrap_or(inside);
    match name {
        "name" | "nameNormalized" => Some(cluster.name.clone()),
        "server" => Some(cluster.server.clone()),
        _ => {
            if let Some(key) = name.strip_prefix("metadata.labels.") {
                // Go's templates, whose parameters begin with a point, give an empty text for a missing label.
                let is_go_template = inside != name;
                let missing = is_go_template.then(String::new);
                return cluster.labels.get(key).cloned().or(missing);
            }
            let key = name.strip_prefix("values.")?;
            let value = generator.values.as_ref()?.get(key)?;
            // A value may itself be a parameter, but not one of itself.
            if value.contains("values.") {
                None
            } else {
                rendered(value, cluster, generator)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_both_template_languages_are_replaced() {
        let cluster = ArgoCluster {
            name: "eu-1".into(),
            server: "https://x".into(),
            labels: [
                ("ring".to_owned(), "1".to_owned()),
                ("a/b".to_owned(), "c".to_owned()),
            ]
            .into(),
            ..ArgoCluster::default()
        };
        let generator = ClusterGenerator {
            selector: None,
            values: Some([("env".to_owned(), "prod-{{name}}".to_owned())].into()),
        };
        for (text, value) in [
            ("fixed", Some("fixed")),
            ("{{metadata.labels.ring}}", Some("1")),
            ("r-{{ .metadata.labels.ring }}-{{.name}}", Some("r-1-eu-1")),
            (r#"{{ index .metadata.labels "a/b" }}"#, Some("c")),
            ("{{ index .metadata.labels `a/b` }}", Some("c")),
            ("{{metadata.labels.none}}", None),
            ("{{.metadata.labels.none}}", Some("")),
            ("{{values.env}}", Some("prod-eu-1")),
            ("{{ .name | upper }}", None),
            ("{{ name", None),
        ] {
            assert_eq!(
                rendered(text, &cluster, &generator).as_deref(),
                value,
                "{text}"
            );
        }
    }
}
