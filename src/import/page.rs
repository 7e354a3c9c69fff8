//! The text of `experiment.yaml`.
//!
//! Facts are active lines. A guess is a comment with its range and a commented-out line with the program's default
//! value. Removing the `#` has no effect, except that the value is no longer reported as a guess. If the experiment
//! cannot run without a guessed value, the line is active, and its comment marks it as a guess.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::draft::{ARGO_CD, ExperimentDraft, ReadinessFacts, StrategyDraft, WorkloadDraft};
use super::guess::Guess;
use super::images::{ImportedImage, sizes};
use super::left_out::LeftOut;
use super::pace::PaceSweep;
use super::site;
use crate::document::yaml::{in_lines, quoted, to_yaml};
use crate::products::fields::names_to_accept;

/// The file name of the table of clusters.
pub(super) const TABLE: &str = "clusters.csv";
/// The file name of Fleet's cluster groups.
pub(super) const GROUPS: &str = "clustergroups.json";
/// The first line of every generated file.
pub(super) const HEADER: &str = "# Written by `fleetsim import` with: ";

/// The name of the imported strategy.
pub(super) const EXPORTED: &str = "as-exported";

/// The name of the imported strategy with other limits.
pub(super) const OTHER_PACE: &str = "other-pace";

/// The prefix of the line that accepts fields that are not simulated.
const ACCEPT: &str = "accept: ";

const ACCEPT_WHY: &str = "The file has fields that can change the answer and are not simulated. To go on without them, remove the `#` \
                          of the next line.";

/// Width of a comment in columns, without its `#`.
const WIDTH: usize = 113;

/// Names of the files next to `experiment.yaml`.
pub(super) struct FileNames {
    pub(super) strategy: Option<String>,
    pub(super) images: Vec<ImageNames>,
    pub(super) windows: Option<String>,
}

/// File names for one image.
pub(super) struct ImageNames {
    /// The manifest of the new version of the image.
    pub(super) new: String,
    /// The manifest of the previous version of the image.
    pub(super) previous: Option<String>,
}

impl FileNames {
    /// Returns all file names, in the order in which the experiment refers to them.
    pub(super) fn all<'n>(&'n self, draft: &ExperimentDraft) -> Vec<&'n str> {
        let mut names = vec![TABLE];
        names.extend(draft.fleet.cluster_groups.as_ref().map(|_| GROUPS));
        for image in &self.images {
            names.push(&image.new);
            names.extend(image.previous.as_deref());
        }
        names.extend(self.strategy.as_deref());
        names.extend(self.windows.as_deref());
        names
    }
}

/// The text of an experiment, and the guesses in it.
pub(super) struct Page {
    text: String,
    guesses: Vec<Guess>,
}

impl Page {
    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.text, "{}{text}", " ".repeat(indent));
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Appends a comment, wrapped to the line width.
    fn comment(&mut self, indent: usize, text: &str) {
        for line in in_lines(text, WIDTH - indent) {
            self.line(indent, &format!("# {line}"));
        }
    }

    /// Appends a guess that equals the program's default: a comment with its range, and the commented-out line.
    fn guess(&mut self, indent: usize, guess: Guess) {
        let line = format!("# {}", assignment(&guess));
        self.needed_guess(indent, &line, guess);
    }

    /// Appends a guess that the experiment needs: a comment with its range, and the active line.
    fn needed_guess(&mut self, indent: usize, line: &str, guess: Guess) {
        self.comment(
            indent,
            &format!(
                "Assumption, {}. Replace it with {}.",
                guess.range, guess.replace_with
            ),
        );
        self.line(indent, line);
        self.guesses.push(guess);
    }
}

/// Returns the last key in the path of a guess's setting, with its value.
fn assignment(guess: &Guess) -> String {
    let key = guess.setting.rsplit('.').next().unwrap_or_default();
    format!("{key}: {}", guess.value)
}

/// Writes the experiment with this name.
pub(super) fn write(
    draft: &ExperimentDraft,
    name: &str,
    files: &FileNames,
    in_place: &Map<String, Value>,
    sweep: Option<PaceSweep>,
) -> (String, Vec<Guess>) {
    let mut page = Page {
        text: String::new(),
        guesses: Vec::new(),
    };
    head(&mut page, draft, name, files);
    fleet(&mut page, draft);
    registry(&mut page);
    release(&mut page, draft, files);
    node(&mut page, draft);
    strategies(&mut page, &draft.fleet.strategy, files, in_place, sweep);
    (page.text, page.guesses)
}

/// Comments out the lines that accept fields, because the user must decide to accept them.
pub(super) fn without_acceptance(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let plain = line.trim_start();
        let indent = &line[..line.len() - plain.len()];
        if plain.starts_with(ACCEPT) {
            lines.push(format!("{indent}# {plain}\n"));
        } else {
            lines.push(format!("{line}\n"));
        }
    }
    lines.concat()
}

fn head(page: &mut Page, draft: &ExperimentDraft, name: &str, files: &FileNames) {
    page.line(0, &format!("{HEADER}{}", files.all(draft).join(", ")));
    page.comment(
        0,
        "Every assumption has its range. To replace one, remove the `#` of its line and write the value of your site. The \
         constants that are not listed here are printed by `fleetsim assumptions`, also with their ranges.",
    );
    page.line(0, &format!("name: {}", quoted(name)));
    let which = if draft.fleet.strategy.file.is_some() {
        "exported"
    } else {
        "default"
    };
    let question = format!(
        "How does the {which} strategy roll the release out to {}, and which pace can the registry sustain?",
        draft.fleet.in_words
    );
    page.line(0, &format!("question: {}", quoted(&question)));
    page.line(0, "seed: 1");
    page.line(0, "replicates: 20");
    if let Some(horizon) = &draft.fleet.strategy.horizon {
        page.line(
            0,
            &format!("horizon: {horizon}  # the strategy itself waits for a part of it"),
        );
    }
    if let Some(windows) = &draft.fleet.strategy.windows {
        let guess = Guess::start_time(&windows.start);
        page.comment(
            0,
            "The windows of the strategy have dates and times, so the answer depends on the start. It is in UTC, unless \
             a time zone follows.",
        );
        page.needed_guess(0, &assignment(&guess), guess);
    }
    page.blank();
}

fn fleet(page: &mut Page, draft: &ExperimentDraft) {
    page.comment(
        0,
        &format!("From {}: {}.", draft.fleet.origin, draft.fleet.in_words),
    );
    let left_out = &draft.fleet.left_out;
    for note in &draft.fleet.notes {
        // The comment also lists the names, if there are any.
        let named = left_out.iter().find(|others| others.note() == *note);
        let text = named.map_or_else(|| note.clone(), LeftOut::comment);
        page.comment(0, &format!("Note: {text}."));
    }
    page.line(0, "inventory:");
    page.line(2, &format!("file: {TABLE}"));
    if draft.fleet.cluster_groups.is_some() {
        page.line(2, &format!("clusterGroups: {GROUPS}"));
    }
    page.line(2, "default:");
    let place = "inventory.default";
    if draft.fleet.workload.is_one_instance {
        page.line(4, "nodes: 1  # one instance of the app");
    } else if let Some(nodes) = &draft.nodes {
        page.line(4, &format!("nodes: {}", nodes.count));
    } else if draft
        .fleet
        .targets
        .iter()
        .any(|target| target.nodes.is_none())
    {
        page.guess(4, Guess::nodes(place));
    }
    let guess = site::guess(draft.site, place);
    page.needed_guess(4, &assignment(&guess), guess);
    if !draft.fleet.regions.is_empty() {
        page.blank();
        regions(page, draft);
    }
    page.blank();
}

/// Writes the links that targets share. The guess is explained at the first link.
fn regions(page: &mut Page, draft: &ExperimentDraft) {
    page.line(0, "regions:");
    for (at, region) in draft.fleet.regions.iter().enumerate() {
        let mut targets = draft.fleet.targets.iter();
        let behind = targets.find(|target| target.region.as_ref() == Some(region));
        let site = behind.and_then(|target| target.site).unwrap_or(draft.site);
        let guess = Guess {
            value: site.link().downlink.typical().to_string(),
            ..Guess::shared_link(at)
        };
        let line = format!("- {{name: {}, bandwidth: {}}}", quoted(region), guess.value);
        match at {
            0 => page.needed_guess(2, &line, guess),
            _ => page.line(2, &line),
        }
    }
}

fn registry(page: &mut Page) {
    page.line(0, "registry:");
    page.guess(2, Guess::egress());
    page.guess(2, Guess::service_time());
    page.blank();
}

fn release(page: &mut Page, draft: &ExperimentDraft, files: &FileNames) {
    page.line(0, "release:");
    page.line(2, "kind: update");
    page.line(2, "images:");
    for (at, (image, names)) in draft.images.iter().zip(&files.images).enumerate() {
        release_image(page, at, image, names);
    }
    if draft.images.is_empty() {
        let guess = Guess::image_size();
        page.line(4, "- name: app");
        page.needed_guess(
            6,
            &format!("manifest: {{layers: [{{size: {}}}]}}", guess.value),
            guess,
        );
    }
    page.line(2, "workloads:");
    for (at, image) in draft.images.iter().enumerate() {
        workload(page, at, &image.name, &draft.fleet.workload);
    }
    if draft.images.is_empty() {
        workload(page, 0, "app", &draft.fleet.workload);
    }
    page.blank();
}

/// Writes the release's image with index `at`.
fn release_image(page: &mut Page, at: usize, image: &ImportedImage, names: &ImageNames) {
    let (all, new) = sizes(image);
    page.comment(
        4,
        &format!("{all} of layers, {new} of them not in the previous version."),
    );
    page.line(4, &format!("- name: {}", quoted(&image.name)));
    page.line(6, &format!("manifest: {}", quoted(&names.new)));
    match &names.previous {
        Some(previous) => page.line(6, &format!("previous: {}", quoted(previous))),
        None => page.needed_guess(6, "# previous: none", Guess::previous(at, &all.to_string())),
    }
    page.guess(6, Guess::compression_ratio(at));
}

/// Writes the workload that runs the image with index `at`.
fn workload(page: &mut Page, at: usize, image: &str, facts: &WorkloadDraft) {
    page.line(4, "- kind: Deployment");
    page.line(6, &format!("image: {}", quoted(image)));
    if facts.is_one_instance {
        page.line(6, "replicas: 1");
    } else {
        page.guess(6, Guess::replicas(at));
    }
    page.guess(6, Guess::start(at));
    if let Some(timeout) = facts.start_timeout {
        let why = "an instance that does not answer by then is started again";
        page.line(6, &format!("startTimeout: {timeout} s  # {why}"));
    }
    match &facts.readiness {
        ReadinessFacts::Known(readiness) => page.line(6, &format!("readiness: {readiness}")),
        ReadinessFacts::None => {}
        ReadinessFacts::Guess => {
            let guess = Guess::readiness(at);
            page.needed_guess(6, &format!("readiness: {{period: {}}}", guess.value), guess);
        }
    }
}

fn node(page: &mut Page, draft: &ExperimentDraft) {
    page.line(0, "node:");
    match draft
        .nodes
        .as_ref()
        .and_then(|nodes| nodes.runtime.as_ref())
    {
        Some(runtime) => page.line(2, &format!("runtime: {runtime}")),
        None => page.guess(2, Guess::runtime()),
    }
    if draft.images.iter().any(ImportedImage::has_zstd) {
        // The factor is written here so that sensitivity studies can vary it.
        let guess = Guess::zstd_factor();
        page.needed_guess(2, &assignment(&guess), guess);
    }
    page.blank();
}

fn strategies(
    page: &mut Page,
    strategy: &StrategyDraft,
    files: &FileNames,
    in_place: &Map<String, Value>,
    sweep: Option<PaceSweep>,
) {
    page.line(0, "strategies:");
    page.line(2, &format!("{EXPORTED}:"));
    own_strategy(page, strategy, files, in_place, None);
    for guess in &strategy.guesses {
        page.needed_guess(6, &assignment(guess), guess.clone());
    }
    if let Some(sweep) = &sweep {
        page.comment(2, "The same, with other limits: see `sweep`.");
        page.line(2, &format!("{OTHER_PACE}:"));
        own_strategy(page, strategy, files, in_place, sweep.also);
        for guess in &strategy.guesses {
            page.line(6, &assignment(guess));
        }
    }
    page.comment(
        2,
        "The shortest rollout and the highest load of any strategy.",
    );
    page.line(2, "all-at-once: {allAtOnce: {}}");
    if let Some(sweep) = sweep {
        page.blank();
        sweep_and_plan(page, strategy.product, &sweep);
    }
}

/// Writes the sweep of the strategy's pace, and the plan that chooses a value.
fn sweep_and_plan(page: &mut Page, product: &str, sweep: &PaceSweep) {
    page.line(
        0,
        &format!(
            "sweep: {{strategies.{OTHER_PACE}.{product}.{}: {}}}",
            sweep.path, sweep.values
        ),
    );
    page.blank();
    page.comment(
        0,
        "The answer is the fastest setting with which the registry's link is full for less than 6 minutes of any hour. \
         Replace this with your own limits.",
    );
    page.line(0, "plan: {limits: [egress_busiest_hour_share < 10%]}");
}

/// Writes the strategy's product with its file. `also` is a line that replaces a setting of the file.
fn own_strategy(
    page: &mut Page,
    strategy: &StrategyDraft,
    files: &FileNames,
    in_place: &Map<String, Value>,
    also: Option<&str>,
) {
    let is_empty = files.strategy.is_none()
        && files.windows.is_none()
        && strategy.guesses.is_empty()
        && strategy.shown.is_empty()
        && strategy.of_app.is_empty()
        && in_place.is_empty()
        && also.is_none();
    page.line(
        4,
        &format!("{}:{}", strategy.product, if is_empty { " {}" } else { "" }),
    );
    if let Some(file) = &files.strategy {
        page.line(6, &format!("file: {}", quoted(file)));
        if strategy.product == ARGO_CD {
            page.line(6, "generate: false  # the table has the applications");
        }
    }
    if let (Some(windows), Some(name)) = (&strategy.windows, &files.windows) {
        page.line(6, &format!("{}: {}", windows.setting, quoted(name)));
    }
    let of_app = names_to_accept(strategy.of_app.iter().map(|found| &found.field));
    if !of_app.is_empty() {
        page.line(6, &format!("notSimulated: [{}]", of_app.join(", ")));
    }
    let mut names = names_to_accept(&strategy.undecided);
    names.extend(of_app);
    if !names.is_empty() {
        page.comment(6, ACCEPT_WHY);
        page.line(6, &format!("{ACCEPT}[{}]", names.join(", ")));
    }
    for line in &strategy.shown {
        page.line(6, line);
    }
    let key = also.and_then(|line| line.split(':').next());
    let mut replaced = in_place.clone();
    if let Some(key) = key {
        replaced.remove(key);
    }
    if !replaced.is_empty() {
        page.comment(6, "These replace what the file says.");
        for line in to_yaml(&Value::Object(replaced)).lines() {
            page.line(6, line);
        }
    }
    if let Some(line) = also {
        page.line(6, line);
    }
}
