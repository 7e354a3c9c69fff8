//! Parameters that are not negative, by least squares of relative errors.
//!
//! The data are medians over the pulls of each image, so that a slow node does not bend the fit; the errors are
//! relative, as a pull of a second and one of a minute are equally informative. The pipeline is linear while its
//! critical paths stay the same, so each step solves a linear problem (Gauss and Newton), with halved steps as the
//! safeguard. The intervals are Student's, of that linear problem.

use super::pipeline::{LayerBytes, PARAMETERS, Parameters, RequestTimes, duration};
use crate::stats::t_quantile;

/// The pulls of one image on nodes that lacked the same layers.
#[derive(Clone, Debug)]
pub(super) struct PullGroup {
    pub(super) image: String,
    pub(super) layers: Vec<LayerBytes>,
    /// Durations in seconds.
    pub(super) durations: Vec<f64>,
    pub(super) median: f64,
}

/// The pulls to fit, with the parameters that are fitted and those that are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateProblem<'g> {
    pub(super) groups: &'g [PullGroup],
    pub(super) requests: RequestTimes,
    /// Which parameters are fitted; the others keep their start.
    pub(super) free: [bool; PARAMETERS],
    pub(super) start: Parameters,
    pub(super) knee: Option<f64>,
}

/// A fit.
#[derive(Clone, Debug)]
pub(super) struct RateSolution {
    pub(super) at: Parameters,
    /// 95% interval of each free parameter.
    pub(super) intervals: [Option<(f64, f64)>; PARAMETERS],
    /// Sum of squared relative errors.
    squares: f64,
    /// Schwarz' criterion: the less, the better.
    pub(super) bic: f64,
}

impl RateProblem<'_> {
    fn indices(&self) -> Vec<usize> {
        (0..PARAMETERS).filter(|at| self.free[*at]).collect()
    }

    fn squares(&self, at: &Parameters) -> f64 {
        let error = |group: &PullGroup| {
            duration(at, &group.layers, self.requests, self.knee).0 / group.median - 1.0
        };
        self.groups
            .iter()
            .map(|group| error(group) * error(group))
            .sum()
    }

    /// The weighted linear problem at these parameters: the matrix of normal equations, and the right side.
    fn linear(&self, at: &Parameters, free: &[usize]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let size = free.len();
        let (mut matrix, mut right) = (vec![vec![0.0; size]; size], vec![0.0; size]);
        for group in self.groups {
            let (length, counts) = duration(at, &group.layers, self.requests, self.knee);
            let of_free: f64 = free.iter().map(|index| at[*index] * counts[*index]).sum();
            let weight = 1.0 / group.median;
            // What is not explained by parameters that are kept, or by known requests.
            let wanted = (group.median - (length - of_free)) * weight;
            for (row, i) in free.iter().enumerate() {
                right[row] += counts[*i] * weight * wanted;
                for (column, j) in free.iter().enumerate() {
                    matrix[row][column] += counts[*i] * counts[*j] * weight * weight;
                }
            }
        }
        (matrix, right)
    }

    /// The best parameters. `None` when the data do not determine them.
    pub(super) fn solve(&self) -> Option<RateSolution> {
        let mut at = self.start;
        let mut squares = self.squares(&at);
        for _ in 0..200 {
            let Some(target) = self.step(&at) else { break };
            let mut share = 1.0;
            let mut next = at;
            let mut reached = f64::INFINITY;
            while share > 1e-6 {
                for (value, (from, to)) in next.iter_mut().zip(at.iter().zip(target)) {
                    *value = from + share * (to - from);
                }
                reached = self.squares(&next);
                if reached <= squares * (1.0 + 1e-12) {
                    break;
                }
                share /= 2.0;
            }
            if reached > squares * (1.0 + 1e-12) {
                break;
            }
            let is_done = (squares - reached) <= 1e-12 * squares;
            (at, squares) = (next, reached);
            if is_done {
                break;
            }
        }
        self.solution(at, squares)
    }

    /// The solution of the linear problem at `at`, without negative parameters: the worst of these is put to 0, and the
    /// others are solved again.
    fn step(&self, at: &Parameters) -> Option<Parameters> {
        let mut free = self.indices();
        loop {
            let mut start = *at;
            for index in self.indices() {
                if !free.contains(&index) {
                    start[index] = 0.0;
                }
            }
            let (matrix, right) = self.linear(&start, &free);
            let solved = solve_linear(matrix, right)?;
            let worst = (0..free.len())
                .filter(|at| solved[*at] < 0.0)
                .min_by(|a, b| {
                    let scaled = |at: usize| solved[at] * self.start[free[at]].max(1e-30).recip();
                    scaled(*a).total_cmp(&scaled(*b))
                });
            match worst {
                Some(worst) => drop(free.remove(worst)),
                None => {
                    for (index, value) in free.iter().zip(solved) {
                        start[*index] = value;
                    }
                    return Some(start);
                }
            }
            if free.is_empty() {
                return None;
            }
        }
    }

    fn solution(&self, at: Parameters, squares: f64) -> Option<RateSolution> {
        let free = self.indices();
        let n = self.groups.len();
        let (matrix, _) = self.linear(&at, &free);
        let inverse = inverse(&matrix)?;
        let (variance, degrees) = self.variance(squares, free.len())?;
        let quantile = t_quantile(0.975, degrees);
        let mut intervals = [None; PARAMETERS];
        for (row, index) in free.iter().enumerate() {
            let half = quantile * (variance * inverse[row][row]).max(0.0).sqrt();
            intervals[*index] = Some(((at[*index] - half).max(0.0), at[*index] + half));
        }
        // A fit without any error would have an infinite criterion.
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

    /// The variance of the relative error of a median, and its degrees of freedom: from the errors of the fit, or where
    /// there are as many parameters as images, from the pulls of each image.
    fn variance(&self, squares: f64, parameters: usize) -> Option<(f64, u32)> {
        if self.groups.len() > parameters {
            let degrees = self.groups.len() - parameters;
            return Some((squares / degrees as f64, u32::try_from(degrees).ok()?));
        }
        let (mut sum, mut degrees, mut weight) = (0.0, 0_usize, 0.0);
        for group in self.groups {
            let errors = group
                .durations
                .iter()
                .map(|duration| duration / group.median - 1.0);
            sum += errors.map(|error| error * error).sum::<f64>();
            degrees += group.durations.len() - 1;
            weight += group.durations.len() as f64;
        }
        let degrees32 = u32::try_from(degrees).ok().filter(|degrees| *degrees > 0)?;
        // The variance of a median is π/2 times that of a mean.
        let of_median = std::f64::consts::FRAC_PI_2 * self.groups.len() as f64 / weight;
        Some((sum / degrees as f64 * of_median, degrees32))
    }
}

impl RateSolution {
    /// Whether this fit is better than another by more than chance, with its further parameters.
    pub(super) fn beats(&self, other: &Self) -> bool {
        // Kass, Raftery, "Bayes factors", JASA 90 (1995): a difference above 10 is very strong.
        self.bic < other.bic - 10.0 && self.squares < other.squares
    }
}

/// Solves a linear system by elimination with pivots; columns are scaled first, because the parameters' units differ by
/// ten powers of ten. `None` when it is singular.
fn solve_linear(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    let scale: Vec<f64> = (0..size).map(|at| matrix[at][at].sqrt()).collect();
    if scale
        .iter()
        .any(|scale| !(scale.is_finite() && *scale > 0.0))
    {
        return None;
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
        // Columns that are this close to each other cannot be told apart.
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
    Some(
        right
            .iter()
            .zip(scale)
            .map(|(value, scale)| value / scale)
            .collect(),
    )
}

fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let column = |at: usize| {
        let unit = (0..size)
            .map(|row| if row == at { 1.0 } else { 0.0 })
            .collect();
        solve_linear(matrix.to_vec(), unit)
    };
    (0..size).map(column).collect()
}
