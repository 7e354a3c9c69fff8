//! Types of quantities in the JSON Schema of experiments.
//!
//! Only tests generate the schema from the types, and compare it with `docs/experiment.schema.json`, which is part of
//! the program. Deriving the schema in every build would increase the compiled code by a twelfth.

#[cfg(any(test, feature = "schema"))]
pub use schemars::JsonSchema as DescribedQuantity;

/// A type in the JSON Schema of experiments.
#[cfg(not(any(test, feature = "schema")))]
pub trait DescribedQuantity {}

#[cfg(not(any(test, feature = "schema")))]
impl<T> DescribedQuantity for T {}
