//! Fits non-negative parameters by least squares of relative errors.
//!
//! The data are medians over the pulls of each image, so that a slow node does not distort the fit. The errors are
//! relative, because a pull of a second and a pull of a minute are equally informative. The pipeline is linear while
//! its critical paths stay the same, so each step solves a linear problem (Gauss-Newton), with halved steps as a
//! safeguard. The intervals are Student's t intervals of that linear problem; [`RateProblem::widened`] widens them if
//! the nodes differ.

use super::pipeline::{
    CriticalPath, LayerBytes, PARAMETERS, Parameters, RequestTimes, critical_path,
};
use crate::calibrate::by_node::{self, NodeDraws};
use crate::stats::{self, Interval, t_quantile};

/// Pulls of one image by nodes that lacked the same layers.
#[derive(Clone, Debug)]
pub(super) struct PullGroup {
    pub(super) image: String,
    pub(super) layers: Vec<LayerBytes>,
    pub(super) pulls: Vec<TimedPull>,
    /// The median duration in seconds.
    pub(super) median: f64,
}

/// A pull and its duration.
#[derive(Clone, Debug)]
pub(super) struct TimedPull {
    pub(super) seconds: f64,
    pub(super) node: String,
}

impl PullGroup {
    /// Creates a group. `None`: its median duration is not above 0.
    pub(super) fn of(
        image: String,
        layers: Vec<LayerBytes>,
        pulls: Vec<TimedPull>,
    ) -> Option<Self> {
        let durations: Vec<f64> = pulls.iter().map(|pull| pull.seconds).collect();
        let median = stats::median(&durations).filter(|median| *median > 0.0)?;
        Some(Self {
            image,
            layers,
            pulls,
            median,
        })
    }

    /// Returns the durations of the pulls in seconds.
    pub(super) fn durations(&self) -> Vec<f64> {
        self.pulls.iter().map(|pull| pull.seconds).collect()
    }
}

/// The pulls to fit, and the fitted and fixed parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateProblem<'g> {
    pub(super) groups: &'g [PullGroup],
    pub(super) requests: RequestTimes,
    /// Whether each parameter is fitted. Other parameters keep their initial values.
    pub(super) free: [bool; PARAMETERS],
    pub(super) start: Parameters,
    pub(super) knee: Option<f64>,
}

/// The result of a fit.
#[derive(Clone, Debug)]
pub(super) struct RateSolution {
    pub(super) at: Parameters,
    /// The 95% interval of each fitted parameter.
    pub(super) intervals: [Option<Interval>; PARAMETERS],
    /// The sum of squared relative errors.
    squares: f64,
    /// The Bayesian information criterion (BIC, by Schwarz); smaller is better.
    pub(super) bic: f64,
}

/// The normal equations of a linear problem.
struct LinearProblem {
    matrix: Vec<Vec<f64>>,
    right: Vec<f64>,
}

/// A pull and the index of its group.
#[derive(Clone, Copy, Debug)]
struct GroupPull<'g> {
    group: usize,
    pull: &'g TimedPull,
}

/// The estimated variance of a relative error.
struct ErrorVariance {
    variance: f64,
    /// The degrees of freedom of the estimate.
    degrees: u32,
}

impl RateProblem<'_> {
    fn path(&self, at: &Parameters, group: &PullGroup) -> CriticalPath {
        critical_path(at, &group.layers, self.requests, self.knee)
    }

    fn indices(&self) -> Vec<usize> {
        (0..PARAMETERS).filter(|at| self.free[*at]).collect()
    }

    fn squares(&self, at: &Parameters) -> f64 {
        let mut squares = 0.0;
        for group in self.groups {
            let error = self.path(at, group).length / group.median - 1.0;
            squares += error * error;
        }
        squares
    }

    /// Returns the weighted linear problem at these parameters.
    fn linear(&self, at: &Parameters, free: &[usize]) -> LinearProblem {
        let size = free.len();
        let mut matrix = vec![vec![0.0; size]; size];
        let mut right = vec![0.0; size];
        for group in self.groups {
            let CriticalPath { length, counts } = self.path(at, group);
            let of_free: f64 = free.iter().map(|index| at[*index] * counts[*index]).sum();
            let weight = 1.0 / group.median;
            // The part of the duration that fixed parameters and known requests do not explain.
            let wanted = (group.median - (length - of_free)) * weight;
            for (row, i) in free.iter().enumerate() {
                right[row] += counts[*i] * weight * wanted;
                for (column, j) in free.iter().enumerate() {
                    matrix[row][column] += counts[*i] * counts[*j] * weight * weight;
                }
            }
        }
        LinearProblem { matrix, right }
    }

    /// Returns the best parameters. `None`: the data do not determine them.
    pub(super) fn solve(&self) -> Option<RateSolution> {
        let mut at = self.start;
        let mut squares = self.squares(&at);
        for _ in 0..200 {
            let Some(target) = self.step(&at) else { break };
            let Some(next) = self.towards(&at, &target, squares) else {
                break;
            };
            let reached = self.squares(&next);
            let is_done = (squares - reached) <= 1e-12 * squares;
            at = next;
            squares = reached;
            if is_done {
                break;
            }
        }
        self.solution(at, squares)
    }

    /// Returns the intervals of a solution, widened so that they allow for differences between nodes. Nodes are
    /// resampled and the same parameters are fitted again.
    pub(super) fn widened(
        &self,
        solution: &RateSolution,
        resamples: u32,
        seed: u64,
    ) -> [Option<Interval>; PARAMETERS] {
        let mut pulls = Vec::new();
        let mut nodes = Vec::new();
        for (group, of_group) in self.groups.iter().enumerate() {
            for pull in &of_group.pulls {
                pulls.push(GroupPull { group, pull });
                nodes.push(pull.node.clone());
            }
        }
        let Some(nodes) = NodeDraws::of(&nodes, resamples, seed) else {
            return solution.intervals;
        };
        let mut drawn = vec![Vec::new(); PARAMETERS];
        for draw in nodes.draws() {
            let of_draw: Vec<GroupPull<'_>> = draw.into_iter().map(|at| pulls[at]).collect();
            // Without some of the images, the draw may not determine all parameters.
            let Some(refitted) = self.refitted(&self.regrouped(&of_draw), solution) else {
                continue;
            };
            for (values, value) in drawn.iter_mut().zip(refitted.at) {
                values.push(value);
            }
        }
        let mut intervals = solution.intervals;
        for index in self.indices() {
            let of_nodes = nodes.interval(solution.at[index], &drawn[index]);
            let wider = by_node::wider(of_nodes, intervals[index]);
            intervals[index] = wider.map(|interval| Interval {
                low: interval.low.max(0.0),
                ..interval
            });
        }
        intervals
    }

    /// Fits the parameters of a solution to other groups.
    fn refitted(&self, groups: &[PullGroup], solution: &RateSolution) -> Option<RateSolution> {
        let refit = RateProblem {
            groups,
            start: solution.at,
            ..*self
        };
        refit.solve()
    }

    /// Returns the groups of these pulls.
    fn regrouped(&self, pulls: &[GroupPull<'_>]) -> Vec<PullGroup> {
        let mut of_groups = vec![Vec::new(); self.groups.len()];
        for of_group in pulls {
            of_groups[of_group.group].push(of_group.pull.clone());
        }
        let mut groups = Vec::new();
        for (group, pulls) in self.groups.iter().zip(of_groups) {
            groups.extend(PullGroup::of(
                group.image.clone(),
                group.layers.clone(),
                pulls,
            ));
        }
        groups
    }

    /// Returns parameters between `at` and `target` whose sum of squares is at most `most`: at the full step, at half
    /// of it, at a quarter and so on. `None`: there are none.
    fn towards(&self, at: &Parameters, target: &Parameters, most: f64) -> Option<Parameters> {
        let mut share = 1.0;
        while share > 1e-6 {
            let mut next = *at;
            for (value, to) in next.iter_mut().zip(target) {
                *value += share * (to - *value);
            }
            if self.squares(&next) <= most * (1.0 + 1e-12) {
                return Some(next);
            }
            share /= 2.0;
        }
        None
    }

    /// Returns the solution of the linear problem at `at` without negative parameters. The most negative one is set to
    /// 0, and the others are solved again.
    fn step(&self, at: &Parameters) -> Option<Parameters> {
        let mut free = self.indices();
        loop {
            let mut start = *at;
            for index in self.indices() {
                if !free.contains(&index) {
                    start[index] = 0.0;
                }
            }
            let solved = solve_linear(self.linear(&start, &free))?;
            let Some(worst) = self.most_negative(&free, &solved) else {
                for (index, value) in free.iter().zip(solved) {
                    start[*index] = value;
                }
                return Some(start);
            };
            free.remove(worst);
            if free.is_empty() {
                return None;
            }
        }
    }

    /// Returns the index in `free` of the most negative parameter, relative to its initial value. `None`: no parameter
    /// is negative.
    fn most_negative(&self, free: &[usize], solved: &[f64]) -> Option<usize> {
        let mut worst = None;
        let mut least = 0.0;
        for (place, (index, value)) in free.iter().zip(solved).enumerate() {
            let scaled = value * self.start[*index].max(1e-30).recip();
            if *value < 0.0 && (worst.is_none() || scaled < least) {
                worst = Some(place);
                least = scaled;
            }
        }
        worst
    }

    fn solution(&self, at: Parameters, squares: f64) -> Option<RateSolution> {
        let free = self.indices();
        let n = self.groups.len();
        let inverse = inverse(&self.linear(&at, &free).matrix)?;
        let ErrorVariance { variance, degrees } = self.variance(squares, free.len())?;
        let quantile = t_quantile(0.975, degrees);
        let mut intervals = [None; PARAMETERS];
        for (row, index) in free.iter().enumerate() {
            let half = quantile * (variance * inverse[row][row]).max(0.0).sqrt();
            intervals[*index] = Some(Interval {
                estimate: at[*index],
                low: (at[*index] - half).max(0.0),
                high: at[*index] + half,
            });
        }
        // Without this minimum, a perfect fit would have an infinite criterion.
        let mean = (squares / n as f64).max(1e-12);
        let knee = f64::from(u8::from(self.knee.is_some()));
        let bic = n as f64 * libm::log(mean) + (free.len() as f64 + knee) * libm::log(n as f64);
        Some(RateSolution {
            at,
            intervals,
            squares,
            bic,
        })
    }

    /// Returns the variance of the relative error of a median, and its degrees of freedom. It is estimated from the
    /// errors of the fit or, if there are as many parameters as images, from the pulls of each image.
    fn variance(&self, squares: f64, parameters: usize) -> Option<ErrorVariance> {
        if self.groups.len() > parameters {
            let degrees = self.groups.len() - parameters;
            return Some(ErrorVariance {
                variance: squares / degrees as f64,
                degrees: u32::try_from(degrees).ok()?,
            });
        }
        let mut sum = 0.0;
        let mut degrees = 0_usize;
        let mut weight = 0.0;
        for group in self.groups {
            for pull in &group.pulls {
                let error = pull.seconds / group.median - 1.0;
                sum += error * error;
            }
            degrees += group.pulls.len() - 1;
            weight += group.pulls.len() as f64;
        }
        if degrees == 0 {
            return None;
        }
        // The variance of a median is π/2 times the variance of a mean.
        let of_median = std::f64::consts::FRAC_PI_2 * self.groups.len() as f64 / weight;
        Some(ErrorVariance {
            variance: sum / degrees as f64 * of_median,
            degrees: u32::try_from(degrees).ok()?,
        })
    }
}

impl RateSolution {
    /// Returns whether this fit, which has additional parameters, is better than another one by more than chance.
    pub(super) fn beats(&self, other: &Self) -> bool {
        // Kass, Raftery, "Bayes factors", JASA 90 (1995): a difference above 10 is very strong evidence.
        self.bic < other.bic - 10.0 && self.squares < other.squares
    }
}

/// Solves a linear system by elimination with pivoting. Columns are scaled first, because the parameters' units differ
/// by ten orders of magnitude. `None`: the system is singular.
fn solve_linear(problem: LinearProblem) -> Option<Vec<f64>> {
    let LinearProblem {
        mut matrix,
        mut right,
    } = problem;
    let size = right.len();
    let scale: Vec<f64> = (0..size).map(|at| matrix[at][at].sqrt()).collect();
    for scale in &scale {
        if !(scale.is_finite() && *scale > 0.0) {
            return None;
        }
    }
    for row in 0..size {
        for column in 0..size {
            matrix[row][column] /= scale[row] * scale[column];
        }
        right[row] /= scale[row];
    }
    for at in 0..size {
        let pivot =
            (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        // Columns that are this close to each other cannot be distinguished.
        if matrix[pivot][at].abs() < 1e-9 {
            return None;
        }
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        let (above, below) = matrix.split_at_mut(at + 1);
        for (row, values) in (at + 1..).zip(below) {
            let factor = values[at] / above[at][at];
            for (value, pivot) in values[at..].iter_mut().zip(&above[at][at..]) {
                *value -= factor * pivot;
            }
            right[row] -= factor * right[at];
        }
    }
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size)
            .map(|column| matrix[at][column] * right[column])
            .sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    for (value, scale) in right.iter_mut().zip(scale) {
        *value /= scale;
    }
    Some(right)
}

/// Returns the columns of the inverse of a symmetric matrix, which equal its rows.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut columns = Vec::with_capacity(size);
    for at in 0..size {
        let mut unit = vec![0.0; size];
        unit[at] = 1.0;
        columns.push(solve_linear(LinearProblem {
            matrix: matrix.to_vec(),
            right: unit,
        })?);
    }
    Some(columns)
}
