//! A deployment's status as the API shows it.
//!
//! Follows `app/presenters/v3/deployment_presenter.rb`: `status.value`, `status.reason`, for a canary
//! `status.canary.steps`, and `status.details.error`. If no steps are configured, their total is 1.

use super::super::ObjectCondition;
use super::RuleSet;
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
}
