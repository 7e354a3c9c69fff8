//! The rule that blocks a rollout, with numbers and names.
//!
//! Fleet itself does not report this; it is derived from a pass that would change nothing. The first applicable rule
//! is reported: an invalid strategy, a paused bundle, `maxUnavailable`, `maxNew`, the gate between partitions, then
//! the state of single clusters: in no partition, off schedule, `ErrApplied`, ended for good, promoted and not ready,
//! paused, unregistered.

use super::super::{Hold, text};
use super::documented;
use super::ledger::{BundleLedger, MemberGroup, PartitionMembers, flag};
use super::partition::{Partition, Partitioning};
use super::pass::{self, BundlePass};
use super::status::BundleState;
use super::view::{BundleAction, BundleView};
use super::{RancherFleet, RuleSet};

/// A test of a target's flags.
type FlagTest = fn(u8) -> bool;

impl RancherFleet {
    /// Returns the rule that blocks the rollout at `view`. `None`: the rollout is finished, or the next pass makes
    /// progress. The call costs as much as several passes.
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
        for action in &pass.actions {
            match action {
                BundleAction::Create(_) | BundleAction::Deploy(_) => return None,
                BundleAction::Stage(_) | BundleAction::Delete(_) => {}
            }
        }
        let stalled = StalledBundle {
            scheduler: self,
            plan: &plan,
            view,
            pass: &pass,
        };
        let rules = [
            StalledBundle::paused_bundle,
            StalledBundle::limit,
            StalledBundle::max_new,
            StalledBundle::gate,
            StalledBundle::single_clusters,
        ];
        rules.iter().find_map(|rule| rule(&stalled))
    }
}

/// A bundle in which a pass has no actions, with the clusters' flags after that pass.
struct StalledBundle<'a> {
    scheduler: &'a RancherFleet,
    plan: &'a Partitioning,
    view: &'a BundleView,
    pass: &'a BundlePass<'a, BundleLedger>,
}

/// The clusters that are counted against a limit on unavailable clusters.
struct LimitScope {
    /// Name of the scope: the bundle or a partition.
    name: String,
    members: Vec<u32>,
    limit: i64,
}

/// Clusters that are not done, all for the same reason.
struct HeldGroup {
    rule: &'static str,
    clusters: Vec<u32>,
    /// The reason, which follows `3 clusters are`.
    why: String,
}

impl StalledBundle<'_> {
    fn paused_bundle(&self) -> Option<Hold> {
        let waiting = self.targets(|flags| flags & flag::PROMOTED == 0);
        if !self.view.paused || waiting.is_empty() {
            return None;
        }
        let waiting = self.clusters(&waiting);
        let explanation = format!("the bundle is paused; {waiting} wait");
        Some(Hold::new("paused", explanation))
    }

    fn limit(&self) -> Option<Hold> {
        let (partition, waiting) = self.first_waiting()?;
        let scope = self.limit_scope(partition);
        let LimitScope {
            name,
            members,
            limit,
        } = &scope;
        let mut culprits = members.clone();
        culprits.retain(|target| self.counts_as_unavailable(self.flags(*target)));
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
                "in {name}, {} of {} {} {adjective}, and maxUnavailable allows {limit}; {waiting} wait{}",
                self.clusters(&culprits),
                members.len(),
                text::are(culprits.len()),
                self.failures_among(&culprits)
            )
        };
        Some(Hold::new("maxUnavailable", explanation))
    }

    /// Returns the first partition that was reached and in which clusters wait for `maxUnavailable`, with these
    /// clusters.
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
            // A deployment that this pass created for an unregistered cluster is not included.
            RuleSet::Shipped => {
                MemberGroup::Unavailable.has(flags) && flags & flag::REGISTERED != 0
            }
            RuleSet::Documented => flags & flag::DONE == flag::PROMOTED,
        }
    }

    /// Returns the limit that blocks clusters of a partition: the bundle's limit if it is used up, otherwise the
    /// partition's own limit.
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

    /// Returns the hold if `maxNew` is used up. Shipped rules only: the documented rules have no `maxNew`.
    fn max_new(&self) -> Option<Hold> {
        let mut waiting = Vec::new();
        for partition in self.reached() {
            waiting.extend(self.members(partition, is_absent));
        }
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
            let unregistered = self.targets(|flags| is_unregistered(flags) && !is_absent(flags));
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
        let waiting = self.waiting_for_gate();
        if waiting.is_empty() {
            return None;
        }
        let last = self.reached().last()?;
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

    /// Returns the clusters that are not done and only in partitions that were not reached.
    fn waiting_for_gate(&self) -> Vec<u32> {
        let later = &self.plan.partitions[self.pass.reached..];
        let mut waiting = Vec::new();
        for partition in later {
            waiting.extend(self.members(partition, is_not_done));
        }
        waiting.sort_unstable();
        waiting.dedup();
        for partition in self.reached() {
            waiting.retain(|target| !partition.members.contains(target));
        }
        waiting
    }

    /// Returns whether a cluster of a partition keeps the next partition closed.
    fn counts_at_gate(&self, flags: u8) -> bool {
        match self.scheduler.rules {
            RuleSet::Shipped => is_not_done(flags),
            RuleSet::Documented => is_not_done(flags) && !MemberGroup::Startable.has(flags),
        }
    }

    /// Returns how many clusters of a partition may be unavailable before the partition counts as unavailable.
    fn gate_limit(&self, partition: &Partition) -> i64 {
        match self.scheduler.rules {
            RuleSet::Shipped => partition.max_unavailable,
            RuleSet::Documented => {
                let is_set = self.scheduler.strategy.max_unavailable_partitions.is_some();
                documented::gate_limit(partition, is_set)
            }
        }
    }

    /// Returns the hold for individual clusters, if no rule about many clusters applies.
    fn single_clusters(&self) -> Option<Hold> {
        let mut first_rule = None;
        let mut texts = Vec::new();
        for HeldGroup {
            rule,
            clusters,
            why,
        } in self.held_groups()
        {
            if clusters.is_empty() {
                continue;
            }
            first_rule.get_or_insert(rule);
            let are = text::are(clusters.len());
            texts.push(format!("{} {are} {why}", self.clusters(&clusters)));
        }
        Some(Hold::new(first_rule?, texts.join("; ")))
    }

    /// Returns the clusters that are not done, by reason. Clusters that block the rollout come first; paused and
    /// unregistered clusters do not block it.
    fn held_groups(&self) -> [HeldGroup; 7] {
        let mut unfinished = self.targets(is_not_done);
        let unregistered = self.take(&mut unfinished, is_unregistered);
        let paused = self.take(&mut unfinished, is_paused);
        let outside = unfinished
            .extract_if(.., |target| !self.pass.members.is_in_partition(*target))
            .collect();
        let off_schedule = unfinished
            .extract_if(.., |target| {
                self.view.clusters[*target as usize].off_schedule
            })
            .collect();
        let failed = self.take_failed(&mut unfinished, BundleState::ErrApplied);
        let ended = self.take_failed(&mut unfinished, BundleState::NotReady);
        let why_failed = format!(
            "assigned the new version and {}",
            self.failed_words(&failed)
        );
        let why_ended = format!("assigned the new version and {}", self.failed_words(&ended));
        let group = |rule: &'static str, clusters: Vec<u32>, why: &str| HeldGroup {
            rule,
            clusters,
            why: why.to_owned(),
        };
        [
            group(
                "partitions",
                outside,
                "in no partition, so no pass updates them",
            ),
            group(
                "offSchedule",
                off_schedule,
                "assigned the new version but outside of their schedule's window",
            ),
            group("ErrApplied", failed, &why_failed),
            group("NotReady", ended, &why_ended),
            group(
                "ready",
                unfinished,
                "assigned the new version and not ready on it: in progress, offline or failing, without a time-out",
            ),
            group("paused", paused, "paused"),
            group("status.namespace", unregistered, "not registered"),
        ]
    }

    /// Returns the state of a target whose agent could not apply its instruction: `NotReady` if the agent has given up
    /// the apply.
    fn failed_state(&self, target: u32) -> Option<BundleState> {
        let deployment = self.view.clusters[target as usize].deployment?;
        let state = deployment.state();
        let has_failed = state == BundleState::ErrApplied || deployment.failure.is_some();
        has_failed.then_some(state)
    }

    /// Removes the targets with a failed apply and this state from a list. Returns them.
    fn take_failed(&self, list: &mut Vec<u32>, state: BundleState) -> Vec<u32> {
        list.extract_if(.., |target| self.failed_state(*target) == Some(state))
            .collect()
    }

    /// `ErrApplied (admission webhook denied the request)`, of targets with the same state.
    fn failed_words(&self, failed: &[u32]) -> String {
        let first = failed.first().and_then(|target| self.failed_state(*target));
        let state = format!("{:?}", first.unwrap_or(BundleState::ErrApplied));
        match self.first_message(failed) {
            Some(message) => format!("{state} ({message})"),
            None => state,
        }
    }

    /// Returns the message of the first target whose apply failed.
    fn first_message(&self, targets: &[u32]) -> Option<&'static str> {
        targets.iter().find_map(|target| {
            let deployment = self.view.clusters[*target as usize].deployment?;
            deployment.failure
        })
    }

    /// Returns a text to append to a sentence about `targets`: the targets whose apply failed, with the first one's
    /// message.
    fn failures_among(&self, targets: &[u32]) -> String {
        let mut rest = targets.to_vec();
        let mut words = String::new();
        for state in [BundleState::ErrApplied, BundleState::NotReady] {
            let failed = self.take_failed(&mut rest, state);
            if !failed.is_empty() {
                let are = text::are(failed.len());
                let why = self.failed_words(&failed);
                words.push_str(&format!("; {} {are} {why}", self.clusters(&failed)));
            }
        }
        words
    }

    fn reached(&self) -> &[Partition] {
        &self.plan.partitions[..self.pass.reached]
    }

    fn flags(&self, target: u32) -> u8 {
        self.pass.members.flags(target)
    }

    fn members(&self, partition: &Partition, test: impl Fn(u8) -> bool) -> Vec<u32> {
        let mut members = partition.members.clone();
        members.retain(|member| test(self.flags(*member)));
        members
    }

    /// Returns the targets whose flags pass a test, in the order of their names.
    fn targets(&self, test: impl Fn(u8) -> bool) -> Vec<u32> {
        let mut targets = Vec::new();
        for &index in &self.scheduler.by_name {
            if self.view.clusters[index as usize].targeted && test(self.flags(index)) {
                targets.push(index);
            }
        }
        targets
    }

    /// Removes the clusters whose flags pass a test from a list, and returns them.
    fn take(&self, list: &mut Vec<u32>, test: FlagTest) -> Vec<u32> {
        list.extract_if(.., |target| test(self.flags(*target)))
            .collect()
    }

    /// Describes why clusters are pending; each cluster is listed with its first reason.
    fn reasons(&self, mut behind: Vec<u32>) -> String {
        let unregistered = self.take(&mut behind, is_unregistered);
        let paused = self.take(&mut behind, is_paused);
        let failed = self.take_failed(&mut behind, BundleState::ErrApplied);
        let ended = self.take_failed(&mut behind, BundleState::NotReady);
        let assigned = self.take(&mut behind, is_promoted);
        let (err_applied, not_ready) = (self.failed_words(&failed), self.failed_words(&ended));
        let groups = [
            (&*err_applied, failed),
            (&*not_ready, ended),
            ("not registered", unregistered),
            ("paused", paused),
            ("assigned and not ready", assigned),
            ("not assigned", behind),
        ];
        let mut texts = Vec::new();
        for (reason, group) in groups {
            if !group.is_empty() {
                texts.push(format!("{reason}: {}", self.names(&group)));
            }
        }
        texts.join("; ")
    }

    /// Formats `3 clusters (a, b, c)`.
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

const fn is_absent(flags: u8) -> bool {
    flags & flag::EXISTS == 0
}

const fn is_unregistered(flags: u8) -> bool {
    flags & flag::REGISTERED == 0
}

const fn is_paused(flags: u8) -> bool {
    flags & flag::PAUSED != 0
}

const fn is_promoted(flags: u8) -> bool {
    flags & flag::PROMOTED != 0
}

const fn is_not_done(flags: u8) -> bool {
    flags & flag::DONE != flag::DONE
}

fn title(partition: &Partition) -> String {
    format!("partition `{}`", partition.name)
}
