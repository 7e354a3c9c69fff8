//! Exports of Cloud Foundry: processes, deployments and app manifests.

#![no_main]

use fleetsim_fuzz::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| import(
    text,
    "process",
    &["process", "deployment", "manifest", "strategy", "app"]
));
