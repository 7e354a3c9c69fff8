//! A request to end a run before its time, made by another thread.
//!
//! A run that is not ended early does not depend on it: the flag is looked at between events, and nothing else is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two looks at the flag. Some events take milliseconds, such as a controller's pass over a large
/// fleet.
const EVENTS: u64 = 256;

/// A flag that is shared by the runs that it ends and whoever ends them. Clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the runs that look at this flag, now and later.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether a run that has handled this many events ends. It looks at the flag now and then.
    #[must_use]
    pub fn ends_after(&self, handled: u64) -> bool {
        handled.is_multiple_of(EVENTS) && self.is_set()
    }

    /// Whether both are the same flag.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
