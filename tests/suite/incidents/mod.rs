//! The page of experiments/12-incidents: every number that is simulated is the one in the committed tables, and every
//! label follows from the report's number. `UPDATE_DOCS=1` writes the numbers.
//!
//! The page has three kinds of generated parts, between `<!-- generated: … -->` and `<!-- end of generated -->`: one
//! table of all incidents, the first lines of each section, and a table of the settings of each experiment. Their
//! words are in [`incident_words`], their numbers are medians over the draws of the constants in `uncertainty.csv`.
//!
//! A label is checked with the tolerance of docs/validation.md: a figure that is more than 20 % away is missed.
//! Where a report has no number, the label rests on a value that the simulation must exceed.

mod drawn_values;
mod incident_words;
mod page_parts;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use self::drawn_values::DrawnValues;
use self::incident_words::{INCIDENTS, Incident, IncidentLabel, StatedValue};
use super::common::{loaded, root};

/// The largest relative error of a figure that is not missed, as in docs/validation.md.
const TOLERANCE: f64 = 0.2;

/// The folder of the incidents' experiments.
fn experiments() -> PathBuf {
    root().join("experiments/12-incidents")
}

/// The committed draws of an incident.
fn drawn(incident: &Incident) -> DrawnValues {
    DrawnValues::read(&root().join("results/12-incidents").join(incident.folder))
}

/// The relative error of an incident's figure, if the report states one.
fn error_of(incident: &Incident, drawn: &DrawnValues) -> Option<f64> {
    let StatedValue::Figure(stated) = incident.stated else {
        return None;
    };
    let simulated = drawn.median(incident.variant(), incident.measure)?;
    Some(simulated / stated - 1.0)
}

#[test]
fn the_page_shows_the_committed_results() {
    let path = experiments().join("README.md");
    let text = fs::read_to_string(&path).expect("readable");
    let now = page_parts::renewed(&text);
    if now != text && std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &now).expect("writable");
        return;
    }
    let differing = text.lines().zip(now.lines()).find(|(old, new)| old != new);
    assert!(
        now == text,
        "the page differs from the results; run UPDATE_DOCS=1 cargo test --test suite incidents: {differing:?}"
    );
}

#[test]
fn every_label_follows_from_the_reported_value() {
    for incident in INCIDENTS {
        let at = incident.folder;
        let drawn = drawn(incident);
        match (&incident.stated, &incident.label) {
            (StatedValue::Figure(_), label) => {
                let error = error_of(incident, &drawn).expect("a simulated value");
                let is_missed = matches!(label, IncidentLabel::Missed(_));
                assert_eq!(error.abs() > TOLERANCE, is_missed, "{at}: {error:+.3}");
            }
            (StatedValue::MoreThan(least), IncidentLabel::Predicted) => {
                let median = drawn.median(incident.variant(), incident.measure);
                assert!(
                    median.is_some_and(|median| median > *least),
                    "{at}: {median:?}"
                );
            }
            (StatedValue::Nothing, IncidentLabel::Missed(_)) => {}
            _ => panic!(
                "{at}: a report without a value can neither be missed by a number nor predicted"
            ),
        }
    }
}

#[test]
fn every_remedy_improves_the_measure() {
    for incident in INCIDENTS {
        let drawn = drawn(incident);
        let of = [incident.variant(), incident.remedy_variant()]
            .map(|variant| drawn.median(variant, incident.measure));
        let [Some(before), Some(after)] = of else {
            panic!("{}: no value", incident.folder);
        };
        assert!(
            after < before / 1.2,
            "{}: {before}, {after}",
            incident.folder
        );
    }
}

#[test]
fn every_section_has_its_heading_and_its_generated_parts() {
    let text = fs::read_to_string(experiments().join("README.md")).expect("readable");
    for incident in INCIDENTS {
        let folder = incident.folder;
        let begin = format!(
            "## {}\n\n<!-- generated: lines of {folder} -->\n",
            incident.heading
        );
        assert!(text.contains(&begin), "{folder}");
        let settings = format!("<!-- generated: settings of {folder} -->");
        assert!(text.contains(&settings), "{folder}");
    }
}

#[test]
fn every_experiment_is_described_with_all_of_its_variants() {
    let mut folders = BTreeSet::new();
    for entry in fs::read_dir(experiments()).expect("the experiments") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = path.file_name().expect("a folder has a name");
            folders.insert(name.to_string_lossy().into_owned());
        }
    }
    let described = INCIDENTS.iter().map(|incident| incident.folder.to_owned());
    assert_eq!(described.collect::<BTreeSet<_>>(), folders);
    for incident in INCIDENTS {
        let experiment = loaded(&experiments().join(incident.folder));
        let mut labels = BTreeSet::new();
        for variant in &experiment.variants {
            labels.insert(variant.label.as_str());
        }
        let mut settings = BTreeSet::new();
        for setting in incident.settings {
            settings.insert(setting.variant);
        }
        assert_eq!(settings, labels, "{}", incident.folder);
    }
}

/// A person who opens an experiment.yaml must see what is stated and what is not.
#[test]
fn every_experiment_says_what_is_stated_and_what_is_assumed() {
    for incident in INCIDENTS {
        let path = experiments().join(incident.folder).join("experiment.yaml");
        let text = fs::read_to_string(path).expect("readable");
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        assert!(
            has(&["Stated", "stated", "documentation"]),
            "{}",
            incident.folder
        );
        assert!(has(&["Assumed", "assumed"]), "{}", incident.folder);
        assert!(has(&["uncertainty:"]), "{}", incident.folder);
    }
}
