//! `fleetsim plan`: searches for the fastest settings that meet all limits, writes the plan, and prints the answer.

use clap::Args;
use fleetsim::report;
use fleetsim::results::{
    CauseRow, PLAN_FILE, PlanRecord, Question, RunRow, causes_table, plan_tables, to_json,
};
use fleetsim::scenario::{Experiment, load_plan};
use fleetsim::study::MemoryEstimate;
use fleetsim::study::plan::{SearchResult, run_count_at_most, search};
use indicatif::ProgressBar;

use super::causes::of_variants;
use super::simulation::{Recording, Simulation, StudyWords, described};
use super::{Failure, SimulateArgs, output, progress, run};

#[derive(Args, Debug)]
#[command(mut_arg("replicates", |arg| arg.help(
    "Maximum number of runs per candidate [default: as many as the experiment's `replicates`, its `confirm` or the \
     statistics require, whichever is largest]"
)))]
#[command(mut_arg("out", |arg| arg.help(
    "Output folder: new, or with an earlier plan of the same experiment [default: results/<experiment>-plan]"
)))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) simulate: SimulateArgs,
    /// Also simulate all replicates of every candidate, and report whether the answer is the same
    #[arg(long)]
    compare_exhaustive: bool,
    /// Leave out the trials that find what holds the best settings back
    #[arg(long)]
    no_causes: bool,
}

pub(super) fn plan(args: &PlanArgs) -> Result<(), Failure> {
    let asked = &args.simulate.experiment;
    let experiment = load_plan(&asked.experiment, &asked.overrides())?;
    asked.allow_commands(&experiment)?;
    let wanted = experiment
        .plan
        .clone()
        .expect("a planned experiment has a plan");
    // An upper bound that is seldom reached, because the search decides how many runs it needs.
    let runs = run_count_at_most(&experiment, &wanted, args.compare_exhaustive);
    let estimate = MemoryEstimate::of_search(&experiment, runs);
    let threads = args.simulate.threads_for(&estimate)?;
    let mut provenance = described(&experiment, "plan", asked, &args.simulate.recorded);
    provenance.experiment.push_str("-plan");
    let words = StudyWords::named("search");
    let Some(recording) = Recording::begin(&args.simulate, provenance, &experiment, words)? else {
        return Ok(());
    };
    if experiment.precision.is_some() {
        output::err(
            "note: `precision` applies to `fleetsim run` only; a plan decides how many runs it needs\n",
        );
    }
    output::err(&run::notes(&experiment));
    let bar = progress::bar(
        ProgressBar::new(runs),
        "searching {wide_bar} {pos} of at most {len} runs",
    );
    let simulated = Simulation::behind(&bar, threads, || {
        search(
            &experiment,
            &wanted,
            args.compare_exhaustive,
            &recording.journal,
            |_events| bar.inc(1),
        )
    });
    if recording.is_shard() {
        return recording.publish_shard([simulated.map(drop)]);
    }
    let (mut found, recording) = recording.or_saved(simulated)?;
    let causes = if args.no_causes {
        Ok(Vec::new())
    } else {
        try_causes(&experiment, &mut found, threads)
    };
    let (causes, recording) = recording.or_saved(causes)?;
    let ((), recording) = recording.write(|publication, begins| {
        begins("tables");
        for (name, bytes) in plan_tables(&found.plan, &found.runs) {
            publication.write(name, &bytes)?;
        }
        if !causes.is_empty() {
            let (name, bytes) = causes_table(&causes);
            publication.write(name, &bytes)?;
        }
        publication.write(PLAN_FILE, &to_json(&found.plan))?;
        begins("chart");
        report::draw_plan(publication.folder(), report::ChartWidth::default())?;
        Ok(())
    })?;
    if !recording.finish("")? {
        return Ok(());
    }
    output::out(&args.simulate.format.record(&found.plan, report::plan_text))?;
    judged(&found.plan)
}

/// Finds what holds the best variant of each question back.
fn try_causes(
    experiment: &Experiment,
    found: &mut SearchResult,
    threads: Option<u16>,
) -> Result<Vec<CauseRow>, Failure> {
    let mut labels: Vec<String> = Vec::new();
    for question in &found.plan.questions {
        labels.extend(question.best.clone());
    }
    let runs: Vec<&RunRow> = found.runs.iter().collect();
    let rows = of_variants(experiment, &labels, &runs, threads)?;
    for question in &mut found.plan.questions {
        let best = question.best.as_deref();
        question.bound = report::bound_text(&rows, best.unwrap_or_default());
    }
    Ok(rows)
}

/// Returns an error unless the runs determine the best setting for every question.
fn judged(plan: &PlanRecord) -> Result<(), Failure> {
    if plan.is_answered() {
        return Ok(());
    }
    let without_setting: Vec<&Question> = plan
        .questions
        .iter()
        .filter(|question| question.best.is_none())
        .collect();
    if !without_setting.is_empty() {
        return Err(Failure::NoSetting(worlds(without_setting)));
    }
    let undecided = plan
        .questions
        .iter()
        .filter(|question| !question.is_decided());
    Err(Failure::Uncertain(worlds(undecided)))
}

/// Returns the worlds of these questions, if there are several.
fn worlds<'q>(questions: impl IntoIterator<Item = &'q Question>) -> Vec<String> {
    let mut worlds = Vec::new();
    for question in questions {
        if !question.world.is_empty() {
            worlds.push(question.world.clone());
        }
    }
    worlds
}
