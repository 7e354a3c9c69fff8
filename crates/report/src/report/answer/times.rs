//! The line `time`: the time at which the targets are ready, with a prediction interval, and the late targets.

use super::ranking::{share_of_most, time_before_late};
use super::sentence::{ShownInterval, completion};
use super::workloads;
use crate::report::data::{VariantResults, latest, range_of, target_of};
use crate::report::format::{TimeUnit, count, number, time};
use crate::report::uncertainty::level;
use crate::results::{ClusterRow, READY_TIME, UncertaintyRow};

/// The line, unless the verdict says all of it: the same time, without intervals of draws or late targets.
pub(super) fn line_below(verdict: &str, variant: &VariantResults<'_>) -> Option<String> {
    let is_news = !variant.draws.is_empty()
        || late(variant).is_some()
        || workloads::line(variant).is_some()
        || !says(verdict, variant.ready_time()?);
    line(variant).filter(|_| is_news)
}

/// Returns true if a sentence has the number of this time.
fn says(sentence: &str, took: f64) -> bool {
    let took = time(took);
    let number = took.split(' ').next().unwrap_or_default();
    let mut words = sentence.split_whitespace();
    words.any(|word| word.trim_end_matches([',', '.', ';']) == number)
}

/// `all 1,000 clusters ready in 21 min (11–142 in 95% of rollouts; 16 min with every constant at its default)`.
/// `None`: no target is ever ready.
pub(super) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let took = took(variant)?;
    let mut text = format!("{} ready in {took}", who(variant));
    if let Some(late) = late(variant) {
        text.push_str(&format!("; {late}"));
    }
    if let Some(workloads) = workloads::line(variant) {
        text.push_str(&format!("; {workloads}"));
    }
    Some(text)
}

/// `all 1,000 clusters`, `194 of 200 clusters`.
pub(super) fn who(variant: &VariantResults<'_>) -> String {
    let reach = variant.reach();
    let target = target_of([variant.info]);
    if !reach.is_whole() {
        return format!("{} {target}s", reach.of_all());
    }
    match range_of(reach.targets).as_str() {
        "1" => format!("the {target}"),
        targets => format!("all {targets} {target}s"),
    }
}

/// `all 1,000 clusters are ready`.
pub(super) fn are_ready(variant: &VariantResults<'_>) -> String {
    let who = who(variant);
    let are = if who.starts_with("the ") { "is" } else { "are" };
    format!("{who} {are} ready")
}

/// The time that a headline shows: the median of all draws of the constants, or that of the runs without any.
pub(super) fn headline(variant: &VariantResults<'_>) -> Option<f64> {
    match variant.uncertain(READY_TIME) {
        Some(row) => row.total_median,
        None => variant.ready_time(),
    }
}

/// The headline's time in words. Without a median, most draws or runs do not complete.
pub(super) fn headline_text(variant: &VariantResults<'_>) -> String {
    match headline(variant) {
        Some(took) => time(took),
        None if variant.draws.is_empty() => latest(&variant.runs),
        None => latest(&variant.draws),
    }
}

/// The time with its interval.
fn took(variant: &VariantResults<'_>) -> Option<String> {
    let at_defaults = variant.ready_time();
    let Some(row) = variant.uncertain(READY_TIME) else {
        return at_defaults.map(|took| completion(variant, took));
    };
    let defaults = match at_defaults {
        Some(took) => format!("{} with every constant at its default", time(took)),
        None => "unfinished with every constant at its default".to_owned(),
    };
    Some(match total_interval(variant, row) {
        Some(interval) => format!("{interval}; {defaults})"),
        None => format!("no known time: most draws of the constants do not complete ({defaults})"),
    })
}

/// `21 min (11–142 in 95% of rollouts`, without the closing bracket. `None`: most draws do not complete.
fn total_interval(variant: &VariantResults<'_>, row: &UncertaintyRow) -> Option<String> {
    let median = row.total_median?;
    let level = level(row.total_level);
    Some(match (row.total_low, row.total_high) {
        (Some(low), Some(high)) => {
            let ShownInterval { middle, low, high } = ShownInterval::of_time(median, low, high);
            format!("{middle} ({low}–{high} in {level} of rollouts")
        }
        (Some(low), None) => format!(
            "{} ({} to {} in {level} of rollouts",
            time(median),
            time(low),
            latest(&variant.draws)
        ),
        (None, _) => format!("{} (median of the draws", time(median)),
    })
}

/// `5.3 instead of 25.3 min`.
pub(super) fn times_instead(now: f64, before: f64) -> String {
    let unit = TimeUnit::for_span(before);
    if TimeUnit::for_span(now) == unit {
        let now = number(now / unit.seconds);
        return format!("{now} instead of {}", time(before));
    }
    format!("{} instead of {}", time(now), time(before))
}

/// `99% in 16 min, the last is tx2`, if a few late targets take most of the time.
pub(super) fn late(variant: &VariantResults<'_>) -> Option<String> {
    let most = time_before_late(variant)?;
    let mut text = format!("{} in {}", most_of(variant)?, time(most));
    if let Some(last) = last_ready(variant) {
        let whether = if variant.runs.len() > 1 {
            "for example "
        } else {
            ""
        };
        text.push_str(&format!(", the last is {whether}{}", last.cluster));
    }
    Some(text)
}

/// `99%`, or `9 of 10` if that is exact.
fn most_of(variant: &VariantResults<'_>) -> Option<String> {
    let (share, _) = share_of_most(variant)?;
    let targets = variant.runs.iter().map(|run| run.targets).min()?;
    let most = (share * targets as f64).ceil();
    if targets as f64 - most <= 1.0 {
        return Some(format!("{} of {}", count(most), count(targets as f64)));
    }
    Some(format!("{}%", count(share * 100.0)))
}

/// `99% of the clusters`, `9 of 10 clusters`.
pub(super) fn most_targets(variant: &VariantResults<'_>) -> Option<String> {
    let most = most_of(variant)?;
    let target = target_of([variant.info]);
    Some(if most.ends_with('%') {
        format!("{most} of the {target}s")
    } else {
        format!("{most} {target}s")
    })
}

/// The cluster that was ready last in the displayed run.
fn last_ready<'r>(variant: &VariantResults<'r>) -> Option<&'r ClusterRow> {
    let mut last: Option<&ClusterRow> = None;
    for &cluster in &variant.clusters {
        let ready_s = cluster.ready_s.unwrap_or(f64::NEG_INFINITY);
        let latest_s = last.and_then(|last| last.ready_s);
        if ready_s > latest_s.unwrap_or(f64::NEG_INFINITY) {
            last = Some(cluster);
        }
    }
    last
}
