//! Emulates an experiment: every variant next to its simulation, with the tables, charts and page of any other study.
//!
//! The label, the strategy and the experiment of an emulated variant end in `emulated`, so every table, chart and page
//! shows that the variant is emulated, and programs that read results can tell. The provenance describes the machine.

use std::path::{Path, PathBuf};

use fleetsim::report;
use fleetsim::results::{
    EMULATED, EmulationInfo, FileDigest, Provenance, Publication, RESOLVED_FILE, RunRecord, Tables,
    VariantInfo, VariantRecord,
};
use fleetsim::scenario::{Experiment, Overrides, Variant, load};
use fleetsim::sim;
use fleetsim::world::WorldSpec;

use crate::error::LabError;
use crate::lab::{LabRun, Setup, check_interrupt, links, remove_stale};
use crate::machine::{self, CpuTime};
use crate::measured::{MeasuredRow, distance};
use crate::net::Transport;
use crate::subset;

/// Prefix of scratch folders, followed by the number of the laboratory's process.
const SCRATCH_PREFIX: &str = "fleetsim-lab-";

/// The arguments of a study other than its experiment.
#[derive(Clone, Debug)]
pub(crate) struct StudyArgs {
    /// Whether to measure although the machine is not quiet.
    pub(crate) anyway: bool,
    /// The settings of TCP and of links.
    pub(crate) transport: Transport,
    /// The folder for registries and images.
    pub(crate) scratch: PathBuf,
    /// The folder of results.
    pub(crate) out: PathBuf,
}

/// A setting that is added to every emulated experiment: nodes of the laboratory keep their files in memory.
const NO_DISK: &str = "node.disk={class: none}";

/// Loads an experiment, and checks that this machine can emulate it.
pub(crate) fn load_checked(
    path: &Path,
    overrides: &Overrides,
    info: &EmulationInfo,
) -> Result<Experiment, LabError> {
    subset::check(
        &load(path, overrides)?,
        &path.display().to_string(),
        info.has_netem,
    )?;
    let set = overrides
        .set
        .iter()
        .cloned()
        .chain([NO_DISK.to_owned()])
        .collect();
    Ok(load(
        path,
        &Overrides {
            set,
            ..overrides.clone()
        },
    )?)
}

/// Simulates all variants of an experiment.
pub(crate) fn simulated(
    experiment: &Experiment,
) -> Result<Vec<(&Variant, Vec<RunRecord>)>, LabError> {
    let all = |variant| {
        let runs = (0..experiment.replicates)
            .map(|replicate| sim::run_in_detail(variant, experiment.seed, replicate));
        Ok((variant, runs.collect::<Result<_, _>>()?))
    };
    experiment.variants.iter().map(all).collect()
}

/// Emulates an experiment, writes its results, and returns the rows of its runs.
pub(crate) fn emulate(
    experiment: &Experiment,
    args: &StudyArgs,
    mut info: EmulationInfo,
) -> Result<Vec<MeasuredRow>, LabError> {
    let simulated = simulated(experiment)?;
    info.anyway = args.anyway;
    info.load_before = machine::load();
    remove_stale(&args.scratch, SCRATCH_PREFIX);
    let mut records = Vec::new();
    let mut rows = Vec::new();
    let mut setup: Option<(WorldSpec, Setup, tempfile::TempDir)> = None;
    for (variant, expected) in &simulated {
        let world = &*variant.scenario.world;
        if setup.as_ref().is_none_or(|(built, ..)| built != world) {
            // The previous set-up must be removed before the next one is built.
            drop(setup.take());
            eprintln!(
                "{}: building {} sites",
                experiment.name,
                world.clusters.len()
            );
            let prefix = format!("{SCRATCH_PREFIX}{}-", std::process::id());
            let scratch = tempfile::Builder::new()
                .prefix(&prefix)
                .tempdir_in(&args.scratch);
            let scratch = scratch.map_err(LabError::file(&args.scratch))?;
            let built = Setup::build(world, &args.transport, scratch.path())?;
            setup = Some((world.clone(), built, scratch));
        }
        let (_, built, _) = setup.as_mut().expect("it was built");
        let mut runs = Vec::new();
        for beside in expected {
            let run = measure(experiment, variant, beside.run.replicate, built, &mut info)?;
            let row = MeasuredRow::of(&experiment.name, &variant.label, false, beside);
            rows.push(row);
            let row = MeasuredRow::of(&experiment.name, &variant.label, true, &run);
            let (distance, busy_share) = (Some(distance(&run, beside)), Some(info.busy_share));
            rows.push(MeasuredRow {
                distance,
                busy_share,
                anyway: info.anyway,
                ..row
            });
            eprintln!(
                "{}: {} run {}: end {:.2} s, simulated {:.2} s",
                experiment.name,
                variant.label,
                beside.run.replicate,
                rows[rows.len() - 1].end_s,
                rows[rows.len() - 2].end_s
            );
            runs.push(run);
        }
        records.push(record(variant, "", expected.clone()));
        records.push(record(variant, &format!(" {EMULATED}"), runs));
    }
    drop(setup);
    publish(experiment, &records, &args.out, info)?;
    Ok(rows)
}

/// Measures one run of a variant in its set-up.
fn measure(
    experiment: &Experiment,
    variant: &Variant,
    replicate: u32,
    setup: &mut Setup,
    info: &mut EmulationInfo,
) -> Result<RunRecord, LabError> {
    let links = links(variant, experiment.seed, replicate);
    setup.reset()?;
    setup.prepare(&links)?;
    check_interrupt()?;
    let (busy, steal) = machine::wait_until_quiet(info.anyway)?;
    info.busy_before_share = info.busy_before_share.max(busy);
    info.steal_share = info.steal_share.max(steal);
    let before = CpuTime::now();
    let mut run = LabRun::begin(setup, links);
    let record = sim::run_emulated(variant, experiment.seed, replicate, &mut run)?;
    let (busy, steal) = CpuTime::now().shares_since(before);
    info.busy_share = info.busy_share.max(busy);
    info.steal_share = info.steal_share.max(steal);
    info.late_max_s = info.late_max_s.max(run.late.as_secs_f64());
    Ok(record)
}

fn record(variant: &Variant, mark: &str, mut runs: Vec<RunRecord>) -> VariantRecord {
    let (label, strategy) = (
        format!("{}{mark}", variant.label),
        format!("{}{mark}", variant.strategy),
    );
    for run in &mut runs {
        run.run.variant.clone_from(&label);
        run.run.strategy.clone_from(&strategy);
    }
    VariantRecord {
        variant: label,
        strategy,
        setting: variant.setting.clone(),
        settings: variant.settings.clone(),
        runs,
    }
}

/// Writes the results folder: the tables and drawings of any study.
fn publish(
    experiment: &Experiment,
    records: &[VariantRecord],
    out: &Path,
    info: EmulationInfo,
) -> Result<(), LabError> {
    let described = experiment
        .variants
        .iter()
        .flat_map(|variant| [variant; 2])
        .zip(records);
    let variants = described.map(|(variant, record)| VariantInfo {
        variant: record.variant.clone(),
        strategy: record.strategy.clone(),
        setting: record.setting.clone(),
        settings: record.settings.clone(),
        ..variant.info()
    });
    let horizons = experiment
        .variants
        .iter()
        .map(|variant| variant.scenario.horizon.as_secs_f64());
    let name = format!("{}-{EMULATED}", experiment.name);
    let inputs = experiment.inputs.iter();
    let provenance = Provenance {
        horizon_s: horizons.fold(0.0, f64::max),
        command: format!("lab/run lab/setups/{}", experiment.name),
        inputs: inputs
            .map(|input| FileDigest {
                path: input.path.clone(),
                sha256: input.sha256.clone(),
            })
            .collect(),
        variants: variants.collect(),
        emulated: Some(info),
        ..Provenance::new(
            &name,
            &experiment.question,
            experiment.seed,
            experiment.replicates,
        )
    };
    let publication = Publication::begin(out, provenance)?;
    publication.write(RESOLVED_FILE, experiment.resolved().as_bytes())?;
    let tables = Tables::of(records, experiment.seed);
    for (name, write) in tables.written() {
        publication.write_with(name, |file| write(&tables, file))?;
    }
    let results = report::Results::of(publication.folder(), tables)?;
    report::draw_all(publication.folder(), &results, &mut |_: &str| {})?;
    publication.publish()?;
    Ok(())
}
