//! Intervals that allow for differences between nodes: nodes are resampled, not single values.
//!
//! The pulls and starts of one node are correlated, because a node is fast or slow as a whole. An interval that treats
//! each of them as new evidence is too narrow. So whole nodes are drawn with replacement, and the estimate is computed
//! from each draw (cluster bootstrap; Davison, Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8).
//!
//! With few nodes, the percentiles of these estimates are still too narrow. The interval is therefore Student's: the
//! estimate plus and minus t standard errors, with one degree of freedom less than there are nodes. The standard error
//! is that of the estimates, times √(n / (n - 1)) because a draw of n nodes varies less than n new nodes.
//!
//! Left out: what nodes have in common, such as their registry or the hour of the day. Other clusters may differ by
//! more.

use std::collections::BTreeMap;

use crate::stats::{Indices, Interval, sample_sd, t_quantile};

/// The values of each node, which are drawn together.
#[derive(Clone, Debug)]
pub(super) struct NodeDraws {
    /// The indices of each node's values.
    of_nodes: Vec<Vec<usize>>,
    resamples: u32,
    seed: u64,
}

impl NodeDraws {
    /// Creates draws of values with these nodes. `None`: the values are from fewer than two nodes.
    pub(super) fn of(nodes: &[String], resamples: u32, seed: u64) -> Option<Self> {
        let mut of_nodes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate() {
            of_nodes.entry(node).or_default().push(at);
        }
        (of_nodes.len() >= 2).then(|| Self {
            of_nodes: of_nodes.into_values().collect(),
            resamples,
            seed,
        })
    }

    /// Returns the indices of the values of each draw.
    pub(super) fn draws(&self) -> impl Iterator<Item = Vec<usize>> {
        let mut random = Indices::new(self.seed);
        (0..self.resamples).map(move |_| self.draw(&mut random))
    }

    fn draw(&self, random: &mut Indices) -> Vec<usize> {
        let mut draw = Vec::new();
        for _ in 0..self.of_nodes.len() {
            draw.extend(&self.of_nodes[random.below(self.of_nodes.len())]);
        }
        draw
    }

    /// Returns the 95% interval of an estimate. `drawn`: its values in the draws. `None`: there are too few of them.
    pub(super) fn interval(&self, estimate: f64, drawn: &[f64]) -> Option<Interval> {
        let nodes = self.of_nodes.len() as f64;
        let degrees = u32::try_from(self.of_nodes.len() - 1).ok()?;
        let error = sample_sd(drawn)? * (nodes / (nodes - 1.0)).sqrt();
        let half = t_quantile(0.975, degrees) * error;
        Some(Interval {
            estimate,
            low: estimate - half,
            high: estimate + half,
        })
    }
}

/// Returns an interval that holds both: the one that allows for differences between nodes, and the one that does not.
/// A few nodes may be alike by chance.
pub(super) fn wider(of_nodes: Option<Interval>, of_values: Option<Interval>) -> Option<Interval> {
    match (of_nodes, of_values) {
        (Some(a), Some(b)) => Some(Interval {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
            ..a
        }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(nodes: &[&str]) -> Vec<String> {
        nodes.iter().map(|node| (*node).to_owned()).collect()
    }

    #[test]
    fn a_draw_has_all_values_of_each_drawn_node() {
        let nodes = NodeDraws::of(&named(&["a", "b", "a", "c"]), 50, 1).expect("three nodes");
        let mut has_left_one_out = false;
        for draw in nodes.draws() {
            let count = |value: usize| draw.iter().filter(|at| **at == value).count();
            assert_eq!(count(0), count(2), "both values of node a: {draw:?}");
            assert_eq!(count(0) + count(1) + count(3), 3, "three nodes: {draw:?}");
            has_left_one_out |= count(1) == 0;
        }
        assert!(has_left_one_out, "nodes are drawn with replacement");
        assert!(NodeDraws::of(&named(&["a", "a"]), 50, 1).is_none());
    }

    #[test]
    fn the_interval_is_students_with_one_degree_less_than_nodes() {
        let nodes = NodeDraws::of(&named(&["a", "b", "c", "d"]), 20, 1).expect("four nodes");
        let found = nodes.interval(10.0, &[9.0, 11.0]).expect("two draws");
        // Their standard deviation is √2; √(4 / 3) corrects it; Student's quantile with 3 degrees of freedom is 3.1824.
        let half = 3.182_446 * 2_f64.sqrt() * (4.0_f64 / 3.0).sqrt();
        assert!(
            (found.low - (10.0 - half)).abs() < 1e-5 && (found.high - (10.0 + half)).abs() < 1e-5,
            "{found:?}"
        );
        assert!(nodes.interval(10.0, &[9.0]).is_none());
    }
}
