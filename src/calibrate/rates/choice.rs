//! Chooses which parameters to fit, depending on what the images determine.

use super::least_squares::{PullGroup, RateProblem, RateSolution};
use super::pipeline::{BEYOND, CONSTANT, DOWNLOAD, PARAMETERS, PER_LAYER, RequestTimes, UNPACK};
use crate::world::calibration as default;

/// The known facts about the pulled images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Knowledge {
    /// The images' layers are known.
    Layers,
    /// Only the images' compressed sizes are known.
    Sizes,
}

/// The chosen model and its fit.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) solution: RateSolution,
    pub(super) free: [bool; PARAMETERS],
    pub(super) requests: RequestTimes,
    /// Uncompressed bytes that fit into the memory that buffers the disk.
    pub(super) knee: Option<f64>,
}

/// A disk that is slower than the memory buffer in front of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calibrate) struct FittedDisk {
    /// The disk's rate in bytes per second.
    pub(in crate::calibrate) rate: f64,
    /// The buffer's size in bytes.
    pub(in crate::calibrate) buffer: f64,
}

/// Minimum number of images at which a further parameter can be distinguished from chance.
const FEWEST_FOR_MORE: usize = 5;
/// Minimum ratio of the images' layer counts at which the time per layer can be distinguished from the constant.
const LAYERS_VARY: f64 = 1.5;
/// Maximum ratio of the disk's rate to the memory's rate for a disk to be accepted.
const SLOWER: f64 = 0.75;
/// Number of candidate values for the knee.
const KNEES: u32 = 40;

impl Chosen {
    /// Returns the disk behind the memory buffer. Bytes are written to memory at the unpack rate while the disk drains
    /// the buffer.
    pub(super) fn disk(&self) -> Option<FittedDisk> {
        let knee = self.knee?;
        let memory = self.solution.at[UNPACK];
        let rate = 1.0 / (memory + self.solution.at[BEYOND]);
        Some(FittedDisk {
            rate,
            buffer: knee * (1.0 - rate * memory),
        })
    }

    /// Widens the intervals so that they allow for differences between nodes.
    pub(super) fn widen(&mut self, groups: &[PullGroup], resamples: u32, seed: u64) {
        let problem = RateProblem {
            groups,
            requests: self.requests,
            free: self.free,
            start: self.solution.at,
            knee: self.knee,
        };
        self.solution.intervals = problem.widened(&self.solution, resamples, seed);
    }

    pub(super) fn formula(&self, knowledge: Knowledge) -> &'static str {
        match (knowledge, self.free[DOWNLOAD], self.knee.is_some()) {
            (Knowledge::Sizes, ..) => "constant + compressed bytes / rate",
            (_, true, false) => {
                "constant + critical path of downloads (3 at a time) and unpacking (layer by layer)"
            }
            (_, true, true) => {
                "constant + critical path of downloads and unpacking, slower once the memory is full"
            }
            (_, false, false) => {
                "constant + layers * part of each layer + uncompressed bytes / unpack rate"
            }
            (_, false, true) => {
                "constant + layers * part of each layer + unpacking, slower once the memory is full"
            }
        }
    }
}

/// Whether a disk that is slower than its memory buffer may explain the pulls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::calibrate) enum DiskChoice {
    /// If it explains them much better.
    IfBetter,
    /// The rates contain the disk, whatever it is.
    InTheRates,
}

/// Chooses the parameters to fit. `None`: not even one parameter can be fitted.
pub(super) fn choose(
    groups: &[PullGroup],
    requests: RequestTimes,
    knowledge: Knowledge,
    disk: DiskChoice,
) -> Option<Chosen> {
    let constant = default::PULL_CONSTANT.typical().as_secs_f64();
    if knowledge == Knowledge::Sizes {
        let mut problem = RateProblem {
            groups,
            requests,
            start: [constant, 0.0, 0.0, connection(), 0.0],
            free: [false; PARAMETERS],
            knee: None,
        };
        problem.free[CONSTANT] = groups.len() >= 2;
        problem.free[DOWNLOAD] = true;
        return solved(problem);
    }
    let mut problem = RateProblem {
        groups,
        requests,
        start: [
            constant,
            default::UNPACK_PER_LAYER.typical().as_secs_f64(),
            1.0 / default::UNPACK_RATE.get(),
            0.0,
            0.0,
        ],
        free: [false; PARAMETERS],
        knee: None,
    };
    problem.free[CONSTANT] = groups.len() >= 2;
    problem.free[UNPACK] = true;
    problem.free[PER_LAYER] = groups.len() >= 3 && layers_vary(groups);
    let mut best = solved(problem);
    // The time per layer cannot be distinguished from the constant. If its default leaves nothing for the constant,
    // the actual time per layer must be smaller.
    let has_constant = best
        .as_ref()
        .is_some_and(|chosen| chosen.solution.at[CONSTANT] > 0.0);
    if !problem.free[PER_LAYER] && !has_constant {
        problem.start[PER_LAYER] = 0.0;
        if groups.len() < 2 {
            problem.start[CONSTANT] = 0.0;
        }
        best = solved(problem);
    }
    let mut best = best?;
    if groups.len() > FEWEST_FOR_MORE && disk == DiskChoice::IfBetter {
        best = with_disk(&problem, best);
    }
    if groups.len() >= FEWEST_FOR_MORE {
        best = with_download(&problem, best);
    }
    Some(best)
}

/// Returns the initial value for a connection's seconds per byte.
fn connection() -> f64 {
    1.0 / default::CONNECTION.get()
}

/// Returns whether the images' layer counts differ enough to fit the time per layer.
fn layers_vary(groups: &[PullGroup]) -> bool {
    let mut least = f64::INFINITY;
    let mut most = 0.0_f64;
    for group in groups {
        let count = group.layers.len() as f64;
        least = least.min(count);
        most = most.max(count);
    }
    most >= LAYERS_VARY * least
}

/// Returns the best model with a disk slower than memory if it explains the pulls better, otherwise `best`.
fn with_disk(problem: &RateProblem<'_>, mut best: Chosen) -> Chosen {
    for knee in knees(problem.groups) {
        let mut slower = RateProblem {
            free: best.free,
            knee: Some(knee),
            ..*problem
        };
        slower.free[BEYOND] = true;
        slower.start[BEYOND] = slower.start[UNPACK];
        let Some(with) = solved(slower) else {
            continue;
        };
        let at = &with.solution.at;
        let is_slower = at[BEYOND] > 0.0 && at[UNPACK] / (at[UNPACK] + at[BEYOND]) < SLOWER;
        let is_better = if best.knee.is_some() {
            with.solution.bic < best.solution.bic
        } else {
            with.solution.beats(&best.solution)
        };
        if is_slower && is_better {
            best = with;
        }
    }
    best
}

/// Returns the model with a download rate if it explains the pulls better, otherwise `best`.
fn with_download(problem: &RateProblem<'_>, best: Chosen) -> Chosen {
    let mut downloading = RateProblem {
        free: best.free,
        start: best.solution.at,
        knee: best.knee,
        ..*problem
    };
    downloading.free[DOWNLOAD] = true;
    downloading.start[DOWNLOAD] = connection();
    match solved(downloading) {
        Some(with) if with.solution.at[DOWNLOAD] > 0.0 && with.solution.beats(&best.solution) => {
            with
        }
        _ => best,
    }
}

/// Returns candidates for the knee between the images' sizes, evenly spaced in the logarithm, with at least two images
/// on each side.
fn knees(groups: &[PullGroup]) -> Vec<f64> {
    let mut sizes = Vec::with_capacity(groups.len());
    for group in groups {
        let layers = group.layers.iter();
        sizes.push(layers.map(|layer| layer.uncompressed).sum::<f64>());
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < FEWEST_FOR_MORE {
        return Vec::new();
    }
    let low = sizes[1];
    let high = sizes[sizes.len() - 2];
    let ratio = libm::log(high / low);
    (0..=KNEES)
        .map(|nth| low * libm::exp(ratio * f64::from(nth) / f64::from(KNEES)))
        .collect()
}

fn solved(problem: RateProblem<'_>) -> Option<Chosen> {
    Some(Chosen {
        solution: problem.solve()?,
        free: problem.free,
        requests: problem.requests,
        knee: problem.knee,
    })
}
