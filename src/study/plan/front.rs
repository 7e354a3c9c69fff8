//! The Pareto front of a search with a number of tries: the tried settings that no other setting beats in time, load
//! and exposure combined.
//!
//! All settings have the same first replicates, so their medians are paired. Values within about 1% of each other
//! count as equal, and among equal settings only the one that was tried first is on the front.
//!
//! Left out: the confidence that a setting is on the front. The front is based on [`FIRST_RUNS`] runs.

use super::{PlannedExperiment, StrategyRace};
use crate::results::{Candidate, FrontPlace, LoadAxis, Measure, MeasuredStatistic, RunRow};
use crate::scenario::FIRST_RUNS;

/// The measures that the front compares.
#[derive(Clone, Copy)]
pub(super) struct FrontMeasures {
    time: MeasuredStatistic,
    load: Measure,
    /// The measure of exposure, which is the number of targets at risk.
    pub(super) exposure: Measure,
}

impl FrontMeasures {
    /// Chooses the time and the load of the plan. The exposure is the number of targets that receive a defective
    /// release or, without a defect, the number of clusters that are not ready at the same time.
    pub(super) fn of(time: MeasuredStatistic, load: &LoadAxis, races: &[StrategyRace]) -> Self {
        let mut runs = races.iter().flat_map(|race| &race.runs).flatten();
        let exposure = if runs.any(|row| row.exposed_targets > 0) {
            Measure::ExposedTargets
        } else {
            Measure::PeakNotReady
        };
        Self {
            time,
            load: load.measure,
            exposure,
        }
    }

    /// Returns the point of a setting before it is compared with others. `is_present`: it is the current setting.
    pub(super) fn place(
        self,
        task: PlannedExperiment<'_>,
        rows: &[RunRow],
        is_present: bool,
    ) -> FrontPlace {
        let rows = &rows[..rows.len().min(FIRST_RUNS)];
        let is_done = rows.iter().all(|row| task.value(row).is_finite());
        let time = self.time.of(rows);
        FrontPlace {
            time: (is_done && time.is_finite()).then_some(time),
            load: MeasuredStatistic::median(self.load).of(rows),
            exposure: MeasuredStatistic::median(self.exposure).of(rows),
            is_optimal: false,
            is_present,
        }
    }
}

/// A setting's time, load and exposure, in steps of about 1%.
pub(super) type FrontSteps = [i64; 3];

/// Marks the candidates that are on the front of their world.
pub(super) fn mark(candidates: &mut [Candidate]) {
    let mut points = Vec::new();
    for candidate in &*candidates {
        points.push(candidate.front.as_ref().and_then(steps));
    }
    for (candidate, is_optimal) in candidates.iter_mut().zip(optimal(&points)) {
        if let Some(front) = &mut candidate.front {
            front.is_optimal = is_optimal;
        }
    }
}

/// Returns the measures of a setting in steps. `None`: at least one run did not finish.
pub(super) fn steps(place: &FrontPlace) -> Option<FrontSteps> {
    Some([step(place.time?), step(place.load), step(place.exposure)])
}

/// Returns the index of the step of about 1% that contains a value.
fn step(value: f64) -> i64 {
    (100.0 * libm::log(value.max(1e-3))).round() as i64
}

/// Returns whether each point is on the front: no other point is at most as large in all measures and smaller in one.
/// Of equal points, only the first is on the front.
pub(super) fn optimal(points: &[Option<FrontSteps>]) -> Vec<bool> {
    let mut order: Vec<(FrontSteps, usize)> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        if let Some(point) = point {
            order.push((*point, at));
        }
    }
    // A point that dominates another one is sorted before it.
    order.sort_unstable();
    let mut front: Vec<FrontSteps> = Vec::new();
    let mut is_optimal = vec![false; points.len()];
    for (point, at) in order {
        let is_dominated = front.iter().any(|other| is_at_most(other, &point));
        if !is_dominated {
            front.push(point);
            is_optimal[at] = true;
        }
    }
    is_optimal
}

/// Returns whether a point is at most as large as another one in all measures.
fn is_at_most(point: &FrontSteps, other: &FrontSteps) -> bool {
    point.iter().zip(other).all(|(a, b)| a <= b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Streams, dist};

    #[test]
    fn the_pareto_front_follows_its_definition() {
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
