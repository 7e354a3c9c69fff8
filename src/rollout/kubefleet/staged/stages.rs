//! The clusters of each stage, and their order.
//!
//! Follows `computeRunStageStatus` in `pkg/controllers/updaterun/initialization.go`. The parts that depend only on
//! labels and the strategy are computed once ([`StagePlan`]); every pass determines which of the clusters are picked.

use super::super::super::TargetId;
use super::super::config::StageConfig;
use super::super::{MemberCluster, RuleSet};
use super::Fixed;
use super::run::RunError;

/// Maximum number of clusters in no stage that an error names.
const NAMED: usize = 10;

/// A strategy applied to all clusters of a fleet, picked or not: for each stage those that it selects, in the order of
/// names, or the error in its tasks or its selector.
pub(super) type StagePlan = Vec<Result<Vec<StageMember>, RunError>>;

#[derive(Clone, Copy, Debug)]
pub(super) struct StageMember {
    target: TargetId,
    /// Sorting key before the name; 0 without a sorting label. `None`: the label is not a number.
    key: Option<i64>,
}

impl Fixed {
    pub(super) fn make_plan(&mut self) {
        let stages = self.strategy.iter().flat_map(|strategy| &strategy.stages);
        self.plan = stages.map(|stage| self.members(stage)).collect();
    }

    /// Checks a stage's tasks and then its selector. Without a selector it selects nothing.
    fn members(&self, stage: &StageConfig) -> Result<Vec<StageMember>, RunError> {
        let before = &stage.before_stage_tasks;
        // The document has no tasks before a stage.
        if self.rules == RuleSet::Shipped && (before.len() > 1 || before.iter().any(|task| task.kind != "Approval")) {
            return Err(RunError::InvalidBeforeStageTasks(stage.name.clone()));
        }
        let after = &stage.after_stage_tasks;
        // Three tasks of a type pass, because only two are compared.
        let is_twice = matches!(&after[..], [a, b] if a.kind == b.kind);
        if is_twice || after.iter().any(|task| task.kind == "TimedWait" && task.wait().is_zero()) {
            return Err(RunError::InvalidAfterStageTasks(stage.name.clone()));
        }
        let Some(selector) = &stage.label_selector else { return Ok(Vec::new()) };
        let invalid = |source| RunError::InvalidLabelSelector { stage: stage.name.clone(), source };
        let selector = selector.check().map_err(invalid)?;
        let key = |cluster: &MemberCluster| match &stage.sorting_label_key {
            None => Some(0),
            Some(key) => cluster.labels.get(key).and_then(|value| value.parse().ok()),
        };
        let member = |&index: &u32| {
            let cluster = &self.clusters[index as usize];
            let is_member = !cluster.left && selector.matches(&cluster.labels);
            is_member.then(|| StageMember { target: TargetId(index), key: key(cluster) })
        };
        Ok(self.by_name.iter().filter_map(member).collect())
    }

    /// The selected clusters of each stage, in the order in which they are updated.
    pub(super) fn assign(&self, is_selected: impl Fn(TargetId) -> bool) -> Result<Vec<Vec<TargetId>>, RunError> {
        let strategy = self.strategy.as_ref().ok_or(RunError::StrategyNotFound)?;
        let mut is_placed = vec![false; self.clusters.len()];
        let mut stages = Vec::with_capacity(self.plan.len());
        for (planned, config) in self.plan.iter().zip(&strategy.stages) {
            let mut members = Vec::new();
            for &StageMember { target, key } in planned.as_ref().map_err(RunError::clone)? {
                if !is_selected(target) {
                    continue;
                }
                if std::mem::replace(&mut is_placed[target.index()], true) {
                    let (cluster, stage) = (self.name(target), config.name.clone());
                    return Err(RunError::ClusterInMultipleStages { cluster, stage });
                }
                let Some(key) = key else {
                    let key = config.sorting_label_key.clone().unwrap_or_default();
                    let value = self.clusters[target.index()].labels.get(&key).cloned().unwrap_or_default();
                    return Err(RunError::SortingLabelInvalid { cluster: self.name(target), key, value });
                };
                members.push((key, target));
            }
            // Stable: equal keys keep the order of names.
            members.sort_by_key(|(key, _)| *key);
            stages.push(members.into_iter().map(|(_, target)| target).collect());
        }
        let is_missing = |target: &TargetId| is_selected(*target) && !is_placed[target.index()];
        let missing: Vec<TargetId> = self.by_name.iter().copied().map(TargetId).filter(is_missing).collect();
        if !missing.is_empty() {
            let first = missing.iter().take(NAMED).map(|target| self.name(*target)).collect();
            return Err(RunError::ClustersNotInAnyStage { total: missing.len(), first });
        }
        Ok(stages)
    }
}
