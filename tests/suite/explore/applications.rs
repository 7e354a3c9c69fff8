//! An experiment with several applications: its page has their squares, and answers follow a change of release times.

use serde_json::{Value, json};

use super::Served;
use super::page::{ANSWERED, until};
use crate::report_page::browser::{self, Page};

const APPLICATIONS: &str = r#"
name: morning
replicates: 2
horizon: 6h
fleet: [{name: "store-{1..4}", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
applications:
  shop:
    release:
      images: [{name: app, manifest: {layers: [{size: 50 MB}]}}]
      workloads: [{kind: Deployment, image: app}]
  "svc-{1..2}":
    release:
      images: [{name: svc, manifest: {layers: [{size: 20 MB}]}}]
      workloads: [{kind: Deployment, image: svc}]
    releases: {every: 5 min}
strategies: {half: {rancherFleet: {maxUnavailable: 50%}}}
"#;

/// The time at which the last deployment of the variant after the change is ready.
fn last_ready_s(answer: &Value) -> f64 {
    let end = &answer["data"]["page"]["variants"][1]["end"];
    end.as_f64().expect("a time")
}

#[test]
fn several_applications_are_explored() {
    let served = Served::begin(APPLICATIONS);
    let page = served.send(
        format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
            served.path, served.host
        )
        .as_bytes(),
    );
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(
        page.contains("setUpApplications"),
        "a choice of applications"
    );
    let runs = "\"applications\":[[\"shop\",4],[\"svc-1\",4],[\"svc-2\",4]]";
    assert!(page.contains(runs), "{page}");
    let ask = |set: &[&str]| {
        let question = json!({"id": 1, "page": "a", "before": "half", "after": "half", "set": set});
        served.ask(&question, 1).remove(0)
    };
    let before = ask(&[]);
    let after = ask(&["applications.svc-{1..2}.releases.every=20 min"]);
    let fleet = &after["data"]["page"]["variants"][1]["fleet"];
    assert_eq!(
        fleet["applications"],
        json!([["shop", 4], ["svc-1", 4], ["svc-2", 4]])
    );
    let later_s = last_ready_s(&after) - last_ready_s(&before);
    assert!((880.0..920.0).contains(&later_s), "{later_s} s, not 15 min");
    assert!(page.contains("Each square is a deployment"), "{page}");
    let table = after["data"]["applications"]
        .as_array()
        .expect("a table of applications");
    let names: Vec<&Value> = table.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["shop", "svc-1", "svc-2"]);
    let unchanged = &before["data"]["applications"];
    for (at, row) in table.iter().enumerate() {
        let completion = &row["completion"];
        assert_ne!(completion[0], "unfinished", "{row}");
        assert_ne!(completion[1], "unfinished", "{row}");
        assert_eq!(row["left_behind"], json!(["0", "0"]));
        assert_ne!(row["peak_pulls"], json!(["0", "0"]), "{row}");
        // Both sides of the first answer, and the first side of the second, are the same run.
        let same = &unchanged[at]["completion"];
        assert_eq!((&same[0], &same[1]), (&completion[0], &completion[0]));
    }
}

#[test]
fn a_reader_sees_the_table_of_applications() {
    let Some(browser) = browser::find() else {
        return;
    };
    let served = Served::begin(APPLICATIONS);
    let mut page = Page::open_at(&browser, &served.address(), 1280, 900);
    until(&mut page, ANSWERED);
    let names = page.text(
        "[...document.querySelectorAll('#applications tbody th')].map((cell) => cell.textContent).join('|')",
    );
    assert_eq!(names, "shop|svc-1|svc-2");
    assert!(page.is("document.querySelectorAll('#applications tbody td').length === 18"));
    let title =
        page.text("document.querySelector('#curve-ready').previousElementSibling.textContent");
    assert_eq!(title, "Deployments ready on the new revision deployments");
    assert!(page.complaints().is_empty(), "{:?}", page.complaints());
}
