//! Converts texts to HTML.

use crate::report::style::CurveStyle;
pub(super) use crate::report::text::escaped;

/// Text with names in backticks, as HTML.
pub(super) fn marked(text: &str) -> String {
    let parts = text.split('`').map(escaped).enumerate();
    parts
        .map(|(at, part)| {
            if at % 2 == 1 {
                format!("<strong>{part}</strong>")
            } else {
                part
            }
        })
        .collect()
}

/// A section of the page with its title.
pub(super) fn section(id: &str, title: &str, body: &str) -> String {
    let title = format!("<h2 id=\"{id}-title\">{title}</h2>");
    format!("<section id=\"{id}\" aria-labelledby=\"{id}-title\">{title}\n{body}</section>\n")
}

/// A table in a scrolling box, with the given column headings, and with rows that are HTML.
pub(super) fn plain_table(label: &str, columns: &[&str], rows: &str) -> String {
    let columns: String = columns
        .iter()
        .map(|column| format!("<th scope=\"col\">{column}</th>"))
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table class=\"plain\"><thead>\
         <tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The end of a box with a wide table, and the hint that the scripts show if columns are out of view.
pub(super) const WIDE_END: &str =
    "</div>\n<p class=\"note sideways\" hidden>Scroll sideways for more columns.</p>\n";

/// Returns whether a character is written from right to left.
const fn is_from_right(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// HTML in which right-to-left names do not affect the text after them.
pub(super) fn isolated(html: &str) -> String {
    let mut isolated = String::new();
    let mut rest = html;
    while let Some(start) = rest.find(is_from_right) {
        let (before, from) = rest.split_at(start);
        let end = from
            .find(|letter| !is_from_right(letter) && letter != ' ')
            .unwrap_or(from.len());
        let name = from[..end].trim_end();
        isolated.push_str(&format!("{before}<bdi>{name}</bdi>"));
        rest = &from[name.len()..];
    }
    isolated + rest
}

/// A sample of a variant's line; its colour follows the theme.
pub(super) fn swatch(style: CurveStyle) -> String {
    let dashes: Vec<String> = style
        .dash()
        .iter()
        .map(|length| format!("{}", length * 0.8))
        .collect();
    format!(
        "<svg class=\"swatch\" style=\"--light:{};--dark:{}\" width=\"26\" height=\"8\" aria-hidden=\"true\"><line x1=\"0\" y1=\"4\" x2=\"26\" y2=\"4\" stroke-dasharray=\"{}\"/></svg>",
        style.colour().css(),
        style.colour_on_dark().css(),
        dashes.join(" ")
    )
}

/// The template with each `{{name}}` replaced by its text. Texts are inserted verbatim.
///
/// # Panics
/// Panics if the template contains another name.
pub(super) fn filled(template: &str, texts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a name in the template ends");
        let (_, text) = texts
            .iter()
            .find(|(known, _)| *known == name)
            .expect("every name in the template is known");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_to_left_names_are_isolated() {
        let html = isolated("`قسم أول`, 1 cluster (مرحبا-01, مرحبا)");
        assert_eq!(
            html,
            "`<bdi>قسم أول</bdi>`, 1 cluster (<bdi>مرحبا</bdi>-01, <bdi>مرحبا</bdi>)"
        );
        assert_eq!(
            isolated("1 &lt;cluster&gt; of 10"),
            "1 &lt;cluster&gt; of 10"
        );
    }
}
