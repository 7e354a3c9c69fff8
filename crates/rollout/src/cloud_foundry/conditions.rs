//! A deployment's status as the API shows it.
//!
//! Follows `app/presenters/v3/deployment_presenter.rb`: `status.value`, `status.reason`, for a canary
//! `status.canary.steps`, and `status.details.error`. If no steps are configured, their total is 1.
//!
//! The line of `cf app` is that of the proposals: "Rolling Deployment currently DEPLOYING (max-in-flight: 2)" of
//! cloud_controller_ng #3878, with the step of "Feature Request: Allow multiple Canary steps". The shipped program
//! writes the same facts in a table.

use super::super::ObjectCondition;
use super::RuleSet;
use super::request::DeploymentStrategy;
use super::view::Deployment;

impl Deployment {
    /// Returns the conditions of the deployment called `name`, as the API shows them.
    pub fn conditions(&self, name: &str, rules: RuleSet) -> Vec<ObjectCondition> {
        let object = format!("Deployment/{name}");
        let message = self.error.clone().unwrap_or_default();
        let mut list = vec![ObjectCondition::new(
            &object,
            "status",
            self.value(),
            self.reason(),
            message,
        )];
        if let Some(current) = self.canary_current_step {
            let total = self.plan(rules).len().max(1);
            list.push(ObjectCondition::field(
                &object,
                "status.canary.steps.current",
                current.to_string(),
            ));
            list.push(ObjectCondition::field(
                &object,
                "status.canary.steps.total",
                total.to_string(),
            ));
        }
        list
    }

    /// The line of `cf app` on this deployment; empty once it is finished.
    pub fn line_of_cf_app(&self, rules: RuleSet) -> ObjectCondition {
        let kind = match self.options.strategy {
            DeploymentStrategy::Rolling => "Rolling",
            DeploymentStrategy::Canary => "Canary",
        };
        let mut line = String::new();
        if self.is_active() {
            let reason = self.reason();
            let most = self.options.max_in_flight;
            line = format!("{kind} Deployment currently {reason} (max-in-flight: {most}");
            if let Some(current) = self.canary_current_step {
                let total = self.plan(rules).len().max(1);
                line.push_str(&format!(", canary-step: {current}/{total}"));
            }
            line.push(')');
        }
        ObjectCondition::field("App/app", "cf app", line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Revision;
    use super::super::DeploymentOptions;
    use super::super::view::DeploymentState;
    use super::*;

    #[test]
    fn the_line_of_cf_app_has_max_in_flight_and_the_step_until_the_end() {
        let line = |options: &DeploymentOptions, state| {
            let mut deployment = Deployment::new(options, 10, Revision(1));
            deployment.state = state;
            deployment.line_of_cf_app(RuleSet::Documented).status
        };
        let rolling = DeploymentOptions {
            max_in_flight: 2,
            ..DeploymentOptions::default()
        };
        assert_eq!(
            line(&rolling, DeploymentState::Deploying),
            "Rolling Deployment currently DEPLOYING (max-in-flight: 2)"
        );
        assert_eq!(line(&rolling, DeploymentState::Deployed), "");
        let canary = DeploymentOptions {
            strategy: DeploymentStrategy::Canary,
            canary_steps: Some(vec![1, 20, 45, 80, 100]),
            max_in_flight: 1,
            ..DeploymentOptions::default()
        };
        assert_eq!(
            line(&canary, DeploymentState::Paused),
            "Canary Deployment currently PAUSED (max-in-flight: 1, canary-step: 1/5)"
        );
    }
}
