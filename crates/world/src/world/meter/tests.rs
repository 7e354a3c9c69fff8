//! Compares the meters with hand calculations.

use super::*;

#[test]
fn egress_is_distributed_over_the_bins_in_which_it_flows() {
    let mut meter = Meter::new(1, 1);
    meter.advance(SimTime::from_nanos(500_000_000));
    meter.set_egress([(BytesPerSec::new(100.0), true)].into_iter());
    meter.advance(SimTime::from_secs(2));
    meter.set_egress([(BytesPerSec::ZERO, false)].into_iter());
    meter.advance(SimTime::from_secs(3));
    let (bin, bins) = meter.series();
    assert_eq!(bin, SECOND);
    // 100 B/s for half a second, then for a whole second, then no egress; the fourth bin has just begun.
    let bytes: Vec<u64> = bins.iter().map(|bin| bin.egress_bytes as u64).collect();
    assert_eq!(bytes, [50, 100, 0, 0]);
    assert_eq!(meter.egress_peaks(), (100.0, 150.0 / 60.0));
    assert_eq!(meter.busy(), SimDuration::from_millis(1500));
}

#[test]
fn the_busiest_minute_counts_others_also_before_and_after_their_load() {
    let mut meter = Meter::new(1, 1);
    let mut send = |until: u64, own: f64, others: f64| {
        meter.set_egress([(BytesPerSec::new(own), false)].into_iter());
        meter.add_others(others);
        meter.advance(SimTime::from_secs(until));
        let totals = meter.totals_with_others();
        (
            meter.egress_peaks().1,
            totals.peak_minute,
            totals.other_bytes,
        )
    };
    assert_eq!(send(60, 120.0, 0.0), (120.0, 120.0, 0.0), "the fleet alone");
    // The first 30 s of the busiest minute are before the other load.
    assert_eq!(send(90, 60.0, 120.0), (120.0, 150.0, 3600.0));
    assert_eq!(send(120, 0.0, 120.0), (120.0, 150.0, 7200.0));
    assert_eq!(send(200, 0.0, 0.0), (120.0, 150.0, 7200.0));
}

#[test]
fn busy_time_has_a_fixed_window_and_rate_percentiles_weigh_by_time() {
    let mut meter = Meter::new(1, 1);
    let rate = |meter: &mut Meter, rate: f64, is_full: bool| {
        meter.set_egress([(BytesPerSec::new(rate), is_full)].into_iter());
    };
    // The egress is full for 360 s in the first hour, for 180 s in the third, and then a straggler pulls for a day.
    rate(&mut meter, 1000.0, true);
    meter.advance(SimTime::from_secs(360));
    rate(&mut meter, 10.0, false);
    meter.advance(SimTime::from_secs(7200));
    rate(&mut meter, 1000.0, true);
    meter.advance(SimTime::from_secs(7380));
    rate(&mut meter, 10.0, false);
    meter.advance(SimTime::from_secs(100_000));
    assert_eq!(meter.busy(), SimDuration::from_secs(540));
    assert!(
        (meter.busiest_hour_share() - 0.1).abs() < 1e-12,
        "{}",
        meter.busiest_hour_share()
    );
    // 540 of 100,000 s are at 1,000 B/s: less than 1%, more than 0.5%.
    assert!(
        (9.9..10.2).contains(&meter.exceeded_in(0.01)),
        "{}",
        meter.exceeded_in(0.01)
    );
    assert!(
        (999.0..1012.0).contains(&meter.exceeded_in(0.005)),
        "{}",
        meter.exceeded_in(0.005)
    );
}

#[test]
fn each_registry_has_its_own_peak_and_busy_time() {
    let mut meter = Meter::new(1, 2);
    let rates = |first: f64, is_busy: bool, second: f64| {
        [
            (BytesPerSec::new(first), is_busy),
            (BytesPerSec::new(second), !is_busy),
        ]
        .into_iter()
    };
    meter.set_egress(rates(100.0, true, 40.0));
    meter.advance(SimTime::from_secs(2));
    meter.set_egress(rates(10.0, false, 90.0));
    meter.advance(SimTime::from_secs(5));
    let of = |meter: &EgressMeter| (meter.peak() as u64, meter.busy());
    let seconds = SimDuration::from_secs;
    let found: Vec<_> = meter.registries().iter().map(of).collect();
    assert_eq!(found, [(100, seconds(2)), (90, seconds(3))]);
    // The peak of the sum is not the sum of the peaks.
    assert_eq!(
        (meter.egress_peaks().0 as u64, meter.busy()),
        (140, seconds(5))
    );
}

#[test]
fn a_peak_between_two_bin_edges_is_kept() {
    let mut meter = Meter::new(1, 1);
    meter.advance(SimTime::from_nanos(100));
    meter.pull_begins(true);
    meter.pull_begins(false);
    meter.advance(SimTime::from_nanos(200));
    meter.pull_ends(false);
    meter.advance(SimTime::from_secs(5));
    let pulls: Vec<u64> = meter.series().1.iter().map(|bin| bin.pulls).collect();
    assert_eq!(pulls, [2, 1, 1, 1, 1, 1]);
    assert_eq!((meter.pulls.peak(), meter.pulling_clusters.peak()), (2, 1));
}

#[test]
fn a_long_series_is_merged_without_losing_peaks_or_bytes() {
    let mut meter = Meter::new(1, 1);
    meter.set_egress([(BytesPerSec::new(8.0), false)].into_iter());
    meter.advance(SimTime::from_secs(7000));
    meter.pull_begins(true);
    meter.pull_ends(true);
    meter.advance(SimTime::from_secs(9000));
    let (bin, bins) = meter.series();
    assert_eq!(bin, SimDuration::from_secs(4));
    assert!(bins.len() <= MAX_BINS);
    assert_eq!(
        bins.iter().map(|bin| bin.egress_bytes as u64).sum::<u64>(),
        72_000
    );
    assert_eq!(bins[7000 / 4].pulls, 1);
}

#[test]
fn cluster_hours_count_only_unready_clusters() {
    use DeploymentPhase::{NotReady, Ready, Updating, Waiting};
    let mut meter = Meter::new(3, 1);
    meter.move_deployment(Waiting, Updating);
    meter.move_deployment(Waiting, NotReady);
    meter.advance(SimTime::from_secs(1800));
    meter.move_deployment(Updating, Ready);
    meter.advance(SimTime::from_secs(3600));
    // Two clusters are not ready for half an hour, then one for half an hour.
    assert!((meter.not_ready_hours() - 1.5).abs() < 1e-12);
    assert_eq!(meter.peak_not_ready(), 2);
}
