//! Explains a strategy for a set's applications before a rollout: steps and budgets in numbers, and warnings.

use std::sync::Arc;

use super::super::label_selector::Labels;
use super::super::text::{NAMED, count, listed};
use super::config::{
    ApplicationSetError, ApplicationSetSpec, Automated, ControllerOptions, MatchExpression,
    ROLLING_SYNC, RolloutStep,
};
use super::limit::{StepLimit, limit};
use super::steps::Steps;

/// The warning about a set that does not roll and whose applications have no automated sync.
pub const NO_AUTOMATED_SYNC: &str =
    "the template has no automated sync: applications change, but nothing syncs them";

/// A strategy applied to applications.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationSetExplanation {
    /// One sentence for each step, in the order in which they are updated.
    pub steps: Vec<String>,
    /// Applications in no step, by name: created and changed like all others, but never synced.
    pub unselected: Vec<String>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// Applies the strategy of `spec` to applications with these names and labels.
///
/// # Errors
/// The reason why the product does not process the set.
pub fn explain(
    spec: &ApplicationSetSpec,
    options: ControllerOptions,
    applications: &[(String, Arc<Labels>)],
) -> Result<ApplicationSetExplanation, ApplicationSetError> {
    let steps = if options.enable_progressive_syncs {
        spec.steps()?
    } else {
        None
    };
    let Some(steps) = steps else {
        return Ok(ApplicationSetExplanation {
            warnings: not_rolling(spec, options),
            ..Default::default()
        });
    };
    let labels: Vec<_> = applications
        .iter()
        .map(|(_, labels)| Some(Arc::clone(labels)))
        .collect();
    let plan = Steps::new(steps, &labels);
    let unselected = unselected_names(&plan, applications);
    let mut warnings = selection(&plan, &unselected, applications);
    // The number of applications that each `maxUpdate` is based on once all applications exist.
    let mut bases = vec![0; steps.len()];
    for application in 0..applications.len() {
        bases[plan.counted_in(application)] += 1;
    }
    let mut sentences = Vec::new();
    for (index, (step, base)) in steps.iter().zip(bases).enumerate() {
        let members = sorted_names(&plan.lists[index], applications);
        let number = index + 1;
        sentences.push(format!(
            "step {number}: {}",
            described(step, &members, base)
        ));
        if let Some(warning) = limit_warning(step, members.len(), base) {
            warnings.push(format!("step {number}: {warning}"));
        }
    }
    warnings.extend(policy_warnings(spec));
    Ok(ApplicationSetExplanation {
        steps: sentences,
        unselected: unselected.into_iter().map(str::to_owned).collect(),
        warnings,
    })
}

/// Returns the names of these applications, sorted.
fn sorted_names<'a>(members: &[u32], applications: &'a [(String, Arc<Labels>)]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for member in members {
        let (name, _) = &applications[*member as usize];
        names.push(name.as_str());
    }
    names.sort_unstable();
    names
}

/// Returns the names of the applications in no step, sorted.
fn unselected_names<'a>(plan: &Steps, applications: &'a [(String, Arc<Labels>)]) -> Vec<&'a str> {
    let mut unselected = Vec::new();
    for index in 0..applications.len() as u32 {
        if !plan.selects(index) {
            unselected.push(index);
        }
    }
    sorted_names(&unselected, applications)
}

/// Returns warnings about the policies of the template and of the set.
fn policy_warnings(spec: &ApplicationSetSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    if spec.automated().is_some_and(Automated::is_enabled) {
        warnings.push(
            "syncPolicy.automated is switched off on every application: drift is not corrected, and only the steps \
             sync a commit"
                .to_owned(),
        );
    }
    if !spec.may_update() {
        warnings.push(
            "applicationsSync forbids changes of existing applications, so their sync is never requested".to_owned(),
        );
    }
    warnings
}

/// Describes a step: its applications, how many of them are updated concurrently, and its selector.
fn described(step: &RolloutStep, members: &[&str], base: usize) -> String {
    let more = if members.len() > NAMED { ", ..." } else { "" };
    let first = &members[..members.len().min(NAMED)];
    let first = if first.is_empty() {
        String::new()
    } else {
        format!(" ({}{more})", first.join(", "))
    };
    let limit = match limit(step.max_update.as_ref(), base).applications {
        _ if !members.is_empty() && base == 0 => "each counted in an earlier step".to_owned(),
        None => "all at once".to_owned(),
        Some(limit) if limit <= 0 => "none is ever synced by the rollout".to_owned(),
        Some(limit) => format!("{limit} at once"),
    };
    format!(
        "{}{first}, {limit}; selected by {}",
        count(members.len(), "application"),
        selector(step)
    )
}

fn not_rolling(spec: &ApplicationSetSpec, options: ControllerOptions) -> Vec<String> {
    let strategy = spec.strategy.clone().unwrap_or_default();
    let mut warnings = Vec::new();
    if strategy.kind == ROLLING_SYNC && !options.enable_progressive_syncs {
        warnings.push(
            "the controller runs without --enable-progressive-syncs, so the strategy has no effect"
                .to_owned(),
        );
    } else if strategy.kind == ROLLING_SYNC {
        warnings.push(
            "strategy.type is RollingSync, but without strategy.rollingSync it has no effect"
                .to_owned(),
        );
    } else if strategy.rolling_sync.is_some() || !matches!(strategy.kind.as_str(), "" | "AllAtOnce")
    {
        warnings.push(format!(
            "strategy.type is `{}`; only the exact text RollingSync has an effect, so all applications change \
             simultaneously",
            strategy.kind
        ));
    }
    if !spec.automated().is_some_and(Automated::is_enabled) {
        warnings.push(NO_AUTOMATED_SYNC.to_owned());
    }
    warnings
}

/// Returns warnings about the applications of the steps.
fn selection(
    plan: &Steps,
    unselected: &[&str],
    applications: &[(String, Arc<Labels>)],
) -> Vec<String> {
    let issues = &plan.issues;
    let mut warnings = Vec::new();
    for (step, operator) in &issues.operators {
        warnings.push(format!(
            "step {}: unknown operator `{operator}`: it selects applications without the label, and no others",
            step + 1
        ));
    }
    for (application, steps) in issues.duplicates.iter().take(NAMED) {
        let steps: Vec<_> = steps.iter().map(|step| (step + 1).to_string()).collect();
        warnings.push(format!(
            "{} is selected by steps {}: the first counts it in its budget, and all of them wait for it",
            applications[*application as usize].0,
            steps.join(", ")
        ));
    }
    if issues.duplicates.len() > NAMED {
        let more = count(issues.duplicates.len() - NAMED, "application");
        warnings.push(format!("{more} more are selected by several steps"));
    }
    for step in &issues.empty_steps {
        warnings.push(format!(
            "step {} selects no application and is skipped",
            step + 1
        ));
    }
    if !unselected.is_empty() {
        warnings.push(format!(
            "in no step, so never synced: {}; they count in the budget of step 1",
            listed(unselected.iter().copied(), "application")
        ));
    }
    warnings
}

/// Returns a warning if the budget of a step with this many applications has a surprising meaning.
fn limit_warning(step: &RolloutStep, members: usize, base: usize) -> Option<String> {
    let max_update = step.max_update.as_ref()?;
    let StepLimit {
        applications,
        is_unreadable,
    } = limit(Some(max_update), base);
    let effect = if is_unreadable {
        "is neither a number nor N%; it means 1 application at a time"
    } else if members > 0 && base == 0 {
        "limits nothing, because earlier steps contain all its applications"
    } else if members > 0 && applications.is_some_and(|limit| limit <= 0) {
        "allows no sync; the step completes only when all are synced by hand"
    } else {
        return None;
    };
    Some(format!("maxUpdate {max_update} {effect}"))
}

fn selector(step: &RolloutStep) -> String {
    if step.match_expressions.is_empty() {
        return "everything".to_owned();
    }
    let mut texts = Vec::new();
    for MatchExpression {
        key,
        operator,
        values,
    } in &step.match_expressions
    {
        texts.push(format!("{key} {operator} ({})", values.join(", ")));
    }
    texts.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Explains a set with 2 dev, 3 qa, 20 prod and `others` applications in no environment.
    fn explained(
        yaml: &str,
        others: usize,
    ) -> Result<ApplicationSetExplanation, ApplicationSetError> {
        let environments = [("dev", 2), ("qa", 3), ("prod", 20), ("", others)];
        let applications: Vec<_> = environments
            .into_iter()
            .flat_map(|(env, count)| {
                let labels: Labels = if env.is_empty() {
                    Labels::new()
                } else {
                    [("env".to_owned(), env.to_owned())].into()
                };
                let labels = Arc::new(labels);
                (0..count).map(move |index| (format!("{env}{index:02}"), Arc::clone(&labels)))
            })
            .collect();
        explain(
            &serde_saphyr::from_str(yaml).expect(yaml),
            ControllerOptions::default(),
            &applications,
        )
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
        assert_eq!(
            got.steps,
            [
                "step 1: 5 applications (dev00, dev01, qa00, ...), all at once; selected by env In (dev, qa)",
                "step 2: 20 applications (prod00, prod01, prod02, ...), 3 at once; selected by env In (prod)",
            ]
        );
        assert_eq!(got.warnings, Vec::<String>::new());
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
            assert_eq!(
                explained(&yaml, others).expect(&yaml).warnings,
                warnings,
                "{yaml}"
            );
        }
        assert_eq!(
            explained(&rolling(""), 0),
            Err(ApplicationSetError::NoSteps)
        );
    }

    #[test]
    fn unselected_applications_enlarge_only_the_base_of_step_1() {
        let yaml = rolling(
            "{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 50%},
             {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 50%}",
        );
        let got = explained(&yaml, 5).expect("it has steps");
        // Step 1 counts 2 dev, 3 qa and 5 others; half of these 10 is 5.
        assert_eq!(
            got.steps,
            [
                "step 1: 2 applications (dev00, dev01), 5 at once; selected by env In (dev)",
                "step 2: 20 applications (prod00, prod01, prod02, ...), 10 at once; selected by env In (prod)",
            ]
        );
        assert_eq!(got.unselected.len(), 8);
    }
}
