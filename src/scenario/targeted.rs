//! Worlds whose fleets are the targets of a strategy.
//!
//! A strategy's files may select only a part of the fleet. The rollout is then simulated in a world with only these
//! targets, because other clusters pull nothing and the rollout does not wait for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::check::CheckedWorld;
use crate::products::{ChosenTarget, Targets};
use crate::world::{ClusterSpec, WorldSpec};

/// Worlds that contain only a strategy's targets. They are stored so that the variants of a sweep share them.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetedWorlds {
    made: Vec<TargetedWorld>,
}

#[derive(Clone, Debug)]
struct TargetedWorld {
    whole: Arc<WorldSpec>,
    targets: Vec<ChosenTarget>,
    world: CheckedWorld,
}

impl TargetedWorlds {
    /// Returns the world with only the targets.
    pub(super) fn of_targets(&mut self, whole: &CheckedWorld, targets: Targets) -> CheckedWorld {
        let Targets::Chosen(targets) = targets else {
            return whole.clone();
        };
        let known = self
            .made
            .iter()
            .find(|made| Arc::ptr_eq(&made.whole, &whole.world) && made.targets == targets);
        if let Some(known) = known {
            return known.world.clone();
        }
        let world = CheckedWorld {
            world: Arc::new(only(&whole.world, &targets)),
            groups: Arc::clone(&whole.groups),
            calendar: whole.calendar.clone(),
        };
        self.made.push(TargetedWorld {
            whole: Arc::clone(&whole.world),
            targets,
            world: world.clone(),
        });
        world
    }
}

/// Returns the world with only these clusters, by their index.
pub(super) fn only_clusters(whole: &WorldSpec, clusters: &[usize]) -> WorldSpec {
    let mut targets = Vec::with_capacity(clusters.len());
    for index in clusters {
        targets.push(ChosenTarget {
            index: *index,
            labels: None,
        });
    }
    only(whole, &targets)
}

/// Returns the world with only these clusters.
fn only(whole: &WorldSpec, targets: &[ChosenTarget]) -> WorldSpec {
    let mut clusters = Vec::with_capacity(targets.len());
    for target in targets {
        let cluster = &whole.clusters[target.index];
        clusters.push(ClusterSpec {
            labels: target.labels.as_ref().unwrap_or(&cluster.labels).clone(),
            ..cluster.clone()
        });
    }
    let mut world = WorldSpec {
        clusters,
        ..whole.clone()
    };
    for (application, before) in world.applications.iter_mut().zip(&whole.applications) {
        if before.clusters.is_none() {
            continue;
        }
        let mut left = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            if before.is_on(target.index) {
                left.push(at);
            }
        }
        application.clusters = Some(left);
    }
    for outage in &mut world.faults.regional {
        let before: BTreeSet<usize> = std::mem::take(&mut outage.clusters).into_iter().collect();
        for (at, target) in targets.iter().enumerate() {
            if before.contains(&target.index) {
                outage.clusters.push(at);
            }
        }
    }
    world
}
