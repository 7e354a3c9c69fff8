//! `fleetsim plan`: search for the fastest settings that meet all limits, write the plan, print the answer.

use std::time::Duration;

use clap::Args;
use fleetsim::report;
use fleetsim::results::{Journal, PLAN_FILE, PlanRecord, plan_tables};
use fleetsim::scenario::{Experiment, Plan, load_plan};
use fleetsim::study::plan::{SearchResult, run_count_at_most, search};
use indicatif::{ProgressBar, ProgressStyle};

use super::simulation::{Recording, Simulation, described};
use super::{Failure, SimulateArgs, output};

#[derive(Args, Debug)]
#[command(mut_arg("replicates", |arg| arg.help("Maximum number of runs per candidate [default: from the experiment]")))]
#[command(mut_arg("out", |arg| arg.help(
    "Output folder: new, or with an earlier plan of the same experiment [default: results/<experiment>-plan]"
)))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) simulate: SimulateArgs,
    /// Also simulate all replicates of every candidate, and report whether the answer is the same
    #[arg(long)]
    compare_exhaustive: bool,
}

pub(super) fn plan(args: &PlanArgs) -> Result<(), Failure> {
    let asked = &args.simulate.experiment;
    let experiment = load_plan(&asked.experiment, &asked.overrides())?;
    asked.allow_commands(&experiment)?;
    let wanted = experiment.plan.clone().expect("a planned experiment has a plan");
    let mut provenance = described(&experiment, "plan", asked);
    provenance.experiment.push_str("-plan");
    if args.compare_exhaustive {
        provenance.command.push_str(" --compare-exhaustive");
    }
    let recording = Recording::begin(&args.simulate, provenance, &experiment, "search")?;
    if experiment.precision.is_some() {
        output::err("note: `precision` applies to `fleetsim run` only; a plan decides how many runs it needs\n");
    }
    let simulated = simulate(&experiment, &wanted, args, &recording.journal);
    let (found, recording) = recording.or_saved(simulated, "")?;
    let ((), recording) = recording.write("", |publication, begins| {
        begins("tables")?;
        for (name, bytes) in plan_tables(&found.plan, &found.runs) {
            publication.write(name, &bytes)?;
        }
        publication.write(PLAN_FILE, &found.plan.to_json())?;
        begins("chart")?;
        Ok(report::draw_plan(publication.folder())?)
    })?;
    if !recording.finish("")? {
        return Ok(());
    }
    output::out(&args.simulate.format.plan(&found.plan))?;
    if found.plan.is_answered() { Ok(()) } else { Err(Failure::NoSetting(unanswered(&found.plan))) }
}

/// The worlds without an answer, where there are several.
fn unanswered(plan: &PlanRecord) -> Vec<String> {
    let questions = plan.questions.iter().filter(|question| question.best.is_none());
    questions.map(|question| question.world.clone()).filter(|world| !world.is_empty()).collect()
}

fn simulate(
    experiment: &Experiment,
    wanted: &Plan,
    args: &PlanArgs,
    journal: &Journal,
) -> Result<SearchResult, Failure> {
    let simulation = Simulation::begin(args.simulate.threads)?;
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
