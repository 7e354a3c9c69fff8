//! The clusters that the generators of an ApplicationSet select, for Argo CD's own controller.
//!
//! fleetsim's own scheduler takes the fleet for what the set selects. The product's controller generates the
//! Applications itself, from the file's generators and from Secrets with the clusters' labels. A cluster that they do
//! not select would have no Application, and its rollout would never end: such a strategy is refused.
//!
//! Follows `applicationset/generators/{cluster,list}.go` of argoproj/argo-cd. Left out, and refused: all other
//! generators, because a simulated fleet has nothing that they could read, and selectors behind a generator.

use itertools::Itertools;

use super::super::words::first_names;
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::problem::Problem;
use crate::document::tree::Value;
use crate::products::Fleet;
use crate::rollout::label_selector::{CheckedSelector, LabelSelector, Labels};
use crate::world::ClusterSpec;

/// The label of the Secrets that declare clusters, and its value.
const SECRET_TYPE: (&str, &str) = ("argocd.argoproj.io/secret-type", "cluster");

/// A generator, as far as it selects clusters.
enum ClusterSource {
    /// Clusters whose Secrets have these labels.
    Clusters(CheckedSelector),
    /// Clusters that an element names by one of these texts.
    List(Vec<String>),
}

impl ClusterSource {
    fn selects(&self, cluster: &ClusterSpec) -> bool {
        match self {
            Self::Clusters(selector) => {
                let mut labels = Labels::clone(&cluster.labels);
                labels.insert(SECRET_TYPE.0.to_owned(), SECRET_TYPE.1.to_owned());
                selector.matches(&labels)
            }
            Self::List(texts) => {
                let server = format!("https://{}", cluster.name);
                texts
                    .iter()
                    .any(|text| *text == cluster.name || *text == server)
            }
        }
    }
}

/// Reports the generators of a file that Argo CD's own controller cannot work with on this fleet, or the clusters that
/// they do not select.
pub(super) fn check(document: &Document, fleet: Fleet<'_>, context: &mut Context<'_>) {
    let list = Path::of("spec").key("generators");
    let Some(sources) = all_sources(document, &list, context) else {
        return;
    };
    let clusters = &fleet.world.clusters;
    if let Some(unknown) = clusters.iter().find(|cluster| !cluster.registered) {
        let message = format!(
            "`registered: false` of {} cannot be used with `controller: upstream`: Argo CD's own controller generates no \
             Application for a cluster that it does not know",
            unknown.name
        );
        context.problems.push(document.at(&list, message).with_help(
            "remove the cluster from the fleet, or use `controller: native`, where its Application is not valid",
        ));
        return;
    }
    let mut missing = Vec::new();
    for cluster in clusters {
        if !sources.iter().any(|source| source.selects(cluster)) {
            missing.push(cluster.name.clone());
        }
    }
    if missing.is_empty() {
        return;
    }
    let message = format!(
        "the generators do not select {} of {} clusters ({}), which Argo CD's own controller would never update",
        missing.len(),
        clusters.len(),
        first_names(&missing)
    );
    let help =
        "give these clusters the labels that the generators ask for, or remove them from the fleet";
    context
        .problems
        .push(document.at(&list, message).with_help(help));
}

/// What each generator of the list selects. `None`: problems were reported.
fn all_sources(
    document: &Document,
    list: &Path,
    context: &mut Context<'_>,
) -> Option<Vec<ClusterSource>> {
    let generators = document.tree.get(list).map_or(0, |list| list.items().len());
    let mut sources = Vec::new();
    for index in 0..generators {
        sources.extend(source(document, &list.index(index), context));
    }
    (sources.len() == generators).then_some(sources)
}

/// What one generator selects. `None`: a problem was reported.
fn source(document: &Document, at: &Path, context: &mut Context<'_>) -> Option<ClusterSource> {
    let generator = document.tree.get(at);
    let kinds: Vec<&str> = generator
        .map_or(&[][..], |generator| generator.entries())
        .iter()
        .map(|(key, _)| key.text.as_str())
        .collect();
    match kinds[..] {
        ["clusters"] => selected_clusters(document, &at.key("clusters").key("selector"), context),
        ["list"] => Some(listed_clusters(document, &at.key("list").key("elements"))),
        _ => {
            context.problems.push(refusal(document, at, &kinds));
            None
        }
    }
}

/// What a cluster generator with this selector selects. `None`: a problem was reported.
fn selected_clusters(
    document: &Document,
    selector: &Path,
    context: &mut Context<'_>,
) -> Option<ClusterSource> {
    let written: LabelSelector = match document.tree.get(selector) {
        Some(node) if !matches!(node.value, Value::Null) => {
            context.read_from(document, selector, |_| true)?
        }
        _ => LabelSelector::default(),
    };
    match written.check() {
        Ok(checked) => Some(ClusterSource::Clusters(checked)),
        Err(error) => {
            let problem = document.at(selector, error.to_string());
            context
                .problems
                .push(problem.with_help("Argo CD refuses this too"));
            None
        }
    }
}

/// What a list generator with these elements selects.
fn listed_clusters(document: &Document, elements: &Path) -> ClusterSource {
    let mut texts = Vec::new();
    let list = document.tree.get(elements);
    for element in list.map_or(&[][..], |list| list.items()) {
        for (_, node) in element.entries() {
            if let Value::Text(text) = &node.value {
                texts.push(text.clone());
            }
        }
    }
    ClusterSource::List(texts)
}

/// Why a generator of these kinds cannot be used.
fn refusal(document: &Document, at: &Path, kinds: &[&str]) -> Problem {
    if kinds.contains(&"selector") {
        let message = "a `selector` behind a generator cannot be used with `controller: upstream`";
        return document
            .at(at, message)
            .with_help("select by `clusters.selector`, or use `controller: native`");
    }
    let message = format!(
        "the generator `{}` cannot be used with `controller: upstream`: a simulated fleet has nothing that it could read",
        kinds.iter().join("`, `")
    );
    document
        .at(at, message)
        .with_help("write the generator `clusters` or `list`, or use `controller: native`")
}
