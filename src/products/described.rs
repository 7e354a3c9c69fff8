//! The types in the JSON Schema of experiments.
//!
//! Only tests generate the schema from the types, and compare it with `docs/experiment.schema.json`, which the program
//! contains. Deriving it in every build accounted for a twelfth of the compiled code.

#[cfg(test)]
pub(crate) use schemars::JsonSchema as Described;

/// A type in the JSON Schema of experiments.
#[cfg(not(test))]
pub(crate) trait Described {}

#[cfg(not(test))]
impl<T> Described for T {}
