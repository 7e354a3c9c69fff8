//! Tests of values that an experiment sweeps.

use super::*;
use crate::products::rancher_fleet::RancherFleetStrategy;
use crate::rollout::rancher_fleet::IntOrString;
use crate::units::{BytesPerSec, Share, SimDuration};
use crate::world::{ClusterSpec, DistributionKind};

#[test]
fn a_sweep_of_the_fleets_size_keeps_the_clusters_of_the_smaller_fleet() {
    let text = SKETCH
        .replace("fleet:\n", "clusters: 100\nfleet:\n")
        .replace("store-{0001..0900}\"", "store-{0001..}\", clusters: 90%")
        .replace("dc-{001..100}\"", "dc-{001..}\", clusters: 10%")
        .replace(
            "sweep: {strategies.defaults.rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 50%, 100%]",
            "sweep: {clusters: [20, 1000]",
        );
    let experiment = load_text(&text).expect("a good experiment");
    let labels: Vec<&str> = experiment
        .variants
        .iter()
        .map(|variant| variant.label.as_str())
        .collect();
    assert_eq!(
        labels,
        [
            "defaults clusters=20",
            "defaults clusters=1000",
            "from-git clusters=20",
            "from-git clusters=1000",
            "bound clusters=20",
            "bound clusters=1000"
        ]
    );
    let [small, large] = [0, 1].map(|at| &experiment.variants[at].scenario.world.clusters);
    let of = |clusters: &[ClusterSpec], kind: &str| {
        clusters
            .iter()
            .filter(|cluster| cluster.name.starts_with(kind))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!((of(small, "store-").len(), of(small, "dc-").len()), (18, 2));
    assert_eq!(
        (of(large, "store-").len(), of(large, "dc-").len()),
        (900, 100)
    );
    // Random numbers depend on names, so the same clusters have the same draws in both fleets.
    for kind in ["store-", "dc-"] {
        assert!(of(large, kind).starts_with(&of(small, kind)));
    }
    let world = |text: &str| {
        let mut world = (*load_text(text).expect("a good experiment").variants[0]
            .scenario
            .world)
            .clone();
        // A group is identified by its name as written, before ranges are expanded.
        world
            .clusters
            .iter_mut()
            .for_each(|cluster| cluster.group.clear());
        world
    };
    let is_equal = world(&text.replace("[20, 1000]", "[1000]")) == world(SKETCH);
    assert!(is_equal, "as if each name were written with its end");
}

#[test]
fn one_group_may_be_swept_by_itself() {
    let text = SKETCH
        .replace("store-{0001..0900}\"", "store-{0001..}\", clusters: 900")
        .replace(
            "sweep: {strategies.defaults.rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 50%, 100%]",
            "sweep: {fleet.0.clusters: [0, 200]",
        );
    let experiment = load_text(&text).expect("a good experiment");
    let sizes: Vec<(&str, usize)> = experiment.variants[..2]
        .iter()
        .map(|variant| {
            (
                variant.label.as_str(),
                variant.scenario.world.clusters.len(),
            )
        })
        .collect();
    assert_eq!(
        sizes,
        [("defaults clusters=0", 100), ("defaults clusters=200", 300)]
    );
}

#[test]
fn a_swept_setting_of_the_world_gives_a_world_for_each_value() {
    let text = SKETCH.replace(
        "sweep: {",
        "sweep: {registry.egress: [1 Gbit/s, 2 Gbit/s], faults.offline.share: [0%, 10%], ",
    );
    let experiment = load_text(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.variants.len(), 4 * (6 + 1 + 1));
    let found = experiment
        .variants
        .iter()
        .find(|v| v.label == "bound egress=2 Gbit/s; share=0%")
        .expect("a variant");
    assert_eq!(
        found.scenario.world.registry.egress,
        BytesPerSec::from_gbit(2.0)
    );
    assert_eq!(found.scenario.world.faults.offline.share, Share::NONE);
    let labels: std::collections::BTreeSet<&str> = experiment
        .variants
        .iter()
        .map(|v| v.label.as_str())
        .collect();
    assert_eq!(labels.len(), experiment.variants.len(), "labels are unique");
}

#[test]
fn distribution_methods_are_chosen_by_key_and_can_be_swept() {
    let text = SKETCH
        .replace("registry: {egress: 10 Gbit/s,", "regions: [{name: eu, bandwidth: 1 Gbit/s}]\nregistry: {cdn: {}, egress: 10 Gbit/s,")
        .replace("nodes: 3, downlink", "nodes: 3, region: eu, downlink")
        .replace(
            "sweep: {strategies.defaults.rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 50%, 100%]}",
            "mirrors: [{name: near, region: eu, holds: [shop]}]\ndistribution: {direct: {}}\nsweep:\n  distribution:\n    - direct: {}\n    - \
             cache: {per: region, coalesce: stream, upstreamConnections: 100}\n    - spegel: {peerConnection: unlimited}\n    - \
             dragonfly: {sourceRate: 100 MB/s}\n    - kraken: {seeds: 5}\n    - lazy: {via: {cache: {}}}\n    - prePull: {clusters: \
             10%, releaseAfter: 2h, via: {lazy: {via: {kraken: {}}}}}\n",
        );
    let experiment = load_text(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let worlds: Vec<_> = experiment
        .variants
        .iter()
        .filter(|variant| variant.strategy == "bound")
        .map(|variant| variant.scenario.world.clone())
        .collect();
    let named = |way: &DistributionKind| match way {
        DistributionKind::Direct => "direct",
        DistributionKind::Cache(_) => "cache",
        DistributionKind::Cells(_) => "cells",
        DistributionKind::Spegel(_) => "spegel",
        DistributionKind::Pieces(_) => "pieces",
    };
    let ways: Vec<&str> = worlds
        .iter()
        .map(|world| named(&world.distribution.kind))
        .collect();
    assert_eq!(
        ways,
        [
            "direct", "cache", "spegel", "pieces", "pieces", "cache", "pieces"
        ]
    );
    let lazy: Vec<bool> = worlds
        .iter()
        .map(|world| world.distribution.lazy.is_some())
        .collect();
    assert_eq!(lazy, [false, false, false, false, false, true, true]);
    let DistributionKind::Pieces(kraken) = &worlds[4].distribution.kind else {
        panic!("kraken passes pieces on")
    };
    assert_eq!(
        (kraken.seeds, kraken.peer_in),
        (5, BytesPerSec::new(300e6)),
        "Kraken's own numbers"
    );
    let pre_pull = worlds[6].distribution.pre_pull.expect("a pre-pull");
    assert_eq!(pre_pull.group(1_000), 100, "a tenth of 1 000");
    assert_eq!(pre_pull.release_after, Some(SimDuration::from_hours(2)));
    assert_eq!(worlds[0].distribution.mirrors[0].holds, [0]);
    assert_eq!(
        worlds[0].registry.per_connection, None,
        "a content delivery network says itself what connections carry"
    );
}

#[test]
fn a_sweep_reaches_into_products_files_by_number_and_by_name() {
    let folder = folder();
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write(
        "fleet.yaml",
        "rolloutStrategy:\n  maxUnavailable: 15%\n  partitions:\n    - {name: canary, clusterSelector: {matchLabels: {env: staging}}}\n    \
         - {name: rest, maxUnavailable: 20%, clusterSelector: {matchLabels: {env: prod}}}\n",
    );
    write(
        "set.yaml",
        "kind: ApplicationSet\nspec:\n  generators: [{clusters: {}}]\n  strategy:\n    type: RollingSync\n    rollingSync:\n      steps:\n        \
         - {matchExpressions: [{key: env, operator: In, values: [staging]}]}\n        \
         - {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 5%}\n",
    );
    write(
        "stages.yaml",
        "kind: ClusterStagedUpdateStrategy\nmetadata: {name: s}\nspec:\n  stages:\n    \
         - {name: canary, labelSelector: {matchLabels: {env: staging}}}\n    \
         - {name: production, labelSelector: {matchLabels: {env: prod}}, maxConcurrency: 10%}\n",
    );
    let head = SKETCH
        .split("strategies:")
        .next()
        .expect("a head")
        .replace("  - {name: \"dc-", "  - {region: a, name: \"dc-")
        .replace("  - {name: \"store-", "  - {region: b, name: \"store-");
    let load = |strategy: &str, sweep: &str| {
        let text = format!(
            "{head}regions: [{{name: a, bandwidth: 1 Gbit/s}}, {{name: b, bandwidth: 2 Gbit/s}}]\n\
             strategies: {{x: {strategy}}}\nsweep:\n  {sweep}: [3, 7]\n"
        );
        load_in(folder.path(), &text)
    };
    let loaded = |strategy: &str, sweep: &str| {
        load(strategy, sweep).unwrap_or_else(|error| panic!("{sweep}: {error}"))
    };
    for path in ["partitions[1]", "partitions.rest"] {
        let sweep = format!("strategies.x.rancherFleet.{path}.maxUnavailable");
        let experiment = loaded("{rancherFleet: {file: fleet.yaml}}", &sweep);
        for (at, limit) in [3, 7].into_iter().enumerate() {
            let RancherFleetStrategy { strategy, .. } = strategy_of(&experiment, at);
            let partitions = strategy.partitions.as_deref().expect("from the file");
            assert_eq!(
                partitions[1].max_unavailable,
                Some(IntOrString::Int(limit)),
                "{path}"
            );
            assert_eq!(partitions[0].name, "canary");
            assert_eq!(
                strategy.max_unavailable,
                Some("15%".into()),
                "the rest is from the file"
            );
        }
    }
    let snippet = |experiment: &Experiment, at: usize| {
        experiment.variants[at]
            .scenario
            .strategy()
            .snippet()
            .expect("the product has a file")
            .text
    };
    let experiment = loaded(
        "{argoCd: {file: set.yaml}}",
        "strategies.x.argoCd.strategy.rollingSync.steps[1].maxUpdate",
    );
    assert!(
        snippet(&experiment, 1).contains("maxUpdate: 7"),
        "{}",
        snippet(&experiment, 1)
    );
    let staged = "{kubeFleetStaged: {file: stages.yaml}}";
    let experiment = loaded(
        staged,
        "strategies.x.kubeFleetStaged.stages.production.maxConcurrency",
    );
    assert!(
        snippet(&experiment, 0).contains("maxConcurrency: 3"),
        "{}",
        snippet(&experiment, 0)
    );
    let error = load(
        staged,
        "strategies.x.kubeFleetStaged.stages.prod.maxConcurrency",
    )
    .expect_err("no such stage");
    assert!(
        error
            .to_string()
            .contains("strategies.x.kubeFleetStaged.stages.prod"),
        "{error}"
    );

    let text = format!(
        "{head}regions: [{{name: a, bandwidth: 1 Gbit/s}}, {{name: b, bandwidth: 2 Gbit/s}}]\n\
         strategies: {{x: {{allAtOnce: {{}}}}}}\nsweep: {{\"regions.*.bandwidth\": [5 Gbit/s, 6 Gbit/s]}}\n"
    );
    let experiment = load_in(folder.path(), &text).unwrap_or_else(|error| panic!("{error}"));
    let regions = &experiment.variants[1].scenario.world.regions;
    assert!(
        regions.len() == 2
            && regions
                .iter()
                .all(|region| region.bandwidth == regions[0].bandwidth),
        "{regions:?}"
    );
}
