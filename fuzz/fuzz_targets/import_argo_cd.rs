//! Exports of Argo CD: applications, clusters, Secrets, projects and an ApplicationSet.

#![no_main]

use fleetsim_fuzz::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| import(
    text,
    "applications",
    &[
        "applications",
        "clusters",
        "project",
        "strategy",
        "namespace"
    ]
));
