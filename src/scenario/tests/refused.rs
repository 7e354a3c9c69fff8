//! Tests of errors beyond single values: in files that an experiment refers to, in sweeps, in whole experiments, and
//! in arbitrary bytes.

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use super::*;

#[test]
fn errors_in_files_that_an_experiment_names_have_a_position_in_that_file() {
    let cases: &[(&str, &str, &str)] = &[
        // The file, its text, and the reported problem.
        (
            "clusters.json",
            r#"{"items": []}"#,
            "clusters.json:1:1: items: the inventory contains no clusters (help: check the context and the \
             permissions with which `kubectl get clusters.fleet.cattle.io -A -o json` was run)",
        ),
        (
            "clusters.json",
            &CLUSTERS[..150],
            "clusters.json:3:17: the JSON ends too early: EOF while parsing a string (help: the file is cut off; \
             rerun the command that wrote it)",
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
            "shop-v1.json:2:69: layers[1].size: the size is 1000000000000000000 bytes, above the maximum of 10^13 for \
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
            "rolloutStrategy: [\n",
            "fleet.yaml:1:18: not YAML: unclosed bracket '[' (help: quote text that contains `: `, `#`, `{` or `[`)",
        ),
    ];
    let text = SKETCH.replace("fleet:\n", "inventory: clusters.json\nfleet:\n");
    let mut differences = Vec::new();
    for (file, content, expected) in cases {
        let folder = folder();
        fs::write(folder.path().join(file), content).expect("written");
        let error = load_in(folder.path(), &text).expect_err(content);
        if lines(&error) != [*expected] {
            differences.push(format!(
                "{file}\n  told:     {:#?}\n  expected: {expected:#?}",
                lines(&error)
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_backoff_that_prevents_all_retries_of_argo_cd_is_rejected() {
    let text = SKETCH.replace(
        "bound: {allAtOnce: {}}",
        "bound: {argoCd: {file: set.yaml}}",
    );
    let at = "spec.template.spec.syncPolicy.retry.backoff";
    let cases = [
        ("duration: 5s, factor: 3, maxDuration: '300'", None),
        (
            "duration: 5s, maxDuration: 5 minutes",
            Some(format!(
                "set.yaml:4:79: {at}.maxDuration: `5 minutes` is not a duration; Argo CD accepts the file, but then never retries a failed sync (`unable to parse 5 minutes as a duration`) (help: write e.g. `30s` or \
                 `1m30s`; a text of only digits, `\"30\"`, means seconds)"
            )),
        ),
        (
            "maxduration: 5m",
            Some(format!(
                "set.yaml:4:52: {at}.maxduration: unknown field `maxduration` (help: did you mean `maxDuration`?)"
            )),
        ),
    ];
    for (backoff, told) in cases {
        let folder = folder();
        let set = format!(
            "kind: ApplicationSet\nspec:\n  generators: [{{clusters: {{}}}}]\n  template: {{spec: {{syncPolicy: {{retry: {{backoff: {{{backoff}}}}}}}}}}}\n"
        );
        fs::write(folder.path().join("set.yaml"), set).expect("written");
        let found = load_in(folder.path(), &text)
            .err()
            .map(|error| lines(&error).join("\n"));
        assert_eq!(found, told, "{backoff}");
    }
}

#[test]
fn exceptions_of_argo_cd_name_each_entry_of_the_fleet_once() {
    for (settings, told) in [
        (
            "autoSyncExcept: [nope]",
            "autoSyncExcept[0]: no application belongs to the entry `nope`",
        ),
        (
            "skipReconcile: [{name: nope}]",
            "skipReconcile[0].name: no application belongs to the entry `nope`",
        ),
        (
            "autoSyncExcept: [dc-001, dc-001]",
            "autoSyncExcept[1]: `dc-001` is named twice (help: remove one of the two)",
        ),
        (
            "skipReconcile: [{name: dc-001}, {name: dc-001, sync: OutOfSync}]",
            "skipReconcile[1].name: `dc-001` is named twice (help: remove one of the two)",
        ),
        (
            "webhook: true",
            "webhook: a webhook announces commits, but this release changes the spec (help: remove `webhook`, or \
             write `release: commit`)",
        ),
    ] {
        let bound = format!("bound: {{argoCd: {{{settings}}}}}");
        let text = SKETCH.replace("bound: {allAtOnce: {}}", &bound);
        let error = load_text(&text).expect_err(settings);
        assert!(lines(&error)[0].contains(told), "{:?}", lines(&error));
    }
}

#[test]
fn all_problems_are_reported_together_as_by_a_compiler() {
    let text = SKETCH
        .replace("egress: 10 Gbit/s", "egress: 10")
        .replace("kind: update", "kind: upgrade")
        .replace("image: shop,", "image: shp,")
        .replace("previous:", "prevous:");
    let error = load_text(&text).expect_err("four things are wrong");
    let shown = error.to_string();
    let path = shown
        .split(" --> ")
        .nth(1)
        .and_then(|rest| rest.split("experiment.yaml").next())
        .expect("a path")
        .to_owned();
    insta::assert_snapshot!(shown.replace(&path, ""), @r"
    error: `10` has no unit; write e.g. `10 Gbit/s` or `unlimited`
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
fn a_missing_experiment_is_distinguished_from_an_invalid_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let error =
        load(&folder.path().join("nowhere"), &Overrides::default()).expect_err("it is not there");
    assert!(
        error.to_string().contains("there is no such file"),
        "{error}"
    );
    let error = load(folder.path(), &Overrides::default()).expect_err("no experiment.yaml in it");
    assert!(error.to_string().contains("experiment.yaml"), "{error}");
    let error = load_text("").expect_err("empty");
    assert_eq!(
        lines(&error),
        ["1:1: the file is empty (help: start from the example in docs/experiment-format.md)"]
    );
}

#[test]
fn an_unbounded_file_is_refused_immediately() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let uses = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{uses}]\n");
    }
    let error = load_text(&text).expect_err("10^12 values");
    assert_eq!(error.problems.len(), 1);
    assert!(
        error.problems[0]
            .message
            .contains("expands to too many values"),
        "{error}"
    );
    let bomb = format!("rolloutStrategy: {{}}\n{text}");
    let folder = folder();
    fs::write(folder.path().join("fleet.yaml"), bomb).expect("written");
    let error = load_in(folder.path(), SKETCH).expect_err("10^12 values");
    assert_eq!(error.problems.len(), 1);
    assert!(error.problems[0].file.ends_with("/fleet.yaml"), "{error}");
}

#[test]
fn missing_sections_are_also_reported() {
    let error = load_text("seed: 3\n").expect_err("nearly all is missing");
    let found = lines(&error);
    for message in [
        "the fleet has no clusters",
        "no image is released",
        "the experiment has no strategy to run",
    ] {
        assert!(
            found.iter().any(|line| line.contains(message)),
            "{message}: {found:?}"
        );
    }
}

#[test]
fn a_sweep_with_too_many_combinations_is_rejected() {
    let values: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let text = SKETCH.replace(
        "sweep: {",
        &format!("sweep: {{fleet.0.nodes: [{values}], fleet.1.nodes: [{values}], "),
    );
    let error = load_text(&text).expect_err("too many");
    // 101 x 101 points for two strategies, and 6 times as many for the swept strategy.
    assert!(
        lines(&error)[0].contains("the sweep creates 81608 variants"),
        "{error}"
    );
}

#[test]
fn a_sweep_of_worlds_that_exceed_the_memory_is_rejected() {
    let values: Vec<String> = (1..=101).map(|n| format!("{n} Gbit/s")).collect();
    let text = SKETCH.replace("0900", "199999").replace("0001", "100000");
    let text = text.replace(
        "sweep: {",
        &format!("sweep: {{registry.egress: [{}], ", values.join(", ")),
    );
    let error = load_text(&text).expect_err("too many");
    assert!(
        lines(&error)[0].contains("the sweep creates 101 worlds of 100100 clusters"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Reading modified files that an experiment refers to gives an experiment or problems, never a panic.
    #[test]
    fn reading_damaged_files_of_an_experiment_never_panics(
        which in 0..4_usize, at in 0..300_usize, len in 0..40_usize, insert in "[ -~\n]{0,12}", truncate in any::<bool>()
    ) {
        let files = [("shop-v2.json", MANIFEST), ("shop-v1.json", PREVIOUS), ("clusters.json", CLUSTERS), ("fleet.yaml", FLEET_YAML)];
        let (name, text) = files[which];
        let mut text = text.to_owned();
        let at = at.min(text.len());
        let end = if truncate { text.len() } else { (at + len).min(text.len()) };
        text.replace_range(at..end, &insert);
        let folder = folder();
        fs::write(folder.path().join(name), text).expect("written");
        let experiment = SKETCH.replace("fleet:\n", "inventory: clusters.json\nfleet:\n").replace("0900", "0009");
        if let Err(error) = load_in(folder.path(), &experiment) {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(!error.render(true).is_empty());
        }
    }

    /// Reading a modified valid file gives an experiment or problems, never a panic.
    #[test]
    fn reading_a_damaged_experiment_never_panics(
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
