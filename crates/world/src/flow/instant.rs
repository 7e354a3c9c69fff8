//! Points in time between nanoseconds, and how they round.
//!
//! The caller's clock ticks in whole nanoseconds, and a completion is reported at the first tick at or after it. If
//! the solver assumed that the completion was at that tick, each transfer of a chain would lose the bytes of half a
//! nanosecond on average. If rates then fell a hundredfold, these bytes would take a hundred times as long. So the
//! solver's clock stops between ticks, at the exact completion. Calls made at that tick take effect there too, less
//! than a nanosecond early; without a completion before a tick they take effect at the tick. No byte is moved twice
//! and no time is lost.

/// A point at most this long after a tick counts as at the tick, and points at most this far apart count as
/// simultaneous. This tolerance is the error of the arithmetic; at 10 GB/s it is a hundredth of a byte.
pub(super) const SLACK_NANOS: f64 = 1e-3;

/// A point in time, and the tick at which the caller sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct Instant {
    tick: u64,
    /// Nanoseconds from the tick to the point: greater than -1, at most 0.
    offset: f64,
}

impl Instant {
    /// Creates a point exactly at a tick.
    pub(super) const fn at(tick: u64) -> Self {
        Self { tick, offset: 0.0 }
    }

    /// Returns the tick at which the caller sees this point, in nanoseconds.
    pub(super) const fn tick(self) -> u64 {
        self.tick
    }

    /// Returns the nanoseconds since `earlier`.
    pub(super) fn nanos_since(self, earlier: Self) -> f64 {
        (self.tick - earlier.tick) as f64 + (self.offset - earlier.offset)
    }

    /// Returns the point `nanos` (not negative) later. `None` if that point is beyond the range of the clock.
    pub(super) fn after(self, nanos: f64) -> Option<Self> {
        let from_tick = self.offset + nanos;
        let ticks = (from_tick - SLACK_NANOS).ceil().max(0.0);
        if ticks >= (u64::MAX - self.tick) as f64 {
            return None;
        }
        Some(Self {
            tick: self.tick + ticks as u64,
            offset: (from_tick - ticks).min(0.0),
        })
    }

    /// Returns whether `other`, which is not earlier, is simultaneous within the error of the arithmetic.
    pub(super) fn coincides_with(self, other: Self) -> bool {
        self.tick == other.tick && other.offset <= self.offset + SLACK_NANOS
    }

    /// Returns the point at which calls made at `tick` take effect: this point if its tick is `tick`, otherwise
    /// exactly at `tick`.
    pub(super) fn moved_to(self, tick: u64) -> Self {
        if self.tick == tick {
            self
        } else {
            Self::at(tick)
        }
    }

    /// Returns the later of two points.
    pub(super) fn max(self, other: Self) -> Self {
        if self < other { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_rounded_up_to_a_tick() {
        for (nanos, tick, offset, why) in [
            (0.0, 5, 0.0, "no time at all"),
            (2.0, 7, 0.0, "on a tick"),
            (2.25, 8, -0.75, "rounded up"),
            (2.0005, 7, 0.0, "half a thousandth after a tick is rounding"),
            (2.002, 8, -0.998, "two thousandths are not"),
            (1.9995, 7, -0.0005, "before a tick it keeps its place"),
        ] {
            let point = Instant::at(5).after(nanos).expect("within the range");
            assert_eq!(point.tick(), tick, "{why}");
            assert!((point.offset - offset).abs() < 1e-9, "{why}: {point:?}");
        }
        assert_eq!(Instant::at(5).after(1e30), None);
        assert_eq!(Instant::at(5).after(f64::INFINITY), None);
    }

    #[test]
    fn fractions_of_a_nanosecond_add_up() {
        let mut point = Instant::at(100);
        for _ in 0..3000 {
            point = point.after(1.0 / 3.0).expect("within the range");
        }
        assert_eq!(point.tick(), 1100);
        assert!((point.nanos_since(Instant::at(100)) - 1000.0).abs() < 1e-3 * 3000.0);
    }
}
