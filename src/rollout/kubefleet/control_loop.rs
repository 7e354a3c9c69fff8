//! Settings of KubeFleet's controllers and agents.
//!
//! Sources are files of kubefleet-dev/kubefleet at e160c1cdfdd9bf4c0234713d2b7f34e0ec95dab6. The cost of a pass and
//! the delay of the cache depend on the hub cluster; those values are guesses.
//!
//! A pass of a staged run starts when the run is created or its spec changes, when an approval request's Approved
//! flag changes or a request is deleted before it was accepted, and by the run's own timer; **not** when a binding or
//! a cluster changes. A pass of a rolling update starts when a binding is created; when a binding's generation
//! changes, also by its own writes ([`RollingStatus::writes`](super::rolling::RollingStatus::writes)); when Available
//! or DiffReported of a binding changes ([`wakes`](super::rolling::wakes)); when a resource snapshot is created; when
//! the apply strategy or the type of the strategy changes; and by its own timer; **not** when its limits change or
//! when a binding is finally removed.

use super::super::ControlLoop;
use crate::units::SimDuration;

/// Interval at which a staged run checks clusters that are being updated or deleted. Source:
/// `pkg/controllers/updaterun/execution.go`.
pub const CLUSTER_UPDATING_WAIT: SimDuration = SimDuration::from_secs(15);

/// Interval at which a staged run checks for an approval. Source: `pkg/controllers/updaterun/ execution.go`.
pub const STAGE_WAIT: SimDuration = SimDuration::from_secs(60);

/// A cluster that has been updating for longer than this makes the run stuck, which only changes its status. Source:
/// `pkg/controllers/updaterun/execution.go`.
pub const STUCK_AFTER: SimDuration = SimDuration::from_mins(5);

/// Interval at which a rolling update checks whether a binding that is being deleted is gone, when another one waits
/// for it. Source: `pkg/controllers/rollout/controller.go`.
pub const CLEAN_UP_WAIT: SimDuration = SimDuration::from_secs(5);

/// Number of staged runs with concurrent passes. Source: `pkg/controllers/updaterun/controller.go`, which sets no
/// number, and the default of controller-runtime v0.22.4.
pub const STAGED_WORKERS: u32 = 1;

/// Number of placements with concurrent passes; passes of one placement never overlap. Source:
/// `cmd/hubagent/workload/ setup.go` with the defaults of `options/placementmgmt.go`.
pub const ROLLING_WORKERS: u32 = 40;

/// Delay until a member cluster's work applier checks again objects that it has applied and that are not available
/// yet; `attempt` 0 is the first check after the one that applied them. Changes of the objects do not wake it.
/// Source: the defaults of the member agent's flags `work-applier-requeue-rate-limiter-*`: once 5 s, then from 2 s
/// growing by 1.2 up to 15 s, then by 1.5 up to 900 s. The flags' descriptions imply that the second growth starts
/// where the first ends.
#[must_use]
pub fn work_applier_requeue(attempt: u32) -> SimDuration {
    const FIXED: SimDuration = SimDuration::from_secs(5);
    const SLOW_MOST: f64 = 15.0;
    const FAST_MOST: f64 = 900.0;
    if attempt == 0 {
        return FIXED;
    }
    let mut seconds = 2.0_f64;
    for _ in 1..attempt.min(100) {
        seconds = if seconds < SLOW_MOST { (seconds * 1.2).min(SLOW_MOST) } else { (seconds * 1.5).min(FAST_MOST) };
    }
    SimDuration::from_secs_f64(seconds)
}

/// Interval of a member agent's heartbeat. Source: `HeartbeatPeriodSeconds` of `apis/cluster/v1beta1/
/// membercluster_types.go`.
pub const HEARTBEAT: SimDuration = SimDuration::from_secs(60);

/// The control loop of both controllers, except the triggers of a pass.
#[must_use]
pub const fn control_loop() -> ControlLoop {
    ControlLoop {
        // Guess: reading the placement, its snapshots and its bindings, and writing a status.
        pass_base: SimDuration::from_millis(20),
        // Guess: reading and comparing a binding.
        pass_per_target: SimDuration::from_nanos(50_000),
        // Guess: a binding's spec and then its status, in consecutive requests to the API server.
        pass_per_write: SimDuration::from_millis(10),
        // Guess: a watch event on an unloaded API server.
        watch_delay: SimDuration::from_millis(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_applier_checks_at_growing_intervals() {
        let seconds: Vec<f64> = (0..16).map(|attempt| work_applier_requeue(attempt).as_secs_f64()).collect();
        assert!((seconds[0] - 5.0).abs() < 1e-9 && (seconds[1] - 2.0).abs() < 1e-9, "{seconds:?}");
        assert!((seconds[2] - 2.4).abs() < 1e-9, "times 1.2");
        // 2 x 1.2^12 is above 15.
        assert!((seconds[13] - 15.0).abs() < 1e-9 && (seconds[14] - 22.5).abs() < 1e-9, "then times 1.5: {seconds:?}");
        assert!((work_applier_requeue(1000).as_secs_f64() - 900.0).abs() < 1e-9, "at most");
    }
}
