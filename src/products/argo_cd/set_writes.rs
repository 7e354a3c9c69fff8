//! How a pass writes the status of the ApplicationSet: on a cache that is behind, with conflicts.
//!
//! Each write reads the set from the cache and updates it. A cache that has not seen the last change yet gives an old
//! version, and the update is refused; it is tried again after 10 ms, up to 1 ms more, five times at most
//! (`DefaultRetry` of client-go's `util/retry`, in `applicationset/controllers/applicationset_controller.go`). So a
//! pass that writes rows, promotions and a condition has conflicts. A change of rows queues another pass once the
//! controller has seen it; conditions and the list of resources queue none. Checked with the requests of the recorded
//! controller.
//!
//! Left out: a pass that gives up after five conflicts; here its last try counts as done.

use crate::engine::{Reservations, Stream, Streams, dist};
use crate::products::{ControlLoop, Requests};
use crate::units::{SimDuration, SimTime};

/// Tries of one write, the wait between two, and the largest share that is added to a wait. Source: `DefaultRetry`.
const TRIES: usize = 5;
const RETRY: SimDuration = SimDuration::from_millis(10);
const JITTER: f64 = 0.1;

/// Kinds of objects, as [`Requests::about`] numbers them.
const APPLICATIONS: usize = 0;
const SET: usize = 1;

/// What a write of the status changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SetChange {
    /// Rows, which queues another pass.
    Rows,
    /// Conditions, or the list of resources.
    Other,
    /// Nothing: the API server keeps the version.
    Nothing,
}

/// The writes of one set's status.
pub(super) struct SetWrites {
    /// About how long a request takes.
    request: SimDuration,
    watch_delay: SimDuration,
    luck: Stream,
    /// When the last change of the set was written.
    changed: Option<SimTime>,
    /// About when the next request is sent.
    sent: SimTime,
    /// The client's limits, by kind of object.
    limits: Option<[Reservations; 2]>,
    /// Applications that are written at the same time, and answers that the last of them wait for.
    width: usize,
    answers: Vec<SimTime>,
    /// Changes of the pass in progress: the number of the request, and whether it changed rows.
    changes: Vec<(usize, bool)>,
    /// When the states of applications were last listed.
    listed: Option<SimTime>,
}

impl SetWrites {
    /// `width`: Applications that a pass writes at the same time.
    pub(super) fn new(timing: &ControlLoop, streams: &Streams, width: usize) -> Self {
        Self {
            request: SimDuration::from_secs_f64(timing.request.mean()),
            watch_delay: timing.watch_delay,
            luck: streams.stream("argocd-applicationset-controller", "conflicts"),
            changed: None,
            sent: SimTime::ZERO,
            limits: timing.client_limit().map(|limit| [limit.clone(), limit]),
            width,
            answers: Vec::new(),
            changes: Vec::new(),
            listed: None,
        }
    }

    /// A pass begins.
    pub(super) fn begin(&mut self, now: SimTime) {
        self.sent = now;
        self.answers.clear();
    }

    /// About when a request that is to be sent at `at` is answered.
    fn answer(&mut self, kind: usize, at: SimTime) -> SimTime {
        self.limits.as_mut().map_or(at, |limits| limits[kind].reserve(at)) + self.request
    }

    /// Requests about Applications.
    pub(super) fn others(&mut self, requests: &mut Requests, count: usize) {
        requests.about(APPLICATIONS);
        requests.at_once(count, self.width);
        for _ in 0..count {
            let waiting = self.answers.len();
            let free = if waiting < self.width { self.sent } else { self.answers[waiting - self.width] };
            let answer = self.answer(APPLICATIONS, free);
            self.answers.push(answer);
        }
    }

    /// All requests about Applications are answered.
    fn settle(&mut self) {
        self.sent = self.answers.drain(..).fold(self.sent, SimTime::max);
    }

    /// One write of the status, with its conflicts.
    pub(super) fn write(&mut self, requests: &mut Requests, change: SetChange) {
        self.settle();
        requests.about(SET);
        for _ in 1..TRIES {
            if self.changed.is_none_or(|changed| changed + self.watch_delay <= self.sent) {
                break;
            }
            let wait = RETRY.mul_f64(1.0 + JITTER * dist::unit(&mut self.luck));
            requests.in_turn(1);
            requests.pause(wait);
            self.sent = self.answer(SET, self.sent) + wait;
        }
        requests.in_turn(1);
        self.sent = self.answer(SET, self.sent);
        if change != SetChange::Nothing {
            self.changed = Some(self.sent);
            self.changes.push((requests.len(), change == SetChange::Rows));
        }
    }

    /// Whether the list of resources is another one than was written last: a state was shown since then, or states
    /// change because of what this pass has written.
    pub(super) fn is_listed_anew(&mut self, shown_at: Option<SimTime>, writes: bool) -> bool {
        let is_new = writes || shown_at.is_some_and(|shown| self.listed.is_none_or(|listed| shown > listed));
        self.listed = Some(self.sent);
        is_new
    }

    /// The pass has its answers. Returns when the controller sees its changes of rows.
    pub(super) fn answered(&mut self, answers: &[SimTime]) -> Vec<SimTime> {
        if let Some((last, _)) = self.changes.last() {
            self.changed = Some(answers[last - 1]);
        }
        let rows = self.changes.drain(..).filter(|(_, is_rows)| *is_rows);
        rows.map(|(number, _)| answers[number - 1] + self.watch_delay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(watch_delay_ms: u64) -> SetWrites {
        let timing = ControlLoop {
            request: SimDuration::from_millis(5).into(),
            watch_delay: SimDuration::from_millis(watch_delay_ms),
            ..ControlLoop::kubernetes()
        };
        SetWrites::new(&timing, &Streams::new(1, 0), 1)
    }

    #[test]
    fn a_second_write_has_a_conflict_and_one_after_others_has_none() {
        let mut set = writes(5);
        let mut requests = Requests::default();
        set.begin(SimTime::ZERO);
        set.write(&mut requests, SetChange::Rows);
        assert_eq!(requests.len(), 1, "the first finds a cache that is up to date");
        set.write(&mut requests, SetChange::Rows);
        assert_eq!(requests.len(), 3, "a conflict");
        set.others(&mut requests, 1);
        set.write(&mut requests, SetChange::Nothing);
        assert_eq!(requests.len(), 5, "the cache has caught up during another request");
        let answers: Vec<SimTime> = (1..=5).map(SimTime::from_secs).collect();
        let seen = set.answered(&answers);
        assert_eq!(seen, [1, 3].map(|second| SimTime::from_secs(second) + SimDuration::from_millis(5)));
    }

    #[test]
    fn a_cache_that_is_far_behind_costs_five_tries() {
        let mut set = writes(1000);
        let mut requests = Requests::default();
        set.begin(SimTime::ZERO);
        set.write(&mut requests, SetChange::Other);
        set.write(&mut requests, SetChange::Nothing);
        assert_eq!(requests.len(), 1 + TRIES);
    }
}
