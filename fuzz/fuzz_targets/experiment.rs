//! The experiment document with the files that it names, as `fleetsim check` reads them.

#![no_main]

use fleetsim_fuzz::experiment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| experiment(text));
