//! A management cluster's control plane, with the parts that affect rollouts. All products use it.
//!
//! A product's controller is one state machine ([`Controller`]): it handles one [`ControllerInput`] at a time, and
//! acts through the [`Plane`]. It consists of the same parts as Kubernetes controllers:
//!
//! ```text
//!   reports, people ──watch delay──▶ Controller::handle ──▶ Runtime (work queue, workers, timers)
//!                                          ▲                   │ a worker takes a key: a pass
//!                              Timer ◀─────┤                   ▼
//!                                     the engine's queue ◀── ApiClient (latency, limits) ──▶ instructions
//! ```
//!
//! The controllers of several applications share workers, limits and other parts through the [`SharedHub`].
//!
//! All times are in the engine's queue. Events that are due at the same instant happen in the order in which they were
//! scheduled. Latencies and tokens are drawn in one place, [`ApiClient`]. [`ControlPlane`] connects a controller with
//! a simulated world, and with recorded fleets in tests. An external process is a controller, too.
//!
//! Sources: kubernetes/client-go (`util/workqueue`, `util/retry`, `rest`) and controller-runtime; each file names its
//! source. Left out: the CPU time of controllers, an API server that slows down under load, watches that break.

mod agenda;
mod api_client;

mod controller;
mod driver;
mod hub;
mod plane;
mod settings;
mod status_log;
mod targets;
mod work_queue;

pub use agenda::Agenda;
pub use api_client::{ApiClient, ApiRequest, CachedUpdate, RetryPolicy, UpdateTry};
pub use controller::{Change, Controller, ControllerInput, RolloutObject, Traits};
pub use driver::ControlPlane;
pub use hub::{PendingWork, SharedHub, SharedWorkers, WorkerTurn};
pub use plane::{Plane, SeenActs};
pub use settings::{API_REQUEST, ControlLoop, WATCH_DELAY};
pub use status_log::StatusLog;
pub use targets::{ApplicationStates, ApplicationTargets, RolloutTargets, TargetStates};
pub use work_queue::{RateLimiter, Runtime, WorkerPool};
