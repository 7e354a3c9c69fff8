//! The targets that a rollout could update, evaluated at the end of a run.
//!
//! A ready target could be updated, whatever happened to it before. Any other target could not be updated if it has no
//! agent, if it is paused and the product respects that, or if it is offline at the end. The remaining targets could
//! have been updated but were not: they are broken or slow, or a rule blocks them.

use std::ops::Range;

use super::progress::Progress;
use crate::units::SimTime;
use crate::world::{ClusterSpec, TargetId};

/// The reason why a target could not be updated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Obstacle {
    /// The target has no agent.
    NoAgent,
    /// The target is paused.
    Paused,
    /// The target is offline from the start to the horizon.
    Offline,
}

/// The targets of a run, with the reason why each one could not be updated, if so.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    /// The obstacle for each target. `None`: the target could be updated.
    obstacles: Vec<Option<Obstacle>>,
}

impl Reach {
    /// Evaluates targets on these `clusters`, given which of them are ready (`progress`) and which are online.
    /// `heeds_pause`: the product does not update paused clusters.
    pub(super) fn judge(
        clusters: &[&ClusterSpec],
        progress: &Progress,
        heeds_pause: bool,
        is_ever_online: impl Fn(TargetId) -> bool,
    ) -> Self {
        let mut obstacles = Vec::with_capacity(clusters.len());
        for (at, spec) in clusters.iter().enumerate() {
            let id = TargetId::at(at);
            obstacles.push(if progress.is_done(id) {
                None
            } else if !spec.registered {
                Some(Obstacle::NoAgent)
            } else if spec.paused && heeds_pause {
                Some(Obstacle::Paused)
            } else if !is_ever_online(id) {
                Some(Obstacle::Offline)
            } else {
                None
            });
        }
        Self { obstacles }
    }

    /// Counts targets as paused if the product's own settings exclude them, unless they are ready.
    pub(super) fn without(
        mut self,
        progress: &Progress,
        is_left_alone: impl Fn(TargetId) -> bool,
    ) -> Self {
        for (at, obstacle) in self.obstacles.iter_mut().enumerate() {
            let id = TargetId::at(at);
            if obstacle.is_none() && !progress.is_done(id) && is_left_alone(id) {
                *obstacle = Some(Obstacle::Paused);
            }
        }
        self
    }

    /// Returns whether a target could be updated.
    pub(super) fn is_reachable(&self, target: TargetId) -> bool {
        self.obstacles[target.index()].is_none()
    }

    /// Returns the targets in this range, with numbers from 0.
    pub(super) fn part(&self, targets: Range<usize>) -> Self {
        Self {
            obstacles: self.obstacles[targets].to_vec(),
        }
    }

    /// Returns the number of targets that could be updated.
    pub(super) fn reachable(&self) -> u64 {
        let reachable = self.obstacles.iter().filter(|obstacle| obstacle.is_none());
        reachable.count() as u64
    }

    /// Returns the number of targets that could not be updated for this reason.
    pub(super) fn count(&self, obstacle: Obstacle) -> u64 {
        let hindered = self.obstacles.iter().flatten();
        hindered.filter(|other| **other == obstacle).count() as u64
    }

    /// Returns the time at which all targets that could be updated were first ready simultaneously. `None`: this never
    /// happened, or no target could be updated.
    pub(super) fn all_ready(&self, progress: &Progress) -> Option<SimTime> {
        let among: Vec<bool> = self.obstacles.iter().map(Option::is_none).collect();
        progress.all_of(&among)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(paused: bool, registered: bool) -> ClusterSpec {
        ClusterSpec {
            paused,
            registered,
            ..ClusterSpec::default()
        }
    }

    #[test]
    fn a_target_is_reachable_if_it_is_ready_or_only_the_rollout_blocks_it() {
        let clusters = [
            cluster(false, true),
            cluster(false, true),
            cluster(true, true),
            cluster(false, false),
            cluster(true, true),
            cluster(false, true),
        ];
        let mut progress = Progress::new(clusters.len());
        let at = SimTime::from_secs;
        progress.set(TargetId(0), true, at(10));
        progress.set(TargetId(4), true, at(30));
        let reach = |heeds_pause| {
            Reach::judge(&clusters.each_ref(), &progress, heeds_pause, |id| {
                id != TargetId(5) && id != TargetId(0)
            })
        };
        // The first target is offline now but was updated; the second waits; the fifth was updated although it is
        // paused.
        let heeded = reach(true);
        let counts = [Obstacle::NoAgent, Obstacle::Paused, Obstacle::Offline]
            .map(|obstacle| heeded.count(obstacle));
        assert_eq!((heeded.reachable(), counts), (3, [1, 1, 1]));
        assert_eq!(heeded.all_ready(&progress), None, "the second target waits");
        assert_eq!(
            (
                reach(false).reachable(),
                reach(false).count(Obstacle::Paused)
            ),
            (4, 0)
        );
        let left_alone = reach(false).without(&progress, |id| id.0 <= 1);
        let counts = (left_alone.reachable(), left_alone.count(Obstacle::Paused));
        assert_eq!(counts, (3, 1), "the first is ready, the second is not");
        progress.set(TargetId(1), true, at(40));
        let ready = Reach::judge(&clusters.each_ref(), &progress, true, |id| {
            id != TargetId(5)
        });
        assert_eq!(
            (ready.reachable(), ready.all_ready(&progress)),
            (3, Some(at(40)))
        );
    }

    #[test]
    fn the_completion_time_is_when_all_targets_were_ready_simultaneously() {
        let clusters = [
            cluster(false, true),
            cluster(false, true),
            cluster(false, false),
        ];
        let mut progress = Progress::new(3);
        let at = SimTime::from_secs;
        for (cluster, done, secs) in [
            (0, true, 1),
            (0, false, 2),
            (1, true, 3),
            (0, true, 4),
            (1, false, 5),
            (1, true, 6),
        ] {
            progress.set(TargetId(cluster), done, at(secs));
        }
        let reach = Reach::judge(&clusters.each_ref(), &progress, true, |_| true);
        assert_eq!(
            (reach.reachable(), reach.all_ready(&progress)),
            (2, Some(at(4)))
        );
        let nobody = Reach::judge(&[&clusters[2]], &Progress::new(1), true, |_| true);
        assert_eq!(
            (nobody.reachable(), nobody.all_ready(&Progress::new(1))),
            (0, None)
        );
    }
}
