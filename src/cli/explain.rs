//! `fleetsim explain`: what each strategy would do to this fleet, before any simulation.

mod distribution;

use std::fmt::Write as _;

use clap::Args;
use fleetsim::results::grouped;
use fleetsim::scenario::{Experiment, Scenario, Variant};
use fleetsim::units::{Bytes, BytesPerSec, SimDuration, counted};
use fleetsim::world::{
    ClusterSpec, FactorModel, ImageSpec, LayerSpec, OtherLoad, RegistrySpec, ReleaseKind,
    RequestLimit, SizeModel, WorldSpec,
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
        // Most variants differ in their strategy alone.
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

/// The settings that have defaults of their own for each product, as they are in force, with the strategies they are
/// of.
fn in_force(variants: &[Variant]) -> String {
    let mut text = String::from("\nsettings in force\n");
    for name in ["controller", "agent", "crashBackoff"] {
        let values = |Variant {
                          scenario, strategy, ..
                      }: &Variant| {
            let values = match name {
                "controller" => serde_json::to_value(&scenario.control_loop),
                "agent" => serde_json::to_value(&scenario.platform.agent),
                _ => serde_json::to_value(scenario.platform.restarts),
            };
            (
                flow(&values.expect("settings are plain values")),
                strategy.clone(),
            )
        };
        let found = grouped(variants.iter().map(values));
        let is_one = found.len() == 1;
        for (values, strategies) in found {
            let of = if is_one {
                "every strategy".to_owned()
            } else {
                strategies.iter().unique().join(", ")
            };
            let _ = writeln!(
                text,
                "  {}\n    {}",
                lines(&format!("{name} of {of}"), 4),
                lines(&values, 6)
            );
        }
    }
    text
}

/// The fleet and the release in a few numbers.
fn fleet(scenario: &Scenario, target: &str) -> String {
    let world = &scenario.world;
    let nodes = world
        .clusters
        .iter()
        .map(|cluster| cluster.nodes.mean())
        .sum::<f64>()
        .round() as u64;
    let is_drawn = |cluster: &ClusterSpec| !matches!(cluster.nodes, FactorModel::Constant(_));
    let about = if world.clusters.iter().any(is_drawn) {
        "about "
    } else {
        ""
    };
    let (targets, egress) = (world.clusters.len(), world.registry.egress);
    let mut text =
        format!("fleet: {targets} {target}s, {about}{nodes} nodes; registry egress {egress}\n");
    for limit in registry_limits(&world.registry) {
        let _ = writeln!(text, "registry: {limit}");
    }
    for spec in &world.images {
        text.push_str(&image(world, spec, nodes));
    }
    distribution::lines(world)
        .iter()
        .for_each(|line| text.extend([line, "\n"]));
    text
}

/// The sizes of an image, and what pulling it takes at least.
fn image(world: &WorldSpec, image: &ImageSpec, nodes: u64) -> String {
    let is_drawn = image
        .layers
        .iter()
        .any(|layer| !matches!(layer.compressed, SizeModel::Constant(_)));
    let total: Bytes = image
        .layers
        .iter()
        .map(|layer| layer.compressed.typical())
        .sum();
    let new = new_to_node(world, image);
    let all = Bytes::new(new.get() * nodes);
    let egress = world.registry_at(image.registry).egress;
    let floor = match egress == BytesPerSec::UNLIMITED {
        true => String::new(),
        false => format!(
            ", which takes its registry's link {}",
            all.time_at(egress).unwrap_or(SimDuration::MAX)
        ),
    };
    format!(
        "image {}: {}, {total}; {new} of it new to a node{}{}\n  one pull by every node: {all}{floor}; \
             failed pulls add to it, caches and peers take from it\n",
        image.name,
        counted(image.layers.len(), "layer"),
        if world.release == ReleaseKind::Update {
            " that runs the previous revision"
        } else {
            ""
        },
        if is_drawn {
            " (sizes are drawn: these are for typical ones)"
        } else {
            ""
        },
    )
}

/// The bytes of an image that a node must fetch which runs the previous revision, if there is one.
fn new_to_node(world: &WorldSpec, image: &ImageSpec) -> Bytes {
    let is_held = |layer: &LayerSpec| image.previous.iter().any(|old| old.digest == layer.digest);
    let is_update = world.release == ReleaseKind::Update;
    let layers = image
        .layers
        .iter()
        .filter(|layer| !is_update || !is_held(layer));
    layers.map(|layer| layer.compressed.typical()).sum()
}

/// Limits of requests to a registry beside its egress, including those of a preset.
fn registry_limits(registry: &RegistrySpec) -> Vec<String> {
    let mut limits = Vec::new();
    let bucket = |name: &str, limit: Option<RequestLimit>| {
        limit.map(|limit| {
            format!(
                "{name}: {:.1} requests/s, {} at once",
                limit.rate.get(),
                limit.burst
            )
        })
    };
    for (name, host) in [
        ("API", &registry.api),
        ("tokens", &registry.token),
        ("blobs", &registry.blobs.host),
    ] {
        limits.extend(bucket(name, host.request_limit));
        limits.extend(
            host.connections
                .map(|limit| format!("{name}: {} connections", limit.max)),
        );
        limits.extend(
            host.workers
                .map(|workers| format!("{name}: {workers} workers")),
        );
    }
    limits.extend(bucket("manifests", registry.manifest_limit));
    limits.extend(bucket("requests for blobs", registry.blob_limit));
    limits.extend(
        registry
            .pull_quota
            .map(|quota| format!("{} pulls in {}", quota.pulls, quota.per)),
    );
    if !registry.blobs.redirect {
        limits.push("no redirect: the API sends the blobs".to_owned());
    }
    limits.extend(
        registry
            .burst
            .map(|burst| format!("burst: {} above {}", burst.bytes, burst.baseline)),
    );
    limits.extend(registry.other_load.as_ref().map(|load| match load {
        OtherLoad::Pulls(pulls) => format!("pulls of others: {} on average", pulls.mean()),
        OtherLoad::Constant(rate) => format!("other load: {rate}"),
        OtherLoad::Daily(_) | OtherLoad::Series(_) => format!("other load: up to {}", load.peak()),
    }));
    limits.extend(registry.windows.iter().map(|window| {
        let what = match window.down {
            true => "down".to_owned(),
            false => format!("egress {}, requests {}", window.egress, window.requests),
        };
        format!("{what} from {} to {}", window.begins(), window.ends())
    }));
    limits
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
    text
}

/// A list in lines that fit a terminal, the later ones indented.
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

/// Settings in force on one line, as an experiment would write them; those without a value are left out.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> = set
                .map(|(name, value)| match name.strip_prefix('~') {
                    // A group of settings that are written beside the others.
                    Some(_) => flow(value).trim_matches(['{', '}']).to_owned(),
                    None => format!("{name}: {}", flow(value)),
                })
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(flow).collect::<Vec<_>>().join(", ")
        ),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
