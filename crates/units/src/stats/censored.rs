//! A lognormal fitted to durations; of some durations only a lower bound is known.
//!
//! Maximum likelihood by expectation and maximisation (Dempster, Laird and Rubin 1977, section 4.3), with [`PRIOR`]
//! additional durations of spread [`PRIOR_SIGMA`], so that two durations do not determine the spread alone.
//!
//! Left out: other families. Beyond three standard deviations the tail is a Pareto tail with exponent 1: a duration
//! that exceeds nearly all others lasts as long again with probability 1/2. This is a guess for targets in trouble.

use super::bisected;

/// Weight of the assumed spread: the number of durations that it counts as.
const PRIOR: f64 = 1.0;

/// The assumed standard deviation of the durations' logarithms.
const PRIOR_SIGMA: f64 = 0.1;

/// Number of iterations.
const STEPS: usize = 30;

/// A lognormal distribution of durations in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CensoredFit {
    /// Mean of the durations' natural logarithms.
    pub mu: f64,
    /// Standard deviation of the durations' natural logarithms.
    pub sigma: f64,
}

impl CensoredFit {
    /// Fits durations in seconds; `true` marks a finished duration, `false` a lower bound. `None`: no duration is
    /// finished.
    #[must_use]
    pub fn of(durations: &[(f64, bool)]) -> Option<Self> {
        let mut logs = Vec::with_capacity(durations.len());
        let mut over = Vec::new();
        for &(duration, is_over) in durations {
            let log = libm::log(duration.max(0.1));
            logs.push((log, is_over));
            if is_over {
                over.push(log);
            }
        }
        let mut fit = Self {
            mu: super::mean(&over)?,
            sigma: PRIOR_SIGMA,
        };
        for _ in 0..STEPS {
            fit = fit.maximised(&logs);
        }
        Some(fit)
    }

    /// Returns the fit after one more iteration, given the logarithms of the durations.
    fn maximised(self, logs: &[(f64, bool)]) -> Self {
        // Expected mean and second moment of all logarithms around the current mean.
        let mut first = 0.0;
        let mut second = 0.0;
        for &(log, is_over) in logs {
            if is_over {
                first += log - self.mu;
                second += (log - self.mu) * (log - self.mu);
            } else {
                let z = (log - self.mu) / self.sigma;
                let hazard = hazard(z);
                first += self.sigma * hazard;
                second += self.sigma * self.sigma * (1.0 + z * hazard);
            }
        }
        let count = logs.len() as f64;
        let step = first / count;
        let squares = second - count * step * step + PRIOR * PRIOR_SIGMA * PRIOR_SIGMA;
        Self {
            mu: self.mu + step,
            sigma: libm::sqrt((squares / (count + PRIOR)).max(1e-6)),
        }
    }

    /// Returns how many standard deviations the logarithm of a duration is above the mean.
    fn score(self, duration: f64) -> f64 {
        (libm::log(duration.max(0.1)) - self.mu) / self.sigma
    }

    /// Returns the log density of the logarithm of a duration in seconds.
    #[must_use]
    pub fn ln_density(self, duration: f64) -> f64 {
        let z = self.score(duration);
        -0.5 * z * z - libm::log(self.sigma)
    }

    /// Returns the share of durations that exceed a duration in seconds.
    #[must_use]
    pub fn longer(self, duration: f64) -> f64 {
        survival(self.score(duration))
    }

    /// Returns the duration in seconds that a `share` (0 to 1) of all durations above `elapsed` exceeds.
    #[must_use]
    pub fn beyond(self, elapsed: f64, share: f64) -> f64 {
        let z = self.score(elapsed);
        let elapsed = elapsed.max(0.1);
        if z > 3.0 {
            return elapsed / share.max(1e-3);
        }
        let wanted = survival(z) * share;
        let (above, _) = bisected((z, z + 40.0), 60, |at| survival(at) < wanted);
        libm::exp(self.mu + self.sigma * above).max(elapsed)
    }
}

/// Returns the probability that a standard normal variable exceeds z.
fn survival(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// Returns the mean of a standard normal variable, given that it exceeds z.
fn hazard(z: f64) -> f64 {
    if z > 8.0 {
        return z + 1.0 / z;
    }
    let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
    density / survival(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 401 quantiles of a lognormal with median 60 s, censored at 70 s: the fit recovers the lognormal although a
    /// third of the durations is unknown.
    #[test]
    fn a_fit_recovers_the_distribution_of_censored_times() {
        let truth = CensoredFit {
            mu: libm::log(60.0),
            sigma: 0.4,
        };
        let all = (1..=400).map(|at| truth.beyond(1e-3, f64::from(at) / 401.0));
        let seen: Vec<(f64, bool)> = all.map(|d| (d.min(70.0), d < 70.0)).collect();
        let fit = CensoredFit::of(&seen).expect("some are over");
        assert!(
            (fit.mu - truth.mu).abs() < 0.02 && (fit.sigma - 0.4).abs() < 0.02,
            "{fit:?}"
        );
        assert_eq!(CensoredFit::of(&[(5.0, false)]), None);
    }

    #[test]
    fn a_time_above_a_bound_is_drawn_from_the_truncated_distribution() {
        let fit = CensoredFit {
            mu: libm::log(60.0),
            sigma: 0.4,
        };
        assert!((fit.longer(60.0) - 0.5).abs() < 1e-12);
        assert!(
            (fit.longer(fit.beyond(60.0, 0.5)) - 0.25).abs() < 1e-9,
            "half of the longer half"
        );
        assert!(
            (fit.beyond(600.0, 0.5) - 1_200.0).abs() < 1e-9,
            "beyond three standard deviations: as long again"
        );
    }
}
