//! The command line: arguments and exit codes.
//!
//! Results are printed to stdout, progress and errors to stderr. Exit codes: 0 success; 1 the file system failed, or
//! results must not be written to the folder; 2 wrong usage, or an input that is missing, damaged or invalid; 99 a
//! limit of the experiment was exceeded or is undecided, or a plan has no certain answer; 130 interrupted.

mod assumptions;
mod calibrate;
mod causes;
mod check;
mod compare;
mod explain;
mod explore;
mod export;
mod forecast;
mod generated;
mod import;
mod init;
mod interrupt;
mod memory;
mod merge;
mod output;
mod plan;
mod precision;
mod progress;
mod recorded;
mod report;
mod reproduce;
mod revision;
mod run;
mod sensitivity;
mod shard;
mod shell;
mod simulation;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use fleetsim::host::CommandHost;
use fleetsim::io::printable;
use fleetsim::process::ProcessCommand;
use fleetsim::report::{Detail, Results};
use fleetsim::results::{Provenance, ResultsError, ShardError, ShardSet, to_json};
use fleetsim::scenario::{Experiment, LoadError, Overrides, load};
use fleetsim::study::MemoryEstimate;
use serde::Serialize;

/// Simulate the load of a rollout to thousands of clusters on an image registry, with the rules of real schedulers
#[derive(Debug, Parser)]
#[command(name = "fleetsim", version, about, long_about = None, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  fleetsim init my-rollout                          ask a few questions and write an experiment
  fleetsim import --fleet clusters.json -o mine     write an experiment from exports
  fleetsim run experiments/01-max-unavailable       simulate all strategies and compare them
  fleetsim explain experiments/01-max-unavailable   show how each strategy would treat this fleet
  fleetsim explore my-experiment.yaml               change settings on a page in the browser
  fleetsim plan my-experiment.yaml                  find the fastest setting that meets the limits
  fleetsim compare main:rollout.yaml rollout.yaml   show what a change makes different
  fleetsim forecast my-experiment.yaml status.json  say when a rollout in progress will be done
  fleetsim sensitivity experiments/08-bad-release   find the constants that decide
  fleetsim merge results/my-experiment.shards       merge what several machines simulated with --shard
  fleetsim check my-experiment.yaml                 report every error in an experiment file
  fleetsim report results/03-documented-or-shipped  redraw and compare existing results
  fleetsim reproduce results/[0-9]*                 check that these results can be reproduced

Exit codes:
  0   success
  1   output could not be written
  2   wrong usage or invalid input
  99  a limit was exceeded or is undecided, or a plan has no certain answer
  130 interrupted")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write an experiment from exported clusters, image manifests and a strategy
    Import(Box<import::ImportArgs>),
    /// Simulate every strategy, write tables and charts, and print the comparison
    Run(run::RunArgs),
    /// Ask a few questions and write an experiment
    Init(init::InitArgs),
    /// Check an experiment and all files it refers to, without simulating
    Check(check::CheckArgs),
    /// Show how each strategy would treat this fleet: partitions, limits, waves
    Explain(explain::ExplainArgs),
    /// Change settings on a page in the browser and see the rollout before and after
    Explore(explore::ExploreArgs),
    /// Find the fastest setting that meets your limits, and print it ready to paste
    Plan(plan::PlanArgs),
    /// Show the effects of a change to an experiment, e.g. for a pull request
    Compare(compare::CompareArgs),
    /// Forecast when a rollout in progress will be done, from the state that the product shows
    Forecast(forecast::ForecastArgs),
    /// Show how much each constant of the model matters, and which decisions it changes
    Sensitivity(sensitivity::SensitivityArgs),
    /// Write the results of a study whose runs were simulated as shards, on one machine or several
    Merge(merge::MergeArgs),
    /// Find the model's constants in the events and metrics of real clusters
    Calibrate(calibrate::CalibrateArgs),
    /// Redraw the charts of existing results and print the comparison
    Report(report::ReportArgs),
    /// Write existing results as a trace for Perfetto or as metrics for Prometheus
    Export(export::ExportArgs),
    /// Run experiments or calibrations again, compare every file with existing results, and add missing files
    Reproduce(reproduce::ReproduceArgs),
    /// List the constants of the model, or of an experiment, with ranges and sources
    Assumptions(assumptions::AssumptionsArgs),
    /// Print the JSON Schema of experiment files, for use in editors
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page of fleetsim or of one command
    Man {
        /// The command
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

/// The experiment, and values that override its settings.
#[derive(Args, Debug, Default)]
struct ExperimentArgs {
    /// Folder of the experiment, or its experiment.yaml
    #[arg(value_name = "EXPERIMENT")]
    experiment: PathBuf,
    /// Value for a setting of the experiment, such as registry.egress=unlimited; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Seed for all random numbers [default: from the experiment]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of runs per variant [default: from the experiment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    replicates: Option<u32>,
    /// Allow strategies to start the commands that the experiment names
    #[arg(long)]
    allow_commands: bool,
}

/// The arguments shared by all commands that simulate.
#[derive(Args, Debug)]
struct SimulateArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Output folder: new, or with earlier results of the same experiment [default: results/<experiment>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace earlier results even when they have more replicates, another seed or other settings
    #[arg(long)]
    replace: bool,
    /// Number of threads; does not affect results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    memory: memory::MemoryArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, display_order = 100)]
    format: OutputFormat,
    #[command(flatten)]
    shard: shard::ShardArgs,
    /// Whether `fleetsim reproduce` runs the command.
    #[arg(skip)]
    reproduce: bool,
    /// The shards that `fleetsim merge` merges, if it runs the command.
    #[arg(skip)]
    merged: Option<ShardSet>,
    /// The options to record in the results.
    #[arg(skip)]
    recorded: Vec<String>,
}

/// Options for the machine, which a repeated command takes from the command line instead of from the recorded command.
#[derive(Args, Debug)]
struct Again {
    /// Number of threads; does not affect results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    memory: memory::MemoryArgs,
    /// Allow strategies to start the commands that the experiments name
    #[arg(long)]
    allow_commands: bool,
}

/// The format of the standard output.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum OutputFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs, with a `schema_version`
    Json,
}

/// The reason why a command failed. It determines the exit code.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The experiment is invalid or cannot be read.
    #[error("the experiment is invalid")]
    Input(#[from] LoadError),
    /// The usage is wrong, or this build does not support the requested feature.
    #[error("{0}")]
    Usage(String),
    /// Results, charts or the page cannot be written or read.
    #[error(transparent)]
    Record(#[from] ResultsError),
    /// The shards do not form a complete study.
    #[error(transparent)]
    Shards(#[from] ShardError),
    /// A shard is complete, and nothing remains to be done.
    #[error("the remaining runs belong to other shards; simulate these, and merge all of them")]
    OtherShards,
    /// Another failure of the machine or the file system.
    #[error("{0}")]
    Machine(String),
    /// Existing results differ from the newly computed ones.
    #[error("{place}: not reproduced; differs in {files}")]
    Different { place: String, files: String },
    /// The results exceed an asserted limit, or have too few runs to decide. They are written and printed.
    #[error("an asserted limit was exceeded, or has too few runs to decide")]
    Assertion,
    /// No setting meets all limits of a plan. Contains the affected worlds if there are several. The plan is written
    /// and printed.
    #[error("no setting meets every limit and completes in every run{}", in_worlds(.0))]
    NoSetting(Vec<String>),
    /// The runs of a plan do not show which setting is best. Contains the affected worlds if there are several.
    #[error("the runs do not show which setting is the best{}", in_worlds(.0))]
    Uncertain(Vec<String>),
}

fn in_worlds(worlds: &[String]) -> String {
    if worlds.is_empty() {
        String::new()
    } else {
        format!(" for {}", worlds.join(" or "))
    }
}

impl Failure {
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Record(error) | Self::Shards(ShardError::Results(error))
                if error.is_of_input() =>
            {
                2
            }
            Self::Record(_) | Self::Machine(_) | Self::Different { .. } | Self::OtherShards => 1,
            Self::Shards(ShardError::Results(_)) => 1,
            Self::Input(_) | Self::Usage(_) | Self::Shards(_) => 2,
            // The same exit code as k6 uses, so that a pipeline can distinguish an exceeded limit from a crash.
            Self::Assertion | Self::NoSetting(_) | Self::Uncertain(_) => 99,
        }
    }

    fn print(&self) {
        output::styled_err(&self.text(output::stderr_has_colour()));
    }

    /// Returns the text that the program prints to stderr.
    fn text(&self, has_colour: bool) -> String {
        match self {
            // This error has its own layout, with a snippet for each problem and optional colours.
            Self::Input(error) => {
                let problems = error.problems.len();
                let count = if problems > 1 {
                    format!("\n{problems} problems\n")
                } else {
                    String::new()
                };
                format!("{}\n{count}", error.render(has_colour).trim_end())
            }
            _ => printable(&format!("error: {}\n", output::with_causes(self))).into_owned(),
        }
    }
}

/// Runs a command with these words, the first of which is the program's name, as the program on its terminal does.
/// Returns its exit code. Ends the process if the words are wrong or a signal arrives.
pub(crate) fn of_terminal(words: impl IntoIterator<Item = OsString>) -> u8 {
    let Err(failed) = run(words) else {
        return 0;
    };
    output::styled_err(&failed.text);
    failed.code
}

/// A command that failed.
pub(crate) struct FailedCommand {
    /// The text that the program prints to stderr.
    pub(crate) text: String,
    /// The program's exit code.
    pub(crate) code: u8,
}

/// Runs a command with these words, the first of which is the program's name. Without a [`CommandHost`] it is the
/// program itself: wrong words and signals end the process.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Result<(), FailedCommand> {
    let is_program = CommandHost::current().is_none();
    let command = match recorded::parsed(words) {
        Ok(command) => command,
        Err(error) if is_program => error.exit(),
        Err(error) => {
            return Err(FailedCommand {
                text: error.render().to_string(),
                code: error.exit_code() as u8,
            });
        }
    };
    let listening = if is_program {
        interrupt::listen()
    } else {
        Ok(())
    };
    let done = listening.and_then(|()| command.run());
    done.map_err(|failure| FailedCommand {
        text: failure.text(is_program && output::stderr_has_colour()),
        code: failure.exit_code(),
    })
}

impl Command {
    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Run(args) => run::run(args),
            Self::Import(args) => import::run(args),
            Self::Check(args) => check::check(args),
            Self::Init(args) => init::init(args),
            Self::Export(args) => export::export(args),
            Self::Explain(args) => explain::explain(args),
            Self::Explore(args) => explore::explore(args),
            Self::Plan(args) => plan::plan(args),
            Self::Compare(args) => compare::compare(args),
            Self::Forecast(args) => forecast::forecast(args),
            Self::Sensitivity(args) => sensitivity::sensitivity(args),
            Self::Merge(args) => merge::merge(args),
            Self::Calibrate(args) => calibrate::calibrate(args),
            Self::Report(args) => report::report(args),
            Self::Reproduce(args) => reproduce::reproduce(args),
            Self::Assumptions(args) => assumptions::assumptions(args),
            Self::Schema => generated::schema(),
            Self::Completions { shell } => generated::completions(*shell),
            Self::Man { command } => generated::man(command.as_deref()),
        }
    }

    /// Returns the arguments of a command that simulates.
    fn simulate(&mut self) -> Option<&mut SimulateArgs> {
        match self {
            Self::Run(args) => Some(&mut args.simulate),
            Self::Plan(args) => Some(&mut args.simulate),
            Self::Sensitivity(args) => Some(&mut args.simulate),
            _ => None,
        }
    }

    /// Returns the options that the results of a command record. `None`: the command records no options.
    fn recorded(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Calibrate(args) => Some(&mut args.recorded),
            command => command.simulate().map(|args| &mut args.recorded),
        }
    }
}

/// The amount of detail of the printed comparison.
#[derive(Args, Clone, Copy, Debug, Default)]
struct DetailArgs {
    /// Also print the sentences behind the answer, and the intervals of all variants
    #[arg(long)]
    details: bool,
}

impl DetailArgs {
    fn detail(self) -> Detail {
        if self.details {
            Detail::All
        } else {
            Detail::Answer
        }
    }
}

impl OutputFormat {
    fn comparison(self, results: &Results, detail: Detail) -> String {
        match self {
            Self::Text => {
                let width = output::width();
                let mut text = fleetsim::report::table(results, width, detail);
                if detail == Detail::All {
                    text.push_str(&fleetsim::report::uncertainty_text(results, width));
                }
                text
            }
            Self::Json => fleetsim::report::json(results),
        }
    }

    /// Prints a record of a plan, an analysis or a calibration, as `text` or as JSON.
    fn record<Record: Serialize>(
        self,
        record: &Record,
        text: fn(&Record, usize) -> String,
    ) -> String {
        if let Some(host) = CommandHost::current() {
            host.keep_record(&to_json(record));
        }
        match self {
            Self::Text => text(record, output::width()),
            Self::Json => String::from_utf8_lossy(&to_json(record)).into_owned(),
        }
    }
}

impl ExperimentArgs {
    fn overrides(&self) -> Overrides {
        Overrides {
            seed: self.seed,
            replicates: self.replicates,
            set: self.set.clone(),
            guests: CommandHost::guests_of_thread(),
        }
    }

    fn load(&self) -> Result<Experiment, Failure> {
        Ok(load(&self.experiment, &self.overrides())?)
    }

    /// Rejects an experiment that starts commands that were not allowed or do not exist.
    fn allow_commands(&self, experiment: &Experiment) -> Result<(), Failure> {
        for variant in &experiment.variants {
            for application in &variant.scenario.applications {
                if let Some(command) = application.strategy.command()
                    && !self.allow_commands
                {
                    return Err(Failure::Usage(format!(
                        "this experiment starts a command for every run: {}\n  if you trust it, add --allow-commands",
                        command.shown()
                    )));
                }
            }
        }
        for variant in &experiment.variants {
            for application in &variant.scenario.applications {
                let command = application.strategy.command();
                if let Some(missing) = command.and_then(ProcessCommand::missing) {
                    return Err(Failure::Machine(format!("{}: {missing}", variant.strategy)));
                }
            }
        }
        Ok(())
    }
}

impl SimulateArgs {
    /// Returns the number of threads for a study that needs this much memory.
    ///
    /// # Errors
    /// Returns an error if the study needs too much memory.
    fn threads_for(&self, estimate: &MemoryEstimate) -> Result<Option<u16>, Failure> {
        self.memory.threads(estimate, self.threads)
    }

    /// Returns the results folder of the whole study.
    fn target(&self, provenance: &Provenance) -> PathBuf {
        self.out
            .clone()
            .unwrap_or_else(|| Path::new("results").join(&provenance.experiment))
    }

    /// Repeats the command for comparison with the results in `folder`. `ours`: the options for the machine.
    fn again(&mut self, folder: &Path, ours: &Again) {
        self.experiment.allow_commands = ours.allow_commands;
        self.threads = ours.threads;
        self.memory = ours.memory;
        self.out = Some(folder.to_owned());
        self.reproduce = true;
    }
}
