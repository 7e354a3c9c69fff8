//! The calibrated values as YAML to paste into an experiment, each with its source and number of measurements.
//!
//! Settings of clusters are pasted as a group of `fleet`. An experiment that has a fleet already is then refused, as
//! the key appears twice. So nobody overlooks them: a fit that is pasted without its round trip is wrong.

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
    text.push_str(&fleet(values));
    for value in values.iter().filter(|value| is_chosen_by_user(value)) {
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

/// The settings of a group of clusters.
const FLEET: &str = "fleet[*].";

/// Returns a group of the fleet with the settings of clusters; empty if no value is such a setting.
fn fleet(values: &[CalibratedValue]) -> String {
    let mut text = String::new();
    for value in values {
        let Some(key) = value.setting.strip_prefix(FLEET) else {
            continue;
        };
        for line in comment(value) {
            let _ = writeln!(text, "    # {line}");
        }
        let _ = writeln!(text, "    {key}: {}", value.value);
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "fleet:\n  # The clusters of the fit. If your experiment has a fleet, write these settings to its groups \
         instead.\n  - name: calibrated\n{text}"
    )
}

/// Returns whether a value belongs to a list of which the user has to choose the entry.
fn is_chosen_by_user(value: &CalibratedValue) -> bool {
    value.setting.contains('[') && !value.setting.starts_with(FLEET)
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
    let mut lines = if value.count == 0 {
        vec![format!("assumed by the fit: {}", value.quantity)]
    } else {
        vec![format!(
            "calibrated: {}, {} from {}{interval}",
            value.quantity, value.count, value.source
        )]
    };
    if !value.note.is_empty() {
        lines.push(value.note.clone());
    }
    lines.iter().flat_map(|line| in_lines(line, 110)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(setting: &str, value: &str) -> CalibratedValue {
        CalibratedValue {
            setting: setting.to_owned(),
            quantity: "a quantity".to_owned(),
            value: value.to_owned(),
            ..CalibratedValue::default()
        }
    }

    #[test]
    fn settings_of_clusters_are_a_group_and_those_of_other_lists_are_comments() {
        let text = of_values(&[
            value("fleet[*].rtt", "5 ms"),
            value("node.pullConstant", "1 s"),
            value("release.images[*].compressionRatio", "3"),
            value("fleet[*].loss", "0%"),
        ]);
        assert_eq!(
            text,
            "# Settings calibrated by fleetsim. Paste them into experiment.yaml.\n\
             node:\n  # assumed by the fit: a quantity\n  pullConstant: 1 s\n\
             fleet:\n  # The clusters of the fit. If your experiment has a fleet, write these settings to its groups instead.\n  \
             - name: calibrated\n    # assumed by the fit: a quantity\n    rtt: 5 ms\n    # assumed by the fit: a quantity\n    \
             loss: 0%\n\
             # release.images[*].compressionRatio: 3\n#   assumed by the fit: a quantity\n"
        );
        assert_eq!(of_values(&[value("", "1 s")]), "");
    }
}
