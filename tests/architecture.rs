//! The rings of the library: which module may import which. The picture in `src/lib.rs` cannot drift from the code.
//!
//! Every `use crate::…` and every `crate::…` path outside tests is read. What a module may import is the table below;
//! a new arrow goes there with its reason, after the placement was questioned.

use std::fs;
use std::path::{Path, PathBuf};

/// Module, what it may import of ours, and what else must not be seen in it.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    ("units", &[], &["rand", "std::fs", "std::time"]),
    ("stats", &["units"], &["rand", "std::fs", "std::time"]),
    ("engine", &["units"], &["std::fs", "std::time"]),
    ("flow", &["units"], &["rand", "std::fs", "std::time"]),
    ("rollout", &["units"], &["rand", "rayon", "std::fs", "std::io", "std::time", "std::env"]),
    ("document", &[], &["rand"]),
    ("world", &["units", "engine", "flow", "rollout"], &["std::fs", "std::time"]),
    // The names and units of measures, which an experiment's assertions are stated in, are defined once, in `results`.
    ("scenario", &["units", "document", "rollout", "world", "results"], &["rand"]),
    ("results", &["units", "stats", "rollout"], &["rand"]),
    ("sim", &["units", "engine", "flow", "world", "rollout", "scenario", "results"], &["std::fs", "std::time"]),
    ("study", &["sim", "scenario", "results", "stats", "units"], &["std::fs", "std::time"]),
    ("report", &["results", "stats", "units"], &["rand"]),
];

/// The products' folders: the world knows of none of them, only of the ids in `rollout`.
const PRODUCTS: &[&str] = &["rancher_fleet", "argo_cd", "kubefleet", "cloud_foundry", "baseline"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a source folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            // Tests may use what they like.
            if path.file_name().is_none_or(|name| name != "tests") {
                rust_files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let test_only = ["tests.rs", "testing.rs", "synthetic.rs"];
            if !test_only.iter().any(|name| path.ends_with(name)) {
                found.push(path);
            }
        }
    }
}

/// The code of a file: without comments, and without the test module at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().expect("a split has a first part");
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules named in `crate::…` paths, `use crate::{a, b}` included.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let list = &list[..list.find('}').unwrap_or(list.len())];
            found.extend(list.split(',').map(|item| item.trim().split("::").next().unwrap_or("").to_owned()));
        } else {
            found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

#[test]
fn every_module_imports_only_what_its_ring_allows() {
    let mut problems = Vec::new();
    for (module, allowed, forbidden) in TABLE {
        let mut files = Vec::new();
        rust_files(&source().join(module), &mut files);
        assert!(!files.is_empty(), "{module} has source files");
        for file in files {
            let code = code(&file);
            let place = file.strip_prefix(source()).expect("a file of the source").display().to_string();
            for import in imports(&code) {
                if import != *module && !allowed.contains(&import.as_str()) {
                    problems.push(format!("{place} imports {import}; {module} may import {allowed:?}"));
                }
            }
            for word in *forbidden {
                let path = format!("{word}::");
                if code.match_indices(&path).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric())) {
                    problems.push(format!("{place} uses {word}, which {module} must not know"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_world_knows_no_product() {
    let mut files = Vec::new();
    rust_files(&source().join("world"), &mut files);
    for file in files {
        let code = code(&file);
        for product in PRODUCTS {
            assert!(!code.contains(product), "{} names {product}", file.display());
        }
    }
}

#[test]
fn every_module_of_the_library_has_its_row() {
    let lib = fs::read_to_string(source().join("lib.rs")).expect("the library's root");
    let modules: Vec<&str> = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let rows: Vec<&str> = TABLE.iter().map(|(module, ..)| *module).collect();
    for module in &modules {
        assert!(rows.contains(module), "{module} is not in the table");
    }
    assert_eq!(modules.len(), rows.len(), "the table has no row without a module");
}

#[test]
fn the_program_uses_the_public_library_alone() {
    let mut files = Vec::new();
    rust_files(&source().join("cli"), &mut files);
    for file in files {
        let code = code(&file);
        let inner: Vec<String> = imports(&code).into_iter().filter(|name| name != "cli").collect();
        assert!(inner.is_empty(), "{} imports {inner:?} from inside", file.display());
    }
}

#[test]
fn a_forbidden_import_would_be_found() {
    assert_eq!(imports("use crate::world::{A, B};\nuse crate::units::SimTime;"), ["world", "units"]);
    assert_eq!(imports("use crate::{engine, flow::LinkId};"), ["engine", "flow"]);
    assert_eq!(imports("let x = crate::results::RunRow::default();"), ["results"]);
    assert!(imports("use some_crate::thing;").is_empty(), "other crates are no modules of ours");
}
