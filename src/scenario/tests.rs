//! Whole experiments: the committed one, good ones that use everything, and each kind of bad input with its message.

use std::fs;
use std::path::Path;

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use super::*;
use crate::rollout::rancher_fleet::IntOrString;
use crate::units::{Bytes, BytesPerSec, Share};
use crate::world::{DurationModel, PullOrder, ReleaseKind, SlotScope, WorkloadKind};

const MANIFEST: &str = r#"{"config": {"digest": "sha256:c", "size": 7000},
    "layers": [{"digest": "sha256:a", "size": 30000000}, {"digest": "sha256:b", "size": 60000000}]}"#;
const PREVIOUS: &str = r#"{"config": {"digest": "sha256:d", "size": 7000},
    "layers": [{"digest": "sha256:a", "size": 30000000}, {"digest": "sha256:e", "size": 50000000}]}"#;
const CLUSTERS: &str = r#"{"kind": "List", "items": [
{"kind": "Cluster", "metadata": {"name": "a", "labels": {"env": "prod"}}, "status": {"namespace": "n"}},
{"kind": "Cluster", "metadata": {"name": "b", "labels": {"env": "dev"}}, "spec": {"paused": true}}
]}"#;
const FLEET_YAML: &str = "helm: {chart: ./chart}\nrolloutStrategy: {maxUnavailable: 15%, maxNew: 20}\n";

/// The sketch of an experiment file, as a user would begin with it.
const SKETCH: &str = r#"name: max-unavailable
question: Which maxUnavailable can a 10 Gbit/s registry bear for 1 000 edge clusters?
seed: 1
replicates: 20
horizon: 24h                         # what is not done by then is reported as unfinished, and why
fleet:
  - {name: "store-{0001..0900}", labels: {env: prod, region: eu}, nodes: 3, downlink: 100 Mbit/s, rtt: 30 ms}
  - {name: "dc-{001..100}", labels: {env: staging}, nodes: 20, downlink: 10 Gbit/s, rtt: 2 ms}
registry: {egress: 10 Gbit/s, requests: {rate: 1000/s, burst: 2000}}
release:
  kind: update                       # or: initial
  images: [{name: shop, manifest: shop-v2.json, previous: shop-v1.json}]
  workloads: [{kind: Deployment, image: shop, replicas: 6, start: {median: 4 s, sigma: 0.6}, readiness: {period: 10 s}}]
faults: {offline: {share: 3%}, pullFailure: 0.2%, defect: {share: 0%}}
strategies:                          # name -> {product: its own configuration}
  defaults: {rancherFleet: {}}
  from-git: {rancherFleet: {file: fleet.yaml}}
  bound: {allAtOnce: {}}
sweep: {strategies.defaults.rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 50%, 100%]}
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("shop-v2.json", MANIFEST),
        ("shop-v1.json", PREVIOUS),
        ("clusters.json", CLUSTERS),
        ("fleet.yaml", FLEET_YAML),
    ] {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn load_in(folder: &Path, text: &str) -> Result<Experiment, LoadError> {
    let file = folder.join("experiment.yaml");
    fs::write(&file, text).expect("written");
    load(&file, &Overrides::default())
}

fn load_text(text: &str) -> Result<Experiment, LoadError> {
    load_in(folder().path(), text)
}

/// The problems as one line each, without the temporary folder.
fn lines(error: &LoadError) -> Vec<String> {
    let line = |problem: &Problem| {
        let text = problem.to_string();
        text.find("experiment.yaml:")
            .filter(|_| text.starts_with('/'))
            .map_or(text.clone(), |at| text[at + 16..].to_owned())
    };
    error.problems.iter().map(line).collect()
}

#[test]
fn the_sketch_loads_with_every_value_in_its_place() {
    let experiment = load_text(SKETCH).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((experiment.name.as_str(), experiment.seed, experiment.replicates), ("max-unavailable", 1, 20));
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "defaults maxUnavailable=1",
            "defaults maxUnavailable=5%",
            "defaults maxUnavailable=10%",
            "defaults maxUnavailable=25%",
            "defaults maxUnavailable=50%",
            "defaults maxUnavailable=100%",
            "from-git",
            "bound",
        ]
    );
    let Variant { strategy, setting, scenario, .. } = &experiment.variants[1];
    assert_eq!((strategy.as_str(), setting.as_str()), ("defaults", "maxUnavailable=5%"));
    assert_eq!(scenario.horizon, SimDuration::from_hours(24));
    let Strategy::RancherFleet { rules: Rules::Shipped, strategy } = &scenario.strategy else {
        panic!("Fleet, as shipped")
    };
    assert_eq!(strategy.max_unavailable, Some("5%".into()));
    let Strategy::RancherFleet { strategy, .. } = &experiment.variants[6].scenario.strategy else { panic!("Fleet") };
    assert_eq!((&strategy.max_unavailable, strategy.max_new), (&Some("15%".into()), Some(20)), "from the file");
    assert_eq!(experiment.variants[7].scenario.strategy, Strategy::AllAtOnce {});

    let world = &scenario.world;
    assert_eq!(world.clusters.len(), 1000);
    let (first, last) = (&world.clusters[0], &world.clusters[999]);
    assert_eq!((first.name.as_str(), first.nodes, first.downlink), ("store-0001", 3, BytesPerSec::from_mbit(100.0)));
    assert_eq!((last.name.as_str(), last.nodes, last.rtt), ("dc-100", 20, SimDuration::from_millis(2)));
    assert_eq!(last.labels.get("env").map(String::as_str), Some("staging"));
    assert_eq!(world.registry.request_limit.map(|limit| (limit.rate.get() as u32, limit.burst)), Some((1000, 2000)));
    assert_eq!(world.release, ReleaseKind::Update);
    let image = &world.images[0];
    assert_eq!(image.layers[0].compressed, Bytes::new(30_000_000));
    assert_eq!(image.layers[0].uncompressed, Bytes::new(78_000_000), "30 MB times 2.6");
    assert_eq!(image.layers[0].digest, image.previous[0].digest, "the bottom layer is shared");
    assert!(matches!(world.workloads[0].kind, WorkloadKind::Deployment { replicas: 6, .. }));
    let four = SimDuration::from_secs(4);
    assert_eq!(world.workloads[0].start, DurationModel::LogNormal { median: four, sigma: 0.6 });
    assert_eq!((world.faults.offline, world.faults.pull_failure), (Share::new(0.03), Share::new(0.002)));
    let inputs: Vec<&str> = experiment.inputs.iter().map(|input| input.path.as_str()).collect();
    assert_eq!(inputs, ["experiment.yaml", "shop-v2.json", "shop-v1.json", "fleet.yaml"]);
}

#[test]
fn everything_that_can_be_written_can_be_read() {
    let text = r#"
fleet: [{name: "x-{1..2}", region: eu, paused: true, registered: false}]
inventory:
  file: clusters.json
  links: [{selector: {matchExpressions: [{key: env, operator: In, values: [dev]}]}, nodes: 9, region: eu}]
  default: {nodes: 2, downlink: 20 Mbit/s, rtt: 80 ms}
clusterGroups: [{name: prod, labels: {tier: "1"}, selector: {matchLabels: {env: prod}}}]
regions: [{name: eu, bandwidth: 1 Gbit/s}]
registry: {egress: 1 Gbit/s, perConnection: unlimited, requests: {rate: 600/min}, serviceTime: {mean: 30 ms}}
node:
  nic: 1 Gbit/s
  maxParallelImagePulls: 4
  registryPullQPS: 0
  imageBackoff: {initial: 5 s, max: 100 s}
  crashBackoff: {max: 60 s}
  errorRequeue: 3 s
  downloadSlots: 6
  slotScope: image
  retry429: {attempts: 5, delay: 2 s, delayMax: 60 s}
  resume: false
  keepBlobs: false
  unpackRate: 150 MB/s
  unpackSpread: 0
  unpackPerLayer: 30 ms
  pullConstant: 0 s
  startOverhead: {min: 1 s, max: 2 s}
release:
  kind: initial
  images: [{name: shop, compressionRatio: 2, manifest: {config: 5 kB, layers: [{digest: base, size: 30 MB}, {size: 10 MB, uncompressed: 11 MB}]}}]
  workloads:
    - {kind: Deployment, image: shop, maxUnavailable: 0, maxSurge: 150%, imagePullPolicy: Always, minReady: 10 s, termination: 1 s}
    - {kind: DaemonSet, name: agent, image: shop, maxUnavailable: 0, maxSurge: 20%, readiness: {initialDelay: 1 s, successThreshold: 2}}
faults: {offline: {share: 3%, return: {mean: 4h}}, defect: {share: 10%, crashAfter: 2 s}}
agent: {instructionDelay: 1 s, apply: {min: 1 s, max: 9 s}, reportDelay: 1 s, readinessDelay: 15 s}
controller: {passBase: 1 s, passPerTarget: 1 ms, passPerWrite: 10 ms, watchDelay: 2 s}
strategies:
  documented: {rancherFleet: {rules: documented, maxUnavailable: 5%, maxUnavailablePartitions: 1, autoPartitionSize: 10%, autoPartitionThreshold: 100, maxNew: 30}}
  manual:
    rancherFleet:
      file: fleet.yaml
      partitions:
        - {name: canary, clusterGroup: prod, maxUnavailable: 1}
        - {name: rest, clusterSelector: {}}
  batches: {batches: {size: 10%}}
  one: {oneByOne: {}}
"#;
    let folder = folder();
    let folder = folder.path().join("01-all_of_it");
    fs::create_dir(&folder).expect("a folder");
    for name in ["clusters.json", "fleet.yaml"] {
        fs::copy(folder.join("..").join(name), folder.join(name)).expect("copied");
    }
    let name_error = load_in(&folder, text).expect_err("the folder's name has an underscore");
    assert!(lines(&name_error)[0].contains("`01-all_of_it` is no name for an experiment"), "{name_error}");

    let experiment = load_in(&folder, &format!("name: all\n{text}")).unwrap_or_else(|error| panic!("{error}"));
    let Scenario { world, groups, control_loop, .. } = &experiment.variants[0].scenario;
    let summary: Vec<_> =
        world.clusters.iter().map(|c| (c.name.as_str(), c.nodes, c.region, c.paused, c.registered)).collect();
    assert_eq!(
        summary,
        [
            ("a", 2, None, false, true),
            ("b", 9, Some(0), true, false),
            ("x-1", 3, Some(0), true, false),
            ("x-2", 3, Some(0), true, false),
        ],
        "nodes of b by its rule, of a by default, of x by the built-in default"
    );
    assert_eq!((groups.len(), groups[0].0.name.as_str()), (1, "prod"));
    let members: Vec<usize> = experiment.variants[0].scenario.fleet_clusters().iter().map(|c| c.groups.len()).collect();
    assert_eq!(members, [1, 0, 0, 0]);
    assert_eq!(control_loop.watch_delay, SimDuration::from_secs(2));
    let node = &world.node;
    assert_eq!(
        (node.pulls, node.pull_rate, node.slot_scope),
        (PullOrder::Parallel { max: Some(4) }, None, SlotScope::Image)
    );
    assert_eq!((node.retry_429.attempts, node.retry_429.delay_max), (5, SimDuration::from_secs(60)));
    assert_eq!(world.registry.per_connection, None);
    assert_eq!(world.registry.request_limit.map(|limit| limit.burst), Some(10), "as many as come in a second");
    let layers: Vec<_> = world.images[0].layers.iter().map(|l| (l.digest.as_str(), l.uncompressed.get())).collect();
    assert_eq!(layers, [("base", 60_000_000), ("shop@new/1", 11_000_000)]);
    assert_eq!(world.faults.offline_return, Some(DurationModel::Exponential { mean: SimDuration::from_hours(4) }));
    let names: Vec<&str> = world.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(names, ["shop", "agent"]);
    let Strategy::RancherFleet { rules, strategy } = &experiment.variants[0].scenario.strategy else { panic!("Fleet") };
    assert_eq!((*rules, &strategy.max_unavailable_partitions), (Rules::Documented, &Some(IntOrString::Int(1))));
    let Strategy::RancherFleet { strategy, .. } = &experiment.variants[1].scenario.strategy else { panic!("Fleet") };
    assert_eq!((strategy.manual_partitions().len(), strategy.max_new), (2, Some(20)), "in place and from the file");
    assert_eq!(experiment.variants[2].scenario.strategy, Strategy::Batches { size: CountOrPercent::Percent(10) });
}

#[test]
fn the_first_experiment_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/01-max-unavailable");
    let overrides = Overrides { seed: Some(7), replicates: Some(2) };
    let experiment = load(&folder, &overrides).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((experiment.seed, experiment.replicates, experiment.variants.len()), (7, 2, 8));
    assert_eq!(experiment.name, "01-max-unavailable");
    let world = &experiment.variants[0].scenario.world;
    assert_eq!(world.clusters.len(), 1000);
    assert!(world.clusters.iter().all(|cluster| cluster.nodes == 3 && cluster.registered && !cluster.paused));
    let mbit = |rate: f64| world.clusters.iter().filter(|c| c.downlink == BytesPerSec::from_mbit(rate)).count();
    assert_eq!((mbit(50.0), mbit(100.0), mbit(10_000.0)), (720, 240, 40), "stores, branches, data centres");
    let image = &world.images[0];
    let shared = image.layers.iter().filter(|layer| image.previous.contains(layer)).count();
    assert_eq!((image.layers.len(), shared), (9, 6));
    let total: Bytes = image.layers.iter().map(|layer| layer.compressed).sum();
    assert_eq!(total, Bytes::new(419_740_964));
    assert!(
        experiment.variants.iter().all(|variant| Arc::ptr_eq(&variant.scenario.world, world)),
        "a sweep of a strategy shares the world"
    );
}

#[test]
fn a_sweep_of_the_world_makes_a_world_for_each_value() {
    let text =
        SKETCH.replace("sweep: {", "sweep: {registry.egress: [1 Gbit/s, 2 Gbit/s], faults.offline.share: [0%, 10%], ");
    let experiment = load_text(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.variants.len(), 4 * (6 + 1 + 1));
    let found = experiment.variants.iter().find(|v| v.label == "bound egress=2 Gbit/s; share=0%").expect("a variant");
    assert_eq!(found.scenario.world.registry.egress, BytesPerSec::from_gbit(2.0));
    assert_eq!(found.scenario.world.faults.offline, Share::NONE);
    let labels: std::collections::BTreeSet<&str> = experiment.variants.iter().map(|v| v.label.as_str()).collect();
    assert_eq!(labels.len(), experiment.variants.len(), "labels are unique");
}

#[test]
fn bad_input_is_refused_with_its_place_and_the_mend() {
    let shop =
        "{kind: Deployment, image: shop, replicas: 6, start: {median: 4 s, sigma: 0.6}, readiness: {period: 10 s}}";
    // What is replaced in the sketch, by what, and all problems that are told.
    let cases: &[(&str, &str, &[&str])] = &[
        ("seed: 1\n", "sead: 1\n", &["3:1: sead: unknown field `sead` (help: did you mean `seed`?)"]),
        (
            "requests: {rate: 1000/s",
            "requests: {rate: 1000",
            &["9:48: registry.requests.rate: `1000` has no unit; write e.g. `1000/s`"],
        ),
        (
            "downlink: 100 Mbit/s",
            "downlink: 100",
            &["7:87: fleet[0].downlink: `100` has no unit; write e.g. `10 Gbit/s`"],
        ),
        (
            "downlink: 100 Mbit/s",
            "downlink: 100 Mbits",
            &[
                "7:87: fleet[0].downlink: `Mbits` in `100 Mbits` is not a unit of a rate of data; use bit/s, kbit/s, Mbit/s, \
               Gbit/s, Tbit/s (or Mbps, Gbps, …), B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s or GiB/s",
            ],
        ),
        (
            "pullFailure: 0.2%",
            "pullFailure: 120%",
            &["14:45: faults.pullFailure: `120%` is out of range: a share is between 0% and 100%"],
        ),
        (
            "pullFailure: 0.2%",
            "pullFailure: 100%",
            &[
                "14:45: faults.pullFailure: no pull would ever succeed (help: write less than 100%; a fleet that cannot pull \
               at all is not a rollout)",
            ],
        ),
        (
            "10%, 25%",
            "10 %, 25%",
            &[
                "19:66: strategies.defaults.rancherFleet.maxUnavailable: `10 %` is not a percentage; write e.g. `10%` (help: \
               Fleet refuses this too and would not roll out at all)",
            ],
        ),
        (
            "{rancherFleet: {}}",
            "{rancherFleet: {partitions: [{name: canary, clusterSelector: {matchLabels: {env: prd}}}]}}",
            &[
                "16:57: strategies.defaults.rancherFleet.partitions[0].clusterSelector: the partition `canary` matches no \
               cluster of the fleet (help: the label `env` has the values `prod`, `staging`; Fleet would accept this and \
               leave the partition empty)",
            ],
        ),
        (
            "{rancherFleet: {}}",
            "{rancherFleet: {partitions: [{clusterSelector: {matchExpressions: [{key: env, operator: Is}]}}]}}",
            &[
                "16:43: strategies.defaults.rancherFleet.partitions[0]: `Is` is not an operator; use In, NotIn, Exists or \
               DoesNotExist (help: Fleet refuses this too and would not roll out at all)",
            ],
        ),
        (
            "{rancherFleet: {}}",
            "{rancherFleet: {partitions: [{clusterSelektor: {}}]}}",
            &[
                "16:43: strategies.defaults.rancherFleet.partitions[0].clusterSelektor: unknown field `clusterSelektor` \
                 (help: did you mean `clusterSelector`?)",
            ],
        ),
        (
            "release:\n",
            "clusterGroups: [{name: g, selector: {matchLabels: {zone: a}}}]\nrelease:\n",
            &[
                "10:27: clusterGroups[0].selector: the selector matches no cluster of the fleet (help: no cluster has the \
               label `zone`; there are `env`, `region`)",
            ],
        ),
        (
            "fleet:\n",
            "inventory: gone.json\nfleet:\n",
            &[
                "6:12: inventory: cannot read `gone.json`: there is no such file (help: paths are relative to the folder of \
               the experiment file)",
            ],
        ),
        (
            "image: shop,",
            "image: shp,",
            &["13:41: release.workloads[0].image: there is no `shp` in `release.images` (help: did you mean `shop`?)"],
        ),
        (
            "rtt: 30 ms}",
            "rtt: 30 ms, region: eu}",
            &["7:119: fleet[0].region: there is no `eu` in `regions` (help: `regions` has no entries)"],
        ),
        ("replicates: 20", "replicates: 0", &["4:13: replicates: 0 runs of every variant (help: write 1 to 100000)"]),
        (
            "horizon: 24h",
            "horizon: 0s",
            &["5:10: horizon: nothing happens in no time (help: write when a run is given up, e.g. `24h`)"],
        ),
        (
            "dc-{001..100}",
            "store-{0001..0100}",
            &[
                "6:1: fleet: two clusters have the name `store-0001` (help: let the names of groups and inventory differ)",
            ],
        ),
        (
            "store-{0001..0900}",
            "store-{1..9000000}",
            &[
                "7:12: fleet[0].name: `store-{1..9000000}` stands for 9000000 clusters; a fleet has at most 1000000 (help: a \
               group's name may hold ranges such as `{001..900}`)",
            ],
        ),
        ("nodes: 20", "nodes: 0", &["8:60: fleet[1].nodes: a cluster cannot have 0 nodes (help: write 1 to 10000)"]),
        (
            "egress: 10 Gbit/s",
            "egress: 0 Gbit/s",
            &[
                "9:20: registry.egress: nothing ever arrives over a link of 0 (help: write a rate above 0, e.g. `10 Mbit/s`)",
            ],
        ),
        (
            "bound: {allAtOnce: {}}",
            "bound: {allAtOnce: {}, oneByOne: {}}",
            &["18:3: strategies.bound: choose exactly one of `rancherFleet`, `allAtOnce`, `batches` or `oneByOne`"],
        ),
        (
            "bound: {allAtOnce: {}}",
            "bound: {kubeflit: {}}",
            &[
                "18:11: strategies.bound.kubeflit: unknown choice `kubeflit` (help: known here: `rancherFleet`, `allAtOnce`, \
               `batches` or `oneByOne`)",
            ],
        ),
        (
            "bound: {allAtOnce: {}}",
            "bound: {batches: {size: 0}}",
            &[
                "18:27: strategies.bound.batches.size: a batch of nothing never finishes (help: write e.g. `50` or `10%`)",
            ],
        ),
        (
            "defaults: {rancher",
            "v0.16: {rancher",
            &[
                "16:3: strategies.v0.16: `v0.16` is no name for a strategy (help: use letters, digits, `-` and `_`)",
                "19:9: sweep: there is no strategy `defaults` (help: there are `v0.16`, `from-git` or `bound`)",
            ],
        ),
        (
            "rancherFleet.maxUnavailable:",
            "rancherFleet.maxUnavailble:",
            &[
                "19:9: sweep: `strategies.defaults.rancherFleet.maxUnavailble` is no setting of this file: unknown field \
               `maxUnavailble` (help: did you mean `maxUnavailable`?)",
            ],
        ),
        (
            "sweep: {",
            "sweep: {fleet[2].nodes: [1], ",
            &[
                "19:14: not YAML: while parsing a flow mapping, did not find expected ',' or '}' (help: quote texts that hold \
               `: `, `#`, `{` or `[`)",
            ],
        ),
        (
            "sweep: {",
            "sweep: {fleet.2.nodes: [1], ",
            &[
                "19:9: sweep: `fleet[2].nodes` is no setting of this file: there is no `fleet[2]` to set (help: indices count \
               from 0, and only maps have settings inside)",
            ],
        ),
        (
            "sweep: {",
            "sweep: {registry.egress: [1 Gbit/s, 2], ",
            &["19:37: registry.egress: `2` has no unit; write e.g. `10 Gbit/s`"],
        ),
        (
            "sweep: {",
            "sweep: {strategies.bound.batches.size: [1, 2], ",
            &["19:9: sweep: `strategies.bound.batches.size` is no setting of this file: choose exactly one of \
               `rancherFleet`, `allAtOnce`, `batches` or `oneByOne`"],
        ),
        (
            shop,
            "{kind: DaemonSet, image: shop, maxSurge: 1}",
            &[
                "13:56: release.workloads[0].maxSurge: a DaemonSet has either `maxUnavailable` or `maxSurge` (help: Kubernetes \
             refuses both (`maxUnavailable` is 1 when left out); set one of them to 0)",
            ],
        ),
        (
            shop,
            "{kind: Deployment, image: shop, maxSurge: 0, maxUnavailable: 0%}",
            &[
                "13:76: release.workloads[0].maxUnavailable: `maxUnavailable` and `maxSurge` are both 0, so no pod could ever be \
             replaced (help: Kubernetes refuses this too; raise one of them)",
            ],
        ),
        (
            "manifest: shop-v2.json",
            "manifest: {layers: [{size: 0 B}, {size: 10000000 TB}, {size: 30}]}",
            &[
                "12:52: release.images[0].manifest.layers[0].size: a layer cannot have 0 bytes (help: write 1 B to 10 TB, \
                 e.g. `30 MB`)",
                "12:65: release.images[0].manifest.layers[1].size: `10000000 TB` is out of range: an amount of data is \
                 between 0 and 10^18 B",
                "12:86: release.images[0].manifest.layers[2].size: `30` has no unit; write e.g. `200 MiB`",
            ],
        ),
        (
            "release:\n",
            "node: {serializeImagePulls: true, maxParallelImagePulls: 5, imageBackoff: {initial: 0 s}, unpackSpread: 9}\nrelease:\n",
            &[
                "10:58: node.maxParallelImagePulls: `serializeImagePulls: true` allows one pull at a time (help: the kubelet \
                 refuses this too; write `serializeImagePulls: false` or leave one of them out)",
                "10:85: node.imageBackoff.initial: the duration is 0 (help: write a duration above 0, e.g. `10 s`)",
                "10:105: node.unpackSpread: 9 is no spread (help: it is the sigma of a lognormal factor, 0 to 2; 0.1 is usual)",
            ],
        ),
    ];
    let mut differences = Vec::new();
    for (from, to, expected) in cases {
        assert!(SKETCH.contains(from), "{from}");
        let told = lines(&load_text(&SKETCH.replace(from, to)).expect_err(to));
        if told != *expected {
            differences.push(format!("`{to}`\n  told:     {told:#?}\n  expected: {expected:#?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn files_that_an_experiment_names_are_refused_at_their_own_place() {
    let cases: &[(&str, &str, &str)] = &[
        // file, its text, what is told of it
        (
            "clusters.json",
            r#"{"items": []}"#,
            "clusters.json:1:1: items: the inventory holds no clusters (help: look at the context and the rights with which \
             `kubectl get clusters.fleet.cattle.io -A -o json` was run)",
        ),
        (
            "clusters.json",
            &CLUSTERS[..150],
            "clusters.json:3:17: the JSON ends too early: EOF while parsing a string (help: the file is cut off; write it \
             again with the command it came from)",
        ),
        (
            "shop-v2.json",
            &MANIFEST.replace("30000000", "0"),
            "shop-v2.json:2:27: layers[0].size: the size is 0, but no blob is empty (an empty layer has 32 bytes) for \
             `sha256:a` (help: write the manifest again with `crane manifest IMAGE`; sizes are bytes as stored, compressed)",
        ),
        (
            "shop-v1.json",
            &PREVIOUS.replace("50000000", "1000000000000000000"),
            "shop-v1.json:2:69: layers[1].size: the size is 1000000000000000000 bytes; at most 10^13 are believed for \
             `sha256:e` (help: write the manifest again with `crane manifest IMAGE`; sizes are bytes as stored, compressed)",
        ),
        (
            "fleet.yaml",
            "rolloutStrategy:\n  maxUnavailable: ten\n",
            "fleet.yaml:2:19: rolloutStrategy.maxUnavailable: `ten` is neither a whole number above 0 nor a percentage; \
             write e.g. `10` or `10%` (help: Fleet refuses this too and would not roll out at all)",
        ),
        (
            "fleet.yaml",
            "rolloutStrategy:\n  maxUnavailble: 10\n",
            "fleet.yaml:2:3: rolloutStrategy.maxUnavailble: unknown field `maxUnavailble` (help: did you mean \
             `maxUnavailable`?)",
        ),
        (
            "fleet.yaml",
            "rolloutStrategy:\n  partitions:\n  - name: canary\n    clusterName: c\n",
            "fleet.yaml:3:5: rolloutStrategy.partitions[0]: the partition `canary` matches no cluster of the fleet (help: no \
             cluster is named `c`; Fleet would accept this and leave the partition empty)",
        ),
        (
            "fleet.yaml",
            "rolloutStrategy: [\n",
            "fleet.yaml:1:18: not YAML: unclosed bracket '[' (help: quote texts that hold `: `, `#`, `{` or `[`)",
        ),
    ];
    let text = SKETCH.replace("fleet:\n", "inventory: clusters.json\nfleet:\n");
    let mut differences = Vec::new();
    for (file, content, expected) in cases {
        let folder = folder();
        fs::write(folder.path().join(file), content).expect("written");
        let error = load_in(folder.path(), &text).expect_err(content);
        if lines(&error) != [*expected] {
            differences.push(format!("{file}\n  told:     {:#?}\n  expected: {expected:#?}", lines(&error)));
        }
        assert!(!error.is_io(), "{file} can be read");
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn all_problems_are_told_at_once_as_a_compiler_would() {
    let text = SKETCH
        .replace("egress: 10 Gbit/s", "egress: 10")
        .replace("kind: update", "kind: upgrade")
        .replace("image: shop,", "image: shp,")
        .replace("previous:", "prevous:");
    let error = load_text(&text).expect_err("four things are wrong");
    let shown = error.to_string();
    let path =
        shown.split(" --> ").nth(1).and_then(|rest| rest.split("experiment.yaml").next()).expect("a path").to_owned();
    insta::assert_snapshot!(shown.replace(&path, ""), @r"
    error: `10` has no unit; write e.g. `10 Gbit/s`
     --> experiment.yaml:9:20
      |
    9 | registry: {egress: 10, requests: {rate: 1000/s, burst: 2000}}
      |                    ^^ registry.egress

    error: unknown choice `upgrade`
      --> experiment.yaml:11:9
       |
    11 |   kind: upgrade                       # or: initial
       |         ^^^^^^^ release.kind
       |
       = help: known here: `update` or `initial`

    error: unknown field `prevous`
      --> experiment.yaml:12:49
       |
    12 |   images: [{name: shop, manifest: shop-v2.json, prevous: shop-v1.json}]
       |                                                 ^^^^^^^ release.images[0].prevous
       |
       = help: did you mean `previous`?

    error: there is no `shp` in `release.images`
      --> experiment.yaml:13:41
       |
    13 |   workloads: [{kind: Deployment, image: shp, replicas: 6, start: {median: 4 s, sigma: 0.6}, readiness: {period: 10 s}}]
       |                                         ^^^ release.workloads[0].image
       |
       = help: did you mean `shop`?
    ");
    assert!(error.render(true).contains("\u{1b}["), "with colours");
}

#[test]
fn a_missing_experiment_is_told_from_a_wrong_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = load(&folder.path().join("nowhere"), &Overrides::default()).expect_err("it is not there");
    assert!(error.is_io());
    assert!(error.to_string().contains("there is no such file"), "{error}");
    let error = load(folder.path(), &Overrides::default()).expect_err("no experiment.yaml in it");
    assert!(error.is_io() && error.to_string().contains("experiment.yaml"), "{error}");
    let error = load_text("").expect_err("empty");
    assert!(!error.is_io());
    assert_eq!(
        lines(&error),
        ["1:1: the file is empty (help: docs/experiment-format.md has an example to begin with)"]
    );
}

#[test]
fn a_file_that_grows_without_bounds_is_refused_at_once() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let uses = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{uses}]\n");
    }
    let error = load_text(&text).expect_err("10^12 values");
    assert_eq!(error.problems.len(), 1);
    assert!(error.problems[0].message.contains("grows beyond any sensible size"), "{error}");
    let bomb = format!("rolloutStrategy: {{}}\n{text}");
    let folder = folder();
    fs::write(folder.path().join("fleet.yaml"), bomb).expect("written");
    let error = load_in(folder.path(), SKETCH).expect_err("10^12 values");
    assert_eq!((error.problems.len(), error.problems[0].file.as_str()), (1, "fleet.yaml"));
}

#[test]
fn what_is_left_out_is_told_too() {
    let error = load_text("seed: 3\n").expect_err("nearly all is missing");
    let found = lines(&error);
    for message in ["the fleet has no clusters", "no image is released", "there is no strategy to run"] {
        assert!(found.iter().any(|line| line.contains(message)), "{message}: {found:?}");
    }
}

#[test]
fn a_sweep_that_explodes_is_refused() {
    let values: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let text = SKETCH.replace("sweep: {", &format!("sweep: {{fleet.0.nodes: [{values}], fleet.1.nodes: [{values}], "));
    let error = load_text(&text).expect_err("too many");
    // 101 x 101 points for two strategies, times 6 for the swept one.
    assert!(lines(&error)[0].contains("the sweep makes 81608 variants"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is done to a good file, reading it ends with an experiment or with problems, never with a panic.
    #[test]
    fn no_damage_makes_reading_panic(
        at in 0..SKETCH.len(), len in 0..40_usize, insert in "[ -~\n]{0,12}|[\u{0}-\u{ff}]{0,4}", truncate in any::<bool>()
    ) {
        let mut text = SKETCH.replace("0900", "0009").replace("{001..100}", "{001..003}");
        let at = at.min(text.len());
        let end = if truncate { text.len() } else { (at + len).min(text.len()) };
        text.replace_range(at..end, &insert);
        let folder = folder();
        if let Err(error) = load_in(folder.path(), &text) {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(!error.render(true).is_empty());
        }
    }
}
