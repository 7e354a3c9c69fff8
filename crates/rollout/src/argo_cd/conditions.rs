//! An ApplicationSet's status as it is shown: its conditions, and the rows of its applications.
//!
//! Follows `applicationset/progressivesync/{progressive_sync,validation_issues}.go` and
//! `setApplicationSetStatusCondition` in `applicationset/controllers/applicationset_controller.go`.
//! `InvalidRolloutConfig` exists since v3.6. The recorded rollouts in `tests/closed-loop/argocd` contain these
//! conditions. Left out: the wording of most messages, and `ParametersGenerated`, because generators never fail here.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::super::ObjectCondition;
use super::limit::limit;
use super::row::{ApplicationStatus, Message, RolloutStatus};
use super::status::{ErrorOccurred, Rollout, RolloutConfig};
use super::steps::IssueKind;
use super::view::ApplicationView;
use super::{ApplicationSetStatus, ArgoCd, ArgoCdVersion};

/// Maximum size of a set whose rows are shown individually.
const ROWS_SHOWN: usize = 100;

impl ArgoCd {
    /// Returns the conditions of the set called `name` after its last pass.
    pub fn set_conditions(&self, name: &str, view: &[ApplicationView]) -> Vec<ObjectCondition> {
        let object = format!("ApplicationSet/{name}");
        let mut list = Vec::new();
        if let Some(error) = self.conditions.error {
            list.extend(self.error_conditions(&object, error, view));
        }
        list.push(self.rollout_condition(&object));
        if self.options.version >= ArgoCdVersion::V3_6 {
            list.push(self.config_condition(&object));
        }
        list
    }

    /// Returns `ErrorOccurred` and its opposite, `ResourcesUpToDate`.
    fn error_conditions(
        &self,
        object: &str,
        error: ErrorOccurred,
        view: &[ApplicationView],
    ) -> [ObjectCondition; 2] {
        let (reason, message) = match error {
            ErrorOccurred::No => {
                let reason = "ApplicationSetUpToDate";
                return [
                    ObjectCondition::new(object, "ErrorOccurred", "False", reason, ""),
                    ObjectCondition::new(object, "ResourcesUpToDate", "True", reason, ""),
                ];
            }
            ErrorOccurred::NoSteps => ("ApplicationSetRolloutError", "No steps defined".to_owned()),
            ErrorOccurred::Validation { .. } => {
                ("ApplicationValidationError", self.validation_message(view))
            }
        };
        [
            ObjectCondition::new(object, "ErrorOccurred", "True", reason, message.clone()),
            ObjectCondition::new(
                object,
                "ResourcesUpToDate",
                "False",
                "ErrorOccurred",
                message,
            ),
        ]
    }

    fn rollout_condition(&self, object: &str) -> ObjectCondition {
        let kind = "RolloutProgressing";
        match self.conditions.rollout {
            None => ObjectCondition::absent(object, kind),
            Some(Rollout::Complete) => {
                ObjectCondition::new(object, kind, "False", "ApplicationSetRolloutComplete", "")
            }
            Some(Rollout::Progressing(step)) => {
                let message = format!("performing rollout of step {step}");
                ObjectCondition::new(object, kind, "True", "ApplicationSetModified", message)
            }
        }
    }

    fn config_condition(&self, object: &str) -> ObjectCondition {
        let kind = "InvalidRolloutConfig";
        match self.conditions.config {
            None => ObjectCondition::absent(object, kind),
            Some(RolloutConfig::Valid) => ObjectCondition::new(
                object,
                kind,
                "False",
                "ApplicationSetValidRolloutConfig",
                "",
            ),
            Some(RolloutConfig::Invalid(issue)) => {
                let reason = "ApplicationSetInvalidRolloutConfig";
                ObjectCondition::new(object, kind, "True", reason, self.issue_message(issue))
            }
        }
    }

    /// Returns the rows of the set called `name` after a pass with this status: first as the pass wrote them before
    /// the promotion, then after it. For a set of more than 100 applications, returns only the number of rows by
    /// status.
    pub fn row_conditions(
        &self,
        name: &str,
        status: &ApplicationSetStatus,
    ) -> [Vec<ObjectCondition>; 2] {
        let object = format!("ApplicationSet/{name}");
        let count = ObjectCondition::field(&object, "applicationStatus", self.counted_rows());
        if self.names.len() > ROWS_SHOWN {
            return [Vec::new(), vec![count]];
        }
        let mut messages_before: BTreeMap<usize, Message> = BTreeMap::new();
        for (target, message) in &status.promoted {
            messages_before.insert(target.index(), *message);
        }
        let mut before = Vec::new();
        let mut after = vec![count];
        for (index, (name, row)) in self.names.iter().zip(&self.rows).enumerate() {
            let condition = row_condition(&object, name, row.as_ref());
            if let Some(&message) = messages_before.get(&index)
                && let Some(row) = row
            {
                let waiting = ApplicationStatus {
                    status: RolloutStatus::Waiting,
                    message,
                    ..row.clone()
                };
                before.push(row_condition(&object, name, Some(&waiting)));
                after.push(condition);
            } else {
                before.push(condition);
            }
        }
        [before, after]
    }

    /// Formats the number of rows by status: `Waiting(3); Healthy(2)`.
    fn counted_rows(&self) -> String {
        let mut texts = Vec::new();
        for (count, status) in self.row_counts().into_iter().zip(RolloutStatus::ALL) {
            if count > 0 {
                texts.push(format!("{status:?}({count})"));
            }
        }
        texts.join("; ")
    }

    /// Returns the message about invalid applications. The message names only the last of them, by name.
    fn validation_message(&self, view: &[ApplicationView]) -> String {
        let mut invalid = self.by_name.clone();
        invalid.retain(|index| view[*index as usize].is_invalid());
        let Some((last, others)) = invalid.split_last() else {
            return String::new();
        };
        let message = format!(
            "application destination spec is invalid: {}",
            self.names[*last as usize]
        );
        if others.is_empty() {
            message
        } else {
            format!("{message} (and {} more)", others.len())
        }
    }

    fn issue_message(&self, kind: IssueKind) -> String {
        let issues = &self.plan.issues;
        let mut found = Vec::new();
        let issue = match kind {
            IssueKind::Operator => {
                for (step, operator) in &issues.operators {
                    found.push(format!("{} has `{operator}`", step_name(*step)));
                }
                "unknown operator"
            }
            IssueKind::Duplicate => {
                for (application, steps) in &issues.duplicates {
                    let name = &self.names[*application as usize];
                    let steps = steps.iter().copied().map(step_name).join(" and ");
                    found.push(format!("{name} in {steps}"));
                }
                "application in several steps"
            }
            IssueKind::MaxUpdate => {
                for (index, step) in (0..).zip(self.spec.rolling_steps()) {
                    if let Some(value) = &step.max_update
                        && limit(Some(value), 1).is_unreadable
                    {
                        found.push(format!("{} has `{value}`", step_name(index)));
                    }
                }
                "unreadable maxUpdate"
            }
            IssueKind::EmptyStep => {
                found.extend(issues.empty_steps.iter().copied().map(step_name));
                "empty step"
            }
        };
        format!("{issue}: {}", found.join(", "))
    }
}

/// Returns the name of a step that is counted from 0.
fn step_name(step: u32) -> String {
    format!("step {}", step + 1)
}

fn row_condition(object: &str, name: &str, row: Option<&ApplicationStatus>) -> ObjectCondition {
    let condition = format!("applicationStatus/{name}");
    let Some(row) = row else {
        return ObjectCondition::absent(object, &condition);
    };
    let step = match row.step {
        Some(step) => format!("step {step}"),
        None => "step -1".to_owned(),
    };
    ObjectCondition::new(
        object,
        &condition,
        &format!("{:?}", row.status),
        &step,
        row.message.to_string(),
    )
}
