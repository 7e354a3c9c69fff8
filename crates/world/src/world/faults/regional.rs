//! Outages of several clusters together: a region, or all clusters of a selector, is cut off or has a brownout in the
//! same windows.
//!
//! The windows are configured, or drawn once for all these clusters like those of a single cluster (`renewal`). An
//! outage of one cluster (`outage`) may overlap: the cluster reconnects when all outages have ended.
//!
//! Left out: regions that recover cluster by cluster, and brownouts of the link that a region's clusters share.

use crate::engine::EntityKey;
use crate::world::World;
use crate::world::event::{FaultEvent, Queue};
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::renewal::{ProcessState, Renewal};
use crate::world::faults::spec::{FaultSpec, RegionalOutageSpec};
use crate::world::ids::ClusterId;
use fleetsim_units::SimTime;

impl FaultSpec {
    /// Returns the key of each regional outage in the random streams.
    pub(super) fn regional_keys(&self) -> Vec<EntityKey> {
        self.regional
            .iter()
            .enumerate()
            .map(|(at, outage)| outage.key(at))
            .collect()
    }
}

impl RegionalOutageSpec {
    /// Returns the effect of each outage on its clusters.
    #[must_use]
    pub fn cut(&self) -> CutKind {
        self.downlink
            .map_or(self.cuts, |downlink| CutKind::Brownout { downlink })
    }

    /// Returns the outage's key in the random streams, which differs for two outages of the same region.
    pub(super) fn key(&self, at: usize) -> EntityKey {
        let name = match &self.region {
            Some(region) => format!("region {region}"),
            None => format!("regional outage {at}"),
        };
        let is_brownout = matches!(self.cut(), CutKind::Brownout { .. });
        EntityKey::of(&if is_brownout {
            format!("brownout of {name}")
        } else {
            name
        })
    }

    pub(super) const fn renewal(&self) -> Option<Renewal<'_>> {
        match (&self.between, &self.repair) {
            (Some(between), Some(repair)) => Some(Renewal {
                between,
                repair,
                phase: "regional outage phase",
                failing: "time to regional outage",
                repairing: "regional outage",
            }),
            _ => None,
        }
    }
}

impl<'s> World<'s> {
    fn regional(&self, at: usize) -> &'s RegionalOutageSpec {
        let spec: &'s _ = self.spec;
        &spec.faults.regional[at]
    }

    pub(super) fn start_regional(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        let number = at as u32;
        self.faults.regional.push(ProcessState::default());
        for window in &spec.windows {
            let from = SimTime::ZERO + window.from;
            self.faults
                .schedule(from, FaultEvent::RegionalBegins(number), queue);
            self.faults
                .schedule(from + window.lasts, FaultEvent::RegionalEnds(number), queue);
        }
        if let Some(renewal) = spec.renewal() {
            let standing = renewal.start(&self.streams, self.faults.draws.regional(at));
            self.faults.regional[at] = standing;
            if standing.is_down {
                for &cluster in &spec.clusters {
                    self.clusters[cluster].facts.offline |= spec.cut().is_offline();
                }
                self.cut_region(at, queue);
                self.faults
                    .schedule(standing.until, FaultEvent::RegionalEnds(number), queue);
            } else {
                self.faults
                    .schedule(standing.until, FaultEvent::RegionalBegins(number), queue);
            }
        }
    }

    /// Moves the process of a regional outage to its next state. Returns the time at which that state ends.
    fn next_regional(&mut self, at: usize, renewal: Renewal<'_>) -> SimTime {
        let key = self.faults.draws.regional(at);
        let next = renewal.next(&self.streams, key, self.faults.regional[at]);
        self.faults.regional[at] = next;
        next.until
    }

    fn cut_region(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        for &cluster in &spec.clusters {
            self.clusters[cluster].repairs_due += u32::from(spec.cut().is_waited_for());
            self.cut(ClusterId::at(cluster), spec.cut(), queue);
        }
    }

    pub(super) fn regional_begins(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        self.cut_region(at, queue);
        if let Some(renewal) = spec.renewal() {
            let ends = self.next_regional(at, renewal);
            self.faults
                .schedule(ends, FaultEvent::RegionalEnds(at as u32), queue);
        }
    }

    pub(super) fn regional_ends(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        for &cluster in &spec.clusters {
            self.clusters[cluster].repairs_due -= u32::from(spec.cut().is_waited_for());
            self.repair(ClusterId::at(cluster), spec.cut(), queue);
        }
        if let Some(renewal) = spec.renewal() {
            let begins = self.next_regional(at, renewal);
            self.faults
                .schedule(begins, FaultEvent::RegionalBegins(at as u32), queue);
        }
    }
}
