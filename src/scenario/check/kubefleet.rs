//! KubeFleet's strategies, held against the fleet they are for.
//!
//! What the product's admission refuses is refused here with its reason, and so is what makes a staged run fail as it is
//! initialized. Four things that the product takes are refused as well, because the simulation would answer another
//! question than the one asked: a field that it does not know, an object of another kind, a placement that does not ask
//! for all clusters (which ones are picked is not simulated), and approvals of which nobody says when they are given.

use serde::de::DeserializeOwned;

use super::super::Strategy;
use super::super::kubefleet::{KubeFleetRollingFile, KubeFleetStagedFile, member_clusters};
use super::{CheckedWorld, Checker};
use crate::document::context::Document;
use crate::document::path::Path;
use crate::document::problem::{Problem, any_of};
use crate::document::reader::{Kind, ReadError};
use crate::document::tree::{Node, Value};
use crate::rollout::kubefleet::staged::{RunError, explain};
use crate::rollout::kubefleet::{
    ClusterResourcePlacement, ClusterStagedUpdateStrategy, InvalidField, PlacementSpec, RollingUpdateConfig, RuleSet,
    RunSpec, RunState, StageConfig, StrategySpec,
};
use crate::units::SimDuration;

const REFUSED: &str = "KubeFleet refuses this too";

/// An object that was read from a file of its own.
struct FromFile<T> {
    document: Document,
    object: T,
}

impl Checker<'_> {
    pub(super) fn kubefleet_staged(
        &mut self,
        path: &Path,
        written: &KubeFleetStagedFile,
        world: &CheckedWorld,
    ) -> Option<Strategy> {
        let file = match &written.file {
            Some(name) => {
                let kinds = ["ClusterStagedUpdateStrategy", "StagedUpdateStrategy"];
                Some(self.object::<ClusterStagedUpdateStrategy>(&path.key("file"), name, &kinds, "spec")?)
            }
            None => None,
        };
        // Where the stages are: in place if they are there, else in the file.
        let stages_in_file = file.as_ref().filter(|_| written.stages.is_none());
        let strategy = match (&written.stages, &file) {
            (Some(stages), _) => StrategySpec { stages: stages.clone() },
            (None, Some(file)) => file.object.spec.clone(),
            (None, None) => StrategySpec::default(),
        };
        let at = |checker: &Self, field: &str, message: String| match stages_in_file {
            Some(file) => file.problem(field, message),
            None => checker.in_place(path, field.strip_prefix("spec.").unwrap_or(field), message),
        };
        let rules = written.rules.unwrap_or_default();
        let is_whole = self.is_untouched(&path.key("stages")) && self.is_untouched(&path.key("file"));
        if let Err(InvalidField { at: field, reason }) = strategy.validate() {
            let problem = at(self, &field, reason).with_help(REFUSED);
            self.problems.push(problem);
        } else if strategy.stages.is_empty() && is_whole {
            let problem = at(self, "spec.stages", "there are no stages".to_owned())
                .with_help("write e.g. `stages: [{name: all, labelSelector: {}}]`, or name a `file`");
            self.problems.push(problem);
        } else if is_whole && !world.world.clusters.is_empty() {
            let clusters = member_clusters(&world.world.clusters);
            if let Err(error) = explain(&strategy, &run_spec(), rules, &clusters) {
                let problem = at(self, &place_of(&strategy, &error), error.to_string());
                self.problems
                    .push(problem.with_help("KubeFleet takes the strategy, and its run fails for this reason"));
            }
        }
        if written.approvals.is_none()
            && self.is_untouched(&path.key("approvals"))
            && let Some(field) = first_approval(&strategy, rules)
        {
            let problem = at(self, &field, "nobody says when this approval is given".to_owned());
            let help = "write `approvals: {after: 10 min}` beside the stages or the file, or `{after: never}`";
            self.problems.push(problem.with_help(help));
        }
        let approvals = written
            .approvals
            .as_ref()
            .and_then(|approvals| approvals.after.0.as_ref())
            .map(|after| self.spread(&path.key("approvals").key("after"), Some(after), SimDuration::ZERO.into()));
        Some(Strategy::KubeFleetStaged {
            rules,
            defects: written.defects.unwrap_or_default().over(rules),
            strategy: strategy.with_defaults(),
            approvals,
        })
    }

    pub(super) fn kubefleet_rolling(
        &mut self,
        path: &Path,
        written: &KubeFleetRollingFile,
        world: &CheckedWorld,
    ) -> Option<Strategy> {
        let file = match &written.file {
            Some(name) => {
                let kinds = ["ClusterResourcePlacement", "ResourcePlacement"];
                Some(self.object::<ClusterResourcePlacement>(
                    &path.key("file"),
                    name,
                    &kinds,
                    "spec.strategy.rollingUpdate",
                )?)
            }
            None => None,
        };
        let mut spec = file.as_ref().map(|file| file.object.spec.clone()).unwrap_or_default();
        if let Some(file) = &file {
            self.placement(file, world);
        }
        let in_file = spec.rolling_update();
        let config = RollingUpdateConfig {
            max_unavailable: written.max_unavailable.clone().or(in_file.max_unavailable),
            max_surge: written.max_surge.clone().or(in_file.max_surge),
            unavailable_period_seconds: written.unavailable_period_seconds.or(in_file.unavailable_period_seconds),
        };
        if !spec.is_external() {
            spec.strategy.rolling_update = Some(config.clone());
        }
        if let Err(InvalidField { at: field, reason }) = spec.validate() {
            let here = field.strip_prefix("spec.strategy.rollingUpdate.").unwrap_or(&field);
            let is_here = self.tree.get(&path.key(here)).is_some();
            let problem = match file.as_ref().filter(|_| !is_here) {
                Some(file) => file.problem(&field, reason),
                None => self.in_place(path, here, reason),
            };
            self.problems.push(problem.with_help(REFUSED));
        }
        let rules = written.rules.unwrap_or_default();
        Some(Strategy::KubeFleetRolling {
            rules,
            defects: written.defects.unwrap_or_default().over(rules),
            policy: spec.placement_policy(),
            config,
        })
    }

    /// What a placement may not say, because the simulation would not follow it.
    fn placement(&mut self, file: &FromFile<ClusterResourcePlacement>, world: &CheckedWorld) {
        let spec: &PlacementSpec = &file.object.spec;
        if spec.is_external() {
            let message = "the placement's strategy is `External`: its rolling update moves nothing".to_owned();
            let problem = file.problem("spec.strategy.type", message);
            self.problems.push(problem.with_help("use `kubeFleetStaged` with the strategy of its update runs"));
        }
        let apply = spec.strategy.apply_strategy.as_ref().and_then(|apply| apply.kind.as_deref());
        if apply == Some("ReportDiff") {
            let message = "a placement that only reports differences rolls nothing out".to_owned();
            let problem = file.problem("spec.strategy.applyStrategy.type", message);
            self.problems.push(problem.with_help("write `ClientSideApply` or `ServerSideApply`"));
        }
        let clusters = world.world.clusters.len();
        let asked = spec.placement_policy().count();
        if let Some(asked) = asked.filter(|asked| spec.validate().is_ok() && (*asked as usize) < clusters) {
            let message = format!("the placement asks for {asked} of {clusters} clusters");
            let problem = file.problem("spec.policy", message);
            let help = "which ones KubeFleet picks is not simulated: let the fleet be those clusters alone";
            self.problems.push(problem.with_help(help));
        }
    }

    /// A problem with a field of a strategy that is written in the experiment file.
    fn in_place(&self, path: &Path, field: &str, message: String) -> Problem {
        self.at(&path.then(&Path::parse(field).unwrap_or_default()), message)
    }

    /// An object in a file of its own, of one of these kinds; without a kind it is taken for one. Unknown fields are
    /// refused below `counts` alone.
    fn object<T: DeserializeOwned>(
        &mut self,
        path: &Path,
        name: &str,
        kinds: &[&str],
        counts: &str,
    ) -> Option<FromFile<T>> {
        let document = self.document(name, path)?;
        let at = Path::of("kind");
        if let Some(Node { value: Value::Text(kind), .. }) = document.tree.get(&at)
            && !kinds.contains(&kind.as_str())
        {
            let problem = document.at(&at, format!("`{kind}` is not what is wanted here"));
            self.problems.push(problem.with_help(format!("give a file with a {}", any_of(kinds))));
            return None;
        }
        let counts = Path::parse(counts).unwrap_or_default();
        // Real objects carry much that decides nothing here.
        let is_wrong =
            |error: &ReadError| !matches!(error.kind, Kind::UnknownField { .. }) || error.path.starts_with(&counts);
        let object = self.read_from(&document, &Path::default(), is_wrong)?;
        Some(FromFile { document, object })
    }
}

impl<T> FromFile<T> {
    fn problem(&self, field: &str, message: String) -> Problem {
        self.document.at(&Path::parse(field).unwrap_or_default(), message)
    }
}

/// The run that is simulated, as far as it decides about a fleet.
fn run_spec() -> RunSpec {
    RunSpec { state: Some(RunState::Run), ..RunSpec::default() }
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
