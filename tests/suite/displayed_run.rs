//! Charts and tables show the same replicate of all variants, so that they compare strategies and not random numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::common::{fleetsim, folder_with, text};

/// An experiment with offline clusters, three strategies and two worlds, like experiment 07.
const EXPERIMENT: &str = "
name: luck
replicates: 9
horizon: 6h
fleet: [{name: \"c-{01..40}\", nodes: 1}]
release:
  images: [{name: app, manifest: {layers: [{size: 40 MB}]}}]
  workloads: [{kind: Deployment, image: app, start: {median: 4 s, sigma: 0.6}}]
strategies:
  batches: {batches: {size: 5%}}
  once: {allAtOnce: {}}
  fleet: {rancherFleet: {maxUnavailable: 10%}}
sweep:
  faults.offline.share: [10%, 20%]
";

#[test]
fn all_variants_show_the_same_replicate_and_its_conditions_are_printed() {
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    let printed = text(
        &fleetsim(folder.path())
            .args(["run", "."])
            .assert()
            .success()
            .get_output()
            .stdout,
    );
    let results = folder.path().join("results/luck");
    let mut replicates: BTreeSet<String> = BTreeSet::new();
    let mut offline: BTreeMap<String, u32> = BTreeMap::new();
    for table in ["clusters.csv", "passes.csv", "timeline.csv"] {
        let mut reader = csv::Reader::from_path(results.join(table)).expect("the table");
        let header = reader.headers().expect("a header").clone();
        let column = |name: &str| header.iter().position(|other| other == name);
        let replicate = column("replicate").unwrap_or_else(|| panic!("{table} names the run"));
        for row in reader.records() {
            let row = row.expect("a row");
            replicates.insert(row[replicate].to_owned());
            if let Some(column) = column("offline") {
                *offline.entry(row[0].to_owned()).or_default() += u32::from(&row[column] == "true");
            }
        }
    }
    let [replicate] = replicates.iter().collect::<Vec<_>>()[..] else {
        panic!("one replicate, not {replicates:?}")
    };
    assert_eq!(offline.len(), 6, "three strategies in two worlds");
    let (least, most) = (
        offline.values().min().expect("six"),
        offline.values().max().expect("six"),
    );
    assert!(
        least < most,
        "the worlds differ, or the test shows nothing: {offline:?}"
    );
    let conditions = format!(
        "replicate {replicate} of every variant: {least}–{most} of 40 clusters offline at its start"
    );
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&conditions), "{conditions}\n{printed}");
    let page = std::fs::read_to_string(results.join("report.html")).expect("the page");
    assert!(
        page.contains(&format!("replicate {replicate} of every variant")),
        "the page names it"
    );
    for chart in ["egress", "ready", "states", "multiples"] {
        let svg = std::fs::read_to_string(results.join(format!("charts/{chart}.svg")))
            .expect("the chart");
        assert!(
            svg.contains(&format!(
                "replicate {replicate}: {least}–{most} of 40 clusters offline"
            )),
            "{chart}"
        );
    }
}
