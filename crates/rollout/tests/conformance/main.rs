//! Holds our schedulers against what the products' own code was recorded to decide.
//!
//! `cargo test --test conformance` runs the cases in this folder, and those of the world in its crate;
//! `FLEETSIM_CONFORMANCE=<folder>` those of another folder, with a sub-folder for each product. One line for each suite,
//! the first disagreements in full, and the sum of all cases as the last line.

#![allow(
    unreachable_pub,
    reason = "a test program has no one outside to reach its items"
)]

// A product is a module of its own here ...
mod argocd_applicationset;
mod cloud_foundry;
mod kubefleet;
mod rancher_fleet;
mod runner;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, io};

use runner::Product;

// ... and one line in this table.
const PRODUCTS: &[Product] = &[
    Product {
        folder: "argocd-applicationset",
        suites: argocd_applicationset::suites,
    },
    Product {
        folder: "cloud-foundry",
        suites: cloud_foundry::suites,
    },
    Product {
        folder: "kubefleet",
        suites: kubefleet::suites,
    },
    Product {
        folder: "rancher-fleet",
        suites: rancher_fleet::suites,
    },
];

/// Cases of this folder at least: all that are recorded.
const FEWEST: usize = 30_293;

fn main() -> ExitCode {
    let named = env::var_os("FLEETSIM_CONFORMANCE").map(PathBuf::from);
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let fewest = if named.is_none() { FEWEST } else { 0 };
    let folder = named.unwrap_or_else(own);
    let args: Vec<String> = env::args().skip(1).collect();
    match runner::run(PRODUCTS, &folder, fewest, &args, &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}
