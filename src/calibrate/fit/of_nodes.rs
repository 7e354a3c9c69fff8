//! Intervals of medians and of fitted parameters, from resampled nodes.

use super::Measurements;
use super::distance::MOST_RESAMPLED;
use super::family::FittedLaw;
use crate::calibrate::by_node::NodeDraws;
use crate::stats::{self, Interval};

/// Samples of the measured values, each from nodes that were drawn with replacement.
pub(super) struct ResampledNodes {
    /// `None`: the nodes are unknown, or there is only one.
    nodes: Option<NodeDraws>,
    /// The values of each draw, in ascending order.
    samples: Vec<Vec<f64>>,
}

/// The 95% intervals of the parameters of a fitted distribution. `None`: the nodes give no interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ParameterIntervals {
    pub(super) size: Option<Interval>,
    pub(super) shape: Option<Interval>,
}

impl ResampledNodes {
    /// Resamples the nodes of these measurements. Of many values, each n-th one is used.
    pub(super) fn of(measured: &Measurements, resamples: u32, seed: u64) -> Self {
        let step = measured.values.len().div_ceil(MOST_RESAMPLED).max(1);
        let values: Vec<f64> = measured.values.iter().copied().step_by(step).collect();
        let nodes: Vec<String> = measured.nodes.iter().step_by(step).cloned().collect();
        let nodes = NodeDraws::of(&nodes, resamples, seed);
        let mut samples = Vec::new();
        if let Some(nodes) = &nodes {
            for draw in nodes.draws() {
                let mut sample: Vec<f64> = draw.into_iter().map(|at| values[at]).collect();
                sample.sort_by(f64::total_cmp);
                samples.push(sample);
            }
        }
        Self { nodes, samples }
    }

    /// Returns the 95% interval of the median. `sorted`: the measured values in ascending order.
    pub(super) fn median_interval(&self, sorted: &[f64]) -> Option<Interval> {
        let median = stats::quantile_of_sorted(sorted, 0.5)?;
        let mut medians = Vec::with_capacity(self.samples.len());
        for sample in &self.samples {
            medians.extend(stats::quantile_of_sorted(sample, 0.5));
        }
        self.interval(median, &medians)
    }

    /// Returns the 95% intervals of the parameters of a distribution that was fitted to all values.
    pub(super) fn parameter_intervals(&self, law: &FittedLaw) -> ParameterIntervals {
        let mut sizes = Vec::with_capacity(self.samples.len());
        let mut shapes = Vec::with_capacity(self.samples.len());
        for sample in &self.samples {
            if let Some(refitted) = law.family.fit(sample) {
                sizes.push(refitted.size);
                shapes.push(refitted.shape);
            }
        }
        ParameterIntervals {
            size: self.interval(law.size, &sizes),
            shape: self.interval(law.shape, &shapes),
        }
    }

    /// Returns the interval of a positive quantity.
    fn interval(&self, estimate: f64, drawn: &[f64]) -> Option<Interval> {
        let interval = self.nodes.as_ref()?.interval(estimate, drawn)?;
        Some(Interval {
            low: interval.low.max(0.0),
            ..interval
        })
    }
}
