//! The targets of a bundle: which clusters get the bundle.
//!
//! A bundle has targets and an allow list, `targetRestrictions`, which contains the targets of a GitRepo or of
//! `overrideTargets`. A cluster gets the bundle if it is on the list and a target selects it. Entries of a
//! fleet.yaml's `targets` and `targetCustomizations` come first and are customizations: they change options, and with
//! `doNotDeploy` they exclude a cluster. Follows `bundleFromDir` in `internal/bundlereader/read.go`,
//! `target/matcher/bundlematch.go` and `target/builder.go`. Left out: the options that a customization changes, and
//! clusters of other namespaces.

use serde::Deserialize;

use super::super::label_selector::{Labels, SelectorError};
use super::cluster::{ClusterGroup, FleetCluster};
use super::config::ManualPartition;
use super::matcher::Matcher;

/// The group that gets a bundle without targets.
const DEFAULT_GROUP: &str = "default";

/// An entry of `targets`, `targetCustomizations`, `targetRestrictions` or `overrideTargets`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleTarget {
    /// Selects clusters like an entry of `partitions`.
    pub criteria: ManualPartition,
    /// Whether the selected clusters do not get the bundle.
    pub do_not_deploy: bool,
}

/// How many customizations apply to a cluster.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
pub enum CustomizationMode {
    /// Only the first customization that selects the cluster applies.
    #[default]
    #[serde(alias = "")]
    FirstMatch,
    /// All customizations that select the cluster apply.
    AllMatches,
}

/// The parts of a bundle that determine which clusters get it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleTargets {
    /// Targets; customizations are first.
    targets: Vec<BundleTarget>,
    restrictions: Vec<BundleTarget>,
    mode: CustomizationMode,
}

/// Whether a cluster gets a bundle, and why not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TargetChoice {
    /// The cluster gets the bundle.
    Target,
    /// No target selects the cluster.
    NotSelected,
    /// An entry with `doNotDeploy` excludes the cluster.
    DoNotDeploy,
}

/// A selector of an entry that Kubernetes would reject.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetsError {
    /// Index of the entry; the restrictions are numbered after the targets.
    pub entry: usize,
    /// The error in the entry's selector.
    pub source: SelectorError,
}

impl BundleTargets {
    /// Returns the targets of a bundle that a GitRepo creates from a fleet.yaml. `of_repo`: the targets of the
    /// GitRepo, which `overrides` replace.
    #[must_use]
    pub fn of_fleet_yaml(
        customizations: Vec<BundleTarget>,
        overrides: Option<Vec<BundleTarget>>,
        of_repo: Vec<BundleTarget>,
        mode: CustomizationMode,
    ) -> Self {
        let restrictions = overrides.unwrap_or(of_repo);
        let mut targets = customizations;
        targets.extend(restrictions.iter().cloned());
        Self::of_bundle(targets, restrictions, mode)
    }

    /// Returns the targets in the `spec` of a Bundle or a HelmOp.
    #[must_use]
    pub fn of_bundle(
        mut targets: Vec<BundleTarget>,
        restrictions: Vec<BundleTarget>,
        mode: CustomizationMode,
    ) -> Self {
        if targets.is_empty() {
            targets.push(BundleTarget {
                criteria: ManualPartition {
                    cluster_group: DEFAULT_GROUP.to_owned(),
                    ..ManualPartition::default()
                },
                do_not_deploy: false,
            });
        }
        Self {
            targets,
            restrictions,
            mode,
        }
    }

    /// Returns, for each cluster, whether it gets the bundle.
    ///
    /// # Errors
    /// The first selector that Kubernetes would reject.
    pub fn choose(&self, clusters: &[FleetCluster]) -> Result<Vec<TargetChoice>, TargetsError> {
        let targets = matchers(&self.targets, 0)?;
        let restrictions = matchers(&self.restrictions, self.targets.len())?;
        let customizations = if self.restrictions.is_empty() {
            0
        } else {
            self.targets.len().saturating_sub(self.restrictions.len())
        };
        let rules = TargetRules {
            entries: &self.targets,
            customizations: &targets[..customizations],
            targets: &targets[customizations..],
            restrictions: &restrictions,
            mode: self.mode,
        };
        let mut choices = Vec::with_capacity(clusters.len());
        for cluster in clusters {
            choices.push(rules.choose(cluster));
        }
        Ok(choices)
    }

    /// Returns the cluster groups that entries name.
    pub fn named_groups(&self) -> impl Iterator<Item = &str> {
        self.targets
            .iter()
            .chain(&self.restrictions)
            .map(|entry| entry.criteria.cluster_group.as_str())
            .filter(|name| !name.is_empty())
    }
}

fn matchers(entries: &[BundleTarget], first: usize) -> Result<Vec<Matcher<'_>>, TargetsError> {
    let mut found = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let matcher = Matcher::new(&entry.criteria).map_err(|source| TargetsError {
            entry: first + at,
            source,
        })?;
        found.push(matcher);
    }
    Ok(found)
}

/// The checked entries of a bundle.
struct TargetRules<'r> {
    /// All targets; customizations are first.
    entries: &'r [BundleTarget],
    customizations: &'r [Matcher<'r>],
    targets: &'r [Matcher<'r>],
    restrictions: &'r [Matcher<'r>],
    mode: CustomizationMode,
}

impl TargetRules<'_> {
    fn choose(&self, cluster: &FleetCluster) -> TargetChoice {
        let Some(target) = self.target_of(cluster) else {
            return TargetChoice::NotSelected;
        };
        let is_excluded = self.entries[self.customizations.len() + target].do_not_deploy
            || self.is_excluded_by_customization(cluster);
        if is_excluded {
            TargetChoice::DoNotDeploy
        } else {
            TargetChoice::Target
        }
    }

    /// Returns the first target that selects the cluster, if it is on the allow list. The target and the list must
    /// select it as a member of the same group.
    fn target_of(&self, cluster: &FleetCluster) -> Option<usize> {
        self.targets.iter().position(|target| {
            in_some_group(cluster, |group| {
                self.is_allowed(cluster, group) && target.matches_in(cluster, group)
            })
        })
    }

    fn is_allowed(&self, cluster: &FleetCluster, group: &ClusterGroup) -> bool {
        self.restrictions.is_empty()
            || self
                .restrictions
                .iter()
                .any(|restriction| restriction.matches_in(cluster, group))
    }

    fn is_excluded_by_customization(&self, cluster: &FleetCluster) -> bool {
        for (entry, customization) in self.entries.iter().zip(self.customizations) {
            if !customization.matches(cluster) {
                continue;
            }
            match self.mode {
                CustomizationMode::FirstMatch => return entry.do_not_deploy,
                CustomizationMode::AllMatches if entry.do_not_deploy => return true,
                CustomizationMode::AllMatches => {}
            }
        }
        false
    }
}

/// Returns whether a condition holds for one of a cluster's groups. A cluster without groups is treated as if it were
/// in a group without name and labels.
fn in_some_group(cluster: &FleetCluster, holds: impl Fn(&ClusterGroup) -> bool) -> bool {
    if cluster.groups.is_empty() {
        return holds(&ClusterGroup {
            name: String::new(),
            labels: Labels::new(),
        });
    }
    cluster.groups.iter().any(|group| holds(group))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn cluster(name: &str, env: &str, groups: &[&str]) -> FleetCluster {
        let mut found = Vec::new();
        for group in groups {
            found.push(Arc::new(ClusterGroup {
                name: (*group).to_owned(),
                labels: Labels::new(),
            }));
        }
        FleetCluster {
            name: name.to_owned(),
            labels: Arc::new([("env".to_owned(), env.to_owned())].into()),
            groups: found,
        }
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry {
        #[serde(flatten)]
        criteria: ManualPartition,
        #[serde(default)]
        do_not_deploy: bool,
    }

    fn entries(yaml: &str) -> Vec<BundleTarget> {
        let written: Vec<Entry> = serde_saphyr::from_str(yaml).expect("entries");
        let mut entries = Vec::new();
        for entry in written {
            entries.push(BundleTarget {
                criteria: entry.criteria,
                do_not_deploy: entry.do_not_deploy,
            });
        }
        entries
    }

    fn chosen(targets: &BundleTargets) -> Vec<TargetChoice> {
        let clusters = [
            cluster("a", "prod", &[]),
            cluster("b", "prod", &["default"]),
            cluster("c", "dev", &["shops"]),
        ];
        targets.choose(&clusters).expect("valid selectors")
    }

    use CustomizationMode::{AllMatches, FirstMatch};
    use TargetChoice::{DoNotDeploy, NotSelected, Target};

    #[test]
    fn overrides_replace_the_repo_targets_and_without_targets_the_default_group_applies() {
        let all = || entries("[{clusterSelector: {}}]");
        let prod = Some(entries("[{clusterSelector: {matchLabels: {env: prod}}}]"));
        let of = |overrides| BundleTargets::of_fleet_yaml(vec![], overrides, all(), FirstMatch);
        assert_eq!(chosen(&of(None)), [Target, Target, Target]);
        assert_eq!(chosen(&of(prod)), [Target, Target, NotSelected]);
        assert_eq!(
            chosen(&of(Some(vec![]))),
            [NotSelected, Target, NotSelected]
        );
    }

    #[test]
    fn either_the_first_customization_or_all_of_them_apply() {
        let customizations = || {
            entries(
                "[{clusterName: a}, {clusterSelector: {matchLabels: {env: prod}}, doNotDeploy: true}]",
            )
        };
        let of = |mode| {
            let all = entries("[{clusterSelector: {}}]");
            BundleTargets::of_fleet_yaml(customizations(), None, all, mode)
        };
        assert_eq!(chosen(&of(FirstMatch)), [Target, DoNotDeploy, Target]);
        assert_eq!(chosen(&of(AllMatches)), [DoNotDeploy, DoNotDeploy, Target]);
    }

    #[test]
    fn without_an_allow_list_every_entry_is_a_target_and_the_first_match_applies() {
        let targets = entries(
            "[{clusterGroup: shops, doNotDeploy: true}, {clusterSelector: {}}, {clusterName: a, doNotDeploy: true}]",
        );
        let bundle = BundleTargets::of_bundle(targets, vec![], FirstMatch);
        assert_eq!(chosen(&bundle), [Target, Target, DoNotDeploy]);
        let named: Vec<&str> = bundle.named_groups().collect();
        assert_eq!(named, ["shops"]);
    }

    #[test]
    fn an_invalid_selector_is_reported_with_its_entry() {
        let wrong = entries(
            "[{clusterName: a}, {clusterSelector: {matchExpressions: [{key: a, operator: Is}]}}]",
        );
        let bundle = BundleTargets::of_bundle(vec![], wrong, FirstMatch);
        assert_eq!(bundle.choose(&[]).map_err(|error| error.entry), Err(2));
    }
}
