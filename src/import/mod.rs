//! Converts files that people already have to an experiment that runs without changes.
//!
//! Reads the output of kubectl, `argocd`, `cf`, `crane` and `skopeo`, and the products' own strategy files. The fleet
//! becomes a table, the strategy and the manifests are copied, and `experiment.yaml` names them. Facts that no export
//! contains become guesses. Each guess is a commented-out line with its range; the summary states how to replace it.
//! Nothing is written unless every input is valid and the experiment can be loaded. Left out: the history in an export
//! (events and the times of conditions), which `fleetsim calibrate` reads.
//!
//! | file | subject |
//! |---|---|
//! | `sources` | the options, and the texts of the files they name |
//! | `kinds` | the kind of an object, and the option that reads it |
//! | `fleet` | Rancher Fleet |
//! | `kubefleet`, `placement` | KubeFleet, and the clusters that a placement picks |
//! | `argo_cd`, `argo_applications`, `argo_clusters`, `application_set` | Argo CD |
//! | `argo_own`, `argo_status` | the individual settings and the status of exported Applications |
//! | `cloud_foundry` | Cloud Foundry |
//! | `nodes` | the nodes of a typical cluster |
//! | `site` | the links of kinds of sites |
//! | `strategy` | the product's own file with the strategy |
//! | `passed_over` | fields of exported objects that affect the rollout but are not simulated |
//! | `images` | image manifests and indexes |
//! | `draft`, `target`, `guess` | the experiment before it is written: targets, strategy, guesses |
//! | `left_out` | entries of an export that are not targets |
//! | `offline` | targets that could not be reached |
//! | `pace` | the number of targets that the strategy updates at a time |
//! | `page` | the text of `experiment.yaml` |
//! | `folder` | the output folder, published as a whole |
//! | `windows` | Fleet's Schedules, and the sync windows of Argo CD's projects |
//! | `summary` | the summary on the terminal |

mod application_set;
mod argo_applications;
mod argo_cd;
mod argo_clusters;
mod argo_own;
mod argo_status;
mod cloud_foundry;
mod draft;
mod fleet;
mod folder;
mod guess;
mod images;
mod kinds;
mod kubefleet;
mod left_out;
mod nodes;
mod offline;
mod pace;
mod page;
mod passed_over;
mod placement;
mod site;
pub(crate) mod sources;
mod strategy;
mod summary;
mod target;
mod windows;

use std::path::Path as FsPath;
use std::sync::Arc;

use crate::document::kept::{kept, kept_as};
use crate::document::path::Path;
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::document::tree;
use crate::products;
use crate::products::cloud_foundry::accepted_of_app;
use crate::products::fields::{DecidingField, names_to_accept, read_file};
use crate::scenario::LoadError;
use crate::units::counted;

pub use folder::ImportError;
pub use guess::Guess;
pub use sources::ImportSources;
pub use summary::Imported;

use draft::{ARGO_CD, ARGO_CD_PROPOSAL, DECIDE, ExperimentDraft, ImportedFleet, StrategyDraft};
use folder::{ExperimentFolder, experiment_name};
use images::{ImportedImage, images, sizes, unique};
use page::{FileNames, GROUPS, ImageNames, TABLE};
use sources::Texts;

/// Reads the exports and writes an experiment to `folder`.
///
/// # Errors
/// Returns an error if an export is invalid, the options contradict each other, or `folder` exists and may not be
/// replaced. Nothing is written in these cases.
pub fn import(
    sources: &ImportSources,
    folder: &FsPath,
    replace: bool,
) -> Result<Imported, ImportError> {
    check_options(sources)?;
    let staged = ExperimentFolder::begin(folder, replace)?;
    let mut draft =
        draft(sources, Texts::default()).map_err(|problems| LoadError::new(problems, ""))?;
    draft.fleet.strategy.undecided = undecided(&draft.fleet.strategy);
    let names = file_names(&draft);
    let fields = in_place(&draft.fleet.strategy).unwrap_or_default();
    let sweep = pace::sweep(
        draft.fleet.strategy.product,
        &fields,
        draft.fleet.targets.len(),
    );
    let inline = if sources.inline {
        fields
    } else {
        serde_json::Map::new()
    };
    let (text, guesses) = page::write(&draft, &experiment_name(folder), &names, &inline, sweep);
    staged.write("experiment.yaml", text.as_bytes())?;
    staged.write(TABLE, &target::to_csv(&draft.fleet.targets))?;
    if let Some(groups) = &draft.fleet.cluster_groups {
        staged.write(GROUPS, groups)?;
    }
    write_images(&staged, &draft.images, &names.images)?;
    let CheckedStrategy {
        warnings,
        note,
        undecided,
    } = write_strategy(&staged, &draft.fleet.strategy, &names)?;
    if !undecided.is_empty() {
        let text = page::without_acceptance(&text);
        staged.write("experiment.yaml", text.as_bytes())?;
    }
    let replaced = staged.publish()?;
    let mut files = vec!["experiment.yaml".to_owned()];
    files.extend(names.all(&draft).into_iter().map(str::to_owned));
    let mut notes = draft.fleet.notes;
    notes.extend(note);
    if let Some(kept) = replaced {
        notes.push(format!(
            "the previous experiment in {} was moved to {}",
            folder.display(),
            kept.display()
        ));
    }
    Ok(Imported {
        folder: folder.to_owned(),
        files,
        read: draft.fleet.read,
        notes,
        warnings,
        guesses,
        undecided,
    })
}

/// Returns the fields in the strategy's file that affect the rollout but are not simulated.
fn undecided(strategy: &StrategyDraft) -> Vec<DecidingField> {
    let Some(file) = &strategy.file else {
        return Vec::new();
    };
    let source = Arc::new(Source::new(file.origin.clone(), file.text.clone()));
    match read_file(strategy.product, &source) {
        Some(read) => read.deciding,
        None => Vec::new(),
    }
}

/// Writes the manifests of images to the given file names.
fn write_images(
    staged: &ExperimentFolder,
    images: &[ImportedImage],
    names: &[ImageNames],
) -> Result<(), ImportError> {
    for (image, names) in images.iter().zip(names) {
        write_kept(staged, &names.new, &image.new.bytes)?;
        if let Some(file) = &image.previous
            && let Some(name) = &names.previous
        {
            write_kept(staged, name, &file.bytes)?;
        }
    }
    Ok(())
}

/// The result of writing and checking the strategy.
struct CheckedStrategy {
    /// Settings that the product accepts but that may be surprising.
    warnings: Vec<String>,
    /// The note about fields that were removed from the strategy's file.
    note: Option<String>,
    /// Fields that affect the rollout but are not simulated.
    undecided: Vec<Problem>,
}

/// Writes the strategy's file, if there is one, and checks the experiment.
///
/// The check runs twice: first on the user's file, so that problems refer to positions in it, and then on the
/// published file, which contains only the fields that affect the rollout.
fn write_strategy(
    staged: &ExperimentFolder,
    strategy: &StrategyDraft,
    names: &FileNames,
) -> Result<CheckedStrategy, ImportError> {
    let windows = strategy.windows.as_ref().zip(names.windows.as_deref());
    if let Some((file, name)) = windows {
        staged.write(name, file.text.as_bytes())?;
    }
    let origin_of_windows = |written: &str| {
        let (file, _) = windows.filter(|(_, name)| *name == written)?;
        Some(file.origin.clone())
    };
    let (Some(file), Some(name)) = (strategy.file.as_ref(), names.strategy.as_deref()) else {
        return Ok(CheckedStrategy {
            warnings: without_accepted(staged.check(origin_of_windows)?.warnings, strategy),
            note: None,
            undecided: undecided_problems(strategy),
        });
    };
    let origin = |written: &str| match written == name {
        true => Some(file.origin.clone()),
        false => origin_of_windows(written),
    };
    staged.write(name, file.text.as_bytes())?;
    // Notes about the terms in the user's file cannot be derived from the copy.
    let mut warnings = staged.check(origin)?.notes;
    let mut published = None;
    if [ARGO_CD, ARGO_CD_PROPOSAL].contains(&strategy.product) {
        published = application_set::without_template_names(&file.text);
    }
    let published = published.as_ref().unwrap_or(&file.text);
    let source = Arc::new(Source::new(file.origin.clone(), published.clone()));
    let read = read_file(strategy.product, &source);
    let read_as = read.as_ref().map(|read| read.yaml.as_str());
    let mut left_out = Vec::new();
    if let Some((text, names)) = kept_as(name, published, read_as) {
        staged.write(name, text.as_bytes())?;
        left_out = names;
    } else {
        staged.write(name, published.as_bytes())?;
    }
    warnings.extend(staged.check(origin)?.warnings);
    let warnings = without_accepted(warnings, strategy);
    let mut note = None;
    if read.is_some() && !left_out.is_empty() {
        let fields = some_of(&left_out);
        note = Some(format!(
            "{}: left out fields that are not simulated: {fields}",
            file.origin
        ));
    }
    Ok(CheckedStrategy {
        warnings,
        note,
        undecided: undecided_problems(strategy),
    })
}

/// Removes warnings about fields that the check treats as accepted but that the user has not decided on.
fn without_accepted(mut warnings: Vec<String>, strategy: &StrategyDraft) -> Vec<String> {
    let of_app = strategy.of_app.iter().map(|found| &found.field);
    for field in strategy.undecided.iter().chain(of_app) {
        let accepted = field.accepted();
        let of_app = accepted_of_app(&names_to_accept([field])[0], &field.effect);
        warnings.retain(|warning| !warning.ends_with(&accepted) && *warning != of_app);
    }
    warnings
}

/// Returns the fields that affect the rollout but are not simulated, with their positions in the user's files.
fn undecided_problems(strategy: &StrategyDraft) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for found in &strategy.of_app {
        problems.push(found.problem.clone());
    }
    let Some(file) = &strategy.file else {
        return problems;
    };
    let source = Arc::new(Source::new(file.origin.clone(), file.text.clone()));
    for field in &strategy.undecided {
        let message = format!(
            "`{}` is not simulated and can change the answer ({})",
            field.path, field.effect
        );
        let problem = source.at(field.at.clone(), field.path.to_string(), message);
        problems.push(problem.with_help(DECIDE));
    }
    problems
}

/// Returns the fields in the strategy's file that the experiment may also contain.
fn in_place(strategy: &StrategyDraft) -> Option<serde_json::Map<String, serde_json::Value>> {
    let file = strategy.file.as_ref()?;
    let source = Arc::new(Source::new(file.origin.clone(), file.text.clone()));
    let read = read_file(strategy.product, &source)?;
    let read = Arc::new(Source::new(file.origin.clone(), read.yaml));
    let tree = tree::parse(&read).ok()?;
    let product = products::find(strategy.product)?;
    let mut fields = serde_json::Map::new();
    for (in_place, in_file) in product.in_file {
        if let Ok(path) = Path::parse(in_file)
            && let Some(value) = tree.get(&path)
        {
            fields.insert((*in_place).to_owned(), value.to_json());
        }
    }
    Some(fields)
}

/// Writes the part of a file that affects the rollout. Returns the names of the fields that were left out.
fn write_kept(
    staged: &ExperimentFolder,
    name: &str,
    bytes: &[u8],
) -> Result<Vec<String>, ImportError> {
    match str::from_utf8(bytes).ok().and_then(|text| kept(name, text)) {
        Some((text, left_out)) => staged.write(name, text.as_bytes()).map(|()| left_out),
        None => staged.write(name, bytes).map(|()| Vec::new()),
    }
}

/// The options that name a fleet.
const FLEETS: &str = "--fleet, --members, --applications, --clusters, --process or --manifest";

/// Checks that the options belong to one product.
fn check_options(sources: &ImportSources) -> Result<(), ImportError> {
    let options = given_options(sources);
    let mut fleets = options.iter().filter(|option| option.names_fleet);
    let Some(first) = fleets.next() else {
        return Err(usage(format!("no fleet is named; add one of {FLEETS}")));
    };
    if let Some(other) = fleets.find(|option| option.product != first.product) {
        return Err(usage(format!(
            "{} and {} belong to different products; import one fleet at a time",
            first.name, other.name
        )));
    }
    for option in &options {
        if !option.names_fleet && option.product != first.product {
            return Err(usage(format!(
                "{} does not belong to {}; remove it",
                option.name, first.name
            )));
        }
    }
    if sources.deployment.is_some() && sources.strategy.is_some() {
        let message = "--deployment and --strategy name the same strategy; remove one of them";
        return Err(usage(message.to_owned()));
    }
    Ok(())
}

/// Creates an error for wrong or missing options.
const fn usage(message: String) -> ImportError {
    ImportError::Usage(message)
}

/// An option that belongs to a single product.
struct ProductOption {
    name: &'static str,
    product: Importer,
    /// Whether the option names a fleet, or supplements one that does.
    names_fleet: bool,
}

/// Returns the given options that belong to a single product. Options that name a fleet come first.
fn given_options(sources: &ImportSources) -> Vec<ProductOption> {
    use Importer::{ArgoCd, CloudFoundry, Fleet, KubeFleet};
    let fleets = [
        ("--fleet", sources.fleet.is_some(), Fleet),
        ("--members", sources.members.is_some(), KubeFleet),
        ("--applications", sources.applications.is_some(), ArgoCd),
        ("--clusters", sources.clusters.is_some(), ArgoCd),
        ("--process", sources.process.is_some(), CloudFoundry),
        ("--manifest", sources.manifest.is_some(), CloudFoundry),
    ];
    let further = [
        ("--gitrepo", sources.git_repo.is_some(), Fleet),
        ("--cluster-groups", sources.cluster_groups.is_some(), Fleet),
        ("--schedules", sources.schedules.is_some(), Fleet),
        ("--project", sources.project.is_some(), ArgoCd),
        ("--placement", sources.placement.is_some(), KubeFleet),
        ("--deployment", sources.deployment.is_some(), CloudFoundry),
        ("--app", sources.app.is_some(), CloudFoundry),
    ];
    let mut given = Vec::new();
    for (options, names_fleet) in [(&fleets[..], true), (&further[..], false)] {
        for &(name, is_given, product) in options {
            if is_given {
                given.push(ProductOption {
                    name,
                    product,
                    names_fleet,
                });
            }
        }
    }
    given
}

/// The product whose exports are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Importer {
    Fleet,
    KubeFleet,
    ArgoCd,
    CloudFoundry,
}

/// Reads the exports of the product that the options indicate.
fn imported(sources: &ImportSources, texts: &mut Texts) -> OrProblems<ImportedFleet> {
    if sources.fleet.is_some() {
        fleet::import(sources, texts)
    } else if sources.members.is_some() {
        kubefleet::import(sources, texts)
    } else if sources.applications.is_some() || sources.clusters.is_some() {
        argo_cd::import(sources, texts)
    } else {
        cloud_foundry::import(sources, texts)
    }
}

/// Reads all exports.
fn draft(sources: &ImportSources, mut texts: Texts) -> OrProblems<ExperimentDraft> {
    let fleet = imported(sources, &mut texts);
    let passed_over = passed_over::notes(&texts);
    let images = images(
        &sources.images,
        &sources.previous,
        &sources.platform,
        &mut texts,
    );
    let nodes = sources
        .nodes
        .as_ref()
        .map(|path| nodes::import(path, &sources.platform, &mut texts))
        .transpose();
    let (mut fleet, images, nodes) = match (fleet, images, nodes) {
        (Ok(fleet), Ok(images), Ok(nodes)) => (fleet, images, nodes),
        (fleet, images, nodes) => {
            let problems = [fleet.err(), images.err(), nodes.err()];
            return Err(problems.into_iter().flatten().flatten().collect());
        }
    };
    fleet.notes.extend(passed_over);
    fleet.read.extend(images.iter().map(in_words));
    let mut node_facts = None;
    if let Some(imported) = nodes {
        fleet.read.extend(imported.lines);
        node_facts = Some(imported.facts);
    }
    let is_cloud = node_facts.as_ref().is_some_and(|nodes| nodes.is_cloud);
    let site = match sources.site {
        Some(site) => site,
        None => {
            let is_app = fleet.workload.is_one_instance;
            let found = site::find(&mut fleet.targets, is_cloud, is_app);
            fleet.notes.push(found.note);
            found.kind
        }
    };
    Ok(ExperimentDraft {
        fleet,
        images,
        nodes: node_facts,
        site,
    })
}

/// Describes an imported image in words.
fn in_words(image: &ImportedImage) -> String {
    let (all, new) = sizes(image);
    let layers = counted(image.new.manifest.layers.len(), "layer");
    match &image.previous {
        Some(previous) => format!(
            "{}: {layers}, {all}; {new} of them are not in {}",
            image.new.file, previous.file
        ),
        None => format!("{}: {layers}, {all}", image.new.file),
    }
}

/// Returns unique names for the files.
fn file_names(draft: &ExperimentDraft) -> FileNames {
    let mut taken = vec![
        TABLE.to_owned(),
        GROUPS.to_owned(),
        "experiment.yaml".to_owned(),
    ];
    let mut strategy = None;
    if let Some(file) = &draft.fleet.strategy.file {
        strategy = Some(own_name(&file.name, "strategy.yaml", &mut taken));
    }
    let mut images = Vec::new();
    for image in &draft.images {
        let new = own_name(&image.new.file, "new.json", &mut taken);
        let mut previous = None;
        if let Some(file) = &image.previous {
            previous = Some(own_name(&file.file, "previous.json", &mut taken));
        }
        images.push(ImageNames { new, previous });
    }
    let mut windows = None;
    if let Some(file) = &draft.fleet.strategy.windows {
        windows = Some(own_name(file.name, file.name, &mut taken));
    }
    FileNames {
        strategy,
        images,
        windows,
    }
}

/// Returns an unused name for a file, and marks it as used. `default`: the name if the file's own name is meaningless.
fn own_name(wanted: &str, default: &str, taken: &mut Vec<String>) -> String {
    let wanted = strategy::plain_name(wanted, default);
    let (stem, ending) = match wanted.rfind('.') {
        Some(at) => wanted.split_at(at),
        None => (wanted.as_str(), ""),
    };
    let name = unique(stem, ending, taken);
    taken.push(name.clone());
    name
}

#[cfg(test)]
mod tests;
