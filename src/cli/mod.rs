//! The command line: what it takes, and what its exit codes mean.
//!
//! Results go to stdout, progress and errors to stderr. Exit codes: 0 fine; 1 the file system failed or the results
//! may not be written there; 2 wrong usage or invalid input; 99 the results do not keep to what the experiment asserts,
//! or no setting keeps to the limits of a plan; 130 interrupted.

mod check;
mod explain;
mod explain_kubefleet;
mod generated;
mod output;
mod plan;
mod precision;
mod progress;
mod report;
mod reproduce;
mod run;
mod schema;
mod series;
mod simulation;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fleetsim::report::{ReportError, Results};
use fleetsim::results::ResultsError;
use fleetsim::scenario::{Experiment, LoadError, Overrides, load};

/// Simulate how a rollout across thousands of clusters loads an image registry, driven by real rollout schedulers.
#[derive(Debug, Parser)]
#[command(name = "fleetsim", version, about, long_about = None, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  fleetsim run experiments/01-max-unavailable       simulate and compare
  fleetsim explain experiments/01-max-unavailable   what each strategy would do to this fleet
  fleetsim plan experiments/01-max-unavailable      find the fastest setting that keeps to the limits
  fleetsim check my-experiment.yaml                 find every mistake in an experiment file
  fleetsim report results/03-documented-or-shipped  draw and compare earlier results again
  fleetsim reproduce results/*                      check that these results can be reproduced

Exit codes:
  0 fine   1 output could not be written   2 wrong usage or invalid input
  99 a limit is not kept to, or no setting keeps to it   130 interrupted")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate every strategy, write tables and charts, and print the comparison
    Run(run::RunArgs),
    /// Check an experiment and every file it names, without simulating
    Check(ExperimentArgs),
    /// Print what each strategy would do to this fleet: partitions, limits, waves
    Explain(explain::ExplainArgs),
    /// Find the fastest setting that keeps to limits, with few runs, and print it ready to paste
    Plan(plan::PlanArgs),
    /// Draw the charts of earlier results again, and print the comparison
    Report(report::ReportArgs),
    /// Run experiments again, compare every file with existing results, and add missing files
    Reproduce(reproduce::ReproduceArgs),
    /// Print the JSON Schema of the experiment file, for editors
    Schema,
    /// Print completions for a shell
    Completions {
        /// Which shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or that of one command
    Man {
        /// The command
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

/// Which experiment, and what to change in it.
#[derive(Args, Debug)]
struct ExperimentArgs {
    /// The experiment's folder, or its experiment.yaml
    #[arg(value_name = "EXPERIMENT")]
    experiment: PathBuf,
    /// Use this seed instead of the experiment's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Simulate every variant so many times instead of as often as the experiment says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    replicates: Option<u32>,
}

/// How to print what goes to stdout.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// For programs; has a `schema_version`
    Json,
}

/// Why a command failed, and so how the program exits.
#[derive(Debug)]
enum Failure {
    /// The experiment is invalid or cannot be read.
    Input(LoadError),
    /// The command asks for what this build cannot do.
    Usage(String),
    /// Results cannot be written or read.
    Record(ResultsError),
    /// Charts cannot be drawn.
    Report(ReportError),
    /// Something else about the machine.
    Machine(String),
    /// Existing results are not what the program computes.
    Different { place: String, files: String },
    /// The user gave up.
    Interrupted,
    /// The results do not keep to what the experiment asserts; they are written and told.
    Assertion,
    /// No setting keeps to the limits of a plan, of several worlds in these; the plan is written and told.
    NoSetting(Vec<String>),
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Input(error)
    }
}

impl From<ResultsError> for Failure {
    fn from(error: ResultsError) -> Self {
        Self::Record(error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::Report(error)
    }
}

impl Failure {
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Record(_) | Self::Report(_) | Self::Machine(_) | Self::Different { .. } => 1,
            Self::Input(_) | Self::Usage(_) => 2,
            Self::Interrupted => 130,
            // As k6 does, so that a pipeline can tell it from a program that failed.
            Self::Assertion | Self::NoSetting(_) => 99,
        }
    }

    fn tell(&self) {
        match self {
            // It has its own layout, a snippet for each problem.
            Self::Input(error) => {
                let problems = error.problems.len();
                let count = if problems > 1 { format!("\n{problems} problems\n") } else { String::new() };
                output::err(&format!("{}\n{count}", error.render(output::stderr_has_colour()).trim_end()));
            }
            Self::Usage(message) | Self::Machine(message) => output::err(&format!("error: {message}\n")),
            Self::Record(error) => output::err(&format!("error: {}\n", output::with_causes(error))),
            Self::Report(error) => output::err(&format!("error: {}\n", output::with_causes(error))),
            Self::Different { place, files } => {
                output::err(&format!("error: {place}: not reproduced; differs in {files}\n"))
            }
            Self::Interrupted => output::err("interrupted; no results were written\n"),
            Self::Assertion => output::err("error: an assertion of the experiment failed\n"),
            Self::NoSetting(worlds) => {
                let worlds = if worlds.is_empty() { String::new() } else { format!(" where {}", worlds.join(" or ")) };
                output::err(&format!("error: no setting keeps to the limits and always gets there{worlds}\n"));
            }
        }
    }
}

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::check(args),
        Command::Explain(args) => explain::explain(args),
        Command::Plan(args) => plan::plan(args),
        Command::Report(args) => report::report(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Schema => schema::schema(),
        Command::Completions { shell } => generated::completions(*shell),
        Command::Man { command } => generated::man(command.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.exit_code())
        }
    }
}

impl OutputFormat {
    fn render(self, results: &Results) -> String {
        match self {
            Self::Text => fleetsim::report::table(results, output::width()),
            Self::Json => fleetsim::report::json(results),
        }
    }
}

impl ExperimentArgs {
    fn load(&self) -> Result<Experiment, Failure> {
        Ok(load(&self.experiment, &Overrides { seed: self.seed, replicates: self.replicates })?)
    }
}
