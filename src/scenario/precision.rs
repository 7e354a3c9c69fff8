//! `precision`: the required precision of the results, as written and as checked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Checker;
use crate::document::path::Path;
use crate::document::text_or::FromText;
use crate::results::{Measure, READY_TIME};
use crate::units::{Share, WithUnit};

/// Minimum number of runs for evaluating a precision. Guess: with fewer runs, a spread that is small by chance would
/// end a study too early; Law, "Simulation Modeling and Analysis" (2015), section 9.4.1, also starts with ten runs.
pub(crate) const FEWEST_RUNS: u32 = 10;

/// The default measures. The default maximum number of runs follows.
const DEFAULT_OF: [Measure; 2] = [READY_TIME, Measure::PeakPulls];
const DEFAULT_MAX: u32 = 200;

/// Required precision of the results of every variant.
#[derive(Clone, Debug)]
pub struct Precision {
    /// Required half-width of the 95 % interval of the mean, as a share of the mean; above 0.
    pub to: Share,
    /// The measures that must have this precision, at least one.
    pub of: Vec<Measure>,
    /// Maximum number of runs of a variant, not less than the experiment's replicates.
    pub max: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PrecisionFields {
    /// Required half-width of the 95 % interval of the mean, as a share of the mean.
    to: Share,
    /// The measures that must have this precision: columns of `runs.csv`. Default: [reachable_ready, peak_pulls].
    of: Option<Vec<String>>,
    /// Maximum number of runs of a variant. Default: 200, or `replicates` if that is more.
    max: Option<u32>,
}

impl Checker<'_> {
    /// Checks the precision for an experiment with at least `replicates` runs of each variant. `None`: a problem was
    /// reported.
    pub(super) fn precision(
        &mut self,
        written: &PrecisionFields,
        replicates: u32,
    ) -> Option<Precision> {
        let here = Path::of("precision");
        let before = self.problems.len();
        if written.to.get() <= 0.0 {
            let at = self.place(here.key("to"), &here);
            self.report(&at, "precision must be greater than 0%", "write e.g. `5%`");
        }
        let of = match &written.of {
            Some(names) => self.measures(&here.key("of"), names),
            None => DEFAULT_OF.to_vec(),
        };
        let max = written.max.unwrap_or(DEFAULT_MAX.max(replicates));
        if max < replicates {
            let message =
                format!("`max` ({max}) is less than the number of replicates ({replicates})");
            self.report(
                &here.key("max"),
                message,
                "raise `max` or lower `replicates`",
            );
        }
        (self.problems.len() == before).then_some(Precision {
            to: written.to,
            of,
            max,
        })
    }

    /// Returns the measures with these names.
    fn measures(&mut self, here: &Path, names: &[String]) -> Vec<Measure> {
        if names.is_empty() {
            let help = "name a measure, or remove `of`";
            self.report(here, "`of` must name at least one measure", help);
        }
        let mut measures = Vec::new();
        for (index, name) in names.iter().enumerate() {
            measures.extend(self.parsed(&here.index(index), Measure::named(name)));
        }
        measures
    }
}

/// `5%`, or a map with further settings.
impl FromText for PrecisionFields {
    const NAME: &'static str = "Precision";
    const EXPECTING: &'static str =
        "a share such as `5%`, or `{to: 5%, of: [reachable_ready, peak_pulls], max: 200}`";
    const EXAMPLES: &'static [&'static str] = &["5%"];

    fn of_text(text: &str) -> Result<Self, String> {
        let to = Share::parse(text).map_err(|error| error.to_string())?;
        Ok(Self {
            to,
            of: None,
            max: None,
        })
    }
}
