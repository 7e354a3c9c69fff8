//! Responses of Prometheus to range queries of a registry's load: bytes sent, or requests.
//!
//! A raw counter is distinguished from a rate by its name (`_total`, `_count`, `_sum`). If a function or an
//! aggregation has dropped the name, a series of integers that never decreases, except to 0 when the process restarts,
//! counts as a raw counter.
//!
//! Left out: responses to instant queries, histograms and summaries.

use std::collections::BTreeMap;

use clap::ValueEnum;
use itertools::Itertools;
use serde::Deserialize;

use super::events::Tally;
use super::json_stream::{JsonStream, Piece};
use crate::document::problem::OrProblem;
use crate::stats;

/// The quantity of a range query.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum MetricKind {
    /// Bytes sent by the registry.
    Egress,
    /// Requests to the registry.
    Requests,
}

#[derive(Deserialize)]
struct ResponseJson {
    status: Option<String>,
    error: Option<String>,
    data: Option<DataJson>,
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataJson {
    result_type: Option<String>,
}

#[derive(Deserialize)]
struct SeriesDocument {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// A load over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MeasuredLoad {
    /// The load per second at each time.
    pub(super) values: Vec<f64>,
    pub(super) peak: f64,
    pub(super) p95: f64,
    pub(super) mean: f64,
    /// The interval in which the load stayed at its peak. `None`: it did not stay there.
    pub(super) plateau: Option<Plateau>,
}

/// A load that stayed at its peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plateau {
    pub(super) level: f64,
    /// The share of the time that the load spent at its peak.
    pub(super) share: f64,
}

/// A sample in a time series.
#[derive(Clone, Copy, Debug)]
struct MetricSample {
    /// The time of the sample in seconds.
    time: f64,
    value: f64,
}

/// A time series with at least two samples.
#[derive(Debug)]
struct MetricSeries {
    labels: BTreeMap<String, String>,
    samples: Vec<MetricSample>,
}

/// The command that exports a response.
const QUERY: &str =
    "write it with `curl 'http://PROMETHEUS/api/v1/query_range?query=…&start=…&end=…&step=15s'`";

/// The path to the series in a response.
pub(super) const SERIES: &[&str] = &["data", "result"];

/// Passes each series of a response to a function, one after the other.
fn series(
    stream: &mut JsonStream,
    tally: &mut Tally,
    mut each: impl FnMut(&MetricSeries),
) -> OrProblem<()> {
    let mut found = 0;
    let mut refused = None;
    stream.each(|piece| {
        if !piece.is_element() {
            return check_response(piece);
        }
        let document: SeriesDocument = match piece.read() {
            Ok(document) => document,
            // The response object follows its series and may contain the reason for the error.
            Err(error) => {
                refused.get_or_insert_with(|| piece.refused(&error));
                return Ok(());
            }
        };
        let series = document.series(piece, tally)?;
        if series.samples.len() < 2 {
            tally.add("series with fewer than two samples");
        } else {
            each(&series);
            found += 1;
        }
        Ok(())
    })?;
    if let Some(problem) = refused {
        return Err(problem);
    }
    if found == 0 {
        let message = "the response has no series with two samples or more";
        return Err(stream
            .input
            .whole(message, "check the query's labels and its time range"));
    }
    Ok(())
}

impl SeriesDocument {
    fn series(self, piece: &Piece<'_>, tally: &mut Tally) -> OrProblem<MetricSeries> {
        let mut samples = Vec::new();
        for (time, text) in self.values {
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => samples.push(MetricSample { time, value }),
                Ok(_) => tally.add("sample without a finite value (NaN or Inf)"),
                Err(_) => {
                    let message = format!("`{text}` is not a number");
                    return Err(piece.at("data.result.values", message, QUERY));
                }
            }
        }
        if self.metric.contains_key("le") || self.metric.contains_key("quantile") {
            return Err(piece.at(
                "data.result.metric",
                "this is a histogram or a summary, not a load",
                "query bytes or requests per second",
            ));
        }
        Ok(MetricSeries {
            labels: self.metric,
            samples,
        })
    }
}

/// Rejects everything except a response to a range query.
fn check_response(piece: &Piece<'_>) -> OrProblem<()> {
    let response: ResponseJson = piece.read().map_err(|error| piece.refused(&error))?;
    if response.status.as_deref() == Some("error") {
        let message = format!(
            "Prometheus refused the query: {}",
            response.error.unwrap_or_default()
        );
        return Err(piece.at(
            "error",
            message,
            "correct the query, and save the response again",
        ));
    }
    let Some(data) = response.data else {
        let kind = match response.kind {
            Some(kind) => format!("a {kind} of Kubernetes"),
            None => "a JSON object without `data`".to_owned(),
        };
        let message = format!("this is {kind}, not a response of Prometheus");
        return Err(piece.at("data", message, QUERY));
    };
    if data.result_type.as_deref() != Some("matrix") {
        let kind = data.result_type.unwrap_or_else(|| "nothing".to_owned());
        let message = format!("the response has a {kind}, but a range query returns a matrix");
        return Err(piece.at("data.resultType", message, QUERY));
    }
    Ok(())
}

impl MetricSeries {
    /// Returns whether the series is a raw counter.
    fn is_counter(&self) -> bool {
        if let Some(name) = self.labels.get("__name__") {
            let mut ends = ["_total", "_count", "_sum"].into_iter();
            return ends.any(|end| name.ends_with(end));
        }
        for (before, after) in self.samples.iter().tuple_windows() {
            let is_restart = after.value < 0.1 * before.value;
            if after.value < before.value && !is_restart {
                return false;
            }
        }
        if self
            .samples
            .iter()
            .any(|sample| sample.value.fract() != 0.0)
        {
            return false;
        }
        self.samples[self.samples.len() - 1].value > self.samples[0].value
    }

    /// Returns the rate of the series per second at each time.
    fn rates(&self) -> Vec<MetricSample> {
        if !self.is_counter() {
            return self.samples.clone();
        }
        let mut rates = Vec::new();
        for (before, after) in self.samples.iter().tuple_windows() {
            // After a restart, a counter begins at 0 again.
            let increase = if after.value >= before.value {
                after.value - before.value
            } else {
                after.value
            };
            if after.time > before.time {
                rates.push(MetricSample {
                    time: after.time,
                    value: increase / (after.time - before.time),
                });
            }
        }
        rates
    }
}

/// Returns the load of a registry: the sum of all series, per second.
pub(super) fn load(stream: &mut JsonStream, tally: &mut Tally) -> OrProblem<MeasuredLoad> {
    // Times are multiples of the query's step, so they are equal across series.
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    series(stream, tally, |series| {
        for MetricSample { time, value } in series.rates() {
            let milliseconds = (time * 1e3).round().max(0.0) as u64;
            *sums.entry(milliseconds).or_default() += value;
        }
    })?;
    let values: Vec<f64> = sums.into_values().collect();
    let sorted = stats::sorted(&values);
    let peak = sorted.last().copied().unwrap_or_default();
    Ok(MeasuredLoad {
        peak,
        p95: stats::quantile_of_sorted(&sorted, 0.95).unwrap_or_default(),
        mean: stats::mean(&values).unwrap_or_default(),
        plateau: plateau(&values, peak),
        values,
    })
}

/// Returns the plateau if the load stayed at its peak. A short peak is not a limit.
fn plateau(values: &[f64], peak: f64) -> Option<Plateau> {
    let mut near = values.to_vec();
    near.retain(|value| *value >= 0.95 * peak);
    let share = near.len() as f64 / values.len() as f64;
    let stays = near.len() >= 5 && (0.1..0.95).contains(&share) && peak > 0.0;
    stays.then(|| Plateau {
        level: stats::median(&near).unwrap_or(peak),
        share,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::calibrate::input::OpenInput;

    fn input(text: &str) -> JsonStream {
        JsonStream::of(
            OpenInput::of_bytes("p.json", Cursor::new(text.to_owned())).expect("bytes"),
            SERIES,
        )
    }

    fn response(series: &[(&str, &[f64])]) -> JsonStream {
        let series: Vec<String> = series
            .iter()
            .map(|(metric, values)| {
                let points: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(at, value)| format!("[{},\"{value}\"]", 1000 + 10 * at))
                    .collect();
                format!(
                    "{{\"metric\":{{{metric}}},\"values\":[{}]}}",
                    points.join(",")
                )
            })
            .collect();
        let result = series.join(",");
        input(&format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}"
        ))
    }

    #[test]
    fn counters_become_rates_and_restarts_cause_no_jumps() {
        let name = "\"__name__\":\"bytes_sent_total\"";
        let counters = response(&[
            (name, &[0.0, 1000.0, 3000.0, 500.0]),
            (name, &[10.0, 20.0, 30.0, 40.0]),
        ]);
        let load = load(&mut { counters }, &mut Tally::default()).expect("a load");
        assert_eq!(
            load.values,
            [101.0, 201.0, 51.0],
            "per second, both together; 500 bytes since the restart"
        );
        let rates = response(&[("", &[101.5, 201.0, 51.0])]);
        assert_eq!(
            super::load(&mut { rates }, &mut Tally::default())
                .expect("rates")
                .values,
            [101.5, 201.0, 51.0]
        );
    }

    #[test]
    fn a_load_that_stays_at_its_peak_shows_a_limit() {
        let mut values = vec![10.0, 50.5, 80.0];
        values.extend([100.0, 99.0, 98.5, 99.5, 100.0, 99.2]);
        values.extend([30.0, 5.5, 0.0, 1.0]);
        let saturated =
            load(&mut response(&[("", &values)]), &mut Tally::default()).expect("a load");
        let Plateau { level, share } = saturated.plateau.expect("a plateau");
        assert!(
            (level - 99.35).abs() < 0.2 && (share - 6.0 / 13.0).abs() < 1e-9,
            "{level} {share}"
        );
        let peak = load(
            &mut response(&[("", &[1.5, 2.0, 90.0, 2.0, 1.0, 1.0, 3.0])]),
            &mut Tally::default(),
        )
        .expect("a load");
        assert_eq!(peak.plateau, None, "one sample is no limit");
    }

    #[test]
    fn a_file_that_is_not_a_range_query_is_refused() {
        for (text, message) in [
            (
                "{\"status\":\"error\",\"error\":\"parse error\"}",
                "Prometheus refused the query: parse error",
            ),
            (
                "{\"kind\":\"List\",\"items\":[]}",
                "this is a List of Kubernetes",
            ),
            (
                "{\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
                "the response has a vector",
            ),
            (
                "{\"data\":{\"resultType\":\"matrix\",\"result\":[]}}",
                "no series with two samples",
            ),
            (
                "{\"data\":{\"resultType\":\"matrix\",\"result\":[{\"values\":[[1, \"5",
                "the JSON ends too early",
            ),
            (
                "{\"data\":{\"resultType\":\"matrix\",\"result\":[7, [1], ",
                "the JSON ends too early",
            ),
            (
                "{\"data\":{\"resultType\":\"matrix\",\"result\":[{},]}}",
                "not JSON",
            ),
        ] {
            let found = load(&mut input(text), &mut Tally::default())
                .expect_err(text)
                .to_string();
            assert!(
                found.contains(message) && found.contains("help:"),
                "{text}: {found}"
            );
        }
    }
}
