//! The calibrated values as YAML to paste into an experiment, each with its source and number of measurements.

use std::fmt::Write as _;

use itertools::Itertools;

use crate::document::yaml::in_lines;
use crate::results::CalibratedValue;

/// Returns the snippet; empty if no value has a setting.
pub(super) fn of_values(values: &[CalibratedValue]) -> String {
    let mut text = String::new();
    let pasted: Vec<&CalibratedValue> = values.iter().filter(|value| is_pasted(value)).collect();
    for section in pasted.iter().map(|value| section(value)).unique() {
        let _ = writeln!(text, "{section}:");
        for value in &pasted {
            let rest = value.setting.strip_prefix(section);
            let Some(key) = rest.and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            for line in comment(value) {
                let _ = writeln!(text, "  # {line}");
            }
            let _ = writeln!(text, "  {key}: {}", value.value);
        }
    }
    for value in values.iter().filter(|value| value.setting.contains('[')) {
        // Values in lists cannot be pasted, because the user must choose the entry.
        let _ = writeln!(text, "# {}: {}", value.setting, value.value);
        for line in comment(value) {
            let _ = writeln!(text, "#   {line}");
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("# Settings calibrated by fleetsim. Paste them into experiment.yaml.\n{text}")
}

/// Returns whether a value has a setting that can be pasted without changes.
fn is_pasted(value: &CalibratedValue) -> bool {
    !value.setting.is_empty() && !value.setting.contains('[')
}

/// Returns the section of an experiment that contains a value's setting.
fn section(value: &CalibratedValue) -> &str {
    value.setting.split('.').next().unwrap_or_default()
}

/// Returns the source of a value as comment lines of at most 110 characters.
fn comment(value: &CalibratedValue) -> Vec<String> {
    let interval = match (value.low.as_str(), value.high.as_str()) {
        ("", "") => String::new(),
        (low, "") => format!("; at least {low} (95%)"),
        (low, high) => format!("; 95% interval {low} to {high}"),
    };
    let mut lines = vec![format!(
        "calibrated: {}, {} from {}{interval}",
        value.quantity, value.count, value.source
    )];
    if !value.note.is_empty() {
        lines.push(value.note.clone());
    }
    lines.iter().flat_map(|line| in_lines(line, 110)).collect()
}
