//! `fleetsim run`: simulate, write the results folder, print the comparison.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use fleetsim::record::{
    InputDigest, Journal, LimitInfo, Provenance, Publication, Published, Tables, VariantInfo, VariantRecord,
};
use fleetsim::scenario::Experiment;
use fleetsim::{report, study};

use super::budget::Budget;
use super::{ExperimentArgs, Failure, Format, output, precision, series};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Write the results into this folder; it must not exist, or hold earlier results of the same experiment
    /// [default: results/<experiment>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Simulate on so many threads; never changes a result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Write the time series of every run too, into series.parquet; needs a build with `--features parquet`
    #[arg(long)]
    series: bool,
    /// How to print the comparison
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    series::check(args.series)?;
    let experiment = args.experiment.load()?;
    let target = args.out.clone().unwrap_or_else(|| PathBuf::from("results").join(&experiment.name));
    // Before the long work: may the results be written there at all?
    let mut publication = Publication::begin(&target, provenance(&experiment, args))?;
    let journal = Journal::open(publication.target(), &run_key(&experiment))?;
    if journal.found() > 0 {
        output::err(&format!("going on from {} runs of a study that did not end\n", journal.found()));
    }
    let variants = match simulate(&experiment, &journal, args.threads) {
        Ok(variants) => variants,
        Err(failure) if journal.runs() == 0 => {
            journal.finish()?;
            return Err(failure);
        }
        Err(failure) => {
            let (least, most) = study::run_counts(&experiment);
            let all = if least == most { least.to_string() } else { format!("{least} to {most}") };
            output::err(&format!("{} of {all} runs are kept; the same command goes on from there\n", journal.runs()));
            return Err(failure);
        }
    };
    let precision = experiment.precision.as_ref().map(|precision| {
        let (found, told) = precision::found(precision, &variants, experiment.seed);
        for (variant, found) in publication.provenance_mut().variants.iter_mut().zip(found) {
            variant.precision = Some(found);
        }
        told
    });
    for (name, bytes) in Tables::of(&variants, experiment.seed).files() {
        publication.write(name, &bytes)?;
    }
    if args.series {
        series::write(&publication, &variants)?;
    }
    report::draw_all(publication.folder())?;
    let results = report::Results::read(publication.folder())?;
    let published = publication.publish()?;
    journal.finish()?;
    output::err(&precision.unwrap_or_default());
    output::err(&tell_place(&target, &published));
    output::out(&args.format.render(&results));
    let demands: Vec<report::Demand<'_>> =
        experiment.assertions.iter().map(|demand| (&demand.limit, demand.strategy.as_deref())).collect();
    let (all_hold, told) = report::verdicts(&results, &demands);
    match args.format {
        Format::Text => output::out(&told),
        // Standard output is JSON and nothing else.
        Format::Json => output::err(&told),
    }
    if all_hold { Ok(()) } else { Err(Failure::Assertion) }
}

pub(super) fn tell_place(target: &Path, published: &Published) -> String {
    let place = target.display();
    match published {
        Published::New => format!("results: {place}\n"),
        Published::Reproduced => format!("results: {place} (reproduced byte for byte)\n"),
        Published::Differs { files } => {
            format!("results: {place} (replaced; differ from before in {})\n", some_of(files))
        }
    }
}

/// The first few of many names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

fn provenance(experiment: &Experiment, args: &RunArgs) -> Provenance {
    let mut provenance =
        Provenance::new(&experiment.name, &experiment.question, experiment.seed, experiment.replicates);
    let horizons = experiment.variants.iter().map(|variant| variant.scenario.horizon.as_secs_f64());
    provenance.horizon_s = horizons.fold(0.0, f64::max);
    provenance.command = reproduce(&args.experiment);
    if args.series {
        provenance.command.push_str(" --series");
    }
    provenance.precision = experiment.precision.as_ref().map(precision::asked);
    provenance.inputs = experiment
        .inputs
        .iter()
        .map(|input| InputDigest { path: input.path.clone(), sha256: input.sha256.clone() })
        .collect();
    provenance.variants = experiment
        .variants
        .iter()
        .map(|variant| VariantInfo {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            settings: variant.settings.clone(),
            registry_egress_bytes_per_s: Some(variant.scenario.world.registry.egress.get()),
            precision: None,
        })
        .collect();
    provenance.limits = experiment
        .assertions
        .iter()
        .map(|demand| LimitInfo { limit: demand.limit.to_string(), strategy: demand.strategy.clone() })
        .collect();
    provenance
}

/// The command that gives the same results. It names the experiment the same way wherever it lies and however it was
/// called, so that neither shows in the results: by its folder, below `experiments` if it is there, or by its file.
fn reproduce(args: &ExperimentArgs) -> String {
    let path = args.experiment.canonicalize().unwrap_or_else(|_| args.experiment.clone());
    let path = if path.ends_with("experiment.yaml") { path.parent().unwrap_or(&path) } else { &path };
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut command = "fleetsim run ".to_owned();
    if path.parent().is_some_and(|parent| name(parent) == "experiments") {
        command.push_str("experiments/");
    }
    command.push_str(&name(path));
    if let Some(seed) = args.seed {
        command.push_str(&format!(" --seed {seed}"));
    }
    if let Some(replicates) = args.replicates {
        command.push_str(&format!(" --replicates {replicates}"));
    }
    command
}

/// What makes a run what it is: the program, the experiment's files, the root of all luck. Two builds of one version may
/// simulate differently, so the program is known by its file.
fn run_key(experiment: &Experiment) -> Vec<u8> {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let built = program.and_then(|file| Ok((file.len(), file.modified()?)));
    let variants: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    format!("{} {built:?} {} {:?} {variants:?}", env!("CARGO_PKG_VERSION"), experiment.seed, experiment.inputs)
        .into_bytes()
}

fn simulate(experiment: &Experiment, journal: &Journal, threads: Option<u16>) -> Result<Vec<VariantRecord>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        // The second time, the user means at once.
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::Machine(format!("cannot listen for Ctrl-C: {error}")))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Failure::Machine(format!("cannot start threads: {error}")))?;
    let most = experiment.precision.as_ref().map(|_| study::run_counts(experiment).1);
    let budget = Budget::new(experiment.variants.len(), pool.current_num_threads(), most);
    let variants = pool.install(|| study::simulate(experiment, journal, &budget, &stop));
    budget.finish();
    variants.map_err(|error| match error {
        study::StudyError::Interrupted => Failure::Interrupted,
        study::StudyError::Record(error) => Failure::Record(error),
    })
}
