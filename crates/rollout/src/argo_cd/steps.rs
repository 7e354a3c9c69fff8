//! The applications of each step, and errors in the steps.
//!
//! Follows `applicationset/progressivesync/{progressive_sync,validation_issues}.go`. These are not Kubernetes'
//! selectors: only `In` and `NotIn` exist. With any other operator an expression matches only applications without the
//! label.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::label_selector::Labels;
use super::config::{MatchExpression, RolloutStep};

/// The steps of a strategy with their applications.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// The applications of each step in the order of the generators, as indices. An application that matches several
    /// steps is in several lists.
    pub lists: Vec<Vec<u32>>,
    /// For each application, the first step that selects it, counted from 0. `None`: in no step.
    pub step_of: Vec<Option<u32>>,
    /// Errors in the steps, other than an unreadable `maxUpdate`.
    pub issues: Issues,
}

/// Errors in the steps. They never stop a rollout. Steps are counted from 0.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Issues {
    /// Operators that are neither `In` nor `NotIn`, once for each step and text. Only reported if an application has
    /// the label.
    pub operators: Vec<(u32, String)>,
    /// Applications that several steps select, with these steps.
    pub duplicates: Vec<(u32, Vec<u32>)>,
    /// Steps without applications.
    pub empty_steps: Vec<u32>,
}

/// The kind of error that the condition `InvalidRolloutConfig` reports. If there are several, the first in this order
/// is reported.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum IssueKind {
    /// An unknown operator.
    Operator,
    /// An application in several steps.
    Duplicate,
    /// A `maxUpdate` that cannot be read.
    MaxUpdate,
    /// A step without applications.
    EmptyStep,
}

impl Issues {
    /// Returns the reported kind, if any.
    pub fn reported(&self, is_max_update_unreadable: bool) -> Option<IssueKind> {
        if !self.operators.is_empty() {
            Some(IssueKind::Operator)
        } else if !self.duplicates.is_empty() {
            Some(IssueKind::Duplicate)
        } else if is_max_update_unreadable {
            Some(IssueKind::MaxUpdate)
        } else if !self.empty_steps.is_empty() {
            Some(IssueKind::EmptyStep)
        } else {
            None
        }
    }
}

impl MatchExpression {
    /// Returns whether the expression holds for these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        match (self.operator.as_str(), labels.get(&self.key)) {
            ("In", Some(value)) => self.values.contains(value),
            ("NotIn", Some(value)) => !self.values.contains(value),
            (_, Some(_)) => false,
            (operator, None) => operator != "In",
        }
    }
}

/// The result of testing an application with the expressions of a step.
enum StepSelection<'s> {
    Selected,
    NotSelected,
    /// The step does not select the application because of an unknown operator on a label that the application has.
    UnknownOperator(&'s str),
}

impl RolloutStep {
    /// Tests an application. Like upstream, it stops at the first expression that fails.
    fn selection(&self, labels: &Labels) -> StepSelection<'_> {
        for expression in &self.match_expressions {
            if expression.matches(labels) {
                continue;
            }
            let is_known = matches!(expression.operator.as_str(), "In" | "NotIn");
            return if !is_known && labels.contains_key(&expression.key) {
                StepSelection::UnknownOperator(&expression.operator)
            } else {
                StepSelection::NotSelected
            };
        }
        StepSelection::Selected
    }
}

impl Steps {
    /// Assigns applications to steps by their generated labels (`buildAppDependencyList`). `None`: the application is
    /// not generated.
    pub fn new(steps: &[RolloutStep], labels: &[Option<Arc<Labels>>]) -> Self {
        let mut lists = vec![Vec::new(); steps.len()];
        let mut step_of = vec![None; labels.len()];
        let mut issues = Issues::default();
        let mut operators = BTreeSet::new();
        let mut selecting = Vec::new();
        for (application, labels) in (0..).zip(labels) {
            let Some(labels) = labels else { continue };
            selecting.clear();
            for (index, step) in (0..).zip(steps) {
                match step.selection(labels) {
                    StepSelection::Selected => selecting.push(index),
                    StepSelection::NotSelected => {}
                    StepSelection::UnknownOperator(operator) => {
                        operators.insert((index, operator.to_owned()));
                    }
                }
            }
            for step in &selecting {
                lists[*step as usize].push(application);
            }
            step_of[application as usize] = selecting.first().copied();
            if selecting.len() > 1 {
                issues.duplicates.push((application, selecting.clone()));
            }
        }
        issues.operators = operators.into_iter().collect();
        for (index, list) in (0..).zip(&lists) {
            if list.is_empty() {
                issues.empty_steps.push(index);
            }
        }
        Self {
            lists,
            step_of,
            issues,
        }
    }

    /// Returns the steps that select an application, counted from 0.
    pub fn steps_of(&self, application: u32) -> impl Iterator<Item = u32> {
        // The list of applications in several steps is sorted by application.
        let duplicates = &self.issues.duplicates;
        let found = duplicates.binary_search_by_key(&application, |(other, _)| *other);
        let (several, only) = match found {
            Ok(index) => (duplicates[index].1.as_slice(), None),
            Err(_) => (&[][..], self.step_of[application as usize]),
        };
        several.iter().copied().chain(only)
    }

    /// Returns whether any step selects an application; false if nothing rolls.
    pub(super) fn selects(&self, application: u32) -> bool {
        matches!(self.step_of.get(application as usize), Some(Some(_)))
    }

    /// Returns the step whose budget counts an application: its own step, or the first if it is in no step or nothing
    /// rolls.
    pub fn counted_in(&self, application: usize) -> usize {
        match self.step_of.get(application) {
            Some(Some(step)) => *step as usize,
            Some(None) | None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(operator: &str, values: &[&str]) -> MatchExpression {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        MatchExpression {
            key: "env".to_owned(),
            operator: operator.to_owned(),
            values,
        }
    }

    #[test]
    fn a_match_expression_selects_the_same_applications_as_in_argo_cd() {
        let labelled = |value: &str| Labels::from([("env".to_owned(), value.to_owned())]);
        let cases = [
            // operator, values, label, matches, why
            ("In", &["dev", "qa"][..], Some("qa"), true, "one of them"),
            ("In", &["dev"], Some("qa"), false, "none of them"),
            ("In", &["dev"], None, false, "In needs the label"),
            ("In", &[], Some("qa"), false, "no values select nothing"),
            ("In", &[""], Some(""), true, "an empty value is a value"),
            ("NotIn", &["dev"], Some("qa"), true, "none of them"),
            ("NotIn", &["dev"], Some("dev"), false, "one of them"),
            (
                "NotIn",
                &["dev"],
                None,
                true,
                "NotIn does not need the label",
            ),
            ("NotIn", &[], Some("qa"), true, "no values exclude nothing"),
            (
                "Exists",
                &[],
                Some("qa"),
                false,
                "unknown, and the label is there",
            ),
            (
                "Exists",
                &[],
                None,
                true,
                "unknown, and the label is absent: the opposite of its meaning",
            ),
            (
                "in",
                &["qa"],
                Some("qa"),
                false,
                "case counts, so it is unknown",
            ),
        ];
        for (operator, values, label, matches, why) in cases {
            let labels = label.map(labelled).unwrap_or_default();
            assert_eq!(
                expression(operator, values).matches(&labels),
                matches,
                "{operator} {values:?} {label:?}: {why}"
            );
        }
    }
}
