//! A fleet as a table or as an export, in an experiment.

#![no_main]

use fleetsim_fuzz::inventory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| inventory(text));
