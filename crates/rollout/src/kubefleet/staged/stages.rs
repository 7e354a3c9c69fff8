//! The clusters of each stage, and their order.
//!
//! Follows `computeRunStageStatus` in `pkg/controllers/updaterun/initialization.go`. Selectors are evaluated once; a
//! pass determines which of the selected clusters are picked, unless it only continues a stage
//! ([`RunLedger`](super::ledger::RunLedger)).

use super::super::super::TargetId;
use super::super::config::{StageConfig, StageTask};
use super::super::{MemberCluster, RuleSet};
use super::RunInputs;
use super::run::RunError;

/// Maximum number of clusters in no stage that an error names.
const NAMED: usize = 10;

/// The sort key of clusters without the sorting label under documented rules.
const LAST: i64 = i64::MAX;

impl RunInputs {
    /// Evaluates the selector of each stage, which depends only on labels and the strategy.
    pub(super) fn select(&mut self) {
        let stages = self.strategy.iter().flat_map(|strategy| &strategy.stages);
        self.selects = stages.map(|stage| self.selected_by(stage)).collect();
    }

    /// Checks a stage's tasks and then its selector. Without a selector the stage selects nothing.
    fn selected_by(&self, stage: &StageConfig) -> Result<Vec<bool>, RunError> {
        let is_valid_before = match &stage.before_stage_tasks[..] {
            [] => true,
            [task] => task.kind == "Approval",
            _ => false,
        };
        // Under the documented rules, no tasks exist before a stage.
        if self.behaviour.rules == RuleSet::Shipped && !is_valid_before {
            return Err(RunError::InvalidBeforeStageTasks(stage.name.clone()));
        }
        let after = &stage.after_stage_tasks;
        // Three tasks of the same type are accepted, because upstream compares only two.
        let is_twice = matches!(&after[..], [a, b] if a.kind == b.kind);
        if is_twice || after.iter().any(StageTask::is_wait_of_zero) {
            return Err(RunError::InvalidAfterStageTasks(stage.name.clone()));
        }
        let mut selected = vec![false; self.clusters.len()];
        let Some(selector) = &stage.label_selector else {
            return Ok(selected);
        };
        let selector = selector
            .check()
            .map_err(|source| RunError::InvalidLabelSelector {
                stage: stage.name.clone(),
                source,
            })?;
        for (is_selected, cluster) in selected.iter_mut().zip(&self.clusters) {
            *is_selected = !cluster.left && selector.matches(&cluster.labels);
        }
        Ok(selected)
    }

    /// Returns the selected clusters of each stage, in the order in which they are updated.
    pub(super) fn assign(
        &self,
        is_selected: impl Fn(TargetId) -> bool,
    ) -> Result<Vec<Vec<TargetId>>, RunError> {
        let strategy = self.strategy.as_ref().ok_or(RunError::StrategyNotFound)?;
        let clusters = self.by_name.iter().copied().map(TargetId);
        let clusters = clusters.filter(|target| is_selected(*target));
        let mut is_placed = vec![false; self.clusters.len()];
        let mut stages = Vec::with_capacity(strategy.stages.len());
        for (config, selects) in strategy.stages.iter().zip(&self.selects) {
            let selects = selects.as_ref().map_err(RunError::clone)?;
            let mut members = Vec::new();
            for target in clusters.clone() {
                if !selects[target.index()] {
                    continue;
                }
                if std::mem::replace(&mut is_placed[target.index()], true) {
                    return Err(RunError::ClusterInMultipleStages {
                        cluster: self.name(target),
                        stage: config.name.clone(),
                    });
                }
                members.push((self.sorting_key(config, target)?, target));
            }
            // The sort is stable: equal keys keep the order of names.
            members.sort_by_key(|(key, _)| *key);
            stages.push(members.into_iter().map(|(_, target)| target).collect());
        }
        let missing: Vec<TargetId> = clusters
            .filter(|target| !is_placed[target.index()])
            .collect();
        if !missing.is_empty() {
            let first = missing.iter().take(NAMED);
            return Err(RunError::ClustersNotInAnyStage {
                total: missing.len(),
                first: first.map(|target| self.name(*target)).collect(),
            });
        }
        Ok(stages)
    }

    /// Returns the value of the label by which a stage orders a cluster; 0 if it orders by names alone. Under
    /// documented rules, clusters without the label are last, by name.
    fn sorting_key(&self, config: &StageConfig, target: TargetId) -> Result<i64, RunError> {
        let Some(key) = &config.sorting_label_key else {
            return Ok(0);
        };
        let MemberCluster { name, labels, .. } = &self.clusters[target.index()];
        let value = match (labels.get(key), self.behaviour.rules) {
            (Some(value), _) => value.as_str(),
            // The documentation of the type says that clusters without the label are ordered by name.
            (None, RuleSet::Documented) => return Ok(LAST),
            (None, RuleSet::Shipped) => "",
        };
        match value.parse() {
            Ok(number) => Ok(number),
            Err(_) => Err(RunError::SortingLabelInvalid {
                cluster: name.clone(),
                key: key.clone(),
                value: value.to_owned(),
            }),
        }
    }
}
