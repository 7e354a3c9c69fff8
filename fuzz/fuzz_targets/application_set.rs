//! An ApplicationSet as the strategy of Argo CD, and of its proposed rolling update.

#![no_main]

use fleetsim_fuzz::with_strategy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| with_strategy(
    &["argoCd: {file: input}", "argoCdProposal: {file: input}",],
    text
));
