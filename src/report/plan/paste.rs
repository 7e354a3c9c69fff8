//! What to paste into the products' own files.

use crate::report::table::wrapped;
use crate::results::PlanRecord;

/// What to paste, each text once with the worlds that it is for.
pub(super) fn snippets(plan: &PlanRecord, width: usize) -> String {
    let mut told: Vec<(&str, &str, Vec<String>)> = Vec::new();
    let mut bare = Vec::new();
    for question in &plan.questions {
        for answer in &question.answers {
            let Some(variant) = &answer.variant else { continue };
            match &answer.snippet {
                None => bare.push(variant.clone()),
                Some(snippet) => {
                    match told.iter_mut().find(|(place, text, _)| *place == snippet.place && *text == snippet.text) {
                        Some((_, _, whom)) => whom.push(variant.clone()),
                        None => told.push((&snippet.place, &snippet.text, vec![variant.clone()])),
                    }
                }
            }
        }
    }
    let mut text = String::new();
    for (place, snippet, whom) in told {
        // Lines that begin with a number sign are comments in YAML, so all can be copied.
        text.push('\n');
        text.push_str(&wrapped(&format!("# {place}: {}", whom.join(", ")), width, "# "));
        text.push_str(snippet);
    }
    if !bare.is_empty() {
        text.push('\n');
        let note = format!("# No product has these, they are bounds to compare with: {}", bare.join(", "));
        text.push_str(&wrapped(&note, width, "# "));
    }
    text
}
