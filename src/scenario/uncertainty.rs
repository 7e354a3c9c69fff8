//! The checked form of `uncertainty`: constants by index, and ranges as numbers.

use super::check::Checker;
use super::constants::{self, StatedRanges};
use super::file_uncertainty::{UncertainRange, UncertaintyFields};
use crate::document::path::Path;
use crate::document::problem::did_you_mean;

/// The uncertainty about the constants.
#[derive(Clone, Debug, Default)]
pub struct Uncertainty {
    /// The number of draws of all constants. 0: the settings are only for `fleetsim sensitivity`.
    pub draws: u32,
    /// Indices of constants that the user knows and that are not varied.
    pub known: Vec<usize>,
    /// Ranges that replace the constants' own ranges, by the constants' names.
    pub(crate) ranges: StatedRanges,
    /// The constants that the experiment names, in `known` and in `ranges`.
    pub(super) stated: Vec<StatedConstant>,
}

/// A constant that an experiment names.
#[derive(Clone, Debug)]
pub(super) struct StatedConstant {
    /// The index of the constant.
    pub(super) factor: usize,
    /// The name as written: one of the constant's places.
    pub(super) name: String,
    /// The path of the entry in the experiment.
    pub(super) at: Path,
}

impl Checker<'_> {
    pub(super) fn uncertainty(&mut self, written: &UncertaintyFields) -> Uncertainty {
        let here = Path::of("uncertainty");
        if written.draws > 10_000 {
            let at = self.place(here.key("draws"), &here);
            self.report(&at, "`draws` must be at most 10000", "write e.g. `39`");
        }
        let mut stated = Vec::new();
        for (index, name) in written.known.iter().enumerate() {
            stated.extend(self.constant(here.key("known").index(index), name));
        }
        let known = stated.iter().map(|constant| constant.factor).collect();
        let ranges = self.ranges(written, &mut stated);
        Uncertainty {
            draws: written.draws,
            known,
            ranges,
            stated,
        }
    }

    fn ranges(
        &mut self,
        written: &UncertaintyFields,
        stated: &mut Vec<StatedConstant>,
    ) -> StatedRanges {
        let mut ranges = StatedRanges::new();
        for (name, UncertainRange { low, high }) in &written.ranges.0 {
            let at = Path::of("uncertainty").key("ranges").key(name);
            let Some(constant) = self.constant(at.clone(), name) else {
                continue;
            };
            let factor = &constants::factors()[constant.factor];
            if let Some(other) = stated.iter().find(|other| other.factor == constant.factor) {
                let message = format!("`{name}` is the same constant as `{}`", other.name);
                self.report(&at, message, "keep one of the two");
                continue;
            }
            stated.push(constant);
            let ends = [low, high].map(|end| factor.rows[0].parse(&end.text()));
            match ends {
                [Some(low), Some(high)] if low < high => {
                    // A constant may have several places, such as `fleet[*].rtt` and `inventory.default.rtt`.
                    _ = ranges.insert(factor.name.clone(), [low, high]);
                }
                [Some(_), Some(_)] => {
                    self.report(&at, "`low` must be less than `high`", "swap them");
                }
                _ => {
                    let [low, high] = &factor.rows[0].range;
                    let help = format!("write e.g. `{{low: {low}, high: {high}}}`");
                    self.report(&at, "the ends must be values of the constant", &help);
                }
            }
        }
        ranges
    }

    fn constant(&mut self, at: Path, name: &str) -> Option<StatedConstant> {
        // `fleetsim assumptions` prints a constant of some products as `agent.apply (argoCd)`.
        let path = name.split_once(" (").map_or(name, |(path, _)| path);
        if let Some(factor) = constants::factor(path) {
            return Some(StatedConstant {
                factor,
                name: name.to_owned(),
                at,
            });
        }
        let names = constants::factors()
            .iter()
            .map(|factor| factor.name.as_str());
        let help = did_you_mean(name, names, || {
            "`fleetsim assumptions` lists the constants".to_owned()
        });
        self.report(&at, format!("there is no constant `{name}`"), &help);
        None
    }
}
