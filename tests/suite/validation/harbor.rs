//! Harbor 2.1 under a closed load: 1 000 pulls of an image of 10 MiB, 500 at a time (goharbor/harbor#12540).
//!
//! Published: median 151.1 s, p90 160.4, p95 162.1, max 168.6, mean 151.2, and no failure. By Little's law that is 3.3
//! pulls/s, so the only parameter, the registry's throughput, is 33 MiB/s.

use fleetsim::stats;
use fleetsim::units::BytesPerSec;

use super::table::{compare, title};
use super::worlds::{DAY, base, layers, play_closed, set_clusters};

const MIB: f64 = 1_048_576.0;

#[test]
fn five_hundred_concurrent_pulls_share_harbor_as_measured() {
    let mut world = base();
    set_clusters(&mut world, 1_000);
    world.registry.egress = BytesPerSec::new(33.0 * MIB);
    let bytes = 10 * MIB as u64;
    world.images[0].layers = layers("image", 1, bytes, bytes);
    let played = play_closed(&world, 1, DAY, 500);
    let took = stats::sorted(&played.pull_s());
    let at = |p| stats::quantile_of_sorted(&took, p).expect("pulls");
    title(
        "Harbor 2.1, 1 000 pulls of 10 MiB, 500 at a time, s",
        "1 (33 MiB/s), from the mean",
    );
    let median = compare("median", at(0.5), 151.1);
    let mean = compare("mean", stats::mean(&took).expect("pulls"), 151.2);
    let p90 = compare("p90", at(0.9), 160.4);
    let max = compare("max", at(1.0), 168.6);
    println!("  Our users share to the byte; Harbor's did within 10 %.");
    assert_eq!(
        played.totals.failed_pulls,
        [0; fleetsim::world::PullError::COUNT]
    );
    assert_eq!(played.peak_pulls, 500, "the concurrency that was asked for");
    assert!(median.abs() < 0.01 && mean.abs() < 0.01);
    assert!(
        p90.abs() < 0.10 && max.abs() < 0.12,
        "equal shares know no spread"
    );
}
