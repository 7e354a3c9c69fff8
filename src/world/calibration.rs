//! The constants of the model, each with its source and spread, or the word "guess".
//!
//! A scenario takes its defaults from here; nothing else in the crate holds a constant about the world.
