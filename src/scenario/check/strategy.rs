//! The strategies: each product's own configuration, held against the fleet it is for.
//!
//! What Fleet itself would refuse is refused here before a run. Two things that Fleet accepts are refused as well: a
//! field it does not know, which it ignores, and a partition that no cluster is in, which it keeps as empty. Both are
//! slips that would make the simulation answer another question than the one asked.

use super::super::Strategy;
use super::super::file::{RancherFleetFile, StrategyFile};
use super::{CheckedWorld, Checker, fleet::label_help};
use crate::document::context::Document;
use crate::document::path::{Path, Step};
use crate::document::problem::Problem;
use crate::rollout::label_selector::Labels;
use crate::rollout::rancher_fleet::{FleetCluster, Partitioning, RolloutStrategy, StrategyError};
use crate::world::CountOrPercent;

/// A strategy that was read from a fleet.yaml.
struct FromFile {
    document: Document,
    strategy: RolloutStrategy,
}

impl Checker<'_> {
    pub(super) fn strategy(&mut self, path: &Path, written: &StrategyFile, world: &CheckedWorld) -> Option<Strategy> {
        match written {
            StrategyFile::AllAtOnce {} => Some(Strategy::AllAtOnce {}),
            StrategyFile::OneByOne {} => Some(Strategy::OneByOne {}),
            StrategyFile::Batches { size } => {
                let path = path.key("batches").key("size");
                match size.0 {
                    CountOrPercent::Count(0) | CountOrPercent::Percent(0) => {
                        self.report(&path, "a batch of nothing never finishes", "write e.g. `50` or `10%`");
                    }
                    CountOrPercent::Percent(101..) => {
                        self.report(&path, "a batch of more than the fleet", "write at most `100%`");
                    }
                    CountOrPercent::Count(_) | CountOrPercent::Percent(_) => {}
                }
                Some(Strategy::Batches { size: size.0 })
            }
            StrategyFile::RancherFleet(fleet) => self.rancher_fleet(&path.key("rancherFleet"), fleet, world),
            StrategyFile::CloudFoundry(app) => self.cloud_foundry(&path.key("cloudFoundry"), app, world),
            StrategyFile::ArgoCd(set) => self.argo_cd(&path.key("argoCd"), set),
            StrategyFile::ArgoCdProposal(set) => self.argo_cd_proposal(&path.key("argoCdProposal"), set, world),
            StrategyFile::KubeFleetStaged(run) => self.kubefleet_staged(&path.key("kubeFleetStaged"), run, world),
            StrategyFile::KubeFleetRolling(placement) => {
                self.kubefleet_rolling(&path.key("kubeFleetRolling"), placement, world)
            }
        }
    }

    fn rancher_fleet(&mut self, path: &Path, written: &RancherFleetFile, world: &CheckedWorld) -> Option<Strategy> {
        let file = match &written.file {
            Some(name) => Some(self.fleet_yaml(&path.key("file"), name)?),
            None => None,
        };
        let in_place = RolloutStrategy {
            max_unavailable: written.max_unavailable.clone(),
            max_unavailable_partitions: written.max_unavailable_partitions.clone(),
            auto_partition_size: written.auto_partition_size.clone(),
            auto_partition_threshold: written.auto_partition_threshold,
            max_new: written.max_new,
            partitions: written.partitions.clone(),
        };
        let strategy = file.as_ref().map(|file| file.strategy.clone()).unwrap_or_default().overridden_by(in_place);

        let clusters = world.fleet_clusters.as_slice();
        let all: Vec<u32> = (0..clusters.len() as u32).collect();
        match Partitioning::new(&strategy, clusters, &all) {
            Err(error) => {
                let (field, message) = match &error {
                    StrategyError::Limit { field, source } => (field.clone(), source.to_string()),
                    StrategyError::Selector { entry, source } => (format!("partitions[{entry}]"), source.to_string()),
                };
                let problem = self.fleet_problem(path, file.as_ref(), &field, message);
                self.problems.push(problem.with_help("Fleet refuses this too and would not roll out at all"));
            }
            // A partition that lost a criterion to an error is empty for no other reason.
            Ok(_) if !self.is_untouched(&path.key("partitions")) => {}
            Ok(plan) => {
                for (index, partition) in plan.partitions.iter().enumerate() {
                    if partition.members.is_empty() && !clusters.is_empty() {
                        let problem = self.empty_partition(path, file.as_ref(), &strategy, index, clusters);
                        self.problems.push(problem);
                    }
                }
            }
        }
        Some(Strategy::RancherFleet { rules: written.rules.unwrap_or_default(), strategy })
    }

    fn empty_partition(
        &self,
        path: &Path,
        file: Option<&FromFile>,
        strategy: &RolloutStrategy,
        index: usize,
        clusters: &[FleetCluster],
    ) -> Problem {
        let entry = &strategy.manual_partitions()[index];
        let hint = match &entry.cluster_selector {
            Some(selector) => {
                let labels: Vec<&Labels> = clusters.iter().map(|cluster| &cluster.labels).collect();
                label_help(selector, &labels)
            }
            None if !entry.cluster_name.is_empty() => format!("no cluster is named `{}`", entry.cluster_name),
            None if entry.cluster_group.is_empty() && entry.cluster_group_selector.is_none() => {
                "it has no criterion; `clusterSelector: {}` selects every cluster".to_owned()
            }
            None => "groups are those of `clusterGroups` or of `inventory.clusterGroups`".to_owned(),
        };
        let field = match &entry.cluster_selector {
            Some(_) => format!("partitions[{index}].clusterSelector"),
            None => format!("partitions[{index}]"),
        };
        let name = if entry.name.is_empty() { format!("number {index}") } else { format!("`{}`", entry.name) };
        self.fleet_problem(path, file, &field, format!("the partition {name} matches no cluster of the fleet"))
            .with_help(format!("{hint}; Fleet would accept this and leave the partition empty"))
    }

    /// A problem with a field of a rollout strategy: in place if it is set there, else in the fleet.yaml.
    fn fleet_problem(&self, path: &Path, file: Option<&FromFile>, field: &str, message: String) -> Problem {
        let field = Path::parse(field).unwrap_or_default();
        let here = path.then(&field);
        let top = field.0.first().cloned();
        let set_here = |top: &Step| matches!(top, Step::Key(key) if self.tree.get(&path.key(key)).is_some());
        match file {
            Some(file) if !top.as_ref().is_some_and(set_here) => {
                file.document.at(&Path::of("rolloutStrategy").then(&field), message)
            }
            _ => self.at(&here, message),
        }
    }

    /// The `rolloutStrategy` of a fleet.yaml; the rest of the file is not looked at.
    fn fleet_yaml(&mut self, path: &Path, name: &str) -> Option<FromFile> {
        let document = self.document(name, path)?;
        let base = Path::of("rolloutStrategy");
        let strategy = match document.tree.get(&base) {
            Some(_) => self.read_from::<Option<RolloutStrategy>>(&document, &base, |_| true)?,
            None => None,
        };
        Some(FromFile { document, strategy: strategy.unwrap_or_default() })
    }
}
