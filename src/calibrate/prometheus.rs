//! Responses of Prometheus to range queries of a registry's load: bytes sent, or requests.
//!
//! A raw counter is told from a rate by its name (`_total`, `_count`, `_sum`) or, where a function or an
//! aggregation has dropped the name, by whole values that never fall but to 0, where the process restarted.
//!
//! Left out: responses to instant queries, histograms and summaries.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Deserialize;

use super::events::Tally;
use super::json_stream::JsonStream;
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
    /// Per second, at each time.
    pub(super) values: Vec<f64>,
    pub(super) peak: f64,
    pub(super) p95: f64,
    pub(super) mean: f64,
    /// Where the load stayed at its peak: its level, and the share of the time.
    pub(super) plateau: Option<(f64, f64)>,
}

/// A time series: seconds and values.
type Points = Vec<(f64, f64)>;

/// A time series with its labels.
type LabelledPoints = (BTreeMap<String, String>, Points);

/// Where a response has its series.
pub(super) const SERIES: &[&str] = &["data", "result"];

/// Gives each series of a response, one after the other.
fn series(
    stream: &mut JsonStream,
    tally: &mut Tally,
    mut each: impl FnMut(&LabelledPoints),
) -> OrProblem<()> {
    let help = "write it with `curl 'http://PROMETHEUS/api/v1/query_range?query=…&start=…&end=…&step=15s'`";
    let (mut found, mut refused) = (0, None);
    stream.each(|piece| {
        if piece.is_element() {
            let series: SeriesDocument = match piece.read() {
                Ok(series) => series,
                // The response itself, which follows, may say why.
                Err(error) => {
                    refused.get_or_insert_with(|| piece.refused(&error));
                    return Ok(());
                }
            };
            let mut points = Vec::new();
            for (time, text) in series.values {
                match text.parse::<f64>() {
                    Ok(value) if value.is_finite() => points.push((time, value)),
                    Ok(_) => tally.add("sample without a finite value (NaN or Inf)"),
                    Err(_) => {
                        return Err(piece.at(
                            "data.result.values",
                            format!("`{text}` is not a number"),
                            help,
                        ));
                    }
                }
            }
            if series.metric.contains_key("le") || series.metric.contains_key("quantile") {
                let message = "this is a histogram or a summary, not a load";
                return Err(piece.at(
                    "data.result.metric",
                    message,
                    "query bytes or requests per second",
                ));
            }
            match points.len() {
                0 | 1 => tally.add("series with fewer than two samples"),
                _ => {
                    each(&(series.metric, points));
                    found += 1;
                }
            }
            return Ok(());
        }
        let response: ResponseJson = piece.read().map_err(|error| piece.refused(&error))?;
        if response.status.as_deref() == Some("error") {
            let message = format!(
                "Prometheus refused the query: {}",
                response.error.unwrap_or_default()
            );
            return Err(piece.at(
                "error",
                message,
                "correct the query, and write the file again",
            ));
        }
        let Some(data) = response.data else {
            let kind = response
                .kind
                .map_or("a JSON object without `data`".to_owned(), |kind| {
                    format!("a {kind} of Kubernetes")
                });
            return Err(piece.at(
                "data",
                format!("this is {kind}, not a response of Prometheus"),
                help,
            ));
        };
        if data.result_type.as_deref() != Some("matrix") {
            let kind = data.result_type.unwrap_or_else(|| "nothing".to_owned());
            let message = format!("the response has a {kind}, but a range query gives a matrix");
            return Err(piece.at("data.resultType", message, help));
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

/// Whether a series is a raw counter.
fn is_counter(metric: &BTreeMap<String, String>, points: &Points) -> bool {
    if let Some(name) = metric.get("__name__") {
        return ["_total", "_count", "_sum"]
            .iter()
            .any(|end| name.ends_with(end));
    }
    let never_falls = points
        .windows(2)
        .all(|pair| pair[1].1 >= pair[0].1 || pair[1].1 < 0.1 * pair[0].1);
    let is_whole = points.iter().all(|(_, value)| value.fract() == 0.0);
    never_falls && is_whole && points[points.len() - 1].1 > points[0].1
}

/// The increase between neighbouring samples; after a restart, a counter begins again at 0.
fn increases(points: &Points) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    points.windows(2).map(|pair| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        (
            from,
            to,
            if after >= before {
                after - before
            } else {
                after
            },
        )
    })
}

/// The load of a registry: all series together, per second.
pub(super) fn load(stream: &mut JsonStream, tally: &mut Tally) -> OrProblem<MeasuredLoad> {
    // Times are multiples of the query's step, so they agree between series.
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    let key = |time: f64| (time * 1e3).round().max(0.0) as u64;
    series(stream, tally, |(metric, points)| {
        if is_counter(metric, points) {
            for (from, to, increase) in increases(points).filter(|(from, to, _)| to > from) {
                *sums.entry(key(to)).or_default() += increase / (to - from);
            }
        } else {
            for (time, value) in points {
                *sums.entry(key(*time)).or_default() += value;
            }
        }
    })?;
    let values: Vec<f64> = sums.into_values().collect();
    let sorted = stats::sorted(&values);
    let peak = sorted.last().copied().unwrap_or_default();
    let near: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| *value >= 0.95 * peak)
        .collect();
    let share = near.len() as f64 / values.len() as f64;
    // A short peak is no limit: the load has to stay there.
    let stays = near.len() >= 5 && (0.1..0.95).contains(&share) && peak > 0.0;
    Ok(MeasuredLoad {
        peak,
        p95: stats::quantile_of_sorted(&sorted, 0.95).unwrap_or_default(),
        mean: stats::mean(&values).unwrap_or_default(),
        plateau: stays.then(|| (stats::median(&near).unwrap_or(peak), share)),
        values,
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
    fn counters_become_rates_and_restarts_are_no_jumps() {
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
        let (level, share) = saturated.plateau.expect("a plateau");
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
    fn what_is_no_range_query_is_refused() {
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
