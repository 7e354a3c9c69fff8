//! The clusters that a fleet.yaml, a Bundle or a HelmOp selects from the fleet.
//!
//! The fleet of an experiment represents the targets of the GitRepo. A fleet.yaml can replace these targets
//! (`overrideTargets`) and exclude some of their clusters (`doNotDeploy`). A Bundle or a HelmOp has its own targets.
//! The rules are in `rollout::rancher_fleet`.

use std::sync::Arc;

use serde::Deserialize;

use super::super::words::first_names;
use super::clusters;
use crate::document::context::{Context, Document};
use crate::document::files::Files;
use crate::document::path::Path;
use crate::document::problem::Source;
use crate::document::tree;
use crate::products::fields::{self, BundleDocument, BundleKind, FileChoice, ReadFile};
use crate::products::{ChosenTarget, Fleet, Targets};
use crate::rollout::label_selector::LabelSelector;
use crate::rollout::rancher_fleet::{
    BundleTarget, BundleTargets, CustomizationMode, FleetCluster, ManualPartition, Partitioning,
    RolloutStrategy, TargetChoice,
};
use crate::units::counted;

/// An entry in a list of targets, reduced to the fields that select clusters.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TargetEntry {
    cluster_name: Option<String>,
    cluster_selector: Option<LabelSelector>,
    cluster_group: Option<String>,
    cluster_group_selector: Option<LabelSelector>,
    do_not_deploy: Option<bool>,
}

impl From<TargetEntry> for BundleTarget {
    fn from(entry: TargetEntry) -> Self {
        Self {
            criteria: ManualPartition {
                cluster_name: entry.cluster_name.unwrap_or_default(),
                cluster_selector: entry.cluster_selector,
                cluster_group: entry.cluster_group.unwrap_or_default(),
                cluster_group_selector: entry.cluster_group_selector,
                ..ManualPartition::default()
            },
            do_not_deploy: entry.do_not_deploy.unwrap_or(false),
        }
    }
}

/// The suggested fix if cluster groups are unknown.
pub(super) const NAME_GROUPS: &str = "name them: `clusterGroups` or `inventory.clusterGroups`, or --cluster-groups of `fleetsim import`";

/// The lists of a file that select clusters.
const LISTS: [&str; 4] = [
    "overrideTargets",
    "targets",
    "targetCustomizations",
    "targetRestrictions",
];

/// The targets in a bundle's file, without an experiment.
#[derive(Debug)]
pub(crate) struct BundleSelection {
    targets: BundleTargets,
    /// Whether the targets of the GitRepo are replaced.
    pub(crate) replaces_repo: bool,
}

impl BundleSelection {
    /// Reads a file. `None`: the file does not select clusters, or cannot be read, which the check of the strategy
    /// reports.
    pub(crate) fn of_file(source: &Arc<Source>) -> Option<Self> {
        let ReadFile { yaml, .. } = fields::read_file("rancherFleet", source)?;
        let read = Arc::new(source.with_text(yaml));
        let mut root = tree::parse(&read).ok()?;
        let mut kind = BundleKind::FleetYaml;
        if root.get(&Path::of("kind")).is_some() {
            kind = BundleKind::Object;
            root = root.get(&Path::of("spec"))?.clone();
        }
        let document = Document::of(Arc::clone(&read), root);
        if kind == BundleKind::FleetYaml && !has_some_list(&document) {
            return None;
        }
        let mut files = Files::in_folder(".".into());
        let mut context = Context {
            files: &mut files,
            source: &read,
            tree: &document.tree,
            struck: &[],
            problems: Vec::new(),
            notes: Vec::new(),
        };
        Some(Self {
            targets: bundle_targets(&document, kind, &mut context)?,
            replaces_repo: kind == BundleKind::Object || has_list(&document, "overrideTargets"),
        })
    }

    /// Returns, for each cluster, whether it gets the bundle. `None`: there is a problem, which the check of the
    /// strategy reports.
    pub(crate) fn choose(
        &self,
        clusters: &[FleetCluster],
        knows_groups: bool,
    ) -> Option<Vec<TargetChoice>> {
        if !knows_groups && self.targets.named_groups().next().is_some() {
            return None;
        }
        let choices = self.targets.choose(clusters).ok()?;
        choices.contains(&TargetChoice::Target).then_some(choices)
    }
}

/// Returns the strategy's targets in the fleet. `None`: a problem was reported.
pub(super) fn of(
    choice: FileChoice<'_>,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> Option<Targets> {
    let Some(name) = choice.name else {
        return Some(Targets::All);
    };
    // Problems and notes about the file are reported when the strategy is checked.
    let read = context.unreported(|context| fields::bundle(name, choice, context));
    let Some(BundleDocument { document, kind }) = read else {
        return Some(Targets::All);
    };
    if kind == BundleKind::FleetYaml && !has_some_list(&document) {
        return Some(Targets::All);
    }
    let targets = bundle_targets(&document, kind, context)?;
    let clusters = clusters(fleet);
    let named = targets.named_groups().next();
    if let Some(group) = named.filter(|_| !clusters.is_empty() && !knows_groups(fleet, context)) {
        report_unknown_group(&document, group, context);
        return None;
    }
    let choices = match targets.choose(&clusters) {
        Ok(choices) => choices,
        Err(error) => {
            let problem = document.at(&place(&document), error.source.to_string());
            let help = "Fleet refuses this too and would not roll out at all";
            context.problems.push(problem.with_help(help));
            return None;
        }
    };
    chosen(&document, &choices, fleet, name, context)
}

/// Returns those of the `wanted` clusters that are in a partition, and adds a note about the others.
pub(super) fn included(
    chosen: Targets,
    wanted: &[u32],
    strategy: &RolloutStrategy,
    clusters: &[FleetCluster],
    context: &mut Context<'_>,
) -> Targets {
    let Ok(plan) = Partitioning::new(strategy, clusters, wanted) else {
        return chosen;
    };
    let mut is_included = vec![false; clusters.len()];
    for member in plan
        .partitions
        .iter()
        .flat_map(|partition| &partition.members)
    {
        is_included[*member as usize] = true;
    }
    let mut left_out = Vec::new();
    let mut targets = Vec::new();
    for index in wanted.iter().map(|index| *index as usize) {
        if is_included[index] {
            targets.push(ChosenTarget {
                index,
                labels: None,
            });
        } else {
            left_out.push(clusters[index].name.clone());
        }
    }
    if left_out.is_empty() || targets.is_empty() {
        return chosen;
    }
    let count = counted(left_out.len(), "cluster");
    context.notes.push(format!(
        "{count} in no partition, so not included in the rollout as documented: {}; as shipped the rollout waits for them",
        first_names(&left_out)
    ));
    Targets::Chosen(targets)
}

/// Returns whether the experiment defines cluster groups, including an empty list.
pub(super) fn knows_groups(fleet: Fleet<'_>, context: &Context<'_>) -> bool {
    !fleet.groups.is_empty()
        || context.is_set(&Path::of("clusterGroups"))
        || context.is_set(&Path::of("inventory").key("clusterGroups"))
}

/// Returns the parts of a bundle's file that select clusters. `None`: a problem was reported.
fn bundle_targets(
    document: &Document,
    kind: BundleKind,
    context: &mut Context<'_>,
) -> Option<BundleTargets> {
    let mode = match document.tree.get(&Path::of("targetCustomizationMode")) {
        Some(node) if !node.is_empty() => {
            context.read_from(document, &Path::of("targetCustomizationMode"), |_| true)?
        }
        _ => CustomizationMode::default(),
    };
    let mut targets = entries(document, "targets", context)?;
    if kind == BundleKind::Object {
        let restrictions = entries(document, "targetRestrictions", context)?;
        return Some(BundleTargets::of_bundle(targets, restrictions, mode));
    }
    targets.extend(entries(document, "targetCustomizations", context)?);
    let written = entries(document, "overrideTargets", context)?;
    // An empty list also replaces the targets of the GitRepo.
    let overrides = has_list(document, "overrideTargets").then_some(written);
    let every_cluster = BundleTarget {
        criteria: ManualPartition {
            cluster_selector: Some(LabelSelector::default()),
            ..ManualPartition::default()
        },
        do_not_deploy: false,
    };
    let of_repo = vec![every_cluster];
    Some(BundleTargets::of_fleet_yaml(
        targets, overrides, of_repo, mode,
    ))
}

/// Returns whether the file has any list that selects clusters.
fn has_some_list(document: &Document) -> bool {
    LISTS
        .iter()
        .any(|list| document.tree.get(&Path::of(list)).is_some())
}

/// Returns whether the file has this list, even if the list is empty.
fn has_list(document: &Document, list: &str) -> bool {
    let written = document.tree.get(&Path::of(list));
    written.is_some_and(|node| !node.is_empty())
}

/// Returns the entries of a list; empty if the file lacks it. `None`: a problem was reported.
fn entries(
    document: &Document,
    list: &str,
    context: &mut Context<'_>,
) -> Option<Vec<BundleTarget>> {
    let path = Path::of(list);
    if !has_list(document, list) {
        return Some(Vec::new());
    }
    let written: Vec<TargetEntry> =
        context.read_from(document, &path, |error| !error.is_of_key())?;
    Some(written.into_iter().map(BundleTarget::from).collect())
}

/// Returns the path of the lists in the file, for error messages.
fn place(document: &Document) -> Path {
    let there = LISTS
        .iter()
        .map(|list| Path::of(list))
        .find(|path| document.tree.get(path).is_some());
    there.unwrap_or_default()
}

fn report_unknown_group(document: &Document, group: &str, context: &mut Context<'_>) {
    let message = format!(
        "the cluster group `{group}` is named, but the experiment has no cluster groups, so its clusters are unknown"
    );
    let problem = document.at(&place(document), message);
    context.problems.push(problem.with_help(NAME_GROUPS));
}

/// Returns the chosen clusters, with a note about the others. `None`: no cluster is chosen, which is reported.
fn chosen(
    document: &Document,
    choices: &[TargetChoice],
    fleet: Fleet<'_>,
    name: &str,
    context: &mut Context<'_>,
) -> Option<Targets> {
    let mut targets = Vec::new();
    let mut unselected = Vec::new();
    let mut excluded = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        let cluster = &fleet.world.clusters[index].name;
        match choice {
            TargetChoice::Target => targets.push(ChosenTarget {
                index,
                labels: None,
            }),
            TargetChoice::NotSelected => unselected.push(cluster.clone()),
            TargetChoice::DoNotDeploy => excluded.push(cluster.clone()),
        }
    }
    let all = choices.len();
    if targets.is_empty() && all > 0 {
        let message = "the file selects no cluster of the fleet, so nothing would be rolled out";
        let help = "compare its selectors with the labels of the fleet";
        let problem = document.at(&place(document), message);
        context.problems.push(problem.with_help(help));
        return None;
    }
    if targets.len() == all {
        return Some(Targets::All);
    }
    let mut note = format!(
        "{name} selects {} of {}",
        targets.len(),
        counted(all, "cluster")
    );
    for (names, why) in [(&unselected, "not selected"), (&excluded, "doNotDeploy")] {
        if !names.is_empty() {
            note.push_str(&format!("; {why}: {}", first_names(names)));
        }
    }
    context.notes.push(note);
    Some(Targets::Chosen(targets))
}
