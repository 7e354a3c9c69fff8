//! The container runtime between kubelet and registry: its requests, and its reaction to failures.
//!
//! | file | models |
//! |---|---|
//! | `connection` | the connection between a node and its registry |
//! | `request` | the requests of a pull, and their path to a host and back |
//! | `retries` | retry or fail after a 429 or 503 response, or after no response |
//! | `stall` | pulls that stall, and their cancellation |
//! | `spec` | the settings, and presets by product and version |
//!
//! Layers, slots and unpacking are in `pull`.

mod connection;
pub(crate) mod request;
pub(crate) mod retries;
pub(crate) mod spec;
mod stall;
#[cfg(test)]
mod tests;
