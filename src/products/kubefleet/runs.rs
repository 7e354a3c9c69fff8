//! The update runs of a strategy in an experiment, and the placements that they update.
//!
//! A run is KubeFleet's own object in a file, or written in place. People create it, start, stop and resume it at times
//! after the release. What the product's admission refuses is refused here: a state that cannot follow another one
//! (`apis/placement/v1beta1/stageupdate_types.go`). So is what would make a run fail before it begins: another
//! strategy, and a placement or a resource snapshot that does not exist.
//!
//! Left out: runs of strategies that differ, and clusters that several placements pick.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::{FieldPlaces, Fleet, ProductFile};
use crate::rollout::Revision;
use crate::rollout::kubefleet::{ClusterStagedUpdateRun, RunState};
use crate::rollout::label_selector::LabelSelector;
use crate::units::SimDuration;
use crate::world::{NEW, OLD, ReleaseKind};

/// The name of the only placement where nothing names it.
const PLACEMENT: &str = "placement";

/// Update runs, and the placements that they update.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRuns {
    /// The names of the placements.
    pub placements: Vec<String>,
    /// For each cluster its placement, and whether that no longer picks it. Empty: the first one picks all clusters.
    pub members: Vec<(usize, bool)>,
    /// The runs, in the order of the experiment.
    pub runs: Vec<UpdateRun>,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRun {
    /// Its name.
    pub name: String,
    /// The number of its placement.
    pub placement: usize,
    /// The revision that it rolls out.
    pub snapshot: Revision,
    /// States that people set, by their time since the release. The first one creates it.
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
    /// The placement of a cluster.
    pub fn placement_of(&self, cluster: usize) -> usize {
        self.members
            .get(cluster)
            .map_or(0, |(placement, _)| *placement)
    }

    /// Whether its placement no longer picks the cluster.
    pub fn is_unpicked(&self, cluster: usize) -> bool {
        self.members
            .get(cluster)
            .is_some_and(|(_, is_unpicked)| *is_unpicked)
    }
}

/// An update run of KubeFleet, from a real file or in place; a field in place overrides the file's.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "UpdateRun"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct RunConfig {
    /// A file with a ClusterStagedUpdateRun, which applies where nothing is set here.
    file: Option<String>,
    /// Its name. Default: `run`, `run-2`, `run-3` and so on.
    name: Option<String>,
    /// The placement whose clusters it updates. Default: the first one.
    placement_name: Option<String>,
    /// The resource snapshot to roll out, a number in quotes. Default: that of the release.
    resource_snapshot_index: Option<String>,
    /// The state in which it is created. Default: `Run`; with a file, what the file says.
    state: Option<RunState>,
    /// Time from the release until it is created. Default: 0 s.
    after: SimDuration,
    /// States that people set later, in the order of time.
    states: Vec<StateChange>,
}

/// Somebody sets the state of a run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StateChange {
    /// Time since the release.
    after: SimDuration,
    /// The new state.
    state: RunState,
}

/// A placement of KubeFleet: which clusters it picks.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Placement"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct PlacementChoice {
    /// Its name.
    #[cfg_attr(test, schemars(required))]
    name: String,
    /// The clusters that it picks. Default: all.
    clusters: Option<LabelSelector>,
    /// Of these, clusters that it no longer picks. A run's delete stage removes their resources. Default: none.
    unpicked: Option<LabelSelector>,
}

/// The numbers of the resource snapshots.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct ResourceSnapshots {
    /// That of the resources that are installed before the release.
    installed: u32,
    /// That of the release.
    release: u32,
}

impl Default for ResourceSnapshots {
    fn default() -> Self {
        Self {
            installed: 0,
            release: 1,
        }
    }
}

/// The settings of runs in an experiment.
pub(super) struct RunsConfig<'c> {
    pub(super) runs: &'c [RunConfig],
    pub(super) placements: &'c [PlacementChoice],
    pub(super) snapshots: ResourceSnapshots,
    /// The name of the strategy in its file.
    pub(super) strategy: Option<&'c str>,
    /// The strategy's place in the experiment.
    pub(super) path: &'c Path,
}

impl RunsConfig<'_> {
    /// `None`: a problem was reported.
    pub(super) fn check(&self, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<UpdateRuns> {
        let problems = context.problems.len();
        let mut found = UpdateRuns::default();
        if !self.placements.is_empty() {
            found.placements = self
                .placements
                .iter()
                .map(|placement| placement.name.clone())
                .collect();
            found.members = self.members(fleet, context);
        }
        if !self.runs.is_empty() {
            found.runs.clear();
        }
        for (index, run) in self.runs.iter().enumerate() {
            let path = self.path.key("runs").index(index);
            let kinds = ["ClusterStagedUpdateRun", "StagedUpdateRun"];
            let file: ProductFile<ClusterStagedUpdateRun> =
                ProductFile::object(run.file.as_deref(), &path, &kinds, &["spec"], context)?;
            let places = FieldPlaces::new(&path, file.document.as_ref(), IN_FILE);
            let of = &file.value.spec.staged_rollout_strategy_name;
            if let Some(strategy) = self
                .strategy
                .filter(|strategy| run.file.is_some() && of != strategy)
            {
                let message = format!(
                    "the run is of the strategy `{of}`, and the file of the strategy has `{strategy}`"
                );
                let help = format!("write `stagedRolloutStrategyName: {strategy}`");
                places.report("spec.stagedRolloutStrategyName", message, help, context);
            }
            let update = self.update_run(run, file.value, &places, &mut found, fleet, context);
            if found.runs.iter().any(|other| other.name == update.name) {
                let message = format!("two runs are called `{}`", update.name);
                context.report(
                    &path.key("name"),
                    message,
                    "give each run a `name` of its own",
                );
            }
            found.runs.push(update);
        }
        (context.problems.len() == problems).then_some(found)
    }

    /// The placement of each cluster.
    fn members(&self, fleet: Fleet<'_>, context: &mut Context<'_>) -> Vec<(usize, bool)> {
        let list = self.path.key("placements");
        let mut picked: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
        for (index, placement) in self.placements.iter().enumerate() {
            let at = list.index(index);
            if placement.name.is_empty() {
                context.report(&at, "a placement needs a name", "write e.g. `name: app`");
            }
            if placement.unpicked.is_some() && fleet.world.release == ReleaseKind::Initial {
                let message =
                    "before a first deployment no cluster has resources that could be removed";
                context.report(
                    &at.key("unpicked"),
                    message,
                    "remove `unpicked`, or write `release: {kind: update}`",
                );
            }
            let everywhere = Some(LabelSelector::default());
            let selectors = [
                ("clusters", placement.clusters.clone().or(everywhere)),
                ("unpicked", placement.unpicked.clone()),
            ];
            let [picks, drops] =
                selectors.map(
                    |(key, selector)| match selector.map(|of| of.check()).transpose() {
                        Ok(selector) => selector,
                        Err(error) => {
                            context.report(
                                &at.key(key),
                                error.to_string(),
                                "correct the label selector",
                            );
                            None
                        }
                    },
                );
            for (cluster, spec) in fleet.world.clusters.iter().enumerate() {
                if !picks
                    .as_ref()
                    .is_some_and(|selector| selector.matches(&spec.labels))
                {
                    continue;
                }
                let is_unpicked = drops
                    .as_ref()
                    .is_some_and(|selector| selector.matches(&spec.labels));
                if let Some((other, _)) = picked.insert(cluster, (index, is_unpicked)) {
                    let other = &self.placements[other].name;
                    let message =
                        format!("cluster `{}` is also in the placement `{other}`", spec.name);
                    context.report(
                        &at,
                        message,
                        "give each cluster one placement: correct `clusters`",
                    );
                    return Vec::new();
                }
            }
        }
        let missing = (0..fleet.len()).find(|cluster| !picked.contains_key(cluster));
        if let Some(cluster) = missing {
            let message = format!(
                "cluster `{}` is in no placement",
                fleet.world.clusters[cluster].name
            );
            context.report(&list, message, "add it to the `clusters` of a placement");
        }
        picked.into_values().collect()
    }

    fn update_run(
        &self,
        run: &RunConfig,
        written: ClusterStagedUpdateRun,
        places: &FieldPlaces<'_>,
        found: &mut UpdateRuns,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> UpdateRun {
        let (has_file, index, spec) = (run.file.is_some(), found.runs.len(), written.spec);
        let default = if index == 0 {
            "run".to_owned()
        } else {
            format!("run-{}", index + 1)
        };
        let in_file = Some(written.metadata.name).filter(|name| !name.is_empty());
        let placement = run.placement_name.clone().unwrap_or(spec.placement_name);
        let placement = if placement.is_empty() {
            0
        } else if self.placements.is_empty() && index == 0 {
            found.placements = vec![placement];
            0
        } else if let Some(place) = found.placements.iter().position(|name| *name == placement) {
            place
        } else {
            let message = format!("there is no placement `{placement}`");
            let help = format!("name one of `placements`: {}", found.placements.join(", "));
            places.report("spec.placementName", message, help, context);
            0
        };
        let snapshot = run
            .resource_snapshot_index
            .clone()
            .unwrap_or(spec.resource_snapshot_index);
        let snapshot = self.snapshot(&snapshot, places, fleet, context);
        let first = run.state.unwrap_or(if has_file {
            spec.state.unwrap_or_default()
        } else {
            RunState::Run
        });
        let mut states = vec![(run.after, first)];
        for (nth, change) in run.states.iter().enumerate() {
            let at = places.path.key("states").index(nth);
            let (before, from) = states[states.len() - 1];
            if change.after <= before {
                let message = format!(
                    "states must be in the order of time: {} is not after {before}",
                    change.after
                );
                context.report(
                    &at.key("after"),
                    message,
                    "count from the release, and sort the list by `after`",
                );
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
        }
        UpdateRun {
            name: run.name.clone().or(in_file).unwrap_or(default),
            placement,
            snapshot,
            states,
        }
    }

    fn snapshot(
        &self,
        index: &str,
        places: &FieldPlaces<'_>,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Revision {
        let ResourceSnapshots { installed, release } = self.snapshots;
        let is_update = fleet.world.release == ReleaseKind::Update;
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

/// Whether admission accepts a change of the state.
fn may_follow(from: RunState, to: RunState) -> bool {
    use RunState::{Initialize, Run, Stop};
    from == to || matches!((from, to), (Initialize | Stop, Run) | (Run, Stop))
}
