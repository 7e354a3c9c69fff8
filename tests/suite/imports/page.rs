//! `docs/import.md` shows the actual output of the program.
//!
//! `UPDATE_DOCS=1 cargo test --test suite imports::page` writes the current output of its commands into the page.

use std::fs;
use std::process::Command;

use super::exports::{
    APPLICATION_SET, FLEET_YAML, PLACEMENT, STAGES, applications, deployment, fleet_clusters,
    members, new_image, old_image, processes,
};
use super::{folder, json};
use crate::common::{blocks, root};

const PAGE: &str = "docs/import.md";

/// The page with the current output of its commands, each `sh` block followed by a `text` block.
fn page_with(page: &str, printed: &[String]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let blocks = blocks(page);
    let commands = blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| block.language == "sh");
    // The blocks are replaced from the last to the first, so that earlier lines keep their numbers.
    for ((at, block), printed) in commands.zip(printed).collect::<Vec<_>>().into_iter().rev() {
        let end = block.line + 1 + block.text.lines().count() + 1;
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

#[test]
fn the_page_shows_the_current_output_of_its_commands() {
    let page = fs::read_to_string(root().join(PAGE)).expect("readable");
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(60))),
        ("fleet.yaml", FLEET_YAML.to_owned()),
        ("members.json", json(&members(120))),
        ("placement.yaml", PLACEMENT.to_owned()),
        ("stages.yaml", STAGES.to_owned()),
        ("apps.json", json(&applications(80))),
        ("applicationset.yaml", APPLICATION_SET.to_owned()),
        ("processes.json", json(&processes(200))),
        ("deployment.json", json(&deployment())),
        ("v2.json", new_image()),
        ("v1.json", old_image()),
    ]);
    let mut printed = Vec::new();
    for block in blocks(&page).iter().filter(|block| block.language == "sh") {
        let mut text = String::new();
        for line in block.text.lines() {
            let words = line
                .strip_prefix("fleetsim ")
                .expect("a command of fleetsim")
                .split_whitespace();
            let output = Command::new(env!("CARGO_BIN_EXE_fleetsim"))
                .args(words)
                .current_dir(folder.path())
                .output();
            let output = output.expect("run");
            text += &String::from_utf8(output.stdout).expect("text");
            if !output.status.success() {
                text += &String::from_utf8(output.stderr).expect("text");
            }
        }
        printed.push(
            text.lines()
                .map(|line| line.trim_end().to_owned() + "\n")
                .collect(),
        );
    }
    let now = page_with(&page, &printed);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), now).expect("written");
        return;
    }
    assert_eq!(
        page, now,
        "{PAGE} shows something else; see UPDATE_DOCS in this test"
    );
}
