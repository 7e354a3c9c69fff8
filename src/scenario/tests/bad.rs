//! Tests each kind of invalid value in an experiment file, and its error message.

use super::*;

#[test]
fn bad_input_is_refused_with_its_position_and_the_fix() {
    let shop = "{kind: Deployment, image: shop, replicas: 6, start: {median: 4 s, sigma: 0.6}, readiness: {period: 10 s}}";
    // The text in the sketch that is replaced, the new text, and all reported problems.
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "seed: 1\n",
            "sead: 1\n",
            &["3:1: sead: unknown field `sead` (help: did you mean `seed`?)"],
        ),
        (
            "requests: {rate: 1000/s",
            "requests: {rate: 1000",
            &["9:48: registry.requests.rate: `1000` has no unit; write e.g. `1000/s`"],
        ),
        (
            "release:\n",
            "distribution: {cache: {per: region}}\nrelease:\n",
            &[
                "10:29: distribution.cache.per: no cluster is in a region, so no cluster would use a cache \
                 (help: give groups of the fleet a `region`, or write `per: cluster`)",
            ],
        ),
        (
            "release:\n",
            "distribution: {lazy: {via: {lazy: {}}}}\nrelease:\n",
            &[
                "10:29: distribution.lazy.via.lazy: `lazy` cannot be nested in `lazy` (help: write another key \
                 under `via`)",
            ],
        ),
        (
            "release:\n",
            "registries: [{name: registry}]\nrelease:\n",
            &[
                "10:21: registries[0].name: `registry` is the name of the first registry in results (help: use \
                 another name for this one)",
            ],
        ),
        (
            "seed: 1\n",
            "startsAt: 24:00\n",
            &["3:11: startsAt: `24:00` is not a time of day such as `22:00` or `Fri 22:00`"],
        ),
        (
            "seed: 1\n",
            "assert: [completion < 06:00]\n",
            &[
                "3:10: assert[0]: `06:00` is a time of day, but the rollout has no start time (help: add \
                 e.g. `startsAt: 22:00` to the experiment, or write a duration such as `8h`)",
            ],
        ),
        (
            "{name: shop, manifest",
            "{name: shop, registry: hub, manifest",
            &[
                "12:35: release.images[0].registry: there is no `hub` in `registries` (help: `registries` has no entries)",
            ],
        ),
        (
            "release:\n",
            "mirrors: [{name: near, region: eu}]\nrelease:\n",
            &[
                "10:32: mirrors[0].region: there is no `eu` in `regions` (help: `regions` has no entries)",
            ],
        ),
        (
            "{egress: 10 Gbit/s,",
            "{cdn: {cold: 90 MB/s, warm: 80 MB/s}, egress: 10 Gbit/s,",
            &[
                "9:39: registry.cdn.warm: a warm connection (640 Mbit/s) carries less than a cold one (720 Mbit/s) (help: raise `warm` or \
                 lower `cold`)",
            ],
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
            "offline: {share: 3%}",
            "outages: {between: {pareto: {least: 1 d, alpha: 1}}}",
            &[
                "14:20: faults.outages.between: the distribution must have a finite mean (help: write an `alpha` greater than 1, or a `most`)",
            ],
        ),
        (
            "offline: {share: 3%}",
            "outages: {between: 1 ms}",
            &[
                "14:29: faults.outages.between: mean time between failures must be at least 1 s (help: write e.g. `{weibull: {mean: 30 d, shape: 0.75}}`)",
            ],
        ),
        (
            "offline: {share: 3%}",
            "regional: [{windows: [{from: 1 s, for: 1 s}]}]",
            &[
                "14:22: faults.regional[0]: a regional outage needs either `region` or `selector` (help: write e.g. `{region: eu, windows: [{from: 10m, for: 1h}]}`; `selector: {}` is all clusters)",
            ],
        ),
        (
            "offline: {share: 3%}",
            "regional: [{selector: {}, between: {mean: 1h}}]",
            &[
                "14:22: faults.regional[0]: a regional outage needs either `windows`, or `between` and `repair` (help: write `windows: [{from: 10m, for: 1h}]`, or `between: …` and `repair: …`)",
            ],
        ),
        (
            "offline: {share: 3%}",
            "regional: [{selector: {}, windows: [{from: 1 s, for: 1 s}], cuts: all, downlink: 20%}]",
            &[
                "14:91: faults.regional[0].downlink: an outage has either `cuts` or `downlink` (help: remove `cuts` for a brownout, or `downlink` for an outage)",
            ],
        ),
        (
            "offline: {share: 3%}",
            "outages: {downlink: 0%}",
            &[
                "14:30: faults.outages.downlink: `downlink` must be greater than 0% (help: to cut clusters off completely, remove it)",
            ],
        ),
        (
            "offline: {share: 3%}",
            "slow: {share: 3%, factor: 0}",
            &["14:36: faults.slow.factor: `0` is out of range: the number is greater than 0"],
        ),
        (
            "defect: {share: 0%}",
            "defect: {share: 1%, kind: unready, crashAfter: 5 s}",
            &[
                "14:98: faults.defect.crashAfter: `crashAfter` has no effect on this defect (help: remove it: it applies to containers that crash and never work)",
            ],
        ),
        (
            "defect: {share: 0%}",
            "apply: [{kind: hook}, {share: 1%, clusters: [store-1], kind: hook}, {clusters: [nowhere], kind: rejected}, {share: 1%, kind: hook, attempts: 0}]",
            &[
                "14:60: faults.apply[0]: a failing apply needs either `share` or `clusters` (help: write e.g. `{share: 10%, kind: rejected}`, or `{clusters: [c-01], kind: rejected}`)",
                "14:74: faults.apply[1]: a failing apply needs either `share` or `clusters` (help: write e.g. `{share: 10%, kind: rejected}`, or `{clusters: [c-01], kind: rejected}`)",
                "14:96: faults.apply[1].clusters[0]: there is no `store-1` in `fleet` (help: did you mean `store-0001`?)",
                "14:131: faults.apply[2].clusters[0]: there is no `nowhere` in `fleet` (help: `fleet` has `store-0001`, `store-0002`, `store-0003`, `store-0004`, `store-0005`, `store-0006`, `store-0007`, `store-0008` and 992 more)",
                "14:192: faults.apply[3].attempts: `attempts` must be at least 1 (help: write how many applies fail, or remove it: then all fail)",
            ],
        ),
        (
            "rtt: 30 ms",
            "rtt: {file: shop-v1.csv, column: s}",
            &[
                "7:111: fleet[0].rtt.file: cannot read `shop-v1.csv`: there is no such file (help: paths are relative to the folder of the experiment file)",
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
                "14:45: faults.pullFailure: `pullFailure` must be less than 100% (help: write less than 100%: a fleet \
               that cannot pull images cannot be updated)",
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
               label `zone`; existing labels are `env`, `region`)",
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
            &[
                "13:41: release.workloads[0].image: there is no `shp` in `release.images` (help: did you mean `shop`?)",
            ],
        ),
        (
            "rtt: 30 ms}",
            "rtt: 30 ms, region: eu}",
            &[
                "7:119: fleet[0].region: there is no `eu` in `regions` (help: `regions` has no entries)",
            ],
        ),
        (
            "replicates: 20",
            "replicates: 0",
            &["4:13: replicates: 0 runs of every variant (help: write 1 to 100000)"],
        ),
        (
            "seed: 1\n",
            "seed: 1\nprecision: 5\n",
            &["4:12: precision: `5` has no unit; write e.g. `3%`"],
        ),
        (
            "seed: 1\n",
            "seed: 1\nprecision: 0%\n",
            &["4:12: precision: precision must be greater than 0% (help: write e.g. `5%`)"],
        ),
        (
            "seed: 1\n",
            "seed: 1\nprecision: {to: 5%, of: [], max: 19}\n",
            &[
                "4:21: precision.of: `of` must name at least one measure (help: name a measure, or remove `of`)",
                "4:34: precision.max: `max` (19) is less than the number of replicates (20) (help: raise `max` or lower `replicates`)",
            ],
        ),
        (
            "seed: 1\n",
            "seed: 1\nprecision: {too: 5%}\n",
            &["4:13: precision.too: unknown field `too` (help: did you mean `to`?)"],
        ),
        (
            "sweep: {strategies.defaults.rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 50%, 100%]}",
            "sweep: {precision: [1%, 5%]}",
            &[
                "19:9: sweep: `precision` applies to the whole experiment and cannot vary (help: sweep a setting of \
                 the world or of a strategy)",
            ],
        ),
        (
            "horizon: 24h",
            "horizon: 0s",
            &[
                "5:10: horizon: `horizon` must be greater than 0 (help: write the time after which a run is \
                 stopped, e.g. `24h`)",
            ],
        ),
        (
            "horizon: 24h",
            "horizon: 24h\nallowLeftBehind: 100%",
            &[
                "6:18: allowLeftBehind: `100%` allows a rollout that updates nothing (help: write a share below 100% or a \
                 number of targets, e.g. `2%` or `3`)",
            ],
        ),
        (
            "dc-{001..100}",
            "store-{0001..0100}",
            &[
                "6:1: fleet: two clusters have the name `store-0001` (help: use different names in groups and in the \
                 inventory)",
            ],
        ),
        (
            "store-{0001..0900}",
            "store-{1..9000000}",
            &[
                "7:12: fleet[0].name: `store-{1..9000000}` stands for 9000000 clusters; a fleet has at most 1000000 (help: a \
               group's name may contain ranges such as `{001..900}`)",
            ],
        ),
        (
            "store-{0001..0900}",
            "store-{0001..}",
            &[
                "7:12: fleet[0].name: the range in `store-{0001..}` has no end (help: write `clusters: 900` next to \
               it, or an end such as `{001..900}`)",
            ],
        ),
        (
            "store-{0001..0900}\"",
            "store-{0001..0900}\", clusters: 900",
            &[
                "7:44: fleet[0].clusters: `store-{0001..0900}` has no open range that could number these clusters (help: \
               write a name such as `store-{0001..}`, or leave `clusters` out)",
            ],
        ),
        (
            "store-{0001..0900}\"",
            "store-{001..}\", clusters: 1000",
            &[
                "7:12: fleet[0].name: `store-{001..}` has too few digits for 1000 clusters; write `{0001..}` (help: a group's \
               name may contain ranges such as `{001..900}`)",
            ],
        ),
        (
            "store-{0001..0900}\"",
            "store-{0001..}\", clusters: 90%",
            &[
                "7:40: fleet[0].clusters: 90% needs the size of the fleet (help: write the size of the fleet at \
               the top of the file, e.g. `clusters: 1000`)",
            ],
        ),
        (
            "fleet:\n  - {name: \"store-{0001..0900}\"",
            "clusters: 1000\nfleet:\n  - {name: \"store-{0001..}\", clusters: 90%",
            &[
                "9:6: fleet[1]: this group is not a share of the 1000 clusters that the file requests (help: write \
               e.g. `{name: \"store-{0001..}\", clusters: 90%}`, or leave the file's `clusters` out)",
            ],
        ),
        (
            "replicates: 20",
            "replicates: 20\nclusters: 9000000",
            &["5:11: clusters: 9000000 clusters (help: at most 1000000 are simulated)"],
        ),
        (
            "nodes: 20",
            "nodes: 2.5",
            &[
                "8:60: fleet[1].nodes: not a number of nodes: 2.5 (help: write a whole number from 1 to 10000, or a \
               distribution whose mean is)",
            ],
        ),
        (
            "nodes: 20",
            "nodes: {median: 9000, sigma: 1}",
            &[
                "8:53: fleet[1].nodes: not a number of nodes: a median of 9000, sigma 1 (help: write a whole number from \
               1 to 10000, or a distribution whose mean is)",
            ],
        ),
        (
            "egress: 10 Gbit/s",
            "egress: 0 Gbit/s",
            &[
                "9:20: registry.egress: must be greater than 0; write e.g. `10 Mbit/s` or `unlimited`",
            ],
        ),
        (
            "egress: 10 Gbit/s",
            "windows: [{from: 1h, for: 1h, down: true}, {from: 90m, for: 1h, egress: 10%}]",
            &[
                "9:62: registry.windows[1].from: it begins before the end of `registry.windows[0]` (help: \
                 windows must not overlap)",
            ],
        ),
        (
            "egress: 10 Gbit/s",
            "windows: [{from: 1h, for: 1h}]",
            &[
                "9:23: registry.windows[0]: the window has no effect (help: write `down: true`, `egress: 10%` or \
                 `requests: 20%`)",
            ],
        ),
        (
            "egress: 10 Gbit/s",
            "windows: [{from: 1h, for: 1h, requests: 0%}]",
            &["9:52: registry.windows[0].requests: must be greater than 0; write e.g. `5%`"],
        ),
        (
            "burst: 2000",
            "burst: 2000, answer: 418",
            &["9:77: registry.requests.answer: must be 429 or 503, not 418"],
        ),
        (
            "egress: 10 Gbit/s",
            "blobs: {redirect: false, workers: 3}",
            &[
                "9:30: registry.blobs.redirect: without a redirect the API host sends the blobs, so the settings \
                 of this host have no effect (help: write the settings next to `blobs`, or `redirect: true`)",
            ],
        ),
        (
            "egress: 10 Gbit/s",
            "workers: 0",
            &["9:21: registry.workers: must be greater than 0; write e.g. `1`"],
        ),
        (
            "rtt: 30 ms}",
            "rtt: 30 ms, loss: 100%}",
            &[
                "7:117: fleet[0].loss: must be less than 100% (help: to cut clusters off, use `faults: {offline: \
                 {share: …}}`)",
            ],
        ),
        (
            "bound: {allAtOnce: {}}",
            "bound: {allAtOnce: {}, oneByOne: {}}",
            &[
                "18:3: strategies.bound: choose exactly one of `rancherFleet`, `cloudFoundry`, `argoCd`, `argoCdProposal`, `allAtOnce`, `batches`, `oneByOne`, `doubling`, `kubeFleetStaged`, `kubeFleetRolling` or `external`",
            ],
        ),
        (
            "bound: {allAtOnce: {}}",
            "bound: {kubeflit: {}}",
            &[
                "18:11: strategies.bound.kubeflit: unknown choice `kubeflit` (help: known here: `rancherFleet`, `cloudFoundry`, `argoCd`, `argoCdProposal`, `allAtOnce`, \
               `batches`, `oneByOne`, `doubling`, `kubeFleetStaged`, `kubeFleetRolling` or `external`)",
            ],
        ),
        (
            "bound: {allAtOnce: {}}",
            "bound: {batches: {size: 0}}",
            &[
                "18:27: strategies.bound.batches.size: the batch size must be greater than 0 (help: write e.g. `50` or `10%`)",
            ],
        ),
        (
            "defaults: {rancher",
            "v0.16: {rancher",
            &[
                "16:3: strategies.v0.16: invalid strategy name `v0.16` (help: use letters, digits, `-` and `_`)",
                "19:9: sweep: there is no strategy `defaults` (help: there are `v0.16`, `from-git` or `bound`)",
            ],
        ),
        (
            "rancherFleet.maxUnavailable:",
            "rancherFleet.maxUnavailble:",
            &[
                "19:9: sweep: `strategies.defaults.rancherFleet.maxUnavailble` is not a setting of this file: unknown field \
               `maxUnavailble` (help: did you mean `maxUnavailable`?)",
            ],
        ),
        (
            "sweep: {",
            "sweep: {fleet[2].nodes: [1], ",
            &[
                "19:14: not YAML: while parsing a flow mapping, did not find expected ',' or '}' (help: quote text \
               that contains `: `, `#`, `{` or `[`)",
            ],
        ),
        (
            "sweep: {",
            "sweep: {fleet.2.nodes: [1], ",
            &[
                "19:9: sweep: `fleet[2].nodes` is not a setting of this file: there is no `fleet[2]` (help: indices count \
               from 0, and only maps have settings inside)",
            ],
        ),
        (
            "sweep: {",
            "sweep: {registry.egress: [1 Gbit/s, 2], ",
            &["19:37: registry.egress: `2` has no unit; write e.g. `10 Gbit/s` or `unlimited`"],
        ),
        (
            "sweep: {",
            "sweep: {strategies.bound.batches.size: [1, 2], ",
            &[
                "19:9: sweep: `strategies.bound.batches.size` is not a setting of this file: choose exactly one of \
               `rancherFleet`, `cloudFoundry`, `argoCd`, `argoCdProposal`, `allAtOnce`, `batches`, `oneByOne`, `doubling`, `kubeFleetStaged`, `kubeFleetRolling` or `external`",
            ],
        ),
        (
            shop,
            "{kind: DaemonSet, image: shop, progressDeadline: 5m}",
            &[
                "13:64: release.workloads[0].progressDeadline: a DaemonSet has no progress deadline (help: \
                 remove it, or write `kind: Deployment`)",
            ],
        ),
        (
            shop,
            "{kind: Deployment, image: shop, minReady: 10m}",
            &[
                "13:57: release.workloads[0].minReady: the progress deadline, 10 min 00 s, must be longer than \
                 `minReady`, 10 min 00 s (help: Kubernetes refuses this too; raise `progressDeadline`)",
            ],
        ),
        (
            shop,
            "{kind: DaemonSet, image: shop, maxSurge: 1}",
            &[
                "13:56: release.workloads[0].maxSurge: a DaemonSet has either `maxUnavailable` or `maxSurge` \
                 (help: Kubernetes refuses both (`maxUnavailable` is 1 by default); set one of them to 0)",
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
                "10:58: node.maxParallelImagePulls: `serializeImagePulls: true` allows one pull at a time (help: \
                 the kubelet refuses this too; write `serializeImagePulls: false` or remove one of them)",
                "10:85: node.imageBackoff.initial: must be greater than 0; write e.g. `10 s`",
                "10:105: node.unpackSpread: must be between 0 and 2, not 9; 0.1 is usual",
            ],
        ),
        (
            "release:\n",
            "node: {pullDeadline: 0 s, unpackSlots: 0, disk: {rate: 0 MB/s}}\nrelease:\n",
            &[
                "10:22: node.pullDeadline: must be greater than 0; write e.g. `10 s`",
                "10:40: node.unpackSlots: must be greater than 0; write e.g. `1`",
                "10:56: node.disk.rate: bandwidth must be greater than 0 (help: write e.g. `10 Mbit/s`; to cut clusters \
                 off, use `faults: {offline: …}`)",
            ],
        ),
    ];
    let mut differences = Vec::new();
    for (from, to, expected) in cases {
        assert!(SKETCH.contains(from), "{from}");
        let told = lines(&load_text(&SKETCH.replace(from, to)).expect_err(to));
        if told != *expected {
            differences.push(format!(
                "`{to}`\n  told:     {told:#?}\n  expected: {expected:#?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
