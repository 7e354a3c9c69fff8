//! The front of a search within a number of tries in words: its settings, and how far the present one is from it.
//!
//! All values are of the few runs that the tried settings share. Left out where there are many: settings between
//! others on the front, which `front.csv` has.

use itertools::Itertools;

use super::name;
use super::table::{load_name, load_text, named_columns, room_beside, verdict};
use crate::report::format::{count, percent, time};
use crate::report::wrap::{column, joined, wrapped};
use crate::results::{
    Candidate, CandidateStatus, FrontPlace, PlanRecord, Question, Setting, TunedPlan,
};
use fleetsim_units::counted;

/// Most settings of the front that are listed.
const ROWS: usize = 16;

/// The front of a world, and where the present settings are.
pub(super) fn front(
    plan: &PlanRecord,
    tuned: &TunedPlan,
    question: &Question,
    width: usize,
) -> String {
    let tried = question.candidates.len();
    let on_front = || placed(question).filter(|(_, place)| place.is_optimal);
    let exposure = exposure_words(&tuned.exposure);
    let head = format!(
        "Front: {} of {} tried settings, which no other beats in time, {} and exposure ({exposure}) together, from the \
         same {} of each.",
        on_front().count(),
        count(tried as f64),
        load_name(plan),
        counted(tuned.runs_each, "run"),
    );
    wrapped(&head, width, "") + &table(plan, question) + &present(plan, question, width)
}

/// The clusters that the exposure counts, in words.
fn exposure_words(measure: &str) -> &'static str {
    match measure {
        "exposed_targets" => "clusters that receive the defective release",
        _ => "most clusters that are not ready at a time",
    }
}

/// The settings that finished.
fn placed(question: &Question) -> impl Iterator<Item = (&Candidate, FrontPlace)> {
    let place = |candidate: &FrontPlace| candidate.time.map(|_| *candidate);
    question
        .candidates
        .iter()
        .filter_map(move |candidate| Some((candidate, candidate.front.as_ref().and_then(place)?)))
}

fn table(plan: &PlanRecord, question: &Question) -> String {
    let by_time = |(_, place): &(&Candidate, FrontPlace)| place.time.map(f64::to_bits);
    let all: Vec<(&Candidate, FrontPlace)> = placed(question)
        .filter(|(candidate, place)| place.is_optimal || place.is_present || is_best(candidate))
        .sorted_by_key(by_time)
        .collect();
    // Evenly chosen, with the first and the last.
    let place = |at: usize| at * (ROWS - 1) / all.len().saturating_sub(1).max(1);
    let kept = |at: usize| at == 0 || all.len() <= ROWS || place(at) > place(at - 1);
    let rows: Vec<(&Candidate, FrontPlace)> = all
        .iter()
        .enumerate()
        .filter(|(at, (candidate, place))| kept(*at) || place.is_present || is_best(candidate))
        .map(|(_, row)| *row)
        .collect();
    let candidates: Vec<&Candidate> = rows.iter().map(|(candidate, _)| *candidate).collect();
    let verdict = |candidate: &Candidate, place: &FrontPlace| {
        let verdict = verdict(plan, question, candidate);
        if place.is_present {
            format!("present, {verdict}")
        } else {
            verdict
        }
    };
    let values = [
        column("", &rows, |(candidate, place)| verdict(candidate, place)),
        column("time", &rows, |(_, place)| {
            place.time.map(time).unwrap_or_default()
        }),
        column(load_name(plan), &rows, |(_, place)| {
            load_text(plan, question, place.load)
        }),
        column("exposure", &rows, |(_, place)| count(place.exposure)),
    ];
    let paths: Vec<&str> = rows
        .iter()
        .flat_map(|(of, _)| &of.settings)
        .map(|s| s.name.as_str())
        .unique()
        .collect();
    let heads = headings(&paths);
    let mut columns = named_columns(
        &candidates,
        question.answers.len() > 1,
        room_beside(&values),
        &|path| {
            let at = paths.iter().position(|other| *other == path);
            at.map_or_else(|| path.to_owned(), |at| heads[at].clone())
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

fn is_best(candidate: &Candidate) -> bool {
    candidate.standing == CandidateStatus::Best
}

/// The settings of a candidate in one text, without the paths that all share.
pub(super) fn setting(candidate: &Candidate) -> String {
    if candidate.front.is_some_and(|place| place.is_present) {
        return "as it stands".to_owned();
    }
    let text = |setting: &Setting| format!("{}={}", short(&setting.name), setting.value);
    candidate.settings.iter().map(text).join("; ")
}

/// A path without its strategy and product.
fn short(path: &str) -> &str {
    match path.splitn(4, '.').collect::<Vec<_>>()[..] {
        ["strategies", _, _, rest] => rest,
        _ => path,
    }
}

/// The headings of settings with these paths: the entry of a list alone, such as a partition or a step, where one
/// setting of each is searched. Further entries of a list have their numbers: `partitions[0]`, `[1]`, `[2]`.
pub(in crate::report) fn headings(paths: &[&str]) -> Vec<String> {
    let entry = |path: &str| {
        let path = short(path);
        let end = path.rfind("].").map(|end| end + 1)?;
        let start = path[..end].rfind('.').map_or(0, |dot| dot + 1);
        Some(path[start..end].to_owned())
    };
    let heading = |path: &&str| {
        let alike = paths
            .iter()
            .filter(|other| entry(other) == entry(path))
            .count();
        entry(path)
            .filter(|_| alike == 1)
            .unwrap_or_else(|| short(path).to_owned())
    };
    let headings: Vec<String> = paths.iter().map(heading).collect();
    let list = |heading: &str| Some(heading.strip_suffix(']')?.rsplit_once('[')?.0.to_owned());
    let of_known = |at: usize| {
        let own = list(&headings[at])
            .filter(|_| at > 0 && list(&headings[at]) == list(&headings[at - 1]));
        own.map_or_else(
            || headings[at].clone(),
            |own| headings[at][own.len()..].to_owned(),
        )
    };
    (0..headings.len()).map(of_known).collect()
}

/// The distance of each present setting from the front.
fn present(plan: &PlanRecord, question: &Question, width: usize) -> String {
    let own = question
        .candidates
        .iter()
        .filter_map(|candidate| Some((candidate, candidate.front?)));
    let sentence = |(candidate, place): (&Candidate, FrontPlace)| {
        let whose = format!("The present setting of {}", candidate.strategy);
        let Some(took) = place.time else {
            return format!("{whose} does not finish in every run.\n");
        };
        if place.is_optimal {
            return format!("{whose} is on the front.\n");
        }
        let better: Vec<(&Candidate, FrontPlace)> = placed(question)
            .filter(|(_, other)| {
                other.is_optimal && is_at_most(other.time.unwrap_or(f64::INFINITY), took)
            })
            .filter(|(_, other)| {
                is_at_most(other.load, place.load) && is_at_most(other.exposure, place.exposure)
            })
            .collect();
        let most = |of: &dyn Fn(&FrontPlace) -> f64, own: f64| {
            let saves = |other: &FrontPlace| {
                if own > 0.0 {
                    1.0 - of(other) / own
                } else {
                    0.0
                }
            };
            let found = better
                .iter()
                .max_by(|(_, a), (_, b)| saves(a).total_cmp(&saves(b)))?;
            let share = saves(&found.1);
            (share >= 0.01).then(|| (name(found.0), percent((share * 100.0).round() / 100.0)))
        };
        let saved = [
            (
                most(&|other| other.time.unwrap_or(f64::INFINITY), took),
                "time".to_owned(),
            ),
            (
                most(&|other| other.load, place.load),
                load_name(plan).to_owned(),
            ),
            (
                most(&|other| other.exposure, place.exposure),
                "exposure".to_owned(),
            ),
        ];
        let lines: Vec<String> = saved
            .into_iter()
            .filter_map(|(found, what)| {
                found.map(|(name, share)| format!("- {share} less {what}: {name}."))
            })
            .collect();
        let head = match lines.is_empty() {
            true => format!("{whose} is as good as a setting on the front."),
            false => format!("{whose} is not on the front. Without more time, load or exposure:"),
        };
        std::iter::once(head)
            .chain(lines)
            .map(|line| wrapped(&line, width, "    "))
            .collect()
    };
    own.filter(|(_, place)| place.is_present)
        .map(sentence)
        .collect()
}

/// At most as large, where values within 1% are equal.
fn is_at_most(value: f64, other: f64) -> bool {
    value <= other * 1.01
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_list_have_its_name_once() {
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
