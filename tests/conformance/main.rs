//! Conformance: what others computed or recorded, against ours.
#![allow(clippy::print_stdout, reason = "a line per suite is the test's report")]

mod flow_sharing;
mod suite;

#[test]
fn all_suites_agree() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/flow-sharing");
    let suites = flow_sharing::suites(&folder);
    assert!(!suites.is_empty());
    let mut failed = false;
    for suite in &suites {
        println!("{}: {} of {} agree", suite.name, suite.cases - suite.disagreements.len(), suite.cases);
        for disagreement in suite.disagreements.iter().take(5) {
            println!("  {disagreement}");
        }
        failed |= !suite.disagreements.is_empty();
    }
    assert!(!failed);
}
