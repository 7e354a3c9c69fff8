//! `fleetsim check`: is the experiment valid?

use super::{ExperimentArgs, Failure, output};

pub(super) fn check(args: &ExperimentArgs) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment.variants.iter().map(|variant| variant.scenario.world.clusters.len()).max().unwrap_or(0);
    let range = |least: u64, most: u64| if least == most { least.to_string() } else { format!("{least} to {most}") };
    let most = experiment.precision.as_ref().map_or(experiment.replicates, |precision| precision.max);
    let (least_runs, most_runs) = fleetsim::study::run_counts(&experiment);
    let until = experiment.precision.as_ref().map_or_else(String::new, |precision| {
        let measures: Vec<&str> = precision.of.iter().map(|measure| measure.name).collect();
        format!(" (to {} in {})", precision.to, measures.join(" and "))
    });
    output::out(&format!(
        "{}: valid; {} variants x {} replicates = {} runs{until}, {clusters} clusters\n",
        experiment.name,
        experiment.variants.len(),
        range(experiment.replicates.into(), most.into()),
        range(least_runs, most_runs),
    ));
    Ok(())
}
