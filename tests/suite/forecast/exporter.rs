//! Exports of a simulated rollout at an instant, in the format of each product's own client.
//!
//! Times are whole seconds, as in Kubernetes. Fields that no reader uses are left out, except for a few that every
//! export has.

use fleetsim::results::{ClusterRow, RunRecord};
use serde_json::{Value, json};

/// Time of the release, 2026-03-01T15:00:00Z, in seconds since 1970.
const RELEASE: i64 = 1_772_377_200;

/// A product with an export format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Exported {
    Fleet,
    ArgoCd,
    KubeFleet,
    KubeFleetRolling,
    CloudFoundry,
}

pub(super) const ALL: [Exported; 5] = [
    Exported::Fleet,
    Exported::ArgoCd,
    Exported::KubeFleet,
    Exported::KubeFleetRolling,
    Exported::CloudFoundry,
];

/// A time in the run, in RFC 3339.
pub(super) fn time(seconds: f64) -> String {
    jiff::Timestamp::from_second(RELEASE + seconds.floor() as i64)
        .expect("a time of this century")
        .to_string()
}

/// A target at an instant: when it was instructed and became ready, if that has happened.
struct Shown<'r> {
    cluster: &'r str,
    /// Whether the update was instructed and never succeeds.
    fails: bool,
    stage: &'r str,
    told: Option<f64>,
    ready: Option<f64>,
}

impl Exported {
    /// The strategy of the product in the experiment.
    pub(super) const fn strategy(self) -> &'static str {
        match self {
            Self::Fleet => "rancherFleet: {maxUnavailable: 20%}",
            Self::ArgoCd => {
                "argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: ring, operator: \
                 In, values: [canary]}]}, {matchExpressions: [{key: ring, operator: In, values: [rest]}], maxUpdate: \
                 6}]}}}"
            }
            Self::KubeFleet => {
                "kubeFleetStaged: {stages: [{name: canary, labelSelector: {matchLabels: {ring: canary}}, maxConcurrency: \
                 2, afterStageTasks: [{type: TimedWait, waitTime: 2m}]}, {name: rest, labelSelector: {matchLabels: \
                 {ring: rest}}, maxConcurrency: 20%}]}"
            }
            Self::KubeFleetRolling => {
                "kubeFleetRolling: {maxUnavailable: 20%, unavailablePeriodSeconds: 30}"
            }
            Self::CloudFoundry => "cloudFoundry: {strategy: rolling, maxInFlight: 5}",
        }
    }

    /// The exports of a run at an instant, by file name.
    pub(super) fn export(self, run: &RunRecord, now: f64) -> Vec<(&'static str, String)> {
        let until = |at: Option<f64>| at.filter(|at| *at <= now);
        let shown = |row: &'_ ClusterRow| (until(row.instructed_s), until(row.ready_s));
        let targets: Vec<Shown<'_>> = run
            .clusters
            .iter()
            .map(|row| {
                let (told, ready) = shown(row);
                Shown {
                    cluster: &row.cluster,
                    fails: told.is_some_and(|told| told + 60.0 < now) && row.ready_s.is_none(),
                    stage: &row.stage,
                    told,
                    ready: ready.filter(|_| told.is_some()),
                }
            })
            .collect();
        let agents = |kind| ("clusters.json", agents(kind, run, now).to_string());
        match self {
            Self::Fleet => vec![
                agents(AgentObject::FleetCluster),
                ("status.json", fleet(&targets).to_string()),
            ],
            Self::ArgoCd => vec![("status.json", application_set(&targets).to_string())],
            Self::KubeFleet => vec![
                agents(AgentObject::MemberCluster),
                ("status.json", staged_run(&targets).to_string()),
            ],
            Self::KubeFleetRolling => vec![
                agents(AgentObject::MemberCluster),
                ("status.json", bindings(&targets).to_string()),
            ],
            Self::CloudFoundry => {
                vec![
                    ("deployment.json", deployment(now).to_string()),
                    ("stats.json", stats(&targets, now).to_string()),
                ]
            }
        }
    }
}

/// How long a cluster that is offline at the release has been so, in seconds: as long as it stays offline in the worlds
/// with offline clusters. An outage that is met at a random time has lasted as long as it will last, on average.
const OFFLINE_BEFORE_S: f64 = 3600.0;

/// When an offline cluster is back, in seconds from the release.
const OFFLINE_UNTIL_S: f64 = 3600.0;

/// The object with the last sign of life of a cluster's agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AgentObject {
    FleetCluster,
    MemberCluster,
}

impl AgentObject {
    /// The time between two signs of life, in seconds: the product's default.
    const fn period_s(self) -> f64 {
        match self {
            Self::FleetCluster => 900.0,
            Self::MemberCluster => 60.0,
        }
    }
}

/// The clusters with the last signs of life of their agents.
fn agents(kind: AgentObject, run: &RunRecord, now: f64) -> Value {
    let mut items = Vec::new();
    for row in &run.clusters {
        let is_silent = row.offline && now < OFFLINE_UNTIL_S;
        let heard = if is_silent {
            time(-OFFLINE_BEFORE_S)
        } else {
            time((now / kind.period_s()).floor() * kind.period_s())
        };
        let metadata = json!({"name": row.cluster, "namespace": "fleet-default"});
        items.push(match kind {
            AgentObject::FleetCluster => json!({"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
                "metadata": metadata, "status": {"agent": {"lastSeen": heard}}}),
            AgentObject::MemberCluster => json!({"apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
                "kind": "MemberCluster", "metadata": {"name": row.cluster},
                "status": {"agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": heard}]}}),
        });
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn fleet(targets: &[Shown<'_>]) -> Value {
    let bundle = json!({
        "apiVersion": "fleet.cattle.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": "shop", "namespace": "fleet-default", "managedFields": [
            {"manager": "fleet", "operation": "Update", "time": time(0.0), "fieldsV1": {"f:spec": {"f:resources": {}}}},
        ]},
    });
    let deployment = |target: &Shown<'_>| {
        let current = if target.told.is_some() {
            "s-new:o"
        } else {
            "s-old:o"
        };
        let is_current = target.told.is_none() || target.ready.is_some();
        let state = if is_current {
            "Ready"
        } else if target.fails {
            "ErrApplied"
        } else {
            "WaitApplied"
        };
        let mut conditions =
            vec![json!({"type": "Ready", "status": if is_current { "True" } else { "False" }})];
        if let Some(ready) = target.ready {
            conditions[0]["lastUpdateTime"] = time(ready).into();
        }
        json!({
            "apiVersion": "fleet.cattle.io/v1alpha1",
            "kind": "BundleDeployment",
            "metadata": {
                "name": "shop",
                "namespace": format!("cluster-fleet-default-{}", target.cluster),
                "labels": {"fleet.cattle.io/cluster": target.cluster, "fleet.cattle.io/bundle-name": "shop"},
            },
            "spec": {"deploymentID": current, "stagedDeploymentID": "s-new:o"},
            "status": {
                "appliedDeploymentID": if is_current { current } else { "s-old:o" },
                "ready": is_current,
                "conditions": conditions,
                "display": {"state": state},
            },
        })
    };
    let items: Vec<Value> = std::iter::once(bundle)
        .chain(targets.iter().map(deployment))
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn application_set(targets: &[Shown<'_>]) -> Value {
    let row = |target: &Shown<'_>| {
        let (status, since) = match (target.told, target.ready) {
            (_, Some(ready)) => ("Healthy", ready),
            (Some(told), None) => ("Progressing", told),
            (None, _) => ("Waiting", 0.0),
        };
        json!({"application": target.cluster, "status": status, "lastTransitionTime": time(since), "step": "1",
            "message": "", "targetRevisions": ["v2"]})
    };
    let rows: Vec<Value> = targets.iter().map(row).collect();
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "shop"},
        "spec": {"generators": []}, "status": {"applicationStatus": rows}})
}

/// A condition that is true since the given time. `None` without a time.
fn condition(kind: &str, since: Option<f64>) -> Option<Value> {
    since.map(|at| json!({"type": kind, "status": "True", "lastTransitionTime": time(at)}))
}

fn bindings(targets: &[Shown<'_>]) -> Value {
    let binding = |target: &Shown<'_>| {
        let waits =
            json!({"type": "RolloutStarted", "status": "False", "lastTransitionTime": time(0.0)});
        let mut conditions = vec![condition("RolloutStarted", target.told).unwrap_or(waits)];
        conditions.extend(condition("Available", target.ready));
        json!({"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourceBinding",
            "metadata": {"name": format!("shop-{}", target.cluster)},
            "spec": {"state": "Bound", "targetCluster": target.cluster},
            "status": {"conditions": conditions}})
    };
    json!({"apiVersion": "v1", "kind": "List", "items": targets.iter().map(binding).collect::<Vec<Value>>()})
}

fn staged_run(targets: &[Shown<'_>]) -> Value {
    let stage = |name: &str| {
        let clusters = targets
            .iter()
            .filter(|target| target.stage == name)
            .map(|target| {
                let conditions: Vec<Value> = condition("Started", target.told)
                    .into_iter()
                    .chain(condition("Succeeded", target.ready))
                    .collect();
                json!({"clusterName": target.cluster, "conditions": conditions})
            });
        json!({"stageName": name, "clusters": clusters.collect::<Vec<Value>>()})
    };
    json!({"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterStagedUpdateRun",
        "metadata": {"name": "shop", "creationTimestamp": time(0.0)},
        "status": {"stagesStatus": [stage("canary"), stage("rest")]}})
}

fn deployment(now: f64) -> Value {
    json!({"guid": "d-1", "strategy": "rolling", "created_at": time(0.0), "updated_at": time(now),
        "status": {"value": "ACTIVE", "reason": "DEPLOYING"}, "new_processes": [{"guid": "p-2", "type": "web"}]})
}

fn stats(targets: &[Shown<'_>], now: f64) -> Value {
    let instances = targets
        .iter()
        .enumerate()
        .filter(|(_, target)| target.told.is_some());
    let resources: Vec<Value> = instances
        .map(|(index, target)| match target.ready {
            Some(ready) => {
                json!({"type": "web", "index": index, "state": "RUNNING", "routable": true,
                "uptime": (now - ready).floor()})
            }
            None => json!({"type": "web", "index": index, "state": "STARTING", "uptime": 0}),
        })
        .collect();
    json!({"resources": resources})
}
