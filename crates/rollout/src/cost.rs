//! Counts what a pass visits, so that tests measure its cost without a clock.
//!
//! Code that handles one of many targets, or advances to the next element of a set, calls [`visit`]. Outside of tests,
//! `visit` does nothing.

/// Counts one visit.
#[cfg(not(test))]
pub(super) const fn visit() {}

#[cfg(test)]
pub(super) use counted::{visit, visits_of};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static VISITS: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn visit() {
        VISITS.set(VISITS.get() + 1);
    }

    /// Returns the number of visits of some work in this thread.
    pub(crate) fn visits_of(work: impl FnOnce()) -> u64 {
        let before = VISITS.get();
        work();
        VISITS.get() - before
    }
}
