//! Lifts resources out of a scenario: the same world with the same random numbers, in which they hold nothing back.
//!
//! A lift removes what is there. It changes no other draw, because every draw has a key of its own: a rate that is
//! drawn stays drawn, and is multiplied. Waits after failures are never lifted, because without them a failing request
//! repeats endlessly.

use std::sync::Arc;

use super::relief::Relief;
use super::{fault_lifts, node_lifts, registry_lifts};
use crate::control_plane::Change;
use crate::products::{Strategy, StrategyPart};
use crate::results::Resource;
use crate::rollout::baseline::Baseline;
use crate::scenario::{Scenario, Variant};
use crate::units::SimDuration;
use crate::world::{AgentSpec, ReadinessSpec, WorldSpec};

/// What a trial changes in a variant.
#[derive(Clone, Debug)]
pub(super) struct Lift {
    pub(super) resources: Vec<Resource>,
    pub(super) relief: Relief,
    /// What is lifted as a whole before.
    after: Vec<Resource>,
}

impl Lift {
    /// Removes some resources.
    pub(super) fn whole(resources: &[Resource]) -> Self {
        Self {
            resources: resources.to_vec(),
            relief: Relief::Whole,
            after: Vec::new(),
        }
    }

    /// Halves the time that a resource costs.
    pub(super) fn half(resources: &[Resource]) -> Self {
        Self {
            resources: resources.to_vec(),
            relief: Relief::Half,
            after: Vec::new(),
        }
    }

    /// Changes the rates of connections, sites, network cards and unpacking by 0.1%, which should change nothing but
    /// the luck of the runs.
    pub(super) fn placebo() -> Self {
        Self {
            resources: vec![
                Resource::ConnectionRate,
                Resource::Downlinks,
                Resource::NetworkCards,
                Resource::Unpacking,
            ],
            relief: Relief::Placebo,
            after: Vec::new(),
        }
    }

    /// The same lift where other resources are lifted already.
    pub(super) fn after(self, lifted: &[Resource]) -> Self {
        Self {
            after: lifted.to_vec(),
            ..self
        }
    }

    /// Returns whether a variant has something to lift.
    pub(super) fn changes(&self, variant: &Variant) -> bool {
        self.of(variant).is_some()
    }

    /// Returns the variant with the lift. `None`: it has none of the resources.
    pub(super) fn of(&self, variant: &Variant) -> Option<Variant> {
        let mut scenario = variant.scenario.clone();
        let world = self.relieved(&scenario.world);
        let mut is_other = world != *scenario.world;
        scenario.world = Arc::new(world);
        for application in &mut scenario.applications {
            if let Some(view) = &mut application.view {
                *view = Arc::new(self.relieved(view));
            }
        }
        for &resource in &self.after {
            is_other |= relieve_control(&mut scenario, resource, Relief::Whole);
        }
        for &resource in &self.resources {
            is_other |= relieve_control(&mut scenario, resource, self.relief);
        }
        is_other.then(|| Variant {
            scenario,
            ..variant.clone()
        })
    }
}

impl Lift {
    /// Returns a world with the lift.
    fn relieved(&self, world: &WorldSpec) -> WorldSpec {
        let mut relieved = world.clone();
        for &resource in &self.after {
            relieve_world(&mut relieved, resource, Relief::Whole);
        }
        for &resource in &self.resources {
            relieve_world(&mut relieved, resource, self.relief);
        }
        relieved
    }
}

fn relieve_world(world: &mut WorldSpec, resource: Resource, relief: Relief) {
    match resource {
        Resource::RegistryLink => registry_lifts::links(world, relief),
        Resource::RegistryRequests => registry_lifts::requests(world, relief),
        Resource::RegistryWorkers => registry_lifts::workers(world, relief),
        Resource::PullQuota => registry_lifts::quotas(world, relief),
        Resource::ConnectionRate => registry_lifts::connections(world, relief),
        Resource::BlobRate => registry_lifts::blobs(world, relief),
        Resource::OtherLoad => registry_lifts::other_load(world, relief),
        Resource::RegionLinks => registry_lifts::regions(world, relief),
        Resource::Mirrors => registry_lifts::mirrors(world, relief),
        Resource::Caches => registry_lifts::caches(world, relief),
        Resource::Peers => registry_lifts::peers(world, relief),
        Resource::Downlinks => registry_lifts::downlinks(world, relief),
        Resource::Latency => registry_lifts::latency(world, relief),
        Resource::Gaps => fault_lifts::gaps(world, relief),
        Resource::NetworkCards => node_lifts::network_cards(world, relief),
        Resource::Disks => node_lifts::disks(world, relief),
        Resource::DiskSpace => node_lifts::disk_space(world, relief),
        Resource::NodeJoins => node_lifts::node_joins(world, relief),
        Resource::Unpacking => node_lifts::unpacking(world, relief),
        Resource::KubeletPulls => node_lifts::kubelet_pulls(world, relief),
        Resource::DownloadSlots => relief.count(&mut world.node.runtime.download_slots),
        Resource::PodStart => node_lifts::pod_start(world, relief),
        Resource::RollingUpdates => node_lifts::rolling_updates(world, relief),
        Resource::SlowClusters => fault_lifts::slow(world, relief),
        Resource::RegistryOutages => registry_lifts::outages(world, relief),
        Resource::ClusterOutages => fault_lifts::outages(world, relief),
        Resource::OfflineClusters => fault_lifts::offline(world, relief),
        Resource::FailedPulls => relief.probability(&mut world.faults.pull_failure),
        Resource::FailedApplies => fault_lifts::applies(world, relief),
        Resource::NodeLoss => fault_lifts::nodes(world, relief),
        Resource::Defects => fault_lifts::defects(world, relief),
        // These are not parts of the world.
        Resource::Agents
        | Resource::ControlPlane
        | Resource::ApplicationController
        | Resource::HubCpu
        | Resource::People
        | Resource::ClosedWindows
        | Resource::Rule => {}
    }
}

/// Relieves a part of the control plane. Returns whether the scenario has it.
fn relieve_control(scenario: &mut Scenario, resource: Resource, relief: Relief) -> bool {
    match resource {
        Resource::Agents => {
            let mut agent = scenario.platform.agent.clone();
            relieve_agent(&mut agent, relief);
            std::mem::replace(&mut scenario.platform.agent, agent.clone()) != agent
        }
        Resource::ControlPlane => {
            let mut control_loop = scenario.control_loop.clone();
            relief.time(&mut control_loop.request);
            relief.fixed_time(&mut control_loop.watch_delay);
            if relief.removes() {
                control_loop.client_qps = 0;
            } else {
                relief.count(&mut control_loop.client_qps);
                relief.count(&mut control_loop.client_burst);
            }
            std::mem::replace(&mut scenario.control_loop, control_loop.clone()) != control_loop
        }
        Resource::ApplicationController => {
            replace_strategy(scenario, StrategyPart::ClusterController, relief)
        }
        Resource::HubCpu => replace_strategy(scenario, StrategyPart::HubCpu, relief),
        Resource::ClosedWindows => replace_strategy(scenario, StrategyPart::Windows, relief),
        Resource::People => {
            let mut is_other = false;
            for application in &mut scenario.applications {
                is_other |= relieve_changes(&mut application.changes, relief);
            }
            replace_strategy(scenario, StrategyPart::People, relief) || is_other
        }
        Resource::Rule if relief.removes() => {
            let all: Arc<dyn Strategy> = Arc::new(Baseline::AllAtOnce);
            let mut is_other = false;
            for application in &mut scenario.applications {
                is_other |= *application.strategy != *all;
                application.strategy = Arc::clone(&all);
                // A strategy without stages has no people.
                application.changes.clear();
            }
            is_other
        }
        _ => false,
    }
}

/// Replaces each strategy by one that a part of its product does not hold back. Returns whether one has this part.
fn replace_strategy(scenario: &mut Scenario, part: StrategyPart, relief: Relief) -> bool {
    if !relief.removes() {
        return false;
    }
    let mut is_other = false;
    for application in &mut scenario.applications {
        if let Some(without) = application.strategy.without(part) {
            application.strategy = without;
            is_other = true;
        }
    }
    is_other
}

/// Lets people approve at once, and lets nobody stop the rollout. Their other acts, such as a release, are not waits.
fn relieve_changes(changes: &mut Vec<(SimDuration, Change)>, relief: Relief) -> bool {
    let before = changes.len();
    if relief.removes() {
        changes.retain(|(_, change)| !matches!(change, Change::Stop(_)));
    }
    let mut is_other = changes.len() != before;
    for (after, change) in &mut *changes {
        if matches!(change, Change::Approve { .. }) {
            relief.fixed_time(after);
            is_other = true;
        }
    }
    // Acts take place in the order of their times.
    changes.sort_by_key(|(after, _)| *after);
    is_other
}

/// Shortens everything that an agent takes time for. How it retries stays.
fn relieve_agent(agent: &mut AgentSpec, relief: Relief) {
    relief.time(&mut agent.instruction_delay);
    relief.time(&mut agent.apply);
    relief.time(&mut agent.report_delay);
    match &mut agent.readiness {
        ReadinessSpec::Delay(delay) => relief.time(delay),
        ReadinessSpec::Debounce(debounce) => {
            relief.fixed_time(&mut debounce.delay);
            relief.fixed_time(&mut debounce.watch_start);
        }
        ReadinessSpec::Looks(looks) => {
            relief.fixed_time(&mut looks.fixed_delay);
            relief.fixed_time(&mut looks.initial_slow_backoff_delay);
            relief.fixed_time(&mut looks.max_slow_backoff_delay);
            relief.fixed_time(&mut looks.max_fast_backoff_delay);
        }
    }
}
