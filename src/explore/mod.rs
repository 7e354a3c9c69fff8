//! Answers a user's questions about an experiment by comparing the same rollouts before and after a change of
//! settings.
//!
//! An [`Explorer`] contains an experiment with all its files, and reads no other files. A [`PageQuestion`] names a
//! variant to compare with, a variant to start from, and values of settings, as for `--set`. An [`Exploration`]
//! answers it: it returns the runs that it needs next, and gives an answer after it has received them. The caller,
//! which is a local server or a worker in a page, chooses the threads and when to stop. Both callers give byte for
//! byte identical answers.
//!
//! Runs are requested in the order of their replicates, in pairs of before and after, with the experiment's seed.
//! Successive answers use more runs, so the intervals of the differences shrink.

mod controls;
#[cfg(not(target_family = "wasm"))]
mod entrance;
#[cfg(not(target_family = "wasm"))]
mod http;
#[cfg(not(target_family = "wasm"))]
mod server;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[cfg(not(target_family = "wasm"))]
use crate::causes::TriedVariant;
use crate::engine::Stop;
use crate::report::{EXPLORED, ExploredPage, Results, explore_page, explored};
use crate::results::{Provenance, RunRecord, Setting, Snippet, Tables, VariantInfo, VariantRecord};
use crate::scenario::{Experiment, InputFile, LoadError, Overrides, Variant, load_again};
use crate::sim::{self, RunFailure};
use crate::study::{MOST_MEMORY, MemoryEstimate};
use crate::units::{Bytes, counted};

#[cfg(not(target_family = "wasm"))]
pub use server::{Server, serve};

/// Numbers of pairs of runs after which an answer is given. The last answer completes the question.
const ANSWERS: [usize; 8] = [1, 3, 6, 10, 20, 40, 70, 100];

const MOST_PAIRS: usize = ANSWERS[ANSWERS.len() - 1];

/// Maximum number of values in a question, followed by the maximum size of each value in bytes.
const MOST_SET: usize = 100;
const MOST_BYTES: usize = 4096;

/// The memory limit of a page with the embedded simulator, which can address 4 GB.
const MOST_IN_PAGE: Bytes = Bytes::new(2_000_000_000);

/// Maximum number of variants whose runs are stored for the next question.
const MOST_KEPT: usize = 4;

/// A question from the page.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PageQuestion {
    /// The number of the question. Its answers repeat the number.
    pub id: u64,
    /// The page that asks. A newer question from the same page stops an older one.
    #[serde(default)]
    pub page: String,
    /// The variant to compare with, as the experiment names it.
    pub before: String,
    /// The variant to which the values in `set` are applied.
    pub after: String,
    /// Values of settings, as for `--set`.
    #[serde(default)]
    pub set: Vec<String>,
}

/// An error in a question, at a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trouble {
    /// The path of the setting. May be empty.
    pub at: String,
    /// The error.
    pub message: String,
    /// The fix.
    pub fix: String,
}

/// An experiment, and the state for answering questions about it.
#[derive(Debug)]
pub struct Explorer {
    experiment: Experiment,
    overrides: Overrides,
    /// Maximum memory for a question.
    memory: Bytes,
    /// Maximum number of concurrent runs.
    at_once: usize,
    /// Runs of unchanged variants, stored for the next question.
    kept: Mutex<BTreeMap<String, Vec<RunRecord>>>,
}

/// A question and its runs so far.
#[derive(Debug)]
pub struct Exploration {
    id: u64,
    /// The variants before and after the change.
    variants: [Variant; 2],
    seed: u64,
    records: [VariantRecord; 2],
    /// Whether the two variants are the same, so that one run serves for both.
    is_same: bool,
    /// The key under which the runs are stored for the next question.
    kept_as: String,
    provenance: Provenance,
    yaml: String,
    snippet: Option<Snippet>,
    /// Number of pairs of runs in the answers so far.
    told: usize,
}

/// Seed, replicates and values from the command line, in the page's format.
type PageOverrides = (Option<u64>, Option<u32>, Vec<String>);

/// The two sides of a comparison, as indices of [`Exploration::records`].
const BEFORE: usize = 0;
const AFTER: usize = 1;

/// A run that a question needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ExploredRun {
    /// The side of the comparison: [`BEFORE`] or [`AFTER`].
    side: usize,
    replicate: u32,
}

/// An experiment with a question's settings, and the variant that the question is about.
struct ChangedExperiment {
    experiment: Experiment,
    after: Variant,
}

impl Explorer {
    /// Creates an explorer for an experiment that was loaded with these `overrides`.
    ///
    /// # Errors
    /// Returns an error if every strategy starts a command, which a page must not do.
    pub fn new(experiment: Experiment, overrides: Overrides) -> Result<Self, String> {
        if experiment.variants.iter().all(starts_command) {
            return Err(
                "explore starts no commands, but every strategy of this experiment needs one"
                    .to_owned(),
            );
        }
        Ok(Self {
            experiment,
            overrides,
            memory: MOST_MEMORY,
            at_once: 1,
            kept: Mutex::default(),
        })
    }

    /// Sets the memory limit for questions, with `at_once` concurrent runs.
    #[must_use]
    pub fn limited_to(self, memory: Bytes, at_once: usize) -> Self {
        Self {
            memory,
            at_once,
            ..self
        }
    }

    /// Returns the memory that a question about any of the experiment's variants may need.
    #[must_use]
    pub fn memory(&self) -> MemoryEstimate {
        let variants: Vec<Variant> = self.usable().cloned().collect();
        MemoryEstimate::of_question(&self.experiment, &variants, MOST_PAIRS)
    }

    /// Creates the explorer in a page, from the output of [`Explorer::files`].
    ///
    /// # Errors
    /// Returns an error if the text has a different format, or the experiment is invalid.
    pub fn of_files(text: &str) -> Result<Self, String> {
        let (name, (seed, replicates, set), files): (String, PageOverrides, Vec<(String, String)>) =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let overrides = Overrides {
            seed,
            replicates,
            set,
            ..Overrides::default()
        };
        let mut inputs = Vec::with_capacity(files.len());
        for (path, text) in files {
            inputs.push(InputFile::new(&path, text.into_bytes()));
        }
        let experiment =
            load_again(&name, &inputs, &overrides).map_err(|error| error.to_string())?;
        Ok(Self::new(experiment, overrides)?.limited_to(MOST_IN_PAGE, 1))
    }

    /// Returns the experiment's files and overrides for a page: the parts of the files that are also copied into
    /// results. Files that are not text are left out.
    #[must_use]
    pub fn files(&self) -> Value {
        let Experiment { name, inputs, .. } = &self.experiment;
        let Overrides {
            seed,
            replicates,
            set,
            ..
        } = &self.overrides;
        let mut texts = Vec::new();
        for input in inputs {
            let (bytes, _) = input.copy();
            if let Ok(text) = String::from_utf8(bytes.to_vec()) {
                texts.push((&input.path, text));
            }
        }
        json!([name, [seed, replicates, set], texts])
    }

    /// Returns the question that the page starts with: the first variant against the last one of its strategy, which
    /// has the other end of a sweep; without a sweep, against the next variant. An experiment with one variant begins
    /// without a difference.
    #[must_use]
    pub fn first(&self) -> PageQuestion {
        let first = self.usable().next().expect("checked when it was made");
        let mut other = self.usable().nth(1).unwrap_or(first);
        for variant in self.usable().skip(1) {
            if variant.strategy == first.strategy {
                other = variant;
            }
        }
        PageQuestion {
            before: first.label.clone(),
            after: other.label.clone(),
            ..PageQuestion::default()
        }
    }

    fn usable(&self) -> impl Iterator<Item = &Variant> {
        let variants = self.experiment.variants.iter();
        variants.filter(|variant| !starts_command(variant))
    }

    /// Returns the page with the first answer. `engine` is the simulator as compressed WebAssembly in base64; empty
    /// for a page that asks a server.
    ///
    /// # Errors
    /// Returns an error message if the first variant cannot be simulated.
    pub fn page(&self, engine: &str) -> Result<String, String> {
        let opening = self.first();
        let mut first = self
            .begin(&opening)
            .map_err(|troubles| troubles[0].message.clone())?;
        for run in first.missing() {
            let record = first.simulate(run).map_err(|error| error.to_string())?;
            first.add(run, record);
        }
        let Experiment { name, question, .. } = &self.experiment;
        let variants: Vec<Value> = self.usable().map(shown_variant).collect();
        let controls = json!({"variants": variants, "after": opening.after, "controls": controls::controls(&self.experiment)});
        let files = if engine.is_empty() {
            Value::Null
        } else {
            self.files()
        };
        Ok(explore_page(&ExploredPage {
            title: if question.is_empty() { name } else { question },
            first: &first.results(),
            controls: &controls,
            files: &files,
            engine,
        }))
    }

    /// Reads and checks a question.
    ///
    /// # Errors
    /// Returns all problems with the question.
    pub fn begin(&self, question: &PageQuestion) -> Result<Exploration, Vec<Trouble>> {
        if question.set.len() > MOST_SET || question.set.iter().any(|set| set.len() > MOST_BYTES) {
            let message =
                format!("at most {MOST_SET} settings of {MOST_BYTES} bytes can be changed");
            return Err(trouble(message, "change the experiment's file"));
        }
        let before = self.named(&question.before)?;
        let start = self.named(&question.after)?;
        let changed = self.changed(start, &question.set)?;
        let (experiment, after) = match &changed {
            Some(changed) => (&changed.experiment, &changed.after),
            None => (&self.experiment, start),
        };
        if starts_command(after) {
            let message = "explore starts no commands";
            return Err(trouble(message, "use `fleetsim run --allow-commands`"));
        }
        self.check_memory(experiment, &[before.clone(), after.clone()])
            .map_err(|message| trouble(message, "make the fleet or the release smaller"))?;
        let provenance = Provenance {
            variants: vec![
                explored_info(before, EXPLORED[BEFORE]),
                explored_info(after, EXPLORED[AFTER]),
            ],
            ..experiment.provenance()
        };
        let mut exploration = Exploration {
            id: question.id,
            variants: [before.clone(), after.clone()],
            seed: experiment.seed,
            records: EXPLORED.map(empty_record),
            is_same: changed.is_none() && before.label == after.label,
            kept_as: before.label.clone(),
            provenance,
            yaml: experiment.set_yaml.clone(),
            snippet: after.scenario.snippet(),
            told: 0,
        };
        // With another seed, the stored runs have different random numbers.
        if exploration.seed == self.experiment.seed {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            exploration.reuse(kept.get(&before.label).cloned().unwrap_or_default());
        }
        Ok(exploration)
    }

    /// Returns the variant with this label.
    fn named(&self, label: &str) -> Result<&Variant, Vec<Trouble>> {
        let found = self.usable().find(|variant| variant.label == label);
        found.ok_or_else(|| {
            trouble(
                format!("there is no variant `{label}`"),
                "choose one that the page lists",
            )
        })
    }

    /// Checks that there is enough memory for the runs of two variants.
    fn check_memory(&self, experiment: &Experiment, pair: &[Variant]) -> Result<(), String> {
        let estimate = MemoryEstimate::of_question(experiment, pair, MOST_PAIRS);
        match estimate.runs_within(self.memory, self.at_once) {
            Ok(at_once) if at_once == self.at_once => Ok(()),
            Ok(_) => Err(format!(
                "{} at a time take about {} of memory, but the limit is {}",
                counted(self.at_once, "run"),
                estimate.with(self.at_once),
                self.memory
            )),
            Err(refused) => Err(refused.to_string()),
        }
    }

    /// Returns the experiment with these values, and its variant that is otherwise like `start`. `None`: the values
    /// change nothing.
    fn changed(
        &self,
        start: &Variant,
        set: &[String],
    ) -> Result<Option<ChangedExperiment>, Vec<Trouble>> {
        if set.is_empty() {
            return Ok(None);
        }
        let paths: Vec<&str> = set.iter().map(|set| path_of(set)).collect();
        let mut overrides = self.overrides.clone();
        // A value from the page overrides the command line's value.
        overrides.set.retain(|own| !paths.contains(&path_of(own)));
        overrides.set.extend_from_slice(set);
        let mut experiment = load_again(&self.experiment.name, &self.experiment.inputs, &overrides)
            .map_err(troubles)?;
        let mut variants = experiment.variants.iter();
        let Some(at) = variants.position(|variant| is_like(variant, start, &paths)) else {
            return Err(trouble(
                "no variant has these settings",
                "reset the settings",
            ));
        };
        Ok(Some(ChangedExperiment {
            after: experiment.variants.swap_remove(at),
            experiment,
        }))
    }

    /// Stores the runs of the unchanged variant for the next question.
    pub fn keep(&self, exploration: Exploration) {
        let [VariantRecord { runs, .. }, _] = exploration.records;
        let name = exploration.kept_as;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if exploration.seed != self.experiment.seed {
            return;
        }
        let known = kept.get(&name);
        if known.is_some_and(|known| known.len() >= runs.len()) {
            return;
        }
        if known.is_none() && kept.len() >= MOST_KEPT {
            kept.pop_first();
        }
        kept.insert(name, runs);
    }
}

fn starts_command(variant: &Variant) -> bool {
    variant.scenario.starts_commands()
}

/// Returns a variant as the page lists it.
fn shown_variant(variant: &Variant) -> Value {
    let mut settings = BTreeMap::new();
    for setting in &variant.settings {
        settings.insert(&setting.path, &setting.value);
    }
    json!({"label": variant.label, "strategy": variant.strategy, "settings": settings})
}

/// Returns the description of a variant that is one side of a comparison.
fn explored_info(variant: &Variant, side: &str) -> VariantInfo {
    VariantInfo {
        variant: side.to_owned(),
        setting: String::new(),
        settings: Vec::new(),
        ..variant.info()
    }
}

/// Returns the record of one side of a comparison, without any runs.
fn empty_record(side: &str) -> VariantRecord {
    VariantRecord {
        variant: side.to_owned(),
        strategy: String::new(),
        setting: String::new(),
        settings: Vec::new(),
        runs: Vec::new(),
    }
}

/// Returns the path in a setting written as `PATH=VALUE`.
fn path_of(set: &str) -> &str {
    match set.split_once('=') {
        Some((path, _)) => path.trim(),
        None => set.trim(),
    }
}

/// Returns whether a variant has the same strategy and settings as `start`, except for settings with one of the
/// changed `paths`.
fn is_like(variant: &Variant, start: &Variant, paths: &[&str]) -> bool {
    let mut wanted = Vec::new();
    for Setting { path, value, .. } in &start.settings {
        if !paths.contains(&path.as_str()) {
            wanted.push((path, value));
        }
    }
    let mut settings = Vec::new();
    for Setting { path, value, .. } in &variant.settings {
        settings.push((path, value));
    }
    variant.strategy == start.strategy && settings == wanted
}

/// Returns a single error that is not related to a setting.
fn trouble(message: impl Into<String>, fix: &str) -> Vec<Trouble> {
    vec![Trouble {
        at: String::new(),
        message: message.into(),
        fix: fix.to_owned(),
    }]
}

fn troubles(error: LoadError) -> Vec<Trouble> {
    let mut troubles = Vec::with_capacity(error.problems.len());
    for problem in error.problems {
        troubles.push(Trouble {
            at: problem.field.clone(),
            message: problem.message.clone(),
            fix: problem.help.unwrap_or_default(),
        });
    }
    troubles
}

impl Exploration {
    /// Returns the runs that are needed for the next answer. Empty after the last answer.
    #[must_use]
    pub fn missing(&self) -> Vec<ExploredRun> {
        let Some(pairs) = self.next_answer() else {
            return Vec::new();
        };
        let sides = if self.is_same { 1 } else { 2 };
        let mut missing = Vec::new();
        for replicate in 0..pairs as u32 {
            for side in 0..sides {
                if self.records[side].runs.len() <= replicate as usize {
                    missing.push(ExploredRun { side, replicate });
                }
            }
        }
        missing
    }

    /// Returns the number of pairs of runs in the next answer.
    fn next_answer(&self) -> Option<usize> {
        ANSWERS.into_iter().find(|pairs| *pairs > self.told)
    }

    /// Returns whether all answers were given.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.told >= MOST_PAIRS
    }

    /// Simulates one run.
    ///
    /// # Errors
    /// Returns an error if the run's events repeat endlessly.
    ///
    /// # Panics
    /// Never panics, because nothing stops the run.
    pub fn simulate(&self, run: ExploredRun) -> Result<RunRecord, RunFailure> {
        let record = self.simulate_until(run, &Stop::default())?;
        Ok(record.expect("nothing stops it"))
    }

    /// Simulates one run. `None`: `stop` was set before the end of the run.
    ///
    /// # Errors
    /// Returns an error if the run's events repeat endlessly.
    pub fn simulate_until(
        &self,
        run: ExploredRun,
        stop: &Stop,
    ) -> Result<Option<RunRecord>, RunFailure> {
        sim::run_until(&self.variants[run.side], self.seed, run.replicate, stop)
    }

    /// Returns the answer after a run has failed, as one line of JSON.
    #[must_use]
    pub fn failure(&self, error: &RunFailure) -> String {
        refusal(self.id, &trouble(error.to_string(), ""))
    }

    /// Adds a finished run. Runs must be added in the order of [`Exploration::missing`].
    pub fn add(&mut self, run: ExploredRun, mut record: RunRecord) {
        debug_assert_eq!(self.records[run.side].runs.len(), run.replicate as usize);
        if run.replicate > 0 {
            // The page draws clusters only for the first run.
            record.clusters = Vec::new();
            record.passes = Vec::new();
        }
        if self.is_same {
            self.push(AFTER, record.clone());
        }
        self.push(run.side, record);
    }

    /// Adds runs of the variant before the change that were simulated for an earlier question.
    fn reuse(&mut self, runs: Vec<RunRecord>) {
        if self.is_same {
            for run in &runs {
                self.push(AFTER, run.clone());
            }
        }
        self.records[BEFORE].runs = runs;
    }

    fn push(&mut self, side: usize, mut run: RunRecord) {
        EXPLORED[side].clone_into(&mut run.run.variant);
        run.run.strategy = String::new();
        run.run.setting = String::new();
        self.records[side].runs.push(run);
    }

    /// Returns results from the runs so far.
    fn results(&self) -> Results {
        let [before, after] = &self.records;
        let pairs = before.runs.len().min(after.runs.len());
        let mut complete = [before.clone(), after.clone()];
        for record in &mut complete {
            record.runs.truncate(pairs);
        }
        let tables = Tables::showing(&complete, self.seed, Some(0));
        Results::in_memory(self.provenance.clone(), tables)
    }

    /// Returns the answer after the runs of [`Exploration::missing`] were added, as one line of JSON.
    pub fn answer(&mut self) -> String {
        if let Some(pairs) = self.next_answer() {
            self.told = pairs;
        }
        let results = self.results();
        let answer = json!({
            "id": self.id,
            "runs": self.told,
            "of": MOST_PAIRS,
            "done": self.is_done(),
            "data": explored(&results),
            "csv": self.csv(&results.tables),
            "yaml": self.yaml,
            "snippet": self.snippet,
        });
        answer.to_string()
    }

    /// Returns the variant after the change, to find what holds it back.
    #[cfg(not(target_family = "wasm"))]
    fn tried(&self, stop: &Stop) -> TriedVariant<'_> {
        let mut run_events = 0;
        for run in &self.records[AFTER].runs {
            run_events = run.run.events.max(run_events);
        }
        TriedVariant {
            variant: &self.variants[AFTER],
            seed: self.seed,
            run_events,
            stop: stop.clone(),
        }
    }

    /// Returns the last answer, which says what holds the variant after the change back, as one line of JSON.
    #[cfg(not(target_family = "wasm"))]
    fn bound(&self, words: &str) -> String {
        json!({"id": self.id, "bound": words}).to_string()
    }

    /// Returns the content of `runs.csv` for the runs.
    fn csv(&self, tables: &Tables) -> String {
        for (name, bytes) in tables.files() {
            if name == "runs.csv" {
                return String::from_utf8(bytes).unwrap_or_default();
            }
        }
        String::new()
    }
}

/// Returns the answer to a question that cannot be simulated, as one line of JSON.
#[must_use]
pub fn refusal(id: u64, troubles: &[Trouble]) -> String {
    json!({"id": id, "errors": troubles}).to_string()
}
