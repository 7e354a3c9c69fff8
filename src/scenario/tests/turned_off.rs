//! Settings that another setting turns off are errors, and the same settings in use are not.

use super::*;

/// A file with a setting that is turned off, and a change that makes it effective.
struct Case {
    /// Top-level lines of the file.
    lines: &'static str,
    /// The place in the error.
    place: &'static str,
    message: &'static str,
    /// The part of `lines` that is replaced, and by what, so that the setting has an effect.
    replaced: &'static str,
    by: &'static str,
}

const CASES: [Case; 17] = [
    Case {
        lines: "registry: {tokens: false, token: {requests: {rate: 5/s}}}",
        place: "registry.token",
        message: "with `tokens: false` no pull asks for a token",
        replaced: "tokens: false",
        by: "tokens: true",
    },
    Case {
        lines: "registry: {retryAfter: 30 s}",
        place: "registry.retryAfter",
        message: "the nodes' runtime ignores it",
        replaced: "registry: {retryAfter: 30 s}",
        by: "registry: {retryAfter: 30 s}\nnode: {runtime: cri-o}",
    },
    Case {
        lines: "node: {registryPullQPS: 0, registryBurst: 20}",
        place: "node.registryBurst",
        message: "with `registryPullQPS: 0` pulls have no limit",
        replaced: "QPS: 0",
        by: "QPS: 5",
    },
    Case {
        lines: "node: {retry429: {honoursRetryAfter: true}}",
        place: "node.retry429.honoursRetryAfter",
        message: "no registry has a `retryAfter`",
        replaced: "node:",
        by: "registry: {retryAfter: 5 s}\nnode:",
    },
    Case {
        lines: "node: {zstdFactor: 2}",
        place: "node.zstdFactor",
        message: "no layer is compressed with zstd",
        replaced: "node: {zstdFactor: 2}",
        by: "",
    },
    Case {
        lines: "registries: [{name: other, registry: {egress: 1 Gbit/s}}]",
        place: "registries[0].name",
        message: "no image is in the registry `other`",
        replaced: "registries: [{name: other, registry: {egress: 1 Gbit/s}}]",
        by: "",
    },
    Case {
        lines: "regions: [{name: eu, bandwidth: 1 Gbit/s}]",
        place: "regions[0].name",
        message: "no cluster is in the region `eu`",
        replaced: "regions: [{name: eu, bandwidth: 1 Gbit/s}]",
        by: "",
    },
    Case {
        lines: "regions: [{name: eu, bandwidth: 1 Gbit/s}]\nmirrors: [{name: near, region: eu}]",
        place: "mirrors[0].region",
        message: "no cluster uses the mirror `near`",
        replaced: "regions: [{name: eu, bandwidth: 1 Gbit/s}]\nmirrors: [{name: near, region: eu}]",
        by: "",
    },
    Case {
        lines: "registry: {perBlobScope: region}\nregions: [{name: eu, bandwidth: 1 Gbit/s}]",
        place: "registry.perBlobScope",
        message: "without `perBlob` the scope has no effect",
        replaced: "registry: {perBlobScope: region}\nregions: [{name: eu, bandwidth: 1 Gbit/s}]",
        by: "registry: {perBlob: 1 GB/s}",
    },
    Case {
        lines: "node: {syncFrequency: 1 min}",
        place: "node.syncFrequency",
        message: "`syncFrequency` has no effect",
        replaced: "node: {",
        by: "node: {requeue: atExpiry, ",
    },
    Case {
        lines: "node: {requeue: atExpiry, errorRequeue: 1 s}",
        place: "node.errorRequeue",
        message: "no effect with `requeue: atExpiry`",
        replaced: "requeue: atExpiry, ",
        by: "",
    },
    Case {
        lines: "node: {disk: {class: none, buffer: 1 GB}}",
        place: "node.disk.buffer",
        message: "the disk has no rate",
        replaced: "class: none",
        by: "class: emmc",
    },
    Case {
        lines: "distribution: {prePull: {every: 1 min}}",
        place: "distribution.prePull.every",
        message: "all clusters begin together",
        replaced: "every: 1 min",
        by: "clusters: 50%",
    },
    // Values of a sweep are settings, too.
    Case {
        lines: "sweep: {faults.offline.return: [1h, 2h]}",
        place: "sweep",
        message: "no cluster is offline",
        replaced: "sweep:",
        by: "faults: {offline: {share: 10%}}\nsweep:",
    },
    Case {
        lines: "sweep: {registry.token.serviceTime: [1 s, 2 s]}\nregistry: {tokens: false}",
        place: "sweep",
        message: "no pull asks for a token",
        replaced: "tokens: false",
        by: "tokens: true",
    },
    Case {
        lines: "sweep: {node.unpackRate: [50 MB/s, 90 MB/s]}\n\
                uncertainty: {draws: 9, ranges: {node.unpackRate: {low: 60 MB/s, high: 80 MB/s}}}",
        place: "sweep",
        message: "a range of `node.unpackRate` replaces the values of the sweep",
        replaced: "sweep: {node.unpackRate: [50 MB/s, 90 MB/s]}\n",
        by: "",
    },
    Case {
        lines: "faults: {offline: {return: 1h}}",
        place: "faults.offline.return",
        message: "no cluster is offline",
        replaced: "return",
        by: "share: 10%, return",
    },
];

/// Returns the problems of an experiment with these top-level lines.
fn problems(lines_of_file: &str) -> Vec<String> {
    let text = format!(
        "name: x
replicates: 1
fleet: [{{name: a, nodes: 2}}]
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 30 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
strategies: {{all: {{allAtOnce: {{}}}}}}
{lines_of_file}
"
    );
    match load_text(&text) {
        Ok(_) => Vec::new(),
        Err(error) => lines(&error),
    }
}

#[test]
fn a_setting_that_another_one_turns_off_is_an_error() {
    for case in CASES {
        let found = problems(case.lines);
        let fits =
            |problem: &String| problem.contains(case.place) && problem.contains(case.message);
        assert!(found.iter().any(fits), "{}: {found:?}", case.lines);
        let changed = case.lines.replace(case.replaced, case.by);
        assert_eq!(problems(&changed), [""; 0], "{changed}");
    }
}

/// The first registry has the name that images use for the others.
#[test]
fn an_image_may_name_the_first_registry() {
    let text = "registries: [{name: own}]";
    let found = problems(text);
    assert_eq!(found.len(), 1, "{found:?}");
    let image = "release:\n  images: [{name: shop, registry: registry, manifest: {layers: [{size: 30 MB}]}}, \
                 {name: side, registry: own, manifest: {layers: [{size: 1 MB}]}}]\n  \
                 workloads: [{kind: Deployment, image: shop}, {kind: Deployment, image: side}]";
    let file = format!(
        "name: x\nreplicates: 1\nfleet: [{{name: a, nodes: 2}}]\n{image}\n\
         registries: [{{name: own}}]\nstrategies: {{all: {{allAtOnce: {{}}}}}}\n"
    );
    let experiment = load_text(&file).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let images = &experiment.variants[0].scenario.world.images;
    assert_eq!([images[0].registry, images[1].registry], [0, 1]);
}

#[test]
fn an_image_that_no_workload_runs_is_an_error() {
    let file = "name: x\nreplicates: 1\nfleet: [{name: a, nodes: 2}]\nrelease:\n  images: [{name: shop, manifest: \
                {layers: [{size: 30 MB}]}}, {name: side, manifest: {layers: [{size: 1 MB}]}}]\n  workloads: \
                [{kind: Deployment, image: shop}]\nstrategies: {all: {allAtOnce: {}}}\n";
    let found = lines(&load_text(file).expect_err("an image is not used"));
    assert!(
        found.len() == 1 && found[0].contains("no workload runs the image `side`"),
        "{found:?}"
    );
}

#[test]
fn a_setting_that_one_value_of_a_sweep_uses_is_no_error() {
    let text =
        "node: {registryPullQPS: 0, registryBurst: 20}\nsweep: {node.registryPullQPS: [0, 5]}";
    assert_eq!(problems(text), [""; 0]);
}
