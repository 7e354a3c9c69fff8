//! The clusters of each stage, and their order.
//!
//! Follows `computeRunStageStatus` in `pkg/controllers/updaterun/initialization.go`. The parts that depend only on
//! labels and the strategy are computed once ([`StagePlan`]); every pass determines which of the clusters are picked.

use super::super::super::TargetId;
use super::super::MemberCluster;
use super::super::RuleSet;
use super::super::config::{StageConfig, StrategySpec};
use super::super::duration::parse_duration;
use super::run::RunError;

/// Maximum number of clusters in no stage that an error names.
const NAMED: usize = 10;

/// A strategy applied to all clusters of a fleet, picked or not.
#[derive(Clone, Debug, Default)]
pub(super) struct StagePlan {
    stages: Vec<PlannedStage>,
}

#[derive(Clone, Debug)]
struct PlannedStage {
    /// The error in its tasks or its selector.
    invalid: Option<RunError>,
    /// The clusters that it selects, in the order of names.
    members: Vec<StageMember>,
}

#[derive(Clone, Copy, Debug)]
struct StageMember {
    target: TargetId,
    /// Sorting key before the name; 0 without a sorting label. `None`: the label is not a number.
    key: Option<i64>,
}

impl StagePlan {
    /// Applies `strategy` to `clusters`; `by_name` holds their indices in the order of names.
    pub(super) fn new(strategy: &StrategySpec, rules: RuleSet, clusters: &[MemberCluster], by_name: &[u32]) -> Self {
        let stage = |stage: &StageConfig| match check(stage, rules) {
            Err(error) => PlannedStage { invalid: Some(error), members: Vec::new() },
            Ok(None) => PlannedStage { invalid: None, members: Vec::new() },
            Ok(Some(selector)) => {
                let key = |cluster: &MemberCluster| match &stage.sorting_label_key {
                    None => Some(0),
                    Some(key) => cluster.labels.get(key).and_then(|value| value.parse().ok()),
                };
                let member = |&index: &u32| {
                    let cluster = &clusters[index as usize];
                    let is_member = !cluster.left && selector.matches(&cluster.labels);
                    is_member.then(|| StageMember { target: TargetId(index), key: key(cluster) })
                };
                PlannedStage { invalid: None, members: by_name.iter().filter_map(member).collect() }
            }
        };
        Self { stages: strategy.stages.iter().map(stage).collect() }
    }

    /// The `selected` clusters of each stage, in the order in which they are updated.
    pub(super) fn assign(
        &self,
        strategy: &StrategySpec,
        clusters: &[MemberCluster],
        by_name: &[u32],
        selected: &[bool],
    ) -> Result<Vec<Vec<TargetId>>, RunError> {
        let name = |target: TargetId| clusters[target.index()].name.clone();
        let mut is_placed = vec![false; clusters.len()];
        let mut stages = Vec::with_capacity(self.stages.len());
        for (planned, config) in self.stages.iter().zip(&strategy.stages) {
            if let Some(error) = &planned.invalid {
                return Err(error.clone());
            }
            let mut members = Vec::with_capacity(planned.members.len());
            for member in planned.members.iter().filter(|member| selected[member.target.index()]) {
                let target = member.target;
                if std::mem::replace(&mut is_placed[target.index()], true) {
                    let (cluster, stage) = (name(target), config.name.clone());
                    return Err(RunError::ClusterInMultipleStages { cluster, stage });
                }
                let Some(key) = member.key else {
                    let key = config.sorting_label_key.clone().unwrap_or_default();
                    let value = clusters[target.index()].labels.get(&key).cloned().unwrap_or_default();
                    return Err(RunError::SortingLabelInvalid { cluster: name(target), key, value });
                };
                members.push((key, target));
            }
            // Stable: equal keys keep the order of names.
            members.sort_by_key(|(key, _)| *key);
            stages.push(members.into_iter().map(|(_, target)| target).collect());
        }
        let is_missing = |index: &&u32| selected[**index as usize] && !is_placed[**index as usize];
        let missing: Vec<&u32> = by_name.iter().filter(is_missing).collect();
        if !missing.is_empty() {
            let first = missing.iter().take(NAMED).map(|index| name(TargetId(**index))).collect();
            return Err(RunError::ClustersNotInAnyStage { total: missing.len(), first });
        }
        Ok(stages)
    }
}

/// Checks a stage's tasks and then its selector. `None`: without a selector it selects nothing.
fn check(
    stage: &StageConfig,
    rules: RuleSet,
) -> Result<Option<super::super::super::label_selector::CheckedSelector>, RunError> {
    let before = &stage.before_stage_tasks;
    // The document has no tasks before a stage.
    if rules == RuleSet::Shipped && (before.len() > 1 || before.iter().any(|task| task.kind != "Approval")) {
        return Err(RunError::InvalidBeforeStageTasks(stage.name.clone()));
    }
    let after = &stage.after_stage_tasks;
    // Three tasks of a type pass, because only two are compared.
    let is_twice = matches!(&after[..], [a, b] if a.kind == b.kind);
    let is_endless =
        |wait: &Option<String>| wait.as_deref().and_then(parse_duration).is_none_or(crate::units::SimDuration::is_zero);
    if is_twice || after.iter().any(|task| task.kind == "TimedWait" && is_endless(&task.wait_time)) {
        return Err(RunError::InvalidAfterStageTasks(stage.name.clone()));
    }
    let Some(selector) = &stage.label_selector else { return Ok(None) };
    match selector.check() {
        Ok(checked) => Ok(Some(checked)),
        Err(source) => Err(RunError::InvalidLabelSelector { stage: stage.name.clone(), source }),
    }
}
