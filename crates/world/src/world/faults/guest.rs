//! Outages from a failure model that is not part of fleetsim, such as a class in a program that uses the library.
//!
//! The model is asked once in each run, before the rollout starts, and names all outages of the run: a cluster, the
//! start, the duration, and what the outage cuts. It gets a generator of the run's own, so the same seed and replicate
//! give the same outages on any thread and under every strategy. An outage has the effect of any other (`cut`).
//!
//! Left out: models that react to the rollout, because their outages would differ between strategies.

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::Stream;
use crate::world::World;
use crate::world::clusters::spec::ClusterSpec;
use crate::world::event::{FaultEvent, Queue};
use crate::world::faults::cut_kind::CutKind;
use crate::world::ids::ClusterId;
use fleetsim_units::{SimDuration, SimTime};

/// A failure model of another program.
pub trait OutageModel: Debug + Send + Sync {
    /// Returns the outages of one run from the start of the rollout to `horizon`. The random numbers must all come
    /// from `rng`.
    ///
    /// # Errors
    /// Returns a message if the model fails. The run then fails with it.
    fn outages(
        &self,
        clusters: &[ClusterSpec],
        horizon: SimDuration,
        rng: Stream,
    ) -> Result<Vec<GuestOutage>, String>;
}

/// An outage that a model names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuestOutage {
    /// The cluster: an index into [`crate::world::WorldSpec::clusters`].
    pub cluster: usize,
    /// The start of the outage, from the start of the run.
    pub from: SimDuration,
    /// The duration of the outage.
    pub lasts: SimDuration,
    /// The connections that the outage cuts.
    pub cuts: CutKind,
}

/// A model, and the time until which it is asked for outages.
#[derive(Clone, Debug)]
pub struct GuestFaults {
    /// The model.
    pub model: Arc<dyn OutageModel>,
    /// The end of the experiment.
    pub horizon: SimDuration,
}

impl PartialEq for GuestFaults {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.model, &other.model) && self.horizon == other.horizon
    }
}

/// The outages of a run that a model has named.
#[derive(Debug, Default)]
pub(crate) struct GuestOutages {
    all: Vec<GuestOutage>,
    /// The reason why the model has failed.
    failure: Option<String>,
}

impl GuestOutages {
    /// Asks the model, if there is one.
    fn of(guest: Option<&GuestFaults>, clusters: &[ClusterSpec], rng: Stream) -> Self {
        let Some(guest) = guest else {
            return Self::default();
        };
        match guest.model.outages(clusters, guest.horizon, rng) {
            Ok(all) => Self::checked(all, clusters.len()),
            Err(message) => Self::failed(message),
        }
    }

    fn failed(message: String) -> Self {
        Self {
            all: Vec::new(),
            failure: Some(message),
        }
    }

    fn checked(all: Vec<GuestOutage>, clusters: usize) -> Self {
        let unknown = all.iter().find(|outage| outage.cluster >= clusters);
        match unknown {
            Some(outage) => Self::failed(format!(
                "an outage must name a site from 0 to {}, not {}",
                clusters.saturating_sub(1),
                outage.cluster
            )),
            None => Self { all, failure: None },
        }
    }

    /// Returns whether the run has such outages.
    pub(super) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the outages that cut a cluster off from the management cluster.
    pub(super) fn offline(&self) -> impl Iterator<Item = &GuestOutage> {
        self.all.iter().filter(|outage| outage.cuts.is_offline())
    }
}

impl World<'_> {
    /// Returns why a failure model of another program has failed. `None`: it has not.
    #[must_use]
    pub fn failure_of_guest(&self) -> Option<&str> {
        self.faults.guests.failure.as_deref()
    }

    /// Asks the model for the outages of this run, and schedules them.
    pub(super) fn start_guest_outages(&mut self, queue: &mut Queue) {
        let faults = &self.spec.faults;
        if faults.guest.is_none() {
            return;
        }
        let rng = self.streams.stream("guest faults", "outages");
        let outages = GuestOutages::of(faults.guest.as_ref(), &self.spec.clusters, rng);
        for (at, outage) in outages.all.iter().enumerate() {
            let number = at as u32;
            let from = SimTime::ZERO + outage.from;
            if outage.from == SimDuration::ZERO {
                self.clusters[outage.cluster].facts.offline |= outage.cuts.is_offline();
            }
            self.faults
                .schedule(from, FaultEvent::GuestBegins(number), queue);
            self.faults
                .schedule(from + outage.lasts, FaultEvent::GuestEnds(number), queue);
        }
        self.faults.guests = outages;
    }

    pub(super) fn guest_begins(&mut self, number: usize, queue: &mut Queue) {
        let outage = self.faults.guests.all[number];
        self.clusters[outage.cluster].repairs_due += u32::from(outage.cuts.is_waited_for());
        self.cut(ClusterId::at(outage.cluster), outage.cuts, queue);
    }

    pub(super) fn guest_ends(&mut self, number: usize, queue: &mut Queue) {
        let outage = self.faults.guests.all[number];
        self.clusters[outage.cluster].repairs_due -= u32::from(outage.cuts.is_waited_for());
        self.repair(ClusterId::at(outage.cluster), outage.cuts, queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EventQueue, dist};
    use crate::world::faults::spec::{OutageWindow, RegionalOutageSpec};
    use crate::world::spec::{PlatformSpec, WorldSpec};
    use crate::world::testing::bare_world;

    /// One outage of the first cluster, from 10 s to 30 s, or whatever the test needs.
    #[derive(Debug)]
    struct OneOutage(GuestOutage);

    impl OutageModel for OneOutage {
        fn outages(
            &self,
            _: &[ClusterSpec],
            _: SimDuration,
            _: Stream,
        ) -> Result<Vec<GuestOutage>, String> {
            Ok(vec![self.0])
        }
    }

    /// An outage at a random time, or none.
    #[derive(Debug)]
    struct RandomOutage;

    impl OutageModel for RandomOutage {
        fn outages(
            &self,
            _: &[ClusterSpec],
            horizon: SimDuration,
            mut rng: Stream,
        ) -> Result<Vec<GuestOutage>, String> {
            let from = SimDuration::from_secs_f64(dist::unit(&mut rng) * horizon.as_secs_f64());
            Ok(vec![outage(0, from.as_secs_f64(), 1.0)])
        }
    }

    fn outage(cluster: usize, from: f64, lasts: f64) -> GuestOutage {
        GuestOutage {
            cluster,
            from: SimDuration::from_secs_f64(from),
            lasts: SimDuration::from_secs_f64(lasts),
            cuts: CutKind::Management,
        }
    }

    fn with_model(model: impl OutageModel + 'static) -> WorldSpec {
        let mut world = bare_world(2);
        world.faults.guest = Some(GuestFaults {
            model: Arc::new(model),
            horizon: SimDuration::from_secs(1_000),
        });
        world
    }

    /// Returns the times at which the first cluster loses and gets back its connection, in seconds.
    fn changes(spec: &WorldSpec, replicate: u32) -> Vec<f64> {
        let mut queue = EventQueue::new();
        let mut world = World::new(spec, &PlatformSpec::INSTANT, 7, replicate, &mut queue);
        let mut times = Vec::new();
        let mut is_online = world.is_online(ClusterId(0));
        while let Some((_, event)) = queue.pop() {
            world.handle(event, &mut queue);
            if world.is_online(ClusterId(0)) != is_online {
                is_online = !is_online;
                times.push(queue.now().as_secs_f64());
            }
        }
        times
    }

    #[test]
    fn an_outage_of_a_model_is_one_window_of_a_regional_outage() {
        let own = with_model(OneOutage(outage(0, 10.0, 20.0)));
        let mut regional = bare_world(2);
        regional.faults.regional.push(RegionalOutageSpec {
            clusters: vec![0],
            cuts: CutKind::Management,
            windows: vec![OutageWindow {
                from: SimDuration::from_secs(10),
                lasts: SimDuration::from_secs(20),
            }],
            ..RegionalOutageSpec::default()
        });
        assert_eq!(changes(&own, 0), [10.0, 30.0]);
        assert_eq!(changes(&own, 0), changes(&regional, 0));
    }

    #[test]
    fn the_outages_of_a_replicate_are_always_the_same() {
        let world = with_model(RandomOutage);
        assert_eq!(changes(&world, 3), changes(&world, 3));
        assert_ne!(changes(&world, 3), changes(&world, 4));
    }

    #[test]
    fn an_unknown_cluster_is_the_models_failure() {
        let spec = with_model(OneOutage(outage(2, 0.0, 1.0)));
        let mut queue = EventQueue::new();
        let world = World::new(&spec, &PlatformSpec::INSTANT, 1, 0, &mut queue);
        assert_eq!(
            world.failure_of_guest(),
            Some("an outage must name a site from 0 to 1, not 2")
        );
    }

    #[test]
    fn a_cluster_that_is_out_until_the_horizon_is_never_online() {
        let spec = with_model(OneOutage(outage(0, 0.0, 500.0)));
        let mut queue = EventQueue::new();
        let mut world = World::new(&spec, &PlatformSpec::INSTANT, 1, 0, &mut queue);
        while queue.peek_time() == Some(SimTime::ZERO)
            && let Some((_, event)) = queue.pop()
        {
            world.handle(event, &mut queue);
        }
        assert_eq!(world.ever_online(SimTime::from_secs(500)), [false, true]);
        assert_eq!(world.ever_online(SimTime::from_secs(501)), [true, true]);
    }
}
