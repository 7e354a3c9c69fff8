//! What holds the chosen variant back, by the trials of `causes.csv`, in one line.

use super::sentence::listed;
use crate::report::data::VariantResults;
use crate::report::format::{TimeUnit, alike, time};
use crate::results::{CauseRow, CauseVerdict, READY_TIME, Resource, ResourceKind, TrialKind};

/// Most resources that are named together.
const JOINT_MAX: usize = 3;

/// A smaller number of the first resource's unit stands in its own unit.
const SMALL: f64 = 0.1;
/// A time of the trials that differs from the answer's by more than this share is said to come from other runs.
const ALIKE: f64 = 0.05;

/// `the registry's link (1 Gbit/s): 22.8 of 24.3 min; then starting pods, 0.2 min`. `None`: there were no trials.
pub(in crate::report) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let median_s = variant.median(READY_TIME);
    BoundWords {
        causes: &variant.causes,
        is_drawn: !variant.draws.is_empty(),
        median_s,
    }
    .line()
}

/// The words on what holds the variant with this label back, by the rows of all trials; empty if it was not tried.
#[must_use]
pub fn bound_text(rows: &[CauseRow], label: &str) -> String {
    let own: Vec<&CauseRow> = rows.iter().filter(|row| row.variant == label).collect();
    let words = BoundWords {
        causes: &own,
        is_drawn: false,
        median_s: None,
    };
    words.line().unwrap_or_default()
}

/// What holds a variant back, in one or two words: `the registry's link`.
pub(in crate::report) fn short(causes: &[&CauseRow]) -> String {
    if let Some(first) = first(causes) {
        return names(first);
    }
    let keepers = with_verdict(causes, CauseVerdict::Keeps);
    if keepers.is_empty() {
        "no single resource".to_owned()
    } else {
        listed(&keepers.iter().map(|row| names(row)).collect::<Vec<_>>())
    }
}

/// The row that names what holds the variant back most.
pub(in crate::report) fn first<'r>(causes: &[&'r CauseRow]) -> Option<&'r CauseRow> {
    let mut named = causes.to_vec();
    named.retain(|row| matches!(row.verdict, CauseVerdict::First | CauseVerdict::Saturates));
    named.first().copied()
}

fn with_verdict<'r>(causes: &[&'r CauseRow], verdict: CauseVerdict) -> Vec<&'r CauseRow> {
    let mut found = causes.to_vec();
    found.retain(|row| row.verdict == verdict);
    found
}

/// The trials of a variant, and what the answer says of it.
struct BoundWords<'c, 'r> {
    causes: &'c [&'r CauseRow],
    /// Whether the time that the answer leads with comes from draws of the constants.
    is_drawn: bool,
    /// The median time of the study's own runs.
    median_s: Option<f64>,
}

impl BoundWords<'_, '_> {
    fn line(&self) -> Option<String> {
        let causes = self.causes;
        if causes.is_empty() {
            return None;
        }
        let keepers = with_verdict(causes, CauseVerdict::Keeps);
        if !completes(causes) {
            return Some(if keepers.is_empty() {
                "no resource alone: nothing that was lifted makes it complete".to_owned()
            } else {
                kept(&keepers, "it")
            });
        }
        let mut text = self.main();
        if !keepers.is_empty() {
            text.push_str("; ");
            text.push_str(&kept(&keepers, "some runs"));
        }
        text.push_str(&slower_words(causes));
        Some(text)
    }

    /// What holds the variant back most, and what then.
    fn main(&self) -> String {
        if let Some(first) = first(self.causes) {
            return format!(
                "{}{}{}",
                self.first_words(first),
                self.saturation(first),
                next_words(self.causes, first)
            );
        }
        if let Some(row) = usual(self.causes) {
            return format!(
                "in {} of {} runs, {}",
                row.saving_runs,
                row.runs,
                self.first_words(row)
            );
        }
        if let Some(rule) = saving_rule(self.causes) {
            return format!(
                "no resource stands out; all at once takes {} instead of {}",
                time(rule.lifted_s.unwrap_or_default()),
                time(rule.base_s.unwrap_or_default())
            );
        }
        "nothing stands out: no resource alone saves over 5% in each of six runs".to_owned()
    }

    /// `the registry's link (1 Gbit/s): 22.8 of 24.3 min`.
    fn first_words(&self, row: &CauseRow) -> String {
        let together = if row.resources().len() > 1 {
            " together"
        } else {
            ""
        };
        let base_s = row.base_s.unwrap_or_default();
        let part = part_of(row.saved_s.unwrap_or_default(), base_s);
        let is_other = self
            .median_s
            .is_some_and(|median_s| (base_s / median_s - 1.0).abs() > ALIKE);
        let runs = match (self.is_drawn, is_other) {
            (false, false) => "",
            (true, false) => " at the defaults",
            (false, true) => " in six extra runs",
            (true, true) => " in six extra runs at the defaults",
        };
        format!("{}{together}: {part}{runs}", words(row))
    }

    /// `, but halving the disks' time saves more`. Empty unless the first resource saturates.
    fn saturation(&self, first: &CauseRow) -> String {
        if first.verdict != CauseVerdict::Saturates {
            return String::new();
        }
        let mut halved = self.causes.to_vec();
        halved.retain(|row| row.trial == TrialKind::Halved && row.resource != first.resource);
        halved.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
        let own = self
            .causes
            .iter()
            .find(|row| row.trial == TrialKind::Halved && row.resource == first.resource);
        match halved.first() {
            Some(other) if own.is_some_and(|own| saved(other) > saved(own)) => {
                format!(
                    ", but to halve {} saves more than to halve it",
                    names(other)
                )
            }
            _ => ", but to halve it saves nothing".to_owned(),
        }
    }
}

/// Returns whether the variant completes in most of the runs without a lift.
fn completes(causes: &[&CauseRow]) -> bool {
    causes
        .iter()
        .any(|row| row.trial == TrialKind::Placebo && row.base_s.is_some())
}

/// `no resource: offline clusters keep it from completing`.
fn kept(keepers: &[&CauseRow], what: &str) -> String {
    let mut is_limit = false;
    let mut is_plural = keepers.len() > 1;
    for resource in keepers.iter().flat_map(|row| row.resources()) {
        is_limit |= resource.kind() == ResourceKind::Limit;
        is_plural |= resource.is_plural();
    }
    let named: Vec<String> = keepers.iter().map(|row| words(row)).collect();
    format!(
        "{}{} {} {what} from completing",
        if is_limit || what != "it" {
            ""
        } else {
            "no resource: "
        },
        listed(&named),
        if is_plural { "keep" } else { "keeps" }
    )
}

/// The resource that saves most in the median, if it saves something in most runs, but not in all. `None`: there is no
/// such resource.
fn usual<'r>(causes: &[&'r CauseRow]) -> Option<&'r CauseRow> {
    let mut found = causes.to_vec();
    found.retain(|row| {
        let is_rule = row
            .resources()
            .iter()
            .any(|one| one.kind() == ResourceKind::Rule);
        row.trial == TrialKind::Alone && !is_rule && 2 * row.saving_runs > row.runs && row.runs > 2
    });
    found.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
    found.first().copied()
}

/// The trial without the rule, if it saves something in each run.
fn saving_rule<'r>(causes: &[&'r CauseRow]) -> Option<&'r CauseRow> {
    let mut saving = causes.to_vec();
    saving.retain(|row| {
        row.trial == TrialKind::Alone
            && row.resources() == [Resource::Rule]
            && row.saving_runs == row.runs
            && row.lifted_s.is_some()
    });
    saving.first().copied()
}

/// `; then starting pods, 0.2 min`, in the unit of the first. Empty where the trials after the first did not fit.
fn next_words(causes: &[&CauseRow], first: &CauseRow) -> String {
    let whole_s = first.base_s.unwrap_or_default();
    let unit = TimeUnit::for_span(whole_s);
    match with_verdict(causes, CauseVerdict::Next).first() {
        Some(next) => {
            let in_unit = saved(next) / unit.seconds;
            let saved = if in_unit < SMALL {
                time(saved(next))
            } else {
                let [_, part] = alike([whole_s / unit.seconds, in_unit]);
                format!("{part} {}", unit.short)
            };
            format!("; then {}, {saved}", words(next))
        }
        None if causes.iter().any(|row| row.trial == TrialKind::Then) => {
            "; nothing else stands out".to_owned()
        }
        None => String::new(),
    }
}

/// `; without the kubelet's pull limits it is slower by 24.0 min`. Empty where nothing slows that people would try.
fn slower_words(causes: &[&CauseRow]) -> String {
    let mut slowing = with_verdict(causes, CauseVerdict::Slows);
    slowing.retain(|row| row.resources().iter().all(|one| is_tried(*one)));
    slowing.sort_by(|a, b| saved(a).total_cmp(&saved(b)));
    let Some(row) = slowing.first() else {
        return String::new();
    };
    let by = time(-saved(row));
    if row.resources() == [Resource::Rule] {
        format!("; all at once is slower by {by}")
    } else {
        format!("; without {} it is slower by {by}", words(row))
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
    let mut text = names(row);
    if !row.limit.is_empty() {
        text.push_str(&format!(" ({})", row.limit));
    }
    text
}

/// The resources of a row.
fn names(row: &CauseRow) -> String {
    let mut names: Vec<String> = Vec::new();
    for resource in row.resources() {
        names.push(resource.words().to_owned());
    }
    if names.len() > JOINT_MAX {
        let others = names.len() - JOINT_MAX + 1;
        names.truncate(JOINT_MAX - 1);
        names.push(format!("{others} others"));
    }
    listed(&names)
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
            "the registry's link (1 Gbit/s): 22.8 of 24.3 min; then starting pods, 0.2 min"
        );
        let then = row(TrialKind::Then, &[Resource::PodStart], CauseVerdict::None);
        assert_eq!(
            line_of(&[placebo.clone(), first, then]).expect("trials"),
            "the registry's link (1 Gbit/s): 22.8 of 24.3 min; nothing else stands out"
        );
        assert_eq!(line_of(&[]), None);
        assert_eq!(
            line_of(&[placebo]).expect("trials"),
            "nothing stands out: no resource alone saves over 5% in each of six runs"
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
