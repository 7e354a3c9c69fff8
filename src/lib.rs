//! fleetsim simulates rollouts across thousands of Kubernetes clusters, and the load that they put on an image
//! registry.
//!
//! It combines the **actual decision rules** of fleet rollout controllers with the **physics** of image pulls, in
//! virtual time. A rollout is a closed loop, and the modules follow its structure:
//!
//! ```text
//!              actions, wake-up times                        transfers over shared links
//!   rollout ────────────────────────────▶ world (clusters, nodes) ─────────────────────────▶ flow
//!      ▲   the real scheduler, sans-IO        │  pull · unpack · start · probe · fail           │
//!      └──────────────────────────────────────┘ ◀──────────────────────────────────────────────┘
//!         the product's view, with its delays               completed transfers
//! ```
//!
//! A module imports only modules above it in this list. A test lists the permitted imports:
//!
//! | module | contents |
//! |---|---|
//! | [`io`] | files that others name, and untrusted text on a terminal |
//! | [`units`] | quantities with their unit in the type: time, bytes, rates, shares |
//! | [`stats`] | quantiles, intervals, paired differences |
//! | [`engine`] | discrete events in virtual time, and a random stream per entity and purpose |
//! | [`flow`] | max-min fair transfers over shared links, in O(log n) per event on a forest of links |
//! | [`rollout`] | the rules of each product's scheduler, independent of the simulator |
//! | [`document`] | YAML and JSON documents with the position of every error |
//! | [`world`] | the simulated truth: clusters, nodes, pulls, registries and faults |
//! | [`calendar`] | dates, time zones and cron expressions: when the windows of a product are open |
//! | [`process`] | processes that take part in a run, and the protocol with them |
//! | [`results`] | the records of runs, and how they are stored |
//! | [`build_info`] | the source that this program was built from |
//! | [`control_plane`] | the parts of a management cluster that affect rollouts: clients, work queues, timers |
//! | [`products`] | one folder per product: its configuration, its controller, its explanation |
//! | [`scenario`] | experiments: reading and checking what users write |
//! | [`import`] | converts exports of real fleets to an experiment |
//! | [`sim`] | one run: a product's scheduler drives a world |
//! | [`study`] | many runs in parallel, and the search of a plan |
//! | [`causes`] | what holds a rollout back, found by trials: the same runs with a resource lifted |
//! | [`calibrate`] | constants of the model from recorded events and metrics |
//! | [`forecast`] | predicts when a rollout in progress will be done, from the state that its product shows |
//! | [`report`] | charts, tables and pages, from recorded results only |
//! | [`explore`] | answers a reader's questions about an experiment, and the local server for them |
//! | [`host`] | another program in whose process a command runs |
//!
//! The program itself (`src/main.rs`, `src/cli/`) uses only this public library.
//!
//! # Example
//!
//! This example runs one rollout, from an experiment file to its measures:
//!
//! ```
//! use std::path::Path;
//!
//! use fleetsim::scenario::{Overrides, load};
//! use fleetsim::sim;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let experiment = load(Path::new("experiments/01-max-unavailable"), &Overrides::default())?;
//! let mut variants = experiment.variants.iter();
//! let variant = variants.find(|variant| variant.setting.ends_with("=25%")).expect("a swept setting");
//! let record = sim::run(variant, experiment.seed, 0)?;
//! assert_eq!(record.run.targets_done, 1_000);
//! assert!(record.run.peak_pulls < 300, "of 3,000 nodes");
//! # Ok(())
//! # }
//! ```
//!
//! `docs/library.md` has more examples, and `docs/life-of-a-pull.md` follows one image through the code.

// On a page in a browser there are no charts and no files, so some parts are unused.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

pub mod build_info;
pub mod calendar;
#[cfg(not(target_family = "wasm"))]
pub mod calibrate;
#[cfg(not(target_family = "wasm"))]
pub mod causes;
pub mod control_plane;
pub mod explore;
#[cfg(not(target_family = "wasm"))]
pub mod forecast;
#[cfg(not(target_family = "wasm"))]
pub mod host;
#[cfg(not(target_family = "wasm"))]
pub mod import;
pub mod process;
pub mod products;
pub mod scenario;
pub mod sim;
pub mod study;

pub use fleetsim_report::{report, results};
pub use fleetsim_rollout as rollout;
pub use fleetsim_units as units;
pub use fleetsim_units::{io, stats};
pub use fleetsim_world::{document, engine, flow, world};

/// The examples in the library guide, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
pub struct LibraryGuide;
