//! Kubernetes events, as a list, a watch or the log of an exporter, with the images that they name.

#![no_main]

use fleetsim_fuzz::calibrate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| calibrate(
    text,
    "events",
    &["events", "image", "images", "names", "predict"]
));
