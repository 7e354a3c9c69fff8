//! `fleetsim check`: reports whether an experiment is valid, and valid settings that may be surprising.

mod surprises;

use clap::Args;
use fleetsim::scenario::{Experiment, load_plan};
use fleetsim::study::{MOST_MEMORY, MemoryEstimate};
use fleetsim::units::counted;

use super::output::grouped;
use super::precision::measures;
use super::{ExperimentArgs, Failure, output};

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Print all warnings and notes
    #[arg(long)]
    all: bool,
}

/// Returns the memory that the experiment's runs need, and the option that permits it.
fn memory(experiment: &Experiment) -> String {
    let estimate = MemoryEstimate::of_study(experiment, 1);
    let needed = estimate.with(1);
    let mut text = format!(
        "memory: about {needed} with one run at a time, and {} more for each additional run\n",
        estimate.of_run()
    );
    if let Err(refused) = estimate.runs_within(MOST_MEMORY, 1) {
        let option = super::memory::option(needed);
        text.push_str(&format!("warning: {refused}; `{option}` allows it\n"));
    }
    text
}

pub(super) fn check(
    CheckArgs {
        experiment: args,
        all,
    }: &CheckArgs,
) -> Result<(), Failure> {
    let experiment = args.load()?;
    if experiment.plan.is_some() {
        // The plan's candidates are further settings, which may be invalid even if all others are valid.
        load_plan(&args.experiment, &args.overrides())?;
    }
    let (least_runs, most_runs) = fleetsim::study::run_counts(&experiment);
    let mut most_replicates = experiment.replicates;
    let mut until = String::new();
    if let Some(precision) = &experiment.precision {
        most_replicates = precision.max;
        until = format!(
            " (until {} are known to ±{})",
            measures(precision),
            precision.to
        );
    }
    let variants = experiment.variants.iter();
    let clusters = variants.map(|variant| variant.scenario.targets());
    let variants = experiment.variants.len() as u64;
    output::out(&format!(
        "{}: valid; {} × {} = {}{until}, {}\n",
        experiment.name,
        counted(variants, "variant"),
        range(
            experiment.replicates.into(),
            most_replicates.into(),
            "replicate"
        ),
        range(least_runs, most_runs, "run"),
        counted(clusters.max().unwrap_or(0) as u64, experiment.target),
    ))?;
    output::out(&memory(&experiment))?;
    output::out(&surprises::text(&experiment, *all, output::width()))
}

/// Returns a count or a range of counts.
fn range(least: u64, most: u64, noun: &str) -> String {
    let most_counted = counted(most, noun);
    if least == most {
        most_counted
    } else {
        format!("{}–{most_counted}", grouped(least))
    }
}
