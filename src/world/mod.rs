//! The simulated truth: clusters, nodes, workloads, images, the registry and what goes wrong.

pub mod calibration;
mod spec;

pub use spec::*;
