//! The controls of a page: settings that a reader may change, in groups.
//!
//! They are the settings in force, with the values of the sweep and the ranges of the model's constants. Left out is
//! what belongs to the experiment as a whole, and what names a file. Other settings can be typed as for `--set`.

use itertools::Itertools;
use serde::Serialize;

use crate::results::Setting;
use crate::scenario::{Experiment, SettingInForce};

/// A setting that a reader may change.
#[derive(Debug, Serialize)]
pub(super) struct Control {
    /// The strategy that it is for; empty for all.
    strategy: String,
    group: &'static str,
    path: String,
    value: String,
    origin: String,
    /// Values to choose from: of the sweep, or from the low to the high end of a range.
    values: Vec<String>,
}

/// The groups: of the settings below these paths. The first that fits counts.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Strategy", &["strategies."]),
    (
        "Registry and links",
        &[
            "registry.",
            "fleet[",
            "inventory.",
            "regions[",
            "registries[",
            "mirrors[",
        ],
    ),
    (
        "Start and release",
        &["startsAt", "release.", "horizon", "changes"],
    ),
    ("Faults", &["faults"]),
    ("Limits", &["assert"]),
];

/// The group of settings that the experiment sweeps, and that of all others.
const SWEPT: &str = "Swept settings";
const OTHERS: &str = "All other settings and constants";

/// Keys that belong to the experiment as a whole.
const LEFT_OUT: [&str; 9] = [
    "name",
    "question",
    "seed",
    "replicates",
    "precision",
    "uncertainty",
    "sweep",
    "plan",
    "clusterGroups",
];

/// Settings that are not in force until somebody writes them.
const UNWRITTEN: [&str; 2] = ["startsAt", "assert"];

/// The controls, in the order of the page.
pub(super) fn controls(experiment: &Experiment) -> Vec<Control> {
    let swept: Vec<&Setting> = experiment
        .variants
        .iter()
        .flat_map(|variant| &variant.settings)
        .collect();
    let mut controls: Vec<Control> = Vec::new();
    for path in swept.iter().map(|setting| &setting.path).unique() {
        let own = |setting: &&&Setting| setting.path == *path;
        let values: Vec<String> = swept
            .iter()
            .filter(own)
            .map(|setting| setting.value.clone())
            .unique()
            .collect();
        let strategy = path
            .strip_prefix("strategies.")
            .and_then(|rest| rest.split('.').next())
            .unwrap_or_default();
        let origin = "values of the sweep".to_owned();
        let (strategy, path) = (strategy.to_owned(), path.clone());
        controls.push(Control {
            strategy,
            group: SWEPT,
            path,
            value: String::new(),
            origin,
            values,
        });
    }
    let everywhere = &experiment.settings.everywhere;
    add(&mut controls, "", everywhere.iter());
    for (strategy, _, settings) in &experiment.settings.strategies {
        let is_own =
            |setting: &&SettingInForce| everywhere.iter().all(|other| other.path != setting.path);
        add(&mut controls, strategy, settings.iter().filter(is_own));
    }
    for path in UNWRITTEN {
        if controls.iter().all(|control| control.path != path) {
            controls.push(control(
                "",
                path.to_owned(),
                String::new(),
                "not set".to_owned(),
                Vec::new(),
            ));
        }
    }
    let rank = |control: &Control| {
        let at = GROUPS.iter().position(|(group, _)| *group == control.group);
        if control.group == SWEPT {
            0
        } else {
            at.map_or(GROUPS.len() + 1, |at| at + 1)
        }
    };
    controls.sort_by_key(rank);
    controls
}

fn add<'s>(
    controls: &mut Vec<Control>,
    strategy: &str,
    settings: impl Iterator<Item = &'s SettingInForce>,
) {
    for setting in settings {
        let SettingInForce {
            path,
            value,
            origin,
            inside,
            ..
        } = setting;
        let top = path.split(['.', '[']).next().unwrap_or_default();
        let names_file = ["file", "manifest", "previous", "table"]
            .iter()
            .any(|key| path.ends_with(&format!(".{key}")));
        let is_swept = controls
            .iter()
            .any(|control| control.group == SWEPT && control.path == *path);
        if LEFT_OUT.contains(&top) || names_file || is_swept {
            continue;
        }
        // Faults as a whole are a map that nobody changes as such.
        if path == "faults" {
            for (key, value) in inside {
                controls.push(control(
                    strategy,
                    format!("faults.{key}"),
                    value.clone(),
                    origin.clone(),
                    Vec::new(),
                ));
            }
        } else {
            controls.push(control(
                strategy,
                path.clone(),
                value.clone(),
                origin.clone(),
                setting.range(),
            ));
        }
    }
}

fn control(
    strategy: &str,
    path: String,
    value: String,
    origin: String,
    values: Vec<String>,
) -> Control {
    let fits = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
    let group = GROUPS
        .iter()
        .find(|(_, starts)| fits(starts))
        .map_or(OTHERS, |(group, _)| group);
    Control {
        strategy: strategy.to_owned(),
        group,
        path,
        value,
        origin,
        values,
    }
}
