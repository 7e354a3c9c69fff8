//! The experiment document, with the files that it names: `fleetsim check`.

#![no_main]

use fleetsim_fuzz::experiment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| experiment(text));
