//! The five documents that the schedulers follow, statement by statement: `docs/documents.md`.
//!
//! Each statement has a small experiment, a reading of its run or of its explanation, and the value that the document
//! promises. Under the documented rules, the reading must equal the promised value. Under the shipped rules, it is
//! also equal, or the difference is named in `docs/schedulers.md` or in the output of `fleetsim check`. The page is
//! written from the readings, so that a verdict that changes is a page that differs.
//!
//! `UPDATE_DOCS=1 cargo test --all-features --test suite documents` writes the page.

mod argo_cd;
mod cloud_foundry;
mod files;
mod fleet;
mod imported;
mod kubefleet;
mod readings;
mod setups;
mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use fleetsim::results::Limit;
use rayon::prelude::*;

use crate::common::root;
use setups::{COMMON, DocumentSetup};
use shown::ShownSetup;

const PAGE: &str = "docs/documents.md";

/// One of the documents.
struct SourceDocument {
    title: &'static str,
    /// A description of the document, with the names of the strategies that follow the document and the code.
    about: &'static str,
    setups: &'static [DocumentSetup],
    statements: &'static [DocumentStatement],
}

/// A statement of a document.
struct DocumentStatement {
    /// The letter of the document, and the number of the statement in it.
    number: &'static str,
    /// The statement in our own words.
    says: &'static str,
    shows: Shows,
}

/// The evidence for a statement.
enum Shows {
    /// A simulation cannot show the statement, for this reason.
    Prose(&'static str),
    /// A reading of an experiment.
    Reading(DocumentReading),
}

/// A reading of an experiment, and its expected value.
struct DocumentReading {
    setup: &'static str,
    /// The description of the reading.
    what: &'static str,
    read: fn(&ShownSetup) -> String,
    /// The value that the document promises. `refused`: the experiment must be refused.
    promised: &'static str,
    /// Words that name the difference under the shipped rules, or the reason for a refusal.
    named: &'static str,
}

/// Creates a statement with a reading of an experiment.
const fn read(
    (number, says): (&'static str, &'static str),
    (setup, what): (&'static str, &'static str),
    read: fn(&ShownSetup) -> String,
    promised: &'static str,
    named: &'static str,
) -> DocumentStatement {
    let shows = Shows::Reading(DocumentReading {
        setup,
        what,
        read,
        promised,
        named,
    });
    DocumentStatement {
        number,
        says,
        shows,
    }
}

/// Creates a statement that cannot be simulated.
const fn prose(number: &'static str, says: &'static str, why: &'static str) -> DocumentStatement {
    DocumentStatement {
        number,
        says,
        shows: Shows::Prose(why),
    }
}

const DOCUMENTS: [SourceDocument; 5] = [
    SourceDocument {
        title: "Rancher Fleet: rollout strategy",
        about: "\"Rollout Strategy\" of SUSE Rancher Prime Continuous Delivery. Both columns are `rancherFleet`.",
        setups: setups::FLEET,
        statements: fleet::STATEMENTS,
    },
    SourceDocument {
        title: "Argo CD: progressive rollout of ApplicationSets",
        about: "\"Add Progressive Rollout Strategy for ApplicationSet resources\", argoproj/argo-cd#9437.\nThe document is \
            `argoCdProposal`, the code `argoCd`.",
        setups: setups::ARGO_CD,
        statements: argo_cd::STATEMENTS,
    },
    SourceDocument {
        title: "Cloud Foundry: canary deployments with several steps",
        about: "\"Feature Request: Allow multiple Canary steps\" of cloud_controller_ng. Both columns are `cloudFoundry`.",
        setups: setups::CLOUD_FOUNDRY,
        statements: cloud_foundry::CANARY_STATEMENTS,
    },
    SourceDocument {
        title: "Cloud Foundry: max-in-flight",
        about: "\"Deployments Max-in-flights proposal\", cloud_controller_ng#3878. Both columns are `cloudFoundry`.",
        setups: &[],
        statements: cloud_foundry::FLIGHT_STATEMENTS,
    },
    SourceDocument {
        title: "KubeFleet: staged update runs",
        about: "\"Staged Update Run Rollout\" of KubeFleet. Both columns are `kubeFleetStaged`, and `kubeFleetRolling` for \
            a placement.",
        setups: setups::KUBEFLEET,
        statements: kubefleet::STATEMENTS,
    },
];

/// Statements of the five documents.
const STATEMENTS: usize = 119;

/// An experiment under both sets of rules.
struct ShownBoth {
    documented: ShownSetup,
    shipped: ShownSetup,
}

/// All experiments by their names.
fn shown() -> BTreeMap<&'static str, ShownBoth> {
    let setups: Vec<&DocumentSetup> = DOCUMENTS
        .iter()
        .flat_map(|document| document.setups)
        .collect();
    let shown: Vec<(&str, ShownBoth)> = setups
        .par_iter()
        .map(|setup| {
            let both = ShownBoth {
                documented: ShownSetup::of(setup, setup.documented),
                shipped: ShownSetup::of(setup, setup.shipped),
            };
            (setup.name, both)
        })
        .collect();
    let count = shown.len();
    let by_name: BTreeMap<_, _> = shown.into_iter().collect();
    assert_eq!(by_name.len(), count, "experiments have different names");
    by_name
}

impl DocumentReading {
    /// Returns the reading under one set of rules.
    fn of(&self, shown: &ShownSetup) -> String {
        if shown.is_refused() {
            "refused".to_owned()
        } else {
            (self.read)(shown)
        }
    }

    /// Returns the verdicts under the documented and the shipped rules. Adds differences that are not named to
    /// `problems`.
    fn verdicts(
        &self,
        number: &str,
        both: &ShownBoth,
        pages: &str,
        problems: &mut Vec<String>,
    ) -> [String; 2] {
        let [documented, shipped] = [&both.documented, &both.shipped].map(|shown| self.of(shown));
        let words = both.documented.words();
        if documented != self.promised {
            problems.push(format!(
                "{number}: documented: `{documented}`, promised `{}`; {words}",
                self.promised
            ));
        }
        if documented == "refused" && !words.contains(self.named) {
            problems.push(format!(
                "{number}: `{}` is not the reason: {words}",
                self.named
            ));
        }
        let own = if shipped == self.promised {
            "as documented".to_owned()
        } else {
            let words = both.shipped.words();
            if self.named.is_empty() || !(pages.contains(self.named) || words.contains(self.named))
            {
                problems.push(format!(
                    "{number}: shipped: `{shipped}`; `{}` is named nowhere; {words}",
                    self.named
                ));
            }
            format!("as shipped, difference named: {shipped}")
        };
        [format!("as documented: {documented}"), own]
    }
}

/// Returns the rows of a document's table.
fn rows(
    document: &SourceDocument,
    all: &BTreeMap<&str, ShownBoth>,
    pages: &str,
    problems: &mut Vec<String>,
) -> String {
    let rows: Vec<(String, Vec<String>)> = document
        .statements
        .par_iter()
        .map(|statement| {
            let mut own = Vec::new();
            (statement.row(all, pages, &mut own), own)
        })
        .collect();
    let mut text = String::new();
    for (row, own) in rows {
        text.push_str(&row);
        problems.extend(own);
    }
    text
}

impl DocumentStatement {
    fn row(
        &self,
        all: &BTreeMap<&str, ShownBoth>,
        pages: &str,
        problems: &mut Vec<String>,
    ) -> String {
        let Self {
            number,
            says,
            shows,
        } = self;
        match shows {
            Shows::Prose(why) => format!("| {number} | {says} | {why} | prose | prose |\n"),
            Shows::Reading(reading) => {
                let both = all
                    .get(reading.setup)
                    .unwrap_or_else(|| panic!("{number}: {}", reading.setup));
                let [documented, shipped] = reading.verdicts(number, both, pages, problems);
                let shown = format!("`{}`: {}", reading.setup, reading.what);
                format!("| {number} | {says} | {shown} | {documented} | {shipped} |\n")
            }
        }
    }
}

/// The page without its tables.
const INTRODUCTION: &str = "\
# The documents, statement by statement

The schedulers follow five documents of their products, and the code that the products ship. This page has every
statement of the documents in our words, the experiment that shows it, what is read there, and the verdict by each set
of rules:

- *as documented*: the reading is what the document promises.
- *as shipped, difference named*: the code does something else. The difference is named in
  [schedulers.md](schedulers.md#where-documents-and-code-disagree) or by `fleetsim check`.
- *prose*: there is nothing that a rollout could show.

`tests/suite/documents` runs all experiments, reads the verdicts off the runs, and fails if one of them changes. Each
experiment is below its table; the files that it names are the documents' own, in `tests/suite/documents/files.rs`. All
experiments begin with these lines, and each cluster has a link of 1 Gbit/s:

```yaml
";

/// Returns the whole page. Adds errors to `problems`.
fn page(problems: &mut Vec<String>) -> String {
    let pages = fs::read_to_string(root().join("docs/schedulers.md")).expect("the page is there");
    let all = shown();
    let mut text = format!("{INTRODUCTION}{COMMON}```\n");
    for document in &DOCUMENTS {
        text.push_str(&format!(
            "\n## {}\n\n{}\n\n",
            document.title, document.about
        ));
        text.push_str("| no. | the document says | experiment: reading | documented rules | shipped rules |\n");
        text.push_str("|---|---|---|---|---|\n");
        text.push_str(&rows(document, &all, &pages, problems));
        for setup in document.setups {
            let shown = setup.shown();
            let read = serde_saphyr::from_str::<serde_json::Value>(&format!("{COMMON}{shown}"));
            assert!(read.is_ok(), "{}: {read:?}", setup.name);
            text.push_str(&format!("\n`{}`:\n\n```yaml\n{shown}```\n", setup.name));
        }
    }
    text
}

#[test]
fn every_statement_of_the_documents_has_its_verdict() {
    let mut numbers = BTreeSet::new();
    for statement in DOCUMENTS.iter().flat_map(|document| document.statements) {
        numbers.insert(statement.number);
    }
    let mut problems = Vec::new();
    let now = page(&mut problems);
    assert!(
        problems.is_empty(),
        "{} problems\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert_eq!(numbers.len(), STATEMENTS);
    let path = root().join(PAGE);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, now).expect("written");
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, now,
        "{PAGE}: a verdict has changed, or the page is out of date; see UPDATE_DOCS in this test"
    );
}

#[test]
fn every_experiment_shows_a_statement() {
    let mut used = Vec::new();
    for statement in DOCUMENTS.iter().flat_map(|document| document.statements) {
        if let Shows::Reading(reading) = &statement.shows {
            used.push(reading.setup);
        }
    }
    for setup in DOCUMENTS.iter().flat_map(|document| document.setups) {
        assert!(used.contains(&setup.name), "{} shows nothing", setup.name);
    }
}

#[test]
fn the_most_instances_at_a_time_can_be_a_limit() {
    let setup = setups::CLOUD_FOUNDRY
        .iter()
        .find(|setup| setup.name == "fifty-5")
        .expect("it is there");
    let limit = Limit::parse("peak_instances <= 55").expect("a limit");
    for (strategy, holds) in [(setup.documented, true), (setup.shipped, false)] {
        let shown = ShownSetup::of(setup, strategy);
        let verdict = limit.judge(&[&shown.run().run]);
        assert_eq!(verdict.holds, holds, "{strategy}: {}", verdict.value);
    }
}
