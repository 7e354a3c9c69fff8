//! The critical path of the run with the median time, as shares of its completion time.
//!
//! One bar for each variant. The bars show shares because times differ by factors of a hundred between settings; the
//! time is next to the bar.

use super::rows::RowLayout;
use crate::report::answer::path::{PARTS, median_run};
use crate::report::prelude::*;
use crate::results::RunRow;

const ROW: f64 = 34.0;
/// Maximum widths of the columns of names and times, as shares of the page.
const COLUMNS_MAX: [f64; 2] = [0.45, 0.09];
/// Height of the key above the bars.
const KEY: f64 = 28.0;
/// Minimum width of a part whose share is written into it.
const WRITTEN: f64 = 34.0;

/// Colours of the parts: waits are warm, refusals red and purple, work in the clusters is blue and green, messages are
/// grey.
const COLOURS: [Colour; PARTS.len()] = [
    Colour(0xC2, 0x4A, 0x2C),
    Colour(0xE0, 0x9F, 0x3E),
    Colour(0x5B, 0x65, 0x73),
    Colour(0x9A, 0xA3, 0xAE),
    Colour(0x8E, 0x3B, 0x6B),
    Colour(0xB8, 0x7A, 0xA0),
    Colour(0xA8, 0x8A, 0x4F),
    Colour(0x1F, 0x6F, 0xB2),
    Colour(0x6B, 0xAE, 0xD6),
    Colour(0x4D, 0x9A, 0x6A),
];

/// Light colours, on which a share is written in ink.
const LIGHT: [Colour; 4] = [COLOURS[1], COLOURS[5], COLOURS[6], COLOURS[8]];

/// Draws the chart. `None` if no variant has a critical path.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let paths: Vec<Option<&RunRow>> = variants.iter().map(median_run).collect();
    if paths.iter().all(Option::is_none) {
        return None;
    }
    let mut numbers = Vec::new();
    for path in &paths {
        let end = match path {
            Some(run) => time(run.reachable_ready_s.unwrap_or_default()),
            None => "unfinished".to_owned(),
        };
        numbers.push([end, String::new()]);
    }
    let rows = RowLayout::lay_out(
        results.sheet(),
        &variants,
        numbers,
        (TOP + KEY, ROW),
        COLUMNS_MAX,
    );
    let area = rows.area;
    let x = Scale::from_zero(1.0, area.left, area.right);
    let note = format!(
        "{}; critical path of the run with the median time",
        extent(&variants)
    );
    let head = Head {
        subject: "Where the time goes",
        findings: finding(&variants, &paths),
        note,
    };
    let mut canvas = page(results.sheet(), &head, area.bottom + 56.0 + FOOTER);
    let ticks = percent_ticks([0, 25, 50, 75, 100]);
    bottom_grid(
        &mut canvas,
        area,
        &x,
        &ticks,
        "share of the time to completion",
    );
    let mut key: Vec<(&str, Colour)> = Vec::new();
    for (part, colour) in PARTS.iter().zip(COLOURS) {
        let is_shown = paths
            .iter()
            .flatten()
            .any(|run| (part.of)(run).unwrap_or_default() > 0.0);
        if is_shown {
            key.push((part.name, colour));
        }
    }
    legend(&mut canvas, (MARGIN, TOP + 2.5), &key);
    for (at, path) in paths.iter().enumerate() {
        rows.write(&mut canvas, at);
        if let Some(run) = path {
            bar(&mut canvas, run, &x, rows.middle(at));
        }
    }
    Some(canvas)
}

/// Draws the parts of a run's critical path next to each other.
fn bar(canvas: &mut Canvas, run: &RunRow, x: &Scale, middle: f64) {
    let all = run
        .reachable_ready_s
        .unwrap_or_default()
        .max(f64::MIN_POSITIVE);
    let mut from = 0.0;
    for (part, colour) in PARTS.iter().zip(COLOURS) {
        let share = (part.of)(run).unwrap_or_default() / all;
        let left = x.at(from);
        let right = x.at((from + share).min(1.0));
        if right > left {
            canvas.rectangle((left, middle - 10.0), (right, middle + 10.0), colour, 1.0);
        }
        if right - left >= WRITTEN {
            let place = (f64::midpoint(left, right), middle + 4.5);
            let ink = if LIGHT.contains(&colour) { INK } else { WHITE };
            write(
                canvas,
                &percent((share * 100.0).round() / 100.0),
                place,
                TextStyle::new(SMALL, ink),
                Align::Middle,
            );
        }
        from += share;
    }
}

/// The part with the largest share of a run's time.
struct LargestPart {
    /// The index of the part in [`PARTS`].
    part: usize,
    share: f64,
}

impl LargestPart {
    /// The largest part of a run's time; on a tie, the last such part. `None` if the run has no critical path, or took
    /// no time.
    fn of(run: &RunRow) -> Option<Self> {
        let all = run.reachable_ready_s.filter(|all| *all > 0.0)?;
        let mut largest: Option<Self> = None;
        for (at, part) in PARTS.iter().enumerate() {
            let Some(took) = (part.of)(run) else {
                continue;
            };
            let share = took / all;
            if largest.as_ref().is_none_or(|found| share >= found.share) {
                largest = Some(Self { part: at, share });
            }
        }
        largest
    }
}

/// The part with the largest share of the time, in the variants with the lowest and the highest share.
fn finding(variants: &[VariantResults<'_>], paths: &[Option<&RunRow>]) -> Vec<String> {
    let mut found: Vec<LargestPart> = Vec::new();
    for run in paths.iter().flatten() {
        found.extend(LargestPart::of(run));
    }
    let greatest = found.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    let Some(&LargestPart { part, .. }) = greatest else {
        return Vec::new();
    };
    found.retain(|largest| largest.part == part);
    let shares: Vec<f64> = found.iter().map(|largest| largest.share).collect();
    let (low, high) = span(&shares);
    let name = PARTS[part].name;
    let low = whole_percent(low);
    let high = whole_percent(high);
    vec![match (variants.len(), shares.len()) {
        (1, _) => format!("{high} of the time goes to {name}"),
        (all, same) if all == same => {
            format!(
                "In every variant, the largest part of the time goes to {name}: {low} to {high}"
            )
        }
        (all, same) => format!(
            "In {same} of {all} variants, the largest part of the time goes to {name}: up to {high}"
        ),
    }]
}

/// A share in whole percents.
fn whole_percent(share: f64) -> String {
    percent((share * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ChartWidth;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::{assert_printable, readable_quietly};

    #[test]
    fn a_variant_with_a_path_has_a_bar_and_others_are_marked_unfinished() {
        let mut results = readable_quietly(&six_settings());
        assert!(
            draw(&results).is_none(),
            "results of an earlier version have no path"
        );
        for run in results
            .tables
            .runs
            .iter_mut()
            .filter(|run| run.variant.ends_with("=1") || run.variant.ends_with("100%"))
        {
            let all = run.reachable_ready_s.expect("complete");
            (run.path_rule_s, run.path_people_s) = (Some(0.25 * all), Some(0.0));
            (run.path_transfer_s, run.path_unpack_s) = (Some(0.5 * all), Some(0.125 * all));
            (run.path_start_s, run.path_report_s) = (Some(0.0625 * all), Some(0.0625 * all));
        }
        for width in [ChartWidth::Column, ChartWidth::Slide, ChartWidth::Page] {
            results.width = width;
            assert_printable(&draw(&results).expect("two have a path"), width);
        }
        let svg = draw(&results).expect("two have a path").to_svg();
        assert!(
            svg.contains("the largest part of the time goes to transfer: up to 50%"),
            "{svg}"
        );
        assert!(
            svg.contains("unfinished") && svg.contains("\n13%\n"),
            "{svg}"
        );
        assert!(svg.contains("\nmessages\n"), "{svg}");
        assert!(
            !svg.contains("\ntime offline\n"),
            "no cluster was waited for: {svg}"
        );
        for run in &mut results.tables.runs {
            run.path_offline_s = Some(100.0);
        }
        let svg = draw(&results).expect("two have a path").to_svg();
        assert!(svg.contains("\ntime offline\n"), "{svg}");
    }
}
