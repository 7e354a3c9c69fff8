//! Tests of `releases` and `operator`: wrong files with their messages, and settings that a sweep or `--set` changes.

use super::*;

const START: &str = "name: shop
horizon: 4h
fleet: [{name: 'c-{1..4}', nodes: 1}]
release:
  images: [{name: shop, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop}]
strategies: {quick: {rancherFleet: {maxUnavailable: 50%}}}
";

const RULE: &str = "operator: [{when: failed > 0, within: 5 min, then: rollback}]\n";

/// Returns the problems of an experiment with these further lines.
fn problems(more: &str) -> Vec<String> {
    match load_text(&format!("{START}{more}\n")) {
        Ok(_) => Vec::new(),
        Err(error) => lines(&error),
    }
}

#[test]
fn a_wrong_sign_or_rule_says_what_to_write() {
    let signs = "write `failed > 5`, `failed > 10%`, `exposed > 0` or `stalled > 30 min`";
    for (when, message) in [
        ("faild > 5", "there is no sign `faild`"),
        ("failed >= 5", "`failed >= 5` has `>=`, and signs have `>`"),
        ("5 failed", "`5 failed` has no `>`"),
        (
            "failed > 0.5",
            "`0.5` is neither a number of targets nor a share",
        ),
        ("failed > 120%", "`120%` is out of range"),
        ("stalled > 5", "`5` has no unit"),
    ] {
        let rule = format!("operator: [{{when: {when}, within: 5 min, then: rollback}}]");
        let found = problems(&rule);
        assert!(found[0].contains(message), "{found:?}");
        assert!(found[0].ends_with(signs), "{found:?}");
    }
    for (rule, message) in [
        (
            "when: failed > 0, then: rollback",
            "the field `within` is missing",
        ),
        (
            "when: failed > 0, within: 5 min, then: rollBack",
            "did you mean `rollback`?",
        ),
        (
            "when: failed > 0, within: 5 min, then: fixForward",
            "operator[0].images: a release that repairs needs other images (help: write e.g. `images: [",
        ),
        (
            "when: failed > 0, within: 5 min, then: fixForward, images: [{name: shp, manifest: {layers: [{size: 1 MB}]}}]",
            "operator[0].images[0].name: there is no `shp` in `release.images` (help: did you mean `shop`?)",
        ),
        (
            "when: failed > 0, within: 5 min, then: pause, images: [{name: shop, manifest: {layers: [{size: 1 MB}]}}]",
            "only `fixForward` releases other images",
        ),
        (
            "when: failed > 4, within: 5 min, then: rollback",
            "operator[0].when: the rule never acts: 4 targets are watched (help: write a smaller number",
        ),
        (
            "when: failed > 0, within: 4h, then: rollback",
            "operator[0].within: the rule never acts: runs end at 4 h 00 min (help: write a shorter time",
        ),
        (
            "when: failed > 0, within: 5 min, then: rollback, application: shop",
            "there is no `shop` in `applications`",
        ),
    ] {
        let found = problems(&format!("operator: [{{{rule}}}]"));
        assert!(
            found.len() == 1 && found[0].contains(message),
            "{rule}: {found:?}"
        );
    }
    let found = problems("operator: {when: failed > 0, within: 5 min, then: rollback}");
    assert!(
        found[0].contains("expected a list, found a map"),
        "{found:?}"
    );
}

#[test]
fn a_wrong_release_says_what_to_write() {
    let fix = "images: [{name: shop, manifest: {layers: [{size: 5 MB}]}}]";
    for (releases, message) in [
        (
            "[{at: 0 s}, {at: 5h}]",
            "the last release is at 5 h 00 min, but runs end at 4 h 00 min",
        ),
        (
            "[{at: 0 s}, {at: 1h}, {at: 30 min}]",
            "a release is earlier than the one before it",
        ),
        (
            "[{at: 0 s}, {at: 1h}, {at: 1h}]",
            "two releases have the same time",
        ),
        (
            "[{at: 1h, rollback: true}]",
            "the first release has nothing to go back to",
        ),
        (
            &format!("[{{at: 0 s}}, {{at: 1h, rollback: true, {fix}}}]"),
            "a rollback publishes the content of an earlier release",
        ),
        (
            "[{at: 0 s}, {at: 1h, rollback: true}, {at: 2h, rollback: true}]",
            "releases[2].rollback: there is no earlier content to go back to (help: remove it: a rollback before it",
        ),
        (
            "[{at: 0 s}, {at: 1h, images: [{name: shp, manifest: {layers: []}}]}]",
            "did you mean `shop`?",
        ),
        ("[{at: 0 s}, {at: 1h, fauts: {}}]", "unknown field `fauts`"),
        ("{every: 5 min}", "`every` has no effect on one application"),
    ] {
        let found = problems(&format!("releases: {releases}"));
        assert!(
            found.iter().any(|found| found.contains(message)),
            "{releases}: {found:?}"
        );
    }
    let found = problems("releases: [0 s, 1h]");
    assert!(
        found
            .iter()
            .all(|found| found.contains("expected a map of fields")),
        "a list of wrong entries is not empty: {found:?}"
    );
}

#[test]
fn a_first_deployment_has_no_content_before_it() {
    let text = START.replace("release:\n", "release:\n  kind: initial\n");
    for (more, message) in [
        (
            "releases: [{at: 0 s}, {at: 1h, rollback: true}]\n",
            "write `kind: update` if an older",
        ),
        (
            RULE,
            "write `kind: update` in the release, or `then: pause`",
        ),
    ] {
        let error = load_text(&format!("{text}{more}")).expect_err("nothing to go back to");
        assert!(lines(&error)[0].contains(message), "{:?}", lines(&error));
    }
}

/// Returns the labels of the variants of an experiment.
fn labels(text: &str) -> Vec<String> {
    let experiment = load_text(text).unwrap_or_else(|error| panic!("{:?}", lines(&error)));
    experiment
        .variants
        .into_iter()
        .map(|variant| variant.label)
        .collect()
}

#[test]
fn sweeps_reach_rules_and_release_times() {
    let times = format!("{START}{RULE}sweep: {{'operator[0].within': [5 min, 20 min, 60 min]}}\n");
    let found = labels(&times);
    assert_eq!(
        found,
        [
            "quick within=5 min",
            "quick within=20 min",
            "quick within=60 min"
        ]
    );
    let later =
        "releases: [{at: 0 s}, {at: 1h, rollback: true}]\nsweep: {'releases[1].at': [1h, 2h]}\n";
    assert_eq!(
        labels(&format!("{START}{later}")),
        ["quick at=1h", "quick at=2h"]
    );
    let applications = "name: shop
horizon: 4h
fleet: [{name: 'c-{1..4}', nodes: 1}]
applications:
  shop:
    release:
      images: [{name: shop, manifest: {layers: [{size: 20 MB}]}}]
      workloads: [{kind: Deployment, image: shop}]
strategies: {quick: {rancherFleet: {maxUnavailable: 50%}}}
sweep: {applications.shop.releases: [[{at: 0 s}], [{at: 0 s}, {at: 1h, rollback: true}]]}
";
    let experiment = load_text(applications).unwrap_or_else(|error| panic!("{:?}", lines(&error)));
    let mut later = Vec::new();
    for variant in &experiment.variants {
        later.push(variant.scenario.applications[0].later.len());
    }
    assert_eq!(later, [0, 1]);
    let wrong = problems(&format!(
        "{RULE}sweep: {{'operator[1].within': [5 min, 20 min]}}"
    ));
    assert!(wrong[0].contains("there is no `operator[1]`"), "{wrong:?}");
}
