//! The rule that blocks a rollout, with numbers and names.
//!
//! Fleet itself does not report this; it is derived from a pass that would change nothing. The first applicable rule
//! is reported: an invalid strategy, a paused bundle, `maxUnavailable`, `maxNew`, the gate between partitions, then
//! the state of single clusters: in no partition, off schedule, promoted and not ready, paused, unregistered.

use itertools::Itertools;

use super::super::{Hold, text};
use super::documented;
use super::ledger::{BundleLedger, MemberGroup, PartitionMembers, flag};
use super::partition::{Partition, Partitioning};
use super::pass::{self, BundlePass};
use super::view::{BundleAction, BundleView};
use super::{RancherFleet, RuleSet};

/// A question about a target's flags.
type FlagTest = fn(u8) -> bool;

impl RancherFleet {
    /// The rule that blocks the rollout at `view`. `None`: it is finished, or the next pass makes progress. The call
    /// costs as much as several passes.
    pub fn hold(&self, view: &BundleView) -> Option<Hold> {
        if view.is_done() {
            return None;
        }
        let plan = match self.partitioning_of(view) {
            Ok(plan) => plan,
            Err(error) => return Some(Hold::new("rolloutStrategy", error.to_string())),
        };
        let mut ledger = BundleLedger::new(&plan, &self.by_name, view, self.judges_wanted);
        let unavailable = ledger.unavailable;
        let mut pass = BundlePass::new(&plan, &mut ledger, unavailable);
        self.decide(&mut pass);
        if pass
            .actions
            .iter()
            .any(|action| matches!(action, BundleAction::Create(..) | BundleAction::Deploy(..)))
        {
            return None;
        }
        let stalled = StalledBundle {
            scheduler: self,
            plan: &plan,
            view,
            pass: &pass,
        };
        stalled
            .paused_bundle()
            .or_else(|| stalled.limit())
            .or_else(|| stalled.max_new())
            .or_else(|| stalled.gate())
            .or_else(|| stalled.single_clusters())
    }
}

/// A pass without any action, with the clusters' flags after it.
struct StalledBundle<'a> {
    scheduler: &'a RancherFleet,
    plan: &'a Partitioning,
    view: &'a BundleView,
    pass: &'a BundlePass<'a, BundleLedger>,
}

/// What a limit of unavailable clusters counts.
struct LimitScope {
    /// The bundle or the partition.
    name: String,
    members: Vec<u32>,
    limit: i64,
}

/// Clusters that are not done for the same reason.
struct HeldGroup {
    rule: &'static str,
    clusters: Vec<u32>,
    /// The reason, behind `3 clusters are`.
    why: &'static str,
}

impl StalledBundle<'_> {
    fn paused_bundle(&self) -> Option<Hold> {
        let waiting = self.targets(|flags| flags & flag::PROMOTED == 0);
        (self.view.paused && !waiting.is_empty()).then(|| {
            Hold::new(
                "paused",
                format!("the bundle is paused; {} wait", self.clusters(&waiting)),
            )
        })
    }

    fn limit(&self) -> Option<Hold> {
        let (partition, waiting) = self.first_waiting()?;
        let scope = self.limit_scope(partition);
        let LimitScope {
            name,
            members,
            limit,
        } = &scope;
        let culprits: Vec<u32> = members
            .iter()
            .copied()
            .filter(|target| self.counts_as_unavailable(self.flags(*target)))
            .collect();
        let waiting = self.clusters(&waiting);
        let explanation = if *limit == 0 && culprits.is_empty() {
            format!(
                "maxUnavailable is 0 in {name}, so no available cluster is ever updated; {waiting} wait"
            )
        } else {
            let adjective = match self.scheduler.rules {
                RuleSet::Shipped => "unavailable",
                RuleSet::Documented => "NotReady",
            };
            format!(
                "in {name}, {} of {} {} {adjective}, and maxUnavailable allows {limit}; {waiting} wait",
                self.clusters(&culprits),
                members.len(),
                text::are(culprits.len())
            )
        };
        Some(Hold::new("maxUnavailable", explanation))
    }

    /// The first partition that was reached and in which clusters wait for `maxUnavailable`, with these clusters.
    fn first_waiting(&self) -> Option<(&Partition, Vec<u32>)> {
        for partition in self.reached() {
            let waiting = self.members(partition, |flags| self.waits_for_limit(flags));
            if !waiting.is_empty() {
                return Some((partition, waiting));
            }
        }
        None
    }

    fn waits_for_limit(&self, flags: u8) -> bool {
        match self.scheduler.rules {
            RuleSet::Shipped => {
                MemberGroup::AvailableOutdated.has(flags)
                    || MemberGroup::UnavailableOutdated.has(flags)
            }
            RuleSet::Documented => MemberGroup::Startable.has(flags),
        }
    }

    fn counts_as_unavailable(&self, flags: u8) -> bool {
        match self.scheduler.rules {
            // A deployment that this pass made for an unregistered cluster is not counted in it.
            RuleSet::Shipped => {
                MemberGroup::Unavailable.has(flags) && flags & flag::REGISTERED != 0
            }
            RuleSet::Documented => flags & flag::DONE == flag::PROMOTED,
        }
    }

    /// The limit that holds clusters of a partition: that of the bundle where it is used up, else its own.
    fn limit_scope(&self, partition: &Partition) -> LimitScope {
        let is_bundle_full = self.scheduler.rules == RuleSet::Shipped
            && self.pass.status.unavailable >= self.plan.max_unavailable;
        if is_bundle_full {
            LimitScope {
                name: "the bundle".to_owned(),
                members: self.targets(|_| true),
                limit: self.plan.max_unavailable,
            }
        } else {
            LimitScope {
                name: title(partition),
                members: partition.members.clone(),
                limit: partition.max_unavailable,
            }
        }
    }

    /// Shipped only: the documented rules have no `maxNew`.
    fn max_new(&self) -> Option<Hold> {
        let is_without = |flags: u8| flags & flag::EXISTS == 0;
        let waiting: Vec<u32> = self
            .reached()
            .iter()
            .flat_map(|of| self.members(of, is_without))
            .collect();
        if waiting.is_empty() || self.scheduler.rules == RuleSet::Documented {
            return None;
        }
        let max_new = self.scheduler.strategy.max_new.unwrap_or(pass::MAX_NEW);
        let explanation = if max_new <= 0 {
            format!(
                "maxNew is {max_new}, so no deployment is ever created; {} wait",
                self.clusters(&waiting)
            )
        } else {
            let unregistered =
                self.targets(|flags| flags & flag::REGISTERED == 0 && !is_without(flags));
            format!(
                "all {max_new} new deployments of a pass go to unregistered clusters, which cannot keep them ({}); \
                 {} wait",
                self.names(&unregistered),
                self.clusters(&waiting)
            )
        };
        Some(Hold::new("maxNew", explanation))
    }

    fn gate(&self) -> Option<Hold> {
        let (reached, later) = self.plan.partitions.split_at(self.pass.reached);
        let is_reached = |target: &u32| {
            reached
                .iter()
                .any(|partition| partition.members.contains(target))
        };
        let later = later
            .iter()
            .flat_map(|partition| self.members(partition, is_not_done));
        let waiting: Vec<u32> = later
            .filter(|target| !is_reached(target))
            .sorted_unstable()
            .dedup()
            .collect();
        let last = reached.last().filter(|_| !waiting.is_empty())?;
        let behind = self.members(last, |flags| self.counts_at_gate(flags));
        let limit = self.gate_limit(last);
        let condition = match self.scheduler.rules {
            RuleSet::Shipped => "not up to date or not available",
            RuleSet::Documented => "NotReady",
        };
        let explanation = format!(
            "{} has {} {condition} ({}), and its limit is {limit}; it is unavailable partition number {}, and \
             maxUnavailablePartitions allows {}; {} in later partitions wait",
            title(last),
            text::count(behind.len(), "cluster"),
            self.reasons(behind),
            self.pass.status.unavailable_partitions,
            self.plan.max_unavailable_partitions,
            self.clusters(&waiting),
        );
        Some(Hold::new("maxUnavailablePartitions", explanation))
    }

    /// Whether a cluster of a partition keeps the next one closed.
    fn counts_at_gate(&self, flags: u8) -> bool {
        match self.scheduler.rules {
            RuleSet::Shipped => is_not_done(flags),
            RuleSet::Documented => is_not_done(flags) && !MemberGroup::Startable.has(flags),
        }
    }

    /// How many clusters of a partition may be unavailable before the partition is.
    fn gate_limit(&self, partition: &Partition) -> i64 {
        match self.scheduler.rules {
            RuleSet::Shipped => partition.max_unavailable,
            RuleSet::Documented => {
                let is_set = self.scheduler.strategy.max_unavailable_partitions.is_some();
                documented::gate_limit(partition, is_set)
            }
        }
    }

    /// The conditions of single clusters, where no rule over many of them applies.
    fn single_clusters(&self) -> Option<Hold> {
        let mut unfinished = self.targets(is_not_done);
        let unregistered = take(&mut unfinished, |target| {
            self.flags(target) & flag::REGISTERED == 0
        });
        let paused = take(&mut unfinished, |target| {
            self.flags(target) & flag::PAUSED != 0
        });
        let outside = take(&mut unfinished, |target| {
            !self.pass.members.is_in_partition(target)
        });
        let off_schedule = take(&mut unfinished, |target| {
            self.view.clusters[target as usize].off_schedule
        });
        // Those that a rollout waits for come first: it is complete without the paused and the unregistered.
        let groups = [
            HeldGroup {
                rule: "partitions",
                clusters: outside,
                why: "in no partition, so no pass updates them",
            },
            HeldGroup {
                rule: "offSchedule",
                clusters: off_schedule,
                why: "assigned the new version but outside of their schedule's window",
            },
            HeldGroup {
                rule: "ready",
                clusters: unfinished,
                why: "assigned the new version and not ready on it: in progress, offline or failing, without a time-out",
            },
            HeldGroup {
                rule: "paused",
                clusters: paused,
                why: "paused",
            },
            HeldGroup {
                rule: "status.namespace",
                clusters: unregistered,
                why: "not registered",
            },
        ];
        let mut first_rule = None;
        let mut texts = Vec::new();
        for HeldGroup {
            rule,
            clusters,
            why,
        } in groups
        {
            if clusters.is_empty() {
                continue;
            }
            first_rule.get_or_insert(rule);
            texts.push(format!(
                "{} {} {why}",
                self.clusters(&clusters),
                text::are(clusters.len())
            ));
        }
        Some(Hold::new(first_rule?, texts.join("; ")))
    }

    fn reached(&self) -> &[Partition] {
        &self.plan.partitions[..self.pass.reached]
    }

    fn flags(&self, target: u32) -> u8 {
        self.pass.members.flags(target)
    }

    fn members(&self, partition: &Partition, test: impl Fn(u8) -> bool) -> Vec<u32> {
        partition
            .members
            .iter()
            .copied()
            .filter(|member| test(self.flags(*member)))
            .collect()
    }

    /// Targets in the order of their names.
    fn targets(&self, test: impl Fn(u8) -> bool) -> Vec<u32> {
        let tested =
            |&index: &u32| self.view.clusters[index as usize].targeted && test(self.flags(index));
        self.scheduler
            .by_name
            .iter()
            .copied()
            .filter(tested)
            .collect()
    }

    /// Why clusters are pending, each with its first reason.
    fn reasons(&self, mut behind: Vec<u32>) -> String {
        let reasons: [(&str, FlagTest); 4] = [
            ("not registered", |flags| flags & flag::REGISTERED == 0),
            ("paused", |flags| flags & flag::PAUSED != 0),
            ("assigned and not ready", |flags| {
                flags & flag::PROMOTED != 0
            }),
            ("not assigned", |_| true),
        ];
        let mut texts = Vec::new();
        for (name, test) in reasons {
            let group = take(&mut behind, |target| test(self.flags(target)));
            if !group.is_empty() {
                texts.push(format!("{name}: {}", self.names(&group)));
            }
        }
        texts.join("; ")
    }

    /// `3 clusters (a, b, c)`.
    fn clusters(&self, list: &[u32]) -> String {
        text::listed(list.iter().map(|index| self.name(*index)), "cluster")
    }

    fn names(&self, list: &[u32]) -> String {
        text::names(list.iter().map(|index| self.name(*index)))
    }

    fn name(&self, index: u32) -> &str {
        &self.scheduler.clusters[index as usize].name
    }
}

/// Takes the targets of a list that pass a test.
fn take(list: &mut Vec<u32>, test: impl Fn(u32) -> bool) -> Vec<u32> {
    list.extract_if(.., |target| test(*target)).collect()
}

fn is_not_done(flags: u8) -> bool {
    flags & flag::DONE != flag::DONE
}

fn title(partition: &Partition) -> String {
    format!("partition `{}`", partition.name)
}
