//! Each sentence of an experiment's page that decides something says in how many draws of the constants it holds.
//!
//! A sentence decides in the form `50 % is the fastest in 26 of 39 draws`. Each has an entry in [`claims`] with the
//! condition that a draw has to fulfil, and a row in `claims.csv` with the draws that fulfil it. The rows belong to
//! the draws of the committed results: `provenance.json` has the checksum of their `draws.csv`, which is not
//! committed. Where a folder with complete results is known (`FLEETSIM_RESULTS`), the rows are computed again, and
//! `UPDATE_DOCS=1` writes them. Sentences on the least value are compared with the committed `uncertainty.csv`, too.

mod claims;
mod drawn;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fleetsim::results::Provenance;
use serde::{Deserialize, Serialize};

use self::claims::{CLAIMS, Claim};
use self::drawn::DrawnExperiment;
use super::common::{not_tested, root};

/// A row of `claims.csv`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct ClaimRow {
    experiment: String,
    /// The checksum of the `draws.csv` that the row was computed from.
    draws_sha256: String,
    /// The sentence up to the number of draws.
    sentence: String,
    /// A digit for each draw: 1 where the sentence holds.
    holds: String,
}

impl ClaimRow {
    /// `26 of 39 draws`.
    fn in_draws(&self) -> String {
        let holding = self.holds.matches('1').count();
        format!("{holding} of {} draws", self.holds.len())
    }
}

/// The file with a row for each claim.
fn file() -> PathBuf {
    root().join("tests/suite/readme_decisions/claims.csv")
}

/// The recorded rows.
fn rows() -> Vec<ClaimRow> {
    let mut reader = csv::Reader::from_path(file()).expect("claims.csv");
    let rows = reader.deserialize().collect::<Result<_, _>>();
    rows.expect("rows of claims.csv")
}

/// The checksum of the draws of an experiment's committed results.
fn draws_sha256(experiment: &str) -> String {
    let results = root().join("results").join(experiment);
    let provenance = Provenance::read(&results)
        .expect("readable")
        .expect("results");
    let mut files = provenance.files.iter();
    let draws = files.find(|file| file.path == "draws.csv");
    draws.expect("constants were drawn").sha256.clone()
}

/// The folders of complete results that may be there, with `draws.csv` of the committed ones.
fn drawn(experiment: &str) -> Option<DrawnExperiment> {
    let own = root().join("results");
    let named = std::env::var_os("FLEETSIM_RESULTS").map(PathBuf::from);
    for folder in [Some(own), named].into_iter().flatten() {
        let path = folder.join(experiment).join("draws.csv");
        if path.exists() {
            return Some(DrawnExperiment::read(&path, &draws_sha256(experiment)));
        }
    }
    None
}

/// The page of an experiment as one line, without comments, tables and code.
fn prose(experiment: &str) -> String {
    let path = root()
        .join("experiments")
        .join(experiment)
        .join("README.md");
    let page = fs::read_to_string(path).expect("a page");
    let mut text = String::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with('|') && !line.starts_with('#') {
            text.push_str(line);
            text.push(' ');
        }
    }
    let mut plain = String::new();
    for part in text.split("<!--") {
        let shown = part.split_once("-->").map_or(part, |(_, shown)| shown);
        plain.push_str(shown);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The experiments whose constants are drawn.
fn drawn_experiments() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("experiments")).expect("the experiments") {
        let path = entry.expect("an entry").path();
        let experiment = fs::read_to_string(path.join("experiment.yaml")).unwrap_or_default();
        if experiment
            .lines()
            .any(|line| line == "uncertainty: constants")
        {
            let name = path.file_name().expect("a folder has a name");
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    names
}

/// The claims of an experiment.
fn claims_of(experiment: &str) -> Vec<&'static Claim> {
    let mut own: Vec<&Claim> = CLAIMS.iter().collect();
    own.retain(|claim| claim.experiment == experiment);
    own
}

#[test]
fn each_decision_says_in_how_many_draws_it_holds() {
    let rows = rows();
    for experiment in drawn_experiments() {
        let page = prose(&experiment);
        let sha256 = draws_sha256(&experiment);
        let claims = claims_of(&experiment);
        assert!(
            !claims.is_empty(),
            "{experiment} decides nothing by its draws"
        );
        for claim in &claims {
            let row = rows
                .iter()
                .find(|row| row.experiment == experiment && row.sentence == claim.sentence);
            let row = row.unwrap_or_else(|| panic!("{experiment}: {}", claim.sentence));
            assert_eq!(row.draws_sha256, sha256, "{experiment} was simulated again");
            let sentence = format!("{} {}", claim.sentence, row.in_draws());
            assert!(page.contains(&sentence), "{experiment} says {sentence}");
        }
        let said = page.matches(" of 39 draws").count();
        assert_eq!(
            said,
            claims.len(),
            "{experiment}: each number of draws is a claim"
        );
    }
    assert_eq!(rows.len(), CLAIMS.len());
}

/// Words of sentences that decide.
const DECIDING: [&str; 7] = [
    " is the best",
    " is the fastest",
    " are the fastest",
    " is the slowest",
    " the fewest",
    "The best ",
    "best setting of",
];

#[test]
fn no_sentence_decides_without_draws() {
    for experiment in drawn_experiments() {
        for sentence in prose(&experiment).split_inclusive(". ") {
            let decides = DECIDING.iter().any(|words| sentence.contains(words));
            let has_draws =
                sentence.contains(" draws") || sentence.contains("falls as the fleet grows");
            assert!(!decides || has_draws, "{experiment}: {sentence}");
        }
    }
}

#[test]
fn the_recorded_draws_decide_so() {
    let mut computed = Vec::new();
    let mut missing = Vec::new();
    for experiment in drawn_experiments() {
        let Some(drawn) = drawn(&experiment) else {
            missing.push(experiment);
            continue;
        };
        for claim in claims_of(&experiment) {
            computed.push(ClaimRow {
                experiment: experiment.clone(),
                draws_sha256: draws_sha256(&experiment),
                sentence: claim.sentence.to_owned(),
                holds: drawn.digits(claim.holds),
            });
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() && missing.is_empty() {
        let mut writer = csv::Writer::from_path(file()).expect("a file");
        for row in &computed {
            writer.serialize(row).expect("a row");
        }
        writer.flush().expect("written");
    }
    let recorded = rows();
    for row in &computed {
        assert!(recorded.contains(row), "{row:?}");
    }
    if !missing.is_empty() {
        not_tested(&format!("no draws of {}", missing.join(", ")));
    }
}

/// A row of `uncertainty.csv`, as far as it is needed.
#[derive(Deserialize)]
struct LeastRow {
    variant: String,
    measure: String,
    draws: f64,
    least_share: f64,
}

#[test]
fn the_least_values_are_those_of_the_committed_tables() {
    let rows = rows();
    let mut compared = 0;
    for claim in CLAIMS {
        let Some(least) = &claim.least else {
            continue;
        };
        let path = root()
            .join("results")
            .join(claim.experiment)
            .join("uncertainty.csv");
        let shares = least_shares(&path);
        let share = shares[&format!("{} {}", least.variant, least.measure)];
        let row = rows.iter().find(|row| row.sentence == claim.sentence);
        let holding = row.expect("a row").holds.matches('1').count();
        assert_eq!(holding, share, "{}", claim.sentence);
        compared += 1;
    }
    assert!(compared >= 5, "{compared} claims");
}

/// The number of draws in which each variant has the least value of a measure.
fn least_shares(path: &Path) -> BTreeMap<String, usize> {
    let mut shares = BTreeMap::new();
    let mut reader = csv::Reader::from_path(path).expect("uncertainty.csv");
    for row in reader.deserialize() {
        let row: LeastRow = row.expect("a row");
        let key = format!("{} {}", row.variant, row.measure);
        shares.insert(key, (row.least_share * row.draws).round() as usize);
    }
    shares
}
