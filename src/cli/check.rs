//! `fleetsim check`: is the experiment valid?

use super::{ExperimentArgs, Failure, output};

pub(super) fn check(args: &ExperimentArgs) -> Result<(), Failure> {
    let experiment = args.load()?;
    let clusters = experiment.variants.iter().map(|variant| variant.scenario.world.clusters.len()).max().unwrap_or(0);
<<<<<<< HEAD
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
=======
    let counted = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    output::out(&format!(
        "{}: valid; {} x {} = {}, {}\n",
        experiment.name,
        counted(experiment.variants.len() as u64, "variant"),
        counted(experiment.replicates.into(), "replicate"),
        counted(fleetsim::study::run_count(&experiment), "run"),
        counted(clusters as u64, "cluster"),
>>>>>>> main
    ));
    Ok(())
}
