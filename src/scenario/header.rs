//! Checks the settings that apply to all variants of an experiment: name, number of runs, size of the sweep, and
//! limits. Command-line options override the settings in the file.

use std::path::Path as FsPath;

use super::check::Checker;
use super::clock::clocked_limit;
use super::file::ExperimentFile;
use super::precision::FEWEST_RUNS;
use super::sweep::Axis;
use super::{Assertion, Experiment, Guests};
use crate::document::path::Path;
use crate::document::problem::any_of;
use crate::document::text_or::TextOr;
use crate::products;
use crate::results::{AllowedLeft, MOST_VARIANTS};
use crate::world::CountOrPercent;

const REPLICATES: u32 = 20;
const MOST_REPLICATES: u32 = 100_000;
/// Maximum total number of clusters in all distinct worlds, about 4 GB of memory. Variants that differ only in
/// strategy share a world.
const MOST_CLUSTERS_IN_ALL: usize = 10_000_000;
/// Maximum total number of clusters in all variants, because some strategies store a note for each cluster.
const MOST_TARGETS_IN_ALL: usize = 100_000_000;

/// Values from the command line that override the file's values.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Seed for all random numbers. `None`: the value in the file.
    pub seed: Option<u64>,
    /// Number of runs of every variant. `None`: the value in the file.
    pub replicates: Option<u32>,
    /// Values at paths in the file, such as `registry.egress=unlimited`.
    pub set: Vec<String>,
    /// What a program that uses the library brings along.
    pub guests: Guests,
}

/// Returns the folder's name, for an experiment without a name.
fn name_of_folder(folder: &FsPath) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    match folder.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => String::new(),
    }
}

/// Returns whether this is a valid name for an experiment.
fn is_experiment_name(name: &str) -> bool {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (1..=63).contains(&name.len()) && is_plain && !name.starts_with('-')
}

impl Checker<'_> {
    pub(super) fn strategy_names(&mut self, strategies: &[String]) {
        let path = Path::of("strategies");
        if strategies.is_empty() && self.is_untouched(&path) {
            let help =
                "write e.g. `strategies: {shipped: {rancherFleet: {}}, bound: {allAtOnce: {}}}`";
            self.report(&path, "the experiment has no strategy to run", help);
        }
        for name in strategies {
            let is_plain = name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
            if name.is_empty() || !is_plain {
                let message = format!("invalid strategy name `{name}`");
                self.report(&path.key(name), message, "use letters, digits, `-` and `_`");
            }
        }
    }

    /// Checks that a strategy named in a setting exists.
    pub(super) fn strategy_name(
        &mut self,
        path: &Path,
        name: Option<&String>,
        strategies: &[String],
    ) {
        if let Some(name) = name.filter(|name| !strategies.contains(name)) {
            let help = format!("the strategies are {}", any_of(strategies));
            self.report(
                &path.key("strategy"),
                format!("there is no strategy `{name}`"),
                &help,
            );
        }
    }

    /// Checks the settings of the experiment as a whole. `is_search`: whether the variants are the candidates of a
    /// plan.
    pub(super) fn header(
        &mut self,
        file: &ExperimentFile,
        strategies: &[String],
        folder: &FsPath,
        overrides: &Overrides,
        is_search: bool,
    ) -> Experiment {
        let name = match &file.name {
            Some(name) => name.clone(),
            None => name_of_folder(folder),
        };
        if !is_experiment_name(&name) && self.is_untouched(&Path::of("name")) {
            let help = "write up to 63 lowercase letters, digits and `-`, e.g. `max-unavailable`";
            self.report(
                &Path::of("name"),
                format!("invalid experiment name `{name}`"),
                help,
            );
        }
        let replicates = match (overrides.replicates.or(file.replicates), &file.precision) {
            (replicates, None) => replicates.unwrap_or(REPLICATES),
            (replicates, Some(_)) => replicates.unwrap_or(FEWEST_RUNS).max(FEWEST_RUNS),
        };
        if !(1..=MOST_REPLICATES).contains(&replicates) {
            let message = format!("{replicates} runs of every variant");
            self.report(
                &Path::of("replicates"),
                message,
                &format!("write 1 to {MOST_REPLICATES}"),
            );
        }
        self.horizon(file);
        Experiment {
            name,
            question: file.question.clone().unwrap_or_default().trim().to_owned(),
            seed: overrides.seed.unwrap_or(file.seed),
            replicates,
            precision: file
                .precision
                .as_ref()
                .and_then(|TextOr(written)| self.precision(written, replicates)),
            assertions: self.assertions(file, strategies),
            uncertainty: file
                .uncertainty
                .as_ref()
                .map(|TextOr(written)| self.uncertainty(written)),
            plan: (is_search || file.plan.is_some())
                .then(|| self.plan(file, overrides.replicates, is_search)),
            allowed_left: self.allowed_left(file),
            target: products::ANY_TARGET,
            ..Experiment::default()
        }
    }

    pub(super) fn horizon(&mut self, file: &ExperimentFile) {
        if file.horizon.is_zero() {
            let help = "write the time after which a run is stopped, e.g. `24h`";
            self.report(
                &Path::of("horizon"),
                "`horizon` must be greater than 0",
                help,
            );
        }
    }

    /// Reads `allowLeftBehind`. Of all targets, some have to be updated.
    fn allowed_left(&mut self, file: &ExperimentFile) -> AllowedLeft {
        let percent = match file.allow_left_behind {
            None => return AllowedLeft::default(),
            Some(CountOrPercent::Count(count)) => return AllowedLeft::Count(count),
            Some(CountOrPercent::Percent(percent)) => percent,
        };
        if percent >= 100 {
            self.report(
                &Path::of("allowLeftBehind"),
                format!("`{percent}%` allows a rollout that updates nothing"),
                "write a share below 100% or a number of targets, e.g. `2%` or `3`",
            );
        }
        AllowedLeft::Percent(percent)
    }

    /// Rejects a sweep with too many variants, or with worlds that need too much memory. Returns whether the sweep can
    /// be run.
    pub(super) fn sweep_size(&mut self, variants: usize, axes: &[Axis], clusters: usize) -> bool {
        let mut worlds: usize = 1;
        for axis in axes {
            if axis.is_of_world() {
                worlds = worlds.saturating_mul(axis.values.len());
            }
        }
        let (message, help) = if variants > MOST_VARIANTS {
            let help =
                format!("at most {MOST_VARIANTS} are run; remove values, or split the experiment");
            (format!("the sweep creates {variants} variants"), help)
        } else if worlds > 1 && worlds.saturating_mul(clusters) > MOST_CLUSTERS_IN_ALL {
            let help = format!(
                "at most {MOST_CLUSTERS_IN_ALL} clusters are simulated in total; split the experiment"
            );
            (
                format!("the sweep creates {worlds} worlds of {clusters} clusters"),
                help,
            )
        } else if variants.saturating_mul(clusters) > MOST_TARGETS_IN_ALL {
            let help = format!(
                "at most {MOST_TARGETS_IN_ALL} clusters of all variants are simulated; split the experiment"
            );
            (format!("{variants} variants of {clusters} clusters"), help)
        } else {
            return true;
        };
        self.report(&Path::of("sweep"), message, &help);
        false
    }

    fn assertions(&mut self, file: &ExperimentFile, strategies: &[String]) -> Vec<Assertion> {
        let mut assertions = Vec::new();
        for (index, TextOr(written)) in file.assert.iter().flatten().enumerate() {
            let path = Path::of("assert").index(index);
            self.strategy_name(&path, written.strategy.as_ref(), strategies);
            let at = self.place(path.key("limit"), &path);
            let limit = self.parsed(&at, clocked_limit(&written.limit, file.starts_at.as_ref()));
            if let Some(limit) = &limit {
                self.needs_price(&at, limit.measure(), file.price.as_ref());
                self.same_currency(&at, limit.unit(), file.price.as_ref());
            }
            assertions.extend(limit.map(|limit| Assertion {
                limit,
                strategy: written.strategy.clone(),
            }));
        }
        assertions
    }
}
