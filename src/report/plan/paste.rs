//! Snippets to paste into the products' own files.

use crate::report::wrap::wrapped;
use crate::results::PlanRecord;

/// The snippets, each once, with the variants that it is for.
pub(super) fn snippets(plan: &PlanRecord, width: usize) -> String {
    let mut found: Vec<(&str, &str, Vec<String>)> = Vec::new();
    let mut bare = Vec::new();
    for question in &plan.questions {
        for answer in &question.answers {
            let Some(variant) = &answer.variant else { continue };
            match &answer.snippet {
                None => bare.push(variant.clone()),
                Some(snippet) => {
                    match found.iter_mut().find(|(place, text, _)| *place == snippet.place && *text == snippet.text) {
                        Some((_, _, variants)) => variants.push(variant.clone()),
                        None => found.push((&snippet.place, &snippet.text, vec![variant.clone()])),
                    }
                }
            }
        }
    }
    let mut text = String::new();
    for (place, snippet, variants) in found {
        // Lines that begin with a number sign are comments in YAML, so all can be copied.
        text.push('\n');
        text.push_str(&wrapped(&format!("# {place}: {}", variants.join(", ")), width, "# "));
        text.push_str(snippet);
    }
    if !bare.is_empty() {
        text.push('\n');
        let note = format!("# No product implements these; they are bounds for comparison: {}", bare.join(", "));
        text.push_str(&wrapped(&note, width, "# "));
    }
    text
}
