//! Status histories of Rancher Fleet, Argo CD and KubeFleet.

#![no_main]

use fleetsim_fuzz::calibrate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| calibrate(
    text,
    "history",
    &["history"]
));
