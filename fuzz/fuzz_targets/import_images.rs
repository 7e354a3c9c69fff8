//! Image manifests, indexes and nodes, together with a fleet.

#![no_main]

use fleetsim_fuzz::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| import(text, "image", &["fleet", "image", "previous", "nodes"]));
