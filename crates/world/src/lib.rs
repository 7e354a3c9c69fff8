//! The simulated world of fleetsim, and its foundations.
//!
//! A module imports only modules above it in this list. All of them may import [`fleetsim_units`] and
//! [`fleetsim_rollout`].
//!
//! | module | contents |
//! |---|---|
//! | [`engine`] | discrete events in virtual time, and a random stream per entity and purpose |
//! | [`flow`] | max-min fair transfers over shared links, in O(log n) per event on a forest of links |
//! | [`document`] | YAML and JSON documents with the position of every error |
//! | [`world`] | the simulated truth: clusters, nodes, pulls, registries and faults |

// A page in a browser cannot read files, so some parts are unused there.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

pub mod document;
pub mod engine;
pub mod flow;
pub mod world;
