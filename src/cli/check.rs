//! `fleetsim check`: report whether an experiment is valid, and what about it is legal but may surprise.

mod surprises;

use clap::Args;
use fleetsim::scenario::load_plan;
use fleetsim::units::counted;

use super::output::grouped;
use super::precision::measures;
use super::{ExperimentArgs, Failure, output};

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Print every warning and note, however many there are
    #[arg(long)]
    all: bool,
}

pub(super) fn check(
    CheckArgs {
        experiment: args,
        all,
    }: &CheckArgs,
) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment
        .variants
        .iter()
        .map(|variant| variant.scenario.world.clusters.len())
        .max()
        .unwrap_or(0);
    if experiment.plan.is_some() {
        // Its candidates are further settings, which may be invalid where the others are valid.
        load_plan(&args.experiment, &args.overrides())?;
    }
    let range = |least: u64, most: u64, one: &str| {
        let from = if least == most {
            String::new()
        } else {
            format!("{}–", grouped(least))
        };
        from + &counted(most, one)
    };
    let (least_runs, most_runs) = fleetsim::study::run_counts(&experiment);
    let most = experiment
        .precision
        .as_ref()
        .map_or(experiment.replicates, |precision| precision.max);
    let until = experiment
        .precision
        .as_ref()
        .map_or_else(String::new, |precision| {
            format!(
                " (until {} are known to ±{})",
                measures(precision),
                precision.to
            )
        });
    let variants = experiment.variants.len() as u64;
    output::out(&format!(
        "{}: valid; {} × {} = {}{until}, {}\n",
        experiment.name,
        counted(variants, "variant"),
        range(experiment.replicates.into(), most.into(), "replicate"),
        range(least_runs, most_runs, "run"),
        counted(clusters as u64, experiment.target),
    ))?;
    output::out(&surprises::text(&experiment, *all, output::width()))
}
