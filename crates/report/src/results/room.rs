//! The rule by which a registry's link has room for a rollout, for answers and for proposed limits.
//!
//! A link has room if its busiest minute, with the load of others, is below nine tenths of its capacity. The rule uses
//! a minute because any link is full for single seconds when a few pulls begin together, and the share of the total
//! time falls with every straggler. A tenth remains for loads that an experiment does not contain.
//!
//! Left out: links of regions, mirrors and caches, whose load is in `registries.csv`.

use super::Measure;

/// The part of a link's capacity below which it has room.
pub const ROOM_SHARE: f64 = 0.9;

/// The load that counts: the busiest minute, with others.
pub const LINK_LOAD: Measure = Measure::TotalEgressPeak60s;

/// The load below which a link of this capacity has room; both in the same unit.
#[must_use]
pub fn most_with_room(capacity: f64) -> f64 {
    ROOM_SHARE * capacity
}

/// Returns whether a link of this capacity has room at this load of its busiest minute; both in the same unit.
#[must_use]
pub fn has_room(busiest_minute: f64, capacity: f64) -> bool {
    busiest_minute < most_with_room(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_room_below_nine_tenths_of_its_capacity() {
        for (load, has) in [(0.0, true), (8.99, true), (9.0, false), (10.0, false)] {
            assert_eq!(has_room(load, 10.0), has, "{load} of 10");
        }
        assert!(
            has_room(1e12, f64::INFINITY),
            "an unlimited link is never full"
        );
        assert_eq!(Measure::named("registry.busiest_minute"), Ok(LINK_LOAD));
    }
}
