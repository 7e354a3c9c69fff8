//! Clusters, their links and their groups.

use std::sync::Arc;

use super::super::file::{ExperimentFile, GroupFile, InventoryFields, LinkRule};
use super::super::inventory::{self, InventoryCluster};
use super::super::names::MOST_NAMES;
use super::super::quantity::{Percent, Rate};
use super::super::spread::Spread;
use super::Checker;
use crate::document::path::Path;
use crate::document::problem::Problem;
use crate::products::{FleetGroup, selection};
use crate::rollout::label_selector::{CheckedSelector, LabelSelector, Labels};
use crate::rollout::rancher_fleet::ClusterGroup;
use crate::units::{BytesPerSec, Share};
use crate::world::calibration::{DOWNLINK_MBIT, NODES, RTT};
use crate::world::{ClusterSpec, DurationModel, RateModel, RegionSpec};

/// Kubernetes is tested with 5 000 nodes; beyond this a count is a slip.
const MOST_NODES: u32 = 10_000;

/// Most nodes of a whole fleet, which bounds a run's memory.
const MOST_NODES_IN_ALL: u64 = 10_000_000;

/// What a cluster is made of, where it was written, and the defaults.
struct Make {
    path: Path,
    nodes: Option<u32>,
    downlink: Option<Spread<Rate>>,
    rtt: Option<Spread>,
    loss: Option<Percent>,
    region: Option<String>,
}

/// A [`Make`], checked.
#[derive(Clone, Default)]
struct Made {
    nodes: Option<u32>,
    downlink: Option<RateModel>,
    rtt: Option<DurationModel>,
    loss: Option<Share>,
    region: Option<usize>,
}

impl Made {
    /// These, and where one is not set that of `other`.
    fn or(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.or(other.nodes),
            downlink: self.downlink.or(other.downlink),
            rtt: self.rtt.or(other.rtt),
            loss: self.loss.or(other.loss),
            region: self.region.or(other.region),
        }
    }

    fn cluster(self, name: String, labels: Labels, paused: bool, registered: bool) -> ClusterSpec {
        ClusterSpec {
            name,
            labels,
            nodes: self.nodes.unwrap_or(NODES),
            downlink: self.downlink.unwrap_or_else(|| BytesPerSec::from_mbit(DOWNLINK_MBIT).into()),
            rtt: self.rtt.unwrap_or(RTT),
            loss: self.loss.unwrap_or(Share::NONE),
            region: self.region,
            paused,
            registered,
        }
    }
}

impl Checker<'_> {
    pub(super) fn regions(&mut self, file: &ExperimentFile) -> Vec<RegionSpec> {
        let list = Path::of("regions");
        let written = file.regions.as_deref().unwrap_or_default();
        self.unique(&list, written.iter().enumerate().map(|(index, region)| (index, region.name.as_str())));
        let region = |(index, region): (usize, &super::super::file::RegionFile)| RegionSpec {
            name: region.name.clone(),
            bandwidth: self.rate(&list.index(index).key("bandwidth"), Some(region.bandwidth), BytesPerSec::ZERO),
        };
        written.iter().enumerate().map(region).collect()
    }

    /// The inventory's clusters in its order, then the groups' in the file's order.
    pub(super) fn clusters(&mut self, file: &ExperimentFile, regions: &[RegionSpec]) -> Vec<ClusterSpec> {
        let regions: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
        let mut clusters = Vec::new();
        let mut complete = true;
        if let Some(inventory) = &file.inventory {
            match self.inventory(&inventory.0, &regions) {
                Some(found) => clusters = found,
                None => complete = false,
            }
        }
        let sizes = self.group_sizes(file);
        for (index, group) in file.fleet.iter().flatten().enumerate() {
            let path = Path::of("fleet").index(index);
            match self.group_names(&path, group, &sizes[index]) {
                Some(names) => clusters.extend(self.group(&path, group, names, &regions)),
                None => complete = false,
            }
        }
        complete &= self.is_whole(&Path::of("fleet")) && self.is_whole(&Path::of("inventory"));
        if clusters.is_empty() && complete {
            let path = Path::of(if file.fleet.is_some() { "fleet" } else { "inventory" });
            let help = "write `fleet: [{name: \"store-{001..100}\"}]`, or `inventory: clusters.json`";
            self.report(&path, "the fleet has no clusters", help);
        }
        self.fleet_limits(&clusters);
        clusters
    }

    fn fleet_limits(&mut self, clusters: &[ClusterSpec]) {
        let path = Path::of("fleet");
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = clusters.iter().find(|cluster| !seen.insert(cluster.name.as_str())) {
            let message = format!("two clusters have the name `{}`", twice.name);
            self.report(&path, message, "let the names of groups and inventory differ");
        }
        let nodes: u64 = clusters.iter().map(|cluster| u64::from(cluster.nodes)).sum();
        if clusters.len() as u64 > MOST_NAMES {
            let message = format!("the fleet has {} clusters", clusters.len());
            self.report(&path, message, &format!("at most {MOST_NAMES} are simulated"));
        } else if nodes > MOST_NODES_IN_ALL {
            self.report(
                &path,
                format!("the fleet has {nodes} nodes"),
                &format!("at most {MOST_NODES_IN_ALL} are simulated"),
            );
        }
    }

    fn group(&mut self, path: &Path, group: &GroupFile, names: Vec<String>, regions: &[String]) -> Vec<ClusterSpec> {
        if group.name.is_empty() {
            self.report(&path.key("name"), "the name is empty", "write e.g. `store-{001..900}`");
        }
        let made = self.make(
            &Make {
                path: path.clone(),
                nodes: group.nodes,
                downlink: group.downlink.clone(),
                rtt: group.rtt.clone(),
                loss: group.loss,
                region: group.region.clone(),
            },
            regions,
        );
        let registered = group.registered.unwrap_or(true);
        names
            .into_iter()
            .map(|name| made.clone().cluster(name, group.labels.clone(), group.paused, registered))
            .collect()
    }

    fn make(&mut self, make: &Make, regions: &[String]) -> Made {
        let path = &make.path;
        if let Some(nodes) = make.nodes.filter(|nodes| *nodes == 0 || *nodes > MOST_NODES) {
            let message = format!("a cluster cannot have {nodes} nodes");
            self.report(&path.key("nodes"), message, &format!("write 1 to {MOST_NODES}"));
        }
        let downlink = make
            .downlink
            .as_ref()
            .map(|rate| self.rate_spread(&path.key("downlink"), Some(rate), BytesPerSec::from_mbit(DOWNLINK_MBIT)));
        let rtt = make.rtt.as_ref().map(|rtt| self.spread(&path.key("rtt"), Some(rtt), RTT));
        let region =
            make.region.as_ref().and_then(|name| self.lookup(&path.key("region"), name, &Path::of("regions"), regions));
        if make.loss.is_some_and(|loss| loss.0.get() >= 1.0) {
            let help = "write less than 100%; a cluster that is cut off is `faults: {offline: {share: …}}`";
            self.report(&path.key("loss"), "nothing ever arrives when everything is lost", help);
        }
        Made { nodes: make.nodes, downlink, rtt, loss: make.loss.map(|loss| loss.0), region }
    }

    /// `None` when the file cannot be read or holds no clusters.
    fn inventory(&mut self, written: &InventoryFields, regions: &[String]) -> Option<Vec<ClusterSpec>> {
        let path = Path::of("inventory");
        let found = self.inventory_file(&written.file)?;
        let default = written.default.clone().unwrap_or_default();
        let default = self.make(
            &Make {
                path: path.key("default"),
                nodes: default.nodes,
                downlink: default.downlink,
                rtt: default.rtt,
                loss: default.loss,
                region: default.region,
            },
            regions,
        );
        let mut rules = Vec::new();
        for (index, rule) in written.links.iter().enumerate() {
            if let Some(rule) = self.link_rule(&path.key("links").index(index), rule, &found, regions) {
                rules.push(rule);
            }
        }
        let cluster = |cluster: &InventoryCluster| {
            let chosen = rules.iter().filter(|(selector, _)| selector.matches(&cluster.labels));
            let by_rule = chosen.fold(Made::default(), |made, (_, rule)| made.or(rule.clone()));
            let told = Made { nodes: cluster.nodes, ..Made::default() };
            by_rule.or(told).or(default.clone()).cluster(
                cluster.name.clone(),
                cluster.labels.clone(),
                cluster.paused,
                cluster.registered,
            )
        };
        Some(found.iter().map(cluster).collect())
    }

    fn inventory_file(&mut self, name: &str) -> Option<Arc<Vec<InventoryCluster>>> {
        if let Some(known) = self.inventories.get(name) {
            return Some(Arc::clone(known));
        }
        let path = Path::of("inventory");
        let path = if self.tree.get(&path.key("file")).is_some() { path.key("file") } else { path };
        let source = self.file(name, &path)?;
        match inventory::clusters(&source) {
            Ok(clusters) => {
                let clusters = Arc::new(clusters);
                self.inventories.insert(name.to_owned(), Arc::clone(&clusters));
                Some(clusters)
            }
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    fn link_rule(
        &mut self,
        path: &Path,
        rule: &LinkRule,
        clusters: &[InventoryCluster],
        regions: &[String],
    ) -> Option<(CheckedSelector, Made)> {
        let make = Make {
            path: path.clone(),
            nodes: rule.nodes,
            downlink: rule.downlink.clone(),
            rtt: rule.rtt.clone(),
            loss: rule.loss,
            region: rule.region.clone(),
        };
        let made = self.make(&make, regions);
        let labels: Vec<&Labels> = clusters.iter().map(|cluster| &cluster.labels).collect();
        let selector = self.selector(&path.key("selector"), &rule.selector, &labels)?;
        Some((selector, made))
    }

    /// A selector that is right and selects at least one of the clusters.
    pub(in crate::scenario) fn selector(
        &mut self,
        path: &Path,
        selector: &LabelSelector,
        clusters: &[&Labels],
    ) -> Option<CheckedSelector> {
        match selector.check() {
            Err(error) => {
                self.report(
                    path,
                    error.to_string(),
                    "write it as in a Kubernetes object, e.g. `{matchLabels: {env: prod}}`",
                );
                None
            }
            Ok(checked) => {
                if !clusters.is_empty() && !clusters.iter().any(|labels| checked.matches(labels)) {
                    self.report(
                        path,
                        "the selector matches no cluster of the fleet",
                        &selection::why_none(selector, clusters),
                    );
                }
                Some(checked)
            }
        }
    }

    /// Groups of the file, then of the inventory.
    pub(super) fn groups(&mut self, file: &ExperimentFile, clusters: &[ClusterSpec]) -> Vec<FleetGroup> {
        let list = Path::of("clusterGroups");
        let labels: Vec<&Labels> = clusters.iter().map(|cluster| &cluster.labels).collect();
        let mut groups = Vec::new();
        for (index, group) in file.cluster_groups.iter().flatten().enumerate() {
            if let Some(selector) = &group.selector {
                self.selector(&list.index(index).key("selector"), selector, &labels);
            }
            let named = ClusterGroup { name: group.name.clone(), labels: group.labels.clone() };
            groups.push((Arc::new(named), group.selector.clone()));
        }
        let written = file.cluster_groups.as_deref().unwrap_or_default();
        self.unique(&list, written.iter().enumerate().map(|(index, group)| (index, group.name.as_str())));

        if let Some(name) = file.inventory.as_ref().and_then(|inventory| inventory.0.cluster_groups.as_ref())
            && let Some(source) = self.file(name, &Path::of("inventory").key("clusterGroups"))
        {
            match inventory::groups(&source) {
                // A group of a real inventory may well be empty; only what is written for this experiment may not.
                Ok(found) => {
                    groups.extend(found.into_iter().map(|group| {
                        (Arc::new(ClusterGroup { name: group.name, labels: group.labels }), group.selector)
                    }));
                }
                Err(problems) => self.problems.extend(problems),
            }
        }
        for (group, selector) in &groups {
            if let Some(Err(error)) = selector.as_ref().map(LabelSelector::check) {
                let known = |problem: &Problem| problem.message == error.to_string();
                if !self.problems.iter().any(known) {
                    let message = format!("the selector of the cluster group `{}` is refused: {error}", group.name);
                    self.report(&Path::of("inventory"), message, "Kubernetes would refuse it too");
                }
            }
        }
        groups.retain(|(_, selector)| selector.as_ref().is_none_or(|selector| selector.check().is_ok()));
        groups
    }
}
