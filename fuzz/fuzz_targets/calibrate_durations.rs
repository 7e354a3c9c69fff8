//! A CSV file with durations, and one with images.

#![no_main]

use fleetsim_fuzz::calibrate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| calibrate(text, "durations", &["durations", "images", "events"]));
