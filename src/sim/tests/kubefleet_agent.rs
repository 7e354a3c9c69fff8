//! KubeFleet's member agents, as `controllers/README.md` describes them: the requests of the work applier and its
//! checks.

use super::field::{Agent, Sight};
use super::recording::News;
use crate::units::{SimDuration, SimTime};

/// Delays until the next check in seconds: the first and the second delay, and the maximum of the slow and of the fast
/// stage.
const FIXED: f64 = 5.0;
const SLOW: f64 = 2.0;
const MOST_SLOW: f64 = 15.0;
const MOST_FAST: f64 = 900.0;

/// The time at which the resources installed at time 0 were created, in seconds, and the time spent waiting for a
/// cache.
const GIVEN: f64 = -110.0;
const CACHE_WAIT: f64 = 0.1;

/// A scheduled action of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Look,
    Timer(u64),
    Remove,
    Apply { is_fresh: bool },
    Report { generation: u64, ready: bool },
}

#[derive(Clone, Debug, Default)]
pub(super) struct KubeFleetAgent {
    /// The revision in the Work, and its generation.
    work: Option<(u32, u64)>,
    has_finalizer: bool,
    handled: u64,
    deployed: u32,
    ready: bool,
    offline: bool,
    missed: bool,
    busy: bool,
    again: bool,
    /// The generation and readiness in the last written status.
    written: Option<(u64, bool)>,
    /// The generation that the limiter tracks, the number of its requeues so far, and the last delay in seconds.
    tracked: (u64, u32, f64),
    timer: Option<SimTime>,
    sequence: u64,
}

impl KubeFleetAgent {
    /// Creates an agent whose cluster runs this revision and is ready, with checks at growing intervals. Before time
    /// 0, its first report followed its Work by two requests, and the Work followed the bindings by six requests and
    /// two watch delays. Requests were not rate limited then, but the work generator's hundred workers made three
    /// requests for each binding.
    pub(super) fn new(
        nth: usize,
        revision: u32,
        offline: bool,
        (request, watch): (SimDuration, SimDuration),
    ) -> Self {
        if revision == 0 {
            return Self {
                offline,
                ..Self::default()
            };
        }
        let mut agent = Self {
            work: Some((revision, 1)),
            has_finalizer: true,
            handled: 1,
            deployed: revision,
            ready: true,
            offline,
            written: Some((1, true)),
            ..Self::default()
        };
        let (request, watch) = (request.as_secs_f64(), watch.as_secs_f64());
        let before = (nth / 100) as f64;
        let mut at =
            GIVEN + CACHE_WAIT + 2.0 * watch + (8.0 + 3.0 * before) * request + agent.delay();
        while at <= 0.0 {
            // A check takes three requests.
            at += agent.delay() + 3.0 * request;
        }
        agent.timer = Some(SimTime::ZERO + SimDuration::from_secs_f64(at));
        agent.sequence = 1;
        agent
    }

    /// Returns the delay of the work applier's requeue limiter (`pkg/controllers/workapplier/backoff.go`).
    fn delay(&mut self) -> f64 {
        let generation = self.work.map_or(0, |(_, generation)| generation);
        if self.tracked.0 != generation {
            self.tracked = (generation, 0, 0.0);
        }
        let is_available = self.written == Some((generation, true));
        let (_, requeues, last) = self.tracked;
        let slow = last * 1.2;
        let delay = match requeues {
            0 => FIXED,
            1 => SLOW,
            _ if last >= MOST_FAST => MOST_FAST,
            _ if is_available || last >= MOST_SLOW || slow > MOST_SLOW => last * 1.5,
            _ => slow,
        };
        let delay = delay.min(MOST_FAST);
        (self.tracked.1, self.tracked.2) = (requeues + 1, delay);
        delay
    }

    fn look(&mut self, sight: &mut Sight<'_, Step>) {
        if self.offline {
            self.missed = true;
            return;
        }
        if self.busy {
            self.again = true;
            return;
        }
        let Some((_, generation)) = self.work else {
            return;
        };
        self.busy = true;
        let is_fresh = generation != self.handled || !self.has_finalizer;
        let requests = 2 + if self.has_finalizer { 0 } else { 2 } + u64::from(is_fresh);
        self.has_finalizer = true;
        sight.after(sight.request * requests, Step::Apply { is_fresh });
    }

    fn apply(&mut self, is_fresh: bool, sight: &mut Sight<'_, Step>) {
        let Some((revision, generation)) = self.work else {
            return;
        };
        if is_fresh {
            self.handled = generation;
            if self.deployed != revision {
                (self.deployed, self.ready) = (revision, false);
                sight.deployed(revision);
            }
        }
        sight.after(
            sight.request,
            Step::Report {
                generation,
                ready: self.ready,
            },
        );
    }

    fn report(&mut self, seen: u64, ready: bool, sight: &mut Sight<'_, Step>) {
        let Some((revision, generation)) = self.work else {
            return;
        };
        if self.offline {
            self.missed = true;
        } else if generation != seen {
            self.again = true;
        } else {
            if self.written != Some((generation, ready)) {
                if self.written.is_none_or(|(_, before)| before != ready) {
                    self.tracked = (0, 0, 0.0);
                }
                self.written = Some((generation, ready));
                sight.report(revision, ready);
            }
            let at = sight.now + SimDuration::from_secs_f64(self.delay());
            // The queue keeps the earliest timer.
            if self.timer.is_none_or(|timer| at < timer) {
                self.timer = Some(at);
                self.sequence += 1;
                sight.after(at - sight.now, Step::Timer(self.sequence));
            }
        }
        self.busy = false;
        if std::mem::take(&mut self.again) {
            self.look(sight);
        }
    }
}

impl Agent for KubeFleetAgent {
    type Step = Step;

    fn start(&mut self, sight: &mut Sight<'_, Step>) {
        if let Some(timer) = self.timer {
            sight.after(timer - sight.now, Step::Timer(self.sequence));
        }
    }

    fn written(&mut self, revision: u32, _is_paused: bool, sight: &mut Sight<'_, Step>) {
        if revision == 0 {
            // When a Work is deleted, its resources are deleted immediately, together with the finalizer.
            *self = Self {
                offline: self.offline,
                sequence: self.sequence + 1,
                ..Self::default()
            };
            sight.after(sight.watch + sight.request, Step::Remove);
            return;
        }
        self.work = Some((
            revision,
            self.work.map_or(1, |(_, generation)| generation + 1),
        ));
        if self.offline {
            self.missed = true;
        } else {
            sight.after(sight.watch, Step::Look);
        }
    }

    fn step(&mut self, step: Step, sight: &mut Sight<'_, Step>) {
        match step {
            Step::Look => self.look(sight),
            Step::Timer(sequence) => {
                if sequence == self.sequence {
                    self.timer = None;
                    self.look(sight);
                }
            }
            Step::Remove => sight.deployed(0),
            Step::Apply { is_fresh } => self.apply(is_fresh, sight),
            Step::Report { generation, ready } => self.report(generation, ready, sight),
        }
    }

    fn news(&mut self, news: &News, sight: &mut Sight<'_, Step>) {
        if let Some(ready) = news.ready
            && news
                .applied
                .is_none_or(|revision| revision == self.deployed)
        {
            self.ready = ready;
        }
        if let Some(offline) = news.offline
            && offline != self.offline
        {
            self.offline = offline;
            if !offline && std::mem::take(&mut self.missed) {
                sight.after(sight.request, Step::Look);
            }
        }
    }
}
