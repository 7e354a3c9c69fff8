//! `fleetsim check`: is the experiment valid?

use fleetsim::scenario::{Overrides, load_plan};

use super::{ExperimentArgs, Failure, output};

pub(super) fn check(args: &ExperimentArgs) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment.variants.iter().map(|variant| variant.scenario.world.clusters.len()).max().unwrap_or(0);
    if experiment.plan.is_some() {
        // Its candidates are settings of their own, which may be wrong where the others are right.
        load_plan(&args.experiment, &Overrides { seed: args.seed, replicates: args.replicates })?;
    }
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
