//! Exports of KubeFleet: member clusters, a placement and stages.

#![no_main]

use fleetsim_fuzz::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| import(text, "members", &["members", "placement", "strategy"]));
