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
    let mut last = prediction.completion_s;
    let mut most = prediction.pods as f64;
    if let Some(end) = prediction.predicted.last() {
        last = last.max(end.p95_s);
        most = most.max(end.pods);
    }
    let x = Scale::from_zero(last * 1.04, area.left, area.right);
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
    let mut medians: Vec<Position> = Vec::new();
    let mut lows: Vec<Position> = Vec::new();
    let mut highs: Vec<Position> = Vec::new();
    for point in &prediction.predicted {
        medians.push((point.median_s, point.pods));
        lows.push((point.p5_s, point.pods));
        highs.push((point.p95_s, point.pods));
    }
    canvas.between(
        steps_from_zero(&lows, &x, &y),
        steps_from_zero(&highs, &x, &y),
        series_colour(0),
        0.18,
    );
    canvas.path(
        steps_from_zero(&medians, &x, &y),
        Stroke::solid(series_colour(0), 2.4),
    );
    let steps = steps_from_zero(&prediction.real, &x, &y);
    canvas.path(decimate(&steps, 2.0), Stroke::solid(INK, 1.8));
    key(&mut canvas, area, sheet.px() - 10.0, entries);
    canvas
}

/// The steps of a curve that begins at the origin.
fn steps_from_zero(points: &[Position], x: &Scale, y: &Scale) -> Vec<Position> {
    let mut steps = vec![(x.from, y.from)];
    steps.extend(staircase(points.iter().copied(), x, y));
    steps
}

fn entries(prediction: &PredictionRecord) -> Vec<KeyEntry> {
    let predicted = format!(
        "complete {} to {}",
        time(prediction.predicted_completion_p5_s),
        time(prediction.predicted_completion_p95_s)
    );
    vec![
        KeyEntry {
            value: 2.0,
            colour: INK,
            dash: &[],
            name: "reality".to_owned(),
            detail: format!("complete {}", time(prediction.completion_s)),
        },
        KeyEntry {
            value: 1.0,
            colour: series_colour(0),
            dash: &[],
            name: "prediction".to_owned(),
            detail: predicted,
        },
    ]
}
