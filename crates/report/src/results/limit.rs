//! Limits that a user states for measures, such as `completion_p95 < 4h`, and the check whether results meet them.
//!
//! A limit consists of a measure, a statistic of its values over the runs, a comparison, and a value with a unit:
//!
//! - The measure is a column of `runs.csv`, with or without its unit (`completion` is `completion_s`), or one of a few
//!   shorter names ([`SHORT_NAMES`](super::SHORT_NAMES)).
//! - `_mean`, `_median`, `_min`, `_max` or a percentile (`_p95`) takes that statistic over the runs. Without one, every
//!   run must meet the limit.
//! - A count of targets or clusters may be compared with a share of all targets: `exposed_targets < 5%`.
//!
//! `P(bad_release_exposure <= 20%) >= 95%` is a limit on the share of all possible runs, of which the simulated runs
//! are a sample. The exact interval of the share (Clopper, Pearson) decides whether it holds, fails, or is undecided.
//! Its confidence is 95%, or as written: `… >= 95% with 99% confidence`.
//!
//! A duration may be followed by the time of day from which it was computed, in brackets: `completion < 8h (06:00)`.
//!
//! A time that a run did not reach counts as later than every other. Other limits apply to the simulated runs, not to
//! all possible runs.

use std::borrow::Borrow;
use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::fmt;

use super::measures::MONEY;
use super::{Measure, MeasureError, MeasuredStatistic, RunRow, Statistic};
use fleetsim_units::stats::{self, Interval};
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration, WithUnit};

/// One limit on one measure.
#[derive(Clone, Debug)]
pub struct Limit {
    text: String,
    measure: Measure,
    over: Statistic,
    /// The orderings of a value and the bound that meet the limit: one of [`COMPARISONS`].
    allowed: &'static [Ordering],
    bound: Bound,
    /// The currency of a limit on a cost; empty for others.
    currency: String,
    /// The share of all possible runs that must meet the limit. `None`: the simulated runs must meet it.
    chance: Option<Chance>,
}

/// A share of all possible runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chance {
    at_least: f64,
    confidence: f64,
}

/// The default confidence of a limit on a share of all runs.
const CONFIDENCE: f64 = 0.95;

/// Maximum number of further runs that an undecided limit on a share asks for.
const MOST_FURTHER_RUNS: usize = 1 << 19;

/// The comparisons with the orderings of a value and the bound that each allows.
const COMPARISONS: [(&str, &[Ordering]); 6] = [
    ("<", &[Less]),
    ("<=", &[Less, Equal]),
    (">", &[Greater]),
    (">=", &[Greater, Equal]),
    ("==", &[Equal]),
    ("!=", &[Less, Greater]),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// A value in the measure's unit.
    Value(f64),
    /// A share of all targets.
    ShareOfTargets(f64),
}

/// The result of comparing some runs with a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the runs meet the limit.
    pub holds: bool,
    /// The compared value in the measure's unit: the statistic, or the value of the run that exceeds the limit most.
    /// Infinite for a time that was not reached.
    pub value: f64,
    /// Number of runs that do not meet the limit.
    pub runs_beyond: usize,
    /// The estimate of the share of all runs that meet the limit; only for a limit on that share.
    pub share: Option<ShareVerdict>,
}

impl Verdict {
    /// Returns whether the runs show neither that the limit holds nor that it fails; only possible for a limit on a
    /// share of all runs.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        self.share.is_some_and(|found| found.is_undecided)
    }
}

/// The share of all runs that meet a limit, estimated from the simulated ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareVerdict {
    /// The share with its exact interval; each end of the interval has the limit's confidence.
    pub share: Interval,
    /// Whether the runs show neither that the limit holds nor that it fails.
    pub is_undecided: bool,
    /// If the runs are too few to decide, the number of runs that would show that the limit holds if no further run
    /// exceeds it.
    pub runs_needed: Option<usize>,
}

impl Limit {
    /// Reads a limit.
    ///
    /// # Errors
    /// Returns an error with a fix if the text is not a valid limit.
    pub fn parse(written: &str) -> Result<Self, MeasureError> {
        match written.trim().strip_prefix("P(") {
            Some(rest) => Self::parse_chance(rest),
            None => Self::parse_limit(written),
        }
    }

    /// Reads the text after `P(`.
    fn parse_chance(rest: &str) -> Result<Self, MeasureError> {
        let Some((inner, demand)) = rest.rsplit_once(')') else {
            return Err(invalid_chance("`P(` has no `)`".to_owned()));
        };
        let limit = Self::parse_limit(inner)?;
        if limit.over != Statistic::Every {
            return Err(invalid_chance(format!(
                "`{limit}` is not a limit on single runs"
            )));
        }
        let (demand, confidence) = match demand.split_once(" with ") {
            Some((demand, text)) => (demand.trim(), parse_confidence(text)?),
            None => (demand.trim(), CONFIDENCE),
        };
        let (operator, value) = split_operator(demand);
        let share = match Share::parse(value) {
            Ok(share) => share.get(),
            Err(problem) => return Err(invalid_chance(problem.to_string())),
        };
        let (allowed, at_least) = match operator {
            ">=" => (limit.allowed, share),
            "<=" => (opposite(limit.allowed), 1.0 - share),
            _ => {
                return Err(invalid_chance(format!(
                    "a share of all runs must be compared with >= or <=, not `{operator}`"
                )));
            }
        };
        if at_least <= 0.0 || at_least >= 1.0 {
            return Err(invalid_chance(format!(
                "a share of all runs must be between 0% and 100%, not {value}"
            )));
        }
        let suffix = if (confidence - CONFIDENCE).abs() < 1e-12 {
            String::new()
        } else {
            format!(" with {}% confidence", (confidence * 1e6).round() / 1e4)
        };
        let text = format!("P({limit}) {operator} {value}{suffix}");
        Ok(Self {
            text,
            allowed,
            chance: Some(Chance {
                at_least,
                confidence,
            }),
            ..limit
        })
    }

    /// Reads a limit on single runs or on a statistic.
    fn parse_limit(written: &str) -> Result<Self, MeasureError> {
        let Some(at) = written.find(['<', '>', '=', '!']) else {
            return Err(MeasureError {
                message: format!("`{written}` has no comparison"),
                help: "write a measure, a comparison and a value, e.g. `completion_p95 < 4h`"
                    .to_owned(),
            });
        };
        let name = written[..at].trim();
        let (operator, value) = split_operator(&written[at..]);
        let comparison = COMPARISONS.iter().find(|(known, _)| *known == operator);
        let Some((_, allowed)) = comparison else {
            return Err(MeasureError {
                message: format!("invalid comparison `{operator}`"),
                help: "use <, <=, >, >=, == or !=".to_owned(),
            });
        };
        let MeasuredStatistic { measure, over } = MeasuredStatistic::parse(name)?;
        let (amount, currency) = match value.rsplit_once(' ') {
            Some((amount, currency)) if measure == Measure::Cost => (amount, currency),
            _ => (value, ""),
        };
        let bound = Bound::parse(amount, measure).map_err(|message| MeasureError {
            message,
            help: format!("`{name}` is in {}", unit_in_words(measure)),
        })?;
        let is_code = currency.len() == 3 && currency.bytes().all(|c| c.is_ascii_uppercase());
        if measure == Measure::Cost && !is_code {
            return Err(MeasureError {
                message: format!("`{value}` has no currency"),
                help: format!("`{name}` is in {}", unit_in_words(measure)),
            });
        }
        let text = format!("{name} {operator} {value}");
        Ok(Self {
            text,
            measure,
            over,
            allowed,
            bound,
            currency: currency.to_owned(),
            chance: None,
        })
    }

    /// The measure that the limit applies to.
    #[must_use]
    pub const fn measure(&self) -> Measure {
        self.measure
    }

    /// The unit of the limit: that of its measure, or its currency.
    #[must_use]
    pub fn unit(&self) -> &str {
        if self.currency.is_empty() {
            self.measure.unit()
        } else {
            &self.currency
        }
    }

    /// Compares runs with the limit.
    ///
    /// # Panics
    /// Panics if there are no runs.
    #[must_use]
    pub fn judge(&self, runs: &[impl Borrow<RunRow>]) -> Verdict {
        let mut values: Vec<f64> = Vec::new();
        let mut beyond: Vec<f64> = Vec::new();
        for run in runs {
            let run = run.borrow();
            let value = self.measure.of(run).unwrap_or(f64::INFINITY);
            values.push(value);
            if !self.holds(value, self.bound.of(run)) {
                beyond.push(value);
            }
        }
        let bound = self.bound.of(runs[0].borrow());
        let (holds, value) = match self.over {
            Statistic::Every => match furthest_from(bound, &beyond) {
                Some(worst) => (false, worst),
                None => (true, self.nearest(&values)),
            },
            statistic => {
                let value = statistic.of(&values);
                (self.holds(value, bound), value)
            }
        };
        let Some(chance) = self.chance else {
            return Verdict {
                holds,
                value,
                runs_beyond: beyond.len(),
                share: None,
            };
        };
        let found = chance.judge(runs.len() - beyond.len(), runs.len());
        Verdict {
            holds: found.share.low >= chance.at_least,
            value,
            runs_beyond: beyond.len(),
            share: Some(found),
        }
    }

    /// The limit on a single run, such as `completion < 1h` for `P(completion < 1h) >= 95%` and for `P(completion >=
    /// 1h) <= 5%`. `None`: the limit is not on a share of all runs.
    #[must_use]
    pub fn of_single_run(&self) -> Option<String> {
        let (inner, _) = self.text.strip_prefix("P(")?.rsplit_once(')')?;
        let (operator, _) = COMPARISONS
            .iter()
            .find(|(_, allowed)| *allowed == self.allowed)?;
        let (name, rest) = inner.split_once(' ')?;
        let (_, value) = rest.split_once(' ')?;
        Some(format!("{name} {operator} {value}"))
    }

    /// The amount by which a run exceeds the limit, in the measure's unit: greater than 0 if the run exceeds it,
    /// otherwise at most 0.
    #[must_use]
    pub fn excess(&self, run: &RunRow) -> f64 {
        let value = self.measure.of(run).unwrap_or(f64::INFINITY);
        let bound = self.bound.of(run);
        let above = match (self.allows(Less), self.allows(Greater)) {
            (true, false) => value - bound,
            (false, true) => bound - value,
            (false, false) => (value - bound).abs(),
            (true, true) => 0.0,
        };
        match self.holds(value, bound) {
            true => above.min(0.0),
            // A run whose value equals a strict limit exceeds it as well.
            false => above.max(f64::MIN_POSITIVE),
        }
    }

    /// The statistic of the runs' [`Limit::excess`] that is at most 0 if the limit is met. `None` for a statistic that
    /// is compared by `==` or `!=`, which the excess of single runs does not determine.
    #[must_use]
    pub fn demand(&self) -> Option<Statistic> {
        if let Some(chance) = self.chance {
            return Some(Statistic::Quantile(chance.at_least));
        }
        Some(match self.over {
            Statistic::Every => Statistic::Every,
            _ if self.allows(Less) == self.allows(Greater) => return None,
            Statistic::Mean => Statistic::Mean,
            Statistic::Quantile(p) => {
                let p = if self.allows(Less) { p } else { 1.0 - p };
                if p >= 1.0 {
                    Statistic::Every
                } else {
                    Statistic::Quantile(p)
                }
            }
        })
    }

    /// The maximum value that the limit allows, in the measure's unit. `None` if the limit is not an upper limit, or
    /// is a share of the targets.
    #[must_use]
    pub fn at_most(&self) -> Option<f64> {
        match self.bound {
            Bound::Value(value) if !self.allows(Greater) => Some(value),
            _ => None,
        }
    }

    /// Returns whether a faster rollout may exceed the limit: this is true of limits on a load or a risk, but not of
    /// limits on a time or on progress.
    #[must_use]
    pub fn opposes_speed(&self) -> bool {
        let is_progress = matches!(
            self.measure,
            Measure::Targets
                | Measure::TargetsDone
                | Measure::Passes
                | Measure::Promotions
                | Measure::Events
        );
        !self.measure.is_time() && !is_progress
    }

    /// Among values that all meet the limit, the one closest to it.
    fn nearest(&self, values: &[f64]) -> f64 {
        let is_lower = self.allows(Greater) && !self.allows(Less);
        let values = values.iter().copied();
        let nearest = if is_lower {
            values.min_by(f64::total_cmp)
        } else {
            values.max_by(f64::total_cmp)
        };
        nearest.expect("a limit is compared with runs")
    }

    /// Returns whether this ordering of a value and the bound is allowed.
    fn allows(&self, order: Ordering) -> bool {
        self.allowed.contains(&order)
    }

    /// Equality is exact, because it is meant for counts.
    fn holds(&self, value: f64, bound: f64) -> bool {
        value
            .partial_cmp(&bound)
            .is_some_and(|order| self.allows(order))
    }
}

/// The value that is furthest from a bound, the first one on a tie. `None` without values.
fn furthest_from(bound: f64, values: &[f64]) -> Option<f64> {
    let mut furthest: Option<f64> = None;
    for &value in values {
        let is_further = match furthest {
            Some(found) => (value - bound).abs().total_cmp(&(found - bound).abs()) == Greater,
            None => true,
        };
        if is_further {
            furthest = Some(value);
        }
    }
    furthest
}

/// An error of a limit on a share of all runs.
fn invalid_chance(message: String) -> MeasureError {
    MeasureError {
        message,
        help: "write e.g. `P(bad_release_exposure <= 20%) >= 95%`".to_owned(),
    }
}

/// Reads `99% confidence`.
fn parse_confidence(text: &str) -> Result<f64, MeasureError> {
    let share = text.trim().strip_suffix("confidence");
    let share = share.and_then(|share| Share::parse(share.trim()).ok());
    match share.map(Share::get) {
        Some(confidence) if (0.5..1.0).contains(&confidence) => Ok(confidence),
        _ => Err(invalid_chance(format!(
            "invalid confidence `{}`: use 50% to below 100%",
            text.trim()
        ))),
    }
}

/// Splits an operator from the value after it.
fn split_operator(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !"<>=!".contains(letter));
    let (operator, value) = text.split_at(end.unwrap_or(text.len()));
    (operator, value.trim())
}

/// The negated comparison.
fn opposite(allowed: &[Ordering]) -> &'static [Ordering] {
    for (_, other) in COMPARISONS {
        let orders = [Less, Equal, Greater];
        if orders
            .iter()
            .all(|order| other.contains(order) != allowed.contains(order))
        {
            return other;
        }
    }
    unreachable!("every comparison has an opposite")
}

impl Chance {
    /// The verdict on the limit if `meeting` of the runs meet it.
    fn judge(self, meeting: usize, runs: usize) -> ShareVerdict {
        let share = self.interval(meeting, runs);
        let is_undecided = share.low < self.at_least && share.high >= self.at_least;
        let runs_needed = if is_undecided {
            self.runs_needed(meeting, runs)
        } else {
            None
        };
        ShareVerdict {
            share,
            is_undecided,
            runs_needed,
        }
    }

    /// The interval of the share of all runs that meet the limit, if `meeting` of the simulated runs do. Each end of
    /// the interval has the limit's confidence, so both together have less.
    fn interval(self, meeting: usize, runs: usize) -> Interval {
        // At a confidence of 50%, the interval is almost a point.
        let level = (2.0 * self.confidence - 1.0).max(1e-9);
        stats::share_interval(meeting as f64, runs, level).expect("a limit is compared with runs")
    }

    /// The number of runs that would show that the limit holds if all further runs meet it. `None`: more than a
    /// million.
    fn runs_needed(self, meeting: usize, runs: usize) -> Option<usize> {
        // Doubling and then bisection finds the number.
        let mut high = 1;
        while !self.is_shown(meeting + high, runs + high) {
            high *= 2;
            if high > MOST_FURTHER_RUNS {
                return None;
            }
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if self.is_shown(meeting + middle, runs + middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(runs + high)
    }

    /// Returns whether the runs show that the limit holds, if `meeting` of them meet it.
    fn is_shown(self, meeting: usize, runs: usize) -> bool {
        self.interval(meeting, runs).low >= self.at_least
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn unit_in_words(measure: Measure) -> String {
    match measure.unit() {
        "s" => "time: write e.g. `90s` or `4h`".to_owned(),
        "bytes" => "data: write e.g. `200 GB`".to_owned(),
        "bytes/s" => "data per time: write e.g. `8 Gbit/s`".to_owned(),
        "1" => "percent: write e.g. `80%`".to_owned(),
        MONEY => "money: write e.g. `5 USD`".to_owned(),
        unit @ ("targets" | "clusters") => {
            format!("{unit}: write a number, or a share of all targets such as `5%`")
        }
        unit => format!("{unit}: write a number"),
    }
}

impl Bound {
    /// The quantity in the measure's unit.
    fn of(self, run: &RunRow) -> f64 {
        match self {
            Self::Value(value) => value,
            Self::ShareOfTargets(share) => share * run.targets as f64,
        }
    }

    fn parse(value: &str, measure: Measure) -> Result<Self, String> {
        Ok(match measure.unit() {
            "s" => {
                let duration = value
                    .split_once(" (")
                    .map_or(value, |(duration, _)| duration);
                Self::Value(parsed::<SimDuration>(duration)?.as_secs_f64())
            }
            "bytes" => Self::Value(parsed::<Bytes>(value)?.get() as f64),
            "bytes/s" => Self::Value(parsed::<BytesPerSec>(value)?.get()),
            "1" => Self::Value(parsed::<Share>(value)?.get()),
            "targets" | "clusters" if value.ends_with('%') => {
                Self::ShareOfTargets(parsed::<Share>(value)?.get())
            }
            _ => match value.parse::<f64>() {
                Ok(number) if number.is_finite() => Self::Value(number),
                _ => return Err(format!("`{value}` is not a number")),
            },
        })
    }
}

/// Reads a quantity; the error is in words.
fn parsed<Quantity: WithUnit>(text: &str) -> Result<Quantity, String> {
    Quantity::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
