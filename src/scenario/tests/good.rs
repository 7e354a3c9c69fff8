//! Tests that valid experiments are read correctly.

use super::*;
use crate::products::rancher_fleet::{RancherFleetStrategy, clusters};
use crate::rollout::RuleSet;
use crate::rollout::baseline::Baseline;
use crate::rollout::rancher_fleet::IntOrString;
use crate::units::{Bytes, BytesPerSec, Share, SimDuration};
use crate::world::{
    Backoff, ConnectionLimit, CutKind, DefectKind, DiskSpec, DurationModel, Excess, FactorModel,
    OutageWindow, OverLimit, RateModel, ReadinessSpec, RegistrySpec, ReleaseKind, RequestLimit,
    Requeue, Restarter, RetrySpec, RuntimeSpec, SiteKind, SizeModel, SlotScope, Uncompressed,
    WorkloadKind, calibration,
};

#[test]
fn the_full_example_loads_and_every_value_has_its_path() {
    let experiment = load_text(SKETCH).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (
            experiment.name.as_str(),
            experiment.seed,
            experiment.replicates
        ),
        ("max-unavailable", 1, 20)
    );
    let labels: Vec<&str> = experiment
        .variants
        .iter()
        .map(|variant| variant.label.as_str())
        .collect();
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
    let Variant {
        strategy,
        setting,
        scenario,
        ..
    } = &experiment.variants[1];
    assert_eq!(
        (strategy.as_str(), setting.as_str()),
        ("defaults", "maxUnavailable=5%")
    );
    assert_eq!(scenario.horizon, SimDuration::from_hours(24));
    let RancherFleetStrategy {
        rules, strategy, ..
    } = strategy_of(&experiment, 1);
    assert_eq!(
        (*rules, &strategy.max_unavailable),
        (RuleSet::Shipped, &Some("5%".into()))
    );
    let RancherFleetStrategy { strategy, .. } = strategy_of(&experiment, 6);
    assert_eq!(
        (&strategy.max_unavailable, strategy.max_new),
        (&Some("15%".into()), Some(20)),
        "from the file"
    );
    assert_eq!(
        *strategy_of::<Baseline>(&experiment, 7),
        Baseline::AllAtOnce
    );

    let world = &scenario.world;
    assert_eq!(world.clusters.len(), 1000);
    let (first, last) = (&world.clusters[0], &world.clusters[999]);
    assert_eq!(
        (
            first.name.as_str(),
            first.nodes.clone(),
            first.downlink.clone()
        ),
        ("store-0001", 3.into(), BytesPerSec::from_mbit(100.0).into())
    );
    assert_eq!(
        (last.name.as_str(), last.nodes.clone(), last.rtt.clone()),
        ("dc-100", 20.into(), SimDuration::from_millis(2).into())
    );
    assert_eq!(last.labels.get("env").map(String::as_str), Some("staging"));
    assert_eq!(
        world
            .registry
            .api
            .request_limit
            .map(|limit| (limit.rate.get() as u32, limit.burst)),
        Some((1000, 2000))
    );
    assert_eq!(world.applications[0].release, ReleaseKind::Update);
    let image = &world.images[0];
    assert_eq!(image.layers[0].compressed, Bytes::new(30_000_000).into());
    assert_eq!(
        image.layers[0].uncompressed,
        Uncompressed::Ratio(2.6),
        "of each layer"
    );
    assert_eq!(
        image.layers[0].digest, image.previous[0].digest,
        "the bottom layer is shared"
    );
    assert!(matches!(
        world.applications[0].workloads[0].kind,
        WorkloadKind::Deployment { replicas: 6, .. }
    ));
    let four = SimDuration::from_secs(4);
    assert_eq!(
        world.applications[0].workloads[0].start,
        DurationModel::LogNormal {
            median: four,
            sigma: 0.6
        }
    );
    assert_eq!(
        (world.faults.offline.share, world.faults.pull_failure),
        (Share::new(0.03), Share::new(0.002))
    );
    let inputs: Vec<&str> = experiment
        .inputs
        .iter()
        .map(|input| input.path.as_str())
        .collect();
    assert_eq!(
        inputs,
        [
            "experiment.yaml",
            "shop-v2.json",
            "shop-v1.json",
            "fleet.yaml"
        ]
    );
}

#[test]
fn every_section_and_field_can_be_read() {
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
  crashBackoff: {immediate: 2, initial: 1 s, max: 60 s, reset: 10m}
  requeue: atExpiry
  syncFrequency: 90 s
  pullDeadline: 35 s
  collectAfter: 2 s
  downloadSlots: 6
  slotScope: image
  retry429: {attempts: 5, delay: 2 s, delayMax: 60 s}
  resume: false
  keepBlobs: false
  unpackRate: 150 MB/s
  unpackSlots: 4
  disk: {rate: 130 MB/s, buffer: 4.8 GB}
  unpackSpread: 0
  unpackPerLayer: 30 ms
  pullConstant: 0 s
  sandbox: {median: 400 ms, sigma: 0.3}
  startOverhead: {min: 1 s, max: 2 s}
release:
  kind: initial
  images: [{name: shop, compressionRatio: 2, manifest: {config: 5 kB, layers: [{digest: base, size: 30 MB}, {size: 10 MB, uncompressed: 11 MB}]}}]
  workloads:
    - {kind: Deployment, image: shop, maxUnavailable: 0, maxSurge: 150%, imagePullPolicy: Always, minReady: 10 s, progressDeadline: 20m, termination: 1 s}
    - {kind: DaemonSet, name: agent, image: shop, maxUnavailable: 0, maxSurge: 20%, readiness: {initialDelay: 1 s, successThreshold: 2}}
faults: {offline: {share: 3%, return: {mean: 4h}}, defect: {share: 10%, crashAfter: 2 s}}
agent: {instructionDelay: 1 s, apply: {min: 1 s, max: 9 s}, reportDelay: 1 s, readiness: {delay: 15 s}}
controller: {request: {median: 10 ms, sigma: 0.2}, clientQps: 20, watchDelay: 2 s}
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
    assert!(
        lines(&name_error)[0].contains("invalid experiment name `01-all_of_it`"),
        "{name_error}"
    );

    let experiment =
        load_in(&folder, &format!("name: all\n{text}")).unwrap_or_else(|error| panic!("{error}"));
    let Scenario {
        world,
        groups,
        control_loop,
        ..
    } = &experiment.variants[0].scenario;
    let summary: Vec<_> = world
        .clusters
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                c.nodes.typical().get(),
                c.region,
                c.paused,
                c.registered,
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("a", 2.0, None, false, true),
            ("b", 9.0, Some(0), true, false),
            ("x-1", 3.0, Some(0), true, false),
            ("x-2", 3.0, Some(0), true, false),
        ],
        "nodes of b by its rule, of a by default, of x by the built-in default"
    );
    assert_eq!((groups.len(), groups[0].0.name.as_str()), (1, "prod"));
    let node = &world.node;
    let secs = SimDuration::from_secs;
    assert_eq!(
        (node.requeue, node.sync_frequency),
        (Requeue::AtExpiry, secs(90))
    );
    assert_eq!(
        (node.pull_deadline, node.runtime.collect_after),
        (Some(secs(35)), Some(secs(2)))
    );
    assert_eq!(
        (
            node.image_backoff.reset,
            experiment.variants[0]
                .scenario
                .platform
                .restarts
                .backoff
                .reset
        ),
        (secs(200), secs(600)),
        "twice the longest wait for pulls, ten minutes for crashes"
    );
    let disk = DiskSpec {
        rate: BytesPerSec::new(130e6).into(),
        buffer: Bytes::new(4_800_000_000),
        ..DiskSpec::default()
    };
    assert_eq!((node.unpack_slots, node.disk.clone()), (4, Some(disk)));
    let members: Vec<usize> = clusters(experiment.variants[0].scenario.fleet())
        .iter()
        .map(|c| c.groups.len())
        .collect();
    assert_eq!(members, [1, 0, 0, 0]);
    assert_eq!(control_loop.watch_delay, SimDuration::from_secs(2));
    let node = &world.node;
    assert_eq!(
        (
            node.max_parallel_image_pulls,
            node.registry_pull_qps,
            node.runtime.slot_scope
        ),
        (Some(4), 0, SlotScope::Image)
    );
    assert_eq!(
        (
            node.runtime.retry_429.attempts,
            node.runtime.retry_429.delay_max
        ),
        (5, SimDuration::from_secs(60))
    );
    assert_eq!(world.registry.per_connection, None);
    assert_eq!(
        world.registry.api.request_limit.map(|limit| limit.burst),
        Some(10),
        "as many as come in a second"
    );
    let layers: Vec<_> = world.images[0]
        .layers
        .iter()
        .map(|l| (l.digest.as_str(), l.uncompressed.clone()))
        .collect();
    let on_disk = Uncompressed::Size(Bytes::new(11_000_000).into());
    assert_eq!(
        layers,
        [("base", Uncompressed::Ratio(2.0)), ("shop@new/1", on_disk)]
    );
    assert_eq!(
        world.faults.offline.comes_back,
        Some(DurationModel::Exponential {
            mean: SimDuration::from_hours(4)
        })
    );
    let names: Vec<&str> = world.applications[0]
        .workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    assert_eq!(names, ["shop", "agent"]);
    let WorkloadKind::Deployment {
        progress_deadline, ..
    } = world.applications[0].workloads[0].kind
    else {
        panic!("a Deployment")
    };
    assert_eq!(progress_deadline, SimDuration::from_mins(20));
    let RancherFleetStrategy {
        rules, strategy, ..
    } = strategy_of(&experiment, 0);
    assert_eq!(
        (*rules, &strategy.max_unavailable_partitions),
        (RuleSet::Documented, &Some(IntOrString::Int(1)))
    );
    let RancherFleetStrategy { strategy, .. } = strategy_of(&experiment, 1);
    assert_eq!(
        (strategy.manual_partitions().len(), strategy.max_new),
        (2, Some(20)),
        "in place and from the file"
    );
    assert_eq!(
        *strategy_of::<Baseline>(&experiment, 2),
        Baseline::BatchPercent(10)
    );
}

#[test]
fn a_precision_is_a_share_or_a_map() {
    let load = |written: &str, overrides: Option<u32>| {
        let folder = folder();
        let file = folder.path().join("experiment.yaml");
        fs::write(&file, SKETCH.replace("replicates: 20\n", written)).expect("written");
        let experiment = load(
            &file,
            &Overrides {
                replicates: overrides,
                ..Overrides::default()
            },
        );
        let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
        let precision = experiment.precision.expect("the file asks for one");
        let of: Vec<&str> = precision
            .of
            .iter()
            .map(|measure| measure.column())
            .collect();
        (
            experiment.replicates,
            precision.to.get(),
            of.join(" "),
            precision.max,
        )
    };
    let both = || "reachable_ready_s peak_pulls".to_owned();
    for (written, overrides, expected, why) in [
        (
            "precision: 5%\n",
            None,
            (10, 0.05, both(), 200),
            "all defaults",
        ),
        (
            "replicates: 3\nprecision: 5 %\n",
            None,
            (10, 0.05, both(), 200),
            "never judged by fewer than ten",
        ),
        (
            "replicates: 30\nprecision: 5%\n",
            Some(300),
            (300, 0.05, both(), 300),
            "the command line has the fewest",
        ),
        (
            "precision: {to: 2.5%, of: [registry.egress, t90], max: 40}\n",
            None,
            (10, 0.025, "egress_peak_1s_bytes_per_s t90_s".to_owned(), 40),
            "measures by any of their names",
        ),
    ] {
        assert_eq!(load(written, overrides), expected, "{why}");
    }
}

#[test]
fn the_first_experiment_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/01-max-unavailable");
    let overrides = Overrides {
        seed: Some(7),
        replicates: Some(2),
        ..Overrides::default()
    };
    let experiment = load(&folder, &overrides).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (
            experiment.seed,
            experiment.replicates,
            experiment.variants.len()
        ),
        (7, 2, 8)
    );
    assert_eq!(experiment.name, "01-max-unavailable");
    let world = &experiment.variants[0].scenario.world;
    assert_eq!(world.clusters.len(), 1000);
    assert!(
        world
            .clusters
            .iter()
            .all(|cluster| cluster.nodes == 3.into() && cluster.registered && !cluster.paused)
    );
    let sites = [SiteKind::Store, SiteKind::Branch, SiteKind::DataCentre];
    let counts = sites.map(|kind| {
        world
            .clusters
            .iter()
            .filter(|cluster| cluster.site == Some(kind))
            .count()
    });
    assert_eq!(counts, [720, 240, 40], "stores, branches, data centres");
    let image = &world.images[0];
    let shared = image
        .layers
        .iter()
        .filter(|layer| image.previous.contains(layer))
        .count();
    assert_eq!((image.layers.len(), shared), (9, 6));
    let total: Bytes = image
        .layers
        .iter()
        .map(|layer| layer.compressed.typical())
        .sum();
    assert_eq!(total, Bytes::new(419_740_964));
    assert!(
        experiment
            .variants
            .iter()
            .all(|variant| Arc::ptr_eq(&variant.scenario.world, world)),
        "a sweep of a strategy shares the world"
    );
}

#[test]
fn the_example_of_the_format_document_loads() {
    let document = include_str!("../../../docs/experiment-format.md");
    let example = document
        .split("```yaml\n")
        .find_map(|part| part.starts_with("name:").then(|| part.split("```").next()));
    let experiment =
        load_text(example.flatten().expect("an example")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.variants.len(), 6);
}

/// Returns the example with a top-level field set to another value.
fn with_field(example: &str, field: &str, value: &str) -> String {
    let mut kept = Vec::new();
    let mut is_replaced = false;
    for line in example.lines() {
        if !line.starts_with([' ', '#']) {
            is_replaced = line.starts_with(&format!("{field}:"));
        }
        if !is_replaced {
            kept.push(line);
        }
    }
    format!("{}\n{field}: {value}\n", kept.join("\n"))
}

/// Each documented example replaces the value in the example experiment of the page.
#[test]
fn the_fields_of_the_format_document_accept_their_examples() {
    let document = include_str!("../../../docs/experiment-format.md");
    let example = document
        .split("```yaml\n")
        .find_map(|part| part.starts_with("name:").then(|| part.split("```").next()))
        .flatten()
        .expect("an example");
    let rows = document.lines().filter(|line| line.starts_with("| [`"));
    let mut fields = 0;
    for row in rows {
        fields += 1;
        let mut code = row.split('`').skip(1).step_by(2);
        let field = code.next().expect("a field");
        let value = code.next().expect("an example");
        let folder = folder();
        let file = folder.path().join("experiment.yaml");
        let is_at_top = !field.contains(['.', '[']);
        let mut overrides = Overrides::default();
        if is_at_top {
            fs::write(&file, with_field(example, field, value)).expect("written");
        } else {
            fs::write(&file, example).expect("written");
            overrides.set.push(format!("{field}={value}"));
        }
        if let Err(error) = load(&file, &overrides) {
            panic!("{field}: {value}: {error}");
        }
    }
    assert_eq!(fields, 20);
}

#[test]
fn every_duration_size_or_rate_can_be_a_distribution() {
    let text = SKETCH
        .replace("downlink: 100 Mbit/s, rtt: 30 ms", "downlink: {median: 100 Mbit/s, sigma: 0.5}, rtt: {gamma: {mean: 30 ms, shape: 2}}")
        .replace("manifest: shop-v2.json", "manifest: {config: {min: 2 kB, max: 20 kB}, layers: [{size: {pareto: {least: 1 MB, alpha: 1.2}}}, {digest: base, size: {file: layers.csv, column: size_bytes}, uncompressed: {mean: 9 MB}}]}")
        .replace("registry: {", "node: {nic: {min: 1 Gbit/s, max: 10 Gbit/s}, unpackRate: {file: layers.csv, column: unpack}, unpackPerLayer: {mean: 25 ms}, pullConstant: {weibull: {scale: 1 s, shape: 2}}}\nagent: {readiness: {delay: {min: 1 s, max: 15 s}}}\nregistry: {");
    let folder = folder();
    fs::write(
        folder.path().join("layers.csv"),
        "digest,size_bytes,unpack\na,300,200 MB/s\nb,100,150 MB/s\n",
    )
    .expect("written");
    let experiment = load_in(folder.path(), &text).unwrap_or_else(|error| panic!("{error}"));
    let world = &experiment.variants[0].scenario.world;
    let secs = SimDuration::from_secs_f64;
    let cluster = &world.clusters[0];
    assert_eq!(
        cluster.downlink,
        RateModel::LogNormal {
            median: BytesPerSec::from_mbit(100.0),
            sigma: 0.5
        }
    );
    assert_eq!(
        cluster.rtt,
        DurationModel::Gamma {
            mean: secs(0.03),
            shape: 2.0
        }
    );
    let layers = &world.images[0].layers;
    assert_eq!(
        layers[0].compressed,
        SizeModel::Pareto {
            least: Bytes::new(1_000_000),
            alpha: 1.2,
            most: None
        }
    );
    assert_eq!(layers[0].uncompressed, Uncompressed::Ratio(2.6));
    assert_eq!(
        layers[1].compressed,
        SizeModel::Empirical([Bytes::new(100), Bytes::new(300)].into()),
        "sorted"
    );
    let drawn = Uncompressed::Size(SizeModel::Exponential {
        mean: Bytes::new(9_000_000),
    });
    assert_eq!(layers[1].uncompressed, drawn);
    assert_eq!(
        world.images[0].config,
        SizeModel::Uniform {
            min: Bytes::new(2000),
            max: Bytes::new(20_000)
        }
    );
    let rates = [150e6, 200e6].map(BytesPerSec::new);
    assert_eq!(world.node.unpack_rate, RateModel::Empirical(rates.into()));
    assert_eq!(
        world.node.pull_constant,
        DurationModel::Weibull {
            scale: secs(1.0),
            shape: 2.0
        }
    );
    let drawn = DurationModel::Uniform {
        min: secs(1.0),
        max: secs(15.0),
    };
    assert_eq!(
        experiment.variants[0].scenario.platform.agent.readiness,
        ReadinessSpec::Delay(drawn)
    );
    assert!(
        experiment
            .inputs
            .iter()
            .any(|input| input.path == "layers.csv"),
        "a file of values belongs to provenance"
    );
}

#[test]
fn every_kind_of_failure_can_be_written() {
    let text = SKETCH
        .replace(
            "faults: {offline: {share: 3%}, pullFailure: 0.2%, defect: {share: 0%}}",
            "faults:
  outages: {cuts: management}
  regional:
    - {region: eu, windows: [{from: 10m, for: 1h}, {from: 3h, for: 1m}]}
    - {selector: {matchLabels: {env: staging}}, between: {mean: 30 d}, repair: 2 h}
    - {region: eu, windows: [{from: 5m, for: 1h}], downlink: 20%}
  slow: {share: 5%, factor: {min: 2, max: 10}}
  notFound: 1%
  defect: {share: 2%, kind: unready, detectedAfter: {mean: 20m}}
  nodeLoss: {repair: 1h, grace: 50 s}
",
        )
        .replace("nodes: 3, downlink", "nodes: 3, region: eu, downlink")
        .replace(
            "registry: {",
            "regions: [{name: eu, bandwidth: 1 Gbit/s}]\nregistry: {",
        );
    let experiment = load_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let faults = &experiment.variants[0].scenario.world.faults;
    let (hours, mins) = (SimDuration::from_hours, SimDuration::from_mins);
    let outages = faults.outages.as_ref().expect("outages");
    assert_eq!(
        (outages.cuts, &outages.repair),
        (CutKind::Management, &calibration::OUTAGE_REPAIR)
    );
    assert!(
        (outages.between.mean() - 15.0 * 86_400.0).abs() < 1e-3,
        "15 d by default"
    );
    let [eu, staging, narrow] = faults.regional.as_slice() else {
        panic!("three")
    };
    assert_eq!((eu.clusters.len(), eu.cuts), (900, CutKind::All));
    let window = |from, lasts| OutageWindow { from, lasts };
    assert_eq!(
        eu.windows,
        [window(mins(10), hours(1)), window(hours(3), mins(1))]
    );
    assert_eq!(staging.clusters, (900..1000).collect::<Vec<_>>());
    assert_eq!(
        (narrow.clusters.len(), narrow.cut()),
        (
            900,
            CutKind::Brownout {
                downlink: Share::new(0.2)
            }
        )
    );
    let slow = faults.slow.as_ref().expect("slow ones");
    assert_eq!(
        (slow.share, &slow.factor),
        (
            Share::new(0.05),
            &FactorModel::Uniform {
                min: crate::units::Factor::new(2.0),
                max: crate::units::Factor::new(10.0)
            }
        )
    );
    assert_eq!(
        (faults.not_found, faults.defect.share),
        (Share::new(0.01), Share::new(0.02))
    );
    assert_eq!(faults.defect.kind, DefectKind::Unready);
    assert_eq!(
        faults.defect.detected_after,
        Some(DurationModel::Exponential { mean: mins(20) })
    );
    let loss = faults.node_loss.as_ref().expect("lost nodes");
    let secs = SimDuration::from_secs;
    assert_eq!(
        (loss.grace, loss.eviction, &loss.repair),
        (secs(50), secs(300), &hours(1).into())
    );
}

#[test]
fn settings_of_a_registry_and_a_runtime_override_their_preset() {
    let text = SKETCH.replace(
        "registry: {egress: 10 Gbit/s, requests: {rate: 1000/s, burst: 2000}}",
        "registry:
  preset: ecr
  egress: 5 Gbit/s
  tcp: {window: 4 MiB, slowStart: true}
  blobRequests: {rate: 100/s}
  connections: {max: 50, excess: queue}
  workers: 8
  token: {requests: {rate: 60/min}, serviceTime: 1 s}
  blobs: {requests: {rate: 10/s, burst: 20, answer: 503}, overload: {connections: 50, floor: 24%}}
  pullQuota: {pulls: 100, per: 6h, scope: address}
  retryAfter: 30 s
  windows: [{from: 2h, for: 10m, egress: 0%, requests: 20%}, {from: 30m, for: 1h, down: true}]
node: {runtime: cri-o, downloadSlots: 2, retry5xx: 3, retryTransport: {attempts: 2, delay: 1 s}, noProgressTimeout: 2m}",
    );
    let experiment = load_text(&text).unwrap_or_else(|error| panic!("{error}"));
    let world = &experiment.variants[0].scenario.world;
    let registry = &world.registry;
    let rate = |limit: Option<RequestLimit>| limit.map(|limit| (limit.rate.get(), limit.burst));
    assert_eq!(registry.egress, BytesPerSec::from_gbit(5.0));
    assert_eq!(rate(registry.manifest_limit), Some((2000.0, 2000)), "ECR's");
    assert_eq!(rate(registry.blob_limit), Some((100.0, 100)), "written");
    assert_eq!(rate(registry.token.request_limit), Some((1.0, 1)));
    let blobs = registry.blobs.host.request_limit;
    assert_eq!(
        (rate(blobs), blobs.map(|limit| limit.answer)),
        (Some((10.0, 20)), Some(OverLimit::Unavailable))
    );
    assert_eq!(
        registry.api.connections,
        Some(ConnectionLimit {
            max: 50,
            excess: Excess::Queue
        })
    );
    assert_eq!(
        (registry.api.workers, registry.tcp.slow_start),
        (Some(8), true)
    );
    assert_eq!(
        registry
            .windows
            .iter()
            .map(|window| window.down)
            .collect::<Vec<_>>(),
        [true, false]
    );
    let runtime = RuntimeSpec {
        download_slots: 2,
        retry_5xx: 3,
        retry_transport: RetrySpec::every(2, SimDuration::from_secs(1)),
        no_progress_timeout: Some(SimDuration::from_mins(2)),
        ..RuntimeSpec::CRI_O
    };
    assert_eq!(world.node.runtime, runtime);
}

#[test]
fn missing_settings_default_to_containerd_and_a_plain_registry() {
    let experiment = load_text(SKETCH).unwrap_or_else(|error| panic!("{error}"));
    let world = &experiment.variants[0].scenario.world;
    assert_eq!(world.node.runtime, RuntimeSpec::CONTAINERD_2_4);
    let mut plain =
        RegistrySpec::unlimited(BytesPerSec::from_gbit(10.0), calibration::SERVICE_TIME);
    plain.per_connection = Some(BytesPerSec::new(88e6));
    plain.api.request_limit = world.registry.api.request_limit;
    assert_eq!(world.registry, plain);
}

#[test]
fn crashed_containers_are_restarted_as_on_their_platform() {
    let text = |node: &str| {
        SKETCH
            .replace("  bound: {", "  app: {cloudFoundry: {}}\n  bound: {")
            .replace("release:\n", &format!("{node}release:\n"))
    };
    let restarts = |node: &str| {
        let experiment = load_text(&text(node)).unwrap_or_else(|error| panic!("{error}"));
        let of = |label: &str| {
            let variant = experiment
                .variants
                .iter()
                .find(|variant| variant.label == label)
                .expect(label);
            let restarts = variant.scenario.platform.restarts;
            let Backoff {
                initial,
                max,
                reset,
            } = restarts.backoff;
            (
                restarts.by,
                restarts.immediate,
                [initial, max, reset].map(SimDuration::as_secs_f64),
                restarts.last,
            )
        };
        assert!(
            experiment
                .variants
                .windows(2)
                .all(|pair| Arc::ptr_eq(&pair[0].scenario.world, &pair[1].scenario.world)),
            "they share their world all the same"
        );
        (of("app"), of("bound"))
    };
    let (diego, kubelet) = (Restarter::Diego, Restarter::Kubelet);
    assert_eq!(
        restarts(""),
        (
            (diego, 2, [30.0, 960.0, 300.0], Some(200)),
            (kubelet, 1, [10.0, 300.0, 600.0], None)
        )
    );
    assert_eq!(
        restarts("node: {crashBackoff: {max: 60 s}}\n"),
        (
            (diego, 2, [30.0, 60.0, 300.0], Some(200)),
            (kubelet, 1, [10.0, 60.0, 600.0], None)
        ),
        "what the file does not say is the platform's"
    );
    let error = load_text(&text("node: {crashBackoff: {max: 20 s}}\n"))
        .expect_err("too short for one of them");
    assert_eq!(
        lines(&error),
        [
            "10:28: node.crashBackoff.max: the longest wait (20 s) is shorter than the first (30 s) (help: raise `max` or \
          lower `initial`)"
        ]
    );
}

#[test]
fn an_image_may_come_from_another_registry() {
    let text = SKETCH
        .replace(
            "release:\n",
            "registries: [{name: hub}, {name: own, registry: {egress: 1 Gbit/s, cdn: {cold: 40 MB/s}}}]\nrelease:\n",
        )
        .replace(
            "images: [{name: shop, manifest",
            "images: [{name: side, registry: hub, manifest: shop-v1.json}, {name: core, manifest: shop-v1.json}, {name: \
             shop, registry: own, manifest",
        )
        .replace(
            "workloads: [",
            "workloads: [{kind: DaemonSet, image: side}, {kind: DaemonSet, image: core}, ",
        );
    let experiment = load_text(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let world = &experiment.variants[0].scenario.world;
    assert_eq!(
        [0, 1, 2].map(|image| world.images[image].registry),
        [1, 0, 2],
        "the one without a name is the first"
    );
    assert_eq!(world.registry_at(2).egress, BytesPerSec::from_gbit(1.0));
    assert_eq!(
        world.registry_at(2).cdn.map(|cdn| cdn.warm),
        Some(BytesPerSec::new(500e6))
    );
    assert_eq!(
        world.registry_at(1).egress,
        BytesPerSec::from_gbit(10.0),
        "as the first by default"
    );
}

#[test]
fn a_helm_timeout_in_a_fleet_yaml_makes_only_its_agents_wait() {
    let folder = folder();
    let accepted = "{file: fleet.yaml, accept: [helm.waitForJobs]}";
    let text = SKETCH.replace("{file: fleet.yaml}", accepted);
    let waits = |helm: &str| {
        let file = FLEET_YAML.replace("{chart: ./chart}", helm);
        std::fs::write(folder.path().join("fleet.yaml"), file).expect("written");
        let experiment = load_in(folder.path(), &text).unwrap_or_else(|error| panic!("{error}"));
        // Of the other strategies, only `from-git` has the file.
        [0, 6, 7].map(|at| experiment.variants[at].scenario.platform.agent.wait)
    };
    assert_eq!(
        waits("{timeoutSeconds: 300, waitForJobs: true}"),
        [false, true, false]
    );
    // Fleet waits in Helm only if the timeout is greater than 0.
    for helm in [
        "{timeoutSeconds: 0}",
        "{timeoutSeconds: -1}",
        "{waitForJobs: true}",
        "{}",
    ] {
        assert_eq!(waits(helm), [false; 3], "{helm}");
    }
}
