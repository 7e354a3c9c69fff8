//! Failures spread evenly over the runs of a study (`faults.draws: stratified`).
//!
//! If an event affects one run in ten, then it affects none of 20 independent runs with probability 12%, and five or
//! more with probability 4%. In stratified runs it occurs nearly as often as expected, so a share of runs or a
//! percentile has less noise.
//!
//! For each kind of failure, a run draws [`CANDIDATES`] fleets from the same distributions, sorts them by severity,
//! and uses the candidate at the run's rank. The ranks of all runs are spread evenly ([`stratified_unit`]). The rank
//! of a single run is uniform, so its fleet is distributed like an ordinary draw, and no estimate is biased. Severity
//! is the number of clusters that are offline, defective, slow or without images, and for a regional outage the time
//! at which it begins.
//!
//! Left out: outages of single clusters, lost nodes, failed pulls and failed applies. They are drawn independently,
//! because their effect depends on the duration of the rollout. Defects and missing images are sorted by the first
//! application; those that an application has for itself are drawn independently, too.

use crate::engine::{EntityKey, Streams, dist, stratified_unit};
use crate::world::faults::renewal::ProcessState;
use crate::world::faults::spec::{FaultDrawKind, FaultSpec};
use crate::world::spec::WorldSpec;
use fleetsim_units::Share;

/// Number of candidate fleets of which each run uses one. Most studies have fewer runs, so each run has its own
/// stratum.
const CANDIDATES: u64 = 64;

/// A failure that affects each cluster with the same probability.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShareFault {
    Offline,
    Defect,
    NotFound,
    Slow,
}

impl ShareFault {
    const ALL: [Self; 4] = [Self::Offline, Self::Defect, Self::NotFound, Self::Slow];

    /// Returns the name of the failure's random streams.
    const fn purpose(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Defect => "defect",
            Self::NotFound => "not found",
            Self::Slow => "slow",
        }
    }

    fn share(self, faults: &FaultSpec) -> Share {
        match self {
            Self::Offline => faults.offline.share,
            Self::Defect => faults.defect.share,
            Self::NotFound => faults.not_found,
            Self::Slow => faults.slow.as_ref().map_or(Share::NONE, |slow| slow.share),
        }
    }

    fn hits(self, faults: &FaultSpec, streams: &Streams, key: EntityKey) -> bool {
        self.hits_share(self.share(faults), streams, key)
    }

    /// Returns whether the failure affects the cluster or the deployment with this key, if it affects this share.
    pub(crate) fn hits_share(self, share: Share, streams: &Streams, key: EntityKey) -> bool {
        dist::bernoulli(&mut streams.stream(key, self.purpose()), share.get())
    }
}

/// The candidate fleet that a run uses, for each kind of failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultDraws {
    /// The used candidate of each [`ShareFault`]. `None`: there are no candidates.
    taken: [Option<u64>; ShareFault::ALL.len()],
    /// The key of each regional outage in the random streams.
    regional: Vec<EntityKey>,
}

impl FaultDraws {
    pub(crate) fn new(spec: &WorldSpec, streams: &Streams, seed: u64, replicate: u32) -> Self {
        let faults = &spec.faults;
        let mut draws = Self {
            regional: faults.regional_keys(),
            ..Self::default()
        };
        if faults.draws == FaultDrawKind::Independent {
            return draws;
        }
        let clusters: Vec<EntityKey> = spec
            .clusters
            .iter()
            .map(|cluster| EntityKey::of(&cluster.name))
            .collect();
        for fault in ShareFault::ALL {
            let share = fault.share(faults);
            if share != Share::NONE && share != Share::ALL {
                let rank = rank_of_run(seed, fault.purpose().into(), replicate);
                draws.taken[fault as usize] = Some(candidate(rank, |at| {
                    clusters
                        .iter()
                        .filter(|key| fault.hits(faults, streams, key.part(at)))
                        .count() as f64
                }));
            }
        }
        for (outage, key) in faults.regional.iter().zip(&mut draws.regional) {
            if let Some(renewal) = outage.renewal() {
                let all = *key;
                let rank = rank_of_run(seed, all, replicate);
                *key = all.part(candidate(rank, |at| {
                    renewal.start(streams, all.part(at)).severity()
                }));
            }
        }
        draws
    }

    /// Returns whether the failure affects the cluster or the deployment with this key.
    pub(crate) fn hits(
        &self,
        fault: ShareFault,
        faults: &FaultSpec,
        streams: &Streams,
        key: EntityKey,
    ) -> bool {
        let key = self.taken[fault as usize].map_or(key, |at| key.part(at));
        fault.hits(faults, streams, key)
    }

    /// Returns the key of a regional outage in the random streams.
    pub(super) fn regional(&self, at: usize) -> EntityKey {
        self.regional[at]
    }
}

/// Returns the rank of the candidate that a run uses for a failure. The ranks of all runs are spread evenly.
fn rank_of_run(seed: u64, failure: EntityKey, replicate: u32) -> usize {
    (stratified_unit(seed, failure, replicate) * CANDIDATES as f64) as usize
}

/// Returns the candidate of this rank; the mildest candidate is first.
fn candidate(rank: usize, severity: impl Fn(u64) -> f64) -> u64 {
    let mut all: Vec<(f64, u64)> = (0..CANDIDATES).map(|at| (severity(at), at)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all[rank].1
}

impl ProcessState {
    /// Returns the severity of an outage: greater if it lasts longer into the rollout, or begins earlier.
    fn severity(&self) -> f64 {
        let until = self.until.as_secs_f64();
        if self.is_down { until } else { -until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::faults::spec::RegionalOutageSpec;
    use crate::world::quantity::DurationModel;
    use crate::world::testing::bare_world;
    use fleetsim_units::SimDuration;
    use fleetsim_units::stats::share_interval;

    const RUNS: u32 = 20;

    /// Creates a fleet of ten clusters, each offline with probability 1%, behind a link that is cut a tenth of the
    /// time.
    fn fleet(draws: FaultDrawKind) -> WorldSpec {
        let mut world = bare_world(10);
        world.faults.draws = draws;
        world.faults.offline.share = Share::new(0.01);
        world.faults.regional.push(RegionalOutageSpec {
            clusters: (0..10).collect(),
            between: Some(DurationModel::Exponential {
                mean: SimDuration::from_secs(900),
            }),
            repair: Some(DurationModel::Exponential {
                mean: SimDuration::from_secs(100),
            }),
            ..RegionalOutageSpec::default()
        });
        world
    }

    /// Returns how many runs of a study start with an offline cluster, and how many during an outage.
    fn hit_runs(world: &WorldSpec, seed: u64) -> (u32, u32) {
        let hit = |replicate| {
            let streams = Streams::new(seed, replicate);
            let draws = FaultDraws::new(world, &streams, seed, replicate);
            let offline = world.clusters.iter().any(|cluster| {
                draws.hits(
                    ShareFault::Offline,
                    &world.faults,
                    &streams,
                    EntityKey::of(&cluster.name),
                )
            });
            let renewal = world.faults.regional[0].renewal().expect("it is drawn");
            (
                u32::from(offline),
                u32::from(renewal.start(&streams, draws.regional(0)).is_down),
            )
        };
        (0..RUNS)
            .map(hit)
            .fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1))
    }

    /// Returns the mean and the standard deviation of counts.
    fn moments(counts: &[u32]) -> (f64, f64) {
        let (n, values) = (counts.len() as f64, || {
            counts.iter().map(|&count| f64::from(count))
        });
        let mean = values().sum::<f64>() / n;
        (
            mean,
            (values()
                .map(|count| (count - mean) * (count - mean))
                .sum::<f64>()
                / (n - 1.0))
                .sqrt(),
        )
    }

    #[test]
    fn stratification_spreads_rare_failures_evenly_without_changing_their_frequency() {
        let world = fleet(FaultDrawKind::Stratified);
        let (offline, outage): (Vec<u32>, Vec<u32>) =
            (0..300).map(|seed| hit_runs(&world, seed)).unzip();
        // Expected probabilities: 1 - 0.99^10, and 100 s of 1,000 s.
        for (counts, probability) in [(offline, 0.095_617_9), (outage, 0.1)] {
            let runs = f64::from(RUNS);
            let (mean, spread) = moments(&counts);
            let independent = (runs * probability * (1.0 - probability)).sqrt();
            assert!(
                spread < 0.65 * independent,
                "{spread} instead of {independent}"
            );
            let five_errors = 5.0 * spread / (counts.len() as f64).sqrt();
            assert!(
                (mean - runs * probability).abs() < five_errors,
                "{mean} of {RUNS}, not {probability}"
            );
            let covers = |&&count: &&u32| {
                let interval =
                    share_interval(f64::from(count), RUNS as usize, 0.95).expect("there are runs");
                interval.low <= probability && probability <= interval.high
            };
            let covered = counts.iter().filter(covers).count();
            assert!(
                covered as f64 >= 0.95 * counts.len() as f64,
                "{covered} of {}",
                counts.len()
            );
        }
    }

    #[test]
    fn without_strata_all_draws_are_unchanged() {
        let world = fleet(FaultDrawKind::Independent);
        let streams = Streams::new(1, 0);
        let draws = FaultDraws::new(&world, &streams, 1, 0);
        assert!(draws.taken.iter().all(Option::is_none));
        assert_eq!(draws.regional, world.faults.regional_keys());
    }
}
