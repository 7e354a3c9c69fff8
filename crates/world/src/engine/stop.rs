//! A request from another thread to end a run early.
//!
//! A run that is not ended early is unaffected, because the flag is checked only between events.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of events between two checks of the flag. Some events take milliseconds, such as a controller's pass over a
/// large fleet.
const EVENTS: u64 = 256;

thread_local! {
    /// The flag that ends every run on this thread.
    static OF_THREAD: RefCell<Stop> = RefCell::default();
}

/// A flag that ends runs, shared by the runs and their caller. Clones share the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Returns the flag that ends every run on this thread. Unless [`Self::rules_thread`] was called, nobody sets it.
    #[must_use]
    pub fn of_thread() -> Self {
        OF_THREAD.with_borrow(Self::clone)
    }

    /// Makes this the flag that ends every run on this thread. Returns the previous one.
    pub fn rules_thread(&self) -> Self {
        OF_THREAD.replace(self.clone())
    }

    /// Ends all current and future runs that check this flag.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns whether a run must end after this many events. The flag is checked only every `EVENTS` events.
    #[must_use]
    pub fn ends_after(&self, handled: u64) -> bool {
        handled.is_multiple_of(EVENTS) && self.is_set()
    }

    /// Returns whether both handles share the same flag.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
