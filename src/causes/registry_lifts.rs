//! Lifts between the registries and the nodes: links, requests, quotas, mirrors, caches and peers.

use super::relief::Relief;
use crate::units::Share;
use crate::world::{DistributionKind, RegistrySpec, WorldSpec};

/// All registries of a world.
fn registries(world: &mut WorldSpec) -> impl Iterator<Item = &mut RegistrySpec> {
    let others = world.registries.iter_mut().map(|named| &mut named.spec);
    std::iter::once(&mut world.registry).chain(others)
}

pub(super) fn links(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        relief.link(&mut registry.egress);
        if let Some(burst) = &mut registry.burst {
            relief.link(&mut burst.baseline);
        }
        if relief.removes() {
            registry.burst = None;
            registry.blobs.overload = None;
        }
    }
}

pub(super) fn blobs(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        if relief.removes() {
            registry.per_blob = None;
        } else if let Some(rate) = &mut registry.per_blob {
            relief.drawn_rate(rate);
        }
    }
}

pub(super) fn requests(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        relief.bucket(&mut registry.manifest_limit);
        relief.bucket(&mut registry.blob_limit);
        for host in [
            &mut registry.api,
            &mut registry.token,
            &mut registry.blobs.host,
        ] {
            relief.bucket(&mut host.request_limit);
            if relief.removes() {
                host.connections = None;
            } else if let Some(limit) = &mut host.connections {
                relief.count(&mut limit.max);
            }
        }
    }
}

pub(super) fn workers(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        for host in [
            &mut registry.api,
            &mut registry.token,
            &mut registry.blobs.host,
        ] {
            relief.optional_count(&mut host.workers);
            relief.time(&mut host.service_time);
        }
        if let Some(first_byte) = &mut registry.blobs.cold_first_byte {
            relief.time(first_byte);
        }
    }
}

pub(super) fn quotas(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        if relief.removes() {
            registry.pull_quota = None;
        } else if let Some(quota) = &mut registry.pull_quota {
            relief.count(&mut quota.pulls);
        }
    }
}

pub(super) fn connections(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        relief.optional_rate(&mut registry.per_connection);
        if relief.removes() {
            registry.cdn = None;
            registry.tcp.window = None;
            continue;
        }
        if let Some(window) = &mut registry.tcp.window {
            *window = window.mul_f64(relief.rate_factor());
        }
        if let Some(cdn) = &mut registry.cdn {
            relief.link(&mut cdn.cold);
            relief.link(&mut cdn.warm);
        }
    }
}

/// Half of a load of others cannot be removed in a way that fits every kind of it.
pub(super) fn other_load(world: &mut WorldSpec, relief: Relief) {
    if relief.removes() {
        for registry in registries(world) {
            registry.other_load = None;
        }
    }
}

pub(super) fn outages(world: &mut WorldSpec, relief: Relief) {
    for registry in registries(world) {
        if relief.removes() {
            registry.windows.clear();
        }
        for window in &mut registry.windows {
            relief.fixed_time(&mut window.span);
        }
    }
}

pub(super) fn regions(world: &mut WorldSpec, relief: Relief) {
    for region in &mut world.regions {
        relief.link(&mut region.bandwidth);
    }
}

pub(super) fn mirrors(world: &mut WorldSpec, relief: Relief) {
    for mirror in &mut world.distribution.mirrors {
        relief.link(&mut mirror.egress);
        relief.optional_rate(&mut mirror.per_connection);
        relief.fixed_time(&mut mirror.rtt);
    }
}

pub(super) fn caches(world: &mut WorldSpec, relief: Relief) {
    match &mut world.distribution.kind {
        DistributionKind::Cache(cache) => {
            relief.link(&mut cache.egress);
            relief.optional_rate(&mut cache.per_connection);
            relief.fixed_time(&mut cache.rtt);
            relief.optional_count(&mut cache.upstream_connections);
            relief.optional_rate(&mut cache.pull_bandwidth);
        }
        DistributionKind::Cells(cells) => relief.count(&mut cells.downloads),
        DistributionKind::Direct | DistributionKind::Spegel(_) | DistributionKind::Pieces(_) => {}
    }
}

pub(super) fn peers(world: &mut WorldSpec, relief: Relief) {
    match &mut world.distribution.kind {
        DistributionKind::Spegel(spegel) => {
            relief.fixed_time(&mut spegel.lookup);
            relief.fixed_time(&mut spegel.timeout);
            relief.optional_rate(&mut spegel.per_connection);
        }
        DistributionKind::Pieces(pieces) => {
            relief.optional_rate(&mut pieces.source_rate);
            relief.link(&mut pieces.seed_out);
            relief.link(&mut pieces.peer_out);
            relief.link(&mut pieces.peer_in);
            relief.fixed_time(&mut pieces.announce);
            if let Some(timeouts) = &mut pieces.timeouts {
                relief.fixed_time(&mut timeouts.after);
            }
        }
        DistributionKind::Direct | DistributionKind::Cache(_) | DistributionKind::Cells(_) => {}
    }
}

pub(super) fn downlinks(world: &mut WorldSpec, relief: Relief) {
    for cluster in &mut world.clusters {
        relief.drawn_rate(&mut cluster.downlink);
    }
}

pub(super) fn latency(world: &mut WorldSpec, relief: Relief) {
    for cluster in &mut world.clusters {
        relief.time(&mut cluster.rtt);
        if relief.removes() {
            cluster.loss = Share::NONE;
        } else {
            // Half of the time of a connection that is limited by losses: a quarter of the losses (Mathis).
            cluster.loss = Share::new(cluster.loss.get() / 4.0);
        }
    }
}
