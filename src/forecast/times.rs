//! The start of a rollout and the time of its export, from the options or from the export itself.

use super::product::ShownProduct;
use super::status::ShownRollout;
use super::{ForecastInputs, refusal};
use crate::calibrate::time::{Nanos, rfc3339, seconds_between};
use crate::document::problem::OrProblems;
use crate::units::{SimDuration, SimTime};

/// Tolerance between times of an export, which are whole seconds, and of different clocks, in seconds.
const CLOCK_TOLERANCE_S: f64 = 5.0;

/// Tolerance between the given start and the start in the export, in seconds.
const GIVEN_TOLERANCE_S: f64 = 60.0;

/// The times of a rollout's start and of its export.
#[derive(Clone, Copy, Debug)]
pub(super) struct RolloutTimes {
    pub(super) released: Nanos,
    pub(super) now: Nanos,
}

impl RolloutTimes {
    /// Returns the times in the inputs, or the times in the exports if the inputs have none.
    pub(super) fn of(
        inputs: &ForecastInputs,
        shown: &ShownRollout,
        first: &str,
    ) -> OrProblems<Self> {
        let clock = rfc3339(&inputs.clock).map(|stamp| stamp.at);
        // The exports of instances contain uptimes, which count back from the present.
        let newest = shown.newest.filter(|_| !shown.is_numbered);
        let now = given_time(inputs.now.as_deref(), "--now", first)?
            .or(newest)
            .or(clock)
            .unwrap_or_default();
        let given = given_time(inputs.released.as_deref(), "--released", first)?;
        let known = shown.start();
        if let (Some(given), Some(known)) = (given, known) {
            agree(given, known, shown, first)?;
        }
        let Some(released) = given.or(known) else {
            let message = "the export does not say when the rollout began";
            let help = shown.product.map_or(
                "add e.g. `--released 2026-03-01T15:04:05Z`",
                ShownProduct::start_help,
            );
            return Err(refusal(first, message, help));
        };
        before_its_targets(released, shown, first)?;
        if released > now {
            let message = format!(
                "the rollout began at {}, after {}, the time of the export",
                rfc(released),
                rfc(now)
            );
            let help = "set the time of the export with --now, or the start with --released";
            return Err(refusal(first, &message, help));
        }
        Ok(Self { released, now })
    }
}

/// Parses the time given with an option, if any.
fn given_time(text: Option<&str>, option: &str, first: &str) -> OrProblems<Option<Nanos>> {
    let Some(text) = text else {
        return Ok(None);
    };
    match rfc3339(text) {
        Some(stamp) => Ok(Some(stamp.at)),
        None => Err(refusal(
            first,
            &format!("{option}: `{text}` is not a time"),
            "write e.g. `2026-03-01T15:04:05Z`",
        )),
    }
}

/// Rejects a given start that differs from the start in the export. The export's start does not count if a target was
/// instructed before it, because the field then shows a later change.
fn agree(given: Nanos, known: Nanos, shown: &ShownRollout, first: &str) -> OrProblems<()> {
    let is_later_change = shown
        .first_instructed()
        .is_some_and(|instructed| seconds_between(instructed, known) > CLOCK_TOLERANCE_S);
    if is_later_change || seconds_between(given, known).abs() <= GIVEN_TOLERANCE_S {
        return Ok(());
    }
    let message = format!(
        "--released is {}, but the export shows that the rollout began at {}",
        rfc(given),
        rfc(known)
    );
    Err(refusal(first, &message, "leave --released out"))
}

/// Rejects a start after the first instruction of a target.
fn before_its_targets(released: Nanos, shown: &ShownRollout, first: &str) -> OrProblems<()> {
    let Some(instructed) = shown.first_instructed() else {
        return Ok(());
    };
    if seconds_between(instructed, released) <= CLOCK_TOLERANCE_S {
        return Ok(());
    }
    let message = format!(
        "a target was instructed at {}, before the start of the rollout at {}",
        rfc(instructed),
        rfc(released)
    );
    let help = format!("give the start, e.g. with `--released {}`", rfc(instructed));
    Err(refusal(first, &message, &help))
}

/// Returns the time from the release until another time, or 0 if that is before the release.
pub(super) fn since(released: Nanos, at: Nanos) -> SimTime {
    SimTime::ZERO + SimDuration::from_secs_f64(seconds_between(released, at).max(0.0))
}

/// Formats a time in RFC 3339, in whole seconds.
pub(super) fn rfc(at: Nanos) -> String {
    jiff::Timestamp::from_second(at.div_euclid(1_000_000_000))
        .unwrap_or_default()
        .to_string()
}
