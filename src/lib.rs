//! fleetsim: what a rollout across thousands of clusters does to an image registry and to the fleet.
//!
//! It joins the **real decision rules** of fleet rollout controllers with the **physics** of image pulls, in virtual
//! time. A rollout is a closed loop, and the modules are shaped like it:
//!
//! ```text
//!             tell a target, wake me at t                      start a transfer, share links
//!   rollout ────────────────────────────▶ world (clusters, nodes) ─────────────────────────▶ flow
//!      ▲   the real scheduler, sans-IO        │  pull · unpack · start · probe · fail           │
//!      └──────────────────────────────────────┘ ◀──────────────────────────────────────────────┘
//!         what the product can see, as late as it sees it             bytes arrived
//! ```
//!
//! From the inside out, imports going one way only (a test holds them to it):
//!
//! - [`units`]: quantities that carry their unit; [`stats`]: quantiles, intervals, paired differences.
//! - [`engine`]: discrete events in virtual time, and a random stream for every entity and purpose.
//! - [`flow`]: transfers that share links, exactly max-min fair, in O(log n) an event.
//! - [`rollout`]: the schedulers of real products. They know nothing of all the rest.
//! - [`world`]: the simulated truth: pulls, pods, agents, the registry, and what goes wrong.
//! - [`scenario`]: what users write, checked.
//! - [`sim`]: one run: a scheduler drives a world. [`study`]: many runs, in parallel.
//! - [`record`]: the shape of results. [`report`]: charts and tables, from recorded results alone.
//!
//! # Example
//!
//! One rollout, from an experiment file to its measures:
//!
//! ```
//! use fleetsim::scenario::{Overrides, load};
//! use fleetsim::sim;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("experiment.yaml");
//! std::fs::write(
//!     &file,
//!     r#"
//! name: first-steps
//! question: How many clusters pull at once?
//! seed: 1
//! replicates: 1
//! horizon: 24h
//! fleet:
//!   - {name: "store-{001..100}", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}
//! registry: {egress: 1 Gbit/s}
//! release:
//!   kind: update
//!   images: [{name: shop, layers: [{digest: base, size: 50 MB}, {digest: app, size: 20 MB}]}]
//!   workloads: [{kind: Deployment, image: shop, replicas: 1}]
//! strategies:
//!   careful: {rancherFleet: {maxUnavailable: 10%}}
//! "#,
//! )?;
//! let experiment = load(&file, &Overrides::default())?;
//! let record = sim::run(&experiment.variants[0], experiment.seed, 0);
//! assert_eq!(record.run.targets_done, 100);
//! assert_eq!(record.run.peak_pulls, 10, "10 % of 100 clusters, one node each");
//! # Ok(())
//! # }
//! ```

pub mod engine;
pub mod flow;
pub mod record;
pub mod report;
pub mod rollout;
pub mod scenario;
pub mod sim;
pub mod stats;
pub mod study;
pub mod units;
pub mod world;
