//! The commands of `docs/calibrate.md` run, and print the output that the page shows.
//!
//! `UPDATE_DOCS=1 cargo test --test suite calibrate::page` writes their current output into the page.

use std::fs;

use super::super::common::{fleetsim, folder_with, root, text, with_outputs};
use super::stream::{benchmark, small};

const PAGE: &str = "docs/calibrate.md";

/// A folder with all files that the page's commands read.
fn home() -> tempfile::TempDir {
    let events = small(1).text();
    let manifest =
        "{\"layers\": [{\"digest\": \"sha256:a\", \"size\": 4000000, \"uncompressed\": 40000000}]}";
    let table = "image,layers,compressed_bytes,uncompressed_bytes\nbench:9-layers-40000000-bytes,9,,40000000\n";
    let series: Vec<String> = (0..40)
        .map(|at| format!("[{},\"{}\"]", 1000 + 15 * at, 1e6 * f64::from(at % 7)))
        .collect();
    let response = |result: &str| {
        format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}"
        )
    };
    folder_with(&[
        ("events.json", &events),
        ("events.jsonl", &benchmark(1).text()),
        ("march.json", &events),
        ("april.json", &small(2).text()),
        ("shop-2.json", manifest),
        ("images.csv", table),
        (
            "egress.json",
            &response(&format!(
                "{{\"metric\":{{}},\"values\":[{}]}}",
                series.join(",")
            )),
        ),
        ("starts.csv", "pod,start_s\na,4\nb,5\n"),
    ])
}

/// Commands of other programs on the page are not run.
#[test]
fn the_commands_of_the_page_print_the_output_that_it_shows() {
    let page = fs::read_to_string(root().join(PAGE)).expect("the page");
    let home = home();
    let (now, commands) = with_outputs(&page, |language, command| {
        let command = command
            .split(" #")
            .next()
            .unwrap_or_default()
            .strip_prefix("fleetsim ")?;
        let arguments = command
            .split_whitespace()
            .map(|word| word.trim_matches('"'));
        // Commands whose output is not shown need no exact p-values.
        let few = if language == "console" {
            &["--no-charts"][..]
        } else {
            &["--no-charts", "--resamples", "20"]
        };
        let output = fleetsim(home.path())
            .args(arguments)
            .args(few)
            .assert()
            .success()
            .get_output()
            .clone();
        Some(text(&output.stdout))
    });
    assert!(commands >= 6, "the page has commands");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), now).expect("written");
    } else {
        assert!(
            now == page,
            "{PAGE} is out of date; run UPDATE_DOCS=1 cargo test --test suite calibrate::page\n{now}"
        );
    }
}
