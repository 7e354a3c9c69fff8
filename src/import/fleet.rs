//! Rancher Fleet: clusters, cluster groups, a GitRepo's targets, and a fleet.yaml.
//!
//! All targets belong to one workspace, as for a bundle. For example, `local` is in `fleet-local` and is not a target
//! of a rollout to `fleet-default`. The GitRepo and the fleet.yaml, or the Bundle or HelmOp that replaces it, select
//! some of the clusters. Clusters that are paused or have no agent remain targets, because Fleet counts them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::draft::{ImportedFleet, StrategyDraft, StrategyFile, WorkloadDraft};
use super::kinds::{
    CLUSTER_GROUPS, ClientObject, ExportShape, FLEET_CLUSTERS, FLEET_YAML, GIT_REPO, SCHEDULES,
};
use super::left_out::{LeftOut, left_out};
use super::offline;
use super::sources::{ImportSources, Texts};
use super::strategy::{self, FoundStrategy};
use super::target::{FleetTarget, bad_label};
use super::windows::ScheduledFleet;
use crate::document::context::{Context, Document};
use crate::document::files::Files;
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::document::tree;
use crate::products::FleetGroup;
use crate::products::rancher_fleet::BundleSelection;
use crate::results::to_json;
use crate::rollout::rancher_fleet::TargetChoice;
use crate::scenario::import::git_repo::{GitRepo, fleet_cluster};
use crate::scenario::import::inventory::{self, ClusterObject, GroupObject, InventoryCluster};
use crate::scenario::import::object::{IgnoredPart, KubeObject};
use crate::scenario::import::objects::{ReadObject, name_problems};
use crate::units::counted;

/// Reads Fleet's exports.
///
/// # Errors
/// Returns all problems of the exports.
pub(super) fn import(sources: &ImportSources, texts: &mut Texts) -> OrProblems<ImportedFleet> {
    let exports = FleetExports::read(sources, texts)?;
    let mut read = exports.in_words(sources.cluster_groups.as_deref());
    let FoundClusters {
        source,
        clusters,
        note_on_others,
    } = exports.clusters;
    let group_count = exports.groups.len();
    let selection = exports.strategy.as_ref().and_then(FileSelection::of);
    let wanted = WantedTargets {
        repo: exports.repo.as_ref(),
        selection: selection.as_ref(),
        namespace: sources.namespace.as_deref(),
        has_groups: sources.cluster_groups.is_some(),
    };
    let chosen = choose(&source, &clusters, exports.groups, &wanted)?;
    let mut notes = Vec::from_iter(elsewhere(&clusters, chosen.space));
    notes.extend(chosen.note_on_repo.clone());
    notes.extend(chosen.left_out.iter().map(LeftOut::note));
    notes.extend(left_out(
        group_count - chosen.groups.len(),
        "cluster group",
        &format!("outside of {}", chosen.space),
    ));
    notes.extend(chosen.note_on_unknown_group(sources.cluster_groups.as_deref()));
    notes.extend(without_update(&chosen.targets, chosen.is_paused));
    notes.extend(note_on_others);
    if exports.strategy.is_none() {
        notes.push(
            "no --strategy: the strategy is Fleet's default, as for a fleet.yaml without one"
                .to_owned(),
        );
    }
    let windows = chosen.scheduled(sources).windows(texts)?;
    read.extend(windows.read);
    notes.extend(windows.notes);
    let strategy = StrategyDraft {
        file: exports.strategy.map(|found| found.file),
        windows: windows.file,
        ..StrategyDraft::of("rancherFleet")
    };
    let mut targets = chosen.fleet_targets();
    offline::mark_silent(
        &mut targets,
        &chosen.last_reports(),
        sources.clock,
        &mut notes,
    );
    let count = counted(targets.len(), "cluster");
    Ok(ImportedFleet {
        in_words: format!("{count} of {}", chosen.space),
        origin: source.name.clone(),
        targets,
        left_out: chosen.left_out,
        regions: Vec::new(),
        cluster_groups: sources
            .cluster_groups
            .is_some()
            .then(|| groups_json(&chosen.groups)),
        strategy,
        workload: WorkloadDraft::default(),
        read,
        notes,
    })
}

/// Fleet's exports after reading.
struct FleetExports {
    clusters: FoundClusters,
    /// The groups in all workspaces. Empty if groups were not exported.
    groups: Vec<GroupObject>,
    repo: Option<Arc<Source>>,
    strategy: Option<FoundStrategy>,
}

/// The clusters of an export.
struct FoundClusters {
    source: Arc<Source>,
    clusters: Vec<InventoryCluster>,
    /// The note about other objects in the file.
    note_on_others: Option<String>,
}

impl FleetExports {
    /// Reads all named exports.
    ///
    /// # Errors
    /// Returns all problems of the exports.
    fn read(sources: &ImportSources, texts: &mut Texts) -> OrProblems<Self> {
        let mut problems = Vec::new();
        let mut clusters = None;
        if let Some(path) = &sources.fleet {
            clusters = or_collect(read_clusters(path, texts), &mut problems);
        }
        let mut groups = Vec::new();
        if let Some(path) = &sources.cluster_groups {
            groups = or_collect(read_groups(path, texts), &mut problems).unwrap_or_default();
        }
        let mut repo = None;
        if let Some(path) = &sources.git_repo {
            repo = or_collect(texts.read(path, GIT_REPO.command), &mut problems);
        }
        if let Some(path) = &sources.schedules {
            or_collect(read_schedules(path, texts), &mut problems);
        }
        let path = sources.strategy.as_deref();
        let strategy = strategy::read(path, &FLEET_YAML, is_fleet_yaml, "fleet.yaml", texts);
        let strategy = or_collect(strategy, &mut problems).flatten();
        match clusters {
            Some(clusters) if problems.is_empty() => Ok(Self {
                clusters,
                groups,
                repo,
                strategy,
            }),
            _ => Err(problems),
        }
    }

    /// Returns a line for each export. `groups_file`: the file with the cluster groups.
    fn in_words(&self, groups_file: Option<&Path>) -> Vec<String> {
        let clusters = &self.clusters;
        let mut lines = vec![format!(
            "{}: {}",
            clusters.source.name,
            counted(clusters.clusters.len(), "cluster")
        )];
        if let Some(path) = groups_file {
            let count = counted(self.groups.len(), "cluster group");
            lines.push(format!("{}: {count}", path.display()));
        }
        if let Some(repo) = &self.repo {
            lines.push(format!("{}: the targets of a GitRepo", repo.name));
        }
        if let Some(found) = &self.strategy {
            let origin = &found.file.origin;
            lines.push(match &found.kind {
                Some(kind) => format!("{origin}: the rolloutStrategy of a {kind}"),
                None => format!("{origin}: the rolloutStrategy of a fleet.yaml"),
            });
        }
        lines
    }
}

/// Returns the value. `None`: there were problems, which were added to `problems`.
fn or_collect<T>(result: OrProblems<T>, problems: &mut Vec<Problem>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(found) => {
            problems.extend(found);
            None
        }
    }
}

fn is_fleet_yaml(shape: &ExportShape) -> bool {
    shape.is_client(ClientObject::FleetYaml)
        || matches!(shape, ExportShape::Unknown)
        || matches!(shape, ExportShape::Kubernetes(kind, _) if kind == "Bundle" || kind == "HelmOp")
}

fn read_clusters(path: &Path, texts: &mut Texts) -> OrProblems<FoundClusters> {
    let source = texts.read(path, FLEET_CLUSTERS.command)?;
    let mut read = FLEET_CLUSTERS.read::<ClusterObject>(&source)?;
    check_objects(&read.found)?;
    // Schedules are read from all files.
    read.others.retain(|kind| kind != "Schedule");
    let note_on_others = read.note_on_others(&source.name);
    let mut objects = Vec::new();
    for found in read.found {
        objects.push(found.value);
    }
    Ok(FoundClusters {
        clusters: inventory::of_objects(&objects),
        note_on_others,
        source,
    })
}

fn read_groups(path: &Path, texts: &mut Texts) -> OrProblems<Vec<GroupObject>> {
    let source = texts.read(path, CLUSTER_GROUPS.command)?;
    let found = CLUSTER_GROUPS.read::<GroupObject>(&source)?.found;
    Ok(found.into_iter().map(|read| read.value).collect())
}

/// Checks that the file has Schedules. `windows` reads them.
fn read_schedules(path: &Path, texts: &mut Texts) -> OrProblems<()> {
    let source = texts.read(path, SCHEDULES.command)?;
    SCHEDULES.read::<IgnoredPart>(&source)?;
    Ok(())
}

/// Checks the names of objects.
///
/// # Errors
/// Returns the problems with the names, and with labels that a table cannot contain.
pub(super) fn check_objects<Spec, Status>(
    found: &[ReadObject<'_, KubeObject<Spec, Status>>],
) -> OrProblems<()> {
    let mut problems = name_problems(found);
    for read in found {
        if let Some(bad) = bad_label(&read.value.metadata.labels) {
            let message = format!("`{bad}` is not a valid Kubernetes label");
            problems.push(read.object.problem("metadata.labels", message));
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// The rollout's targets in a workspace.
struct ChosenTargets<'c> {
    space: &'c str,
    targets: Vec<&'c InventoryCluster>,
    /// The workspace's clusters that are not targets.
    left_out: Vec<LeftOut>,
    groups: Vec<FleetGroup>,
    /// Whether the GitRepo is paused.
    is_paused: bool,
    /// A group that the GitRepo names but that does not exist in the workspace.
    unknown_group: Option<String>,
    /// The note about the GitRepo's targets that are ignored.
    note_on_repo: Option<String>,
}

impl<'c> ChosenTargets<'c> {
    /// Chooses all of these clusters when there is no GitRepo.
    const fn all(
        space: &'c str,
        targets: Vec<&'c InventoryCluster>,
        groups: Vec<FleetGroup>,
    ) -> Self {
        Self {
            space,
            targets,
            left_out: Vec::new(),
            groups,
            is_paused: false,
            unknown_group: None,
            note_on_repo: None,
        }
    }

    /// Drops the clusters that the file does not select. `has_groups`: whether the groups were exported.
    fn keep_selected(&mut self, file: &FileSelection, has_groups: bool) {
        let mut seen = Vec::new();
        for cluster in &self.targets {
            seen.push(fleet_cluster(cluster, &self.groups));
        }
        let Some(choices) = file.selection.choose(&seen, has_groups) else {
            return;
        };
        let mut unselected = Vec::new();
        let mut excluded = Vec::new();
        let mut kept = Vec::new();
        for (&cluster, choice) in self.targets.iter().zip(choices) {
            match choice {
                TargetChoice::Target => kept.push(cluster),
                TargetChoice::NotSelected => unselected.push(cluster.name.clone()),
                TargetChoice::DoNotDeploy => excluded.push(cluster.name.clone()),
            }
        }
        self.targets = kept;
        let why = format!("not selected by {}", file.file);
        self.left_out
            .extend(LeftOut::of(unselected, "cluster", &why));
        let why = format!("with `doNotDeploy` in {}", file.file);
        self.left_out.extend(LeftOut::of(excluded, "cluster", &why));
    }

    /// Returns the note about a group that selects nothing. `groups_file`: the file with the cluster groups.
    fn note_on_unknown_group(&self, groups_file: Option<&Path>) -> Option<String> {
        let name = self.unknown_group.as_ref()?;
        let why = match groups_file {
            Some(path) => format!(
                "{} has no group of this name in {}",
                path.display(),
                self.space
            ),
            None => "add --cluster-groups".to_owned(),
        };
        Some(format!(
            "the cluster group `{name}` of the GitRepo's targets selects nothing: {why}"
        ))
    }

    /// Returns the time of each target's last agent report, or `None` for a target that is not expected to report.
    fn last_reports(&self) -> Vec<Option<&str>> {
        let mut reports = Vec::new();
        for target in &self.targets {
            let is_expected = !target.paused && target.registered;
            reports.push(target.last_seen.as_deref().filter(|_| is_expected));
        }
        reports
    }

    /// Returns the targets as Schedules select them.
    fn scheduled(&self, sources: &ImportSources) -> ScheduledFleet<'c> {
        let mut targets = Vec::new();
        for cluster in &self.targets {
            targets.push(fleet_cluster(cluster, &self.groups));
        }
        ScheduledFleet {
            space: self.space,
            targets,
            has_groups: sources.cluster_groups.is_some(),
            clock: sources.clock,
        }
    }

    fn fleet_targets(&self) -> Vec<FleetTarget> {
        let mut targets = Vec::new();
        for &cluster in &self.targets {
            targets.push(FleetTarget {
                paused: cluster.paused || self.is_paused,
                ..cluster.into()
            });
        }
        targets
    }
}

/// The options that choose the targets.
struct WantedTargets<'w> {
    repo: Option<&'w Arc<Source>>,
    selection: Option<&'w FileSelection>,
    /// The requested workspace.
    namespace: Option<&'w str>,
    /// Whether the cluster groups were exported.
    has_groups: bool,
}

/// Returns the workspace's clusters that the GitRepo and the strategy's file select, and the workspace's groups.
fn choose<'c>(
    source: &Arc<Source>,
    clusters: &'c [InventoryCluster],
    groups: Vec<GroupObject>,
    wanted: &WantedTargets<'_>,
) -> OrProblems<ChosenTargets<'c>> {
    let mut chosen = of_repo(source, clusters, groups, wanted)?;
    if let Some(selection) = wanted.selection {
        chosen.keep_selected(selection, wanted.has_groups);
    }
    Ok(chosen)
}

/// Returns the workspace's clusters that the GitRepo selects, or all clusters without a GitRepo.
fn of_repo<'c>(
    source: &Arc<Source>,
    clusters: &'c [InventoryCluster],
    groups: Vec<GroupObject>,
    wanted: &WantedTargets<'_>,
) -> OrProblems<ChosenTargets<'c>> {
    let Some(repo) = wanted.repo else {
        let (space, targets) = of_workspace(source, clusters, wanted.namespace)?;
        let groups = inventory::groups_of_workspace(groups, space);
        return Ok(ChosenTargets::all(space, targets, groups));
    };
    let root = tree::parse(repo).map_err(|problem| vec![*problem])?;
    let mut files = Files::in_folder(".".into());
    let mut context = Context {
        files: &mut files,
        source: repo,
        tree: &root,
        struck: &[],
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let document = Document::of(Arc::clone(repo), root.clone());
    let Some(read) = GitRepo::of(document, &mut context) else {
        return Err(context.problems);
    };
    let namespace = wanted.namespace.or(read.namespace());
    let (space, found) = of_workspace(source, clusters, namespace)?;
    let groups = inventory::groups_of_workspace(groups, space);
    let is_paused = read.is_paused();
    if let Some(selection) = wanted.selection.filter(|found| found.replaces_repo()) {
        return Ok(ChosenTargets {
            is_paused,
            note_on_repo: Some(selection.note_on_repo()),
            ..ChosenTargets::all(space, found, groups)
        });
    }
    let Some(targets) = read.targets(found.clone(), &groups, &mut context) else {
        return Err(context.problems);
    };
    let unknown_group = read.unknown_group(&groups).map(str::to_owned);
    let unselected = names_without(&found, &targets);
    let left_out = LeftOut::of(unselected, "cluster", "not selected by the GitRepo");
    Ok(ChosenTargets {
        is_paused,
        unknown_group,
        left_out: Vec::from_iter(left_out),
        ..ChosenTargets::all(space, targets, groups)
    })
}

/// Returns the names of the clusters that are not targets. Both lists must be in the same order.
fn names_without(clusters: &[&InventoryCluster], targets: &[&InventoryCluster]) -> Vec<String> {
    let mut targets = targets.iter().peekable();
    let mut names = Vec::new();
    for &cluster in clusters {
        if targets
            .next_if(|&&target| std::ptr::eq(target, cluster))
            .is_none()
        {
            names.push(cluster.name.clone());
        }
    }
    names
}

/// The targets in the strategy's file.
struct FileSelection {
    file: String,
    selection: BundleSelection,
}

impl FileSelection {
    /// Reads the targets in a file. `None`: the GitRepo determines the targets, or the file cannot be read, which its
    /// check reports.
    fn of(found: &FoundStrategy) -> Option<Self> {
        let StrategyFile { origin, text, .. } = &found.file;
        let source = Arc::new(Source::new(origin.clone(), text.clone()));
        Some(Self {
            file: origin.clone(),
            selection: BundleSelection::of_file(&source)?,
        })
    }

    /// Returns whether the targets of the GitRepo are ignored.
    const fn replaces_repo(&self) -> bool {
        self.selection.replaces_repo
    }

    fn note_on_repo(&self) -> String {
        format!(
            "the targets of the GitRepo are ignored: {} has its own",
            self.file
        )
    }
}

/// Returns the requested or default workspace, and its clusters.
fn of_workspace<'c>(
    source: &Arc<Source>,
    clusters: &'c [InventoryCluster],
    wanted: Option<&str>,
) -> OrProblems<(&'c str, Vec<&'c InventoryCluster>)> {
    inventory::of_workspace(clusters, wanted, "add `--namespace` with").map_err(|problem| {
        vec![Problem::of_file(&source.name, problem.message).with_help(problem.help)]
    })
}

/// Returns the note about clusters in other workspaces.
fn elsewhere(clusters: &[InventoryCluster], space: &str) -> Option<String> {
    let mut count = 0;
    let mut others = BTreeSet::new();
    for cluster in clusters {
        if cluster.namespace != space {
            count += 1;
            others.insert(cluster.namespace.clone());
        }
    }
    let others: Vec<String> = others.into_iter().collect();
    let place = format!("outside of {space}, in {}", some_of(&others));
    left_out(count, "cluster", &place)
}

/// Returns the note about targets that are not updated.
fn without_update(targets: &[&InventoryCluster], is_paused: bool) -> Option<String> {
    if is_paused {
        let all = counted(targets.len(), "cluster");
        return Some(format!(
            "the GitRepo is paused, so {all} cannot be updated: see column `paused` of clusters.csv"
        ));
    }
    let mut paused = 0;
    let mut agentless = 0;
    for target in targets {
        if target.paused {
            paused += 1;
        } else if !target.registered {
            agentless += 1;
        }
    }
    let reasons = match (paused, agentless) {
        (0, 0) => return None,
        (_, 0) => format!("{paused} paused"),
        (0, _) => format!("{agentless} without agent"),
        _ => format!("{paused} paused, {agentless} without agent"),
    };
    Some(format!(
        "{} of the clusters cannot be updated: {reasons}",
        paused + agentless
    ))
}

/// Returns the groups in the format of an inventory.
fn groups_json(groups: &[FleetGroup]) -> Vec<u8> {
    let mut items = Vec::new();
    for (group, selector) in groups {
        items.push(json!({
            "apiVersion": "fleet.cattle.io/v1alpha1",
            "kind": "ClusterGroup",
            "metadata": { "name": group.name, "labels": group.labels },
            "spec": { "selector": selector },
        }));
    }
    to_json(&json!({ "kind": "List", "items": items }))
}
