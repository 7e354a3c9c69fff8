//! The trials of what holds variants back, for the commands that recommend one.

use fleetsim::causes::{EventBudget, TriedVariant, causes};
use fleetsim::engine::Stop;
use fleetsim::results::CauseRow;
use fleetsim::scenario::Experiment;

use super::simulation::{Simulation, starts_commands};
use super::{Failure, output};

/// Finds what holds some variants back. `study_events` is the number of events of the whole study. Strategies that
/// start commands are not tried, because each of many trials would start one.
pub(super) fn of_variants(
    experiment: &Experiment,
    tried: &[TriedVariant<'_>],
    study_events: u64,
    threads: Option<u16>,
) -> Result<Vec<CauseRow>, Failure> {
    if starts_commands(experiment) || tried.is_empty() {
        return Ok(Vec::new());
    }
    let mut budget = EventBudget::of_study(study_events);
    let simulation = Simulation::begin(threads)?;
    let mut rows = Vec::new();
    for one in tried {
        let found = simulation.work(|| causes(one, &mut budget))?;
        if found.is_empty() {
            output::err(&format!(
                "note: what holds `{}` back was not tried, because the trials would take too many events; a smaller \
                 fleet needs fewer\n",
                one.variant.label
            ));
        }
        rows.extend(found);
    }
    Ok(rows)
}

/// The variants with these labels. `runs` has the variant and the events of each run.
pub(super) fn tried<'e>(
    experiment: &'e Experiment,
    labels: &[String],
    runs: &[RunEvents<'_>],
) -> Vec<TriedVariant<'e>> {
    let mut tried = Vec::new();
    for label in labels {
        let Some(variant) = experiment
            .variants
            .iter()
            .find(|variant| variant.label == *label)
        else {
            continue;
        };
        let own = runs.iter().filter(|run| run.variant == label);
        tried.push(TriedVariant {
            variant,
            seed: experiment.seed,
            run_events: own.map(|run| run.events).max().unwrap_or(0),
            stop: Stop::default(),
        });
    }
    tried
}

/// The events of a run of a variant.
pub(super) struct RunEvents<'r> {
    pub(super) variant: &'r str,
    pub(super) events: u64,
}
