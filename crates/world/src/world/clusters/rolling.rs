//! The rolling updates of Kubernetes' Deployment and DaemonSet controllers, as pure rules.
//!
//! Follows `pkg/controller/deployment/rolling.go` and `util/deployment_util.go` (`ResolveFenceposts`), and
//! `pkg/controller/daemon/update.go`, of kubernetes/kubernetes. As upstream, terminating pods do not count; a
//! DaemonSet's node stays occupied until its old pod is gone.
//!
//! Left out: proportional scaling, pausing and rollback. `progressDeadlineSeconds` does not change a Deployment's
//! behaviour and is in [`super::progress_deadline`].

use crate::world::quantity::CountOrPercent;

/// Resolves a count, or a percentage of `whole` rounded up or down. Percentages may exceed 100.
fn resolve(value: CountOrPercent, whole: u32, round_up: bool) -> u32 {
    match value {
        CountOrPercent::Count(count) => count,
        CountOrPercent::Percent(percent) => {
            let hundredths = u64::from(percent) * u64::from(whole);
            let resolved = if round_up {
                hundredths.div_ceil(100)
            } else {
                hundredths / 100
            };
            u32::try_from(resolved).unwrap_or(u32::MAX)
        }
    }
}

/// Returns `(surge, unavailable)` of a Deployment: surge is rounded up, and unavailable down. If both are 0,
/// unavailable is 1.
#[must_use]
pub fn deployment_limits(
    replicas: u32,
    max_surge: CountOrPercent,
    max_unavailable: CountOrPercent,
) -> (u32, u32) {
    let surge = resolve(max_surge, replicas, true);
    let unavailable = resolve(max_unavailable, replicas, false);
    if surge == 0 && unavailable == 0 {
        (0, 1)
    } else {
        (surge, unavailable)
    }
}

/// Returns `(surge, unavailable)` of a DaemonSet on `nodes` nodes: both are rounded up. If both are 0, unavailable is
/// 1.
pub(crate) fn daemon_set_limits(
    nodes: u32,
    max_surge: CountOrPercent,
    max_unavailable: CountOrPercent,
) -> (u32, u32) {
    let surge = resolve(max_surge, nodes, true);
    let unavailable = resolve(max_unavailable, nodes, true);
    if surge == 0 && unavailable == 0 {
        (0, 1)
    } else {
        (surge, unavailable)
    }
}

/// Numbers of pods of a Deployment, without terminating ones.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct ReplicaCounts {
    pub replicas: u32,
    pub(crate) surge: u32,
    pub unavailable: u32,
    pub new: u32,
    pub(crate) new_available: u32,
    pub old: u32,
    pub(crate) old_available: u32,
}

/// The next actions of a Deployment's controller.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct RollingStep {
    /// Number of new pods to create.
    pub create: u32,
    /// Number of unavailable old pods to delete.
    pub(crate) delete_broken: u32,
    /// Number of available old pods to delete.
    pub(crate) delete_available: u32,
}

impl ReplicaCounts {
    /// Returns the actions of one sync of the controller, which scales down only if there is nothing to create.
    pub(crate) fn next_step(self) -> RollingStep {
        let create = self.create();
        if create > 0 {
            return RollingStep {
                create,
                ..RollingStep::default()
            };
        }
        self.scale_down()
    }

    fn create(self) -> u32 {
        let room = (self.replicas + self.surge).saturating_sub(self.new + self.old);
        room.min(self.replicas.saturating_sub(self.new))
    }

    fn scale_down(self) -> RollingStep {
        let min_available = self.replicas.saturating_sub(self.unavailable);
        let new_unavailable = self.new - self.new_available;
        // Number of pods that may be deleted while the minimum stays available, even if no new pod becomes available.
        let max_scaled_down = (self.new + self.old).saturating_sub(min_available + new_unavailable);
        if self.old == 0 || max_scaled_down == 0 {
            return RollingStep::default();
        }
        let delete_broken = (self.old - self.old_available).min(max_scaled_down);
        // As upstream, the second limit is computed from the available pods only.
        let spare = (self.new_available + self.old_available).saturating_sub(min_available);
        let old_left = self.old - delete_broken;
        let delete = spare.min(old_left);
        let broken_left = (self.old - self.old_available) - delete_broken;
        let more_broken = delete.min(broken_left);
        RollingStep {
            create: 0,
            delete_broken: delete_broken + more_broken,
            delete_available: (delete - more_broken).min(self.old_available),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CountOrPercent::{Count, Percent};

    #[test]
    fn rolling_update_limits_are_rounded_as_in_kubernetes() {
        let cases = [
            // replicas, surge, unavailable, expected, why
            (4, Percent(25), Percent(25), (1, 1), "the defaults"),
            (
                6,
                Percent(25),
                Percent(25),
                (2, 1),
                "surge up, unavailable down",
            ),
            (
                1,
                Percent(25),
                Percent(25),
                (1, 0),
                "one pod is replaced by surge alone",
            ),
            (
                3,
                Percent(0),
                Percent(25),
                (0, 1),
                "both 0: one may be missing",
            ),
            (3, Count(0), Count(0), (0, 1), "both 0, as counts"),
            (
                10,
                Percent(100),
                Percent(0),
                (10, 0),
                "all at once beside the old",
            ),
        ];
        for (replicas, surge, unavailable, expected, why) in cases {
            assert_eq!(
                deployment_limits(replicas, surge, unavailable),
                expected,
                "{why}"
            );
        }
        assert_eq!(
            daemon_set_limits(10, Percent(0), Percent(25)),
            (0, 3),
            "a DaemonSet rounds unavailable up"
        );
        assert_eq!(
            daemon_set_limits(10, Count(0), Count(0)),
            (0, 1),
            "and never stands still"
        );
    }

    /// Simulates a rollout in which every new pod becomes available before the controller's next sync.
    fn play(mut replica_counts: ReplicaCounts) -> Vec<(u32, u32)> {
        let mut seen = Vec::new();
        loop {
            let step = replica_counts.next_step();
            if step == RollingStep::default() {
                if replica_counts.new_available == replica_counts.new {
                    return seen;
                }
                replica_counts.new_available = replica_counts.new;
                continue;
            }
            replica_counts.new += step.create;
            replica_counts.old -= step.delete_broken + step.delete_available;
            replica_counts.old_available -= step.delete_available;
            assert!(
                replica_counts.new + replica_counts.old
                    <= replica_counts.replicas + replica_counts.surge,
                "never more than the surge allows"
            );
            assert!(
                replica_counts.new_available + replica_counts.old_available
                    >= replica_counts.replicas - replica_counts.unavailable,
                "never fewer available than allowed"
            );
            seen.push((replica_counts.old, replica_counts.new));
        }
    }

    #[test]
    fn four_pods_are_replaced_in_pairs_by_default() {
        let (surge, unavailable) = deployment_limits(4, Percent(25), Percent(25));
        let replica_counts = ReplicaCounts {
            replicas: 4,
            surge,
            unavailable,
            old: 4,
            old_available: 4,
            ..ReplicaCounts::default()
        };
        // One pod is created in addition, and one old pod is deleted and replaced: ceil(.25 N) + floor(.25 N) = 2
        // start simultaneously.
        assert_eq!(
            play(replica_counts),
            [(4, 1), (3, 1), (3, 2), (1, 2), (1, 4), (0, 4)]
        );
    }

    #[test]
    fn without_surge_old_pods_are_removed_first() {
        let replica_counts = ReplicaCounts {
            replicas: 3,
            unavailable: 1,
            old: 3,
            old_available: 3,
            ..ReplicaCounts::default()
        };
        assert_eq!(
            play(replica_counts),
            [(2, 0), (2, 1), (1, 1), (1, 2), (0, 2), (0, 3)]
        );
    }

    #[test]
    fn a_first_deployment_creates_all_pods_immediately() {
        let replica_counts = ReplicaCounts {
            replicas: 6,
            surge: 2,
            unavailable: 1,
            ..ReplicaCounts::default()
        };
        assert_eq!(
            replica_counts.next_step(),
            RollingStep {
                create: 6,
                ..RollingStep::default()
            }
        );
    }

    #[test]
    fn new_pods_that_never_start_stop_the_rollout_at_its_limits() {
        let stuck = ReplicaCounts {
            replicas: 4,
            surge: 1,
            unavailable: 1,
            new: 2,
            new_available: 0,
            old: 3,
            old_available: 3,
        };
        assert_eq!(
            stuck.next_step(),
            RollingStep::default(),
            "3 of 4 available is the least, and 5 pods the most"
        );
    }

    #[test]
    fn broken_old_pods_are_removed_first_without_reducing_availability() {
        let replica_counts = ReplicaCounts {
            replicas: 4,
            surge: 1,
            unavailable: 1,
            new: 1,
            new_available: 1,
            old: 4,
            old_available: 2,
        };
        assert_eq!(
            replica_counts.next_step(),
            RollingStep {
                create: 0,
                delete_broken: 2,
                delete_available: 0
            }
        );
    }
}
