//! `fleetsim plan`: search for the fastest settings that meet all limits, write the plan, print the answer.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fleetsim::report;
use fleetsim::results::{Journal, PLAN_FILE, PlanRecord, Publication, plan_tables};
use fleetsim::scenario::{Experiment, Overrides, Plan, load_plan};
use fleetsim::study::plan::{SearchResult, run_count_at_most, search};
use indicatif::{ProgressBar, ProgressStyle};

use super::simulation::{Simulation, compare_again, described, or_saved, place_of, report_resumed, run_key};
use super::{Again, ExperimentArgs, Failure, OutputFormat, output};

#[derive(Args, Debug)]
#[command(mut_arg("replicates", |arg| arg.help("Maximum number of runs per candidate [default: from the experiment]")))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Output folder: new, or with an earlier plan of the same experiment [default: results/<experiment>-plan]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also simulate all replicates of every candidate, and report whether the answer is the same
    #[arg(long)]
    compare_exhaustive: bool,
    /// Number of threads; does not affect results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Set by `fleetsim reproduce`.
    #[arg(skip)]
    reproduce: bool,
}

impl PlanArgs {
    /// The same search, to be compared with the plan in `folder`.
    pub(super) fn again(mut self, folder: PathBuf, ours: &Again) -> Self {
        self.experiment.allow_commands = ours.allow_commands;
        Self { out: Some(folder), threads: ours.threads, reproduce: true, ..self }
    }
}

pub(super) fn plan(args: &PlanArgs) -> Result<(), Failure> {
    let overrides = Overrides { seed: args.experiment.seed, replicates: args.experiment.replicates };
    let experiment = load_plan(&args.experiment.experiment, &overrides)?;
    args.experiment.allow_commands(&experiment)?;
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
    report_resumed(&journal, "search");
    if experiment.precision.is_some() {
        let most = experiment.replicates.max(wanted.confirm);
        output::err(&format!(
            "note: `precision` applies to `fleetsim run` only; a candidate gets at most {most} runs here\n"
        ));
    }
    let (found, journal) = or_saved(simulate(&experiment, &wanted, args, &journal), journal, "")?;
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
    output::err(&place_of(&target, &published));
    print(&found.plan, args.format);
    if found.plan.is_answered() { Ok(()) } else { Err(Failure::NoSetting(unanswered(&found.plan))) }
}

/// The worlds without an answer, where there are several.
fn unanswered(plan: &PlanRecord) -> Vec<String> {
    let questions = plan.questions.iter().filter(|question| question.best.is_none());
    questions.map(|question| question.world.clone()).filter(|world| !world.is_empty()).collect()
}

/// Prints a plan.
pub(super) fn print(plan: &PlanRecord, format: OutputFormat) {
    match format {
        OutputFormat::Text => output::out(&report::plan_text(plan, output::width())),
        OutputFormat::Json => output::out(&String::from_utf8_lossy(&plan.to_json())),
    }
}

/// Redraws and prints an earlier plan. Nothing is simulated.
pub(super) fn redraw(results: &std::path::Path, format: OutputFormat) -> Result<(), Failure> {
    let publication = Publication::renew(results)?;
    report::draw_plan(publication.folder())?;
    let plan = PlanRecord::read(publication.folder())?
        .ok_or_else(|| report::ReportError::NoResults { folder: results.to_owned(), file: PLAN_FILE })?;
    let published = publication.publish()?;
    output::err(&place_of(results, &published));
    print(&plan, format);
    Ok(())
}

fn simulate(
    experiment: &Experiment,
    wanted: &Plan,
    args: &PlanArgs,
    journal: &Journal,
) -> Result<SearchResult, Failure> {
    let simulation = Simulation::begin(args.threads)?;
    // The upper bound: the search decides how many runs it needs.
    let bar = progress_bar(run_count_at_most(experiment, wanted, args.compare_exhaustive));
    let found = simulation
        .work(|stop| search(experiment, wanted, args.compare_exhaustive, journal, |_events| bar.inc(1), stop));
    bar.finish_and_clear();
    found
}

/// A bar on stderr; silent when that is not a terminal. It seldom reaches its end: `runs` is an upper bound.
fn progress_bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs).with_style(
        ProgressStyle::with_template("searching {wide_bar} {pos} of at most {len} runs")
            .expect("the template is well-formed"),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
