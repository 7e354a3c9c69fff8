//! Range queries of Prometheus.

#![no_main]

use fleetsim_fuzz::calibrate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| calibrate(text, "egress", &["egress", "requests"]));
