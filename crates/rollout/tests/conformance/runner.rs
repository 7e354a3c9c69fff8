//! Runs the recorded cases of every product in a folder, and reports how many agree.
//!
//! The program accepts the arguments that `cargo test` passes to every test: a suite runs if its name contains one of
//! the filters (or equals one, with `--exact`); `--skip`, `--list` and `--ignored` have their usual meaning, and all
//! other options are accepted without effect.

use std::io::{self, Write};
use std::path::Path;

use super::suite::Suite;

/// A product's recorded cases.
pub struct Product {
    /// The sub-folder with the product's files.
    pub folder: &'static str,
    /// Compares all cases in a folder; kinds of cases without a file are left out.
    pub suites: fn(&Path) -> Vec<Suite>,
}

/// All folders of recorded cases, including those whose cases the other crate's program compares.
const FOLDERS: [&str; 5] = [
    "argocd-applicationset",
    "cloud-foundry",
    "flow-sharing",
    "kubefleet",
    "rancher-fleet",
];

/// Maximum number of disagreements of a suite that are printed in full.
const SHOWN: usize = 5;

/// Runs the cases in `folder` and reports to `out`. Returns true if everything agrees and at least `fewest` cases were
/// compared; the minimum does not apply if the arguments select cases.
///
/// # Errors
/// If `out` cannot be written to.
pub fn run(
    products: &[Product],
    folder: &Path,
    fewest: usize,
    args: &[String],
    out: &mut dyn Write,
) -> io::Result<bool> {
    let args = Arguments::new(args);
    if args.lists {
        for product in products
            .iter()
            .filter(|product| folder.join(product.folder).is_dir())
        {
            writeln!(out, "{}: test", product.folder)?;
        }
        return Ok(true);
    }
    if args.only_ignored {
        writeln!(out, "0 passed, 0 failed")?;
        return Ok(true);
    }
    let is_there = |name: &str| folder.join(name).is_dir();
    if !products.iter().any(|product| is_there(product.folder))
        && FOLDERS.iter().any(|name| is_there(name))
    {
        writeln!(out, "0 passed, 0 failed")?;
        return Ok(true);
    }
    let (mut found, mut passed, mut failed) = (false, 0, 0);
    for product in products {
        let folder = folder.join(product.folder);
        if !folder.is_dir() {
            continue;
        }
        for suite in (product.suites)(&folder) {
            found = true;
            if args.selects(&suite.name) {
                let agreeing = suite.cases - suite.disagreements.len();
                writeln!(out, "{}: {agreeing} of {} agree", suite.name, suite.cases)?;
                for disagreement in suite.disagreements.iter().take(SHOWN) {
                    writeln!(out, "  {}", disagreement.replace('\n', "\n    "))?;
                }
                passed += agreeing;
                failed += suite.disagreements.len();
            }
        }
    }
    if !found {
        let known: Vec<_> = products.iter().map(|product| product.folder).collect();
        writeln!(
            out,
            "error: no suite in {}; it needs at least one of the folders {} with recorded .json or .json.gz files",
            folder.display(),
            known.join(", "),
        )?;
    }
    let is_enough = args.selects_some() || passed + failed >= fewest;
    if !is_enough {
        writeln!(out, "error: fewer than {fewest} cases were compared")?;
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(found && failed == 0 && is_enough)
}

#[derive(Default)]
struct Arguments {
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    lists: bool,
    only_ignored: bool,
}

impl Arguments {
    fn new(args: &[String]) -> Self {
        /// Options of the standard test harness whose value is a separate argument.
        const WITH_VALUE: [&str; 6] = [
            "--test-threads",
            "--format",
            "--color",
            "--logfile",
            "--shuffle-seed",
            "-Z",
        ];
        let mut parsed = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--exact" => parsed.exact = true,
                "--list" => parsed.lists = true,
                "--ignored" => parsed.only_ignored = true,
                "--skip" => parsed.skips.extend(args.next().cloned()),
                option if WITH_VALUE.contains(&option) => _ = args.next(),
                option if option.starts_with('-') => {
                    parsed
                        .skips
                        .extend(option.strip_prefix("--skip=").map(str::to_owned));
                }
                filter => parsed.filters.push(filter.to_owned()),
            }
        }
        parsed
    }

    /// Returns whether the arguments may leave out some suites.
    fn selects_some(&self) -> bool {
        !(self.filters.is_empty() && self.skips.is_empty())
    }

    fn selects(&self, name: &str) -> bool {
        let fits = |filter: &String| {
            if self.exact {
                name == filter
            } else {
                name.contains(filter.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skips.iter().any(fits)
    }
}
