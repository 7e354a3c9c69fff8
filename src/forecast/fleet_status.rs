//! The objects of Fleet: Bundles and BundleDeployments.

use super::fields::{ManagedObject, ShownObject, ShownSpec};
use super::messages;
use super::product::ShownProduct;
use super::status::{COMMAND, ShownConditions, ShownRollout, ShownSince, ShownTarget, refused};
use crate::calibrate::time::Nanos;
use crate::document::problem::{OrProblems, any_of};
use crate::scenario::import::objects::ExportObject;
use crate::sim::SeenState;

/// The name prefix of the bundles of Fleet's own agents, one for each cluster.
const OF_AGENT: &str = "fleet-agent-";

/// The states of a BundleDeployment.
const STATES: [&str; 7] = [
    "Ready",
    "NotReady",
    "WaitApplied",
    "ErrApplied",
    "OutOfSync",
    "Pending",
    "Modified",
];

impl ShownRollout {
    /// Adds a Bundle. The rollout starts at the last write of the Bundle's specification; `kubectl
    /// --show-managed-fields` prints its time.
    pub(super) fn bundle(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ManagedObject = object.read()?;
        if read.metadata.name.starts_with(OF_AGENT) {
            return Ok(());
        }
        if *read.spec.paused {
            let help =
                "resume it, with `paused: false` in the GitRepo or the Bundle, and export again";
            return Err(refused(
                object,
                "spec.paused",
                "the bundle is paused, so no other cluster is updated",
                help,
            ));
        }
        for (at, field) in read.metadata.managed_fields.iter().enumerate() {
            if field.fields.get("f:spec").is_some() {
                let name = format!("metadata.managedFields[{at}].time");
                let written = self.time(object, &name, field.time.as_deref())?;
                self.released = self.released.max(written);
            }
        }
        Ok(())
    }

    /// Adds a BundleDeployment, whose cluster is a target.
    pub(super) fn bundle_deployment(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        self.product = Some(ShownProduct::Fleet);
        let label = read.metadata.labels.get("fleet.cattle.io/cluster");
        let Some(name) = label.cloned() else {
            return Err(refused(
                object,
                "metadata.labels",
                "the label `fleet.cattle.io/cluster` is missing",
                &format!("export it with its labels: `{COMMAND}`"),
            ));
        };
        if let Some(bundle) = read.metadata.labels.get("fleet.cattle.io/bundle-name") {
            if bundle.starts_with(OF_AGENT) {
                return Ok(());
            }
            self.bundles.insert(bundle.clone());
        }
        let since = self.since(object, ShownConditions::of(&read), "Ready", "True")?;
        let state = state_of_deployment(&read);
        let ready = if state == SeenState::Ready {
            ShownSince::time(since)
        } else {
            None
        };
        let unready = self.since(object, ShownConditions::of(&read), "Ready", "False")?;
        let is_paused = *read.spec.paused;
        known_display(object, &read)?;
        let written = self.deployment_written(object)?;
        if state == SeenState::Waiting {
            self.staged_by(written);
        }
        let is_unanswered =
            state == SeenState::Updating && read.status.applied != read.spec.deployment;
        self.targets.push(ShownTarget {
            name,
            state,
            instructed: written.filter(|_| state != SeenState::Waiting),
            ready,
            since: ShownSince::time(unready).or(written),
            is_unanswered,
            is_paused,
            message: messages::of_bundle_deployment(&read),
            ..ShownTarget::default()
        });
        Ok(())
    }

    /// Returns when the bundle controller last wrote the ids of a BundleDeployment. `None`: the export has no managed
    /// fields. It writes `stagedDeploymentID` at the release and `deploymentID` when it instructs the cluster.
    fn deployment_written(&mut self, object: &ExportObject<'_>) -> OrProblems<Option<Nanos>> {
        let read: ManagedObject = object.read()?;
        let mut written = None;
        for (at, field) in read.metadata.managed_fields.iter().enumerate() {
            let spec = field.fields.get("f:spec");
            if spec.is_some_and(|spec| spec.get("f:stagedDeploymentID").is_some()) {
                let name = format!("metadata.managedFields[{at}].time");
                written = written.max(self.time(object, &name, field.time.as_deref())?);
            }
        }
        Ok(written)
    }

    /// Adds the time at which the release was staged for a waiting cluster. It is the start if no Bundle shows one.
    fn staged_by(&mut self, written: Option<Nanos>) {
        self.staged = match (self.staged, written) {
            (Some(known), Some(time)) => Some(known.min(time)),
            (known, time) => known.or(time),
        };
    }
}

/// Rejects a state that is none of Fleet's (`BundleState` in `pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go` of
/// rancher/fleet at 3b2c622), because its meaning for the rollout is unknown.
fn known_display(object: &ExportObject<'_>, read: &ShownObject) -> OrProblems<()> {
    let state = read.status.display.state.as_str();
    if state.is_empty() || STATES.contains(&state) {
        return Ok(());
    }
    let message = format!("unknown state `{state}`");
    let help = format!(
        "a BundleDeployment of a known version of Fleet is {}",
        any_of(&STATES)
    );
    Err(refused(object, "status.display.state", &message, &help))
}

/// Returns the progress of the update in a BundleDeployment.
fn state_of_deployment(read: &ShownObject) -> SeenState {
    let ShownSpec {
        deployment, staged, ..
    } = &*read.spec;
    let status = &read.status;
    let is_applied = status.applied.is_some() && status.applied == *deployment;
    if deployment.is_none() || (staged.is_some() && staged != deployment) {
        SeenState::Waiting
    } else if is_applied && status.ready {
        SeenState::Ready
    } else if status.display.state == "ErrApplied" || is_applied && has_ended(read) {
        SeenState::Failed
    } else {
        SeenState::Updating
    }
}

/// Returns whether Fleet has given up the apply of a BundleDeployment: the id counts as applied, and `Installed` is
/// False (`deployErrToStatus` in `internal/cmd/agent/deployer/deployer.go` of rancher/fleet at 3b2c622).
fn has_ended(read: &ShownObject) -> bool {
    let conditions = ShownConditions::of(read);
    conditions.position("Installed", "False").is_some()
}
