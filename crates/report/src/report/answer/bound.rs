//! What holds the chosen variant back, by the trials of `causes.csv`, in one line.

use super::sentence::listed;
use crate::report::data::VariantResults;
use crate::report::format::{TimeUnit, alike, time};
use crate::results::{CauseRow, CauseVerdict, Resource, TrialKind};

/// Most resources that are named together.
const JOINT_MAX: usize = 3;

/// `the registry's link (1 Gbit/s): 22.8 of 24.3 min; then starting pods, 12.0 s`. `None`: there were no trials.
pub(in crate::report) fn line(variant: &VariantResults<'_>) -> Option<String> {
    words_of(&variant.causes, !variant.draws.is_empty())
}

/// The words on what holds the variant with this label back, by the rows of all trials; empty if it was not tried.
#[must_use]
pub fn bound_text(rows: &[CauseRow], label: &str) -> String {
    let own: Vec<&CauseRow> = rows.iter().filter(|row| row.variant == label).collect();
    words_of(&own, false).unwrap_or_default()
}

/// The words of [`line`]. `is_drawn`: the time that an answer leads with comes from draws of the constants.
fn words_of(causes: &[&CauseRow], is_drawn: bool) -> Option<String> {
    if causes.is_empty() {
        return None;
    }
    let keepers: Vec<&CauseRow> = with_verdict(causes, CauseVerdict::Keeps);
    if !keepers.is_empty() {
        let names: Vec<String> = keepers.iter().map(|row| words(row)).collect();
        let verb = if names.len() == 1 && !names[0].ends_with('s') {
            "keeps"
        } else {
            "keep"
        };
        return Some(format!(
            "no resource: {} {verb} it from completing",
            listed(&names)
        ));
    }
    if !completes(causes) {
        return Some("no resource: nothing that was lifted alone makes it complete".to_owned());
    }
    let mut text = match first(causes) {
        Some(first) => {
            let mut text = first_words(first);
            if is_drawn {
                text.push_str(" at the defaults");
            }
            if first.verdict == CauseVerdict::Saturates {
                text.push_str(", but halving it saves less than halving another");
            }
            text.push_str(&next_words(causes));
            text
        }
        None => "nothing stands out: no resource alone holds it back by more than 5%".to_owned(),
    };
    text.push_str(&slower_words(causes));
    Some(text)
}

/// The row that names what holds the variant back most.
pub(in crate::report) fn first<'r>(causes: &[&'r CauseRow]) -> Option<&'r CauseRow> {
    let is_first =
        |row: &&&CauseRow| matches!(row.verdict, CauseVerdict::First | CauseVerdict::Saturates);
    causes.iter().find(is_first).copied()
}

fn with_verdict<'r>(causes: &[&'r CauseRow], verdict: CauseVerdict) -> Vec<&'r CauseRow> {
    causes
        .iter()
        .filter(|row| row.verdict == verdict)
        .copied()
        .collect()
}

/// Returns whether the variant completes in most of the runs without a lift.
fn completes(causes: &[&CauseRow]) -> bool {
    causes
        .iter()
        .any(|row| row.trial == TrialKind::Placebo && row.base_s.is_some())
}

/// `the registry's link (1 Gbit/s): 22.8 of 24.3 min`.
fn first_words(row: &CauseRow) -> String {
    let together = if row.resources().len() > 1 {
        " together"
    } else {
        ""
    };
    format!(
        "{}{together}: {}",
        words(row),
        part_of(
            row.saved_s.unwrap_or_default(),
            row.base_s.unwrap_or_default()
        )
    )
}

/// `; then starting pods, 12.0 s`. Empty where the trials after the first did not fit.
fn next_words(causes: &[&CauseRow]) -> String {
    match with_verdict(causes, CauseVerdict::Next).first() {
        Some(next) => format!(
            "; then {}, {}",
            words(next),
            time(next.saved_s.unwrap_or_default())
        ),
        None if causes.iter().any(|row| row.trial == TrialKind::Then) => {
            "; nothing else stands out".to_owned()
        }
        None => String::new(),
    }
}

/// `; slower without the kubelet's pull limits, by 24.0 min`. Empty where nothing slows that people would try.
fn slower_words(causes: &[&CauseRow]) -> String {
    let mut slowing = with_verdict(causes, CauseVerdict::Slows);
    slowing.retain(|row| row.resources().iter().all(|one| is_tried(*one)));
    slowing.sort_by(|a, b| saved(a).total_cmp(&saved(b)));
    match slowing.first() {
        Some(row) => format!(
            "; without {} it is slower by {}",
            words(row),
            time(-saved(row))
        ),
        None => String::new(),
    }
}

fn saved(row: &CauseRow) -> f64 {
    row.saved_s.unwrap_or_default()
}

/// Returns whether people would raise this limit to be faster.
const fn is_tried(resource: Resource) -> bool {
    matches!(
        resource,
        Resource::KubeletPulls
            | Resource::DownloadSlots
            | Resource::RollingUpdates
            | Resource::Rule
            | Resource::ConnectionRate
            | Resource::Downlinks
    )
}

/// The resources of a row with the value of their limit.
fn words(row: &CauseRow) -> String {
    let mut names: Vec<String> = Vec::new();
    for resource in row.resources() {
        names.push(resource.words().to_owned());
    }
    if names.len() > JOINT_MAX {
        let others = names.len() - JOINT_MAX + 1;
        names.truncate(JOINT_MAX - 1);
        names.push(format!("{others} others"));
    }
    let mut text = listed(&names);
    if !row.limit.is_empty() {
        text.push_str(&format!(" ({})", row.limit));
    }
    text
}

/// `22.8 of 24.3 min`: a part of a time, in the unit of the whole.
fn part_of(part_s: f64, whole_s: f64) -> String {
    let unit = TimeUnit::for_span(whole_s);
    let [_, part] = alike([whole_s, part_s].map(|time_s| time_s / unit.seconds));
    format!("{part} of {}", time(whole_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{VariantInfo, resource_keys};

    fn info() -> VariantInfo {
        VariantInfo {
            variant: "all".to_owned(),
            ..VariantInfo::default()
        }
    }

    fn row(trial: TrialKind, resources: &[Resource], verdict: CauseVerdict) -> CauseRow {
        CauseRow {
            trial,
            resource: resource_keys(resources),
            base_s: Some(1_458.0),
            saved_s: Some(1_368.0),
            runs: 6,
            verdict,
            ..CauseRow::default()
        }
    }

    fn line_of(rows: &[CauseRow]) -> Option<String> {
        let info = info();
        let mut variant = VariantResults::bare(&info);
        variant.causes = rows.iter().collect();
        line(&variant)
    }

    #[test]
    fn a_limit_is_named_with_its_value_and_the_next_one() {
        let placebo = row(TrialKind::Placebo, &[], CauseVerdict::None);
        let mut first = row(
            TrialKind::Alone,
            &[Resource::RegistryLink],
            CauseVerdict::First,
        );
        first.limit = "1 Gbit/s".to_owned();
        let mut next = row(TrialKind::Then, &[Resource::PodStart], CauseVerdict::Next);
        next.saved_s = Some(12.0);
        assert_eq!(
            line_of(&[placebo.clone(), first.clone(), next]).expect("trials"),
            "the registry's link (1 Gbit/s): 22.8 of 24.3 min; then starting pods, 12.0 s"
        );
        let then = row(TrialKind::Then, &[Resource::PodStart], CauseVerdict::None);
        assert_eq!(
            line_of(&[placebo.clone(), first, then]).expect("trials"),
            "the registry's link (1 Gbit/s): 22.8 of 24.3 min; nothing else stands out"
        );
        assert_eq!(line_of(&[]), None);
        assert_eq!(
            line_of(&[placebo]).expect("trials"),
            "nothing stands out: no resource alone holds it back by more than 5%"
        );
    }

    #[test]
    fn joint_limits_and_keepers_are_named_together() {
        let placebo = row(TrialKind::Placebo, &[], CauseVerdict::None);
        let joint = [Resource::RegistryLink, Resource::Mirrors];
        let together = row(TrialKind::Together, &joint, CauseVerdict::First);
        assert_eq!(
            line_of(&[placebo, together]).expect("trials"),
            "the registry's link and the mirrors' links together: 22.8 of 24.3 min"
        );
        let keeper = row(
            TrialKind::Alone,
            &[Resource::OfflineClusters],
            CauseVerdict::Keeps,
        );
        assert_eq!(
            line_of(&[keeper]).expect("trials"),
            "no resource: offline clusters keep it from completing"
        );
    }
}
