//! Passes the source that the program is built from to the compiler: `FLEETSIM_TARGET`, `FLEETSIM_COMMIT` and
//! `FLEETSIM_MODIFIED`.
//!
//! The commit is that of the checkout, or the one that `cargo package` recorded; otherwise it is empty. It is also
//! empty in a debug build, which would otherwise be recompiled after every commit.

use std::path::Path;
use std::process::Command;

/// Everything that is compiled in.
const SOURCES: [&str; 5] = ["src", "crates", "build.rs", "Cargo.toml", "Cargo.lock"];

fn main() {
    let of_cargo = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=FLEETSIM_TARGET={}", of_cargo("TARGET"));
    let root = of_cargo("CARGO_MANIFEST_DIR");
    let (commit, modified) = match of_cargo("PROFILE").as_str() {
        "release" => of_package(Path::new(&root))
            .or_else(|| of_checkout(&root))
            .unwrap_or_default(),
        _ => Default::default(),
    };
    println!("cargo::rustc-env=FLEETSIM_COMMIT={commit}");
    println!("cargo::rustc-env=FLEETSIM_MODIFIED={modified}");
}

/// Returns the commit that `cargo package` recorded.
fn of_package(root: &Path) -> Option<(String, String)> {
    let text = std::fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let (_, after) = text.split_once("\"sha1\"")?;
    let commit = after.split('"').nth(1)?.to_owned();
    let modified = text.contains("\"dirty\": true") || text.contains("\"dirty\":true");
    Some((commit, modified.to_string()))
}

/// Returns the commit of the checkout whose root is this package, and whether its sources were changed after it.
fn of_checkout(root: &str) -> Option<(String, String)> {
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(args)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let top = Path::new(&git(&["rev-parse", "--show-toplevel"])?)
        .canonicalize()
        .ok()?;
    if top != Path::new(root).canonicalize().ok()? {
        return None;
    }
    println!(
        "cargo::rerun-if-changed={}",
        git(&[
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "logs/HEAD"
        ])?
    );
    SOURCES
        .iter()
        .for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&[&["status", "--porcelain", "--"], SOURCES.as_slice()].concat())?;
    Some((commit, (!changes.is_empty()).to_string()))
}
