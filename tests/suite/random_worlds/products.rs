//! Invariants of every run of a product, from the product's own limits. The limits are derived here from the strategy,
//! independently of the product's code, and compared with the times at which clusters were instructed and first
//! reported ready to the management cluster.
//!
//! A cluster counts as in flight between these two times. A cluster that becomes unready again later is not counted
//! here. So the peaks here never exceed those of the product, and a limit that is exceeded here is exceeded by the
//! product.

use std::any::Any;

use fleetsim::products::argo_cd::{ArgoCdProposal, ArgoCdRelease, ArgoCdStrategy};
use fleetsim::products::cloud_foundry::CloudFoundryDeployment;
use fleetsim::products::kubefleet::{KubeFleetRolling, KubeFleetStaged};
use fleetsim::products::rancher_fleet::RancherFleetStrategy;
use fleetsim::results::{PassRow, RunOutcome};
use fleetsim::rollout::IntOrString;
use fleetsim::rollout::argo_cd::proposal::ProposalStrategy;
use fleetsim::rollout::argo_cd::{ApplicationSetSpec, ControllerOptions, RolloutStep};
use fleetsim::rollout::baseline::Baseline;
use fleetsim::rollout::cloud_foundry::DeploymentStrategy as How;
use fleetsim::rollout::kubefleet::{RollingUpdateConfig, RuleSet, StrategySpec, parse_duration};
use fleetsim::scenario::Scenario;
use fleetsim::world::{ClusterSpec, CutKind, DurationModel, ReleaseKind};

/// Tolerance for times, which are stored as seconds in floats.
const ROUNDING: f64 = 1e-6;

/// The observations of a run.
pub(crate) struct Seen<'r> {
    pub(crate) scenario: &'r Scenario,
    pub(crate) outcome: RunOutcome,
    /// For each cluster, the time at which it was instructed to run the new revision, in seconds.
    pub(crate) told: Vec<Option<f64>>,
    /// For each cluster, the time at which it was first reported ready on the new revision, in seconds.
    pub(crate) ready: Vec<Option<f64>>,
    /// Start of the rollout, in seconds.
    pub(crate) release: f64,
    pub(crate) passes: &'r [PassRow],
}

pub(crate) fn check(seen: &Seen<'_>) {
    let all: Vec<usize> = (0..seen.told.len()).collect();
    let is_update = seen.scenario.world.applications[0].release == ReleaseKind::Update;
    let strategy: &dyn Any = seen.scenario.strategy();
    if let Some(baseline) = strategy.downcast_ref::<Baseline>() {
        seen.check_batches(&baseline.batches(all.len()));
        if *baseline == Baseline::OneByOne {
            seen.at_most(1, &all, "one by one");
        }
    } else if let Some(RancherFleetStrategy {
        rules, strategy, ..
    }) = strategy.downcast_ref()
    {
        // The update of a cluster that is already unavailable does not reduce the availability.
        let is_limited = *rules == RuleSet::Shipped && is_update && !seen.fails_before_its_turn();
        if let Some(IntOrString::Int(limit)) =
            strategy.max_unavailable.as_ref().filter(|_| is_limited)
        {
            seen.at_most(*limit as usize, &all, "maxUnavailable");
        }
    } else if let Some(ArgoCdStrategy {
        spec,
        options,
        release,
        ..
    }) = strategy.downcast_ref()
    {
        seen.check_argo_cd(spec, *options, *release);
    } else if let Some(ArgoCdProposal { strategy, .. }) = strategy.downcast_ref() {
        seen.check_proposal(strategy);
    } else if let Some(KubeFleetStaged {
        rules,
        strategy,
        approvals,
        ..
    }) = strategy.downcast_ref()
    {
        seen.check_staged(*rules, strategy, approvals.as_ref());
    } else if let Some(KubeFleetRolling {
        rules,
        requested,
        config,
        ..
    }) = strategy.downcast_ref()
    {
        if is_update {
            seen.check_rolling(*rules, *requested, config);
        }
    } else {
        let deployment = strategy.downcast_ref().expect("this is the last product");
        if is_update {
            seen.check_cloud_foundry(deployment);
        } else {
            // A first push starts all instances immediately, in the request.
            // Without a release before the horizon there is no request.
            let end = seen
                .passes
                .first()
                .map(|first| seen.release + first.duration_s + ROUNDING);
            let mut told = seen.told.iter().flatten();
            assert!(told.all(|told| end.is_some_and(|end| *told <= end)));
        }
    }
}

impl Seen<'_> {
    fn clusters(&self) -> &[ClusterSpec] {
        &self.scenario.world.clusters
    }

    /// Returns whether a cluster can become unavailable while it runs the old revision.
    fn fails_before_its_turn(&self) -> bool {
        let faults = &self.scenario.world.faults;
        let is_cut = |cuts| !matches!(cuts, CutKind::Brownout { .. });
        faults
            .outages
            .as_ref()
            .is_some_and(|outages| is_cut(outages.cut()))
            || faults.regional.iter().any(|one| is_cut(one.cut()))
            || faults.node_loss.is_some()
    }

    /// The clusters that `is_it` selects.
    fn select(&self, is_it: impl Fn(&ClusterSpec) -> bool) -> Vec<usize> {
        (0..self.clusters().len())
            .filter(|cluster| is_it(&self.clusters()[*cluster]))
            .collect()
    }

    fn peak(&self, members: &[usize]) -> usize {
        let mut changes: Vec<(f64, bool)> = Vec::new();
        for &member in members {
            if let Some(told) = self.told[member] {
                changes.push((told, true));
                changes.extend(self.ready[member].map(|ready| (ready, false)));
            }
        }
        // At the same instant, clusters that become ready come first, because they free capacity.
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut now, mut peak) = (0_usize, 0);
        for (_, begins) in changes {
            now = if begins { now + 1 } else { now - 1 };
            peak = peak.max(now);
        }
        peak
    }

    fn at_most(&self, limit: usize, members: &[usize], what: &str) {
        let peak = self.peak(members);
        assert!(
            peak <= limit,
            "{what}: {peak} clusters on their way at once, {limit} may be"
        );
    }

    fn first_told(&self, members: &[usize]) -> f64 {
        members
            .iter()
            .filter_map(|member| self.told[*member])
            .fold(f64::INFINITY, f64::min)
    }

    /// The time at which the last of the members was first ready; infinite if one was never ready; the start of the
    /// rollout if there are no members.
    fn all_ready(&self, members: &[usize]) -> f64 {
        members
            .iter()
            .map(|member| self.ready[*member].unwrap_or(f64::INFINITY))
            .fold(0.0, f64::max)
    }

    fn begins_after(&self, members: &[usize], earliest: f64, what: &str) {
        let first = self.first_told(members);
        // Two infinite times count as ordered.
        assert!(
            first.is_infinite() || first >= earliest - ROUNDING,
            "{what} begins at {first}, not after {earliest}"
        );
    }

    fn check_batches(&self, sizes: &[usize]) {
        let all: Vec<usize> = (0..self.told.len()).collect();
        let mut started = 0;
        for size in sizes {
            let (earlier, rest) = all.split_at(started);
            self.begins_after(&rest[..*size], self.all_ready(earlier), "a batch");
            started += size;
        }
    }

    /// Members and `maxUpdate` of each step, and the clusters that are in no step. `None`: a cluster is in several
    /// steps.
    fn steps(&self, steps: &[RolloutStep]) -> Option<(Vec<Vec<usize>>, Vec<usize>)> {
        let is_in = |step: &RolloutStep, cluster: &ClusterSpec| {
            step.match_expressions.iter().all(|expression| {
                match cluster.labels.get(&expression.key) {
                    Some(value) => {
                        expression.values.contains(value) == (expression.operator == "In")
                    }
                    None => expression.operator == "NotIn",
                }
            })
        };
        let members: Vec<Vec<usize>> = steps
            .iter()
            .map(|step| self.select(|cluster| is_in(step, cluster)))
            .collect();
        let times = |cluster: usize| {
            members
                .iter()
                .filter(|members| members.contains(&cluster))
                .count()
        };
        let all = 0..self.clusters().len();
        let unselected = all.clone().filter(|cluster| times(*cluster) == 0).collect();
        all.clone()
            .all(|cluster| times(cluster) <= 1)
            .then_some((members, unselected))
    }

    fn check_argo_cd(
        &self,
        spec: &ApplicationSetSpec,
        options: ControllerOptions,
        release: ArgoCdRelease,
    ) {
        let steps = spec
            .steps()
            .expect("there are steps, or there is no RollingSync");
        let Some(steps) = steps.filter(|_| options.enable_progressive_syncs) else {
            return;
        };
        let Some((members, unselected)) = self.steps(steps) else {
            return;
        };
        self.begins_after(&unselected, f64::INFINITY, "an application in no step");
        // As shipped, a changed spec is forgotten if the application is Synced and Healthy (argoproj/argo-cd#27949),
        // until a comparison shows another revision. So a step does not wait for changed parameters. Nor does it wait
        // for an application that is compared later than one of a later step, if promoted applications are triggered
        // immediately.
        let is_noticed = release == ArgoCdRelease::TargetRevision && !options.trigger_once;
        let keeps_changes = options.keep_spec_changes && options.version.sees_spec_changes();
        // Each application notices a commit by itself; until all applications of an early step have noticed it, a
        // later step is open.
        let is_ordered = release != ArgoCdRelease::Commit && (is_noticed || keeps_changes);
        let mut earliest = 0.0_f64;
        for (index, (step, members)) in steps.iter().zip(&members).enumerate() {
            // Applications that no step selects are counted with the first step.
            let base = members.len() + if index == 0 { unselected.len() } else { 0 };
            let limit = match &step.max_update {
                None => usize::MAX,
                Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or(0),
                Some(IntOrString::String(text)) if text == "0%" => 0,
                Some(IntOrString::String(text)) => {
                    percent(text).map_or(1, |percent| (base * percent / 100).max(1))
                }
            };
            let what = format!("step {}", index + 1);
            self.at_most(limit, members, &what);
            if is_ordered {
                self.begins_after(members, earliest, &what);
            }
            earliest = earliest.max(self.all_ready(members));
        }
    }

    fn check_proposal(&self, strategy: &ProposalStrategy) {
        let all: Vec<usize> = (0..self.told.len()).collect();
        let steps = match &strategy.rolling_update {
            Some(block) if strategy.kind == "RollingUpdate" => &block.steps,
            _ => return,
        };
        if steps.is_empty() {
            return self.at_most(1, &all, "without steps");
        }
        let Some((members, unselected)) = self.steps(steps) else {
            return;
        };
        self.begins_after(&unselected, f64::INFINITY, "an application in no step");
        let mut earliest = 0.0_f64;
        for (index, (step, members)) in steps.iter().zip(&members).enumerate() {
            let limit = match &step.max_update {
                None => 0,
                Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or(0),
                Some(IntOrString::String(text)) if text == "0%" => 0,
                Some(IntOrString::String(text)) => {
                    percent(text).map_or(0, |percent| (members.len() * percent / 100).max(1))
                }
            };
            let what = format!("step {}", index + 1);
            self.at_most(if limit == 0 { usize::MAX } else { limit }, members, &what);
            self.begins_after(members, earliest, &what);
            earliest = earliest.max(self.all_ready(members));
        }
    }

    fn check_staged(
        &self,
        rules: RuleSet,
        strategy: &StrategySpec,
        approvals: Option<&DurationModel>,
    ) {
        let approval = approvals.map_or(f64::INFINITY, DurationModel::least);
        let is_shipped = rules == RuleSet::Shipped;
        let mut earliest = 0.0_f64;
        let mut placed = 0;
        for stage in &strategy.stages {
            let selector = stage
                .label_selector
                .as_ref()
                .expect("every stage has one")
                .check()
                .expect("it is right");
            let members = self.select(|cluster| selector.matches(&cluster.labels));
            placed += members.len();
            if members.is_empty() && is_shipped {
                // The tasks of an empty stage are skipped.
                continue;
            }
            if is_shipped && !stage.before_stage_tasks.is_empty() {
                earliest += approval;
            }
            let limit = match stage
                .max_concurrency
                .as_ref()
                .expect("admission fills it in")
            {
                _ if !is_shipped => 1,
                IntOrString::Int(number) => *number as usize,
                IntOrString::String(text) => percent(text)
                    .map_or(0, |percent| members.len() * percent / 100)
                    .max(1),
            };
            self.at_most(limit, &members, &stage.name);
            self.begins_after(&members, earliest, &stage.name);
            earliest = earliest.max(self.all_ready(&members));
            let waits = stage
                .after_stage_tasks
                .iter()
                .map(|task| match &task.wait_time {
                    // The wait counts from a time in whole seconds, rounded down.
                    Some(wait) => {
                        parse_duration(wait)
                            .expect("it is a duration")
                            .as_secs_f64()
                            - 1.0
                    }
                    None => approval,
                });
            earliest += waits.fold(0.0, f64::max);
        }
        assert_eq!(placed, self.told.len(), "every cluster is in a stage");
        let asks = strategy.stages.iter().any(|stage| {
            let mut tasks = stage
                .before_stage_tasks
                .iter()
                .chain(&stage.after_stage_tasks);
            tasks.any(|task| task.kind == "Approval")
        });
        if !asks {
            // Only the run's own timer can wake it. The timer starts at the end of the pass and takes 5 ms or more.
            for pair in self.passes.windows(2) {
                let rest = pair[1].t_s - pair[0].t_s - pair[0].duration_s;
                assert!(
                    rest >= 0.005 - ROUNDING,
                    "a pass at {} s, {rest} s after the one before",
                    pair[1].t_s
                );
            }
        }
    }

    fn check_rolling(&self, rules: RuleSet, requested: Option<u32>, config: &RollingUpdateConfig) {
        let target = requested.map_or(self.told.len(), |count| count as usize);
        let limit = match &config.max_unavailable {
            None => (target * 25).div_ceil(100),
            Some(IntOrString::Int(number)) => *number as usize,
            Some(IntOrString::String(text)) => {
                (target * percent(text).expect("it is one")).div_ceil(100)
            }
        };
        let limit = if rules == RuleSet::Documented {
            limit.max(1)
        } else {
            limit
        };
        // A cluster that fails before its turn is updated immediately, whatever the budget.
        if self.fails_before_its_turn() {
            return;
        }
        // The remaining clusters get a binding for the first time, which maxSurge limits.
        let settled = self.select(|cluster| cluster.registered);
        self.at_most(limit, &settled, "maxUnavailable");
    }

    fn check_cloud_foundry(&self, deployment: &CloudFoundryDeployment) {
        let all: Vec<usize> = (0..self.told.len()).collect();
        let options = &deployment.options;
        self.at_most(options.max_in_flight as usize, &all, "max_in_flight");
        let told = self.told.iter().flatten().count();
        if options.strategy == How::Canary && deployment.continue_after.is_none() {
            // Cloud Foundry rounds half up; binary fractions are exact enough for the numbers of instances here.
            let step = options
                .canary_steps
                .as_ref()
                .map_or(1, |steps| (all.len() * steps[0] as usize + 50) / 100);
            assert!(
                told <= step.max(1),
                "{told} told, and nobody continues after {step}"
            );
        }
        if let Some(DurationModel::Constant(after)) = deployment.cancel_after {
            // A pass that began before that time may still write.
            let longest = self
                .passes
                .iter()
                .map(|pass| pass.duration_s)
                .fold(0.0, f64::max);
            let last = self
                .told
                .iter()
                .flatten()
                .fold(0.0, |last: f64, told| last.max(*told));
            assert!(
                last <= self.release + after.as_secs_f64() + longest + ROUNDING,
                "told at {last} s, cancelled at {after}"
            );
        }
        // The first row is the user's request. Passes follow a beat, which counts from time zero, and after a pass
        // from the start of that pass.
        let mut beat_since = 0.0;
        for (round, passes) in self.passes.windows(2).enumerate() {
            let [before, pass] = passes else {
                unreachable!("windows of two")
            };
            let beats = (pass.t_s - beat_since) / 5.0;
            let is_on_beat = (beats - beats.round()).abs() < ROUNDING;
            // If a pass takes longer than a beat, the next pass follows immediately.
            let follows = (pass.t_s - (before.t_s + before.duration_s)).abs() < ROUNDING;
            assert!(
                is_on_beat || follows,
                "pass {} at {} s is not on the beat",
                round + 1,
                pass.t_s
            );
            beat_since = pass.t_s;
        }
        assert!(self.outcome != RunOutcome::Complete || told == all.len());
    }
}

/// Parses `N%`. `None`: the text has another form, or is below zero.
fn percent(text: &str) -> Option<usize> {
    text.strip_suffix('%')?.parse().ok()
}
