//! Outages of several clusters at once: a region, or all that a selector selects, is cut off or has a brownout in the same
//! windows.
//!
//! The windows are given, or drawn as those of a single cluster are (`renewal`), once for all of them. An outage of its own
//! (`outage`) may overlap: a cluster is back when nothing cuts it off any more.
//!
//! Left out: a region that comes back cluster by cluster, and a brownout of the link that a region's clusters share.

use crate::engine::EntityKey;
use crate::units::SimTime;
use crate::world::World;
use crate::world::event::Queue;
use crate::world::faults::FaultEvent;
use crate::world::faults::renewal::Renewal;
use crate::world::faults::spec::RegionalOutageSpec;
use crate::world::faults::spec::RegionalTimes;
use crate::world::ids::ClusterId;

impl RegionalTimes {
    const fn renewal(&self) -> Option<Renewal<'_>> {
        match self {
            Self::Windows(_) => None,
            Self::Drawn { between, repair } => Some(Renewal {
                between,
                repair,
                phase: "regional outage phase",
                failing: "time to regional outage",
                repairing: "regional outage",
            }),
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
        self.regional_turns.push(0);
        if let RegionalTimes::Windows(windows) = &spec.times {
            for &(from, span) in windows {
                let from = SimTime::ZERO + from;
                self.schedule_fault(from, FaultEvent::RegionalBegins { at: number }, queue);
                self.schedule_fault(from + span, FaultEvent::RegionalEnds { at: number }, queue);
            }
        } else if let Some(renewal) = spec.times.renewal() {
            let standing = renewal.start(&self.streams, EntityKey::of(&spec.name));
            self.regional_turns[at] = standing.turn;
            if standing.is_down {
                for &cluster in &spec.clusters {
                    self.clusters[cluster].facts.offline |= spec.cuts.is_offline();
                }
                self.cut_region(at, queue);
                self.schedule_fault(standing.until, FaultEvent::RegionalEnds { at: number }, queue);
            } else {
                self.schedule_fault(standing.until, FaultEvent::RegionalBegins { at: number }, queue);
            }
        }
    }

    fn cut_region(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        for &cluster in &spec.clusters {
            self.clusters[cluster].repairs_due += u32::from(spec.cuts.is_waited_for());
            self.cut(ClusterId::at(cluster), spec.cuts, queue);
        }
    }

    pub(super) fn regional_begins(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        self.cut_region(at, queue);
        if let Some(renewal) = spec.times.renewal() {
            let lasts = renewal.repair_time(&self.streams, EntityKey::of(&spec.name), self.regional_turns[at]);
            self.schedule_fault(queue.now() + lasts, FaultEvent::RegionalEnds { at: at as u32 }, queue);
        }
    }

    pub(super) fn regional_ends(&mut self, at: usize, queue: &mut Queue) {
        let spec = self.regional(at);
        for &cluster in &spec.clusters {
            self.clusters[cluster].repairs_due -= u32::from(spec.cuts.is_waited_for());
            self.repair(ClusterId::at(cluster), spec.cuts, queue);
        }
        if let Some(renewal) = spec.times.renewal() {
            self.regional_turns[at] += 1;
            let next = renewal.time_to_failure(&self.streams, EntityKey::of(&spec.name), self.regional_turns[at]);
            self.schedule_fault(queue.now() + next, FaultEvent::RegionalBegins { at: at as u32 }, queue);
        }
    }
}
