//! Retries of a failed sync and the waits between them: `syncPolicy.retry` of an application.
//!
//! Follows `RetryStrategy.NextRetryAt` and `parseStringToDuration` of `pkg/apis/application/v1alpha1/types.go` in
//! argoproj/argo-cd: duration · factor^n, at most `maxDuration` if that is above zero. The defaults are in
//! `application_defaults.go` of the same folder. A requested sync gets the template's `retry` unchanged, so without
//! `limit` it is never repeated. Without `retry` it is repeated [`RETRY_LIMIT`] times.
//!
//! n is 1 for the first repeated attempt: `processRequestedAppOperation` (`controller/appcontroller.go`) counts the
//! failed attempt before it computes the wait, so the first wait is `duration` · `factor`. The comment on the formula
//! and the time in the product's message use the count before the increment, so they are short by one factor.

use serde::{Deserialize, Serialize};

use super::super::duration::parse_duration;
use super::super::label_selector::null_is_default;
use fleetsim_units::SimDuration;

/// Number of retries of a requested sync whose template has no `retry`. Source:
/// `applicationset/progressivesync/progressive_sync.go`.
pub const RETRY_LIMIT: i64 = 5;

/// Default of `duration`; the first wait is this value times the factor. Source:
/// `pkg/apis/application/v1alpha1/application_defaults.go`.
pub const RETRY_FIRST: SimDuration = SimDuration::from_secs(5);

/// Default of `factor`, the ratio of each wait to the previous one. Source:
/// `pkg/apis/application/v1alpha1/application_defaults.go`.
pub const RETRY_FACTOR: i64 = 2;

/// Default of `maxDuration`, the longest wait between two attempts. Source:
/// `pkg/apis/application/v1alpha1/application_defaults.go`.
pub const RETRY_MAX: SimDuration = SimDuration::from_mins(3);

/// `syncPolicy.retry` of an application.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Retry {
    /// Number of retries; negative: unlimited.
    #[serde(default, deserialize_with = "null_is_default")]
    pub limit: i64,
    /// The waits between attempts.
    pub backoff: Option<RetryBackoff>,
}

/// `syncPolicy.retry.backoff`. Durations are in Go's notation (`1m30s`), or are digits that mean seconds. An empty
/// text counts as absent.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryBackoff {
    /// The first wait divided by `factor`. Absent: [`RETRY_FIRST`].
    pub duration: Option<String>,
    /// Ratio of each wait to the previous one. Absent: [`RETRY_FACTOR`]; 0 means no wait.
    pub factor: Option<i64>,
    /// The longest wait; 0 or less: unlimited. Absent: [`RETRY_MAX`].
    pub max_duration: Option<String>,
}

/// A duration of a [`RetryBackoff`] that Argo CD cannot read: a failing sync then becomes Failed immediately.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a duration; Argo CD accepts the file, but then never retries a failed sync (`unable to parse \
     {text} as a duration`)"
)]
pub struct BackoffError {
    /// `duration` or `maxDuration`.
    pub field: &'static str,
    /// The text of the field.
    pub text: String,
}

/// A parsed [`RetryBackoff`]. Its durations are in nanoseconds, and may be negative as in Go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Waits {
    duration: i64,
    factor: i64,
    max_duration: i64,
}

impl RetryBackoff {
    /// Parses the waits.
    ///
    /// # Errors
    /// The first duration that cannot be parsed.
    pub fn waits(&self) -> Result<Waits, BackoffError> {
        let duration = nanos_of("duration", self.duration.as_deref())?;
        let max_duration = nanos_of("maxDuration", self.max_duration.as_deref())?;
        Ok(Waits {
            duration: duration.unwrap_or(Waits::DEFAULT.duration),
            factor: self.factor.unwrap_or(Waits::DEFAULT.factor),
            max_duration: max_duration.unwrap_or(Waits::DEFAULT.max_duration),
        })
    }
}

/// Parses the duration in a field, if there is one.
fn nanos_of(field: &'static str, written: Option<&str>) -> Result<Option<i64>, BackoffError> {
    let text = written.unwrap_or_default();
    if text.is_empty() {
        return Ok(None);
    }
    match parse_nanos(text) {
        Some(nanos) => Ok(Some(nanos)),
        None => Err(BackoffError {
            field,
            text: text.to_owned(),
        }),
    }
}

impl Waits {
    /// The waits of a template without `backoff`.
    pub const DEFAULT: Self = Self {
        duration: RETRY_FIRST.as_nanos() as i64,
        factor: RETRY_FACTOR,
        max_duration: RETRY_MAX.as_nanos() as i64,
    };

    /// Returns the wait before attempt `retry` (1 is the first retry) of a sync; 0 if the product's wait is negative.
    pub fn before(self, retry: u32) -> SimDuration {
        let power = i128::from(self.factor).saturating_pow(retry);
        let wait = i128::from(self.duration).saturating_mul(power);
        let wait = if self.max_duration > 0 {
            wait.min(self.max_duration.into())
        } else {
            wait
        };
        // A wait that does not fit into 64 bits is the longest possible; in Go the result depends on the processor.
        SimDuration::from_nanos(wait.clamp(0, i64::MAX.into()) as u64)
    }
}

fn parse_nanos(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<i64>() {
        return seconds.checked_mul(1_000_000_000);
    }
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with('+') => None,
        Some(rest) => Some(-(parse_duration(rest)?.as_nanos() as i64)),
        None => Some(parse_duration(text)?.as_nanos() as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(yaml: &str) -> RetryBackoff {
        serde_saphyr::from_str(yaml).expect(yaml)
    }

    #[test]
    fn waits_grow_by_the_factor_up_to_the_maximum() {
        let cases: &[(&str, [u64; 8])] = &[
            // backoff, seconds before retries 1 to 7 and 100
            ("{}", [10, 20, 40, 80, 160, 180, 180, 180]),
            (
                "{duration: '', maxDuration: '', factor: null}",
                [10, 20, 40, 80, 160, 180, 180, 180],
            ),
            // The cases of `TestRetryStrategy_NextRetryAtCustomBackoff` in `types_test.go`, without its first row.
            (
                "{duration: 2s, factor: 3, maxDuration: 1m}",
                [6, 18, 54, 60, 60, 60, 60, 60],
            ),
            ("{duration: 30s, factor: 1}", [30; 8]),
            ("{duration: '20'}", [40, 80, 160, 180, 180, 180, 180, 180]),
            ("{duration: 1m, maxDuration: '45'}", [45; 8]),
            ("{duration: 10m}", [180; 8]),
            ("{duration: 90s, factor: 0}", [0; 8]),
            (
                "{duration: 1m, maxDuration: '0'}",
                [120, 240, 480, 960, 1920, 3840, 7680, 9_223_372_036],
            ),
            (
                "{duration: 1m, factor: -2, maxDuration: -1s}",
                [0, 240, 0, 960, 0, 3840, 0, 9_223_372_036],
            ),
            ("{duration: 0s}", [0; 8]),
            ("{duration: -5s}", [0; 8]),
            (
                "{maxDuration: 1h0m0.5s, factor: 10}",
                [50, 500, 3600, 3600, 3600, 3600, 3600, 3600],
            ),
        ];
        for (yaml, seconds) in cases {
            let waits = backoff(yaml).waits().expect(yaml);
            let found = [1, 2, 3, 4, 5, 6, 7, 100]
                .map(|retry| waits.before(retry).as_nanos() / 1_000_000_000);
            assert_eq!(found, *seconds, "{yaml}");
        }
        assert_eq!(backoff("{}").waits(), Ok(Waits::DEFAULT));
        assert_eq!(
            backoff("{duration: 1.5s}")
                .waits()
                .map(|waits| waits.before(1)),
            Ok(SimDuration::from_millis(3000))
        );
    }

    #[test]
    fn a_duration_that_go_does_not_accept_is_reported() {
        for text in ["5 minutes", "1d", "1.5", "-+5s", "soon", " 5"] {
            let wrong = RetryBackoff {
                duration: Some(text.to_owned()),
                ..RetryBackoff::default()
            };
            assert_eq!(
                wrong.waits(),
                Err(BackoffError {
                    field: "duration",
                    text: text.to_owned()
                })
            );
            let wrong = RetryBackoff {
                max_duration: Some(text.to_owned()),
                ..RetryBackoff::default()
            };
            assert_eq!(
                wrong.waits().map_err(|error| error.field),
                Err("maxDuration")
            );
        }
    }
}
