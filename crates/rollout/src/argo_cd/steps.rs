//! The applications of each step, and errors in the steps.
//!
//! Follows `applicationset/progressivesync/{progressive_sync,validation_issues}.go`. These are not Kubernetes'
//! selectors: only `In` and `NotIn` exist; with any other operator an expression matches applications without the
//! label and no others.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::label_selector::Labels;
use super::config::{MatchExpression, RolloutStep};

/// The steps of a strategy with their applications.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// For each step its applications in the order of the generators, as indices. One that matches several steps is in
    /// several lists.
    pub lists: Vec<Vec<u32>>,
    /// For each application the first step that selects it, counted from 0. `None`: in no step.
    pub step_of: Vec<Option<u32>>,
    /// Errors in the steps, other than an unreadable `maxUpdate`.
    pub issues: Issues,
}

/// Errors in the steps. None of them stops a rollout. Steps are counted from 0.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Issues {
    /// An operator that is neither `In` nor `NotIn`, once for each step and text, where an application has the label.
    pub operators: Vec<(u32, String)>,
    /// Applications that several steps select, with these steps.
    pub duplicates: Vec<(u32, Vec<u32>)>,
    /// Steps without an application.
    pub empty_steps: Vec<u32>,
}

/// The kind of error that the condition `InvalidRolloutConfig` reports: only the first of these.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum IssueKind {
    /// An unknown operator.
    Operator,
    /// An application in several steps.
    Duplicate,
    /// A `maxUpdate` that cannot be read.
    MaxUpdate,
    /// A step without an application.
    EmptyStep,
}

impl Issues {
    /// The reported kind, if any.
    pub fn reported(&self, is_max_update_unreadable: bool) -> Option<IssueKind> {
        [
            (IssueKind::Operator, !self.operators.is_empty()),
            (IssueKind::Duplicate, !self.duplicates.is_empty()),
            (IssueKind::MaxUpdate, is_max_update_unreadable),
            (IssueKind::EmptyStep, !self.empty_steps.is_empty()),
        ]
        .into_iter()
        .find_map(|(kind, is_found)| is_found.then_some(kind))
    }
}

impl MatchExpression {
    /// Whether the expression holds for these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        match (self.operator.as_str(), labels.get(&self.key)) {
            ("In", Some(value)) => self.values.contains(value),
            ("NotIn", Some(value)) => !self.values.contains(value),
            (_, Some(_)) => false,
            (operator, None) => operator != "In",
        }
    }
}

impl Steps {
    /// Assigns applications to steps by their generated labels (`buildAppDependencyList`). `None`: not generated.
    pub fn new(steps: &[RolloutStep], labels: &[Option<Arc<Labels>>]) -> Self {
        let mut lists = vec![Vec::new(); steps.len()];
        let mut step_of = vec![None; labels.len()];
        let (mut issues, mut operators) = (Issues::default(), BTreeSet::new());
        let mut several = Vec::new();
        for (application, labels) in (0..).zip(labels) {
            let Some(labels) = labels else { continue };
            several.clear();
            for (index, step) in (0..).zip(steps) {
                // Upstream stops at the first expression that fails; later ones are not evaluated.
                let failed = step
                    .match_expressions
                    .iter()
                    .find(|expression| !expression.matches(labels));
                match failed {
                    None => several.push(index),
                    Some(MatchExpression { key, operator, .. })
                        if !matches!(operator.as_str(), "In" | "NotIn")
                            && labels.contains_key(key) =>
                    {
                        operators.insert((index, operator.clone()));
                    }
                    Some(_) => {}
                }
            }
            several
                .iter()
                .for_each(|step| lists[*step as usize].push(application));
            step_of[application as usize] = several.first().copied();
            if several.len() > 1 {
                issues.duplicates.push((application, several.clone()));
            }
        }
        issues.operators = operators.into_iter().collect();
        issues.empty_steps = (0..)
            .zip(&lists)
            .filter(|(_, list)| list.is_empty())
            .map(|(index, _)| index)
            .collect();
        Self {
            lists,
            step_of,
            issues,
        }
    }

    /// The steps that select an application, counted from 0.
    pub fn steps_of(&self, application: u32) -> impl Iterator<Item = u32> {
        // The list of applications in several steps is in their order.
        let several = self
            .issues
            .duplicates
            .binary_search_by_key(&application, |(other, _)| *other);
        let several = several.map_or(&[][..], |at| &self.issues.duplicates[at].1);
        let only = self.step_of[application as usize].filter(|_| several.is_empty());
        several.iter().copied().chain(only)
    }

    /// The step whose budget counts an application: its own, or the first if it is in no step or nothing rolls.
    pub fn counted_in(&self, application: usize) -> usize {
        self.step_of
            .get(application)
            .copied()
            .flatten()
            .unwrap_or(0) as usize
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
    fn an_expression_matches_as_in_argo_cd() {
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
