//! Rancher Fleet: its `rolloutStrategy`, from a fleet.yaml or in place.

mod adapter;
mod config;
mod display;
mod explain;
mod membership;
