//! The product's admission checks, with its own reasons.
//!
//! Follows the validation markers of `apis/placement/v1beta1/stageupdate_types.go` and `validateRolloutStrategy` in
//! `pkg/utils/validator/placement.go`. Objects that pass admission can still fail a run when it starts
//! ([`RunError`](super::staged::RunError)). Like upstream, these checks do not reject duplicate stage names, invalid
//! selectors and sorting keys, or a rolling update whose limits are both 0.

use itertools::Itertools;

use super::super::IntOrString;
use super::config::{PlacementSpec, StageConfig, StageTask, StrategySpec};
use super::duration::parse_duration;
use super::limit::{Rounding, limit};

/// Maximum number of stages of a strategy.
const STAGES: usize = 31;

/// The reason why the product rejects an object. `at` is the path of the field.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct InvalidField {
    /// The path of the field, e.g. `spec.stages[2].maxConcurrency`.
    pub at: String,
    /// The product's reason.
    pub reason: String,
}

/// Rejects a field for a reason, unless `holds` is true.
fn require(
    holds: bool,
    at: impl Into<String>,
    reason: impl Into<String>,
) -> Result<(), InvalidField> {
    if holds {
        Ok(())
    } else {
        Err(InvalidField {
            at: at.into(),
            reason: reason.into(),
        })
    }
}

fn at_most(most: usize, count: usize, at: &str) -> Result<(), InvalidField> {
    require(
        count <= most,
        at,
        format!("must have at most {most} items, got {count}"),
    )
}

impl StrategySpec {
    /// Performs the admission checks.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), InvalidField> {
        at_most(STAGES, self.stages.len(), "spec.stages")?;
        for (index, stage) in self.stages.iter().enumerate() {
            stage.validate(&format!("spec.stages[{index}]"))?;
        }
        Ok(())
    }
}

impl StageConfig {
    fn validate(&self, at: &str) -> Result<(), InvalidField> {
        let is_named = matches!(self.name.len(), 1..=63)
            && self
                .name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
        let reason = format!(
            "`{}` must be 1 to 63 characters that match '^[a-z0-9]+$'",
            self.name
        );
        require(is_named, format!("{at}.name"), reason)?;
        let at_limit = format!("{at}.maxConcurrency");
        match &self.max_concurrency {
            Some(IntOrString::Int(number)) => {
                require(*number >= 1, at_limit, "maxConcurrency must be at least 1")?;
            }
            Some(IntOrString::String(text)) => {
                let is_share = is_percentage(text) && !text.starts_with('0');
                require(
                    is_share,
                    at_limit,
                    format!("`{text}` must match '^(100|[1-9][0-9]?)%$'"),
                )?;
            }
            None => {}
        }
        let at_before = format!("{at}.beforeStageTasks");
        each_task(&self.before_stage_tasks, &at_before, 1)?;
        for task in &self.before_stage_tasks {
            let is_wait = task.kind == "TimedWait";
            require(
                !is_wait,
                &at_before,
                "BeforeStageTaskType cannot be TimedWait",
            )?;
        }
        let at_after = format!("{at}.afterStageTasks");
        each_task(&self.after_stage_tasks, &at_after, 2)?;
        for task in &self.after_stage_tasks {
            let is_endless = task.kind == "TimedWait" && task.wait_time.is_none();
            require(
                !is_endless,
                &at_after,
                "AfterStageTaskType is TimedWait, waitTime is required",
            )?;
        }
        Ok(())
    }
}

/// Checks a list of tasks.
fn each_task(tasks: &[StageTask], at: &str, most: usize) -> Result<(), InvalidField> {
    at_most(most, tasks.len(), at)?;
    for (index, StageTask { kind, wait_time }) in tasks.iter().enumerate() {
        let unsupported =
            format!("unsupported value `{kind}`: supported values: \"TimedWait\", \"Approval\"");
        require(
            kind == "Approval" || kind == "TimedWait",
            format!("{at}[{index}].type"),
            unsupported,
        )?;
        let Some(text) = wait_time else { continue };
        let unlike = format!(r"`{text}` must match '^(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:s|m|h))+$'");
        require(is_wait(text), format!("{at}[{index}].waitTime"), unlike)?;
        require(
            kind != "Approval",
            at,
            "AfterStageTaskType is Approval, waitTime is not allowed",
        )?;
    }
    Ok(())
}

/// Returns whether a text is `0%` to `100%`, with at most two digits below 100.
fn is_percentage(text: &str) -> bool {
    let Some(number) = text.strip_suffix('%') else {
        return false;
    };
    let is_below_100 =
        matches!(number.len(), 1 | 2) && number.bytes().all(|byte| byte.is_ascii_digit());
    number == "100" || is_below_100
}

/// Returns whether a text consists of numbers, each followed by h, m or s.
fn is_wait(text: &str) -> bool {
    for unit in text.split(is_of_number) {
        if !matches!(unit, "" | "h" | "m" | "s") {
            return false;
        }
    }
    for number in text.split(|c| !is_of_number(c)) {
        if number.starts_with('.') || number.ends_with('.') {
            return false;
        }
        let whole = number.split('.').next().unwrap_or_default();
        if whole.len() > 1 && whole.starts_with('0') {
            return false;
        }
    }
    text.ends_with(['h', 'm', 's']) && parse_duration(text).is_some()
}

const fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// Checks a limit of a rolling update.
fn rolling_limit(name: &str, value: &IntOrString) -> Result<(), InvalidField> {
    let at = format!("spec.strategy.rollingUpdate.{name}");
    match value {
        IntOrString::Int(number) => {
            let negative = format!("{name} must be greater than or equal to 0, got `{value}`");
            require(*number >= 0, &at, negative)?;
        }
        IntOrString::String(text) => {
            let unlike = format!("`{text}` must match '^((100|[0-9]{{1,2}})%|[0-9]+)$'");
            require(!text.ends_with('%') || is_percentage(text), &at, unlike)?;
        }
    }
    match limit(Some(value), 10, Rounding::Up) {
        Ok(_) => Ok(()),
        Err(error) => Err(InvalidField {
            at,
            reason: format!("{name} `{value}` is invalid: {error}"),
        }),
    }
}

impl PlacementSpec {
    /// Performs the admission checks on the fields that are modelled here.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), InvalidField> {
        self.validate_policy()?;
        let kind = self.strategy.kind.as_deref().unwrap_or("RollingUpdate");
        let unsupported = format!("unsupported rollout strategy type `{kind}`");
        require(
            kind == "RollingUpdate" || kind == "External",
            "spec.strategy.type",
            unsupported,
        )?;
        let Some(rolling) = &self.strategy.rolling_update else {
            return Ok(());
        };
        let at = "spec.strategy.rollingUpdate";
        require(
            kind != "External",
            at,
            "rollingUpdateConifg is not valid for ExternalRollout strategy type",
        )?;
        let seconds = rolling.unavailable_period_seconds.unwrap_or(0);
        let negative =
            format!("unavailablePeriodSeconds must be greater than or equal to 0, got {seconds}");
        require(
            seconds >= 0,
            format!("{at}.unavailablePeriodSeconds"),
            negative,
        )?;
        if let Some(value) = &rolling.max_unavailable {
            rolling_limit("maxUnavailable", value)?;
        }
        if let Some(value) = &rolling.max_surge {
            rolling_limit("maxSurge", value)?;
        }
        Ok(())
    }

    fn validate_policy(&self) -> Result<(), InvalidField> {
        let Some(policy) = &self.policy else {
            return Ok(());
        };
        let kind = policy.placement_type.as_deref().unwrap_or("PickAll");
        let at_number = "spec.policy.numberOfClusters";
        let at_names = "spec.policy.clusterNames";
        let only = "only valid for PickN placement policy type";
        let misplaced = format!("number of clusters must be nil for policy type {kind}, {only}");
        require(
            kind == "PickN" || policy.number_of_clusters.is_none(),
            at_number,
            misplaced,
        )?;
        let only = "only valid for PickFixed policy type";
        let misplaced = format!("cluster names needs to be empty for policy type {kind}, {only}");
        require(
            !matches!(kind, "PickAll" | "PickN") || policy.cluster_names.is_empty(),
            at_names,
            misplaced,
        )?;
        let unsupported = format!(
            "unsupported value `{kind}`: supported values: \"PickAll\", \"PickN\", \"PickFixed\""
        );
        require(
            matches!(kind, "PickAll" | "PickN" | "PickFixed"),
            "spec.policy.placementType",
            unsupported,
        )?;
        // Only PickFixed has names, and only PickN has a number.
        let are_unique = policy.cluster_names.iter().all_unique();
        require(
            are_unique,
            at_names,
            "cluster names must be unique for policy type PickFixed",
        )?;
        let is_counted = kind != "PickN" || policy.number_of_clusters.is_some();
        require(
            is_counted,
            at_number,
            "number of cluster cannot be nil for policy type PickN",
        )?;
        let number = policy.number_of_clusters.unwrap_or(0);
        require(
            number >= 0,
            at_number,
            format!("number of clusters cannot be {number} for policy type PickN"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_that_admission_rejects_is_rejected() {
        let cases = [
            // a stage, invalid field ("" if valid), why
            ("name: a", "", "all else has defaults"),
            ("name: ''", "name", "a name is needed"),
            ("name: Canary", "name", "small letters"),
            ("name: canary-1", "name", "and digits alone"),
            (
                "{name: a, maxConcurrency: 0}",
                "maxConcurrency",
                "at least 1",
            ),
            ("{name: a, maxConcurrency: 500}", "", "may exceed the stage"),
            (
                "{name: a, maxConcurrency: 0%}",
                "maxConcurrency",
                "at least 1 %",
            ),
            (
                "{name: a, maxConcurrency: 101%}",
                "maxConcurrency",
                "at most 100 %",
            ),
            (
                "{name: a, maxConcurrency: 07%}",
                "maxConcurrency",
                "no leading zero",
            ),
            (
                "{name: a, maxConcurrency: '5'}",
                "maxConcurrency",
                "a quoted number is not a share",
            ),
            ("{name: a, maxConcurrency: 100%}", "", "all at once"),
            (
                "{name: a, beforeStageTasks: [{type: Approval}]}",
                "",
                "the only kind",
            ),
            (
                "{name: a, beforeStageTasks: [{type: TimedWait, waitTime: 1h}]}",
                "beforeStageTasks",
                "no waits before",
            ),
            (
                "{name: a, beforeStageTasks: [{type: Approval}, {type: Approval}]}",
                "beforeStageTasks",
                "only one",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait}]}",
                "afterStageTasks",
                "how long?",
            ),
            (
                "{name: a, afterStageTasks: [{type: Approval, waitTime: 1h}]}",
                "afterStageTasks",
                "not an approval",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: 1h30m0.5s}]}",
                "",
                "parts and fractions",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: 500ms}]}",
                "waitTime",
                "h, m and s alone",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: '5'}]}",
                "waitTime",
                "a unit is needed",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: .5s}]}",
                "waitTime",
                "a digit before the point",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: 05m}]}",
                "waitTime",
                "no leading zero",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: 1d}]}",
                "waitTime",
                "no days",
            ),
            (
                "{name: a, afterStageTasks: [{type: TimedWait, waitTime: 0.5h}]}",
                "",
                "a single zero",
            ),
            (
                "{name: a, afterStageTasks: [{type: Wait}]}",
                "type",
                "no such task",
            ),
        ];
        for (stage, field, why) in cases {
            let text = format!("stages:\n- {stage}");
            let spec: StrategySpec = serde_saphyr::from_str(&text).expect(stage);
            let refused = spec.validate().map_err(|error| error.at);
            match refused {
                Ok(()) => assert_eq!(field, "", "{stage}: {why}"),
                Err(at) => assert!(
                    !field.is_empty() && at.contains(field),
                    "{stage}: {why}, but {at}"
                ),
            }
        }
        let stage = StageConfig {
            name: "a".to_owned(),
            ..StageConfig::default()
        };
        let spec = StrategySpec {
            stages: vec![stage; 32],
        };
        let error = spec.validate().expect_err("one too many").to_string();
        assert_eq!(error, "spec.stages: must have at most 31 items, got 32");
    }

    #[test]
    fn a_placement_that_admission_rejects_is_rejected_with_its_reason() {
        let cases = [
            (
                "strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 0}}",
                "",
            ),
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
            (
                "strategy: {type: BlueGreen}",
                "spec.strategy.type: unsupported rollout strategy type `BlueGreen`",
            ),
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
            let error = spec
                .validate()
                .map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(error, refused, "{yaml}");
        }
    }
}
