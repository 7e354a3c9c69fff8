//! Determines whether a cluster that is offline when a run ends was online before, or returns before the horizon.
//!
//! The answer follows from the schedules of failures: when a cluster returns that was offline from the start, the given
//! windows of regional outages, and the drawn outages, which are followed with the draws of a longer run. Each draw
//! depends only on its stream and its number, so that none changes another run. A cluster is offline while any of its
//! outages lasts.
//!
//! Left out: clusters that a test or a laboratory cuts off by hand, which stay offline.

use crate::engine::EntityKey;
use crate::world::World;
use crate::world::faults::renewal::{ProcessState, Renewal};
use fleetsim_units::SimTime;

/// The future times at which a cluster is offline, for one cause.
enum OfflineTimes<'s> {
    /// The cluster is offline until it returns for the first time. `None`: it never returns.
    UntilReturn(Option<SimTime>),
    /// The cluster is offline in a window.
    Window { begins: SimTime, ends: SimTime },
    /// The cluster is offline while a process of failures is down.
    Process {
        renewal: Renewal<'s>,
        key: EntityKey,
        state: ProcessState,
    },
}

/// The end of an offline time that covers a given moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Offline {
    Until(SimTime),
    Forever,
}

impl OfflineTimes<'_> {
    /// Returns the end of the offline time that covers this moment. `None`: no offline time covers the moment. Moments
    /// must not decrease from call to call.
    fn covers(&mut self, at: SimTime, world: &World<'_>) -> Option<Offline> {
        match self {
            Self::UntilReturn(None) => Some(Offline::Forever),
            Self::UntilReturn(Some(back)) => (at < *back).then_some(Offline::Until(*back)),
            Self::Window { begins, ends } => {
                (*begins <= at && at < *ends).then_some(Offline::Until(*ends))
            }
            Self::Process {
                renewal,
                key,
                state,
            } => {
                while state.until <= at {
                    *state = renewal.next(&world.streams, *key, *state);
                }
                state.is_down.then_some(Offline::Until(state.until))
            }
        }
    }
}

impl<'s> World<'s> {
    /// Returns, for each cluster, whether the management cluster reaches it at any time from the start of the run to
    /// the horizon.
    #[must_use]
    pub fn ever_online(&self, horizon: SimTime) -> Vec<bool> {
        let mut online = Vec::with_capacity(self.clusters.len());
        let mut offline = false;
        for cluster in &self.clusters {
            offline |= !cluster.cuts.was_ever_managed();
            online.push(cluster.cuts.was_ever_managed());
        }
        if !offline {
            return online;
        }
        for (at, mut times) in self.offline_times(&online).into_iter().enumerate() {
            if !online[at] {
                online[at] = self.comes_back(&mut times, horizon);
            }
        }
        online
    }

    /// Returns whether the cluster is online at some moment between now and the horizon.
    fn comes_back(&self, times: &mut [OfflineTimes<'s>], horizon: SimTime) -> bool {
        let mut at = self.meter.now();
        let mut is_first = true;
        while at < horizon {
            let mut until = None;
            for time in &mut *times {
                match time.covers(at, self) {
                    None => {}
                    Some(Offline::Forever) => return false,
                    Some(Offline::Until(end)) => until = until.max(Some(end)),
                }
            }
            match until {
                Some(end) => at = end,
                // The cluster is cut off by something other than a schedule.
                None => return !is_first,
            }
            is_first = false;
        }
        false
    }

    /// Returns, for each cluster that was never online, its future offline times.
    fn offline_times(&self, online: &[bool]) -> Vec<Vec<OfflineTimes<'s>>> {
        let spec: &'s _ = self.spec;
        let faults = &spec.faults;
        let mut times: Vec<Vec<OfflineTimes<'s>>> = Vec::new();
        for cluster in &self.clusters {
            let mut own = Vec::new();
            if let Some(back) = cluster.draws.offline {
                own.push(OfflineTimes::UntilReturn(back));
            }
            if let Some(outages) = faults.outages.as_ref().filter(|all| all.cut().is_offline()) {
                own.push(OfflineTimes::Process {
                    renewal: outages.renewal(),
                    key: cluster.key,
                    state: cluster.outage,
                });
            }
            times.push(own);
        }
        for (number, outage) in faults.regional.iter().enumerate() {
            if !outage.cut().is_offline() {
                continue;
            }
            for &cluster in outage.clusters.iter().filter(|cluster| !online[**cluster]) {
                for window in &outage.windows {
                    let begins = SimTime::ZERO + window.from;
                    let ends = begins + window.lasts;
                    times[cluster].push(OfflineTimes::Window { begins, ends });
                }
                if let Some(renewal) = outage.renewal() {
                    times[cluster].push(OfflineTimes::Process {
                        renewal,
                        key: self.faults.draws.regional(number),
                        state: self.faults.regional[number],
                    });
                }
            }
        }
        for outage in self.faults.guests.offline() {
            let begins = SimTime::ZERO + outage.from;
            let ends = begins + outage.lasts;
            times[outage.cluster].push(OfflineTimes::Window { begins, ends });
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::EventQueue;
    use crate::world::World;
    use crate::world::faults::cut_kind::CutKind;
    use crate::world::faults::spec::{OutageSpec, OutageWindow, RegionalOutageSpec};
    use crate::world::spec::{PlatformSpec, WorldSpec};
    use crate::world::testing::{bare_world, fixed};
    use fleetsim_units::{SimDuration, SimTime};

    fn secs(secs: u64) -> SimDuration {
        SimDuration::from_secs(secs)
    }

    /// Returns, for each cluster, whether it is online at any time before the horizon, as determined at the start of a
    /// world.
    fn online(world: &WorldSpec, horizon: u64) -> Vec<bool> {
        let mut queue = EventQueue::new();
        let world = World::new(world, &PlatformSpec::INSTANT, 1, 0, &mut queue);
        world.ever_online(SimTime::from_secs(horizon))
    }

    /// Two clusters, one of which is offline from the start. If `returns`, it returns after 100 s.
    fn offline(returns: bool) -> WorldSpec {
        let mut world = bare_world(2);
        world.clusters[0].offline = true;
        world.faults.offline.comes_back = returns.then(|| fixed(secs(100)));
        world
    }

    #[test]
    fn a_cluster_is_online_from_its_return_if_that_is_before_the_horizon() {
        assert_eq!(online(&offline(true), 100), [false, true]);
        assert_eq!(online(&offline(true), 101), [true, true]);
        assert_eq!(online(&offline(false), 1_000_000), [false, true]);
    }

    #[test]
    fn outages_that_follow_on_each_other_leave_no_time_online() {
        let mut world = offline(true);
        world.faults.regional.push(RegionalOutageSpec {
            clusters: vec![0],
            cuts: CutKind::Management,
            windows: vec![
                OutageWindow {
                    from: secs(150),
                    lasts: secs(50),
                },
                OutageWindow {
                    from: secs(90),
                    lasts: secs(60),
                },
            ],
            ..RegionalOutageSpec::default()
        });
        assert_eq!(online(&world, 200), [false, true]);
        assert_eq!(online(&world, 201), [true, true]);
        // A brownout and an outage of another cluster change nothing.
        world.faults.regional[0].clusters = vec![1];
        assert_eq!(online(&world, 101), [true, true]);
    }

    #[test]
    fn a_process_of_outages_is_followed_beyond_the_end_of_a_run() {
        let mut world = offline(true);
        // The clusters are almost always down: up for 1 s in 1,001 s.
        world.faults.outages = Some(OutageSpec {
            between: fixed(secs(1)),
            repair: fixed(secs(1000)),
            ..OutageSpec::default()
        });
        assert!(!online(&world, 100)[0]);
        assert!(online(&world, 1_200)[0]);
    }
}
