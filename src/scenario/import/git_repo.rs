//! The targets of a Rancher Fleet GitRepo: the clusters of a workspace that get its bundles.
//!
//! A GitRepo's bundles have targets only in the GitRepo's namespace: the clusters that any of `spec.targets` selects.
//! Without `targets`, these are the clusters of the cluster group `default` (`targetsOrDefault` in
//! `internal/cmd/controller/gitops` of rancher/fleet v0.16.0). Left out: targets that a fleet.yaml adds, and
//! `targetRestrictions`.

use serde::Deserialize;

use crate::document::context::{Context, Document};
use crate::document::path::Path;

use crate::products::FleetGroup;
use crate::rollout::rancher_fleet::{FleetCluster, ManualPartition, groups_of, selected_by};

use super::inventory::InventoryCluster;

/// The group of clusters that get the bundles of a GitRepo without targets.
const DEFAULT_GROUP: &str = "default";

const NAME_GROUPS: &str = "name the file with the groups of its namespace: `inventory.clusterGroups`, or --cluster-groups of `fleetsim import`";

/// The fields of a GitRepo that determine its targets.
#[derive(Debug, Default, Deserialize)]
struct GitRepoFile {
    #[serde(default)]
    metadata: GitRepoMetadata,
    #[serde(default)]
    spec: GitRepoSpec,
}

#[derive(Debug, Default, Deserialize)]
struct GitRepoMetadata {
    namespace: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct GitRepoSpec {
    /// Whether the GitRepo's bundles are paused.
    #[serde(default)]
    paused: bool,
    /// The targets. They select clusters like the entries of `partitions`.
    targets: Option<Vec<ManualPartition>>,
}

/// Returns a cluster of an inventory in the form that Fleet's rules use.
pub(crate) fn fleet_cluster(cluster: &InventoryCluster, groups: &[FleetGroup]) -> FleetCluster {
    FleetCluster {
        name: cluster.name.clone(),
        labels: cluster.labels.clone().into(),
        groups: groups_of(&cluster.labels, groups).unwrap_or_default(),
    }
}

/// A GitRepo that was read from a separate file.
#[derive(Debug)]
pub(crate) struct GitRepo {
    document: Document,
    file: GitRepoFile,
}

impl GitRepo {
    /// Reads the GitRepo file named by the value at `path` in the experiment. `None`: a problem was reported.
    pub(crate) fn read(name: &str, path: &Path, context: &mut Context<'_>) -> Option<Self> {
        let document = context.document(name, path)?;
        Self::of(document, context)
    }

    /// Reads a GitRepo from a document. `None`: a problem was reported.
    pub(crate) fn of(document: Document, context: &mut Context<'_>) -> Option<Self> {
        let kind = document.text(&Path::of("kind")).unwrap_or_default();
        if kind != "GitRepo" {
            let found = if kind.is_empty() {
                "an object without a `kind`".to_owned()
            } else {
                format!("a {kind}")
            };
            let problem = document.at(
                &Path::of("kind"),
                format!("the file must be a GitRepo, but this is {found}"),
            );
            let help =
                "write it with `kubectl get gitrepos.fleet.cattle.io NAME -n NAMESPACE -o yaml`";
            context.problems.push(problem.with_help(help));
            return None;
        }
        // Only the fields of `GitRepoFile` are read from the object.
        let file = context.read_from(&document, &Path::default(), |error| !error.is_of_key())?;
        Some(Self { document, file })
    }

    /// Returns the namespace, which is Fleet's workspace.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.file.metadata.namespace.as_deref()
    }

    /// Returns true if the GitRepo's bundles are paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.file.spec.paused
    }

    /// Returns the first cluster group that a target names but that is not in `groups`.
    pub(crate) fn unknown_group(&self, groups: &[FleetGroup]) -> Option<&str> {
        let named = self
            .file
            .spec
            .targets
            .iter()
            .flatten()
            .map(|target| target.cluster_group.as_str());
        named
            .filter(|name| !name.is_empty())
            .find(|name| groups.iter().all(|(group, _)| group.name != *name))
    }

    /// Returns the workspace's clusters that are targets. `None`: a problem was reported.
    pub(crate) fn targets<'c>(
        &self,
        clusters: Vec<&'c InventoryCluster>,
        groups: &[FleetGroup],
        context: &mut Context<'_>,
    ) -> Option<Vec<&'c InventoryCluster>> {
        let all = [ManualPartition {
            cluster_group: DEFAULT_GROUP.to_owned(),
            ..ManualPartition::default()
        }];
        let written = self
            .file
            .spec
            .targets
            .as_deref()
            .filter(|targets| !targets.is_empty());
        let mut seen = Vec::new();
        for cluster in &clusters {
            seen.push(fleet_cluster(cluster, groups));
        }
        let path = Path::of("spec").key("targets");
        let selected = match selected_by(written.unwrap_or(&all), &seen) {
            Ok(selected) => selected,
            Err((entry, error)) => {
                let problem = self.document.at(&path.index(entry), error.to_string());
                let help = "Kubernetes would refuse this selector too";
                context.problems.push(problem.with_help(help));
                return None;
            }
        };
        let mut targets = Vec::new();
        for (cluster, is_selected) in clusters.into_iter().zip(selected) {
            if is_selected {
                targets.push(cluster);
            }
        }
        if targets.is_empty() {
            let message = match written {
                Some(_) => "the targets select no cluster of the inventory",
                None => {
                    "a GitRepo without targets deploys to the cluster group `default`, which has no cluster here"
                }
            };
            let needs_groups = written.is_none() || self.unknown_group(groups).is_some();
            let help = if needs_groups {
                NAME_GROUPS
            } else {
                "compare the selectors with the labels"
            };
            let problem = self.document.at(&path, message);
            context.problems.push(problem.with_help(help));
            return None;
        }
        Some(targets)
    }
}
