//! The worlds of several applications: one that all share, and for each entry of `applications` a view of it.
//!
//! A view has only one application, its clusters and its images. Applications of one entry share a view.

use std::sync::Arc;

use super::targeted::only_clusters;
use crate::world::{ApplicationSpec, WorldSpec};

/// Worlds of several applications, and the views of their entries, which the variants of a sweep share.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedWorlds {
    views: Vec<EntryView>,
    worlds: Vec<SharedWorld>,
}

#[derive(Clone, Debug)]
struct EntryView {
    whole: Arc<WorldSpec>,
    application: usize,
    view: Arc<WorldSpec>,
}

#[derive(Clone, Debug)]
struct SharedWorld {
    whole: Arc<WorldSpec>,
    /// The clusters of each application, by their index in the whole fleet.
    clusters: Vec<Vec<usize>>,
    world: Arc<WorldSpec>,
}

impl SharedWorlds {
    /// Returns the world with only one application, before its strategy selects its targets.
    pub(super) fn view(&mut self, whole: &Arc<WorldSpec>, application: usize) -> Arc<WorldSpec> {
        if whole.applications.len() == 1 && whole.applications[0].clusters.is_none() {
            return Arc::clone(whole);
        }
        for known in &self.views {
            if Arc::ptr_eq(&known.whole, whole) && known.application == application {
                return Arc::clone(&known.view);
            }
        }
        let view = Arc::new(view_of(whole, application));
        self.views.push(EntryView {
            whole: Arc::clone(whole),
            application,
            view: Arc::clone(&view),
        });
        view
    }

    /// Returns the world in which each application is on these clusters. Clusters without an application are left out.
    pub(super) fn world(
        &mut self,
        whole: &Arc<WorldSpec>,
        clusters: Vec<Vec<usize>>,
    ) -> Arc<WorldSpec> {
        for known in &self.worlds {
            if Arc::ptr_eq(&known.whole, whole) && known.clusters == clusters {
                return Arc::clone(&known.world);
            }
        }
        let world = Arc::new(world_of(whole, &clusters));
        self.worlds.push(SharedWorld {
            whole: Arc::clone(whole),
            clusters,
            world: Arc::clone(&world),
        });
        world
    }
}

/// Returns a world with only one of its applications, on its clusters, with its images.
fn view_of(whole: &WorldSpec, application: usize) -> WorldSpec {
    let own = &whole.applications[application];
    let clusters = clusters_of(whole, application);
    let mut images: Vec<usize> = Vec::new();
    let mut workloads = own.workloads.clone();
    for workload in &mut workloads {
        let known = images.iter().position(|image| *image == workload.image);
        let at = known.unwrap_or(images.len());
        if known.is_none() {
            images.push(workload.image);
        }
        workload.image = at;
    }
    let mut view = only_clusters(whole, &clusters);
    view.images.clear();
    for image in &images {
        view.images.push(whole.images[*image].clone());
    }
    for mirror in &mut view.distribution.mirrors {
        mirror.holds = (0..images.len())
            .filter(|at| mirror.holds.contains(&images[*at]))
            .collect();
    }
    view.applications = vec![ApplicationSpec {
        workloads,
        clusters: None,
        ..own.clone()
    }];
    view
}

/// Returns the clusters of an application, by their index.
pub(super) fn clusters_of(world: &WorldSpec, application: usize) -> Vec<usize> {
    match &world.applications[application].clusters {
        Some(clusters) => clusters.clone(),
        None => (0..world.clusters.len()).collect(),
    }
}

/// Returns a world in which each application is on these clusters, without the clusters that have none.
fn world_of(whole: &WorldSpec, clusters: &[Vec<usize>]) -> WorldSpec {
    let mut is_used = vec![false; whole.clusters.len()];
    for own in clusters {
        for cluster in own {
            is_used[*cluster] = true;
        }
    }
    let mut used = Vec::new();
    let mut numbers = vec![0; whole.clusters.len()];
    for (cluster, is_used) in is_used.into_iter().enumerate() {
        if is_used {
            numbers[cluster] = used.len();
            used.push(cluster);
        }
    }
    let mut world = only_clusters(whole, &used);
    for (application, own) in world.applications.iter_mut().zip(clusters) {
        let own: Vec<usize> = own.iter().map(|cluster| numbers[*cluster]).collect();
        application.clusters = (own.len() < used.len()).then_some(own);
    }
    world
}
