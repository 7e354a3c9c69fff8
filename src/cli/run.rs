//! `fleetsim run`: simulate, write the results folder, print the comparison.

use std::path::PathBuf;

use clap::Args;
use fleetsim::results::{Journal, Provenance, Publication, Tables, VariantRecord};
use fleetsim::scenario::Experiment;
use fleetsim::{report, study};

use super::progress::StudyProgress;
use super::simulation::{Simulation, compare_again, described, or_saved, place_of, report_resumed, run_key};
use super::{Again, ExperimentArgs, Failure, OutputFormat, output, precision, series};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Output folder: new, or with earlier results of the same experiment [default: results/<experiment>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of threads; does not affect results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Also write the time series of every run to series.parquet; needs a build with `--features parquet`
    #[arg(long)]
    series: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Set by `fleetsim reproduce`.
    #[arg(skip)]
    reproduce: bool,
}

impl RunArgs {
    /// The same run, to be compared with the results in `folder`.
    pub(super) fn again(mut self, folder: PathBuf, ours: &Again) -> Self {
        self.experiment.allow_commands = ours.allow_commands;
        Self { out: Some(folder), threads: ours.threads, reproduce: true, ..self }
    }
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    series::check(args.series)?;
    let experiment = args.experiment.load()?;
    args.experiment.allow_commands(&experiment)?;
    let target = args.out.clone().unwrap_or_else(|| PathBuf::from("results").join(&experiment.name));
    // Check before the long work that results can be written there.
    let mut publication = Publication::begin(&target, provenance(&experiment, args))?;
    let journal = Journal::open(publication.target(), &run_key(&experiment))?;
    report_resumed(&journal, "study");
    let (least, most) = study::run_counts(&experiment);
    let all = if least == most { format!(" of {least}") } else { format!(" of {least} to {most}") };
    let (variants, journal) = or_saved(simulate(&experiment, &journal, args.threads), journal, &all)?;
    let precision = experiment.precision.as_ref().map(|precision| {
        let (found, text) = precision::found(precision, &variants, experiment.seed);
        for (variant, found) in publication.provenance_mut().variants.iter_mut().zip(found) {
            variant.precision = Some(found);
        }
        text
    });
    for (name, bytes) in Tables::of(&variants, experiment.seed).files() {
        publication.write(name, &bytes)?;
    }
    if args.series {
        series::write(&publication, &variants)?;
    }
    report::draw_all(publication.folder())?;
    let results = report::Results::read(publication.folder())?;
    if args.reproduce {
        return compare_again(publication, journal, &target);
    }
    let published = publication.publish()?;
    journal.finish()?;
    output::err(&precision.unwrap_or_default());
    output::err(&place_of(&target, &published));
    output::out(&args.format.render(&results));
    let (all_hold, verdicts) = report::verdicts(&results);
    match args.format {
        OutputFormat::Text => output::out(&verdicts),
        // Standard output is JSON and nothing else.
        OutputFormat::Json => output::err(&verdicts),
    }
    if all_hold { Ok(()) } else { Err(Failure::Assertion) }
}

fn provenance(experiment: &Experiment, args: &RunArgs) -> Provenance {
    let mut provenance = described(experiment, "run", &args.experiment);
    if args.series {
        provenance.command.push_str(" --series");
    }
    provenance.precision = experiment.precision.as_ref().map(precision::asked);
    provenance
}

fn simulate(experiment: &Experiment, journal: &Journal, threads: Option<u16>) -> Result<Vec<VariantRecord>, Failure> {
    let simulation = Simulation::begin(threads)?;
    let most = experiment.precision.as_ref().map(|_| study::run_counts(experiment).1);
    let progress = StudyProgress::new(experiment.variants.len(), simulation.threads(), most);
    let variants = simulation.work(|stop| study::simulate(experiment, journal, &progress, stop));
    progress.finish();
    variants
}
