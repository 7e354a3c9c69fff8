//! An experiment whose fleet is a table or an export.

#![no_main]

use fleetsim_fuzz::inventory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| inventory(text));
