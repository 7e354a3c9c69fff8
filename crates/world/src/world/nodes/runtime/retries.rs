//! A runtime's reaction to a failed request: retry or fail.
//!
//! Follows `retryRequest` and `doWithTransportRetries` of containerd's `core/remotes/docker/resolver.go`, and
//! `makeRequestToResolvedURL` of containers/image's `docker/docker_client.go`; `spec` names the versions. All attempts
//! of one request are counted together, whatever their errors.

use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::runtime::spec::{RetrySpec, RuntimeSpec};
use fleetsim_units::SimDuration;

/// The failed attempts of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tries {
    /// Number of failed attempts.
    failed: u32,
    /// Number of latest consecutive attempts that got a 503.
    unavailable: u32,
}

impl Tries {
    /// The state before the first attempt.
    pub(crate) const NONE: Self = Self {
        failed: 0,
        unavailable: 0,
    };
}

/// The next action after a failed attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Retry after this wait.
    Again(SimDuration),
    /// Fail the pull.
    GiveUp(PullError),
}

impl Tries {
    /// Handles a 429 or 408 response.
    pub(super) fn too_many(
        &mut self,
        runtime: &RuntimeSpec,
        retry_after: Option<SimDuration>,
    ) -> Next {
        self.unavailable = 0;
        self.next(runtime.retry_429, retry_after, PullError::TooManyRequests)
    }

    /// Handles a 500, 503 or 504 response.
    pub(super) fn unavailable(&mut self, runtime: &RuntimeSpec) -> Next {
        self.unavailable += 1;
        if self.unavailable > runtime.retry_5xx {
            return Next::GiveUp(PullError::Unavailable);
        }
        self.next(
            RetrySpec::every(runtime.retry_429.attempts, SimDuration::ZERO),
            None,
            PullError::Unavailable,
        )
    }

    /// Handles a missing response.
    pub(super) fn silence(&mut self, runtime: &RuntimeSpec) -> Next {
        self.unavailable = 0;
        self.next(runtime.retry_transport, None, PullError::Unreachable)
    }

    fn next(
        &mut self,
        retry: RetrySpec,
        retry_after: Option<SimDuration>,
        error: PullError,
    ) -> Next {
        self.failed += 1;
        if self.failed >= retry.attempts {
            return Next::GiveUp(error);
        }
        let doublings = (self.failed - 1).min(62);
        let wait = match retry_after {
            Some(asked) if retry.honours_retry_after => asked,
            _ => retry.delay * (1 << doublings),
        };
        Next::Again(wait.min(retry.delay_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn again(secs: u64) -> Next {
        Next::Again(SimDuration::from_secs(secs))
    }

    #[test]
    fn runtimes_differ_in_their_reaction_to_429() {
        let give_up = Next::GiveUp(PullError::TooManyRequests);
        let at_once = again(0);
        let six = [at_once, at_once, at_once, at_once, at_once, give_up];
        let cases: [(RuntimeSpec, Option<u64>, &[Next], &str); 6] = [
            (
                RuntimeSpec::CONTAINERD_2_4,
                None,
                &six[1..],
                "five requests in all",
            ),
            (
                RuntimeSpec::CONTAINERD_2_4,
                Some(30),
                &six[1..],
                "Retry-After is not looked at",
            ),
            (RuntimeSpec::CONTAINERD_1_7, None, &six, "six before v2.4"),
            (
                RuntimeSpec::CRI_O,
                None,
                &[again(2), again(4), again(8), again(16), give_up],
                "2 s, doubling",
            ),
            (
                RuntimeSpec::CRI_O,
                Some(30),
                &[again(30), again(30), again(30), again(30), give_up],
                "as long as asked",
            ),
            (
                RuntimeSpec::CRI_O,
                Some(90),
                &[again(60), again(60), again(60), again(60), give_up],
                "a minute at most",
            ),
        ];
        for (runtime, retry_after, expected, why) in cases {
            let mut tries = Tries::default();
            let next: Vec<Next> = expected
                .iter()
                .map(|_| tries.too_many(&runtime, retry_after.map(SimDuration::from_secs)))
                .collect();
            assert_eq!(next, expected, "{why}");
        }
    }

    #[test]
    fn a_503_is_retried_once_but_not_twice_in_a_row() {
        let runtime = RuntimeSpec::CONTAINERD_2_4;
        let mut tries = Tries::default();
        assert_eq!(tries.unavailable(&runtime), again(0));
        assert_eq!(
            tries.unavailable(&runtime),
            Next::GiveUp(PullError::Unavailable)
        );
        let mut mixed = Tries::default();
        assert_eq!(mixed.unavailable(&runtime), again(0));
        assert_eq!(mixed.too_many(&runtime, None), again(0));
        assert_eq!(
            mixed.unavailable(&runtime),
            again(0),
            "the one before was another code"
        );
        assert_eq!(
            Tries::default().unavailable(&RuntimeSpec::CONTAINERD_2_0),
            Next::GiveUp(PullError::Unavailable)
        );
    }

    #[test]
    fn without_a_response_containerd_2_4_tries_five_times_and_older_runtimes_once() {
        let mut tries = Tries::default();
        let wait = Next::Again(SimDuration::from_millis(50));
        let next: Vec<Next> = (0..5)
            .map(|_| tries.silence(&RuntimeSpec::CONTAINERD_2_4))
            .collect();
        assert_eq!(
            next,
            [wait, wait, wait, wait, Next::GiveUp(PullError::Unreachable)]
        );
        for older in [RuntimeSpec::CONTAINERD_2_1, RuntimeSpec::CRI_O] {
            assert_eq!(
                Tries::default().silence(&older),
                Next::GiveUp(PullError::Unreachable)
            );
        }
    }
}
