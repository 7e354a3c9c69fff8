//! A user's operations on an app's deployments: create, continue after a pause, cancel.
//!
//! Follows `app/actions/deployment_{create,continue,cancel}.rb`. Each is one transaction: a failure changes nothing. A
//! rolling deployment cannot be paused. While a deployment is deploying or paused, the API rejects scaling the app.

use super::super::Revision;
use super::RuleSet;
use super::quota::Usage;
use super::request::{DeploymentOptions, DeploymentStrategy};
use super::view::{AppView, Deployment, DeploymentState};

/// The reason why the API rejects a request. Its `Display` is the message to the user.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The surge, or the final size, does not fit into a quota.
    #[error("{0}")]
    Quota(String),
    /// A canary deployment without a step. The product fails (HTTP 500) and creates nothing.
    #[error("a canary deployment needs at least one step (the product fails with NoMethodError)")]
    EmptySteps,
    /// The deployment does not exist.
    #[error("Deployment not found")]
    NotFound,
    /// The deployment cannot be continued because it is not paused. Contains its status value and reason.
    #[error("Cannot continue a deployment with status: {0} and reason: {1}")]
    Continue(&'static str, &'static str),
    /// The deployment cannot be cancelled because it has finished. Contains its status value and reason.
    #[error("Cannot cancel a deployment with status: {0} and reason: {1}")]
    Cancel(&'static str, &'static str),
}

impl AppView {
    /// Creates a deployment of `revision` and starts its first instances, before any pass. Returns the deployment's
    /// index in [`AppView::deployments`]; the new process is the last in [`AppView::processes`].
    ///
    /// The shipped rules start min(max in flight, all) instances for rolling, and one for canary. The documented rules
    /// start up to max in flight of the instances that the rollout or its first step needs, and never exceed the app's
    /// instances plus max in flight.
    ///
    /// # Errors
    /// If a quota has no room, or the options are invalid. In both cases nothing changes.
    ///
    /// # Panics
    /// If the app has no process.
    pub fn create(
        &mut self,
        rules: RuleSet,
        options: &DeploymentOptions,
        revision: Revision,
    ) -> Result<usize, ApiError> {
        if options.strategy == DeploymentStrategy::Canary
            && options.canary_steps.as_ref().is_some_and(Vec::is_empty)
        {
            return Err(ApiError::EmptySteps);
        }
        let newest = self.processes.last().expect("an app has a web process");
        let memory_in_mb = options.memory_in_mb.unwrap_or(newest.memory_in_mb);
        if self.started && (options.web_instances.is_some() || options.memory_in_mb.is_some()) {
            // Check only the final size: the newest process at its final size, with all others unchanged.
            let instances = options.web_instances.unwrap_or(newest.instances);
            let mut usage = Usage::default().with(instances, memory_in_mb);
            for process in &self.processes[..self.processes.len() - 1] {
                usage = usage.with(process.instances, process.memory_in_mb);
            }
            self.admit(usage)?;
        }
        let original_instances = match self.active() {
            Some(active) => active.original_instances,
            None => self.processes[0].instances,
        };
        let mut deployment = Deployment::new(options, original_instances, self.revision);
        if self.started {
            let room = match rules {
                RuleSet::Shipped => u64::MAX,
                RuleSet::Documented => super::documented::room(&deployment, &self.processes),
            };
            let instances = deployment.first_batch(rules).min(room) as u32;
            self.admit(self.usage().with(instances, memory_in_mb))?;
            let process = self.add_process(revision, instances);
            process.memory_in_mb = memory_in_mb;
            deployment.process = Some(process.id);
            for deployment in &mut self.deployments {
                if deployment.is_active() {
                    deployment.supersede();
                }
            }
        } else {
            self.start(options, memory_in_mb, revision)?;
            deployment.state = DeploymentState::Deployed;
        }
        self.revision = revision;
        self.deployments.push(deployment);
        Ok(self.deployments.len() - 1)
    }

    /// Continues a paused deployment: to its next step or, after the last one, to all instances. Scaling begins in the
    /// next pass.
    ///
    /// # Errors
    /// If the deployment does not exist or is not paused.
    pub fn continue_deployment(&mut self, index: usize) -> Result<(), ApiError> {
        let deployment = self.deployments.get_mut(index).ok_or(ApiError::NotFound)?;
        if deployment.state != DeploymentState::Paused {
            return Err(ApiError::Continue(deployment.value(), deployment.reason()));
        }
        let steps = match &deployment.options.canary_steps {
            Some(steps) => steps.len() as u32,
            None => 0,
        };
        match &mut deployment.canary_current_step {
            Some(current) if *current < steps => {
                *current += 1;
                deployment.state = DeploymentState::Prepaused;
            }
            _ => deployment.state = DeploymentState::Deploying,
        }
        Ok(())
    }

    /// Reverts the app to its previous version; the next pass restarts all its instances simultaneously. Cancelling
    /// twice is allowed.
    ///
    /// # Errors
    /// If the deployment does not exist or has finished.
    pub fn cancel_deployment(&mut self, index: usize) -> Result<(), ApiError> {
        let deployment = self.deployments.get_mut(index).ok_or(ApiError::NotFound)?;
        if !deployment.is_active() {
            return Err(ApiError::Cancel(deployment.value(), deployment.reason()));
        }
        deployment.state = DeploymentState::Canceling;
        self.revision = deployment.previous_revision;
        Ok(())
    }

    /// Checks that all processes of the app fit into the quotas.
    fn admit(&self, usage: Usage) -> Result<(), ApiError> {
        match self.quota.exceeded_by(usage) {
            None => Ok(()),
            Some(exceeded) => Err(ApiError::Quota(self.quota.creation_error(&exceeded))),
        }
    }

    /// Starts a stopped app with the new version.
    fn start(
        &mut self,
        options: &DeploymentOptions,
        memory_in_mb: u32,
        revision: Revision,
    ) -> Result<(), ApiError> {
        let mut processes = self.processes.clone();
        let newest = processes.last_mut().expect("it was read before");
        newest.instances = options.web_instances.unwrap_or(newest.instances);
        newest.memory_in_mb = memory_in_mb;
        for process in &mut processes {
            process.revision = revision;
        }
        let mut usage = Usage::default();
        for process in &processes {
            usage = usage.with(process.instances, process.memory_in_mb);
            self.admit(usage)?;
        }
        self.processes = processes;
        self.started = true;
        Ok(())
    }
}
