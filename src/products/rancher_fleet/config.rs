//! Rancher Fleet's strategy in an experiment, parsed and checked against the fleet.
//!
//! Settings that Fleet itself rejects are rejected before a run. Three things that Fleet accepts are also rejected: a
//! partition set in the experiment that matches no cluster (Fleet keeps it empty), an undefined cluster group, and an
//! object of another kind instead of a bundle. All three are mistakes that would make the simulation answer a
//! different question.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    FleetSchedules, FleetVersion, HelmWait, RancherFleetStrategy, clusters, schedules, targets,
};
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::problem::Problem;
use crate::document::tree::Value;
use crate::products::fields::{Accepted, FileChoice};
use crate::products::{
    AT_ONCE, ControllerChoice, FieldPlaces, Fleet, Product, ProductFile, Program, Strategy,
    Targets, TunedSetting, UpstreamProgram, selection, version,
};
use crate::rollout::RuleSet;
use crate::rollout::label_selector::Labels;
use crate::rollout::rancher_fleet::{
    FleetCluster, ManualPartition, Partitioning, RolloutStrategy, StrategyError,
};
use crate::units::SimDuration;

/// Rancher Fleet's `rolloutStrategy`, from a fleet.yaml or set here. Fields set here override the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "RancherFleet"))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RancherFleetConfig {
    /// A fleet.yaml. Its `rolloutStrategy` supplies the fields that are not set here.
    file: Option<String>,
    /// Names of fields in the file that affect the rollout but are not simulated. A listed field adds a note to the
    /// results; any other such field is an error.
    accept: Accepted,
    /// Version of Rancher Fleet. Default: the newest release.
    #[serde(deserialize_with = "version::read")]
    version: FleetVersion,
    /// A file with the Schedules of the workspace. The command is `kubectl get schedules.fleet.cattle.io -n
    /// fleet-default -o yaml`. Their windows need a date in `startsAt`. By default there are none.
    schedules: Option<String>,
    /// The simulated rule set.
    rules: RuleSet,
    /// Rules for the displayed statuses. `documented`: a cluster that waits for its turn is `OutOfSync`, as before
    /// 0.16.
    statuses: RuleSet,
    /// Whether the bundle has Helm values. Default: true if the file's `helm` has values.
    #[serde(rename = "helmValues")]
    helm_values: Option<bool>,
    /// The program that makes the decisions.
    controller: ControllerChoice,
    #[serde(rename = "~in_place")]
    #[cfg_attr(test, schemars(flatten))]
    in_place: RolloutStrategy,
}

/// The field names in the experiment, and their paths in a fleet.yaml.
const IN_FILE: [(&str, &str); 6] = [
    ("maxUnavailable", "rolloutStrategy.maxUnavailable"),
    (
        "maxUnavailablePartitions",
        "rolloutStrategy.maxUnavailablePartitions",
    ),
    ("autoPartitionSize", "rolloutStrategy.autoPartitionSize"),
    (
        "autoPartitionThreshold",
        "rolloutStrategy.autoPartitionThreshold",
    ),
    ("maxNew", "rolloutStrategy.maxNew"),
    ("partitions", "rolloutStrategy.partitions"),
];

/// With partitions, their limits are tuned. Without partitions, their number and their common limit are tuned.
const TUNED: [TunedSetting; 4] = [
    TunedSetting::of("partitions.*.maxUnavailable", AT_ONCE),
    TunedSetting {
        list: Some(("partitions", false)),
        ..TunedSetting::of("maxUnavailable", AT_ONCE)
    },
    TunedSetting {
        list: Some(("partitions", false)),
        ..TunedSetting::of("autoPartitionSize", &["5%", "10%", "25%", "50%", "100%"])
    },
    TunedSetting::of("maxUnavailablePartitions", &["0", "1", "25%", "50%"]),
];

// The bundle controller uses the usual Kubernetes control loop. It has no timer: a pass starts when a deployment is
// created, is deleted or reports a changed status, or when the bundle or a cluster changes, but not when the spec of a
// deployment changes. Its client has no rate limit (controller-runtime v0.24.1 sets none).
impl Product for RancherFleetConfig {
    const KEY: &'static str = "rancherFleet";
    const TITLE: &'static str = "Rancher Fleet";
    const SUMMARY: &'static str = "Rancher Fleet's bundle rollout.";
    const IN_FILE: &'static [(&'static str, &'static str)] = &IN_FILE;
    const TUNED: &'static [TunedSetting] = &TUNED;

    fn targets(&self, path: &Path, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<Targets> {
        let chosen = targets::of(self.file_choice(path), fleet, context)?;
        if self.rules == RuleSet::Documented {
            return Some(self.in_some_partition(chosen, path, fleet, context));
        }
        Some(chosen)
    }

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let file: ProductFile<RolloutStrategy> =
            ProductFile::fleet_yaml(self.file_choice(path), context)?;
        let document = file.document.as_ref();
        if let Some(document) = document {
            context.problems.extend(other_object(document));
        }
        let places = FieldPlaces::new(path, document, &IN_FILE);
        let has_partitions = file.value.partitions.is_some();
        let (strategy, ignored) = self
            .version
            .read(file.value.overridden_by(self.in_place.clone()));
        if !targets::knows_groups(fleet, context)
            && report_unknown_groups(&strategy, &places, context)
        {
            return None;
        }
        let helm = helm_wait(document);
        if helm.atomic && self.version < FleetVersion::V0_15 {
            let message = "`helm.atomic` is not simulated for Rancher Fleet before 0.15";
            let help = "Helm 3 never retries an apply after a rollback; write `version: \"0.15\"` or later";
            places.report("helm.atomic", message.to_owned(), help, context);
            return None;
        }
        let schedules = match &self.schedules {
            None => None,
            Some(name) => {
                let place = path.key("schedules");
                if !schedules::knows_schedules(self.version, &place, context) {
                    return None;
                }
                Some(Arc::new(FleetSchedules::read(
                    name, &place, fleet, context,
                )?))
            }
        };
        let clusters = clusters(fleet);
        let all: Vec<u32> = (0..clusters.len() as u32).collect();
        match Partitioning::new(&strategy, &clusters, &all) {
            Err(error) => report_refusal(&error, &places, context),
            // This partition matches no cluster only because an invalid criterion was removed.
            Ok(_) if !context.is_untouched(&path.key("partitions")) => {}
            Ok(plan) => {
                // Fleet accepts a fleet.yaml with an empty partition, and `explain` warns about it.
                if context.is_set(&path.key("partitions")) && !has_partitions {
                    report_empty_partitions(&plan, &strategy, &clusters, &places, context);
                }
            }
        }
        let native = Arc::new(RancherFleetStrategy {
            rules: self.rules,
            strategy,
            judges_wanted: self.version >= FleetVersion::V0_16 && self.statuses == RuleSet::Shipped,
            ignored,
            has_values: self
                .helm_values
                .unwrap_or_else(|| document.is_some_and(has_helm_values)),
            paused: matches!(
                value_at(document, &Path::of("paused")),
                Some(Value::Bool(true))
            ),
            helm,
            schedules,
        });
        self.controller.apply(
            Program::new(UpstreamProgram::RancherFleet, self.file.as_deref()),
            native,
            path,
            context,
        )
    }
}

/// Reports the first partition that names a cluster group if no groups are known. Returns whether such a partition
/// exists.
fn report_unknown_groups(
    strategy: &RolloutStrategy,
    places: &FieldPlaces<'_>,
    context: &mut Context<'_>,
) -> bool {
    for (index, partition) in strategy.manual_partitions().iter().enumerate() {
        if partition.cluster_group.is_empty() {
            continue;
        }
        let message = format!(
            "the cluster group `{}` is not known: the experiment has no cluster groups",
            partition.cluster_group
        );
        let field = format!("rolloutStrategy.partitions[{index}].clusterGroup");
        places.report(&field, message, targets::NAME_GROUPS, context);
        return true;
    }
    false
}

/// Reports the reason why Fleet cannot build partitions from a strategy.
fn report_refusal(error: &StrategyError, places: &FieldPlaces<'_>, context: &mut Context<'_>) {
    let (field, message) = match error {
        StrategyError::Limit { field, source } => (field.clone(), source.to_string()),
        StrategyError::Selector { entry, source } => {
            (format!("partitions[{entry}]"), source.to_string())
        }
    };
    let help = "Fleet refuses this too and would not roll out at all";
    places.report(&format!("rolloutStrategy.{field}"), message, help, context);
}

/// Reports partitions that match no cluster of a fleet.
fn report_empty_partitions(
    plan: &Partitioning,
    strategy: &RolloutStrategy,
    clusters: &[FleetCluster],
    places: &FieldPlaces<'_>,
    context: &mut Context<'_>,
) {
    if clusters.is_empty() {
        return;
    }
    for (index, partition) in plan.partitions.iter().enumerate() {
        if !partition.members.is_empty() {
            continue;
        }
        let (criterion, hint) = why_empty(&strategy.manual_partitions()[index], clusters);
        let name = if partition.name.is_empty() {
            format!("number {index}")
        } else {
            format!("`{}`", partition.name)
        };
        let message = format!("the partition {name} matches no cluster of the fleet");
        let help = format!("{hint}; Fleet would accept this and leave the partition empty");
        let field = format!("rolloutStrategy.partitions[{index}]{criterion}");
        places.report(&field, message, help, context);
    }
}

/// Returns the value at a path in the fleet.yaml, if both exist.
fn value_at<'d>(document: Option<&'d Document>, path: &Path) -> Option<&'d Value> {
    Some(&document?.tree.get(path)?.value)
}

/// Returns how an apply waits, according to a fleet.yaml.
fn helm_wait(document: Option<&Document>) -> HelmWait {
    let helm = Path::of("helm");
    let timeout = match value_at(document, &helm.key("timeoutSeconds")) {
        Some(Value::Int(seconds)) => u64::try_from(*seconds).ok().filter(|seconds| *seconds > 0),
        _ => None,
    };
    HelmWait {
        timeout: timeout.map(SimDuration::from_secs),
        atomic: matches!(
            value_at(document, &helm.key("atomic")),
            Some(Value::Bool(true))
        ),
    }
}

/// Returns whether a fleet.yaml contains values for its chart.
fn has_helm_values(document: &Document) -> bool {
    let keys = ["values", "valuesFiles", "valuesFrom", "templateValues"];
    keys.iter().any(
        |key| match value_at(Some(document), &Path::of("helm").key(key)) {
            Some(Value::Map(entries)) => !entries.is_empty(),
            Some(Value::List(items)) => !items.is_empty(),
            _ => false,
        },
    )
}

impl RancherFleetConfig {
    /// Returns the targets that are in a partition. According to the document, the others "will not be included in the
    /// rollout". Returns all targets if the strategy is refused, which its check reports, or if no cluster would be
    /// left.
    fn in_some_partition(
        &self,
        chosen: Targets,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Targets {
        let choice = self.file_choice(path);
        let read = context.unreported(|context| ProductFile::fleet_yaml(choice, context));
        let Some(file): Option<ProductFile<RolloutStrategy>> = read else {
            return chosen;
        };
        let (strategy, _) = self
            .version
            .read(file.value.overridden_by(self.in_place.clone()));
        if strategy.manual_partitions().is_empty() {
            return chosen;
        }
        let clusters = clusters(fleet);
        let wanted: Vec<u32> = match &chosen {
            Targets::All => (0..clusters.len() as u32).collect(),
            Targets::Chosen(targets) => targets.iter().map(|target| target.index as u32).collect(),
        };
        targets::included(chosen, &wanted, &strategy, &clusters, context)
    }

    fn file_choice<'c>(&'c self, path: &'c Path) -> FileChoice<'c> {
        FileChoice {
            name: self.file.as_deref(),
            path,
            accept: &self.accept,
            moot: &[],
        }
    }
}

/// Returns the problem with an object that is not a bundle.
fn other_object(document: &Document) -> Option<Problem> {
    let kind = document.text(&Path::of("kind"))?;
    let help = match kind {
        "GitRepo" => "name the fleet.yaml in the repository that the GitRepo points to",
        _ => "name the fleet.yaml of the bundle",
    };
    let message =
        format!("the file must be a fleet.yaml, a Bundle or a HelmOp, but this is a {kind}");
    Some(document.at(&Path::of("kind"), message).with_help(help))
}

/// Returns the criterion that excludes every cluster from a partition, as a path in the partition, and the reason.
fn why_empty(entry: &ManualPartition, clusters: &[FleetCluster]) -> (&'static str, String) {
    if let Some(selector) = &entry.cluster_selector {
        let labels: Vec<&Labels> = clusters.iter().map(|cluster| &*cluster.labels).collect();
        return (".clusterSelector", selection::why_none(selector, &labels));
    }
    let hint = if !entry.cluster_name.is_empty() {
        format!("no cluster is named `{}`", entry.cluster_name)
    } else if entry.cluster_group.is_empty() && entry.cluster_group_selector.is_none() {
        "it has no criterion; `clusterSelector: {}` selects every cluster".to_owned()
    } else {
        "groups are those of `clusterGroups` or of `inventory.clusterGroups`".to_owned()
    };
    ("", hint)
}
