//! Lifts on the nodes: disks and their space, nodes that join, unpacking, the kubelet's limits, pods and rolling
//! updates.

use super::relief::Relief;
use crate::units::{Factor, PerSecond};
use crate::world::{DiskClass, PodSpec, WorkloadKind, WorkloadSpec, WorldSpec};

pub(super) fn disks(world: &mut WorldSpec, relief: Relief) {
    let mut disk = world.node.disk.clone().unwrap_or_default();
    if relief.removes() {
        disk.rate = DiskClass::None.spec().rate;
    } else {
        relief.drawn_rate(&mut disk.rate);
    }
    let is_limit = world
        .node
        .disk
        .clone()
        .unwrap_or_default()
        .limit()
        .is_some();
    if is_limit {
        world.node.disk = Some(disk);
    }
}

/// Disks that are never full, or have twice the size.
pub(super) fn disk_space(world: &mut WorldSpec, relief: Relief) {
    let Some(disk) = &mut world.node.disk else {
        return;
    };
    if relief.removes() {
        disk.size = None;
    } else if let Some(size) = &mut disk.size {
        *size = size.mul_f64(relief.rate_factor());
    }
}

/// Nodes that are requested and join at once, or in half of the time.
pub(super) fn node_joins(world: &mut WorldSpec, relief: Relief) {
    for cluster in &mut world.clusters {
        let Some(autoscaling) = &mut cluster.autoscaling else {
            continue;
        };
        relief.time(&mut autoscaling.decision);
        relief.time(&mut autoscaling.provisioning);
        if relief.removes() {
            autoscaling.creation = None;
        } else if let Some(limit) = &mut autoscaling.creation {
            limit.rate = PerSecond::new(limit.rate.get() * relief.rate_factor());
        }
    }
}

pub(super) fn unpacking(world: &mut WorldSpec, relief: Relief) {
    relief.drawn_rate(&mut world.node.unpack_rate);
    relief.time(&mut world.node.unpack_per_layer);
    relief.time(&mut world.node.pull_constant);
}

/// Half of the kubelet's limit: twice as many pulls at once, and per second.
pub(super) fn kubelet_pulls(world: &mut WorldSpec, relief: Relief) {
    let node = &mut world.node;
    if relief.removes() {
        node.registry_pull_qps = 0;
        node.serialize_image_pulls = Some(false);
        node.max_parallel_image_pulls = None;
        return;
    }
    let is_serial = node
        .serialize_image_pulls
        .unwrap_or(node.max_parallel_image_pulls.unwrap_or(1) < 2);
    let mut pulls = if is_serial {
        1
    } else {
        node.max_parallel_image_pulls.unwrap_or(u32::MAX)
    };
    relief.count(&mut pulls);
    node.serialize_image_pulls = Some(pulls < 2);
    node.max_parallel_image_pulls = (pulls < u32::MAX).then_some(pulls);
    relief.count(&mut node.registry_pull_qps);
    relief.count(&mut node.registry_burst);
}

pub(super) fn network_cards(world: &mut WorldSpec, relief: Relief) {
    relief.drawn_rate(&mut world.node.nic);
    for cluster in &mut world.clusters {
        relief.optional_rate(&mut cluster.nic);
    }
}

pub(super) fn pod_start(world: &mut WorldSpec, relief: Relief) {
    relief.time(&mut world.node.sandbox);
    relief.time(&mut world.node.start_overhead);
    if relief.removes() {
        world.pods = PodSpec::IMMEDIATE;
    } else {
        relief.pods(&mut world.pods.creation);
        relief.pods(&mut world.pods.scheduling);
        if let Some(starts) = &mut world.pods.starts_per_second {
            *starts = Factor::new(starts.get() * 2.0);
        }
    }
    for workload in all_workloads(world) {
        relief.time(&mut workload.start);
        relief.time(&mut workload.termination);
        relief.fixed_time(&mut workload.min_ready);
        if let Some(probe) = &mut workload.readiness {
            relief.fixed_time(&mut probe.initial_delay);
            relief.fixed_time(&mut probe.period);
        }
    }
}

/// Returns the workloads of all applications.
fn all_workloads(world: &mut WorldSpec) -> impl Iterator<Item = &mut WorkloadSpec> {
    world
        .applications
        .iter_mut()
        .flat_map(|application| &mut application.workloads)
}

/// All pods of a workload are replaced at once.
pub(super) fn rolling_updates(world: &mut WorldSpec, relief: Relief) {
    for workload in all_workloads(world) {
        match &mut workload.kind {
            WorkloadKind::Deployment {
                max_unavailable,
                max_surge,
                ..
            }
            | WorkloadKind::DaemonSet {
                max_unavailable,
                max_surge,
            } => {
                relief.targets(max_unavailable);
                if !relief.removes() {
                    relief.targets(max_surge);
                }
            }
        }
    }
}
