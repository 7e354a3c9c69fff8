//! The values of an incident over the draws of the constants, from its `uncertainty.csv`, and their form in a text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;

/// A row of `uncertainty.csv`, as far as it is needed.
#[derive(Deserialize)]
struct DrawnValueRow {
    variant: String,
    measure: String,
    unit: String,
    total_median: Option<f64>,
    total_low: Option<f64>,
    total_high: Option<f64>,
}

/// All rows of an experiment, by variant and measure.
pub(super) struct DrawnValues {
    rows: BTreeMap<(String, String), DrawnValueRow>,
}

impl DrawnValues {
    /// Reads the table in a folder of results.
    pub(super) fn read(results: &Path) -> Self {
        let path = results.join("uncertainty.csv");
        let mut reader = csv::Reader::from_path(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut rows = BTreeMap::new();
        for row in reader.deserialize() {
            let row: DrawnValueRow = row.expect("a row");
            rows.insert((row.variant.clone(), row.measure.clone()), row);
        }
        Self { rows }
    }

    /// The currency of the measure `cost`. `None`: the experiment has no prices.
    pub(super) fn currency(&self) -> Option<&str> {
        let mut rows = self.rows.values();
        let cost = rows.find(|row| row.measure == "cost" && row.total_median.is_some())?;
        Some(&cost.unit)
    }

    fn row(&self, variant: &str, measure: &str) -> &DrawnValueRow {
        self.rows
            .get(&(variant.to_owned(), measure.to_owned()))
            .unwrap_or_else(|| panic!("no `{measure}` of `{variant}`"))
    }

    /// The median over the draws. `None`: half of the draws or more have no value.
    pub(super) fn median(&self, variant: &str, measure: &str) -> Option<f64> {
        self.row(variant, measure).total_median
    }

    /// The median in the given form.
    pub(super) fn value(&self, variant: &str, measure: &str, form: &str) -> String {
        written(self.median(variant, measure), form)
    }

    /// The median and the interval of 95 % in the given form.
    pub(super) fn interval(&self, variant: &str, measure: &str, form: &str) -> String {
        let row = self.row(variant, measure);
        let median = written(row.total_median, form);
        if row.total_median.is_none() && row.total_low.is_none() {
            return median;
        }
        let [low, high] = [row.total_low, row.total_high].map(|end| written(end, form));
        if low == median && high == median {
            return median;
        }
        format!("{median} ({low} to {high})")
    }
}

/// A unit, its size in the base unit, and the least value that is written in it.
struct UnitScale {
    name: &'static str,
    size: f64,
    least: f64,
}

impl UnitScale {
    const fn new(name: &'static str, size: f64, least: f64) -> Self {
        Self { name, size, least }
    }
}

const TIMES: [UnitScale; 4] = [
    UnitScale::new("d", 86_400.0, 172_800.0),
    UnitScale::new("h", 3600.0, 6000.0),
    UnitScale::new("min", 60.0, 100.0),
    UnitScale::new("s", 1.0, 0.0),
];

const SIZES: [UnitScale; 4] = [
    UnitScale::new("TB", 1e12, 1e12),
    UnitScale::new("GB", 1e9, 1e9),
    UnitScale::new("MB", 1e6, 1e6),
    UnitScale::new("B", 1.0, 0.0),
];

/// A value in the form `time`, `bytes`, `count` or `money`. A time that is never reached is `never`.
fn written(value: Option<f64>, form: &str) -> String {
    match (value, form) {
        (None, "time") => "never".to_owned(),
        (None, _) => "–".to_owned(),
        (Some(value), "time") => in_units(value, &TIMES),
        (Some(value), "bytes") => in_units(value, &SIZES),
        (Some(value), "count") => with_separators(value, 0),
        (Some(value), "money") => with_separators(value, 2),
        (_, other) => panic!("no form `{other}`"),
    }
}

/// A value with at most three digits in the first unit whose least value it reaches.
fn in_units(value: f64, units: &[UnitScale]) -> String {
    let mut scales = units.iter();
    let unit = scales
        .find(|unit| value >= unit.least)
        .expect("the last unit begins at 0");
    let number = value / unit.size;
    let decimals = match number {
        small if small < 9.95 => 2,
        middle if middle < 99.5 => 1,
        _ => 0,
    };
    let mut digits = with_separators(number, decimals);
    if decimals > 0 {
        let end = digits.trim_end_matches('0').trim_end_matches('.').len();
        digits.truncate(end);
    }
    format!("{digits} {}", unit.name)
}

/// A number with this many decimals and with thousands separators.
fn with_separators(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        write!(grouped, "{digit}").expect("a text grows");
    }
    grouped + rest
}

#[test]
fn values_have_a_suitable_unit_and_two_or_three_digits() {
    let time = |seconds| written(Some(seconds), "time");
    assert_eq!(time(64.23), "64.2 s");
    assert_eq!(time(1815.3), "30.3 min");
    assert_eq!(time(43_560.0), "12.1 h");
    assert_eq!(time(260_461.0), "3.01 d");
    assert_eq!(written(None, "time"), "never");
    assert_eq!(written(Some(4_000_001_550_000.0), "bytes"), "4 TB");
    assert_eq!(written(Some(43_728_816_243.0), "bytes"), "43.7 GB");
    assert_eq!(written(Some(3178.0), "count"), "3,178");
    assert_eq!(written(Some(184.5), "money"), "184.50");
}
