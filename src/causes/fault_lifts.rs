//! Lifts of what can fail.

use super::relief::Relief;
use crate::units::Share;
use crate::world::{DefectSpec, OfflineSpec, WorldSpec};

pub(super) fn gaps(world: &mut WorldSpec, relief: Relief) {
    for cluster in &mut world.clusters {
        if relief.removes() {
            cluster.gaps = None;
        } else if let Some(gaps) = &mut cluster.gaps {
            relief.probability(&mut gaps.share);
        }
    }
}

pub(super) fn slow(world: &mut WorldSpec, relief: Relief) {
    if relief.removes() {
        world.faults.slow = None;
    } else if let Some(slow) = &mut world.faults.slow {
        relief.slowness(&mut slow.factor);
    }
}

/// Outages of single clusters and of regions.
pub(super) fn outages(world: &mut WorldSpec, relief: Relief) {
    if relief.removes() {
        world.faults.outages = None;
        world.faults.regional.clear();
        return;
    }
    if let Some(outages) = &mut world.faults.outages {
        relief.time(&mut outages.repair);
    }
    for regional in &mut world.faults.regional {
        if let Some(repair) = &mut regional.repair {
            relief.time(repair);
        }
        for window in &mut regional.windows {
            relief.fixed_time(&mut window.lasts);
        }
    }
}

/// Clusters that are offline when the rollout starts are online.
pub(super) fn offline(world: &mut WorldSpec, relief: Relief) {
    if !relief.removes() {
        if let Some(comes_back) = &mut world.faults.offline.comes_back {
            relief.time(comes_back);
        }
        return;
    }
    world.faults.offline = OfflineSpec::default();
    for cluster in &mut world.clusters {
        cluster.offline = false;
    }
}

pub(super) fn applies(world: &mut WorldSpec, relief: Relief) {
    if relief.removes() {
        world.faults.apply.clear();
    }
}

pub(super) fn nodes(world: &mut WorldSpec, relief: Relief) {
    if relief.removes() {
        world.faults.node_loss = None;
    } else if let Some(loss) = &mut world.faults.node_loss {
        relief.time(&mut loss.repair);
    }
}

pub(super) fn defects(world: &mut WorldSpec, relief: Relief) {
    if relief.removes() {
        if world.faults.defect.share > Share::NONE {
            world.faults.defect = DefectSpec::default();
        }
        world.faults.not_found = Share::NONE;
    }
}
