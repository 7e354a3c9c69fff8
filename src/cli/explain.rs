//! `fleetsim explain`: what each strategy would do to this fleet, before any simulation.

mod argo_cd;
mod cloud_foundry;
mod distribution;

use std::fmt::Write as _;

use clap::Args;
use fleetsim::rollout::rancher_fleet::{BundleExplanation, RolloutStrategy, RuleSet, explain as explain_fleet};
use fleetsim::scenario::{Experiment, Scenario, Strategy, Variant};
use fleetsim::units::{Bytes, SimDuration};
use fleetsim::world::{CountOrPercent, RegistrySpec, ReleaseKind, RequestLimit, SizeModel, Trouble};

use super::{ExperimentArgs, Failure, explain_kubefleet, output};

/// Partitions listed of one strategy before the rest is counted.
const PARTITIONS_SHOWN: usize = 12;

#[derive(Args, Debug)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
}

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let experiment = args.experiment.load()?;
    output::out(&text(&experiment));
    Ok(())
}

fn text(experiment: &Experiment) -> String {
    let mut text = format!("{}: {}\n", experiment.name, experiment.question);
    let mut previous: Option<&Scenario> = None;
    for variant in &experiment.variants {
        let scenario = &variant.scenario;
        // Most variants differ in their strategy alone.
        if previous.is_none_or(|previous| previous.world != scenario.world) {
            text.push('\n');
            text.push_str(&fleet(scenario));
        }
        previous = Some(scenario);
        text.push('\n');
        text.push_str(&strategy(variant));
    }
    text
}

/// The fleet and the release in a few numbers.
fn fleet(scenario: &Scenario) -> String {
    let world = &scenario.world;
    let nodes: u64 = world.clusters.iter().map(|cluster| u64::from(cluster.nodes)).sum();
    let update = world.release == ReleaseKind::Update;
    let mut text =
        format!("fleet: {} clusters, {nodes} nodes; registry egress {}\n", world.clusters.len(), world.registry.egress);
    for limit in registry_limits(&world.registry) {
        let _ = writeln!(text, "registry: {limit}");
    }
    for image in &world.images {
        let is_drawn = image.layers.iter().any(|layer| !matches!(layer.compressed, SizeModel::Constant(_)));
        let total: Bytes = image.layers.iter().map(|layer| layer.compressed.typical()).sum();
        let new: Bytes = image
            .layers
            .iter()
            .filter(|layer| !update || image.previous.iter().all(|old| old.digest != layer.digest))
            .map(|layer| layer.compressed.typical())
            .sum();
        let all = Bytes::new(new.get() * nodes);
        let floor = all.time_at(world.registry_at(image.registry).egress).unwrap_or(SimDuration::MAX);
        let _ = writeln!(
            text,
            "image {}: {} layers, {total}; {new} of it new to a node{}; {all} if every node pulls it, at least {floor} \
             of its registry's link{}",
            image.name,
            image.layers.len(),
            if update { " that runs the previous revision" } else { "" },
            if is_drawn { " (sizes are drawn: these are for typical ones)" } else { "" },
        );
    }
    text.push_str(&distribution::text(world));
    text
}

/// What bounds requests to a registry beside its egress, also what a preset sets.
fn registry_limits(registry: &RegistrySpec) -> Vec<String> {
    let mut limits = Vec::new();
    let bucket = |name: &str, limit: Option<RequestLimit>| {
        limit.map(|limit| format!("{name}: {:.1} requests/s, {} at once", limit.rate.get(), limit.burst))
    };
    for (name, host) in [("API", &registry.api), ("tokens", &registry.token), ("blobs", &registry.blobs)] {
        limits.extend(bucket(name, host.request_limit));
        limits.extend(host.connections.map(|limit| format!("{name}: {} connections", limit.max)));
        limits.extend(host.workers.map(|workers| format!("{name}: {workers} workers")));
    }
    limits.extend(bucket("manifests", registry.manifest_limit));
    limits.extend(bucket("requests for blobs", registry.blob_limit));
    limits.extend(registry.pull_quota.map(|quota| format!("{} pulls in {}", quota.pulls, quota.per)));
    if !registry.redirect {
        limits.push("no redirect: the API sends the blobs".to_owned());
    }
    limits.extend(registry.windows.iter().map(|window| {
        let what = match window.trouble {
            Trouble::Down => "down".to_owned(),
            Trouble::Brownout { egress, requests } => format!("egress {egress}, requests {requests}"),
        };
        format!("{what} from {} to {}", window.from, window.to)
    }));
    limits
}

fn strategy(variant: &Variant) -> String {
    let scenario = &variant.scenario;
    let clusters = scenario.world.clusters.len();
    let label = &variant.label;
    match &scenario.strategy {
        Strategy::RancherFleet { rules, strategy } => rancher_fleet(label, scenario, *rules, strategy),
        Strategy::CloudFoundry { deployment } => cloud_foundry::text(label, scenario, deployment),
        Strategy::ArgoCd { spec, options, release } => {
            argo_cd::application_set(label, scenario, spec, *options, *release)
        }
        Strategy::ArgoCdProposal { strategy } => argo_cd::proposal(label, scenario, strategy),
        Strategy::KubeFleetStaged { rules, strategy, approvals, .. } => {
            explain_kubefleet::staged(label, scenario, *rules, strategy, approvals.as_ref())
        }
        Strategy::KubeFleetRolling { rules, policy, config, .. } => {
            explain_kubefleet::rolling(label, scenario, *rules, *policy, config)
        }
        Strategy::AllAtOnce {} => format!("{label}: all {clusters} clusters in the first pass\n"),
        Strategy::OneByOne {} => format!("{label}: {clusters} clusters, each after the one before is ready\n"),
        Strategy::Batches { size } => {
            let size = match *size {
                CountOrPercent::Count(count) => count as usize,
                CountOrPercent::Percent(percent) => (clusters * percent as usize / 100).max(1),
            };
            let batches = clusters.div_ceil(size);
            format!("{label}: {batches} batches of {size} clusters, each after the one before is ready\n")
        }
    }
}

fn rancher_fleet(label: &str, scenario: &Scenario, rules: RuleSet, strategy: &RolloutStrategy) -> String {
    let explained =
        explain_fleet(strategy, rules, &scenario.fleet_clusters()).expect("a checked strategy makes partitions");
    let rules = match rules {
        RuleSet::Shipped => "the rules that ship",
        RuleSet::Documented => "the rules that its document describes",
    };
    let mut text = format!("{label}: Rancher Fleet, by {rules}\n");
    limits(&mut text, &explained);
    partitions(&mut text, &explained);
    if !explained.unpartitioned.is_empty() {
        let _ = writeln!(text, "  in no partition: {}", some_of(&explained.unpartitioned));
    }
    for warning in &explained.warnings {
        let _ = writeln!(text, "  note: {warning}");
    }
    text
}

fn limits(text: &mut String, explained: &BundleExplanation) {
    let number = |limit: Option<i64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let _ = writeln!(
        text,
        "  maxUnavailable {} of {} clusters; maxUnavailablePartitions {}; {}",
        number(explained.max_unavailable),
        explained.targets,
        explained.max_unavailable_partitions,
        match (explained.max_new, explained.batch) {
            (_, Some(batch)) => format!("batches of up to {batch} in a partition"),
            (max_new, None) => format!("maxNew {} first deployments a pass", number(max_new)),
        },
    );
}

fn partitions(text: &mut String, explained: &BundleExplanation) {
    let width = explained.partitions.iter().map(|partition| partition.name.chars().count()).max().unwrap_or(0).max(9);
    let _ = writeln!(
        text,
        "  {:width$}  {:>8}  {:>14}  {:>14}  first clusters",
        "partition", "clusters", "maxUnavailable", "next opens at"
    );
    for partition in explained.partitions.iter().take(PARTITIONS_SHOWN) {
        let _ = writeln!(
            text,
            "  {:width$}  {:>8}  {:>14}  {:>14}  {}",
            partition.name,
            partition.count,
            partition.max_unavailable,
            format!("<= {} behind", partition.gate),
            partition.first.join(", "),
        );
    }
    let more = explained.partitions.len().saturating_sub(PARTITIONS_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "  ... and {more} more partitions");
    }
}

fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
