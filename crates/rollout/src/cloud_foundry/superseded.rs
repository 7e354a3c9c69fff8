//! An app with a deployment in progress, when another deployment supersedes it.
//!
//! [`AppView::create`] supersedes the deployment, and passes handle its process. Left out: a superseded deployment
//! that had itself superseded another one (so there is one interim process), interim instances that are not routable
//! yet, and a step of 100%, which keeps no old instances.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::Revision;
use super::reports::LrpState;
use super::request::{DeploymentOptions, DeploymentStrategy};
use super::view::{AppView, Deployment, DeploymentState};

/// A deployment that is in progress when the next one is created.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Superseded {
    /// Number of instances of the deployment's process, all of them routable; at least 1.
    pub instances: u32,
    /// The deployment's state.
    pub state: SupersededState,
}

/// The state of a deployment when another one supersedes it, in the product's terms.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum SupersededState {
    /// Rolling, or a canary after its last step. Its instances are replaced in order.
    Deploying,
    /// A canary before a step. The next pass that makes a change removes its instances.
    Prepaused,
    /// A canary at a step. The next pass that makes a change removes its instances.
    Paused,
}

impl SupersededState {
    /// Returns whether a pass immediately removes the instances of a deployment in this state.
    pub const fn is_purged(self) -> bool {
        matches!(self, Self::Prepaused | Self::Paused)
    }
}

impl Superseded {
    /// Returns the number of instances of the oldest process of an app of `instances`: each routable instance has
    /// replaced an old one, except the additional instance of a canary.
    pub const fn oldest_instances(self, instances: u32) -> u32 {
        (instances + self.state.is_purged() as u32).saturating_sub(self.instances)
    }
}

impl AppView {
    /// Creates a started app of `instances` in transition from `oldest` to `interim`, in the state of `superseded`.
    pub fn on_its_way(
        oldest: Revision,
        interim: Revision,
        instances: u32,
        superseded: Superseded,
    ) -> Self {
        let mut app = Self::settled(oldest, superseded.oldest_instances(instances));
        let process = app.add_process(interim, superseded.instances);
        process.lrps = vec![LrpState::Running; superseded.instances as usize].into();
        let process = Some(process.id);
        let is_canary = superseded.state.is_purged();
        let strategy = if is_canary {
            DeploymentStrategy::Canary
        } else {
            DeploymentStrategy::Rolling
        };
        let options = DeploymentOptions {
            strategy,
            ..DeploymentOptions::default()
        };
        let mut deployment = Deployment {
            process,
            ..Deployment::new(&options, instances, oldest)
        };
        if superseded.state == SupersededState::Paused {
            deployment.state = DeploymentState::Paused;
        }
        app.deployments.push(deployment);
        app.revision = interim;
        app
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::TargetId;
    use super::super::{CloudFoundry, CloudFoundryBugs, DeploymentRequest, RuleSet};
    use super::*;

    /// Returns the desired instances of the oldest and the interim process after creation and one pass without a
    /// routable instance.
    fn first_pass(state: SupersededState, defects: CloudFoundryBugs) -> (u32, Option<u32>) {
        let mut app = AppView::on_its_way(
            Revision(1),
            Revision(1),
            10,
            Superseded {
                instances: 5,
                state,
            },
        );
        let options = DeploymentRequest::default()
            .check()
            .expect("an empty request is one");
        app.create(RuleSet::Shipped, &options, Revision(2))
            .expect("there is no quota");
        let updater = &mut CloudFoundry::new(RuleSet::Shipped).with_defects(defects);
        let pass = updater.reconcile(fleetsim_units::SimTime::ZERO, &app);
        app.store(&pass);
        (
            app.processes[0].instances,
            app.process(TargetId(1)).map(|process| process.instances),
        )
    }

    #[test]
    fn a_superseded_canary_is_purged_and_a_superseded_rolling_deployment_is_not() {
        use SupersededState::{Deploying, Paused, Prepaused};
        let all = CloudFoundryBugs::ALL;
        let none = CloudFoundryBugs::NONE;
        let cases = [
            // 5 + 5 equals the app's desired number of instances, and the one new instance is not routable yet, so the
            // pass changes nothing.
            (Deploying, all, (5, Some(5))),
            // 6 + 5 is one too many: one of the 6 is removed, although the purge already removes the 5.
            (Paused, all, (5, Some(0))),
            (Prepaused, all, (5, Some(0))),
            (Paused, none, (6, Some(0))),
        ];
        for (state, defects, expected) in cases {
            assert_eq!(
                first_pass(state, defects),
                expected,
                "{state:?}, {defects:?}"
            );
        }
    }
}
