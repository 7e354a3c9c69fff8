//! `fleetsim check`: is the experiment valid?

use super::{ExperimentArgs, Failure, output};

pub(super) fn check(args: &ExperimentArgs) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment.variants.iter().map(|variant| variant.scenario.world.clusters.len()).max().unwrap_or(0);
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
