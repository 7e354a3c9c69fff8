//! Types of quantities in the JSON Schema of experiments.
//!
//! Only tests make the schema from the types, and compare it with `docs/experiment.schema.json`, which the program has.
//! Deriving it for every build made a twelfth of the compiled code.

#[cfg(any(test, feature = "schema"))]
pub use schemars::JsonSchema as DescribedQuantity;

/// A type in the JSON Schema of experiments.
#[cfg(not(any(test, feature = "schema")))]
pub trait DescribedQuantity {}

#[cfg(not(any(test, feature = "schema")))]
impl<T> DescribedQuantity for T {}
