//! The timers of a controller: what each is for, by its number. Their times are in the engine's queue.
//!
//! A product may run several controllers, each with an agenda. The highest bits of a number say which agenda it is
//! from.

use super::Plane;
use crate::engine::EventId;
use crate::units::SimTime;

/// The pending timers of a controller, each with its purpose.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    first: u32,
    slots: Vec<Option<(EventId, T)>>,
    free: Vec<u32>,
}

/// Timers that an agenda can hold at a time.
const MOST: u32 = 1 << 29;

impl<T> Agenda<T> {
    /// The agenda of a product's controller of this number, from 0 to 7.
    pub const fn of_controller(number: u32) -> Self {
        assert!(
            number < 8,
            "numbers of timers have three bits for their controllers"
        );
        Self {
            first: number * MOST,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    fn slot(&mut self, number: u32) -> Option<&mut Option<(EventId, T)>> {
        self.slots.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Sets a timer. Returns its number.
    pub fn add(&mut self, at: SimTime, item: T, plane: &mut Plane<'_>) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.first + self.slots.len() as u32 - 1
        });
        let event = plane.timer(at, number);
        *self.slot(number).expect("it was just made") = Some((event, item));
        number
    }

    /// The timer goes off. Returns what it is for; `None`: it is of another agenda.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let (_, item) = self.slot(number)?.take()?;
        self.free.push(number);
        Some(item)
    }

    /// The purpose of a pending timer. `None`: it is of another agenda.
    pub fn peek(&self, number: u32) -> Option<&T> {
        let slot = number.checked_sub(self.first)? as usize;
        let (_, item) = self.slots.get(slot)?.as_ref()?;
        Some(item)
    }

    /// Removes a timer before its time. Returns what it was for.
    pub fn cancel(&mut self, number: u32, plane: &mut Plane<'_>) -> Option<T> {
        let (event, item) = self.slot(number)?.take()?;
        plane.cancel(event);
        self.free.push(number);
        Some(item)
    }

    /// Removes all timers for which this is true.
    pub fn cancel_if(&mut self, is_over: impl Fn(&T) -> bool, plane: &mut Plane<'_>) {
        for number in 0..self.slots.len() {
            if self.slots[number]
                .as_ref()
                .is_some_and(|(_, item)| is_over(item))
            {
                self.cancel(self.first + number as u32, plane);
            }
        }
    }

    /// The purposes of the pending timers, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten().map(|(_, item)| item)
    }
}
