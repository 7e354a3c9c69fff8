//! The settings to paste into the products' own files, and the command that simulates a tuned one.

use itertools::Itertools;

use super::candidate;
use crate::report::wrap::wrapped;
use crate::results::{PlanRecord, Snippet, grouped};

/// The snippets of certain answers, to be pasted into the products' own files. Each snippet appears once, with its
/// variants.
pub(super) fn snippets(plan: &PlanRecord, width: usize) -> String {
    let answers = plan.questions.iter().flat_map(|question| &question.answers);
    let offered = answers.filter(|answer| answer.is_decided);
    let found = grouped(
        offered.filter_map(|answer| Some((answer.snippet.as_ref(), answer.variant.as_deref()?))),
    );
    let mut text = String::new();
    let mut bare = String::new();
    for (snippet, variants) in found {
        let first = variants[0];
        let variants = variants.join(", ");
        match snippet {
            // Lines that begin with a number sign are comments in YAML, so all lines can be copied.
            Some(Snippet { place, text: lines }) => {
                let heading = wrapped(&format!("# {place}: {variants}"), width, "# ");
                text.push_str(&format!("\n{heading}{lines}"));
                if plan.tuned.is_some() {
                    text.push_str(&run_it(plan, first));
                }
            }
            None => {
                let note = format!(
                    "# No product implements these; they are bounds for comparison: {variants}"
                );
                bare = format!("\n{}", wrapped(&note, width, "# "));
            }
        }
    }
    text + &bare
}

/// The options with which the experiment runs the setting of a variant.
fn run_it(plan: &PlanRecord, variant: &str) -> String {
    let found = plan
        .questions
        .iter()
        .find_map(|question| candidate(question, variant));
    let options = found
        .map(|found| found.settings.as_slice())
        .unwrap_or_default()
        .iter();
    let options = options
        .map(|setting| format!(" \\\n#   --set '{}={}'", setting.path, setting.value))
        .join("");
    match options.is_empty() {
        true => "# This is the current setting.\n".to_owned(),
        false => format!("# To simulate it: fleetsim run EXPERIMENT{options}\n"),
    }
}
