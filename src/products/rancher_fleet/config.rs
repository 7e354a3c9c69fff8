//! Rancher Fleet's strategy in an experiment: read, and checked against the fleet.
//!
//! Settings that Fleet itself would refuse are refused here before a run. Three things that Fleet accepts are refused
//! as well: a field it does not know, which it ignores, a partition that no cluster is in, which it keeps as empty, and
//! another object in the place of a fleet.yaml. All are slips that would make the simulation answer another question
//! than the one asked.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::{FleetVersion, RancherFleetStrategy, clusters};
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::problem::{Problem, nearest};
use crate::document::tree::Value;
use crate::products::{
    AT_ONCE, ControllerChoice, FieldPlaces, Fleet, Product, ProductFile, Program, Strategy,
    TunedSetting, UpstreamProgram, selection, version,
};
use crate::rollout::RuleSet;
use crate::rollout::label_selector::Labels;
use crate::rollout::rancher_fleet::{
    FleetCluster, ManualPartition, Partitioning, RolloutStrategy, StrategyError,
};

/// Rancher Fleet's `rolloutStrategy`, from a fleet.yaml or in place; a field in place overrides the file's.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "RancherFleet"))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RancherFleetConfig {
    /// A fleet.yaml whose `rolloutStrategy` applies where nothing is set here.
    file: Option<String>,
    /// Version of Rancher Fleet. Default: the newest release.
    #[serde(deserialize_with = "version::read")]
    version: FleetVersion,
    /// The simulated rule set.
    rules: RuleSet,
    /// Whether the bundle has Helm values. Default: whether the file's `helm` has some.
    #[serde(rename = "helmValues")]
    helm_values: Option<bool>,
    /// The program that decides.
    controller: ControllerChoice,
    #[serde(rename = "~in_place")]
    #[cfg_attr(test, schemars(flatten))]
    in_place: RolloutStrategy,
}

/// The fields of a fleet.yaml. Source: `FleetYAML` in `internal/bundlereader` and `BundleSpec` with
/// `BundleDeploymentOptions` in `pkg/apis/fleet.cattle.io/v1alpha1` of rancher/fleet v0.16.0.
const FLEET_YAML: &str = include_str!("fleet_yaml.txt");

/// The fields in place, and where they are in a fleet.yaml.
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

/// With partitions their limits; without any, how many there are and their common limit.
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

// The loop of the bundle controller is Kubernetes' own. It has no timer: a pass starts when a deployment is created,
// deleted or reports a changed status, or when the bundle or a cluster changes; not when the spec of a deployment
// changes. Its client has no limit (controller-runtime v0.24.1 sets none).
impl Product for RancherFleetConfig {
    const KEY: &'static str = "rancherFleet";
    const TITLE: &'static str = "Rancher Fleet";
    const SUMMARY: &'static str = "Rancher Fleet's bundle rollout.";
    const IN_FILE: &'static [(&'static str, &'static str)] = &IN_FILE;
    const TUNED: &'static [TunedSetting] = &TUNED;

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let base = Path::of("rolloutStrategy");
        let file: ProductFile<RolloutStrategy> =
            ProductFile::read(self.file.as_deref(), path, &base, context)?;
        let document = file.document.as_ref();
        if let Some(document) = document {
            context.problems.extend(other_content(document));
        }
        let places = FieldPlaces::new(path, document, &IN_FILE);
        let has_partitions = file.value.partitions.is_some();
        let (strategy, ignored) = self
            .version
            .read(file.value.overridden_by(self.in_place.clone()));
        let clusters = clusters(fleet);
        let all: Vec<u32> = (0..clusters.len() as u32).collect();
        match Partitioning::new(&strategy, &clusters, &all) {
            Err(error) => report_refusal(&error, &places, context),
            // A partition that lost a criterion to an error is empty for no other reason.
            Ok(_) if !context.is_untouched(&path.key("partitions")) => {}
            Ok(plan) => {
                // Fleet accepts a fleet.yaml with an empty partition, which `explain` warns of.
                if context.is_set(&path.key("partitions")) && !has_partitions {
                    report_empty_partitions(&plan, &strategy, &clusters, &places, context);
                }
            }
        }
        let native = Arc::new(RancherFleetStrategy {
            rules: self.rules,
            strategy,
            judges_wanted: self.version >= FleetVersion::V0_16,
            ignored,
            has_values: self
                .helm_values
                .unwrap_or_else(|| document.is_some_and(has_helm_values)),
            paused: matches!(
                value_at(document, &Path::of("paused")),
                Some(Value::Bool(true))
            ),
            // Source: `internal/helmdeployer/install.go` of rancher/fleet.
            waits: matches!(
                value_at(document, &Path::of("helm").key("timeoutSeconds")),
                Some(Value::Int(1..))
            ),
        });
        self.controller.apply(
            Program::new(UpstreamProgram::RancherFleet, self.file.as_deref()),
            native,
            path,
            context,
        )
    }
}

/// Reports why Fleet makes no partitions of a strategy.
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

/// Reports the partitions that no cluster of a fleet is in.
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

/// The value at a place of the fleet.yaml, if there are both.
fn value_at<'d>(document: Option<&'d Document>, path: &Path) -> Option<&'d Value> {
    Some(&document?.tree.get(path)?.value)
}

/// Whether a fleet.yaml gives its chart any values.
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

/// Problems with a file that is no fleet.yaml, or has fields of which Fleet knows none.
fn other_content(document: &Document) -> Vec<Problem> {
    let Value::Map(entries) = &document.tree.value else {
        return Vec::new();
    };
    if let Some(kind) = document.text(&Path::of("kind")) {
        let help = match kind {
            "GitRepo" => "name the fleet.yaml in the repository that the GitRepo points to",
            "Bundle" => {
                "name the fleet.yaml that the Bundle was made from, or write its `rolloutStrategy` in place"
            }
            _ => "name the fleet.yaml of the bundle",
        };
        let message = format!("the file must be a fleet.yaml, and this is a {kind}");
        return vec![document.at(&Path::of("kind"), message).with_help(help)];
    }
    let mut problems = Vec::new();
    for (key, _) in entries {
        let key = key.text.as_str();
        if FLEET_YAML.lines().any(|known| known == key) {
            continue;
        }
        let help = match nearest(key, FLEET_YAML.lines()) {
            Some(near) => format!("did you mean `{near}`? Fleet ignores what it does not know"),
            None => "remove it; Fleet ignores it".to_owned(),
        };
        let message = format!("a fleet.yaml has no field `{key}`");
        problems.push(document.at_key(&Path::of(key), message).with_help(help));
    }
    problems
}

/// The criterion by which no cluster belongs to a partition, as a place in it, and why.
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
