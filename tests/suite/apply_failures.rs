//! The table of failures in `docs/schedulers.md` has a row for each kind of failure under each product, and each row
//! agrees with a simulation.
//!
//! Ten clusters are updated, and the apply fails in all of them. For a refused row, the experiment has an error. For
//! any other row, the reason for the stall has the text and the rule of the row. Experiments in which only the first
//! apply fails show whether the product tries again.

use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;
use fleetsim::world::ApplyFailure;

use super::common::{folder_with, root};

/// The products of the table, each with a strategy that updates some of the clusters at a time.
const PRODUCTS: [(&str, &str); 7] = [
    ("Rancher Fleet", "rancherFleet: {maxUnavailable: 50%}"),
    (
        "Argo CD",
        "argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [
          {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 50%}]}}}",
    ),
    (
        "Argo CD's proposal",
        "argoCdProposal: {type: RollingUpdate, rollingUpdate: {steps: [
          {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 5}]}}",
    ),
    (
        "KubeFleet staged",
        "kubeFleetStaged: {stages: [{name: all, labelSelector: {}, maxConcurrency: 5}]}",
    ),
    (
        "KubeFleet rolling",
        "kubeFleetRolling: {maxUnavailable: 50%}",
    ),
    ("Cloud Foundry", "cloudFoundry: {}"),
    ("baselines", "batches: {size: 5}"),
];

/// Returns the name of a failure in the table: its keyword in experiments, if it has one.
const fn name(failure: ApplyFailure) -> &'static str {
    match failure {
        ApplyFailure::Rejected => "rejected",
        ApplyFailure::Immutable => "immutable",
        ApplyFailure::Hook => "hook",
        ApplyFailure::Timeout => "timeout",
        ApplyFailure::NotReady => "pods are late",
    }
}

/// A row of the table.
#[derive(Debug)]
struct FailureRow {
    product: String,
    failure: String,
    shown: String,
    retried: String,
    holds: String,
    known: String,
}

/// The rows of the page.
fn rows() -> Vec<FailureRow> {
    let page = std::fs::read_to_string(root().join("docs/schedulers.md")).expect("the page");
    let (_, table) = page
        .split_once("| product | failure | shown | retried | rolled back | holds | known |\n")
        .expect("the table");
    let lines = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [product, failure, shown, retried, _, holds, known] = cells[..] else {
            panic!("seven cells: {line}");
        };
        FailureRow {
            product: product.to_owned(),
            failure: failure.trim_matches('`').to_owned(),
            shown: shown.to_owned(),
            retried: retried.to_owned(),
            holds: holds.trim_matches('`').to_owned(),
            known: known.to_owned(),
        }
    };
    lines.map(row).collect()
}

/// Returns a run in which the applies fail in this way, or the error of the experiment.
fn update(strategy: &str, apply: &str) -> Result<RunRecord, String> {
    let text = format!(
        "name: failures
question: What does a failed apply do?
seed: 5
replicates: 1
horizon: 12h
fleet: [{{name: 'c-{{01..10}}', nodes: 1, labels: {{env: prod}}}}]
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
faults: {{apply: [{{share: 100%, {apply}}}]}}
strategies:
  tested:
    {strategy}
"
    );
    let folder = folder_with(&[("experiment.yaml", &text)]);
    match load(folder.path(), &Overrides::default()) {
        Ok(experiment) => {
            let run = sim::run(&experiment.variants[0], experiment.seed, 0);
            Ok(run.expect("the strategy starts no process"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the parts of a cell that are code: texts that the product prints.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn check_row(row: &FailureRow, strategy: &str) {
    let kind = &row.failure;
    match update(strategy, &format!("kind: {kind}")) {
        Err(error) => {
            assert_eq!(row.shown, "refused", "{row:?}: {error}");
            assert!(error.contains("faults.apply[0].kind"), "{error}");
        }
        Ok(record) => {
            assert_eq!(record.run.outcome, RunOutcome::Stalled, "{row:?}");
            let held = record.run.held();
            assert_eq!(record.run.held_by, row.holds, "{row:?}: {held}");
            let words: Vec<&str> = quoted(&row.shown).collect();
            assert!(!words.is_empty(), "{row:?}");
            for word in words {
                assert!(held.contains(word), "{word}: {held}");
            }
            let once = update(strategy, &format!("kind: {kind}, attempts: 1"));
            let outcome = once.expect("it is accepted as well").run.outcome;
            let is_retried = outcome == RunOutcome::Complete;
            assert_eq!(is_retried, row.retried != "never", "{row:?}: {outcome:?}");
        }
    }
}

#[test]
fn each_kind_of_failure_has_a_row_for_each_product_and_each_row_agrees_with_a_simulation() {
    let rows = rows();
    for (product, strategy) in PRODUCTS {
        for failure in ApplyFailure::ALL {
            let kind = name(failure);
            let mut of_kind = rows
                .iter()
                .filter(|row| row.product == product && row.failure == kind);
            let row = of_kind
                .next()
                .unwrap_or_else(|| panic!("a row for {kind} under {product}"));
            assert!(
                of_kind.next().is_none(),
                "one row for {kind} under {product}"
            );
            // Experiments cannot request this failure: it follows from the pods and a time-out.
            if failure != ApplyFailure::NotReady {
                check_row(row, strategy);
            }
        }
    }
    let all = PRODUCTS.len() * ApplyFailure::ALL.len();
    assert_eq!(rows.len(), all, "no row is of something else");
    for row in rows {
        assert!(
            ["read", "recorded", "guess", "decided here"].contains(&&*row.known),
            "{row:?}"
        );
    }
}

#[test]
fn an_impossible_failure_is_refused_with_a_replacement() {
    let of = |product: &str| {
        let (_, strategy) = PRODUCTS
            .iter()
            .find(|(name, _)| *name == product)
            .expect("a product");
        *strategy
    };
    for (product, kind, parts) in [
        (
            "Cloud Foundry",
            "rejected",
            [
                "Cloud Foundry applies nothing in a cluster; it starts instances, and these crash or stay unhealthy",
                "experiment.yaml:10:38",
                "help: write `faults.defect: {share: 10%}` for instances that crash, with `kind: unready` for those",
            ],
        ),
        (
            "KubeFleet rolling",
            "hook",
            [
                "the strategy `tested` cannot have it: KubeFleet places objects and runs no hooks",
                "faults.apply[0].kind",
                "help: write `kind: rejected` for an object that a cluster refuses",
            ],
        ),
        (
            "Argo CD's proposal",
            "timeout",
            [
                "the proposal does not say what happens after a failed sync",
                "faults.apply[0].kind",
                "help: write the steps as `argoCd`, whose failed syncs are simulated",
            ],
        ),
    ] {
        let error = update(of(product), &format!("kind: {kind}")).expect_err("it is refused");
        for part in parts {
            assert!(error.contains(part), "{product}: {part}: {error}");
        }
    }
}
