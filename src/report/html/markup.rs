//! Texts as HTML.

use crate::report::style::CurveStyle;
pub(super) use crate::report::text::escaped;

/// Text with names in backticks, as HTML.
pub(super) fn marked(text: &str) -> String {
    let mut html = String::new();
    for (at, part) in text.split('`').enumerate() {
        let part = escaped(part);
        html.push_str(&if at % 2 == 1 { format!("<strong>{part}</strong>") } else { part });
    }
    html
}

/// The sample of a variant's line; its colour follows the theme.
pub(super) fn swatch(style: CurveStyle) -> String {
    let dashes: Vec<String> = style.dash().iter().map(|length| format!("{}", length * 0.8)).collect();
    format!(
        "<svg class=\"swatch\" style=\"--light:{};--dark:{}\" width=\"26\" height=\"8\" aria-hidden=\"true\"><line x1=\"0\" y1=\"4\" x2=\"26\" y2=\"4\" stroke-dasharray=\"{}\"/></svg>",
        style.colour().css(),
        style.colour_on_dark().css(),
        dashes.join(" ")
    )
}

/// The template with each `{{name}}` replaced by its text. Texts are inserted as they are.
///
/// # Panics
/// When the template has another name.
pub(super) fn filled(template: &str, texts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a name in the template ends");
        let (_, text) = texts.iter().find(|(known, _)| *known == name).expect("every name in the template is known");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}
