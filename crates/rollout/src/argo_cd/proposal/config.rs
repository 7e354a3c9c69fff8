//! The `strategy` as defined in the text of the proposal. Unknown fields are ignored.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::super::label_selector::null_is_default;
use super::super::{IntOrString, MatchExpression, RolloutStep, limit};

/// A whole ApplicationSet file of the proposal.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct ProposalFile {
    /// The specification.
    pub spec: ProposalSpec,
}

/// The part of the `spec` that orders changes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProposalSpec {
    /// The strategy for changing applications. Absent: AllAtOnce.
    #[serde(default, deserialize_with = "null_is_default")]
    pub strategy: ProposalStrategy,
}

/// `spec.strategy`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProposalStrategy {
    /// `RollingUpdate`, or `AllAtOnce`; empty: `AllAtOnce`.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,
    /// The steps of `RollingUpdate`. Absent: no steps.
    pub rolling_update: Option<RollingUpdateBlock>,
}

/// `spec.strategy.rollingUpdate`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub struct RollingUpdateBlock {
    /// The steps in the order in which they are updated. Empty: applications one by one.
    #[serde(default, deserialize_with = "null_is_default")]
    pub steps: Vec<RolloutStep>,
}

/// An error in a strategy. The text lists no errors: values that it does not define are rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct ProposalError {
    /// Path of the field in the `spec`, e.g. `strategy.rollingUpdate.steps[0].maxUpdate`.
    pub field: String,
    problem: ProposalProblem,
}

/// The problem with a field of a strategy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
enum ProposalProblem {
    /// A type that the text does not define.
    #[error("is `{0}`; the proposal has RollingUpdate and AllAtOnce")]
    UnknownType(String),
    /// An operator that the text does not define.
    #[error("has the operator `{0}`; use In or NotIn")]
    UnknownOperator(String),
    /// A `maxUpdate` that is neither a non-negative whole number nor a percentage of at least `0%`.
    #[error("is `{0}`; write a number from 0, or a percentage such as 10%")]
    InvalidMaxUpdate(IntOrString),
}

impl ProposalStrategy {
    /// Returns the steps. `None`: the strategy is AllAtOnce. Empty: applications are updated one by one.
    ///
    /// # Errors
    /// If the strategy is invalid.
    pub fn steps(&self) -> Result<Option<&[RolloutStep]>, ProposalError> {
        match self.kind.as_str() {
            "" | "AllAtOnce" => return Ok(None),
            "RollingUpdate" => {}
            other => {
                return Err(ProposalError {
                    field: "strategy.type".to_owned(),
                    problem: ProposalProblem::UnknownType(other.to_owned()),
                });
            }
        }
        let steps = match &self.rolling_update {
            Some(block) => block.steps.as_slice(),
            None => &[],
        };
        for (index, step) in steps.iter().enumerate() {
            for MatchExpression { operator, .. } in &step.match_expressions {
                if !matches!(operator.as_str(), "In" | "NotIn") {
                    return Err(ProposalError {
                        field: step_at(index),
                        problem: ProposalProblem::UnknownOperator(operator.clone()),
                    });
                }
            }
            limit_of(index, step, 1)?;
        }
        Ok(Some(steps))
    }
}

/// Returns how many of a step's applications are changed concurrently. `None`: all.
pub(super) fn limit_of(
    index: usize,
    step: &RolloutStep,
    total: usize,
) -> Result<Option<usize>, ProposalError> {
    let Some(written) = &step.max_update else {
        return Ok(None);
    };
    let resolved = limit(Some(written), total);
    let is_negative = matches!(written, IntOrString::String(text) if text.starts_with('-'));
    match usize::try_from(resolved.applications.unwrap_or(0)) {
        Ok(applications) if !resolved.is_unreadable && !is_negative => {
            Ok((applications > 0).then_some(applications))
        }
        _ => Err(ProposalError {
            field: step_at(index) + ".maxUpdate",
            problem: ProposalProblem::InvalidMaxUpdate(written.clone()),
        }),
    }
}

fn step_at(index: usize) -> String {
    format!("strategy.rollingUpdate.steps[{index}]")
}
