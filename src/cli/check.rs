//! `fleetsim check`: is the experiment valid?

use super::{ExperimentArgs, Failure, output};

pub(super) fn check(args: &ExperimentArgs) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment.variants.iter().map(|variant| variant.scenario.world.clusters.len()).max().unwrap_or(0);
    output::out(&format!(
        "{}: valid; {} variants x {} replicates = {} runs, {} clusters\n",
        experiment.name,
        experiment.variants.len(),
        experiment.replicates,
        fleetsim::study::run_count(&experiment),
        clusters,
    ));
    Ok(())
}
