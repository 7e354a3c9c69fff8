//! `docs/analysis.md` shows the output of pandas and DuckDB, and the tables have the documented types.
//!
//! `UPDATE_DOCS=1 cargo test --all-features --test suite analysis_page` writes the current output of the cells into
//! the page.
//!
//! The tests need a Python with the packages of `tests/suite/analysis/requirements.txt`: the one named by
//! `FLEETSIM_PYTHON`, otherwise one in `target/python`, otherwise `python3`. Without it, they pass and say so; if `CI`
//! is set, they fail.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::common::{Block, blocks, python_with, root};
use super::external_scheduler;

const PAGE: &str = "docs/analysis.md";
const REQUIREMENTS: &str = "tests/suite/analysis/requirements.txt";

/// The columns that are not numeric.
const TEXTS: [&str; 23] = [
    "variant",
    "strategy",
    "setting",
    "outcome",
    "held_by",
    "held_detail",
    "registry",
    "kind",
    "workload",
    "group",
    "region",
    "measure",
    "unit",
    "reference",
    "cluster",
    "stage",
    "world",
    "standing",
    "reason",
    "object",
    "condition",
    "status",
    "message",
];
const BOOLEANS: [&str; 3] = ["offline", "defective", "may_be_best"];

/// The key columns of each table, according to `docs/results-format.md`.
const KEYS: [(&str, &[&str]); 10] = [
    ("variants.csv", &["variant"]),
    ("runs.csv", &["variant", "replicate"]),
    (
        "registries.csv",
        &["variant", "replicate", "kind", "registry"],
    ),
    ("summary.csv", &["variant", "measure"]),
    ("comparison.csv", &["variant", "measure"]),
    ("timeline.csv", &["variant", "t_s"]),
    ("clusters.csv", &["variant", "cluster"]),
    ("passes.csv", &["variant", "t_s"]),
    ("statuses.csv", &["variant", "t_s", "object", "condition"]),
    ("plan.csv", &["variant"]),
];

/// A Python with the packages of the page, in the versions with which the page was written: other versions print
/// different output.
fn python() -> Option<PathBuf> {
    python_with(REQUIREMENTS)
}

/// The program's output; panics with its errors if it fails.
fn output(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(input)
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success(),
        "{command:?}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// The page with the current output of its cells, in order; `None` leaves a cell's output unchanged.
fn page_with(page: &str, printed: &[Option<String>]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let blocks = blocks(page);
    let is_cell = |block: &Block| ["python", "sql"].contains(&block.language.as_str());
    let cells = blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| is_cell(block));
    // The cells are replaced from the last to the first, so that earlier lines keep their numbers.
    for ((at, cell), printed) in cells.zip(printed).collect::<Vec<_>>().into_iter().rev() {
        let Some(printed) = printed else { continue };
        let end = cell.line + 1 + cell.text.lines().count() + 1;
        let recorded = blocks
            .get(at + 1)
            .filter(|next| next.language == "text" && next.line == end + 1);
        let recorded_end =
            recorded.map_or(end, |next| next.line + 1 + next.text.lines().count() + 1);
        let block = ["", "```text"]
            .into_iter()
            .chain(printed.lines())
            .chain(["```"])
            .map(str::to_owned);
        lines.splice(end..recorded_end, block);
    }
    lines.join("\n") + "\n"
}

/// A folder in which the page's paths are valid: it contains the experiments and the committed results, and is
/// writable.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("results")).expect("made");
    for name in [
        "experiments",
        "results/01-max-unavailable",
        "results/03-documented-or-shipped",
    ] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).expect("linked");
    }
    folder
}

#[test]
fn the_page_shows_the_output_of_its_cells() {
    let Some(python) = python() else { return };
    let page = fs::read_to_string(root().join(PAGE)).expect("readable");
    let folder = workspace();
    let needs_series = |block: &Block| block.text.contains("series.parquet");
    let mut cells = Vec::new();
    let mut is_left_out = Vec::new();
    for block in blocks(&page) {
        match block.language.as_str() {
            "sh" if cfg!(feature = "parquet") && block.text.starts_with("fleetsim ") => {
                let mut fleetsim = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
                output(
                    fleetsim
                        .args(block.text.split_whitespace().skip(1))
                        .current_dir(folder.path()),
                    b"",
                );
            }
            "python" | "sql" => {
                is_left_out.push(needs_series(&block) && !cfg!(feature = "parquet"));
                if is_left_out.last() == Some(&false) {
                    cells.push([block.language, block.text]);
                }
            }
            _ => {}
        }
    }
    assert!(cells.len() > 5, "{PAGE} has cells");
    let mut runner = Command::new(python);
    runner
        .arg(root().join("tests/suite/analysis/cells.py"))
        .current_dir(folder.path());
    let printed = output(
        &mut runner,
        &serde_json::to_vec(&cells).expect("plain text"),
    );
    let printed: Vec<String> = serde_json::from_slice(&printed).expect("one text a cell");
    assert_eq!(printed.len(), cells.len());
    let mut printed = printed.into_iter();
    let printed: Vec<Option<String>> = is_left_out
        .into_iter()
        .map(|left_out| if left_out { None } else { printed.next() })
        .collect();
    let now = page_with(&page, &printed);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), now).expect("written");
        return;
    }
    let shown =
        |text: &str| -> Vec<String> { blocks(text).into_iter().map(|block| block.text).collect() };
    for (shown, printed) in shown(&page).iter().zip(shown(&now)) {
        assert_eq!(
            *shown, printed,
            "{PAGE} shows something else than its cell prints; see UPDATE_DOCS in this test"
        );
    }
    assert_eq!(page, now, "{PAGE} shows what every cell prints");
}

#[test]
fn committed_tables_are_typed_and_keyed_as_documented_and_read_without_options() {
    let documentation =
        fs::read_to_string(root().join("docs/results-format.md")).expect("readable");
    for (table, key) in KEYS {
        let row = format!(
            "| `{table}` | {} |",
            key.iter()
                .map(|column| format!("`{column}`"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        assert!(
            documentation.contains(&row),
            "the document has a row `{row}`"
        );
    }
    let Some(python) = python() else { return };
    let mut command = Command::new(python);
    command.arg(root().join("tests/suite/analysis/tables.py"));
    for results in fs::read_dir(root().join("results")).expect("readable") {
        let results = results.expect("readable").path();
        for (table, key) in KEYS
            .into_iter()
            .filter(|(table, _)| results.join(table).exists())
        {
            // Tables of format 3 have no `kind`.
            let text = fs::read_to_string(results.join(table)).expect("readable");
            let header = text.lines().next().unwrap_or_default();
            let mut columns = key.to_vec();
            columns.retain(|column| header.split(',').any(|known| known == *column));
            command.arg(results.join(table)).arg(columns.join(","));
        }
    }
    let told = output(&mut command, b"");
    let told: std::collections::BTreeMap<String, Vec<(String, String, String, bool)>> =
        serde_json::from_slice(&told).expect("columns of files");
    for (file, columns) in told {
        for (column, pandas, duckdb, is_empty) in columns {
            // A column without values has no type: it is NaN in pandas (object if there are no rows), and NULL of
            // VARCHAR in DuckDB.
            let expected: (&[&str], &[&str]) = match column.as_str() {
                _ if is_empty => (&["float64", "object"], &["VARCHAR"]),
                // Swept settings are as written in the experiment.
                setting if file.ends_with("variants.csv") && !TEXTS.contains(&setting) => (
                    &["str", "int64", "float64", "bool"],
                    &["VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"],
                ),
                text if TEXTS.contains(&text) => (&["str"], &["VARCHAR"]),
                boolean if BOOLEANS.contains(&boolean) => (&["bool"], &["BOOLEAN"]),
                _ => (&["int64", "float64"], &["BIGINT", "DOUBLE"]),
            };
            let holds =
                expected.0.contains(&pandas.as_str()) && expected.1.contains(&duckdb.as_str());
            assert!(
                holds,
                "{file}: {column} is {pandas} to pandas and {duckdb} to DuckDB, not {expected:?}"
            );
        }
    }
}

#[test]
fn texts_that_look_like_formulas_read_back_equal() {
    const RULES: [&str; 4] = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1:A9)"];
    const DETAIL: &str = "=HYPERLINK(\"https://x\",\"a\nb\")";
    let Some(python) = python() else { return };
    let script = "read q; echo '{\"ready\": {}}'; while read q; do case $q in *hold*) cat $0.json;; \
                  *bye*) echo '{\"bye\": {}}'; exit;; *) echo '{}';; esac; done";
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = external_scheduler::experiment("{allAtOnce: {}}");
    for (at, rule) in RULES.iter().enumerate() {
        let answer = serde_json::json!({"hold": {"rule": rule, "explanation": DETAIL}});
        fs::write(
            folder.path().join(format!("{at}.json")),
            format!("{answer}\n"),
        )
        .expect("written");
        text += &format!("  x{at}: {{external: {{command: [sh, -c, {script:?}, '{at}']}}}}\n");
    }
    fs::write(folder.path().join("experiment.yaml"), text).expect("written");
    let mut run = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    output(
        run.args(["run", ".", "--allow-commands", "--out", "out"])
            .current_dir(folder.path()),
        b"",
    );
    for (column, expected) in [("held_by", RULES), ("held_detail", [DETAIL; 4])] {
        let mut command = Command::new(&python);
        command
            .arg(root().join("tests/suite/analysis/texts.py"))
            .arg(folder.path().join("out/runs.csv"))
            .arg(column);
        let told: [Vec<Option<String>>; 2] = serde_json::from_slice(
            &String::from_utf8(output(&mut command, b""))
                .expect("text")
                .replace("NaN", "null")
                .into_bytes(),
        )
        .expect("texts");
        for told in told {
            // Each of two strategies has two runs; only the first strategy finishes.
            let told: Vec<&str> = told
                .iter()
                .flatten()
                .map(String::as_str)
                .filter(|text| !text.is_empty())
                .collect();
            assert_eq!(
                told,
                expected
                    .iter()
                    .flat_map(|text| [*text; 2])
                    .collect::<Vec<_>>(),
                "{column}"
            );
        }
    }
}

#[test]
fn output_is_placed_after_its_cell() {
    let page =
        "a\n```python\n1 + 1\n```\n\nb\n\n```sql\nFROM t\n```\n\n```text\nold\nolder\n```\nc\n";
    let printed = [Some("2".to_owned()), Some("new".to_owned())];
    let now = "a\n```python\n1 + 1\n```\n\n```text\n2\n```\n\nb\n\n```sql\nFROM t\n```\n\n```text\nnew\n```\nc\n";
    assert_eq!(page_with(page, &printed), now);
    assert_eq!(page_with(now, &printed), now, "and only once");
    assert_eq!(page_with(now, &[None, None]), now);
}
