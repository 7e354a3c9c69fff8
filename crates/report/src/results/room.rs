//! When a registry's link has room for a rollout: one rule for answers and for limits that are proposed.
//!
//! A link has room if its busiest minute, with the load of others, is below nine tenths of its capacity. A minute,
//! because single seconds fill any link as soon as a few pulls begin together, and the share of all time falls with
//! every straggler. A tenth is left for what an experiment does not know.
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
