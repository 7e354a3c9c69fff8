//! The main loop: pops events in order and passes each to the model.

use super::EventQueue;
use fleetsim_units::SimTime;

/// The simulated system: its state, and how an event changes it.
pub trait Model {
    /// An event: small plain data, so that runs can be printed and compared.
    type Event;

    /// Applies `event` at `queue.now()` and schedules the events that follow from it.
    fn handle(&mut self, event: Self::Event, queue: &mut EventQueue<Self::Event>);
}

/// An observer of a run, which does not change it. `()`, closures and pairs of observers implement this trait.
pub trait Observer<E> {
    /// Called for each event just before the model handles it.
    fn observe(&mut self, now: SimTime, event: &E);
}

impl<E> Observer<E> for () {
    fn observe(&mut self, _now: SimTime, _event: &E) {}
}

impl<E, F: FnMut(SimTime, &E)> Observer<E> for F {
    fn observe(&mut self, now: SimTime, event: &E) {
        self(now, event);
    }
}

impl<E, A: Observer<E>, B: Observer<E>> Observer<E> for (A, B) {
    fn observe(&mut self, now: SimTime, event: &E) {
        self.0.observe(now, event);
        self.1.observe(now, event);
    }
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// No event was left in the queue.
    Empty,
    /// The next event is due after the horizon.
    Horizon,
    /// The caller's condition was met.
    Stopped,
}

/// Handles events in order until `stop` returns true, no event is left, or the next event is due after `horizon`.
///
/// Events at the horizon itself are handled. `stop` is evaluated before each event, including the first, and once more
/// if no event is left: if the last event meets the condition, the run ends as [`End::Stopped`]. The clock stays at
/// the last handled event, and pending events stay in the queue, so a run can be resumed.
pub fn run<M, O>(
    model: &mut M,
    queue: &mut EventQueue<M::Event>,
    observer: &mut O,
    horizon: SimTime,
    mut stop: impl FnMut(&M, &EventQueue<M::Event>) -> bool,
) -> End
where
    M: Model,
    O: Observer<M::Event>,
{
    loop {
        if stop(model, queue) {
            return End::Stopped;
        }
        let Some((now, event)) = queue.pop_until(horizon) else {
            return if queue.is_empty() {
                End::Empty
            } else {
                End::Horizon
            };
        };
        observer.observe(now, &event);
        model.handle(event, queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim_units::SimDuration;

    /// A model that counts down once a second.
    struct Countdown {
        left: u32,
    }

    struct Beat;

    impl Model for Countdown {
        type Event = Beat;
        fn handle(&mut self, Beat: Beat, queue: &mut EventQueue<Beat>) {
            self.left -= 1;
            if self.left > 0 {
                queue.schedule_in(SimDuration::from_secs(1), Beat);
            }
        }
    }

    fn countdown(from: u32) -> (Countdown, EventQueue<Beat>) {
        let mut queue = EventQueue::new();
        queue.schedule(SimTime::from_secs(1), Beat);
        (Countdown { left: from }, queue)
    }

    #[test]
    fn a_run_ends_for_the_reason_that_occurs_first() {
        let cases = [
            // horizon            stop when left is   end            handled   why
            (SimTime::MAX, None, End::Empty, 5, "nothing else ends it"),
            (
                SimTime::from_secs(3),
                None,
                End::Horizon,
                3,
                "the horizon itself still belongs to the run",
            ),
            (
                SimTime::MAX,
                Some(2),
                End::Stopped,
                3,
                "the condition is asked after each event",
            ),
            (
                SimTime::MAX,
                Some(5),
                End::Stopped,
                0,
                "and before the first",
            ),
            (
                SimTime::MAX,
                Some(0),
                End::Stopped,
                5,
                "the last event met the condition and emptied the queue",
            ),
            (
                SimTime::ZERO,
                None,
                End::Horizon,
                0,
                "the first event is due too late",
            ),
        ];
        for (horizon, stop_at, expected, handled, why) in cases {
            let (mut model, mut queue) = countdown(5);
            let end = run(&mut model, &mut queue, &mut (), horizon, |model, _| {
                Some(model.left) == stop_at
            });
            assert_eq!((end, queue.handled()), (expected, handled), "{why}");
        }
    }

    #[test]
    fn a_run_in_two_parts_equals_an_uninterrupted_run() {
        let (mut model, mut queue) = countdown(5);
        let mut seen = Vec::new();
        let mut observer = |now: SimTime, _: &Beat| seen.push(now);
        assert_eq!(
            run(
                &mut model,
                &mut queue,
                &mut observer,
                SimTime::from_secs(2),
                |_, _| false
            ),
            End::Horizon
        );
        assert_eq!(
            run(
                &mut model,
                &mut queue,
                &mut observer,
                SimTime::MAX,
                |_, _| false
            ),
            End::Empty
        );
        assert_eq!(seen, (1..=5).map(SimTime::from_secs).collect::<Vec<_>>());
    }

    #[test]
    fn both_observers_of_a_pair_see_every_event_before_it_is_handled() {
        let (mut model, mut queue) = countdown(3);
        let (mut left, mut right) = (0, 0);
        let mut pair = (
            |_: SimTime, _: &Beat| left += 1,
            |_: SimTime, _: &Beat| right += 1,
        );
        run(&mut model, &mut queue, &mut pair, SimTime::MAX, |_, _| {
            false
        });
        assert_eq!((left, right), (3, 3));
    }
}
