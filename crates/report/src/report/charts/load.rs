//! The load-duration curve of the registry's egress: for how long it is at least so high, in the displayed run.
//!
//! A peak cannot size a link, since the link itself bounds it. This curve says for how long a link of any lower
//! would be full. Bins of the timeline are the resolution: within a bin, the mean is shown.

use super::curves::{self, Axes, Curve};
use crate::report::prelude::*;

/// The share of the link from which a title calls it busy.
const BUSY: f64 = 0.9;

/// Draws the chart. `None` where the registry sends nothing.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let loads: Vec<Vec<(f64, f64)>> = variants.iter().map(load).collect();
    let highest = loads
        .iter()
        .flatten()
        .map(|(_, rate)| *rate)
        .fold(0.0, f64::max);
    let ends: Vec<f64> = loads
        .iter()
        .filter_map(|load| load.last())
        .map(|(until, _)| *until)
        .collect();
    if highest <= 0.0 {
        return None;
    }
    let mut x = time_scale(&ends, 0.0, 1.0);
    if x.log {
        x.low = loads
            .iter()
            .filter_map(|load| load.first())
            .map(|(until, _)| *until)
            .fold(x.low, f64::min);
    }
    let links = links(&variants);
    let link = if let [only] = links.as_slice() {
        Some(*only)
    } else {
        None
    };
    let top = link
        .filter(|link| *link <= 3.0 * highest)
        .unwrap_or(highest);
    let (y_ticks, unit) = rate_ticks(top, 5);
    let dashed = link.filter(|link| *link <= top).map(rate);
    let y_title = format!(
        "registry egress in {}{}",
        unit.name,
        dashed
            .as_ref()
            .map_or_else(String::new, |link| format!("; dashed: link {link}"))
    );
    let has_others = variants
        .iter()
        .flat_map(|variant| &variant.runs)
        .any(|run| run.other_egress_bytes > 0.0);
    let others = if has_others {
        ", without the load of others"
    } else {
        ""
    };
    let head = Head {
        subject: "How long the registry sends how much",
        findings: link
            .filter(|_| !has_others)
            .map_or_else(Vec::new, |link| finding(&variants, &loads, link)),
        note: extent(&variants)
            + &results.replicate_of("shown")
            + "; means of the timeline's bins"
            + others,
    };
    let axes = Axes {
        head,
        x,
        y: Scale::to_last(&y_ticks, 0.0, 1.0),
        x_titles: (
            "{} with at least this egress",
            "time with at least this egress (logarithmic)",
        ),
        y_title: &y_title,
        y_ticks,
        reference: link.filter(|_| dashed.is_some()),
    };
    let curves: Vec<Curve> = loads.iter().map(|load| curve(load)).collect();
    Some(curves::draw(results, &axes, &curves))
}

/// Rates from the highest, each with the time for which the rate is at least so high.
fn load(variant: &VariantResults<'_>) -> Vec<(f64, f64)> {
    let bins = variant
        .timeline
        .iter()
        .map(|row| (row.bin_s, row.egress_bytes_per_s));
    let falling = bins
        .filter(|(_, rate)| *rate > 0.0)
        .sorted_by(|a, b| b.1.total_cmp(&a.1));
    falling
        .scan(0.0, |until, (bin, rate)| {
            *until += bin;
            Some((*until, rate))
        })
        .collect()
}

fn curve(load: &[(f64, f64)]) -> Curve {
    let mut from = 0.0;
    let mut points = Vec::with_capacity(2 * load.len() + 1);
    for &(until, rate) in load {
        points.extend([(from, rate), (until, rate)]);
        from = until;
    }
    points.push((from, 0.0));
    Curve {
        order: load.first().map_or(0.0, |(_, rate)| *rate),
        points,
        end: None,
        detail: String::new(),
    }
}

/// For how long the variants keep the link busy.
fn finding(variants: &[VariantResults<'_>], loads: &[Vec<(f64, f64)>], link: f64) -> Vec<String> {
    let busy = |load: &Vec<(f64, f64)>| {
        Some(
            load.iter()
                .take_while(|(_, rate)| *rate >= BUSY * link)
                .last()
                .map_or(0.0, |(until, _)| *until),
        )
    };
    let what = format!(
        "The {} link is at {} or more for",
        rate(link),
        percent(BUSY)
    );
    findings::times(variants, &what, &loads.iter().map(busy).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::readable_quietly;

    #[test]
    fn the_area_below_a_load_duration_curve_is_what_the_registry_sent() {
        let results = readable_quietly(&six_settings());
        for variant in results.variants() {
            let sent: f64 = variant
                .timeline
                .iter()
                .map(|row| row.bin_s * row.egress_bytes_per_s)
                .sum();
            let curve = load(&variant);
            let area: f64 = curve
                .iter()
                .scan(0.0, |from, (until, rate)| {
                    let part = (until - *from) * rate;
                    *from = *until;
                    Some(part)
                })
                .sum();
            assert!((area - sent).abs() <= 1e-9 * sent, "{area} and {sent}");
            assert!(
                curve
                    .windows(2)
                    .all(|pair| pair[0].1 >= pair[1].1 && pair[0].0 < pair[1].0),
                "it falls"
            );
        }
    }
}
