//! Explains a deployment for an app before a rollout: steps and limits in instances, the peak number, and warnings.

use super::super::Revision;
use super::super::text::count;
use super::quota::AppQuota;
use super::request::{DeploymentOptions, DeploymentStrategy};
use super::steps::CanaryStep;
use super::view::Deployment;
use super::{RuleSet, documented};

/// The effects of a deployment on an app.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentExplanation {
    /// New instances that start with the request, before any pass.
    pub first_batch: u32,
    /// The steps, after each of which the deployment waits for a user. Empty for rolling.
    pub steps: Vec<CanaryStep>,
    /// Maximum number of desired instances of both versions. Under the shipped rules, old instances that are still
    /// being stopped exist in addition.
    pub peak_instances: u64,
    /// Number of passes until the deployment is done, if every new instance is routable by the next pass and users
    /// continue immediately. `None`: it depends on how long old instances take to exit.
    pub passes: Option<u64>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

impl DeploymentExplanation {
    /// Returns how many new instances a step starts.
    pub fn starts(&self, step: usize) -> u32 {
        let before = if step == 0 {
            0
        } else {
            self.steps[step - 1].canary
        };
        self.steps[step].canary.saturating_sub(before)
    }

    /// Returns surprising effects of the deployment's settings and of a quota.
    fn warnings(&self, deployment: &Deployment, rules: RuleSet, quota: &AppQuota) -> Vec<String> {
        let instances = deployment.original_instances;
        let mut warnings = Vec::new();
        if deployment.options.strategy == DeploymentStrategy::Canary {
            self.step_warnings(deployment, rules, &mut warnings);
        }
        let max_in_flight = deployment.options.max_in_flight;
        if max_in_flight > u64::from(instances) {
            warnings.push(format!(
                "max_in_flight is {max_in_flight}, more than all {}: all new ones start simultaneously",
                count(instances as usize, "instance")
            ));
        }
        // The first batch fits, otherwise the request would have been rejected.
        for (limits, kind) in [
            (&quota.organization, "organization"),
            (&quota.space, "space"),
        ] {
            let Some(limit) = limits.app_instance_limit else {
                continue;
            };
            let room = limit.saturating_sub(limits.other_instances);
            if self.peak_instances > room {
                warnings.push(format!(
                    "{kind} `{}` has room for {} of the app, and {} may be needed: a pass that needs more is rolled \
                     back, and the deployment can stall indefinitely",
                    limits.name,
                    count(room as usize, "instance"),
                    self.peak_instances
                ));
            }
        }
        warnings
    }

    fn step_warnings(&self, deployment: &Deployment, rules: RuleSet, warnings: &mut Vec<String>) {
        warnings.push(format!(
            "it waits for a user {}, without a time limit",
            count(self.steps.len(), "time")
        ));
        let weights = deployment
            .options
            .canary_steps
            .as_deref()
            .unwrap_or_default();
        for (index, weight) in weights.iter().enumerate().skip(1) {
            if self.starts(index) == 0
                && self.steps[index].original == self.steps[index - 1].original
            {
                let number = index + 1;
                warnings.push(format!(
                    "step {number} ({weight} %) has as many instances as the previous step: it is only a pause"
                ));
            }
        }
        if rules == RuleSet::Shipped && weights.contains(&100) {
            warnings.push(
                "the step of 100 % keeps no old instance: its pause is after the whole rollout"
                    .to_owned(),
            );
        }
        let instances = deployment.original_instances;
        if instances <= 1 {
            return;
        }
        for (weight, step) in weights.iter().zip(&self.steps) {
            if *weight < 100 && step.original <= 1 {
                let new = step.canary;
                warnings.push(format!(
                    "{weight} % of {instances} instances is rounded to {new}: one old instance is left"
                ));
                break;
            }
        }
    }
}

/// A phase of a deployment, in which it scales to a number of new instances.
struct ScalePhase {
    /// Total number of instances of both versions. Old instances are reduced to reach it.
    total: u64,
    new: u64,
    /// Number of old instances before the phase.
    old_before: u64,
    new_before: u64,
}

/// Applies `options` to an app with `instances`. The deployment does not change this number.
pub fn explain(
    options: &DeploymentOptions,
    rules: RuleSet,
    instances: u32,
    quota: &AppQuota,
) -> DeploymentExplanation {
    let deployment = Deployment::new(options, instances, Revision(0));
    let steps = deployment.plan(rules);
    let first_batch = deployment.first_batch(rules) as u32;
    let phases = phases(instances, first_batch, &steps);
    let max_in_flight = options.max_in_flight;
    let mut peak = u64::from(instances) + u64::from(first_batch);
    let mut passes = 0;
    for phase in &phases {
        peak = peak.max(phase.peak(max_in_flight));
        passes += phase.passes(max_in_flight);
    }
    let mut explanation = DeploymentExplanation {
        first_batch,
        steps,
        peak_instances: match rules {
            RuleSet::Shipped => peak,
            RuleSet::Documented => peak.min(documented::cap(&deployment)),
        },
        passes: (rules == RuleSet::Shipped).then_some(passes),
        warnings: Vec::new(),
    };
    explanation.warnings = explanation.warnings(&deployment, rules, quota);
    explanation
}

/// Returns the phases of a deployment that begins with `first_batch` new instances: its steps, then all instances.
fn phases(instances: u32, first_batch: u32, steps: &[CanaryStep]) -> Vec<ScalePhase> {
    let end = CanaryStep {
        canary: instances,
        original: 0,
    };
    let mut old = instances;
    let mut new = first_batch;
    let mut phases = Vec::new();
    for step in steps.iter().chain([&end]) {
        phases.push(ScalePhase {
            total: u64::from(step.total()),
            new: u64::from(step.canary),
            old_before: u64::from(old),
            new_before: u64::from(new),
        });
        old = old.min(step.original);
        new = new.max(step.canary);
    }
    phases
}

impl ScalePhase {
    /// Returns the maximum number of desired instances. While `routable` new ones are routable, `total - routable` old
    /// ones stay and `routable + max_in_flight` new ones are requested. The sum is largest where one of the two terms
    /// reaches its limit.
    fn peak(&self, max_in_flight: u64) -> u64 {
        let bends = [
            0,
            self.total.saturating_sub(self.old_before),
            self.new.saturating_sub(max_in_flight),
            self.new,
        ];
        let most = self.new.max(self.new_before);
        let mut peak = 0;
        for routable in bends {
            // The instances started with the request may not be routable at first.
            peak = peak.max(self.desired(routable.min(most), max_in_flight));
        }
        peak
    }

    /// Returns the desired instances while `routable` new ones are routable.
    fn desired(&self, routable: u64, max_in_flight: u64) -> u64 {
        let requested = routable.saturating_add(max_in_flight).min(self.new);
        let old = self.old_before.min(self.total.saturating_sub(routable));
        old + requested.max(self.new_before)
    }

    fn passes(&self, max_in_flight: u64) -> u64 {
        1 + self
            .new
            .saturating_sub(self.new_before)
            .div_ceil(max_in_flight.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::DeploymentRequest;
    use super::super::tests::quota_of_organization;
    use super::*;

    fn explained(
        yaml: &str,
        rules: RuleSet,
        instances: u32,
        quota: &AppQuota,
    ) -> DeploymentExplanation {
        let request: DeploymentRequest = serde_saphyr::from_str(yaml).expect(yaml);
        explain(&request.check().expect(yaml), rules, instances, quota)
    }

    const STEPS: &str = "{strategy: canary, options: {max_in_flight: 2, canary: {steps: [
        {instance_weight: 20}, {instance_weight: 21}, {instance_weight: 100}]}}}";

    #[test]
    fn a_deployment_is_explained_in_instances() {
        let rolling = explained(
            "{options: {max_in_flight: 5}}",
            RuleSet::Shipped,
            50,
            &AppQuota::default(),
        );
        assert_eq!(
            (rolling.first_batch, rolling.peak_instances, rolling.passes),
            (5, 55, Some(10))
        );
        assert_eq!((rolling.steps.len(), rolling.warnings.len()), (0, 0));

        let canary = explained(STEPS, RuleSet::Shipped, 10, &AppQuota::default());
        let step = |canary, original| CanaryStep { canary, original };
        assert_eq!(canary.steps, [step(2, 9), step(2, 9), step(10, 0)]);
        assert_eq!([0, 1, 2].map(|at| canary.starts(at)), [2, 0, 8]);
        // 1 at first; 1 to 2 in one pass, and another to observe it; one pass without a change; 2 to 10 by two, and
        // one to observe it; one more to finish.
        assert_eq!(
            (canary.first_batch, canary.passes),
            (1, Some(2 + 1 + 5 + 1))
        );
        // There are 10 old and 2 new instances before the first step is reached; then 8 and 4, 7 and 5, … until the
        // last.
        assert_eq!(canary.peak_instances, 12);
        let documented = explained(STEPS, RuleSet::Documented, 10, &AppQuota::default());
        assert_eq!(documented.steps[2], step(10, 1), "one more, always");
        assert_eq!(
            (
                documented.first_batch,
                documented.peak_instances,
                documented.passes
            ),
            (2, 12, None)
        );
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let cases: [(&str, u32, AppQuota, &[&str]); 4] = [
            ("{}", 10, AppQuota::default(), &[]),
            (
                STEPS,
                10,
                AppQuota::default(),
                &[
                    "it waits for a user 3 times, without a time limit",
                    "step 2 (21 %) has as many instances as the previous step: it is only a pause",
                    "the step of 100 % keeps no old instance: its pause is after the whole rollout",
                ],
            ),
            (
                "{options: {max_in_flight: 20}}",
                10,
                AppQuota::default(),
                &[
                    "max_in_flight is 20, more than all 10 instances: all new ones start simultaneously",
                ],
            ),
            (
                "{strategy: canary, options: {max_in_flight: 9, canary: {steps: [{instance_weight: 99}]}}}",
                10,
                quota_of_organization("ORG", 15, 0),
                &[
                    "it waits for a user 1 time, without a time limit",
                    "99 % of 10 instances is rounded to 10: one old instance is left",
                    "organization `ORG` has room for 15 instances of the app, and 20 may be needed: a pass that \
                     needs more is rolled back, and the deployment can stall indefinitely",
                ],
            ),
        ];
        for (yaml, instances, quota, warnings) in cases {
            assert_eq!(
                explained(yaml, RuleSet::Shipped, instances, &quota).warnings,
                warnings,
                "{yaml}, {instances}"
            );
        }
    }
}
