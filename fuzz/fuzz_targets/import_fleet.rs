//! Exports of Rancher Fleet: clusters, cluster groups, Schedules, a GitRepo and a fleet.yaml.

#![no_main]

use fleetsim_fuzz::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| import(
    text,
    "fleet",
    &[
        "fleet",
        "groups",
        "gitrepo",
        "schedules",
        "strategy",
        "namespace"
    ]
));
