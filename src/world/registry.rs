//! The registry: one egress link, and a limit on requests that it answers with 429.
//!
//! Left out: connection limits, separate limits per endpoint, and the load of the requests themselves.

use super::gates::TokenBucket;
use super::spec::RegistrySpec;
use crate::units::{Bytes, SimTime};

/// The registry's state and totals.
#[derive(Debug)]
pub(super) struct Registry {
    bucket: Option<TokenBucket>,
    pub(super) requests: u64,
    pub(super) responses_429: u64,
    /// Bytes that left it in transfers that have ended.
    pub(super) sent: Bytes,
}

impl Registry {
    pub(super) fn new(spec: &RegistrySpec) -> Self {
        Self { bucket: spec.request_limit.map(TokenBucket::new), requests: 0, responses_429: 0, sent: Bytes::ZERO }
    }

    /// Whether the moment at which a request arrives can matter.
    pub(super) const fn is_limited(&self) -> bool {
        self.bucket.is_some()
    }

    /// A request arrives: is it served?
    pub(super) fn admit(&mut self, now: SimTime) -> bool {
        self.requests += 1;
        let served = self.bucket.as_mut().is_none_or(|bucket| bucket.try_take(now));
        self.responses_429 += u64::from(!served);
        served
    }
}
