//! What an experiment of the page shows under one set of rules: a refusal, an explanation, and a run.

use std::sync::OnceLock;

use fleetsim::products::StrategyExplanation;
use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{Overrides, Variant, load};
use fleetsim::sim;

use super::setups::DocumentSetup;
use crate::common::folder_with;

/// What one experiment shows under one set of rules.
pub(super) struct ShownSetup {
    /// The reason why it is refused, as `fleetsim check` prints it.
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
                shown.explanation = scenario.strategy.explain(scenario.fleet());
                shown.notes.clone_from(&scenario.file_notes);
                shown.variant = Some(variant);
            }
        }
        shown
    }

    /// Returns whether it is refused.
    pub(super) const fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// All words about it before a run: its refusal, or its explanation, warnings and notes.
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

    /// Its run, with what the product shows.
    pub(super) fn run(&self) -> &RunRecord {
        self.run.get_or_init(|| {
            let variant = self.variant.as_ref().expect("it is not refused");
            sim::run_in_detail(variant, 1, 0).expect("no process, and no endless events")
        })
    }

    /// When the clusters were instructed whose names begin so, in the order of these times.
    pub(super) fn told(&self, prefix: &str) -> Vec<f64> {
        let mut told = Vec::new();
        for row in &self.run().clusters {
            told.extend(row.instructed_s.filter(|_| row.cluster.starts_with(prefix)));
        }
        told.sort_by(f64::total_cmp);
        told
    }

    /// When the clusters were ready whose names begin so, in the order of these times.
    pub(super) fn ready(&self, prefix: &str) -> Vec<f64> {
        let mut ready = Vec::new();
        for row in &self.run().clusters {
            ready.extend(row.ready_s.filter(|_| row.cluster.starts_with(prefix)));
        }
        ready.sort_by(f64::total_cmp);
        ready
    }

    /// The names in the order in which their clusters were instructed.
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

    /// How it ended, in one word.
    pub(super) fn outcome(&self) -> String {
        match self.run().run.outcome {
            RunOutcome::Complete => "complete",
            RunOutcome::Stalled => "stalled",
            RunOutcome::Horizon => "unfinished",
        }
        .to_owned()
    }

    /// The values of a condition or a field of an object, with the reason behind it, in the order of their times.
    pub(super) fn statuses(&self, object: &str, condition: &str) -> Vec<String> {
        let mut found = Vec::new();
        for row in &self.run().statuses {
            if row.object.starts_with(object) && row.condition == condition {
                found.push(format!("{} {} {}", row.status, row.reason, row.message));
            }
        }
        found
    }

    /// The column of a table in the explanation, without its header. The table begins with the line that has this word.
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
