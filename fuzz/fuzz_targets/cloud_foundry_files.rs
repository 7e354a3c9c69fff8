//! A deployment request as the strategy of Cloud Foundry.

#![no_main]

use fleetsim_fuzz::with_strategy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| with_strategy(
    &["cloudFoundry: {file: input, continueAfter: {median: 1 min, sigma: 0.5}}",],
    text
));
