//! How much of a limit a trial takes away: all of it, or half of the time that it costs.

use crate::products::REMAINING_TIME;
use crate::units::{BytesPerSec, PerSecond, Share, SimDuration};
use crate::world::{CountOrPercent, DurationModel, FactorModel, PodLimit, RateModel, RequestLimit};

/// The factor on a drawn rate that is lifted. The draw is kept, so that the run has the same random numbers.
const UNLIMITED: f64 = 1e5;

/// How much of a limit a trial takes away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Relief {
    /// The limit is removed.
    Whole,
    /// Everything that the limit holds back takes half as long.
    Half,
    /// The limit is raised by 0.1%, which should change nothing.
    Placebo,
}

impl Relief {
    /// The factor on a time.
    const fn time_factor(self) -> f64 {
        match self {
            Self::Whole => REMAINING_TIME,
            Self::Half => 0.5,
            Self::Placebo => 0.999,
        }
    }

    /// The factor on a rate or a count that cannot be removed.
    pub(super) const fn rate_factor(self) -> f64 {
        match self {
            Self::Whole => UNLIMITED,
            Self::Half => 2.0,
            Self::Placebo => 1.001,
        }
    }

    pub(super) fn time(self, time: &mut DurationModel) {
        *time = time.scaled(self.time_factor());
    }

    pub(super) fn fixed_time(self, time: &mut SimDuration) {
        *time = time.mul_f64(self.time_factor());
    }

    pub(super) fn drawn_rate(self, rate: &mut RateModel) {
        *rate = rate.scaled(self.rate_factor());
    }

    /// A link's rate, which may already be unlimited.
    pub(super) fn link(self, rate: &mut BytesPerSec) {
        if *rate == BytesPerSec::UNLIMITED {
            return;
        }
        *rate = match self {
            Self::Whole => BytesPerSec::UNLIMITED,
            Self::Half | Self::Placebo => BytesPerSec::new(rate.get() * self.rate_factor()),
        };
    }

    /// A rate that may be absent.
    pub(super) fn optional_rate(self, rate: &mut Option<BytesPerSec>) {
        match self {
            Self::Whole => *rate = None,
            Self::Half | Self::Placebo => {
                if let Some(rate) = rate {
                    self.link(rate);
                }
            }
        }
    }

    pub(super) fn bucket(self, limit: &mut Option<RequestLimit>) {
        if self == Self::Whole {
            *limit = None;
        } else if let Some(RequestLimit { rate, burst, .. }) = limit {
            self.tokens(rate, burst);
        }
    }

    pub(super) fn pods(self, limit: &mut Option<PodLimit>) {
        if self == Self::Whole {
            *limit = None;
        } else if let Some(PodLimit { rate, burst }) = limit {
            self.tokens(rate, burst);
        }
    }

    /// A token bucket that remains.
    fn tokens(self, rate: &mut PerSecond, burst: &mut u32) {
        *rate = PerSecond::new(rate.get() * self.rate_factor());
        *burst = self.counted(*burst);
    }

    /// A maximum that may be absent.
    pub(super) fn optional_count(self, most: &mut Option<u32>) {
        *most = match self {
            Self::Whole => None,
            Self::Half | Self::Placebo => most.map(|most| self.counted(most)),
        };
    }

    /// A maximum that is always there.
    pub(super) fn count(self, most: &mut u32) {
        *most = self.counted(*most);
    }

    fn counted(self, most: u32) -> u32 {
        (f64::from(most) * self.rate_factor())
            .round()
            .min(f64::from(u32::MAX)) as u32
    }

    /// A count or a share of targets, of which all or twice as many are allowed.
    pub(super) fn targets(self, most: &mut CountOrPercent) {
        *most = match (self, *most) {
            (Self::Whole, _) => CountOrPercent::Percent(100),
            (Self::Half, CountOrPercent::Count(most)) => {
                CountOrPercent::Count(most.saturating_mul(2))
            }
            (Self::Half, CountOrPercent::Percent(most)) => {
                CountOrPercent::Percent(most.saturating_mul(2).min(100))
            }
            (Self::Placebo, most) => most,
        };
    }

    /// The probability of a failure.
    pub(super) fn probability(self, share: &mut Share) {
        *share = match self {
            Self::Whole => Share::NONE,
            Self::Half => Share::new(share.get() / 2.0),
            Self::Placebo => *share,
        };
    }

    /// The factor by which slow clusters are slower.
    pub(super) fn slowness(self, factor: &mut FactorModel) {
        if self != Self::Placebo {
            *factor = factor.scaled(self.time_factor().max(0.5));
        }
    }

    /// Something that is there or not: half of it cannot be taken away.
    pub(super) fn removes(self) -> bool {
        self == Self::Whole
    }
}
