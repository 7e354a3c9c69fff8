//! The front of a search within a number of tries: of the settings that were tried, those that no other beats in time,
//! load and exposure together.
//!
//! All have the same first replicates, so their medians are compared in pairs, as it were. Values within about 1% of
//! each other count as equal, and of equal settings the one that was tried first is on the front.
//!
//! Left out: how certain it is that a setting is on the front. It rests on [`FIRST_RUNS`] runs.

use super::{Heat, Plan};
use crate::results::{Candidate, FrontPlace, LoadAxis, Measure, RunRow, Statistic};
use crate::scenario::FIRST_RUNS;

/// The measures of the front.
#[derive(Clone, Copy)]
pub(super) struct FrontMeasures {
    time: (&'static Measure, Statistic),
    load: &'static Measure,
    pub(super) exposure: &'static Measure,
}

impl FrontMeasures {
    /// The time and the load of the plan, and as exposure the targets that receive a defective release. Without a
    /// defect, the clusters that are not ready at the same time.
    pub(super) fn of(time: (&'static Measure, Statistic), load: &LoadAxis, heats: &[Heat]) -> Self {
        let mut runs = heats.iter().flat_map(|heat| &heat.runs).flatten();
        let exposure = if runs.any(|row| row.exposed_targets > 0) {
            "exposed_targets"
        } else {
            "peak_not_ready"
        };
        let named = |name: &str| Measure::named(name).expect("a measure of the table");
        Self {
            time,
            load: named(&load.measure),
            exposure: named(exposure),
        }
    }

    /// The place of a setting, before it is compared with the others. `is_present`: it is the setting as it stands.
    pub(super) fn place(self, plan: &Plan, rows: &[RunRow], is_present: bool) -> FrontPlace {
        let rows = &rows[..rows.len().min(FIRST_RUNS)];
        let median = |measure: &Measure, over: Statistic| {
            let values: Vec<f64> = rows
                .iter()
                .map(|row| (measure.of)(row).unwrap_or(f64::INFINITY))
                .collect();
            over.of(&values)
        };
        let (time, over) = self.time;
        let is_done = rows.iter().all(|row| super::value(plan, row).is_finite());
        FrontPlace {
            time: Some(median(time, over)).filter(|time| is_done && time.is_finite()),
            load: median(self.load, Statistic::Quantile(0.5)),
            exposure: median(self.exposure, Statistic::Quantile(0.5)),
            is_optimal: false,
            is_present,
        }
    }
}

/// Marks the candidates of a world that are on its front.
pub(super) fn mark(candidates: &mut [Candidate]) {
    let steps: Vec<Option<[i64; 3]>> = candidates
        .iter()
        .map(|candidate| candidate.front.as_ref().and_then(steps))
        .collect();
    for (candidate, is_optimal) in candidates.iter_mut().zip(optimal(&steps)) {
        if let Some(front) = &mut candidate.front {
            front.is_optimal = is_optimal;
        }
    }
}

/// The three measures in steps of about 1%. `None`: some run did not finish.
pub(super) fn steps(place: &FrontPlace) -> Option<[i64; 3]> {
    let step = |value: f64| (100.0 * libm::log(value.max(1e-3))).round() as i64;
    Some([step(place.time?), step(place.load), step(place.exposure)])
}

/// Whether each point is on the front: no other is at most as large in all measures and smaller in one. Of equal points
/// only the first is.
pub(super) fn optimal(points: &[Option<[i64; 3]>]) -> Vec<bool> {
    let mut order: Vec<(usize, [i64; 3])> = points
        .iter()
        .enumerate()
        .filter_map(|(at, point)| Some((at, (*point)?)))
        .collect();
    // Whatever dominates a point comes before it.
    order.sort_by_key(|(at, point)| (*point, *at));
    let mut front: Vec<[i64; 3]> = Vec::new();
    let mut is_optimal = vec![false; points.len()];
    for (at, point) in order {
        if !front
            .iter()
            .any(|better| better.iter().zip(&point).all(|(a, b)| a <= b))
        {
            front.push(point);
            is_optimal[at] = true;
        }
    }
    is_optimal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Streams, dist};

    #[test]
    fn the_front_is_that_of_the_definition() {
        for seed in 0..300 {
            let mut stream = Streams::new(seed, 0).stream_nth("front", "points", 0);
            let mut draw = || (dist::unit(&mut stream) * 6.0) as i64;
            let points: Vec<Option<[i64; 3]>> = (0..40)
                .map(|_| (draw() > 0).then(|| [draw(), draw(), draw()]))
                .collect();
            let beats = |a: [i64; 3], b: [i64; 3]| a != b && (0..3).all(|k| a[k] <= b[k]);
            let naive = (0..40).map(|at| {
                let Some(own) = points[at] else { return false };
                let is_first = points[..at].iter().all(|other| *other != Some(own));
                is_first && points.iter().flatten().all(|other| !beats(*other, own))
            });
            assert_eq!(optimal(&points), naive.collect::<Vec<_>>(), "seed {seed}");
        }
    }

    #[test]
    fn values_within_one_percent_are_equal() {
        let place = |time: f64, load: f64| FrontPlace {
            time: Some(time),
            load,
            exposure: 0.0,
            is_optimal: false,
            is_present: false,
        };
        let marked = |places: &[FrontPlace]| optimal(&places.iter().map(steps).collect::<Vec<_>>());
        assert_eq!(
            marked(&[place(1000.0, 50.0), place(1001.0, 50.0)]),
            [true, false],
            "equal, and tried later"
        );
        assert_eq!(
            marked(&[place(1000.0, 50.0), place(1100.0, 40.0)]),
            [true, true]
        );
        assert_eq!(
            marked(&[place(1000.0, 50.0), place(900.0, 50.0)]),
            [false, true]
        );
    }
}
