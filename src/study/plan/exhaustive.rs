//! The choice from all replicates of all candidates, compared with that of the search.

use super::Heat;
use crate::results::{ExhaustiveSearch, PlanRecord, RunRow};
use crate::scenario::{Experiment, Plan};

/// The choice from all replicates by the simple rule: the fastest candidate that meets all limits.
pub(super) fn compare(heats: &[Heat], experiment: &Experiment, plan: &Plan, record: &PlanRecord) -> ExhaustiveSearch {
    let answers = record.questions.iter().flat_map(|question| &question.answers);
    let most = experiment.replicates as usize;
    let time = |rows: &[RunRow]| {
        let times: Vec<f64> = rows.iter().take(most).map(|row| plan.fastest.of(row)).collect();
        plan.fastest.over().of(&times)
    };
    let keeps = |rows: &[RunRow]| {
        let rows: Vec<&RunRow> = rows.iter().take(most).collect();
        rows.iter().all(|row| plan.fastest.of(row).is_finite())
            && plan.limits.iter().all(|limit| limit.judge(&rows).holds)
    };
    let label = |heat: &Heat, at: usize| experiment.variants[heat.variants[at]].label.clone();
    // Answers are in the order of the worlds, heats in that of the variants.
    let of = |world: &str, strategy: &str| heats.iter().find(|heat| heat.world == world && heat.strategy == strategy);
    let worlds = record.questions.iter().flat_map(|question| question.answers.iter().map(|_| question.world.as_str()));
    let choices = worlds.zip(answers).map(|(world, answer)| {
        let heat = of(world, &answer.strategy).expect("an answer is that of a race");
        let kept = (0..heat.variants.len()).filter(|&at| keeps(&heat.runs[at]));
        let best = kept.reduce(|best, at| if time(&heat.runs[at]) < time(&heat.runs[best]) { at } else { best });
        let planned = (0..heat.variants.len()).find(|&at| Some(label(heat, at)) == answer.variant);
        let agrees = match (best, planned) {
            (Some(best), Some(planned)) => {
                let (fastest, found) = (time(&heat.runs[best]), time(&heat.runs[planned]));
                keeps(&heat.runs[planned]) && found <= fastest * (1.0 + plan.indifference)
            }
            (None, None) => true,
            _ => false,
        };
        (best.map(|at| label(heat, at)), agrees)
    });
    ExhaustiveSearch { runs: record.exhaustive_runs, answers: choices.collect() }
}
