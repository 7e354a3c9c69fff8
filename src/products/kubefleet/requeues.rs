//! The timers of a work queue, in the order in which they go off.
//!
//! Follows the waiting loop of kubernetes/client-go v0.34.1, `util/workqueue/delaying_queue.go`: a binary heap as of
//! Go's `container/heap`, by nothing but the time. Several timers of one instant are common after a client's limit has
//! written specs at equal distances, and the first of them gets the next token of the queue's bucket. Their order is
//! that of the heap, which depends on all that was put in and taken out before; so the heap is the same here. The
//! recorded rollouts show that order.

use std::collections::BTreeMap;

use crate::units::SimTime;

/// Timers of bindings, at most one for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Requeues {
    heap: Vec<(SimTime, usize)>,
    /// The same timers by binding, so that only one which gets an earlier time is looked for in the heap.
    times: BTreeMap<usize, SimTime>,
}

impl Requeues {
    /// Sets a timer. The earlier one counts.
    pub(super) fn insert(&mut self, cluster: usize, at: SimTime) {
        match self.times.get(&cluster) {
            Some(&known) if known <= at => return,
            Some(_) => {
                let place = self.heap.iter().position(|&(_, known)| known == cluster).expect("it has a timer");
                self.heap[place].0 = at;
                if !self.down(place, self.heap.len()) {
                    self.up(place);
                }
            }
            None => {
                self.heap.push((at, cluster));
                self.up(self.heap.len() - 1);
            }
        }
        self.times.insert(cluster, at);
    }

    /// When the next timer goes off.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.heap.first().map(|&(at, _)| at)
    }

    /// Takes the timers out that are due, before any is set again.
    pub(super) fn due(&mut self, now: SimTime) -> Vec<(SimTime, usize)> {
        let due = self.heap.first().filter(|&&(at, _)| at <= now).map(|&(at, _)| at);
        let mut timers = Vec::new();
        while due.is_some() && self.next() == due {
            timers.extend(self.pop());
        }
        timers
    }

    fn pop(&mut self) -> Option<(SimTime, usize)> {
        let last = self.heap.len().checked_sub(1)?;
        self.heap.swap(0, last);
        self.down(0, last);
        let timer = self.heap.pop()?;
        self.times.remove(&timer.1);
        Some(timer)
    }

    fn up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[place].0 >= self.heap[parent].0 {
                break;
            }
            self.heap.swap(parent, place);
            place = parent;
        }
    }

    /// Returns whether anything moved among the first `len`.
    fn down(&mut self, from: usize, len: usize) -> bool {
        let mut place = from;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            if left >= len {
                break;
            }
            let child = if right < len && self.heap[right].0 < self.heap[left].0 { right } else { left };
            if self.heap[child].0 >= self.heap[place].0 {
                break;
            }
            self.heap.swap(place, child);
            place = child;
        }
        place > from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn timers_of_one_instant_go_off_in_the_order_of_go_s_heap() {
        let mut timers = Requeues::default();
        for (cluster, millis) in [(1, 10), (2, 10), (3, 10), (4, 5), (5, 10)] {
            timers.insert(cluster, at(millis));
        }
        // `container/heap` of Go 1.26 does the same.
        assert_eq!(timers.due(at(10)), [(at(5), 4)]);
        assert_eq!(timers.due(at(10)), [5, 2, 3, 1].map(|cluster| (at(10), cluster)));
    }

    #[test]
    fn a_binding_has_one_timer_and_the_earlier_time_counts() {
        let mut timers = Requeues::default();
        timers.insert(1, at(30));
        timers.insert(2, at(20));
        timers.insert(1, at(40));
        assert_eq!(timers.next(), Some(at(20)));
        timers.insert(1, at(10));
        assert_eq!((timers.pop(), timers.pop(), timers.pop()), (Some((at(10), 1)), Some((at(20), 2)), None));
    }
}
