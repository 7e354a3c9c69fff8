//! The columns of the comparison: what each tells of a variant.

use crate::report::data::VariantResults;
use crate::report::format::{count, number, time_interval, time_parts};

/// One column.
pub(super) struct Column {
    /// Its two lines, and its name in the text below.
    pub(super) heading: [&'static str; 2],
    pub(super) name: &'static str,
    /// How little it tells: the greatest is left out first, 0 never.
    pub(super) rank: u32,
    /// What the numbers are, where heading and unit leave that open.
    pub(super) note: &'static str,
    pub(super) cell: fn(&VariantResults<'_>) -> Cell,
}

/// What stands in a column for a variant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// A number and what belongs to it, each aligned with those of the other variants.
    Parts(Vec<String>),
    /// A word in place of numbers.
    Word(&'static str),
}

/// Without a value.
const NONE: Cell = Cell::Word("–");

/// The column of clusters that were told a defective revision, which matters only where some were.
const EXPOSED: &str = "told a defect";

const COLUMNS: [Column; 10] = [
    Column {
        heading: ["", "done"],
        name: "done",
        rank: 0,
        note: "done: runs that finished",
        cell: |variant| Cell::number(format!("{}/{}", variant.finished(), variant.runs.len())),
    },
    Column {
        heading: ["", "completion [95 %]"],
        name: "completion",
        rank: 0,
        note: "completion: over finished runs, with the 95 % interval of the median",
        cell: completion,
    },
    Column {
        heading: ["told a", "defect"],
        name: EXPOSED,
        rank: 0,
        note: "told a defect: clusters told a revision that is defective there, with the 95 % interval of the median",
        cell: exposed,
    },
    Column { heading: ["", "peak pulls [p5–p95]"], name: "peak pulls", rank: 0, note: "", cell: peak_pulls },
    Column {
        heading: ["peak", "Gbit/s"],
        name: "peak Gbit/s",
        rank: 1,
        note: "peak Gbit/s: the registry's highest egress over 1 s",
        cell: |variant| scaled(variant, "egress_peak_1s_bytes_per_s", 125e6),
    },
    Column {
        heading: ["", "busy"],
        name: "busy",
        rank: 5,
        note: "busy: share of the time at the link's capacity",
        cell: busy,
    },
    Column {
        heading: ["", "GB"],
        name: "GB",
        rank: 4,
        note: "GB: all bytes out of the registry",
        cell: |variant| scaled(variant, "egress_bytes", 1e9),
    },
    Column {
        heading: ["pulls", "failed"],
        name: "pulls failed",
        rank: 3,
        note: "",
        cell: |variant| counted(variant, "failed_pulls"),
    },
    Column {
        heading: ["answers", "429"],
        name: "answers 429",
        rank: 6,
        note: "answers 429: requests refused as too many",
        cell: |variant| counted(variant, "responses_429"),
    },
    Column {
        heading: ["not ready", "(peak)"],
        name: "not ready (peak)",
        rank: 2,
        note: "not ready: most clusters at once",
        cell: |variant| counted(variant, "peak_not_ready"),
    },
];

impl Cell {
    fn number(text: String) -> Self {
        Self::Parts(vec![text])
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Parts(parts) => parts.join(" "),
            Self::Word(word) => (*word).to_owned(),
        }
    }
}

/// The columns that have something to tell of these variants.
pub(super) fn telling(variants: &[VariantResults<'_>]) -> impl Iterator<Item = &'static Column> {
    let exposed = variants.iter().any(VariantResults::exposed);
    COLUMNS.iter().filter(move |column| exposed || column.name != EXPOSED)
}

fn completion(variant: &VariantResults<'_>) -> Cell {
    let Some(row) = variant.summary("completion_s") else { return NONE };
    let Some(median) = row.median else { return Cell::Word("unfinished") };
    let (number, unit) = time_parts(median);
    let mut parts = vec![number, unit.to_owned()];
    if let Some((low, high)) = row.median_ci95_low.zip(row.median_ci95_high).filter(|(low, high)| low < high) {
        parts.push(time_interval(median, low, high));
    }
    Cell::Parts(parts)
}

fn peak_pulls(variant: &VariantResults<'_>) -> Cell {
    let Some(row) = variant.summary("peak_pulls") else { return NONE };
    let Some(median) = row.median else { return NONE };
    let mut parts = vec![count(median)];
    parts.extend(row.p5.zip(row.p95).and_then(counts));
    Cell::Parts(parts)
}

fn exposed(variant: &VariantResults<'_>) -> Cell {
    let Some(row) = variant.summary("exposed_targets") else { return NONE };
    let Some(median) = row.median else { return NONE };
    let mut parts = vec![count(median)];
    parts.extend(row.median_ci95_low.zip(row.median_ci95_high).and_then(counts));
    Cell::Parts(parts)
}

/// `[low–high]`, where the two are told apart.
fn counts((low, high): (f64, f64)) -> Option<String> {
    let (low, high) = (count(low), count(high));
    (low != high).then(|| format!("[{low}–{high}]"))
}

fn busy(variant: &VariantResults<'_>) -> Cell {
    variant.median("egress_busy_share").map_or(NONE, |share| Cell::number(format!("{} %", count(100.0 * share))))
}

fn scaled(variant: &VariantResults<'_>, measure: &str, unit: f64) -> Cell {
    variant.median(measure).map_or(NONE, |value| Cell::number(number(value / unit)))
}

fn counted(variant: &VariantResults<'_>, measure: &str) -> Cell {
    variant.median(measure).map_or(NONE, |value| Cell::number(count(value)))
}
