//! Gaps of a cluster's link: seconds in which no data arrives, as over cellular networks and satellites.
//!
//! Gaps alternate with times between gaps, which are exponential. In a gap, transfers over the cluster's downlink
//! stall. The process of a cluster does not depend on its load: it is simulated while the cluster pulls, and catches
//! up at the next pull. Evidence: the one-second samples of Starlink-Project/Satellite-vs-Cellular @79f9412, in which
//! gap lengths are lognormal.
//!
//! Left out: requests and slow starts that a gap delays, and the effect of gaps on instructions and reports, which are
//! short.

use crate::engine::{EntityKey, EventId, Streams};
use crate::world::World;
use crate::world::clusters::site::GapSpec;
use crate::world::event::{Event, FaultEvent, Queue};
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::renewal::{ProcessState, Renewal};
use crate::world::ids::ClusterId;
use crate::world::quantity::DurationModel;
use fleetsim_units::Share;
use fleetsim_units::SimDuration;

const GAP: CutKind = CutKind::Brownout {
    downlink: Share::NONE,
};

/// The process of one cluster's gaps while it pulls.
#[derive(Debug)]
pub(crate) struct GapProcess {
    between: DurationModel,
    state: ProcessState,
    /// The pending end of the current gap, or of the time between two gaps. `None`: the cluster does not pull.
    event: Option<EventId>,
}

impl GapSpec {
    /// Returns the distribution of the time between two gaps.
    fn between(&self) -> DurationModel {
        let share = self.share.get();
        DurationModel::Exponential {
            mean: SimDuration::from_secs_f64(self.length.mean() * (1.0 - share) / share),
        }
    }
}

fn renewal<'s>(between: &'s DurationModel, length: &'s DurationModel) -> Renewal<'s> {
    Renewal {
        between,
        repair: length,
        phase: "gap phase",
        failing: "time to gap",
        repairing: "gap",
    }
}

impl GapProcess {
    /// Returns the process of a link's gaps in its steady state, before it is simulated.
    fn start(spec: &GapSpec, streams: &Streams, cluster: EntityKey) -> Self {
        let between = spec.between();
        let state = renewal(&between, &spec.length).start(streams, cluster);
        Self {
            between,
            state,
            event: None,
        }
    }

    /// Advances to the next gap, or to the next time between two gaps.
    fn advance(&mut self, spec: &GapSpec, streams: &Streams, cluster: EntityKey) {
        let renewal = renewal(&self.between, &spec.length);
        self.state = renewal.next(streams, cluster, self.state);
    }

    /// Schedules the end of the current gap, or of the time between two gaps.
    fn schedule_change(&mut self, id: ClusterId, queue: &mut Queue) {
        let change = Event::Fault(FaultEvent::GapChanges(id));
        self.event = Some(queue.schedule(self.state.until, change));
    }

    const fn is_in_gap(&self) -> bool {
        self.state.is_down
    }
}

impl World<'_> {
    /// Starts the gaps of a cluster that begins to pull.
    pub(crate) fn follow_gaps(&mut self, id: ClusterId, queue: &mut Queue) {
        let Some(spec) = &self.spec.clusters[id.index()].gaps else {
            return;
        };
        if spec.share == Share::NONE {
            return;
        }
        let streams = &self.streams;
        let cluster = &mut self.clusters[id.index()];
        let key = cluster.key;
        let process = cluster
            .gaps
            .get_or_insert_with(|| Box::new(GapProcess::start(spec, streams, key)));
        while process.state.until <= queue.now() {
            process.advance(spec, streams, key);
        }
        process.schedule_change(id, queue);
        if process.is_in_gap() {
            self.cut(id, GAP, queue);
        }
    }

    /// Suspends the gaps of a cluster that no longer pulls.
    pub(crate) fn leave_gaps(&mut self, id: ClusterId, queue: &mut Queue) {
        let Some(process) = &mut self.clusters[id.index()].gaps else {
            return;
        };
        if let Some(event) = process.event.take() {
            queue.cancel(event);
            if process.is_in_gap() {
                self.repair(id, GAP, queue);
            }
        }
    }

    /// Handles the start or end of a gap.
    pub(super) fn gap_changes(&mut self, id: ClusterId, queue: &mut Queue) {
        let spec = self.spec.clusters[id.index()]
            .gaps
            .as_ref()
            .expect("only a link with gaps has them");
        let cluster = &mut self.clusters[id.index()];
        let process = cluster
            .gaps
            .as_mut()
            .expect("a process that continues has begun");
        process.advance(spec, &self.streams, cluster.key);
        process.schedule_change(id, queue);
        if process.is_in_gap() {
            self.cut(id, GAP, queue);
        } else {
            self.repair(id, GAP, queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::testing::{bare_world, fixed, play};
    use fleetsim_units::BytesPerSec;

    #[test]
    fn gaps_delay_a_download_by_their_share_of_time() {
        // 100 MB at 1 MB/s take 100 s, and twice as long if half of the time is a gap. Over 200 clusters the mean has
        // a standard error of about 1%.
        let ready = |share: f64| {
            let mut world = bare_world(200);
            for cluster in &mut world.clusters {
                cluster.downlink = BytesPerSec::new(1e6).into();
                cluster.gaps = Some(GapSpec {
                    share: Share::new(share),
                    length: fixed(SimDuration::from_secs(1)),
                });
            }
            let played = play(&world, 1, SimDuration::from_hours(24));
            let ready: Vec<f64> = played
                .ready_s()
                .into_iter()
                .map(|ready| ready.expect("it ended"))
                .collect();
            ready.iter().sum::<f64>() / ready.len() as f64
        };
        let without = ready(0.0);
        assert!(
            (ready(0.5) / without - 2.0).abs() < 0.04,
            "{} {without}",
            ready(0.5)
        );
        assert!(
            (ready(0.2) / without - 1.25).abs() < 0.04,
            "{} {without}",
            ready(0.2)
        );
    }
}
