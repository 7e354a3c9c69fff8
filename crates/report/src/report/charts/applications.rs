//! Concurrent pulls over time by application, stacked, in the displayed run of each variant.
//!
//! An application has the same colour in all panels: those with the most bytes over all variants have one each, all
//! others together are grey. Each bin shows the moment at which all applications had the most pulls, so the upper edge
//! of the stack is the curve of the chart `pulls`.
//!
//! Left out: single small applications, which results do not record over time.

use std::collections::HashMap;

use crate::report::answer::applications::makers;
use crate::report::charts::over_time::{
    Heading, SHARED_TIME, SHARED_VALUE, panel_frame, panel_names, panel_time,
};
use crate::report::names;
use crate::report::prelude::*;
use crate::report::spans::TimeSpans;
use crate::results::{ApplicationTimeline, LARGEST_APPLICATIONS, OTHER_APPLICATIONS};

/// The colour of all applications that have none of their own.
const OTHERS: Colour = Colour(0xC9, 0xCF, 0xD6);

/// The layers of the stack, from the bottom.
struct Layers {
    /// The applications with a colour of their own.
    names: Vec<String>,
    has_others: bool,
}

impl Layers {
    /// The applications with the most bytes over all variants.
    fn of(variants: &[VariantResults<'_>]) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut has_others = false;
        for series in variants.iter().filter_map(|one| one.application_timeline) {
            for application in &series.applications {
                let name = &application.application;
                if name == OTHER_APPLICATIONS {
                    has_others = true;
                } else if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        let mut bytes: HashMap<&str, u64> = HashMap::new();
        for (_, row) in variants.iter().flat_map(|variant| &variant.applications) {
            *bytes.entry(row.application.as_str()).or_default() += row.received_bytes;
        }
        // A stable sort: the order of the first variant decides between applications of equal size.
        names.sort_by_key(|name| {
            std::cmp::Reverse(bytes.get(name.as_str()).copied().unwrap_or_default())
        });
        has_others |= names.len() > LARGEST_APPLICATIONS;
        names.truncate(LARGEST_APPLICATIONS);
        Self { names, has_others }
    }

    /// Number of layers.
    const fn count(&self) -> usize {
        self.names.len() + self.has_others as usize
    }

    /// The colour of a layer.
    const fn colour(&self, layer: usize) -> Colour {
        if layer < self.names.len() {
            series_colour(layer)
        } else {
            OTHERS
        }
    }

    /// The entries of the legend.
    fn legend(&self) -> Vec<(&str, Colour)> {
        let mut entries = Vec::new();
        for (layer, name) in self.names.iter().enumerate() {
            entries.push((name.as_str(), self.colour(layer)));
        }
        if self.has_others {
            entries.push(("others", OTHERS));
        }
        entries
    }

    /// The pulls of each layer at the peak of each bin.
    fn pulls(&self, timeline: &ApplicationTimeline) -> Vec<Vec<u64>> {
        let mut pulls = vec![vec![0; timeline.bins()]; self.count()];
        for series in &timeline.applications {
            let own = self
                .names
                .iter()
                .position(|name| *name == series.application);
            let layer = own.unwrap_or(self.names.len());
            for (sum, bin) in pulls[layer].iter_mut().zip(&series.bins) {
                *sum += bin.pulls_at_peak;
            }
        }
        pulls
    }
}

/// One variant's stack.
struct PullStack {
    bin_s: f64,
    /// The pulls of all layers up to each one, from the bottom, in each bin.
    edges: Vec<Vec<u64>>,
    peak: f64,
    /// The end of the last bin with pulls.
    end_s: f64,
}

impl PullStack {
    fn of(variant: &VariantResults<'_>, layers: &Layers) -> Self {
        let empty = ApplicationTimeline::default();
        let timeline = variant.application_timeline.unwrap_or(&empty);
        let mut edges = layers.pulls(timeline);
        let mut below = vec![0; timeline.bins()];
        for edge in &mut edges {
            for (pulls, below) in edge.iter_mut().zip(&mut below) {
                *pulls += *below;
                *below = *pulls;
            }
        }
        let last = below.iter().rposition(|pulls| *pulls > 0).unwrap_or(0);
        Self {
            bin_s: timeline.bin_s,
            edges,
            peak: below.into_iter().max().unwrap_or(0) as f64,
            end_s: timeline.bin_s * (last + 1) as f64,
        }
    }

    /// Draws the stack, from the whole of it down to its lowest layer: each layer covers those below it.
    fn draw(&self, canvas: &mut Canvas, layers: &Layers, x: &Scale, y: &Scale) {
        let ground = vec![(x.at(0.0), y.at(0.0)), (x.to, y.at(0.0))];
        for (layer, edge) in self.edges.iter().enumerate().rev() {
            let points = self.steps(edge, x, y);
            canvas.between(
                decimate(&points, 1.0),
                ground.clone(),
                layers.colour(layer),
                1.0,
            );
        }
    }

    /// A step line until the end of the axis, or of the pulls.
    fn steps(&self, edge: &[u64], x: &Scale, y: &Scale) -> Vec<Position> {
        let mut points = vec![(x.at(0.0), y.at(0.0))];
        let mut end_s = 0.0;
        for (bin, pulls) in edge.iter().enumerate() {
            let from_s = bin as f64 * self.bin_s;
            if from_s >= x.high {
                break;
            }
            end_s = (from_s + self.bin_s).min(x.high);
            let height = y.at(*pulls as f64);
            points.push((x.at(from_s), height));
            points.push((x.at(end_s), height));
        }
        points.push((x.at(end_s), y.at(0.0)));
        points
    }
}

/// Draws the chart. `None` for a single application.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let layers = Layers::of(&variants);
    if layers.count() == 0 {
        return None;
    }
    let mut stacks = Vec::new();
    for variant in &variants {
        stacks.push(PullStack::of(variant, &layers));
    }
    let time = TimeSpans::of(&variants, stacks.iter().map(|stack| stack.end_s).collect());
    let longest = time.ends.iter().copied().fold(0.0, f64::max);
    let shares_time = time.ends.iter().all(|end| end * SHARED_TIME >= longest);
    let highest = stacks.iter().map(|stack| stack.peak).fold(0.0, f64::max);
    let shares_values = stacks
        .iter()
        .all(|stack| stack.peak == 0.0 || stack.peak * SHARED_VALUE >= highest);
    let labels = (!shares_values).then_some(44.0);
    let (areas, height) = panels(results.sheet(), variants.len(), labels);
    let note =
        extent(&variants) + &results.replicate_of("shown") + different(shares_time, shares_values);
    let head = Head {
        subject: "Concurrent image pulls by application",
        findings: findings_of(&variants),
        note: note + time.note(),
    };
    let mut canvas = page_of_run(results, &head, height);
    legend(&mut canvas, (MARGIN, TOP - 2.0), &layers.legend());
    let clock = results.clock();
    let names = panel_names(&variants, &areas);
    for (at, (&area, stack)) in areas.iter().zip(&stacks).enumerate() {
        let span_s = if shares_time { longest } else { time.ends[at] };
        let high = if shares_values { highest } else { stack.peak };
        let ticks = ticks_from_zero(high, 4, true);
        let x = Scale::from_zero(span_s, area.left, area.right);
        let y = Scale::to_last(&ticks, area.bottom, area.top);
        let heading = Heading {
            name: &names[at],
            detail: &detail(&variants[at]),
            labelled: !shares_values || area.left < MARGIN + 60.0,
        };
        panel_frame(&mut canvas, area, &y, &ticks, &heading);
        stack.draw(&mut canvas, &layers, &x, &y);
        panel_time(&mut canvas, area, &x, clock.as_ref());
        if time.goes_on[at] {
            arrow(&mut canvas, area);
        }
    }
    Some(canvas)
}

/// The axes that differ between panels, for the subtitle.
const fn different(shares_time: bool, shares_values: bool) -> &'static str {
    match (shares_time, shares_values) {
        (true, true) => "",
        (true, false) => "; value axes differ between panels",
        (false, true) => "; time axes differ between panels",
        (false, false) => "; axes differ between panels",
    }
}

/// `peak of 22: shop (14), svc-07 (6) and others (2)`.
fn detail(variant: &VariantResults<'_>) -> String {
    match variant
        .application_timeline
        .and_then(ApplicationTimeline::peak)
    {
        Some(peak) => format!("peak of {}: {}", count(peak.pulls as f64), makers(&peak)),
        None => "no pulls".to_owned(),
    }
}

/// The sentence on the variant with the highest peak.
fn findings_of(variants: &[VariantResults<'_>]) -> Vec<String> {
    let mut highest = None;
    let mut most = 0;
    for (variant, name) in variants.iter().zip(names::in_short(variants)) {
        let peak = variant
            .application_timeline
            .and_then(ApplicationTimeline::peak);
        if let Some(peak) = peak.filter(|peak| peak.pulls > most) {
            most = peak.pulls;
            highest = Some((name, makers(&peak)));
        }
    }
    let Some((name, makers)) = highest else {
        return Vec::new();
    };
    let pulls = in_unit(most as f64, "pulls");
    if variants.len() == 1 {
        return vec![format!("The peak of {pulls} is of {makers}")];
    }
    vec![
        format!("The highest peak, {pulls} under {name}, is of {makers}"),
        format!("The highest peak of {pulls} is of {makers}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sheet::ChartWidth;
    use crate::report::synthetic::{six_settings, with_applications};
    use crate::report::tests::{assert_printable, readable_quietly};

    #[test]
    fn a_stack_has_a_layer_for_each_of_the_largest_and_ends_where_the_curve_of_pulls_does() {
        let mut results = readable_quietly(&six_settings());
        assert!(draw(&results).is_none(), "there is one application");
        with_applications(&mut results);
        let variants = results.variants();
        let layers = Layers::of(&variants);
        let names: Vec<&str> = layers.legend().iter().map(|(name, _)| *name).collect();
        let wanted = [
            "app-9", "app-0", "app-1", "app-2", "app-3", "app-4", "app-5", "app-6", "others",
        ];
        assert_eq!(names, wanted);
        for variant in &variants {
            let stack = PullStack::of(variant, &layers);
            let top = stack.edges.last().expect("there are layers");
            let pulls: Vec<u64> = variant.timeline.iter().map(|row| row.pulls).collect();
            assert_eq!(top, &pulls, "the upper edge");
            for (bin, all) in pulls.iter().enumerate() {
                let own = stack.edges[1][bin] - stack.edges[0][bin];
                assert_eq!(own, all - 8 * (all / 10), "app-0");
            }
        }
    }

    #[test]
    fn the_chart_is_printable_and_names_the_applications_of_the_peak() {
        let mut results = readable_quietly(&six_settings());
        with_applications(&mut results);
        for width in [ChartWidth::Column, ChartWidth::Slide, ChartWidth::Page] {
            results.width = width;
            let canvas = draw(&results).expect("several applications");
            assert_printable(&canvas, width);
            let mut texts = canvas.text_boxes().into_iter();
            assert!(texts.any(|(_, text)| text.contains("app-0 (")));
        }
    }
}
