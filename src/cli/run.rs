//! `fleetsim run`: simulates, writes the results folder, and prints the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use fleetsim::host::CommandHost;
use fleetsim::results::{
    CauseRow, Journal, Provenance, Publication, RunRow, Tables, VariantRecord, causes_table,
    decisions_table, uncertainty_tables,
};
use fleetsim::scenario::{Experiment, Overrides, VariedExperiment};
use fleetsim::study::{DrawnRuns, MemoryEstimate};
use fleetsim::{report, study};
use indicatif::ProgressBar;
use itertools::Itertools;

use super::interrupt::RunTotal;
use super::progress::StudyProgress;
use super::simulation::{Recording, Simulation, StudyWords, described, starts_commands};
use super::{DetailArgs, Failure, OutputFormat, SimulateArgs, causes, output, precision, progress};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) simulate: SimulateArgs,
    /// Also write the time series of every run to series.parquet; needs a build with `--features parquet`
    #[arg(long)]
    series: bool,
    /// Leave out the trials that find what holds the recommended variants back
    #[arg(long)]
    no_causes: bool,
    /// Write the asserted limits to this file as a JUnit report, for CI; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub(super) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(super) detail: DetailArgs,
}

/// Returns the notes on the strategies for readers of the results: one line for each note, with the strategies it
/// applies to.
pub(super) fn notes(experiment: &Experiment) -> String {
    let mut by_text: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for variant in &experiment.variants {
        for note in variant.scenario.notes() {
            by_text.entry(note).or_default().insert(&variant.strategy);
        }
    }
    let mut text = String::new();
    for (note, strategies) in by_text {
        let _ = writeln!(text, "note: {}: {note}", strategies.iter().join(", "));
    }
    text
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    if args.series && !cfg!(feature = "parquet") {
        let fix = "rebuild with `cargo build --release --features parquet`";
        return Err(Failure::Usage(format!(
            "--series needs a fleetsim with Parquet support; {fix}"
        )));
    }
    let experiment = args.simulate.experiment.load()?;
    args.simulate.experiment.allow_commands(&experiment)?;
    let shards = args.simulate.shard.shard.map_or(1, |shard| shard.of);
    let estimate = MemoryEstimate::of_study(&experiment, shards);
    let threads = args.simulate.threads_for(&estimate)?;
    // Check before the long work whether the results and the JUnit report can be written.
    let provenance = provenance(&experiment, args);
    let words = StudyWords {
        name: "study",
        total: run_total(&experiment),
    };
    let Some(recording) = Recording::begin(&args.simulate, provenance, &experiment, words)? else {
        return Ok(());
    };
    let mut inputs = output::inputs(&args.simulate.experiment.experiment, &experiment);
    inputs.push(recording.publication.target().to_owned());
    if let Err(failure) = output::check_junit(args.junit.as_deref(), &inputs) {
        return Err(recording.give_up(failure)?);
    }
    for guess in &experiment.guesses {
        output::err(&format!("note: {}\n", guess.text));
    }
    output::err(&notes(&experiment));
    let simulated = simulate(&experiment, &recording.journal, threads);
    if recording.is_shard() {
        // Constants are drawn independently of the results.
        let drawn = draw(args, &experiment, &recording.journal, threads);
        return recording.publish_shard([simulated.map(drop), drawn.map(drop)]);
    }
    let simulated = simulated
        .and_then(|variants| complete(variants, args, &experiment, &recording.journal, threads));
    let (simulated, recording) = recording.or_saved(simulated)?;
    let (written, recording) = recording
        .write(|publication, begins| write(&experiment, args, simulated, publication, begins))?;
    output::junit(args.junit.as_deref(), &written.results, &inputs)?;
    if !recording.finish(&written.precision)? {
        return Ok(());
    }
    print(args, &written.results)
}

/// All runs of a study.
struct SimulatedStudy {
    variants: Vec<VariantRecord>,
    /// The runs with drawn constants, if the experiment requests them.
    drawn: Option<DrawnRuns>,
    /// Sentences about whether unstated links change the answer.
    deciding_links: Vec<String>,
}

/// The written results of a study.
struct WrittenResults {
    results: report::Results,
    /// The achieved precision, as text.
    precision: String,
}

/// Simulates the further runs that a study needs: with drawn constants, and with other values for unstated links.
fn complete(
    variants: Vec<VariantRecord>,
    args: &RunArgs,
    experiment: &Experiment,
    journal: &Journal,
    threads: Option<u16>,
) -> Result<SimulatedStudy, Failure> {
    Ok(SimulatedStudy {
        variants,
        drawn: draw(args, experiment, journal, threads)?,
        deciding_links: deciding_links(args, experiment, journal, threads)?,
    })
}

/// Returns the total number of runs, with those of the draws.
fn run_total(experiment: &Experiment) -> RunTotal {
    let (least, most) = study::run_counts(experiment);
    let drawn = study::drawn_count(experiment);
    RunTotal::Between(least + drawn, most + drawn)
}

/// Prints the comparison and the asserted limits. Fails unless all limits are met.
fn print(args: &RunArgs, results: &report::Results) -> Result<(), Failure> {
    let format = args.simulate.format;
    output::out(&format.comparison(results, args.detail.detail()))?;
    let (all_hold, verdicts) = report::verdicts(results);
    match format {
        OutputFormat::Text => output::out(&verdicts)?,
        // Standard output must contain only JSON, so the verdicts are printed to stderr.
        OutputFormat::Json => output::err(&verdicts),
    }
    if all_hold {
        Ok(())
    } else {
        Err(Failure::Assertion)
    }
}

/// Writes tables, charts and page.
fn write(
    experiment: &Experiment,
    args: &RunArgs,
    study: SimulatedStudy,
    publication: &mut Publication,
    begins: &mut dyn FnMut(&str),
) -> Result<WrittenResults, Failure> {
    let variants = &study.variants;
    publication.provenance_mut().defaults = study.deciding_links;
    begins("tables");
    let precision = record_precision(experiment, variants, publication);
    let tables = Tables::of(variants, experiment.seed);
    for (name, write) in tables.written() {
        publication.write_with(name, |out| write(&tables, out))?;
    }
    let is_drawn = study.drawn.is_some();
    if let Some(drawn) = study.drawn {
        for (name, bytes) in uncertainty_tables(variants, &drawn.runs, &drawn.constants) {
            publication.write(name, &bytes)?;
        }
    }
    if args.series {
        begins("series");
        #[cfg(feature = "parquet")]
        write_series(publication, variants)?;
    }
    let mut results = report::Results::of(publication.folder(), tables)?;
    if !args.no_causes {
        begins("causes");
        results.causes = causes_of(experiment, &results, args.simulate.threads)?;
    }
    if !results.causes.is_empty() {
        let (name, bytes) = causes_table(&results.causes);
        publication.write(name, &bytes)?;
    }
    if is_drawn {
        let (name, bytes) = decisions_table(&report::decisions_by_draw(&results));
        publication.write(name, &bytes)?;
    }
    if !CommandHost::is_sketch_on_thread() {
        report::draw_all(publication.folder(), &results, begins)?;
    }
    Ok(WrittenResults { results, precision })
}

/// Finds what holds the recommended variants back.
fn causes_of(
    experiment: &Experiment,
    results: &report::Results,
    threads: Option<u16>,
) -> Result<Vec<CauseRow>, Failure> {
    let runs: Vec<&RunRow> = results.tables.runs.iter().chain(&results.draws).collect();
    causes::of_variants(experiment, &report::recommended(results), &runs, threads)
}

/// Writes the series of every run, and with several applications those of the displayed runs' applications.
#[cfg(feature = "parquet")]
fn write_series(publication: &Publication, variants: &[VariantRecord]) -> Result<(), Failure> {
    let series = fleetsim::results::series_parquet(variants);
    publication.write(fleetsim::results::SERIES_FILE, &series)?;
    if let Some(series) = fleetsim::results::application_series_parquet(variants) {
        publication.write(fleetsim::results::APPLICATION_SERIES_FILE, &series)?;
    }
    Ok(())
}

/// Adds each variant's precision to the provenance, and returns it as text. Empty if no precision was requested.
fn record_precision(
    experiment: &Experiment,
    variants: &[VariantRecord],
    publication: &mut Publication,
) -> String {
    let Some(asked) = &experiment.precision else {
        return String::new();
    };
    let (found, text) = precision::found(asked, variants, experiment.seed);
    for (variant, found) in publication.provenance_mut().variants.iter_mut().zip(found) {
        variant.precision = Some(found);
    }
    text
}

/// Simulates the runs with drawn constants. `None`: the experiment does not request drawn constants.
fn draw(
    args: &RunArgs,
    experiment: &Experiment,
    journal: &Journal,
    threads: Option<u16>,
) -> Result<Option<DrawnRuns>, Failure> {
    let runs = study::drawn_count(experiment);
    if runs == 0 {
        return Ok(None);
    }
    let asked = &args.simulate.experiment;
    let varied = VariedExperiment::load(&asked.experiment, &asked.overrides())?;
    let bar = progress::bar(
        ProgressBar::new(runs),
        "drawing constants {wide_bar} {pos}/{len} runs, {eta} left",
    );
    let drawn = Simulation::behind(&bar, threads, || {
        study::drawn_runs(&varied, journal, || bar.inc(1))
    })?;
    Ok(Some(drawn))
}

/// Minimum number of runs of a variant for which a few further runs are considered cheap.
const MANY: u32 = 10;

/// Returns sentences about whether unstated links change the answer.
fn deciding_links(
    args: &RunArgs,
    experiment: &Experiment,
    journal: &Journal,
    threads: Option<u16>,
) -> Result<Vec<String>, Failure> {
    let is_known = experiment.guesses.is_empty() || experiment.uncertainty.is_some();
    if is_known || starts_commands(experiment) || experiment.replicates < MANY {
        return Ok(Vec::new());
    }
    let asked = &args.simulate.experiment;
    let overrides = Overrides {
        replicates: Some(1),
        ..asked.overrides()
    };
    let varied = VariedExperiment::load(&asked.experiment, &overrides)?;
    let guesses = experiment.guesses.iter();
    let links = guesses.map(|guess| guess.constant.to_owned()).collect();
    let simulation = Simulation::begin(threads)?;
    let record = simulation.work(|| study::sensitivity::deciding(&varied, links, journal))?;
    Ok(report::deciding_links(&record))
}

fn provenance(experiment: &Experiment, args: &RunArgs) -> Provenance {
    let precision = experiment.precision.as_ref().map(precision::asked);
    Provenance {
        precision,
        ..described(
            experiment,
            "run",
            &args.simulate.experiment,
            &args.simulate.recorded,
        )
    }
}

fn simulate(
    experiment: &Experiment,
    journal: &Journal,
    threads: Option<u16>,
) -> Result<Vec<VariantRecord>, Failure> {
    let simulation = Simulation::begin(threads)?;
    let (_, most) = study::run_counts(experiment);
    let most = experiment.precision.is_some().then_some(most);
    let progress = StudyProgress::new(experiment.variants.len(), simulation.threads(), most);
    let variants = simulation.work(|| study::simulate(experiment, journal, &progress));
    progress.finish();
    variants
}
