//! Argo CD: applications or clusters, and an ApplicationSet.
//!
//! A target is an application, with the labels that the steps of a rolling sync use as selectors. With
//! `--applications`, the targets are the applications that the ApplicationSet has generated, with the labels,
//! clusters, automated sync and status of the export. With `--clusters` alone, applications are computed: one for each
//! cluster that the cluster generator selects, with the template's name and labels. The set comes from `--strategy`,
//! or from the file with the applications. Applications in the same cluster share its link. Credentials of cluster
//! Secrets are never copied.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::application_set::{ApplicationSetFacts, GeneratedTarget, is_application_set};
use super::argo_applications::{ApplicationChoice, ApplicationObject, GeneratedFleet};
use super::argo_clusters::{ArgoCluster, ArgoClusterFacts, clusters};
use super::argo_own::{self, OwnSettings, SetSync, SkippedStatus};
use super::draft::{ARGO_CD, ARGO_CD_PROPOSAL, ImportedFleet, StrategyDraft, WorkloadDraft};
use super::kinds::{APPLICATION_SET, APPLICATIONS, ExportShape, PROJECTS};
use super::left_out::left_out;
use super::offline;
use super::sources::{ImportSources, Texts};
use super::strategy::{self, FoundStrategy};
use super::target::FleetTarget;
use super::windows::{ProjectFleet, WindowsFile};
use crate::document::problem::{OrProblems, Source};
use crate::rollout::argo_cd::proposal::ProposalFile;
use crate::scenario::import::object::IgnoredPart;
use crate::scenario::import::objects::objects_of_product;
use crate::units::counted;

/// The file name of the copy of a set, if the set comes from a file with other objects.
const SET_FILE: &str = "applicationset.yaml";

/// Reads Argo CD's exports.
///
/// # Errors
/// Returns all problems of the exports.
pub(super) fn import(sources: &ImportSources, texts: &mut Texts) -> OrProblems<ImportedFleet> {
    let exported = ApplicationExport::read(sources.applications.as_deref(), texts)?;
    let set = ReadSet::find(sources.strategy.as_deref(), exported.as_ref(), texts)?;
    let mut read = Vec::new();
    let mut notes = Vec::new();
    let mut known = None;
    if let Some(path) = &sources.clusters {
        known = Some(clusters(path, texts, &mut read, &mut notes)?);
    }
    let GeneratedFleet {
        origin,
        targets,
        own,
        members,
    } = match (&exported, &known) {
        (Some(exported), known) => {
            let choice = ApplicationChoice {
                namespace: sources.namespace.as_deref(),
                owner: set
                    .as_ref()
                    .map(|set| (set.facts.namespace(), set.facts.name())),
                file: &exported.source.name,
                known: known.as_ref(),
            };
            exported.fleet(&choice, set.as_ref(), &mut read, &mut notes)?
        }
        (None, Some(known)) => of_clusters(known, set.as_ref(), &mut notes)?,
        (None, None) => return Err(Vec::new()),
    };
    match &set {
        Some(set) => read.push(format!("{}: an ApplicationSet", set.found.file.origin)),
        None => notes.push(
            "no --strategy: without a rolling sync, each application syncs by its own policy"
                .to_owned(),
        ),
    }
    let regions = regions_of(&targets);
    if !regions.is_empty() {
        notes.push(format!(
            "{} with several applications: applications on the same cluster share its link",
            counted(regions.len(), "cluster")
        ));
    }
    notes.extend(offline::note(
        &targets,
        "Argo CD cannot reach their clusters",
    ));
    read_project(sources.project.as_deref(), texts)?;
    let windows = ProjectFleet {
        members: &members,
        project: set.as_ref().and_then(|set| set.facts.spec.project()),
        clock: sources.clock,
    }
    .windows(texts);
    read.extend(windows.read);
    notes.extend(windows.notes);
    let mut strategy = draft(set, &own, &mut notes);
    add_windows(windows.file, &mut strategy, &mut notes);
    Ok(ImportedFleet {
        in_words: counted(targets.len(), "application"),
        origin,
        targets,
        left_out: Vec::new(),
        regions,
        cluster_groups: None,
        strategy,
        workload: WorkloadDraft::default(),
        read,
        notes,
    })
}

/// Checks that the file has a project, if one is named. `windows` reads it.
fn read_project(path: Option<&Path>, texts: &mut Texts) -> OrProblems<()> {
    if let Some(path) = path {
        let source = texts.read(path, PROJECTS.command)?;
        PROJECTS.read::<IgnoredPart>(&source)?;
    }
    Ok(())
}

/// Adds sync windows to a strategy, if its product has them.
fn add_windows(
    windows: Option<WindowsFile>,
    strategy: &mut StrategyDraft,
    notes: &mut Vec<String>,
) {
    if strategy.product == ARGO_CD {
        strategy.windows = windows;
    } else if windows.is_some() {
        let note = "left out: the sync windows, which `argoCdProposal` does not simulate";
        notes.push(note.to_owned());
    }
}

/// A file with exported Applications.
struct ApplicationExport<'p> {
    path: &'p Path,
    source: Arc<Source>,
}

impl<'p> ApplicationExport<'p> {
    /// Reads the file, if one is named.
    fn read(path: Option<&'p Path>, texts: &mut Texts) -> OrProblems<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        let source = texts.read(path, APPLICATIONS.command)?;
        Ok(Some(Self { path, source }))
    }

    /// Returns whether the file with the applications also contains an ApplicationSet.
    fn has_set(&self) -> bool {
        // Problems in the file are reported when its applications are read.
        let objects = objects_of_product(&self.source).unwrap_or_default();
        let mut shapes = objects.iter().map(ExportShape::of);
        shapes.any(|shape| is_application_set(&shape))
    }

    /// Returns the targets for the chosen applications. `set`: the ApplicationSet, from this or another file.
    fn fleet(
        &self,
        choice: &ApplicationChoice<'_>,
        set: Option<&ReadSet>,
        read: &mut Vec<String>,
        notes: &mut Vec<String>,
    ) -> OrProblems<GeneratedFleet> {
        let file = &self.source.name;
        let mut found = APPLICATIONS.read::<ApplicationObject>(&self.source)?;
        let count = counted(found.found.len(), "application");
        read.push(format!("{file}: {count}"));
        if set.is_some_and(|set| set.is_beside_applications) {
            found.others.retain(|kind| kind != "ApplicationSet");
        }
        // Projects are read from all files.
        found.others.retain(|kind| kind != "AppProject");
        notes.extend(found.note_on_others(file));
        if let Some(set) = set {
            notes.push(format!(
                "from {file}: the applications, with their labels, clusters, automated sync and status; from \
                 {}: the strategy",
                set.found.file.origin
            ));
        }
        choice.fleet(&found.found, notes)
    }
}

/// An ApplicationSet that was read from a file.
struct ReadSet {
    found: FoundStrategy,
    facts: ApplicationSetFacts,
    /// Whether the set is in the file with the applications.
    is_beside_applications: bool,
}

impl ReadSet {
    /// Reads the ApplicationSet of the named file, or of the file with the applications.
    fn find(
        path: Option<&Path>,
        exported: Option<&ApplicationExport<'_>>,
        texts: &mut Texts,
    ) -> OrProblems<Option<Self>> {
        let beside = exported.filter(|exported| match path {
            Some(path) => path == exported.path,
            None => exported.has_set(),
        });
        let Some(exported) = beside else {
            let found =
                strategy::read(path, &APPLICATION_SET, is_application_set, SET_FILE, texts)?;
            let Some(found) = found else { return Ok(None) };
            let facts = found.read()?;
            return Ok(Some(Self {
                found,
                facts,
                is_beside_applications: false,
            }));
        };
        let mut found = strategy::in_file(
            exported.path,
            &exported.source,
            &APPLICATION_SET,
            is_application_set,
            SET_FILE,
        )?;
        let facts: ApplicationSetFacts = found.read()?;
        // Positions in the copy differ from those in the file.
        found.file.origin = format!("{} (ApplicationSet {})", exported.source.name, facts.name());
        Ok(Some(Self {
            found,
            facts,
            is_beside_applications: true,
        }))
    }
}

/// Returns the links that several targets share, without duplicates.
fn regions_of(targets: &[FleetTarget]) -> Vec<String> {
    let mut regions = BTreeSet::new();
    for target in targets {
        regions.extend(target.region.clone());
    }
    regions.into_iter().collect()
}

/// Returns a target for each cluster that a set's generators select, or for every cluster if there is no set.
fn of_clusters(
    known: &ArgoClusterFacts,
    set: Option<&ReadSet>,
    notes: &mut Vec<String>,
) -> OrProblems<GeneratedFleet> {
    let mut targets = Vec::new();
    let mut own = Vec::new();
    for GeneratedTarget {
        cluster,
        mut target,
    } in generated(known, set, notes)?
    {
        target.offline = cluster.is_some_and(|cluster| cluster.has_failed);
        target.shown_site = cluster.and_then(ArgoCluster::site);
        let is_skipped = cluster.is_some_and(|cluster| cluster.is_skipped);
        own.push(OwnSettings {
            name: target.name.clone(),
            is_automated: None,
            skipped: is_skipped.then(SkippedStatus::settled),
            moving: None,
            not_simulated: Vec::new(),
        });
        targets.push(target);
    }
    Ok(GeneratedFleet {
        origin: known.file.clone(),
        targets,
        own,
        members: Vec::new(),
    })
}

/// Returns the draft of the strategy, from the ApplicationSet (if there is one) and the applications' individual
/// settings.
fn draft(set: Option<ReadSet>, own: &[OwnSettings], notes: &mut Vec<String>) -> StrategyDraft {
    if let Some(set) = set.as_ref().filter(|set| is_of_proposal(&set.found)) {
        notes.push(format!(
            "{}: its strategy is the one that was proposed and never shipped; `argoCdProposal` simulates it",
            set.found.file.origin
        ));
    }
    let product = match &set {
        Some(set) if is_of_proposal(&set.found) => ARGO_CD_PROPOSAL,
        _ => ARGO_CD,
    };
    let mut draft = StrategyDraft::of(product);
    let sync = match &set {
        Some(set) => set.facts.spec.sync(),
        None => SetSync::default(),
    };
    // The proposal has no settings for single applications.
    if product == ARGO_CD {
        argo_own::add_settings(own, sync, &mut draft, notes);
    }
    draft.file = set.map(|set| super::application_set::with_kind(set.found));
    draft
}

/// Returns whether a set uses the proposal's strategy.
fn is_of_proposal(set: &FoundStrategy) -> bool {
    set.read::<ProposalFile>()
        .is_ok_and(|set| set.spec.strategy.rolling_update.is_some())
}

/// Returns a target for each cluster that the generators select.
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
            "a `clusters` generator without a selector also creates an application for the cluster that Argo CD runs \
             in: `in-cluster` is added, with the links of the others"
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

/// Returns whether the cluster that Argo CD runs in gets an application although no Secret declares the cluster.
fn selected_local(targets: &[GeneratedTarget<'_>]) -> bool {
    targets.iter().any(|target| target.cluster.is_none())
}
