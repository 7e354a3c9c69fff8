//! The generated parts of the page: the table of all incidents, the first lines of a section, the settings.

use super::drawn_values::DrawnValues;
use super::incident_words::{INCIDENTS, Incident, IncidentLabel};
use super::{drawn, error_of};

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end of generated -->";

/// Prose ends before this column.
const COLUMNS: usize = 118;

/// The page with current numbers in its generated parts.
pub(super) fn renewed(page: &str) -> String {
    let mut now = String::new();
    let mut rest = page;
    while let Some(at) = rest.find(BEGIN) {
        let begin = at + BEGIN.len();
        let name_end = begin + rest[begin..].find(" -->").expect("a comment ends");
        let end = name_end + rest[name_end..].find(END).expect("a generated part ends");
        now.push_str(&rest[..name_end]);
        now.push_str(" -->\n");
        now.push_str(&part(&rest[begin..name_end]));
        now.push_str(END);
        rest = &rest[end + END.len()..];
    }
    now + rest
}

/// The part with this name.
fn part(name: &str) -> String {
    if name == "incidents" {
        return all_incidents();
    }
    let (kind, folder) = name.split_once(" of ").expect("a kind and a folder");
    let incident = INCIDENTS
        .iter()
        .find(|incident| incident.folder == folder)
        .unwrap_or_else(|| panic!("no incident `{folder}`"));
    match kind {
        "lines" => first_lines(incident),
        "settings" => settings(incident),
        _ => panic!("no part `{name}`"),
    }
}

/// Replaces each `{measure form setting}` by the median of that setting, and `{measure form setting ±}` by the median
/// with its interval. Settings are counted from 0.
fn filled(words: &str, incident: &Incident, drawn: &DrawnValues) -> String {
    let mut text = String::new();
    for (at, piece) in words.split(['{', '}']).enumerate() {
        if at % 2 == 0 {
            text.push_str(piece);
            continue;
        }
        let parts: Vec<&str> = piece.split(' ').collect();
        let [measure, form, setting, rest @ ..] = parts.as_slice() else {
            panic!("`{piece}` is not a measure, a form and a setting");
        };
        let setting: usize = setting.parse().expect("the number of a setting");
        let variant = incident.settings[setting].variant;
        let value = if rest.is_empty() {
            drawn.value(variant, measure, form)
        } else {
            drawn.interval(variant, measure, form)
        };
        text.push_str(&value);
    }
    text
}

/// The label of an incident, with the error of its figure.
fn label(incident: &Incident, drawn: &DrawnValues) -> String {
    let word = match incident.label {
        IncidentLabel::Predicted => "predicted".to_owned(),
        IncidentLabel::Calibrated(set) => format!("calibrated, {set} set"),
        IncidentLabel::Missed(_) => "missed".to_owned(),
    };
    match error_of(incident, drawn) {
        Some(error) => format!("{word}, {}", percent(error)),
        None => word,
    }
}

/// A relative error in whole percent.
fn percent(error: f64) -> String {
    let percent = (error * 100.0).round();
    let sign = if percent < 0.0 { "−" } else { "+" };
    // A space at which no line ends.
    format!("{sign}{}\u{a0}%", percent.abs())
}

/// The anchor of an incident's section.
fn anchor(incident: &Incident) -> String {
    let mut anchor = String::new();
    for letter in incident.heading.to_lowercase().chars() {
        if letter == ' ' {
            anchor.push('-');
        } else if letter.is_alphanumeric() || letter == '-' {
            anchor.push(letter);
        }
    }
    anchor
}

fn all_incidents() -> String {
    let mut table = String::from(
        "\n| incident | reported | simulated | label | what would have avoided it | what that costs |\n\
         |---|---|---|---|---|---|\n",
    );
    for incident in INCIDENTS {
        let drawn = drawn(incident);
        let cells = [
            format!("[{}](#{})", incident.heading, anchor(incident)),
            incident.reported_in_short.to_owned(),
            filled(incident.simulated_in_short, incident, &drawn),
            label(incident, &drawn),
            filled(incident.remedy, incident, &drawn),
            costs(incident, &drawn),
        ];
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table + "\n"
}

/// What the remedy costs, with the price of both if the experiment has prices.
fn costs(incident: &Incident, drawn: &DrawnValues) -> String {
    let words = filled(incident.costs, incident, drawn);
    let Some(currency) = drawn.currency() else {
        return words;
    };
    let [remedy, before] = [incident.remedy_variant(), incident.variant()]
        .map(|variant| drawn.value(variant, "cost", "money"));
    format!("{words}; {remedy} instead of {before} {currency}")
}

fn first_lines(incident: &Incident) -> String {
    let drawn = drawn(incident);
    let simulated = filled(incident.simulated, incident, &drawn);
    let because = match incident.label {
        IncidentLabel::Missed(reason) => format!(" {reason}"),
        _ => String::new(),
    };
    let label = label(incident, &drawn);
    let lines = [
        format!("- **Reported:** {}", incident.reported),
        format!("- **Simulated:** {simulated} *{label}.*{because}"),
    ];
    let mut text = String::from("\n");
    for line in lines {
        text.push_str(&wrapped(&line));
    }
    text + "\n"
}

/// An item of a list, broken before the last column.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut columns = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > COLUMNS {
            text.push_str("\n  ");
            columns = 2;
        } else if columns > 0 {
            text.push(' ');
            columns += 1;
        }
        text.push_str(word);
        columns += length;
    }
    text + "\n"
}

fn settings(incident: &Incident) -> String {
    let drawn = drawn(incident);
    let file = format!("{}/experiment.yaml", incident.folder);
    let mut header = format!(
        "\nMedians over the draws of [{file}]({file}), with 95 % intervals:\n\n| setting |"
    );
    let mut line = String::from("|---|");
    for column in incident.columns {
        header.push_str(&format!(" {} |", column.header));
        line.push_str("---|");
    }
    if let Some(currency) = drawn.currency() {
        header.push_str(&format!(" {currency} |"));
        line.push_str("---|");
    }
    let mut table = format!("{header}\n{line}\n");
    for setting in incident.settings {
        table.push_str(&format!("| {} |", setting.words));
        for column in incident.columns {
            let value = drawn.interval(setting.variant, column.measure, column.form);
            table.push_str(&format!(" {value} |"));
        }
        if drawn.currency().is_some() {
            let cost = drawn.interval(setting.variant, "cost", "money");
            table.push_str(&format!(" {cost} |"));
        }
        table.push('\n');
    }
    table + "\n"
}
