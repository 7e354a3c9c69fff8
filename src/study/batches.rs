//! The number of experiments with drawn constants that are kept in memory simultaneously.
//!
//! Each draw is a whole experiment, with the settings of all its clusters, so large fleets have smaller batches.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::scenario::Experiment;

/// Maximum total number of clusters in the experiments with drawn constants that are kept in memory.
const MOST_DRAWN_CLUSTERS: usize = 2_000_000;

/// Returns the number of experiments with drawn constants to keep in memory: at most `most`, or fewer if they are
/// large.
pub(super) fn experiments_at_once(experiment: &Experiment, most: usize) -> usize {
    let clusters = settings(experiment).max(1.0) as usize;
    (MOST_DRAWN_CLUSTERS / clusters).clamp(1, most)
}

/// Returns the number of clusters in the experiment, summed over all worlds.
pub(super) fn settings(experiment: &Experiment) -> f64 {
    let mut worlds = BTreeSet::new();
    let mut clusters = 0.0;
    for variant in &experiment.variants {
        let world = &variant.scenario.world;
        if worlds.insert(Arc::as_ptr(world)) {
            clusters += world.targets().max(world.clusters.len()) as f64;
        }
    }
    clusters
}
