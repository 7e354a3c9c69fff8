//! What holds random rollouts back: the resource that is named first also saves most when each resource costs half of
//! its time, or the row says that it saturates, or that nothing stands out.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetsim::causes::{EventBudget, TriedVariant, causes};
use fleetsim::engine::Stop;
use fleetsim::results::{CauseRow, CauseVerdict, TrialKind};
use fleetsim::scenario::Variant;
use fleetsim::world::{FaultSpec, WorldSpec};

use super::strategies::Product;
use super::variant;

/// Number of random worlds.
const WORLDS: u64 = 300;
/// The largest share of the worlds that complete in which nothing is named, or what is named saturates.
const EXCEPTIONS_MAX: f64 = 0.2;

/// Two resources save the same by half if one saves this share of the other.
const AS_MUCH: f64 = 0.95;

/// What the trials of a world found.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Finding {
    /// A resource, alone or with others.
    Named,
    Saturates,
    NothingStandsOut,
    /// The rollout does not complete, whatever is named.
    Unfinished,
}

fn finding(rows: &[CauseRow]) -> Finding {
    let has = |verdict: CauseVerdict| rows.iter().any(|row| row.verdict == verdict);
    let completes = rows
        .iter()
        .any(|row| row.trial == TrialKind::Placebo && row.base_s.is_some());
    if !completes {
        Finding::Unfinished
    } else if has(CauseVerdict::First) {
        Finding::Named
    } else if has(CauseVerdict::Saturates) {
        Finding::Saturates
    } else {
        Finding::NothingStandsOut
    }
}

/// Removes the failures of a world. They differ between runs, so what they cost is seldom the same in six of six runs.
fn without_faults(mut variant: Variant) -> Variant {
    let mut world = WorldSpec::clone(&variant.scenario.world);
    world.faults = FaultSpec::default();
    variant.scenario.world = Arc::new(world);
    variant
}

/// Checks that the named resource saves most of all halved ones.
fn check_halved(seed: u64, rows: &[CauseRow]) {
    let Some(first) = rows.iter().find(|row| row.verdict == CauseVerdict::First) else {
        return;
    };
    let mut own = f64::NAN;
    let mut most = f64::NEG_INFINITY;
    for row in rows.iter().filter(|row| row.trial == TrialKind::Halved) {
        let saved = row.saved_s.unwrap_or(f64::INFINITY);
        most = most.max(saved);
        if row.resource == first.resource {
            own = saved;
        }
    }
    // What is there or not cannot be halved; neither are joint limits.
    assert!(
        own.is_nan() || own >= AS_MUCH * most,
        "seed {seed}: half of {} saves {own} s, and another {most} s",
        first.resource
    );
}

#[test]
fn the_named_resource_saves_most_by_half_too() {
    // One world after the other, because the trials of a world already use all threads: a thread that waits for trials
    // within a parallel iterator would begin another world on the same stack, and another within that one.
    let mut findings = Vec::new();
    for seed in 0..WORLDS {
        let product = Product::ALL[(seed % Product::ALL.len() as u64) as usize];
        let variant = without_faults(variant(seed, product));
        let mut budget = EventBudget::of_study(0);
        let tried = TriedVariant {
            variant: &variant,
            seed,
            run_events: 10_000,
            stop: Stop::default(),
        };
        let rows = causes(&tried, &mut budget).expect("no process is started");
        check_halved(seed, &rows);
        findings.push((seed, finding(&rows)));
    }
    let mut counts: BTreeMap<Finding, Vec<u64>> = BTreeMap::new();
    for (seed, finding) in findings {
        counts.entry(finding).or_default().push(seed);
    }
    let number = |finding: Finding| counts.get(&finding).map_or(0, Vec::len);
    let exceptions = number(Finding::Saturates) + number(Finding::NothingStandsOut);
    let complete = number(Finding::Named) + exceptions;
    assert!(complete >= 100, "most worlds complete: {counts:?}");
    assert!(
        exceptions as f64 <= EXCEPTIONS_MAX * complete as f64,
        "{exceptions} of {complete} worlds are exceptions: {counts:?}"
    );
}
