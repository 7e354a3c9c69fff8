//! Rancher Fleet's limits, partitions and passes, as recorded from its own code (see `rancher-fleet/README.md`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fleetsim_rollout::label_selector::Labels;
use fleetsim_rollout::rancher_fleet::{
    BundleDeployment, BundleState, BundleSummary, BundleView, ClusterGroup, ClusterView,
    FleetCluster, FleetLimitError, IntOrString, Partition, RancherFleet, RolloutStrategy, RuleSet,
    StrategyError, limit,
};
use fleetsim_rollout::{Revision, TargetSet};
use fleetsim_units::SimTime;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::suite::{Check, Suite, differ, parse, suites_of};

/// Returns all suites for which `folder` has files.
pub fn suites(folder: &Path) -> Vec<Suite> {
    let kinds: [(&str, &str, Check); 3] = [
        ("limit", "cases", check_limit),
        ("partitions", "cases", check_partitions),
        ("traces", "cases", check_trace),
    ];
    suites_of("rancher-fleet", folder, &kinds)
}

fn check_limit(case: &Value) -> Result<(), String> {
    let value: Option<IntOrString> = parse(&case["value"]);
    let count = case["count"].as_i64().expect("a case has a count");
    let got = match limit(count, &[value.as_ref()]) {
        Ok(result) => json!({ "result": result }),
        Err(error) => json!({ "error": limit_error(&error) }),
    };
    let expected = ["result", "error"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), case.get(key)?.clone())));
    differ(
        &format!("{} of {count}", case["value"]),
        &Value::Object(expected.collect()),
        &got,
    )
}

fn check_partitions(case: &Value) -> Result<(), String> {
    let case: PartitionCase = parse(case);
    let fleet = RancherFleet::new(
        case.strategy.unwrap_or_default(),
        RuleSet::Shipped,
        case.clusters.list(&case.groups),
    );
    let got = match fleet.partitioning() {
        Err(error) => json!({ "error": strategy_error(error) }),
        Ok(plan) => {
            let partition = |p: &Partition| json!({"name": p.name, "targets": print_ranges(&p.members), "maxUnavailable": p.max_unavailable});
            json!({
                "partitions": plan.partitions.iter().map(partition).collect::<Vec<_>>(),
                "maxUnavailable": plan.max_unavailable,
                "maxUnavailablePartitions": plan.max_unavailable_partitions,
            })
        }
    };
    let mut expected = case.expect;
    // The record may omit fields whose value is empty or 0.
    if expected.get("error").is_none() {
        let fields = expected.as_object_mut().expect("an object");
        for limit in ["maxUnavailable", "maxUnavailablePartitions"] {
            fields.entry(limit).or_insert(json!(0));
        }
        for partition in fields
            .get_mut("partitions")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let partition = partition.as_object_mut().expect("an object");
            partition.entry("name").or_insert(json!(""));
            partition.entry("maxUnavailable").or_insert(json!(0));
            let targets = partition
                .get("targets")
                .and_then(Value::as_str)
                .unwrap_or_default();
            partition.insert(
                "targets".to_owned(),
                json!(print_ranges(&ranges(targets, case.clusters.n))),
            );
        }
    }
    differ("partitions", &expected, &got)
}

fn check_trace(case: &Value) -> Result<(), String> {
    let case: TraceCase = parse(case);
    let mut loop_ = Loop::new(&case);
    for (index, step) in case.steps.iter().enumerate() {
        for operation in step
            .get("ops")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            loop_.apply(operation);
        }
        let (got, mut expected) = (loop_.pass(), step.clone());
        expected.remove("ops");
        for key in ["created", "promoted", "staged", "deleted"] {
            if let Some(text) = expected.get(key).and_then(Value::as_str) {
                expected.insert(
                    key.to_owned(),
                    json!(print_ranges(&ranges(text, case.clusters.n))),
                );
            }
        }
        expected.retain(|_, value| !is_empty(value));
        differ(
            &format!("step {index}"),
            &Value::Object(expected),
            &Value::Object(got),
        )?;
    }
    Ok(())
}

/// The loop of the controller for a bundle whose agents act as recorded.
struct Loop {
    fleet: RancherFleet,
    /// A second scheduler with partial passes, which must make the same decisions as `fleet`.
    quick: RancherFleet,
    /// The clusters as the last pass saw them.
    known: Vec<ClusterView>,
    view: BundleView,
    /// Cluster indices in the order of names.
    order: Vec<u32>,
    /// The partitions of the last report.
    parts: Value,
}

impl Loop {
    fn new(case: &TraceCase) -> Self {
        let clusters = case.clusters.list(&case.groups);
        let mut order: Vec<u32> = (0..case.clusters.n as u32).collect();
        order.sort_by(|a, b| clusters[*a as usize].name.cmp(&clusters[*b as usize].name));
        let wanted = Revision(case.init.version);
        let view = BundleView {
            paused: case.init.bundle_paused,
            clusters: vec![ClusterView::new(wanted); order.len()],
        };
        let strategy = case.strategy.clone().unwrap_or_default();
        let fleet = RancherFleet::new(strategy, RuleSet::Shipped, clusters);
        let (quick, known) = (fleet.clone(), view.clusters.clone());
        let mut loop_ = Self {
            fleet,
            quick,
            known,
            view,
            order,
            parts: Value::Null,
        };
        for stored in &case.init.bds {
            let id = |version: u32| (version > 0).then_some(Revision(version));
            let deployment = BundleDeployment {
                staged: id(stored.staged),
                deployed: id(stored.deployed),
                applied: id(stored.applied),
                ready: stored.ready,
                non_modified: stored.non_modified,
                ..BundleDeployment::default()
            };
            loop_.each(&stored.c, |cluster| cluster.deployment = Some(deployment));
        }
        loop_.each(&case.init.paused, |cluster| cluster.paused = true);
        loop_.each(&case.init.unregistered, |cluster| {
            cluster.registered = false;
        });
        loop_.each(&case.init.untargeted, |cluster| cluster.targeted = false);
        loop_.each(&case.init.off_schedule, |cluster| {
            cluster.off_schedule = true;
        });
        loop_
    }

    fn each(&mut self, list: &str, mut change: impl FnMut(&mut ClusterView)) {
        for index in ranges(list, self.view.clusters.len()) {
            change(&mut self.view.clusters[index as usize]);
        }
    }

    fn each_deployment(&mut self, list: &str, change: impl Fn(&mut BundleDeployment)) {
        self.each(list, |cluster| {
            if let Some(deployment) = &mut cluster.deployment {
                change(deployment);
            }
        });
    }

    fn apply(&mut self, operation: &Value) {
        let name = operation[0].as_str().expect("an operation has a name");
        let list = operation[1].as_str().unwrap_or_default();
        match name {
            "version" => {
                let version = operation[2]
                    .as_u64()
                    .and_then(|version| u32::try_from(version).ok());
                let version = Revision(version.expect("a version"));
                self.each(list, |cluster| cluster.wanted = version);
            }
            "strategy" => {
                let strategy = parse::<Option<RolloutStrategy>>(&operation[1]).unwrap_or_default();
                self.fleet.set_strategy(strategy.clone());
                self.quick.set_strategy(strategy);
            }
            "bundlePaused" => self.view.paused = operation[1].as_bool().expect("true or false"),
            "pause" => self.each(list, |cluster| cluster.paused = true),
            "unpause" => self.each(list, |cluster| cluster.paused = false),
            "add" => self.each(list, |cluster| cluster.targeted = true),
            "remove" => self.each(list, |cluster| cluster.targeted = false),
            "register" => self.each(list, |cluster| cluster.registered = true),
            "unregister" => self.each(list, |cluster| cluster.registered = false),
            "offSchedule" => self.each(list, |cluster| cluster.off_schedule = true),
            "onSchedule" | "unschedule" => self.each(list, |cluster| cluster.off_schedule = false),
            "dropBD" => self.each(list, |cluster| cluster.deployment = None),
            "applied" => self.each_deployment(list, |deployment| {
                deployment.applied = deployment.deployed;
                deployment.failed = false;
            }),
            "ready" => self.each_deployment(list, |deployment| {
                deployment.ready = true;
                deployment.non_modified = true;
            }),
            "unready" => self.each_deployment(list, |deployment| deployment.ready = false),
            "modified" => self.each_deployment(list, |deployment| deployment.non_modified = false),
            "deployFailed" => self.each_deployment(list, |deployment| deployment.failed = true),
            other => panic!("unknown operation `{other}`"),
        }
    }

    /// Runs one pass, and returns its effects in the format of the record; empty fields are omitted.
    fn pass(&mut self) -> Map<String, Value> {
        let before = self.view.clusters.clone();
        let pass = self.fleet.reconcile(SimTime::ZERO, &self.view);
        let mut changed = TargetSet::new(before.len());
        for index in (0..before.len()).filter(|&index| before[index] != self.known[index]) {
            changed.insert(index as u32);
        }
        let quick = self
            .quick
            .reconcile_changed(SimTime::ZERO, &self.view, &changed);
        assert_eq!(
            quick, pass,
            "a pass over what changed decides as one over all"
        );
        self.known.clone_from(&before);
        self.view.store(&pass);
        let changed = |order: &[u32],
                       test: &dyn Fn(
            Option<BundleDeployment>,
            Option<BundleDeployment>,
        ) -> bool| {
            let is_changed = |index: &&u32| {
                let index = **index as usize;
                test(
                    before[index].deployment,
                    self.view.clusters[index].deployment,
                )
            };
            json!(print_ranges(
                &order.iter().filter(is_changed).copied().collect::<Vec<_>>()
            ))
        };
        if let Some(error) = &pass.status.error {
            assert!(
                before == self.view.clusters,
                "a pass that failed changes nothing"
            );
            return [("error".to_owned(), json!(strategy_error(error)))]
                .into_iter()
                .collect();
        }
        let by_index: Vec<u32> = (0..before.len() as u32).collect();
        let status = &pass.status;
        let plan = self.fleet.partitioning().expect("the pass has not failed");
        let repo = BundleSummary::of_git_repo(&self.view);
        let part = |it: &Partition| json!([it.name, it.members.len(), it.max_unavailable]);
        let parts = json!(plan.partitions.iter().map(part).collect::<Vec<_>>());
        let mut got = Map::from_iter([
            (
                "created".to_owned(),
                changed(&self.order, &|old, new| old.is_none() && new.is_some()),
            ),
            (
                "promoted".to_owned(),
                changed(&self.order, &|old, new| {
                    new.is_some_and(|new| old.and_then(|old| old.deployed) != new.deployed)
                }),
            ),
            (
                "staged".to_owned(),
                changed(&self.order, &|old, new| {
                    new.is_some_and(|new| old.and_then(|old| old.staged) != new.staged)
                }),
            ),
            (
                "deleted".to_owned(),
                changed(&by_index, &|old, new| old.is_some() && new.is_none()),
            ),
            ("un".to_owned(), json!(status.partitions)),
            (
                "bundle".to_owned(),
                json!([
                    status.unavailable,
                    plan.max_unavailable,
                    status.unavailable_partitions,
                    plan.max_unavailable_partitions,
                    status.newly_created,
                ]),
            ),
            ("summary".to_owned(), counts(&status.summary)),
            (
                "display".to_owned(),
                state(status.not_ready.iter().map(|(_, state)| *state).max()),
            ),
            ("repo".to_owned(), counts(&repo)),
            ("repoState".to_owned(), state(repo.worst())),
        ]);
        if parts != self.parts {
            got.insert("parts".to_owned(), parts.clone());
            self.parts = parts;
        }
        got.retain(|_, value| !is_empty(value));
        got
    }
}

#[derive(Deserialize)]
struct PartitionCase {
    strategy: Option<RolloutStrategy>,
    #[serde(default)]
    groups: BTreeMap<String, Labels>,
    clusters: Clusters,
    expect: Value,
}

#[derive(Deserialize)]
struct TraceCase {
    strategy: Option<RolloutStrategy>,
    #[serde(default)]
    groups: BTreeMap<String, Labels>,
    clusters: Clusters,
    init: Init,
    steps: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Clusters {
    n: usize,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    classes: Vec<Class>,
    #[serde(default)]
    assign: String,
}

#[derive(Deserialize)]
struct Class {
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Init {
    version: u32,
    bds: Vec<Stored>,
    paused: String,
    unregistered: String,
    untargeted: String,
    off_schedule: String,
    bundle_paused: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Stored {
    c: String,
    staged: u32,
    deployed: u32,
    applied: u32,
    ready: bool,
    non_modified: bool,
}

impl Clusters {
    fn list(&self, groups: &BTreeMap<String, Labels>) -> Vec<FleetCluster> {
        let group = |(name, labels): (&String, &Labels)| {
            (
                name.clone(),
                Arc::new(ClusterGroup {
                    name: name.clone(),
                    labels: labels.clone(),
                }),
            )
        };
        let groups: BTreeMap<String, Arc<ClusterGroup>> = groups.iter().map(group).collect();
        let cluster = |index: usize| {
            let class = self.assign.as_bytes().get(index).map_or(0, |digit| {
                char::from(*digit)
                    .to_digit(36)
                    .expect("a class is one of 0-9a-z") as usize
            });
            let class = self.classes.get(class);
            FleetCluster {
                name: self
                    .names
                    .get(index)
                    .cloned()
                    .unwrap_or_else(|| format!("c{index:04}")),
                labels: class
                    .map(|class| class.labels.clone().into())
                    .unwrap_or_default(),
                groups: class
                    .into_iter()
                    .flat_map(|class| &class.groups)
                    .map(|name| {
                        Arc::clone(groups.get(name).expect("the group of a class is listed"))
                    })
                    .collect(),
            }
        };
        (0..self.n).map(cluster).collect()
    }
}

fn is_empty(value: &Value) -> bool {
    value == &json!("") || value == &json!([]) || value.is_null() || value == &json!(false)
}

fn limit_error(error: &FleetLimitError) -> &'static str {
    match error {
        FleetLimitError::NotIntOrPercent(_) => "not-int-or-percent",
        FleetLimitError::BadPercent(_) => "bad-percent",
        other => panic!("the record knows no error such as {other}"),
    }
}

fn strategy_error(error: &StrategyError) -> &'static str {
    match error {
        StrategyError::Limit { source, .. } => limit_error(source),
        StrategyError::Selector { .. } => "bad-selector",
    }
}

fn counts(summary: &BundleSummary) -> Value {
    json!(BundleState::ALL.map(|state| summary.count(state)))
}

fn state(state: Option<BundleState>) -> Value {
    json!(state.map(|state| format!("{state:?}")))
}

/// Reads a list of numbers: `"0-3,7,5"` is 0, 1, 2, 3, 7, 5; `"*"` is all numbers below `n`.
fn ranges(text: &str, n: usize) -> Vec<u32> {
    if text == "*" {
        return (0..n as u32).collect();
    }
    let number = |text: &str| {
        text.parse::<u32>()
            .unwrap_or_else(|error| panic!("{error}: `{text}`"))
    };
    let mut list = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        match part.split_once('-') {
            Some((first, last)) => list.extend(number(first)..=number(last)),
            None => list.push(number(part)),
        }
    }
    list
}

/// Prints a list of numbers in the format that [`ranges`] reads; every ascending run becomes a range.
fn print_ranges(list: &[u32]) -> String {
    let runs = list.chunk_by(|a, b| a + 1 == *b);
    let print = |run: &[u32]| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(print).collect::<Vec<_>>().join(",")
}
