//! The shape of results: rows whose columns carry their units.
//!
//! A simulation fills these rows and reports read them; neither knows the other. Every column is documented at its
//! field, and a column's name ends in its unit.

mod rows;

pub use rows::*;
