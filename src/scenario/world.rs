//! Converts the file as written to a checked world.

use std::sync::Arc;

use super::application_images::WorldContents;
use super::check::{CheckedWorld, Checker};
use super::clock::StartTime;
use super::file::ExperimentFile;
use super::names::LONGEST_NAME;
use crate::document::path::Path;
use crate::document::text_or::TextOr;
use crate::units::SimDuration;
use crate::world::{ClusterSpec, WorldSpec};

impl Checker<'_> {
    /// Checks the release or the applications, and returns their images and workloads. `registries` are the names of
    /// the other registries.
    fn contents(
        &mut self,
        file: &ExperimentFile,
        registries: &[String],
        clusters: &[ClusterSpec],
    ) -> WorldContents {
        let names: Vec<String> = clusters
            .iter()
            .map(|cluster| cluster.name.clone())
            .collect();
        if !self.release_or_applications(file) {
            self.times_of_release(file);
            return self.contents_of_release(file, registries, &names);
        }
        self.application_names(file);
        self.release_times(file);
        let selected = self.clusters_of_applications(file, clusters);
        self.contents_of_applications(file, registries, &selected, &names)
    }

    /// Checks everything except the strategies.
    pub(crate) fn world(&mut self, file: &ExperimentFile) -> CheckedWorld {
        let regions = file.regions.clone();
        self.unique(
            &Path::of("regions"),
            regions
                .iter()
                .map(|region| region.name.as_str())
                .enumerate(),
        );
        for (index, region) in regions.iter().enumerate() {
            if region.name.len() > LONGEST_NAME {
                self.report(
                    &Path::of("regions").index(index).key("name"),
                    format!("the name has {} bytes", region.name.len()),
                    &format!("write at most {LONGEST_NAME}"),
                );
            }
        }
        let inventory = file.inventory.as_ref().map(|TextOr(written)| written);
        let mut clusters = self.clusters(file.fleet.as_deref(), file.clusters, inventory, &regions);
        if self.is_set(&Path::of("node").key("nic")) {
            for cluster in &mut clusters {
                cluster.nic = None;
            }
        }
        let groups = self.groups(file.cluster_groups.as_deref(), inventory, &clusters);
        let starts = file
            .starts_at
            .as_ref()
            .map_or(SimDuration::ZERO, StartTime::since_midnight);
        let calendar = file.starts_at.as_ref().and_then(|start| start.date.clone());
        let registries = self.registries(&file.registries, starts);
        let names: Vec<String> = registries
            .iter()
            .map(|registry| registry.name.clone())
            .collect();
        let contents = self.contents(file, &names, &clusters);
        let node = self.node(file.node.as_ref());
        let mut distribution = self.distribution(file.distribution.as_ref(), &clusters, &node);
        distribution.mirrors = self.mirrors(&file.mirrors, &regions, &contents.written_names);
        let workloads = contents.workloads();
        let faults = self.faults(&file.faults, &clusters, &regions, &workloads);
        let WorldContents {
            images,
            applications,
            ..
        } = contents;
        let mut world = WorldSpec {
            clusters,
            regions,
            registry: self.registry(
                &Path::of("registry"),
                file.registry.as_ref().and_then(|registry| registry.preset),
                starts,
            ),
            registries,
            distribution,
            node,
            pods: file.pods,
            images,
            applications,
            faults,
        };
        self.blob_scopes(&world);
        self.autoscaling_effects(&world);
        self.disk_space(&mut world);
        CheckedWorld {
            world: Arc::new(world),
            groups: Arc::new(groups),
            calendar: calendar.map(Arc::new),
        }
    }
}
