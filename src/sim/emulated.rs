//! One rollout in real time, in which real machines carry out the pulls.
//!
//! The control plane, agents, pods and kubelets are simulated with the usual random numbers, and events happen at
//! their times on the laboratory's clock. The laboratory carries out each pull and reports its end. The records are
//! those of a simulated run, except that bytes and requests are measured.
//!
//! Left out: the time that fleetsim itself needs for an event. An event's time is its due time, so pulls look longer
//! if fleetsim is late. The laboratory knows the delay.

use super::{RunFailure, Sim, conclude};
use crate::engine::{End, EventQueue, Model, Observer};
use crate::results::RunRecord;
use crate::scenario::Variant;
use crate::units::{BytesPerSec, SimTime};
use crate::world::{Event, PullError, PullId, PullOrder, Queue, Totals};

/// Real machines that pull images, and their clock. The laboratory observes each event just before it happens.
pub trait Laboratory: Observer<Event> {
    /// The laboratory's error if it cannot continue.
    type Error: From<RunFailure>;

    /// Starts a pull.
    ///
    /// # Errors
    /// Returns an error if the pull cannot be started.
    fn begin(&mut self, order: PullOrder) -> Result<(), Self::Error>;

    /// Waits until `due`, or until an earlier observation.
    ///
    /// # Errors
    /// Returns an error if the run must not continue.
    fn wait(&mut self, due: SimTime) -> Result<LabObservation, Self::Error>;

    /// Returns the totals measured since the start, as input for [`crate::world::World::measure_totals`].
    ///
    /// # Errors
    /// Returns an error if the totals cannot be read.
    fn totals(&mut self) -> Result<Totals, Self::Error>;
}

/// A laboratory's observations at the end of a wait.
#[derive(Clone, Debug, Default)]
pub struct LabObservation {
    /// The time on the laboratory's clock.
    pub now: SimTime,
    /// Pulls that have ended since the previous observation.
    pub ended: Vec<EndedPull>,
    /// The registry's egress. `None`: no new measurement.
    pub egress: Option<MeasuredEgress>,
}

/// A pull that a laboratory has carried out.
#[derive(Clone, Copy, Debug)]
pub struct EndedPull {
    /// The number of the pull in its order.
    pub pull: PullId,
    /// The time at which the pull ended.
    pub at: SimTime,
    /// The error, if the pull failed.
    pub error: Option<PullError>,
}

/// The measured egress of a laboratory's registry.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredEgress {
    /// The rate at which the registry sends.
    pub rate: BytesPerSec,
    /// Whether the rate equals the registry's capacity.
    pub is_at_capacity: bool,
}

/// Runs one variant in real time, with pulls carried out by `laboratory`.
///
/// # Errors
/// Returns an error if the laboratory cannot continue, or the run fails as in [`super::run`].
pub fn run_emulated<L: Laboratory>(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    laboratory: &mut L,
) -> Result<RunRecord, L::Error> {
    let mut queue = EventQueue::new();
    let label = format!("{}, replicate {replicate}", variant.label);
    let mut sim = Sim::new(&variant.scenario, &label, seed, replicate, &mut queue);
    sim.world.order_pulls();
    sim.record_statuses();
    let horizon = SimTime::ZERO + variant.scenario.horizon;
    let end = drive(&mut sim, &mut queue, laboratory, horizon)?;
    sim.world.measure_totals(laboratory.totals()?);
    Ok(conclude(sim, &mut queue, end, variant, replicate)?)
}

/// Handles events when they are due, until the run is over.
fn drive<L: Laboratory>(
    sim: &mut Sim<'_>,
    queue: &mut Queue,
    laboratory: &mut L,
    horizon: SimTime,
) -> Result<End, L::Error> {
    let mut now = SimTime::ZERO;
    let mut egress = None;
    loop {
        while !sim.is_over(queue)
            && let Some((at, event)) = queue.pop_until(now)
        {
            laboratory.observe(at, &event);
            sim.handle(event, queue);
            for order in sim.world.take_orders() {
                laboratory.begin(order)?;
            }
        }
        if sim.is_over(queue) {
            return Ok(End::Stopped);
        }
        if now == horizon {
            return Ok(End::Horizon);
        }
        if let Some(MeasuredEgress {
            rate,
            is_at_capacity,
        }) = egress.take()
        {
            sim.world.measure_egress(now, rate, is_at_capacity);
        }
        let next = queue.peek_time().unwrap_or(horizon).min(horizon);
        let observed = laboratory.wait(next)?;
        // No event may happen before the last measurement, so a pull ends at `now` at the earliest.
        for EndedPull { pull, at, error } in observed.ended {
            sim.world.order_ends(pull, at.max(now), error, queue);
        }
        now = observed.now.clamp(now, horizon);
        egress = observed.egress;
    }
}
