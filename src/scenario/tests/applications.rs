//! Tests of experiments with several applications: what they mean, and each kind of invalid value.

use super::*;

const BASE: &str = "\
name: apps
fleet:
  - {name: \"store-{1..4}\", labels: {tier: store}}
  - {name: \"hub-{1..2}\", labels: {tier: hub}}
";

const RELEASE: &str = "{images: [{name: app, manifest: {layers: [{digest: base, size: 9 MB}, {size: 5 MB}]}}], \
                       workloads: [{kind: Deployment, image: app}]}";

const STRATEGIES: &str = "strategies: {a: {rancherFleet: {}}, b: {rancherFleet: {maxUnavailable: 50%}}, c: {allAtOnce: {}}}\n";

/// An experiment with these applications and all strategies. `R` stands for a release.
fn with(applications: &str) -> String {
    let applications = applications.replace("release: R", &format!("release: {RELEASE}"));
    format!("{BASE}{STRATEGIES}applications: {applications}\n")
}

fn refused(text: &str) -> Vec<String> {
    lines(&load_text(text).expect_err("it is refused"))
}

/// Asserts that an experiment has one problem with these texts.
fn assert_refused(text: &str, parts: &[&str]) {
    let problems = refused(text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    for part in parts {
        assert!(problems[0].contains(part), "{part}: {problems:?}");
    }
}

#[test]
fn a_pattern_is_several_applications_with_images_of_their_own() {
    let text = with(
        "{shop: {release: R}, \"svc-{08..10}\": {release: R, releases: {every: 5 min, from: 1h}}}",
    );
    let experiment = load_text(&text).expect("valid");
    let scenario = &experiment.variants[0].scenario;
    let named: Vec<(&str, u64)> = (scenario.applications.iter())
        .map(|one| (one.name.as_str(), one.released.as_secs_f64() as u64))
        .collect();
    assert_eq!(
        named,
        [
            ("shop", 0),
            ("svc-08", 3600),
            ("svc-09", 3900),
            ("svc-10", 4200)
        ]
    );
    let world = &scenario.world;
    let images: Vec<(&str, &str, &str)> = (world.images.iter())
        .map(|image| {
            let [base, own] = &image.layers[..] else {
                panic!("two layers")
            };
            (
                image.name.as_str(),
                base.digest.as_str(),
                own.digest.as_str(),
            )
        })
        .collect();
    assert_eq!(
        images,
        [
            ("app", "base", "app@new/1"),
            ("svc-08/app", "base", "svc-08/app@new/1"),
            ("svc-09/app", "base", "svc-09/app@new/1"),
            ("svc-10/app", "base", "svc-10/app@new/1"),
        ]
    );
    assert_eq!(world.applications[2].workloads[0].image, 2);
    assert_eq!(experiment.target, "deployment");
}

#[test]
fn strategies_that_an_application_names_are_no_alternatives() {
    let text = with("{shop: {release: R, strategy: b}, till: {release: R}}");
    let experiment = load_text(&text).expect("valid");
    let labels: Vec<&str> = (experiment.variants.iter())
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels, ["a", "c"]);
    let own = with("{shop: {release: R, strategy: b}, till: {release: R, strategy: a}}")
        .replace(", c: {allAtOnce: {}}", "");
    let experiment = load_text(&own).expect("valid");
    assert_eq!(experiment.variants.len(), 1);
    assert_eq!(experiment.variants[0].label, "own");
    let [shop, till] = &experiment.variants[0].scenario.applications[..] else {
        panic!("two applications")
    };
    assert_ne!(
        format!("{:?}", shop.strategy),
        format!("{:?}", till.strategy)
    );
}

#[test]
fn clusters_without_an_application_are_left_out() {
    let text = with(
        "{shop: {release: R, clusters: {matchLabels: {tier: hub}}}, till: {release: R, clusters: {matchLabels: {tier: \
         hub}}}}",
    );
    let experiment = load_text(&text).expect("valid");
    let scenario = &experiment.variants[0].scenario;
    let names: Vec<&str> = (scenario.world.clusters.iter())
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!((names, scenario.targets()), (vec!["hub-1", "hub-2"], 4));
}

#[test]
fn an_application_in_a_file_can_be_swept_and_its_problems_have_their_lines() {
    let folder = folder();
    fs::write(
        folder.path().join("typical.yaml"),
        "images: [{name: app, manifest: shop-v2.json}]\nworkloads:\n  - {kind: Deployment, image: app, replicas: 2}\n",
    )
    .expect("written");
    let text = with("{shop: {release: {file: typical.yaml}}}");
    let swept =
        format!("{text}sweep: {{\"applications.shop.release.workloads[0].replicas\": [2, 5]}}\n");
    let experiment = load_in(folder.path(), &swept).expect("valid");
    assert_eq!(experiment.variants.len(), 6);
    assert_eq!(experiment.variants[1].label, "a replicas=5");
    for (content, problem) in [
        (
            "images: []\nworkloads: []\nkinds: update\n",
            "typical.yaml:3:1: kinds: unknown field `kinds`",
        ),
        (
            "images: [{name: app, manifest: shop-v2.json}]\nworkloads: [{kind: Deployment, image: ap}]\n",
            "typical.yaml:2:39: workloads[0].image: there is no `ap` in `images` (help: did you mean `app`?)",
        ),
        (
            "workloads: [{kind: Deployment, image: a}]\n",
            "typical.yaml:1:1: images: no image is released",
        ),
    ] {
        fs::write(folder.path().join("typical.yaml"), content).expect("written");
        let problems = lines(&load_in(folder.path(), &text).expect_err("it is refused"));
        assert!(
            problems.iter().any(|found| found.contains(problem)),
            "{problem}: {problems:?}"
        );
    }
    let missing = with("{shop: {release: {file: none.yaml}}}");
    assert_refused(
        &missing,
        &["6:39: applications.shop.release.file: cannot read `none.yaml`"],
    );
    let both = with("{shop: {release: {file: typical.yaml, kind: initial}}}");
    assert_refused(&both, &["a release is in a file, or written here"]);
}

#[test]
fn invalid_applications_are_refused_with_their_place_and_a_fix() {
    let many = format!("{{{}}}", "\"a-{1..10001}\": {release: R}");
    let cases: &[(&str, &[&str])] = &[
        (
            "{shop: {release: R, strategy: careful}}",
            &[
                "applications.shop.strategy: there is no strategy `careful`",
                "the strategies are `a`, `b` or `c`",
            ],
        ),
        (
            "{shop: {release: R, clusters: {matchLabels: {tier: stor}}}}",
            &["applications.shop.clusters: the selector matches no cluster of the fleet"],
        ),
        (
            "{svc-07: {release: R}, \"svc-{01..09}\": {release: R}}",
            &["applications.svc-{01..09}: `svc-07` is a name of `svc-07` already"],
        ),
        (
            "{\"svc-{9..1}\": {release: R}}",
            &["applications.svc-{9..1}: the range `{9..1}` runs backwards"],
        ),
        (
            "{\"a b\": {release: R}}",
            &["invalid application name `a b`", "use at most 253 letters"],
        ),
        (
            &many,
            &[
                "there are 10001 applications",
                "at most 10000 applications are simulated",
            ],
        ),
        (
            "{shop: {release: R, releases: [{at: 1h}, {at: 1h}]}}",
            &["applications.shop.releases: two releases have the same time"],
        ),
        (
            "{shop: {release: R, releases: [{at: 2h}, {at: 1h}]}}",
            &["applications.shop.releases: a release is earlier than the one before it"],
        ),
        (
            "{shop: {release: R, releases: []}}",
            &["applications.shop.releases: there is no release"],
        ),
        (
            "{shop: {release: R, releases: {every: 5 min}}}",
            &[
                "`every` has no effect on one application",
                "write its time as `[{at: 1h}]`",
            ],
        ),
        (
            "{shop: {release: R, releases: [{at: 30h}]}}",
            &["the last release is at 1 d 06 h, but runs end at 1 d 00 h"],
        ),
        (
            "{shop: {}}",
            &["applications.shop", "the field `release` is missing"],
        ),
        (
            "{shop: {release: {images: [], workloads: []}}, shop2: {release: {}}}",
            &["no image is released"],
        ),
        ("{}", &["applications: there is no application"]),
    ];
    for (applications, parts) in cases {
        let problems = refused(&with(applications));
        for part in *parts {
            assert!(
                problems.iter().any(|problem| problem.contains(part)),
                "{applications}: {part}: {problems:#?}"
            );
        }
    }
}

#[test]
fn an_experiment_has_a_release_or_applications() {
    let both = format!("{}release: {RELEASE}\n", with("{shop: {release: R}}"));
    assert_refused(
        &both,
        &["applications: an experiment has `release` or `applications`, not both"],
    );
    let neither = format!("{BASE}{STRATEGIES}");
    assert_refused(&neither, &["release: no image is released"]);
}

#[test]
fn every_strategy_and_every_application_has_a_use() {
    let unused = with("{shop: {release: R, strategy: a}, till: {release: R, strategy: b}}");
    assert_refused(
        &unused,
        &["strategies.c: no application has the strategy `c`"],
    );
    let without = with("{shop: {release: R, strategy: a}, till: {release: R}}").replace(
        ", b: {rancherFleet: {maxUnavailable: 50%}}, c: {allAtOnce: {}}",
        "",
    );
    assert_refused(
        &without,
        &["applications.till.strategy: `till` has no strategy"],
    );
}

#[test]
fn what_several_applications_cannot_share_is_refused() {
    let two = "{shop: {release: R, strategy: a}, till: {release: R}}";
    let mixed = with(two).replace("c: {allAtOnce: {}}", "c: {argoCd: {}}");
    assert_refused(
        &mixed,
        &[
            "`c` is a strategy of Argo CD, but `a` is one of Rancher Fleet",
            "all applications of a run have one product",
        ],
    );
    let changes = format!("{}changes: [{{after: 1h, stop: true}}]\n", with(two));
    assert_refused(
        &changes,
        &["changes: people's changes are simulated for one application"],
    );
    let pre_pull = format!("{}distribution: {{prePull: {{}}}}\n", with(two));
    assert_refused(
        &pre_pull,
        &["distribution: a pre-pull is simulated for one application"],
    );
    let external = with("{shop: {release: R}, till: {release: R}}")
        .replace("c: {allAtOnce: {}}", "c: {external: {command: [\"true\"]}}");
    assert_refused(
        &external,
        &["`c` is decided by a process, which is simulated for one application"],
    );
    let one = with("{shop: {release: R}}").replace("c: {allAtOnce: {}}", "c: {argoCd: {}}");
    load_text(&format!(
        "{one}changes: [{{after: 1h, strategy: a, stop: true}}]\n"
    ))
    .expect("one application");
}

/// Returns the release time of the last application.
fn last_release(variant: &Variant) -> SimDuration {
    let last = variant.scenario.applications.last();
    last.expect("there is one").released
}

#[test]
fn paths_of_applications_are_swept_and_set() {
    let text = with("{shop: {release: R}, \"svc-{1..3}\": {release: R, releases: {every: 1 min}}}");
    let swept = format!(
        "{text}sweep: {{\"applications.svc-{{1..3}}.releases.every\": [0 s, 10 min], applications.shop.strategy: [a, b]}}\n"
    );
    let experiment = load_text(&swept).expect("valid");
    let labels: Vec<&str> = (experiment.variants.iter())
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(
        labels,
        [
            "c every=0 s; strategy=a",
            "c every=0 s; strategy=b",
            "c every=10 min; strategy=a",
            "c every=10 min; strategy=b"
        ]
    );
    assert_eq!(last_release(&experiment.variants[0]), SimDuration::ZERO);
    let swept = last_release(&experiment.variants[2]);
    assert_eq!(swept, SimDuration::from_mins(20));
    let own = with("{shop: {release: R, strategy: b}, till: {release: R}}");
    let tuned = format!("{own}sweep: {{strategies.b.rancherFleet.maxUnavailable: [1, 5]}}\n");
    let experiment = load_text(&tuned).expect("valid");
    assert_eq!(
        experiment.variants.len(),
        4,
        "both variants have the strategy of `shop`"
    );
}

#[test]
fn an_agent_has_the_workers_of_its_product_unless_they_are_written() {
    let two = with("{shop: {release: R, strategy: a}, cart: {release: R, strategy: a}}");
    let text = two.replace(
        ", b: {rancherFleet: {maxUnavailable: 50%}}, c: {allAtOnce: {}}",
        "",
    );
    for (product, workers) in [
        ("rancherFleet", Some(50)),
        ("kubeFleetRolling", Some(5)),
        ("argoCd", None),
    ] {
        let of_product = text.replace("rancherFleet", product);
        for (agent, expected) in [
            ("", workers),
            ("agent: {wait: true}\n", workers),
            ("agent: {workers: 2}\n", Some(2)),
        ] {
            let experiment = load_text(&format!("{of_product}{agent}"))
                .unwrap_or_else(|error| panic!("{product}, {agent}: {error:?}"));
            let platform = &experiment.variants[0].scenario.platform;
            assert_eq!(platform.agent.workers, expected, "{product}, {agent}");
        }
    }
}

#[test]
fn the_workers_of_an_agent_have_no_effect_on_a_single_application() {
    let text = with("{shop: {release: R}}");
    assert_refused(
        &format!("{text}agent: {{workers: 2}}\n"),
        &["agent.workers", "an agent applies only one application"],
    );
}
