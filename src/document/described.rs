//! Types that the JSON Schema of experiments describes.
//!
//! Only tests make the schema from the types, and compare it with `docs/experiment.schema.json`, which the program has.
//! To derive it for every build took a tenth of the time of a build.

#[cfg(test)]
pub use schemars::JsonSchema as Described;

/// A type in the JSON Schema of experiments.
#[cfg(not(test))]
pub trait Described {}

#[cfg(not(test))]
impl<T> Described for T {}
