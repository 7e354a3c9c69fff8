//! Explains a strategy for a fleet before a rollout: stages, limits and tasks in numbers, and warnings.

use super::super::super::TargetId;
use super::super::super::text::{NAMED, count};
use super::super::{KubeFleetVersion, MemberCluster, RuleSet};
use super::{RunBehaviour, RunError, StageConfig, StageTask, StagedUpdateRun, StrategySpec};

/// A strategy applied to a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedExplanation {
    /// The stages in the order in which they are updated.
    pub stages: Vec<StageExplanation>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// One stage of a [`StagedExplanation`].
#[derive(Clone, Debug, PartialEq)]
pub struct StageExplanation {
    /// The stage's name.
    pub name: String,
    /// Number of clusters in the stage.
    pub count: usize,
    /// Maximum number of clusters updated concurrently; 0 for a value that admission rejects.
    pub max_concurrency: i64,
    /// The names of the stage's first clusters, in the order in which they are updated.
    pub first: Vec<String>,
    /// Tasks before the stage starts, e.g. `Approval`.
    pub before_tasks: Vec<String>,
    /// Tasks after the stage, before the next one starts, e.g. `TimedWait 1h`.
    pub after_tasks: Vec<String>,
}

/// Applies `strategy`, with its defaults, to these clusters, like a run whose placement has picked them all.
///
/// # Errors
/// The reason why the run could not be initialized.
pub fn explain(
    strategy: &StrategySpec,
    behaviour: RunBehaviour,
    clusters: Vec<MemberCluster>,
) -> Result<StagedExplanation, RunError> {
    let newest = String::new();
    let run = StagedUpdateRun::new(
        String::new(),
        newest,
        Some(strategy.clone().with_defaults()),
        behaviour,
        clusters,
    );
    let mut stages: Vec<StageExplanation> = Vec::new();
    let mut all_warnings = Vec::new();
    for (index, targets) in run.inputs.assign(|_| true)?.iter().enumerate() {
        let stage = explain_stage(&run, index, targets);
        let is_twice = stages.iter().any(|before| before.name == stage.name);
        let config = run.inputs.config(index);
        all_warnings.extend(warnings(&stage, config, is_twice, behaviour));
        stages.push(stage);
    }
    if run.clusters().is_empty() {
        all_warnings = vec!["there is no cluster: the run cannot be initialized".to_owned()];
    }
    Ok(StagedExplanation {
        stages,
        warnings: all_warnings,
    })
}

/// Explains a stage with these clusters, in the order in which they are updated.
fn explain_stage(run: &StagedUpdateRun, index: usize, targets: &[TargetId]) -> StageExplanation {
    let inputs = &run.inputs;
    let config = inputs.config(index);
    let first = targets.iter().take(NAMED);
    StageExplanation {
        name: config.name.clone(),
        count: targets.len(),
        max_concurrency: inputs.max_concurrency(index, targets.len()).unwrap_or(0),
        first: first.map(|target| inputs.name(*target)).collect(),
        before_tasks: match inputs.behaviour.rules {
            RuleSet::Shipped => tasks(&config.before_stage_tasks),
            RuleSet::Documented => Vec::new(),
        },
        after_tasks: tasks(&config.after_stage_tasks),
    }
}

fn tasks(tasks: &[StageTask]) -> Vec<String> {
    let mut texts = Vec::new();
    for StageTask { kind, wait_time } in tasks {
        texts.push(match wait_time {
            Some(wait) if kind == "TimedWait" => format!("{kind} {wait}"),
            _ => kind.clone(),
        });
    }
    texts
}

/// Describes the handling of the tasks of a stage without clusters. Empty if the stage has no tasks.
///
/// Source: `pkg/controllers/updaterun/execution.go` of kubefleet-dev/kubefleet. v0.3.1 waits for the tasks as in every
/// stage, and e160c1c skips the stage.
fn tasks_of_empty(stage: &StageExplanation, behaviour: RunBehaviour) -> String {
    let mut waits = Vec::new();
    for (when, tasks) in [
        ("before", &stage.before_tasks),
        ("after", &stage.after_tasks),
    ] {
        if !tasks.is_empty() {
            waits.push(format!("{} {when} it", tasks.join(" and ")));
        }
    }
    if waits.is_empty() || behaviour.rules == RuleSet::Documented {
        return String::new();
    }
    match behaviour.version {
        KubeFleetVersion::V0_3 => format!(
            "; KubeFleet 0.3 nevertheless waits for its tasks: {}",
            waits.join(", ")
        ),
        KubeFleetVersion::Main => "; its tasks are skipped".to_owned(),
    }
}

fn warnings(
    stage: &StageExplanation,
    config: &StageConfig,
    is_twice: bool,
    behaviour: RunBehaviour,
) -> Vec<String> {
    let rules = behaviour.rules;
    let mut warnings = Vec::new();
    let title = format!("stage `{}`", stage.name);
    if is_twice {
        warnings.push(format!(
            "{title} appears twice: an approval of the first also counts for the second"
        ));
    }
    if stage.count == 0 {
        let why = match &config.label_selector {
            None => "has no labelSelector and therefore selects no cluster, while `{}` selects all",
            Some(_) => "selects no cluster",
        };
        let tasks = tasks_of_empty(stage, behaviour);
        warnings.push(format!("{title} {why}{tasks}"));
        return warnings;
    }
    if stage.max_concurrency >= stage.count as i64 && stage.count > 1 {
        warnings.push(format!(
            "maxConcurrency of {title} is the whole stage: {} are updated simultaneously",
            count(stage.count, "cluster")
        ));
    }
    if rules == RuleSet::Documented {
        let limit = config.max_concurrency.as_ref();
        if limit.is_some_and(|limit| *limit != 1.into()) {
            warnings.push(format!(
                "maxConcurrency of {title} has no effect: as documented clusters are updated one at a time"
            ));
        }
        if !config.before_stage_tasks.is_empty() {
            warnings.push(format!(
                "beforeStageTasks of {title} have no effect: as documented stages have none"
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(rings: &[(&str, usize)]) -> Vec<MemberCluster> {
        let rings = rings
            .iter()
            .flat_map(|(ring, count)| std::iter::repeat_n(*ring, *count));
        let cluster = |(index, ring): (usize, &str)| MemberCluster {
            name: format!("m{index:02}"),
            labels: [
                ("ring".to_owned(), ring.to_owned()),
                ("order".to_owned(), (50 - index).to_string()),
            ]
            .into(),
            left: false,
        };
        rings.enumerate().map(cluster).collect()
    }

    fn explained(yaml: &str, rules: RuleSet) -> Result<StagedExplanation, RunError> {
        let strategy = serde_saphyr::from_str(yaml).expect(yaml);
        explain(
            &strategy,
            RunBehaviour::of(rules),
            clusters(&[("0", 2), ("1", 10)]),
        )
    }

    const YAML: &str = "stages: [
        {name: canary, labelSelector: {matchLabels: {ring: '0'}}, afterStageTasks: [{type: TimedWait, waitTime: 1h}]},
        {name: rest, labelSelector: {matchLabels: {ring: '1'}}, sortingLabelKey: order, maxConcurrency: 25%,
         beforeStageTasks: [{type: Approval}]}]";

    #[test]
    fn a_strategy_is_explained_in_numbers() {
        let found = explained(YAML, RuleSet::Shipped).expect("it is valid");
        assert_eq!(found.warnings, Vec::<String>::new());
        let [canary, rest] = &found.stages[..] else {
            panic!("two stages")
        };
        assert_eq!(
            (canary.count, canary.max_concurrency),
            (2, 1),
            "the default"
        );
        assert_eq!(canary.after_tasks, ["TimedWait 1h"]);
        assert_eq!(
            (rest.count, rest.max_concurrency),
            (10, 2),
            "25 % of 10, rounded down"
        );
        assert_eq!(
            rest.first,
            ["m11", "m10", "m09"],
            "by the label, smallest first"
        );
        assert_eq!(rest.before_tasks, ["Approval"]);
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let cases: [(&str, RuleSet, &[&str]); 4] = [
            (
                YAML,
                RuleSet::Documented,
                &[
                    "maxConcurrency of stage `rest` has no effect: as documented clusters are updated one at a time",
                    "beforeStageTasks of stage `rest` have no effect: as documented stages have none",
                ],
            ),
            (
                "stages: [{name: all, labelSelector: {}, maxConcurrency: 100%}]",
                RuleSet::Shipped,
                &[
                    "maxConcurrency of stage `all` is the whole stage: 12 clusters are updated simultaneously",
                ],
            ),
            (
                "stages: [{name: no, labelSelector: {matchLabels: {ring: '9'}}}, {name: none}, {name: all, labelSelector: {}}]",
                RuleSet::Shipped,
                &[
                    "stage `no` selects no cluster",
                    "stage `none` has no labelSelector and therefore selects no cluster, while `{}` selects all",
                ],
            ),
            (
                "stages: [{name: a, labelSelector: {matchLabels: {ring: '0'}}}, {name: a, maxConcurrency: 5, labelSelector: {matchLabels: {ring: '1'}}}]",
                RuleSet::Shipped,
                &["stage `a` appears twice: an approval of the first also counts for the second"],
            ),
        ];
        for (yaml, rules, warnings) in cases {
            assert_eq!(
                explained(yaml, rules).expect(yaml).warnings,
                warnings,
                "{yaml}, {rules:?}"
            );
        }
    }

    #[test]
    fn a_run_that_cannot_be_initialized_has_a_reason() {
        let error = explained(
            "stages: [{name: a, labelSelector: {matchLabels: {ring: '1'}}}]",
            RuleSet::Shipped,
        );
        let expected = RunError::ClustersNotInAnyStage {
            total: 2,
            first: vec!["m00".to_owned(), "m01".to_owned()],
        };
        assert_eq!(error, Err(expected));
    }

    #[test]
    fn the_tasks_of_an_empty_stage_are_skipped_or_waited_for_by_version() {
        let yaml = "stages: [
            {name: no, labelSelector: {matchLabels: {ring: '9'}}, beforeStageTasks: [{type: Approval}],
             afterStageTasks: [{type: TimedWait, waitTime: 1h}]}, {name: all, labelSelector: {}}]";
        let strategy: StrategySpec = serde_saphyr::from_str(yaml).expect(yaml);
        let cases = [
            (
                KubeFleetVersion::V0_3,
                "stage `no` selects no cluster; KubeFleet 0.3 nevertheless waits for its tasks: Approval before it, \
                 TimedWait 1h after it",
            ),
            (
                KubeFleetVersion::Main,
                "stage `no` selects no cluster; its tasks are skipped",
            ),
        ];
        for (version, warning) in cases {
            let behaviour = RunBehaviour {
                version,
                ..RunBehaviour::of(RuleSet::Shipped)
            };
            let found = explain(&strategy, behaviour, clusters(&[("0", 2)])).expect(yaml);
            assert_eq!(found.warnings[0], warning);
        }
    }
}
