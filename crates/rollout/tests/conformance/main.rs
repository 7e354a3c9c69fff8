//! Compares our schedulers with recorded decisions of the products' own code.
//!
//! `cargo test --test conformance` runs the cases in this folder, and those of the world in its crate.
//! `FLEETSIM_CONFORMANCE=<folder>` runs the cases in another folder, with a sub-folder for each product. The output
//! has one line for each suite, the first disagreements in full, and the total number of cases as the last line.

#![allow(
    unreachable_pub,
    reason = "a test program has no one outside to reach its items"
)]

// Each product has its own module here ...
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

/// Minimum number of cases in this folder: all recorded cases.
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
