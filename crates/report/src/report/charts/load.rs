//! The load-duration curve of the registry's egress in the displayed run: for each rate, how long the egress is at
//! least that high.
//!
//! A peak is no guide to sizing a link, because the link itself caps it. This curve shows how long a smaller link
//! would be full. Bins of the timeline are the resolution: within a bin, the mean is shown.

use super::curves::{self, Axes, Curve};
use crate::report::prelude::*;

/// The share of the link above which a title calls it busy.
const BUSY: f64 = 0.9;

/// Draws the chart. `None` if the registry sends nothing.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let loads: Vec<Vec<(f64, f64)>> = variants.iter().map(load).collect();
    let mut highest: f64 = 0.0;
    let mut shortest = f64::INFINITY;
    let mut ends: Vec<f64> = Vec::new();
    for load in &loads {
        if let [(until, rate), ..] = load[..] {
            highest = highest.max(rate);
            shortest = shortest.min(until);
        }
        if let Some((until, _)) = load.last() {
            ends.push(*until);
        }
    }
    if highest <= 0.0 {
        return None;
    }
    let mut x = time_scale(&ends, 0.0, 1.0);
    if x.log {
        x.low = x.low.min(shortest);
    }
    let link = match links(&variants)[..] {
        [only] => Some(only),
        _ => None,
    };
    // A link far above the curves would flatten them.
    let shown_link = link.filter(|link| *link <= 3.0 * highest);
    let (y_ticks, unit) = rate_ticks(shown_link.unwrap_or(highest), 5);
    let dashed = match shown_link {
        Some(link) => format!("; dashed: link {}", rate(link)),
        None => String::new(),
    };
    let y_title = format!("registry egress in {}{dashed}", unit.name);
    let mut runs = variants.iter().flat_map(|variant| &variant.runs);
    let has_others = runs.any(|run| run.other_egress_bytes > 0.0);
    let others = if has_others {
        ", without the load of others"
    } else {
        ""
    };
    let head = Head {
        subject: "How long the registry sends how much",
        findings: match link {
            Some(link) if !has_others => finding(&variants, &loads, link),
            _ => Vec::new(),
        },
        note: extent(&variants)
            + &results.replicate_of("shown")
            + "; means of the timeline's bins"
            + others,
    };
    let axes = Axes {
        head,
        clock: None,
        x,
        y: Scale::to_last(&y_ticks, 0.0, 1.0),
        x_titles: (
            "{} with at least this egress",
            "time with at least this egress (logarithmic)",
        ),
        y_title: &y_title,
        y_ticks,
        reference: shown_link,
    };
    let curves: Vec<Curve> = loads.iter().map(|load| curve(load)).collect();
    Some(curves::draw(results, &axes, &curves))
}

/// Rates in descending order, each with the total time during which the egress is at least that high.
fn load(variant: &VariantResults<'_>) -> Vec<(f64, f64)> {
    let mut rows = variant.timeline.clone();
    rows.retain(|row| row.egress_bytes_per_s > 0.0);
    rows.sort_by(|a, b| b.egress_bytes_per_s.total_cmp(&a.egress_bytes_per_s));
    let mut until = 0.0;
    let mut falling = Vec::new();
    for row in rows {
        until += row.bin_s;
        falling.push((until, row.egress_bytes_per_s));
    }
    falling
}

/// The curve of a variant's load.
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

/// The finding: how long the variants keep the link busy.
fn finding(variants: &[VariantResults<'_>], loads: &[Vec<(f64, f64)>], link: f64) -> Vec<String> {
    let mut busy: Vec<Option<f64>> = Vec::new();
    for load in loads {
        let mut busy_until = 0.0;
        for &(until, rate) in load {
            if rate >= BUSY * link {
                busy_until = until;
            }
        }
        busy.push(Some(busy_until));
    }
    let what = format!(
        "The {} link is at {} or more for",
        rate(link),
        percent(BUSY)
    );
    findings::times(variants, &what, &busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::readable_quietly;

    #[test]
    fn the_area_below_a_load_duration_curve_equals_the_bytes_that_the_registry_sent() {
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
