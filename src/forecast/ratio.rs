//! The ratio of observed durations of updates to those in a run.

use crate::results::ForecastEstimate;
use crate::stats::{CensoredFit, t_quantile};

/// The share of draws on one side of the check at which the observation counts as different.
pub(super) const UNUSUAL: f64 = 0.95;

/// The least difference from the experiment's own values that counts, as the logarithm of a ratio: a quarter more
/// or less.
const LEAST_LN_STATED: f64 = 0.22;

/// Ratios are fitted in thousandths, because durations below 0.1 s count as 0.1 s in a fit.
const THOUSAND: f64 = 1000.0;

/// The ratio of observed durations to those of a run, as a lognormal.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaceRatio {
    /// Mean of the ratios' logarithms.
    pub(super) mu: f64,
    /// Standard error of the mean.
    pub(super) error: f64,
    /// Spread of the ratios' logarithms.
    pub(super) sigma: f64,
    /// Spread of the observed durations' logarithms beyond that of the run's durations.
    pub(super) spread: f64,
    /// Number of finished updates behind the ratio.
    pub(super) count: usize,
}

impl PaceRatio {
    /// Compares updates. Each is an observed duration, the duration in the run, and whether the observed one is over.
    pub(super) fn of(updates: &[ComparedUpdate]) -> Option<Self> {
        let mut ratios = Vec::new();
        let mut observed = Vec::new();
        let mut own = Vec::new();
        let mut count = 0;
        for update in updates {
            ratios.push((THOUSAND * update.observed_s / update.own_s, update.is_over));
            observed.push((update.observed_s, update.is_over));
            own.push((update.own_s, true));
            count += usize::from(update.is_over);
        }
        let ratio = CensoredFit::of(&ratios)?;
        let spread = CensoredFit::of(&observed)?.sigma;
        let own_spread = CensoredFit::of(&own)?.sigma;
        let beyond = spread * spread - own_spread * own_spread;
        Some(Self {
            mu: ratio.mu - libm::log(THOUSAND),
            error: ratio.sigma / libm::sqrt(count as f64),
            sigma: ratio.sigma,
            spread: libm::sqrt(beyond.max(0.0)),
            count,
        })
    }

    /// Returns the probability that the true mean of the logarithms is above 0.
    pub(super) fn is_slower(self) -> f64 {
        0.5 * libm::erfc(-self.mu / self.error / std::f64::consts::SQRT_2)
    }

    /// Returns the ratio with its interval of 90 %, if it differs enough from 1.
    pub(super) fn unusual(self) -> Option<RatioEstimate> {
        let is_sure = self.mu.abs() > self.deviation(UNUSUAL).abs();
        if !is_sure || self.mu.abs() < LEAST_LN_STATED {
            return None;
        }
        Some(RatioEstimate {
            median: libm::exp(self.mu),
            low: libm::exp(self.mu - self.deviation(UNUSUAL)),
            high: libm::exp(self.mu + self.deviation(UNUSUAL)),
        })
    }

    /// Returns the deviation of the mean at this share of Student's distribution.
    pub(super) fn deviation(self, share: f64) -> f64 {
        let degrees = self.count.saturating_sub(1).max(1) as u32;
        self.error * t_quantile(share.clamp(1e-3, 1.0 - 1e-3), degrees).clamp(-6.0, 6.0)
    }
}

/// An update as it was observed and as it is in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedUpdate {
    pub(super) observed_s: f64,
    pub(super) own_s: f64,
    /// Whether the observed update is over; otherwise its duration is a lower bound.
    pub(super) is_over: bool,
}

/// A ratio of durations with its interval of 90 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RatioEstimate {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl RatioEstimate {
    /// Returns the ratio as it is recorded.
    pub(super) const fn record(self) -> ForecastEstimate {
        ForecastEstimate {
            median: self.median,
            low: self.low,
            high: self.high,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(observed_s: f64, own_s: f64, is_over: bool) -> ComparedUpdate {
        ComparedUpdate {
            observed_s,
            own_s,
            is_over,
        }
    }

    /// Updates that take three times as long as in the run, some of them unfinished.
    #[test]
    fn the_ratio_of_durations_is_found_in_finished_and_unfinished_updates() {
        let mut updates = Vec::new();
        for at in 0..8 {
            let own = 50.0 + 2.0 * f64::from(at);
            updates.push(update(3.0 * own, own, true));
        }
        updates.push(update(20.0, 60.0, false));
        let ratio = PaceRatio::of(&updates).expect("some are over");
        assert!((libm::exp(ratio.mu) - 3.0).abs() < 0.2, "{ratio:?}");
        assert!(ratio.is_slower() > 0.999 && ratio.count == 8, "{ratio:?}");
        assert!(PaceRatio::of(&[update(20.0, 60.0, false)]).is_none());
    }
}
