//! `fleetsim sensitivity`: the effect of each constant on an experiment and its decisions.

use clap::Args;
use fleetsim::report;
use fleetsim::results::{
    HALVINGS, Journal, Limit, Measure, MeasuredStatistic, SENSITIVITY_FILE, SensitivityRecord,
    to_json,
};
use fleetsim::scenario::VariedExperiment;
use fleetsim::study::MemoryEstimate;
use fleetsim::study::sensitivity::{SensitivityRules, sensitivity as analyse};
use fleetsim::units::counted;
use indicatif::ProgressBar;
use itertools::Itertools;

use super::simulation::{Recording, Simulation, StudyWords, described};
use super::{Failure, SimulateArgs, output, progress, run};

#[derive(Args, Debug)]
#[command(mut_arg("replicates", |arg| arg.help("Number of runs per variant and value [default: from the experiment]")))]
#[command(mut_arg("out", |arg| arg.help(
    "Output folder: new, or with an earlier analysis of the same experiment [default: results/<experiment>-sensitivity]"
)))]
pub(super) struct SensitivityArgs {
    #[command(flatten)]
    pub(super) simulate: SimulateArgs,
    /// Maximum number of runs of all parts; 0 leaves out the screening [default: enough for one constant at a time and
    /// for changing decisions, and 2000 for the screening]
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    /// Vary only this constant, a path as `fleetsim assumptions EXPERIMENT` prints it; may be repeated
    #[arg(long = "constant", value_name = "PATH")]
    constants: Vec<String>,
    /// Simulate only variants whose names contain this text; may be repeated
    #[arg(long = "variant", value_name = "TEXT")]
    variants: Vec<String>,
    /// Measure that the best variant minimises, such as `exposed_targets` or `completion_p95` [default: from the plan,
    /// or clusters with a defective revision, or the time until all reachable clusters are ready]
    #[arg(long, value_name = "MEASURE", value_parser = MeasuredStatistic::parse_or_median)]
    minimise: Option<MeasuredStatistic>,
    /// A limit that the best variant must meet, such as `egress_busy_share<10%`; may be repeated [default: from the
    /// plan]
    #[arg(long = "limit", value_name = "LIMIT", value_parser = Limit::parse)]
    limits: Vec<Limit>,
    /// A further measure to show, a column of runs.csv; may be repeated
    #[arg(long = "measure", value_name = "MEASURE", value_parser = Measure::named)]
    measures: Vec<Measure>,
}

pub(super) fn sensitivity(args: &SensitivityArgs) -> Result<(), Failure> {
    let asked = &args.simulate.experiment;
    let varied = VariedExperiment::load(&asked.experiment, &asked.overrides())?;
    asked.allow_commands(varied.base())?;
    check(args, &varied)?;
    let mut provenance = described(varied.base(), "sensitivity", asked, &args.simulate.recorded);
    provenance.experiment.push_str("-sensitivity");
    let study = format!("analysis ({})", provenance.command);
    let words = StudyWords::named(&study);
    let Some(recording) = Recording::begin(&args.simulate, provenance, varied.base(), words)?
    else {
        return Ok(());
    };
    output::err(&run::notes(varied.base()));
    let simulated = simulate(&varied, args, &recording.journal);
    if recording.is_shard() {
        return recording.publish_shard([simulated.map(drop)]);
    }
    let (record, recording) = recording.or_saved(simulated)?;
    for (name, bytes) in record.tables() {
        recording.publication.write(name, &bytes)?;
    }
    recording
        .publication
        .write(SENSITIVITY_FILE, &to_json(&record))?;
    report::draw_sensitivity(
        recording.publication.folder(),
        report::ChartWidth::default(),
    )?;
    if !recording.finish("")? {
        return Ok(());
    }
    output::out(
        &args
            .simulate
            .format
            .record(&record, report::sensitivity_text),
    )
}

/// Rejects constants and variants that do not exist.
fn check(args: &SensitivityArgs, varied: &VariedExperiment) -> Result<(), Failure> {
    let constants = varied.constants();
    for name in &args.constants {
        if !constants.iter().any(|constant| constant.is_named(name)) {
            let known = constants.iter().map(|constant| &constant.own_name);
            return Err(Failure::Usage(format!(
                "the constant `{name}` is not used in this experiment; use one of {}",
                known.format(", ")
            )));
        }
    }
    let labels: Vec<&str> = varied
        .base()
        .variants
        .iter()
        .map(|variant| variant.label.as_str())
        .collect();
    for text in &args.variants {
        if !labels.iter().any(|label| label.contains(text.as_str())) {
            return Err(Failure::Usage(format!(
                "no variant's name contains `{text}`; the variants are {}",
                labels.join(", ")
            )));
        }
    }
    Ok(())
}

fn simulate(
    varied: &VariedExperiment,
    args: &SensitivityArgs,
    journal: &Journal,
) -> Result<SensitivityRecord, Failure> {
    let rules = SensitivityRules {
        objective: args.minimise,
        limits: (!args.limits.is_empty()).then(|| args.limits.clone()),
        measures: args.measures.clone(),
        only: args.constants.clone(),
        variants: args.variants.clone(),
        screening: args.budget.unwrap_or(2_000),
        most: args.budget.filter(|budget| *budget > 0),
        halvings: HALVINGS,
    };
    let least = rules.least_runs(varied);
    if let Some(most) = rules.most
        && most < least
    {
        return Err(Failure::Usage(format!(
            "one constant at a time takes {} runs, but `--budget` allows {}; raise it, or use fewer with \
             --replicates, --constant or --variant",
            output::grouped(least),
            output::grouped(most)
        )));
    }
    let runs = rules.most.unwrap_or(least + rules.screening);
    let estimate = MemoryEstimate::of_analysis(varied, runs);
    let threads = args.simulate.threads_for(&estimate)?;
    output::err(&format!(
        "{} of {}: up to {}, and more where decisions change\n",
        counted(varied.constants().len(), "constant"),
        counted(varied.base().variants.len(), "variant"),
        counted(runs, "run")
    ));
    let bar = progress::bar(
        ProgressBar::new(runs),
        "analysing {wide_bar} {pos} of about {len} runs, {eta} left",
    );
    Simulation::behind(&bar, threads, || {
        analyse(varied, &rules, journal, || bar.inc(1))
    })
}
