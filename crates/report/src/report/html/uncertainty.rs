//! The intervals from random numbers only and the total intervals on the page: a table for each headline measure, with
//! the intervals drawn in each row.

use super::markup::{self, WIDE_END, escaped, marked, plain_table};
use crate::report::data::Results;
use crate::report::format::{in_unit, percent};
use crate::report::uncertainty::{Uncertain, heading, headline, level, luck, median, range};
use crate::results::UncertaintyRow;

/// Width of the drawn intervals.
const WIDTH: f64 = 220.0;

/// The end of an interval that goes on beyond the scale.
const ARROW: &str =
    "<path d=\"M212 2l7 6l-7 6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"/>";

/// The section; empty if constants were not drawn.
pub(super) fn section(results: &Results, guesses: &str) -> String {
    let measures = headline(results);
    let mut body = if guesses.is_empty() {
        String::new()
    } else {
        format!("<p>{}</p>\n", marked(guesses))
    };
    if let Some(first) = measures.first().map(|measure| measure.rows[0]) {
        body.push_str(&format!(
            "<p class=\"note\">Where one further rollout is expected. Luck alone, with {} (thick): other random \
             numbers, with every constant of the model at its value. Total, with {} (thin): also other constants, drawn \
             {} times from their ranges, the same for all variants in a draw. Least: share of the draws in which \
             no variant of the same world has less. All measures are in <a href=\"uncertainty.csv\">uncertainty.csv</a>, \
             the drawn constants in <a href=\"constants.csv\">constants.csv</a>.</p>\n",
            level(first.luck_level),
            level(first.total_level),
            first.draws,
        ));
        body.extend(measures.iter().map(table));
    }
    if body.is_empty() {
        body
    } else {
        markup::section("uncertainty", "Uncertainty", &body)
    }
}

/// The table of a measure. The scale holds all known ends of its intervals; an open one goes on beyond the edge.
fn table(uncertain: &Uncertain<'_>) -> String {
    let Uncertain {
        measure,
        unit,
        rows,
        unreached,
    } = uncertain;
    let ends = rows
        .iter()
        .flat_map(|row| [row.luck_low, row.luck_high, row.total_low, row.total_high])
        .flatten();
    let most = ends.fold(0.0, f64::max);
    let mut lines = String::new();
    for (row, unreached) in rows.iter().zip(unreached) {
        lines.push_str(&line(row, unit, unreached, most));
    }
    let name = heading(*measure);
    let scale = format!("0 to {}", escaped(&in_unit(most, unit)));
    let columns = [
        "variant",
        "median (luck)",
        "luck alone",
        "median (total)",
        "total",
        &scale,
        "least",
    ];
    let table = plain_table(&format!("uncertainty of {name}"), &columns, &lines);
    format!("<h3>{name}</h3><div class=\"wide\">{table}{WIDE_END}")
}

fn line(row: &UncertaintyRow, unit: &str, unreached: &str, most: f64) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td style=\"white-space:nowrap\">{}</td><td style=\"white-space:nowrap\">{}</td>\
         <td style=\"white-space:nowrap\">{}</td><td style=\"white-space:nowrap\">{}</td><td>{}</td><td>{}</td></tr>\n",
        escaped(&row.variant),
        escaped(&median(row.luck_median, unit, unreached)),
        escaped(&luck(row, unit, unreached)),
        escaped(&median(row.total_median, unit, unreached)),
        escaped(&range(row.total_low, row.total_high, unit, unreached)),
        drawn(row, most),
        percent((row.least_share * 100.0).round() / 100.0),
    )
}

/// The intervals on a scale from 0 to the greatest end; an end that is never reached is at the right edge.
fn drawn(row: &UncertaintyRow, most: f64) -> String {
    let total = IntervalBar {
        from: x_of(row.total_low, most),
        to: x_of(row.total_high, most),
        top: 6.5,
        height: 3.0,
        opacity: 0.55,
    };
    let luck = IntervalBar {
        from: x_of(row.luck_low, most),
        to: x_of(row.luck_high, most),
        top: 3.0,
        height: 10.0,
        opacity: 0.9,
    };
    format!(
        "<svg width=\"{WIDTH}\" height=\"16\" viewBox=\"0 0 {WIDTH} 16\" aria-hidden=\"true\">{}{}{}</svg>",
        total.svg(),
        luck.svg(),
        if row.total_high.is_none() { ARROW } else { "" },
    )
}

/// The position of a value on a scale from 0 to `most`.
fn x_of(value: Option<f64>, most: f64) -> f64 {
    match value {
        Some(value) => (value / most.max(1e-300) * WIDTH).min(WIDTH),
        None => WIDTH,
    }
}

/// An interval as a bar.
struct IntervalBar {
    from: f64,
    to: f64,
    top: f64,
    height: f64,
    opacity: f64,
}

impl IntervalBar {
    /// The bar, with a minimum visible width.
    fn svg(&self) -> String {
        let Self {
            to,
            top,
            height,
            opacity,
            ..
        } = self;
        let from = self.from.min(WIDTH - 2.0);
        let width = (to - from).max(2.0);
        format!(
            "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\" fill=\"currentColor\" opacity=\"{opacity}\"/>"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::uncertainty::tests::uncertain;

    #[test]
    fn the_section_shows_both_intervals_of_every_variant() {
        let html = section(&uncertain(), "");
        assert!(
            html.contains("<h3>Completion</h3>") && html.contains("<h3>Peak pulls</h3>"),
            "{html}"
        );
        assert!(
            html.contains("9.00–9.33 min") && html.contains("5.00–90.0 min"),
            "{html}"
        );
        assert_eq!(html.matches("<svg").count(), 3);
        assert_eq!(
            html.matches("<p class=\"note sideways\" hidden>").count(),
            2,
            "each table says that it has more columns"
        );
        assert!(
            html.contains(">median (luck)</th>") && html.contains(">median (total)</th>"),
            "{html}"
        );
        // Each interval is next to its own median: 600 s is the median of the draws.
        assert!(
            html.contains("10.0 min</td><td style=\"white-space:nowrap\">5.00–90.0 min"),
            "{html}"
        );
        assert!(!html.contains("never"), "{html}");
        assert_eq!(
            html.matches("33.3 min to more than 2.00 d").count(),
            1,
            "{html}"
        );
        assert_eq!(html.matches(ARROW).count(), 1, "one interval is open");
        // 300 s of 5,400 s on 220 px.
        assert!(html.contains("x=\"12.2\""), "{html}");
        assert_eq!(
            section(
                &Results {
                    uncertainty: Vec::new(),
                    ..uncertain()
                },
                ""
            ),
            ""
        );
    }
}
