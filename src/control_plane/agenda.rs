//! The pending timers of a controller, with the purpose of each timer by its number. The times are in the engine's
//! queue.
//!
//! A product may run several controllers, each with its own agenda. The highest bits of a number identify the agenda.

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

/// Maximum number of pending timers in an agenda.
const MOST: u32 = 1 << 29;

impl<T> Agenda<T> {
    /// Creates the agenda for the product's controller with this number, from 0 to 7.
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

    /// Removes a timer that has fired. Returns its purpose. `None`: the timer belongs to another agenda.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let (_, item) = self.slot(number)?.take()?;
        self.free.push(number);
        Some(item)
    }

    /// Returns the purpose of a pending timer. `None`: the timer belongs to another agenda.
    pub fn peek(&self, number: u32) -> Option<&T> {
        let slot = number.checked_sub(self.first)? as usize;
        let (_, item) = self.slots.get(slot)?.as_ref()?;
        Some(item)
    }

    /// Cancels a timer. Returns its purpose.
    pub fn cancel(&mut self, number: u32, plane: &mut Plane<'_>) -> Option<T> {
        let (event, item) = self.slot(number)?.take()?;
        plane.cancel(event);
        self.free.push(number);
        Some(item)
    }

    /// Cancels the timers for which `is_over` returns true.
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

    /// Returns the purposes of the pending timers, in unspecified order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten().map(|(_, item)| item)
    }
}
