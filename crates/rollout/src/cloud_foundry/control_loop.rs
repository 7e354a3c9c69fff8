//! Settings of the deployment updater, and of Diego's restarts after crashes. Diego's delays are those of the
//! experiment's agents.
//!
//! The updater's loop only has a period: changes do not start a pass. Each pass queries Diego, so no cache can lag.
//! Sources name repository and commit. The cost of a pass is in `products/cloud_foundry`.

use fleetsim_units::SimDuration;

/// Time between the starts of two passes; a pass that takes longer is followed immediately by the next. Source:
/// `deployment_updater.update_frequency_in_seconds` in `jobs/cc_deployment_updater/spec` of cloudfoundry/capi-release
/// at 13ebfc6fbf71b5ca256b619a296eab0aa4234de4.
pub const UPDATE_FREQUENCY: SimDuration = SimDuration::from_secs(5);

/// Number of consecutive crashes of an instance after which Diego restarts it immediately: fewer than
/// `DefaultImmediateRestarts`, which is 3. Source of this and the next three constants: `models/restart_calculator.go`
/// of cloudfoundry/bbs at 7f8d2e26c0241e26dfc4615b9c32f4d2ba25bdd4.
pub const IMMEDIATE_RESTARTS: u32 = 2;

/// The wait before the first restart that is not immediate; each further crash doubles it.
pub const CRASH_BACKOFF_MIN: SimDuration = SimDuration::from_secs(30);

/// The longest wait before Diego restarts a crashed instance.
pub const CRASH_BACKOFF_MAX: SimDuration = SimDuration::from_mins(16);

/// Number of consecutive crashes after which Diego no longer restarts an instance.
pub const MAX_CRASHES: u32 = 200;

/// If an instance was healthy for longer than this before a crash, its crash count restarts at 1. Source:
/// `CrashResetTimeout` in `models/actual_lrp.go` of cloudfoundry/bbs at 00ef73ad8257ba32a44a43920c3f1ad431f79e1a, and
/// `CrashActualLRP` in its `db/sqldb/actual_lrp_db.go`.
pub const CRASH_RESET: SimDuration = SimDuration::from_mins(5);

/// Time for a stopped instance to exit before it is killed. Source: the default of
/// `containers.graceful_shutdown_interval_in_seconds` of Diego's `rep` job, according to the Cloud Foundry
/// documentation on the lifecycle of apps.
pub const GRACEFUL_SHUTDOWN: SimDuration = SimDuration::from_secs(10);
