//! Questions about an experiment while a reader looks: the same rollouts before and after a change of settings.
//!
//! An [`Explorer`] holds an experiment with all of its files, and reads no others. A [`PageQuestion`] names a variant
//! to compare with, a variant to start from, and values of settings, which are those of `--set`. An [`Exploration`]
//! answers it: it says which runs it needs next, and has an answer when it has got these. Whoever drives it decides on
//! threads, and when to stop: a local server, or a worker in a page. So both give the same bytes.
//!
//! Runs are asked for in the order of their replicates, before and after in pairs, with the experiment's seed. The
//! answers have ever more of them, and the intervals of the differences shrink.

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

use crate::engine::Stop;
use crate::report::{EXPLORED, ExploredPage, Results, explore_page, explored};
use crate::results::{Provenance, RunRecord, Setting, Snippet, Tables, VariantInfo, VariantRecord};
use crate::scenario::{Experiment, InputFile, LoadError, Overrides, Variant, load_again};
use crate::sim::{self, RunFailure};
use crate::study::{MOST_MEMORY, MemoryEstimate};
use crate::units::{Bytes, counted};

#[cfg(not(target_family = "wasm"))]
pub use server::{Server, serve};

/// Numbers of pairs of runs after which there is an answer. The last ends the question.
const ANSWERS: [usize; 8] = [1, 3, 6, 10, 20, 40, 70, 100];

const MOST_PAIRS: usize = ANSWERS[ANSWERS.len() - 1];

/// Most values of a question, and bytes of each.
const MOST_SET: usize = 100;
const MOST_BYTES: usize = 4096;

/// The memory limit of a page with the simulator inside, which can address 4 GB.
const MOST_IN_PAGE: Bytes = Bytes::new(2_000_000_000);

/// Variants whose runs are kept for the next question.
const MOST_KEPT: usize = 4;

/// A question of a reader.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PageQuestion {
    /// Its number, which its answers have.
    pub id: u64,
    /// The page that asks; its newer question stops an older one.
    #[serde(default)]
    pub page: String,
    /// The variant to compare with, as the experiment names it.
    pub before: String,
    /// The variant to start from.
    pub after: String,
    /// Values of settings, as for `--set`.
    #[serde(default)]
    pub set: Vec<String>,
}

/// An error in a question, at a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trouble {
    /// The path of the setting; may be empty.
    pub at: String,
    /// The error.
    pub message: String,
    /// The fix.
    pub fix: String,
}

/// An experiment that questions are asked about.
#[derive(Debug)]
pub struct Explorer {
    experiment: Experiment,
    overrides: Overrides,
    /// Most memory that a question may take, and runs at a time.
    memory: Bytes,
    at_once: usize,
    /// Runs of unchanged variants.
    kept: Mutex<BTreeMap<String, Vec<RunRecord>>>,
}

/// A question with the runs that it has.
#[derive(Debug)]
pub struct Exploration {
    id: u64,
    /// Before and after.
    variants: [Variant; 2],
    seed: u64,
    records: [VariantRecord; 2],
    /// The variants are the same, so one run is both.
    is_same: bool,
    /// Name and runs as they are kept.
    kept_as: String,
    provenance: Provenance,
    yaml: String,
    snippet: Option<Snippet>,
    /// Pairs in the answers so far.
    told: usize,
}

/// Seed, replicates and values of the command line, as a page has them.
type PageOverrides = (Option<u64>, Option<u32>, Vec<String>);

/// A run that a question needs: before (0) or after (1), and its replicate.
pub type ExploredRun = (usize, u32);

impl Explorer {
    /// An experiment as it was loaded with these `overrides`.
    ///
    /// # Errors
    /// When every strategy starts a command, which a page must not.
    pub fn new(experiment: Experiment, overrides: Overrides) -> Result<Self, String> {
        if experiment.variants.iter().all(starts_command) {
            return Err(
                "explore starts no commands, and every strategy of this experiment is one"
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

    /// Refuses questions that take more memory than this with so many runs at a time.
    #[must_use]
    pub fn limited_to(self, memory: Bytes, at_once: usize) -> Self {
        Self {
            memory,
            at_once,
            ..self
        }
    }

    /// The memory of a question about any of the experiment's variants.
    #[must_use]
    pub fn memory(&self) -> MemoryEstimate {
        let variants: Vec<Variant> = self.usable().cloned().collect();
        MemoryEstimate::of_question(&self.experiment, &variants, MOST_PAIRS)
    }

    /// The experiment in a page, from what [`Explorer::files`] wrote.
    ///
    /// # Errors
    /// When the text is not that, or the experiment is invalid.
    pub fn of_files(text: &str) -> Result<Self, String> {
        let (name, (seed, replicates, set), files): (String, PageOverrides, Vec<(String, String)>) =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let overrides = Overrides {
            seed,
            replicates,
            set,
        };
        let inputs: Vec<InputFile> = files
            .into_iter()
            .map(|(path, text)| InputFile::new(&path, text.into_bytes()))
            .collect();
        let experiment =
            load_again(&name, &inputs, &overrides).map_err(|error| error.to_string())?;
        Ok(Self::new(experiment, overrides)?.limited_to(MOST_IN_PAGE, 1))
    }

    /// The experiment's files and overrides, for a page: of files as much as is copied into results. Files that are not
    /// text are left out.
    #[must_use]
    pub fn files(&self) -> Value {
        let Experiment { name, inputs, .. } = &self.experiment;
        let Overrides {
            seed,
            replicates,
            set,
        } = &self.overrides;
        let text = |input: &InputFile| {
            let (bytes, _) = input.copy();
            Some((input.path.clone(), String::from_utf8(bytes.to_vec()).ok()?))
        };
        json!([
            name,
            [seed, replicates, set],
            inputs.iter().filter_map(text).collect::<Vec<_>>()
        ])
    }

    /// The question that the page opens with: the first variant, unchanged.
    #[must_use]
    pub fn first(&self) -> PageQuestion {
        let label = &self
            .usable()
            .next()
            .expect("checked when it was made")
            .label;
        PageQuestion {
            before: label.clone(),
            after: label.clone(),
            ..PageQuestion::default()
        }
    }

    fn usable(&self) -> impl Iterator<Item = &Variant> {
        self.experiment
            .variants
            .iter()
            .filter(|variant| !starts_command(variant))
    }

    /// The page with the first answer. `engine` is the simulator as WebAssembly, compressed, as base64; empty for a
    /// page that asks a server.
    ///
    /// # Errors
    /// When the first variant cannot be simulated, in words.
    pub fn page(&self, engine: &str) -> Result<String, String> {
        let mut first = self
            .begin(&self.first())
            .map_err(|troubles| troubles[0].message.clone())?;
        for run in first.missing() {
            let record = first.simulate(run).map_err(|error| error.to_string())?;
            first.add(run, record);
        }
        let Experiment { name, question, .. } = &self.experiment;
        let variant = |variant: &Variant| {
            let settings = variant
                .settings
                .iter()
                .map(|setting| (setting.path.clone(), setting.value.clone()));
            let settings: BTreeMap<String, String> = settings.collect();
            json!({"label": variant.label, "strategy": variant.strategy, "settings": settings})
        };
        let variants: Vec<Value> = self.usable().map(variant).collect();
        let controls =
            json!({"variants": variants, "controls": controls::controls(&self.experiment)});
        Ok(explore_page(&ExploredPage {
            title: if question.is_empty() { name } else { question },
            first: &first.results(),
            controls: &controls,
            files: &if engine.is_empty() {
                Value::Null
            } else {
                self.files()
            },
            engine,
        }))
    }

    /// Reads and checks a question.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn begin(&self, question: &PageQuestion) -> Result<Exploration, Vec<Trouble>> {
        let trouble = |at: &str, message: String, fix: &str| {
            vec![Trouble {
                at: at.to_owned(),
                message,
                fix: fix.to_owned(),
            }]
        };
        if question.set.len() > MOST_SET || question.set.iter().any(|set| set.len() > MOST_BYTES) {
            let message =
                format!("at most {MOST_SET} settings of {MOST_BYTES} bytes can be changed");
            return Err(trouble("", message, "change the experiment's file"));
        }
        let named = |label: &str| {
            let found = self.usable().find(|variant| variant.label == label);
            found.ok_or_else(|| {
                trouble(
                    "",
                    format!("there is no variant `{label}`"),
                    "choose one of the page",
                )
            })
        };
        let (before, start) = (named(&question.before)?, named(&question.after)?);
        let changed = self.changed(start, &question.set)?;
        let (experiment, after) = changed
            .as_ref()
            .map_or((&self.experiment, start), |(all, after)| (all, after));
        if starts_command(after) {
            let message = "explore starts no commands".to_owned();
            return Err(trouble("", message, "use `fleetsim run --allow-commands`"));
        }
        self.check_memory(experiment, &[before.clone(), after.clone()])
            .map_err(|message| trouble("", message, "make the fleet or the release smaller"))?;
        let is_same = changed.is_none() && before.label == after.label;
        let infos = [before, after]
            .into_iter()
            .zip(EXPLORED)
            .map(|(variant, name)| VariantInfo {
                variant: name.to_owned(),
                setting: String::new(),
                settings: Vec::new(),
                ..variant.info()
            });
        let seed = experiment.seed;
        let provenance = Provenance {
            variants: infos.collect(),
            ..experiment.provenance()
        };
        let record = |name: &str| VariantRecord {
            variant: name.to_owned(),
            strategy: String::new(),
            setting: String::new(),
            settings: Vec::new(),
            runs: Vec::new(),
        };
        let mut exploration = Exploration {
            id: question.id,
            variants: [before.clone(), after.clone()],
            seed,
            records: EXPLORED.map(record),
            is_same,
            kept_as: before.label.clone(),
            provenance,
            yaml: experiment.set_yaml.clone(),
            snippet: after.scenario.strategy.snippet(),
            told: 0,
        };
        // Another seed has other random numbers.
        if seed == self.experiment.seed {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            exploration.records[0].runs = kept.get(&before.label).cloned().unwrap_or_default();
        }
        if is_same {
            let runs = exploration.records[0].runs.clone();
            runs.into_iter().for_each(|run| exploration.push(1, run));
        }
        Ok(exploration)
    }

    /// Checks that there is enough memory for the runs of two variants.
    fn check_memory(&self, experiment: &Experiment, pair: &[Variant]) -> Result<(), String> {
        let estimate = MemoryEstimate::of_question(experiment, pair, MOST_PAIRS);
        match estimate.runs_within(self.memory, self.at_once) {
            Ok(at_once) if at_once == self.at_once => Ok(()),
            Ok(_) => Err(format!(
                "{} at a time take about {} of memory, and the limit is {}",
                counted(self.at_once, "run"),
                estimate.with(self.at_once),
                self.memory
            )),
            Err(refused) => Err(refused.to_string()),
        }
    }

    /// The experiment with these values, and its variant that is otherwise like `start`. `None`: nothing is changed.
    fn changed(
        &self,
        start: &Variant,
        set: &[String],
    ) -> Result<Option<(Experiment, Variant)>, Vec<Trouble>> {
        if set.is_empty() {
            return Ok(None);
        }
        let path = |set: &str| {
            set.split_once('=')
                .map_or(set, |(path, _)| path)
                .trim()
                .to_owned()
        };
        let paths: Vec<String> = set.iter().map(|set| path(set)).collect();
        // A value of the page takes the place of the command line's.
        let own = self
            .overrides
            .set
            .iter()
            .filter(|own| !paths.contains(&path(own)));
        let set = own.chain(set).cloned().collect();
        let overrides = Overrides {
            set,
            ..self.overrides.clone()
        };
        let mut experiment = load_again(&self.experiment.name, &self.experiment.inputs, &overrides)
            .map_err(troubles)?;
        let is_kept = |setting: &&Setting| !paths.contains(&setting.path);
        let wanted: Vec<(&str, &str)> = start
            .settings
            .iter()
            .filter(is_kept)
            .map(|setting| (&*setting.path, &*setting.value))
            .collect();
        let is_like = |variant: &Variant| {
            let settings = variant
                .settings
                .iter()
                .map(|setting| (&*setting.path, &*setting.value));
            variant.strategy == start.strategy && settings.eq(wanted.iter().copied())
        };
        let Some(at) = experiment.variants.iter().position(is_like) else {
            let message = "no variant has these settings".to_owned();
            return Err(vec![Trouble {
                at: String::new(),
                message,
                fix: "reset the settings".to_owned(),
            }]);
        };
        let after = experiment.variants.swap_remove(at);
        Ok(Some((experiment, after)))
    }

    /// Keeps the runs of the unchanged variant for the next question.
    pub fn keep(&self, exploration: Exploration) {
        let [VariantRecord { runs, .. }, _] = exploration.records;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if exploration.seed != self.experiment.seed {
            return;
        }
        if kept
            .get(&exploration.kept_as)
            .is_none_or(|known| known.len() < runs.len())
        {
            if kept.len() >= MOST_KEPT && !kept.contains_key(&exploration.kept_as) {
                kept.pop_first();
            }
            kept.insert(exploration.kept_as, runs);
        }
    }
}

fn starts_command(variant: &Variant) -> bool {
    variant.scenario.strategy.command().is_some()
}

fn troubles(error: LoadError) -> Vec<Trouble> {
    let trouble = |problem: crate::scenario::Problem| Trouble {
        at: problem.field.clone(),
        message: problem.message.clone(),
        fix: problem.help.unwrap_or_default(),
    };
    error.problems.into_iter().map(trouble).collect()
}

impl Exploration {
    /// The runs up to the next answer; empty when the last was given.
    #[must_use]
    pub fn missing(&self) -> Vec<ExploredRun> {
        let Some(&pairs) = ANSWERS.iter().find(|pairs| **pairs > self.told) else {
            return Vec::new();
        };
        let sides = if self.is_same { 1 } else { 2 };
        let runs =
            (0..pairs as u32).flat_map(|replicate| (0..sides).map(move |side| (side, replicate)));
        runs.filter(|(side, replicate)| self.records[*side].runs.len() <= *replicate as usize)
            .collect()
    }

    /// Whether every answer was given.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.told >= MOST_PAIRS
    }

    /// One run.
    ///
    /// # Errors
    /// When its events repeat without end.
    ///
    /// # Panics
    /// Never: nothing stops it.
    pub fn simulate(&self, run: ExploredRun) -> Result<RunRecord, RunFailure> {
        let record = self.simulate_until(run, &Stop::default())?;
        Ok(record.expect("nothing stops it"))
    }

    /// One run. `None`: `stop` was set before its end.
    ///
    /// # Errors
    /// When its events repeat without end.
    pub fn simulate_until(
        &self,
        (side, replicate): ExploredRun,
        stop: &Stop,
    ) -> Result<Option<RunRecord>, RunFailure> {
        sim::run_until(&self.variants[side], self.seed, replicate, stop)
    }

    /// The answer when a run has failed, as one line of JSON.
    #[must_use]
    pub fn failure(&self, error: &RunFailure) -> String {
        let trouble = Trouble {
            at: String::new(),
            message: error.to_string(),
            fix: String::new(),
        };
        refusal(self.id, &[trouble])
    }

    /// Takes a run, in the order of [`Exploration::missing`].
    pub fn add(&mut self, (side, replicate): ExploredRun, mut run: RunRecord) {
        debug_assert_eq!(self.records[side].runs.len(), replicate as usize);
        if replicate > 0 {
            // Only the first run is drawn with its clusters.
            (run.clusters, run.passes) = (Vec::new(), Vec::new());
        }
        if self.is_same {
            self.push(1, run.clone());
        }
        self.push(side, run);
    }

    fn push(&mut self, side: usize, mut run: RunRecord) {
        EXPLORED[side].clone_into(&mut run.run.variant);
        (run.run.strategy, run.run.setting) = (String::new(), String::new());
        self.records[side].runs.push(run);
    }

    /// The results of the runs so far.
    fn results(&self) -> Results {
        let pairs = self
            .records
            .each_ref()
            .map(|record| record.runs.len())
            .into_iter()
            .min()
            .unwrap_or(0);
        let record = |record: &VariantRecord| VariantRecord {
            runs: record.runs[..pairs].to_vec(),
            ..record.clone()
        };
        let tables = Tables::showing(&self.records.each_ref().map(record), self.seed, Some(0));
        Results::in_memory(self.provenance.clone(), tables)
    }

    /// The answer with the runs of [`Exploration::missing`], as one line of JSON.
    pub fn answer(&mut self) -> String {
        self.told = ANSWERS
            .into_iter()
            .find(|pairs| *pairs > self.told)
            .unwrap_or(self.told);
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

    /// `runs.csv` of the runs.
    fn csv(&self, tables: &Tables) -> String {
        let files = tables.files();
        let runs = files
            .into_iter()
            .find(|(name, _)| *name == "runs.csv")
            .map(|(_, bytes)| bytes);
        String::from_utf8(runs.unwrap_or_default()).unwrap_or_default()
    }
}

/// The answer to a question that cannot be simulated, as one line of JSON.
#[must_use]
pub fn refusal(id: u64, troubles: &[Trouble]) -> String {
    json!({"id": id, "errors": troubles}).to_string()
}
