//! A review as text for a terminal, and as Markdown for a pull request.
//!
//! Both begin with the change of the completion time and its cause. Measures that do not differ share one line. Only
//! numbers depend on the runs, so two reviews of the same change have the same text.

use super::{
    BoundReview, CauseReview, MeasureReview, Review, SettingChange, VariantReview, ViolationReview,
};
use crate::report::answer::sentence::listed;
use crate::report::format::{RateUnit, TimeUnit, apart, count, in_unit, is_money, number};
use crate::report::wrap::{column, paragraph, side_by_side, wrapped};
use fleetsim_units::counted;

/// Minimum share of the change in completion time that a named cause accounts for.
const NAMED: f64 = 0.1;
/// Maximum number of listed settings.
const SETTINGS_MAX: usize = 12;
/// Maximum number of variants whose measures are listed in a terminal.
const VARIANTS_MAX: usize = 6;

impl MeasureReview {
    /// `24.3 min`; `more than 48 h` for a time that is not reached before the horizon.
    fn value(&self, value: Option<f64>) -> String {
        match (value, self.unit.as_str()) {
            (Some(value), unit) => with_unit(value, unit),
            (None, "s") => format!("more than {}", in_unit(self.horizon_s, &self.unit)),
            (None, _) => "–".to_owned(),
        }
    }

    /// Returns whether the interval of the difference excludes zero.
    fn is_clear(&self) -> bool {
        match self.low.zip(self.high) {
            Some((low, high)) => low > 0.0 || high < 0.0,
            None => false,
        }
    }

    /// The difference with its interval, such as `−10.2 min [−10.5 to −9.9]`; empty if the difference is not known.
    fn change(&self) -> String {
        let Some(difference) = self.difference else {
            return String::new();
        };
        let size = with_unit(difference.abs(), &self.unit);
        let text = with_sign(if difference < 0.0 {
            format!("-{size}")
        } else {
            size
        });
        match self.low.zip(self.high) {
            Some((low, high)) if low < high => {
                let [_, low, high] =
                    in_one_unit([difference, low, high], &self.unit).map(with_sign);
                if low == high {
                    text
                } else {
                    format!("{text} [{low} to {high}]")
                }
            }
            _ => text,
        }
    }
}

/// A number with its sign; without one if it reads as 0.
fn with_sign(text: String) -> String {
    let is_zero = !text.chars().any(|letter| ('1'..='9').contains(&letter));
    match text.strip_prefix('-') {
        Some(size) if is_zero => size.to_owned(),
        Some(size) => format!("−{size}"),
        None if is_zero => text,
        None => format!("+{text}"),
    }
}

/// A value with its unit. Counts have no unit, because their heading says what is counted.
fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" | "bytes" | "bytes/s" | "1" => in_unit(value, unit),
        unit if is_money(unit) => in_unit(value, unit),
        // Large counts are whole numbers or halves.
        _ if value.abs() >= 99.95 => count(value),
        _ => number(value),
    }
}

/// Numbers to be read together, in the unit of the first, without the unit's name.
fn in_one_unit(values: [f64; 3], unit: &str) -> [String; 3] {
    let first = values[0].abs();
    match unit {
        "s" => {
            let unit = TimeUnit::for_span(first);
            apart(values.map(|value| value / unit.seconds))
        }
        "bytes/s" => {
            let unit = RateUnit::for_max(first);
            values.map(|value| number(value / unit.bytes_per_s))
        }
        "bytes" => values.map(|value| number(value / 1e9)),
        "1" => values.map(|value| number(value / 0.01)),
        _ => values.map(number),
    }
}

impl VariantReview {
    /// `completes in 14.1 min instead of 24.3 min`; if some runs do not finish, the number of runs that do comes
    /// first.
    fn headline(&self) -> String {
        let [old, new] = self.finished;
        let pairs = counted(self.pairs, "run");
        match self.is_whole {
            true => self.time_words(),
            false if old == new => format!(
                "finishes in {new} of {pairs}, as before; {}",
                self.time_words()
            ),
            false => format!(
                "finishes in {new} of {pairs} (before: {old} of {}); {}",
                self.pairs,
                self.time_words()
            ),
        }
    }

    /// `completes in 14.1 min instead of 24.3 min`.
    fn time_words(&self) -> String {
        let verb = if self.is_whole {
            "completes"
        } else {
            "the median run completes"
        };
        let Some(time) = self.time() else {
            return "no completion time".to_owned();
        };
        match (time.old, time.new) {
            (None, None) => format!("{verb} in neither version"),
            (Some(_), None) => format!(
                "{} (before: {})",
                verb.replace("completes", "no longer completes"),
                time.value(time.old)
            ),
            (None, Some(_)) => format!(
                "{verb} in {}; before, it did not complete",
                time.value(time.new)
            ),
            _ if time.is_same => format!("{verb} in {} as before", time.value(time.new)),
            _ if !time.is_clear() && time.low.is_some() => {
                format!(
                    "{verb} in {}; the change is within chance",
                    time.value(time.new)
                )
            }
            _ => format!(
                "{verb} in {} instead of {}",
                time.value(time.new),
                time.value(time.old)
            ),
        }
    }

    /// Sentences on the cause of the change; empty if the time does not change.
    fn cause(&self) -> String {
        let mut sentences = Vec::new();
        let difference = self.time().and_then(|time| time.difference);
        let total = difference.unwrap_or(0.0).abs();
        let mut parts: Vec<String> = Vec::new();
        for cause in &self.causes {
            if total > 0.0 && cause.difference_s.abs() >= NAMED * total {
                parts.push(cause.in_words());
            }
        }
        if !parts.is_empty() {
            sentences.push(format!("On the critical path: {}.", listed(&parts)));
        }
        if let Some(bound) = &self.bound {
            sentences.push(bound.in_words());
        }
        let [before, after] = self.stages;
        if before != after {
            sentences.push(format!("Stages: {before} → {after}."));
        }
        if let Some(rule) = self.held_by.as_ref().filter(|rule| !rule.is_empty()) {
            sentences.push(format!("One unfinished run is blocked by {rule}."));
        }
        sentences.join(" ")
    }

    /// The rows of the variant's table, and the line on measures that do not differ.
    fn rows(&self) -> (Vec<[String; 4]>, String) {
        let mut rows = Vec::new();
        let mut unchanged = Vec::new();
        for measure in &self.measures {
            if measure.is_same {
                unchanged.push(format!(
                    "{} {}",
                    measure.heading,
                    measure.value(measure.new)
                ));
            } else {
                rows.push(measure.row());
            }
        }
        let unchanged = if unchanged.is_empty() {
            String::new()
        } else {
            format!("Unchanged: {}.", unchanged.join(", "))
        };
        (rows, unchanged)
    }
}

impl MeasureReview {
    /// The row of the measure in a table: its heading, both values and the difference.
    fn row(&self) -> [String; 4] {
        let difference = match self.change() {
            text if self.is_clear() || self.low.is_none() => text,
            text => format!("{text} (within chance)"),
        };
        [
            self.heading.to_owned(),
            self.value(self.old),
            self.value(self.new),
            difference,
        ]
    }
}

impl BoundReview {
    /// `The limit moves from the registry's link to the sites' downlinks.`
    fn in_words(&self) -> String {
        let [old, new] = &self.names;
        if self.is_same {
            format!("The limit is the same as before: {new}.")
        } else {
            format!("The limit moves from {old} to {new}.")
        }
    }
}

impl CauseReview {
    /// `10.2 min less wait for people`.
    fn in_words(&self) -> String {
        let direction = if self.difference_s < 0.0 {
            "less"
        } else {
            "more"
        };
        let size = in_unit(self.difference_s.abs(), "s");
        format!("{size} {direction} {}", self.part)
    }
}

impl SettingChange {
    /// `fleet[0].clusters: 100 → 200`.
    fn in_words(&self) -> String {
        let old = self.old.as_deref().unwrap_or("(none)");
        let new = self.new.as_deref().unwrap_or("(none)");
        format!("{}: {old} → {new}", self.setting)
    }
}

impl ViolationReview {
    /// As [`ViolationReview::in_words`], with texts of the experiment quoted.
    fn in_markdown(&self) -> String {
        let variant = code(&self.variant);
        let limit = code(&self.limit);
        let verb = self.verb();
        let value = &self.value;
        match &self.before {
            None => format!("**new:** {variant} {verb} {limit}: {value}"),
            Some(before) => {
                format!("as before: {variant} {verb} {limit}: {value} (before: {before})")
            }
        }
    }
}

impl Review {
    /// The verdict in one line: new violations, or else the change of the time, and violations as before.
    fn title(&self) -> String {
        let (new, before): (Vec<_>, Vec<_>) = self
            .violations
            .iter()
            .partition(|violation| violation.is_new());
        let as_before = match before.len() {
            0 => String::new(),
            count => format!(" ({} as before)", counted(count, "violation")),
        };
        let verdict = match new.as_slice() {
            [] => self.change(),
            [only] => format!(
                "{} now {} {}",
                code(&only.variant),
                only.verb(),
                code(&only.limit)
            ),
            several => counted(several.len(), "new violation"),
        };
        verdict + &as_before
    }

    /// The change of the times in one line.
    fn change(&self) -> String {
        match self.variants.as_slice() {
            _ if self.is_identical() => "the versions are identical".to_owned(),
            _ if self.is_same() => "no measure of the rollout changes".to_owned(),
            [only] => format!("{} {}", code(&only.variant), only.headline()),
            several => {
                let changed = several
                    .iter()
                    .filter(|variant| variant.time().is_some_and(MeasureReview::is_clear))
                    .count();
                format!(
                    "{changed} of {} rollouts take a different time",
                    several.len()
                )
            }
        }
    }

    /// The settings that differ, one per line.
    fn setting_lines(&self) -> Vec<String> {
        let shown = self.settings.iter().take(SETTINGS_MAX);
        let mut lines: Vec<String> = shown.map(SettingChange::in_words).collect();
        let more = self.settings.len().saturating_sub(SETTINGS_MAX);
        if more > 0 {
            lines.push(format!("{more} more settings"));
        }
        lines
    }

    /// Sentences on variants that only one version has; empty if there are none.
    fn one_sided(&self) -> String {
        let mut sentences = Vec::new();
        if !self.only_old.is_empty() {
            sentences.push(format!("Only before: {}.", self.only_old.join(", ")));
        }
        if !self.only_new.is_empty() {
            sentences.push(format!("Only after: {}.", self.only_new.join(", ")));
        }
        sentences.join(" ")
    }

    /// `20 replicates with the same random numbers`.
    fn basis(&self) -> String {
        let pairs = self.variants.iter().map(|variant| variant.pairs);
        let pairs = pairs.min().unwrap_or(0);
        format!(
            "Medians over {} with the same random numbers (seed {}); differences are means of pairs with their 95% \
             interval.",
            counted(pairs, "replicate"),
            self.seed
        )
    }
}

/// The review for a terminal that is `width` characters wide.
#[must_use]
pub fn review_text(review: &Review, width: usize) -> String {
    let mut text = format!("{} → {}\n\n", review.old, review.new);
    if review.is_identical() {
        text.push_str("Identical: no setting and no measure differs.\n");
    }
    for violation in &review.violations {
        text.push_str(&wrapped(&violation.in_words(), width, "  "));
    }
    if review.is_identical() || !review.violations.is_empty() {
        text.push('\n');
    }
    for variant in &review.variants {
        let cause = variant.cause();
        let sentence = format!("`{}` {}. {cause}", variant.variant, variant.headline());
        text.push_str(&wrapped(sentence.trim_end(), width, ""));
        if review.variants.len() > VARIANTS_MAX {
            continue;
        }
        let (rows, unchanged) = variant.rows();
        if !rows.is_empty() {
            let heads = ["", "before", "after", "difference [95% CI]"];
            let columns = [0, 1, 2, 3].map(|at| column(heads[at], &rows, |row| row[at].clone()));
            for line in side_by_side(&columns, 1) {
                text.push_str(&format!("  {}\n", line.trim_end()));
            }
        }
        if !unchanged.is_empty() {
            text.push_str(&format!(
                "  {}",
                wrapped(&unchanged, width.saturating_sub(2), "  ")
            ));
        }
        text.push('\n');
    }
    if review.variants.len() > VARIANTS_MAX {
        text.push('\n');
    }
    text.push_str(&paragraph(&review.one_sided(), width));
    match review.setting_lines() {
        lines if lines.is_empty() => text.push_str("No setting differs.\n"),
        lines => {
            text.push_str("Settings that differ:\n");
            for line in lines {
                let line = wrapped(&line, width.saturating_sub(2), "    ");
                text.push_str(&format!("  {line}"));
            }
        }
    }
    text.push_str(&wrapped(&review.basis(), width, ""));
    text
}

/// The review as a comment on a pull request. `verdicts`: the limits that the new version asserts, as text.
#[must_use]
pub fn review_markdown(review: &Review, verdicts: &str) -> String {
    let mut text = String::new();
    let head = review.title();
    text.push_str(&format!("### fleetsim: {head}\n"));
    if !review.violations.is_empty() {
        text.push('\n');
    }
    for violation in &review.violations {
        text.push_str(&format!("- {}\n", violation.in_markdown()));
    }
    let is_in_title = !review.has_new_violation() && !review.is_same();
    for variant in &review.variants {
        let (rows, unchanged) = variant.rows();
        if review.variants.len() > 1 || !is_in_title {
            text.push_str(&format!(
                "\n**{}** {}\n",
                code(&variant.variant),
                variant.headline()
            ));
        }
        let cause = variant.cause();
        if !cause.is_empty() {
            text.push_str(&format!("\n{cause}\n"));
        }
        if !rows.is_empty() {
            text.push_str("\n| | before | after | difference [95% CI] |\n|---|---:|---:|---:|\n");
            for row in rows {
                text.push_str(&format!(
                    "| {} |\n",
                    row.map(|cell| cell_of(&cell)).join(" | ")
                ));
            }
        }
        if !unchanged.is_empty() {
            text.push_str(&format!("\n{unchanged}\n"));
        }
    }
    if !review.one_sided().is_empty() {
        text.push_str(&format!("\n{}\n", review.one_sided()));
    }
    if !verdicts.is_empty() {
        text.push_str(&format!("\n```text\n{}\n```\n", verdicts.trim()));
    }
    let lines = review.setting_lines();
    let summary = match review.settings.len() {
        0 => "No setting differs".to_owned(),
        1 => "1 setting differs".to_owned(),
        several => format!("{several} settings differ"),
    };
    text.push_str(&format!("\n<details><summary>{summary}</summary>\n\n"));
    for line in lines {
        text.push_str(&format!("- {}\n", code(&line)));
    }
    text.push_str(&format!("\n{}\n\n</details>\n", review.basis()));
    text
}

/// A text of the experiment, possibly untrusted, quoted as code so that it cannot end the quotation.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// A cell of a Markdown table.
fn cell_of(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_counts_may_end_in_a_half() {
        let texts = [52.5, 105.5, 1_234.0, 123.4].map(|value| with_unit(value, "pulls"));
        assert_eq!(texts, ["52.5", "105.5", "1,234", "123"]);
    }
}
