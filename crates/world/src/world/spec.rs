//! The settings of a whole world: plain, checked data that a run only reads.
//!
//! Most of these types are also the settings of an experiment file: they deserialize themselves, and their defaults
//! are the values of [`crate::world::calibration`]. A reference to another part of the file is a name in the file and
//! an index here, which is filled in when the experiment is checked.

use std::collections::BTreeSet;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::clusters::agent_spec::AgentSpec;
use crate::world::clusters::pod_queues::PodSpec;
use crate::world::clusters::restarts::Restarts;
use crate::world::clusters::spec::{ClusterSpec, WorkloadSpec};
use crate::world::distribution::spec::DistributionSpec;
use crate::world::faults::spec::{ApplyFaultSpec, DefectSpec, FaultSpec, ReleaseFaults};
use crate::world::ids::{NEW, OLD, later_release};
use crate::world::nodes::spec::NodeSpec;
use crate::world::quantity::SizeModel;
use crate::world::registry::spec::RegistrySpec;
use fleetsim_rollout::Revision;
use fleetsim_units::BytesPerSec;
use fleetsim_units::serial::positive;

/// The whole world of one run, before its random numbers are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSpec {
    /// The fleet, in the order of the experiment file or the inventory.
    pub clusters: Vec<ClusterSpec>,
    /// Links between the registry and the clusters' own downlinks that several clusters share.
    pub regions: Vec<RegionSpec>,
    /// The registry that serves the images.
    pub registry: RegistrySpec,
    /// Other registries, for images that name one.
    pub registries: Vec<NamedRegistry>,
    /// How images are distributed to the nodes.
    pub distribution: DistributionSpec,
    /// The settings of every node.
    pub node: NodeSpec,
    /// The rates at which the pods of every cluster are created, scheduled and started.
    pub pods: PodSpec,
    /// The images that are rolled out, in two revisions.
    pub images: Vec<ImageSpec>,
    /// The applications: at least one. Targets are ordered by application, then by cluster.
    pub applications: Vec<ApplicationSpec>,
    /// Everything that can fail.
    pub faults: FaultSpec,
}

impl WorldSpec {
    /// Returns the registry with index `at`: 0 is [`WorldSpec::registry`], and the others follow.
    #[must_use]
    pub fn registry_at(&self, at: usize) -> &RegistrySpec {
        if at == 0 {
            &self.registry
        } else {
            &self.registries[at - 1].spec
        }
    }

    /// Returns all registries, in the order of their indices.
    pub fn all_registries(&self) -> impl Iterator<Item = &RegistrySpec> {
        (0..=self.registries.len()).map(|at| self.registry_at(at))
    }

    /// Returns the revision of an application that runs on a cluster when the rollout begins. `None`: it does not run
    /// there.
    #[must_use]
    pub fn installed(&self, application: usize, cluster: usize) -> Option<Revision> {
        let application = &self.applications[application];
        let is_installed = application.release == ReleaseKind::Update
            && application.is_on(cluster)
            && self.clusters[cluster].installed;
        is_installed.then_some(OLD)
    }

    /// Returns the number of targets: of applications on clusters.
    #[must_use]
    pub fn targets(&self) -> usize {
        let mut targets = 0;
        for application in &self.applications {
            targets += match &application.clusters {
                Some(clusters) => clusters.len(),
                None => self.clusters.len(),
            };
        }
        targets
    }

    /// Returns whether any application runs on a cluster when the rollout begins.
    #[must_use]
    pub fn runs_anything(&self, cluster: usize) -> bool {
        (0..self.applications.len())
            .any(|application| self.installed(application, cluster).is_some())
    }

    /// Returns the defects of a revision of an application. Those of its first release are also returned for the
    /// installed revision, which has none.
    pub(crate) fn defect(&self, application: usize, revision: Revision) -> &DefectSpec {
        let spec = &self.applications[application];
        match (later_release(revision), &spec.faults) {
            (Some(release), _) => &spec.later[release].faults.defect,
            (None, Some(own)) => &own.defect,
            (None, None) => &self.faults.defect,
        }
    }

    /// Returns the failing applies of a revision of an application.
    pub(crate) fn apply_faults(&self, application: usize, revision: Revision) -> &[ApplyFaultSpec] {
        let spec = &self.applications[application];
        match (later_release(revision), &spec.faults) {
            (Some(release), _) => &spec.later[release].faults.apply,
            (None, _) if revision != NEW => &[],
            (None, Some(own)) => &own.apply,
            (None, None) => &self.faults.apply,
        }
    }

    /// Returns the applications on a cluster.
    pub fn applications_on(&self, cluster: usize) -> impl Iterator<Item = &ApplicationSpec> {
        self.applications
            .iter()
            .filter(move |application| application.is_on(cluster))
    }
}

/// An application: its workloads, and the clusters on which they are deployed.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationSpec {
    /// The name, unique among the applications. It is part of the key of the application's random numbers, except of
    /// the first application.
    pub name: String,
    /// The workloads, on each of its clusters.
    pub workloads: Vec<WorkloadSpec>,
    /// Whether an older revision runs everywhere when the rollout starts.
    pub release: ReleaseKind,
    /// The indices of its clusters in [`WorldSpec::clusters`], in ascending order. `None`: all clusters.
    pub clusters: Option<Vec<usize>>,
    /// What can fail in a rollout of this application, in place of the same failures in [`WorldSpec::faults`].
    pub faults: Option<ReleaseFaults>,
    /// The releases after the first, in the order of their revisions.
    pub later: Vec<LaterRelease>,
}

/// A release that supersedes an earlier one of its application. The layers of its images are in [`ImageSpec::later`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaterRelease {
    /// What can fail in its revision.
    pub faults: ReleaseFaults,
}

impl ApplicationSpec {
    /// Creates an application on all clusters.
    #[must_use]
    pub const fn everywhere(
        name: String,
        workloads: Vec<WorkloadSpec>,
        release: ReleaseKind,
    ) -> Self {
        Self {
            name,
            workloads,
            release,
            clusters: None,
            faults: None,
            later: Vec::new(),
        }
    }

    /// Returns whether the application is deployed on a cluster.
    #[must_use]
    pub fn is_on(&self, cluster: usize) -> bool {
        match &self.clusters {
            Some(clusters) => clusters.binary_search(&cluster).is_ok(),
            None => true,
        }
    }
}

/// A registry other than the first.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamedRegistry {
    /// The name that images use; unique among the registries.
    pub name: String,
    /// The registry's settings, with the same defaults as those of the first registry.
    #[serde(default, rename = "registry")]
    pub spec: RegistrySpec,
}

/// Whether an older revision runs when the rollout starts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ReleaseKind {
    /// All clusters run the previous revision and are ready, with its images on their nodes.
    #[default]
    Update,
    /// First deployment: no cluster runs a revision, and no node has any image layer.
    Initial,
}

/// A link that several clusters share, between the registry's egress and their downlinks.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RegionSpec {
    /// The name that clusters use; unique among the regions.
    pub name: String,
    /// Total rate at which the region's clusters can receive.
    #[serde(deserialize_with = "positive")]
    pub bandwidth: BytesPerSec,
}

/// One image in all of its revisions.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSpec {
    /// The name that workloads use.
    pub name: String,
    /// The new revision's layers, bottom first.
    pub layers: Vec<LayerSpec>,
    /// The old revision's layers, bottom first; empty if the layers are unknown or nothing runs.
    pub previous: Vec<LayerSpec>,
    /// The layers in each later release of the image's application, bottom first. Missing: no later release.
    pub later: Vec<Vec<LayerSpec>>,
    /// Size of the new revision's config blob; drawn once per run.
    pub config: SizeModel,
    /// Index of the image's registry; see [`WorldSpec::registry_at`].
    pub registry: usize,
    /// Whether the image's tag names a list of platforms. The list is requested before the platform's manifest.
    pub index: bool,
}

/// One layer of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSpec {
    /// The layer's digest, the key of its random numbers. Equal digests mean the same bytes.
    pub digest: String,
    /// Size during transfer; drawn once per run.
    pub compressed: SizeModel,
    /// Size on disk; drawn once per run.
    pub uncompressed: Uncompressed,
    /// Whether the layer is compressed with zstd; other compressed layers use gzip.
    pub is_zstd: bool,
}

impl LayerSpec {
    /// Returns the typical size of the unpacked layer, in bytes.
    #[must_use]
    pub fn typical_size_on_disk(&self) -> f64 {
        let compressed = self.compressed.typical().get() as f64;
        match &self.uncompressed {
            Uncompressed::Ratio(ratio) => compressed * ratio,
            Uncompressed::Size(size) => size.typical().get() as f64,
            Uncompressed::AsSent => compressed,
        }
    }
}

/// The size of a layer on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Uncompressed {
    /// A multiple of the transferred size.
    Ratio(f64),
    /// An independent size.
    Size(SizeModel),
    /// The layer is transferred uncompressed, so nothing is decompressed.
    AsSent,
}

impl ImageSpec {
    /// Returns the layers with different digests: a layer that is listed twice is downloaded and stored once.
    pub fn distinct_layers(&self) -> impl Iterator<Item = &LayerSpec> {
        let mut seen = BTreeSet::new();
        self.layers
            .iter()
            .filter(move |layer| seen.insert(layer.digest.as_str()))
    }
}

/// The part of a world that depends on the product: the clusters' agents, and how the platform restarts containers.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformSpec {
    /// The agent that applies a revision in a cluster and reports on it.
    pub agent: AgentSpec,
    /// Restarts of containers that crash.
    pub restarts: Restarts,
}

impl PlatformSpec {
    /// A platform whose agents take no time, for worlds that are computed by hand.
    pub const INSTANT: Self = Self {
        agent: AgentSpec::INSTANT,
        restarts: Restarts::KUBELET,
    };
}
