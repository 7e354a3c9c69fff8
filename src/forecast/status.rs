//! The present state of a rollout, converted from a product's exports to facts about each target.
//!
//! | product | objects | waiting | instructed | ready |
//! |---|---|---|---|---|
//! | Fleet | BundleDeployment | `deploymentID` is not `stagedDeploymentID` | no time | `Ready` with its time, if any |
//! | Argo CD | rows of the ApplicationSet | `Waiting` | `Pending`, `Progressing` since | `Healthy` since |
//! | KubeFleet | staged update run | not `Started` | `Started` since | `Succeeded` since |
//! | KubeFleet | bindings | `RolloutStarted` is false | `RolloutStarted` since | `Available` since |
//! | Cloud Foundry | stats of the new process | no instance | no time | `RUNNING`, routable, for its uptime |
//!
//! Other fields are not read. Sources: fleet.cattle.io `BundleDeploymentStatus`, argoproj.io
//! `ApplicationSetApplicationStatus`, placement.kubernetes-fleet.io `ClusterUpdatingStatus`, and Cloud Foundry's V3
//! processes.
//!
//! Objects of several rollouts are rejected, except for the bundles of Fleet's own agents. Objects of a rollout that
//! is not in progress are also rejected:
//!
//! | product | rejected |
//! |---|---|
//! | Fleet | `paused` of a Bundle, or of a Cluster or BundleDeployment that the experiment does not pause |
//! | KubeFleet | a run that failed, or whose `state` is `Initialize` or `Stop` |
//! | Cloud Foundry | a deployment that is cancelled, being cancelled, or superseded |
//!
//! Left out: approvals and waits, which the product's rules compute themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use serde::Deserialize;

use super::fields::{
    DeploymentStatus, InstanceStats, KindMark, ShownCondition, ShownDeployment, ShownObject,
};
use super::messages;
use super::product::{ShownProduct, group_of};
use crate::calibrate::time::{Nanos, Stamp, rfc3339};
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::scenario::import::objects::{ExportObject, objects};
use crate::sim::SeenState;

/// The command that exports such objects.
pub(super) const COMMAND: &str = "kubectl get bundledeployments -A -o json";

/// Half a second in nanoseconds.
const HALF_A_SECOND: Nanos = 500_000_000;

/// A target as an export shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ShownTarget {
    /// The target's name, or its instance number.
    pub(super) name: String,
    /// The progress of the target's update.
    pub(super) state: SeenState,
    /// The time at which the product instructed the target, if known.
    pub(super) instructed: Option<Nanos>,
    /// The time at which the target became ready, if known.
    pub(super) ready: Option<Nanos>,
    /// The time in seconds since the target became ready, if the product shows this duration instead of a time.
    pub(super) uptime: Option<f64>,
    /// The time of the last change of the target's state, if known.
    pub(super) since: Option<Nanos>,
    /// Whether the target's agent has not answered the instruction.
    pub(super) is_unanswered: bool,
    /// Whether the target is paused, so that the product does not update it until a person resumes it.
    pub(super) is_paused: bool,
    /// The product's message about the target, if it has one.
    pub(super) message: Option<String>,
}

/// A rollout as exports show it.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownRollout {
    /// The targets that the exports show.
    pub(super) targets: Vec<ShownTarget>,
    /// The messages of Argo CD's Applications, by their names.
    pub(super) messages: BTreeMap<String, String>,
    /// The product of the objects. `None`: no object shows a target.
    pub(super) product: Option<ShownProduct>,
    /// The start of the rollout, if an object shows it.
    pub(super) released: Option<Nanos>,
    /// The time of the last sign of life of each cluster's agent, by the cluster's name.
    pub(super) heard: BTreeMap<String, Nanos>,
    /// The clusters of Fleet that are paused.
    pub(super) paused: BTreeSet<String>,
    /// The creation of the newest resource snapshot of KubeFleet, if it was exported.
    pub(super) snapshot: Option<Nanos>,
    /// The newest time in all targets and conditions.
    pub(super) newest: Option<Nanos>,
    /// Whether the targets are instances, which are identified by numbers.
    pub(super) is_numbered: bool,
    /// Minimum number of times that people have continued the rollout. 0 for products that do not count.
    pub(super) acts: usize,
    /// The problem to report if the product shows the rollout as complete but a target is not ready.
    pub(super) over: Option<Problem>,
    /// The oldest time at which Fleet staged the release for a waiting cluster.
    pub(super) staged: Option<Nanos>,
    /// The problem with the first object that should list targets but has none.
    empty: Option<Problem>,
    /// Fleet's bundles, except those of its own agents.
    pub(super) bundles: BTreeSet<String>,
}

/// Reads the objects of all exports.
///
/// # Errors
/// Returns every invalid field, with its path, or the problem that no object belongs to a rollout.
pub(super) fn read(sources: &[Arc<Source>]) -> OrProblems<ShownRollout> {
    let mut shown = ShownRollout::default();
    let mut problems = Vec::new();
    let mut other_kinds = Vec::new();
    for source in sources {
        match objects(source) {
            Ok(found) => {
                for object in &found {
                    match shown.object(object) {
                        Ok(other_kind) => other_kinds.extend(other_kind),
                        Err(more) => problems.extend(more),
                    }
                }
            }
            Err(more) => problems.extend(more),
        }
    }
    problems.truncate(20);
    if !problems.is_empty() {
        return Err(problems);
    }
    let first = sources.first().map_or("", |source| source.name.as_str());
    if shown.targets.is_empty() {
        let empty = shown.empty.take();
        let problem = empty.unwrap_or_else(|| no_rollout(first, other_kinds));
        return Err(vec![problem]);
    }
    match shown.mixture(first) {
        Some(problem) => Err(vec![problem]),
        None => Ok(shown),
    }
}

/// Returns the problem with exports in which no object shows a rollout. It lists the kinds of the other objects.
fn no_rollout(file: &str, other_kinds: Vec<String>) -> Problem {
    let other_kinds: Vec<String> = other_kinds.into_iter().unique().collect();
    let message = if other_kinds.is_empty() {
        "the file has no objects".to_owned()
    } else {
        format!(
            "no object shows a rollout; there are {}",
            some_of(&other_kinds)
        )
    };
    let help = "export BundleDeployments, an ApplicationSet, a staged update run or bindings with `-o json`, or \
                the deployment and `cf curl /v3/processes/GUID/stats`";
    Problem::of_file(file, message).with_help(help)
}

/// The conditions of an object, or of a part of an object.
#[derive(Clone, Copy)]
pub(super) struct ShownConditions<'c> {
    /// The path of the conditions' field.
    pub(super) field: &'c str,
    pub(super) conditions: &'c [ShownCondition],
}

impl<'c> ShownConditions<'c> {
    /// Returns the conditions of an object's status.
    pub(super) fn of(object: &'c ShownObject) -> Self {
        Self {
            field: "status.conditions",
            conditions: &object.status.conditions,
        }
    }

    /// Returns the index of the condition with this type, if it has this status.
    pub(super) fn position(self, kind: &str, status: &str) -> Option<usize> {
        self.conditions
            .iter()
            .position(|condition| condition.kind == kind && condition.status == status)
    }
}

/// A condition that has the requested status.
#[derive(Clone, Copy)]
pub(super) struct ShownSince {
    /// The time of the last change to this status, if known.
    pub(super) at: Option<Nanos>,
}

impl ShownSince {
    /// Returns the time of a condition's last change. `None`: there is no condition, or no time.
    pub(super) fn time(since: Option<Self>) -> Option<Nanos> {
        since?.at
    }
}

impl ShownRollout {
    /// Adds an object. Returns the object's kind if the object shows no rollout.
    fn object(&mut self, object: &ExportObject<'_>) -> OrProblems<Option<String>> {
        let mark: KindMark = object.try_read().unwrap_or_default();
        if let Some(foreign) = foreign_kind(&mark) {
            return Ok(Some(foreign));
        }
        match mark.kind.as_deref() {
            Some("Cluster") if is_of(&mark, "fleet.cattle.io") => self.fleet_cluster(object)?,
            Some("MemberCluster") => self.member_cluster(object)?,
            Some("ClusterResourceSnapshot" | "ResourceSnapshot") => self.snapshot(object)?,
            Some("Bundle") => self.bundle(object)?,
            Some("BundleDeployment") => self.bundle_deployment(object)?,
            Some("ApplicationSet") => self.application_set(object)?,
            Some("ClusterStagedUpdateRun" | "StagedUpdateRun") => self.staged_run(object)?,
            Some("ClusterResourceBinding" | "ResourceBinding") => self.binding(object)?,
            Some(other) => {
                self.application(other, object);
                return Ok(Some(other.to_owned()));
            }
            None if mark.spec.get("generators").is_some() => self.application_set(object)?,
            None if mark.resources.is_array() => self.stats(object)?,
            None if !mark.strategy.is_null() => self.deployment(object)?,
            None if mark.spec.get("destination").is_some() => {
                self.application("Application", object);
                return Ok(Some("Application".to_owned()));
            }
            None => return Ok(Some("object of an unknown kind".to_owned())),
        }
        Ok(None)
    }

    /// Adds the message of an Application, which shows no rollout itself.
    fn application(&mut self, kind: &str, object: &ExportObject<'_>) {
        if kind == "Application"
            && let Ok(read) = object.try_read::<ShownObject>()
            && let Some(message) = messages::of_application(&read)
        {
            self.messages.insert(read.name().to_owned(), message);
        }
    }

    /// Returns the problem with objects that belong to several rollouts, if they do.
    fn mixture(&self, name: &str) -> Option<Problem> {
        if self.bundles.len() > 1 {
            let bundles: Vec<String> = self.bundles.iter().cloned().collect();
            let message = format!(
                "the deployments must belong to one bundle, but belong to {}",
                some_of(&bundles)
            );
            let help = "add `-l fleet.cattle.io/bundle-name=NAME` to the export";
            return Some(Problem::of_file(name, message).with_help(help));
        }
        let twice = self
            .targets
            .iter()
            .map(|target| target.name.as_str())
            .duplicates()
            .next()?;
        let message = format!("only one object may show `{twice}`, but several do");
        Some(Problem::of_file(name, message).with_help("export the status of one rollout only"))
    }

    /// Parses a time in an object. `None`: there is no time.
    pub(super) fn time(
        &mut self,
        object: &ExportObject<'_>,
        field: &str,
        text: Option<&str>,
    ) -> OrProblems<Option<Nanos>> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let Some(Stamp { at, is_exact }) = rfc3339(text) else {
            let message = format!("`{text}` is not a time");
            return Err(refused(
                object,
                field,
                &message,
                "write e.g. `2026-03-01T15:04:05Z`",
            ));
        };
        // Kubernetes truncates fractions of a second, so half a second is added.
        let at = if is_exact { at } else { at + HALF_A_SECOND };
        self.newest = self.newest.max(Some(at));
        Ok(Some(at))
    }

    /// Returns when a condition changed to a status. `None`: it does not have that status.
    pub(super) fn since(
        &mut self,
        object: &ExportObject<'_>,
        shown: ShownConditions<'_>,
        kind: &str,
        status: &str,
    ) -> OrProblems<Option<ShownSince>> {
        let Some(place) = shown.position(kind, status) else {
            return Ok(None);
        };
        let condition = &shown.conditions[place];
        let (name, text) = match &condition.last_transition_time {
            Some(time) => ("lastTransitionTime", Some(time)),
            None => ("lastUpdateTime", condition.last_update_time.as_ref()),
        };
        let field = format!("{}[{place}].{name}", shown.field);
        let at = self.time(object, &field, text.map(String::as_str))?;
        Ok(Some(ShownSince { at }))
    }

    /// Adds a time in an object at which the rollout had already begun.
    pub(super) fn began_by(&mut self, time: Option<Nanos>) {
        self.released = match (self.released, time) {
            (Some(known), Some(time)) => Some(known.min(time)),
            (known, time) => known.or(time),
        };
    }

    /// Records a problem if an object that must list targets of the rollout lists none.
    pub(super) fn expect_targets(
        &mut self,
        object: &ExportObject<'_>,
        count: usize,
        field: &str,
        help: &str,
    ) {
        if count == 0 && self.empty.is_none() {
            let message = format!("`{field}` is empty; it must list the targets of the rollout");
            self.empty = Some(object.problem(field, message).with_help(help.to_owned()));
        }
    }

    /// Returns when the first target was instructed, among those that are not ready.
    pub(super) fn first_instructed(&self) -> Option<Nanos> {
        let mut first: Option<Nanos> = None;
        for target in &self.targets {
            let is_open = target.state == SeenState::Updating;
            if let Some(at) = target.instructed.filter(|_| is_open) {
                first = Some(first.map_or(at, |first| first.min(at)));
            }
        }
        first
    }

    /// Returns the start of the rollout, if the exports show it.
    pub(super) fn start(&self) -> Option<Nanos> {
        self.snapshot.or(self.released).or(self.staged)
    }

    /// Adds the rows of an ApplicationSet, one for each Application.
    fn application_set(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        let help = "export an ApplicationSet whose strategy is `RollingSync`, once its controller has seen the release";
        self.expect_targets(
            object,
            read.status.application_status.len(),
            "status.applicationStatus",
            help,
        );
        self.product = Some(ShownProduct::ArgoCd);
        self.first_step_since(object, &read)?;
        for (at, row) in read.status.application_status.iter().enumerate() {
            let field = format!("status.applicationStatus[{at}]");
            let field_of_time = format!("{field}.lastTransitionTime");
            let since = self.time(object, &field_of_time, row.last_transition_time.as_deref())?;
            let mut target = ShownTarget {
                name: row.application.clone(),
                ..ShownTarget::default()
            };
            match row.status.as_str() {
                "Waiting" => {
                    target.state = SeenState::Waiting;
                    self.began_by(since);
                }
                "Pending" | "Progressing" => {
                    target.state = SeenState::Updating;
                    target.is_unanswered = row.status == "Pending";
                    target.instructed = since;
                    target.since = since;
                }
                "Healthy" => {
                    target.state = SeenState::Ready;
                    target.ready = since;
                }
                other => {
                    let help = "a row is `Waiting`, `Pending`, `Progressing` or `Healthy`";
                    let message = format!("unknown status `{other}`");
                    return Err(refused(object, &format!("{field}.status"), &message, help));
                }
            }
            self.targets.push(target);
        }
        Ok(())
    }

    /// Adds the start of a rolling sync, while the condition is about its start or its first step.
    fn first_step_since(
        &mut self,
        object: &ExportObject<'_>,
        read: &ShownObject,
    ) -> OrProblems<()> {
        let shown = ShownConditions::of(read);
        let Some(place) = shown.position("RolloutProgressing", "True") else {
            return Ok(());
        };
        let message = &shown.conditions[place].message;
        if message.ends_with("started") || message.ends_with("step 1") {
            let since = self.since(object, shown, "RolloutProgressing", "True")?;
            self.began_by(ShownSince::time(since));
        }
        Ok(())
    }

    /// Adds the output of `cf curl /v3/deployments/GUID`.
    fn deployment(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownDeployment = object.read()?;
        let DeploymentStatus {
            value,
            reason,
            canary,
        } = &*read.status;
        let steps = &canary.steps;
        // A canary that continues after its last pause still shows its last step.
        let is_last = reason == "DEPLOYING" && steps.current == steps.total;
        self.acts = if is_last {
            steps.current
        } else {
            steps.current.saturating_sub(1)
        };
        let message =
            format!("the deployment is {value} ({reason}), so no other instance is updated");
        let help = "export only the deployment that is ACTIVE";
        match (value.as_str(), reason.as_str()) {
            ("FINALIZED", "DEPLOYED") => {
                let message = format!(
                    "the deployment is {value} ({reason}), but not all instances are ready"
                );
                self.over = Some(object.problem("status.value", message).with_help(help));
            }
            ("FINALIZED", _) => return Err(refused(object, "status.value", &message, help)),
            (_, "CANCELING") => return Err(refused(object, "status.reason", &message, help)),
            _ => {}
        }
        self.released = self.time(object, "created_at", read.created_at.as_deref())?;
        self.time(object, "updated_at", read.updated_at.as_deref())?;
        Ok(())
    }

    /// Adds the output of `cf curl /v3/processes/GUID/stats` for the process of the new version.
    fn stats(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        #[derive(Deserialize)]
        struct Stats {
            resources: Vec<InstanceStats>,
        }
        let stats: Stats = object.read()?;
        self.is_numbered = true;
        self.product = Some(ShownProduct::CloudFoundry);
        let help =
            "export the stats of the new process, which `new_processes` of the deployment names";
        self.expect_targets(object, stats.resources.len(), "resources", help);
        for instance in stats.resources {
            let is_ready = instance.state == "RUNNING" && instance.routable != Some(false);
            self.targets.push(ShownTarget {
                name: instance.index.to_string(),
                state: if is_ready {
                    SeenState::Ready
                } else {
                    SeenState::Updating
                },
                uptime: instance.uptime.filter(|_| is_ready),
                message: instance.details,
                ..ShownTarget::default()
            });
        }
        Ok(())
    }
}

/// Returns the kind and the API group of an object that has the kind of a product, but is of another one.
fn foreign_kind(mark: &KindMark) -> Option<String> {
    let kind = mark.kind.as_deref()?;
    let own = group_of(kind)?;
    let (group, _) = mark.api_version.as_deref()?.split_once('/')?;
    (group != own).then(|| format!("{kind} of {group}"))
}

/// Returns whether an object is of this API group.
fn is_of(mark: &KindMark, group: &str) -> bool {
    let version = mark.api_version.as_deref().unwrap_or("");
    version
        .strip_prefix(group)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the problem with an object whose rollout is not in progress, at one of the object's fields.
pub(super) fn refused(
    object: &ExportObject<'_>,
    field: &str,
    message: &str,
    help: &str,
) -> Vec<Problem> {
    let problem = object.problem(field, message.to_owned());
    vec![problem.with_help(help.to_owned())]
}
