//! Explains a deployment for an app before a rollout: steps and limits in instances, the peak number, and warnings.

use super::RuleSet;
use super::quota::{AppQuota, QuotaLimits};
use super::request::{DeploymentOptions, DeploymentStrategy};
use super::steps::canary_step_plan;

/// A deployment of an app.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentExplanation {
    /// The rule set.
    pub rules: RuleSet,
    /// The deployment strategy.
    pub strategy: DeploymentStrategy,
    /// The app's instances before the deployment.
    pub instances: u32,
    /// The app's instances after the deployment.
    pub target_instances: u32,
    /// Maximum number of new instances that are not routable.
    pub max_in_flight: u64,
    /// New instances that start with the request, before any pass.
    pub first_batch: u32,
    /// The steps, after each of which it waits for a user; none for rolling.
    pub steps: Vec<CanaryStepExplanation>,
    /// Maximum number of desired instances of both versions. As shipped, old instances that are still being stopped
    /// are additional.
    pub peak_instances: u64,
    /// Passes of the updater until it is done, if every new instance is routable by the next pass and users continue
    /// immediately. `None`: it depends on how long old instances take to exit.
    pub passes: Option<u64>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// One step of an [`DeploymentExplanation`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CanaryStepExplanation {
    /// The weight. `None`: no steps are given.
    pub weight: Option<u8>,
    /// New instances at its end.
    pub canary: u32,
    /// Old instances at its end.
    pub original: u32,
    /// New instances that it starts.
    pub starts: u32,
}

/// Scaling to a number of new instances.
struct ScalePhase {
    /// Total of both versions, which the old ones are reduced to.
    total: u64,
    new: u64,
    /// Before the phase.
    old_before: u64,
    new_before: u64,
}

/// Applies `options` to an app with `instances`.
#[must_use]
pub fn explain(options: &DeploymentOptions, rules: RuleSet, instances: u32, quota: &AppQuota) -> DeploymentExplanation {
    let target = options.web_instances.unwrap_or(instances);
    let weights = options.canary_steps.as_deref();
    let plan = match options.strategy {
        DeploymentStrategy::Rolling => Vec::new(),
        DeploymentStrategy::Canary => canary_step_plan(rules, instances, options.web_instances, weights),
    };
    let wanted = match (options.strategy, rules) {
        (DeploymentStrategy::Rolling, _) => target,
        (DeploymentStrategy::Canary, RuleSet::Shipped) => 1,
        (DeploymentStrategy::Canary, RuleSet::Documented) => plan.first().map_or(1, |step| step.canary),
    };
    let first_batch = u64::from(wanted).min(options.max_in_flight) as u32;
    let mut phases = Vec::new();
    let (mut old, mut new) = (instances, first_batch);
    let mut steps = Vec::new();
    for (index, step) in plan.iter().enumerate() {
        phases.push(ScalePhase {
            total: u64::from(step.total()),
            new: u64::from(step.canary),
            old_before: u64::from(old),
            new_before: u64::from(new),
        });
        let before = if index == 0 { 0 } else { plan[index - 1].canary };
        steps.push(CanaryStepExplanation {
            weight: weights.map(|weights| weights[index]),
            canary: step.canary,
            original: step.original,
            starts: step.canary.saturating_sub(before),
        });
        (old, new) = (step.original.min(old), step.canary.max(new));
    }
    // As documented, old instances are replaced one for one even where fewer must be left.
    let total = if rules == RuleSet::Documented { instances } else { target };
    phases.push(ScalePhase {
        total: u64::from(total),
        new: u64::from(target),
        old_before: u64::from(old),
        new_before: u64::from(new),
    });
    let peaks = phases.iter().map(|phase| phase.peak(options.max_in_flight));
    let created = u64::from(instances) + u64::from(first_batch);
    let peak = peaks.max().unwrap_or(0).max(created);
    let cap = u64::from(instances.max(target)).saturating_add(options.max_in_flight);
    let mut explanation = DeploymentExplanation {
        rules,
        strategy: options.strategy,
        instances,
        target_instances: target.max(plan.last().map_or(0, |step| step.canary)),
        max_in_flight: options.max_in_flight,
        first_batch,
        steps,
        peak_instances: match rules {
            RuleSet::Shipped => peak,
            RuleSet::Documented => peak.min(cap),
        },
        passes: (rules == RuleSet::Shipped)
            .then(|| phases.iter().map(|phase| phase.passes(options.max_in_flight)).sum()),
        warnings: Vec::new(),
    };
    explanation.warnings = warnings(options, &explanation, quota);
    explanation
}

impl ScalePhase {
    /// Maximum number of desired instances: while `routable` new ones are routable, `total - routable` old ones stay
    /// and `routable + max_in_flight` new ones are requested. The maximum is where one of the two terms saturates.
    fn peak(&self, max_in_flight: u64) -> u64 {
        let desired = |routable: u64| {
            let new = routable.saturating_add(max_in_flight).min(self.new).max(self.new_before);
            self.old_before.min(self.total.saturating_sub(routable)) + new
        };
        let bends = [0, self.total.saturating_sub(self.old_before), self.new.saturating_sub(max_in_flight), self.new];
        let most = self.new.max(self.new_before);
        // The instances started with the request may not be routable at first.
        bends.into_iter().map(|routable| desired(routable.min(most))).max().unwrap_or(0)
    }

    fn passes(&self, max_in_flight: u64) -> u64 {
        1 + self.new.saturating_sub(self.new_before).div_ceil(max_in_flight.max(1))
    }
}

fn warnings(options: &DeploymentOptions, found: &DeploymentExplanation, quota: &AppQuota) -> Vec<String> {
    let mut warnings = Vec::new();
    if found.instances == 0 {
        warnings.push("the app has no instances; a rolling deployment is done in the first pass".to_owned());
    }
    if found.strategy == DeploymentStrategy::Canary {
        steps(found, &mut warnings);
    }
    if found.rules == RuleSet::Shipped {
        web_instances(options, found, &mut warnings);
    }
    let all = u64::from(found.instances.max(found.target_instances));
    if found.max_in_flight > all && all > 0 {
        warnings.push(format!(
            "max_in_flight is {}, more than all {all} instances: all new ones start simultaneously",
            found.max_in_flight
        ));
    }
    for (limits, kind) in [(&quota.organization, "organization"), (&quota.space, "space")] {
        room(limits, kind, found, &mut warnings);
    }
    warnings
}

fn steps(found: &DeploymentExplanation, warnings: &mut Vec<String>) {
    warnings.push(format!(
        "it waits for a user {} time{}, without a time limit",
        found.steps.len(),
        if found.steps.len() == 1 { "" } else { "s" }
    ));
    for (index, step) in found.steps.iter().enumerate().skip(1) {
        if step.starts == 0 && step.original == found.steps[index - 1].original {
            warnings.push(format!(
                "step {} ({} %) has as many instances as the one before: it is only a pause",
                index + 1,
                step.weight.unwrap_or(0)
            ));
        }
    }
    if found.rules == RuleSet::Shipped && found.steps.iter().any(|step| step.weight == Some(100)) {
        warnings.push("the step of 100 % keeps no old instance: its pause is after the whole rollout".to_owned());
    }
    let is_all = |step: &&CanaryStepExplanation| step.weight.is_some_and(|weight| weight < 100) && step.original <= 1;
    if let Some(step) = found.steps.iter().find(is_all).filter(|_| found.instances > 1) {
        warnings.push(format!(
            "{} % of {} instances is rounded to {}: one old instance is left",
            step.weight.unwrap_or(0),
            found.instances,
            step.canary
        ));
    }
}

fn web_instances(options: &DeploymentOptions, found: &DeploymentExplanation, warnings: &mut Vec<String>) {
    let Some(web_instances) = options.web_instances else { return };
    if web_instances < found.instances && found.strategy == DeploymentStrategy::Rolling {
        warnings.push(format!(
            "web_instances {web_instances} is below {}: the first pass removes old instances before any new one is \
             routable",
            found.instances
        ));
    }
    if found.strategy == DeploymentStrategy::Canary && options.canary_steps.is_some() && web_instances > found.instances
    {
        warnings.push(format!(
            "web_instances {web_instances} is above {}: the steps ignore it, only the phase after the last one uses it",
            found.instances
        ));
    }
    if web_instances < found.target_instances {
        warnings.push(format!(
            "web_instances is {web_instances}, and the steps' {} new instances stay nevertheless",
            found.target_instances
        ));
    }
}

/// Whether the surge fits.
fn room(limits: &QuotaLimits, kind: &str, found: &DeploymentExplanation, warnings: &mut Vec<String>) {
    let Some(limit) = limits.app_instance_limit else { return };
    let room = limit.saturating_sub(limits.other_instances);
    let at_once = u64::from(found.instances) + u64::from(found.first_batch);
    if at_once > room {
        warnings.push(format!(
            "{kind} `{}` has room for {room} instances of the app, and the first batch needs {at_once}: the \
             deployment is rejected",
            limits.name
        ));
    } else if found.peak_instances > room {
        warnings.push(format!(
            "{kind} `{}` has room for {room} instances of the app, and {} may be needed: a pass that needs more is \
             rolled back, and the deployment can stall indefinitely",
            limits.name, found.peak_instances
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::DeploymentRequest;
    use super::*;

    fn explained(yaml: &str, rules: RuleSet, instances: u32, quota: &AppQuota) -> DeploymentExplanation {
        let request: DeploymentRequest = serde_saphyr::from_str(yaml).expect(yaml);
        explain(&request.check().expect(yaml), rules, instances, quota)
    }

    const STEPS: &str = "{strategy: canary, options: {max_in_flight: 2, canary: {steps: [
        {instance_weight: 20}, {instance_weight: 21}, {instance_weight: 100}]}}}";

    #[test]
    fn a_deployment_is_explained_in_instances() {
        let rolling = explained("{options: {max_in_flight: 5}}", RuleSet::Shipped, 50, &AppQuota::default());
        assert_eq!((rolling.first_batch, rolling.peak_instances, rolling.passes), (5, 55, Some(10)));
        assert_eq!((rolling.target_instances, rolling.steps.len(), rolling.warnings.len()), (50, 0, 0));

        let canary = explained(STEPS, RuleSet::Shipped, 10, &AppQuota::default());
        let step =
            |weight, canary, original, starts| CanaryStepExplanation { weight: Some(weight), canary, original, starts };
        assert_eq!(canary.steps, [step(20, 2, 9, 2), step(21, 2, 9, 0), step(100, 10, 0, 8)]);
        // One at first; 1 to 2 in a pass and one to see it; one to see nothing new; 2 to 10 by two, and one; one more.
        assert_eq!((canary.first_batch, canary.passes), (1, Some(2 + 1 + 5 + 1)));
        // 10 old and 2 new on the way to the first step; 8 and 4, 7 and 5, … on the way to the last.
        assert_eq!(canary.peak_instances, 12);
        let documented = explained(STEPS, RuleSet::Documented, 10, &AppQuota::default());
        assert_eq!(documented.steps[2], step(100, 10, 1, 8), "one more, always");
        assert_eq!((documented.first_batch, documented.peak_instances, documented.passes), (2, 12, None));
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let cases: [(&str, u32, AppQuota, &[&str]); 7] = [
            ("{}", 10, AppQuota::default(), &[]),
            (
                STEPS,
                10,
                AppQuota::default(),
                &[
                    "it waits for a user 3 times, without a time limit",
                    "step 2 (21 %) has as many instances as the one before: it is only a pause",
                    "the step of 100 % keeps no old instance: its pause is after the whole rollout",
                ],
            ),
            (
                "{options: {web_instances: 4, max_in_flight: 20}}",
                10,
                AppQuota::default(),
                &[
                    "web_instances 4 is below 10: the first pass removes old instances before any new one is routable",
                    "max_in_flight is 20, more than all 10 instances: all new ones start simultaneously",
                ],
            ),
            (
                "{strategy: canary, options: {web_instances: 0}}",
                3,
                AppQuota::default(),
                &[
                    "it waits for a user 1 time, without a time limit",
                    "web_instances is 0, and the steps' 1 new instances stay nevertheless",
                ],
            ),
            (
                "{options: {max_in_flight: 3}}",
                5,
                AppQuota::of_organization("ORG", 12, 5),
                &["organization `ORG` has room for 7 instances of the app, and the first batch needs 8: the \
                     deployment is rejected"],
            ),
            (
                "{strategy: canary, options: {max_in_flight: 9, canary: {steps: [{instance_weight: 99}]}}}",
                10,
                AppQuota::of_organization("ORG", 15, 0),
                &[
                    "it waits for a user 1 time, without a time limit",
                    "99 % of 10 instances is rounded to 10: one old instance is left",
                    "organization `ORG` has room for 15 instances of the app, and 20 may be needed: a pass that \
                     needs more is rolled back, and the deployment can stall indefinitely",
                ],
            ),
            (
                "{}",
                0,
                AppQuota::default(),
                &["the app has no instances; a rolling deployment is done in the first pass"],
            ),
        ];
        for (yaml, instances, quota, warnings) in cases {
            assert_eq!(explained(yaml, RuleSet::Shipped, instances, &quota).warnings, warnings, "{yaml}, {instances}");
        }
    }
}
