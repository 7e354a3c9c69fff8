//! A calibration in words and charts: the data with each fit, and the skipped input.

mod fit;
mod prediction;
mod rates;

use super::canvas::Canvas;
use super::format::{count, number, percent, time};
use super::sheet::Sheet;
use super::wrap::{joined, text_table, wrapped};
use crate::results::{CalibrationRecord, FitRecord, PredictionRecord, RatesRecord, SampleRecord};
use fleetsim_units::counted;

/// The charts with the names of their files.
pub(super) fn charts(record: &CalibrationRecord, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
    let mut charts = Vec::new();
    for sample in &record.samples {
        if sample.count > 1 {
            charts.push((format!("fit-{}", sample.name), fit::draw(sample, sheet)));
        }
    }
    if let Some(rates) = &record.rates
        && let Some(canvas) = rates::draw(rates, sheet)
    {
        charts.push(("rates".to_owned(), canvas));
    }
    if let Some(found) = &record.prediction {
        charts.push(("prediction".to_owned(), prediction::draw(found, sheet)));
    }
    charts
}

/// The calibration in words: the input that was read or skipped, each quantity with its fits, and the settings to
/// paste.
#[must_use]
pub fn calibration_text(record: &CalibrationRecord, width: usize) -> String {
    let mut text = String::new();
    for source in &record.sources {
        let source = format!("{} ({}): {}", source.file, source.kind, source.has);
        text.push_str(&wrapped(&source, width, "  "));
    }
    if !record.left_out.is_empty() {
        text.push_str("\nleft out\n");
        let counts: Vec<String> = record
            .left_out
            .iter()
            .map(|row| format!("  {}", count(row.count as f64)))
            .collect();
        let wide = counts.iter().map(String::len).max().unwrap_or(0);
        for (number, row) in counts.iter().zip(&record.left_out) {
            text.push_str(&format!("{number:>wide$}  {}\n", row.reason));
        }
    }
    if !record.samples.is_empty() {
        text.push_str("\nmeasured\n");
        text.push_str(&quantities(&record.samples));
        text.push_str("\nfits\n");
        text.push_str(&fits(record));
    }
    if let Some(rates) = &record.rates {
        text.push_str(&of_rates(rates, width));
    }
    if let Some(prediction) = &record.prediction {
        text.push_str(&of_prediction(prediction, width));
    }
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
    let images = counted(rates.images.len(), "image");
    let nodes = counted(rates.nodes, "node");
    format!("{} of {images} on {nodes}", counted(rates.pulls, "pull"))
}

/// The fitted rates, with their parameters.
fn of_rates(rates: &RatesRecord, width: usize) -> String {
    let head = format!(
        "rates of {}; fitted times differ by {} (median)",
        extent(rates),
        percent(rates.median_error)
    );
    let mut names = Vec::new();
    let mut values = Vec::new();
    let mut notes = Vec::new();
    for parameter in &rates.parameters {
        names.push(format!("  {}", parameter.name));
        values.push(rates::value(parameter));
        notes.push(parameter.note.clone());
    }
    let columns = [names, values, notes];
    let table = joined(&columns, 3);
    let head = wrapped(&head, width, "  ");
    format!(
        "\n{head}{table}  pull = {}\n{}",
        rates.formula,
        simulated(rates, width).unwrap_or_default()
    )
}

/// The distance of simulated pulls from the data. `None`: no pulls were simulated.
fn simulated(rates: &RatesRecord, width: usize) -> Option<String> {
    let error = rates.simulated_error?;
    let (worst, image) = rates.simulated_worst.as_ref()?;
    let text = format!(
        "Pulls simulated with the settings below differ from the data by {} (median); the worst, of {image}, by {:+.0}%.",
        percent(error),
        worst * 100.0
    );
    Some(wrapped(&text, width, "  "))
}

/// The prediction compared with the measurement.
fn of_prediction(prediction: &PredictionRecord, width: usize) -> String {
    let error = prediction.predicted_completion_s / prediction.completion_s - 1.0;
    let sample = if prediction.is_in_sample {
        "The rates come from the same events."
    } else {
        "The rates come from other events."
    };
    let pods = match prediction.median_absolute_error {
        Some(absolute) => format!(
            " From schedule to start, pods differ by {} (median).",
            percent(absolute)
        ),
        None => String::new(),
    };
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

/// The measured quantities.
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

/// A line of the table of fits: a fit of a quantity, or the quantity alone if nothing was fitted.
struct FitLine<'r> {
    sample: &'r SampleRecord,
    fit: Option<&'r FitRecord>,
    /// Whether this is the first line about its quantity.
    is_first: bool,
}

impl FitLine<'_> {
    /// The name of the quantity; empty on all but the first line about it.
    fn quantity(&self) -> String {
        if self.is_first {
            format!("  {}", self.sample.name)
        } else {
            String::new()
        }
    }

    /// The distribution, marked if it is the chosen one.
    fn distribution(&self) -> String {
        let name = self.fit.map_or("empirical", |fit| &fit.distribution);
        let mark = if name == self.sample.chosen { " *" } else { "" };
        format!("{name}{mark}")
    }

    /// The distribution with its parameters.
    fn parameters(&self) -> String {
        match self.fit {
            Some(fit) => fit.expression.clone(),
            None => "-".to_owned(),
        }
    }

    /// A statistic of the fit.
    fn statistic(&self, of: fn(&FitRecord) -> Option<f64>) -> String {
        match self.fit.and_then(of) {
            Some(value) => number(value),
            None => "-".to_owned(),
        }
    }

    /// The verdict on the fit, in words.
    fn verdict(&self) -> String {
        match self.fit {
            Some(fit) => fit.verdict.clone(),
            None if self.sample.chosen == "empirical" => "not fitted".to_owned(),
            None => String::new(),
        }
    }
}

/// The lines of the table of fits.
fn fit_lines(record: &CalibrationRecord) -> Vec<FitLine<'_>> {
    let mut lines = Vec::new();
    for sample in &record.samples {
        if sample.fits.is_empty() {
            lines.push(FitLine {
                sample,
                fit: None,
                is_first: true,
            });
        }
        for fit in &sample.fits {
            lines.push(FitLine {
                sample,
                fit: Some(fit),
                is_first: sample.fits[0] == *fit,
            });
        }
    }
    lines
}

/// The fits of all quantities.
fn fits(record: &CalibrationRecord) -> String {
    let table = text_table(
        &fit_lines(record),
        3,
        &[
            ("  quantity", &FitLine::quantity),
            ("distribution", &FitLine::distribution),
            ("parameters", &FitLine::parameters),
            ("KS", &|line| line.statistic(|fit| Some(fit.ks))),
            ("p", &|line| line.statistic(|fit| fit.ks_p)),
            ("AD", &|line| line.statistic(|fit| fit.ad)),
            ("p", &|line| line.statistic(|fit| fit.ad_p)),
            ("verdict", &FitLine::verdict),
        ],
    );
    let level = percent(0.05);
    format!(
        "{table}  * chosen; none marked: the measured values as they are. p: share of samples of the fitted\n  \
         distribution that are further from it (parametric bootstrap, {} samples); below {level} it does not fit.\n",
        record.resamples
    )
}
