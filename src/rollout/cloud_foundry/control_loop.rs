//! With which values the deployment updater runs, and how Diego restarts what crashes. How late Diego hears and tells
//! is not here: it is as late as the experiment's agents.
//!
//! The updater's loop has a period and nothing else: no change starts a pass, and each pass asks Diego anew, so there
//! is no cache that could be late. Sources name repository and commit. What a pass costs depends on the installation;
//! those values are guesses.

use super::super::ControlLoop;
use crate::units::SimDuration;

/// From the start of one pass to the start of the next; a pass that takes longer is followed by the next at once.
/// Source: `deployment_updater.update_frequency_in_seconds` in `jobs/cc_deployment_updater/spec` of
/// cloudfoundry/capi-release at 13ebfc6fbf71b5ca256b619a296eab0aa4234de4.
pub const UPDATE_FREQUENCY: SimDuration = SimDuration::from_secs(5);

/// The same on a developer's machine. Source: `config/cloud_controller.yml` of cloudfoundry/cloud_controller_ng at
/// 3bbba9069894b1b74652c7b88fdfd4171136c8c4.
pub const UPDATE_FREQUENCY_DEVELOPMENT: SimDuration = SimDuration::from_secs(30);

/// Deployments that one pass works on at the same time; every app has its own, and no limit spans several. Source:
/// `lib/cloud_controller/deployment_updater/dispatcher.rb`, as above.
pub const CONCURRENT_DEPLOYMENTS: u32 = 50;

/// Crashes of an instance in a row after which Diego starts it again at once: fewer than `DefaultImmediateRestarts`,
/// which is 3. Source: `models/restart_calculator.go` of cloudfoundry/bbs at 7f8d2e26c0241e26dfc4615b9c32f4d2ba25bdd4,
/// as for the next three.
pub const IMMEDIATE_RESTARTS: u32 = 2;

/// The first wait before a restart after that; it doubles with every crash.
pub const CRASH_BACKOFF_MIN: SimDuration = SimDuration::from_secs(30);

/// The longest wait before a restart.
pub const CRASH_BACKOFF_MAX: SimDuration = SimDuration::from_mins(16);

/// The crash in a row after which an instance is not started again.
pub const MAX_CRASHES: u32 = 200;

/// An instance that ran, healthy, for longer than this before it crashed has crashed once. Source: `CrashResetTimeout`
/// in `models/actual_lrp.go` of cloudfoundry/bbs at 00ef73ad8257ba32a44a43920c3f1ad431f79e1a, and `CrashActualLRP` in
/// its `db/sqldb/actual_lrp_db.go`.
pub const CRASH_RESET: SimDuration = SimDuration::from_mins(5);

/// How often a cell checks an instance that is not healthy yet, and so how late it can be with the news that it is.
/// Source: the default of `unhealthyMonitoringInterval` in the help of Diego's `rep` program.
pub const READINESS_CHECK_PERIOD: SimDuration = SimDuration::from_millis(500);

/// How long an instance that is stopped may take to end by itself; then it is killed. Source: the default of
/// `containers.graceful_shutdown_interval_in_seconds` of Diego's `rep` job, as the Cloud Foundry documentation on the
/// lifecycle of apps gives it.
pub const GRACEFUL_SHUTDOWN: SimDuration = SimDuration::from_secs(10);

/// How the updater runs. Passes start at the scheduler's own wake-up times alone: changes do not start any.
#[must_use]
pub const fn control_loop() -> ControlLoop {
    ControlLoop {
        // Guess: reading deployment, app and processes from the database, and one request to Diego.
        pass_base: SimDuration::from_millis(50),
        // Guess: one LRP more in Diego's answer.
        pass_per_target: SimDuration::from_nanos(10_000),
        // Guess: saving a process with its quotas, and telling Diego.
        pass_per_write: SimDuration::from_millis(20),
        // Asked for in every pass; what is late is Diego, whose part the agents' delays play.
        watch_delay: SimDuration::ZERO,
    }
}
