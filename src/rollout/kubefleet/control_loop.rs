//! With which values KubeFleet's controllers and agents run.
//!
//! Sources are files of kubefleet-dev/kubefleet at e160c1cdfdd9bf4c0234713d2b7f34e0ec95dab6. What a pass costs and how
//! late the cache is depends on the hub cluster; those values are guesses.
//!
//! What starts a pass of a staged run: the run is created or its spec changes; an approval request's Approved flag
//! flips, or a request is deleted before it was accepted; the run's own timer. **Not** a change of a binding or of a
//! cluster. What starts one of a rolling update: a binding is created; a binding's generation changes, also by its own
//! writes ([`RollingStatus::writes`](super::rolling::RollingStatus::writes)); Available or DiffReported of a binding
//! changes ([`wakes`](super::rolling::wakes)); a resource snapshot is created; the apply strategy or the type of the
//! strategy changes; its own timer. **Not** a change of its limits, nor the final removal of a binding.

use super::super::ControlLoop;
use crate::units::SimDuration;

/// After which a staged run looks again at clusters that are being updated or deleted. Source:
/// `pkg/controllers/updaterun/execution.go`.
pub const CLUSTER_UPDATING_WAIT: SimDuration = SimDuration::from_secs(15);

/// After which a staged run looks again whether an approval was given. Source: `pkg/controllers/updaterun/
/// execution.go`.
pub const STAGE_WAIT: SimDuration = SimDuration::from_secs(60);

/// A cluster that has been updating for longer makes the run stuck, which is a word in its status and no more. Source:
/// `pkg/controllers/updaterun/execution.go`.
pub const STUCK_AFTER: SimDuration = SimDuration::from_mins(5);

/// After which a rolling update looks again whether a cluster is rid of a binding that is being deleted, when another
/// one waits for it. Source: `pkg/controllers/rollout/controller.go`.
pub const CLEAN_UP_WAIT: SimDuration = SimDuration::from_secs(5);

/// Staged runs that can be in a pass at the same time. Source: `pkg/controllers/updaterun/controller.go`, which sets no
/// number, and the default of controller-runtime v0.22.4.
pub const STAGED_WORKERS: u32 = 1;

/// Placements that can be in a pass at the same time; one placement never is in two. Source: `cmd/hubagent/workload/
/// setup.go` with the defaults of `options/placementmgmt.go`.
pub const ROLLING_WORKERS: u32 = 40;

/// After which a member cluster's work applier looks again at objects that it has applied and that are not available
/// yet: `attempt` 0 is the first look after the one that applied them. It is not woken by them. Source: the defaults of
/// the member agent's flags `work-applier-requeue-rate-limiter-*`: once 5 s, then from 2 s growing by 1.2 up to 15 s,
/// then by 1.5 up to 900 s. That the second growth begins where the first ends is read from the flags' texts.
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

/// How often a member agent shows that it is alive. Source: `HeartbeatPeriodSeconds` of `apis/cluster/v1beta1/
/// membercluster_types.go`.
pub const HEARTBEAT: SimDuration = SimDuration::from_secs(60);

/// How both controllers run, but for what starts a pass.
#[must_use]
pub const fn control_loop() -> ControlLoop {
    ControlLoop {
        // Guess: reading the placement, its snapshots and its bindings, and writing a status.
        pass_base: SimDuration::from_millis(20),
        // Guess: reading and comparing a binding.
        pass_per_target: SimDuration::from_nanos(50_000),
        // Guess: a binding's spec and then its status, one request to the API server after the other.
        pass_per_write: SimDuration::from_millis(10),
        // Guess: a watch event on an unloaded API server.
        watch_delay: SimDuration::from_millis(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_applier_looks_again_ever_more_rarely() {
        let seconds: Vec<f64> = (0..16).map(|attempt| work_applier_requeue(attempt).as_secs_f64()).collect();
        assert!((seconds[0] - 5.0).abs() < 1e-9 && (seconds[1] - 2.0).abs() < 1e-9, "{seconds:?}");
        assert!((seconds[2] - 2.4).abs() < 1e-9, "times 1.2");
        // 2 x 1.2^12 is above 15.
        assert!((seconds[13] - 15.0).abs() < 1e-9 && (seconds[14] - 22.5).abs() < 1e-9, "then times 1.5: {seconds:?}");
        assert!((work_applier_requeue(1000).as_secs_f64() - 900.0).abs() < 1e-9, "at most");
    }
}
