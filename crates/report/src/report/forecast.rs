//! A forecast in words: when the rollout will be complete, the next step, the blocking rule, and the expected load.

use std::fmt::Write;

use super::answer::sentence::{listed, quoted, some_of};
use super::format::{count, in_unit, number, percent, rate, time};
use super::wrap::wrapped;
use crate::results::{
    ForecastEstimate, ForecastHold, ForecastRecord, ForecastSpan, ForecastTime, UpdateRatio,
};
use fleetsim_units::counted;

/// A share of the interval by which an end may differ with another seed without a sentence about it.
const AGREEMENT: f64 = 0.1;

/// The least widening of the interval that is worth a sentence.
const LEAST_WIDENING: f64 = 1.1;

/// Maximum number of the product's messages in the text.
const MOST_MESSAGES: usize = 5;

/// The text for a terminal.
#[must_use]
pub fn forecast_text(forecast: &ForecastRecord, width: usize) -> String {
    let mut lines = vec![done(forecast)];
    lines.extend(superseded(forecast));
    lines.extend(without_stuck(forecast));
    lines.push(seen(forecast));
    lines.extend(difference(forecast));
    lines.extend(next(forecast));
    lines.extend(stuck(forecast));
    lines.extend(slow(forecast));
    lines.extend(forecast.hold.iter().map(held));
    lines.extend(shown(forecast));
    lines.extend(failed(forecast));
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
    lines.push(basis(forecast));
    lines
        .iter()
        .map(|line| wrapped(line, width, "  "))
        .collect()
}

/// Says how often a later release supersedes the observed one. Returns nothing if none does.
fn superseded(forecast: &ForecastRecord) -> Option<String> {
    let share = forecast.superseded;
    (share > 0.0).then(|| {
        format!(
            "In {} of the draws a later release supersedes this one; the time is then the end of that release.",
            percent(share)
        )
    })
}

/// The rule that holds waiting targets.
fn held(hold: &ForecastHold) -> String {
    if hold.explanation.is_empty() {
        format!("Held by `{}`.", hold.rule)
    } else {
        format!("Held by `{}`: {}", hold.rule, hold.explanation)
    }
}

/// The next stage or target.
fn next(forecast: &ForecastRecord) -> Option<String> {
    let next = forecast.next.as_ref()?;
    let what = if next.stage.is_empty() {
        format!("`{}` is the next {}", next.first, forecast.target)
    } else {
        format!("`{}` begins, with `{}`", next.stage, next.first)
    };
    let begins = span(&next.begins, forecast);
    Some(format!("Next: {what}, at {begins}."))
}

/// The end of the others, if the stuck targets stay away.
fn without_stuck(forecast: &ForecastRecord) -> Option<String> {
    let others = forecast.done_without_stuck.as_ref()?;
    let stays = if forecast.stuck.len() == 1 {
        "stays"
    } else {
        "stay"
    };
    let when = if others.median.is_some() {
        format!("the others are done at {}", span(others, forecast))
    } else {
        "the others are never done".to_owned()
    };
    Some(format!(
        "That is if {} back now. If {} {stays} away, {when}.",
        comes(forecast),
        stuck_names(forecast)
    ))
}

/// `store-13 comes`
fn comes(forecast: &ForecastRecord) -> String {
    let verb = if forecast.stuck.len() == 1 {
        "comes"
    } else {
        "come"
    };
    format!("{} {verb}", stuck_names(forecast))
}

fn stuck_names(forecast: &ForecastRecord) -> String {
    let names = forecast.stuck.iter().map(|stuck| stuck.name.as_str());
    some_of(&quoted(names))
}

/// The stuck targets, with the time since when.
fn stuck(forecast: &ForecastRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for stuck in forecast.stuck.iter().take(MOST_MESSAGES) {
        let since = clock(&stuck.since, &forecast.now);
        lines.push(if stuck.is_silent {
            format!("Silent: the agent of `{}`, since {since} UTC.", stuck.name)
        } else {
            format!(
                "Stuck: `{}` has been updating since {since} UTC, far longer than the finished ones.",
                stuck.name
            )
        });
    }
    let more = forecast.stuck.len().saturating_sub(MOST_MESSAGES);
    if more > 0 {
        lines.push(format!(
            "And {} more are silent or stuck: see --json.",
            count(more as f64)
        ));
    }
    lines
}

/// How the observed updates differ from those of the experiment.
fn difference(forecast: &ForecastRecord) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(UpdateRatio { ratio, beyond }) = forecast.update_ratio {
        let side = if ratio.median > 1.0 {
            "slower"
        } else {
            "faster"
        };
        lines.push(format!(
            "Updates take {} what the experiment's own values give, {side} than in {} of the draws of its constants: \
             compare its links and images with the real ones.{}",
            times(&ratio),
            percent((beyond * 100.0).floor() / 100.0),
            widened(forecast)
        ));
    } else if let Some(ratio) = &forecast.unlearnt_ratio {
        lines.push(format!(
            "Updates take {} what the draws of the constants that fit best give; the forecast goes by the observed \
             durations.{}",
            times(ratio),
            widened(forecast)
        ));
    }
    if let Some(usual) = forecast.expected_failures {
        lines.push(format!(
            "{} failed, more than the {} of 95% of the draws; so the forecast draws further failures.",
            counted(forecast.seen.failed, &forecast.target),
            count(usual as f64)
        ));
    }
    lines
}

/// `3.1 times (2.6 to 3.7)`
fn times(ratio: &ForecastEstimate) -> String {
    format!(
        "{} times ({} to {})",
        number(two_digits(ratio.median)),
        number(two_digits(ratio.low)),
        number(two_digits(ratio.high))
    )
}

/// Returns by what factor the difference widens the interval. Empty if it does not.
fn widened(forecast: &ForecastRecord) -> String {
    match forecast.widening {
        Some(widening) if widening >= LEAST_WIDENING => format!(
            " This makes the interval {} times as wide.",
            number(two_digits(widening))
        ),
        _ => String::new(),
    }
}

/// A number with two significant digits.
fn two_digits(value: f64) -> f64 {
    let digits = 1 - libm::floor(libm::log10(value.max(1e-9))) as i32;
    let scale = libm::pow(10.0, f64::from(digits));
    (value * scale).round() / scale
}

fn slow(forecast: &ForecastRecord) -> Option<String> {
    let first = forecast.slow.first()?;
    let (verb, whom) = if forecast.slow.len() == 1 {
        ("is", "it")
    } else {
        ("are", "the first")
    };
    Some(format!(
        "Slow: {} {verb} not ready; {whom} has been updating for {}, longer than {} of the updates.",
        listed(&quoted(forecast.slow.iter().map(|slow| slow.name.as_str()))),
        time(first.for_s),
        percent((first.longer_than * 1000.0).floor() / 1000.0)
    ))
}

/// The failed targets, with their names.
fn failed(forecast: &ForecastRecord) -> Option<String> {
    if forecast.failed.is_empty() {
        return None;
    }
    Some(format!(
        "Failed: {} ({}). The forecast assumes that they stay failed, and covers the others.",
        counted(forecast.seen.failed, &forecast.target),
        some_of(&quoted(forecast.failed.iter().map(String::as_str)))
    ))
}

/// What the forecast is based on, and how far another seed may move it.
fn basis(forecast: &ForecastRecord) -> String {
    let draws = count(f64::from(forecast.draws));
    let mut text = if forecast.is_conditioned {
        format!(
            "Based on {draws} draws of the constants that fit the updates so far; they are worth {} different draws.",
            count(forecast.effective_draws.floor())
        )
    } else {
        let target = &forecast.target;
        format!("No {target} has finished, so this is the unconditioned forecast of {draws} draws.")
    };
    if forecast.disagreement >= 1.0 {
        text += " With another seed, an end may be before the horizon or never; --draws adds more.";
    } else if forecast.disagreement > AGREEMENT {
        _ = write!(
            text,
            " Another seed may move an end by {} of the interval; --draws adds more.",
            percent((forecast.disagreement * 100.0).round() / 100.0)
        );
    }
    text
}

/// Says why a forecast differs from the one before. `None`: the new end is within the interval before.
#[must_use]
pub fn forecast_change(before: &ForecastRecord, now: &ForecastRecord) -> Option<String> {
    let median_s = seconds(now.done.median.as_ref());
    let is_within = seconds(before.done.low.as_ref()) <= median_s
        && median_s <= seconds(before.done.high.as_ref());
    if is_within || is_over(now) {
        return None;
    }
    let direction = if median_s > seconds(before.done.median.as_ref()) {
        "later"
    } else {
        "earlier"
    };
    Some(format!(
        "The end is {direction} than the interval of the forecast before, because {}.",
        reason(before, now)
    ))
}

/// Seconds from the release to an end of a forecast; infinite for an end that is not reached.
fn seconds(end: Option<&ForecastTime>) -> f64 {
    end.map_or(f64::INFINITY, |end| end.s)
}

/// Returns whether the observed updates differ from those of the experiment.
const fn differs(forecast: &ForecastRecord) -> bool {
    forecast.update_ratio.is_some() || forecast.unlearnt_ratio.is_some()
}

/// Names the change between two forecasts.
fn reason(before: &ForecastRecord, now: &ForecastRecord) -> String {
    let target = &now.target;
    let stuck = now.stuck.len().saturating_sub(before.stuck.len());
    let failed = now.seen.failed.saturating_sub(before.seen.failed);
    if stuck > 0 {
        let verb = if stuck == 1 { "is" } else { "are" };
        return format!("{} more {verb} silent or stuck", counted(stuck, target));
    }
    if now.stuck.len() < before.stuck.len() {
        return "a target that was silent or stuck has come back".to_owned();
    }
    if failed > 0 {
        let verb = if failed == 1 { "has" } else { "have" };
        return format!("{} more {verb} failed", counted(failed, target));
    }
    match (differs(before), differs(now)) {
        (false, true) => {
            return "the updates now differ from what the experiment gives".to_owned();
        }
        (true, false) => {
            return "the updates no longer differ from what the experiment gives".to_owned();
        }
        _ => {}
    }
    let rule_before = before.hold.as_ref().map(|hold| &hold.rule);
    if let Some(hold) = &now.hold
        && Some(&hold.rule) != rule_before
    {
        return format!("`{}` holds the rollout now", hold.rule);
    }
    if now.seen.ready == before.seen.ready {
        return format!("no further {target} has become ready");
    }
    format!(
        "the {} since then took a different time",
        counted(now.seen.ready - before.seen.ready, "update")
    )
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
        let since = first_since(forecast, &names);
        let names = some_of(&quoted(names));
        lines.push(format!("The product shows for {names}{since}: {message}"));
    }
    if more > 0 {
        lines.push(format!(
            "And {}: see --json.",
            counted(more, "other message")
        ));
    }
    lines
}

/// ` since 14:02:11`: the first time since when targets are updating or have failed, if the product shows one.
fn first_since(forecast: &ForecastRecord, names: &[&str]) -> String {
    let mut first: Option<&ForecastTime> = None;
    for begun in &forecast.begun {
        if let Some(since) = &begun.since
            && names.contains(&begun.name.as_str())
            && first.is_none_or(|first| since.s < first.s)
        {
            first = Some(since);
        }
    }
    let Some(since) = first else {
        return String::new();
    };
    let since = clock(since, &forecast.now);
    if names.len() == 1 {
        format!(" since {since} UTC")
    } else {
        format!(" (the first since {since} UTC)")
    }
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
