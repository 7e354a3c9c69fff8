//! Initializes a run, and checks at the start of every later pass that its inputs have not changed.
//!
//! Follows `initialization.go` and `validation.go` of `pkg/controllers/updaterun`. Left out: the checks that only
//! other writers could fail, for conditions out of sequence and for more concurrent clusters than allowed.

use super::super::super::{Revision, TargetId};
use super::super::binding::BindingState;
use super::super::limit::{Rounding, ScaledValueError, limit};
use super::super::{Binding, RuleSet};
use super::RunInputs;
use super::run::{RunError, RunStatus, StageStatus};
use super::view::StagedView;

/// The placement's bindings as seen by a run.
#[derive(Default)]
pub(super) struct Collected<'v> {
    /// The binding of each picked cluster.
    pub(super) selected: Vec<Option<&'v Binding>>,
    /// The bindings of clusters that are no longer picked, by name.
    pub(super) to_delete: Vec<&'v Binding>,
    /// Number of picked clusters.
    pub(super) count: usize,
}

impl RunInputs {
    /// Computes the stages. Only the first call has an effect.
    pub(super) fn initialize<'v>(
        &self,
        run: &mut RunStatus,
        view: &'v StagedView,
    ) -> Result<Collected<'v>, RunError> {
        run.apply_strategy = check_placement(view)?;
        run.policy = check_policy(view)?;
        let collected = self.collect(view, true)?;
        let stages = self.assign(|target| collected.selected[target.index()].is_some())?;
        let snapshot = self.target_snapshot(view)?;
        run.stages.clear();
        for (index, targets) in stages.into_iter().enumerate() {
            let config = self.config(index);
            let tasks = config.after_stage_tasks.len();
            run.stages
                .push(StageStatus::new(config.name.clone(), targets, tasks));
        }
        let to_delete = collected.to_delete.iter();
        let mut targets: Vec<TargetId> = to_delete.map(|binding| binding.target).collect();
        targets.sort_by_key(|target| self.name(*target));
        run.deletion = StageStatus::new(String::new(), targets, 0);
        run.cluster_count = collected.count as u32;
        run.snapshot = Some(snapshot);
        run.initialized = Some(true);
        Ok(collected)
    }

    /// Checks that the stages are unchanged.
    pub(super) fn validate<'v>(
        &self,
        run: &RunStatus,
        view: &'v StagedView,
    ) -> Result<Collected<'v>, RunError> {
        if check_placement(view)? != run.apply_strategy {
            return Err(RunError::ApplyStrategyChanged);
        }
        let latest = check_policy(view)?;
        if latest != run.policy {
            return Err(RunError::PolicySnapshotChanged {
                latest,
                recorded: run.policy,
            });
        }
        if let Some(observed) = view.policy.requested
            && observed != run.cluster_count
        {
            return Err(RunError::ClusterCountMismatch {
                selected: run.cluster_count as usize,
                observed,
            });
        }
        // A run that has completed all deletions finds no binding and therefore fails, which is an upstream bug.
        let needs_bindings =
            self.behaviour.bugs.delete_only_run_fails || run.deletion.clusters.is_empty();
        let collected = self.collect(view, needs_bindings)?;
        let stages = self.assign(|target| collected.selected[target.index()].is_some())?;
        for (index, (existing, new)) in run.stages.iter().zip(&stages).enumerate() {
            self.compare(existing, new)?;
            self.limit(index, existing)?;
        }
        let mut is_known = vec![false; self.clusters.len()];
        for cluster in &run.deletion.clusters {
            is_known[cluster.target.index()] = true;
        }
        for binding in &collected.to_delete {
            if !is_known[binding.target.index()] {
                return Err(RunError::NewClusterToDelete(self.name(binding.target)));
            }
        }
        Ok(collected)
    }

    fn compare(&self, existing: &StageStatus, new: &[TargetId]) -> Result<(), RunError> {
        if existing.clusters.len() != new.len() {
            return Err(RunError::StageClusterCountChanged {
                stage: existing.name.clone(),
                new: new.len(),
                existing: existing.clusters.len(),
            });
        }
        for (position, (old, new)) in existing.clusters.iter().zip(new).enumerate() {
            if old.target != *new {
                return Err(RunError::StageClusterChanged {
                    stage: existing.name.clone(),
                    position,
                    new: self.name(*new),
                    existing: self.name(old.target),
                });
            }
        }
        Ok(())
    }

    /// Splits the bindings into those to update and those to delete.
    fn collect<'v>(
        &self,
        view: &'v StagedView,
        needs_bindings: bool,
    ) -> Result<Collected<'v>, RunError> {
        let mut collected = Collected {
            selected: vec![None; self.clusters.len()],
            to_delete: Vec::new(),
            count: 0,
        };
        for binding in view.bindings.iter() {
            if binding.state == BindingState::Unscheduled {
                collected.to_delete.push(binding);
            } else if binding.policy != view.policy.index {
                return Err(RunError::OldPolicyBinding(self.name(binding.target)));
            } else {
                collected.selected[binding.target.index()] = Some(binding);
                collected.count += 1;
            }
        }
        if needs_bindings && collected.count == 0 && collected.to_delete.is_empty() {
            return Err(RunError::NoBindings(view.policy.index));
        }
        match view.policy.requested {
            Some(observed) if observed as usize != collected.count => {
                Err(RunError::ClusterCountMismatch {
                    selected: collected.count,
                    observed,
                })
            }
            _ => Ok(collected),
        }
    }

    fn target_snapshot(&self, view: &StagedView) -> Result<Revision, RunError> {
        let text = &self.snapshot_index;
        if text.is_empty() {
            let newest = view.resource_snapshots.last().copied();
            return newest.ok_or_else(|| RunError::ResourceSnapshotNotFound(String::new()));
        }
        if !text.parse().is_ok_and(|index: i64| index >= 0) {
            return Err(RunError::ResourceSnapshotIndexInvalid(text.clone()));
        }
        // The text is compared with a label of the snapshots, so `07` does not match.
        for snapshot in &view.resource_snapshots {
            if snapshot.0.to_string() == *text {
                return Ok(*snapshot);
            }
        }
        Err(RunError::ResourceSnapshotNotFound(text.clone()))
    }

    /// Returns `maxConcurrency` of a stage of `total` clusters, rounded down to at least 1.
    pub(super) fn max_concurrency(
        &self,
        stage: usize,
        total: usize,
    ) -> Result<i64, ScaledValueError> {
        // The document says: "Updates clusters within each stage one at a time."
        if self.behaviour.rules == RuleSet::Documented {
            return Ok(1);
        }
        let number = limit(
            self.config(stage).max_concurrency.as_ref(),
            total,
            Rounding::Down,
        )?;
        Ok(if number == 0 { 1 } else { number })
    }

    /// Returns [`Self::max_concurrency`] of a stage whose clusters are known.
    pub(super) fn limit(&self, index: usize, stage: &StageStatus) -> Result<i64, RunError> {
        let limit = self.max_concurrency(index, stage.clusters.len());
        limit.map_err(|source| RunError::MaxConcurrency {
            stage: stage.name.clone(),
            source,
        })
    }

    pub(super) fn name(&self, target: TargetId) -> String {
        self.clusters[target.index()].name.clone()
    }
}

fn check_placement(view: &StagedView) -> Result<super::super::ApplyStrategy, RunError> {
    let placement = view.placement.ok_or(RunError::PlacementNotFound)?;
    if placement.external {
        Ok(placement.apply_strategy)
    } else {
        Err(RunError::PlacementNotExternal)
    }
}

fn check_policy(view: &StagedView) -> Result<u32, RunError> {
    let policy = view.policy;
    if policy.scheduled {
        Ok(policy.index)
    } else {
        Err(RunError::PolicyNotScheduled(policy.index))
    }
}
