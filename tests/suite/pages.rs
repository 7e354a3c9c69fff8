//! Markdown pages are easy to read in a terminal and in a diff: prose ends before column 120, and table cells are
//! short. Links lead to existing files and headings.

use std::path::Path;

use super::common::{contents, root};

/// Maximum length of a line of prose.
const COLUMNS: usize = 120;
/// Maximum length of a table cell.
const CELL: usize = 90;

/// Pages that do not meet the limits yet. A page that does must be removed from this list.
const EXCEPTIONS: &[&str] = &["docs/results-format.md"];

/// Minimum number of checked pages.
const FEWEST: usize = 40;

/// All Markdown pages: path and text.
pub(super) fn pages() -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a page is text");
    let mut found = Vec::new();
    for folder in ["docs", "experiments", "examples"] {
        let files = contents(&root().join(folder))
            .into_iter()
            .filter(|(name, _)| name.ends_with(".md"));
        found.extend(files.map(|(name, bytes)| (format!("{folder}/{name}"), text(&bytes))));
    }
    for name in ["CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md", "README.md"] {
        found.push((
            name.to_owned(),
            text(&std::fs::read(root().join(name)).expect("the page is there")),
        ));
    }
    assert!(found.len() >= FEWEST, "only {} pages", found.len());
    found
}

/// The lines that are too long. Lines of code may have any length, and so may a line that consists of a link.
fn too_long(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(page.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
        } else if line.starts_with('|') {
            let (row, _) = line.split_once("<!--").unwrap_or((line, ""));
            let cells = row.trim_matches('|').split('|').map(str::trim);
            let long = cells.filter(|cell| shown(cell).chars().count() > CELL);
            found.extend(long.map(|cell| {
                format!(
                    "{number}: a cell of {}: {cell}",
                    shown(cell).chars().count()
                )
            }));
        } else {
            // A comment after a number, which names the cell that the number is from, is not part of the prose.
            let prose = line.split("<!--").next().unwrap_or_default();
            let columns = prose.chars().count();
            if columns >= COLUMNS && prose.trim_start_matches("- ").contains(' ') && !is_link(line)
            {
                found.push(format!("{number}: {columns} columns"));
            }
        }
    }
    found
}

/// The text of a table cell as displayed: only the words of a link.
fn shown(cell: &str) -> String {
    let mut parts = cell.split("](");
    let first = parts.next().expect("a split has a first part").to_owned();
    parts.fold(first, |text, rest| {
        text + rest.split_once(')').map_or("", |(_, after)| after)
    })
}

fn is_link(line: &str) -> bool {
    line.starts_with("![") || line.starts_with('[') && line.ends_with(')')
}

#[test]
fn prose_ends_before_column_120_and_cells_are_short() {
    let mut problems = Vec::new();
    for (name, text) in pages() {
        let long = too_long(&text);
        if EXCEPTIONS.contains(&name.as_str()) {
            assert!(
                !long.is_empty(),
                "{name} needs no exception any more: remove it from `EXCEPTIONS`"
            );
        } else {
            problems.extend(long.into_iter().map(|problem| format!("{name}:{problem}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The anchors of a page: its headings, as repository browsers name them (lower case, dashes, no punctuation), and its
/// `<a id="…">`.
fn anchors(page: &str) -> Vec<String> {
    let headings = page
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim());
    let kept = |letter: &char| letter.is_alphanumeric() || ['-', '_', ' '].contains(letter);
    let named = page
        .split("<a id=\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(name, _)| name.to_owned());
    headings
        .map(|heading| {
            heading
                .to_lowercase()
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .chain(named)
        .collect()
}

/// Returns whether a link leads to an existing file, and to a heading in it. The link is in `text`, a page in
/// `folder`.
fn leads(folder: &Path, text: &str, link: &str) -> bool {
    let (path, anchor) = link
        .split_once('#')
        .map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let file = folder.join(path);
    let is_found =
        |page: &str| anchor.is_none_or(|anchor| anchors(page).iter().any(|found| found == anchor));
    match (path, anchor) {
        ("", _) => is_found(text),
        (_, Some(_)) if path.ends_with(".md") => {
            std::fs::read_to_string(&file).is_ok_and(|page| is_found(&page))
        }
        _ => file.exists(),
    }
}

#[test]
fn links_between_pages_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for (name, text) in pages() {
        let folder = root()
            .join(&name)
            .parent()
            .expect("a page is in a folder")
            .to_owned();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if !link.contains("://") && !link.contains(' ') && !leads(&folder, &text, link) {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn links_that_the_program_prints_lead_to_headings() {
    let mut broken = Vec::new();
    for (name, bytes) in contents(&root().join("src")) {
        let text = String::from_utf8_lossy(&bytes);
        let links = text
            .match_indices("docs/")
            .map(|(at, _)| &text[at..])
            .filter_map(|rest| {
                let end = rest.find(|letter: char| {
                    !letter.is_ascii_alphanumeric() && !"/._#-".contains(letter)
                })?;
                rest[..end]
                    .contains(".md#")
                    .then(|| rest[..end].trim_end_matches('.'))
            });
        // The program completes links that end in `#`.
        broken.extend(
            links
                .filter(|link| !link.ends_with('#') && !leads(root(), "", link))
                .map(|link| format!("src/{name}: {link}")),
        );
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn files_that_pages_name_exist() {
    let mut missing = Vec::new();
    for (name, text) in pages() {
        for path in text.split('`').skip(1).step_by(2) {
            let is_path = ["src/", "crates/", "tests/", "examples/", "experiments/"]
                .iter()
                .any(|folder| path.starts_with(folder));
            if is_path && !path.contains(['<', '*', ' ', '{', '\n']) && !root().join(path).exists()
            {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_page_is_a_chapter_of_the_site() {
    let summary = std::fs::read_to_string(root().join("site/SUMMARY.md")).expect("the summary");
    let is_missing =
        |name: &String| !name.starts_with("examples/") && !summary.contains(&format!("]({name})"));
    let missing: Vec<String> = pages()
        .into_iter()
        .map(|(name, _)| name)
        .filter(is_missing)
        .collect();
    assert_eq!(missing, [""; 0], "add them to site/SUMMARY.md");
}

/// The files that a page links to. Each has the functions that the page names between this link and the next one.
fn named_functions(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for part in page.split('`') {
        if let Some(rest) = part.strip_prefix("](") {
            let file = rest.split(')').next().expect("a link has an end");
            found.push((file.to_owned(), Vec::new()));
        }
        if let Some(function) = part.strip_suffix("()")
            && !function.contains(' ')
        {
            let (_, functions) = found.last_mut().expect("a file comes first");
            functions.push(function.to_owned());
        }
    }
    found
}

#[test]
fn functions_named_in_the_life_of_a_pull_are_in_the_files_that_it_links() {
    let page = std::fs::read_to_string(root().join("docs/life-of-a-pull.md")).expect("the page");
    let mut missing = Vec::new();
    let mut checked = 0;
    for (file, functions) in named_functions(&page) {
        let text = std::fs::read_to_string(root().join("docs").join(&file)).expect("the file");
        for function in functions {
            checked += 1;
            if !text.contains(&format!("fn {function}("))
                && !text.contains(&format!("fn {function}<"))
            {
                missing.push(format!("{file}: {function}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(checked >= 25, "only {checked} functions");
}

#[test]
fn only_prose_and_cells_are_measured() {
    let long = "x ".repeat(70);
    let page = format!(
        "{long}\n```text\n{long}\n```\n| {long}| y |\n| [y]({}) |\n![a b]({})\n",
        "x".repeat(99),
        "x".repeat(120)
    );
    let found = too_long(&page);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("1: 140 columns") && found[1].starts_with("5: a cell of 139"),
        "{found:?}"
    );
}
