//! Tests of settings without an effect: each is an error, or has its effect.

use super::*;
use crate::scenario::VariedExperiment;

/// An experiment with this fleet, and with these further lines.
fn experiment(fleet: &str, more: &str) -> String {
    format!(
        "name: x
replicates: 1
{fleet}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 30 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
strategies: {{all: {{allAtOnce: {{}}}}, steps: {{rancherFleet: {{}}}}}}
{more}
"
    )
}

/// Returns the problems of an experiment, in a folder with a table of two clusters.
fn problems(fleet: &str, more: &str) -> Vec<String> {
    let folder = folder();
    let table = "name,downlink\na,50 Mbit/s\nb,20 Mbit/s\n";
    fs::write(folder.path().join("table.csv"), table).expect("written");
    match load_in(folder.path(), &experiment(fleet, more)) {
        Ok(_) => Vec::new(),
        Err(error) => lines(&error),
    }
}

const GROUP: &str = "fleet: [{name: a, nodes: 2}]";

#[test]
fn a_range_may_name_any_place_of_a_constant() {
    let folder = folder();
    let file = folder.path().join("experiment.yaml");
    for place in ["inventory.default.downlink", "fleet[*].downlink"] {
        let range =
            format!("uncertainty: {{ranges: {{'{place}': {{low: 7 Mbit/s, high: 8 Gbit/s}}}}}}");
        fs::write(&file, experiment("inventory: clusters.json", &range)).expect("written");
        let varied = VariedExperiment::load(&file, &Overrides::default()).expect("valid");
        let constants = varied.constants().iter();
        let downlink = constants
            .filter(|constant| constant.is_named(place))
            .flat_map(|constant| &constant.values)
            .next()
            .expect("the downlink varies");
        assert_eq!(
            (downlink.low, downlink.high),
            (7e6 / 8.0, 8e9 / 8.0),
            "{place}"
        );
    }
}

/// A constant whose range would be an error is none of the constants that the experiment uses.
#[test]
fn a_default_that_every_row_of_a_table_replaces_is_not_listed() {
    let folder = folder();
    let file = folder.path().join("experiment.yaml");
    let table = "name,downlink\na,50 Mbit/s\nb,20 Mbit/s\n";
    fs::write(folder.path().join("table.csv"), table).expect("written");
    fs::write(&file, experiment("inventory: {file: table.csv}", "")).expect("written");
    let varied = VariedExperiment::load(&file, &Overrides::default()).expect("valid");
    for (name, is_listed) in [
        ("inventory.default.downlink", false),
        ("inventory.default.rtt", true),
    ] {
        let mut constants = varied.constants().iter();
        let found = constants.any(|constant| constant.is_named(name));
        assert_eq!(found, is_listed, "{name}");
    }
}

#[test]
fn a_range_or_a_known_constant_that_nothing_reads_is_an_error() {
    let help = "remove this entry or the settings that override it";
    let cases = [
        // There is no cache.
        (GROUP, "distribution.cache.rtt", "1 ms", "9 ms"),
        // Every row of the table has its own downlink.
        (
            "inventory: {file: table.csv, default: {rtt: 20 ms}}",
            "inventory.default.downlink",
            "1 Mbit/s",
            "9 Gbit/s",
        ),
    ];
    for (fleet, name, low, high) in cases {
        let range = format!("uncertainty: {{ranges: {{'{name}': {{low: {low}, high: {high}}}}}}}");
        let known = format!("uncertainty: {{known: ['{name}']}}");
        for more in [range, known] {
            let found = problems(fleet, &more);
            assert_eq!(found.len(), 1, "{more}: {found:?}");
            let message = format!("`{name}` has no effect: it does not vary in this experiment");
            assert!(
                found[0].contains(&message) && found[0].contains(help),
                "{found:?}"
            );
            assert!(found[0].contains("uncertainty."), "its place: {found:?}");
        }
    }
}

#[test]
fn a_stated_range_is_not_stretched_to_the_experiments_own_value() {
    let folder = folder();
    let file = folder.path().join("experiment.yaml");
    let fleet = "fleet: [{name: a, nodes: 2, downlink: 20 Mbit/s}]";
    let range = "uncertainty: {ranges: {'fleet[*].downlink': {low: 200 Mbit/s, high: 300 Mbit/s}}}";
    fs::write(&file, experiment(fleet, range)).expect("written");
    let varied = VariedExperiment::load(&file, &Overrides::default()).expect("valid");
    let constants = varied.constants().iter();
    let downlink = constants
        .filter(|constant| constant.is_named("fleet[*].downlink"))
        .flat_map(|constant| &constant.values)
        .next()
        .expect("the downlink varies");
    assert_eq!((downlink.low, downlink.high), (25e6, 37.5e6));
}

#[test]
fn a_scope_of_blobs_without_a_rate_or_without_regions_is_an_error() {
    for (registry, message) in [
        (
            "{perBlobScope: registry}",
            "without `perBlob` the scope has no effect",
        ),
        (
            "{perBlob: 1 GB/s, perBlobScope: region}",
            "without `regions` the scope has no effect",
        ),
    ] {
        let found = problems(GROUP, &format!("registry: {registry}"));
        assert!(found.iter().any(|line| line.contains(message)), "{found:?}");
    }
    let regions = "regions: [{name: south, bandwidth: 1 Gbit/s}]";
    let fleet = "fleet: [{name: a, nodes: 2, region: south}]";
    let more = format!("registry: {{perBlob: 1 GB/s, perBlobScope: region}}\n{regions}");
    assert_eq!(problems(fleet, &more), [""; 0]);
}

/// A fleet whose nodes join, with these further settings.
fn autoscaled(more: &str) -> String {
    format!("fleet: [{{name: a, autoscaling: {{maxNodes: 4, podsPerNode: 2{more}}}}}]")
}

#[test]
fn nodes_that_cannot_join_are_an_error() {
    assert_eq!(problems(&autoscaled(""), ""), [""; 0]);
    assert_eq!(problems(&autoscaled(", minNodes: 0"), ""), [""; 0]);
    let start = problems(&autoscaled(", minNodes: 5"), "");
    let message = "the cluster starts with 5 nodes and has at most 4 (help: raise `maxNodes`, or lower `minNodes` or";
    assert!(start[0].contains(message), "{start:?}");
    let drawn =
        "fleet: [{name: a, nodes: {min: 5, max: 6}, autoscaling: {maxNodes: 4, podsPerNode: 2}}]";
    let drawn = problems(drawn, "");
    let message = "the cluster starts with 6 nodes and has at most 4";
    assert!(drawn[0].contains(message), "{drawn:?}");
    let both =
        "fleet: [{name: a, nodes: 2, autoscaling: {minNodes: 0, maxNodes: 4, podsPerNode: 2}}]";
    let both = problems(both, "");
    assert!(
        both[0].contains("`nodes` has no effect beside `autoscaling.minNodes`"),
        "{both:?}"
    );
    let few = "fleet: [{name: a, nodes: 1, autoscaling: {maxNodes: 1, podsPerNode: 1}}]";
    let text = experiment(few, "").replace(
        "workloads: [{kind: Deployment, image: shop}]",
        "workloads: [{kind: Deployment, image: shop, replicas: 3}]",
    );
    let folder = folder();
    let found = load_in(folder.path(), &text).map_or_else(|error| lines(&error), |_| Vec::new());
    assert!(
        found[0].contains("1 node has room for 1 of 3 pods"),
        "{found:?}"
    );
    let text = experiment(&autoscaled(""), "").replace("kind: Deployment", "kind: DaemonSet");
    let found = load_in(folder.path(), &text).map_or_else(|error| lines(&error), |_| Vec::new());
    assert!(
        found[0].contains("`autoscaling` has no effect"),
        "{found:?}"
    );
}

/// Four pods on two nodes with room for two each.
#[test]
fn an_update_that_never_has_room_for_its_additional_pod_is_an_error() {
    let problems_of = |limits: &str, most: u32, kind: &str| {
        let fleet = format!(
            "fleet: [{{name: a, autoscaling: {{minNodes: 0, maxNodes: {most}, podsPerNode: 2}}}}]"
        );
        let workload = format!("kind: Deployment, image: shop, replicas: 4{limits}");
        let text = experiment(&fleet, "")
            .replace("kind: Deployment, image: shop", &workload)
            .replace("release:", &format!("release:\n  kind: {kind}"));
        let folder = folder();
        load_in(folder.path(), &text).map_or_else(|error| lines(&error), |_| Vec::new())
    };
    let found = problems_of(", maxUnavailable: 0", 2, "update");
    assert!(
        found[0].contains(
            "2 nodes have room for 4 pods, and an update needs one more, because none may be unavailable"
        ),
        "{found:?}"
    );
    // A quarter of four pods may be missing by default, a third node has room, and nothing runs before.
    assert_eq!(problems_of("", 2, "update"), [""; 0]);
    assert_eq!(problems_of(", maxUnavailable: 0", 3, "update"), [""; 0]);
    assert_eq!(problems_of(", maxUnavailable: 0", 2, "initial"), [""; 0]);
}

#[test]
fn settings_of_a_disk_without_a_size_are_an_error() {
    for setting in [
        "used: 5 GB",
        "unusedImages: 5 GB",
        "collection: {imageGCPeriod: 1 min}",
    ] {
        let alone = problems(GROUP, &format!("node: {{disk: {{{setting}}}}}"));
        assert!(
            alone[0].contains("has no effect on a disk without a size"),
            "{alone:?}"
        );
        let sized = format!("node: {{disk: {{size: 50 GB, {setting}}}}}");
        assert_eq!(problems(GROUP, &sized), [""; 0]);
    }
    let small = problems(GROUP, "node: {disk: {size: 5 GB, used: 6 GB}}");
    assert!(
        small[0].contains("too small for what is on it at the start: 6.0 GB"),
        "{small:?}"
    );
    let collection = "{imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 75}";
    let crossed = format!("node: {{disk: {{size: 50 GB, collection: {collection}}}}}");
    let crossed = problems(GROUP, &crossed);
    assert!(
        crossed[0].contains("the low threshold (75) must be less than the high one (70)"),
        "{crossed:?}"
    );
}

#[test]
fn the_delivery_network_of_a_preset_is_a_constant() {
    let known = "uncertainty: {known: [registry.cdn.cold]}";
    let with_preset = format!("registry: {{preset: ghcr}}\n{known}");
    assert_eq!(problems(GROUP, &with_preset), [""; 0]);
    assert_eq!(problems(GROUP, known).len(), 1, "there is no network");
}

#[test]
fn constants_that_something_reads_are_accepted() {
    for name in [
        "fleet[*].downlink",
        "node.nic",
        "node.sandbox",
        "agent.apply",
    ] {
        let known = format!("uncertainty: {{known: ['{name}']}}");
        assert_eq!(problems(GROUP, &known), [""; 0], "{name}");
    }
    // One row of the table has no round trip of its own.
    let known = "uncertainty: {known: [inventory.default.rtt]}";
    assert_eq!(problems("inventory: table.csv", known), [""; 0]);
}

#[test]
fn two_entries_for_the_same_constant_are_an_error() {
    let twice = "uncertainty: {known: ['fleet[*].rtt'], ranges: {inventory.default.rtt: {low: 1 ms, high: 9 ms}}}";
    let found = problems("inventory: table.csv", twice);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("`inventory.default.rtt` is the same constant as `fleet[*].rtt`"),
        "{found:?}"
    );
}

#[test]
fn a_swept_path_that_nothing_reads_is_an_error() {
    let fleet = "inventory: {file: table.csv, default: {downlink: 1 Gbit/s}}";
    let sweep = "sweep: {inventory.default.downlink: [1 Gbit/s, 2 Gbit/s], registry.egress: [1 Gbit/s, 2 Gbit/s]}";
    let found = problems(fleet, sweep);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains(
            "sweep.inventory.default.downlink: `inventory.default.downlink` has no effect"
        ),
        "{found:?}"
    );
    let read = "sweep: {inventory.default.rtt: [10 ms, 20 ms], strategies.steps.rancherFleet.maxUnavailable: [1, 2]}";
    assert_eq!(problems(fleet, read), [""; 0]);
}

#[test]
fn a_value_of_set_may_leave_other_entries_without_effect() {
    let folder = folder();
    let file = folder.path().join("experiment.yaml");
    let known = "uncertainty: {known: ['distribution.cache.rtt']}\ndistribution: {cache: {}}";
    fs::write(&file, experiment(GROUP, known)).expect("written");
    let with = |set: &str| {
        let overrides = Overrides {
            set: vec![set.to_owned()],
            ..Overrides::default()
        };
        load(&file, &overrides).is_ok()
    };
    assert!(
        with("distribution={spegel: {}}"),
        "a trial without the cache"
    );
    assert!(!with("uncertainty.known=[distribution.spegel.lookup]"));
}
