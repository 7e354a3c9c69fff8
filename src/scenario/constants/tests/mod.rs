//! Compares the list of constants and the list of other settings with the schema, and checks their consistency.

mod choices;
mod document;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use self::choices::CHOICES;
use super::*;
use crate::document::path::Path;
use crate::document::testing::source;
use crate::document::tree;

/// Schema definitions of quantities.
const QUANTITIES: &[&str] = &[
    "ConcurrentUpdates",
    "CountOrPercent",
    "Duration",
    "DurationDistribution",
    "Factor",
    "FactorDistribution",
    "IntOrString",
    "PerTime",
    "Percent",
    "Rate",
    "RateDistribution",
    "RateLimit",
    "Size",
    "SizeDistribution",
    "Timeout",
    "UserDelay",
];

/// Returns the name of the definition that a schema refers to.
fn name(schema: &Json) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn alternatives(schema: &'static Json) -> impl Iterator<Item = &'static Json> {
    ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|key| schema.get(*key)?.as_array())
        .flatten()
}

fn is_number(schema: &'static Json) -> bool {
    let is_quantity = name(schema).is_some_and(|name| QUANTITIES.contains(&name));
    let has_type = |kind: &str| match schema.get("type") {
        Some(Json::String(one)) => one == kind,
        Some(Json::Array(many)) => many.iter().any(|one| one == kind),
        _ => false,
    };
    is_quantity || has_type("integer") || has_type("number") || alternatives(schema).any(is_number)
}

/// Collects the settings with numbers at and below a schema, by identity, each with one of its paths.
fn numbers(
    schema: &'static Json,
    path: &str,
    around: &[&str],
    found: &mut BTreeMap<usize, String>,
) {
    if is_number(schema) {
        found
            .entry(std::ptr::from_ref(schema) as usize)
            .or_insert_with(|| path.to_owned());
        return;
    }
    if name(schema).is_some_and(|name| around.contains(&name)) {
        return;
    }
    let around: Vec<&str> = around.iter().copied().chain(name(schema)).collect();
    let target = places::resolved(places::whole(), schema);
    for (key, below) in target
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        numbers(below, &path, &around, found);
    }
    if let Some(below) = target.get("items").filter(|below| below.is_object()) {
        numbers(below, &format!("{path}[*]"), &around, found);
    }
    if let Some(below) = target
        .get("additionalProperties")
        .filter(|below| below.is_object())
    {
        numbers(below, &format!("{path}.*"), &around, found);
    }
    for alternative in alternatives(target) {
        numbers(alternative, path, &around, found);
    }
}

/// Returns the settings that match a path in one of the lists.
fn listed(path: &str) -> BTreeMap<usize, String> {
    let (path, is_tree) = match path.strip_suffix(".**") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let schema = places::setting(&places::steps(path))
        .unwrap_or_else(|| panic!("the schema has no `{path}`"));
    let mut found = BTreeMap::new();
    numbers(schema, path, &[], &mut found);
    assert!(!found.is_empty(), "`{path}` has no number");
    assert!(
        is_tree || found.len() == 1,
        "`{path}` has settings below it; write `{path}.**`"
    );
    found
}

#[test]
fn every_number_of_an_experiment_is_a_constant_or_a_choice_with_a_reason() {
    let mut known = BTreeMap::new();
    for place in all().flat_map(|constant| &constant.places) {
        known.extend(listed(&places::plain(place)));
    }
    for path in CHOICES.iter().flat_map(|choice| choice.paths) {
        known.extend(listed(path));
    }
    let mut settings = BTreeMap::new();
    numbers(places::whole(), "", &[], &mut settings);
    assert!(settings.len() > 150, "{} settings", settings.len());
    settings.retain(|identity, _| !known.contains_key(identity));
    let unknown: Vec<String> = settings.into_values().collect();
    assert_eq!(
        unknown, [""; 0],
        "add each to the constants, or to the choices with a reason"
    );
}

#[test]
fn no_constant_is_also_listed_as_a_choice() {
    let choices: BTreeMap<usize, String> = CHOICES
        .iter()
        .flat_map(|choice| choice.paths)
        .flat_map(|path| listed(path))
        .collect();
    for place in all().flat_map(|constant| &constant.places) {
        let both: Vec<String> = listed(&places::plain(place))
            .into_keys()
            .filter_map(|key| choices.get(&key).cloned())
            .collect();
        assert_eq!(both, [""; 0], "{place}");
    }
}

#[test]
fn ranges_contain_their_values() {
    for constant in all() {
        assert!(
            lay::fits(constant),
            "{}: {:?}",
            constant.name(),
            constant.range
        );
        let [low, high] = constant.ends();
        match constant.default_value() {
            Some(value) => assert!(
                low <= value && value <= high && (low < value || value < high),
                "{} {:?}: {value} is not within {low} to {high}",
                constant.name(),
                constant.products
            ),
            // These constants have no value unless an experiment or a preset sets one; a range that scales with it has
            // a middle.
            None => assert!(
                constant.is_absolute || constant.reference_value().is_some(),
                "{} has no default",
                constant.name()
            ),
        }
    }
}

#[test]
fn a_constant_of_a_product_is_listed_once_for_each_product() {
    for factor in factors() {
        for product in PRODUCTS {
            let rows = factor
                .rows
                .iter()
                .filter(|row| row.is_of(product.key))
                .count();
            assert!(
                rows <= 1,
                "{} has {rows} ranges for {}",
                factor.name,
                product.key
            );
        }
    }
}

/// Writes a factor into an experiment. Returns a short form of the tree, and the old and new values.
fn laid(text: &str, name: &str, level: Level) -> (String, Vec<(f64, f64)>) {
    let mut tree = tree::parse(&source(text)).expect("YAML");
    let product = crate::products::find("rancherFleet").expect("a product");
    let factor = &factors()[factor(name).expect("a factor")];
    let laid = FactorLevel::new(factor, level, &StatedRanges::new()).lay(&mut tree, "a", product);
    (
        tree.short_text(),
        laid.iter().map(|laid| (laid.from, laid.to)).collect(),
    )
}

#[test]
fn a_value_is_inserted_into_the_document_by_its_path() {
    let (tree, laid_in) = laid("fleet: [{name: a}]", "node.sandbox", Level::Toward(1.0));
    // The default has a median of 0.5 s, and the high end of the range is 1.7 s.
    assert!(
        tree.contains("node: {sandbox: {median: 1.7 s, sigma: 0.6}}"),
        "{tree}"
    );
    assert_eq!(laid_in.len(), 1);
    let (_, none) = laid(
        "fleet: [{name: a}]",
        "distribution.cache.rtt",
        Level::Toward(1.0),
    );
    assert!(
        none.is_empty(),
        "an experiment without a cache has no such constant"
    );
    let (tree, _) = laid(
        "fleet: [{name: a, nodes: {median: 3, sigma: 0.5}}]",
        "fleet[*].nodes.sigma",
        Level::Toward(1.0),
    );
    assert!(tree.contains("nodes: {median: 3, sigma: 1}"), "{tree}");
    let via = "distribution: {prePull: {via: {cache: {per: cluster}}}}";
    let (tree, _) = laid(via, "distribution.cache.rtt", Level::Toward(1.0));
    assert!(tree.contains("cache: {per: cluster, rtt: 5 ms}"), "{tree}");
}

#[test]
fn a_value_from_the_experiment_scales_its_range() {
    let text = "fleet: [{name: a, downlink: 50 Mbit/s}, {name: b}]";
    let (tree, laid_in) = laid(text, "fleet[*].downlink", Level::Toward(-1.0));
    // A fifth of each value: 10 Mbit/s for 50 Mbit/s, and 20 Mbit/s for the default of 100 Mbit/s.
    assert!(
        tree.contains("downlink: 10 Mbit/s") && tree.contains("downlink: 20 Mbit/s"),
        "{tree}"
    );
    let bytes: Vec<(f64, f64)> = vec![(6.25e6, 1.25e6), (12.5e6, 2.5e6)];
    for ((from, to), (was, is)) in laid_in.iter().zip(bytes) {
        assert!(
            (from - was).abs() < 1.0 && (to - is).abs() < 1.0,
            "{from} {to}"
        );
    }
    let (tree, _) = laid(
        "inventory: clusters.json",
        "fleet[*].downlink",
        Level::Toward(1.0),
    );
    assert_eq!(
        tree,
        "{inventory: {file: clusters.json, default: {downlink: 500 Mbit/s}}}"
    );
}

#[test]
fn values_that_the_user_measured_are_not_varied() {
    let text = "fleet: [{name: a, rtt: {file: rtt.csv}}]";
    assert!(laid(text, "fleet[*].rtt", Level::Toward(1.0)).1.is_empty());
}

#[test]
fn a_defect_that_never_crashes_has_no_constant_for_the_time_until_a_crash() {
    let of = |defect: &str| {
        laid(
            &format!("faults: {{defect: {defect}}}"),
            "faults.defect.crashAfter",
            Level::Toward(1.0),
        )
        .1
        .len()
    };
    assert_eq!(of("{share: 10%, kind: crashes}"), 1);
    assert_eq!(of("{share: 10%, kind: unready}"), 0);
    assert_eq!(of("{share: 10%, detectedAfter: 10 min}"), 0);
}

/// Writes the high end of the share of gaps into a fleet of this kind of site.
fn gaps_of(site: &str) -> (String, Vec<(f64, f64)>) {
    laid(
        &format!("fleet: [{{name: a, site: {site}}}]"),
        "fleet[*].gaps.share",
        Level::Toward(1.0),
    )
}

/// Links of a kind of site have gaps without a word in the file, so their share and length are in force.
#[test]
fn the_gaps_of_a_kind_of_site_vary_without_being_written() {
    let (tree, laid_in) = gaps_of("satellite");
    assert_eq!(laid_in, [(0.15, 0.16)]);
    assert!(
        tree.contains("share: 16%") && tree.contains("length: {median: 2 s"),
        "the length of satellite links stays: {tree}"
    );
    assert!(gaps_of("dsl").1.is_empty(), "a DSL line has no gaps");
}

#[test]
fn the_time_outs_of_kraken_vary_without_being_written() {
    for (swarm, values) in [
        ("kraken: {}", 1),
        ("kraken: {timeouts: null}", 0),
        ("dragonfly: {}", 0),
        ("dragonfly: {timeouts: {share: 2%}}", 1),
    ] {
        let (_, laid_in) = laid(
            &format!("distribution: {{{swarm}}}"),
            "distribution.kraken.timeouts.share",
            Level::Toward(1.0),
        );
        assert_eq!(laid_in.len(), values, "{swarm}");
    }
}

#[test]
fn nodes_without_a_disk_have_no_disk_rate() {
    let of = |disk: &str| {
        laid(
            &format!("node: {{disk: {disk}}}"),
            "node.disk.rate",
            Level::Toward(1.0),
        )
        .1
        .len()
    };
    assert_eq!(
        (
            of("{class: gp3}"),
            of("{class: none}"),
            of("{class: none, rate: 9 MB/s}")
        ),
        (1, 0, 1)
    );
}

#[test]
fn screening_levels_follow_the_shape_of_the_range() {
    let range = [1.0, 100.0];
    assert!((RangeShape::LogUniform.quantile(0.5, range) - 10.0).abs() < 1e-9);
    assert!((RangeShape::Uniform.quantile(0.5, range) - 50.5).abs() < 1e-9);
    assert!((RangeShape::LogUniform.toward(4.0, 1.0, 0.5) - 2.0).abs() < 1e-9);
    assert!(
        (RangeShape::LogUniform.toward(0.0, 1.0, 0.5) - 0.5).abs() < 1e-9,
        "from zero there is no factor"
    );
}

#[test]
fn constants_are_named_by_the_paths_of_their_settings() {
    assert_eq!(
        places::plain("strategies.*.argoCd|applicationController.comparison")
            .split('.')
            .count(),
        5
    );
    assert_eq!(
        Path::parse("node.nic").map(|path| path.to_string()),
        Ok(places::plain("|node.nic"))
    );
}
