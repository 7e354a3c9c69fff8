//! Argo CD: applications or clusters, and an ApplicationSet.
//!
//! A target is an application, with the labels that the steps of a rolling sync select. With `--applications` they are
//! what the ApplicationSet has generated. With `--clusters` alone they are computed: one for each cluster that the
//! cluster generator selects, with the template's name and labels. Applications of one cluster share its link.
//! Credentials of cluster Secrets are never copied.

use std::collections::BTreeMap;

use itertools::Itertools;
use serde::Deserialize;

use super::application_set::ApplicationSetFacts;
use super::argo_clusters::{ArgoCluster, ArgoClusterFacts, clusters};
use super::draft::{ARGO_CD, ImportedFleet, StrategyDraft};
use super::fleet::{check_objects, left_out};
use super::guess::Guess;
use super::kinds::{APPLICATION_SET, APPLICATIONS};
use super::sources::{ImportSources, Texts};
use super::strategy::{self, FoundStrategy};
use super::target::FleetTarget;
use crate::document::problem::{OrProblems, Problem, some_of};
use crate::scenario::import::object::{KubeObject, OrDefault};
use crate::scenario::import::objects::ReadObject;
use crate::units::counted;

type ApplicationObject = KubeObject<ApplicationSpec, FoundStatus>;

#[derive(Default, Deserialize)]
struct FoundStatus {
    health: OrDefault<FoundHealth>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FoundHealth {
    status: String,
}

#[derive(Default, Deserialize)]
struct ApplicationSpec {
    destination: OrDefault<ApplicationDestination>,
}

#[derive(Default, Deserialize)]
struct ApplicationDestination {
    server: OrDefault<String>,
    name: OrDefault<String>,
}

/// Reads Argo CD's exports.
///
/// # Errors
/// All that is wrong with them.
pub(super) fn import(sources: &ImportSources, texts: &mut Texts) -> OrProblems<ImportedFleet> {
    let is_set = super::application_set::is_application_set;
    let set = strategy::read(
        sources.strategy.as_deref(),
        &APPLICATION_SET,
        is_set,
        "applicationset.yaml",
        texts,
    )?;
    let facts = set
        .as_ref()
        .map(FoundStrategy::read::<ApplicationSetFacts>)
        .transpose()?;
    let mut read = Vec::new();
    let mut notes = Vec::new();
    let known = sources
        .clusters
        .as_ref()
        .map(|path| clusters(path, texts, &mut read, &mut notes))
        .transpose()?;
    let (origin, targets, failing) = match (&sources.applications, known) {
        (Some(path), known) => {
            let source = texts.read(path, APPLICATIONS.command)?;
            let found = APPLICATIONS.read::<ApplicationObject>(&source)?;
            read.push(format!(
                "{}: {}",
                source.name,
                counted(found.found.len(), "application")
            ));
            notes.extend(found.note_on_others(&source.name));
            let owner = facts.as_ref().map(|set| (set.namespace(), set.name()));
            let choice = ApplicationChoice {
                namespace: sources.namespace.as_deref(),
                owner,
                file: &source.name,
            };
            let (targets, failing) = choice.targets(&found.found, known.as_ref(), &mut notes)?;
            (source.name.clone(), targets, failing)
        }
        (None, Some(known)) => {
            let generated = generated(&known, set.as_ref(), facts.as_ref(), &mut notes)?;
            let failing = generated
                .iter()
                .filter(|(cluster, _)| cluster.has_failed)
                .count();
            (
                known.file.clone(),
                generated.into_iter().map(|(_, target)| target).collect(),
                failing,
            )
        }
        (None, None) => return Err(Vec::new()),
    };
    if let Some(set) = &set {
        read.push(format!("{}: an ApplicationSet", set.file.origin));
    } else {
        notes.push(
            "no --strategy: Argo CD syncs all applications at once, as without a rolling sync"
                .to_owned(),
        );
    }
    let regions: Vec<String> = targets
        .iter()
        .filter_map(|target| target.region.clone())
        .sorted()
        .dedup()
        .collect();
    if !regions.is_empty() {
        notes.push(format!(
            "{} of several applications: the applications of one share its link",
            counted(regions.len(), "cluster")
        ));
    }
    let offline = (failing > 0).then(|| {
        let are =
            "applications are Degraded or Unknown, or in a cluster whose connection has failed";
        Guess::offline(failing, targets.len(), are, &mut notes)
    });
    Ok(ImportedFleet {
        offline,
        in_words: counted(targets.len(), "application"),
        origin,
        targets,
        regions,
        cluster_groups: None,
        strategy: draft(set),
        read,
        notes,
    })
}

fn draft(set: Option<FoundStrategy>) -> StrategyDraft {
    let file = set.map(super::application_set::with_kind);
    StrategyDraft {
        file,
        ..StrategyDraft::of(ARGO_CD)
    }
}

/// Which applications are meant.
struct ApplicationChoice<'c> {
    namespace: Option<&'c str>,
    /// Namespace and name of the ApplicationSet.
    owner: Option<(&'c str, &'c str)>,
    file: &'c str,
}

impl ApplicationChoice<'_> {
    /// A target for each application, and the number of those that fail.
    fn targets(
        &self,
        found: &[ReadObject<'_, ApplicationObject>],
        known: Option<&ArgoClusterFacts>,
        notes: &mut Vec<String>,
    ) -> OrProblems<(Vec<FleetTarget>, usize)> {
        let no_names = BTreeMap::new();
        let names = known.map_or(&no_names, |known| &known.names);
        check_objects(found)?;
        let all: Vec<&ApplicationObject> = found.iter().map(|read| &read.value).collect();
        let in_space: Vec<&ApplicationObject> = all
            .iter()
            .copied()
            .filter(|application| {
                self.namespace
                    .is_none_or(|space| application.namespace() == space)
            })
            .collect();
        let staying: Vec<&ApplicationObject> = in_space
            .iter()
            .copied()
            .filter(|app| !app.is_leaving())
            .collect();
        let owned = self.owned(&staying)?;
        notes.extend(left_out(
            all.len() - in_space.len(),
            "application",
            "of other namespaces",
        ));
        notes.extend(left_out(
            in_space.len() - staying.len(),
            "application",
            "being deleted",
        ));
        notes.extend(left_out(
            staying.len() - owned.len(),
            "application",
            "of other ApplicationSets or of none",
        ));
        if owned.is_empty() {
            let spaces: Vec<String> = all
                .iter()
                .map(|app| app.namespace().to_owned())
                .sorted()
                .dedup()
                .collect();
            let problem = Problem::of_file(self.file, "no application is left to roll out to");
            return Err(vec![problem.with_help(format!(
                "applications are in the namespaces {}",
                some_of(&spaces)
            ))]);
        }
        let per_cluster = owned
            .iter()
            .map(|application| destination(application, names))
            .counts();
        let is_unique = owned
            .iter()
            .map(|application| application.name())
            .all_unique();
        let target = |application: &&ApplicationObject| {
            let cluster = destination(application, names);
            let is_shared =
                per_cluster.get(&cluster).is_some_and(|count| *count > 1) && !cluster.is_empty();
            let name = application.name();
            FleetTarget {
                name: if is_unique {
                    name.to_owned()
                } else {
                    format!("{}/{name}", application.namespace())
                },
                labels: application.labels(),
                region: is_shared.then_some(cluster),
                ..FleetTarget::default()
            }
        };
        let fails = |application: &&&ApplicationObject| {
            ["Degraded", "Unknown"]
                .iter()
                .any(|status| application.status.health.status == *status)
                || known.is_some_and(|known| known.has_failed(&destination(application, names)))
        };
        Ok((
            owned.iter().map(target).collect(),
            owned.iter().filter(fails).count(),
        ))
    }

    /// The applications of the ApplicationSet. Where no application has an owner, all are taken.
    fn owned<'a>(
        &self,
        applications: &[&'a ApplicationObject],
    ) -> OrProblems<Vec<&'a ApplicationObject>> {
        let Some((space, owner)) = self.owner.filter(|(_, owner)| !owner.is_empty()) else {
            return Ok(applications.to_vec());
        };
        // An owner is in the namespace of what it owns.
        let is_owned = |application: &&ApplicationObject| {
            let own = application.namespace();
            owners(application).contains(&owner)
                && (own == space || own.is_empty() || space.is_empty())
        };
        let owned: Vec<&ApplicationObject> =
            applications.iter().copied().filter(is_owned).collect();
        let named = |application: &&ApplicationObject| -> Vec<String> {
            let name = |owner| in_words(application.namespace(), owner);
            owners(application).into_iter().map(name).collect()
        };
        let others: Vec<String> = applications
            .iter()
            .flat_map(named)
            .sorted()
            .dedup()
            .collect();
        match (owned.is_empty(), others.is_empty()) {
            (false, _) => Ok(owned),
            (true, true) => Ok(applications.to_vec()),
            (true, false) => {
                let message = format!(
                    "no application is of the ApplicationSet `{}`",
                    in_words(space, owner)
                );
                let help = format!(
                    "the applications are of {}; name that one with --strategy",
                    some_of(&others)
                );
                Err(vec![Problem::of_file(self.file, message).with_help(help)])
            }
        }
    }
}

fn owners(application: &ApplicationObject) -> Vec<&str> {
    let references = &application.metadata.owner_references;
    references
        .iter()
        .filter(|owner| owner.kind.as_deref() == Some("ApplicationSet"))
        .filter_map(|owner| owner.name.as_deref())
        .collect()
}

fn in_words(space: &str, name: &str) -> String {
    if space.is_empty() {
        name.to_owned()
    } else {
        format!("{space}/{name}")
    }
}

/// The cluster of an application: its name, or its server where the name is not known.
fn destination(application: &ApplicationObject, names: &BTreeMap<String, String>) -> String {
    let ApplicationDestination {
        server: OrDefault(server),
        name: OrDefault(name),
    } = &*application.spec.destination;
    if name.is_empty() {
        names.get(server).unwrap_or(server).clone()
    } else {
        name.clone()
    }
}

/// A target for each cluster that the generators select.
fn generated<'k>(
    known: &'k ArgoClusterFacts,
    set: Option<&FoundStrategy>,
    facts: Option<&ApplicationSetFacts>,
    notes: &mut Vec<String>,
) -> OrProblems<Vec<(&'k ArgoCluster, FleetTarget)>> {
    let (Some(set), Some(facts)) = (set, facts) else {
        notes.push(
            "without --applications and --strategy, every cluster has one application with its labels".to_owned(),
        );
        let target = |cluster: &'k ArgoCluster| {
            let (name, labels) = (cluster.name.clone(), cluster.labels.clone());
            (
                cluster,
                FleetTarget {
                    name,
                    labels,
                    ..FleetTarget::default()
                },
            )
        };
        return Ok(known.clusters.iter().map(target).collect());
    };
    let targets = facts.generate(set, &known.clusters, notes)?;
    let unselected = known.clusters.len() - targets.len();
    notes.extend(left_out(
        unselected,
        "cluster",
        "not selected by the generators",
    ));
    Ok(targets)
}
