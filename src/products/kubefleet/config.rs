//! KubeFleet's strategies in an experiment, parsed and checked against the fleet.
//!
//! Settings that the product's admission rejects are rejected here with its reason, as are settings that make a staged
//! run fail during initialization. Four things that the product accepts are also rejected, because the simulation
//! would answer a different question: an unknown field, an object of another kind, a placement whose clusters are not
//! known (the scheduler's ranking is not simulated), and approvals without a delay.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::runs::{PlacementChoice, ResourceSnapshots, RunConfig, RunsConfig};
use super::{KubeFleetRolling, KubeFleetStaged, UpdateRuns, picked_by, targets};
use crate::control_plane::{Change, ControlLoop};
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::reader::{Kind, ReadError};
use crate::process::protocol::Approval;
use crate::products::delay::ApprovalDelay;
use crate::products::fields::{Accepted, FileChoice, ObjectKind};
use crate::products::{
    AT_ONCE, ControllerChoice, FieldPlaces, Fleet, Product, ProductFile, Program, Strategy,
    Targets, TunedSetting, UpstreamProgram, version,
};
use crate::rollout::RuleSet;
use crate::rollout::kubefleet::staged::{RunBehaviour, RunError, explain};
use crate::rollout::kubefleet::{
    ClusterResourcePlacement, ClusterStagedUpdateStrategy, InvalidField, KubeFleetBugs,
    KubeFleetVersion, MemberCluster, PickingPlacement, PlacementSpec, RollingUpdateConfig,
    RunState, StageConfig, StrategySpec,
};
use crate::units::SimDuration;
use crate::world::{AgentSpec, DurationModel, ReleaseKind};

/// The control loop of both controllers, except what triggers a pass. The hub agent's client has a rate limit for each
/// kind of object (`--hub-api-qps` and `--hub-api-burst`, `cmd/hubagent/options`); passes mostly write bindings.
const CONTROL_LOOP: ControlLoop = ControlLoop::limited(250, 1_000);

/// Delay from a change of the resources to their snapshot: 15 s after the change, and at least 30 s after the previous
/// snapshot, which is long past here. Source: `--resource-changes-collection-duration` and
/// `--resource-snapshot-creation-minimum-interval` in `cmd/hubagent/options/placementmgmt.go`.
const SNAPSHOT_DELAY: SimDuration = SimDuration::from_secs(15);

/// Delay from the creation of a placement until its bindings exist. Source: calibrated on the median of ten placements
/// on 100 clusters, 18 s (KubeFleet's report of Q1 2026); the rest of the path takes about half of these 18 s.
const PLACEMENT_DELAY: SimDuration = SimDuration::from_secs(9);

/// The settings of both KubeFleet strategies, in addition to the product's own fields.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct KubeFleetSettings {
    /// A file with the product's own object, which supplies the fields that are not set here. It is a
    /// ClusterStagedUpdateStrategy for stages, and a ClusterResourcePlacement for limits.
    file: Option<String>,
    /// Names of fields in the file that affect the rollout but are not simulated. A listed field adds a note to the
    /// results; any other such field is an error.
    accept: Accepted,
    /// Version of KubeFleet. Default: the newest.
    #[serde(deserialize_with = "version::read")]
    version: KubeFleetVersion,
    /// The simulated rule set.
    rules: RuleSet,
    /// The program that makes the decisions.
    controller: ControllerChoice,
    /// Bugs of the product to reproduce. Default: all with `shipped`, none with `documented`.
    upstream_bugs: Option<KubeFleetBugs>,
    /// In an update, the delay until the hub has a snapshot of the changed resources.
    ///
    /// KubeFleet collects changes for 15 s, and makes a snapshot at most every 30 s
    /// (`--resource-changes-collection-duration`, `--resource-snapshot-creation-minimum-interval`). An update run
    /// takes a new snapshot itself, and waits only if this is set.
    snapshot_delay: DurationModel,
    /// In a first deployment, the delay from the creation of the placement until it has bindings. It covers the
    /// snapshots and the scheduling of clusters.
    placement_delay: DurationModel,
}

impl KubeFleetSettings {
    fn file_choice<'c>(&'c self, path: &'c Path) -> FileChoice<'c> {
        FileChoice {
            name: self.file.as_deref(),
            path,
            accept: &self.accept,
            moot: &[],
        }
    }
}

const STAGED_STRATEGIES: [ObjectKind; 2] = [
    ObjectKind::of("ClusterStagedUpdateStrategy"),
    ObjectKind::as_in("StagedUpdateStrategy", "ClusterStagedUpdateStrategy"),
];

impl KubeFleetSettings {
    fn upstream_bugs(&self, path: &Path, context: &Context<'_>) -> KubeFleetBugs {
        context.over(
            &path.key("upstreamBugs"),
            KubeFleetBugs::of(self.rules),
            &[],
        )
    }

    /// Returns the delay from a change until its rollout can begin. For update runs, which take their own snapshot, it
    /// is 0 unless it is set.
    fn delay(
        &self,
        release: ReleaseKind,
        is_run: bool,
        path: &Path,
        context: &mut Context<'_>,
    ) -> DurationModel {
        let (key, delay) = match release {
            ReleaseKind::Update => ("snapshotDelay", &self.snapshot_delay),
            ReleaseKind::Initial => ("placementDelay", &self.placement_delay),
        };
        let path = path.key(key);
        if is_run && release == ReleaseKind::Update && !context.is_set(&path) {
            return SimDuration::ZERO.into();
        }
        delay
            .clone()
            .read_values(&path, context)
            .unwrap_or(SimDuration::ZERO.into())
    }
}

impl Default for KubeFleetSettings {
    fn default() -> Self {
        Self {
            file: None,
            accept: Accepted::default(),
            version: KubeFleetVersion::default(),
            rules: RuleSet::default(),
            controller: ControllerChoice::default(),
            upstream_bugs: None,
            snapshot_delay: SNAPSHOT_DELAY.into(),
            placement_delay: PLACEMENT_DELAY.into(),
        }
    }
}

/// A run of KubeFleet's ClusterStagedUpdateStrategy, from a real file or set here. Stages set here override the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "KubeFleetStaged"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct StagedConfig {
    #[serde(rename = "~settings")]
    #[cfg_attr(test, schemars(flatten))]
    settings: KubeFleetSettings,
    #[serde(rename = "~in_place")]
    #[cfg_attr(test, schemars(flatten))]
    in_place: StrategySpec,
    /// Delay until requested approvals are given. Required if the stages request any.
    approvals: Option<ApprovalDelay>,
    /// Update runs of the strategy. Default: one run of all clusters, started at the release.
    runs: Vec<RunConfig>,
    /// The placements that the runs update. Default: one placement that picks all clusters.
    placements: Vec<PlacementChoice>,
    /// The numbers that runs use for the resource snapshots. Default: 0 and 1.
    resource_snapshots: Option<ResourceSnapshots>,
}

/// The RollingUpdate of a ClusterResourcePlacement, from a real file or set here. Fields set here override the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "KubeFleetRolling"))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RollingConfig {
    #[serde(rename = "~settings")]
    #[cfg_attr(test, schemars(flatten))]
    settings: KubeFleetSettings,
    #[serde(rename = "~in_place")]
    #[cfg_attr(test, schemars(flatten))]
    in_place: RollingUpdateConfig,
}

impl Product for StagedConfig {
    const KEY: &'static str = "kubeFleetStaged";
    const TITLE: &'static str = "KubeFleet, staged";
    const SUMMARY: &'static str = "A staged update run of KubeFleet.";
    const TARGET: Option<&'static str> = Some("member cluster");
    const IN_FILE: &'static [(&'static str, &'static str)] = &[("stages", "spec.stages")];
    const TUNED: &'static [TunedSetting] = &[TunedSetting::of("stages.*.maxConcurrency", AT_ONCE)];
    const CONTROL_LOOP: ControlLoop = CONTROL_LOOP;
    const AGENT: &'static AgentSpec = &super::agent::AGENT;

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let Self {
            settings,
            in_place,
            approvals,
            runs,
            placements,
            resource_snapshots,
        } = self;
        let choice = settings.file_choice(path);
        let file: ProductFile<ClusterStagedUpdateStrategy> =
            ProductFile::object(choice, &STAGED_STRATEGIES, &["spec"], context)?;
        let name = Some(file.value.metadata.name.as_str()).filter(|name| !name.is_empty());
        let updates = RunsConfig {
            runs,
            placements,
            snapshots: resource_snapshots.unwrap_or_default(),
            strategy: name,
            path,
            fleet,
            accept: &settings.accept,
        };
        let updates = updates.check(context)?;
        let document = file
            .document
            .as_ref()
            .filter(|_| !context.is_set(&path.key("stages")));
        let strategy = if document.is_some() {
            file.value.spec
        } else {
            in_place.clone()
        };
        let places = FieldPlaces::new(path, document, Self::IN_FILE);
        let picked = updates
            .runs
            .iter()
            .map(|run| picked_by(&updates, run.placement, &fleet.world.clusters));
        check_stages(&places, &strategy, settings.rules, picked, context);
        let asked = asked_approvals(&strategy);
        if approvals.is_none() && context.is_untouched(&path.key("approvals")) {
            report_missing_times(&asked, settings.rules, &places, context);
        }
        let approvals = approvals
            .as_ref()
            .and_then(|approvals| approvals.check(&path.key("approvals"), context));
        let program = Program {
            other_keys: &["approvals", "runs"],
            acts: self.acts(&updates, path, context),
            approval_delay: approvals.clone(),
            approvals: asked
                .iter()
                .map(|asked| Approval::new(asked.stage, asked.is_before))
                .collect(),
            ..Program::new(UpstreamProgram::KubeFleet, settings.file.as_deref())
        };
        let native = Arc::new(KubeFleetStaged {
            rules: settings.rules,
            version: settings.version,
            upstream_bugs: settings.upstream_bugs(path, context),
            strategy: strategy.with_defaults(),
            approvals,
            updates,
            delay: settings.delay(fleet.world.applications[0].release, true, path, context),
        });
        settings.controller.apply(program, native, path, context)
    }
}

impl StagedConfig {
    /// Returns people's actions on a run that KubeFleet's own controller drives. The run is created in the file's
    /// state.
    fn acts(
        &self,
        updates: &UpdateRuns,
        path: &Path,
        context: &mut Context<'_>,
    ) -> Vec<(SimDuration, Change)> {
        let list = path.key("runs");
        if self.settings.controller == ControllerChoice::Native {
            return Vec::new();
        }
        if self.runs.len() > 1 {
            context.report(
                &list,
                "KubeFleet's own controller can simulate only one run",
                "leave one run",
            );
        }
        for key in context
            .keys(&list.index(0))
            .into_iter()
            .filter(|key| key != "states")
        {
            let message = format!("`{key}` has no effect with `controller: upstream`");
            context.report(
                &list.index(0).key(&key),
                message,
                "write the run's fields into the strategy's file",
            );
        }
        let Some(run) = updates.runs.first() else {
            return Vec::new();
        };
        run.states
            .iter()
            .skip(1)
            .map(|(after, state)| (*after, Change::Stop(*state == RunState::Stop)))
            .collect()
    }
}

/// An approval that a strategy requests.
struct AskedApproval<'s> {
    /// The name of the approval's stage.
    stage: &'s str,
    /// Whether the approval is requested before the stage; otherwise it is requested after the stage.
    is_before: bool,
    /// The path of the approval's task in the file.
    field: String,
}

/// Returns the first approval before and the first approval after each stage.
fn asked_approvals(strategy: &StrategySpec) -> Vec<AskedApproval<'_>> {
    let mut asked = Vec::new();
    for (index, stage) in strategy.stages.iter().enumerate() {
        for is_before in [true, false] {
            let (key, tasks) = if is_before {
                ("beforeStageTasks", &stage.before_stage_tasks)
            } else {
                ("afterStageTasks", &stage.after_stage_tasks)
            };
            if let Some(task) = tasks.iter().position(|task| task.kind == "Approval") {
                asked.push(AskedApproval {
                    stage: &stage.name,
                    is_before,
                    field: format!("spec.stages[{index}].{key}[{task}]"),
                });
            }
        }
    }
    asked
}

/// Reports that the experiment sets no delay for the first of these approvals.
fn report_missing_times(
    asked: &[AskedApproval<'_>],
    rules: RuleSet,
    places: &FieldPlaces<'_>,
    context: &mut Context<'_>,
) {
    // The documented runs request approvals only after stages.
    let asks_before = rules == RuleSet::Shipped;
    if let Some(first) = asked
        .iter()
        .find(|approval| asks_before || !approval.is_before)
    {
        let message = "this approval has no time";
        let help = "write `approvals: {after: 10 min}` next to the stages or the file, or `{after: never}`";
        places.report(&first.field, message, help, context);
    }
}

/// Reports the stages that KubeFleet or a run rejects. `picked`: for each run, the clusters that it updates.
fn check_stages(
    places: &FieldPlaces<'_>,
    strategy: &StrategySpec,
    rules: RuleSet,
    mut picked: impl Iterator<Item = Vec<MemberCluster>>,
    context: &mut Context<'_>,
) {
    let path = places.path;
    let is_whole =
        context.is_untouched(&path.key("stages")) && context.is_untouched(&path.key("file"));
    if let Err(InvalidField { at: field, reason }) = strategy.validate() {
        places.report(&field, reason, targets::REFUSED, context);
    } else if is_whole && strategy.stages.is_empty() {
        let help = "write e.g. `stages: [{name: all, labelSelector: {}}]`, or name a `file`";
        places.report(
            "spec.stages",
            "at least one stage is required",
            help,
            context,
        );
    } else if is_whole
        && rules == RuleSet::Documented
        && let Some(index) = repeated_stage(strategy)
    {
        let name = &strategy.stages[index].name;
        let message = format!("an earlier stage is also named `{name}`");
        let help = "the documentation says that each stage must have a unique name, but KubeFleet accepts this";
        places.report(
            &format!("spec.stages[{index}].name"),
            message,
            help,
            context,
        );
    } else if is_whole {
        let behaviour = RunBehaviour::of(rules);
        let error = picked.find_map(|clusters| explain(strategy, behaviour, clusters).err());
        if let Some(error) = error {
            let field = place_of(strategy, &error);
            let help = "KubeFleet accepts the strategy, but its run fails for this reason";
            places.report(&field, error.to_string(), help, context);
        }
    }
}

/// Returns the first stage that has the same name as an earlier one.
fn repeated_stage(strategy: &StrategySpec) -> Option<usize> {
    let stages = &strategy.stages;
    (0..stages.len()).find(|&at| {
        stages[..at]
            .iter()
            .any(|stage| stage.name == stages[at].name)
    })
}

impl Product for RollingConfig {
    const KEY: &'static str = "kubeFleetRolling";
    const TITLE: &'static str = "KubeFleet, rolling";
    const SUMMARY: &'static str = "The rolling update of a KubeFleet placement.";
    const TARGET: Option<&'static str> = Some("member cluster");
    const IN_FILE: &'static [(&'static str, &'static str)] = &[
        (
            "maxUnavailable",
            "spec.strategy.rollingUpdate.maxUnavailable",
        ),
        ("maxSurge", "spec.strategy.rollingUpdate.maxSurge"),
        (
            "unavailablePeriodSeconds",
            "spec.strategy.rollingUpdate.unavailablePeriodSeconds",
        ),
    ];
    const TUNED: &'static [TunedSetting] = &[
        TunedSetting::of("maxUnavailable", AT_ONCE),
        TunedSetting::of("maxSurge", &["0", "10%", "25%", "50%"]),
    ];
    const CONTROL_LOOP: ControlLoop = CONTROL_LOOP;
    const AGENT: &'static AgentSpec = &super::agent::AGENT;

    fn targets(&self, path: &Path, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<Targets> {
        targets::of(self.settings.file_choice(path), fleet, context)
    }

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let Self { settings, in_place } = self;
        let base = "spec.strategy.rollingUpdate";
        let file: ProductFile<ClusterResourcePlacement> = ProductFile::object(
            settings.file_choice(path),
            &targets::PLACEMENTS,
            &[base],
            context,
        )?;
        let mut spec = file.value.spec;
        let places = FieldPlaces::new(path, file.document.as_ref(), Self::IN_FILE);
        if let Some(document) = &file.document {
            check_placement(&places, &spec, context);
            if !check_policy(document, &places, context) {
                return None;
            }
        }
        let in_place = in_place.clone();
        let in_file = spec.rolling_update();
        let config = RollingUpdateConfig {
            max_unavailable: in_place.max_unavailable.or(in_file.max_unavailable),
            max_surge: in_place.max_surge.or(in_file.max_surge),
            unavailable_period_seconds: in_place
                .unavailable_period_seconds
                .or(in_file.unavailable_period_seconds),
        };
        if !spec.is_external() {
            spec.strategy.rolling_update = Some(config.clone());
        }
        if let Err(InvalidField { at: field, reason }) = spec.validate() {
            places.report(&field, reason, targets::REFUSED, context);
        }
        let native = Arc::new(KubeFleetRolling {
            rules: settings.rules,
            upstream_bugs: settings.upstream_bugs(path, context),
            requested: spec.requested(),
            config,
            delay: settings.delay(fleet.world.applications[0].release, false, path, context),
        });
        settings.controller.apply(
            Program::new(UpstreamProgram::KubeFleet, settings.file.as_deref()),
            native,
            path,
            context,
        )
    }
}

/// Rejects settings of a placement that are not simulated.
fn check_placement(places: &FieldPlaces<'_>, spec: &PlacementSpec, context: &mut Context<'_>) {
    if spec.is_external() {
        let message = "the placement's strategy is `External`, so it has no rolling update";
        let help = "use `kubeFleetStaged` with the strategy of its update runs";
        places.report("spec.strategy.type", message, help, context);
    }
    let apply = spec
        .strategy
        .apply_strategy
        .as_ref()
        .and_then(|apply| apply.kind.as_deref());
    if apply == Some("ReportDiff") {
        let message = "a placement that only reports differences rolls out nothing";
        let help = "write `ClientSideApply` or `ServerSideApply`";
        places.report("spec.strategy.applyStrategy.type", message, help, context);
    }
}

/// Rejects a policy that KubeFleet rejects. Returns whether the policy can be read; if not, a problem was reported.
fn check_policy(document: &Document, places: &FieldPlaces<'_>, context: &mut Context<'_>) -> bool {
    let read = context.read_from(document, &Path::default(), |error: &ReadError| {
        !matches!(error.kind, Kind::UnknownField { .. })
    });
    let Some(placement): Option<PickingPlacement> = read else {
        return false;
    };
    if let Err(InvalidField { at: field, reason }) = placement.spec.validate() {
        places.report(&field, reason, targets::REFUSED, context);
    }
    true
}

/// Returns the field that makes a run fail during initialization.
fn place_of(strategy: &StrategySpec, error: &RunError) -> String {
    let stages = &strategy.stages;
    let (index, field) = match error {
        RunError::InvalidAfterStageTasks(stage) => (last_named(stages, stage), "afterStageTasks"),
        RunError::InvalidLabelSelector { stage, .. }
        | RunError::ClusterInMultipleStages { stage, .. } => {
            (last_named(stages, stage), "labelSelector")
        }
        RunError::SortingLabelInvalid { key, .. } => {
            let index = stages
                .iter()
                .position(|stage| stage.sorting_label_key.as_ref() == Some(key));
            (index, "sortingLabelKey")
        }
        _ => (None, ""),
    };
    match index {
        Some(index) => format!("spec.stages[{index}].{field}"),
        None => "spec.stages".to_owned(),
    }
}

/// Returns the index of the last stage with this name. If two stages share a name, the second is the duplicate.
fn last_named(stages: &[StageConfig], name: &str) -> Option<usize> {
    stages.iter().rposition(|stage| stage.name == name)
}
