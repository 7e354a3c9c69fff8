//! Ten questions of a newcomer: each is answered within two minutes, from the front page through its links.
//!
//! The time is an estimate. A reader scans the headings of a page down to the right section, reads this section down
//! to the link, and on the last page down to the answer, with four words a second. `cargo test --test suite questions
//! -- --nocapture` prints paths and times.
#![allow(
    clippy::print_stdout,
    reason = "`--nocapture` prints the paths and the times"
)]

use std::fs;
use std::path::Path;

use super::common::root;

/// Reading speed of a newcomer in words per second: 240 words per minute.
const WORDS_PER_SECOND: usize = 4;
/// The time after which a newcomer gives up, in seconds.
const PATIENCE: usize = 120;

/// A question, the pages that lead from the front page to the answer, and words of the answer.
struct Question {
    text: &'static str,
    pages: &'static [&'static str],
    answer: &'static str,
}

const QUESTIONS: [Question; 10] = [
    Question {
        text: "What is it, and which products does it know?",
        pages: &["README.md"],
        answer: "Argo CD, KubeFleet and Cloud Foundry",
    },
    Question {
        text: "How long until I see a first result?",
        pages: &["README.md"],
        answer: "2 min 45 s",
    },
    Question {
        text: "Where are the results, and which file do I open?",
        pages: &["README.md"],
        answer: "`report.html` there",
    },
    Question {
        text: "How do I simulate my own clusters, as they are?",
        pages: &["README.md", "docs/import.md"],
        answer: "kubectl get clusters.fleet.cattle.io",
    },
    Question {
        text: "Which setting keeps my registry's limit, and how certain is that?",
        pages: &["README.md", "docs/plan.md"],
        answer: "95",
    },
    Question {
        text: "How far may the time be off for my fleet?",
        pages: &["README.md"],
        answer: "total interval",
    },
    Question {
        text: "What is not simulated?",
        pages: &["README.md", "docs/limitations.md"],
        answer: "The fleet does what the experiment says",
    },
    Question {
        text: "Has it been compared with reality?",
        pages: &["README.md", "docs/validation.md"],
        answer: "missed",
    },
    Question {
        text: "In which unit do I write the link of a cluster?",
        pages: &["README.md", "docs/experiment-format.md"],
        answer: "50 Mbit/s",
    },
    Question {
        text: "Where in the code does a node ask the registry?",
        pages: &["README.md", "docs/life-of-a-pull.md"],
        answer: "runtime/request.rs",
    },
];

/// Number of words in the headings above the section that contains `end`, plus the words in that section up to `end`.
/// `None`: `end` does not occur.
fn words_to(page: &str, end: &str) -> Option<usize> {
    let before = &page[..page.find(end)?];
    let is_heading = |line: &&str| line.starts_with('#');
    let headings: usize = before
        .lines()
        .filter(is_heading)
        .map(|line| line.split_whitespace().count())
        .sum();
    let section = before.rfind("\n#").unwrap_or_default();
    Some(headings + before[section..].split_whitespace().count())
}

/// The link from one page to another, as written in the first.
fn link(from: &str, to: &str) -> String {
    let folder = Path::new(from).parent().expect("a page is in a folder");
    let relative = Path::new(to).strip_prefix(folder);
    relative.unwrap_or(Path::new(to)).display().to_string()
}

fn seconds(question: &Question) -> usize {
    let mut words = 0;
    for (nth, page) in question.pages.iter().enumerate() {
        let text = fs::read_to_string(root().join(page)).expect("the page");
        let end = match question.pages.get(nth + 1) {
            Some(next) => format!("]({}", link(page, next)),
            None => question.answer.to_owned(),
        };
        words += words_to(&text, &end).unwrap_or_else(|| panic!("{page} has no {end}"));
    }
    words.div_ceil(WORDS_PER_SECOND)
}

#[test]
fn ten_questions_of_a_newcomer_are_answered_within_two_minutes() {
    for question in &QUESTIONS {
        let seconds = seconds(question);
        println!(
            "{seconds:3} s  {}  {}",
            question.text,
            question.pages.join(" > ")
        );
        assert!(seconds <= PATIENCE, "{}: {seconds} s", question.text);
    }
}

#[test]
fn the_reading_time_counts_words_of_headings_and_of_the_section() {
    let page = "# A page\nx y z\n\n## Next\none two [three](four)\n";
    // The words are those of "# A page", "## Next", and of the section with its heading: "## Next one two [three".
    assert_eq!(words_to(page, "](four)"), Some(3 + 2 + 5));
    assert_eq!(words_to(page, "five"), None);
}
