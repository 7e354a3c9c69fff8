//! The parts of a product's control plane that all of its rollouts in a run share.
//!
//! A management cluster has one controller of each kind, whatever it rolls out. Its work queue holds the keys of all
//! rollouts in one line, and N workers serve it in order of arrival (kubernetes/client-go, `util/workqueue`). Its API
//! client has one limit for all its requests (`rest`, golang.org/x/time/rate), and its rate limiter has one token
//! bucket for all keys that return.
//!
//! Each application of a run has a controller of its own here, which keeps its keys, its timers and its random draws.
//! The [`SharedHub`] has what those controllers share: the free workers with the line of the applications that wait
//! for them, token buckets, and whatever a product adds with [`SharedHub::part`]. Parts with the same name and the same
//! settings are one part. Parts with other settings belong to another installation of the product. A part that works
//! for an application on the timer of another is a [`PendingWork`], so that the run does not end in the meantime.
//!
//! An application takes a worker only if it is the first in the line. If a worker is free for another application,
//! that one is woken by an event at the same instant ([`Plane::wake`](super::Plane::wake)). So a run with one
//! application never has such an event.
//!
//! Left out: except for Argo CD's sets, requests that a pass sends one after the other get their tokens when the pass
//! begins, so another application gets the tokens after them, and not those in between. The total time is the same.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::rc::Rc;

use crate::world::ApplicationId;

/// The shared control plane of a run, as one of its applications sees it. Clones share everything.
#[derive(Clone, Debug)]
pub struct SharedHub {
    application: ApplicationId,
    parts: Rc<RefCell<HubParts>>,
}

/// A shared part whose result for an application may come with an event of another one.
pub trait PendingWork: Debug {
    /// Returns whether an application waits for this part.
    fn has_work_of(&self, application: ApplicationId) -> bool;
}

impl<T: PendingWork> PendingWork for RefCell<T> {
    fn has_work_of(&self, application: ApplicationId) -> bool {
        self.borrow().has_work_of(application)
    }
}

/// The parts of a hub, in the order in which they were first asked for.
#[derive(Debug, Default)]
struct HubParts {
    /// The parts that applications may wait for.
    working: Vec<Rc<dyn PendingWork>>,
    parts: Vec<HubPart>,
}

/// A shared part of a hub.
#[derive(Debug)]
struct HubPart {
    name: String,
    settings: Rc<dyn Any>,
    part: Rc<dyn Any>,
}

impl SharedHub {
    /// Creates the hub of a run, as its first application sees it.
    pub fn of_run() -> Self {
        Self {
            application: ApplicationId::default(),
            parts: Rc::default(),
        }
    }

    /// Returns the same hub as another application sees it.
    #[must_use]
    pub fn seen_by(&self, application: ApplicationId) -> Self {
        Self {
            application,
            parts: Rc::clone(&self.parts),
        }
    }

    /// Returns the application that this view belongs to.
    pub const fn application(&self) -> ApplicationId {
        self.application
    }

    /// Returns the part with this name and these settings. The first application that asks for it adds `initial`.
    pub fn part<S: PartialEq + 'static, T: 'static>(
        &self,
        name: &str,
        settings: S,
        initial: T,
    ) -> Rc<RefCell<T>> {
        let mut hub = self.parts.borrow_mut();
        for known in &hub.parts {
            if known.name == name
                && known.settings.downcast_ref::<S>() == Some(&settings)
                && let Ok(part) = Rc::clone(&known.part).downcast::<RefCell<T>>()
            {
                return part;
            }
        }
        let part = Rc::new(RefCell::new(initial));
        hub.parts.push(HubPart {
            name: name.to_owned(),
            settings: Rc::new(settings),
            part: Rc::<RefCell<T>>::clone(&part),
        });
        part
    }

    /// Returns a part like [`Self::part`] that applications may wait for.
    pub fn working_part<S: PartialEq + 'static, T: PendingWork + 'static>(
        &self,
        name: &str,
        settings: S,
        initial: T,
    ) -> Rc<RefCell<T>> {
        let part = self.part(name, settings, initial);
        let working = &mut self.parts.borrow_mut().working;
        let is_known = working
            .iter()
            .any(|known| std::ptr::addr_eq(Rc::as_ptr(known), Rc::as_ptr(&part)));
        if !is_known {
            working.push(Rc::<RefCell<T>>::clone(&part));
        }
        part
    }

    /// Returns the workers of the controller with this name, of which there are `count`.
    pub fn workers(&self, name: &str, count: usize) -> SharedWorkers {
        SharedWorkers {
            application: self.application,
            line: self.working_part(name, count, WorkerLine::new(count)),
        }
    }

    /// Gives the controller with this name fewer workers than the `count` that the product asks for.
    #[cfg(test)]
    pub(crate) fn limit_workers(&self, name: &str, count: usize, fewer: usize) {
        self.part(name, count, WorkerLine::new(fewer));
    }

    /// Returns whether the application waits for any shared part.
    pub fn is_waiting(&self) -> bool {
        let hub = self.parts.borrow();
        hub.working
            .iter()
            .any(|part| part.has_work_of(self.application))
    }
}

/// The workers of a controller, and the line of those that wait for one.
#[derive(Debug)]
struct WorkerLine {
    free: usize,
    /// The applications of the waiting keys, in order of arrival.
    waiting: VecDeque<ApplicationId>,
    /// Whether the first application in the line was woken to take a free worker.
    is_woken: bool,
}

impl PendingWork for WorkerLine {
    fn has_work_of(&self, application: ApplicationId) -> bool {
        self.waiting.contains(&application)
    }
}

impl WorkerLine {
    const fn new(count: usize) -> Self {
        Self {
            free: count,
            waiting: VecDeque::new(),
            is_woken: false,
        }
    }
}

/// Who gets a worker now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkerTurn {
    /// The application that asks. It has the worker now.
    Own,
    /// Another application, which must be woken.
    Other(ApplicationId),
    /// Nobody: no worker is free, nobody waits, or the first in the line is already woken.
    Nobody,
}

/// The workers of a controller, as one application sees them. The n-th place of the application in the line belongs to
/// the n-th of its waiting keys.
#[derive(Debug)]
pub struct SharedWorkers {
    application: ApplicationId,
    line: Rc<RefCell<WorkerLine>>,
}

impl SharedWorkers {
    /// Creates workers that no other application has.
    pub fn own(count: usize) -> Self {
        Self {
            application: ApplicationId::default(),
            line: Rc::new(RefCell::new(WorkerLine::new(count))),
        }
    }

    /// Adds a key of the application to the end of the line.
    pub fn join(&self) {
        self.line.borrow_mut().waiting.push_back(self.application);
    }

    /// Removes the application's waiting key with this index from the line.
    pub fn leave(&self, nth: usize) {
        let mut line = self.line.borrow_mut();
        let mut passed = 0;
        for place in 0..line.waiting.len() {
            if line.waiting[place] != self.application {
                continue;
            }
            if passed == nth {
                line.waiting.remove(place);
                if place == 0 {
                    line.is_woken = false;
                }
                return;
            }
            passed += 1;
        }
    }

    /// Takes a free worker for the application's first waiting key, if it is the first in the line.
    pub fn take(&self) -> WorkerTurn {
        let mut line = self.line.borrow_mut();
        let Some(first) = line.waiting.front().copied() else {
            return WorkerTurn::Nobody;
        };
        if line.free == 0 {
            return WorkerTurn::Nobody;
        }
        if first != self.application {
            if std::mem::replace(&mut line.is_woken, true) {
                return WorkerTurn::Nobody;
            }
            return WorkerTurn::Other(first);
        }
        line.waiting.pop_front();
        line.free -= 1;
        line.is_woken = false;
        WorkerTurn::Own
    }

    /// Returns a worker that the application has taken.
    pub fn release(&self) {
        self.line.borrow_mut().free += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ApplicationId = ApplicationId(0);
    const SECOND: ApplicationId = ApplicationId(1);

    #[test]
    fn workers_serve_the_applications_in_order_of_arrival() {
        let hub = SharedHub::of_run();
        let first = hub.workers("queue", 1);
        let second = hub.seen_by(SECOND).workers("queue", 1);
        first.join();
        second.join();
        first.join();
        assert_eq!(second.take(), WorkerTurn::Other(FIRST));
        assert_eq!(second.take(), WorkerTurn::Nobody, "the first is woken once");
        assert_eq!(first.take(), WorkerTurn::Own);
        assert_eq!(first.take(), WorkerTurn::Nobody, "the worker is busy");
        first.release();
        assert_eq!(
            first.take(),
            WorkerTurn::Other(SECOND),
            "its second key is behind the other's"
        );
        assert_eq!(second.take(), WorkerTurn::Own);
        second.release();
        assert_eq!(second.take(), WorkerTurn::Other(FIRST));
        assert_eq!(first.take(), WorkerTurn::Own);
        first.release();
        assert_eq!(first.take(), WorkerTurn::Nobody, "nobody waits");
    }

    #[test]
    fn one_application_never_wakes_another() {
        let workers = SharedHub::of_run().workers("queue", 2);
        for _ in 0..3 {
            workers.join();
        }
        let turns = [0; 3].map(|_| workers.take());
        assert_eq!(
            turns,
            [WorkerTurn::Own, WorkerTurn::Own, WorkerTurn::Nobody]
        );
    }

    #[test]
    fn a_key_that_leaves_the_line_lets_the_next_one_pass() {
        let hub = SharedHub::of_run();
        let first = hub.workers("queue", 1);
        let second = hub.seen_by(SECOND).workers("queue", 1);
        first.join();
        second.join();
        first.join();
        assert_eq!(second.take(), WorkerTurn::Other(FIRST));
        first.leave(0);
        assert_eq!(first.take(), WorkerTurn::Other(SECOND), "a new first");
        assert_eq!(second.take(), WorkerTurn::Own);
        first.leave(0);
        second.release();
        assert_eq!(second.take(), WorkerTurn::Nobody, "nobody is left");
    }

    #[test]
    fn parts_are_shared_by_name_and_settings() {
        let hub = SharedHub::of_run();
        let other = hub.seen_by(SECOND);
        let count = hub.part("counter", 7, 0_u32);
        *other.part("counter", 7, 0_u32).borrow_mut() += 1;
        *other.part("counter", 8, 0_u32).borrow_mut() += 10;
        *other.part("other", 7, 0_u32).borrow_mut() += 100;
        assert_eq!(*count.borrow(), 1);
        let of_other_size = hub.workers("queue", 2);
        other.workers("queue", 1).join();
        assert_eq!(of_other_size.take(), WorkerTurn::Nobody);
        assert!(other.is_waiting());
        assert!(!hub.is_waiting());
    }
}
