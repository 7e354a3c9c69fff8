//! The empirical distribution function of a quantity, and the distribution functions of the fitted families.

use crate::report::prelude::*;
use crate::results::SampleRecord;
use fleetsim_units::counted;

/// Draws the chart.
pub(super) fn draw(sample: &SampleRecord, sheet: Sheet<'_>) -> Canvas {
    let entries = entries(sample);
    let height = 540.0;
    let (key_right, key_below) = key_room(sheet, &entries);
    let area = Area::of_page(sheet, height, 50.0, key_right);
    let note = format!(
        "{} from {}; median {}",
        counted(sample.count, "value"),
        sample.source,
        time(sample.median_s)
    );
    let head = Head {
        subject: &heading(sample),
        findings: Vec::new(),
        note,
    };
    let mut canvas = page(sheet, &head, height + key_below);
    let x = scale(sample, area);
    let y = Scale::from_zero(1.0, area.bottom, area.top);
    let shares = percent_ticks([0, 20, 40, 60, 80, 100]);
    value_axis(
        &mut canvas,
        area,
        &y,
        &shares,
        "share of values that are at most as long",
    );
    let (ticks, title) = x_ticks(&x);
    bottom_axis(&mut canvas, area, &x, &ticks, &title);
    for (at, fit) in sample.fits.iter().enumerate().rev() {
        let mut points: Vec<Position> = Vec::new();
        for &(value, share) in &fit.curve {
            if (x.low..=x.high).contains(&value) {
                points.push((x.at(value), y.at(share)));
            }
        }
        let width = if fit.distribution == sample.chosen {
            2.6
        } else {
            1.6
        };
        canvas.path(points, Stroke::solid(series_colour(at), width));
    }
    let steps = staircase(sample.curve.iter().copied(), &x, &y);
    canvas.path(decimate(&steps, 2.0), Stroke::solid(INK, 1.4));
    key(&mut canvas, area, sheet.px() - 10.0, entries);
    canvas
}

/// The quantity, and whether a distribution describes it.
fn heading(sample: &SampleRecord) -> String {
    let mut title = sample.title.clone();
    if let Some(first) = title.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    match sample
        .fits
        .iter()
        .find(|fit| fit.distribution == sample.chosen)
    {
        Some(fit) => {
            format!(
                "{title}: {} {}",
                fit.distribution,
                if fit.verdict == "fits" {
                    "fits"
                } else {
                    "is close"
                }
            )
        }
        None => format!("{title}: no distribution fits"),
    }
}

/// A logarithmic scale if the values span a factor of 4 or more, otherwise a linear one that begins near the minimum.
fn scale(sample: &SampleRecord, area: Area) -> Scale {
    let mut values = sample.curve.iter().map(|(value, _)| *value);
    let least = values.find(|value| *value > 0.0).unwrap_or(sample.max_s);
    let low = least.max(sample.max_s / 1e6);
    let high = sample.max_s;
    if high > 4.0 * low {
        return Scale {
            low: low / 1.15,
            high: high * 1.15,
            from: area.left,
            to: area.right,
            log: true,
        };
    }
    let room = ((high - low) * 0.08).max(high * 0.01);
    Scale {
        low: (low - room).max(0.0),
        high: high + room,
        from: area.left,
        to: area.right,
        log: false,
    }
}

fn x_ticks(scale: &Scale) -> (Vec<AxisTick>, String) {
    let span = scale.high - scale.low;
    if scale.log && scale.high > 30.0 * scale.low && scale.high > 0.3 {
        let (ticks, _) = ticks_of_time(scale, (58.0, 8), ("", ""));
        if ticks.len() > 2 {
            return (ticks, "time (logarithmic)".to_owned());
        }
    }
    let (unit, name) = if scale.high < 0.1 {
        (1e-3, "milliseconds")
    } else {
        (1.0, "seconds")
    };
    let ticks: Vec<AxisTick> = if scale.log {
        let in_unit = Scale {
            low: scale.low / unit,
            high: scale.high / unit,
            ..*scale
        };
        scaled(log_ticks(&in_unit, 46.0), unit)
    } else {
        let all = scaled(
            ticks_from_zero(scale.high / unit, (8.0 * scale.high / span) as usize, false),
            unit,
        );
        all.into_iter()
            .filter(|tick| tick.value >= scale.low && tick.value <= scale.high)
            .collect()
    };
    (ticks, format!("{name}{}", scale.note()))
}

fn entries(sample: &SampleRecord) -> Vec<KeyEntry> {
    let data = KeyEntry {
        value: 100.0,
        colour: INK,
        dash: &[],
        name: "measured".to_owned(),
        detail: format!("{} to {}", time(sample.min_s), time(sample.max_s)),
    };
    let fits = sample.fits.iter().enumerate().map(|(at, fit)| KeyEntry {
        value: -(at as f64),
        colour: series_colour(at),
        dash: &[],
        name: if fit.distribution == sample.chosen {
            format!("{} (chosen)", fit.distribution)
        } else {
            fit.distribution.clone()
        },
        detail: match (fit.ad, fit.ad_p) {
            (Some(ad), Some(p)) => {
                format!("KS {}, AD {}, p {}", number(fit.ks), number(ad), number(p))
            }
            _ => format!("KS {}", number(fit.ks)),
        },
    });
    std::iter::once(data).chain(fits).collect()
}
