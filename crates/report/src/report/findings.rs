//! The finding of each chart, which is its title: one sentence with the extremes of the medians over runs.
//!
//! Sentences state ranges, not winners: medians may differ by less than their random error, and the answer says which
//! variants may be the best. Names are those used in charts; a shorter sentence without names replaces one that is too
//! wide. If the results allow no sentence, the chart's subject is its title.

use itertools::Itertools;

use super::data::VariantResults;
use super::format::{RateUnit, count, in_unit, number, rate, time};
use super::names;
use super::sheet::Sheet;
use crate::results::{Measure, READY_TIME};
use fleetsim_units::stats::in_turn;

/// A link whose peak is at least this share of its capacity is full.
pub(super) const FULL: f64 = 0.98;
/// Medians that differ by less than this factor count as equal.
const ALIKE: f64 = 1.02;

/// The head of a chart: its title and the lines below it.
pub(super) struct Head<'h> {
    /// The quantity that the chart shows, as a title: `Rollout completion time`.
    pub(super) subject: &'h str,
    /// Sentences with the finding, the preferred one first.
    pub(super) findings: Vec<String>,
    /// The extent of the data, and how to read the chart.
    pub(super) note: String,
}

impl Head<'_> {
    /// The first finding that fits on the page, otherwise the subject. The second text is the note, after the subject
    /// if the title is a finding that does not contain it.
    pub(super) fn on(&self, sheet: Sheet<'_>) -> (&str, String) {
        match self
            .findings
            .iter()
            .find(|finding| sheet.has_room_for(finding))
        {
            Some(finding) if finding.starts_with(self.subject) => (finding, self.note.clone()),
            Some(finding) => (finding, format!("{}: {}", self.subject, self.note)),
            None => (self.subject, self.note.clone()),
        }
    }
}

/// The extremes of a measure's medians, with the names of their variants.
struct Extremes {
    least: String,
    low: f64,
    greatest: String,
    high: f64,
}

impl Extremes {
    /// Finds the variants with the smallest and the largest `value`. `None` if no variant has a value.
    fn of<'r>(
        variants: &[VariantResults<'r>],
        value: impl Fn(&VariantResults<'r>) -> Option<f64>,
    ) -> Option<Self> {
        let values: Vec<Option<f64>> = variants.iter().map(value).collect();
        Self::of_values(variants, &values)
    }

    /// Finds the variants with the smallest and the largest of `values`. If values are equal, the first of them is the
    /// minimum and the last the maximum. `None` if no variant has a value.
    fn of_values(variants: &[VariantResults<'_>], values: &[Option<f64>]) -> Option<Self> {
        let mut found: Option<Self> = None;
        for (name, value) in names::in_short(variants).into_iter().zip(values) {
            let Some(value) = *value else {
                continue;
            };
            match &mut found {
                None => {
                    found = Some(Self {
                        least: name.clone(),
                        low: value,
                        greatest: name,
                        high: value,
                    });
                }
                Some(found) if value.total_cmp(&found.low).is_lt() => {
                    found.least = name;
                    found.low = value;
                }
                Some(found) if value.total_cmp(&found.high).is_ge() => {
                    found.greatest = name;
                    found.high = value;
                }
                Some(_) => {}
            }
        }
        found
    }
}

/// The name of a variant, or the number of variants if the values of several look equal in print.
fn alone_or_several(
    name: String,
    value: &str,
    variants: &[VariantResults<'_>],
    text: impl Fn(&VariantResults<'_>) -> Option<String>,
) -> String {
    let alike = variants
        .iter()
        .filter(|variant| text(variant).as_deref() == Some(value));
    match alike.count() {
        0 | 1 => name,
        several => format!("{several} variants"),
    }
}

/// The number of variants without a median time.
fn count_unfinished(variants: &[VariantResults<'_>]) -> usize {
    variants
        .iter()
        .filter(|variant| variant.ready_time().is_none())
        .count()
}

/// Returns whether two medians differ by so little that they count as equal.
fn alike(low: f64, high: f64) -> bool {
    high <= ALIKE * low
}

/// `; most runs of 2 of 6 variants do not finish`: the variants without a median time.
fn unfinished(variants: &[VariantResults<'_>]) -> String {
    match count_unfinished(variants) {
        0 => String::new(),
        some => format!(
            "; most runs of {some} of {} variants do not finish",
            variants.len()
        ),
    }
}

/// The finding on completion times.
pub(super) fn completion(variants: &[VariantResults<'_>]) -> Vec<String> {
    let rest = unfinished(variants);
    let Some(times) = Extremes::of(variants, VariantResults::ready_time) else {
        return if variants.is_empty() {
            Vec::new()
        } else {
            vec!["No variant finishes in most of its runs".to_owned()]
        };
    };
    let from = time(times.low);
    let to = time(times.high);
    if variants.len() == 1 {
        return vec![format!(
            "All clusters that can be updated are ready after {from}"
        )];
    }
    if alike(times.low, times.high) {
        return vec![format!(
            "Every variant that finishes is ready after about {from}{rest}"
        )];
    }
    let Extremes {
        least: first,
        greatest: last,
        ..
    } = times;
    vec![
        format!("{first} is ready after {from}, {last} after {to}{rest}"),
        format!("Completion takes between {from} and {to}{rest}"),
        format!(
            "{} of {} variants finish, after {from} to {to}",
            variants.len() - count_unfinished(variants),
            variants.len()
        ),
    ]
}

/// The finding on peaks of concurrent pulls.
pub(super) fn pulls(variants: &[VariantResults<'_>]) -> Vec<String> {
    let Some(peaks) = Extremes::of(variants, |variant| variant.median(Measure::PeakPulls)) else {
        return Vec::new();
    };
    let Extremes { low, high, .. } = peaks;
    let most = peaks.greatest;
    let from = count(low);
    let to = count(high);
    let least = alone_or_several(peaks.least, &from, variants, |variant| {
        variant.median(Measure::PeakPulls).map(count)
    });
    match variants {
        _ if high <= 0.0 => vec!["No variant pulls an image".to_owned()],
        [_] => vec![format!(
            "At most {to} image {} at once",
            if to == "1" { "pull runs" } else { "pulls run" }
        )],
        _ if from == to => vec![format!(
            "Every variant peaks at {}",
            in_unit(high, "concurrent image pulls")
        )],
        _ => vec![
            format!(
                "{most} peaks at {}, {least} at {from}",
                in_unit(high, "concurrent image pulls")
            ),
            format!("Concurrent image pulls peak between {from} and {to}"),
        ],
    }
}

/// The median peak of the registry's egress.
fn peak_egress(variant: &VariantResults<'_>) -> Option<f64> {
    variant.median(Measure::EgressPeak1s)
}

/// The finding on peaks of the registry's egress, which are compared with the registry's link if it has a limit.
pub(super) fn egress(variants: &[VariantResults<'_>]) -> Vec<String> {
    let Some(peaks) = Extremes::of(variants, peak_egress) else {
        return Vec::new();
    };
    let Extremes { low, high, .. } = peaks;
    let most = peaks.greatest;
    let unit = RateUnit::for_max(high);
    let from = unit.text(low);
    let to = unit.text(high);
    let least = alone_or_several(peaks.least, &from, variants, |variant| {
        peak_egress(variant).map(|peak| unit.text(peak))
    });
    let mut capacities: Vec<f64> = Vec::new();
    let mut full = 0;
    for variant in variants {
        if let Some(link) = variant.info.registry_egress_bytes_per_s
            && let Some(peak) = peak_egress(variant)
        {
            capacities.push(link);
            full += usize::from(peak >= FULL * link);
        }
    }
    capacities.dedup();
    let link = match capacities.as_slice() {
        [only] => format!("the {} link", rate(*only)),
        _ if full == variants.len() => "its link".to_owned(),
        _ => "their links".to_owned(),
    };
    match (variants.len(), full) {
        _ if high <= 0.0 => vec!["The registry sends nothing".to_owned()],
        (1, 1) => vec![format!("The rollout fills {link} for a second or longer")],
        (1, _) => vec![format!("The registry sends at most {to}")],
        (all, full) if full == all => {
            vec![format!("Every variant fills {link} for a second or longer")]
        }
        (all, 1..) => vec![
            format!("{full} of {all} variants fill {link}; the lowest peak is {from}"),
            format!("{full} of {all} variants fill {link}"),
        ],
        _ if alike(low, high) => vec![format!("Every variant peaks at about {to}")],
        _ => vec![
            format!("{most} peaks at {to}, {least} at {from}"),
            format!("Egress peaks between {from} and {to}"),
        ],
    }
}

/// A finding on a time of each variant that has one: `Half of the clusters are ready after 40 s (fast) to 5 min
/// (slow)`.
pub(super) fn times(
    variants: &[VariantResults<'_>],
    what: &str,
    times: &[Option<f64>],
) -> Vec<String> {
    let Some(found) = Extremes::of_values(variants, times) else {
        return Vec::new();
    };
    let never = match times.iter().filter(|time| time.is_none()).count() {
        0 => String::new(),
        some => format!(", and never in {some} of {} variants", variants.len()),
    };
    let from = time(found.low);
    let to = time(found.high);
    if variants.len() == 1 || alike(found.low, found.high) {
        return vec![format!("{what} {from}{never}")];
    }
    let Extremes {
        least: first,
        greatest: last,
        ..
    } = found;
    vec![
        format!("{what} {from} ({first}) to {to} ({last}){never}"),
        format!("{what} {from} to {to}{never}"),
    ]
}

/// The maximum number of clusters that were simultaneously unready in the displayed run.
fn peak_not_ready(variant: &VariantResults<'_>) -> Option<f64> {
    Some(variant.displayed?.peak_not_ready as f64)
}

/// The finding on the maximum number of clusters that were simultaneously instructed and not ready, in the displayed
/// run.
pub(super) fn updating(variants: &[VariantResults<'_>]) -> Vec<String> {
    let Some(found) = Extremes::of(variants, peak_not_ready) else {
        return Vec::new();
    };
    let greatest = found.greatest;
    let from = count(found.low);
    let to = count(found.high);
    let least = alone_or_several(found.least, &from, variants, |variant| {
        peak_not_ready(variant).map(count)
    });
    if variants.len() == 1 || from == to {
        let clusters = if to == "1" {
            "cluster is"
        } else {
            "clusters are"
        };
        return vec![format!(
            "At most {to} {clusters} updating or not ready at once"
        )];
    }
    vec![
        format!(
            "{greatest} has up to {to} clusters updating or not ready at once, {least} up to {from}"
        ),
        format!("Up to {from} to {to} clusters are updating or not ready at once"),
    ]
}

/// A variant that finishes, with its time and its load.
struct Traded {
    name: String,
    time_s: f64,
    peak: f64,
}

/// Time against peak: the fastest variant and the one with the lowest peak.
pub(super) fn tradeoff(variants: &[VariantResults<'_>]) -> Vec<String> {
    let mut finished: Vec<Traded> = Vec::new();
    for (name, variant) in names::in_short(variants).into_iter().zip(variants) {
        if let Some(time_s) = variant.median(READY_TIME) {
            finished.push(Traded {
                name,
                time_s,
                peak: variant.median(Measure::PeakPulls).unwrap_or(f64::INFINITY),
            });
        }
    }
    if finished.len() < 2 {
        return completion(variants);
    }
    let fast = finished
        .iter()
        .min_by(|a, b| in_turn([a.time_s, a.peak], [b.time_s, b.peak]));
    let low = finished
        .iter()
        .min_by(|a, b| in_turn([a.peak, a.time_s], [b.peak, b.time_s]));
    let Some((fast, low)) = fast.zip(low) else {
        return completion(variants);
    };
    let quick = time(fast.time_s);
    if std::ptr::eq(fast, low) {
        return vec![format!(
            "{} has both the shortest time, {quick}, and the lowest peak",
            fast.name
        )];
    }
    let slow = time(low.time_s);
    let high_peak = count(fast.peak);
    let low_peak = count(low.peak);
    vec![
        format!(
            "{} takes {quick} and {high_peak} pulls at once, {} {slow} and {low_peak}",
            fast.name, low.name
        ),
        format!("{high_peak} pulls at once take {quick}, {low_peak} take {slow}"),
    ]
}

/// The largest ratio of two values of a measure on the same line. `None`: every line has fewer than two values, or a
/// minimum of 0.
fn greatest_factor(lines: &[Vec<&VariantResults<'_>>], measure: Measure) -> Option<f64> {
    let mut greatest: Option<f64> = None;
    for line in lines {
        let mut values: Vec<f64> = line
            .iter()
            .filter_map(|variant| variant.median(measure))
            .collect();
        values.sort_by(f64::total_cmp);
        let [low, .., high] = values[..] else {
            continue;
        };
        if low > 0.0 {
            let factor = high / low;
            greatest = Some(greatest.map_or(factor, |before| before.max(factor)));
        }
    }
    greatest
}

/// A factor in words: `up to 3-fold`, `by 20%`. It is along one of several lines, or along the only line. `None` if
/// the factor is close to 1.
fn factor_in_words(factor: f64, several_lines: bool) -> Option<String> {
    if factor < 1.1 {
        return None;
    }
    let most = if several_lines { "up to " } else { "" };
    if factor < 1.995 {
        let by = if several_lines { "" } else { "by " };
        let percent = number(((factor - 1.0) * 100.0).round());
        return Some(format!("{most}{by}{percent}%"));
    }
    let rounded = if factor < 10.0 {
        (factor * 10.0).round() / 10.0
    } else {
        factor.round()
    };
    Some(format!("{most}{}-fold", number(rounded)))
}

/// A quantity and its change. `None`: the quantity does not change noticeably.
struct QuantityChange {
    what: &'static str,
    by: Option<String>,
}

impl QuantityChange {
    /// The change in words.
    fn by(&self) -> &str {
        self.by.as_deref().unwrap_or("hardly")
    }
}

/// The effect of a setting: the maximum factors by which it changes completion and peak along one line.
pub(super) fn effect(subject: &str, lines: &[Vec<&VariantResults<'_>>]) -> Vec<String> {
    let several = lines.len() > 1;
    let time_factor = greatest_factor(lines, READY_TIME);
    let peak_factor = greatest_factor(lines, Measure::PeakPulls);
    let time = QuantityChange {
        what: "completion",
        by: time_factor.and_then(|factor| factor_in_words(factor, several)),
    };
    let peak = QuantityChange {
        what: "the peak of pulls",
        by: peak_factor.and_then(|factor| factor_in_words(factor, several)),
    };
    // A subject of several words is capitalised; the name of a setting is kept as written.
    let subject = if subject.contains(' ') {
        capitalised(subject)
    } else {
        subject.to_owned()
    };
    if time_factor.is_none() && lines.iter().any(|line| line.len() > 1) {
        let by = peak.by();
        return vec![
            format!("{subject} changes the peak of pulls {by}; completion cannot be compared"),
            format!("The peak of pulls changes {by}; completion cannot be compared"),
        ];
    }
    if time.by.is_none() && peak.by.is_none() {
        return vec![format!(
            "{subject} hardly changes completion and the peak of pulls"
        )];
    }
    // Measures that change come first.
    let [first, second] = if time.by.is_none() {
        [peak, time]
    } else {
        [time, peak]
    };
    let one = first.by();
    let other = second.by();
    vec![
        format!(
            "{subject} changes {} {one}, and {} {other}",
            first.what, second.what
        ),
        format!(
            "{} changes {one}, {} {other}",
            capitalised(first.what),
            second.what
        ),
    ]
}

/// A text whose first letter is a capital.
fn capitalised(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// The median number of clusters that received a defective revision.
fn exposed_targets(variant: &VariantResults<'_>) -> Option<f64> {
    variant.median(Measure::ExposedTargets)
}

/// The finding on the number of clusters that received a defective revision.
pub(super) fn exposure(variants: &[VariantResults<'_>]) -> Vec<String> {
    let Some(found) = Extremes::of(variants, exposed_targets) else {
        return Vec::new();
    };
    let Extremes { low, high, .. } = found;
    let least = found.least;
    let most = found.greatest;
    let fewest = variants
        .iter()
        .filter(|variant| exposed_targets(variant).is_some_and(|value| value <= low))
        .count();
    let from = if low > 0.0 {
        count(low)
    } else {
        "no".to_owned()
    };
    let to = count(high);
    let clusters = if count(low) == "1" {
        "cluster"
    } else {
        "clusters"
    };
    if variants.len() == 1 {
        return vec![format!(
            "The defective revision reaches {}",
            in_unit(high, "clusters")
        )];
    }
    if count(low) == count(high) {
        return vec![format!(
            "Every variant exposes {} to the defective revision",
            in_unit(high, "clusters")
        )];
    }
    let first = match fewest {
        1 => format!("{least} exposes {from} {clusters}"),
        some => format!(
            "{some} of {} variants expose {from} {clusters}",
            variants.len()
        ),
    };
    vec![
        format!("{first}, {most} {to}"),
        format!("{first}, others up to {to}"),
    ]
}

/// The minimum and the maximum of some numbers: `3`, or `3 to 5`. `None` without a number.
fn from_to(numbers: impl Iterator<Item = usize>) -> Option<String> {
    let (low, high) = numbers.minmax().into_option()?;
    Some(if low == high {
        low.to_string()
    } else {
        format!("{low} to {high}")
    })
}

/// The finding on the number of Pareto-optimal settings among all settings of each world.
pub(super) fn front(optimal: &[(usize, usize)]) -> Vec<String> {
    let some = optimal.iter().copied().filter(|(best, _)| *best > 0);
    let best = from_to(some.clone().map(|(best, _)| best));
    let of = from_to(some.clone().map(|(_, all)| all));
    let Some((best, of)) = best.zip(of) else {
        return Vec::new();
    };
    let none = match optimal.len() - some.count() {
        0 => String::new(),
        none => format!("; in {none} of {} no setting finishes", optimal.len()),
    };
    match optimal.len() {
        1 => vec![format!("{best} of {of} settings are Pareto-optimal")],
        worlds if none.is_empty() => {
            vec![format!(
                "{best} of {of} settings are Pareto-optimal in each of {worlds} worlds"
            )]
        }
        _ => vec![format!(
            "{best} of {of} settings are Pareto-optimal in a world{none}"
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sheet::ChartWidth;
    use crate::report::synthetic::{Fleet, Wave, six_settings};
    use crate::report::tests::readable_quietly;
    use crate::results::Provenance;

    fn said(waves: Vec<Wave>, finding: fn(&[VariantResults<'_>]) -> Vec<String>) -> Vec<String> {
        let results = readable_quietly(&Fleet {
            waves,
            replicates: 6,
            ..six_settings()
        });
        finding(&results.variants())
    }

    #[test]
    fn titles_name_the_extremes_and_count_unfinished_variants() {
        let waves = || {
            vec![
                Wave::new("slow", 50, 0),
                Wave::new("fast", 250, 0),
                Wave::new("stuck", 100, 1),
            ]
        };
        let texts = said(waves(), completion);
        assert!(
            texts[0].starts_with("fast is ready after ") && texts[0].contains(", slow after "),
            "{texts:?}"
        );
        assert!(
            texts[0].ends_with("; most runs of 1 of 3 variants do not finish"),
            "{texts:?}"
        );
        assert!(
            texts[1].starts_with("Completion takes between "),
            "{texts:?}"
        );
        let texts = said(waves(), pulls);
        assert!(
            texts[0].starts_with("fast peaks at ") && texts[0].contains(" slow at "),
            "{texts:?}"
        );
        let texts = said(waves(), tradeoff);
        assert!(
            texts[0].starts_with("fast takes ") && texts[0].contains(" slow "),
            "{texts:?}"
        );
        assert_eq!(
            said(vec![Wave::new("stuck", 100, 1)], completion),
            ["No variant finishes in most of its runs"]
        );
    }

    #[test]
    fn a_title_too_wide_for_the_page_is_replaced_by_a_shorter_finding_or_the_subject() {
        let head = |findings: &[String]| Head {
            subject: "Egress",
            findings: findings.to_vec(),
            note: "3 runs".to_owned(),
        };
        let wide = "wide ".repeat(60);
        let short = head(&[wide.clone(), "short".to_owned()]);
        let provenance = &Provenance::new("waves", "How long?", 1, 5);
        let sheet = Sheet {
            provenance,
            width: ChartWidth::Page,
            untitled: false,
        };
        assert_eq!(short.on(sheet), ("short", "Egress: 3 runs".to_owned()));
        assert_eq!(head(&[wide]).on(sheet), ("Egress", "3 runs".to_owned()));
        let two_lines = "In a column, titles have several lines where a page has one; this one would not fit into one.";
        let long = head(&[two_lines.to_owned(), "short".to_owned()]);
        assert_eq!(
            long.on(Sheet {
                width: ChartWidth::Column,
                untitled: false,
                ..sheet
            })
            .0,
            two_lines
        );
        assert_eq!(long.on(sheet).0, "short");
    }
}
