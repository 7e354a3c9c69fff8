//! `fleet`, `inventory`, `regions` and `clusterGroups`: the clusters, their links and their groups.

use std::path::Path as FsPath;
use std::sync::Arc;

use itertools::Itertools;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::GuessedLink;
use super::check::Checker;
use super::import::git_repo::GitRepo;
use super::import::inventory::{self, InventoryCluster, LinkFields};
use super::import::table;
use super::names::MOST_NAMES;
use crate::document::path::Path;
use crate::document::text_or::FromText;
use crate::products::{FleetGroup, selection};
use crate::rollout::label_selector::{CheckedSelector, LabelSelector, Labels};
use crate::rollout::rancher_fleet::ClusterGroup;
use crate::world::{ClusterSpec, FactorModel, GapSpec, MOST_NODES, RegionSpec};

/// Minimum mean length of a link's gaps, in seconds, because each gap is an event.
const SHORTEST_GAP: f64 = 0.01;

/// Maximum number of nodes in a whole fleet, which limits a run's memory.
const MOST_NODES_IN_ALL: f64 = 1e7;

/// An inventory, and settings that the inventory does not contain.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InventoryFields {
    /// Output of `kubectl get clusters.fleet.cattle.io -A -o json` (JSON or YAML), or a table. A table is CSV and its
    /// name ends in `.csv`.
    pub(crate) file: String,
    /// Fleet's workspace with the bundle's targets. Default: `fleet-default` if there are several.
    pub(crate) namespace: Option<String>,
    /// A GitRepo, whose namespace and `spec.targets` determine the targets.
    pub(crate) git_repo: Option<String>,
    /// Output of `kubectl get clustergroups.fleet.cattle.io -A -o json` (JSON or YAML).
    pub(crate) cluster_groups: Option<String>,
    /// Rules by label. A setting comes from the first rule that selects the cluster and has the setting.
    #[serde(default)]
    pub(crate) links: Vec<LinkRule>,
    /// Settings of clusters for which no rule sets them.
    pub(crate) default: Option<LinkFields>,
}

/// Settings for the clusters that match a selector.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LinkRule {
    /// A Kubernetes label selector; `{}` selects all clusters.
    selector: LabelSelector,
    #[serde(rename = "~fields")]
    #[cfg_attr(test, schemars(flatten))]
    fields: LinkFields,
}

/// A Fleet ClusterGroup.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ClusterGroupFile {
    #[serde(rename = "~group")]
    #[cfg_attr(test, schemars(flatten))]
    group: ClusterGroup,
    /// Selects the clusters in the group. Without a selector, the group is empty.
    selector: Option<LabelSelector>,
}

impl FromText for InventoryFields {
    const NAME: &'static str = "Inventory";
    const EXPECTING: &'static str =
        "the path of a JSON or CSV file, or `{file: clusters.json, links: […]}`";

    fn of_text(file: &str) -> Result<Self, String> {
        Ok(Self {
            file: file.to_owned(),
            ..Self::default()
        })
    }
}

impl Checker<'_> {
    /// Returns the clusters: first the inventory's in its order, then those of the groups in the file's order.
    pub(super) fn clusters(
        &mut self,
        fleet: Option<&[ClusterSpec]>,
        all: Option<u64>,
        inventory: Option<&InventoryFields>,
        regions: &[RegionSpec],
    ) -> Vec<ClusterSpec> {
        let regions: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
        let mut clusters = Vec::new();
        let mut complete = true;
        if let Some(inventory) = inventory {
            match self.inventory(inventory, &regions) {
                Some(found) => clusters = found,
                None => complete = false,
            }
        }
        let sizes = self.group_sizes(fleet.unwrap_or_default(), all);
        for (index, group) in fleet.unwrap_or_default().iter().enumerate() {
            let path = Path::of("fleet").index(index);
            match self.group_names(&path, group, &sizes[index]) {
                Some(names) if clusters.len() + names.len() > MOST_NAMES as usize => {
                    self.too_many_clusters(clusters.len() + names.len());
                    complete = false;
                    break;
                }
                Some(names) => clusters.extend(self.group(&path, group, names, &regions)),
                None => complete = false,
            }
        }
        complete &= self.is_whole(&Path::of("fleet")) && self.is_whole(&Path::of("inventory"));
        if clusters.is_empty() && complete {
            let path = Path::of(if fleet.is_some() {
                "fleet"
            } else {
                "inventory"
            });
            let help =
                "write `fleet: [{name: \"store-{001..100}\"}]`, or `inventory: clusters.json`";
            self.report(&path, "the fleet has no clusters", help);
        }
        self.fleet_limits(&clusters);
        clusters
    }

    fn fleet_limits(&mut self, clusters: &[ClusterSpec]) {
        let path = Path::of("fleet");
        if let Some(twice) = clusters
            .iter()
            .map(|cluster| &cluster.name)
            .duplicates()
            .next()
        {
            let message = format!("two clusters have the name `{twice}`");
            self.report(
                &path,
                message,
                "use different names in groups and in the inventory",
            );
        }
        let nodes: f64 = clusters.iter().map(most_nodes).sum();
        if clusters.len() as u64 > MOST_NAMES {
            self.too_many_clusters(clusters.len());
        } else if nodes > MOST_NODES_IN_ALL {
            let help = format!("at most {MOST_NODES_IN_ALL} are simulated");
            self.report(&path, format!("the fleet has {nodes:.0} nodes"), &help);
        }
    }

    fn too_many_clusters(&mut self, count: usize) {
        self.report(
            &Path::of("fleet"),
            format!("the fleet has {count} clusters or more"),
            &format!("at most {MOST_NAMES} are simulated"),
        );
    }

    fn group(
        &mut self,
        path: &Path,
        group: &ClusterSpec,
        names: Vec<String>,
        regions: &[String],
    ) -> Vec<ClusterSpec> {
        if group.name.is_empty() {
            self.report(
                &path.key("name"),
                "the name is empty",
                "write e.g. `store-{001..900}`",
            );
        }
        let mut written = LinkFields {
            nodes: Some(group.nodes.clone()),
            autoscaling: group.autoscaling.clone(),
            site: group.site,
            gaps: group.gaps.clone(),
            region: group.region_name.clone(),
            ..LinkFields::default()
        };
        if self.is_set(&path.key("downlink")) {
            written.downlink = Some(group.downlink.clone());
        }
        if self.is_set(&path.key("rtt")) {
            written.rtt = Some(group.rtt.clone());
        }
        if self.is_set(&path.key("loss")) {
            written.loss = Some(group.loss);
        }
        let mut unnamed = ClusterSpec {
            clusters: None,
            group: group.name.clone(),
            ..group.clone()
        };
        let fields = self.link_fields(path, &written, regions);
        fields.apply(&mut unnamed);
        names
            .into_iter()
            .map(|name| ClusterSpec {
                name,
                ..unnamed.clone()
            })
            .collect()
    }

    /// Checks the gaps of a link.
    fn gaps(&mut self, path: &Path, gaps: &mut GapSpec) {
        let path = path.key("gaps");
        self.resolve(&path.key("length"), &mut gaps.length);
        if gaps.share.get() >= 1.0 {
            self.report(
                &path.key("share"),
                "must be less than 100%",
                "to cut clusters off, use `faults.offline`",
            );
        }
        let mean = gaps.length.mean();
        if !(mean.is_finite() && mean >= SHORTEST_GAP) {
            self.report(
                &path.key("length"),
                "the mean must be at least 10 ms and finite",
                "write e.g. `2 s`",
            );
        }
    }

    /// Returns the guessed links of clusters for which neither a group nor the inventory specifies the link.
    pub(super) fn guessed_links(&self, clusters: &[ClusterSpec], target: &str) -> Vec<GuessedLink> {
        let guess = ClusterSpec::default();
        let place = if self.is_set(&Path::of("inventory")) {
            "`inventory.links` or `inventory.default`"
        } else {
            "`fleet`"
        };
        let all = clusters.len();
        let mut links = Vec::new();
        let guessed_downlinks = clusters
            .iter()
            .filter(|cluster| cluster.downlink == guess.downlink)
            .count();
        if guessed_downlinks > 0 && self.is_open("downlink") {
            links.push(GuessedLink {
                constant: "fleet[*].downlink",
                text: format!(
                    "`downlink` of {guessed_downlinks} of {all} {target}s is a guess, {}; set it in {place}",
                    guess.downlink
                ),
            });
        }
        let guessed_rtts = clusters
            .iter()
            .filter(|cluster| cluster.rtt == guess.rtt)
            .count();
        if guessed_rtts > 0 && self.is_open("rtt") {
            links.push(GuessedLink {
                constant: "fleet[*].rtt",
                text: format!(
                    "`rtt` of {guessed_rtts} of {all} {target}s is a guess, {}; set it in {place}",
                    guess.rtt
                ),
            });
        }
        links
    }

    /// Returns whether a group, or the default of the inventory, leaves a field of the link unset.
    fn is_open(&self, field: &str) -> bool {
        let mut places = Vec::new();
        if let Some(groups) = self.tree.get(&Path::of("fleet")) {
            for index in 0..groups.items().len() {
                places.push(Path::of("fleet").index(index));
            }
        }
        if self.is_set(&Path::of("inventory")) {
            places.push(Path::of("inventory").key("default"));
        }
        places
            .iter()
            .any(|path| !self.is_set(&path.key(field)) && !self.is_set(&path.key("site")))
    }

    /// Checks the settings for a group's or an inventory's clusters.
    fn link_fields(&mut self, path: &Path, fields: &LinkFields, regions: &[String]) -> LinkFields {
        let mut fields = fields.clone();
        if let Some(nodes) = &mut fields.nodes {
            self.resolve(&path.key("nodes"), nodes);
            if !is_number_of_nodes(nodes) {
                let help = format!(
                    "write a whole number from 1 to {MOST_NODES}, or a distribution whose mean is"
                );
                self.report(
                    &path.key("nodes"),
                    format!("not a number of nodes: {nodes}"),
                    &help,
                );
            }
        }
        if let Some(downlink) = &mut fields.downlink {
            self.resolve(&path.key("downlink"), downlink);
            self.positive_rate(&path.key("downlink"), downlink);
        }
        if let Some(rtt) = &mut fields.rtt {
            self.resolve(&path.key("rtt"), rtt);
        }
        if fields.loss.is_some_and(|loss| loss.get() >= 1.0) {
            let help = "to cut clusters off, use `faults: {offline: {share: …}}`";
            self.report(&path.key("loss"), "must be less than 100%", help);
        }
        if let Some(gaps) = &mut fields.gaps {
            self.gaps(path, gaps);
        }
        if let Some(autoscaling) = &mut fields.autoscaling {
            self.autoscaling(path, autoscaling);
        }
        let region = fields.region.as_deref();
        fields.region_index = region
            .and_then(|name| self.lookup(&path.key("region"), name, &Path::of("regions"), regions));
        fields
    }

    /// Reads the inventory. `None`: the file cannot be read or has no clusters, which was reported.
    fn inventory(
        &mut self,
        written: &InventoryFields,
        regions: &[String],
    ) -> Option<Vec<ClusterSpec>> {
        let path = Path::of("inventory");
        let found = self.inventory_file(&written.file)?;
        let repo = match &written.git_repo {
            Some(name) => Some(GitRepo::read(
                name,
                &path.key("gitRepo"),
                &mut self.context,
            )?),
            None => None,
        };
        let namespace = written
            .namespace
            .as_deref()
            .or(repo.as_ref().and_then(GitRepo::namespace));
        let (space, mut found) = self.of_workspace(&found, namespace)?;
        if let Some(repo) = &repo {
            let groups = self.groups_of_inventory(written, space);
            found = repo.targets(found, &groups, &mut self.context)?;
        }
        self.regions_of_rows(&found, regions);
        let default = written.default.clone().unwrap_or_default();
        let default = self.link_fields(&path.key("default"), &default, regions);
        let labels: Vec<&Labels> = found.iter().map(|cluster| &cluster.labels).collect();
        let is_paused = repo.is_some_and(|repo| repo.is_paused());
        let mut rules = Vec::new();
        for (index, rule) in written.links.iter().enumerate() {
            let path = path.key("links").index(index);
            let fields = self.link_fields(&path, &rule.fields, regions);
            if let Some(selector) = self.selector(&path.key("selector"), &rule.selector, &labels) {
                rules.push(CheckedRule { selector, fields });
            }
        }
        let mut specs = Vec::new();
        for cluster in found {
            let mut spec = ClusterSpec {
                name: cluster.name.clone(),
                group: cluster.namespace.clone(),
                labels: Arc::new(cluster.labels.clone()),
                paused: cluster.paused || is_paused,
                registered: cluster.registered,
                offline: cluster.offline,
                ..ClusterSpec::default()
            };
            default.apply(&mut spec);
            own_link(cluster, regions).apply(&mut spec);
            // The first matching rule takes precedence, so it is applied last.
            for rule in rules.iter().rev() {
                if rule.selector.matches(&cluster.labels) {
                    rule.fields.apply(&mut spec);
                }
            }
            specs.push(spec);
        }
        Some(specs)
    }

    /// Reports the first region in a table that does not exist.
    fn regions_of_rows(&mut self, found: &[&InventoryCluster], regions: &[String]) {
        for cluster in found {
            let Some(name) = &cluster.link.region else {
                continue;
            };
            if regions.contains(name) {
                continue;
            }
            let message = format!(
                "`{}` is behind the region `{name}`, which is not in `regions`",
                cluster.name
            );
            let help = format!("write `regions: [{{name: {name}, bandwidth: 10 Gbit/s}}]`");
            self.report(&Path::of("inventory"), message, &help);
            return;
        }
    }

    /// Returns the cluster groups in a workspace. If their file cannot be read, this is reported with the experiment's
    /// groups.
    fn groups_of_inventory(&mut self, written: &InventoryFields, space: &str) -> Vec<FleetGroup> {
        let Some(name) = &written.cluster_groups else {
            return Vec::new();
        };
        match self.files.read(name) {
            Ok(source) => inventory::groups(&source, space).unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the requested or default workspace, and its clusters.
    fn of_workspace<'c>(
        &mut self,
        clusters: &'c [InventoryCluster],
        wanted: Option<&str>,
    ) -> Option<(&'c str, Vec<&'c InventoryCluster>)> {
        let found = inventory::of_workspace(clusters, wanted, "set `inventory.namespace` to");
        let path = Path::of("inventory");
        let path = if wanted.is_some() {
            path.key("namespace")
        } else {
            path
        };
        match found {
            Ok(found) => Some(found),
            Err(problem) => {
                self.report(&path, problem.message, &problem.help);
                None
            }
        }
    }

    fn inventory_file(&mut self, name: &str) -> Option<Arc<Vec<InventoryCluster>>> {
        if let Some(known) = self.inventories.get(name) {
            return Some(Arc::clone(known));
        }
        let path = Path::of("inventory");
        let path = if self.tree.get(&path.key("file")).is_some() {
            path.key("file")
        } else {
            path
        };
        let source = self.file(name, &path)?;
        let is_table = FsPath::new(name)
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let read = if is_table {
            table::clusters(&source)
        } else {
            inventory::clusters(&source)
        };
        let clusters = match read {
            Ok(clusters) => Arc::new(clusters),
            Err(problems) => {
                self.problems.extend(problems);
                return None;
            }
        };
        if is_table {
            self.files.copy_whole(name);
        }
        self.inventories
            .insert(name.to_owned(), Arc::clone(&clusters));
        Some(clusters)
    }

    /// Checks that a selector is valid and selects at least one cluster.
    pub(in crate::scenario) fn selector(
        &mut self,
        path: &Path,
        selector: &LabelSelector,
        clusters: &[&Labels],
    ) -> Option<CheckedSelector> {
        let checked = match selector.check() {
            Ok(checked) => checked,
            Err(error) => {
                let help = "write it as in a Kubernetes object, e.g. `{matchLabels: {env: prod}}`";
                self.report(path, error.to_string(), help);
                return None;
            }
        };
        if !clusters.is_empty() && !clusters.iter().any(|labels| checked.matches(labels)) {
            let help = selection::why_none(selector, clusters);
            self.report(path, "the selector matches no cluster of the fleet", &help);
        }
        Some(checked)
    }

    /// Returns the groups in the file, then those in the inventory.
    pub(super) fn groups(
        &mut self,
        written: Option<&[ClusterGroupFile]>,
        inventory: Option<&InventoryFields>,
        clusters: &[ClusterSpec],
    ) -> Vec<FleetGroup> {
        let written = written.unwrap_or_default();
        let list = Path::of("clusterGroups");
        let labels: Vec<&Labels> = clusters.iter().map(|cluster| &*cluster.labels).collect();
        let mut groups = Vec::new();
        for (index, group) in written.iter().enumerate() {
            if let Some(selector) = &group.selector {
                self.selector(&list.index(index).key("selector"), selector, &labels);
            }
            groups.push((Arc::new(group.group.clone()), group.selector.clone()));
        }
        let names = written.iter().map(|group| group.group.name.as_str());
        self.unique(&list, names.enumerate());

        if let Some(name) = inventory.and_then(|inventory| inventory.cluster_groups.as_ref())
            && let Some(source) = self.file(name, &Path::of("inventory").key("clusterGroups"))
        {
            // The clusters of the inventory come first. Their `group` is their namespace.
            let space = clusters.first().map_or("", |cluster| &cluster.group);
            match inventory::groups(&source, space) {
                // A group in a real inventory may be empty; a group written for this experiment must not be.
                Ok(found) => groups.extend(found),
                Err(problems) => self.problems.extend(problems),
            }
        }
        groups.retain(|group| self.is_group_valid(group));
        groups
    }

    /// Returns whether the group's selector is valid. If it is not, this is reported once.
    fn is_group_valid(&mut self, (group, selector): &FleetGroup) -> bool {
        let Some(Err(error)) = selector.as_ref().map(LabelSelector::check) else {
            return true;
        };
        let error = error.to_string();
        if self.problems.iter().all(|problem| problem.message != error) {
            let message = format!(
                "the selector of the cluster group `{}` is refused: {error}",
                group.name
            );
            let help = "Kubernetes would refuse it too";
            self.report(&Path::of("inventory"), message, help);
        }
        false
    }
}

/// A rule with a valid selector and valid settings.
struct CheckedRule {
    selector: CheckedSelector,
    fields: LinkFields,
}

/// Returns whether this is a valid number of nodes for clusters.
fn is_number_of_nodes(nodes: &FactorModel) -> bool {
    let is_broken = matches!(nodes, FactorModel::Constant(count) if count.get().fract() != 0.0);
    !is_broken && (1.0..=f64::from(MOST_NODES)).contains(&nodes.mean())
}

/// Returns the number of nodes that a cluster may have.
fn most_nodes(cluster: &ClusterSpec) -> f64 {
    match &cluster.autoscaling {
        Some(autoscaling) => f64::from(autoscaling.max_nodes),
        None => cluster.nodes.mean(),
    }
}

/// Returns the settings that the inventory contains for a cluster.
fn own_link(cluster: &InventoryCluster, regions: &[String]) -> LinkFields {
    let mut link = cluster.link.clone();
    if let Some(name) = &link.region {
        link.region_index = regions.iter().position(|region| region == name);
    }
    link
}
