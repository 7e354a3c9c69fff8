//! A forecast in words: when the rollout will be complete, the next step, the blocking rule, and the expected load.

use std::fmt::Write;

use super::answer::sentence::{listed, quoted, some_of};
use super::format::{count, in_unit, number, percent, rate, time};
use super::wrap::wrapped;
use crate::results::{ForecastEstimate, ForecastRecord, ForecastSpan, ForecastTime};
use fleetsim_units::counted;

/// Maximum number of the product's messages in the text.
const MOST_MESSAGES: usize = 5;

/// The text for a terminal.
#[must_use]
pub fn forecast_text(forecast: &ForecastRecord, width: usize) -> String {
    let mut lines = vec![done(forecast), seen(forecast)];
    if let Some(next) = &forecast.next {
        let what = if next.stage.is_empty() {
            format!("`{}` is the next {}", next.first, forecast.target)
        } else {
            format!("`{}` begins, with `{}`", next.stage, next.first)
        };
        lines.push(format!(
            "Next: {what}, at {}.",
            span(&next.begins, forecast)
        ));
    }
    if let [first, ..] = &forecast.slow[..] {
        let verb = if forecast.slow.len() == 1 {
            "is"
        } else {
            "are"
        };
        lines.push(format!(
            "Slow: {} {verb} not ready; the first has been updating for {}, longer than {} of the updates.",
            listed(&quoted(forecast.slow.iter().map(|slow| slow.name.as_str()))),
            time(first.for_s),
            percent((first.longer_than * 1000.0).floor() / 1000.0)
        ));
    }
    lines.extend(
        forecast
            .hold
            .iter()
            .map(|hold| format!("Held by `{}`: {}", hold.rule, hold.explanation)),
    );
    lines.extend(shown(forecast));
    if forecast.seen.failed > 0 {
        lines.push(format!(
            "Failed: {}. The forecast assumes that they stay failed, and covers the others.",
            counted(forecast.seen.failed, &forecast.target)
        ));
    }
    if is_over(forecast) {
        return lines
            .iter()
            .map(|line| wrapped(line, width, "  "))
            .collect();
    }
    let ForecastEstimate { median, low, high } = forecast.egress_peak_bytes_per_s;
    lines.push(format!(
        "Load to come: {} from the registry, with a peak of {} ({} to {}).",
        in_unit(forecast.egress_bytes.median, "bytes"),
        rate(median),
        rate(low),
        rate(high)
    ));
    lines.push(if forecast.is_conditioned {
        format!(
            "Based on {} draws of the constants that fit the updates so far.",
            count(f64::from(forecast.draws))
        )
    } else {
        let target = &forecast.target;
        format!(
            "No {target} has finished, so this is the unconditioned forecast of {} draws.",
            forecast.draws
        )
    });
    lines
        .iter()
        .map(|line| wrapped(line, width, "  "))
        .collect()
}

/// The product's messages, each with the targets that have it, those of most targets first.
fn shown(forecast: &ForecastRecord) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for shown in &forecast.shown {
        match groups
            .iter_mut()
            .find(|(message, _)| *message == shown.message)
        {
            Some((_, names)) => names.push(&shown.name),
            None => groups.push((&shown.message, vec![&shown.name])),
        }
    }
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let more = groups.len().saturating_sub(MOST_MESSAGES);
    groups.truncate(MOST_MESSAGES);
    let mut lines = Vec::new();
    for (message, names) in groups {
        let names = some_of(&quoted(names));
        lines.push(format!("The product shows for {names}: {message}"));
    }
    if more > 0 {
        lines.push(format!(
            "And {}: see --json.",
            counted(more, "other message")
        ));
    }
    lines
}

fn done(forecast: &ForecastRecord) -> String {
    let Some(median) = &forecast.done.median else {
        return format!(
            "Not done before the horizon: {} of the draws do not finish.",
            percent((forecast.unfinished * 1000.0).round() / 1000.0)
        );
    };
    if is_over(forecast) {
        let is_whole = forecast.seen.failed == 0;
        let what = if is_whole {
            "It is done".to_owned()
        } else {
            format!("No {} is left to update", forecast.target)
        };
        return format!(
            "{what}, since {} UTC at the latest.",
            clock(median, &forecast.now)
        );
    }
    let left = time((median.s - forecast.now.s).max(0.0));
    format!(
        "Done at {}, in about {left}.",
        span(&forecast.done, forecast)
    )
}

/// Returns true if no target is left to update.
const fn is_over(forecast: &ForecastRecord) -> bool {
    forecast.seen.updating + forecast.seen.waiting == 0
}

fn seen(forecast: &ForecastRecord) -> String {
    let seen = &forecast.seen;
    let mut text = format!(
        "At {}, {} after the start: {} of {} ready",
        clock(&forecast.now, &forecast.released),
        time(forecast.now.s),
        count(seen.ready as f64),
        counted(seen.targets, &forecast.target)
    );
    for (number, what) in [
        (seen.updating, "updating"),
        (seen.waiting, "waiting"),
        (seen.failed, "failed"),
    ] {
        if number > 0 {
            _ = write!(text, ", {} {what}", count(number as f64));
        }
    }
    text + "."
}

/// `16:40 UTC (90%: 16:25 to 17:30)`
fn span(span: &ForecastSpan, forecast: &ForecastRecord) -> String {
    let [median, low, high] = [&span.median, &span.low, &span.high].map(|time| match time {
        Some(time) => clock(time, &forecast.now),
        None => "never".to_owned(),
    });
    let level = number(forecast.level * 100.0);
    format!("{median} UTC ({level}%: {low} to {high})")
}

/// The time of day, with the date if it differs from that of `near`.
fn clock(time: &ForecastTime, near: &ForecastTime) -> String {
    let (day, clock) = time.at.split_once('T').unwrap_or((&time.at, ""));
    let clock = clock.trim_end_matches('Z');
    if near.at.starts_with(day) {
        clock.to_owned()
    } else {
        format!("{day} {clock}")
    }
}
