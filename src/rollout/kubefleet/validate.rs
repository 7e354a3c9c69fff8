//! The checks of the product's admission, with its own reasons.
//!
//! Follows the validation markers of `apis/placement/v1beta1/stageupdate_types.go` and `validateRolloutStrategy` in
//! `pkg/utils/validator/placement.go`. Objects that pass admission can still fail a run when it starts
//! ([`RunError`](super::staged::RunError)). As upstream, duplicate stage names, invalid selectors and sorting keys,
//! and a rolling update whose limits are both 0 are not rejected.

use itertools::Itertools;

use super::super::IntOrString;
use super::config::{PlacementSpec, StageConfig, StageTask, StrategySpec};
use super::duration::parse_duration;
use super::limit::{Rounding, limit};

/// Maximum number of stages of a strategy.
const STAGES: usize = 31;

/// Why the product rejects an object. `at` is the path of the field.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct InvalidField {
    /// The field, e.g. `spec.stages[2].maxConcurrency`.
    pub at: String,
    /// The product's reason.
    pub reason: String,
}

fn reject<T>(at: &str, reason: impl Into<String>) -> Result<T, InvalidField> {
    Err(InvalidField { at: at.to_owned(), reason: reason.into() })
}

impl StrategySpec {
    /// Performs the checks of admission.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if self.stages.len() > STAGES {
            return reject("spec.stages", format!("must have at most {STAGES} items, got {}", self.stages.len()));
        }
        self.stages.iter().enumerate().try_for_each(|(index, stage)| stage.validate(&format!("spec.stages[{index}]")))
    }
}

impl StageConfig {
    fn validate(&self, at: &str) -> Result<(), InvalidField> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if self.name.is_empty() || self.name.len() > 63 || !self.name.bytes().all(is_name) {
            let reason = format!("`{}` must be 1 to 63 characters that match '^[a-z0-9]+$'", self.name);
            return reject(&format!("{at}.name"), reason);
        }
        match &self.max_concurrency {
            Some(IntOrString::Int(number)) if *number < 1 => {
                return reject(&format!("{at}.maxConcurrency"), "maxConcurrency must be at least 1");
            }
            Some(IntOrString::String(text)) if !is_share(text) => {
                let reason = format!("`{text}` must match '^(100|[1-9][0-9]?)%$'");
                return reject(&format!("{at}.maxConcurrency"), reason);
            }
            _ => {}
        }
        let (before, after) = (&self.before_stage_tasks, &self.after_stage_tasks);
        each_task(before, &format!("{at}.beforeStageTasks"), 1)?;
        if before.iter().any(|task| task.kind == "TimedWait") {
            return reject(&format!("{at}.beforeStageTasks"), "BeforeStageTaskType cannot be TimedWait");
        }
        each_task(after, &format!("{at}.afterStageTasks"), 2)?;
        if after.iter().any(|task| task.kind == "TimedWait" && task.wait_time.is_none()) {
            let reason = "AfterStageTaskType is TimedWait, waitTime is required";
            return reject(&format!("{at}.afterStageTasks"), reason);
        }
        Ok(())
    }
}

/// The checks of a list of at most so many tasks.
fn each_task(tasks: &[StageTask], at: &str, most: usize) -> Result<(), InvalidField> {
    if tasks.len() > most {
        return reject(at, format!("must have at most {most} items, got {}", tasks.len()));
    }
    for (index, task) in tasks.iter().enumerate() {
        let at_task = format!("{at}[{index}]");
        if task.kind != "Approval" && task.kind != "TimedWait" {
            let reason = format!("unsupported value `{}`: supported values: \"TimedWait\", \"Approval\"", task.kind);
            return reject(&format!("{at_task}.type"), reason);
        }
        if let Some(text) = task.wait_time.as_deref().filter(|text| !is_wait(text)) {
            let reason = format!(r"`{text}` must match '^(?:[0-9]+(\.[0-9]+)?(?:s|m|h))+$'");
            return reject(&format!("{at_task}.waitTime"), reason);
        }
        if task.kind == "Approval" && task.wait_time.is_some() {
            return reject(at, "AfterStageTaskType is Approval, waitTime is not allowed");
        }
    }
    Ok(())
}

/// `1%` to `100%`, without leading zeros.
fn is_share(text: &str) -> bool {
    let number = text.strip_suffix('%').filter(|digits| !digits.starts_with(['0', '+']));
    number.and_then(|digits| digits.parse::<u8>().ok()).is_some_and(|number| (1..=100).contains(&number))
}

/// `0%` to `100%`, in at most two digits below 100.
fn is_percentage(text: &str) -> bool {
    let digits = text.strip_suffix('%');
    digits.is_some_and(|it| it == "100" || matches!(it.len(), 1 | 2) && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Numbers with h, m or s after each.
fn is_wait(text: &str) -> bool {
    let mut units = text.split(|c: char| c.is_ascii_digit() || c == '.').filter(|unit| !unit.is_empty());
    let units_are_known = units.all(|unit| matches!(unit, "h" | "m" | "s"));
    let is_whole = |number: &str| number.is_empty() || !number.starts_with('.') && !number.ends_with('.');
    let numbers_are_whole = text.split(|c: char| !c.is_ascii_digit() && c != '.').all(is_whole);
    units_are_known && numbers_are_whole && text.ends_with(['h', 'm', 's']) && parse_duration(text).is_some()
}

impl PlacementSpec {
    /// Performs the checks of admission on the fields that are read here.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), InvalidField> {
        self.validate_policy()?;
        let kind = self.strategy.kind.as_deref().unwrap_or("RollingUpdate");
        if kind != "RollingUpdate" && kind != "External" {
            return reject("spec.strategy.type", format!("unsupported rollout strategy type `{kind}`"));
        }
        let Some(rolling) = &self.strategy.rolling_update else { return Ok(()) };
        let at = "spec.strategy.rollingUpdate";
        if kind == "External" {
            return reject(at, "rollingUpdateConifg is not valid for ExternalRollout strategy type");
        }
        if let Some(seconds) = rolling.unavailable_period_seconds.filter(|seconds| *seconds < 0) {
            let reason = format!("unavailablePeriodSeconds must be greater than or equal to 0, got {seconds}");
            return reject(&format!("{at}.unavailablePeriodSeconds"), reason);
        }
        for (name, value) in [("maxUnavailable", &rolling.max_unavailable), ("maxSurge", &rolling.max_surge)] {
            let Some(value) = value else { continue };
            let at = format!("{at}.{name}");
            match value {
                IntOrString::Int(number) if *number < 0 => {
                    return reject(&at, format!("{name} must be greater than or equal to 0, got `{value}`"));
                }
                IntOrString::String(text) if text.ends_with('%') && !is_percentage(text) => {
                    return reject(&at, format!("`{text}` must match '^((100|[0-9]{{1,2}})%|[0-9]+)$'"));
                }
                _ => {}
            }
            if let Err(error) = limit(Some(value), 10, Rounding::Up) {
                return reject(&at, format!("{name} `{value}` is invalid: {error}"));
            }
        }
        Ok(())
    }

    fn validate_policy(&self) -> Result<(), InvalidField> {
        let Some(policy) = &self.policy else { return Ok(()) };
        let kind = policy.placement_type.as_deref().unwrap_or("PickAll");
        if kind != "PickN" && policy.number_of_clusters.is_some() {
            let only = "only valid for PickN placement policy type";
            let reason = format!("number of clusters must be nil for policy type {kind}, {only}");
            return reject("spec.policy.numberOfClusters", reason);
        }
        if matches!(kind, "PickAll" | "PickN") && !policy.cluster_names.is_empty() {
            let only = "only valid for PickFixed policy type";
            let reason = format!("cluster names needs to be empty for policy type {kind}, {only}");
            return reject("spec.policy.clusterNames", reason);
        }
        match policy.placement_type.as_deref() {
            None | Some("PickAll") => Ok(()),
            Some("PickFixed") if !policy.cluster_names.iter().all_unique() => {
                reject("spec.policy.clusterNames", "cluster names must be unique for policy type PickFixed")
            }
            Some("PickN") => match policy.number_of_clusters {
                None => reject("spec.policy.numberOfClusters", "number of cluster cannot be nil for policy type PickN"),
                Some(number) if number < 0 => {
                    let reason = format!("number of clusters cannot be {number} for policy type PickN");
                    reject("spec.policy.numberOfClusters", reason)
                }
                Some(_) => Ok(()),
            },
            Some("PickFixed") => Ok(()),
            Some(other) => reject(
                "spec.policy.placementType",
                format!("unsupported value `{other}`: supported values: \"PickAll\", \"PickN\", \"PickFixed\""),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_that_admission_rejects_is_rejected() {
        let cases = [
            // a stage, invalid field ("" for none), why
            ("name: a", "", "all else has defaults"),
            ("name: ''", "name", "a name is needed"),
            ("name: Canary", "name", "small letters"),
            ("name: canary-1", "name", "and digits alone"),
            ("{name: a, maxConcurrency: 0}", "maxConcurrency", "at least 1"),
            ("{name: a, maxConcurrency: 500}", "", "may exceed the stage"),
            ("{name: a, maxConcurrency: 0%}", "maxConcurrency", "at least 1 %"),
            ("{name: a, maxConcurrency: 101%}", "maxConcurrency", "at most 100 %"),
            ("{name: a, maxConcurrency: 07%}", "maxConcurrency", "no leading zero"),
            ("{name: a, maxConcurrency: '5'}", "maxConcurrency", "a quoted number is not a share"),
            ("{name: a, maxConcurrency: 100%}", "", "all at once"),
            ("{name: a, beforeStageTasks: [{type: Approval}]}", "", "the only kind"),
            ("{name: a, beforeStageTasks: [{type: TimedWait, waitTime: 1h}]}", "beforeStageTasks", "no waits before"),
            ("{name: a, beforeStageTasks: [{type: Approval}, {type: Approval}]}", "beforeStageTasks", "only one"),
            ("{name: a, afterStageTasks: [{type: TimedWait}]}", "afterStageTasks", "how long?"),
            ("{name: a, afterStageTasks: [{type: Approval, waitTime: 1h}]}", "afterStageTasks", "not an approval"),
            ("{name: a, afterStageTasks: [{type: TimedWait, waitTime: 1h30m0.5s}]}", "", "parts and fractions"),
            ("{name: a, afterStageTasks: [{type: TimedWait, waitTime: 500ms}]}", "waitTime", "h, m and s alone"),
            ("{name: a, afterStageTasks: [{type: TimedWait, waitTime: '5'}]}", "waitTime", "a unit is needed"),
            ("{name: a, afterStageTasks: [{type: TimedWait, waitTime: .5s}]}", "waitTime", "a digit before the point"),
            ("{name: a, afterStageTasks: [{type: Wait}]}", "type", "no such task"),
        ];
        for (stage, field, why) in cases {
            let text = format!("stages:\n- {stage}");
            let spec: StrategySpec = serde_saphyr::from_str(&text).expect(stage);
            let refused = spec.validate().map_err(|error| error.at);
            match refused {
                Ok(()) => assert_eq!(field, "", "{stage}: {why}"),
                Err(at) => assert!(!field.is_empty() && at.contains(field), "{stage}: {why}, but {at}"),
            }
        }
        let stage = StageConfig { name: "a".to_owned(), ..StageConfig::default() };
        let spec = StrategySpec { stages: vec![stage; 32] };
        let error = spec.validate().expect_err("one too many").to_string();
        assert_eq!(error, "spec.stages: must have at most 31 items, got 32");
    }

    #[test]
    fn a_placement_that_admission_rejects_is_rejected_with_its_reason() {
        let cases = [
            ("strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 0}}", ""),
            (
                "strategy: {rollingUpdate: {maxUnavailable: -1}}",
                "spec.strategy.rollingUpdate.maxUnavailable: maxUnavailable must be greater than or equal to 0, got \
                 `-1`",
            ),
            (
                "strategy: {rollingUpdate: {maxSurge: '25'}}",
                "spec.strategy.rollingUpdate.maxSurge: maxSurge `\"25\"` is invalid: `25` is not a percentage; write \
                 e.g. `10` or `10%`",
            ),
            (
                "strategy: {rollingUpdate: {unavailablePeriodSeconds: -10}}",
                "spec.strategy.rollingUpdate.unavailablePeriodSeconds: unavailablePeriodSeconds must be greater than or \
                 equal to 0, got -10",
            ),
            (
                "strategy: {rollingUpdate: {maxSurge: 101%}}",
                "spec.strategy.rollingUpdate.maxSurge: `101%` must match '^((100|[0-9]{1,2})%|[0-9]+)$'",
            ),
            ("strategy: {type: BlueGreen}", "spec.strategy.type: unsupported rollout strategy type `BlueGreen`"),
            (
                "strategy: {type: External, rollingUpdate: {}}",
                "spec.strategy.rollingUpdate: rollingUpdateConifg is not valid for ExternalRollout strategy type",
            ),
            (
                "policy: {placementType: PickFixed, clusterNames: [a, a]}",
                "spec.policy.clusterNames: cluster names must be unique for policy type PickFixed",
            ),
            (
                "policy: {numberOfClusters: 3}",
                "spec.policy.numberOfClusters: number of clusters must be nil for policy type PickAll, only valid for \
                 PickN placement policy type",
            ),
            (
                "policy: {placementType: PickN, numberOfClusters: 1, clusterNames: [a]}",
                "spec.policy.clusterNames: cluster names needs to be empty for policy type PickN, only valid for \
                 PickFixed policy type",
            ),
            (
                "policy: {placementType: PickN}",
                "spec.policy.numberOfClusters: number of cluster cannot be nil for policy type PickN",
            ),
        ];
        for (yaml, refused) in cases {
            let spec: PlacementSpec = serde_saphyr::from_str(yaml).expect(yaml);
            let error = spec.validate().map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(error, refused, "{yaml}");
        }
    }
}
