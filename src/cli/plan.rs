//! `fleetsim plan`: search for the fastest settings that keep to limits, write the plan, print the answer.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fleetsim::report;
use fleetsim::results::{Journal, PLAN_FILE, PROVENANCE_FILE, PlanRecord, Publication, plan_tables};
use fleetsim::scenario::{Experiment, Overrides, Plan, load_plan};
use fleetsim::study::plan::{SearchResult, run_count_at_most, search};
use indicatif::{ProgressBar, ProgressStyle};

use super::simulation::{Simulation, compare_again, described, going_on, run_key, tell_place};
use super::{ExperimentArgs, Failure, OutputFormat, output};

#[derive(Args, Debug)]
#[command(mut_arg("replicates", |arg| arg.help("Give no candidate more runs than this, instead of the experiment's number")))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Write the plan into this folder; it must not exist, or hold an earlier plan of the same experiment
    /// [default: results/<experiment>-plan]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Simulate every candidate with all replicates as well, and tell whether that gives the same answer
    #[arg(long)]
    compare_exhaustive: bool,
    /// Simulate on so many threads; never changes a result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Set by `fleetsim reproduce`.
    #[arg(skip)]
    reproduce: bool,
}

impl PlanArgs {
    /// The same search, to be compared with the plan in `folder`.
    pub(super) fn again(self, folder: PathBuf, threads: Option<u16>) -> Self {
        Self { out: Some(folder), threads, reproduce: true, ..self }
    }
}

pub(super) fn plan(args: &PlanArgs) -> Result<(), Failure> {
    let overrides = Overrides { seed: args.experiment.seed, replicates: args.experiment.replicates };
    let experiment = load_plan(&args.experiment.experiment, &overrides)?;
    let wanted = experiment.plan.clone().expect("a planned experiment has a plan");
    let name = format!("{}-plan", experiment.name);
    let target = args.out.clone().unwrap_or_else(|| PathBuf::from("results").join(&name));
    let mut provenance = described(&experiment, "plan", &args.experiment);
    provenance.experiment = name;
    if args.compare_exhaustive {
        provenance.command.push_str(" --compare-exhaustive");
    }
    let publication = Publication::begin(&target, provenance)?;
    let journal = Journal::open(publication.target(), &[b"plan ", run_key(&experiment).as_slice()].concat())?;
    going_on(&journal, "search");
    if experiment.precision.is_some() {
        let most = experiment.replicates.max(wanted.confirm);
        output::err(&format!(
            "note: `precision` is for `fleetsim run`; here no candidate gets more than {most} runs\n"
        ));
    }
    let found = match simulate(&experiment, &wanted, args, &journal) {
        Ok(found) => found,
        Err(failure) if journal.runs() == 0 => {
            journal.finish()?;
            return Err(failure);
        }
        Err(failure) => {
            output::err(&format!("{} runs are kept; the same command goes on from there\n", journal.runs()));
            return Err(failure);
        }
    };
    for (name, bytes) in plan_tables(&found.plan, &found.runs) {
        publication.write(name, &bytes)?;
    }
    publication.write(PLAN_FILE, &found.plan.to_json())?;
    report::draw_plan(publication.folder())?;
    if args.reproduce {
        return compare_again(publication, journal, &target);
    }
    let published = publication.publish()?;
    journal.finish()?;
    output::err(&tell_place(&target, &published));
    tell(&found.plan, args.format);
    if found.plan.is_answered() { Ok(()) } else { Err(Failure::NoSetting(unanswered(&found.plan))) }
}

/// The worlds in which nothing was found, where there are several.
fn unanswered(plan: &PlanRecord) -> Vec<String> {
    let questions = plan.questions.iter().filter(|question| question.best.is_none());
    questions.map(|question| question.world.clone()).filter(|world| !world.is_empty()).collect()
}

/// Prints a plan.
pub(super) fn tell(plan: &PlanRecord, format: OutputFormat) {
    match format {
        OutputFormat::Text => output::out(&report::plan_text(plan, output::width())),
        OutputFormat::Json => output::out(&String::from_utf8_lossy(&plan.to_json())),
    }
}

/// Draws and prints an earlier plan again. Nothing is simulated.
pub(super) fn again(results: &std::path::Path, format: OutputFormat) -> Result<(), Failure> {
    let publication = Publication::renew(results)?;
    report::draw_plan(publication.folder())?;
    let plan = PlanRecord::read(publication.folder())?
        .ok_or_else(|| report::ReportError::NoResults { path: results.join(PROVENANCE_FILE) })?;
    let published = publication.publish()?;
    output::err(&tell_place(results, &published));
    tell(&plan, format);
    Ok(())
}

fn simulate(
    experiment: &Experiment,
    wanted: &Plan,
    args: &PlanArgs,
    journal: &Journal,
) -> Result<SearchResult, Failure> {
    let simulation = Simulation::begin(args.threads)?;
    // The most that it can come to: how many runs decide is what the search finds out.
    let bar = progress_bar(run_count_at_most(experiment, wanted, args.compare_exhaustive));
    let found = simulation
        .work(|stop| search(experiment, wanted, args.compare_exhaustive, journal, |_events| bar.inc(1), stop));
    bar.finish_and_clear();
    found
}

/// A bar on stderr; silent when that is not a terminal. It seldom gets to its end: `runs` is the most that there may be.
fn progress_bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs).with_style(
        ProgressStyle::with_template("searching {wide_bar} {pos} runs, at most {len}")
            .expect("the template is well-formed"),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
