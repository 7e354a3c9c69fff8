//! A past rollout and its prediction: started pods over time.

use crate::report::prelude::*;
use crate::results::PredictionRecord;
use fleetsim_units::counted;

/// Draws the chart.
pub(super) fn draw(prediction: &PredictionRecord, sheet: Sheet<'_>) -> Canvas {
    let entries = entries(prediction);
    let height = 540.0;
    let (key_right, key_below) = key_room(sheet, &entries);
    let area = Area::of_page(sheet, height, 56.0, key_right);
    let error = prediction.predicted_completion_s / prediction.completion_s - 1.0;
    let title = format!(
        "The last pod started after {}; predicted {} ({:+.1}%)",
        time(prediction.completion_s),
        time(prediction.predicted_completion_s),
        error * 100.0
    );
    let from = if prediction.is_in_sample {
        "the same events"
    } else {
        "other events"
    };
    let note = format!(
        "{}; simulated: {}; rates from {from}; band: 90% of {} runs",
        counted(prediction.pods, "pod"),
        prediction.simulated,
        prediction.runs
    );
    let mut canvas = page(
        sheet,
        &Head {
            subject: &title,
            findings: Vec::new(),
            note,
        },
        height + key_below,
    );
    let last = prediction
        .predicted
        .last()
        .map_or(0.0, |(_, _, _, high)| *high)
        .max(prediction.completion_s);
    let x = Scale::from_zero(last * 1.04, area.left, area.right);
    let most = prediction
        .predicted
        .last()
        .map_or(0.0, |(pods, ..)| *pods)
        .max(prediction.pods as f64);
    let ticks = ticks_from_zero(most, 6, true);
    let y = Scale::to_last(&ticks, area.bottom, area.top);
    value_axis(
        &mut canvas,
        area,
        &y,
        &ticks,
        "pods whose first container had started",
    );
    let titles = ("{} since the first pod was scheduled", "");
    let (ticks, title) = ticks_of_time(&x, (58.0, 8), titles);
    bottom_axis(&mut canvas, area, &x, &ticks, &title);
    let of = |time: fn(&(f64, f64, f64, f64)) -> f64| -> Vec<Position> {
        let points = prediction
            .predicted
            .iter()
            .map(|point| (time(point), point.0));
        [(area.left, area.bottom)]
            .into_iter()
            .chain(staircase(points, &x, &y))
            .collect()
    };
    canvas.between(
        of(|point| point.2),
        of(|point| point.3),
        series_colour(0),
        0.18,
    );
    canvas.path(of(|point| point.1), Stroke::solid(series_colour(0), 2.4));
    let steps = staircase(prediction.real.iter().copied(), &x, &y);
    let steps: Vec<Position> = [(area.left, area.bottom)]
        .into_iter()
        .chain(steps)
        .collect();
    canvas.path(decimate(&steps, 2.0), Stroke::solid(INK, 1.8));
    key(&mut canvas, area, sheet.px() - 10.0, entries);
    canvas
}

fn entries(prediction: &PredictionRecord) -> Vec<KeyEntry> {
    let entry = |value: f64, colour, name: &str, detail: String| KeyEntry {
        value,
        colour,
        name: name.to_owned(),
        detail,
    };
    let predicted = format!(
        "complete {} to {}",
        time(prediction.predicted_completion_p5_s),
        time(prediction.predicted_completion_p95_s)
    );
    vec![
        entry(
            2.0,
            INK,
            "reality",
            format!("complete {}", time(prediction.completion_s)),
        ),
        entry(1.0, series_colour(0), "prediction", predicted),
    ]
}
