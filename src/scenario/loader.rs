//! Reads an experiment: parses its file and the values of `--set`, lets products parse their strategies, and performs
//! all checks. [`super::variants`] creates the variants.
//!
//! The file must be valid by itself, even if every variant replaces a value. An error in the file is reported once,
//! not once for each variant.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use super::check::{CheckedWorld, Checker};
use super::constants::{Level, SettingsInForce, StatedRanges};
use super::file::ExperimentFile;
use super::header::Overrides;
use super::import::inventory::InventoryCluster;
use super::set::{self, SetValue};
use super::shared_worlds::SharedWorlds;
use super::sweep::{self, Axis, Point};
use super::targeted::TargetedWorlds;
use super::worded::PathProblem;
use super::{Experiment, Guests};
use crate::document::context::Context;
use crate::document::files::Files;
use crate::document::path::{Path, Step};
use crate::document::problem::{LoadError, OrProblem, Problem, Source};
use crate::document::reader::{self, Kind, ReadError};
use crate::document::tree::{self, Node};
use crate::document::wording::Wording;
use crate::products::fields::read_file;
use crate::products::{
    self, Configuration, DEPLOYMENT, ProductEntry, Strategy, StrategyChoice, TargetOrder,
};
use crate::units::SimDuration;
use crate::world::{AgentSpec, GuestFaults, WorldSpec};

/// The name of the file in an experiment's folder.
pub(super) const FILE: &str = "experiment.yaml";

/// The variants to create: those that the file compares, or the candidates of its plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    Run,
    Plan,
}

impl Purpose {
    /// Returns the sections of the file that arguments cannot set. A search may have limits of its own.
    const fn refused_sections(self) -> &'static [&'static str] {
        match self {
            Self::Run => &["sweep", "plan"],
            Self::Plan => &["sweep"],
        }
    }
}

/// An experiment that is being read and checked.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    pub(super) purpose: Purpose,
    /// The experiment's folder. The file as the user named it is in the next field.
    folder: PathBuf,
    shown: String,
    overrides: Overrides,
    /// The file, followed by the arguments of `--set`.
    pub(super) source: Arc<Source>,
    file_ends: usize,
    pub(super) set: Vec<Arc<SetValue>>,
    pub(super) tree: Node,
    pub(super) files: Files,
    parts: Vec<PartOfFile>,
    pub(super) inventories: BTreeMap<String, Arc<Vec<InventoryCluster>>>,
    /// Number of labels in the changes of all variants so far.
    pub(super) changed_labels: usize,
    pub(super) problems: Vec<Problem>,
    /// Notes on the strategy that is being checked.
    pub(super) notes: Vec<String>,
    /// Worlds whose fleets contain only the targets of a strategy.
    targeted: TargetedWorlds,
    /// Worlds of several applications.
    pub(super) shared: SharedWorlds,
    /// Constants with values other than those in the file, by index of the factor.
    pub(super) levels: Vec<(usize, Level)>,
    /// Ranges of constants that the user has set.
    pub(super) ranges: StatedRanges,
    /// The worlds of the file and of all points of its sweep, with their whole fleets.
    pub(super) whole_worlds: Vec<Arc<WorldSpec>>,
}

/// A part of a product's file that was copied into the experiment.
#[derive(Clone, Debug)]
struct PartOfFile {
    path: Path,
    source: Arc<Source>,
}

/// The message of an error in a value.
struct ErrorWords {
    field: String,
    message: String,
    help: Option<String>,
}

/// The parsed experiment file, with the values of a sweep inserted.
pub(super) struct ReadExperiment {
    pub(super) tree: Node,
    pub(super) file: ExperimentFile,
    pub(super) strategies: BTreeMap<String, ReadStrategy>,
    struck: Vec<Path>,
}

impl ReadExperiment {
    /// Returns whether the experiment has a strategy with this name.
    pub(super) fn names_strategy(&self, name: &str) -> bool {
        let mut written = self.file.strategies.iter().flat_map(|all| &all.0);
        self.strategies.contains_key(name) || written.any(|(known, _)| known == name)
    }
}

/// Everything that the variants of an experiment share.
pub(super) struct VariantGrid {
    pub(super) axes: Vec<Axis>,
    /// The worlds that have been checked, by their point in the sweep.
    pub(super) worlds: BTreeMap<Point, CheckedWorld>,
    /// The errors in the unchanged file, which are not reported again for variants.
    pub(super) base_errors: Vec<String>,
}

/// A strategy that its product has parsed.
pub(super) struct ReadStrategy {
    path: Path,
    pub(super) product: &'static ProductEntry,
    /// The parsed configuration. `None`: the strategy could not be parsed.
    configuration: Option<Configuration>,
}

/// The text of a parsed experiment.
struct ExperimentSource {
    /// The file, followed by the arguments of `--set`.
    source: Arc<Source>,
    file_ends: usize,
    tree: Node,
    set: Vec<Arc<SetValue>>,
}

impl ExperimentSource {
    /// Reads the file at `path`, which `files` records under `name`.
    fn read(
        files: &mut Files,
        name: &str,
        path: &FsPath,
        overrides: &Overrides,
        purpose: Purpose,
    ) -> OrProblem<Self> {
        if let Some(text) = &overrides.guests.text {
            files.bring(name, path, text);
        }
        let source = match files.read_as(name, path) {
            Ok(source) => source,
            Err(message) => {
                // If the file exists, the error message already contains the fix.
                let help =
                    format!("EXPERIMENT must be a folder with `{FILE}`, or an experiment file");
                let problem = Problem::of_file(&path.display().to_string(), message);
                return Err(Box::new(
                    problem.with_optional_help((!path.is_file()).then_some(help)),
                ));
            }
        };
        for (name, text) in &overrides.guests.sources {
            files.bring(name, FsPath::new(name), text);
        }
        files.copy_whole(name);
        let tree = tree::parse(&source)?;
        if tree.is_empty() {
            let help = "start from the example in docs/experiment-format.md";
            let problem = source.at(0..0, "", "the file is empty");
            return Err(Box::new(problem.with_help(help)));
        }
        let file_ends = source.text.len();
        let source = set::with_arguments(&source, &overrides.set);
        let set = match set::values(&source, file_ends, purpose.refused_sections()) {
            Ok(values) => values.into_iter().map(Arc::new).collect(),
            Err(problem) => return Err(Box::new(problem.of_argument(&source, file_ends))),
        };
        Ok(Self {
            source,
            file_ends,
            tree,
            set,
        })
    }
}

impl Loader {
    /// Creates a loader for the file at `file_path`, which `files` records under `name`.
    pub(super) fn of(
        purpose: Purpose,
        mut files: Files,
        (name, file_path): (&str, &FsPath),
        overrides: &Overrides,
    ) -> Result<Self, LoadError> {
        let shown = file_path.display().to_string();
        let folder = files.folder().to_owned();
        let file = ExperimentSource::read(&mut files, name, file_path, overrides, purpose)
            .map_err(|problem| LoadError::new(vec![*problem], &shown))?;
        let ExperimentSource {
            source,
            file_ends,
            tree,
            set,
        } = file;
        let mut loader = Self {
            purpose,
            folder,
            shown,
            overrides: overrides.clone(),
            source,
            file_ends,
            set,
            tree,
            files,
            parts: Vec::new(),
            inventories: BTreeMap::new(),
            changed_labels: 0,
            problems: Vec::new(),
            notes: Vec::new(),
            targeted: TargetedWorlds::default(),
            shared: SharedWorlds::default(),
            levels: Vec::new(),
            ranges: StatedRanges::new(),
            whole_worlds: Vec::new(),
        };
        loader.put_set_values();
        loader.put_release_files();
        loader.refuse_problems()?;
        if purpose == Purpose::Plan {
            loader.put_candidates();
        }
        loader.put_parts_of_files();
        Ok(loader)
    }

    /// Returns the checked experiment, including the parts that only its results need.
    pub(super) fn finish(mut self) -> Result<Experiment, LoadError> {
        let experiment = self.checked()?;
        self.problems = self.settings_without_effect(&experiment);
        self.refuse_problems()?;
        let settings = SettingsInForce::of(&self.source, self.file_ends, &self.tree);
        let set_yaml = set::to_yaml(&self.set, &self.tree);
        Ok(Experiment {
            settings,
            set_yaml,
            inputs: self.files.into_inputs(),
            ..experiment
        })
    }

    /// Returns the checked experiment with the parts that its runs need.
    pub(super) fn checked(&mut self) -> Result<Experiment, LoadError> {
        let experiment = self.experiment();
        match experiment {
            Some(experiment) if self.problems.is_empty() => Ok(experiment),
            _ => Err(self.take_problems()),
        }
    }

    /// Returns an error if there are problems.
    fn refuse_problems(&mut self) -> Result<(), LoadError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(self.take_problems())
    }

    /// Returns all problems as an error.
    fn take_problems(&mut self) -> LoadError {
        let mut problems = Vec::new();
        for problem in std::mem::take(&mut self.problems) {
            problems.push(problem.of_argument(&self.source, self.file_ends));
        }
        LoadError::new(problems, &self.shown)
    }

    /// Inserts the values given with `--set`.
    fn put_set_values(&mut self) {
        for value in self.set.clone() {
            let SetValue { path, key_at, node } = &*value;
            if self.purpose == Purpose::Run {
                self.tree.remove_from("sweep", path);
            }
            self.put_part_of_file(path);
            if let Err(part) = self.tree.set(path, node, key_at) {
                self.problems
                    .push(self.no_setting(path, &part, key_at, &path.to_string()));
            }
        }
    }

    /// Returns the problem with a path that leads below a value without fields.
    pub(super) fn no_setting(
        &self,
        path: &Path,
        part: &Path,
        at: &Range<usize>,
        field: &str,
    ) -> Problem {
        let message = format!("`{path}` is not a setting of this file: there is no `{part}`");
        self.source
            .at(at.clone(), field, message)
            .with_help("indices count from 0, and only maps have settings inside")
    }

    /// Reports a problem with a setting at its key. `field`: the name used in messages.
    pub(super) fn report_at(&mut self, field: &str, problem: PathProblem) {
        let PathProblem { path, problem } = problem;
        let place = self.tree.key_place(&path);
        let found = self.source.at(place, field, problem.message);
        self.problems.push(found.with_help(problem.help));
    }

    /// Copies parts of products' files into the experiment if paths of the sweep lead into them. The copies replace
    /// the parts in the files. Unreadable files are reported later.
    fn put_parts_of_files(&mut self) {
        let (axes, _) = sweep::axes(&self.tree);
        for axis in &axes {
            self.put_part_of_file(&axis.path);
        }
    }

    pub(super) fn put_part_of_file(&mut self, path: &Path) {
        let [
            Step::Key(_),
            Step::Key(strategy),
            Step::Key(product),
            Step::Key(field),
            _,
            ..,
        ] = path.0.as_slice()
        else {
            return;
        };
        let base = Path::of("strategies").key(strategy).key(product);
        if self.tree.get(&base.key(field)).is_some() {
            return;
        }
        let Some(named) = self.tree.get(&base.key("file")).cloned() else {
            return;
        };
        if let Some((source, part)) = self.part_of_file(product, field, &named.short_text()) {
            let path = base.key(field);
            let put = self.tree.set(&path, &part.moved(&named.at), &named.at);
            debug_assert!(put.is_ok(), "the strategy is a map");
            self.parts.push(PartOfFile { path, source });
        }
    }

    /// Returns the part of a product's file that a field in the experiment would replace.
    fn part_of_file(
        &mut self,
        product: &str,
        field: &str,
        file: &str,
    ) -> Option<(Arc<Source>, Node)> {
        let entry = products::find(product)?;
        let (_, in_file) = entry
            .in_file
            .iter()
            .find(|(in_place, _)| *in_place == field)?;
        let in_file = Path::parse(in_file).ok()?;
        let source = self.files.read(file).ok()?;
        let read = read_file(product, &source)?;
        let document = tree::parse(&Arc::new(source.with_text(read.yaml))).ok()?;
        let part = document.get(&in_file)?.clone();
        Some((source, part))
    }

    /// Reads and checks the experiment. `None`: nothing could be read. Problems may exist in either case.
    fn experiment(&mut self) -> Option<Experiment> {
        let axes = self.axes();
        let mut base_errors = Vec::new();
        let base = self.read(self.tree.clone(), &[], &mut base_errors)?;
        // The file must be valid by itself, even if every variant replaces a value.
        let world = self.world(&base);
        self.check(&base, |checker| checker.agent(&AgentSpec::default()));
        let strategies: Vec<String> = base
            .file
            .strategies
            .iter()
            .flat_map(|strategies| &strategies.0)
            .map(|(name, _)| name.clone())
            .collect();
        let alternatives = self.alternatives(&base, &strategies);
        for name in &alternatives {
            self.rollouts(&base, name, &world);
        }
        let mut experiment = self.checked_header(&base, &strategies, &alternatives, &world);
        let mut variants: usize = 0;
        for name in &alternatives {
            variants = variants.saturating_add(sweep::grid_size(&axes, name));
        }
        let clusters = world.world.targets();
        let fits = self.check(&base, |checker| {
            checker.sweep_size(variants, &axes, clusters)
        });
        if !fits {
            return None;
        }
        let mut grid = VariantGrid {
            axes,
            worlds: BTreeMap::new(),
            base_errors,
        };
        if self.levels.is_empty() {
            grid.worlds.insert(Point::new(), world);
        }
        experiment.variants = self.variants(&mut grid, &alternatives, experiment.plan.as_ref());
        self.whole_worlds.clear();
        for world in grid.worlds.values() {
            self.whole_worlds.push(Arc::clone(&world.world));
        }
        let axes = grid.axes;
        let is_search = self.purpose == Purpose::Plan;
        if is_search {
            let is_complete = self.problems.is_empty();
            let runs = base.file.plan.as_ref().and_then(|plan| plan.runs);
            self.check(&base, |checker| {
                checker.something_to_choose(&experiment, &axes, runs, is_complete);
            });
        }
        Some(experiment)
    }

    /// Returns the experiment without variants, from the unchanged file.
    fn checked_header(
        &mut self,
        base: &ReadExperiment,
        strategies: &[String],
        alternatives: &[String],
        world: &CheckedWorld,
    ) -> Experiment {
        let is_search = self.purpose == Purpose::Plan;
        let folder = self.folder.clone();
        let overrides = self.overrides.clone();
        let target = products::target_of(base.strategies.values().map(|strategy| strategy.product));
        self.check(base, |checker| {
            checker.strategy_names(strategies);
            checker.change_names(&base.file.changes, alternatives, base.file.horizon);
            let header = checker.header(&base.file, alternatives, &folder, &overrides, is_search);
            let has_several = world.world.applications.len() > 1;
            Experiment {
                target: if has_several { DEPLOYMENT } else { target },
                guesses: checker.guessed_links(&world.world.clusters, target),
                ..header
            }
        })
    }

    fn axes(&mut self) -> Vec<Axis> {
        let (axes, problems) = sweep::axes(&self.tree);
        for problem in problems {
            self.report_at("sweep", problem);
        }
        for value in &self.set {
            if axes.iter().any(|axis| axis.path.overlaps(&value.path)) {
                let message = format!(
                    "`{}` also has values in the file's sweep or search",
                    value.path
                );
                let problem = self
                    .source
                    .at(value.key_at.clone(), value.path.to_string(), message);
                self.problems
                    .push(problem.with_help("remove `--set`, or remove the path from the file"));
            }
        }
        axes
    }

    /// Parses a tree with the values of `axes` inserted. `known` contains the errors of the unchanged file.
    pub(super) fn read(
        &mut self,
        tree: Node,
        axes: &[&Axis],
        known: &mut Vec<String>,
    ) -> Option<ReadExperiment> {
        let is_base = axes.is_empty();
        let mut reading = reader::read::<ExperimentFile>(tree.clone());
        let strategies = read_strategies(&tree, &mut reading);
        for error in &reading.errors {
            if is_base {
                known.push(error.to_string());
            }
            if is_base || !known.contains(&error.to_string()) {
                let problem = self.problem(&tree, error, axes);
                self.problems.push(problem);
            }
        }
        Some(ReadExperiment {
            tree,
            file: reading.value?,
            strategies,
            struck: reading.struck,
        })
    }

    fn problem(&self, tree: &Node, error: &ReadError, axes: &[&Axis]) -> Problem {
        // An error above a swept value was caused by the path of the sweep.
        let leads_nowhere = axes.iter().find(|axis| {
            axis.path.starts_with(&error.path)
                && (axis.path.0.len() > error.path.0.len()
                    || matches!(error.kind, Kind::UnknownField { .. }))
        });
        let words = self.words(error);
        if let Some(axis) = leads_nowhere {
            let message = format!(
                "`{}` is not a setting of this file: {}",
                axis.path, words.message
            );
            return self
                .source
                .at(axis.at.clone(), "sweep", message)
                .with_optional_help(words.help);
        }
        let span = if error.is_of_key() {
            tree.key_place(&error.path)
        } else {
            tree.place(&error.path)
        };
        let message = Wording::quoting(words.message, error.bare_message());
        self.source
            .at(span, words.field, message)
            .with_optional_help(words.help)
    }

    /// Returns the message of an error. If the error is in a part of a file that must not be quoted, the message
    /// contains nothing of that part.
    fn words(&self, error: &ReadError) -> ErrorWords {
        let part = self
            .parts
            .iter()
            .find(|part| error.path.starts_with(&part.path));
        match part.filter(|part| part.source.is_withheld()) {
            Some(part) => ErrorWords {
                field: part.path.to_string(),
                message: error.bare_message().to_owned(),
                help: None,
            },
            None => ErrorWords {
                field: error.path.to_string(),
                message: error.message(),
                help: error.help(),
            },
        }
    }

    /// Runs checks on a parsed experiment, and collects the problems that they find.
    pub(super) fn check<T>(
        &mut self,
        reading: &ReadExperiment,
        checks: impl FnOnce(&mut Checker<'_>) -> T,
    ) -> T {
        let context = Context {
            files: &mut self.files,
            source: &self.source,
            tree: &reading.tree,
            struck: &reading.struck,
            problems: Vec::new(),
            notes: Vec::new(),
        };
        let mut checker = Checker {
            context,
            inventories: &mut self.inventories,
            changed_labels: &mut self.changed_labels,
            is_drawn: !self.levels.is_empty(),
        };
        let result = checks(&mut checker);
        let found = checker.context.problems;
        self.notes.append(&mut checker.context.notes);
        self.problems.extend(found);
        result
    }

    /// Returns one strategy, checked for its targets in this world, and the world with these targets. `None`: there
    /// are problems.
    pub(super) fn strategy(
        &mut self,
        reading: &ReadExperiment,
        name: &str,
        world: &CheckedWorld,
        order: TargetOrder,
    ) -> Option<(Arc<dyn Strategy>, CheckedWorld)> {
        let ReadStrategy {
            path,
            configuration,
            ..
        } = reading.strategies.get(name)?;
        let configuration = configuration.as_ref()?;
        let targets = self.check(reading, |checker| {
            configuration.targets(path, world.fleet(), &mut checker.context)
        })?;
        let world = self.targeted.of_targets(world, targets.in_order(order));
        let strategy = self.check(reading, |checker| {
            configuration.check(path, world.fleet(), &mut checker.context)
        })?;
        let strategy = self.decided_by_guest(name, strategy)?;
        Some((strategy, world))
    }

    /// Returns the checked world of a parsed experiment.
    pub(super) fn world(&mut self, reading: &ReadExperiment) -> CheckedWorld {
        let world = self.check(reading, |checker| checker.world(&reading.file));
        self.with_guest_faults(world, reading.file.horizon)
    }

    /// Adds the failure model of another program to a checked world.
    fn with_guest_faults(&self, mut world: CheckedWorld, horizon: SimDuration) -> CheckedWorld {
        if let Some(model) = &self.guests().faults {
            Arc::make_mut(&mut world.world).faults.guest = Some(GuestFaults {
                model: Arc::clone(model),
                horizon,
            });
        }
        world
    }

    /// Returns the strategy with the object that decides in place of its process, if another program brings one.
    /// `None`: the strategy cannot be decided in this process, which was reported.
    fn decided_by_guest(
        &mut self,
        name: &str,
        strategy: Arc<dyn Strategy>,
    ) -> Option<Arc<dyn Strategy>> {
        let Some(decider) = self.guests().strategies.get(name) else {
            return Some(strategy);
        };
        if let Some(decided) = strategy.decided_in_process(decider) {
            return Some(decided);
        }
        let path = Path::of("strategies").key(name);
        let message = format!("`{name}` cannot be decided in this process");
        let place = self.tree.place(&path);
        let problem = self.source.at(place, path.to_string(), message);
        self.problems
            .push(problem.with_help("write `external: {command: […]}` without `loop: process`"));
        None
    }

    /// Returns what a program that uses the library brings along.
    const fn guests(&self) -> &Guests {
        &self.overrides.guests
    }
}

/// Lets each product parse its strategies, and collects their problems.
fn read_strategies(
    tree: &Node,
    file: &mut reader::Reading<ExperimentFile>,
) -> BTreeMap<String, ReadStrategy> {
    let mut strategies = BTreeMap::new();
    let Some(written) = file
        .value
        .as_ref()
        .and_then(|file| file.strategies.as_ref())
    else {
        return strategies;
    };
    for (name, StrategyChoice(product)) in &written.0 {
        let path = Path::of("strategies").key(name).key(product.key);
        let Some(node) = tree.get(&path) else {
            continue;
        };
        let reading = (product.read)(node.clone());
        for error in reading.errors {
            file.errors.push(ReadError {
                path: path.then(&error.path),
                ..error
            });
        }
        for struck in &reading.struck {
            file.struck.push(path.then(struck));
        }
        strategies.insert(
            name.clone(),
            ReadStrategy {
                path,
                product,
                configuration: reading.value,
            },
        );
    }
    strategies
}
