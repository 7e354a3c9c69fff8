//! Random strategies of every product that the product would accept.

use std::sync::Arc;

use fleetsim::control_plane::ControlLoop;
use fleetsim::products::argo_cd::{
    ApplicationControllerSettings, ApplicationExceptions, ApplicationSource, ArgoCdProposal,
    ArgoCdRelease, ArgoCdStrategy, applications,
};
use fleetsim::products::cloud_foundry::CloudFoundryDeployment;
use fleetsim::products::kubefleet::{KubeFleetRolling, KubeFleetStaged, UpdateRuns};
use fleetsim::products::rancher_fleet::{HelmWait, RancherFleetStrategy};
use fleetsim::products::{self, Strategy};
use fleetsim::rollout::IntOrString;
use fleetsim::rollout::argo_cd::proposal::{ProposalStrategy, ProposedRollingUpdate};
use fleetsim::rollout::argo_cd::{ApplicationSetSpec, ArgoCdVersion, ControllerOptions};
use fleetsim::rollout::baseline::Baseline;
use fleetsim::rollout::cloud_foundry::{
    self, AppQuota, DeploymentOptions, Superseded, SupersededState,
};
use fleetsim::rollout::kubefleet::{
    self, KubeFleetBugs, KubeFleetVersion, RollingUpdateConfig, StrategySpec,
};
use fleetsim::rollout::rancher_fleet::{RolloutStrategy, RuleSet};
use fleetsim::scenario::Scenario;
use fleetsim::units::SimDuration;
use fleetsim::world::{NEW, ReleaseKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::luck::Luck;
use super::world::RINGS;

/// The product whose strategies are drawn.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Product {
    FleetOrBaseline,
    ArgoCd,
    ArgoCdProposal,
    KubeFleetStaged,
    KubeFleetRolling,
    CloudFoundry,
}

impl Product {
    pub(crate) const ALL: [Self; 6] = [
        Self::FleetOrBaseline,
        Self::ArgoCd,
        Self::ArgoCdProposal,
        Self::KubeFleetStaged,
        Self::KubeFleetRolling,
        Self::CloudFoundry,
    ];

    /// A random strategy for the world of `scenario`, whose own strategy is ignored.
    pub(crate) fn strategy(self, luck: &mut Luck, scenario: &Scenario) -> Arc<dyn Strategy> {
        match self {
            Self::FleetOrBaseline => fleet_or_baseline(luck),
            Self::ArgoCd => argo_cd(luck),
            Self::ArgoCdProposal => argo_cd_proposal(luck, scenario),
            Self::KubeFleetStaged => kubefleet_staged(luck),
            Self::KubeFleetRolling => kubefleet_rolling(luck, scenario),
            Self::CloudFoundry => cloud_foundry(luck, scenario),
        }
    }

    pub(crate) fn control_loop(self) -> ControlLoop {
        let key = match self {
            Self::FleetOrBaseline => "rancherFleet",
            Self::ArgoCd => "argoCd",
            Self::ArgoCdProposal => "argoCdProposal",
            Self::KubeFleetStaged => "kubeFleetStaged",
            Self::KubeFleetRolling => "kubeFleetRolling",
            Self::CloudFoundry => "cloudFoundry",
        };
        products::find(key)
            .expect("it is in the table")
            .control_loop
            .clone()
    }
}

fn fleet_or_baseline(luck: &mut Luck) -> Arc<dyn Strategy> {
    let limit = |luck: &mut Luck| {
        luck.chance(0.7).then(|| {
            if luck.chance(0.5) {
                IntOrString::Int(luck.number(0, 4) as i32)
            } else {
                IntOrString::String(format!("{}%", luck.number(0, 100)))
            }
        })
    };
    match luck.number(0, 4) {
        0 => Arc::new(Baseline::AllAtOnce),
        1 => Arc::new(Baseline::BatchSize(luck.number(1, 5))),
        2 => Arc::new(Baseline::Doubling(luck.number(1, 3))),
        _ => Arc::new(RancherFleetStrategy {
            judges_wanted: true,
            has_values: false,
            paused: false,
            schedules: None,
            helm: HelmWait::default(),
            rules: if luck.chance(0.5) {
                RuleSet::Shipped
            } else {
                RuleSet::Documented
            },
            strategy: RolloutStrategy {
                max_unavailable: limit(luck),
                max_unavailable_partitions: limit(luck),
                auto_partition_size: Some(IntOrString::String(format!(
                    "{}%",
                    luck.number(10, 100)
                ))),
                auto_partition_threshold: Some(1),
                ..RolloutStrategy::default()
            },
            ignored: Vec::new(),
        }),
    }
}

fn argo_cd(luck: &mut Luck) -> Arc<dyn Strategy> {
    let mut spec = json!({});
    if luck.chance(0.9) {
        let steps = argo_cd_steps(luck, 1, &["20", "-1%"]);
        spec["strategy"] = json!({"type": "RollingSync", "rollingSync": {"steps": steps}});
    }
    if luck.chance(0.8) {
        let automated = if luck.chance(0.2) {
            json!({"enabled": luck.chance(0.5)})
        } else {
            json!({})
        };
        spec["template"] = json!({"spec": {"syncPolicy": {"automated": automated}}});
    }
    if luck.chance(0.2) {
        let applications_sync =
            ["create-only", "create-update", "create-delete", "sync"][luck.number(0, 3) as usize];
        spec["syncPolicy"] = json!({"applicationsSync": applications_sync});
    }
    let mut options = ControllerOptions {
        enable_progressive_syncs: luck.chance(0.95),
        trigger_once: luck.chance(0.3),
        keep_spec_changes: luck.chance(0.3),
        ..ControllerOptions::default()
    };
    let mut release = if luck.chance(0.7) {
        ArgoCdRelease::TargetRevision
    } else {
        ArgoCdRelease::Parameters
    };
    if luck.chance(0.2) {
        release = ArgoCdRelease::Commit;
    }
    if luck.chance(0.5) {
        spec["template"]["spec"]["syncPolicy"]["retry"] =
            json!({"limit": i64::from(luck.number(0, 4)) - 1});
    }
    if luck.chance(0.3) {
        spec["generators"] = json!([{"git": {}}]);
    }
    if luck.chance(0.3) {
        options.version = if luck.chance(0.5) {
            ArgoCdVersion::V3_3
        } else {
            ArgoCdVersion::V3_6
        };
        options.refresh_grace_period = SimDuration::from_secs(luck.number(0, 30).into());
    }
    let application_controller = application_controller(luck);
    Arc::new(ArgoCdStrategy {
        spec: read::<ApplicationSetSpec>(spec),
        options,
        release,
        application_controller,
        concurrent_updates: 1,
        applications: ApplicationSource::Entries,
        has_webhook: false,
        sync_windows: None,
        exceptions: ApplicationExceptions::default(),
    })
}

fn application_controller(luck: &mut Luck) -> ApplicationControllerSettings {
    let mut settings = json!({});
    if luck.chance(0.3) {
        settings["clientQps"] = luck.number(0, 100).into();
        settings["operationProcessors"] = luck.number(1, 20).into();
        settings["kubectlParallelism"] = luck.number(1, 10).into();
    }
    if luck.chance(0.3) {
        settings["shards"] = luck.number(1, 4).into();
        settings["sharding"] = ["legacy", "round-robin"][luck.number(0, 1) as usize].into();
    }
    read::<ApplicationControllerSettings>(settings)
}

fn argo_cd_proposal(luck: &mut Luck, scenario: &Scenario) -> Arc<dyn Strategy> {
    let strategy = match luck.number(0, 9) {
        0 => json!({}),
        1 => json!({"type": "AllAtOnce"}),
        _ => {
            json!({"type": "RollingUpdate", "rollingUpdate": {"steps": argo_cd_steps(luck, 0, &[])}})
        }
    };
    let strategy = read::<ProposalStrategy>(strategy);
    ProposedRollingUpdate::new(&strategy, &applications(&scenario.world.clusters))
        .expect("nothing is drawn that has no meaning");
    Arc::new(ArgoCdProposal {
        strategy,
        ..ArgoCdProposal::default()
    })
}

/// Random steps: either each ring is in exactly one step, or the steps select arbitrary rings.
fn argo_cd_steps(luck: &mut Luck, fewest: u32, odd_limits: &[&str]) -> Vec<Value> {
    let count = luck.number(fewest, 4);
    let rings = rings(luck, count.max(1));
    let are_disjoint = luck.chance(0.7);
    (0..count as usize)
        .map(|step| {
            let mut step = if are_disjoint {
                json!({"matchExpressions": [{"key": "ring", "operator": "In", "values": rings[step]}]})
            } else {
                match luck.number(0, 3) {
                    0 => json!({}),
                    1 => json!({"matchExpressions": [{"key": "env", "operator": "In", "values": ["a"]}]}),
                    2 => json!({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["a"]}]}),
                    _ => json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}),
                }
            };
            match luck.number(0, 3) {
                0 => {}
                1 => step["maxUpdate"] = json!(luck.number(0, 4)),
                2 if !odd_limits.is_empty() && luck.chance(0.1) => {
                    step["maxUpdate"] = json!(odd_limits[luck.number(0, odd_limits.len() as u32 - 1) as usize]);
                }
                _ => step["maxUpdate"] = json!(format!("{}%", luck.number(0, 100))),
            }
            step
        })
        .collect()
}

fn kubefleet_staged(luck: &mut Luck) -> Arc<dyn Strategy> {
    let count = luck.number(1, 4);
    let rings = rings(luck, count);
    let stages: Vec<Value> = rings
        .iter()
        .enumerate()
        .map(|(index, rings)| {
            // A stage may be empty.
            let selector = match rings.is_empty() {
                true => json!({"matchLabels": {"ring": "none"}}),
                false => json!({"matchExpressions": [{"key": "ring", "operator": "In", "values": rings}]}),
            };
            let mut stage = json!({"name": format!("s{index}"), "labelSelector": selector});
            if luck.chance(0.5) {
                stage["sortingLabelKey"] = json!("wave");
            }
            match luck.number(0, 2) {
                0 => {}
                1 => stage["maxConcurrency"] = json!(luck.number(1, 5)),
                _ => stage["maxConcurrency"] = json!(format!("{}%", luck.number(1, 100))),
            }
            if luck.chance(0.2) {
                stage["beforeStageTasks"] = json!([{"type": "Approval"}]);
            }
            let mut after = Vec::new();
            if luck.chance(0.2) {
                after.push(json!({"type": "Approval"}));
            }
            if luck.chance(0.3) {
                after.push(json!({"type": "TimedWait", "waitTime": format!("{}s", luck.number(1, 1800))}));
            }
            stage["afterStageTasks"] = json!(after);
            stage
        })
        .collect();
    let (rules, upstream_bugs) = kubefleet_rules(luck);
    let strategy = read::<StrategySpec>(json!({ "stages": stages }));
    strategy
        .validate()
        .expect("nothing is drawn that admission refuses");
    let approvals = luck.chance(0.8).then(|| luck.duration(1800.0));
    let version = KubeFleetVersion::default();
    let (strategy, updates) = (strategy.with_defaults(), UpdateRuns::default());
    Arc::new(KubeFleetStaged {
        rules,
        version,
        upstream_bugs,
        strategy,
        approvals,
        updates,
        delay: SimDuration::ZERO.into(),
    })
}

fn kubefleet_rolling(luck: &mut Luck, scenario: &Scenario) -> Arc<dyn Strategy> {
    let clusters = scenario.world.clusters.len() as u32;
    let limit = |luck: &mut Luck| {
        luck.chance(0.8).then(|| match luck.chance(0.5) {
            true => IntOrString::Int(luck.number(0, 4) as i32),
            false => IntOrString::String(format!("{}%", luck.number(0, 100))),
        })
    };
    let config = RollingUpdateConfig {
        max_unavailable: limit(luck),
        max_surge: limit(luck),
        unavailable_period_seconds: luck.chance(0.7).then(|| i64::from(luck.number(0, 120))),
    };
    let requested = match luck.number(0, 2) {
        0 => None,
        1 => Some(clusters + luck.number(0, 2)),
        _ => Some(clusters),
    };
    let (rules, upstream_bugs) = kubefleet_rules(luck);
    Arc::new(KubeFleetRolling {
        rules,
        upstream_bugs,
        requested,
        config,
        delay: SimDuration::ZERO.into(),
    })
}

fn kubefleet_rules(luck: &mut Luck) -> (kubefleet::RuleSet, KubeFleetBugs) {
    let rules = if luck.chance(0.7) {
        kubefleet::RuleSet::Shipped
    } else {
        kubefleet::RuleSet::Documented
    };
    let upstream_bugs = if luck.chance(0.7) {
        KubeFleetBugs::of(rules)
    } else {
        KubeFleetBugs {
            in_progress_is_failure: luck.chance(0.5),
            delete_only_run_fails: luck.chance(0.5),
            missed_wake_ups: luck.chance(0.5),
        }
    };
    (rules, upstream_bugs)
}

fn cloud_foundry(luck: &mut Luck, scenario: &Scenario) -> Arc<dyn Strategy> {
    let instances = scenario.world.clusters.len() as u32;
    let rules = if luck.chance(0.7) {
        cloud_foundry::RuleSet::Shipped
    } else {
        cloud_foundry::RuleSet::Documented
    };
    let is_canary = luck.chance(0.5);
    let mut weights: Vec<u8> = (0..luck.number(1, 4))
        .map(|_| luck.number(1, 100) as u8)
        .collect();
    weights.sort_unstable();
    let options = DeploymentOptions {
        strategy: if is_canary {
            cloud_foundry::DeploymentStrategy::Canary
        } else {
            cloud_foundry::DeploymentStrategy::Rolling
        },
        max_in_flight: u64::from(luck.number(1, 6)),
        canary_steps: (is_canary && luck.chance(0.7)).then_some(weights),
        web_instances: luck.chance(0.2).then_some(instances),
        ..DeploymentOptions::default()
    };
    let mut quota = AppQuota::default();
    if luck.chance(0.3) {
        quota.organization.app_instance_limit = Some(u64::from(instances + luck.number(0, 8)));
    }
    let continue_after = luck.chance(0.7).then(|| luck.duration(600.0));
    let cancel_after = luck.chance(0.25).then(|| luck.duration(1200.0));
    let state = match luck.number(0, 2) {
        0 => SupersededState::Deploying,
        1 => SupersededState::Prepaused,
        _ => SupersededState::Paused,
    };
    let most = instances - u32::from(state == SupersededState::Deploying);
    let supersedes = (scenario.world.applications[0].release == ReleaseKind::Update
        && most > 0
        && luck.chance(0.4))
    .then(|| Superseded {
        instances: luck.number(1, most),
        state,
    });
    let upstream_bugs = cloud_foundry::CloudFoundryBugs {
        purge: luck.chance(0.5),
        interim_trap: luck.chance(0.5),
    };
    let mut deployment = CloudFoundryDeployment {
        rules,
        upstream_bugs,
        options,
        quota,
        supersedes,
        continue_after,
        cancel_after,
        statuses: RuleSet::Shipped,
        count_instances: false,
    };
    // A request that the product would reject is also rejected when the experiment file is read.
    let mut app = deployment.app(scenario.world.applications[0].release, instances);
    if app.create(rules, &deployment.options, NEW).is_err() {
        deployment.quota = AppQuota::default();
    }
    Arc::new(deployment)
}

/// Puts each ring into one of `groups` groups.
fn rings(luck: &mut Luck, groups: u32) -> Vec<Vec<String>> {
    let mut rings = vec![Vec::new(); groups as usize];
    for ring in 0..RINGS {
        rings[luck.number(0, groups - 1) as usize].push(ring.to_string());
    }
    rings
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is the product's own configuration")
}
