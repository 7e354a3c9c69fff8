//! The clusters of each stage, and their order.
//!
//! Follows `computeRunStageStatus` in `pkg/controllers/updaterun/initialization.go`. Selectors are asked once; a pass
//! determines which of the clusters are picked, unless it only continues a stage
//! ([`RunLedger`](super::ledger::RunLedger)).

use super::super::super::TargetId;
use super::super::super::label_selector::LabelSelector;
use super::super::config::StageConfig;
use super::super::{MemberCluster, RuleSet};
use super::Fixed;
use super::run::RunError;

/// Maximum number of clusters in no stage that an error names.
const NAMED: usize = 10;

impl Fixed {
    /// Lets each stage select its clusters, which depends on labels and the strategy alone.
    pub(super) fn select(&mut self) {
        let stages = self.strategy.iter().flat_map(|strategy| &strategy.stages);
        self.selects = stages.map(|stage| self.selected_by(stage)).collect();
    }

    /// Checks a stage's tasks and then its selector. Without a selector it selects nothing.
    fn selected_by(&self, stage: &StageConfig) -> Result<Vec<bool>, RunError> {
        let before = &stage.before_stage_tasks;
        // The document has no tasks before a stage.
        if self.rules == RuleSet::Shipped
            && (before.len() > 1 || before.iter().any(|task| task.kind != "Approval"))
        {
            return Err(RunError::InvalidBeforeStageTasks(stage.name.clone()));
        }
        let after = &stage.after_stage_tasks;
        // Three tasks of a type pass, because only two are compared.
        let is_twice = matches!(&after[..], [a, b] if a.kind == b.kind);
        if is_twice
            || after
                .iter()
                .any(|task| task.kind == "TimedWait" && task.wait().is_zero())
        {
            return Err(RunError::InvalidAfterStageTasks(stage.name.clone()));
        }
        let invalid = |source| RunError::InvalidLabelSelector {
            stage: stage.name.clone(),
            source,
        };
        let selector = stage
            .label_selector
            .as_ref()
            .map(LabelSelector::check)
            .transpose()
            .map_err(invalid)?;
        let matches = |labels| {
            selector
                .as_ref()
                .is_some_and(|selector| selector.matches(labels))
        };
        Ok(self
            .clusters
            .iter()
            .map(|cluster| !cluster.left && matches(&cluster.labels))
            .collect())
    }

    /// The selected clusters of each stage, in the order in which they are updated.
    pub(super) fn assign(
        &self,
        is_selected: impl Fn(TargetId) -> bool,
    ) -> Result<Vec<Vec<TargetId>>, RunError> {
        let strategy = self.strategy.as_ref().ok_or(RunError::StrategyNotFound)?;
        let mut is_placed = vec![false; self.clusters.len()];
        let mut stages = Vec::with_capacity(strategy.stages.len());
        let clusters = || {
            self.by_name
                .iter()
                .copied()
                .map(TargetId)
                .filter(|target| is_selected(*target))
        };
        for (config, selects) in strategy.stages.iter().zip(&self.selects) {
            let selects = selects.as_ref().map_err(RunError::clone)?;
            let mut members = Vec::new();
            for target in clusters() {
                if !selects[target.index()] {
                    continue;
                }
                let MemberCluster { name, labels, .. } = &self.clusters[target.index()];
                if std::mem::replace(&mut is_placed[target.index()], true) {
                    let (cluster, stage) = (name.clone(), config.name.clone());
                    return Err(RunError::ClusterInMultipleStages { cluster, stage });
                }
                let key = match &config.sorting_label_key {
                    None => 0,
                    Some(key) => {
                        let value = labels.get(key).map_or("", String::as_str);
                        value.parse::<i64>().map_err(|_| {
                            let (cluster, key, value) =
                                (name.clone(), key.clone(), value.to_owned());
                            RunError::SortingLabelInvalid {
                                cluster,
                                key,
                                value,
                            }
                        })?
                    }
                };
                members.push((key, target));
            }
            // Stable: equal keys keep the order of names.
            members.sort_by_key(|(key, _)| *key);
            stages.push(members.into_iter().map(|(_, target)| target).collect());
        }
        let missing: Vec<TargetId> = clusters()
            .filter(|target| !is_placed[target.index()])
            .collect();
        if !missing.is_empty() {
            let first = missing
                .iter()
                .take(NAMED)
                .map(|target| self.name(*target))
                .collect();
            return Err(RunError::ClustersNotInAnyStage {
                total: missing.len(),
                first,
            });
        }
        Ok(stages)
    }
}
