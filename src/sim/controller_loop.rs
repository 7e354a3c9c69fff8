//! A product's control loop around its scheduler: what starts a pass, how long it takes, when its writes take effect.
//!
//! News from the clusters reach the controller's cache after the watch delay. A change starts a pass at once when the
//! controller is idle; changes that come during a pass are merged into one next pass. A pass decides on the cache as
//! it is when it begins; then it sends its API requests, and each write takes effect when it is answered. Beside
//! changes, the one timer that the product set in its last pass starts a pass: a delay that the pass asked of its work
//! queue counts from the end of the pass, while the beat of a plain loop and what people do come when they come. A
//! timer that goes off during a pass is a change. What a product does apart from passes (Argo CD's operations) happens
//! when it is due. With which values the loop runs is the product's data ([`ControlLoop`]).
//!
//! Left out: competition with other rollouts for the controller's workers, and caches that lag behind its own writes.

use std::collections::VecDeque;

use super::request_clock::RequestClock;
use crate::engine::{EventId, Streams};
use crate::products::{Change, Clusters, ControlLoop, Controller, Decision, Deploy, NOTHING, StatusLog};
use crate::results::{PassRow, StatusRow};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, DriverEvent, Event, Queue, Report};

/// The control loop of one run.
pub(super) struct ControllerLoop<'s> {
    pub(super) controller: Box<dyn Controller + 's>,
    watch_delay: SimDuration,
    clock: RequestClock,
    /// See [`Controller::own_loop`].
    own_loop: Option<SimDuration>,
    /// Which clusters answer, as a controller with a loop of its own knows it.
    online: Vec<bool>,
    /// Reports on their way to the cache, in the order of their arrival.
    on_the_way: VecDeque<Report>,
    /// What people will do, in the order of time.
    acts: VecDeque<Change>,
    /// A pass is in progress.
    busy: bool,
    /// The end of the pass was put off until after the other events of its instant.
    ends_last: bool,
    /// When the pass in progress began, and the event of its end.
    began: SimTime,
    ends: Option<EventId>,
    /// The pass in progress goes on with another decision.
    continues: bool,
    /// Something changed since the pass in progress began.
    dirty: bool,
    /// Its own writes start another pass.
    again: bool,
    /// The pass in progress reports completion.
    completes: bool,
    /// When the product first reported completion itself.
    pub(super) reported: Option<SimTime>,
    /// The earliest [`DriverEvent::Due`] in the queue.
    due: Option<SimTime>,
    /// Number of them in the queue.
    dues: usize,
    /// Deploys of the pass in progress that are still to be written, in their order.
    unwritten: VecDeque<Deploy>,
    /// The controller's process has failed.
    pub(super) has_failed: bool,
    /// The new revision is not released yet: the product hears what happens, and has nothing to decide.
    pub(super) held: bool,
    /// The one timer that the product asked for.
    timer: Option<EventId>,
    passes: Vec<PassRow>,
    /// What the product shows to people. `None`: nobody looks.
    statuses: Option<StatusLog>,
}

impl<'s> ControllerLoop<'s> {
    pub(super) fn new(controller: Box<dyn Controller + 's>, timing: &ControlLoop, streams: Streams) -> Self {
        Self {
            own_loop: controller.own_loop(),
            controller,
            watch_delay: timing.watch_delay,
            clock: RequestClock::new(timing, streams),
            online: Vec::new(),
            on_the_way: VecDeque::new(),
            acts: VecDeque::new(),
            busy: false,
            ends_last: false,
            began: SimTime::ZERO,
            ends: None,
            continues: false,
            dirty: false,
            again: false,
            completes: false,
            reported: None,
            due: None,
            dues: 0,
            unwritten: VecDeque::new(),
            has_failed: false,
            held: false,
            timer: None,
            passes: Vec::new(),
            statuses: None,
        }
    }

    /// From now on, what the product shows to people is recorded.
    pub(super) fn record_statuses(&mut self) {
        self.statuses = Some(StatusLog::default());
        self.show(SimTime::ZERO);
    }

    fn show(&mut self, now: SimTime) {
        if let Some(log) = &mut self.statuses {
            log.at(now);
            self.controller.show(log);
        }
    }

    /// What the product has shown by `end`. A pass in progress has not written its status.
    pub(super) fn take_statuses(&mut self, end: SimTime) -> Vec<StatusRow> {
        if !self.busy {
            self.show(end);
        }
        self.statuses.take().map_or_else(Vec::new, |mut log| log.take())
    }

    /// Reports have reached the management cluster.
    pub(super) fn reported(&mut self, reports: Vec<Report>, queue: &mut Queue) {
        for report in reports {
            self.on_the_way.push_back(report);
            let delay = self.own_loop.unwrap_or_else(|| self.controller.report_delay(self.watch_delay));
            if self.own_loop.is_some() {
                self.controller.hand_over(report, queue.now());
            }
            queue.schedule_in(delay, Event::Driver(DriverEvent::News));
        }
    }

    /// Hands the clusters that were cut off, or are back, to a controller with a loop of its own. All of `count`
    /// clusters answer at first.
    pub(super) fn links(&mut self, clusters: &dyn Clusters, count: usize, now: SimTime) {
        if self.own_loop.is_none() {
            return;
        }
        self.online.resize(count, true);
        for (index, known) in self.online.iter_mut().enumerate() {
            let cluster = ClusterId(index as u32);
            let is_online = clusters.is_online(cluster);
            if std::mem::replace(known, is_online) != is_online {
                self.controller.link(cluster, is_online, now);
            }
        }
    }

    /// A report reaches the cache. Returns the cluster it is about.
    pub(super) fn news(&mut self, queue: &mut Queue) -> ClusterId {
        let report = self.on_the_way.pop_front().expect("every report on its way has its event");
        if self.controller.learn(report, queue.now()) {
            self.changed(queue);
        }
        self.schedule_due(queue);
        report.cluster
    }

    /// Plans what people do from now on, the time of the release. A controller with a loop of its own is handed it at
    /// that time, and any other when its cache shows it.
    pub(super) fn plan_acts(&mut self, acts: &[(SimDuration, Change)], queue: &mut Queue) {
        let delay = if self.own_loop.is_some() { SimDuration::ZERO } else { self.watch_delay };
        for (after, act) in acts {
            queue.schedule_in(*after + delay, Event::Driver(DriverEvent::PersonActs));
            self.acts.push_back(act.clone());
        }
    }

    /// The next act of a person reaches the controller.
    pub(super) fn person_acts(&mut self, queue: &mut Queue) {
        let act = self.acts.pop_front().expect("every act has its event");
        self.change(&act, queue);
    }

    /// A change by a person reaches the controller. `None`: it does not know such changes.
    pub(super) fn change(&mut self, change: &Change, queue: &mut Queue) -> Option<bool> {
        let starts_pass = self.controller.change(change, queue.now());
        if starts_pass == Some(true) {
            self.changed(queue);
        }
        self.schedule_due(queue);
        starts_pass
    }

    /// After every event: a controller with a loop of its own advances up to the next event.
    pub(super) fn follow(&mut self, queue: &mut Queue) {
        if self.own_loop.is_none() || self.held {
            return;
        }
        let (now, next) = (queue.now(), queue.peek_time());
        if next == Some(now) {
            return;
        }
        self.controller.follow(now, next);
        self.has_failed = self.controller.failure().is_some();
        self.reported = self.reported.or(self.controller.completed_at());
        self.schedule_due(queue);
    }

    /// The world is over: a controller with a loop of its own goes on alone until it reports completion.
    pub(super) fn conclude(&mut self, now: SimTime) {
        if self.own_loop.is_some() && !self.has_failed {
            self.controller.conclude(now);
            self.reported = self.reported.or(self.controller.completed_at());
        }
    }

    /// The passes so far, in their order.
    pub(super) fn take_passes(&mut self) -> Vec<PassRow> {
        let mut passes = std::mem::take(&mut self.passes);
        passes.append(&mut self.controller.take_passes());
        passes
    }

    /// Number of pending events that the product's own timers have scheduled.
    pub(super) fn timers(&self) -> usize {
        usize::from(self.timer.is_some()) + self.dues
    }

    /// Whether nothing goes on here but timers, and whatever they start would come to nothing.
    pub(super) fn is_idle(&self, clusters: &dyn Clusters) -> bool {
        !self.busy && self.controller.is_idle(clusters)
    }

    /// Whether the product can still report completion when nothing happens in the world any more.
    pub(super) fn may_report(&self, clusters: &dyn Clusters) -> bool {
        let has_work = self.busy || self.dues > 0 || !self.on_the_way.is_empty() || !self.unwritten.is_empty();
        !self.has_failed && self.reported.is_none() && (has_work || !self.controller.is_idle(clusters))
    }

    /// Something that the controller watches has changed.
    pub(super) fn changed(&mut self, queue: &mut Queue) {
        if self.busy {
            self.dirty = true;
        } else if !self.held && self.own_loop.is_none() {
            self.begin_pass(queue);
        }
    }

    fn begin_pass(&mut self, queue: &mut Queue) {
        self.dirty = false;
        self.began = queue.now();
        let t_s = self.began.as_secs_f64();
        self.passes.push(PassRow { t_s, passes: 1, duration_s: 0.0, created: 0, promoted: 0, unavailable: 0 });
        if let Some(timer) = self.timer.take() {
            // Nothing is taken back when it is the timer that started this pass.
            queue.cancel(timer);
        }
        self.part_of_pass(queue);
    }

    /// A pass, or what it does after its requests so far.
    fn part_of_pass(&mut self, queue: &mut Queue) {
        let now = queue.now();
        let decision = self.controller.decide(now);
        self.has_failed = self.controller.failure().is_some();
        let answers = self.clock.answers(now, &decision.requests);
        let end = decision.ends_at.unwrap_or_else(|| answers.iter().copied().max().unwrap_or(now));
        self.controller.answered(&answers);
        self.count(&decision, end);
        if !decision.continues {
            let wake_at = [decision.wake_at, self.controller.requeue(end)].into_iter().flatten().min();
            self.timer = wake_at.map(|at| queue.schedule(at.max(now), Event::Driver(DriverEvent::Wake)));
        }
        let mut deploys: Vec<(SimTime, Deploy)> =
            decision.deploys.into_iter().map(|deploy| (answers[deploy.after_requests - 1], deploy)).collect();
        deploys.sort_by_key(|&(at, _)| at);
        for (at, deploy) in deploys {
            queue.schedule(at, Event::Driver(DriverEvent::Written));
            self.unwritten.push_back(deploy);
        }
        self.busy = true;
        self.again = decision.again;
        self.completes = decision.complete;
        self.continues = decision.continues;
        self.ends = Some(queue.schedule(end, Event::Driver(DriverEvent::PassEnds)));
        self.schedule_due(queue);
    }

    /// Adds a decision to the row of its pass. A pass that goes on after the last target was ready has none any more:
    /// its row is in the record of the run.
    fn count(&mut self, decision: &Decision, end: SimTime) {
        let Some(row) = self.passes.last_mut() else { return };
        row.duration_s = (end - self.began).as_secs_f64();
        row.created += decision.created as u64;
        row.promoted += (decision.deploys.len() + decision.requested) as u64;
        row.unavailable = row.unavailable.max(decision.unavailable);
    }

    /// The product does everything that is due. Returns the clusters of which it sees something new.
    pub(super) fn due(&mut self, clusters: &mut dyn Clusters, queue: &mut Queue) -> Vec<ClusterId> {
        let now = queue.now();
        self.dues -= 1;
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
        }
        let happened = self.controller.advance(now, clusters);
        for (cluster, revision) in happened.pushes {
            clusters.push(cluster, revision, queue);
        }
        for (cluster, revision) in happened.instructions {
            clusters.instruct(cluster, revision, queue);
        }
        for cluster in happened.removals {
            clusters.remove(cluster, queue);
        }
        if let Some(at) = happened.pass_ends_at.filter(|_| self.busy)
            && let Some(before) = self.ends.replace(queue.schedule(at, Event::Driver(DriverEvent::PassEnds)))
        {
            queue.cancel(before);
        }
        if happened.starts_pass {
            self.changed(queue);
        }
        self.schedule_due(queue);
        happened.changed
    }

    fn schedule_due(&mut self, queue: &mut Queue) {
        let Some(at) = self.controller.next_event() else { return };
        let at = at.max(queue.now());
        if self.due.is_none_or(|due| at < due) {
            self.due = Some(at);
            self.dues += 1;
            queue.schedule(at, Event::Driver(DriverEvent::Due));
        }
    }

    /// The next deploy of the pass is written: its cluster is told.
    pub(super) fn written(&mut self, clusters: &mut dyn Clusters, queue: &mut Queue) {
        let deploy = self.unwritten.pop_front().expect("every deploy has its event");
        if deploy.revision == NOTHING {
            clusters.remove(deploy.cluster, queue);
        } else {
            clusters.instruct(deploy.cluster, deploy.revision, queue);
        }
    }

    /// The pass is over; what changed meanwhile starts the next. Changes that the product itself made and that are due
    /// at the same instant come before the end, as in the recorded rollouts. A pass that goes on does so first: what it
    /// has asked for was sent earlier.
    pub(super) fn pass_ends(&mut self, queue: &mut Queue) {
        if std::mem::take(&mut self.continues) {
            self.part_of_pass(queue);
            return;
        }
        let is_due = self.controller.next_event().is_some_and(|at| at <= queue.now());
        if is_due && !std::mem::replace(&mut self.ends_last, true) {
            self.ends = Some(queue.schedule(queue.now(), Event::Driver(DriverEvent::PassEnds)));
            return;
        }
        self.ends_last = false;
        self.busy = false;
        self.show(queue.now());
        if self.completes {
            self.reported.get_or_insert(queue.now());
        }
        if std::mem::take(&mut self.again) {
            queue.schedule_in(self.watch_delay, Event::Driver(DriverEvent::Wake));
        }
        if self.dirty {
            self.begin_pass(queue);
        }
    }
}
