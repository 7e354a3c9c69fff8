//! Explains a strategy for a set's applications before a rollout: steps and budgets in numbers, and warnings.

use std::fmt;
use std::sync::Arc;

use super::super::label_selector::Labels;
use super::super::text::{NAMED, count, listed};
use super::by_name;
use super::config::{
    ApplicationSetError, ApplicationSetSpec, ApplicationsSync, ControllerOptions, ROLLING_SYNC, RolloutStep,
};
use super::limit::{StepLimit, limit};
use super::steps::Steps;

/// A strategy applied to applications.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationSetExplanation {
    /// Whether syncs are ordered.
    pub rolling: bool,
    /// Applications in all.
    pub applications: usize,
    /// In the order in which they are updated.
    pub steps: Vec<SyncStepExplanation>,
    /// Applications in no step, by name: created and changed like all others, but never synced.
    pub unselected: Vec<String>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// One step of an [`ApplicationSetExplanation`].
#[derive(Clone, Debug, PartialEq)]
pub struct SyncStepExplanation {
    /// As shown by the product, from 1.
    pub number: u32,
    /// The selector of its applications, in words.
    pub selector: String,
    /// Its applications, including those that an earlier step selects too.
    pub count: usize,
    /// The base of `maxUpdate` once all applications exist: applications whose first step this is, and for step 1
    /// also those in no step.
    pub budget_base: usize,
    /// Applications that may be Pending or Progressing. `None`: all. 0 or less: none.
    pub limit: Option<i64>,
    /// Its first applications by name, a few.
    pub first: Vec<String>,
}

impl fmt::Display for SyncStepExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.count > self.first.len() { ", ..." } else { "" };
        write!(f, "step {}: {}", self.number, count(self.count, "application"))?;
        if !self.first.is_empty() {
            write!(f, " ({}{more})", self.first.join(", "))?;
        }
        match self.limit {
            _ if self.count > 0 && self.budget_base == 0 => write!(f, ", each counted in an earlier step")?,
            None => write!(f, ", all at once")?,
            Some(limit) if limit <= 0 => write!(f, ", none is ever synced by the rollout")?,
            Some(limit) => write!(f, ", {limit} at once")?,
        }
        write!(f, "; selected by {}", self.selector)
    }
}

/// Applies the strategy of `spec` to applications with these names and labels.
///
/// # Errors
/// Why the product does not process the set.
pub fn explain(
    spec: &ApplicationSetSpec,
    options: ControllerOptions,
    applications: &[(String, Arc<Labels>)],
) -> Result<ApplicationSetExplanation, ApplicationSetError> {
    let steps = if options.enable_progressive_syncs { spec.steps()? } else { None };
    let names: Vec<String> = applications.iter().map(|(name, _)| name.clone()).collect();
    let order = by_name(&names, |name| name);
    let labels: Vec<_> = applications.iter().map(|(_, labels)| Some(Arc::clone(labels))).collect();
    let plan = Steps::new(steps.unwrap_or_default(), &labels);
    let listed = |test: &dyn Fn(u32) -> bool| -> Vec<String> {
        order.iter().filter(|index| test(**index)).map(|index| names[*index as usize].clone()).collect()
    };
    let explained = (0_u32..).zip(steps.unwrap_or_default()).map(|(index, step)| {
        let list = &plan.lists[index as usize];
        let budget_base = (0..names.len()).filter(|a| plan.counted_in(*a) == index as usize).count();
        SyncStepExplanation {
            number: index + 1,
            selector: selector(step),
            count: list.len(),
            budget_base,
            limit: limit(step.max_update.as_ref(), budget_base).applications,
            first: listed(&|index| list.contains(&index)).into_iter().take(NAMED).collect(),
        }
    });
    let mut explanation = ApplicationSetExplanation {
        rolling: steps.is_some(),
        applications: names.len(),
        steps: explained.collect(),
        unselected: if steps.is_some() { listed(&|a| plan.step_of[a as usize].is_none()) } else { Vec::new() },
        warnings: Vec::new(),
    };
    let mut warnings = Vec::new();
    match steps {
        None => not_rolling(spec, options, &mut warnings),
        Some(steps) => {
            selection(&explanation, &plan, &names, &mut warnings);
            limits(steps, &explanation, &mut warnings);
            if spec.automated().is_some_and(super::Automated::is_enabled) {
                warnings.push(
                    "syncPolicy.automated is switched off on every application: drift is not corrected, and only the \
                     steps sync a commit"
                        .to_owned(),
                );
            }
            if matches!(spec.applications_sync(), ApplicationsSync::CreateOnly | ApplicationsSync::CreateDelete) {
                warnings.push(
                    "applicationsSync forbids changes of existing applications, so their sync is never requested"
                        .to_owned(),
                );
            }
        }
    }
    explanation.warnings = warnings;
    Ok(explanation)
}

fn not_rolling(spec: &ApplicationSetSpec, options: ControllerOptions, warnings: &mut Vec<String>) {
    let strategy = spec.strategy.clone().unwrap_or_default();
    let has_block = strategy.rolling_sync.is_some();
    if strategy.kind == ROLLING_SYNC && !options.enable_progressive_syncs {
        warnings
            .push("the controller runs without --enable-progressive-syncs, so the strategy has no effect".to_owned());
    } else if strategy.kind == ROLLING_SYNC {
        warnings.push("strategy.type is RollingSync, but without strategy.rollingSync it has no effect".to_owned());
    } else if has_block || !matches!(strategy.kind.as_str(), "" | "AllAtOnce") {
        warnings.push(format!(
            "strategy.type is `{}`; only the exact text RollingSync has an effect, so all applications change \
             simultaneously",
            strategy.kind
        ));
    }
    if !spec.automated().is_some_and(super::Automated::is_enabled) {
        warnings.push("the template has no automated sync: applications change, but nothing syncs them".to_owned());
    }
}

/// Warnings about the applications of the steps.
fn selection(found: &ApplicationSetExplanation, plan: &Steps, names: &[String], warnings: &mut Vec<String>) {
    for (step, operator) in &plan.issues.operators {
        warnings.push(format!(
            "step {}: unknown operator `{operator}`: it selects applications without the label, and no others",
            step + 1
        ));
    }
    for (application, steps) in plan.issues.duplicates.iter().take(NAMED) {
        let steps: Vec<_> = steps.iter().map(|step| (step + 1).to_string()).collect();
        warnings.push(format!(
            "{} is selected by steps {}: the first counts it in its budget, and all of them wait for it",
            names[*application as usize],
            steps.join(", ")
        ));
    }
    if plan.issues.duplicates.len() > NAMED {
        warnings.push(format!(
            "{} more are selected by several steps",
            count(plan.issues.duplicates.len() - NAMED, "application")
        ));
    }
    for step in found.steps.iter().filter(|step| step.count == 0) {
        warnings.push(format!("step {} selects no application and is skipped", step.number));
    }
    if !found.unselected.is_empty() {
        warnings.push(format!(
            "in no step, so never synced: {}; they count in the budget of step 1",
            listed(found.unselected.iter().map(String::as_str), "application")
        ));
    }
}

/// Warnings about budgets with a surprising meaning.
fn limits(steps: &[RolloutStep], found: &ApplicationSetExplanation, warnings: &mut Vec<String>) {
    for (step, explained) in steps.iter().zip(&found.steps) {
        let Some(max_update) = &step.max_update else { continue };
        let StepLimit { applications, is_unreadable } = limit(Some(max_update), explained.budget_base);
        let number = explained.number;
        if is_unreadable {
            warnings.push(format!(
                "step {number}: maxUpdate {max_update} is neither a number nor N%; it means 1 application at a time"
            ));
        } else if explained.count > 0 && explained.budget_base == 0 {
            warnings.push(format!(
                "step {number}: maxUpdate {max_update} limits nothing, because earlier steps contain all its \
                 applications"
            ));
        } else if explained.count > 0 && applications.is_some_and(|limit| limit <= 0) {
            warnings.push(format!(
                "step {number}: maxUpdate {max_update} allows no sync; the step completes only when all are \
                 synced by hand"
            ));
        }
    }
}

fn selector(step: &RolloutStep) -> String {
    if step.match_expressions.is_empty() {
        return "everything".to_owned();
    }
    let expression = |e: &super::MatchExpression| format!("{} {} ({})", e.key, e.operator, e.values.join(", "));
    step.match_expressions.iter().map(expression).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 dev, 3 qa, 20 prod and `others` in no environment.
    fn explained(yaml: &str, others: usize) -> Result<ApplicationSetExplanation, ApplicationSetError> {
        let environments = [("dev", 2), ("qa", 3), ("prod", 20), ("", others)];
        let applications: Vec<_> = environments
            .into_iter()
            .flat_map(|(env, count)| {
                let labels: Labels =
                    if env.is_empty() { Labels::new() } else { [("env".to_owned(), env.to_owned())].into() };
                let labels = Arc::new(labels);
                (0..count).map(move |index| (format!("{env}{index:02}"), Arc::clone(&labels)))
            })
            .collect();
        explain(&serde_saphyr::from_str(yaml).expect(yaml), ControllerOptions::default(), &applications)
    }

    fn rolling(steps: &str) -> String {
        format!("strategy: {{type: RollingSync, rollingSync: {{steps: [{steps}]}}}}")
    }

    #[test]
    fn a_strategy_is_explained_in_numbers() {
        let yaml = rolling(
            "{matchExpressions: [{key: env, operator: In, values: [dev, qa]}]},
             {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 15%}",
        );
        let got = explained(&yaml, 0).expect("it has steps");
        let texts: Vec<_> = got.steps.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "step 1: 5 applications (dev00, dev01, qa00, ...), all at once; selected by env In (dev, qa)",
                "step 2: 20 applications (prod00, prod01, prod02, ...), 3 at once; selected by env In (prod)",
            ]
        );
        assert_eq!((got.rolling, got.applications, got.warnings), (true, 25, Vec::new()));
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let cases: [(String, usize, &[&str]); 10] = [
            (
                "strategy: {type: AllAtOnce}".to_owned(),
                0,
                &["the template has no automated sync: applications change, but nothing syncs them"],
            ),
            ("template: {spec: {syncPolicy: {automated: {}}}}".to_owned(), 0, &[]),
            (
                "{strategy: {type: RollingSync}, template: {spec: {syncPolicy: {automated: {}}}}}".to_owned(),
                0,
                &["strategy.type is RollingSync, but without strategy.rollingSync it has no effect"],
            ),
            (
                "{strategy: {type: RollingUpdate}, template: {spec: {syncPolicy: {automated: {}}}}}".to_owned(),
                0,
                &["strategy.type is `RollingUpdate`; only the exact text RollingSync has an effect, so all \
                   applications change simultaneously"],
            ),
            (
                rolling("{matchExpressions: [{key: env, operator: NotIn, values: [x]}], maxUpdate: 0}, {maxUpdate: 5}"),
                0,
                &[
                    "dev00 is selected by steps 1, 2: the first counts it in its budget, and all of them wait for it",
                    "dev01 is selected by steps 1, 2: the first counts it in its budget, and all of them wait for it",
                    "qa00 is selected by steps 1, 2: the first counts it in its budget, and all of them wait for it",
                    "22 applications more are selected by several steps",
                    "step 1: maxUpdate 0 allows no sync; the step completes only when all are synced by hand",
                    "step 2: maxUpdate 5 limits nothing, because earlier steps contain all its applications",
                ],
            ),
            (
                rolling("{matchExpressions: [{key: env, operator: Exists}], maxUpdate: '5'}"),
                1,
                &[
                    "step 1: unknown operator `Exists`: it selects applications without the label, and no others",
                    "in no step, so never synced: 25 applications (dev00, dev01, prod00 and 22 more); they count in \
                     the budget of step 1",
                    "step 1: maxUpdate \"5\" is neither a number nor N%; it means 1 application at a time",
                ],
            ),
            (
                rolling("{matchExpressions: [{key: env, operator: In, values: [Dev]}]}, {}"),
                0,
                &["step 1 selects no application and is skipped"],
            ),
            (
                rolling("{matchExpressions: [{key: env, operator: In, values: [Dev]}], maxUpdate: 0}, {}"),
                0,
                &["step 1 selects no application and is skipped"],
            ),
            (
                format!("{{{}, template: {{spec: {{syncPolicy: {{automated: {{}}}}}}}}}}", rolling("{}")),
                0,
                &["syncPolicy.automated is switched off on every application: drift is not corrected, and only the \
                     steps sync a commit"],
            ),
            (
                format!("{{{}, syncPolicy: {{applicationsSync: create-only}}}}", rolling("{}")),
                0,
                &["applicationsSync forbids changes of existing applications, so their sync is never requested"],
            ),
        ];
        for (yaml, others, warnings) in cases {
            assert_eq!(explained(&yaml, others).expect(&yaml).warnings, warnings, "{yaml}");
        }
        assert_eq!(explained(&rolling(""), 0), Err(ApplicationSetError::NoSteps));
    }

    #[test]
    fn unselected_applications_enlarge_only_the_base_of_step_1() {
        let yaml = rolling(
            "{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 50%},
             {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 50%}",
        );
        let got = explained(&yaml, 5).expect("it has steps");
        let numbers: Vec<_> = got.steps.iter().map(|step| (step.count, step.budget_base, step.limit)).collect();
        // Step 1: 2 dev, 3 qa and 5 others; half of 10.
        assert_eq!(numbers, [(2, 10, Some(5)), (20, 20, Some(10))]);
        assert_eq!(got.unselected.len(), 8);
    }
}
