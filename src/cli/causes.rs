//! The trials of what holds variants back, for the commands that recommend one.

use fleetsim::causes::{EventBudget, TriedVariant, causes};
use fleetsim::engine::Stop;
use fleetsim::results::{CauseRow, RunRow};
use fleetsim::scenario::Experiment;

use super::simulation::{Simulation, starts_commands};
use super::{Failure, output};

/// Finds what holds the variants with these labels back. `runs` are all runs of the study, whose events determine how
/// many trials fit. Strategies that start commands are not tried, because each of many trials would start one.
pub(super) fn of_variants(
    experiment: &Experiment,
    labels: &[String],
    runs: &[&RunRow],
    threads: Option<u16>,
) -> Result<Vec<CauseRow>, Failure> {
    if starts_commands(experiment) || labels.is_empty() {
        return Ok(Vec::new());
    }
    let mut budget = EventBudget::of_study(runs.iter().map(|run| run.events).sum());
    let simulation = Simulation::begin(threads)?;
    let mut rows = Vec::new();
    for variant in &experiment.variants {
        // A trial without a limit changes when people notice a failure, so it says nothing about the limit.
        if !labels.contains(&variant.label) || variant.scenario.has_later_releases() {
            continue;
        }
        let own = runs.iter().filter(|run| run.variant == variant.label);
        let tried = TriedVariant {
            variant,
            seed: experiment.seed,
            run_events: own.map(|run| run.events).max().unwrap_or(0),
            stop: Stop::of_thread(),
        };
        let found = simulation.work(|| causes(&tried, &mut budget))?;
        if found.is_empty() {
            output::err(&format!(
                "note: what holds `{}` back was not tried, because the trials would take too many events; a smaller \
                 fleet needs fewer\n",
                variant.label
            ));
        }
        rows.extend(found);
    }
    Ok(rows)
}
