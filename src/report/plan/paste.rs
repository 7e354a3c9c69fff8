//! Snippets to paste into the products' own files.

use crate::report::wrap::wrapped;
use crate::results::{PlanRecord, Snippet, grouped};

/// The snippets, each once, with the variants that it is for.
pub(super) fn snippets(plan: &PlanRecord, width: usize) -> String {
    let answers = plan.questions.iter().flat_map(|question| &question.answers);
    let found = grouped(answers.filter_map(|answer| Some((answer.snippet.as_ref(), answer.variant.as_deref()?))));
    let (mut text, mut bare) = (String::new(), String::new());
    for (snippet, variants) in found {
        let variants = variants.join(", ");
        match snippet {
            // Lines that begin with a number sign are comments in YAML, so all can be copied.
            Some(Snippet { place, text: lines }) => {
                let heading = wrapped(&format!("# {place}: {variants}"), width, "# ");
                text.push_str(&format!("\n{heading}{lines}"));
            }
            None => {
                let note = format!("# No product implements these; they are bounds for comparison: {variants}");
                bare = format!("\n{}", wrapped(&note, width, "# "));
            }
        }
    }
    text + &bare
}
