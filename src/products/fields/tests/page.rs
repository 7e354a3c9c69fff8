//! Generates `docs/product-fields.md` from the tables: the fields that affect the rollout but are not simulated.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::table::{FieldClass, FieldRow, rows};
use crate::document::yaml::in_lines;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/product-fields.md");

/// Width of a line of prose in columns.
const WIDTH: usize = 116;

const HEAD: &str = "# Fields of the products' files

Every field of the products' types has a class, in one table for each product (`src/products/fields/*.csv`, with the
effect of each field and the line of the product's source that shows it). *Simulated*: the simulation follows it.
*Neutral*: it cannot change which targets are updated, in which order, how fast, or whether an update succeeds.
*Decides*: it can, and the simulation does not follow it. Such a field is an error in `check`, `explain`, `run`, `plan`
and `import` alike, unless the strategy accepts it by name, e.g. `accept: [helm.waitForJobs]`; then answer and results
carry a note.

The tables follow rancher/fleet 3b2c622c, argoproj/argo-cd 37ee0097, kubefleet-dev/kubefleet e160c1cd and
cloudfoundry/cloud_controller_ng 3bbba906. A test compares them with the types of the modules in `controllers`.

| file or object | simulated | neutral | decides |
|---|---|---|---|
";

/// Kinds of files and objects that a strategy can name, in the order of the page.
const KINDS: [&str; 8] = [
    "FleetYAML",
    "Bundle",
    "HelmOp",
    "ApplicationSet",
    "ClusterResourcePlacement",
    "ClusterStagedUpdateStrategy",
    "ClusterStagedUpdateRun",
    "deployment",
];

fn written() -> String {
    let mut by_kind: BTreeMap<String, Vec<FieldRow>> = BTreeMap::new();
    for row in rows() {
        by_kind
            .entry(row.kind.clone())
            .or_default()
            .push(row.clone());
    }
    let mut page = HEAD.to_owned();
    for kind in KINDS {
        let rows = &by_kind[kind];
        let _ = writeln!(
            page,
            "| {kind} | {} | {} | {} |",
            count(rows, FieldClass::Simulated),
            count(rows, FieldClass::Neutral),
            count(rows, FieldClass::Decides)
        );
    }
    page.push_str("\nFields inside of a field that decides are left out below.\n");
    for kind in KINDS {
        let deciding = outermost(&by_kind[kind]);
        if deciding.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {kind}\n\n");
        for row in deciding {
            let text = format!("- `{}`: {} ({})", shown(&row.path), row.effect, row.source);
            for (at, line) in in_lines(&text, WIDTH).iter().enumerate() {
                let indent = if at == 0 { "" } else { "  " };
                let _ = writeln!(page, "{indent}{line}");
            }
        }
    }
    page
}

/// Returns a path, shortened at its beginning if it is too long for a line.
fn shown(path: &str) -> String {
    const LONGEST: usize = 90;
    match path.len().checked_sub(LONGEST) {
        Some(over) if over > 0 => format!("…{}", &path[over..]),
        _ => path.to_owned(),
    }
}

fn count(rows: &[FieldRow], class: FieldClass) -> usize {
    rows.iter().filter(|row| row.class == class).count()
}

/// Returns the rows of fields that affect the rollout, except fields inside another such field.
fn outermost(rows: &[FieldRow]) -> Vec<&FieldRow> {
    let mut found: Vec<&FieldRow> = Vec::new();
    for row in rows {
        if row.class != FieldClass::Decides {
            continue;
        }
        let is_inside = found.iter().any(|outer| {
            row.path
                .strip_prefix(&outer.path)
                .is_some_and(|rest| rest.starts_with(['.', '[']))
        });
        if !is_inside {
            found.push(row);
        }
    }
    found
}

#[test]
fn the_page_of_fields_is_current() {
    let written = written();
    let current = std::fs::read_to_string(PAGE).unwrap_or_default();
    if written != current && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &written).expect("the page is written");
        return;
    }
    assert!(
        written == current,
        "docs/product-fields.md is out of date; write it with `UPDATE_DOCS=1 cargo test --lib fields`"
    );
}
