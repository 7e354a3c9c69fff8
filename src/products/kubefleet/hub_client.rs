//! The client of KubeFleet's hub agent: its limits of requests, its waits after refused writes, and a cache.
//!
//! controller-runtime makes a REST client, and so a limit, for each kind of object. A cache of a kind is filled when
//! its first object is asked for; whoever asks before it is full looks again every 100 ms. A request that is given up
//! while it waits for the limit is not sent. Its token goes back unless a later request has one already (`Wait` of
//! golang.org/x/time/rate). Left out: all other caches, which a manager fills before its controllers start.

use std::collections::VecDeque;

use crate::engine::{Reservations, Stream, Streams, dist};
use crate::products::ControlLoop;
use crate::units::{SimDuration, SimTime};
use crate::world::DurationModel;

/// Waits of the generator after a refused write of a finalizer or a status: the first one, the ratio of the next to it,
/// how many there are, and the largest share that is added. Source: `DefaultBackoff` of kubernetes/client-go's
/// `util/retry`. A status is sent again at once the first time.
const FIRST_RETRY: SimDuration = SimDuration::from_millis(10);
const RETRY_FACTOR: u64 = 5;
pub(super) const RETRIES: u32 = 3;
const JITTER: f64 = 0.1;

/// A reader looks again after this time while a cache is not full. Source: `syncedPollPeriod` of kubernetes/client-go's
/// `tools/cache/shared_informer.go`; `pkg/cache/internal/informers.go` of controller-runtime waits with it.
const CACHE_POLL: SimDuration = SimDuration::from_millis(100);

/// Requests of one instant are admitted one after the other, in their order, which tells them apart. Those that wait
/// for tokens are as far apart as their tokens. It matters where all requests take the same time, as in recorded
/// rollouts; drawn times tell requests apart.
pub(super) const INSTANT: SimDuration = SimDuration::from_nanos(1);

/// The hub agent's client.
pub(super) struct HubClient {
    request: DurationModel,
    draws: Stream,
    /// Its limits, for bindings and for Works.
    limits: Option<[Reservations; 2]>,
    /// From when on the cache of member clusters is full. `None`: nobody has asked for one.
    members_cached: Option<SimTime>,
    /// When the latest request was admitted, and the first of its instant.
    admitted: SimTime,
    instant: SimTime,
    /// Requests for bindings that wait for the limit, in the order of their tokens: when each is sent, and whether a
    /// pass has made it, which may give it up.
    waiting: VecDeque<(SimTime, bool)>,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct HubRequest {
    /// The limit lets it go then.
    pub(super) sent: SimTime,
    pub(super) answered: SimTime,
}

/// The kinds of objects that have a limit.
#[derive(Clone, Copy)]
pub(super) enum HubKind {
    Binding,
    Work,
}

impl HubClient {
    /// The client of a hub agent that has member clusters in its cache, or of one that has just started.
    pub(super) fn new(timing: &ControlLoop, streams: Streams, is_warm: bool) -> Self {
        Self {
            request: timing.request.clone(),
            draws: streams.stream("controller", "work generator"),
            limits: timing.client_limit().map(|limit| [limit.clone(), limit]),
            members_cached: is_warm.then_some(SimTime::ZERO),
            admitted: SimTime::ZERO,
            instant: SimTime::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// The cache of member clusters is full.
    pub(super) const fn has_members(&mut self) {
        self.members_cached = Some(SimTime::ZERO);
    }

    /// Draws the duration of a request that no limit holds back.
    pub(super) fn latency(&mut self) -> SimDuration {
        self.request.sample(&mut self.draws)
    }

    /// When a request of now is answered. Calls come in the order of time.
    pub(super) fn answer(&mut self, kind: HubKind, now: SimTime) -> SimTime {
        self.request(kind, false, now).answered
    }

    /// A pass makes a request for a binding, which it may give up.
    pub(super) fn request_of_pass(&mut self, now: SimTime) -> HubRequest {
        self.request(HubKind::Binding, true, now)
    }

    /// A pass gives up its requests that wait for the limit.
    pub(super) fn give_up(&mut self, now: SimTime) {
        let Some([bindings, _]) = &mut self.limits else { return };
        while self.waiting.pop_back_if(|(sent, is_of_pass)| *is_of_pass && *sent > now).is_some() {
            bindings.give_back();
        }
    }

    /// When a request of another client is admitted: after those of its instant. `at`, when it comes, may lie back.
    pub(super) fn admits(&self, at: SimTime) -> SimTime {
        if self.instant <= at { at.max(self.admitted) } else { at }
    }

    fn request(&mut self, kind: HubKind, is_of_pass: bool, now: SimTime) -> HubRequest {
        if now > self.admitted {
            self.instant = now;
        }
        self.admitted = match self.request {
            DurationModel::Constant(_) => now.max(self.admitted) + INSTANT,
            _ => now,
        };
        let sent = self.limits.as_mut().map_or(self.admitted, |limits| limits[kind as usize].reserve(self.admitted));
        if matches!(kind, HubKind::Binding) && sent > self.admitted {
            while self.waiting.pop_front_if(|(before, _)| *before <= now).is_some() {}
            self.waiting.push_back((sent, is_of_pass));
        }
        HubRequest { sent, answered: sent + self.request.sample(&mut self.draws) }
    }

    /// Reads a member cluster from the cache. Returns how long that takes if the cache is not full.
    pub(super) fn read_member(&mut self, now: SimTime) -> Option<SimDuration> {
        let (request, draws) = (&self.request, &mut self.draws);
        let full = *self.members_cached.get_or_insert_with(|| now + request.sample(draws));
        let missing = (now <= full && full > SimTime::ZERO).then(|| full - now)?;
        Some(CACHE_POLL * missing.as_nanos().div_ceil(CACHE_POLL.as_nanos()).max(1))
    }

    /// The wait before a status that was refused so often is sent again: the first time there is none.
    pub(super) fn retry_wait(&mut self, refused: u32) -> SimDuration {
        let Some(waits) = refused.checked_sub(1) else { return SimDuration::ZERO };
        let wait = FIRST_RETRY * RETRY_FACTOR.pow(waits);
        wait.mul_f64(1.0 + JITTER * dist::unit(&mut self.draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_gives_up_gets_the_tokens_back_that_nobody_has_reserved_behind() {
        let millis = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        let latency = SimDuration::from_millis(5);
        let timing =
            ControlLoop { request: latency.into(), client_qps: 100, client_burst: 1, ..ControlLoop::kubernetes() };
        let mut client = HubClient::new(&timing, Streams::new(1, 0), true);
        let mut sent = || client.request_of_pass(SimTime::ZERO).sent;
        assert_eq!([sent(), sent(), sent()].map(|at| at.as_nanos() / 1_000_000), [0, 10, 20]);
        // The generator's token at 30 ms keeps those before it from going back.
        assert_eq!(client.answer(HubKind::Binding, SimTime::ZERO).as_nanos() / 1_000_000, 35);
        assert_eq!(client.request_of_pass(SimTime::ZERO).sent.as_nanos() / 1_000_000, 40);
        assert_eq!(client.request_of_pass(SimTime::ZERO).sent.as_nanos() / 1_000_000, 50);
        client.give_up(millis(15));
        assert_eq!(client.answer(HubKind::Binding, millis(15)).as_nanos() / 1_000_000, 45, "the token at 40 ms");
    }
}
