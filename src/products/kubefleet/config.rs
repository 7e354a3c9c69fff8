//! KubeFleet's strategies in an experiment: read, and checked against the fleet.
//!
//! What the product's admission refuses is refused here with its reason, and so is what makes a staged run fail as it is
//! initialized. Four things that the product takes are refused as well, because the simulation would answer another
//! question than the one asked: a field that it does not know, an object of another kind, a placement that does not ask
//! for all clusters (which ones are picked is not simulated), and approvals without a time at which they are given.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{KubeFleetRolling, KubeFleetStaged, member_clusters, run_spec};
use crate::document::context::Document;
use crate::document::path::Path;
use crate::document::problem::{Problem, any_of};
use crate::document::reader::{Kind, ReadError};
use crate::document::tree::{Node, Value};
use crate::products::delay::UserDelay;
use crate::products::{LoadContext, Product, Strategy};
use crate::rollout::kubefleet::staged::{RunError, explain};
use crate::rollout::kubefleet::{
    ClusterResourcePlacement, ClusterStagedUpdateStrategy, InvalidField, KubeFleetBugOverrides, KubeFleetBugs,
    PlacementSpec, RollingUpdateConfig, StageConfig, StrategySpec, control_loop,
};
use crate::rollout::{ControlLoop, RuleSet};

const REFUSED: &str = "KubeFleet refuses this too";

/// A run of KubeFleet's ClusterStagedUpdateStrategy, from a real file or in place; stages in place override the file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[schemars(rename = "KubeFleetStaged")]
pub(crate) struct StagedConfig {
    /// A file with a ClusterStagedUpdateStrategy, whose stages apply where there are none here.
    file: Option<String>,
    /// Which rule set to simulate.
    rules: RuleSet,
    /// Bugs of the product to reproduce. Default: all with `shipped`, none with `documented`.
    upstream_bugs: KubeFleetBugOverrides,
    /// When approvals that the stages ask for are given. Required if they ask for any.
    approvals: Option<Approvals>,
    /// Its fields are written beside the others.
    #[serde(rename = "~strategy")]
    #[schemars(flatten)]
    strategy: StrategySpec,
}

/// How approvals are given.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Approvals {
    /// From the request of an approval to the approval: fixed, drawn anew for each, or `never`.
    after: UserDelay,
}

/// The RollingUpdate of KubeFleet's ClusterResourcePlacement, from a real file or in place; a field in place overrides
/// the file's.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[schemars(rename = "KubeFleetRolling")]
pub(crate) struct RollingConfig {
    /// A file with a ClusterResourcePlacement, whose limits apply where nothing is set here.
    file: Option<String>,
    /// Which rule set to simulate.
    rules: RuleSet,
    /// Bugs of the product to reproduce. Default: all with `shipped`, none with `documented`.
    upstream_bugs: KubeFleetBugOverrides,
    /// Its fields are written beside the others.
    #[serde(rename = "~limits")]
    #[schemars(flatten)]
    limits: RollingUpdateConfig,
}

/// An object that was read from a file of its own.
struct ObjectFile<T> {
    document: Document,
    object: T,
}

impl Product for StagedConfig {
    const KEY: &'static str = "kubeFleetStaged";
    const TITLE: &'static str = "KubeFleet, staged";
    const SUMMARY: &'static str = "A staged update run of KubeFleet.";

    fn control_loop() -> ControlLoop {
        control_loop()
    }

    fn check(&self, path: &Path, context: &mut LoadContext<'_, '_>) -> Option<Arc<dyn Strategy>> {
        let Self { strategy: in_place, .. } = self;
        let file = match &self.file {
            Some(name) => {
                let kinds = ["ClusterStagedUpdateStrategy", "StagedUpdateStrategy"];
                Some(object::<ClusterStagedUpdateStrategy>(&path.key("file"), name, &kinds, "spec", context)?)
            }
            None => None,
        };
        let file = file.as_ref().filter(|_| !context.is_set(&path.key("stages")));
        let strategy = file.map_or_else(|| in_place.clone(), |file| file.object.spec.clone());
        let place = StagesPlace { path, file };
        place.check_stages(&strategy, self.rules, context);
        if self.approvals.is_none()
            && context.is_untouched(&path.key("approvals"))
            && let Some(field) = first_approval(&strategy, self.rules)
        {
            let problem = place.at(context, &field, "no time is set at which this approval is given".to_owned());
            let help = "write `approvals: {after: 10 min}` beside the stages or the file, or `{after: never}`";
            context.problems.push(problem.with_help(help));
        }
        let approvals = self.approvals.as_ref().map(|approvals| &approvals.after);
        let approvals = approvals.and_then(|after| after.check(&path.key("approvals").key("after"), context));
        Some(Arc::new(KubeFleetStaged {
            rules: self.rules,
            upstream_bugs: self.upstream_bugs.over(KubeFleetBugs::of(self.rules)),
            strategy: strategy.with_defaults(),
            approvals,
        }))
    }
}

/// Where the stages are: in a file, or else in place.
struct StagesPlace<'p> {
    path: &'p Path,
    file: Option<&'p ObjectFile<ClusterStagedUpdateStrategy>>,
}

impl StagesPlace<'_> {
    fn at(&self, context: &LoadContext<'_, '_>, field: &str, message: String) -> Problem {
        match self.file {
            Some(file) => file.at(field, message),
            None => in_place(self.path, field.strip_prefix("spec.").unwrap_or(field), message, context),
        }
    }

    fn check_stages(&self, strategy: &StrategySpec, rules: RuleSet, context: &mut LoadContext<'_, '_>) {
        let path = self.path;
        let is_whole = context.is_untouched(&path.key("stages")) && context.is_untouched(&path.key("file"));
        let problem = if let Err(InvalidField { at: field, reason }) = strategy.validate() {
            self.at(context, &field, reason).with_help(REFUSED)
        } else if !is_whole {
            return;
        } else if strategy.stages.is_empty() {
            self.at(context, "spec.stages", "at least one stage is required".to_owned())
                .with_help("write e.g. `stages: [{name: all, labelSelector: {}}]`, or name a `file`")
        } else {
            let clusters = member_clusters(&context.fleet.world.clusters);
            match explain(strategy, &run_spec(), rules, &clusters) {
                Err(error) if !clusters.is_empty() => self
                    .at(context, &place_of(strategy, &error), error.to_string())
                    .with_help("KubeFleet takes the strategy, and its run fails for this reason"),
                _ => return,
            }
        };
        context.problems.push(problem);
    }
}

impl Product for RollingConfig {
    const KEY: &'static str = "kubeFleetRolling";
    const TITLE: &'static str = "KubeFleet, rolling";
    const SUMMARY: &'static str = "The rolling update of a KubeFleet placement.";

    fn control_loop() -> ControlLoop {
        control_loop()
    }

    fn check(&self, path: &Path, context: &mut LoadContext<'_, '_>) -> Option<Arc<dyn Strategy>> {
        let Self { limits: written, .. } = self;
        let file = match &self.file {
            Some(name) => {
                let (kinds, base) = (["ClusterResourcePlacement", "ResourcePlacement"], "spec.strategy.rollingUpdate");
                Some(object::<ClusterResourcePlacement>(&path.key("file"), name, &kinds, base, context)?)
            }
            None => None,
        };
        let mut spec = file.as_ref().map(|file| file.object.spec.clone()).unwrap_or_default();
        if let Some(file) = &file {
            check_placement(file, context);
        }
        let in_file = spec.rolling_update();
        let written = written.clone();
        let config = RollingUpdateConfig {
            max_unavailable: written.max_unavailable.or(in_file.max_unavailable),
            max_surge: written.max_surge.or(in_file.max_surge),
            unavailable_period_seconds: written.unavailable_period_seconds.or(in_file.unavailable_period_seconds),
        };
        if !spec.is_external() {
            spec.strategy.rolling_update = Some(config.clone());
        }
        if let Err(InvalidField { at: field, reason }) = spec.validate() {
            let here = field.strip_prefix("spec.strategy.rollingUpdate.").unwrap_or(&field);
            let is_here = context.is_set(&path.key(here));
            let problem = match file.as_ref().filter(|_| !is_here) {
                Some(file) => file.at(&field, reason),
                None => in_place(path, here, reason, context),
            };
            context.problems.push(problem.with_help(REFUSED));
        }
        Some(Arc::new(KubeFleetRolling {
            rules: self.rules,
            upstream_bugs: self.upstream_bugs.over(KubeFleetBugs::of(self.rules)),
            policy: spec.placement_policy(),
            config,
        }))
    }
}

/// What a placement must not say, because the simulation would not follow it.
fn check_placement(file: &ObjectFile<ClusterResourcePlacement>, context: &mut LoadContext<'_, '_>) {
    let spec: &PlacementSpec = &file.object.spec;
    if spec.is_external() {
        let message = "the placement's strategy is `External`: its rolling update moves nothing".to_owned();
        let problem = file.at("spec.strategy.type", message);
        context.problems.push(problem.with_help("use `kubeFleetStaged` with the strategy of its update runs"));
    }
    let apply = spec.strategy.apply_strategy.as_ref().and_then(|apply| apply.kind.as_deref());
    if apply == Some("ReportDiff") {
        let message = "a placement that only reports differences rolls nothing out".to_owned();
        let problem = file.at("spec.strategy.applyStrategy.type", message);
        context.problems.push(problem.with_help("write `ClientSideApply` or `ServerSideApply`"));
    }
    let clusters = context.fleet.len();
    let asked = spec.placement_policy().count();
    if let Some(asked) = asked.filter(|asked| spec.validate().is_ok() && (*asked as usize) < clusters) {
        let message = format!("the placement asks for {asked} of {clusters} clusters");
        let help = "which clusters KubeFleet picks is not simulated: reduce the fleet to those clusters";
        context.problems.push(file.at("spec.policy", message).with_help(help));
    }
}

/// A problem with a field of a strategy that is written in the experiment file.
fn in_place(path: &Path, field: &str, message: String, context: &LoadContext<'_, '_>) -> Problem {
    context.at(&path.then(&Path::parse(field).unwrap_or_default()), message)
}

/// An object in a file of its own, of one of these kinds; without a kind it is taken for one. Unknown fields are
/// refused below `base` alone.
fn object<T: DeserializeOwned>(
    path: &Path,
    name: &str,
    kinds: &[&str],
    base: &str,
    context: &mut LoadContext<'_, '_>,
) -> Option<ObjectFile<T>> {
    let document = context.document(name, path)?;
    let at = Path::of("kind");
    if let Some(Node { value: Value::Text(kind), .. }) = document.tree.get(&at)
        && !kinds.contains(&kind.as_str())
    {
        let problem = document.at(&at, format!("an object of kind `{kind}` cannot be used here"));
        context.problems.push(problem.with_help(format!("give a file with a {}", any_of(kinds))));
        return None;
    }
    let base = Path::parse(base).unwrap_or_default();
    // Real objects hold many fields that decide nothing here.
    let counts = |error: &ReadError| !matches!(error.kind, Kind::UnknownField { .. }) || error.path.starts_with(&base);
    let object = context.read_from(&document, &Path::default(), counts)?;
    Some(ObjectFile { document, object })
}

impl<T> ObjectFile<T> {
    fn at(&self, field: &str, message: String) -> Problem {
        self.document.at(&Path::parse(field).unwrap_or_default(), message)
    }
}

/// The field that made a run fail as it was initialized.
fn place_of(strategy: &StrategySpec, error: &RunError) -> String {
    let of_stage = |name: &str, field: &str| {
        let is_it = |stage: &StageConfig| stage.name == name;
        // Of two stages of one name the second is the one that is too many.
        strategy.stages.iter().rposition(is_it).map(|index| format!("spec.stages[{index}].{field}"))
    };
    let place = match error {
        RunError::InvalidBeforeStageTasks(stage) => of_stage(stage, "beforeStageTasks"),
        RunError::InvalidAfterStageTasks(stage) => of_stage(stage, "afterStageTasks"),
        RunError::InvalidLabelSelector { stage, .. } | RunError::ClusterInMultipleStages { stage, .. } => {
            of_stage(stage, "labelSelector")
        }
        RunError::SortingLabelInvalid { key, .. } => {
            let is_it = |stage: &StageConfig| stage.sorting_label_key.as_ref() == Some(key);
            strategy.stages.iter().position(is_it).map(|index| format!("spec.stages[{index}].sortingLabelKey"))
        }
        _ => None,
    };
    place.unwrap_or_else(|| "spec.stages".to_owned())
}

/// The place of the first approval that a run asks for.
fn first_approval(strategy: &StrategySpec, rules: RuleSet) -> Option<String> {
    strategy.stages.iter().enumerate().find_map(|(index, stage)| {
        let before = (stage.before_stage_tasks.iter(), "beforeStageTasks", rules == RuleSet::Shipped);
        let after = (stage.after_stage_tasks.iter(), "afterStageTasks", true);
        [before, after].into_iter().find_map(|(mut tasks, field, counts)| {
            let position = tasks.position(|task| task.kind == "Approval").filter(|_| counts)?;
            Some(format!("spec.stages[{index}].{field}[{position}]"))
        })
    })
}
