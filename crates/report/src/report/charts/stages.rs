//! The stages of a rollout over time in the displayed run, as a Gantt chart: a panel for each variant, a bar for each
//! stage. A bar is dark while clusters are instructed to update, and light until the last of them is ready.
//!
//! Left out: variants with one stage, or with too many to read, such as batches of one cluster.

use crate::report::charts::over_time::panel_time;
use crate::report::clock::StartClock;
use crate::report::prelude::*;
use crate::results::ClusterRow;

/// Maximum number of stages of a displayed variant, and maximum number of displayed variants.
const STAGES_MAX: usize = 12;
const PANELS_MAX: usize = 24;
/// Height of a row: a line of text and a bar below it.
const ROW: f64 = 29.0;
const BAR: f64 = 9.0;
/// Height of a panel's name and key above its rows, and of its axis below them.
const HEADING: f64 = 24.0;
const AXIS: f64 = 40.0;
const GAP: f64 = 30.0;
/// The parts of a bar with their colours. The colours of variants are not used, because a variant's light colour could
/// be mistaken for another part.
const KEY: [(&str, Colour); 3] = [
    ("clusters are instructed", Colour(0x55, 0x5B, 0x63)),
    ("until the last is ready", Colour(0xAC, 0xAF, 0xB4)),
    ("some are never ready", Colour(0xE2, 0xE3, 0xE5)),
];

/// One stage of the displayed run, in seconds since its start.
#[derive(Clone, Debug, PartialEq)]
struct StageSpan {
    name: String,
    clusters: usize,
    ready: usize,
    /// The times of the stage's first and last instruction; `None` if the stage never began.
    instructed: Option<(f64, f64)>,
    last_ready: f64,
}

impl StageSpan {
    /// The stage that consists of the given clusters.
    fn of(name: &str, clusters: &[&ClusterRow]) -> Self {
        let ready: Vec<f64> = clusters.iter().filter_map(|row| row.ready_s).collect();
        let instructed = clusters.iter().filter_map(|row| row.instructed_s);
        Self {
            name: name.to_owned(),
            clusters: clusters.len(),
            ready: ready.len(),
            instructed: instructed.minmax_by(f64::total_cmp).into_option(),
            last_ready: ready.into_iter().fold(0.0, f64::max),
        }
    }

    /// The time at which the last cluster of the stage was instructed or became ready, whichever is later.
    fn end(&self) -> f64 {
        self.instructed
            .map_or(0.0, |(_, last)| last.max(self.last_ready))
    }

    /// The time of the stage's first instruction; infinite if the stage never began.
    fn begin(&self) -> f64 {
        self.instructed.map_or(f64::INFINITY, |(first, _)| first)
    }

    /// The stage's name with the number of its clusters.
    fn label(&self) -> String {
        let clusters = count(self.clusters as f64);
        let size = match self.ready {
            _ if self.instructed.is_none() => format!("{clusters}, not begun"),
            ready if ready == self.clusters => clusters,
            ready => format!("{} of {clusters} ready", count(ready as f64)),
        };
        format!("{} ({size})", self.name)
    }
}

/// The stages in the order in which they began, followed by those that never began, in the order of their clusters.
/// Empty if there are too many to read.
fn stages(variant: &VariantResults<'_>) -> Vec<StageSpan> {
    let mut named = Vec::new();
    for cluster in &variant.clusters {
        if !cluster.stage.is_empty() {
            named.push((&cluster.stage, *cluster));
        }
    }
    let groups = grouped(named);
    if groups.len() > STAGES_MAX {
        return Vec::new();
    }
    let mut stages = Vec::new();
    for (name, clusters) in groups {
        stages.push(StageSpan::of(name, &clusters));
    }
    stages.sort_by(|a, b| a.begin().total_cmp(&b.begin()));
    stages
}

/// A variant with its stages.
type Staged<'v> = (&'v VariantResults<'v>, Vec<StageSpan>);

/// Draws the chart. `None` if no variant has stages, or too many variants have them.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let all = results.variants();
    let mut variants: Vec<Staged<'_>> = Vec::new();
    for variant in &all {
        let stages = stages(variant);
        if (2..=STAGES_MAX).contains(&stages.len()) {
            variants.push((variant, stages));
        }
    }
    if variants.is_empty() || variants.len() > PANELS_MAX {
        return None;
    }
    let sheet = results.sheet();
    let columns = if sheet.is_narrow() {
        1
    } else {
        variants.len().min(2)
    };
    let width = (sheet.inner() - GAP * (columns - 1) as f64) / columns as f64;
    let left_out = match all.len() - variants.len() {
        0 => String::new(),
        1 => format!("; left out: 1 variant without 2 to {STAGES_MAX} stages"),
        some => format!("; left out: {some} variants without 2 to {STAGES_MAX} stages"),
    };
    let head = Head {
        subject: "Stages over time",
        findings: finding(&variants),
        note: extent(&all)
            + &results.replicate_of("shown")
            + "; time axes differ between panels"
            + &left_out,
    };
    let heights: Vec<f64> = variants.chunks(columns).map(row_height).collect();
    let top = TOP + if sheet.is_narrow() { 42.0 } else { 26.0 };
    let mut canvas = page_of_run(results, &head, top + heights.iter().sum::<f64>() + FOOTER);
    legend(&mut canvas, (MARGIN, TOP), &KEY);
    let clock = results.clock();
    let mut above = top;
    for (row, height) in variants.chunks(columns).zip(heights) {
        for (at, staged) in row.iter().enumerate() {
            let left = MARGIN + (width + GAP) * at as f64;
            let area = Area {
                left,
                top: above + HEADING,
                right: left + width,
                bottom: above + height - AXIS,
            };
            panel(&mut canvas, area, staged, clock.as_ref());
        }
        above += height;
    }
    Some(canvas)
}

/// The height of the panels of several variants next to each other.
fn row_height(row: &[Staged<'_>]) -> f64 {
    let most = row.iter().map(|(_, stages)| stages.len()).max();
    HEADING + ROW * most.unwrap_or(0) as f64 + AXIS
}

/// Draws the panel of a variant.
fn panel(
    canvas: &mut Canvas,
    area: Area,
    (variant, stages): &Staged<'_>,
    clock: Option<&StartClock>,
) {
    let width = area.right - area.left;
    let name = fitted_name(variant.name(), LABEL, Weight::Bold, width);
    write_bold(
        canvas,
        &name,
        (area.left, area.top - 8.0),
        TextStyle::new(LABEL, INK),
    );
    let is_open = stages.iter().any(|stage| stage.ready < stage.clusters);
    let end = stages.iter().map(StageSpan::end).fold(0.0, f64::max);
    // A stage that does not end continues beyond the last known time.
    let span = if is_open {
        (end * 1.1).max(1.0)
    } else {
        end.max(f64::MIN_POSITIVE)
    };
    let x = Scale::from_zero(span, area.left, area.right);
    panel_time(canvas, area, &x, clock);
    for (at, stage) in stages.iter().enumerate() {
        let top = area.top + ROW * at as f64;
        let bar_top = top + ROW - BAR - 2.0;
        let bar_bottom = top + ROW - 2.0;
        let label = fitted_name(&stage.label(), SMALL, Weight::Regular, width);
        let room = width - text_width(&label, SMALL, Weight::Regular);
        let first = stage.instructed.map_or(0.0, |(first, _)| first);
        write(
            canvas,
            &label,
            ((x.at(first)).min(area.left + room), bar_top - 4.0),
            TextStyle::new(SMALL, INK),
            Align::Left,
        );
        let Some((first, last)) = stage.instructed else {
            continue;
        };
        // Start and end of each part of `KEY`.
        let mut parts = vec![(first, last, 0)];
        if stage.end() > last {
            parts.push((last, stage.end(), 1));
        }
        if stage.ready < stage.clusters {
            parts.push((stage.end(), span, 2));
        }
        for (from, to, entry) in parts {
            let (_, colour) = KEY[entry];
            // A part without a duration must also be visible.
            let right = x.at(to).max(x.at(from) + 1.5);
            canvas.rectangle((x.at(from), bar_top), (right, bar_bottom), colour, 1.0);
        }
    }
}

/// Returns whether the second of two stages begins before the first is ready.
fn overlaps(pair: &[StageSpan]) -> bool {
    let [before, next] = pair else { return false };
    next.begin().is_finite() && (before.ready < before.clusters || next.begin() < before.end())
}

/// Returns whether stages overlap, as a sentence.
fn finding(variants: &[Staged<'_>]) -> Vec<String> {
    let overlapping = variants
        .iter()
        .filter(|(_, stages)| stages.windows(2).any(overlaps))
        .count();
    vec![match (overlapping, variants.len()) {
        (0, _) => "No stage begins before the one before it is ready".to_owned(),
        (_, 1) => "Stages begin before the one before is ready".to_owned(),
        (some, all) if some == all => {
            "In every variant, stages begin before the one before is ready".to_owned()
        }
        (some, all) => {
            format!("In {some} of {all} variants, stages begin before the one before is ready")
        }
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ChartWidth;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::{assert_printable, readable_quietly};

    #[test]
    fn a_bar_ends_when_the_last_cluster_is_ready_and_stays_open_without_that() {
        let mut results = readable_quietly(&six_settings());
        assert!(draw(&results).is_none(), "no stages");
        for (at, (_, row)) in results.tables.clusters.iter_mut().enumerate() {
            row.stage = if at % 3 == 0 {
                "canary"
            } else {
                "production, all regions"
            }
            .to_owned();
            let first = if at % 3 == 0 { 10.0 } else { 100.0 };
            (row.instructed_s, row.ready_s) = (Some(first + (at % 5) as f64), Some(first + 60.0));
        }
        results.tables.clusters[0].1.ready_s = None;
        let variants = results.variants();
        let [canary, rest] = &stages(&variants[0])[..] else {
            panic!("two stages")
        };
        assert_eq!(
            (canary.instructed, canary.last_ready),
            (Some((10.0, 14.0)), 70.0)
        );
        assert_eq!((rest.instructed, rest.end()), (Some((100.0, 104.0)), 160.0));
        assert!(
            canary.label().ends_with(" ready)") && !rest.label().contains("ready"),
            "{}",
            canary.label()
        );
        let open = finding(&[(&variants[0], stages(&variants[0]))]);
        assert_eq!(
            open,
            ["Stages begin before the one before is ready"],
            "the canary never is"
        );
        let ready = finding(&[(&variants[1], stages(&variants[1]))]);
        assert_eq!(ready, ["No stage begins before the one before it is ready"]);
        for width in [ChartWidth::Column, ChartWidth::Slide, ChartWidth::Page] {
            results.width = width;
            assert_printable(&draw(&results).expect("stages"), width);
        }
    }
}
