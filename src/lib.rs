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
//! - [`flow`]: transfers that share links, exactly max-min fair: O(log n) an event where links form a forest, O(n) else.
//! - [`rollout`]: the schedulers of real products. They know nothing of all the rest.
//! - [`world`]: the simulated truth: pulls, pods, agents, the registry, and what goes wrong.
//! - [`document`]: YAML and JSON with places and errors. [`products`]: all about a product that is not a rule.
//! - [`scenario`]: what users write, checked.
//! - [`sim`]: one run: a scheduler drives a world. [`study`]: many runs, in parallel.
//! - [`results`]: the shape of results. [`report`]: charts and tables, from recorded results alone.
//!
//! # Example
//!
//! One rollout, from an experiment file to its measures:
//!
//! ```
//! use std::path::Path;
//!
//! use fleetsim::scenario::{Overrides, load};
//! use fleetsim::sim;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let experiment = load(Path::new("experiments/01-max-unavailable"), &Overrides::default())?;
//! let variant = experiment.variants.iter().find(|variant| variant.setting.ends_with("=25%")).expect("it is swept");
//! let record = sim::run(variant, experiment.seed, 0);
//! assert_eq!(record.run.targets_done, 1_000);
//! assert!(record.run.peak_pulls < 300, "of 3 000 nodes");
//! # Ok(())
//! # }
//! ```

pub mod document;
pub mod engine;
pub mod flow;
pub mod products;
pub mod report;
pub mod results;
pub mod rollout;
pub mod scenario;
pub mod sim;
pub mod stats;
pub mod study;
pub mod units;
pub mod world;
