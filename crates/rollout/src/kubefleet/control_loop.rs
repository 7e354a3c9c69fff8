//! Settings of KubeFleet's controllers and agents.
//!
//! Sources are files of kubefleet-dev/kubefleet at e160c1cdfdd9bf4c0234713d2b7f34e0ec95dab6. The latency of requests
//! and the delay of the cache are settings of the control loop, in `products/kubefleet`.
//!
//! A pass of a staged run starts when the run is created or its spec changes, when an approval request's Approved flag
//! changes, when a request is deleted before it was accepted, and on the run's own timer; **not** when a binding or a
//! cluster changes. A pass of a rolling update starts when a binding is created; when a binding's generation changes,
//! even by the pass's own writes; when Available or DiffReported of a binding changes
//! ([`wakes`](super::rolling::wakes)); when a resource snapshot is created; when the apply strategy or the type of the
//! strategy changes; and on its own timer; **not** when its limits change or when a binding is finally removed.

use fleetsim_units::SimDuration;

/// Interval at which a staged run checks clusters that are being updated or deleted. Source:
/// `pkg/controllers/updaterun/execution.go`.
pub const CLUSTER_UPDATING_WAIT: SimDuration = SimDuration::from_secs(15);

/// Interval at which a staged run checks for an approval. Source: `pkg/controllers/updaterun/execution.go`.
pub const STAGE_WAIT: SimDuration = SimDuration::from_secs(60);

/// A cluster that has been updating for longer than this makes the run stuck. Being stuck only changes the run's
/// status. Source: `pkg/controllers/updaterun/execution.go`.
pub const STUCK_AFTER: SimDuration = SimDuration::from_mins(5);

/// Interval at which a rolling update checks whether a binding that is being deleted is gone, if another binding waits
/// for it. Source: `pkg/controllers/rollout/controller.go`.
pub const CLEAN_UP_WAIT: SimDuration = SimDuration::from_secs(5);
