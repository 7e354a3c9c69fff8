//! `fleetsim merge`: merges the results of a study whose runs were simulated as shards.
//!
//! The command recorded in the shards is repeated with the shards' runs instead of simulations, so the results are
//! byte for byte those of an unsharded command. Runs that shards cannot contain are simulated: the displayed run of
//! each variant (for its details), and runs whose number depends on other results.

use std::path::PathBuf;

use clap::Args;
use fleetsim::results::ShardSet;
use fleetsim::units::counted;

use super::{Again, Command, DetailArgs, Failure, OutputFormat, SimulateArgs, output, recorded};

#[derive(Args, Debug)]
pub(super) struct MergeArgs {
    /// Folders with shards, or single shards, which together form one study
    #[arg(value_name = "SHARDS", required = true)]
    shards: Vec<PathBuf>,
    /// The experiment [default: the experiment named in the shards, below the current folder]
    #[arg(long, value_name = "EXPERIMENT")]
    experiment: Option<PathBuf>,
    /// Output folder, as for the command that simulated the shards [default: results/<experiment>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace earlier results even when they have more replicates or another seed
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    again: Again,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, display_order = 100)]
    format: OutputFormat,
    /// Write the asserted limits to this file as a JUnit report, for CI; `-` is standard output
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    detail: DetailArgs,
}

pub(super) fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let set = ShardSet::read(&args.shards)?;
    output::err(&format!(
        "merging {} with {}\n",
        counted(set.count(), "shard"),
        counted(set.run_count(), "run")
    ));
    let mut command = recorded::command(set.whole_command())?;
    match &mut command {
        Command::Run(run) => {
            run.junit.clone_from(&args.junit);
            run.detail = args.detail;
        }
        _ if args.junit.is_some() => {
            let message =
                "--junit needs shards of `fleetsim run`; other results have no asserted limits";
            return Err(Failure::Usage(message.to_owned()));
        }
        _ => {}
    }
    let Some(simulate) = command.simulate() else {
        let message = "shards must come from `run`, `plan` or `sensitivity`";
        return Err(Failure::Usage(message.to_owned()));
    };
    args.complete(simulate, set)?;
    command.run()
}

impl MergeArgs {
    /// Sets up the command to use the runs in the shards.
    fn complete(&self, simulate: &mut SimulateArgs, set: ShardSet) -> Result<(), Failure> {
        if let Some(experiment) = &self.experiment {
            simulate.experiment.experiment.clone_from(experiment);
        } else if !simulate.experiment.experiment.exists() {
            let place = simulate.experiment.experiment.display();
            let fix = "add `--experiment EXPERIMENT`, or merge in the folder that has it";
            return Err(Failure::Usage(format!(
                "the shards' experiment {place} does not exist; {fix}"
            )));
        }
        simulate.experiment.allow_commands = self.again.allow_commands;
        simulate.threads = self.again.threads;
        simulate.memory = self.again.memory;
        simulate.out.clone_from(&self.out);
        simulate.replace = self.replace;
        simulate.format = self.format;
        simulate.merged = Some(set);
        Ok(())
    }
}
