//! Compares the sharing of links with completion times that SimGrid computed.
//!
//! `cargo test --test conformance` runs the cases in this folder, and the decisions of products in the crate with the
//! rollout rules. `FLEETSIM_CONFORMANCE=<folder>` runs the cases in another folder.

#![allow(
    unreachable_pub,
    reason = "a test program has no one outside to reach its items"
)]

mod flow_sharing;
#[path = "../../../rollout/tests/conformance/runner.rs"]
mod runner;
#[allow(dead_code, reason = "decisions of products need more of it")]
#[path = "../../../rollout/tests/conformance/suite.rs"]
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, io};

use runner::Product;

const MODELS: &[Product] = &[Product {
    folder: "flow-sharing",
    suites: flow_sharing::suites,
}];

/// Minimum number of cases in this folder: all recorded cases.
const FEWEST: usize = 35_800;

fn main() -> ExitCode {
    let named = env::var_os("FLEETSIM_CONFORMANCE").map(PathBuf::from);
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let fewest = if named.is_none() { FEWEST } else { 0 };
    let folder = named.unwrap_or_else(own);
    let args: Vec<String> = env::args().skip(1).collect();
    match runner::run(MODELS, &folder, fewest, &args, &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}
