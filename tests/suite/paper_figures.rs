//! `fleetsim report` with a width, without titles, or for chosen variants: figures for a paper, next to the results.

use std::fs;
use std::path::Path;

use super::common::{canaries_and_stores, contents, fleetsim, folder_with, text};

const STRATEGIES: &str = "{slow: {rancherFleet: {maxUnavailable: 1}}, fast: {allAtOnce: {}}}";

/// Runs the program in a folder, which must succeed, and returns what it prints.
fn prints(folder: &Path, arguments: &[&str]) -> String {
    let done = fleetsim(folder).args(arguments).output().expect("it runs");
    let words = text(&done.stdout) + &text(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {words}");
    words
}

#[test]
fn figures_are_next_to_the_results_which_stay_reproducible() {
    let folder = folder_with(&[]);
    let at = folder.path();
    fs::create_dir(at.join("x")).expect("a folder");
    let experiment = canaries_and_stores(2, STRATEGIES, "");
    fs::write(at.join("x/experiment.yaml"), experiment).expect("written");
    prints(at, &["run", "x", "--out", "out"]);
    let before = contents(&at.join("out"));
    let words = prints(at, &["report", "out", "--width", "column"]);
    assert!(words.contains("out-figures"), "{words}");
    assert_eq!(contents(&at.join("out")), before, "the results stay");
    for name in ["egress-column", "completion-column"] {
        for kind in ["svg", "png", "pdf"] {
            assert!(
                at.join(format!("out-figures/{name}.{kind}")).exists(),
                "{name}.{kind}"
            );
        }
    }
    let pdf = fs::read(at.join("out-figures/completion-column.pdf")).expect("a PDF");
    assert!(pdf.starts_with(b"%PDF-"));
    let table = fs::read_to_string(at.join("out-figures/table.tex")).expect("a table");
    assert!(
        table.contains("slow & ") && table.contains("fast & "),
        "{table}"
    );
    let again = prints(at, &["reproduce", "out"]);
    assert!(again.contains("reproduced"), "{again}");
    assert_eq!(contents(&at.join("out")), before);
}

#[test]
fn figures_can_lack_their_titles_and_some_variants() {
    let experiment = canaries_and_stores(1, STRATEGIES, "");
    let folder = folder_with(&[("experiment.yaml", &experiment)]);
    let at = folder.path();
    prints(at, &["run", "experiment.yaml", "--out", "out"]);
    prints(at, &["report", "out", "--to", "whole"]);
    prints(
        at,
        &[
            "report",
            "out",
            "--no-title",
            "--variants",
            "slow",
            "--to",
            "part",
        ],
    );
    let [whole, part] = ["whole", "part"].map(|figures| {
        fs::read_to_string(at.join(figures).join("completion-page.svg")).expect("an SVG")
    });
    let shown = |svg: &str, words: &str| {
        svg.split("</title>")
            .nth(1)
            .is_some_and(|body| body.contains(words))
    };
    assert!(shown(&whole, "fast") && shown(&whole, "seed"));
    assert!(!shown(&part, "fast") && !shown(&part, "seed") && shown(&part, "slow"));
    let captions = fs::read_to_string(at.join("part/captions.txt")).expect("captions");
    assert!(captions.contains("completion-page: "), "{captions}");
    let table = fs::read_to_string(at.join("part/table.tex")).expect("a table");
    assert!(!table.contains("fast"), "{table}");

    let unknown = fleetsim(at)
        .args(["report", "out", "--variants", "medium"])
        .output()
        .expect("it runs");
    let words = text(&unknown.stderr);
    assert!(
        words.contains("no variant is named `medium`; the variants are slow, fast"),
        "{words}"
    );
    let onto = fleetsim(at)
        .args(["report", "out", "--to", "out"])
        .output()
        .expect("it runs");
    assert!(text(&onto.stderr).contains("choose another folder with `--to`"));
}
