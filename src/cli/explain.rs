//! `fleetsim explain`: the effects of each strategy on this fleet, before any simulation.

mod distribution;
mod needs;
mod releases;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use clap::Args;
use fleetsim::results::grouped;
use fleetsim::scenario::{ApplicationRollout, Experiment, Scenario, Variant};
use fleetsim::units::{Bytes, counted};
use fleetsim::world::{
    ClientScope, FactorModel, ImageSpec, OtherLoad, RegistrySpec, ReleaseKind, RequestLimit,
    SizeModel, WorldSpec,
};
use itertools::Itertools;
use serde_json::Value;

use super::{ExperimentArgs, Failure, output};

#[derive(Args, Debug)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
}

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let experiment = args.experiment.load()?;
    output::out(&text(&experiment))
}

fn text(experiment: &Experiment) -> String {
    let mut text = format!("{}: {}\n", experiment.name, experiment.question);
    let mut previous: Option<&Scenario> = None;
    let mut releases_before = Vec::new();
    for variant in &experiment.variants {
        let scenario = &variant.scenario;
        // Most variants differ only in their strategy.
        if previous.is_none_or(|previous| previous.world != scenario.world) {
            text.push('\n');
            text.push_str(&fleet(scenario, experiment.target));
        }
        let releases = releases::lines(scenario);
        if releases != releases_before {
            for line in &releases {
                let _ = writeln!(text, "{line}");
            }
            releases_before = releases;
        }
        previous = Some(scenario);
        text.push('\n');
        text.push_str(&strategy(variant));
    }
    text.push_str(&in_force(&experiment.variants));
    for guess in &experiment.guesses {
        let _ = writeln!(text, "note: {}", guess.text);
    }
    text
}

/// A group of settings whose defaults differ between products.
#[derive(Clone, Copy)]
enum ProductSettings {
    Controller,
    Agent,
    CrashBackoff,
}

impl ProductSettings {
    const ALL: [Self; 3] = [Self::Controller, Self::Agent, Self::CrashBackoff];

    /// Returns the group's field name in an experiment.
    const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Agent => "agent",
            Self::CrashBackoff => "crashBackoff",
        }
    }

    /// Returns the group's values in force on one line.
    fn values(self, scenario: &Scenario) -> String {
        let values = match self {
            Self::Controller => serde_json::to_value(&scenario.control_loop),
            Self::Agent => serde_json::to_value(&scenario.platform.agent),
            Self::CrashBackoff => serde_json::to_value(scenario.platform.restarts),
        };
        flow(&values.expect("settings are plain values"))
    }
}

/// Returns the settings in force whose defaults differ between products, with the strategies that use them.
fn in_force(variants: &[Variant]) -> String {
    let mut text = String::from("\nsettings in force\n");
    for settings in ProductSettings::ALL {
        let mut of_variants = Vec::new();
        for variant in variants {
            of_variants.push((settings.values(&variant.scenario), &variant.strategy));
        }
        let found = grouped(of_variants);
        let is_one = found.len() == 1;
        for (values, strategies) in found {
            let of = if is_one {
                "every strategy".to_owned()
            } else {
                strategies.iter().unique().join(", ")
            };
            let heading = lines(&format!("{} of {of}", settings.name()), 4);
            let _ = writeln!(text, "  {heading}\n    {}", lines(&values, 6));
        }
    }
    text
}

/// Summarises the fleet and the release in a few numbers.
fn fleet(scenario: &Scenario, target: &str) -> String {
    let world = &scenario.world;
    let mut nodes = 0.0;
    let mut about = "";
    for (at, cluster) in world.clusters.iter().enumerate() {
        nodes += world.mean_nodes_at_start(at);
        if !matches!(cluster.nodes, FactorModel::Constant(_)) {
            about = "about ";
        }
    }
    let nodes = nodes.round() as u64;
    let targets = targets(scenario, target);
    let egress = world.registry.egress;
    let mut text = format!("fleet: {targets}, {about}{nodes} nodes; registry egress {egress}\n");
    for limit in registry_limits(&world.registry) {
        let _ = writeln!(text, "registry: {limit}");
    }
    let mut first = 0;
    for alike in scenario.applications.chunk_by(has_images_alike) {
        text.push_str(&images(scenario, first..first + alike.len()));
        first += alike.len();
    }
    for line in distribution::lines(world) {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&needs::table(world));
    text
}

/// Returns the number of targets in words; of several applications, also the numbers of applications and clusters.
fn targets(scenario: &Scenario, target: &str) -> String {
    let targets = scenario.targets();
    if !scenario.has_several_applications() {
        return format!("{targets} {target}s");
    }
    let applications = scenario.applications.len();
    let clusters = scenario.world.clusters.len();
    format!("{targets} {target}s of {applications} applications on {clusters} clusters")
}

/// Returns whether two applications go to the same clusters, and have images with the same sizes of layers.
fn has_images_alike(one: &ApplicationRollout, other: &ApplicationRollout) -> bool {
    let (Some(one), Some(other)) = (&one.view, &other.view) else {
        return false;
    };
    one.clusters == other.clusters
        && one.applications[0].release == other.applications[0].release
        && layer_sizes(one) == layer_sizes(other)
}

/// Returns the sizes of the layers of each image of a world.
fn layer_sizes(world: &WorldSpec) -> Vec<Vec<&SizeModel>> {
    let mut sizes = Vec::new();
    for image in &world.images {
        sizes.push(image.layers.iter().map(|layer| &layer.compressed).collect());
    }
    sizes
}

/// Returns the sizes of the images of these applications, which are alike.
fn images(scenario: &Scenario, alike: Range<usize>) -> String {
    let view = scenario.fleet_of(&scenario.applications[alike.start]).world;
    let mut pulling = 0.0;
    for at in 0..view.clusters.len() {
        pulling += view.mean_nodes_with_pods(at);
    }
    let mut of_applications = Vec::new();
    for at in alike {
        of_applications.push(images_of(scenario, at));
    }
    let mut text = String::new();
    for nth in 0..of_applications[0].len() {
        let mut alike_images = Vec::new();
        for images in &of_applications {
            alike_images.push(images[nth]);
        }
        text.push_str(&image(&alike_images, pulling.round() as u64));
    }
    text
}

/// Returns the images of an application in the order of its workloads. An only application has all images of the world.
fn images_of(scenario: &Scenario, application: usize) -> Vec<ReleasedImage<'_>> {
    let world = &scenario.world;
    if !scenario.has_several_applications() {
        return released_images(world);
    }
    let application = &world.applications[application];
    let used = application.workloads.iter().map(|workload| workload.image);
    let mut images = Vec::new();
    for at in used.unique() {
        images.push(ReleasedImage {
            image: &world.images[at],
            release: application.release,
        });
    }
    images
}

/// An image, and whether its previous revision runs when the rollout starts.
#[derive(Clone, Copy)]
struct ReleasedImage<'w> {
    image: &'w ImageSpec,
    release: ReleaseKind,
}

/// Returns all images of a world.
fn released_images(world: &WorldSpec) -> Vec<ReleasedImage<'_>> {
    let mut images = Vec::with_capacity(world.images.len());
    for image in &world.images {
        let release = world.applications[0].release;
        images.push(ReleasedImage { image, release });
    }
    for application in &world.applications {
        for workload in &application.workloads {
            images[workload.image].release = application.release;
        }
    }
    images
}

/// Returns the size of images that are alike, and how much all nodes pull.
fn image(alike: &[ReleasedImage<'_>], nodes: u64) -> String {
    let ReleasedImage { image, release } = alike[0];
    let mut is_drawn = false;
    let mut total = Bytes::ZERO;
    for layer in image.distinct_layers() {
        total += layer.compressed.typical();
        is_drawn |= !matches!(layer.compressed, SizeModel::Constant(_));
    }
    let last = alike[alike.len() - 1].image;
    let (name, each) = if alike.len() > 1 {
        (format!("{} to {}", image.name, last.name), " each")
    } else {
        (image.name.clone(), "")
    };
    let layers = counted(image.layers.len(), "layer");
    let new = new_to_node(&alike[..1]);
    let runs_previous = if release == ReleaseKind::Update {
        " that runs the previous revision"
    } else {
        ""
    };
    let drawn = if is_drawn {
        " (sizes are drawn; these are typical values)"
    } else {
        ""
    };
    let all = Bytes::new(new_to_node(alike).get() * nodes);
    format!(
        "image {name}: {layers}, {total}{each}; {new} of it new to a node{runs_previous}{drawn}\n  \
         if every node pulls once: {all}\n"
    )
}

/// Returns the bytes that a node downloads for images. It has the previous revisions if there are any, and downloads a
/// layer that images share once.
fn new_to_node(images: &[ReleasedImage<'_>]) -> Bytes {
    let mut downloaded = BTreeSet::new();
    let mut new = Bytes::ZERO;
    for ReleasedImage { image, release } in images {
        for layer in &image.layers {
            let is_held = *release == ReleaseKind::Update
                && image.previous.iter().any(|old| old.digest == layer.digest);
            if !is_held && downloaded.insert(&layer.digest) {
                new += layer.compressed.typical();
            }
        }
    }
    new
}

/// Returns the limits of requests to a registry, including those of a preset, but not its egress.
fn registry_limits(registry: &RegistrySpec) -> Vec<String> {
    let mut limits = Vec::new();
    for (name, host) in [
        ("API", &registry.api),
        ("tokens", &registry.token),
        ("blobs", &registry.blobs.host),
    ] {
        limits.extend(request_limit(name, host.request_limit));
        if let Some(limit) = host.connections {
            limits.push(format!("{name}: {} connections", limit.max));
        }
        if let Some(workers) = host.workers {
            limits.push(format!("{name}: {workers} workers"));
        }
    }
    limits.extend(request_limit("manifests", registry.manifest_limit));
    limits.extend(request_limit("requests for blobs", registry.blob_limit));
    if let Some(quota) = registry.pull_quota {
        let whose = owner_words(quota.scope);
        limits.push(format!("{} pulls in {}{whose}", quota.pulls, quota.per));
    }
    if !registry.blobs.redirect {
        limits.push("no redirect: the API sends the blobs".to_owned());
    }
    if let Some(burst) = registry.burst {
        limits.push(format!("burst: {} above {}", burst.bytes, burst.baseline));
    }
    if let Some(load) = &registry.other_load {
        limits.push(other_load(load));
    }
    for window in &registry.windows {
        let state = if window.down {
            "down".to_owned()
        } else {
            format!("egress {}, requests {}", window.egress, window.requests)
        };
        limits.push(format!(
            "{state} from {} to {}",
            window.begins(),
            window.ends()
        ));
    }
    limits
}

fn request_limit(name: &str, limit: Option<RequestLimit>) -> Option<String> {
    let RequestLimit {
        rate, burst, scope, ..
    } = limit?;
    let whose = owner_words(scope);
    Some(format!(
        "{name}: {:.1} requests/s{whose}, {burst} at once",
        rate.get()
    ))
}

const fn owner_words(scope: ClientScope) -> &'static str {
    match scope {
        ClientScope::Account => "",
        ClientScope::Address => " for each cluster's address",
        ClientScope::Node => " for each node's address",
    }
}

fn other_load(load: &OtherLoad) -> String {
    match load {
        OtherLoad::Pulls(pulls) => format!("pulls of others: {} on average", pulls.mean()),
        OtherLoad::Constant(rate) => format!("other load: {rate}"),
        OtherLoad::Daily(_) | OtherLoad::Series(_) => format!("other load: up to {}", load.peak()),
    }
}

fn strategy(variant: &Variant) -> String {
    let scenario = &variant.scenario;
    let mut text = String::new();
    for alike in scenario.applications.chunk_by(is_explained_alike) {
        let application = &alike[0];
        let fleet = scenario.fleet_of(application);
        let explained = application.strategy.explain(fleet);
        let _ = match alike {
            [one] if one.name.is_empty() => {
                writeln!(text, "{}: {}", variant.label, explained.summary)
            }
            [one] => writeln!(
                text,
                "{}, {}: {}",
                variant.label, one.name, explained.summary
            ),
            [first, .., last] => {
                let names = format!("{} to {}", first.name, last.name);
                writeln!(text, "{}, {names}: {}", variant.label, explained.summary)
            }
            [] => Ok(()),
        };
        for line in &explained.lines {
            let _ = writeln!(text, "  {line}");
        }
        for warning in &explained.warnings {
            let _ = writeln!(text, "  note: {warning}");
        }
        for note in &application.file_notes {
            let _ = writeln!(text, "  {}", lines(&format!("note: {note}"), 4));
        }
    }
    text
}

/// Returns whether two applications have one explanation: the same strategy and the same clusters.
fn is_explained_alike(one: &ApplicationRollout, other: &ApplicationRollout) -> bool {
    let are_clusters_alike = match (&one.view, &other.view) {
        (None, None) => true,
        (Some(one), Some(other)) => one.clusters == other.clusters,
        _ => false,
    };
    are_clusters_alike && *one.strategy == *other.strategy
}

/// Wraps a list to the width of a terminal, with indented continuation lines.
fn lines(list: &str, indent: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for part in list.split_inclusive(", ") {
        if column + part.len() > 100 {
            text.truncate(text.trim_end().len());
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        }
        text.push_str(part);
        column += part.len();
    }
    text
}

/// Returns settings in force on one line, as an experiment would write them. Settings without a value are left out.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut parts = Vec::new();
            for (name, value) in fields {
                if value.is_null() {
                    continue;
                }
                parts.push(if name.starts_with('~') {
                    // The settings of this nested group are written at the same level as the others.
                    flow(value).trim_matches(['{', '}']).to_owned()
                } else {
                    format!("{name}: {}", flow(value))
                });
            }
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).join(", ")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
