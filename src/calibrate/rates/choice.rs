//! Which parameters the images determine.

use super::least_squares::{PullGroup, RateProblem, RateSolution};
use super::pipeline::{
    BEYOND, CONSTANT, DOWNLOAD, PARAMETERS, PER_LAYER, Parameters, RequestTimes, UNPACK,
};
use crate::world::calibration as default;

/// The facts that are known about the pulled images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Knowledge {
    /// Their layers.
    Layers,
    /// Their compressed sizes alone.
    Sizes,
}

/// The chosen model with its fit.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) solution: RateSolution,
    pub(super) free: [bool; PARAMETERS],
    pub(super) requests: RequestTimes,
    /// Uncompressed bytes that fit into the memory in front of the disk.
    pub(super) knee: Option<f64>,
}

/// Images from which a further parameter can be told from chance.
const FEWEST_FOR_MORE: usize = 5;
/// Layers of images differ enough to tell a part of each layer from the constant.
const LAYERS_VARY: f64 = 1.5;
/// A disk is believed if it is slower than memory by this factor.
const SLOWER: f64 = 0.75;
/// Places of the knee that are tried.
const KNEES: u32 = 40;

impl Chosen {
    /// Rate of the disk, and bytes in front of it: these are written at the unpack rate while the disk takes them away.
    pub(super) fn disk(&self) -> Option<(f64, f64)> {
        let (knee, memory) = (self.knee?, self.solution.at[UNPACK]);
        let disk = 1.0 / (memory + self.solution.at[BEYOND]);
        Some((disk, knee * (1.0 - disk * memory)))
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

/// Chooses the parameters. `None` when not even one can be fitted.
pub(super) fn choose(
    groups: &[PullGroup],
    requests: RequestTimes,
    knowledge: Knowledge,
) -> Option<Chosen> {
    let constant = default::PULL_CONSTANT.typical().as_secs_f64();
    let per_layer = default::UNPACK_PER_LAYER.typical().as_secs_f64();
    let connection = 1.0 / default::CONNECTION.get();
    let mut start = [
        constant,
        per_layer,
        1.0 / default::UNPACK_RATE.get(),
        0.0,
        0.0,
    ];
    let mut free = [false; PARAMETERS];
    free[CONSTANT] = groups.len() >= 2;
    if knowledge == Knowledge::Sizes {
        start = [constant, 0.0, 0.0, connection, 0.0];
        free[DOWNLOAD] = true;
        return solved(groups, requests, start, free, None);
    }
    free[UNPACK] = true;
    let counts = groups.iter().map(|group| group.layers.len() as f64);
    let (least, most) = counts.fold((f64::INFINITY, 0.0_f64), |(least, most), count| {
        (least.min(count), most.max(count))
    });
    free[PER_LAYER] = groups.len() >= 3 && most >= LAYERS_VARY * least;
    let mut best = solved(groups, requests, start, free, None);
    // The part of each layer cannot be told from the constant. Where its default leaves nothing for the constant, it is
    // smaller than that.
    let is_used_up = |chosen: &Option<Chosen>| {
        chosen
            .as_ref()
            .is_none_or(|chosen| chosen.solution.at[CONSTANT] <= 0.0)
    };
    if !free[PER_LAYER] && is_used_up(&best) {
        start[PER_LAYER] = 0.0;
        if groups.len() < 2 {
            start[CONSTANT] = 0.0;
        }
        best = solved(groups, requests, start, free, None);
    }
    let mut best = best?;
    if groups.len() > FEWEST_FOR_MORE {
        for knee in knees(groups) {
            let mut free = best.free;
            free[BEYOND] = true;
            let mut start = start;
            start[BEYOND] = start[UNPACK];
            let Some(with) = solved(groups, requests, start, free, Some(knee)) else {
                continue;
            };
            let at = &with.solution.at;
            let is_slower = at[BEYOND] > 0.0 && at[UNPACK] / (at[UNPACK] + at[BEYOND]) < SLOWER;
            let beats = if best.knee.is_some() {
                with.solution.bic < best.solution.bic
            } else {
                with.solution.beats(&best.solution)
            };
            if is_slower && beats {
                best = with;
            }
        }
    }
    if groups.len() >= FEWEST_FOR_MORE {
        let mut free = best.free;
        free[DOWNLOAD] = true;
        let mut start = best.solution.at;
        start[DOWNLOAD] = connection;
        if let Some(with) = solved(groups, requests, start, free, best.knee)
            && with.solution.at[DOWNLOAD] > 0.0
            && with.solution.beats(&best.solution)
        {
            best = with;
        }
    }
    Some(best)
}

/// Places between the images' sizes, evenly in the logarithm, with two images on either side.
fn knees(groups: &[PullGroup]) -> Vec<f64> {
    let size = |group: &PullGroup| {
        group
            .layers
            .iter()
            .map(|(_, uncompressed)| uncompressed)
            .sum::<f64>()
    };
    let mut sizes: Vec<f64> = groups.iter().map(size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < FEWEST_FOR_MORE {
        return Vec::new();
    }
    let (low, high) = (sizes[1], sizes[sizes.len() - 2]);
    let ratio = libm::log(high / low);
    (0..=KNEES)
        .map(|nth| low * libm::exp(ratio * f64::from(nth) / f64::from(KNEES)))
        .collect()
}

fn solved(
    groups: &[PullGroup],
    requests: RequestTimes,
    start: Parameters,
    free: [bool; PARAMETERS],
    knee: Option<f64>,
) -> Option<Chosen> {
    let solution = RateProblem {
        groups,
        requests,
        free,
        start,
        knee,
    }
    .solve()?;
    Some(Chosen {
        solution,
        free,
        requests,
        knee,
    })
}
