//! A ClusterStagedUpdateStrategy and a ClusterResourcePlacement as strategies of KubeFleet.

#![no_main]

use fleetsim_fuzz::with_strategy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| with_strategy(
    &[
        "kubeFleetStaged: {file: input, approvals: {after: {median: 1 min, sigma: 0.5}}}",
        "kubeFleetRolling: {file: input}",
    ],
    text
));
