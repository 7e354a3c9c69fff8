//! `fleetsim check`: is the experiment valid?

use super::{ExperimentArgs, Failure, output};

pub(super) fn check(args: &ExperimentArgs) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment.variants.iter().map(|variant| variant.scenario.world.clusters.len()).max().unwrap_or(0);
    let counted = |least: u64, most: u64, one: &str| match (least, most) {
        (1, 1) => format!("1 {one}"),
        _ if least == most => format!("{most} {one}s"),
        _ => format!("{least} to {most} {one}s"),
    };
    let (least_runs, most_runs) = fleetsim::study::run_counts(&experiment);
    let most = experiment.precision.as_ref().map_or(experiment.replicates, |precision| precision.max);
    let until = experiment.precision.as_ref().map_or_else(String::new, |precision| {
        let measures: Vec<&str> = precision.of.iter().map(|measure| measure.name).collect();
        format!(" (to {} in {})", precision.to, measures.join(" and "))
    });
    let variants = experiment.variants.len() as u64;
    output::out(&format!(
        "{}: valid; {} x {} = {}{until}, {}\n",
        experiment.name,
        counted(variants, variants, "variant"),
        counted(experiment.replicates.into(), most.into(), "replicate"),
        counted(least_runs, most_runs, "run"),
        counted(clusters as u64, clusters as u64, "cluster"),
    ));
    Ok(())
}
