//! Argo CD: applications or clusters, and an ApplicationSet.
//!
//! A target is an application, with the labels that the steps of a rolling sync select. With `--applications` they are
//! what the ApplicationSet has generated. With `--clusters` alone they are computed: one for each cluster that the
//! cluster generator selects, with the template's name and labels. Applications of one cluster share its link.
//! Credentials of cluster Secrets are never copied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use itertools::Itertools;
use serde::Deserialize;

use super::application_set::{ApplicationSetFacts, GeneratedTarget, is_application_set};
use super::argo_clusters::{ArgoClusterFacts, clusters};
use super::draft::{ARGO_CD, ImportedFleet, StrategyDraft, WorkloadDraft};
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
    let set = ReadSet::read(sources.strategy.as_deref(), texts)?;
    let mut read = Vec::new();
    let mut notes = Vec::new();
    let mut known = None;
    if let Some(path) = &sources.clusters {
        known = Some(clusters(path, texts, &mut read, &mut notes)?);
    }
    let generated = if let Some(path) = &sources.applications {
        let source = texts.read(path, APPLICATIONS.command)?;
        let found = APPLICATIONS.read::<ApplicationObject>(&source)?;
        let count = counted(found.found.len(), "application");
        read.push(format!("{}: {count}", source.name));
        notes.extend(found.note_on_others(&source.name));
        let choice = ApplicationChoice {
            namespace: sources.namespace.as_deref(),
            owner: set
                .as_ref()
                .map(|set| (set.facts.namespace(), set.facts.name())),
            file: &source.name,
            known: known.as_ref(),
        };
        choice.fleet(&found.found, &mut notes)?
    } else if let Some(known) = &known {
        GeneratedFleet::of_clusters(known, set.as_ref(), &mut notes)?
    } else {
        return Err(Vec::new());
    };
    let GeneratedFleet {
        origin,
        targets,
        failing,
    } = generated;
    if let Some(set) = &set {
        let origin = &set.found.file.origin;
        read.push(format!("{origin}: an ApplicationSet"));
    } else {
        notes.push(
            "no --strategy: Argo CD syncs all applications at once, as without a rolling sync"
                .to_owned(),
        );
    }
    let regions = regions_of(&targets);
    if !regions.is_empty() {
        notes.push(format!(
            "{} of several applications: the applications of one share its link",
            counted(regions.len(), "cluster")
        ));
    }
    let mut offline = None;
    if failing > 0 {
        let are =
            "applications are Degraded or Unknown, or in a cluster whose connection has failed";
        offline = Some(Guess::offline(failing, targets.len(), are, &mut notes));
    }
    Ok(ImportedFleet {
        offline,
        in_words: counted(targets.len(), "application"),
        origin,
        targets,
        regions,
        cluster_groups: None,
        strategy: draft(set.map(|set| set.found)),
        workload: WorkloadDraft::default(),
        read,
        notes,
    })
}

/// An ApplicationSet that was read.
struct ReadSet {
    found: FoundStrategy,
    facts: ApplicationSetFacts,
}

impl ReadSet {
    /// Reads the ApplicationSet of a file, if one is named.
    fn read(path: Option<&Path>, texts: &mut Texts) -> OrProblems<Option<Self>> {
        let found = strategy::read(
            path,
            &APPLICATION_SET,
            is_application_set,
            "applicationset.yaml",
            texts,
        )?;
        let Some(found) = found else { return Ok(None) };
        let facts = found.read()?;
        Ok(Some(Self { found, facts }))
    }
}

/// The links that targets share, each once.
fn regions_of(targets: &[FleetTarget]) -> Vec<String> {
    let mut regions = BTreeSet::new();
    for target in targets {
        regions.extend(target.region.clone());
    }
    regions.into_iter().collect()
}

/// The targets of an import, before the strategy.
struct GeneratedFleet {
    /// The file that they are from.
    origin: String,
    targets: Vec<FleetTarget>,
    /// Number of targets that fail now.
    failing: usize,
}

impl GeneratedFleet {
    /// A target for each cluster that the generators of a set select; without a set for each cluster.
    fn of_clusters(
        known: &ArgoClusterFacts,
        set: Option<&ReadSet>,
        notes: &mut Vec<String>,
    ) -> OrProblems<Self> {
        let mut failing = 0;
        let mut targets = Vec::new();
        for generated in generated(known, set, notes)? {
            let has_failed = generated.cluster.is_some_and(|cluster| cluster.has_failed);
            failing += usize::from(has_failed);
            targets.push(generated.target);
        }
        Ok(Self {
            origin: known.file.clone(),
            targets,
            failing,
        })
    }
}

/// The draft of the strategy, from the ApplicationSet if there is one.
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
    /// The file with the applications.
    file: &'c str,
    /// The clusters, if they were exported too.
    known: Option<&'c ArgoClusterFacts>,
}

impl ApplicationChoice<'_> {
    /// A target for each application.
    fn fleet(
        &self,
        found: &[ReadObject<'_, ApplicationObject>],
        notes: &mut Vec<String>,
    ) -> OrProblems<GeneratedFleet> {
        check_objects(found)?;
        let all: Vec<&ApplicationObject> = found.iter().map(|read| &read.value).collect();
        let mut in_space = all.clone();
        in_space.retain(|application| self.is_in_namespace(application));
        let mut staying = in_space.clone();
        staying.retain(|application| !application.is_leaving());
        let owned = self.owned(&staying)?;
        let elsewhere = all.len() - in_space.len();
        notes.extend(left_out(elsewhere, "application", "of other namespaces"));
        let deleted = in_space.len() - staying.len();
        notes.extend(left_out(deleted, "application", "being deleted"));
        notes.extend(left_out(
            staying.len() - owned.len(),
            "application",
            "of other ApplicationSets or of none",
        ));
        if owned.is_empty() {
            return Err(self.nothing_left(&all));
        }
        let failing = owned.iter().filter(|application| self.fails(application));
        Ok(GeneratedFleet {
            origin: self.file.to_owned(),
            failing: failing.count(),
            targets: self.targets(&owned),
        })
    }

    /// Whether an application is in the wanted namespace, if one is wanted.
    fn is_in_namespace(&self, application: &ApplicationObject) -> bool {
        match self.namespace {
            Some(namespace) => application.namespace() == namespace,
            None => true,
        }
    }

    /// The problem of an export without an application to roll out to.
    fn nothing_left(&self, all: &[&ApplicationObject]) -> Vec<Problem> {
        let mut namespaces = BTreeSet::new();
        for application in all {
            namespaces.insert(application.namespace().to_owned());
        }
        let namespaces: Vec<String> = namespaces.into_iter().collect();
        let problem = Problem::of_file(self.file, "no application is left to roll out to");
        vec![problem.with_help(format!(
            "applications are in the namespaces {}",
            some_of(&namespaces)
        ))]
    }

    /// A target for each application. Applications of one cluster share its link.
    fn targets(&self, applications: &[&ApplicationObject]) -> Vec<FleetTarget> {
        let mut per_cluster: BTreeMap<String, usize> = BTreeMap::new();
        for application in applications {
            *per_cluster.entry(self.cluster_of(application)).or_default() += 1;
        }
        let mut names = applications.iter().map(|application| application.name());
        let is_unique = names.all_unique();
        let mut targets = Vec::new();
        for application in applications {
            let cluster = self.cluster_of(application);
            let is_shared = per_cluster[&cluster] > 1 && !cluster.is_empty();
            let name = application.name();
            targets.push(FleetTarget {
                name: if is_unique {
                    name.to_owned()
                } else {
                    format!("{}/{name}", application.namespace())
                },
                labels: application.labels(),
                region: is_shared.then_some(cluster),
                ..FleetTarget::default()
            });
        }
        targets
    }

    /// The cluster of an application.
    fn cluster_of(&self, application: &ApplicationObject) -> String {
        match self.known {
            Some(known) => destination(application, &known.names),
            None => destination(application, &BTreeMap::new()),
        }
    }

    /// Whether an application fails, or the connection to its cluster has failed.
    fn fails(&self, application: &ApplicationObject) -> bool {
        let health = application.status.health.status.as_str();
        if ["Degraded", "Unknown"].contains(&health) {
            return true;
        }
        match self.known {
            Some(known) => known.has_failed(&destination(application, &known.names)),
            None => false,
        }
    }

    /// The applications of the ApplicationSet. Where no application has an owner, all are taken.
    fn owned<'a>(
        &self,
        applications: &[&'a ApplicationObject],
    ) -> OrProblems<Vec<&'a ApplicationObject>> {
        let Some((space, owner)) = self.owner.filter(|(_, owner)| !owner.is_empty()) else {
            return Ok(applications.to_vec());
        };
        let mut owned = applications.to_vec();
        owned.retain(|application| is_owned(application, space, owner));
        if !owned.is_empty() {
            return Ok(owned);
        }
        let mut others = BTreeSet::new();
        for application in applications {
            for other in owners(application) {
                others.insert(in_words(application.namespace(), other));
            }
        }
        if others.is_empty() {
            return Ok(applications.to_vec());
        }
        let others: Vec<String> = others.into_iter().collect();
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

/// Whether an application is of an ApplicationSet. An owner is in the namespace of what it owns.
fn is_owned(application: &ApplicationObject, space: &str, owner: &str) -> bool {
    let own = application.namespace();
    let is_same_space = own == space || own.is_empty() || space.is_empty();
    owners(application).contains(&owner) && is_same_space
}

/// The names of the ApplicationSets that have generated an application.
fn owners(application: &ApplicationObject) -> Vec<&str> {
    let references = &application.metadata.owner_references;
    references
        .iter()
        .filter(|owner| owner.kind.as_deref() == Some("ApplicationSet"))
        .filter_map(|owner| owner.name.as_deref())
        .collect()
}

/// The name of an object with its namespace, if it has one.
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
    set: Option<&ReadSet>,
    notes: &mut Vec<String>,
) -> OrProblems<Vec<GeneratedTarget<'k>>> {
    let Some(set) = set else {
        notes.push(
            "without --applications and --strategy, every cluster has one application with its labels".to_owned(),
        );
        let mut targets = Vec::new();
        for cluster in &known.clusters {
            let target = FleetTarget {
                name: cluster.name.clone(),
                labels: cluster.labels.clone(),
                ..FleetTarget::default()
            };
            targets.push(GeneratedTarget {
                cluster: Some(cluster),
                target,
            });
        }
        return Ok(targets);
    };
    let targets = set.facts.generate(&set.found, &known.clusters, notes)?;
    let selected = targets.iter().filter(|target| target.cluster.is_some());
    let unselected = known.clusters.len() - selected.count();
    if selected_local(&targets) {
        notes.push(
            "a `clusters` generator without a selector also makes an application for the cluster that Argo CD runs in: \
             `in-cluster` is added, with the links of the others"
                .to_owned(),
        );
    }
    notes.extend(left_out(
        unselected,
        "cluster",
        "not selected by the generators",
    ));
    Ok(targets)
}

/// Whether the cluster that Argo CD runs in gets an application, although no Secret declares it.
fn selected_local(targets: &[GeneratedTarget<'_>]) -> bool {
    targets.iter().any(|target| target.cluster.is_none())
}
