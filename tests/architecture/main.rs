//! The structure of the library: the allowed imports of each module, no cycles inside a module, and unique type names.
//!
//! The diagram in `src/lib.rs` must match the code. Every `use` and every `crate::…`, `self::…` and `super::…` path
//! outside tests is read. The table below lists the modules that each module may import; question the placement of the
//! code before you add an entry, and state the reason. `.ci/house.py` prints the same numbers for any commit.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use source::{SourceFile, all_files, arrows_inside_rooms, circles};

/// Module name, the library's modules that it may import, and other texts that it must not contain.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    ("io", &[], &["rand"]),
    ("units", &[], &["rand", "std::fs", "std::time"]),
    ("stats", &["units"], &["rand", "std::fs", "std::time"]),
    ("engine", &["units"], &["std::fs", "std::time"]),
    // `flow` imports the engine's heap with positions, which stores the pending ends of transfers.
    (
        "flow",
        &["units", "engine"],
        &["rand", "std::fs", "std::time"],
    ),
    (
        "rollout",
        &["units"],
        &[
            "rand",
            "rayon",
            "std::fs",
            "std::io",
            "std::time",
            "std::env",
        ],
    ),
    ("document", &["io"], &["rand"]),
    (
        "world",
        &["units", "engine", "flow", "rollout", "document"],
        &["std::fs", "std::time"],
    ),
    // `build_info` describes the program's own build for the provenance.
    (
        "build_info",
        &["results"],
        &["rand", "std::fs", "std::time"],
    ),
    ("calendar", &["units"], &["rand", "std::fs", "std::time"]),
    ("process", &[], &["rand", "std::fs", "std::env"]),
    // `control_plane` returns the rows of passes and statuses, and the errors of processes.
    (
        "control_plane",
        &["units", "engine", "rollout", "world", "results", "process"],
        &["rand", "std::fs", "std::time"],
    ),
    (
        "products",
        &[
            "units",
            "calendar",
            "engine",
            "document",
            "rollout",
            "world",
            "results",
            "process",
            "control_plane",
        ],
        &["rand", "std::fs", "std::time"],
    ),
    // The names and units of measures, which an experiment's assertions use, are defined once, in `results`.
    (
        "scenario",
        &[
            "units",
            "calendar",
            "document",
            "rollout",
            "world",
            "process",
            "control_plane",
            "products",
            "results",
            "build_info",
        ],
        &["rand"],
    ),
    // `import` reads the products' own files and those of an experiment, and loads the experiment that it has written.
    // The new folder is staged and published like results.
    (
        "import",
        &[
            "io", "units", "document", "rollout", "world", "products", "scenario", "results",
        ],
        &["rand", "std::time"],
    ),
    ("results", &["io", "units", "stats", "rollout"], &["rand"]),
    (
        "sim",
        // A run that follows a real rollout draws the remaining duration of an update from the durations of finished
        // ones.
        &[
            "units",
            "stats",
            "engine",
            "world",
            "rollout",
            "control_plane",
            "products",
            "scenario",
            "results",
            "process",
        ],
        &["std::fs", "std::time"],
    ),
    (
        "study",
        &["sim", "scenario", "results", "stats", "units", "process"],
        &["std::fs", "std::time"],
    ),
    // A lift changes a checked scenario: its world, its control loop and its strategy.
    (
        "causes",
        &[
            "units",
            "stats",
            "engine",
            "rollout",
            "world",
            "control_plane",
            "products",
            "scenario",
            "sim",
            "study",
            "results",
        ],
        &["rand", "std::fs", "std::time"],
    ),
    // The records and charts of a calibration belong to `results` and `report`, like those of a sensitivity analysis.
    // A prediction must not use more memory than a study.
    (
        "calibrate",
        &[
            "io", "units", "stats", "engine", "document", "world", "scenario", "sim", "study",
            "results",
        ],
        &["rand"],
    ),
    // A forecast reads exports like `import`, and times like `calibrate`.
    (
        "forecast",
        &[
            "units",
            "stats",
            "engine",
            "document",
            "calibrate",
            "import",
            "scenario",
            "sim",
            "study",
            "results",
        ],
        &["rand", "std::fs", "std::time"],
    ),
    // A program that hosts commands brings guests to experiments, and ends runs with the engine's flag.
    (
        "host",
        &["engine", "scenario"],
        &["rand", "std::fs", "std::time"],
    ),
    ("report", &["io", "results", "stats", "units"], &["rand"]),
    // `explore` answers with the page's data, which `report` draws from results. Closing a page stops its runs with
    // the engine's flag.
    (
        "explore",
        &[
            "engine", "scenario", "sim", "study", "causes", "results", "report", "units",
        ],
        &["rand", "std::fs"],
    ),
];

/// The products' folders. The world and the driver know no product, only the ids in `rollout`.
fn products() -> Vec<String> {
    let files = files_of("products");
    let paths = files
        .iter()
        .filter_map(|file| file.path.strip_prefix("products/"));
    let folders: BTreeSet<&str> = paths
        .filter_map(|path| Some(path.split_once('/')?.0))
        // The folder `fields` has the code with which all products read their files.
        .filter(|folder| *folder != "fields")
        .collect();
    assert!(folders.len() >= 5, "{folders:?}");
    folders.into_iter().map(str::to_owned).collect()
}

/// The files of a room. There must be at least one, because a check without files would always pass.
fn files_of(room: &str) -> Vec<&'static SourceFile> {
    let files: Vec<_> = all_files()
        .iter()
        .filter(|file| file.room() == room)
        .collect();
    assert!(!files.is_empty(), "{room} has no files");
    files
}

/// The modules that a file imports.
fn modules(file: &SourceFile) -> BTreeSet<String> {
    file.imports()
        .into_iter()
        .filter_map(|path| path.into_iter().next())
        .collect()
}

#[test]
fn every_module_imports_only_allowed_modules() {
    let mut problems = Vec::new();
    for (module, allowed, forbidden) in TABLE {
        for file in files_of(module) {
            let SourceFile { path, code, .. } = file;
            for import in modules(file) {
                if import != *module && !allowed.contains(&import.as_str()) {
                    problems.push(format!(
                        "{path} imports {import}; {module} may import {allowed:?}"
                    ));
                }
            }
            for word in *forbidden {
                let prefix = format!("{word}::");
                if code
                    .match_indices(&prefix)
                    .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric()))
                {
                    problems.push(format!("{path} uses {word}, which {module} must not know"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_world_and_the_driver_do_not_depend_on_a_product() {
    let products = products();
    for file in ["world", "sim"].into_iter().flat_map(files_of) {
        for product in &products {
            assert!(
                !file.imports().iter().any(|path| path.contains(product)),
                "{} imports {product}",
                file.path
            );
        }
    }
}

#[test]
fn no_product_depends_on_another() {
    let products = products();
    for file in files_of("products") {
        let Some(own) = products
            .iter()
            .find(|product| file.path.starts_with(&format!("products/{product}/")))
        else {
            continue;
        };
        for import in file.imports() {
            let is_product = import.first().is_some_and(|room| room == "products");
            let other = products
                .iter()
                .find(|product| is_product && *product != own && import.contains(product));
            assert!(other.is_none(), "{} imports {import:?}", file.path);
        }
    }
}

#[test]
fn files_of_a_module_have_no_import_cycles() {
    let arrows = arrows_inside_rooms(all_files());
    let inside = |circle: &BTreeSet<&str>| {
        let imports = |file: &&str| {
            let targets: Vec<&str> = arrows[file].intersection(circle).copied().collect();
            format!("{file} imports {}", targets.join(", "))
        };
        circle.iter().map(imports).collect::<Vec<_>>().join("\n")
    };
    let found: Vec<String> = circles(&arrows).iter().map(inside).collect();
    assert!(
        found.is_empty(),
        "files import each other:\n{}",
        found.join("\n\n")
    );
}

#[test]
fn type_names_are_unique() {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in all_files() {
        for name in file.types() {
            places.entry(name).or_default().push(&file.path);
        }
    }
    places.retain(|_, files| files.len() > 1);
    assert!(
        places.is_empty(),
        "choose names that are not taken: {places:#?}"
    );
}

/// The modules that a line of the library's root declares or re-exports from another crate.
fn public_modules(line: &str) -> Vec<&str> {
    if let Some(passed_on) = line.strip_prefix("pub use fleetsim_") {
        let names = match passed_on.split_once(" as ") {
            Some((_, name)) => name,
            None => passed_on.split_once("::").map_or("", |(_, names)| names),
        };
        let names = names.trim_matches(['{', '}', ';']);
        return names.split(", ").collect();
    }
    let declared = line.strip_prefix("pub mod ");
    declared
        .and_then(|name| name.strip_suffix(';'))
        .into_iter()
        .collect()
}

#[test]
fn every_module_of_the_library_has_its_row() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))
        .expect("the library's root");
    let modules: Vec<&str> = lib.lines().flat_map(public_modules).collect();
    let rows: Vec<&str> = TABLE.iter().map(|(module, ..)| *module).collect();
    for module in &modules {
        assert!(rows.contains(module), "{module} is not in the table");
    }
    assert_eq!(
        modules.len(),
        rows.len(),
        "the table has no row without a module"
    );
}

#[test]
fn the_program_uses_only_the_public_library() {
    for file in files_of("cli") {
        let inner: Vec<String> = modules(file)
            .into_iter()
            .filter(|name| name != "cli")
            .collect();
        assert!(
            inner.is_empty(),
            "{} imports {inner:?} from inside",
            file.path
        );
    }
}

/// The formatter does not wrap comments, so their width is checked here.
#[test]
fn comments_end_at_column_120() {
    let is_wide = |line: &&str| line.trim_start().starts_with("//") && line.chars().count() > 120;
    for file in all_files() {
        let text = fs::read_to_string(&file.file).expect("a source file");
        let wide: Vec<&str> = text.lines().filter(is_wide).collect();
        assert!(
            wide.is_empty(),
            "{}: wrap these comments at column 120: {wide:#?}",
            file.path
        );
    }
}
