//! The interface between a product and the rest of fleetsim. Each product is one state machine.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Plane, StatusLog, TargetStates};
use crate::process::ProcessError;
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, Report, TargetId};

/// A person's action during a rollout.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Another revision is released.
    Release(Revision),
    /// The rollout is stopped (`true`) or resumed (`false`).
    Stop(bool),
    /// The labels of the cluster's object change.
    Labels(ClusterId, Labels),
    /// A target joins (`true`) or leaves (`false`) the selection of the rollout.
    Selected(TargetId, bool),
    /// A person approves a stage, before it begins or after its end.
    Approve {
        /// The stage's name.
        stage: String,
        /// Whether the approval is before the stage; otherwise it is after the stage.
        before: bool,
    },
    /// Somebody edited an object that controls the rollout. The object now has these fields of the product.
    Edited(serde_json::Value),
    /// Somebody deleted an object that controls the rollout.
    Deleted(RolloutObject),
}

/// An object of a product that controls a rollout.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RolloutObject {
    /// The ApplicationSet of Argo CD.
    ApplicationSet,
    /// The placement that picks the clusters.
    Placement,
    /// The strategy that orders the clusters.
    Strategy,
}

/// An input of a controller.
#[derive(Clone, Copy, Debug)]
pub enum ControllerInput<'a> {
    /// The new revision is released. Before this input the controller only observes.
    Released,
    /// A target's report arrives at the controller.
    Report(Report),
    /// A timer set with [`Plane::timer`] fires. The number identifies it.
    Timer(u32),
    /// The conditions announced with [`Plane::shows`] were collected, so waiting passes may begin.
    Shown,
    /// The controller's cache shows a person's change.
    Person(&'a Change),
    /// A target's cluster was cut off from the management cluster (`false`) or has returned (`true`). For external
    /// processes only.
    Link(TargetId, bool),
    /// A shared part of the hub may be free for this application, or has something for it. Only if there are several.
    HubTurn,
    /// Nothing happens in the world before this time, or before the horizon if `None`. For external processes only.
    Quiet(Option<SimTime>),
    /// The simulated world has ended. The controller may continue until it reports completion. For external processes
    /// only.
    Over,
}

/// Facts about a controller that hold during the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// Whether the controller considers the progress deadlines of Deployments, which are simulated only in that case.
    pub sees_progress_deadlines: bool,
    /// Whether the product cannot pause clusters, so that `paused` has no effect.
    pub ignores_pause: bool,
    /// Whether the controller itself reports the completion of a rollout. A run then waits for that report.
    pub reports_completion: bool,
    /// Delay from the arrival of a report in the management cluster to [`ControllerInput::Report`]. `None`: the watch
    /// delay.
    pub report_delay: Option<SimDuration>,
    /// Whether the controller is an external process with its own clock.
    pub is_process: bool,
}

/// One product's controller during one run.
pub trait Controller {
    /// Returns facts about the controller that hold during the whole run.
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// Handles one input at `now`, and acts through `plane`. A controller has neither a clock nor an event queue.
    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>);

    /// Returns whether the product sees the target as ready on its wanted revision.
    fn is_done(&self, target: TargetId) -> bool;

    /// Returns whether the product's own settings exclude a target from updates. Such a target counts as paused.
    fn leaves_alone(&self, _target: TargetId) -> bool {
        false
    }

    /// Returns true if no pending step can change anything until the world changes. The rollout then counts as
    /// stalled. Relevant for products that poll by a timer or retry failing operations.
    fn is_idle(&self, _targets: &dyn TargetStates) -> bool {
        false
    }

    /// Returns the rule that blocks the rollout now.
    fn hold(&self) -> Option<Hold>;

    /// Returns the names of each target's stages, for people. Empty if there are no stages.
    fn stages(&self) -> Vec<String>;

    /// Shows the conditions that people see on the product's objects. Called at the start, after [`Plane::shows`], and
    /// at the end.
    fn show(&mut self, _log: &mut StatusLog) {}

    /// Returns the purpose of a pending timer, as a name for counts. `None`: it has no name.
    fn timer_kind(&self, _number: u32) -> Option<&'static str> {
        None
    }

    /// Returns the maximum number of concurrent instances of all versions. `None`: instances are not counted.
    fn peak_instances(&self) -> Option<u64> {
        None
    }

    /// Ends the run. Returns the error that ended the controller's process, if any.
    fn finish(&mut self) -> Option<ProcessError> {
        None
    }
}
