//! Parts shared by the commands that simulate: threads, saved runs, and provenance.

use std::path::{Path, PathBuf};

use fleetsim::host::CommandHost;
use fleetsim::io::printable;
use fleetsim::results::{
    FileDigest, Journal, Provenance, Publication, Published, RESOLVED_FILE, ResultsError, RunId,
    RunRecord, SHARD_RUNS_FILE, ShardSet, is_shard_complete,
};
use fleetsim::scenario::{Experiment, InputFile};
use fleetsim::study::StudyError;
use fleetsim::units::counted;
use indicatif::ProgressBar;
use itertools::Itertools;

use super::interrupt::RunTotal;
use super::recorded::ALLOW_COMMANDS;
use super::shard::{program, program_sha256};
use super::shell::quoted;
use super::{ExperimentArgs, Failure, SimulateArgs, interrupt, output, progress};

/// The threads for simulations.
pub(super) struct Simulation {
    pub(super) pool: rayon::ThreadPool,
}

impl Simulation {
    /// Starts the threads. The default is one for each core.
    pub(super) fn begin(threads: Option<u16>) -> Result<Self, Failure> {
        let mut builder =
            rayon::ThreadPoolBuilder::new().num_threads(threads.map_or(0, usize::from));
        if let Some(host) = CommandHost::current() {
            builder = builder.start_handler(move |_| host.adopt());
        }
        let pool = builder
            .build()
            .map_err(|error| Failure::Machine(format!("cannot start threads: {error}")))?;
        Ok(Self { pool })
    }

    /// Does work while `bar` shows its progress, then clears the bar.
    pub(super) fn behind<T: Send>(
        bar: &ProgressBar,
        threads: Option<u16>,
        work: impl FnOnce() -> Result<T, StudyError> + Send,
    ) -> Result<T, Failure> {
        let result = Self::begin(threads)?.work(work);
        bar.finish_and_clear();
        result
    }

    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Does work on the simulation's threads.
    pub(super) fn work<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, StudyError> + Send,
    ) -> Result<T, Failure> {
        interrupt::during(|| self.pool.install(work)).map_err(|error| match error {
            StudyError::Record(error) => Failure::Record(error),
            StudyError::Values(error) => Failure::Input(error),
            StudyError::OtherShards => Failure::OtherShards,
            error @ (StudyError::Runs(_) | StudyError::Different { .. }) => {
                Failure::Machine(error.to_string())
            }
        })
    }
}

/// How messages refer to a study.
#[derive(Clone, Copy, Debug)]
pub(super) struct StudyWords<'w> {
    /// The noun for the study: `study`, `search` or `analysis`.
    pub(super) name: &'w str,
    pub(super) total: RunTotal,
}

impl<'w> StudyWords<'w> {
    /// Creates the words for a study whose number of runs is unknown.
    pub(super) const fn named(name: &'w str) -> Self {
        Self {
            name,
            total: RunTotal::Unknown,
        }
    }
}

/// Results in progress: the folder to publish, and the runs that are saved until then.
pub(super) struct Recording {
    target: PathBuf,
    pub(super) publication: Publication,
    pub(super) journal: Journal,
    total: RunTotal,
    reproduce: bool,
}

impl Recording {
    /// Checks that results can be written, and reports if runs of an unfinished study are reused. `None`: the
    /// requested shard already exists.
    pub(super) fn begin(
        args: &SimulateArgs,
        mut provenance: Provenance,
        experiment: &Experiment,
        study: StudyWords<'_>,
    ) -> Result<Option<Self>, Failure> {
        let place = args
            .shard
            .place(args.out.as_deref(), &provenance.experiment)?;
        let mut target = args.target(&provenance);
        let mut earlier = None;
        if let Some(place) = &place {
            target = place.folder();
            provenance = place.described(provenance)?;
            if is_shard_complete(&target, &provenance) {
                output::err(&format!("shard: {} (complete already)\n", target.display()));
                return Ok(None);
            }
            earlier = place.earlier()?;
        }
        let known = known_runs(earlier.as_ref().or(args.merged.as_ref()), &provenance)?;
        let mut publication = Publication::begin(&target, provenance)?;
        if !args.replace && !args.reproduce {
            keep_finished(publication.target(), &args.experiment)?;
        }
        publication.begin_study()?;
        write_inputs(&publication, experiment)?;
        let name = study.name;
        let total = match args.shard.shard {
            Some(_) => RunTotal::OfShard,
            None => study.total,
        };
        let key = format!("{name} {:?} {}", args.experiment.set, run_key(experiment));
        let journal = journal(publication.target(), &key, args.reproduce)?;
        let journal = journal.limited_to(args.shard.shard);
        interrupt::study_begins(journal.saved().clone(), total);
        if journal.found() > 0 {
            let saved = counted(journal.found() as u64, "saved run");
            output::err(&format!("resuming an unfinished {name} with {saved}\n"));
        }
        journal.add(known);
        Ok(Some(Self {
            target,
            publication,
            journal,
            total,
            reproduce: args.reproduce,
        }))
    }

    /// Returns whether this is a shard, which [`Recording::publish_shard`] publishes.
    pub(super) const fn is_shard(&self) -> bool {
        self.journal.shard().is_some()
    }

    /// Publishes a shard, unless the simulation of its runs failed.
    pub(super) fn publish_shard<const N: usize>(
        mut self,
        simulated: [Result<(), Failure>; N],
    ) -> Result<(), Failure> {
        for part in simulated {
            match part {
                Ok(()) | Err(Failure::OtherShards) => {}
                Err(failure) => return Err(self.give_up(failure)?),
            }
        }
        let info = self
            .publication
            .provenance_mut()
            .shard
            .as_mut()
            .expect("a shard has a description");
        let (runs, bytes) = self.journal.shard_runs(info.whole_command.as_bytes())?;
        info.runs = runs;
        self.publication.write(SHARD_RUNS_FILE, &bytes)?;
        self.publication.publish_study(false, Some(self.journal))?;
        interrupt::study_ended();
        output::err(&format!(
            "shard: {} ({})\n",
            self.target.display(),
            counted(runs, "run")
        ));
        Ok(())
    }

    /// Returns the simulated runs. After a failure, a journal with runs is kept and reported.
    pub(super) fn or_saved<T>(self, simulated: Result<T, Failure>) -> Result<(T, Self), Failure> {
        match simulated {
            Ok(simulated) => Ok((simulated, self)),
            Err(failure) => Err(self.give_up(failure)?),
        }
    }

    /// Ends the study without results. A journal with runs is kept and reported.
    pub(super) fn give_up(self, failure: Failure) -> Result<Failure, Failure> {
        let runs = self.journal.saved().count();
        output::err(&interrupt::saved(runs, self.total));
        if runs == 0 {
            self.journal.finish()?;
        }
        interrupt::study_ended();
        Ok(failure)
    }

    /// Writes tables, charts and other parts of the results, and prints the name of each step to stderr. Failures are
    /// handled as in [`Recording::or_saved`].
    pub(super) fn write<T>(
        mut self,
        write: impl FnOnce(&mut Publication, &mut dyn FnMut(&str)) -> Result<T, Failure>,
    ) -> Result<(T, Self), Failure> {
        let bar = progress::bar(ProgressBar::new_spinner(), "writing results: {msg}");
        let written = write(&mut self.publication, &mut |step| {
            bar.set_message(printable(step).into_owned());
        });
        bar.finish_and_clear();
        self.or_saved(written)
    }

    /// Publishes the results, and prints `notes` and the folder. When reproducing, compares the results with the
    /// existing ones instead, and adds missing files. Returns whether there are new results to print.
    pub(super) fn finish(self, notes: &str) -> Result<bool, Failure> {
        let Self {
            publication,
            journal,
            reproduce,
            ..
        } = self;
        let published = publication.publish_study(reproduce, Some(journal))?;
        interrupt::study_ended();
        reported(&self.target, published, self.reproduce, notes)
    }
}

/// Returns the journal of a study. If it cannot be stored, the study continues, and a note states that interrupted
/// runs are lost. With `reproduce`, every run is simulated, because saved runs cannot verify results.
fn journal(target: &Path, key: &str, reproduce: bool) -> Result<Journal, ResultsError> {
    if let Some(stray) = Journal::beside(target) {
        output::err(&format!(
            "note: {} is not used, because saved runs are in your own folder now; remove it\n",
            stray.display()
        ));
    }
    if reproduce || !CommandHost::saves_runs_on_thread() {
        return Ok(Journal::unsaved());
    }
    match Journal::open(target, key.as_bytes()) {
        Err(error) if !matches!(error, ResultsError::Busy(_)) => {
            let reason = output::with_causes(&error);
            output::err(&format!(
                "note: finished runs are not saved, so an interrupted study starts again: {reason}\n"
            ));
            Ok(Journal::unsaved())
        }
        opened => opened,
    }
}

/// Returns the runs in shards that belong to the study described by `provenance`.
fn known_runs(
    set: Option<&ShardSet>,
    provenance: &Provenance,
) -> Result<Vec<(RunId, RunRecord)>, Failure> {
    let Some(set) = set else {
        return Ok(Vec::new());
    };
    set.check_study(provenance, &program_sha256()?)?;
    Ok(set.runs()?)
}

/// Writes every setting in force, and a copy of every input.
fn write_inputs(publication: &Publication, experiment: &Experiment) -> Result<(), ResultsError> {
    publication.write(RESOLVED_FILE, experiment.resolved().as_bytes())?;
    for input in &experiment.inputs {
        if let Some(copy) = digest(input).copy() {
            let (bytes, left_out) = input.copy();
            publication.write(&copy, &bytes)?;
            if !left_out.is_empty() {
                output::err(&format!(
                    "note: {copy} leaves out fields that are not simulated: {}\n",
                    some_of(&left_out)
                ));
            }
        }
    }
    Ok(())
}

/// Publishes the results and prints their folder, as [`Recording::finish`] does.
pub(super) fn finish(
    target: &Path,
    publication: Publication,
    reproduce: bool,
) -> Result<bool, Failure> {
    let published = publication.publish_study(reproduce, None)?;
    reported(target, published, reproduce, "")
}

/// Prints `notes` and the folder of the results, or the comparison with existing results. Returns whether there are
/// new results to print.
fn reported(
    target: &Path,
    published: Published,
    reproduce: bool,
    notes: &str,
) -> Result<bool, Failure> {
    let place = target.display().to_string();
    match published {
        Published::Differs { files } if reproduce => {
            return Err(Failure::Different {
                place,
                files: some_of(&files),
            });
        }
        _ if reproduce => output::err(&format!("{place}: reproduced byte for byte\n")),
        _ if CommandHost::is_sketch_on_thread() => output::err(notes),
        published => output::err(&format!("{notes}{}", place_of(target, &published))),
    }
    Ok(!reproduce)
}

/// Refuses to replace a finished study with a smaller one, or with one that has another seed or other settings on the
/// command line. A changed experiment file is no reason, because it affects all results.
fn keep_finished(target: &Path, args: &ExperimentArgs) -> Result<(), ResultsError> {
    let Some(found) = Provenance::read(target)? else {
        return Ok(());
    };
    let replicates = args.replicates.unwrap_or(found.replicates);
    let seed = args.seed.unwrap_or(found.seed);
    if replicates < found.replicates || seed != found.seed || args.set != found.set {
        return Err(ResultsError::Finished {
            path: target.to_owned(),
            found: found.command,
            replicates: found.replicates,
            seed: found.seed,
        });
    }
    Ok(())
}

/// Returns the line with the results folder and the changes in it.
pub(super) fn place_of(target: &Path, published: &Published) -> String {
    let place = target.display();
    match published {
        Published::New => format!("results: {place}\n"),
        Published::Reproduced => format!("results: {place} (reproduced byte for byte)\n"),
        Published::Differs { files } => {
            format!("results: {place} (replaced; changed: {})\n", some_of(files))
        }
    }
}

/// Returns the first few of many names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).join(", ");
    if names.len() > SHOWN {
        format!("{shown} and {} more", names.len() - SHOWN)
    } else {
        shown
    }
}

/// Returns the provenance of an experiment's runs.
pub(super) fn described(
    experiment: &Experiment,
    command: &str,
    args: &ExperimentArgs,
    recorded: &[String],
) -> Provenance {
    let mut horizon_s = 0.0_f64;
    for variant in &experiment.variants {
        horizon_s = horizon_s.max(variant.scenario.horizon.as_secs_f64());
    }
    Provenance {
        set: args.set.clone(),
        horizon_s,
        command: reproduce(command, args, recorded, starts_commands(experiment)),
        guests: CommandHost::guests_of_thread().names(),
        inputs: experiment.inputs.iter().map(digest).collect(),
        ..experiment.provenance()
    }
}

fn digest(input: &InputFile) -> FileDigest {
    FileDigest {
        path: input.path.clone(),
        sha256: input.sha256.clone(),
    }
}

/// Returns the command that reproduces the results. It names the experiment by its folder (below `experiments`, or a
/// folder in it, if it is there) or by its file, so results do not depend on where the experiment is or how it was
/// named.
fn reproduce(
    command: &str,
    args: &ExperimentArgs,
    recorded: &[String],
    starts_commands: bool,
) -> String {
    let path = args
        .experiment
        .canonicalize()
        .unwrap_or_else(|_| args.experiment.clone());
    let path = if path.ends_with("experiment.yaml") {
        path.parent().unwrap_or(&path)
    } else {
        &path
    };
    let place = format!("{}{}", folder_below_experiments(path), name_of(path));
    let permission = starts_commands.then(|| format!("--{ALLOW_COMMANDS}"));
    let options = recorded.iter().chain(&permission).map(String::as_str);
    quoted(["fleetsim", command, &place].into_iter().chain(options))
}

/// Returns the folder of an experiment from `experiments` on, with a slash at its end. Empty: it is not below
/// `experiments`, or deeper than in a folder of it.
fn folder_below_experiments(path: &Path) -> String {
    let parent = path.parent().unwrap_or(path);
    let above = parent.parent().unwrap_or(parent);
    if name_of(parent) == "experiments" {
        return "experiments/".to_owned();
    }
    if name_of(above) == "experiments" {
        return format!("experiments/{}/", name_of(parent));
    }
    String::new()
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns true if a strategy of the experiment starts a command for each run.
pub(super) fn starts_commands(experiment: &Experiment) -> bool {
    experiment
        .variants
        .iter()
        .any(|variant| variant.scenario.starts_commands())
}

/// Returns a key for saved runs, from the program, the values in the experiment's files and the seed. Two builds of
/// one version may simulate differently, so the program is identified by the hash of its file.
fn run_key(experiment: &Experiment) -> String {
    let program = program().and_then(std::fs::metadata);
    let built = program.and_then(|file| Ok((file.len(), file.modified()?)));
    let mut variants: Vec<&str> = Vec::new();
    for variant in &experiment.variants {
        variants.push(&variant.label);
    }
    let mut inputs: Vec<(&str, String)> = Vec::new();
    for input in &experiment.inputs {
        inputs.push((&input.path, input.values_sha256()));
    }
    format!(
        "{} {built:?} {} {inputs:?} {variants:?}",
        env!("CARGO_PKG_VERSION"),
        experiment.seed
    )
}
