//! Deployment requests in files and inline: what Cloud Foundry rejects, quotas, and which settings take precedence.

use fleetsim::results::RunOutcome;

use super::{load_in, most_lacking, run, told, with_file};
use crate::common::fleetsim;

#[test]
fn requests_that_the_product_rejects_are_refused_with_their_line_and_its_message() {
    let file = "{file: deployment.json}";
    let cases = [
        (
            "{\n  \"strategy\": \"blue-green\"\n}",
            file,
            "deployment.json:2:",
            "Strategy 'blue-green' is not a supported deployment strategy",
        ),
        (
            "{\n  \"options\": {\n    \"max_in_flight\": 0\n  }\n}",
            file,
            "deployment.json:3:",
            "Max in flight must be an integer greater than 0",
        ),
        (
            "{\"strategy\": \"canary\",\n \"options\": {\"canary\": {\n  \"steps\": [{\"instance_weight\": 50},\n   \
             {\"instance_weight\": 20}]}}}",
            file,
            "deployment.json:3:",
            "Options canary steps instance weight must be sorted in ascending order",
        ),
        (
            "{\"options\": {\n\"max_inflight\": 5}}",
            file,
            "deployment.json:2:",
            "Options has unsupported key(s): max_inflight",
        ),
        (
            "{\n\"strateg\": 1}",
            file,
            "deployment.json:2:",
            "Unknown field(s): 'strateg'",
        ),
        (
            "{}",
            "{file: deployment.json, maxInFlight: many}",
            "experiment.yaml:16:",
            "Max in flight must be an integer",
        ),
        (
            "{}",
            "{strategy: rolling, canarySteps: [{instance_weight: 5}]}",
            "experiment.yaml:16:",
            "Options canary are only valid for Canary deployments",
        ),
        (
            "{}",
            "{maxInFlight: 10, quota: {organization: {name: ACME, totalInstances: 1005}}}",
            "experiment.yaml:16:",
            "app_instance_limit app_instance_limit_exceeded for organization ACME. This organization's quota may not be \
             large enough to support rolling deployments or your configured max-in-flight.",
        ),
        (
            "{\"options\": {\n\"web_instances\": 5}}",
            file,
            "deployment.json:2:",
            "the app has 1000 instances",
        ),
        (
            "{}",
            "{continueAfter: 5}",
            "experiment.yaml:16:",
            "`5` has no unit",
        ),
    ];
    for (body, strategy, place, reason) in cases {
        let folder = with_file(body, strategy);
        let error = load_in(folder.path()).expect_err(reason).to_string();
        assert!(
            error.contains(place) && error.contains(reason),
            "{strategy} with {body}: {error}"
        );
    }
}

#[test]
fn a_quota_without_room_for_an_additional_instance_blocks_indefinitely() {
    // The request is within the quota, but its first pass exceeds it: one instance at first, then two.
    let quota = "quota: {organization: {name: ACME, totalInstances: 1005}}";
    let run = run(
        "update",
        "",
        &format!("{{strategy: canary, maxInFlight: 10, {quota}, continueAfter: 1m}}"),
    );
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    assert!(
        run.run.held().starts_with("app_instance_limit: "),
        "{}",
        run.run.held()
    );
    assert_eq!(told(&run), 1);
}

#[test]
fn each_quota_can_block_a_run_and_is_named() {
    // The step of one instance is within the quota. Then 999 old instances remain, and ten more are to be started,
    // with 1 024 MB each.
    let wants = "the pass needs 1010 instances";
    let wants_memory = "the pass needs 1034240 MB";
    let cases = [
        (
            "organization: {name: ACME, totalInstances: 1005}",
            "app_instance_limit: ",
            wants,
            "organization `ACME` allows 1005",
        ),
        (
            "space: {name: shop, totalInstances: 1005}",
            "app_instance_limit: ",
            wants,
            "space `shop` allows 1005",
        ),
        (
            "organization: {name: ACME, totalMemoryInMb: 1029120}",
            "memory: ",
            wants_memory,
            "organization `ACME` allows 1029120",
        ),
        (
            "space: {name: shop, totalMemoryInMb: 1129120, otherMemoryInMb: 100000}",
            "memory: ",
            wants_memory,
            "others use 100000, and space `shop` allows 1129120",
        ),
    ];
    for (quota, rule, wanted, limit) in cases {
        let run = run(
            "update",
            "",
            &format!(
                "{{strategy: canary, maxInFlight: 10, quota: {{{quota}}}, continueAfter: 1m}}"
            ),
        );
        let held = &run.run.held();
        assert_eq!(
            (run.run.outcome, told(&run)),
            (RunOutcome::Stalled, 1),
            "{quota}: {held}"
        );
        assert!(
            held.starts_with(rule) && held.contains(wanted) && held.contains(limit),
            "{quota}: {held}"
        );
        assert_eq!(
            most_lacking(&run),
            0,
            "what a pass took away is undone with the rest of it"
        );
    }
}

#[test]
fn inline_settings_override_the_file_and_explain_prints_them() {
    let body = r#"{"strategy": "canary", "options": {"max_in_flight": 7,
        "canary": {"steps": [{"instance_weight": 10}, {"instance_weight": 100}]}}}"#;
    let folder = with_file(
        body,
        "{file: deployment.json, maxInFlight: 50, continueAfter: {median: 5m, sigma: 0.6}}",
    );
    let output = fleetsim(folder.path())
        .args(["explain", "."])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for line in [
        "app: Cloud Foundry, canary deployment, as shipped",
        "  1000 instances, one for each entry of the fleet; max_in_flight 50; 1 start with the request; 1051 of both versions at most",
        "  1       10 %     100            100            901",
        "  2      100 %     900           1000              0",
        "  a user continues after each step: after a median of 5 min 00 s, sigma 0.6",
        "  note: it waits for a user 2 times, without a time limit",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "`{line}` is in\n{text}"
        );
    }
}
