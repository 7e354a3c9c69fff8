//! What the controller sees of a bundle, and what it stores of it: the bundle's flags, its clusters, and their
//! `BundleDeployment` objects.
//!
//! Follows the storing of deployments in `internal/cmd/controller/reconciler/bundle_controller.go`. Left out: the
//! content of a deployment (options, values), `dependsOn` and labels, none of which decides anything in a pass.

use super::super::{Action, Pass, Revision, TargetId};
use super::status::BundleStatus;

/// One bundle as the management cluster has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleView {
    /// The bundle's `spec.paused`, which a GitRepo's sets.
    pub paused: bool,
    /// One for each cluster, in the order of the list that the scheduler was made with.
    pub clusters: Vec<ClusterView>,
}

/// One cluster as a target of the bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterView {
    /// The deployment id that the bundle means for this cluster now.
    pub wanted: Revision,
    /// Whether the bundle's targeting selects the cluster.
    pub targeted: bool,
    /// The cluster has a namespace (`status.namespace`). Without one no deployment can be stored.
    pub registered: bool,
    /// The cluster's `spec.paused`.
    pub paused: bool,
    /// It is under a Schedule, and no window is open.
    pub off_schedule: bool,
    /// The stored deployment. `None`: there is none.
    pub deployment: Option<BundleDeployment>,
}

/// A `BundleDeployment`: what one cluster is to run, is told to run, and says it runs. An id that is `None` is empty.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BundleDeployment {
    /// `spec.stagedDeploymentID`: what the controller intends next.
    pub staged: Option<Revision>,
    /// `spec.deploymentID`: what the cluster's agent is told to run.
    pub deployed: Option<Revision>,
    /// `status.appliedDeploymentID`: what the agent says it applied.
    pub applied: Option<Revision>,
    /// `status.ready`, as the agent reported it.
    pub ready: bool,
    /// `status.nonModified`: no drift.
    pub non_modified: bool,
    /// The condition `Deployed` is False: the last attempt to apply failed.
    pub failed: bool,
    /// `spec.paused`: the agent is told to do nothing.
    pub paused: bool,
    /// `spec.offSchedule`: the agent is told to do nothing until its window opens.
    pub off_schedule: bool,
}

impl ClusterView {
    /// A registered target that runs nothing yet.
    #[must_use]
    pub const fn new(wanted: Revision) -> Self {
        Self { wanted, targeted: true, registered: true, paused: false, off_schedule: false, deployment: None }
    }

    /// A registered target that runs `revision`, ready, and wants nothing else.
    #[must_use]
    pub const fn settled(revision: Revision) -> Self {
        Self { deployment: Some(BundleDeployment::settled(revision)), ..Self::new(revision) }
    }

    /// Whether the cluster runs what it is to run and is ready. A cluster without a deployment does not.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.deployment.is_some_and(|deployment| {
            let wanted = Some(self.wanted);
            deployment.deployed == wanted && deployment.applied == wanted && deployment.ready
        })
    }
}

impl BundleDeployment {
    /// One that runs `revision`, ready, with nothing else intended.
    #[must_use]
    pub const fn settled(revision: Revision) -> Self {
        let id = Some(revision);
        Self {
            staged: id,
            deployed: id,
            applied: id,
            ready: true,
            non_modified: true,
            failed: false,
            paused: false,
            off_schedule: false,
        }
    }

    /// Fleet's own notion: the agent has not applied what it was told, or is not ready. What is *wanted* does not
    /// matter: a healthy cluster on an old version is available.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.applied != self.deployed || !self.ready
    }
}

impl BundleView {
    /// Stores what a pass decided: its actions, and on every deployment of a registered target whether it is paused
    /// or off schedule. A pass that failed stores nothing.
    ///
    /// # Panics
    /// If an action is none of Fleet's, or names a cluster that is not in the view or a deployment that does not exist.
    pub fn store(&mut self, pass: &Pass<BundleStatus>) {
        if pass.status.error.is_some() {
            return;
        }
        for action in &pass.actions {
            match *action {
                Action::Create { target } => *self.deployment(target) = Some(BundleDeployment::default()),
                Action::Delete { target } => *self.deployment(target) = None,
                Action::Stage { target, revision } => self.existing(target).staged = Some(revision),
                Action::Deploy { target, revision } => self.existing(target).deployed = Some(revision),
                Action::RequestApproval { .. } | Action::Scale { .. } => panic!("Fleet does not ask for {action:?}"),
            }
        }
        if pass.status.stores_flags {
            for cluster in self.clusters.iter_mut().filter(|cluster| cluster.targeted && cluster.registered) {
                if let Some(deployment) = &mut cluster.deployment {
                    deployment.paused = cluster.paused || self.paused;
                    deployment.off_schedule = cluster.off_schedule;
                }
            }
        }
    }

    /// Whether every target runs what it is to run and is ready, also those that no partition holds.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.clusters.iter().filter(|cluster| cluster.targeted).all(ClusterView::is_done)
    }

    fn deployment(&mut self, target: TargetId) -> &mut Option<BundleDeployment> {
        &mut self.clusters[target.index()].deployment
    }

    fn existing(&mut self, target: TargetId) -> &mut BundleDeployment {
        self.deployment(target).as_mut().expect("a deployment is created before it is changed")
    }
}
