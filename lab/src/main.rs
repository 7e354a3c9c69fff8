//! The laboratory: real registries, clients and TCP connections test the simulated physics.
//!
//! A normal experiment is built in network namespaces of this machine, and the program's own controllers run it in
//! real time ([`fleetsim::sim::run_emulated`]). `docs/lab.md` says what this can show.
//!
//! | file | contents |
//! |---|---|
//! | `subset` | the part of experiments that can be emulated |
//! | `study` | an experiment, simulated and emulated side by side |
//! | `lab` | a set-up that is built, and one run in it |
//! | `net`, `registry`, `node`, `image` | its parts: links, registries, containerds, images |
//! | `machine` | the machine: its programs, its kernel, its load |
//! | `measured`, `comparison` | the tables of all set-ups |
//! | `command`, `error` | programs that are started, and errors |

mod command;
mod comparison;
mod error;
mod image;
mod lab;
mod machine;
mod measured;
mod net;
mod node;
mod registry;
mod study;
mod subset;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Parser;
use fleetsim::results::sha256;
use fleetsim::scenario::Overrides;

use crate::error::LabError;
use crate::measured::MeasuredRow;
use crate::net::Transport;
use crate::study::StudyArgs;

/// Emulate rollouts on this machine, and compare them with simulated ones
#[derive(Debug, Parser)]
#[command(name = "lab/run", arg_required_else_help = true)]
struct Args {
    /// Experiments to emulate: folders, or experiment files
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<PathBuf>,
    /// Emulate all set-ups of lab/setups that have no results yet, and compare
    #[arg(long)]
    all: bool,
    /// Simulate all set-ups and write the predictions, before anything is measured
    #[arg(long)]
    predict: bool,
    /// Print predicted beside measured results
    #[arg(long)]
    compare: bool,
    /// Measure set-ups again that have results
    #[arg(long)]
    again: bool,
    /// Measure although the machine is not quiet; the results say so
    #[arg(long)]
    anyway: bool,
    /// Number of runs per variant [default: from the experiment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    replicates: Option<u32>,
    #[command(flatten)]
    transport: Transport,
    /// Value for a setting of all experiments, such as registry.tcp.weightSpread=0.6; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Measurements that --compare reads [default: measured.csv in --out]
    #[arg(long, value_name = "FILE")]
    measured: Option<PathBuf>,
    /// Folder of results, one folder for each set-up
    #[arg(long, value_name = "DIR", default_value = "results/lab")]
    out: PathBuf,
    /// Folder for registries and images while they are needed; memory is best
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    scratch: PathBuf,
}

/// The folder of the set-ups.
const SETUPS: &str = "lab/setups";

fn main() -> ExitCode {
    let stop = || lab::INTERRUPTED.store(true, Ordering::Relaxed);
    let done = ctrlc::set_handler(stop).map_err(|error| LabError::Machine(error.to_string()));
    match done.and_then(|()| work(&Args::parse())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, LabError::Interrupted) {
                130
            } else {
                2
            })
        }
    }
}

fn work(args: &Args) -> Result<(), LabError> {
    let (predicted, measured) = (
        args.out.join("predicted.csv"),
        args.out.join("measured.csv"),
    );
    if args.predict {
        for setup in setups()? {
            predict(&setup, args, &predicted)?;
        }
        return Ok(());
    }
    let mut failed = 0;
    if args.all || !args.experiments.is_empty() {
        let info = machine::check(&args.transport)?;
        if !info.has_netem {
            eprintln!("note: this kernel has no netem, so round trips and loss cannot be emulated");
        }
        let setups = if args.all {
            setups()?
        } else {
            args.experiments.clone()
        };
        for setup in &setups {
            match emulate(setup, args, info.clone(), &measured) {
                Ok(()) => {}
                Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                Err(error) if args.all => {
                    eprintln!("error: {}: {error}", setup.display());
                    failed += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
    if args.all || args.compare {
        let measured = args.measured.as_ref().unwrap_or(&measured);
        print!(
            "{}",
            comparison::table(&measured::read(&predicted)?, &measured::read(measured)?)
        );
    }
    if failed > 0 {
        Err(LabError::Machine(format!(
            "{failed} set-ups were not measured"
        )))
    } else {
        Ok(())
    }
}

/// The set-ups of the laboratory, sorted by name.
fn setups() -> Result<Vec<PathBuf>, LabError> {
    let folder = Path::new(SETUPS);
    let entries = std::fs::read_dir(folder).map_err(LabError::file(folder))?;
    let mut setups: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    setups.sort();
    Ok(setups)
}

fn overrides(args: &Args) -> Overrides {
    Overrides {
        replicates: args.replicates,
        set: args.set.clone(),
        ..Overrides::default()
    }
}

/// Writes the prediction of a set-up: all of its runs, simulated.
fn predict(setup: &Path, args: &Args, table: &Path) -> Result<(), LabError> {
    let experiment = fleetsim::scenario::load(setup, &overrides(args))?;
    let mut rows = Vec::new();
    for (variant, runs) in study::simulated(&experiment)? {
        rows.extend(
            runs.iter()
                .map(|run| MeasuredRow::of(&experiment.name, &variant.label, false, run)),
        );
    }
    measured::replace(table, &experiment.name, rows)
}

/// Emulates a set-up, unless it already has results.
fn emulate(
    setup: &Path,
    args: &Args,
    info: fleetsim::results::EmulationInfo,
    table: &Path,
) -> Result<(), LabError> {
    let experiment = study::load_checked(setup, &overrides(args), &info)?;
    let out = args.out.join(&experiment.name);
    if !args.again && is_measured(&experiment, &out) {
        eprintln!("{}: measured before; --again repeats it", experiment.name);
        return Ok(());
    }
    let wanted = StudyArgs {
        anyway: args.anyway,
        transport: args.transport.clone(),
        scratch: args.scratch.clone(),
        out,
    };
    let rows = study::emulate(&experiment, &wanted, info)?;
    measured::replace(table, &experiment.name, rows)
}

/// Returns true if a folder has results of the same experiment.
fn is_measured(experiment: &fleetsim::scenario::Experiment, out: &Path) -> bool {
    let provenance = fleetsim::results::Provenance::read(out).ok().flatten();
    let resolved = sha256(experiment.resolved().as_bytes());
    let listed = |provenance: fleetsim::results::Provenance| {
        provenance
            .files
            .iter()
            .any(|file| file.path == fleetsim::results::RESOLVED_FILE && file.sha256 == resolved)
    };
    provenance.is_some_and(listed)
}
