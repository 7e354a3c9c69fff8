//! The model against what is known from theory and what others have measured.
//!
//! One file for each source. Each prints its table (`cargo test --test suite validation:: -- --nocapture`): our figure,
//! the published one, the error, and how many parameters were set on the very figures that are compared. What does not
//! agree is in the table with its reason, and not fitted away.

#![allow(clippy::print_stdout, reason = "the tables are what these tests are for")]
#![allow(unreachable_pub, reason = "a test program has no one outside to reach its items")]

mod argo_cd;
mod dragonfly;
mod harbor;
mod kraken;
mod queueing;
mod sanity;
mod spegel;
mod storm;
mod table;
mod unpack;
mod worlds;
