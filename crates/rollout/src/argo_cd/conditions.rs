//! An ApplicationSet's status as it is shown: its conditions, and the rows of its applications.
//!
//! Follows `applicationset/progressivesync/{progressive_sync,validation_issues}.go` and
//! `setApplicationSetStatusCondition` in `applicationset/controllers/applicationset_controller.go`.
//! `InvalidRolloutConfig` exists from v3.6 on. The recorded rollouts in `tests/closed-loop/argocd` contain
//! these conditions. Left out: the wording of most messages, and `ParametersGenerated`, because generators never fail
//! here.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::super::{IntOrString, ObjectCondition};
use super::limit::limit;
use super::row::{ApplicationStatus, Message, RolloutStatus};
use super::status::{ErrorOccurred, Rollout, RolloutConfig};
use super::steps::IssueKind;
use super::view::ApplicationView;
use super::{ApplicationSetStatus, ArgoCd, ArgoCdVersion};

/// Applications of the largest set whose rows are shown one by one.
const ROWS_SHOWN: usize = 100;

impl ArgoCd {
    /// The conditions of the set called `name` after its last pass.
    pub fn set_conditions(&self, name: &str, view: &[ApplicationView]) -> Vec<ObjectCondition> {
        let object = format!("ApplicationSet/{name}");
        let condition = |kind: &str, shown: Option<(&str, &str, String)>| match shown {
            Some((status, reason, message)) => {
                ObjectCondition::new(&object, kind, status, reason, message)
            }
            None => ObjectCondition::absent(&object, kind),
        };
        let mut list = Vec::new();
        if let Some(error) = self.conditions.error {
            let (occurred, reason, message) = match error {
                ErrorOccurred::No => ("False", "ApplicationSetUpToDate", String::new()),
                ErrorOccurred::NoSteps => (
                    "True",
                    "ApplicationSetRolloutError",
                    "No steps defined".to_owned(),
                ),
                ErrorOccurred::Validation { .. } => (
                    "True",
                    "ApplicationValidationError",
                    self.validation_message(view),
                ),
            };
            let (up_to_date, why) = if occurred == "False" {
                ("True", reason)
            } else {
                ("False", "ErrorOccurred")
            };
            list.push(condition(
                "ErrorOccurred",
                Some((occurred, reason, message.clone())),
            ));
            list.push(condition(
                "ResourcesUpToDate",
                Some((up_to_date, why, message)),
            ));
        }
        let rollout = self.conditions.rollout.map(|rollout| match rollout {
            Rollout::Complete => ("False", "ApplicationSetRolloutComplete", String::new()),
            Rollout::Progressing(at) => (
                "True",
                "ApplicationSetModified",
                format!("performing rollout of step {at}"),
            ),
        });
        list.push(condition("RolloutProgressing", rollout));
        if self.options.version >= ArgoCdVersion::V3_6 {
            let config = self.conditions.config.map(|config| match config {
                RolloutConfig::Valid => {
                    ("False", "ApplicationSetValidRolloutConfig", String::new())
                }
                RolloutConfig::Invalid(of) => (
                    "True",
                    "ApplicationSetInvalidRolloutConfig",
                    self.issue_message(of),
                ),
            });
            list.push(condition("InvalidRolloutConfig", config));
        }
        list
    }

    /// The rows of the set called `name` after a pass with this status: as the pass wrote them before it promoted any,
    /// and after the promotion. A set of more than 100 applications shows only their number by status.
    pub fn row_conditions(
        &self,
        name: &str,
        status: &ApplicationSetStatus,
    ) -> [Vec<ObjectCondition>; 2] {
        let object = format!("ApplicationSet/{name}");
        let counted = self
            .row_counts()
            .into_iter()
            .zip(RolloutStatus::ALL)
            .filter(|(count, _)| *count > 0);
        let text: Vec<String> = counted
            .map(|(count, status)| format!("{status:?}({count})"))
            .collect();
        let count = ObjectCondition::field(&object, "applicationStatus", text.join("; "));
        if self.names.len() > ROWS_SHOWN {
            return [Vec::new(), vec![count]];
        }
        let (mut before, mut after) = (Vec::new(), vec![count]);
        let promoted: BTreeMap<usize, Message> = status
            .promoted
            .iter()
            .map(|(target, message)| (target.index(), *message))
            .collect();
        for (index, (name, row)) in self.names.iter().zip(&self.rows).enumerate() {
            let condition = row_condition(&object, name, row.as_ref());
            match (promoted.get(&index), row) {
                (Some(&message), Some(row)) => {
                    let row = ApplicationStatus {
                        status: RolloutStatus::Waiting,
                        message,
                        ..row.clone()
                    };
                    before.push(row_condition(&object, name, Some(&row)));
                    after.push(condition);
                }
                _ => before.push(condition),
            }
        }
        [before, after]
    }

    /// Only the last invalid application by name gets into the message.
    fn validation_message(&self, view: &[ApplicationView]) -> String {
        let is_invalid = |index: &&u32| {
            view[**index as usize]
                .generated
                .as_ref()
                .is_some_and(|generated| !generated.valid)
        };
        let invalid: Vec<u32> = self.by_name.iter().filter(is_invalid).copied().collect();
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
        let step = |step: u32| format!("step {}", step + 1);
        let (issue, found) = match kind {
            IssueKind::Operator => {
                let text =
                    |(at, operator): &(u32, String)| format!("{} has `{operator}`", step(*at));
                (
                    "unknown operator",
                    issues.operators.iter().map(text).join(", "),
                )
            }
            IssueKind::Duplicate => {
                let steps = |steps: &[u32]| steps.iter().map(|at| step(*at)).join(" and ");
                let text = |(index, list): &(u32, Vec<u32>)| {
                    format!("{} in {}", self.names[*index as usize], steps(list))
                };
                (
                    "application in several steps",
                    issues.duplicates.iter().map(text).join(", "),
                )
            }
            IssueKind::MaxUpdate => {
                let steps = (0..).zip(self.spec.steps().ok().flatten().unwrap_or_default());
                let is_unreadable = |value: &&IntOrString| limit(Some(value), 1).is_unreadable;
                let values = steps.filter_map(|(at, of)| {
                    Some((at, of.max_update.as_ref().filter(is_unreadable)?))
                });
                (
                    "unreadable maxUpdate",
                    values
                        .map(|(at, value)| format!("{} has `{value}`", step(at)))
                        .join(", "),
                )
            }
            IssueKind::EmptyStep => (
                "empty step",
                issues.empty_steps.iter().map(|at| step(*at)).join(", "),
            ),
        };
        format!("{issue}: {found}")
    }
}

fn row_condition(object: &str, name: &str, row: Option<&ApplicationStatus>) -> ObjectCondition {
    let condition = format!("applicationStatus/{name}");
    let Some(row) = row else {
        return ObjectCondition::absent(object, &condition);
    };
    let step = row
        .step
        .map_or_else(|| "step -1".to_owned(), |step| format!("step {step}"));
    ObjectCondition::new(
        object,
        &condition,
        &format!("{:?}", row.status),
        &step,
        row.message.to_string(),
    )
}
