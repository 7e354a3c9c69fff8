//! Compares the fields of the products' own types, if Go is installed, with the committed lists.

use std::path::Path;
use std::process::Command;

use super::upstream_controllers::programs;

/// Returns whether the tables of fields are checked against the given line of a list.
fn is_listed(line: &str) -> bool {
    let path = line.split(',').nth(1).unwrap_or_default();
    let in_generator = path.strip_prefix("spec.generators[].").unwrap_or_default();
    let is_nested = in_generator.contains(".generators[].") || in_generator.contains(".template.");
    let top = path.split(['.', '[']).next().unwrap_or_default();
    !is_nested && !["apiVersion", "kind", "metadata", "status"].contains(&top)
}

#[test]
fn the_committed_lists_equal_those_of_the_pinned_modules() {
    let Some(folder) = programs() else { return };
    for name in ["fleet", "argocd"] {
        let output = Command::new(folder.join(name))
            .arg("-fields")
            .output()
            .expect("the program starts");
        let printed = String::from_utf8(output.stdout).expect("text");
        let found: Vec<&str> = printed.lines().filter(|line| is_listed(line)).collect();
        let file = format!("src/products/fields/pinned/{name}.txt");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let committed = std::fs::read_to_string(path).expect("a list");
        let committed: Vec<&str> = committed.lines().collect();
        assert_eq!(
            found, committed,
            "{name}: write the list anew, and give new fields a class"
        );
    }
}
