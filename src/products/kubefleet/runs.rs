//! The update runs of a strategy in an experiment, and the placements that they update.
//!
//! A run is KubeFleet's own object in a file, or defined in the experiment. People create, start, stop and resume it
//! at times after the release. State changes that the product's admission rejects are rejected here
//! (`apis/placement/v1beta1/stageupdate_types.go`). Settings that would make a run fail before it begins are also
//! rejected: a different strategy, and a placement or resource snapshot that does not exist.
//!
//! Left out: runs of different strategies, and clusters that several placements pick.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::fields::{Accepted, FileChoice, ObjectKind};
use crate::products::{FieldPlaces, Fleet, ProductFile};
use crate::rollout::Revision;
use crate::rollout::kubefleet::{ClusterStagedUpdateRun, RunState};
use crate::rollout::label_selector::{CheckedSelector, LabelSelector, Labels};
use crate::units::SimDuration;
use crate::world::{NEW, OLD, ReleaseKind};

/// The name of the only placement, if no name is given.
const PLACEMENT: &str = "placement";

/// Update runs, and the placements that they update.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRuns {
    /// The names of the placements.
    pub placements: Vec<String>,
    /// The placement of each cluster. Empty: the first placement picks all clusters.
    pub members: Vec<PlacementMember>,
    /// The runs, in the order of the experiment.
    pub runs: Vec<UpdateRun>,
}

/// A cluster as a member of a placement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementMember {
    /// The index of the placement.
    pub placement: usize,
    /// Whether the placement no longer picks the cluster.
    pub is_unpicked: bool,
}

/// An update run.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRun {
    /// The name of the run.
    pub name: String,
    /// The index of the run's placement.
    pub placement: usize,
    /// The revision that the run rolls out.
    pub snapshot: Revision,
    /// States that people set, with their time since the release. The first state creates the run.
    pub states: Vec<(SimDuration, RunState)>,
}

impl Default for UpdateRuns {
    fn default() -> Self {
        let states = vec![(SimDuration::ZERO, RunState::Run)];
        let run = UpdateRun {
            name: "run".to_owned(),
            placement: 0,
            snapshot: NEW,
            states,
        };
        Self {
            placements: vec![PLACEMENT.to_owned()],
            members: Vec::new(),
            runs: vec![run],
        }
    }
}

impl UpdateRuns {
    /// Returns the placement of a cluster.
    pub fn placement_of(&self, cluster: usize) -> usize {
        self.members
            .get(cluster)
            .map_or(0, |member| member.placement)
    }

    /// Returns whether a cluster's placement no longer picks it.
    pub fn is_unpicked(&self, cluster: usize) -> bool {
        self.members
            .get(cluster)
            .is_some_and(|member| member.is_unpicked)
    }
}

/// An update run of KubeFleet, from a real file or set here. Fields set here override the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "UpdateRun"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct RunConfig {
    /// A file with a ClusterStagedUpdateRun, which supplies the fields that are not set here.
    file: Option<String>,
    /// The name of the run. Default: `run`, `run-2`, `run-3` and so on.
    name: Option<String>,
    /// The placement whose clusters the run updates. Default: the first placement.
    placement_name: Option<String>,
    /// The resource snapshot to roll out, a number in quotes. Default: the release's snapshot.
    resource_snapshot_index: Option<String>,
    /// The state in which the run is created. Default: `Run`; with a file, the state in the file.
    state: Option<RunState>,
    /// Time from the release until the run is created. Default: 0 s.
    after: SimDuration,
    /// States that people set later, in chronological order.
    states: Vec<StateChange>,
}

/// A state that a person sets on a run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StateChange {
    /// Time from the release until the state is set.
    after: SimDuration,
    /// The new state.
    state: RunState,
}

/// A placement of KubeFleet, with the clusters that it picks.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Placement"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct PlacementChoice {
    /// The name of the placement.
    #[cfg_attr(test, schemars(required))]
    name: String,
    /// The clusters that the placement picks. Default: all.
    clusters: Option<LabelSelector>,
    /// Selects clusters that the placement no longer picks. A run's delete stage removes their resources. Only
    /// clusters that `clusters` selects count. Default: none.
    unpicked: Option<LabelSelector>,
}

/// The numbers of the resource snapshots. The first snapshot of a placement is 0.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct ResourceSnapshots {
    /// The number of the snapshot that is installed before the release.
    installed: u32,
    /// The number of the release's snapshot. Default: the number after `installed`; 0 in a first deployment.
    release: Option<u32>,
}

impl ResourceSnapshots {
    /// Returns the number of the release's snapshot.
    fn of_release(self, kind: ReleaseKind) -> u32 {
        let default = match kind {
            ReleaseKind::Initial => 0,
            ReleaseKind::Update => self.installed.saturating_add(1),
        };
        self.release.unwrap_or(default)
    }
}

/// The settings for update runs in an experiment.
pub(super) struct RunsConfig<'c> {
    pub(super) runs: &'c [RunConfig],
    pub(super) placements: &'c [PlacementChoice],
    pub(super) snapshots: ResourceSnapshots,
    /// The name of the strategy in its file.
    pub(super) strategy: Option<&'c str>,
    /// The strategy's path in the experiment.
    pub(super) path: &'c Path,
    pub(super) fleet: Fleet<'c>,
    pub(super) accept: &'c Accepted,
}

const UPDATE_RUNS: [ObjectKind; 2] = [
    ObjectKind::of("ClusterStagedUpdateRun"),
    ObjectKind::as_in("StagedUpdateRun", "ClusterStagedUpdateRun"),
];

impl RunsConfig<'_> {
    /// Checks the settings. `None`: a problem was reported.
    pub(super) fn check(&self, context: &mut Context<'_>) -> Option<UpdateRuns> {
        let problems = context.problems.len();
        let mut found = UpdateRuns::default();
        if !self.placements.is_empty() {
            found.placements = self
                .placements
                .iter()
                .map(|placement| placement.name.clone())
                .collect();
            found.members = self.members(context);
        }
        if !self.runs.is_empty() {
            found.runs.clear();
        }
        for (index, run) in self.runs.iter().enumerate() {
            let path = self.path.key("runs").index(index);
            let choice = FileChoice {
                name: run.file.as_deref(),
                path: &path,
                accept: self.accept,
                moot: &[],
            };
            let file: ProductFile<ClusterStagedUpdateRun> =
                ProductFile::object(choice, &UPDATE_RUNS, &["spec"], context)?;
            let places = FieldPlaces::new(&path, file.document.as_ref(), IN_FILE);
            if run.file.is_some() {
                let named = &file.value.spec.staged_rollout_strategy_name;
                self.check_strategy_name(named, &places, context);
            }
            let update = self.update_run(run, file.value, &places, &mut found, context);
            if found.runs.iter().any(|other| other.name == update.name) {
                let message = format!("two runs are called `{}`", update.name);
                let help = "give each run its own `name`";
                context.report(&path.key("name"), message, help);
            }
            found.runs.push(update);
        }
        (context.problems.len() == problems).then_some(found)
    }

    /// Reports a run's file that names a different strategy than the strategy's file.
    fn check_strategy_name(
        &self,
        named: &str,
        places: &FieldPlaces<'_>,
        context: &mut Context<'_>,
    ) {
        if let Some(strategy) = self.strategy
            && named != strategy
        {
            let message = format!(
                "the run uses the strategy `{named}`, but the file of the strategy has `{strategy}`"
            );
            let help = format!("write `stagedRolloutStrategyName: {strategy}`");
            places.report("spec.stagedRolloutStrategyName", message, help, context);
        }
    }

    /// Returns the placement of each cluster.
    fn members(&self, context: &mut Context<'_>) -> Vec<PlacementMember> {
        let list = self.path.key("placements");
        let clusters = &self.fleet.world.clusters;
        let mut members: Vec<Option<PlacementMember>> = vec![None; clusters.len()];
        for (index, placement) in self.placements.iter().enumerate() {
            let at = list.index(index);
            self.check_placement(placement, &at, context);
            let everything = LabelSelector::default();
            let picks = placement.clusters.as_ref().unwrap_or(&everything);
            let picks = checked_selector(picks, &at.key("clusters"), context);
            let drops = placement.unpicked.as_ref();
            let drops =
                drops.and_then(|drops| checked_selector(drops, &at.key("unpicked"), context));
            for (member, cluster) in members.iter_mut().zip(clusters) {
                if !selects(picks.as_ref(), &cluster.labels) {
                    continue;
                }
                let picked = PlacementMember {
                    placement: index,
                    is_unpicked: selects(drops.as_ref(), &cluster.labels),
                };
                if let Some(earlier) = member.replace(picked) {
                    let message = format!(
                        "cluster `{}` is also in the placement `{}`",
                        cluster.name, self.placements[earlier.placement].name
                    );
                    let help = "give each cluster one placement: correct `clusters`";
                    context.report(&at, message, help);
                    return Vec::new();
                }
            }
        }
        if let Some(missing) = members.iter().position(Option::is_none) {
            let message = format!("cluster `{}` is in no placement", clusters[missing].name);
            context.report(&list, message, "add it to the `clusters` of a placement");
        }
        members.into_iter().flatten().collect()
    }

    /// Reports a placement that has no name, or whose `unpicked` clusters it cannot have picked earlier.
    fn check_placement(&self, placement: &PlacementChoice, at: &Path, context: &mut Context<'_>) {
        if placement.name.is_empty() {
            context.report(at, "a placement needs a name", "write e.g. `name: app`");
        }
        if placement.unpicked.is_some()
            && self.fleet.world.applications[0].release == ReleaseKind::Initial
        {
            let message = "no cluster has resources to remove before a first deployment";
            let help = "remove `unpicked`, or write `release: {kind: update}`";
            context.report(&at.key("unpicked"), message, help);
        }
    }

    /// Merges a run in the experiment with the run's file.
    fn update_run(
        &self,
        run: &RunConfig,
        written: ClusterStagedUpdateRun,
        places: &FieldPlaces<'_>,
        found: &mut UpdateRuns,
        context: &mut Context<'_>,
    ) -> UpdateRun {
        let spec = written.spec;
        let default_name = match found.runs.len() {
            0 => "run".to_owned(),
            earlier => format!("run-{}", earlier + 1),
        };
        let name_in_file = Some(written.metadata.name).filter(|name| !name.is_empty());
        let placement = run.placement_name.clone().unwrap_or(spec.placement_name);
        let placement = self.placement_number(placement, places, found, context);
        let snapshot = run
            .resource_snapshot_index
            .clone()
            .unwrap_or(spec.resource_snapshot_index);
        let snapshot = self.snapshot(&snapshot, places, context);
        let first = match run.state {
            Some(state) => state,
            None if run.file.is_some() => spec.state.unwrap_or_default(),
            None => RunState::Run,
        };
        UpdateRun {
            name: run.name.clone().or(name_in_file).unwrap_or(default_name),
            placement,
            snapshot,
            states: states_of(run, first, places.path, context),
        }
    }

    /// Returns the index of the placement that a run refers to. Without `placements`, the first run may set the name
    /// of the only placement.
    fn placement_number(
        &self,
        name: String,
        places: &FieldPlaces<'_>,
        found: &mut UpdateRuns,
        context: &mut Context<'_>,
    ) -> usize {
        if name.is_empty() {
            return 0;
        }
        if self.placements.is_empty() && found.runs.is_empty() {
            found.placements = vec![name];
            return 0;
        }
        if let Some(number) = found.placements.iter().position(|known| *known == name) {
            return number;
        }
        let message = format!("there is no placement `{name}`");
        let help = format!("name one of `placements`: {}", found.placements.join(", "));
        places.report("spec.placementName", message, help, context);
        0
    }

    fn snapshot(
        &self,
        index: &str,
        places: &FieldPlaces<'_>,
        context: &mut Context<'_>,
    ) -> Revision {
        let installed = self.snapshots.installed;
        let release = self
            .snapshots
            .of_release(self.fleet.world.applications[0].release);
        let is_update = self.fleet.world.applications[0].release == ReleaseKind::Update;
        match index {
            _ if index.is_empty() || *index == release.to_string() => NEW,
            _ if *index == installed.to_string() && is_update => OLD,
            _ => {
                let known = if is_update {
                    format!("`{installed}`, which is installed, and `{release}`, the release")
                } else {
                    format!("`{release}`, the release")
                };
                let message = format!("there is no resource snapshot `{index}`; there is {known}");
                let help = "write one of these, or number them with `resourceSnapshots: {installed: …, release: …}`";
                places.report("spec.resourceSnapshotIndex", message, help, context);
                NEW
            }
        }
    }
}

const IN_FILE: &[(&str, &str)] = &[
    ("placementName", "spec.placementName"),
    ("resourceSnapshotIndex", "spec.resourceSnapshotIndex"),
    (
        "stagedRolloutStrategyName",
        "spec.stagedRolloutStrategyName",
    ),
];

/// Returns the states that people set. The first state creates the run at `path`.
fn states_of(
    run: &RunConfig,
    first: RunState,
    path: &Path,
    context: &mut Context<'_>,
) -> Vec<(SimDuration, RunState)> {
    let mut states = vec![(run.after, first)];
    let mut latest = run.after;
    let mut from = first;
    for (nth, change) in run.states.iter().enumerate() {
        let at = path.key("states").index(nth);
        if change.after <= latest {
            let message = format!(
                "states must be in chronological order: {} is not after {latest}",
                change.after
            );
            let help = "count from the release, and sort the list by `after`";
            context.report(&at.key("after"), message, help);
        }
        if !may_follow(from, change.state) {
            let message = format!(
                "KubeFleet does not accept {:?} after {from:?}",
                change.state
            );
            let help = "from Initialize a run can go to Run, and from there to Stop and back";
            context.report(&at.key("state"), message, help);
        }
        states.push((change.after, change.state));
        latest = change.after;
        from = change.state;
    }
    states
}

/// Returns the checked selector. `None`: a problem was reported.
fn checked_selector(
    written: &LabelSelector,
    path: &Path,
    context: &mut Context<'_>,
) -> Option<CheckedSelector> {
    match written.check() {
        Ok(selector) => Some(selector),
        Err(error) => {
            context.report(path, error.to_string(), "correct the label selector");
            None
        }
    }
}

/// Returns whether a selector exists and selects these labels.
fn selects(selector: Option<&CheckedSelector>, labels: &Labels) -> bool {
    selector.is_some_and(|selector| selector.matches(labels))
}

/// Returns whether admission accepts the change from one state to another.
fn may_follow(from: RunState, to: RunState) -> bool {
    use RunState::{Initialize, Run, Stop};
    from == to || matches!((from, to), (Initialize | Stop, Run) | (Run, Stop))
}
