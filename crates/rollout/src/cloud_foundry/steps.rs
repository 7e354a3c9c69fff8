//! Converts the weights of canary steps to numbers of instances.
//!
//! Follows `canary_step_plan` in `app/models/runtime/deployment_model.rb`; under documented rules "Feature Request:
//! Allow multiple Canary steps" of cloud_controller_ng. The two rule sets differ in two points:
//!
//! - Exactly half an instance is rounded up by the shipped rules, and down by the documented ones. The shipped code
//!   divides doubles, weight / 100 first, so the result is below the half in some cases (70% of 45 is 31.499…). This
//!   rounding is kept.
//! - Under the documented rules one additional instance "always" exists; under the shipped rules not at weight 100.

use super::RuleSet;

/// The numbers of instances at the end of a canary step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CanaryStep {
    /// Instances of the new version.
    pub canary: u32,
    /// Instances of old versions.
    pub original: u32,
}

impl CanaryStep {
    /// Returns the number of instances of both versions.
    pub const fn total(self) -> u32 {
        self.canary + self.original
    }
}

/// Returns the steps of a canary deployment that scales an app from `original_instances` to `web_instances`. Without
/// `weights` there is one step with one new instance, and `web_instances` is ignored.
pub fn canary_step_plan(
    rules: RuleSet,
    original_instances: u32,
    web_instances: Option<u32>,
    weights: Option<&[u8]>,
) -> Vec<CanaryStep> {
    let Some(weights) = weights else {
        return vec![CanaryStep {
            canary: 1,
            original: original_instances,
        }];
    };
    let base = match web_instances {
        Some(web_instances) => web_instances.min(original_instances),
        None => original_instances,
    };
    let mut steps = Vec::with_capacity(weights.len());
    for &weight in weights {
        let canary = canary(rules, base, weight);
        let original = match rules {
            RuleSet::Shipped if weight == 100 => 0,
            RuleSet::Shipped => (base + 1).saturating_sub(canary),
            // Instances are replaced one for one: a smaller `web_instances` removes nothing in advance.
            RuleSet::Documented => (original_instances + 1).saturating_sub(canary),
        };
        steps.push(CanaryStep { canary, original });
    }
    steps
}

/// Returns the number of new instances in a step.
fn canary(rules: RuleSet, base: u32, weight: u8) -> u32 {
    let nearest = match rules {
        RuleSet::Shipped => (f64::from(base) * (f64::from(weight) / 100.0)).round() as u32,
        RuleSet::Documented => ((u64::from(base) * u64::from(weight) + 49) / 100) as u32,
    };
    nearest.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(
        rules: RuleSet,
        instances: u32,
        web_instances: Option<u32>,
        weights: &[u8],
    ) -> Vec<(u32, u32)> {
        let steps = canary_step_plan(rules, instances, web_instances, Some(weights));
        steps
            .into_iter()
            .map(|step| (step.canary, step.original))
            .collect()
    }

    #[test]
    fn a_weight_is_rounded_to_instances() {
        let cases = [
            // instances, weight, shipped, documented, why
            (10, 20, (2, 9), (2, 9), "the proposal's example"),
            (
                10,
                25,
                (3, 8),
                (2, 9),
                "a half: up as shipped, down as documented",
            ),
            (3, 50, (2, 2), (1, 3), "a half"),
            (
                45,
                70,
                (31, 15),
                (31, 15),
                "31.5 is a little less in doubles",
            ),
            (10, 26, (3, 8), (3, 8), "nearer to three"),
            (10, 1, (1, 10), (1, 10), "never none"),
            (10, 99, (10, 1), (10, 1), "nearer to all"),
            (
                10,
                100,
                (10, 0),
                (10, 1),
                "as documented there is always one more",
            ),
            (0, 50, (1, 0), (1, 0), "an app without instances gets one"),
        ];
        for (instances, weight, shipped, documented, why) in cases {
            assert_eq!(
                plan(RuleSet::Shipped, instances, None, &[weight]),
                [shipped],
                "{weight} % of {instances}: {why}"
            );
            let found = plan(RuleSet::Documented, instances, None, &[weight]);
            assert_eq!(
                found,
                [documented],
                "documented, {weight} % of {instances}: {why}"
            );
        }
    }

    #[test]
    fn a_number_of_web_instances_applies_only_if_it_is_lower() {
        assert_eq!(
            plan(RuleSet::Shipped, 10, Some(4), &[50, 100]),
            [(2, 3), (4, 0)],
            "of the lower number"
        );
        assert_eq!(
            plan(RuleSet::Shipped, 10, Some(20), &[50]),
            [(5, 6)],
            "a higher one is ignored"
        );
        assert_eq!(
            plan(RuleSet::Documented, 10, Some(4), &[50, 100]),
            [(2, 9), (4, 7)],
            "as documented one for one"
        );
        let without = canary_step_plan(RuleSet::Shipped, 10, Some(4), None);
        assert_eq!(
            without,
            [CanaryStep {
                canary: 1,
                original: 10
            }],
            "without weights it is ignored"
        );
    }

    #[test]
    fn as_documented_halves_are_rounded_down() {
        // The reference: search from 1 for the number with the smallest distance; of two such numbers the smaller
        // wins.
        for instances in 1..120_u32 {
            for weight in 1..=100_u8 {
                let distance = |canary: &u32| {
                    (i64::from(*canary) * 100 - i64::from(instances) * i64::from(weight)).abs()
                };
                let nearest = (1..=instances).min_by_key(distance).expect("there is one");
                let found = plan(RuleSet::Documented, instances, None, &[weight])[0].0;
                assert_eq!(found, nearest, "{weight} % of {instances}");
            }
        }
    }
}
