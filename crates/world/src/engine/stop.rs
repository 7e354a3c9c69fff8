//! A request from another thread to end a run early.
//!
//! A run that is not ended early is unaffected, because the flag is checked only between events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of events between two checks of the flag. Some events take milliseconds, such as a controller's pass over a
/// large fleet.
const EVENTS: u64 = 256;

/// A flag that ends runs, shared by the runs and their caller. Clones share the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
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
