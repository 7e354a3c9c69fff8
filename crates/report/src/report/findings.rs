//! The finding of each chart, which is its title: one sentence with the extremes of the medians over runs.
//!
//! Sentences state ranges, not winners: medians may lie closer to each other than luck moves them, and the answer says
//! which variants may be the best. Names are those that charts use; a shorter sentence without names takes the place
//! of one that is too wide. A chart whose results allow no sentence keeps its subject as its title.

use itertools::Itertools;

use super::data::VariantResults;
use super::format::{RateUnit, count, in_unit, number, rate, time};
use super::names;
use super::sheet::Sheet;
use crate::results::READY_TIME;
use fleetsim_units::stats::in_turn;

/// A link whose peak is at least this share of its capacity is full.
pub(super) const FULL: f64 = 0.98;
/// Medians that differ by less than this factor are alike.
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
    /// The first finding that the page has room for, otherwise the subject.
    /// The second text is the note, behind the subject where a finding without it is the title.
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

/// A variant's name and a value of it.
type NamedValue = (String, f64);

/// The least and the greatest of a measure's medians, with the names of their variants. `None` without a median.
fn extremes<'r>(
    variants: &[VariantResults<'r>],
    of: impl Fn(&VariantResults<'r>) -> Option<f64>,
) -> Option<(NamedValue, NamedValue)> {
    let named = names::in_short(variants).into_iter().zip(variants);
    let values = named.filter_map(|(name, variant)| Some((name, of(variant)?)));
    values.minmax_by(|a, b| a.1.total_cmp(&b.1)).into_option()
}

/// The name of a variant, or the number of variants whose value reads the same.
fn alone_or_several(
    name: String,
    value: &str,
    variants: &[VariantResults<'_>],
    text: impl Fn(&VariantResults<'_>) -> Option<String>,
) -> String {
    match variants
        .iter()
        .filter(|variant| text(variant).as_deref() == Some(value))
        .count()
    {
        0 | 1 => name,
        several => format!("{several} variants"),
    }
}

fn alike(low: f64, high: f64) -> bool {
    high <= ALIKE * low
}

/// `; most runs of 2 of 6 variants do not finish`: those without a median time.
fn unfinished(variants: &[VariantResults<'_>]) -> String {
    match variants
        .iter()
        .filter(|variant| variant.ready_time().is_none())
        .count()
    {
        0 => String::new(),
        some => format!(
            "; most runs of {some} of {} variants do not finish",
            variants.len()
        ),
    }
}

/// Completion times.
pub(super) fn completion(variants: &[VariantResults<'_>]) -> Vec<String> {
    let rest = unfinished(variants);
    let Some(((first, low), (last, high))) = extremes(variants, VariantResults::ready_time) else {
        return if variants.is_empty() {
            Vec::new()
        } else {
            vec!["No variant finishes in most of its runs".to_owned()]
        };
    };
    let (from, to) = (time(low), time(high));
    let finished: Vec<_> = variants
        .iter()
        .filter(|variant| variant.ready_time().is_some())
        .collect();
    match variants {
        [_] => vec![format!(
            "All clusters that can be updated are ready after {from}"
        )],
        _ if alike(low, high) => vec![format!(
            "Every variant that finishes is ready after about {from}{rest}"
        )],
        _ => vec![
            format!("{first} is ready after {from}, {last} after {to}{rest}"),
            format!("Completion takes between {from} and {to}{rest}"),
            format!(
                "{} of {} variants finish, after {from} to {to}",
                finished.len(),
                variants.len()
            ),
        ],
    }
}

/// Peaks of concurrent pulls.
pub(super) fn pulls(variants: &[VariantResults<'_>]) -> Vec<String> {
    let Some(((least, low), (most, high))) =
        extremes(variants, |variant| variant.median("peak_pulls"))
    else {
        return Vec::new();
    };
    let (from, to) = (count(low), count(high));
    let least = alone_or_several(least, &from, variants, |variant| {
        variant.median("peak_pulls").map(count)
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

/// Peaks of the registry's egress, against its link where it has one.
pub(super) fn egress(variants: &[VariantResults<'_>]) -> Vec<String> {
    let peak = |variant: &VariantResults<'_>| variant.median("egress_peak_1s_bytes_per_s");
    let Some(((least, low), (most, high))) = extremes(variants, peak) else {
        return Vec::new();
    };
    let unit = RateUnit::for_max(high);
    let (from, to) = (unit.text(low), unit.text(high));
    let least = alone_or_several(least, &from, variants, |variant| {
        peak(variant).map(|peak| unit.text(peak))
    });
    let linked: Vec<(f64, f64)> = variants
        .iter()
        .filter_map(|variant| Some((variant.info.registry_egress_bytes_per_s?, peak(variant)?)))
        .collect();
    let capacities: Vec<f64> = linked.iter().map(|(link, _)| *link).dedup().collect();
    let full = linked
        .iter()
        .filter(|(link, peak)| *peak >= FULL * link)
        .count();
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

/// `Half of the clusters are ready after 40 s (fast) to 5 min (slow)`: a time of each variant, if it has one.
pub(super) fn times(
    variants: &[VariantResults<'_>],
    what: &str,
    times: &[Option<f64>],
) -> Vec<String> {
    let of = |variant: &VariantResults<'_>| {
        *times.get(
            variants
                .iter()
                .position(|other| other.index == variant.index)?,
        )?
    };
    let Some(((first, low), (last, high))) = extremes(variants, of) else {
        return Vec::new();
    };
    let never = match times.iter().filter(|time| time.is_none()).count() {
        0 => String::new(),
        some => format!(", and never in {some} of {} variants", variants.len()),
    };
    let (from, to) = (time(low), time(high));
    if variants.len() == 1 || alike(low, high) {
        return vec![format!("{what} {from}{never}")];
    }
    vec![
        format!("{what} {from} ({first}) to {to} ({last}){never}"),
        format!("{what} {from} to {to}{never}"),
    ]
}

/// Most clusters that were instructed and not ready at once, in the displayed run.
pub(super) fn updating(variants: &[VariantResults<'_>]) -> Vec<String> {
    let most =
        |variant: &VariantResults<'_>| variant.displayed.map(|run| run.peak_not_ready as f64);
    let Some(((least, low), (greatest, high))) = extremes(variants, most) else {
        return Vec::new();
    };
    let (from, to) = (count(low), count(high));
    let least = alone_or_several(least, &from, variants, |variant| most(variant).map(count));
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

/// Time against peak: the fastest variant and the one with the lowest peak.
pub(super) fn tradeoff(variants: &[VariantResults<'_>]) -> Vec<String> {
    let finished: Vec<VariantResults<'_>> = variants
        .iter()
        .filter(|variant| variant.ready_time().is_some())
        .cloned()
        .collect();
    let [time_of, peak_of] = [READY_TIME, "peak_pulls"].map(|measure| {
        move |variant: &VariantResults<'_>| variant.median(measure).unwrap_or(f64::INFINITY)
    });
    let by = |first: &dyn Fn(&VariantResults<'_>) -> f64,
              second: &dyn Fn(&VariantResults<'_>) -> f64| {
        let key = |at: &usize| [first(&finished[*at]), second(&finished[*at])];
        (0..finished.len()).min_by(|a, b| in_turn(key(a), key(b)))
    };
    let Some((fast, low)) = by(&time_of, &peak_of).zip(by(&peak_of, &time_of)) else {
        return completion(variants);
    };
    if finished.len() < 2 {
        return completion(variants);
    }
    let names = names::in_short(variants);
    let name = |at: usize| {
        let place = variants
            .iter()
            .position(|variant| variant.index == finished[at].index);
        place.map_or("", |place| names[place].as_str())
    };
    let (quick, slow) = (
        time(time_of(&finished[fast])),
        time(time_of(&finished[low])),
    );
    let (high_peak, low_peak) = (
        count(peak_of(&finished[fast])),
        count(peak_of(&finished[low])),
    );
    if fast == low {
        return vec![format!(
            "{} has both the shortest time, {quick}, and the lowest peak",
            name(fast)
        )];
    }
    vec![
        format!(
            "{} takes {quick} and {high_peak} pulls at once, {} {slow} and {low_peak}",
            name(fast),
            name(low)
        ),
        format!("{high_peak} pulls at once take {quick}, {low_peak} take {slow}"),
    ]
}

/// The effect of a setting: by which factors it moves completion and peak along one line at most.
pub(super) fn effect(subject: &str, lines: &[Vec<&VariantResults<'_>>]) -> Vec<String> {
    // Of lines with two values or more; others change nothing.
    let factor = |measure: &str| {
        let along = |line: &Vec<&VariantResults<'_>>| {
            let values = line.iter().filter_map(|variant| variant.median(measure));
            match values.minmax_by(f64::total_cmp) {
                itertools::MinMaxResult::MinMax(low, high) => (low > 0.0).then(|| high / low),
                _ => None,
            }
        };
        lines.iter().filter_map(along).reduce(f64::max)
    };
    let (most, by) = if lines.len() > 1 {
        ("up to ", "")
    } else {
        ("", "by ")
    };
    let said = |factor: f64| match factor {
        factor if factor < 1.1 => None,
        factor if factor < 1.995 => {
            Some(format!("{by}{}%", number(((factor - 1.0) * 100.0).round())))
        }
        factor => Some(format!(
            "{}-fold",
            number(if factor < 10.0 {
                (factor * 10.0).round() / 10.0
            } else {
                factor.round()
            })
        )),
    };
    let [time_factor, peak_factor] = [READY_TIME, "peak_pulls"].map(factor);
    let [of_time, of_peak] = [time_factor, peak_factor].map(|factor| factor.and_then(said));
    // Words begin a sentence in capitals; the name of a setting is written as it is.
    let subject = match subject.split_once(' ') {
        Some(_) => capitalised(subject),
        None => subject.to_owned(),
    };
    if time_factor.is_none() && lines.iter().any(|line| line.len() > 1) {
        let by = of_peak.map_or_else(|| "hardly".to_owned(), |by| format!("{most}{by}"));
        return vec![
            format!("{subject} changes the peak of pulls {by}; completion cannot be compared"),
            format!("The peak of pulls changes {by}; completion cannot be compared"),
        ];
    }
    let mut changes = [("completion", of_time), ("the peak of pulls", of_peak)];
    if changes.iter().all(|(_, by)| by.is_none()) {
        return vec![format!(
            "{subject} hardly changes completion and the peak of pulls"
        )];
    }
    // What changes comes first.
    changes.sort_by_key(|(_, by)| by.is_none());
    let [(first, one), (second, other)] = changes.map(|(what, by)| {
        (
            what,
            by.map_or_else(|| "hardly".to_owned(), |by| format!("{most}{by}")),
        )
    });
    vec![
        format!("{subject} changes {first} {one}, and {second} {other}"),
        format!("{} changes {one}, {second} {other}", capitalised(first)),
    ]
}

fn capitalised(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// Clusters that received a defective revision.
pub(super) fn exposure(variants: &[VariantResults<'_>]) -> Vec<String> {
    let exposed = |variant: &VariantResults<'_>| variant.median("exposed_targets");
    let Some(((least, low), (most, high))) = extremes(variants, exposed) else {
        return Vec::new();
    };
    let fewest = variants
        .iter()
        .filter(|variant| exposed(variant).is_some_and(|value| value <= low))
        .count();
    let (from, to) = (
        if low > 0.0 {
            count(low)
        } else {
            "no".to_owned()
        },
        count(high),
    );
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

/// Pareto-optimal settings of each world: how many of how many.
pub(super) fn front(optimal: &[(usize, usize)]) -> Vec<String> {
    let some = optimal.iter().filter(|(best, _)| *best > 0);
    let Some((low, high)) = some.clone().map(|(best, _)| *best).minmax().into_option() else {
        return Vec::new();
    };
    let Some((few, many)) = some.clone().map(|(_, all)| *all).minmax().into_option() else {
        return Vec::new();
    };
    let none = match optimal.len() - some.count() {
        0 => String::new(),
        none => format!("; in {none} of {} no setting finishes", optimal.len()),
    };
    let of = if few == many {
        many.to_string()
    } else {
        format!("{few} to {many}")
    };
    let best = if low == high {
        low.to_string()
    } else {
        format!("{low} to {high}")
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
    fn titles_name_the_extremes_and_count_what_does_not_finish() {
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
    fn a_finding_that_is_too_wide_gives_way_to_a_shorter_one_and_last_to_the_subject() {
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
        };
        assert_eq!(short.on(sheet), ("short", "Egress: 3 runs".to_owned()));
        assert_eq!(head(&[wide]).on(sheet), ("Egress", "3 runs".to_owned()));
        let two_lines = "In a column, titles have several lines where a page has one; this one would not fit into one.";
        let long = head(&[two_lines.to_owned(), "short".to_owned()]);
        assert_eq!(
            long.on(Sheet {
                width: ChartWidth::Column,
                ..sheet
            })
            .0,
            two_lines
        );
        assert_eq!(long.on(sheet).0, "short");
    }
}
