//! `fleetsim explain`: the effects of each strategy on this fleet, before any simulation.

mod distribution;
mod needs;

use std::fmt::Write as _;

use clap::Args;
use fleetsim::results::grouped;
use fleetsim::scenario::{Experiment, Scenario, Variant};
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
    for variant in &experiment.variants {
        let scenario = &variant.scenario;
        // Most variants differ only in their strategy.
        if previous.is_none_or(|previous| previous.world != scenario.world) {
            text.push('\n');
            text.push_str(&fleet(scenario, experiment.target));
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
    let mut pulling = 0.0;
    let mut about = "";
    for (at, cluster) in world.clusters.iter().enumerate() {
        nodes += world.mean_nodes_at_start(at);
        pulling += world.mean_nodes_with_pods(at);
        if !matches!(cluster.nodes, FactorModel::Constant(_)) {
            about = "about ";
        }
    }
    let nodes = nodes.round() as u64;
    let targets = world.clusters.len();
    let egress = world.registry.egress;
    let mut text =
        format!("fleet: {targets} {target}s, {about}{nodes} nodes; registry egress {egress}\n");
    for limit in registry_limits(&world.registry) {
        let _ = writeln!(text, "registry: {limit}");
    }
    for spec in &world.images {
        text.push_str(&image(world, spec, pulling.round() as u64));
    }
    for line in distribution::lines(world) {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&needs::table(world));
    text
}

/// Returns the sizes of an image, and the minimum duration of a pull.
fn image(world: &WorldSpec, image: &ImageSpec, nodes: u64) -> String {
    let mut is_drawn = false;
    let mut total = Bytes::ZERO;
    for layer in image.distinct_layers() {
        total += layer.compressed.typical();
        is_drawn |= !matches!(layer.compressed, SizeModel::Constant(_));
    }
    let new = new_to_node(world, image);
    let all = Bytes::new(new.get() * nodes);
    format!(
        "image {}: {}, {total}; {new} of it new to a node{}{}\n  if every node pulls once: {all}\n",
        image.name,
        counted(image.layers.len(), "layer"),
        if world.release == ReleaseKind::Update {
            " that runs the previous revision"
        } else {
            ""
        },
        if is_drawn {
            " (sizes are drawn; these are typical values)"
        } else {
            ""
        },
    )
}

/// Returns the bytes of an image that a node must download. The node has the previous revision if there is one.
fn new_to_node(world: &WorldSpec, image: &ImageSpec) -> Bytes {
    let mut new = Bytes::ZERO;
    for layer in image.distinct_layers() {
        let is_held = world.release == ReleaseKind::Update
            && image.previous.iter().any(|old| old.digest == layer.digest);
        if !is_held {
            new += layer.compressed.typical();
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
    let explained = variant.scenario.strategy.explain(variant.scenario.fleet());
    let mut text = format!("{}: {}\n", variant.label, explained.summary);
    for line in &explained.lines {
        let _ = writeln!(text, "  {line}");
    }
    for warning in &explained.warnings {
        let _ = writeln!(text, "  note: {warning}");
    }
    for note in &variant.scenario.file_notes {
        let _ = writeln!(text, "  {}", lines(&format!("note: {note}"), 4));
    }
    text
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
