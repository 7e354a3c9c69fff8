//! Alternating failures and repairs.
//!
//! A rollout starts on a fleet that has been running for a long time. It would be wrong to start a process with a
//! failure, or with a new time between failures: with a Weibull shape below 1, a new cluster fails far more often than
//! an old one. So each process is simulated for [`WARM_UP`] mean cycles and a random part of another before the
//! rollout starts. By then its state no longer depends on its start (the limit is the stationary alternating renewal
//! process: Cox, "Renewal theory", 1962).
//!
//! Left out: failures that become more frequent with age, and repairs that depend on the time of day.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::quantity::DurationModel;
use fleetsim_units::{SimDuration, SimTime};

/// Number of mean cycles that a process runs before the rollout.
const WARM_UP: f64 = 10.0;

/// The distributions of a process, and the names of its random streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewal<'s> {
    pub(super) between: &'s DurationModel,
    pub(super) repair: &'s DurationModel,
    pub(super) phase: &'static str,
    pub(super) failing: &'static str,
    pub(super) repairing: &'static str,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ProcessState {
    /// Whether a repair is in progress.
    pub(crate) is_down: bool,
    /// Time of the next failure or repair.
    pub(crate) until: SimTime,
    /// The number of the cycle.
    pub(crate) turn: u64,
}

impl Renewal<'_> {
    /// Returns the time from a repair to the failure in cycle `turn`.
    pub(super) fn time_to_failure(
        &self,
        streams: &Streams,
        key: EntityKey,
        turn: u64,
    ) -> SimDuration {
        self.between.draw(streams, key, self.failing, turn)
    }

    /// Returns the duration of the failure in cycle `turn`.
    pub(super) fn repair_time(&self, streams: &Streams, key: EntityKey, turn: u64) -> SimDuration {
        self.repair.draw(streams, key, self.repairing, turn)
    }

    /// Returns the state that follows a state.
    pub(super) fn next(
        &self,
        streams: &Streams,
        key: EntityKey,
        now: ProcessState,
    ) -> ProcessState {
        if now.is_down {
            let turn = now.turn + 1;
            ProcessState {
                is_down: false,
                until: now.until + self.time_to_failure(streams, key, turn),
                turn,
            }
        } else {
            ProcessState {
                is_down: true,
                until: now.until + self.repair_time(streams, key, now.turn),
                ..now
            }
        }
    }

    /// Returns the state at the start of the rollout.
    pub(super) fn start(&self, streams: &Streams, key: EntityKey) -> ProcessState {
        let mean = self.between.mean() + self.repair.mean();
        let part = dist::unit(&mut streams.stream(key, self.phase));
        let mut now = -(WARM_UP + part) * mean;
        for turn in 0.. {
            now += self.time_to_failure(streams, key, turn).as_secs_f64();
            if now > 0.0 {
                return ProcessState {
                    is_down: false,
                    until: at(now),
                    turn,
                };
            }
            now += self.repair_time(streams, key, turn).as_secs_f64();
            if now > 0.0 {
                return ProcessState {
                    is_down: true,
                    until: at(now),
                    turn,
                };
            }
        }
        unreachable!("the loop ends only by returning")
    }
}

fn at(secs: f64) -> SimTime {
    SimTime::ZERO + SimDuration::from_secs_f64(secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: f64) -> SimDuration {
        SimDuration::from_secs_f64(secs)
    }

    /// Returns, for many processes, the share that is down, and the mean time to the next failure of the processes
    /// that are up.
    fn fleet(between: &DurationModel, repair: &DurationModel) -> (f64, f64) {
        const MANY: u64 = 20_000;
        let renewal = Renewal {
            between,
            repair,
            phase: "a",
            failing: "b",
            repairing: "c",
        };
        let streams = Streams::new(1, 0);
        let starts: Vec<ProcessState> = (0..MANY)
            .map(|at| renewal.start(&streams, EntityKey::of("c").part(at)))
            .collect();
        let up: Vec<f64> = starts
            .iter()
            .filter(|start| !start.is_down)
            .map(|start| start.until.as_secs_f64())
            .collect();
        (
            1.0 - up.len() as f64 / MANY as f64,
            up.iter().sum::<f64>() / up.len() as f64,
        )
    }

    #[test]
    fn failure_processes_start_in_their_stationary_state() {
        let lognormal = DurationModel::LogNormal {
            median: secs(4.0),
            sigma: 0.8,
        };
        let cases = [
            // For a lognormal: E x² / 2 E x = (exp(0.64) · mean²) / 2 mean
            (
                DurationModel::Exponential { mean: secs(100.0) },
                100.0,
                "memoryless: the mean whenever one looks",
            ),
            (
                DurationModel::Constant(secs(100.0)),
                50.0,
                "half of a constant, on average",
            ),
            // For a Weibull: E x² = s² Γ(1 + 2/k), E x = s Γ(1 + 1/k), k = 3/4, mean 100: 100 Γ(11/3) / 2 Γ(7/3)²
            (
                DurationModel::weibull_of_mean(secs(100.0), 0.75),
                141.5,
                "what has lasted will last",
            ),
        ];
        for (between, residual, why) in cases {
            let (down, left) = fleet(&between, &lognormal);
            let repair = lognormal.mean();
            let expected = repair / (between.mean() + repair);
            // Five standard errors of the share. For the mean, the tolerance is about five standard errors as well.
            let tolerance = 5.0 * (expected * (1.0 - expected) / 20_000.0).sqrt();
            assert!(
                (down - expected).abs() < tolerance,
                "{why}: {down} down, not {expected}"
            );
            assert!(
                (left - residual).abs() < residual * 0.06,
                "{why}: {left} s to the next, not {residual}"
            );
        }
    }
}
