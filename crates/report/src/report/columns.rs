//! The columns of the comparison, defined once for the terminal and the page: the median of one measure over the runs.

use itertools::Itertools;

use super::data::{VariantResults, median_interval};
use super::format::{RateUnit, TimeUnit, apart, count, number, whole};
use crate::results::{Measure, READY_TIME, SummaryRow};

/// The measure that is shown first if a revision is defective.
pub(super) const EXPOSED: Measure = Measure::ExposedTargets;

/// The measure that is shown if there are several releases, or people who react, and targets had a defective revision.
pub(super) const EXPOSED_HOURS: Measure = Measure::ExposedTargetHours;

/// The measure that is shown if some clusters cannot be updated.
pub(super) const REACHABLE: Measure = Measure::ReachableTargets;

/// The measure that is shown if a rollout left some clusters on the old revision.
pub(super) const LEFT_BEHIND: Measure = Measure::LeftBehind;

/// The measure that is shown if the experiment has prices.
pub(super) const COST: Measure = Measure::Cost;

/// One column.
pub(super) struct Column {
    pub(super) measure: Measure,
    pub(super) heading: &'static str,
    /// The phrase for a value that all variants share; `{}` is the value, `{s}` a plural `s` if needed.
    phrase: &'static str,
    range: Range,
    /// The rank of the column. If not all columns fit, those with the highest rank are left out first; columns of rank
    /// 0 are always shown.
    pub(super) rank: u32,
}

/// The range next to a median.
#[derive(Clone, Copy, PartialEq)]
enum Range {
    None,
    /// The 95% confidence interval of the median.
    Confidence,
    /// The 5th and 95th percentile over runs.
    Percentiles,
}

pub(super) const COLUMNS: [Column; 14] = [
    Column::new(
        EXPOSED,
        "exposed clusters",
        "{} exposed cluster{s}",
        Range::Percentiles,
        0,
    ),
    Column::new(
        EXPOSED_HOURS,
        "exposed hours",
        "{} exposed hour{s}",
        Range::Percentiles,
        1,
    ),
    Column::new(
        READY_TIME,
        "completion",
        "complete after {}",
        Range::Confidence,
        0,
    ),
    Column::new(
        REACHABLE,
        "reachable",
        "{} reachable cluster{s}",
        Range::Percentiles,
        1,
    ),
    Column::new(
        LEFT_BEHIND,
        "left behind",
        "{} cluster{s} left behind",
        Range::Percentiles,
        0,
    ),
    Column::new(
        Measure::PeakPulls,
        "peak pulls",
        "{} concurrent pull{s} at peak",
        Range::Percentiles,
        0,
    ),
    Column::new(
        Measure::PeakRegistryDownloads,
        "open downloads",
        "{} open download{s} at peak",
        Range::None,
        7,
    ),
    Column::new(
        Measure::EgressPeak1s,
        "peak egress",
        "{} peak egress",
        Range::None,
        1,
    ),
    Column::new(
        Measure::EgressBusy,
        "link full",
        "link full for {}",
        Range::None,
        3,
    ),
    Column::new(Measure::EgressBytes, "pulled", "{} pulled", Range::None, 1),
    Column::new(
        Measure::FailedPulls,
        "failed pulls",
        "{} failed pull{s}",
        Range::None,
        3,
    ),
    Column::new(
        Measure::Responses429,
        "HTTP 429",
        "{} HTTP 429 response{s}",
        Range::None,
        6,
    ),
    Column::new(
        Measure::PeakNotReady,
        "not ready",
        "{} cluster{s} not ready at peak",
        Range::None,
        5,
    ),
    Column::new(COST, "cost", "a cost of {}", Range::None, 1),
];

impl Column {
    const fn new(
        measure: Measure,
        heading: &'static str,
        phrase: &'static str,
        range: Range,
        rank: u32,
    ) -> Self {
        Self {
            measure,
            heading,
            phrase,
            range,
            rank,
        }
    }
}

/// The unit of a column: its size in recorded units, and its name, which is empty for a count. `None` if no single
/// unit suits all times.
fn unit(column: &Column, values: &[f64]) -> Option<(f64, &'static str)> {
    Some(match column.measure.unit() {
        "s" => {
            let mut units = values.iter().map(|value| TimeUnit::for_span(*value));
            let first = units.next().unwrap_or_else(|| TimeUnit::for_span(0.0));
            return units
                .all(|unit| unit == first)
                .then_some((first.seconds, first.short));
        }
        "bytes/s" => {
            let middle = values
                .iter()
                .copied()
                .sorted_by(f64::total_cmp)
                .nth(values.len() / 2);
            let unit = RateUnit::for_max(middle.unwrap_or(0.0));
            (unit.bytes_per_s, unit.name)
        }
        "bytes" => (1e9, "GB"),
        "1" => (0.01, "%"),
        _ => (1.0, ""),
    })
}

/// A cell: a number, its unit unless the heading has it, and the ends of its range if they differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ColumnCell {
    pub(super) number: String,
    pub(super) unit: &'static str,
    pub(super) range: Option<String>,
}

impl ColumnCell {
    /// Number and unit.
    pub(super) fn value(&self) -> String {
        if self.unit.is_empty() {
            self.number.clone()
        } else {
            format!("{} {}", self.number, self.unit)
        }
    }
}

/// A column with the values of all variants.
pub(super) struct FilledColumn<'v> {
    pub(super) column: &'static Column,
    size: f64,
    /// The unit of all cells, stated in the heading. `None`: each cell has its own unit.
    unit: Option<&'v str>,
    rows: Vec<Option<&'v SummaryRow>>,
}

impl<'v> FilledColumn<'v> {
    /// The columns for the given variants. Exposure is included only if a revision is defective, and the number of
    /// reachable targets only if some clusters cannot be updated.
    pub(super) fn all(variants: &[VariantResults<'v>]) -> Vec<Self> {
        Self::shown(variants)
            .filter_map(|column| Self::of(column, variants))
            .collect()
    }

    /// The columns that are relevant for the given variants.
    pub(super) fn shown(variants: &[VariantResults<'_>]) -> impl Iterator<Item = &'static Column> {
        let exposed = variants.iter().any(VariantResults::exposed);
        let whole = variants.iter().all(|variant| variant.reach().is_whole());
        let leaves_behind = variants.iter().any(VariantResults::leaves_behind);
        let mut runs = variants.iter().flat_map(|variant| &variant.runs);
        let has_cost = runs.any(|run| run.cost.is_some());
        let mut runs = variants.iter().flat_map(|variant| &variant.runs);
        let has_exposed_hours =
            runs.any(|run| run.exposed_target_hours.is_some_and(|hours| hours > 0.0));
        COLUMNS.iter().filter(move |column| match column.measure {
            EXPOSED => exposed,
            EXPOSED_HOURS => has_exposed_hours,
            REACHABLE => !whole,
            LEFT_BEHIND => leaves_behind,
            COST => has_cost,
            _ => true,
        })
    }

    fn of(column: &'static Column, variants: &[VariantResults<'v>]) -> Option<Self> {
        let rows: Vec<Option<&SummaryRow>> = variants
            .iter()
            .map(|variant| variant.summary(column.measure))
            .collect();
        let values: Vec<f64> = rows.iter().flatten().filter_map(|row| row.median).collect();
        let (size, mut unit) =
            unit(column, &values).map_or((1.0, None), |(size, unit)| (size, Some(unit)));
        if column.measure == COST {
            let runs = variants
                .iter()
                .flat_map(|variant| variant.runs.iter().copied());
            unit = Some(COST.unit_in(runs));
        }
        rows.iter().any(Option::is_some).then_some(Self {
            column,
            size,
            unit,
            rows,
        })
    }

    /// The median of a variant, in the measure's unit.
    pub(super) fn median(&self, at: usize) -> Option<f64> {
        self.rows[at]?.median
    }

    /// The cell of a variant. `None`: the variant has no value.
    pub(super) fn cell(&self, at: usize) -> Option<ColumnCell> {
        let median = self.median(at)?;
        let ends = self.ends(at);
        let (low, high) = ends.unwrap_or((median, median));
        let own = TimeUnit::for_span(median);
        let (size, unit) = if self.unit.is_some() {
            (self.size, "")
        } else {
            (own.seconds, own.short)
        };
        let values = [median, low, high].map(|value| value / size);
        let [number, low, high] = match self.column.measure.unit() {
            "s" if values.iter().all(|value| *value <= 0.0) => values.map(number),
            "s" => apart(values),
            "bytes/s" | "bytes" => values.map(number),
            "target-hours" => values.map(number),
            _ if self.column.measure == COST => values.map(number),
            // Percentiles of counts are interpolated, so their decimals mean little.
            _ => [count(values[0]), whole(values[1]), whole(values[2])],
        };
        let range = (ends.is_some() && low != high).then(|| format!("[{low}–{high}]"));
        Some(ColumnCell {
            number,
            unit,
            range,
        })
    }

    fn ends(&self, at: usize) -> Option<(f64, f64)> {
        let row = self.rows[at]?;
        match self.column.range {
            Range::None => None,
            Range::Confidence => median_interval(row),
            Range::Percentiles => row.p5.zip(row.p95),
        }
    }

    /// Unit and range of the cells, as the heading states them: `Gbit/s`, `min [95% CI]`, `[p5–p95]`.
    pub(super) fn heading_unit(&self) -> String {
        let has_range =
            (0..self.rows.len()).any(|at| self.cell(at).is_some_and(|cell| cell.range.is_some()));
        let range = match self.column.range {
            Range::Confidence if has_range => "[95% CI]",
            Range::Percentiles if has_range => "[p5–p95]",
            _ => "",
        };
        format!("{} {range}", self.unit.unwrap_or(""))
            .trim()
            .to_owned()
    }

    /// The value that all variants share, as a phrase: `8 failed pulls`. `None` if they differ or have none.
    pub(super) fn shared(&self) -> Option<SharedPhrase> {
        let first = self.cell(0)?;
        if (1..self.rows.len()).any(|at| self.cell(at).as_ref() != Some(&first)) {
            return None;
        }
        let unit = self.unit.unwrap_or(first.unit);
        let value = match unit {
            "" => first.number.clone(),
            "%" => format!("{}%", first.number),
            unit => format!("{} {unit}", first.number),
        };
        let s = if first.number == "1" { "" } else { "s" };
        let text = self.column.phrase.replace("{}", &value).replace("{s}", s);
        let is_of_every_run = self
            .rows
            .iter()
            .flatten()
            .flat_map(|row| [row.min, row.max])
            .all_equal();
        Some(SharedPhrase {
            text,
            is_of_every_run,
        })
    }
}

/// A value that all variants share: in every run, or only in the medians.
pub(super) struct SharedPhrase {
    pub(super) text: String,
    pub(super) is_of_every_run: bool,
}

/// `Identical in every variant: 8 failed pulls. Same median in every variant: 313 GB pulled.`
pub(super) fn identical(phrases: &[SharedPhrase]) -> String {
    let mut of_every_run: Vec<&str> = Vec::new();
    let mut of_medians: Vec<&str> = Vec::new();
    for phrase in phrases {
        if phrase.is_of_every_run {
            of_every_run.push(&phrase.text);
        } else {
            of_medians.push(&phrase.text);
        }
    }
    let mut sentences: Vec<String> = Vec::new();
    if !of_every_run.is_empty() {
        let texts = of_every_run.join(", ");
        sentences.push(format!("Identical in every variant: {texts}."));
    }
    if !of_medians.is_empty() {
        let texts = of_medians.join(", ");
        sentences.push(format!("Same median in every variant: {texts}."));
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::{Fleet, Wave, six_settings};
    use crate::report::tests::readable_quietly;

    #[test]
    fn variants_with_equal_medians_but_different_runs_are_not_called_identical() {
        let shared_by = |stalls: [u32; 2]| {
            let waves = vec![
                Wave::new("one", 250, stalls[0]),
                Wave::new("other", 250, stalls[1]),
            ];
            let results = readable_quietly(&Fleet {
                waves,
                replicates: 5,
                ..six_settings()
            });
            let columns = FilledColumn::all(&results.variants());
            let pulled = columns
                .iter()
                .find(|column| column.column.measure == Measure::EgressBytes)
                .expect("it is shown");
            identical(&[pulled.shared().expect("equal medians")])
        };
        assert_eq!(
            shared_by([0, 0]),
            "Identical in every variant: 450 GB pulled."
        );
        // Every third run stalls halfway: two of five.
        assert_eq!(
            shared_by([0, 3]),
            "Same median in every variant: 450 GB pulled."
        );
        let phrase = |text: &str, is_of_every_run| SharedPhrase {
            text: text.to_owned(),
            is_of_every_run,
        };
        assert_eq!(
            identical(&[phrase("a", false), phrase("b", true), phrase("c", true)]),
            "Identical in every variant: b, c. Same median in every variant: a."
        );
    }
}
