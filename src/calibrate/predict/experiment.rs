//! Predicts a rollout with an experiment and the calibrated settings, and compares it with the rollout's events.

use super::{RUNS, real_pods, record};
use crate::calibrate::events::ContainerStart;
use crate::calibrate::rates::PullModel;
use crate::engine::Observer;
use crate::results::PredictionRecord;
use crate::scenario::Experiment;
use crate::sim;
use crate::stats;
use crate::units::{SimDuration, SimTime};
use crate::world::{Distribution, DurationModel, Event, WorkloadEvent, WorldSpec};

/// The calibrated settings of nodes and registry.
#[derive(Clone, Debug)]
pub(in crate::calibrate) struct CalibratedNode {
    pub(in crate::calibrate) model: PullModel,
    /// Measured values of `node.sandbox`.
    pub(in crate::calibrate) sandbox: Vec<f64>,
    /// Measured values of `node.startOverhead`.
    pub(in crate::calibrate) start_overhead: Vec<f64>,
}

impl CalibratedNode {
    /// Replaces settings with their calibrated values.
    fn apply(&self, world: &mut WorldSpec) {
        self.model.apply(world);
        if !self.sandbox.is_empty() {
            world.node.sandbox = empirical(&self.sandbox);
        }
        if !self.start_overhead.is_empty() {
            world.node.start_overhead = empirical(&self.start_overhead);
        }
    }
}

/// Returns durations that are drawn from measured ones.
fn empirical(measured: &[f64]) -> DurationModel {
    let seconds = stats::sorted(measured).into_iter();
    let values: Vec<SimDuration> = seconds.map(SimDuration::from_secs_f64).collect();
    Distribution::Empirical(values.into())
}

/// Records the starts of containers during a run.
#[derive(Debug, Default)]
struct Starts {
    /// The start times in seconds.
    seconds: Vec<f64>,
}

impl Observer<Event> for Starts {
    fn observe(&mut self, now: SimTime, event: &Event) {
        if matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))) {
            self.seconds.push(now.as_secs_f64());
        }
    }
}

/// Runs the first variant of an experiment with the calibrated settings. `None`: the events have no pods, or the
/// experiment starts no container.
///
/// # Errors
/// Returns an error message if the experiment starts an external process or has several applications, which
/// predictions do not support.
pub(in crate::calibrate) fn of_experiment(
    starts: &[ContainerStart],
    experiment: &Experiment,
    settings: &CalibratedNode,
    seed: u64,
) -> Result<Option<PredictionRecord>, String> {
    let Some(first) = experiment.variants.first() else {
        return Ok(None);
    };
    if first.scenario.starts_commands() {
        return Err(
            "its first variant starts a process; name an experiment whose first variant does not"
                .to_owned(),
        );
    }
    if first.scenario.has_several_applications() {
        return Err("it has several applications; name an experiment with one".to_owned());
    }
    let mut variant = first.clone();
    let mut world = (*variant.scenario.world).clone();
    settings.apply(&mut world);
    variant.scenario.world = world.into();
    let mut runs = Vec::new();
    for replicate in 0..RUNS.min(experiment.replicates.max(1)) {
        let mut started = Starts::default();
        let record = sim::run_observed(&variant, seed, replicate, &mut started)
            .map_err(|error| error.to_string())?;
        for seconds in &mut started.seconds {
            *seconds = (*seconds - record.run.release_s).max(0.0);
        }
        runs.push(started.seconds);
    }
    let pods = real_pods(starts);
    let Some(mut record) = record(&pods, &runs, Vec::new()) else {
        return Ok(None);
    };
    record.simulated = format!("{}, variant {}", experiment.name, first.label);
    Ok(Some(record))
}
