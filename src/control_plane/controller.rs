//! The seam between a product and everything else: one state machine for each product.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Clusters, Plane, StatusLog};
use crate::process::ProcessError;
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, Report};

/// A person's act in mid-rollout.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Another revision is released.
    Release(Revision),
    /// The rollout is stopped, or resumed.
    Stop(bool),
    /// The clusters' object has other labels now.
    Labels(ClusterId, Labels),
    /// A cluster leaves what the rollout selects, or comes to it.
    Selected(ClusterId, bool),
    /// A person approves a stage, before it begins or after its end.
    Approve {
        /// The stage's name.
        stage: String,
        /// Before the stage, not after it.
        before: bool,
    },
    /// An object that the rollout goes by has these fields now, in the product's own words.
    Edited(serde_json::Value),
    /// An object that the rollout goes by is deleted.
    Deleted(RolloutObject),
}

/// An object of a product that a rollout goes by.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RolloutObject {
    /// The placement that picks the clusters.
    Placement,
    /// The strategy that orders the clusters.
    Strategy,
}

/// An input of a controller.
#[derive(Clone, Copy, Debug)]
pub enum ControllerInput<'a> {
    /// The new revision is released. The controller has only observed until now.
    Released,
    /// The controller knows of a cluster's report.
    Report(Report),
    /// A timer of [`Plane::timer`] goes off, by its number.
    Timer(u32),
    /// The status that [`Plane::shows`] announced was shown; passes that wait may begin.
    Shown,
    /// The controller's cache shows what a person has changed.
    Person(&'a Change),
    /// A cluster is cut off from the management cluster (`false`), or is back. For external processes only.
    Link(ClusterId, bool),
    /// Nothing happens in the world before this time, or ever before the horizon. For external processes only.
    Quiet(Option<SimTime>),
    /// The world is over, and the controller may go on until it reports completion. For external processes only.
    Over,
}

/// Facts about a controller that hold for a whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// It looks at the progress deadlines of Deployments. They are simulated for such a controller only.
    pub sees_progress_deadlines: bool,
    /// It knows no paused clusters: `paused` has no meaning.
    pub ignores_pause: bool,
    /// It reports the completion of a rollout itself. A run then waits for that report.
    pub reports_completion: bool,
    /// Delay from the arrival of a report in the management cluster to [`ControllerInput::Report`]. `None`: the watch
    /// delay.
    pub report_delay: Option<SimDuration>,
    /// It is a process that keeps its own time.
    pub is_process: bool,
}

/// One product's controller during one run.
pub trait Controller {
    /// Facts that hold for the whole run.
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// Takes one input at `now`, and acts on `plane`. It has no clock and no queue of its own.
    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>);

    /// Whether the product sees the target on its wanted revision and ready.
    fn is_done(&self, cluster: ClusterId) -> bool;

    /// Whether the product never updates a target by its own settings. It counts as paused.
    fn leaves_alone(&self, _cluster: ClusterId) -> bool {
        false
    }

    /// Whether nothing that is scheduled here would change anything while the world stays as it is. A rollout counts as
    /// stalled then. A product that polls by a timer, or retries what must fail, answers this question.
    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        false
    }

    /// The rule that blocks the rollout now.
    fn hold(&self) -> Option<Hold>;

    /// The stage that each target is in, for people; empty for none.
    fn stages(&self) -> Vec<String>;

    /// Shows the conditions that people see on the product's objects: at the start, after [`Plane::shows`], at the end.
    fn show(&mut self, _log: &mut StatusLog) {}

    /// The purpose of a pending timer, in words for a count of such timers. `None`: it has no name.
    fn timer_kind(&self, _number: u32) -> Option<&'static str> {
        None
    }

    /// Most instances of all versions that existed at a time. `None`: they are not counted.
    fn peak_instances(&self) -> Option<u64> {
        None
    }

    /// The run is over. Returns the error that ended the controller's process, if any.
    fn finish(&mut self) -> Option<ProcessError> {
        None
    }
}
