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
    let counted = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    output::out(&format!(
        "{}: valid; {} x {} = {}, {}\n",
        experiment.name,
        counted(experiment.variants.len() as u64, "variant"),
        counted(experiment.replicates.into(), "replicate"),
        counted(fleetsim::study::run_count(&experiment), "run"),
        counted(clusters as u64, "cluster"),
    ));
    Ok(())
}
