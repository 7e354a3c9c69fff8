//! Known pitfalls of solvers of this kind.

use super::check::unfairness;
use super::*;
use fleetsim_units::SimDuration;

#[test]
fn a_new_transfer_on_a_pinned_link_rebalances_the_full_link_above() {
    // Below an egress of 14, one link carries a transfer capped at 4, and another link of 10 carries a transfer that
    // fills it. Everything is pinned, and the egress is exactly full and has no follower. A second transfer on the
    // first link makes that link rise to its own 10; if everything stayed pinned, the egress would carry 20.
    let mut network = Network::new();
    let egress = network.add_link(None, rate(14.0));
    let [one, two] = [10.0, 10.0].map(|capacity| network.add_link(Some(egress), rate(capacity)));
    let first = network.start(SimTime::ZERO, one, bytes(100), cap(4.0));
    let second = network.start(SimTime::ZERO, two, bytes(100), None);
    assert_eq!(rates(&network, &[first, second]), [4.0, 10.0]);
    let third = network.start(SimTime::ZERO, one, bytes(100), None);
    // The capped transfer has 4 B/s, and the others (14 - 4) / 2 = 5.
    assert_eq!(rates(&network, &[first, second, third]), [4.0, 5.0, 5.0]);
}

#[test]
fn reducing_a_link_below_its_pinned_children_unpins_them() {
    let mut network = Network::new();
    let egress = network.add_link(None, rate(1000.0));
    let region = network.add_link(Some(egress), rate(100.0));
    let ids =
        [10.0, 20.0, 30.0].map(|most| network.start(SimTime::ZERO, region, bytes(100), cap(most)));
    assert_eq!(rates(&network, &ids), [10.0, 20.0, 30.0]);
    for (capacity, expected) in [
        (50.0, [10.0, 20.0, 20.0]), // (50 - 10) / 2
        (24.0, [8.0, 8.0, 8.0]),
        (0.0, [0.0, 0.0, 0.0]),
        (60.0, [10.0, 20.0, 30.0]), // just enough
    ] {
        network.set_capacity(SimTime::ZERO, region, rate(capacity));
        assert_eq!(rates(&network, &ids), expected, "{capacity} B/s");
    }
}

#[test]
fn an_infinite_level_is_compared_like_a_number() {
    // A link whose transfers are all pinned below it has an infinite level; the comparison for unpinning must not
    // involve a NaN there. Here the egress has no follower until an uncapped transfer starts and ends.
    let mut network = Network::new();
    let egress = network.add_link(None, rate(100.0));
    let down = network.add_link(Some(egress), rate(1e12));
    let capped = network.start(SimTime::ZERO, down, bytes(1000), cap(30.0));
    assert_eq!(rates(&network, &[capped]), [30.0]);
    let free = network.start(SimTime::ZERO, down, bytes(1000), None);
    assert_eq!(rates(&network, &[capped, free]), [30.0, 70.0]);
    network.cancel(SimTime::ZERO, free);
    network.set_capacity(SimTime::ZERO, egress, rate(20.0));
    assert_eq!(rates(&network, &[capped]), [20.0]);
    network.set_capacity(SimTime::ZERO, egress, rate(1e15));
    assert_eq!(rates(&network, &[capped]), [30.0]);
}

#[test]
fn simultaneous_completions_are_reported_by_link_then_by_start() {
    let mut network = Network::new();
    let egress = network.add_link(None, rate(120.0));
    let downs = [0; 4].map(|_| network.add_link(Some(egress), rate(50.0)));
    // The transfers are not started in the order of their links. All six run at 20 B/s and end at 3 s.
    let started = [3, 1, 2, 1, 0, 3].map(|down| {
        (
            downs[down],
            network.start(secs(0), downs[down], bytes(60), None),
        )
    });
    let mut expected = started;
    expected.sort_unstable();
    assert_eq!(
        run(&mut network),
        [(secs(3), expected.map(|(_, id)| id).to_vec())]
    );
}

#[test]
fn transfers_with_equal_caps_reach_the_fair_share_together() {
    // k transfers on links of 10 below (k - 1/2) · 10: with k of them the egress is the bottleneck, with k - 1 the
    // links are.
    let k = 50;
    let mut network = Network::new();
    let egress = network.add_link(None, rate((f64::from(k) - 0.5) * 10.0));
    let downs: Vec<_> = (0..k)
        .map(|_| network.add_link(Some(egress), rate(10.0)))
        .collect();
    let ids: Vec<_> = downs
        .iter()
        .map(|&down| network.start(secs(0), down, bytes(1000), None))
        .collect();
    let shared = rate((f64::from(k) - 0.5) * 10.0 / f64::from(k));
    assert!((network.rate(ids[0]).get() - shared.get()).abs() < 1e-9);
    network.cancel(secs(1), ids[7]);
    assert_eq!(network.rate(ids[0]), rate(10.0));
    let again = network.start(secs(2), downs[7], bytes(1000), None);
    assert!((network.rate(again).get() - shared.get()).abs() < 1e-9);
    assert_eq!(unfairness(&network), Vec::<String>::new());
}

#[test]
fn rounding_up_to_a_nanosecond_counts_no_byte_twice() {
    // At 3e9 B/s a nanosecond is 3 bytes. With consecutive one-byte transfers, each started when the previous one is
    // reported, three end in every nanosecond: not more (the rest of a nanosecond must not count twice) and not fewer
    // (it must not be lost).
    let mut network = Network::new();
    let link = network.add_link(None, rate(3e9));
    let (mut now, mut completed) = (SimTime::ZERO, Vec::new());
    for at in 1..=3000_u64 {
        network.start(now, link, bytes(1), None);
        now = network.next_completion().expect("it moves");
        assert_eq!(now, nanos(at.div_ceil(3)));
        network.advance(now, &mut completed);
        assert_eq!(completed.len() as u64, at);
    }
    // Frequent queries must not accumulate rounding: a transfer that is queried every 7 ns still ends on time.
    let disturbed = network.start(now, link, bytes(3_000_000), cap(1e9));
    for step in 1..400_000 {
        let other = network.start(
            now + SimDuration::from_nanos(7 * step),
            link,
            bytes(1 << 40),
            None,
        );
        network.cancel(now + SimDuration::from_nanos(7 * step + 3), other);
    }
    // 3e6 B / 1e9 B/s = 3 ms.
    assert_eq!(
        run(&mut network),
        [(now + SimDuration::from_millis(3), vec![disturbed])]
    );
}

#[test]
fn a_due_transfer_is_complete_even_when_another_call_comes_first() {
    let mut network = Network::new();
    let link = network.add_link(None, rate(7.0));
    let first = network.start(SimTime::ZERO, link, bytes(10), None);
    let due = network.next_completion().expect("it moves");
    // A transfer that is due in this nanosecond no longer has a share, even before it is reported.
    let second = network.start(due, link, bytes(7), None);
    assert_eq!(
        (network.active, network.rate(first), network.rate(second)),
        (1, BytesPerSec::ZERO, rate(7.0))
    );
    assert_eq!(
        network.next_completion(),
        Some(due),
        "the first is still to be reported"
    );
    let mut completed = Vec::new();
    network.advance(due, &mut completed);
    assert_eq!(completed, [first]);
    assert_eq!(
        network.next_completion(),
        Some(due + SimDuration::from_secs(1))
    );
}

#[test]
fn the_clock_keeps_its_precision_in_a_run_without_pauses() {
    // For ten years, up to 3e18 bytes pass through one clock that never stops; then a small transfer starts at 1 kB/s.
    // A clock with such a reading could not resolve 512 bytes, which take half a second here.
    for (egress_rate, down_rate, downs, whose) in [
        (
            10e9,
            20e9,
            1,
            "the root's, under a link that always carries something",
        ),
        (
            10e9,
            20e9,
            2,
            "the root's, under links that carry nothing when the next transfer starts",
        ),
        (20e9, 10e9, 1, "the downlink's class's"),
    ] {
        let mut network = Network::new();
        let egress = network.add_link(None, rate(egress_rate));
        let downs: Vec<_> = (0..downs)
            .map(|_| network.add_link(Some(egress), rate(down_rate)))
            .collect();
        let (mut now, mut completed) = (SimTime::ZERO, Vec::new());
        for day in 0..3650 {
            network.start(
                now,
                downs[day % downs.len()],
                bytes(864_000_000_000_000 + 1_000_000_000),
                None,
            );
            now = now + SimDuration::from_hours(24);
            network.advance(now, &mut completed);
        }
        assert!(network.active >= 1, "each evening a gigabyte is left");
        let share = rate(1000.0 * (network.active + 1) as f64);
        network.set_capacity(
            now,
            if egress_rate < down_rate {
                egress
            } else {
                downs[0]
            },
            share,
        );
        let small = network.start(now, downs[0], bytes(12_345), None);
        completed.clear();
        while !completed.contains(&small) {
            now = network.next_completion().expect("the small one moves");
            network.advance(now, &mut completed);
        }
        // 12,345 B / 1 kB/s = 12.345 s.
        assert_eq!(
            now.as_nanos() - 3650 * 86_400_000_000_000,
            12_345_000_000,
            "the clock is {whose}"
        );
    }
}

#[test]
fn setting_a_clock_back_does_not_shift_completions() {
    // Two downlinks share 2 GB/s. One carries a transfer of ten days, the other consecutive transfers of one hour;
    // when they start, the egress's clock, which both follow, is set back repeatedly.
    let mut network = Network::new();
    let egress = network.add_link(None, rate(2e9));
    let [one, other] = [5e9, 5e9].map(|capacity| network.add_link(Some(egress), rate(capacity)));
    let hour = SimDuration::from_hours(1);
    let long = network.start(SimTime::ZERO, one, bytes(240 * 3_600_000_000_000), None);
    let (mut now, mut completed) = (SimTime::ZERO, Vec::new());
    for _ in 0..240 {
        let short = network.start(now, other, bytes(3_600_000_000_000), None);
        assert_eq!(rates(&network, &[long, short]), [1e9, 1e9]);
        now = now + hour;
        assert_eq!(network.next_completion(), Some(now));
        completed.clear();
        network.advance(now, &mut completed);
        assert!(completed.contains(&short));
    }
    assert!(completed.contains(&long), "240 h after its start");
}
