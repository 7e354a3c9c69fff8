//! How many experiments with drawn constants are in memory together.
//!
//! Each draw is a whole experiment, with the settings of all its clusters, so large fleets have smaller batches.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::scenario::Experiment;

/// Clusters of all experiments with drawn constants that are kept in memory together.
const MOST_DRAWN_CLUSTERS: usize = 2_000_000;

/// Experiments with drawn constants that are in memory together: at most this many, and fewer where they are large.
pub(super) fn experiments_at_once(experiment: &Experiment, most: usize) -> usize {
    let clusters = settings(experiment).max(1.0) as usize;
    (MOST_DRAWN_CLUSTERS / clusters).clamp(1, most)
}

/// Clusters that the experiment describes: those of each world.
pub(super) fn settings(experiment: &Experiment) -> f64 {
    let mut worlds = BTreeSet::new();
    let mut clusters = 0.0;
    for variant in &experiment.variants {
        let world = &variant.scenario.world;
        if worlds.insert(Arc::as_ptr(world)) {
            clusters += world.clusters.len() as f64;
        }
    }
    clusters
}
