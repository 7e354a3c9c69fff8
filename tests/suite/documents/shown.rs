//! The outcome of an experiment of the page under one set of rules: a refusal, an explanation, and a run.

use std::sync::OnceLock;

use fleetsim::products::StrategyExplanation;
use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{Overrides, Variant, load};
use fleetsim::sim;

use super::setups::DocumentSetup;
use crate::common::folder_with;

/// The outcome of one experiment under one set of rules.
pub(super) struct ShownSetup {
    /// The reason for a refusal, as `fleetsim check` prints it.
    refused: Option<String>,
    pub(super) explanation: StrategyExplanation,
    notes: Vec<String>,
    variant: Option<Variant>,
    run: OnceLock<RunRecord>,
}

impl ShownSetup {
    /// Loads the experiment with this strategy, and explains it.
    pub(super) fn of(setup: &DocumentSetup, strategy: &str) -> Self {
        let text = setup.experiment(strategy);
        let mut files = vec![("experiment.yaml", text.as_str())];
        files.extend_from_slice(setup.files);
        let mut shown = Self {
            refused: None,
            explanation: StrategyExplanation::default(),
            notes: Vec::new(),
            variant: None,
            run: OnceLock::new(),
        };
        match load(folder_with(&files).path(), &Overrides::default()) {
            Err(error) => shown.refused = Some(error.render(false)),
            Ok(experiment) => {
                let variant = experiment.variants[0].clone();
                let scenario = &variant.scenario;
                shown.explanation = scenario.strategy().explain(scenario.fleet());
                shown.notes.clone_from(&scenario.applications[0].file_notes);
                shown.variant = Some(variant);
            }
        }
        shown
    }

    /// Returns whether the experiment is refused.
    pub(super) const fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Returns all texts about the experiment before a run: its refusal, or its explanation, warnings and notes.
    pub(super) fn words(&self) -> String {
        let StrategyExplanation {
            summary,
            lines,
            warnings,
        } = &self.explanation;
        let mut words = vec![summary.clone()];
        words.extend(
            [lines, warnings, &self.notes]
                .into_iter()
                .flatten()
                .cloned(),
        );
        words.extend(self.refused.clone());
        words.join("\n")
    }

    /// Returns the run, with the statuses that the product shows.
    pub(super) fn run(&self) -> &RunRecord {
        self.run.get_or_init(|| {
            let variant = self.variant.as_ref().expect("it is not refused");
            sim::run_in_detail(variant, 1, 0).expect("no process, and no endless events")
        })
    }

    /// Returns the sorted times at which the clusters with this prefix were instructed.
    pub(super) fn told(&self, prefix: &str) -> Vec<f64> {
        let mut told = Vec::new();
        for row in &self.run().clusters {
            told.extend(row.instructed_s.filter(|_| row.cluster.starts_with(prefix)));
        }
        told.sort_by(f64::total_cmp);
        told
    }

    /// Returns the sorted times at which the clusters with this prefix became ready.
    pub(super) fn ready(&self, prefix: &str) -> Vec<f64> {
        let mut ready = Vec::new();
        for row in &self.run().clusters {
            ready.extend(row.ready_s.filter(|_| row.cluster.starts_with(prefix)));
        }
        ready.sort_by(f64::total_cmp);
        ready
    }

    /// Returns the names of the clusters with this prefix, in the order in which they were instructed.
    pub(super) fn order(&self, prefix: &str) -> Vec<String> {
        let mut told = Vec::new();
        for row in &self.run().clusters {
            if let Some(at) = row.instructed_s.filter(|_| row.cluster.starts_with(prefix)) {
                told.push((at, row.cluster.clone()));
            }
        }
        told.sort_by(|a, b| a.0.total_cmp(&b.0));
        told.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the outcome of the run in one word.
    pub(super) fn outcome(&self) -> String {
        match self.run().run.outcome {
            RunOutcome::Complete => "complete",
            RunOutcome::Stalled => "stalled",
            RunOutcome::Horizon => "unfinished",
        }
        .to_owned()
    }

    /// Returns the values of an object's condition or field in order of time, each followed by its reason.
    pub(super) fn statuses(&self, object: &str, condition: &str) -> Vec<String> {
        let mut found = Vec::new();
        for row in &self.run().statuses {
            if row.object.starts_with(object) && row.condition == condition {
                found.push(format!("{} {} {}", row.status, row.reason, row.message));
            }
        }
        found
    }

    /// Returns a column of a table in the explanation, without its header. The table begins with the line that
    /// contains `table`.
    pub(super) fn column(&self, table: &str, number: usize) -> Vec<String> {
        let lines = self.explanation.lines.iter();
        let rows = lines.skip_while(|line| !line.trim_start().starts_with(table));
        let mut cells = Vec::new();
        for row in rows.skip(1) {
            let columns: Vec<&str> = row
                .split("  ")
                .filter(|cell| !cell.trim().is_empty())
                .collect();
            cells.extend(columns.get(number).map(|cell| cell.trim().to_owned()));
        }
        cells
    }
}
