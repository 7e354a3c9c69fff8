//! A controller's client for the API server: latencies, rate limits, cancelled requests, and conflicts.
//!
//! Follows kubernetes/client-go (`rest`, `util/retry`), golang.org/x/time/rate and controller-runtime, which creates a
//! client with its own limit for each kind of object. Each request draws its latency from one random stream, and waits
//! for a token if the client has a limit. Tokens are assigned in the order of the calls. A request that is cancelled
//! while it waits for its token is not sent; its token is returned unless a later request already has one.
//!
//! A limit that is never reached changes nothing: neither the draws nor their order depend on it.
//!
//! The time of an answer is known when a request is sent, so a pass can compute the times of all its requests, and
//! reserve their tokens, at its beginning.
//!
//! All rollouts of a hub share the limits of a client ([`ApiClient::of_hub`]). Each draws its own latencies, so that
//! another application changes none of them. If another application has requests between those of a pass
//! ([`ApiClient::is_contended`]), the pass sends each request at an event of its own. Tokens are then assigned in the
//! order in which the requests are sent.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::{ControlLoop, SharedHub};
use crate::engine::{Reservations, Stream, Streams, dist};
use crate::units::{SimDuration, SimTime};
use crate::world::{ApplicationId, DurationModel};

/// A controller's client for the API server, as one application uses it.
#[derive(Debug)]
pub struct ApiClient {
    /// The client's name.
    name: &'static str,
    application: ApplicationId,
    latency: DurationModel,
    draws: Stream,
    watch_delay: SimDuration,
    /// A full token bucket, copied for each kind of object. `None`: there is no limit.
    limit: Option<Reservations>,
    /// The requests per second and the burst of the limit.
    rate: RequestRate,
    limits: Rc<RefCell<ClientLimits>>,
    /// Whether the total duration of consecutive requests is drawn as a sum ([`Self::drawing_sums`]).
    draws_sums: bool,
}

/// The limit of a client for each kind of object, as its settings say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct RequestRate {
    per_second: u32,
    burst: u32,
}

/// The limits of a client that are in use, by the index of the kind of object.
#[derive(Debug, Default)]
struct ClientLimits {
    kinds: Vec<KindLimit>,
    /// The applications that use the client.
    applications: Vec<ApplicationId>,
}

impl ClientLimits {
    /// Adds an application that uses the client.
    fn add(&mut self, application: ApplicationId) {
        if !self.applications.contains(&application) {
            self.applications.push(application);
        }
    }
}

/// The limit for one kind of object.
#[derive(Debug)]
struct KindLimit {
    bucket: Reservations,
    /// Requests that wait for their tokens, ordered by sending time.
    waiting: VecDeque<WaitingRequest>,
}

/// A request that waits for its token.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    /// The application whose controller sends it.
    application: ApplicationId,
    sent: SimTime,
    can_be_given_up: bool,
}

impl WaitingRequest {
    /// Returns whether an application gives up this request at `now`.
    fn is_given_up(&self, application: ApplicationId, now: SimTime) -> bool {
        self.can_be_given_up && self.application == application && self.sent > now
    }
}

/// A request to the API server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ApiRequest {
    /// The time at which the rate limit allows the request to be sent.
    pub sent: SimTime,
    /// The time at which the answer arrives.
    pub answered: SimTime,
}

/// The result of one try of an update.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UpdateTry {
    /// The API server accepts the update at this time.
    Accepted(SimTime),
    /// The try meets a conflict. The object is read again at this time, for the next try.
    Again(SimTime),
    /// The last try meets a conflict at this time.
    Refused(SimTime),
}

/// The retries of a write that meets a conflict (`util/retry` of client-go).
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// The wait before the second try.
    pub first: SimDuration,
    /// Ratio of each wait to the previous one.
    pub factor: u64,
    /// Maximum random addition to a wait, as a share of the wait.
    pub jitter: f64,
    /// Maximum number of tries.
    pub tries: u32,
}

impl RetryPolicy {
    /// `DefaultRetry`: for conflicts of clients that make small changes.
    pub const DEFAULT: Self = Self {
        first: SimDuration::from_millis(10),
        factor: 1,
        jitter: 0.1,
        tries: 5,
    };

    /// `DefaultBackoff`: for conflicts of clients that make large changes.
    pub const BACKOFF: Self = Self {
        first: SimDuration::from_millis(10),
        factor: 5,
        jitter: 0.1,
        tries: 4,
    };
}

/// Returns the sum of the first `nth` parts, if `total` is divided into `count` equal parts.
fn part(total: SimDuration, nth: usize, count: usize) -> SimDuration {
    let nanos = u128::from(total.as_nanos()) * nth as u128 / count as u128;
    SimDuration::from_nanos(nanos as u64)
}

/// An update of an object that is read from a cache.
#[derive(Clone, Copy, Debug)]
pub struct CachedUpdate {
    /// The kind of the object.
    pub kind: usize,
    /// The last write of the object, if there was one. An update is rejected if the cache does not show it yet.
    pub written: Option<SimTime>,
    /// The retries after such a conflict.
    pub retry: RetryPolicy,
}

impl ApiClient {
    /// Creates the client of a controller. `name` identifies it in the random streams.
    pub fn new(settings: &ControlLoop, streams: &Streams, name: &'static str) -> Self {
        let rate = RequestRate {
            per_second: settings.client_qps,
            burst: settings.client_burst,
        };
        Self {
            name,
            application: ApplicationId::default(),
            latency: settings.request.clone(),
            draws: streams.stream("controller", name),
            watch_delay: settings.watch_delay,
            limit: (rate.per_second > 0)
                .then(|| Reservations::new(f64::from(rate.per_second), rate.burst)),
            rate,
            limits: Rc::default(),
            draws_sums: false,
        }
    }

    /// Shares the limits of the client with the other applications of a hub.
    pub fn of_hub(self, hub: &SharedHub) -> Self {
        let name = self.name;
        self.of_process(hub, name)
    }

    /// Shares the limits with the other applications of a hub, for the client of a process that has several instances.
    pub fn of_process(self, hub: &SharedHub, process: &str) -> Self {
        let limits = hub.part(process, self.rate, ClientLimits::default());
        let application = hub.application();
        limits.borrow_mut().add(application);
        Self {
            application,
            limits,
            ..self
        }
    }

    /// Returns whether requests of another application may wait for the same limit.
    pub fn is_contended(&self) -> bool {
        self.limit.is_some() && self.limits.borrow().applications.len() > 1
    }

    /// Draws the total duration of consecutive requests as a sum, for controllers that make a request for every target
    /// in every pass. The draws do not depend on the limit, so a limit that is never reached changes nothing.
    pub fn drawing_sums(self) -> Self {
        Self {
            draws_sums: true,
            ..self
        }
    }

    /// Creates a client without a limit, for a controller whose requests are limited elsewhere.
    pub fn without_limit(settings: &ControlLoop, streams: &Streams, name: &'static str) -> Self {
        Self {
            limit: None,
            ..Self::new(settings, streams, name)
        }
    }

    /// Draws the duration of a request, without any limit.
    pub fn latency(&mut self) -> SimDuration {
        self.latency.sample(&mut self.draws)
    }

    /// Sends a request for a kind of object.
    pub fn send(&mut self, kind: usize, at: SimTime) -> ApiRequest {
        self.request(kind, at, false)
    }

    /// Sends a request that the caller may cancel with [`Self::give_up`].
    pub fn send_for_now(&mut self, kind: usize, at: SimTime) -> ApiRequest {
        self.request(kind, at, true)
    }

    fn request(&mut self, kind: usize, at: SimTime, can_be_given_up: bool) -> ApiRequest {
        let sent = self.admit(kind, at, can_be_given_up);
        ApiRequest {
            sent,
            answered: sent + self.latency(),
        }
    }

    /// Returns the time at which the rate limit allows a request to be sent.
    fn admit(&mut self, kind: usize, at: SimTime, can_be_given_up: bool) -> SimTime {
        let Some(full) = &self.limit else {
            return at;
        };
        let kinds = &mut self.limits.borrow_mut().kinds;
        while kinds.len() <= kind {
            kinds.push(KindLimit {
                bucket: full.clone(),
                waiting: VecDeque::new(),
            });
        }
        let KindLimit { bucket, waiting } = &mut kinds[kind];
        let sent = bucket.reserve(at);
        while waiting.pop_front_if(|before| before.sent <= at).is_some() {}
        if sent > at {
            waiting.push_back(WaitingRequest {
                application: self.application,
                sent,
                can_be_given_up,
            });
        }
        sent
    }

    /// Cancels requests from [`Self::send_for_now`] for a kind of object that still wait for their tokens.
    pub fn give_up(&mut self, kind: usize, now: SimTime) {
        let application = self.application;
        let kinds = &mut self.limits.borrow_mut().kinds;
        let Some(KindLimit { bucket, waiting }) = kinds.get_mut(kind) else {
            return;
        };
        while waiting
            .pop_back_if(|request| request.is_given_up(application, now))
            .is_some()
        {
            bucket.give_back();
        }
    }

    /// Sends requests one after the other. Returns the time of the last answer.
    pub fn in_turn(&mut self, kind: usize, begin: SimTime, count: usize) -> SimTime {
        if !self.draws_sums {
            return (0..count).fold(begin, |at, _| self.send(kind, at).answered);
        }
        let total = self.latency.sample_sum(count, &mut self.draws);
        let mut waits = SimDuration::ZERO;
        if self.limit.is_some() {
            // If there is a limit, each request takes an equal share of the total duration.
            for nth in 0..count {
                let at = begin + waits + part(total, nth, count);
                waits += self.admit(kind, at, false) - at;
            }
        }
        begin + waits + total
    }

    /// Updates an object that is first read at `begin`. After a conflict the object is read again after a wait. Returns
    /// the time of the update.
    ///
    /// # Errors
    /// Returns the time of the last conflict if all tries fail.
    pub fn update(&mut self, update: CachedUpdate, begin: SimTime) -> Result<SimTime, SimTime> {
        let mut read = begin;
        let mut tries = 0;
        loop {
            match self.try_update(update, read, tries) {
                UpdateTry::Accepted(answered) => return Ok(answered),
                UpdateTry::Refused(answered) => return Err(answered),
                UpdateTry::Again(at) => read = at,
            }
            tries += 1;
        }
    }

    /// Sends one try of an update like [`Self::update`], of an object that is read at `read`. `tries`: the number of
    /// tries before it.
    pub fn try_update(&mut self, update: CachedUpdate, read: SimTime, tries: u32) -> UpdateTry {
        let CachedUpdate {
            kind,
            written,
            retry,
        } = update;
        let answered = self.send(kind, read).answered;
        if !written.is_some_and(|written| self.is_conflict(read, answered, written)) {
            UpdateTry::Accepted(answered)
        } else if tries + 1 >= retry.tries {
            UpdateTry::Refused(answered)
        } else {
            UpdateTry::Again(answered + self.wait(retry, tries))
        }
    }

    /// Draws the next back-off after a conflict. `waits`: the number of back-offs before it.
    pub fn wait(&mut self, retry: RetryPolicy, waits: u32) -> SimDuration {
        (retry.first * retry.factor.pow(waits))
            .mul_f64(1.0 + retry.jitter * dist::unit(&mut self.draws))
    }

    /// Returns whether an update, answered at `answered` and based on a read of the cache at `read`, conflicts with a
    /// write at `written`.
    pub fn is_conflict(&self, read: SimTime, answered: SimTime, written: SimTime) -> bool {
        written <= answered && read < written + self.watch_delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    fn client(qps: u32, burst: u32) -> ApiClient {
        let settings = ControlLoop {
            request: SimDuration::from_millis(5).into(),
            ..ControlLoop::limited(qps, burst)
        };
        ApiClient::new(&settings, &Streams::new(1, 0), "test")
    }

    #[test]
    fn requests_in_turn_add_up_and_concurrent_requests_do_not() {
        let mut client = client(0, 0);
        assert_eq!(client.in_turn(0, millis(100), 2), millis(110));
        assert_eq!(
            [0; 3].map(|_| client.send(0, millis(110)).answered),
            [115, 115, 115].map(millis)
        );
    }

    #[test]
    fn the_limit_of_an_object_kind_spreads_requests_beyond_the_burst() {
        let mut client = client(50, 2);
        // After the burst of 2, tokens become available every 20 ms: at 20 and 40 ms, and the next at 60 ms.
        assert_eq!(
            [0; 4].map(|_| client.send(0, SimTime::ZERO).answered),
            [5, 5, 25, 45].map(millis)
        );
        assert_eq!(
            client.in_turn(1, SimTime::ZERO, 2),
            millis(10),
            "the other kind has tokens of its own"
        );
        assert_eq!(
            client.send(0, millis(45)),
            ApiRequest {
                sent: millis(60),
                answered: millis(65)
            }
        );
    }

    #[test]
    fn a_limit_that_never_binds_changes_no_sum_of_requests_and_one_that_binds_adds_its_waits() {
        let client = |qps: u32, burst: u32| {
            let settings = ControlLoop::limited(qps, burst);
            ApiClient::new(&settings, &Streams::new(1, 0), "test").drawing_sums()
        };
        let sums = |mut client: ApiClient| {
            [0, 1, 3, 40, 1_000].map(|count| client.in_turn(0, millis(100), count))
        };
        assert_eq!(sums(client(0, 0)), sums(client(1_000_000_000, 1_000_000)));
        // 1,000 requests of about 7.6 ms each would take 7.6 s. At 10 per second, the last one is sent after 99.9 s.
        let bound = client(10, 1).in_turn(0, SimTime::ZERO, 1_000).as_secs_f64();
        assert!((99.9..99.92).contains(&bound), "{bound}");
    }

    #[test]
    fn an_abandoned_request_returns_its_token_unless_a_later_request_has_one() {
        let mut client = client(100, 1);
        let sent = [0; 3].map(|_| client.send_for_now(0, SimTime::ZERO).sent);
        assert_eq!(sent, [0, 10, 20].map(millis));
        // Another caller holds the token at 30 ms, so the earlier tokens are not returned.
        assert_eq!(client.send(0, SimTime::ZERO).sent, millis(30));
        assert_eq!(
            [0; 2].map(|_| client.send_for_now(0, SimTime::ZERO).sent),
            [40, 50].map(millis)
        );
        client.give_up(0, millis(15));
        assert_eq!(client.send(0, millis(15)).sent, millis(40));
    }

    #[test]
    fn two_applications_share_the_limit_of_a_client() {
        let hub = SharedHub::of_run();
        let first = client(4, 1).of_hub(&hub);
        let second = client(4, 1).of_hub(&hub.seen_by(ApplicationId(1)));
        let mut clients = [first, second];
        let mut last = SimTime::ZERO;
        for nth in 0..10 {
            last = clients[nth % 2].send(0, SimTime::ZERO).sent;
        }
        // 10 requests at 4 per second: one immediately and 9 of 250 ms each.
        assert_eq!(last, millis(2250));
        // A client gives up its own requests only, and those of the other keep their tokens.
        let own = clients[0].send_for_now(0, SimTime::ZERO).sent;
        let other = clients[1].send_for_now(0, SimTime::ZERO).sent;
        assert_eq!([own, other], [2500, 2750].map(millis));
        clients[0].give_up(0, SimTime::ZERO);
        assert_eq!(clients[0].send(0, SimTime::ZERO).sent, millis(3000));
        let mut of_nobody_else = client(4, 1);
        assert_eq!(of_nobody_else.send(0, SimTime::ZERO).sent, SimTime::ZERO);
    }

    /// Updates an object at 100 ms that was written at `written`. The cache is this far behind.
    fn updated(watch_delay: SimDuration, written: Option<SimTime>) -> Result<SimTime, SimTime> {
        let mut client = client(0, 0);
        client.watch_delay = watch_delay;
        let update = CachedUpdate {
            kind: 0,
            written,
            retry: RetryPolicy {
                jitter: 0.0,
                ..RetryPolicy::DEFAULT
            },
        };
        client.update(update, millis(100))
    }

    #[test]
    fn an_update_is_retried_until_the_cache_is_current_or_no_attempts_are_left() {
        let behind = SimDuration::from_millis(20);
        assert_eq!(updated(behind, None), Ok(millis(105)));
        assert_eq!(
            updated(behind, Some(millis(80))),
            Ok(millis(105)),
            "the cache shows it"
        );
        assert_eq!(
            updated(behind, Some(millis(106))),
            Ok(millis(105)),
            "it is written later"
        );
        // A try takes 5 ms and a wait 10 ms, so the object is read at 100, 115, 130, 145 and 160 ms.
        assert_eq!(
            updated(behind, Some(millis(96))),
            Ok(millis(135)),
            "at 116 ms the cache shows it"
        );
        assert_eq!(
            updated(behind, Some(millis(104))),
            Ok(millis(135)),
            "somebody writes it while the update is on its way"
        );
        let written = Some(millis(100));
        assert_eq!(
            updated(SimDuration::from_millis(60), written),
            Ok(millis(165))
        );
        assert_eq!(
            updated(SimDuration::from_millis(61), written),
            Err(millis(165))
        );
    }

    #[test]
    fn latencies_have_the_mean_of_their_distribution() {
        const REQUESTS: usize = 100_000;
        let mut client =
            ApiClient::new(&ControlLoop::kubernetes(), &Streams::new(1, 0), "test").drawing_sums();
        let mean = client.in_turn(0, SimTime::ZERO, REQUESTS).as_secs_f64() / REQUESTS as f64;
        // 7 ms · exp(0.4² / 2) = 7.583 ms; the standard error is 3.2 ms / sqrt(100,000) = 0.01 ms.
        assert!((mean - 0.007_583).abs() < 0.000_05, "{mean}");
    }
}
