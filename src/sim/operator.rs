//! What people do when a rollout goes wrong: they notice a sign, and act some time later.
//!
//! A sign is looked at after every event, so people notice it at once; the time until their act, which an experiment
//! states, contains how long they take to notice, to decide and to act. A rule acts at most once for each release, and
//! not if its act would change nothing. An act that was meant for a release that another has superseded meanwhile is
//! left out.
//!
//! In a forecast, people notice signs from the observation on: in the observed past, they had not acted.
//!
//! A rollback publishes the content before the wanted one, and a repair the rule's own. Both resume a rollout that an
//! earlier rule has paused.

use super::Sim;
use super::release_log::Publisher;
use crate::control_plane::Change;
use crate::engine::{EntityKey, Streams};
use crate::rollout::Revision;
use crate::scenario::{OperatorAct, OperatorRule, OperatorSign, Scenario};
use crate::units::SimTime;
use crate::world::{ApplicationId, DriverEvent, Event, Queue};

/// A rule that watches an application.
#[derive(Clone, Copy, Debug)]
struct Watch<'s> {
    rule: &'s OperatorRule,
    /// The index of the rule.
    number: usize,
    application: ApplicationId,
    /// Whether people have noticed the sign for the latest release.
    is_noticed: bool,
}

/// An act that people have decided on.
#[derive(Clone, Copy, Debug)]
struct PlannedAct {
    /// The index of the watch.
    watch: usize,
    /// The time at which people noticed the sign.
    noticed: SimTime,
    /// The number of releases of the application at that time. The act is left out if there is another since.
    release: usize,
    /// Whether the act is still to come.
    is_ahead: bool,
}

/// The people who watch the rollouts of a run.
#[derive(Clone, Debug)]
pub(super) struct Operator<'s> {
    watches: Vec<Watch<'s>>,
    streams: Streams,
    /// Whether an earlier act has paused each application.
    is_paused: Vec<bool>,
    /// All acts so far, in the order in which people decided on them.
    planned: Vec<PlannedAct>,
}

impl<'s> Operator<'s> {
    pub(super) fn new(scenario: &'s Scenario, streams: Streams) -> Self {
        let mut watches = Vec::new();
        for (number, rule) in scenario.operator.iter().enumerate() {
            for application in 0..scenario.applications.len() {
                if rule.watches(application) {
                    watches.push(Watch {
                        rule,
                        number,
                        application: ApplicationId(application as u16),
                        is_noticed: false,
                    });
                }
            }
        }
        Self {
            watches,
            streams,
            is_paused: vec![false; scenario.applications.len()],
            planned: Vec::new(),
        }
    }

    /// Returns whether an act is still to come.
    pub(super) fn is_about_to_act(&self) -> bool {
        self.planned.iter().any(|act| act.is_ahead)
    }

    /// Returns whether a rule may still act on an application.
    fn may_act_on(&self, application: ApplicationId) -> bool {
        let mut watches = self.watches.iter();
        watches.any(|watch| watch.application == application && !watch.is_noticed)
    }

    /// Forgets what was noticed about an application, whose release is superseded.
    fn watch_anew(&mut self, application: ApplicationId) {
        for watch in &mut self.watches {
            if watch.application == application {
                watch.is_noticed = false;
            }
        }
    }
}

impl Sim<'_> {
    /// Lets people look for stalled rollouts of an application after a release.
    pub(super) fn watch_release(&mut self, application: ApplicationId, queue: &mut Queue) {
        for (number, watch) in (0..).zip(&self.operator.watches) {
            if watch.application == application
                && let OperatorSign::Stalled(longest) = watch.rule.sign
            {
                queue.schedule_in(
                    longest,
                    Event::Driver(application, DriverEvent::OperatorLooks(number)),
                );
            }
        }
    }

    /// Lets people notice the signs that an event has shown.
    pub(super) fn people_look(&mut self, queue: &mut Queue) {
        if self.is_in_observed_past(queue.now()) {
            return;
        }
        for number in 0..self.operator.watches.len() {
            let watch = self.operator.watches[number];
            let application = watch.application;
            let rollout = &self.rollouts[application.index()];
            if watch.is_noticed || rollout.releases.latest().is_none() {
                continue;
            }
            let targets = rollout.progress.targets();
            let is_shown = match watch.rule.sign {
                OperatorSign::Failed(most) => {
                    most.is_below(self.world.meter().signs(application).failed, targets)
                }
                OperatorSign::Exposed(most) => {
                    most.is_below(self.world.meter().signs(application).exposed, targets)
                }
                OperatorSign::Stalled(_) => false,
            };
            if is_shown {
                self.notice(number, queue);
            }
        }
    }

    /// Returns whether a run still follows an observed rollout, in which people had not acted until the observation.
    fn is_in_observed_past(&self, now: SimTime) -> bool {
        let past = self.past.as_ref();
        past.is_some_and(|past| past.is_before_observation(now))
    }

    /// Returns a time, or that of the observation if it is later and the run follows an observed rollout.
    fn observed_from(&self, at: SimTime) -> SimTime {
        match &self.past {
            Some(past) => past.observed_from(at),
            None => at,
        }
    }

    /// Lets people look whether a rollout is stalled. They look again when it could be at the earliest.
    pub(super) fn look_whether_stalled(&mut self, number: u32, queue: &mut Queue) {
        let watch = self.operator.watches[number as usize];
        let rollout = &self.rollouts[watch.application.index()];
        let OperatorSign::Stalled(longest) = watch.rule.sign else {
            return;
        };
        if watch.is_noticed || rollout.progress.is_complete() {
            return;
        }
        let begun = rollout.releases.latest();
        let progressed = rollout.progress.last_done().max(begun).unwrap_or_default();
        let due = self.observed_from(progressed + longest);
        if queue.now() >= due {
            self.notice(number as usize, queue);
            return;
        }
        queue.schedule(
            due,
            Event::Driver(watch.application, DriverEvent::OperatorLooks(number)),
        );
    }

    /// Lets people notice the sign of a watch. They act some time later, if their act changes anything.
    fn notice(&mut self, number: usize, queue: &mut Queue) {
        let watch = self.operator.watches[number];
        let application = watch.application;
        let rollout = &self.rollouts[application.index()];
        self.operator.watches[number].is_noticed = true;
        if !self.changes_anything(watch) {
            return;
        }
        let name = &self.scenario.applications[application.index()].name;
        let key = EntityKey::of(name).part(watch.number as u64);
        let nth = self.operator.planned.len() as u64;
        let streams = &self.operator.streams;
        let takes = watch.rule.within.draw(streams, key, "operator", nth);
        self.operator.planned.push(PlannedAct {
            watch: number,
            noticed: queue.now(),
            release: rollout.releases.number(),
            is_ahead: true,
        });
        queue.schedule_in(
            takes + rollout.control.shown_after(),
            Event::Driver(application, DriverEvent::OperatorActs(nth as u32)),
        );
    }

    /// Returns whether the act of a watch would change anything now.
    fn changes_anything(&self, watch: Watch<'_>) -> bool {
        let application = watch.application.index();
        let releases = &self.rollouts[application].releases;
        match watch.rule.act {
            OperatorAct::Pause => !self.operator.is_paused[application],
            OperatorAct::Rollback => releases.before_wanted().is_some(),
            OperatorAct::FixForward => watch.rule.repairs[application] != Some(releases.wanted()),
        }
    }

    /// Lets people act as planned. The product sees the act now.
    pub(super) fn operator_acts(&mut self, number: u32, queue: &mut Queue) {
        let act = &mut self.operator.planned[number as usize];
        act.is_ahead = false;
        let act = *act;
        let watch = self.operator.watches[act.watch];
        let application = watch.application;
        let releases = &self.rollouts[application.index()].releases;
        if releases.number() != act.release || !self.changes_anything(watch) {
            return;
        }
        let by = Publisher::Operator(watch.number, act.noticed);
        let before = releases.before_wanted();
        match watch.rule.act {
            OperatorAct::Pause => {
                self.operator.is_paused[application.index()] = true;
                self.show_act(application, &Change::Stop(true), queue);
            }
            OperatorAct::Rollback => {
                if let Some(before) = before {
                    self.react(application, before, by, queue);
                }
            }
            OperatorAct::FixForward => {
                if let Some(repair) = watch.rule.repairs[application.index()] {
                    self.react(application, repair, by, queue);
                }
            }
        }
    }

    /// Publishes a release of the operator, and resumes a paused rollout.
    fn react(
        &mut self,
        application: ApplicationId,
        revision: Revision,
        by: Publisher,
        queue: &mut Queue,
    ) {
        self.publish(application, revision, by, queue);
        self.show_act(application, &Change::Release(revision), queue);
        if std::mem::take(&mut self.operator.is_paused[application.index()]) {
            self.show_act(application, &Change::Stop(false), queue);
        }
        self.watch_anew(application, queue);
    }

    /// Shows a product an act of people.
    fn show_act(&mut self, application: ApplicationId, change: &Change, queue: &mut Queue) {
        self.acts += 1;
        let rollout = &mut self.rollouts[application.index()];
        let timers_before = rollout.control.timers();
        let mut targets = rollout.targets_in(&mut self.world);
        let changed = rollout.control.act(change, &mut targets, queue);
        self.note_changed(application, timers_before, &changed, queue.now());
    }

    /// Returns whether people may still change what is wanted, although all targets are done.
    pub(super) fn awaits_people(&self, queue: &Queue) -> bool {
        if self.operator.is_about_to_act() {
            return true;
        }
        for (number, rollout) in (0..).zip(&self.rollouts) {
            let application = ApplicationId(number);
            let shows_defects = self.world.meter().signs(application).exposed > 0
                && (self.world.expects_failures() || !self.world.is_at_rest(queue, self.timers));
            if rollout.releases.is_one_ahead()
                || shows_defects && self.operator.may_act_on(application)
            {
                return true;
            }
        }
        false
    }

    /// Watches the next release of an application for new signs.
    pub(super) fn watch_anew(&mut self, application: ApplicationId, queue: &mut Queue) {
        self.operator.watch_anew(application);
        self.watch_release(application, queue);
    }
}
