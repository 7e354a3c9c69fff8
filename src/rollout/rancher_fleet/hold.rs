//! The rule that blocks a rollout, with numbers and names.
//!
//! Fleet itself does not report this; it is derived from a pass that would change nothing. The first applicable rule
//! is reported: an invalid strategy, a paused bundle, `maxUnavailable`, `maxNew`, the gate between partitions, then
//! the state of single clusters (paused, unregistered, in no partition), and finally promoted clusters that have not
//! become ready.

use super::super::{Hold, TargetId, text};
use super::action::BundleAction;
use super::documented;
use super::observe::{Observation, flag};
use super::partition::{Partition, Partitioning};
use super::pass::{self, PassOutcome};
use super::view::BundleView;
use super::{RancherFleet, RuleSet};

/// The rule that blocks the rollout at `view`. `None`: it is finished, or the next pass makes progress.
pub(super) fn hold(fleet: &RancherFleet, view: &BundleView) -> Option<Hold> {
    if view.is_done() {
        return None;
    }
    let mut seen = Observation::default();
    seen.observe(view, &fleet.by_name, &fleet.is_target);
    let plan = if seen.targets_changed {
        let is_target: Vec<bool> = view.clusters.iter().map(|cluster| cluster.targeted).collect();
        fleet.partition(&is_target)
    } else {
        fleet.plan.clone()
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return Some(Hold { rule: "rolloutStrategy", explanation: error.to_string() }),
    };
    let outcome = fleet.decide(&plan, view, &mut seen);
    if outcome.actions.iter().any(|action| matches!(action, BundleAction::Create(..) | BundleAction::Deploy(..))) {
        return None;
    }
    let stalled = StalledBundle { fleet, view, plan: &plan, seen: &seen, outcome: &outcome };
    stalled
        .paused_bundle()
        .or_else(|| stalled.limit())
        .or_else(|| stalled.max_new())
        .or_else(|| stalled.gate())
        .or_else(|| stalled.single_clusters())
}

/// A pass without any action, with the clusters' flags after it.
struct StalledBundle<'a> {
    fleet: &'a RancherFleet,
    view: &'a BundleView,
    plan: &'a Partitioning,
    seen: &'a Observation,
    outcome: &'a PassOutcome,
}

impl StalledBundle<'_> {
    fn paused_bundle(&self) -> Option<Hold> {
        let waiting = self.targets(|flags| flags & flag::PROMOTED == 0);
        (self.view.paused && !waiting.is_empty()).then(|| Hold {
            rule: "paused",
            explanation: format!("the bundle is paused; {} wait", self.clusters(&waiting)),
        })
    }

    fn limit(&self) -> Option<Hold> {
        let waits = |flags: u8| match self.fleet.rules {
            RuleSet::Shipped => flags & (flag::EXISTS | flag::PROMOTED | flag::PAUSED) == flag::EXISTS,
            RuleSet::Documented => documented::is_startable(flags),
        };
        self.reached().iter().zip(&self.outcome.partitions).find_map(|(partition, status)| {
            let waiting = self.members(partition, waits);
            if waiting.is_empty() {
                return None;
            }
            let (scope, total, limit, culprits) = match self.fleet.rules {
                RuleSet::Shipped if self.outcome.unavailable >= self.plan.max_unavailable => {
                    let culprits = self.targets(|flags| flags & flag::UNAVAILABLE != 0);
                    ("the bundle".to_owned(), self.total(), self.plan.max_unavailable, culprits)
                }
                RuleSet::Shipped => {
                    let culprits = self.members(partition, |flags| flags & flag::UNAVAILABLE != 0);
                    (title(partition), status.count as usize, partition.max_unavailable, culprits)
                }
                RuleSet::Documented => {
                    let culprits = self.members(partition, is_promoted_not_ready);
                    (title(partition), status.count as usize, partition.max_unavailable, culprits)
                }
            };
            let explanation = if limit == 0 && culprits.is_empty() {
                format!(
                    "maxUnavailable is 0 in {scope}, so no available cluster is ever updated; {} wait",
                    self.clusters(&waiting)
                )
            } else {
                let adjective = if self.fleet.rules == RuleSet::Shipped { "unavailable" } else { "NotReady" };
                format!(
                    "in {scope}, {} of {total} {} {adjective}, and maxUnavailable allows {limit}; {} wait",
                    self.clusters(&culprits),
                    text::are(culprits.len()),
                    self.clusters(&waiting)
                )
            };
            Some(Hold { rule: "maxUnavailable", explanation })
        })
    }

    /// Shipped only: the documented rules have no `maxNew`.
    fn max_new(&self) -> Option<Hold> {
        let is_without = |flags: u8| flags & flag::EXISTS == 0;
        let waiting = match self.fleet.rules {
            RuleSet::Shipped => self.reached().iter().find_map(|partition| {
                let waiting = self.members(partition, is_without);
                (!waiting.is_empty()).then_some(waiting)
            })?,
            RuleSet::Documented => return None,
        };
        let max_new = self.fleet.strategy.max_new.unwrap_or(pass::MAX_NEW);
        let explanation = if max_new <= 0 {
            format!("maxNew is {max_new}, so no deployment is ever created; {} wait", self.clusters(&waiting))
        } else {
            let unregistered = self.targets(|flags| flags & flag::REGISTERED == 0 && !is_without(flags));
            format!(
                "all {max_new} new deployments of a pass go to unregistered clusters, which cannot keep them ({}); \
                 {} wait",
                self.names(&unregistered),
                self.clusters(&waiting)
            )
        };
        Some(Hold { rule: "maxNew", explanation })
    }

    fn gate(&self) -> Option<Hold> {
        let reached = self.reached();
        let is_reached = |target: &u32| reached.iter().any(|partition| partition.members.contains(target));
        let later = &self.plan.partitions[reached.len()..];
        let mut waiting: Vec<u32> = later.iter().flat_map(|partition| self.members(partition, is_not_done)).collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting.retain(|target| !is_reached(target));
        let last = reached.last().filter(|_| !waiting.is_empty())?;
        let (limit, behind, condition) = match self.fleet.rules {
            RuleSet::Shipped => {
                (last.max_unavailable, self.members(last, is_not_done), "not up to date or not available")
            }
            RuleSet::Documented => {
                let is_set = self.fleet.strategy.max_unavailable_partitions.is_some();
                let is_not_ready = |flags: u8| is_not_done(flags) && !documented::is_startable(flags);
                (documented::gate_limit(last, is_set), self.members(last, is_not_ready), "NotReady")
            }
        };
        let explanation = format!(
            "{} has {} {condition} ({}), and its limit is {limit}; it is unavailable partition number {}, and \
             maxUnavailablePartitions allows {}; {} in later partitions wait",
            title(last),
            text::count(behind.len(), "cluster"),
            self.reasons(&behind),
            self.outcome.unavailable_partitions,
            self.plan.max_unavailable_partitions,
            self.clusters(&waiting),
        );
        Some(Hold { rule: "maxUnavailablePartitions", explanation })
    }

    /// The conditions of single clusters, where no rule over many of them applies.
    fn single_clusters(&self) -> Option<Hold> {
        let mut in_partition = vec![false; self.view.clusters.len()];
        self.plan.partitions.iter().flat_map(|p| &p.members).for_each(|member| in_partition[*member as usize] = true);
        let mut unfinished = self.targets(is_not_done);
        let outside: Vec<u32> = unfinished.extract_if(.., |target| !in_partition[*target as usize]).collect();
        let unregistered: Vec<u32> =
            unfinished.extract_if(.., |target| !self.seen.has(*target, flag::REGISTERED)).collect();
        let paused: Vec<u32> = unfinished.extract_if(.., |target| self.seen.has(*target, flag::PAUSED)).collect();
        let off_schedule = |target: &mut u32| self.view.clusters[*target as usize].off_schedule;
        let closed: Vec<u32> = unfinished.extract_if(.., off_schedule).collect();
        let groups = [
            ("paused", paused, "paused"),
            ("status.namespace", unregistered, "not registered"),
            ("offSchedule", closed, "assigned the new version but outside of their schedule's window"),
            ("partitions", outside, "in no partition, so no pass updates them"),
            (
                "ready",
                unfinished,
                "assigned the new version and not ready on it: in progress, offline or failing, without a time-out",
            ),
        ];
        let found: Vec<_> = groups.into_iter().filter(|(_, clusters, _)| !clusters.is_empty()).collect();
        let (rule, _, _) = found.first()?;
        let texts = found.iter().map(|(_, clusters, why)| format!("{} {why}", self.clusters_are(clusters)));
        Some(Hold { rule, explanation: texts.collect::<Vec<_>>().join("; ") })
    }

    fn reached(&self) -> &[Partition] {
        &self.plan.partitions[..self.outcome.reached]
    }

    fn total(&self) -> usize {
        self.view.clusters.iter().filter(|cluster| cluster.targeted).count()
    }

    fn members(&self, partition: &Partition, test: impl Fn(u8) -> bool) -> Vec<u32> {
        let tested = |member: &u32| test(self.seen.flags[*member as usize]);
        partition.members.iter().copied().filter(tested).collect()
    }

    /// Targets in the order of their names.
    fn targets(&self, test: impl Fn(u8) -> bool) -> Vec<u32> {
        let tested =
            |&index: &u32| self.view.clusters[index as usize].targeted && test(self.seen.flags[index as usize]);
        self.fleet.by_name.iter().copied().filter(tested).collect()
    }

    /// Why clusters are pending, each with its first reason.
    fn reasons(&self, behind: &[u32]) -> String {
        let mut rest = behind.to_vec();
        let mut texts = Vec::new();
        for (name, flags) in [("not registered", flag::REGISTERED), ("not paused", flag::PAUSED)] {
            let is_set = name == "not paused";
            let group: Vec<u32> = rest.extract_if(.., |target| self.seen.has(*target, flags) == is_set).collect();
            if !group.is_empty() {
                let name = if is_set { "paused" } else { name };
                texts.push(format!("{name}: {}", self.names(&group)));
            }
        }
        let unassigned: Vec<u32> = rest.extract_if(.., |target| !self.seen.has(*target, flag::PROMOTED)).collect();
        for (name, group) in [("assigned and not ready", rest), ("not assigned", unassigned)] {
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

    /// `3 clusters (a, b, c) are`.
    fn clusters_are(&self, list: &[u32]) -> String {
        format!("{} {}", self.clusters(list), text::are(list.len()))
    }

    fn names(&self, list: &[u32]) -> String {
        text::names(list.iter().map(|index| self.name(*index)))
    }

    fn name(&self, index: u32) -> &str {
        &self.fleet.clusters[TargetId(index).index()].name
    }
}

fn is_not_done(flags: u8) -> bool {
    flags & flag::DONE != flag::DONE
}

fn is_promoted_not_ready(flags: u8) -> bool {
    flags & flag::DONE == flag::PROMOTED
}

fn title(partition: &Partition) -> String {
    format!("partition `{}`", partition.name)
}
