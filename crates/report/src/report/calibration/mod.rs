//! A calibration in words and charts: the data beside each fit, and what was left out.

mod fit;
mod prediction;
mod rates;

use super::canvas::Canvas;
use super::format::{count, number, percent, time};
use super::sheet::Sheet;
use super::wrap::{joined, text_table, wrapped};
use crate::results::{
    CalibrationRecord, FitRecord, PredictionRecord, RateParameter, RatesRecord, SampleRecord,
};
use fleetsim_units::counted;

/// The charts with the names of their files.
pub(super) fn charts(record: &CalibrationRecord, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
    let of_samples = record.samples.iter().filter(|sample| sample.count > 1);
    let fits = of_samples.map(|sample| (format!("fit-{}", sample.name), fit::draw(sample, sheet)));
    let rates = record
        .rates
        .as_ref()
        .and_then(|rates| Some(("rates".to_owned(), rates::draw(rates, sheet)?)));
    let prediction = record
        .prediction
        .iter()
        .map(|found| ("prediction".to_owned(), prediction::draw(found, sheet)));
    fits.chain(rates).chain(prediction).collect()
}

/// The calibration in words: what was read and left out, each quantity with its fits, and the settings to paste.
#[must_use]
pub fn calibration_text(record: &CalibrationRecord, width: usize) -> String {
    let mut text = String::new();
    let read = record
        .sources
        .iter()
        .map(|source| format!("{} ({}): {}", source.file, source.kind, source.has));
    text.extend(read.map(|source| wrapped(&source, width, "  ")));
    if !record.left_out.is_empty() {
        text.push_str("\nleft out\n");
        let counts: Vec<String> = record
            .left_out
            .iter()
            .map(|row| format!("  {}", count(row.count as f64)))
            .collect();
        let wide = counts.iter().map(String::len).max().unwrap_or(0);
        let rows = counts.iter().zip(&record.left_out);
        text.extend(rows.map(|(number, row)| format!("{number:>wide$}  {}\n", row.reason)));
    }
    if !record.samples.is_empty() {
        text.push_str("\nmeasured\n");
        text.push_str(&quantities(&record.samples));
        text.push_str("\nfits\n");
        text.push_str(&fits(record));
    }
    text.extend(record.rates.iter().map(|rates| of_rates(rates, width)));
    text.extend(
        record
            .prediction
            .iter()
            .map(|prediction| of_prediction(prediction, width)),
    );
    for warning in &record.warnings {
        text.push('\n');
        text.push_str(&wrapped(&format!("warning: {warning}"), width, "  "));
    }
    if !record.snippet.is_empty() {
        text.push('\n');
        text.push_str(&record.snippet);
    }
    text
}

/// `1,200 pulls of 9 images on 1 node`.
fn extent(rates: &RatesRecord) -> String {
    let (images, nodes) = (
        counted(rates.images.len(), "image"),
        counted(rates.nodes, "node"),
    );
    format!("{} of {images} on {nodes}", counted(rates.pulls, "pull"))
}

fn of_rates(rates: &RatesRecord, width: usize) -> String {
    let head = format!(
        "rates of {}; fitted times differ by {} (median)",
        extent(rates),
        percent(rates.median_error)
    );
    let column = |cell: &dyn Fn(&RateParameter) -> String| -> Vec<String> {
        rates.parameters.iter().map(cell).collect()
    };
    let columns = [
        column(&|parameter| format!("  {}", parameter.name)),
        column(&|parameter| rates::value(parameter)),
        column(&|parameter| parameter.note.clone()),
    ];
    let table = joined(&columns, 3);
    let simulated = rates.simulated_error.zip(rates.simulated_worst.as_ref()).map(|(error, (worst, image))| {
        let text = format!(
            "Pulls simulated with the settings below differ from the data by {} (median); the worst, of {image}, by \
             {:+.0}%.",
            percent(error),
            worst * 100.0
        );
        wrapped(&text, width, "  ")
    });
    let head = wrapped(&head, width, "  ");
    format!(
        "\n{head}{table}  pull = {}\n{}",
        rates.formula,
        simulated.unwrap_or_default()
    )
}

fn of_prediction(prediction: &PredictionRecord, width: usize) -> String {
    let error = prediction.predicted_completion_s / prediction.completion_s - 1.0;
    let sample = if prediction.is_in_sample {
        "The rates come from the same events."
    } else {
        "The rates come from other events."
    };
    let pods = prediction
        .median_absolute_error
        .map_or_else(String::new, |absolute| {
            format!(
                " From schedule to start, pods differ by {} (median).",
                percent(absolute)
            )
        });
    let text = format!(
        "prediction of {} ({}; {}): the last pod started after {} in reality, after {} in the prediction \
         (90% of runs: {} to {}), {:+.1}%.{pods} {sample}",
        prediction.source,
        counted(prediction.pods, "pod"),
        prediction.simulated,
        time(prediction.completion_s),
        time(prediction.predicted_completion_s),
        time(prediction.predicted_completion_p5_s),
        time(prediction.predicted_completion_p95_s),
        error * 100.0
    );
    format!("\n{}", wrapped(&text, width, "  "))
}

fn quantities(samples: &[SampleRecord]) -> String {
    text_table(
        samples,
        1,
        &[
            ("  quantity", &|sample| format!("  {}", sample.name)),
            ("count", &|sample| count(sample.count as f64)),
            ("least", &|sample| time(sample.min_s)),
            ("median", &|sample| time(sample.median_s)),
            ("95%", &|sample| time(sample.p95_s)),
            ("greatest", &|sample| time(sample.max_s)),
        ],
    )
}

fn fits(record: &CalibrationRecord) -> String {
    let rows: Vec<(&SampleRecord, Option<&FitRecord>)> = record
        .samples
        .iter()
        .flat_map(|sample| {
            let none = sample.fits.is_empty().then_some((sample, None));
            sample
                .fits
                .iter()
                .map(move |fit| (sample, Some(fit)))
                .chain(none)
        })
        .collect();
    let p = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let table = text_table(
        &rows,
        3,
        &[
            ("  quantity", &|(sample, fit)| {
                let is_first =
                    fit.is_none_or(|fit| sample.fits.first().is_some_and(|first| first == fit));
                if is_first {
                    format!("  {}", sample.name)
                } else {
                    String::new()
                }
            }),
            ("distribution", &|(sample, fit)| {
                let name = fit.map_or("empirical", |fit| &fit.distribution);
                let mark = if name == sample.chosen { " *" } else { "" };
                format!("{name}{mark}")
            }),
            ("parameters", &|(_, fit)| {
                fit.map_or_else(|| "-".to_owned(), |fit| fit.expression.clone())
            }),
            ("KS", &|(_, fit)| p(fit.map(|fit| fit.ks))),
            ("p", &|(_, fit)| p(fit.and_then(|fit| fit.ks_p))),
            ("AD", &|(_, fit)| p(fit.and_then(|fit| fit.ad))),
            ("p", &|(_, fit)| p(fit.and_then(|fit| fit.ad_p))),
            ("verdict", &|(sample, fit)| match fit {
                Some(fit) => fit.verdict.clone(),
                None if sample.chosen == "empirical" => "not fitted".to_owned(),
                None => String::new(),
            }),
        ],
    );
    let level = percent(0.05);
    format!(
        "{table}  * chosen; none marked: the measured values as they are. p: share of samples of the fitted\n  \
         distribution that are further from it (parametric bootstrap, {} samples); below {level} it does not fit.\n",
        record.resamples
    )
}
