//! `cf restart`, `cf restage` and `cf rollback`: deployments with max-in-flight that differ in the droplet.
//!
//! Their forms in an experiment are in `docs/experiment-format/cloud-foundry.md`, section "Restart, restage and
//! rollback".

use fleetsim::results::RunOutcome;

use super::{CLUSTERS, run_with, told};
use crate::common::peak_in_flight;

const LIMIT: usize = 40;
const STRATEGY: &str = "{strategy: rolling, maxInFlight: 40}";

/// The image of the other tests of this module: two droplets of one layer without a digest.
const IMAGE: &str =
    "{name: shop, manifest: {layers: [{size: 20 MB}]}, previous: {layers: [{size: 20 MB}]}}";

/// The stack stays, and the droplet is `new` instead of `old`.
fn droplets(new: &str, old: &str) -> String {
    format!(
        "{{name: shop, manifest: {{layers: [{{digest: stack, size: 60 MB}}, {{digest: {new}, size: 20 MB}}]}}, \
         previous: {{layers: [{{digest: stack, size: 60 MB}}, {{digest: {old}, size: 20 MB}}]}}}}"
    )
}

#[test]
fn a_restart_replaces_instances_within_the_limit_and_downloads_nothing() {
    let run = run_with("update", "", STRATEGY, &[(IMAGE, &droplets("v1", "v1"))]);
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Complete, CLUSTERS)
    );
    assert_eq!(peak_in_flight(&run.clusters), LIMIT);
    // Each cell asks for the manifest and the config, some kilobytes, and for no layer.
    assert!(
        run.run.egress_bytes < 10_000 * CLUSTERS as u64,
        "{} bytes",
        run.run.egress_bytes
    );
}

#[test]
fn a_restage_downloads_the_new_droplet_in_each_cell_but_not_the_stack() {
    // Staging makes a droplet of the same source: cells have the stack, and fetch the droplet.
    let run = run_with(
        "update",
        "",
        STRATEGY,
        &[(IMAGE, &droplets("v1-restaged", "v1"))],
    );
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Complete, CLUSTERS)
    );
    assert_eq!(peak_in_flight(&run.clusters), LIMIT);
    let droplet = 20_000_000 * CLUSTERS as u64;
    assert!(
        (droplet..droplet * 11 / 10).contains(&run.run.egress_bytes),
        "{} bytes",
        run.run.egress_bytes
    );
}

#[test]
fn a_rollback_returns_to_the_earlier_droplet_within_the_limit() {
    // The app runs v2, and the deployment names v1, which cells no longer have.
    let run = run_with("update", "", STRATEGY, &[(IMAGE, &droplets("v1", "v2"))]);
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Complete, CLUSTERS)
    );
    assert_eq!(peak_in_flight(&run.clusters), LIMIT);
    assert_eq!(
        run.run.targets_done, CLUSTERS as u64,
        "all run the earlier droplet"
    );
    assert!(run.run.egress_bytes >= 20_000_000 * CLUSTERS as u64);
    // A crash of the earlier droplet holds the deployment with that of the newer one in place.
    let crashing = run_with(
        "update",
        "defect: {share: 1%}",
        STRATEGY,
        &[(IMAGE, &droplets("v1", "v2"))],
    );
    assert_ne!(crashing.run.outcome, RunOutcome::Complete);
    assert!(peak_in_flight(&crashing.clusters) <= LIMIT);
}
