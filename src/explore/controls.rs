//! The controls on a page: settings that the user may change, in groups.
//!
//! Controls exist for the settings in force. Their values come from the sweep and from the ranges of the model's
//! constants. Left out: settings of the experiment as a whole, and settings that name a file. Other settings can be
//! typed as for `--set`.

use itertools::Itertools;
use serde::Serialize;

use crate::results::grouped;
use crate::scenario::{Experiment, SettingInForce, is_setting_of_experiment};

/// A setting that the user may change.
#[derive(Debug, Serialize)]
pub(super) struct Control {
    /// The strategy that the control applies to. Empty: all strategies.
    strategy: String,
    group: &'static str,
    path: String,
    value: String,
    origin: String,
    /// Values to choose from: those in the sweep, or values from the low to the high end of a range.
    values: Vec<String>,
}

/// The groups of controls, with the path prefixes of their settings. The first match applies.
const GROUPS: [(&str, &[&str]); 6] = [
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
        &[
            "startsAt",
            "release.",
            "releases[",
            "applications.",
            "horizon",
        ],
    ),
    ("Faults", &["faults"]),
    ("People", &["operator[", "changes"]),
    ("Limits", &["assert"]),
];

/// The name of the group of swept settings. The name of the group of all other settings follows.
const SWEPT: &str = "Swept settings";
const OTHERS: &str = "All other settings and constants";

/// Settings that are in force only if the experiment contains them.
const UNWRITTEN: [&str; 2] = ["startsAt", "assert"];

/// Returns the controls in the order of the page.
pub(super) fn controls(experiment: &Experiment) -> Vec<Control> {
    let mut controls = swept_controls(experiment);
    let everywhere = &experiment.settings.everywhere;
    add(&mut controls, "", everywhere.iter());
    for of in &experiment.settings.strategies {
        let own = of
            .settings
            .iter()
            .filter(|own| !has_path(everywhere, &own.path));
        add(&mut controls, &of.strategy, own);
    }
    for path in UNWRITTEN {
        if controls.iter().all(|control| control.path != path) {
            controls.push(Control {
                strategy: String::new(),
                group: group_of(path),
                path: path.to_owned(),
                value: String::new(),
                origin: "not set".to_owned(),
                values: Vec::new(),
            });
        }
    }
    controls.sort_by_key(rank);
    controls
}

/// Returns the controls for the settings that the experiment sweeps.
fn swept_controls(experiment: &Experiment) -> Vec<Control> {
    let settings = experiment
        .variants
        .iter()
        .flat_map(|variant| &variant.settings);
    let by_path = grouped(settings.map(|setting| (&setting.path, &setting.value)));
    let mut controls = Vec::new();
    for (path, values) in by_path {
        let strategy = match path.strip_prefix("strategies.") {
            Some(rest) => rest.split('.').next().unwrap_or_default(),
            None => "",
        };
        controls.push(Control {
            strategy: strategy.to_owned(),
            group: SWEPT,
            path: path.clone(),
            value: String::new(),
            origin: "values of the sweep".to_owned(),
            values: values.into_iter().unique().cloned().collect(),
        });
    }
    controls
}

/// Returns whether a setting with this path is in force.
fn has_path(settings: &[SettingInForce], path: &str) -> bool {
    settings.iter().any(|setting| setting.path == path)
}

/// Returns the rank of a control's group on the page.
fn rank(control: &Control) -> usize {
    if control.group == SWEPT {
        return 0;
    }
    match GROUPS.iter().position(|(group, _)| *group == control.group) {
        Some(at) => at + 1,
        None => GROUPS.len() + 1,
    }
}

/// Returns the group of a setting.
fn group_of(path: &str) -> &'static str {
    for (group, starts) in GROUPS {
        if starts.iter().any(|start| path.starts_with(start)) {
            return group;
        }
    }
    OTHERS
}

/// Returns whether a setting gets no control here: it belongs to the experiment as a whole, names a file, or has a
/// control from the sweep.
fn is_left_out(path: &str, controls: &[Control]) -> bool {
    let top = path.split(['.', '[']).next().unwrap_or_default();
    let mut keys_of_files = [".file", ".manifest", ".previous", ".table"].into_iter();
    let names_file = keys_of_files.any(|key| path.ends_with(key));
    let mut controls = controls.iter();
    let is_swept = controls.any(|control| control.group == SWEPT && control.path == path);
    let is_of_experiment = is_setting_of_experiment(top) || top == "clusterGroups";
    is_of_experiment || names_file || is_swept
}

/// Adds the controls for settings in force, for one strategy or for all strategies.
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
        if is_left_out(path, controls) {
            continue;
        }
        // `faults` is a map; users change its fields instead.
        if path == "faults" {
            for (key, value) in inside {
                let path = format!("faults.{key}");
                controls.push(Control {
                    strategy: strategy.to_owned(),
                    group: group_of(&path),
                    path,
                    value: value.clone(),
                    origin: origin.clone(),
                    values: Vec::new(),
                });
            }
            continue;
        }
        controls.push(Control {
            strategy: strategy.to_owned(),
            group: group_of(path),
            path: path.clone(),
            value: value.clone(),
            origin: origin.clone(),
            values: setting.range(),
        });
    }
}
