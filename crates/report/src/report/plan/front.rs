//! The front of a search with a limited number of tries, in words: its settings, and the distance of the current one.
//!
//! All values are from the few runs that the tried settings share. If there are many settings, those between others on
//! the front are left out; `front.csv` has them.

use super::name;
use super::table::{load_name, load_text, named_columns, room_beside, verdict};
use crate::report::format::{count, percent, time};
use crate::report::wrap::{column, joined, wrapped};
use crate::results::{
    Candidate, CandidateStatus, FrontPlace, Measure, PlanRecord, Question, Setting, TunedPlan,
};
use fleetsim_units::counted;

/// Maximum number of settings of the front that are listed.
const ROWS: usize = 16;

/// The front of a world, and the current settings relative to it.
pub(super) fn front(
    plan: &PlanRecord,
    tuned: &TunedPlan,
    question: &Question,
    width: usize,
) -> String {
    let tried = question.candidates.len();
    let mut on_front = placed(question);
    on_front.retain(|placed| placed.place.is_optimal);
    let exposure = exposure_words(tuned.exposure);
    let head = format!(
        "Front: {} of {} tried settings, which no other beats in time, {} and exposure ({exposure}) together, from the \
         same {} of each.",
        on_front.len(),
        count(tried as f64),
        load_name(plan),
        counted(tuned.runs_each, "run"),
    );
    wrapped(&head, width, "") + &table(plan, question) + &present(plan, question, width)
}

/// The clusters that the exposure counts, in words.
fn exposure_words(measure: Measure) -> &'static str {
    match measure {
        Measure::ExposedTargets => "clusters that receive the defective release",
        _ => "most clusters that are not ready at a time",
    }
}

/// A setting that finished, with its values.
#[derive(Clone, Copy)]
struct PlacedSetting<'q> {
    candidate: &'q Candidate,
    place: FrontPlace,
    time_s: f64,
}

impl PlacedSetting<'_> {
    /// Returns whether this is a chosen or a current setting.
    fn is_marked(&self) -> bool {
        self.place.is_present || is_best(self.candidate)
    }

    /// The status of the setting, and whether it is the current one.
    fn verdict(&self, plan: &PlanRecord, question: &Question) -> String {
        let verdict = verdict(plan, question, self.candidate);
        if self.place.is_present {
            format!("present, {verdict}")
        } else {
            verdict
        }
    }

    /// Returns whether this setting is at least as good as another one in time, load and exposure; values within 1%
    /// are equal.
    fn is_at_most(&self, time_s: f64, place: &FrontPlace) -> bool {
        is_at_most(self.time_s, time_s)
            && is_at_most(self.place.load, place.load)
            && is_at_most(self.place.exposure, place.exposure)
    }
}

/// The settings that finished.
fn placed(question: &Question) -> Vec<PlacedSetting<'_>> {
    let mut settings = Vec::new();
    for candidate in &question.candidates {
        if let Some(place) = candidate.front
            && let Some(time_s) = place.time
        {
            settings.push(PlacedSetting {
                candidate,
                place,
                time_s,
            });
        }
    }
    settings
}

/// Evenly chosen settings on the front, including the first, the last, and all marked ones.
fn chosen<'q>(all: &[PlacedSetting<'q>]) -> Vec<PlacedSetting<'q>> {
    let last = all.len().saturating_sub(1).max(1);
    let mut rows = Vec::new();
    let mut latest_row = None;
    for (at, setting) in all.iter().enumerate() {
        // The row of this setting if all settings were spread evenly over the rows.
        let row = at * (ROWS - 1) / last;
        let begins_row = latest_row != Some(row);
        latest_row = Some(row);
        if begins_row || all.len() <= ROWS || setting.is_marked() {
            rows.push(*setting);
        }
    }
    rows
}

/// The table of the front, the fastest setting first.
fn table(plan: &PlanRecord, question: &Question) -> String {
    let mut all = placed(question);
    all.retain(|setting| setting.place.is_optimal || setting.is_marked());
    all.sort_by_key(|setting| setting.time_s.to_bits());
    let rows = chosen(&all);
    let candidates: Vec<&Candidate> = rows.iter().map(|row| row.candidate).collect();
    let values = [
        column("", &rows, |row| row.verdict(plan, question)),
        column("time", &rows, |row| time(row.time_s)),
        column(load_name(plan), &rows, |row| {
            load_text(plan, question, row.place.load)
        }),
        column("exposure", &rows, |row| count(row.place.exposure)),
    ];
    let mut paths: Vec<&str> = Vec::new();
    for setting in candidates.iter().flat_map(|candidate| &candidate.settings) {
        if !paths.contains(&setting.name.as_str()) {
            paths.push(&setting.name);
        }
    }
    let heads = headings(&paths);
    let mut columns = named_columns(
        &candidates,
        question.answers.len() > 1,
        room_beside(&values),
        &|path| match paths.iter().position(|other| *other == path) {
            Some(at) => heads[at].clone(),
            None => path.to_owned(),
        },
    );
    let first = columns.len();
    columns.extend(values);
    let mut text = joined(&columns, first + 1);
    if rows.len() < all.len() {
        text.push_str(&format!(
            "{} more are in front.csv.\n",
            all.len() - rows.len()
        ));
    }
    text
}

/// Returns whether a plan chose a candidate.
fn is_best(candidate: &Candidate) -> bool {
    candidate.standing == CandidateStatus::Best
}

/// The settings of a candidate as one text, without the common part of their paths.
pub(super) fn setting(candidate: &Candidate) -> String {
    if candidate.front.is_some_and(|place| place.is_present) {
        return "as it stands".to_owned();
    }
    let mut texts = Vec::new();
    for Setting { name, value, .. } in &candidate.settings {
        texts.push(format!("{}={value}", short(name)));
    }
    texts.join("; ")
}

/// A path without its strategy and product.
fn short(path: &str) -> &str {
    match path.splitn(4, '.').collect::<Vec<_>>()[..] {
        ["strategies", _, _, rest] => rest,
        _ => path,
    }
}

/// The headings of settings with the given paths. If one setting of each entry of a list is searched, the heading is
/// the entry, such as a partition or a step. Further entries of a list only have their index: `partitions[0]`, `[1]`,
/// `[2]`.
pub(in crate::report) fn headings(paths: &[&str]) -> Vec<String> {
    let entries: Vec<Option<&str>> = paths.iter().map(|path| entry_of(path)).collect();
    let mut headings: Vec<&str> = Vec::new();
    for (path, entry) in paths.iter().zip(&entries) {
        let alike = entries.iter().filter(|other| *other == entry).count();
        headings.push(match entry {
            Some(entry) if alike == 1 => entry,
            _ => short(path),
        });
    }
    let mut texts: Vec<String> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        let list = list_of(heading);
        let is_further = at > 0 && list == list_of(headings[at - 1]);
        texts.push(match list {
            Some(list) if is_further => heading[list.len()..].to_owned(),
            _ => (*heading).to_owned(),
        });
    }
    texts
}

/// The list entry that a path leads to: `partitions[0]`. `None`: it does not lead to one.
fn entry_of(path: &str) -> Option<&str> {
    let path = short(path);
    let end = path.rfind("].")? + 1;
    let start = path[..end].rfind('.').map_or(0, |dot| dot + 1);
    Some(&path[start..end])
}

/// The name of the list of an entry: `partitions` for `partitions[0]`. `None`: it is not an entry.
fn list_of(heading: &str) -> Option<&str> {
    let (list, _) = heading.strip_suffix(']')?.rsplit_once('[')?;
    Some(list)
}

/// The distance of each current setting from the front.
fn present(plan: &PlanRecord, question: &Question, width: usize) -> String {
    let mut text = String::new();
    for candidate in &question.candidates {
        let Some(place) = candidate.front else {
            continue;
        };
        if place.is_present {
            text.push_str(&present_setting(plan, question, candidate, place, width));
        }
    }
    text
}

/// The distance of a current setting from the front.
fn present_setting(
    plan: &PlanRecord,
    question: &Question,
    candidate: &Candidate,
    place: FrontPlace,
    width: usize,
) -> String {
    let whose = format!("The current setting of {}", candidate.strategy);
    let Some(took) = place.time else {
        return format!("{whose} does not finish in every run.\n");
    };
    if place.is_optimal {
        return format!("{whose} is on the front.\n");
    }
    let mut better = placed(question);
    better.retain(|other| other.place.is_optimal && other.is_at_most(took, &place));
    let savings = [
        Saving::of(&better, "time", took, |other| other.time_s),
        Saving::of(&better, load_name(plan), place.load, |other| {
            other.place.load
        }),
        Saving::of(&better, "exposure", place.exposure, |other| {
            other.place.exposure
        }),
    ];
    let mut lines: Vec<String> = Vec::new();
    for Saving { what, share, name } in savings.into_iter().flatten() {
        lines.push(format!("- {share} less {what}: {name}."));
    }
    let head = if lines.is_empty() {
        format!("{whose} is as good as a setting on the front.")
    } else {
        format!("{whose} is not on the front. Without more time, load or exposure:")
    };
    let mut text = wrapped(&head, width, "    ");
    for line in lines {
        text.push_str(&wrapped(&line, width, "    "));
    }
    text
}

/// The maximum saving of a quantity by a setting on the front.
struct Saving<'p> {
    what: &'p str,
    share: String,
    /// The name of the setting with this saving.
    name: String,
}

impl<'p> Saving<'p> {
    /// The largest saving compared with `own`, and its setting; on a tie, the last one. `None` if the saving is less
    /// than 1%.
    fn of(
        better: &[PlacedSetting<'_>],
        what: &'p str,
        own: f64,
        value: fn(&PlacedSetting<'_>) -> f64,
    ) -> Option<Self> {
        let mut found: Option<&PlacedSetting<'_>> = None;
        let mut most = f64::NEG_INFINITY;
        for other in better {
            let share = if own > 0.0 {
                1.0 - value(other) / own
            } else {
                0.0
            };
            if share.total_cmp(&most).is_ge() {
                found = Some(other);
                most = share;
            }
        }
        let found = found?;
        (most >= 0.01).then(|| Self {
            what,
            share: percent((most * 100.0).round() / 100.0),
            name: name(found.candidate),
        })
    }
}

/// Returns whether a value is at most another; values within 1% are equal.
fn is_at_most(value: f64, other: f64) -> bool {
    value <= other * 1.01
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_contain_the_name_of_a_list_once() {
        let of = |rest: &str| format!("strategies.s.rancherFleet.{rest}");
        let found = |rest: &[&str]| {
            let paths: Vec<String> = rest.iter().map(|rest| of(rest)).collect();
            headings(&paths.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let limits = [
            "partitions[0].maxUnavailable",
            "partitions[1].maxUnavailable",
            "maxUnavailablePartitions",
        ];
        assert_eq!(
            found(&limits),
            ["partitions[0]", "[1]", "maxUnavailablePartitions"]
        );
        let two = ["steps[0].a", "steps[0].b", "steps[1].a"];
        assert_eq!(found(&two), ["steps[0].a", "steps[0].b", "steps[1]"]);
    }
}
