//! Types that the JSON Schema of experiments describes.
//!
//! Only tests make the schema from the types, and compare it with `docs/experiment.schema.json`, which the program has.
//! Deriving it for every build made a twelfth of the compiled code.

#[cfg(test)]
pub(crate) use schemars::JsonSchema as Described;

/// A type in the JSON Schema of experiments.
#[cfg(not(test))]
pub(crate) trait Described {}

#[cfg(not(test))]
impl<T> Described for T {}
