//! Settings without an effect: entries of `uncertainty`, paths of a sweep, and prices, that nothing in the experiment
//! reads, and settings that another one turns off ([`super::turned_off`]). A price has an effect if one variant has
//! what it is for.
//!
//! A constant may have no effect because the experiment does not use it, or because every cluster, registry or
//! strategy has its own value instead. There are many such reasons, so they are found by trying: the experiment is
//! checked again with the constant at the ends of its range, and its scenarios are compared. A path of a sweep has an
//! effect if scenarios differ that differ in its value alone.
//!
//! Left out: what a run makes of a scenario. A value that a scenario contains may still change no result.
//! With `--set`, only what it sets is checked, because the file is right without it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::constants::Level;
use super::loader::{Loader, Purpose};
use super::price::without_effect;
use super::turned_off::{WrittenSettings, turned_off};
use super::uncertainty::StatedConstant;
use super::{ApplicationRollout, Experiment, Scenario, Variant};
use crate::document::path::{Path, Step};
use crate::document::problem::Problem;
use crate::document::tree::Node;

impl Loader {
    /// Returns the problems with settings that have no effect in this experiment.
    pub(super) fn settings_without_effect(&self, experiment: &Experiment) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.purpose != Purpose::Run {
            return problems;
        }
        if self.is_as_written("sweep") {
            for path in swept_without_effect(&experiment.variants) {
                let message =
                    format!("`{path}` has no effect: all its values are the same experiment");
                let help = "remove it from the sweep, or remove the settings that override it";
                problems.push(self.effect_problem(&Path::of("sweep").key(&path), message, help));
            }
        }
        if self.set.is_empty() {
            let swept = swept_paths(&experiment.variants);
            let written = WrittenSettings {
                file: &self.tree,
                swept: &swept,
            };
            for off in turned_off(written, &self.whole_worlds) {
                problems.push(self.effect_problem(&off.path, off.message, off.help));
            }
        }
        if self.is_as_written("price") {
            problems.extend(self.prices_without_effect(experiment));
        }
        let Some(uncertainty) = &experiment.uncertainty else {
            return problems;
        };
        if !self.is_as_written("uncertainty") {
            return problems;
        }
        for stated in &uncertainty.stated {
            if let Some(path) = self.swept_path_replaced(stated, experiment) {
                let message = format!(
                    "a range of `{}` replaces the values of the sweep",
                    stated.name
                );
                let help = "remove the range, or remove the path from the sweep";
                problems.push(self.effect_problem(&Path::of("sweep").key(&path), message, help));
            }
            if !self.has_effect(stated.factor, experiment) {
                let name = &stated.name;
                let message =
                    format!("`{name}` has no effect: it does not vary in this experiment");
                let help = "write the setting with a value other than 0, or remove this entry or the settings that \
                            override it";
                problems.push(self.effect_problem(&stated.at, message, help));
            }
        }
        problems
    }

    /// Returns the problems with prices of what no variant has.
    fn prices_without_effect(&self, experiment: &Experiment) -> Vec<Problem> {
        let price = Path::of("price");
        let mut places: Vec<Vec<&str>> = Vec::new();
        for (key, node) in self.tree.get(&price).map(Node::entries).unwrap_or_default() {
            if node.entries().is_empty() {
                places.push(vec![&key.text]);
            }
            for (name, _) in node.entries() {
                places.push(vec![&key.text, &name.text]);
            }
        }
        let mut problems = Vec::new();
        for place in places {
            let mut reasons = Vec::new();
            for variant in &experiment.variants {
                reasons.push(without_effect(&place, &variant.scenario.world));
            }
            if let Some(Some(reason)) = reasons.first()
                && reasons.iter().all(Option::is_some)
            {
                let mut path = price.clone();
                for key in &place {
                    path = path.key(key);
                }
                let message = format!("this price has no effect: {reason}");
                let help = "remove it, or add what it is for";
                problems.push(self.effect_problem(&path, message, help));
            }
        }
        problems
    }

    /// Returns whether a section must fit the experiment: without `--set`, or if `--set` changes the section.
    fn is_as_written(&self, section: &str) -> bool {
        let mut sets_section = false;
        for value in &self.set {
            sets_section |= matches!(value.path.0.first(), Some(Step::Key(key)) if key == section);
        }
        self.set.is_empty() || sets_section
    }

    /// Returns the path of the sweep whose values all become the same when a constant has one value of its stated
    /// range.
    fn swept_path_replaced(
        &self,
        stated: &StatedConstant,
        experiment: &Experiment,
    ) -> Option<String> {
        let ranges = &experiment.uncertainty.as_ref()?.ranges;
        let before = swept_without_effect(&experiment.variants);
        if experiment
            .variants
            .iter()
            .all(|variant| variant.settings.is_empty())
        {
            return None;
        }
        let mut other = self.clone();
        other.levels = vec![(stated.factor, Level::Quantile(0.5))];
        other.ranges = ranges.clone();
        let changed = other.checked().ok()?;
        let mut after = swept_without_effect(&changed.variants);
        after.retain(|path| !before.contains(path));
        after.into_iter().next()
    }

    /// Returns whether another value of a constant changes a scenario. `factor`: its index among all factors.
    pub(super) fn has_effect(&self, factor: usize, experiment: &Experiment) -> bool {
        for end in [1.0, -1.0] {
            let mut other = self.clone();
            other.levels = vec![(factor, Level::Toward(end))];
            if let Some(uncertainty) = &experiment.uncertainty {
                other.ranges = uncertainty.ranges.clone();
            }
            // A value that does not fit the others is read.
            let Ok(changed) = other.checked() else {
                return true;
            };
            let pairs = experiment.variants.iter().zip(&changed.variants);
            for (variant, changed) in pairs {
                if !is_same(&variant.scenario, &changed.scenario) {
                    return true;
                }
            }
        }
        false
    }

    fn effect_problem(&self, path: &Path, message: String, help: &'static str) -> Problem {
        let place = self.tree.key_place(path);
        self.source
            .at(place, path.to_string(), message)
            .with_help(help)
    }
}

/// Returns the paths of a sweep.
fn swept_paths(variants: &[Variant]) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    for setting in variants.iter().flat_map(|variant| &variant.settings) {
        if let Ok(path) = Path::parse(&setting.path)
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    paths
}

/// Returns the paths of a sweep whose values all lead to the same scenarios.
fn swept_without_effect(variants: &[Variant]) -> Vec<String> {
    let mut paths: Vec<&str> = Vec::new();
    for setting in variants.iter().flat_map(|variant| &variant.settings) {
        if !paths.contains(&setting.path.as_str()) {
            paths.push(&setting.path);
        }
    }
    paths.retain(|path| is_without_effect(path, variants));
    paths.into_iter().map(str::to_owned).collect()
}

/// Returns whether a path of a sweep has several values, and all of them lead to the same scenarios.
fn is_without_effect(path: &str, variants: &[Variant]) -> bool {
    let mut first: BTreeMap<Vec<&str>, &Scenario> = BTreeMap::new();
    let mut compared = 0;
    for variant in variants {
        if variant.settings.iter().all(|setting| setting.path != path) {
            continue;
        }
        let mut rest = vec![variant.strategy.as_str()];
        for setting in &variant.settings {
            if setting.path != path {
                rest.push(&setting.value);
            }
        }
        let known = *first.entry(rest).or_insert(&variant.scenario);
        if std::ptr::eq(known, &variant.scenario) {
            continue;
        }
        compared += 1;
        if !is_same(known, &variant.scenario) {
            return false;
        }
    }
    compared > 0
}

/// Returns whether two scenarios are the same for their runs.
fn is_same(one: &Scenario, other: &Scenario) -> bool {
    one.world == other.world
        && one.platform == other.platform
        && one.control_loop == other.control_loop
        && one.horizon == other.horizon
        && one.price == other.price
        && has_same_views(one, other)
        && rest(one) == rest(other)
}

/// Returns whether the applications of two scenarios have the same clusters and workloads.
fn has_same_views(one: &Scenario, other: &Scenario) -> bool {
    let own = one.applications.iter().map(|application| &application.view);
    own.eq(other
        .applications
        .iter()
        .map(|application| &application.view))
}

/// Returns the parts of a scenario that have no comparison, as text.
fn rest(scenario: &Scenario) -> String {
    let Scenario {
        groups,
        calendar,
        operator,
        ..
    } = scenario;
    let mut text = format!("{groups:?} {calendar:?} {operator:?}");
    for application in &scenario.applications {
        let ApplicationRollout {
            name,
            strategy,
            released,
            changes,
            ..
        } = application;
        let _ = write!(text, " {name} {strategy:?} {released:?} {changes:?}");
    }
    text
}
