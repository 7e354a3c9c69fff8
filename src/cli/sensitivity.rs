//! `fleetsim sensitivity`: how much each constant matters for an experiment and its decisions.

use std::time::Duration;

use clap::Args;
use fleetsim::report;
use fleetsim::results::{
    Journal, Limit, Measure, MeasureError, SENSITIVITY_FILE, SensitivityRecord, Statistic, measure_over_runs,
};
use fleetsim::scenario::VariedExperiment;
use fleetsim::study::sensitivity::{SensitivityRules, sensitivity as analyse, sensitivity_runs};
use indicatif::{ProgressBar, ProgressStyle};

use super::simulation::{Recording, Simulation, described};
use super::{Failure, SimulateArgs, output};

/// Runs of the screening unless the user says otherwise.
const BUDGET: u64 = 2_000;

#[derive(Args, Debug)]
#[command(mut_arg("replicates", |arg| arg.help("Number of runs per variant and value [default: from the experiment]")))]
#[command(mut_arg("out", |arg| arg.help(
    "Output folder: new, or with an earlier analysis of the same experiment [default: results/<experiment>-sensitivity]"
)))]
pub(super) struct SensitivityArgs {
    #[command(flatten)]
    pub(super) simulate: SimulateArgs,
    /// Maximum number of runs of the screening; 0 turns it off
    #[arg(long, value_name = "N", default_value_t = BUDGET)]
    budget: u64,
    /// Vary only this constant, a path as `fleetsim assumptions EXPERIMENT` prints it; may be repeated
    #[arg(long = "constant", value_name = "PATH")]
    constants: Vec<String>,
    /// Simulate only variants whose names contain this text; may be repeated
    #[arg(long = "variant", value_name = "TEXT")]
    variants: Vec<String>,
    /// What the best variant minimises, such as `exposed_targets` or `completion_p95` [default: from the plan, or
    /// clusters with a defective revision, or the time until all reachable clusters are ready]
    #[arg(long, value_name = "MEASURE", value_parser = objective)]
    minimise: Option<(&'static Measure, Statistic)>,
    /// A limit that the best variant must meet, such as `egress_busy_share<10%`; may be repeated [default: from the plan]
    #[arg(long = "limit", value_name = "LIMIT", value_parser = limit)]
    limits: Vec<Limit>,
    /// A further measure to show, a column of runs.csv; may be repeated
    #[arg(long = "measure", value_name = "MEASURE", value_parser = measure)]
    measures: Vec<&'static Measure>,
}

fn objective(text: &str) -> Result<(&'static Measure, Statistic), MeasureError> {
    measure_over_runs(text)
}

fn limit(text: &str) -> Result<Limit, MeasureError> {
    Limit::parse(text)
}

fn measure(text: &str) -> Result<&'static Measure, MeasureError> {
    Measure::named(text)
}

pub(super) fn sensitivity(args: &SensitivityArgs) -> Result<(), Failure> {
    let asked = &args.simulate.experiment;
    let varied = VariedExperiment::load(&asked.experiment, &asked.overrides())?;
    asked.allow_commands(varied.base())?;
    check(args, &varied)?;
    let mut provenance = described(varied.base(), "sensitivity", asked);
    provenance.experiment.push_str("-sensitivity");
    provenance.command.push_str(&flags(args));
    let study = format!("analysis ({})", provenance.command);
    let recording = Recording::begin(&args.simulate, provenance, varied.base(), &study)?;
    let simulated = simulate(&varied, args, &recording.journal);
    let (record, recording) = recording.or_saved(simulated, "")?;
    for (name, bytes) in record.tables() {
        recording.publication.write(name, &bytes)?;
    }
    recording.publication.write(SENSITIVITY_FILE, &record.to_json())?;
    report::draw_sensitivity(recording.publication.folder())?;
    if !recording.finish("")? {
        return Ok(());
    }
    output::out(&args.simulate.format.sensitivity(&record))?;
    Ok(())
}

/// Refuses constants and variants that are not there.
fn check(args: &SensitivityArgs, varied: &VariedExperiment) -> Result<(), Failure> {
    let known: Vec<&str> = varied.constants().iter().map(|constant| constant.name).collect();
    if let Some(unknown) = args.constants.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Failure::Usage(format!(
            "the constant `{unknown}` takes no part in this experiment; those that do are {}",
            known.join(", ")
        )));
    }
    let labels = || varied.base().variants.iter().map(|variant| variant.label.as_str());
    if let Some(text) = args.variants.iter().find(|text| !labels().any(|label| label.contains(text.as_str()))) {
        let labels: Vec<&str> = labels().collect();
        return Err(Failure::Usage(format!("no variant's name contains `{text}`; they are {}", labels.join(", "))));
    }
    Ok(())
}

/// The flags that the recorded command needs beside the usual ones. It is split at spaces, so values have none.
fn flags(args: &SensitivityArgs) -> String {
    let plain = |text: &str| text.replace(' ', "");
    let mut flags = String::new();
    if args.budget != BUDGET {
        flags.push_str(&format!(" --budget {}", args.budget));
    }
    for name in &args.constants {
        flags.push_str(&format!(" --constant {name}"));
    }
    for text in &args.variants {
        flags.push_str(&format!(" --variant {text}"));
    }
    if let Some((measure, over)) = args.minimise {
        let over = match over {
            Statistic::Every => String::new(),
            Statistic::Mean => "_mean".to_owned(),
            Statistic::Quantile(p) => format!("_p{}", p * 100.0),
        };
        flags.push_str(&format!(" --minimise {}{over}", measure.name));
    }
    for limit in &args.limits {
        flags.push_str(&format!(" --limit {}", plain(&limit.to_string())));
    }
    for measure in &args.measures {
        flags.push_str(&format!(" --measure {}", measure.name));
    }
    flags
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
        budget: args.budget,
    };
    let simulation = Simulation::begin(args.simulate.threads)?;
    let runs = sensitivity_runs(varied, &rules);
    output::err(&format!(
        "{} constants of {} variants: up to {} runs, and more where decisions change\n",
        varied.constants().len(),
        varied.base().variants.len(),
        output::grouped(runs)
    ));
    let bar = ProgressBar::new(runs).with_style(
        ProgressStyle::with_template("analysing {wide_bar} {pos} of about {len} runs, {eta} left")
            .expect("the template is well-formed"),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    let record = simulation.work(|stop| analyse(varied, &rules, journal, || bar.inc(1), stop));
    bar.finish_and_clear();
    record
}
