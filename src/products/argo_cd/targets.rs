//! The applications that an ApplicationSet produces for the fleet, and the kind of release that its file allows.
//!
//! The fleet's clusters are the clusters that Argo CD knows. The set's generators select some of them, and its
//! template sets the applications' labels. If something cannot be computed from the fleet alone, the error suggests
//! the setting that makes each entry of the fleet an application. The rules are in `generate`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use serde_json::Value as Json;

use super::super::words::first_names;
use super::ArgoCdRelease;
use super::generate::{GenerateError, GeneratedSet, KnownCluster, generate};
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::tree::Node;
use crate::products::fields::{self, FileChoice, ObjectKind};
use crate::products::{ChosenTarget, Fleet, Targets};
use crate::rollout::argo_cd::{ApplicationSetSpec, OpenExpression, TemplateCluster};
use crate::units::counted;
use crate::world::ClusterSpec;

/// The kind of object that an Argo CD strategy's file contains.
pub(super) const APPLICATION_SET: ObjectKind = ObjectKind::of("ApplicationSet");

/// The suggested fix if applications cannot be computed.
const ENTRIES: &str =
    "write `generate: false` in the strategy if the entries of the fleet are the applications";

/// Returns whether the file uses the proposal's strategy, and reports that no release of Argo CD supports it.
pub(super) fn is_of_proposal(choice: FileChoice<'_>, context: &mut Context<'_>) -> bool {
    let Some(name) = choice.name else {
        return false;
    };
    let document =
        context.unreported(|context| fields::object(name, &[APPLICATION_SET], choice, context));
    let Some(document) = document else {
        return false;
    };
    let strategy = Path::of("spec").key("strategy");
    let block = strategy.key("rollingUpdate");
    if document.tree.get(&block).is_none() {
        return false;
    }
    let message =
        "`rollingUpdate` is the strategy of the proposal, which no release of Argo CD implements";
    let help = "write `argoCdProposal` instead of `argoCd` to simulate the proposal, or `rollingSync` for the \
        released strategy";
    context
        .problems
        .push(document.at_key(&block, message).with_help(help));
    true
}

/// Returns the clusters for which the set produces applications. `None`: a problem was reported.
pub(super) fn of(
    choice: FileChoice<'_>,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> Option<Targets> {
    let Some(name) = choice.name else {
        return Some(Targets::All);
    };
    // Problems and notes about the file are reported when the strategy is checked.
    let document =
        context.unreported(|context| fields::object(name, &[APPLICATION_SET], choice, context));
    let Some(document) = document else {
        return Some(Targets::All);
    };
    let set = generated(&document, fleet, context)?;
    let all = fleet.world.clusters.len();
    if set.applications.is_empty() && all > 0 {
        let message = "the generators select no cluster of the fleet";
        let problem = document.at(&generators(), message);
        let help = format!("compare their selectors with the labels of the fleet, or {ENTRIES}");
        context.problems.push(problem.with_help(help));
        return None;
    }
    if set.local.is_some() {
        context.notes.push(format!(
            "{name}: a `clusters` generator without a selector also creates an application for the cluster that Argo \
             CD runs in; the fleet has no entry `in-cluster`, so that one is left out"
        ));
    }
    if set.applications.len() == all {
        return Some(Targets::All);
    }
    let mut targets = Vec::new();
    let mut selected = BTreeSet::new();
    for application in &set.applications {
        selected.insert(application.cluster);
        targets.push(ChosenTarget {
            index: application.cluster,
            labels: None,
        });
    }
    let mut others = Vec::new();
    for (index, cluster) in fleet.world.clusters.iter().enumerate() {
        if !selected.contains(&index) {
            others.push(cluster.name.clone());
        }
    }
    context.notes.push(format!(
        "{name} creates applications for {} of {}; not selected: {}",
        targets.len(),
        counted(all, "cluster"),
        first_names(&others)
    ));
    Some(Targets::Chosen(targets))
}

/// Returns, for each entry of the fleet, the generators' parameters other than names and labels. The set must select
/// the whole fleet. `None`: a problem was reported.
pub(super) fn parameters(
    document: &Document,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> Option<Arc<Vec<BTreeMap<String, String>>>> {
    let set = generated(document, fleet, context)?;
    let clusters = &fleet.world.clusters;
    let mut all = vec![BTreeMap::new(); clusters.len()];
    for application in set.applications {
        let mut parameters = application.parameters;
        parameters.retain(|name, _| !name.starts_with("metadata.labels."));
        all[application.cluster] = parameters;
    }
    check_labels(document, clusters, &all, context).then(|| Arc::new(all))
}

/// Returns the applications of the set. `None`: they cannot be computed, which was reported.
fn generated(
    document: &Document,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> Option<GeneratedSet> {
    let spec = match document.tree.get(&Path::of("spec")) {
        Some(spec) => spec.to_json(),
        None => Json::Null,
    };
    let mut known = Vec::new();
    for cluster in &fleet.world.clusters {
        known.push(KnownCluster {
            name: &cluster.name,
            server: None,
            labels: &cluster.labels,
        });
    }
    match generate(&spec, &known) {
        Ok(set) => Some(set),
        Err(GenerateError { field, message }) => {
            let path = Path::parse(&field).unwrap_or_default();
            let problem = document.at_key(&path, message);
            context.problems.push(problem.with_help(ENTRIES));
            None
        }
    }
}

/// Reports labels of the template that cannot be computed or that a cluster lacks. Returns true if there are none.
fn check_labels(
    document: &Document,
    clusters: &[ClusterSpec],
    parameters: &[BTreeMap<String, String>],
    context: &mut Context<'_>,
) -> bool {
    let read = context.read_from(document, &Path::of("spec"), |error| !error.is_of_key());
    let Some(spec): Option<ApplicationSetSpec> = read else {
        return false;
    };
    let mut open: BTreeMap<OpenExpression, Vec<String>> = BTreeMap::new();
    for (cluster, parameters) in clusters.iter().zip(parameters) {
        let seen = TemplateCluster {
            name: &cluster.name,
            labels: &cluster.labels,
            parameters,
        };
        for expression in spec.open_expressions(seen) {
            open.entry(expression)
                .or_default()
                .push(cluster.name.clone());
        }
    }
    let Some((expression, names)) = open.first_key_value() else {
        return true;
    };
    let path = Path::of("spec")
        .key("template")
        .key("metadata")
        .key("labels")
        .key(&expression.label);
    let message = if expression.is_missing {
        format!(
            "`{}` has no value for {}: {} of {} lack it",
            expression.text,
            first_names(names),
            names.len(),
            counted(clusters.len(), "cluster")
        )
    } else {
        format!(
            "`{}` is not a plain parameter, so fleetsim cannot compute it",
            expression.text
        )
    };
    let help = if expression.is_missing {
        "give these clusters the label, or let the generator's selector leave them out; Kubernetes refuses such a label"
    } else {
        ENTRIES
    };
    context
        .problems
        .push(document.at(&path, message).with_help(help));
    false
}

/// Returns the kind of release that the file's revision allows. `None`: it contradicts the experiment, which was
/// reported.
pub(super) fn release(
    document: &Document,
    written: Option<ArgoCdRelease>,
    path: &Path,
    context: &mut Context<'_>,
) -> Option<ArgoCdRelease> {
    let revisions = revisions(document);
    let moves = revisions.iter().any(|revision| follows_commits(revision));
    let Some(written) = written else {
        let found = if moves {
            ArgoCdRelease::Commit
        } else {
            ArgoCdRelease::TargetRevision
        };
        return Some(found);
    };
    if written == ArgoCdRelease::TargetRevision && moves {
        let revision = &revisions[0];
        let shown = if revision.is_empty() {
            "HEAD"
        } else {
            revision
        };
        let message = format!(
            "the file's `targetRevision` is {shown}, a name that stays the same when a \
             commit is added, so a release changes no spec"
        );
        let help = "write `release: commit` or leave it out; to release by a tag, write the tag into the file";
        context.report(&path.key("release"), message, help);
        return None;
    }
    Some(written)
}

/// Returns the revisions of the template's sources.
fn revisions(document: &Document) -> Vec<String> {
    let spec = Path::of("spec").key("template").key("spec");
    let mut sources = vec![spec.key("source")];
    let several = document.tree.get(&spec.key("sources"));
    let count = several.map_or(0, |sources| sources.items().len());
    sources.extend((0..count).map(|at| spec.key("sources").index(at)));
    let mut found = Vec::new();
    for source in sources {
        if document.tree.get(&source).is_none() {
            continue;
        }
        let revision = document.tree.get(&source.key("targetRevision"));
        found.push(revision.map_or_else(String::new, Node::short_text));
    }
    found
}

/// Returns whether a new commit can change what a revision resolves to: HEAD, a branch, or a version range. A template
/// expression, a tag and a commit hash each stand for one commit.
pub(crate) fn follows_commits(revision: &str) -> bool {
    if revision.is_empty() || revision == "HEAD" {
        return true;
    }
    if revision.contains("{{") || revision.starts_with("refs/tags/") {
        return false;
    }
    let is_range = revision.contains(['*', '>', '<', '^', '~']);
    !is_tag(revision) && !is_hash(revision) || is_range
}

/// Returns true for names that people give to tags, such as `v2`, `1.4.0-rc.1` or `shop-2026.03`.
fn is_tag(revision: &str) -> bool {
    let last = revision
        .rsplit(['/', '-'])
        .find(|part| part.starts_with(|letter: char| letter.is_ascii_digit() || letter == 'v'));
    let plain = last.unwrap_or(revision);
    let number = plain.strip_prefix('v').unwrap_or(plain);
    number.starts_with(|letter: char| letter.is_ascii_digit())
}

fn is_hash(revision: &str) -> bool {
    (7..=40).contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the path of the generators in an ApplicationSet.
fn generators() -> Path {
    Path::of("spec").key("generators")
}

/// Reports clusters that Argo CD's own controller does not know, and generators that it cannot run on a fleet.
pub(super) fn check_upstream(document: &Document, fleet: Fleet<'_>, context: &mut Context<'_>) {
    let clusters = &fleet.world.clusters;
    if let Some(unknown) = clusters.iter().find(|cluster| !cluster.registered) {
        let message = format!(
            "`registered: false` of {} cannot be used with `controller: upstream`: Argo CD's own controller generates no \
             Application for a cluster that it does not know",
            unknown.name
        );
        context.problems.push(document.at(&generators(), message).with_help(
            "remove the cluster from the fleet, or use `controller: native`, where its Application is not valid",
        ));
        return;
    }
    let list = document.tree.get(&generators());
    for (at, generator) in list.map_or(&[][..], |list| list.items()).iter().enumerate() {
        let kinds: Vec<&str> = generator
            .entries()
            .iter()
            .map(|(key, _)| key.text.as_str())
            .collect();
        if ["clusters", "list"].contains(&kinds.first().copied().unwrap_or_default())
            && kinds.len() == 1
        {
            continue;
        }
        let message = format!(
            "the generator `{}` cannot be used with `controller: upstream`: a simulated fleet has nothing that it could read",
            kinds.iter().join("`, `")
        );
        let help = "write the generator `clusters` or `list`, or use `controller: native`";
        let problem = document.at(&generators().index(at), message);
        context.problems.push(problem.with_help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_branches_follow_commits_and_tags_do_not() {
        for revision in [
            "",
            "HEAD",
            "main",
            "release",
            "feature/login",
            "1.*",
            ">=1.2",
            "env/prod",
        ] {
            assert!(follows_commits(revision), "{revision}");
        }
        for revision in [
            "v2",
            "1.4.0",
            "v1.4.0-rc.1",
            "shop-2026.03",
            "refs/tags/x",
            "{{revision}}",
            "8f3c1d2",
            "release/v1.2",
        ] {
            assert!(!follows_commits(revision), "{revision}");
        }
    }
}
