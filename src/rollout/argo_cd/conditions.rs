//! The words of an ApplicationSet's status: its conditions, and the rows of its applications.
//!
//! Follows `applicationset/progressivesync/{progressive_sync,validation_issues}.go` and
//! `setApplicationSetStatusCondition` in `applicationset/controllers/applicationset_controller.go`.
//! `InvalidRolloutConfig` exists from v3.6 on. The recorded rollouts in `tests/conformance/closed-loop/argocd` contain
//! these words. Left out: `ParametersGenerated`, because generators never fail here.

use std::collections::BTreeMap;

use super::super::ObjectCondition;
use super::row::{ApplicationStatus, Message, RolloutStatus};
use super::status::{ErrorOccurred, Rollout, RolloutConfig};
use super::steps::IssueKind;
use super::view::ApplicationSetView;
use super::{ApplicationSetStatus, ArgoCd, ArgoCdVersion};

/// Applications of the largest set whose rows are shown one by one.
const ROWS_SHOWN: usize = 100;

const ALL_GENERATED: &str = "All applications have been generated successfully";

impl ArgoCd {
    /// The conditions of the set called `name` after its last pass.
    #[must_use]
    pub fn set_conditions(&self, name: &str, view: &ApplicationSetView) -> Vec<ObjectCondition> {
        let object = format!("ApplicationSet/{name}");
        let condition = |kind: &str, status: &str, reason: &str, message: String| {
            ObjectCondition::new(&object, kind, status, reason, message)
        };
        let mut list = Vec::new();
        let error = match self.conditions.error {
            None => None,
            Some(ErrorOccurred::No) => Some(None),
            Some(ErrorOccurred::Validation { .. }) => {
                Some(Some(("ApplicationValidationError", self.validation_message(view))))
            }
            Some(ErrorOccurred::NoSteps) => {
                Some(Some(("ApplicationSetRolloutError", "No steps defined for rollout".to_owned())))
            }
        };
        match error {
            None => {}
            Some(None) => {
                list.push(condition("ErrorOccurred", "False", "ApplicationSetUpToDate", ALL_GENERATED.to_owned()));
                list.push(condition("ResourcesUpToDate", "True", "ApplicationSetUpToDate", ALL_GENERATED.to_owned()));
            }
            Some(Some((reason, message))) => {
                list.push(condition("ErrorOccurred", "True", reason, message.clone()));
                list.push(condition("ResourcesUpToDate", "False", "ErrorOccurred", message));
            }
        }
        list.push(match self.conditions.rollout {
            None => ObjectCondition::absent(&object, "RolloutProgressing"),
            Some(Rollout::Complete) => condition(
                "RolloutProgressing",
                "False",
                "ApplicationSetRolloutComplete",
                "ApplicationSet Rollout has completed".to_owned(),
            ),
            Some(Rollout::Progressing(step)) => condition(
                "RolloutProgressing",
                "True",
                "ApplicationSetModified",
                format!("ApplicationSet is performing rollout of step {step}"),
            ),
        });
        if self.options.version >= ArgoCdVersion::V3_6 {
            list.push(match self.conditions.config {
                None => ObjectCondition::absent(&object, "InvalidRolloutConfig"),
                Some(RolloutConfig::Valid) => condition(
                    "InvalidRolloutConfig",
                    "False",
                    "ApplicationSetValidRolloutConfig",
                    "Rolling Sync Configured correctly".to_owned(),
                ),
                Some(RolloutConfig::Invalid(kind)) => condition(
                    "InvalidRolloutConfig",
                    "True",
                    "ApplicationSetInvalidRolloutConfig",
                    self.issue_message(kind),
                ),
            });
        }
        list
    }

    /// The rows of the set called `name` after a pass with this status: as the pass wrote them before it promoted any,
    /// and after the promotion. A set of more than 100 applications shows only their number by status.
    #[must_use]
    pub fn row_conditions(&self, name: &str, status: &ApplicationSetStatus) -> [Vec<ObjectCondition>; 2] {
        let object = format!("ApplicationSet/{name}");
        let counts = self.row_counts();
        let counted = [
            (counts.waiting, RolloutStatus::Waiting),
            (counts.pending, RolloutStatus::Pending),
            (counts.progressing, RolloutStatus::Progressing),
            (counts.healthy, RolloutStatus::Healthy),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let text: Vec<String> = counted.map(|(count, status)| format!("{status}({count})")).collect();
        let count = ObjectCondition::field(&object, "applicationStatus", text.join("; "));
        if self.names.len() > ROWS_SHOWN {
            return [Vec::new(), vec![count]];
        }
        let (mut before, mut after) = (Vec::new(), vec![count]);
        let promoted: BTreeMap<usize, Message> =
            status.promoted.iter().map(|(target, message)| (target.index(), *message)).collect();
        for (index, (name, row)) in self.names.iter().zip(&self.rows).enumerate() {
            let condition = row_condition(&object, name, row.as_ref());
            match (promoted.get(&index), row) {
                (Some(&message), Some(row)) => {
                    let row = ApplicationStatus { status: RolloutStatus::Waiting, message, ..row.clone() };
                    before.push(row_condition(&object, name, Some(&row)));
                    after.push(condition);
                }
                _ => before.push(condition),
            }
        }
        [before, after]
    }

    /// Only the last invalid application by name gets into the message.
    fn validation_message(&self, view: &ApplicationSetView) -> String {
        let is_invalid = |index: &&u32| {
            view.applications[**index as usize].generated.as_ref().is_some_and(|generated| !generated.valid)
        };
        let invalid: Vec<u32> = self.by_name.iter().filter(is_invalid).copied().collect();
        let Some((last, others)) = invalid.split_last() else { return String::new() };
        let name = &self.names[*last as usize];
        let message = format!(
            "application destination spec is invalid: error getting cluster by server \"https://{name}\": rpc error: \
             code = NotFound desc = cluster \"https://{name}\" not found"
        );
        if others.is_empty() { message } else { format!("{message} (and {} more)", others.len()) }
    }

    fn issue_message(&self, kind: IssueKind) -> String {
        let issues = &self.plan.issues;
        match kind {
            IssueKind::Operator => {
                let operators: Vec<&str> = issues.operators.iter().map(|(_, operator)| operator.as_str()).collect();
                let steps = numbers(issues.operators.iter().map(|(step, _)| *step), ", ");
                let (noun, verb) = if operators.len() == 1 { ("Step", "has") } else { ("Steps", "have") };
                format!(
                    "{noun} {steps} {verb} invalid matchExpression operators: {}. Supported Operators are 'In' and 'NotIn'",
                    operators.join(", ")
                )
            }
            IssueKind::Duplicate => {
                let mut duplicates: Vec<(&str, String)> = issues
                    .duplicates
                    .iter()
                    .map(|(index, steps)| (self.names[*index as usize].as_str(), numbers(steps.iter().copied(), "-")))
                    .collect();
                duplicates.sort();
                let (names, steps): (Vec<&str>, Vec<String>) = duplicates.into_iter().unzip();
                if names.len() == 1 {
                    format!("Application '{}' is selected by multiple steps: ({})", names[0], steps[0])
                } else {
                    format!(
                        "Applications '{}' are selected by multiple steps: [({})]",
                        names.join("', '"),
                        steps.join("), (")
                    )
                }
            }
            IssueKind::MaxUpdate => {
                let configured = self.spec.steps().ok().flatten().unwrap_or_default();
                let budgets = self.budgets(&self.plan);
                let unreadable = (0..).zip(configured.iter().zip(budgets)).filter(|(_, (_, it))| it.is_unreadable);
                let (steps, values): (Vec<u32>, Vec<String>) = unreadable
                    .map(|(step, (of, _))| (step, of.max_update.as_ref().map(ToString::to_string).unwrap_or_default()))
                    .unzip();
                let (numbers, values) = (numbers(steps.iter().copied(), ", "), values.join(", "));
                if steps.len() == 1 {
                    format!("Step {numbers} has an invalid maxUpdate value: {values}")
                } else {
                    format!("Steps {numbers} have invalid maxUpdate values: [{values}]")
                }
            }
            IssueKind::EmptyStep => {
                let steps = numbers(issues.empty_steps.iter().copied(), " ");
                format!("Steps [{steps}] have no applications matching their criteria")
            }
        }
    }
}

/// Steps as the product counts them, from 1.
fn numbers(steps: impl Iterator<Item = u32>, separator: &str) -> String {
    steps.map(|step| (step + 1).to_string()).collect::<Vec<_>>().join(separator)
}

fn row_condition(object: &str, name: &str, row: Option<&ApplicationStatus>) -> ObjectCondition {
    let condition = format!("applicationStatus/{name}");
    let Some(row) = row else { return ObjectCondition::absent(object, &condition) };
    let step = row.step.map_or_else(|| "step -1".to_owned(), |step| format!("step {step}"));
    ObjectCondition::new(object, &condition, &row.status.to_string(), &step, text(row.message))
}

const fn text(message: Message) -> &'static str {
    match message {
        Message::Empty => "",
        Message::New => "No Application status found, defaulting status to Waiting",
        Message::Revision => "Application has pending changes, setting status to Waiting",
        Message::Spec => "Application has pending changes (spec differs), setting status to Waiting",
        Message::RevisionAndSpec => {
            "Application has pending changes (revision and spec differ), setting status to Waiting"
        }
        Message::SyncedHealthy => "Application resource has synced, updating status to Healthy",
        Message::SyncedNotHealthy => "Application resource has synced, updating status to Progressing",
        Message::Promoted => {
            "Application moved to Pending status, watching for the Application resource to start Progressing"
        }
        Message::OperationRunning => {
            "Application resource became Progressing, updating status from Pending to Progressing"
        }
        Message::OperationSucceeded => {
            "Application resource completed a sync successfully, updating status from Pending to Progressing"
        }
        Message::OperationFailed => {
            "Application resource completed a sync, updating status from Pending to Progressing"
        }
        Message::ApplicationError => "Application resource has error and cannot sync, updating status to Progressing",
        Message::Arrived => "Application resource became Healthy, updating status from Progressing to Healthy",
    }
}
