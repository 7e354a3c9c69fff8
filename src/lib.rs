//! fleetsim: what a rollout across thousands of clusters does to an image registry and to the fleet.

pub mod engine;
pub mod flow;
pub mod record;
pub mod report;
pub mod rollout;
pub mod scenario;
pub mod stats;
pub mod units;
pub mod world;
