//! A fleet.yaml as the strategy of Rancher Fleet.

#![no_main]

use fleetsim_fuzz::with_strategy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| with_strategy(&["rancherFleet: {file: input}",], text));
