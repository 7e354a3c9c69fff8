//! The container runtime between kubelet and registry: what it asks, and what it does when the answer is not a yes.
//!
//! | file | models |
//! |---|---|
//! | `request` | the requests of a pull, their way to a host and back |
//! | `answers` | 429, 503 and silence: again, or give up? |
//! | `progress` | pulls that stand still, and when they are cancelled |
//! | `spec` | the parameters, and presets by product and version |
//!
//! Layers, slots and unpacking are in `pull`.

mod answers;
mod progress;
mod request;
pub(super) mod spec;
#[cfg(test)]
mod tests;

pub(super) use answers::Tries;
pub use request::{Answer, Request};
