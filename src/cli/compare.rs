//! `fleetsim compare`: simulates two versions of an experiment, and prints the effects of the change.
//!
//! A version is an experiment, a folder of results, or `REVISION:PATH` in a git repository. Nothing is written except
//! the requested JUnit report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fleetsim::host::CommandHost;
use fleetsim::io::read_below;
use fleetsim::report::{self, Results, Review, ReviewSide, review_markdown, review_text};
use fleetsim::results::{PROVENANCE_FILE, RESOLVED_FILE, RunRow, Tables, to_json};
use fleetsim::scenario::{Experiment, load_with};
use fleetsim::study::{self, MemoryEstimate};
use indicatif::ProgressBar;

use super::simulation::{Simulation, described};
use super::{Again, ExperimentArgs, Failure, causes, output, progress, revision};

#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// The version before the change: an experiment, a folder of results, or REVISION:PATH of a git repository
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The version after the change
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Number of runs per variant [default: from the new experiment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    replicates: Option<u32>,
    /// Seed for all random numbers [default: from the new experiment]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    again: Again,
    /// Leave out the trials that find what holds the recommended variants back
    #[arg(long)]
    no_causes: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the limits that the new version asserts to this file as a JUnit report, for CI; `-` is standard output
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// The format of the standard output.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// Text for people
    Text,
    /// Markdown for a comment on a pull request
    Markdown,
    /// JSON for programs, with a `schema_version`
    Json,
}

pub(super) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let inputs = [args.old.clone(), args.new.clone()];
    output::check_junit(args.junit.as_deref(), &inputs)?;
    let new = args.version(&args.new, None)?;
    let seed = match &new {
        Version::Experiment(_, experiment) => experiment.seed,
        Version::Results(side) => side.results.provenance.seed,
    };
    let old = args.version(&args.old, Some(seed))?;
    let replicates = args.replicates.or(match &new {
        Version::Experiment(_, experiment) => Some(experiment.replicates),
        Version::Results(_) => None,
    });
    let threads = args.threads([&old, &new], replicates)?;
    let mut old = simulate(old, replicates, threads)?;
    let mut new = simulate(new, replicates, threads)?;
    if !args.no_causes {
        try_causes([&mut old, &mut new], threads)?;
    }
    let (old, new) = (old.side, new.side);
    let review = Review::of(&old, &new).map_err(Failure::Usage)?;
    output::junit(args.junit.as_deref(), &new.results, &inputs)?;
    let (_, verdicts) = report::verdicts(&new.results);
    if let Some(host) = CommandHost::current() {
        host.keep_record(&to_json(&review));
    }
    match args.format {
        Format::Text => output::out(&(review_text(&review, output::width()) + &verdicts))?,
        Format::Markdown => output::out(&review_markdown(&review, &verdicts))?,
        Format::Json => {
            output::out(&String::from_utf8_lossy(&to_json(&review)))?;
            output::err(&verdicts);
        }
    }
    // Only new violations fail the comparison: the change did not cause the others.
    if review.has_new_violation() {
        Err(Failure::Assertion)
    } else {
        Ok(())
    }
}

/// A version of an experiment that was found.
enum Version {
    Experiment(ExperimentArgs, Box<Experiment>),
    Results(Box<ReviewSide>),
}

impl CompareArgs {
    /// Finds a version. `seed`: the seed of the new version, used for an experiment.
    fn version(&self, place: &Path, seed: Option<u64>) -> Result<Version, Failure> {
        if place.join(PROVENANCE_FILE).exists() {
            return Ok(Version::Results(Box::new(recorded(place)?)));
        }
        let asked = ExperimentArgs {
            experiment: place.to_owned(),
            seed: self.seed.or(seed),
            replicates: self.replicates,
            allow_commands: self.again.allow_commands,
            ..ExperimentArgs::default()
        };
        let in_revision = revision::experiment(place).map_err(Failure::Usage)?;
        let experiment = match in_revision {
            Some(file) => load_with(revision::open, &file, &asked.overrides())?,
            None => asked.load()?,
        };
        asked.allow_commands(&experiment)?;
        Ok(Version::Experiment(asked, Box::new(experiment)))
    }

    /// Returns the number of threads with which both versions stay within the memory limit.
    fn threads(
        &self,
        versions: [&Version; 2],
        replicates: Option<u32>,
    ) -> Result<Option<u16>, Failure> {
        let mut threads = self.again.threads;
        for version in versions {
            if let Version::Experiment(_, experiment) = version {
                let replicates = replicates.unwrap_or(experiment.replicates);
                let estimate = MemoryEstimate::of_comparison(experiment, replicates);
                threads = self.again.memory.threads(&estimate, threads)?;
            }
        }
        Ok(threads)
    }
}

/// A version with its runs.
struct SimulatedVersion {
    side: ReviewSide,
    /// `None`: the version was recorded, with its trials if there were any.
    experiment: Option<Box<Experiment>>,
}

impl SimulatedVersion {
    /// Finds what holds the variants with these labels back.
    fn try_causes(&mut self, labels: &[String], threads: Option<u16>) -> Result<(), Failure> {
        let Some(experiment) = &self.experiment else {
            return Ok(());
        };
        let runs: Vec<&RunRow> = self.side.results.tables.runs.iter().collect();
        self.side.results.causes = causes::of_variants(experiment, labels, &runs, threads)?;
        Ok(())
    }
}

/// Finds what holds the variants back that either version recommends.
fn try_causes(versions: [&mut SimulatedVersion; 2], threads: Option<u16>) -> Result<(), Failure> {
    let mut labels: Vec<String> = Vec::new();
    for version in &versions {
        for label in report::recommended(&version.side.results) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    for version in versions {
        version.try_causes(&labels, threads)?;
    }
    Ok(())
}

/// Simulates the runs of a version.
fn simulate(
    version: Version,
    replicates: Option<u32>,
    threads: Option<u16>,
) -> Result<SimulatedVersion, Failure> {
    let (asked, experiment) = match version {
        Version::Results(side) => {
            return Ok(SimulatedVersion {
                side: *side,
                experiment: None,
            });
        }
        Version::Experiment(asked, experiment) => (asked, experiment),
    };
    let replicates = replicates.unwrap_or(experiment.replicates);
    let runs = u64::from(replicates) * experiment.variants.len() as u64;
    let name = asked.experiment.display().to_string();
    let bar = ProgressBar::new(runs).with_message(name.clone());
    let bar = progress::bar(
        bar,
        "simulating {msg} {wide_bar} {pos}/{len} runs, {eta} left",
    );
    let variants = Simulation::behind(&bar, threads, || {
        study::simulate_plainly(&experiment, replicates, || bar.inc(1))
    })?;
    let provenance = described(&experiment, "compare", &asked, &[]);
    let mut files = BTreeMap::new();
    for input in &experiment.inputs {
        // The copy omits fields without effect, because they may be secret.
        let (copy, _) = input.copy();
        files.insert(input.path.clone(), copy.to_vec());
    }
    let results = Results::in_memory(provenance, Tables::of(&variants, experiment.seed));
    let side = ReviewSide {
        name,
        results,
        resolved: experiment.resolved(),
        files,
    };
    Ok(SimulatedVersion {
        side,
        experiment: Some(experiment),
    })
}

/// Returns the version recorded in a folder of results.
fn recorded(folder: &Path) -> Result<ReviewSide, Failure> {
    let results = Results::read(folder)?;
    let resolved = read_below(folder, RESOLVED_FILE).unwrap_or_default();
    let resolved = String::from_utf8_lossy(&resolved).into_owned();
    let mut files = BTreeMap::new();
    for input in &results.provenance.inputs {
        let Some(copy) = input.copy() else { continue };
        if let Ok(bytes) = read_below(folder, &copy) {
            files.insert(input.path.clone(), bytes);
        }
    }
    Ok(ReviewSide {
        name: folder.display().to_string(),
        resolved,
        files,
        results,
    })
}
