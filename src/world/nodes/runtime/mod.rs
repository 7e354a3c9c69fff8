//! The container runtime between kubelet and registry: what it asks, and what it does when the answer is not a yes.
//!
//! | file | models |
//! |---|---|
//! | `connection` | the connection between a node and its registry |
//! | `request` | the requests of a pull, their way to a host and back |
//! | `retries` | what follows a response 429, 503 or none: retry or fail |
//! | `stall` | pulls that stand still, and when they are cancelled |
//! | `spec` | the parameters, and presets by product and version |
//!
//! Layers, slots and unpacking are in `pull`.

mod connection;
mod request;
pub(crate) mod retries;
pub(crate) mod spec;
mod stall;
#[cfg(test)]
mod tests;
