//! Histories of each product, once and as a watch.

use std::sync::Arc;

use super::*;
use crate::document::problem::Source;

fn input(text: &str) -> Input {
    let source = Arc::new(Source { name: "h.json".to_owned(), text: text.to_owned() });
    Input { source, sha256: String::new() }
}

fn found(text: &str) -> Vec<(String, Vec<f64>)> {
    let quantities = read(&input(text), &mut Tally::default()).unwrap_or_else(|problem| panic!("{problem}"));
    quantities.into_iter().map(|quantity| (quantity.name, quantity.values)).collect()
}

#[test]
fn syncs_of_argo_cd_are_counted_once() {
    let application = r#"{"kind": "Application", "metadata": {"name": "shop", "namespace": "argocd", "uid": "u"}, "status": {
        "history": [{"deployStartedAt": "2024-10-02T10:00:00Z", "deployedAt": "2024-10-02T10:00:04Z"},
                    {"deployedAt": "2024-10-02T11:00:04Z"},
                    {"deployStartedAt": "2024-10-02T12:00:01Z", "deployedAt": "2024-10-02T12:00:07Z"}],
        "operationState": {"phase": "Succeeded", "startedAt": "2024-10-02T12:00:00Z", "finishedAt": "2024-10-02T12:00:07Z"},
        "health": {"status": "Healthy", "lastTransitionTime": "2024-10-02T12:00:37Z"}}}"#;
    let expected =
        vec![("argo_cd_sync".to_owned(), vec![4.0, 6.0]), ("argo_cd_ready_after_sync".to_owned(), vec![30.0])];
    assert_eq!(found(application), expected);
    let watched = format!("{{\"type\": \"MODIFIED\", \"object\": {application}}}\n").repeat(3);
    assert_eq!(found(&watched), expected, "the same state three times");
    assert_eq!(found(&format!("{{\"kind\": \"List\", \"items\": [{application}]}}")), expected);
}

#[test]
fn bundles_of_rancher_fleet_have_their_times_in_conditions() {
    let deployment = r#"{"kind": "BundleDeployment", "metadata": {"name": "a", "creationTimestamp": "2024-10-02T10:00:00Z"},
        "status": {"conditions": [{"type": "Deployed", "status": "True", "lastUpdateTime": "2024-10-02T10:00:05Z"},
                                  {"type": "Ready", "status": "True", "lastUpdateTime": "2024-10-02T10:00:25Z"}]}}"#;
    let bundle = |status: &str, second: &str| {
        format!(
            "{{\"kind\": \"Bundle\", \"metadata\": {{\"name\": \"b\"}}, \"status\": {{\"conditions\": [{{\"type\": \"Ready\", \
             \"status\": \"{status}\", \"lastUpdateTime\": \"2024-10-02T10:01:{second}Z\"}}]}}}}\n"
        )
    };
    let text = format!("{deployment}\n{}{}{}", bundle("False", "00"), bundle("False", "20"), bundle("True", "50"));
    let expected = [("fleet_applied", 5.0), ("fleet_ready_after_apply", 20.0), ("fleet_bundle", 50.0)];
    assert_eq!(found(&text), expected.map(|(name, value)| (name.to_owned(), vec![value])));
}

#[test]
fn update_runs_of_kubefleet_have_stages_and_clusters() {
    let text = r#"{"kind": "ClusterStagedUpdateRun", "metadata": {"name": "run"}, "status": {"stagesStatus": [
        {"stageName": "canary", "startTime": "2024-10-02T10:00:00Z", "endTime": "2024-10-02T10:02:00Z", "clusters": [
            {"clusterName": "a", "conditions": [
                {"type": "Started", "status": "True", "lastTransitionTime": "2024-10-02T10:00:01Z"},
                {"type": "Succeeded", "status": "True", "lastTransitionTime": "2024-10-02T10:01:31Z"}]},
            {"clusterName": "b", "conditions": [
                {"type": "Started", "status": "True", "lastTransitionTime": "2024-10-02T10:01:32Z"},
                {"type": "Succeeded", "status": "False", "lastTransitionTime": "2024-10-02T10:01:50Z"}]}]}]}}"#;
    let expected = [("kubefleet_cluster", 90.0), ("kubefleet_stage", 120.0)];
    assert_eq!(found(text), expected.map(|(name, value)| (name.to_owned(), vec![value])));
}

#[test]
fn the_statuses_of_a_results_folder_are_read() {
    let text = "variant,strategy,setting,replicate,t_s,object,condition,status,reason,message\n\
                v,s,,0,0,ApplicationSet/app,applicationStatus/a,Pending,1,\n\
                v,s,,0,2.5,ApplicationSet/app,applicationStatus/a,Progressing,1,\n\
                v,s,,0,32.5,ApplicationSet/app,applicationStatus/a,Healthy,1,\n\
                v,s,,0,0,Bundle/app,Ready,True,,\nv,s,,0,1,Bundle/app,Ready,False,,\nv,s,,0,61,Bundle/app,Ready,True,,\n";
    let expected = [("argo_cd_progressing", 30.0), ("argo_cd_pending", 2.5), ("fleet_bundle", 60.0)];
    assert_eq!(found(text), expected.map(|(name, value)| (name.to_owned(), vec![value])));
}

#[test]
fn what_is_no_history_is_refused() {
    for (text, message) in [
        (r#"{"kind": "Pod", "metadata": {}, "status": {}}"#, "h.json:1:1: kind: this is a Pod"),
        (r#"{"items": []}"#, "the file has no object of a product"),
        ("a,b\n1,2\n", "h.json:1:1: t_s: the table has no column `t_s`"),
        ("t_s,object,condition,status\nsoon,a,b,c\n", "not a history"),
        (r#"{"kind": "Bundle", "metadata": {}, "status": {"conditions": []}}"#, "no change with a start and an end"),
        (r#"{"kind": "Bundle", "metadata": {}, "status": {"cond"#, "the JSON ends too early"),
    ] {
        let found = read(&input(text), &mut Tally::default()).expect_err(text).to_string();
        assert!(found.contains(message), "{text}: {found}");
    }
}
