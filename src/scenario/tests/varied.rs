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
    let strategy = |one: &Variant| format!("{:?}", one.scenario.strategy);
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
