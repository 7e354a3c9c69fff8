//! Tests of experiments with constants at other levels.

use super::*;
use crate::scenario::{Level, VariedExperiment};

/// Compares everything that a run depends on.
fn assert_same(was: &Variant, is: &Variant, text: &str) {
    let rest = |one: &Variant| {
        format!(
            "{:?} {:?}",
            one.scenario.platform, one.scenario.control_loop
        )
    };
    let strategy = |one: &Variant| format!("{:?}", one.scenario.strategy());
    let (was_world, is_world) = (&was.scenario.world, &is.scenario.world);
    let place = || {
        let texts = [was_world, is_world].map(|world| format!("{world:#?}"));
        let mut lines = texts[0].lines().zip(texts[1].lines());
        lines
            .find(|(was, is)| was != is)
            .map(|(was, is)| format!("{was} | {is}"))
    };
    assert!(was_world == is_world, "{:?}, {text}", place());
    assert_eq!(rest(was), rest(is), "{text}");
    assert_eq!(strategy(was), strategy(is), "{text}");
}

/// Checks that writing each constant at its value in force does not change the experiment, and that constants of other
/// strategies do not affect a variant even at their high ends.
fn check(path: &Path, text: &str) {
    let varied = VariedExperiment::load(path, &Overrides::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    for (at, constant) in varied.constants().iter().enumerate() {
        let own = varied
            .at(&[(at, Level::Toward(0.0))])
            .expect("its own value is valid");
        for (was, is) in varied.base().variants.iter().zip(&own.variants) {
            assert_same(
                was,
                is,
                &format!("{} at its own value, in {text}", constant.name),
            );
        }
    }
    let high = |of: &dyn Fn(&[String]) -> bool| -> Vec<(usize, Level)> {
        let constants = varied
            .constants()
            .iter()
            .enumerate()
            .filter(|(_, constant)| of(&constant.strategies));
        constants.map(|(at, _)| (at, Level::Toward(1.0))).collect()
    };
    let all = varied
        .at(&high(&|_| true))
        .expect("high ends fit together")
        .variants;
    for (at, is) in all.iter().enumerate() {
        let own = varied
            .at(&high(&|strategies| strategies.contains(&is.strategy)))
            .expect("high ends fit together");
        assert_same(
            &own.variants[at],
            is,
            &format!("constants of others than {}, in {text}", is.strategy),
        );
    }
}

#[test]
fn a_constant_at_its_current_value_or_of_an_unused_strategy_has_no_effect() {
    let world = |registry: &str, node: &str, site: &str, more: &str| {
        SKETCH
            .replace("0900", "0009")
            .replace("001..100", "001..002")
            .replace(
                "registry: {egress: 10 Gbit/s, requests: {rate: 1000/s, burst: 2000}}",
                registry,
            )
            .replace("sweep: {", &format!("{node}{more}sweep: {{"))
            .replace("downlink: 10 Gbit/s, rtt: 2 ms", site)
    };
    let mut texts = Vec::new();
    for preset in [
        "distribution-s3",
        "harbor-small",
        "docker-hub-anonymous",
        "ecr",
        "artifact-registry",
        "acr-basic",
    ] {
        texts.push(world(
            &format!("registry: {{preset: {preset}}}"),
            "",
            "downlink: 1 Gbit/s",
            "",
        ));
    }
    for node in [
        "runtime: cri-o",
        "runtime: containerd-1.7",
        "disk: {class: none}",
        "disk: {class: gp3}",
        "disk: {class: emmc}",
    ] {
        let registry = "registry: {egress: 10 Gbit/s}";
        texts.push(world(
            registry,
            &format!("node: {{{node}}}\n"),
            "downlink: 1 Gbit/s",
            "",
        ));
    }
    texts.push(world(
        "registry: {egress: 10 Gbit/s, cdn: {}}",
        "",
        "downlink: 1 Gbit/s",
        "",
    ));
    for site in [
        "dsl",
        "satellite",
        "data-centre",
        "store",
        "cellular",
        "cloud",
    ] {
        texts.push(world(
            "registry: {egress: 10 Gbit/s}",
            "",
            &format!("site: {site}"),
            "",
        ));
    }
    for more in [
        "spegel: {}",
        "kraken: {}",
        "dragonfly: {}",
        "cache: {per: cluster}",
        "lazy: {}",
    ] {
        let more = format!("distribution: {{{more}}}\n");
        texts.push(world(
            "registry: {egress: 10 Gbit/s}",
            "",
            "downlink: 1 Gbit/s",
            &more,
        ));
    }
    let folder = folder();
    let path = folder.path().join("experiment.yaml");
    for text in texts {
        fs::write(&path, &text).expect("written");
        check(&path, &text);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    for entry in fs::read_dir(root).expect("experiments") {
        let path = entry.expect("an entry").path().join("experiment.yaml");
        if path.exists() {
            check(&path, &path.display().to_string());
        }
    }
}

/// An update on a disk of 50 GB, with these settings of its space.
fn on_a_disk(space: &str) -> VariedExperiment {
    let text = format!(
        "
name: space
replicates: 1
uncertainty: constants
fleet: [{{name: a, nodes: 2}}]
node: {{disk: {{size: 50 GB{space}}}}}
release:
  kind: update
  images: [{{name: shop, manifest: {{layers: [{{size: 1 GB}}]}}, previous: {{layers: [{{size: 1 GB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
strategies: {{all: {{allAtOnce: {{}}}}}}
"
    );
    let folder = folder();
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, text).expect("written");
    VariedExperiment::load(&file, &Overrides::default()).expect("valid")
}

/// The place of the used bytes among the constants. `None`: they are not drawn.
fn used_bytes(varied: &VariedExperiment) -> Option<usize> {
    let mut constants = varied.constants().iter();
    constants.position(|constant| constant.name == "node.disk.used")
}

#[test]
fn used_bytes_are_drawn_only_if_they_are_written() {
    assert_eq!(used_bytes(&on_a_disk("")), None);
    assert!(used_bytes(&on_a_disk(", used: 20 GB")).is_some());
}

/// The range around 20 GB ends at 100 GB, which do not fit on 50 GB.
#[test]
fn drawn_used_bytes_fit_on_the_disk_with_the_previous_images() {
    let varied = on_a_disk(", used: 20 GB");
    let used = used_bytes(&varied).expect("they are written");
    let mut taken = Vec::new();
    for share in [-1.0, 0.0, 1.0] {
        let drawn = varied
            .at(&[(used, Level::Toward(share))])
            .unwrap_or_else(|error| panic!("{share}: {error}"));
        let world = &drawn.variants[0].scenario.world;
        taken.push(world.space_at_start().expect("it has a size"));
    }
    // The image takes 1 GB and its unpacked layer, whose size is a constant.
    let image = taken[1] - 20e9;
    assert!((taken[0] - image - 7.5e9).abs() < 1.0, "{taken:?}");
    // The image collector does nothing while more than 15% are available in whole percent.
    assert!((taken[2] - 0.84 * 50e9).abs() < 1.0, "{taken:?}");
    let everything: Vec<(usize, Level)> = (0..varied.constants().len())
        .map(|at| (at, Level::Toward(1.0)))
        .collect();
    varied.at(&everything).expect("all high ends fit together");
}
