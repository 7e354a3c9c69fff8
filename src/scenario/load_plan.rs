//! The part of reading an experiment that is about its `plan`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file_plan::PlanFile;
use super::load::{Loader, Reading};
use super::plan::with_candidates;
use super::sweep::Axis;
use super::{Experiment, Plan};
use crate::document::path::Path;
use crate::document::problem::{Place, Problem};
use crate::results::{Limit, MeasureError, Objective, Setting};

/// With 95 % confidence, more than 74 % of all runs then keep to the limits (0.05^(1/10)), without a choice allowed
/// for.
const CONFIRM: u32 = 10;

impl Loader {
    /// Puts the candidates where the sweep's values are.
    pub(super) fn put_candidates(&mut self) {
        let (tree, problems) = with_candidates(&self.tree);
        for (path, message, help) in problems {
            let place = Place { source: Arc::clone(&self.source), span: self.tree.key_place(&path) };
            self.problems.push(Problem::at(place, "plan.search", message).with_help(help));
        }
        self.tree = tree;
    }

    /// The goal of the search, with its defaults.
    pub(super) fn plan(&mut self, base: &Reading, replicates: u32) -> Plan {
        let written = base.file.plan.clone().unwrap_or_default();
        let path = Path::of("plan");
        let mut limits = Vec::new();
        for (index, text) in written.limits.iter().flatten().enumerate() {
            let at = path.key("limits").index(index);
            match Limit::parse(text) {
                Ok(limit) => limits.push((at, limit)),
                Err(MeasureError { message, help }) => refuse_at(self, base, &at, message, &help),
            }
        }
        if written.limits.is_none() {
            for (index, asserted) in base.file.assert.iter().flatten().enumerate() {
                let at = Path::of("assert").index(index);
                if let (Some(strategy), true) = (&asserted.0.strategy, self.is_plan()) {
                    let message =
                        format!("this limit applies only to `{strategy}`; a plan needs limits for all candidates");
                    refuse_at(self, base, &at, message, "write the limits of the plan as `plan: {limits: […]}`");
                } else if let (None, Ok(limit)) = (&asserted.0.strategy, Limit::parse(&asserted.0.limit)) {
                    limits.push((at, limit));
                }
            }
        }
        for (at, limit) in &limits {
            if limit.demand().is_none() {
                let message = format!("`{limit}` cannot be evaluated for a single run");
                let help = "compare the statistic with < or >, or remove it: then every run must meet the limit";
                refuse_at(self, base, at, message, help);
            }
        }
        let fastest = Objective::parse(&written.fastest).unwrap_or_else(|MeasureError { message, help }| {
            refuse_at(self, base, &path.key("fastest"), message, &help);
            Objective::parse(&PlanFile::default().fastest).expect("the default is an aim")
        });
        let confidence = written.confidence.get();
        if !(0.5..1.0).contains(&confidence) {
            let message = "`confidence` must be at least 50% and less than 100%".to_owned();
            refuse_at(self, base, &path.key("confidence"), message, "write e.g. `95%`");
        }
        if written.confirm == Some(0) {
            let help = "for a search without limits, write `limits: []`";
            refuse_at(self, base, &path.key("confirm"), "`confirm` must be at least 1".to_owned(), help);
        }
        Plan {
            limits: limits.into_iter().map(|(_, limit)| limit).collect(),
            fastest,
            confidence,
            indifference: written.indifference.get(),
            confirm: written.confirm.unwrap_or_else(|| CONFIRM.min(replicates)),
            runs: written.runs,
        }
    }

    /// Whether the candidates are more than one in each world, and the budget is enough to look at each.
    pub(super) fn something_to_choose(&mut self, base: &Reading, experiment: &Experiment, axes: &[Axis]) {
        let mut worlds: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        for variant in &experiment.variants {
            let world = Setting::of_world(&variant.settings).map(|setting| setting.value.as_str()).collect();
            *worlds.entry(world).or_default() += 1;
        }
        let has_choice = axes.iter().any(|axis| axis.strategy().is_some_and(|_| axis.values.len() > 1));
        if !has_choice && worlds.values().all(|&candidates| candidates < 2) && self.problems.is_empty() {
            let message = "the plan has only one candidate: one strategy without a setting to search";
            let name = experiment.variants.first().map_or("plain", |variant| variant.strategy.as_str());
            let help = format!(
                "write e.g. `plan: {{search: {{strategies.{name}.rancherFleet.maxUnavailable: {{from: 1%, to: 100%, \
                 steps: 20}}}}}}`, sweep such a setting, or give several strategies"
            );
            refuse_at(self, base, &Path::of("plan"), message.to_owned(), &help);
        }
        let candidates = experiment.variants.len() as u64;
        if let Some(runs) = base.file.plan.as_ref().and_then(|plan| plan.runs)
            && runs < candidates
        {
            let message = format!("`runs` is {runs}, but there are {candidates} candidates");
            let help = "every candidate runs at least once: allow more runs, or search fewer values";
            refuse_at(self, base, &Path::of("plan").key("runs"), message, help);
        }
    }
}

fn refuse_at(loader: &mut Loader, base: &Reading, at: &Path, message: String, help: &str) {
    let problem = loader.at(&base.tree, at, message).with_help(help);
    loader.problems.push(problem);
}
