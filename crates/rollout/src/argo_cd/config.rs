//! The fields of an ApplicationSet that determine the order of a rollout.
//!
//! Follows `pkg/apis/application/v1alpha1/applicationset_types.go` and `applicationset/generators/*.go`. Unknown
//! fields are ignored, because real files have many. Generators are read only for their timers; the template is read
//! for name, labels, finalizers and sync policy. Only types and the few values that the product's own schema lists are
//! checked; [`super::steps`] and [`super::limit`] interpret the steps.

use std::collections::BTreeMap;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::IntOrString;
use super::super::label_selector::{Labels, null_is_default};
use super::retry::Retry;
use super::version::ArgoCdVersion;
use fleetsim_units::SimDuration;

/// The only `strategy.type` that has an effect. Case-sensitive.
pub const ROLLING_SYNC: &str = "RollingSync";

/// A whole ApplicationSet file; `apiVersion` and `metadata` are ignored.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct ApplicationSetFile {
    /// `ApplicationSet`, see [`ApplicationSetFile::check`].
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: String,
    /// The specification.
    pub spec: ApplicationSetSpec,
}

/// The `spec` of an ApplicationSet.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSetSpec {
    /// The generators of applications. Here they only determine the interval of their timer.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub generators: Vec<Generator>,
    /// Whether the template uses Go's template syntax.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub go_template: bool,
    /// The strategy for rolling out changes. Absent: all applications simultaneously.
    pub strategy: Option<ApplicationSetStrategy>,
    /// Changes of applications that the controller may make.
    pub sync_policy: Option<ApplicationSetSyncPolicy>,
    /// The template of each application.
    #[serde(default, deserialize_with = "null_is_default")]
    pub template: Template,
}

/// `spec.strategy`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSetStrategy {
    /// `RollingSync`. Empty, `AllAtOnce` or any other value: all applications simultaneously.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,
    /// The steps. If absent, type `RollingSync` has no effect.
    pub rolling_sync: Option<RollingSync>,
    /// `Reverse`, in any letter case: the applications of a deleted set go last step first.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub deletion_order: String,
}

/// `spec.strategy.rollingSync`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub struct RollingSync {
    /// The steps in the order in which they are updated. Empty: an error, and passes do nothing.
    #[serde(default, deserialize_with = "null_is_default")]
    pub steps: Vec<RolloutStep>,
}

/// One step: a selection of applications, and how many of them are updated concurrently.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RolloutStep {
    /// Conditions that must all hold. Empty: every application is in the step.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_expressions: Vec<MatchExpression>,
    /// Number of applications of the step that may be Pending or Progressing. Absent: all.
    pub max_update: Option<IntOrString>,
}

/// A condition on an application's labels. The rules differ from those of Kubernetes; see
/// [`MatchExpression::matches`].
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub struct MatchExpression {
    /// The label's key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// `In` or `NotIn`. Case-sensitive.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operator: String,
    /// The values. If empty, `In` selects nothing that has the label, and `NotIn` selects everything.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub values: Vec<String>,
}

/// `spec.syncPolicy`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSetSyncPolicy {
    /// Changes of applications that the controller may make. Absent: all.
    pub applications_sync: Option<ApplicationsSync>,
    /// Whether applications that are deleted leave their resources in the clusters.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub preserve_resources_on_deletion: bool,
}

/// Changes of applications that the controller may make.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationsSync {
    /// Create only: the sync of an existing application is never requested.
    CreateOnly,
    /// Create and update, but never delete.
    CreateUpdate,
    /// Create and delete, but never update. No sync of an existing application is requested.
    CreateDelete,
    /// Create, update and delete.
    #[default]
    Sync,
}

/// The parts of `spec.template` that have an effect here.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Template {
    /// Metadata of the applications.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: TemplateMetadata,
    /// Spec of the applications.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: TemplateSpec,
}

/// `spec.template.metadata`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TemplateMetadata {
    /// Name of each application. Empty: the name of its cluster.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// Labels of each application, in addition to those of its cluster. Steps select by them.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Labels::is_empty"
    )]
    pub labels: Labels,
    /// Finalizers of each application. With at least one, a deleted application exists until its resources are gone.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub finalizers: Vec<String>,
}

/// `spec.template.spec`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSpec {
    /// Sync policy of each application.
    pub sync_policy: Option<SyncPolicy>,
}

/// `syncPolicy` of an application.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SyncPolicy {
    /// Present: the application controller syncs automatically, unless a RollingSync disables this.
    pub automated: Option<Automated>,
    /// Retries of a failed sync.
    pub retry: Option<Retry>,
}

/// `syncPolicy.automated` of an application.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Automated {
    /// Delete resources that the source no longer has.
    #[serde(default, deserialize_with = "null_is_default")]
    pub prune: bool,
    /// Whether automated sync is on. Absent: true.
    pub enabled: Option<bool>,
}

/// One entry of `spec.generators`: its kind and the generator's fields. The product accepts only entries with a single
/// kind.
pub type Generator = BTreeMap<String, Option<GeneratorBody>>;

/// The fields of a generator.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GeneratorBody {
    /// Seconds between two queries; 0 or less: never repeated. Absent: the default of this kind.
    pub requeue_after_seconds: Option<i64>,
    /// The children of a `matrix` or `merge`.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub generators: Vec<Generator>,
}

/// Options of the controller that are not part of the ApplicationSet: flags, and fixes of known bugs. By default,
/// `enable_progressive_syncs` is set, and nothing is fixed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ControllerOptions {
    /// The controller's `--enable-progressive-syncs`. If false, the product's default, strategies have no effect.
    pub enable_progressive_syncs: bool,
    /// Fixes argoproj/argo-cd#21502. Syncs are requested from the statuses after the pass, not before it. An
    /// application is then triggered in the pass that promotes it, and not again in the pass in which it leaves
    /// Pending.
    pub trigger_once: bool,
    /// Fixes argoproj/argo-cd#27949 and #29240. After a change of the spec, Synced counts only if the application was
    /// compared after the change, so that even a settled application is updated. No effect before 3.4.
    pub keep_spec_changes: bool,
    /// `--refresh-grace-period-seconds`: time after a change in which no row is promoted. This flag exists since 3.6.
    pub refresh_grace_period: SimDuration,
    /// The controller's version.
    #[serde(skip)]
    pub version: ArgoCdVersion,
}

/// The reason why an ApplicationSet is not processed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ApplicationSetError {
    /// `RollingSync` without a step, for which Argo CD 3.6 and later report `ApplicationSetRolloutError`.
    #[error(
        "strategy.rollingSync.steps is empty: Argo CD 3.6 then updates nothing (ApplicationSetRolloutError), and \
         older versions update all applications at once"
    )]
    NoSteps,
    /// Another kind of object.
    #[error("kind is `{0}`, not ApplicationSet")]
    Kind(String),
    /// No generators; the product's schema requires at least one.
    #[error("spec.generators is empty; an ApplicationSet without a generator makes no application")]
    NoGenerators,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self {
            enable_progressive_syncs: true,
            trigger_once: false,
            keep_spec_changes: false,
            // Source: `applicationset_controller.go` of argoproj/argo-cd#27467.
            refresh_grace_period: SimDuration::from_secs(30),
            version: ArgoCdVersion::default(),
        }
    }
}

impl ApplicationSetFile {
    /// Returns the spec of a file that the product would process.
    ///
    /// # Errors
    /// The reason why the product would not process the file. Unselected applications and similar surprises are not
    /// errors; see [`super::explain`].
    pub fn check(self) -> Result<ApplicationSetSpec, ApplicationSetError> {
        if self.kind != "ApplicationSet" {
            return Err(ApplicationSetError::Kind(self.kind));
        }
        if self.spec.generators.is_empty() {
            return Err(ApplicationSetError::NoGenerators);
        }
        self.spec.steps()?;
        Ok(self.spec)
    }
}

impl ApplicationSetSpec {
    /// Returns the steps if the strategy is a RollingSync with a `rollingSync` block; `None`: all applications are
    /// updated simultaneously.
    ///
    /// # Errors
    /// [`ApplicationSetError::NoSteps`].
    pub fn steps(&self) -> Result<Option<&[RolloutStep]>, ApplicationSetError> {
        let Some(strategy) = &self.strategy else {
            return Ok(None);
        };
        match &strategy.rolling_sync {
            Some(RollingSync { steps }) if strategy.kind == ROLLING_SYNC => {
                if steps.is_empty() {
                    return Err(ApplicationSetError::NoSteps);
                }
                Ok(Some(steps))
            }
            _ => Ok(None),
        }
    }

    /// Returns the steps of a RollingSync; empty for another strategy.
    pub(super) fn rolling_steps(&self) -> &[RolloutStep] {
        match self.steps() {
            Ok(Some(steps)) => steps,
            Ok(None) | Err(_) => &[],
        }
    }

    /// Returns whether applications of later steps are deleted first.
    pub fn is_deletion_reversed(&self) -> bool {
        let Some(strategy) = &self.strategy else {
            return false;
        };
        matches!(self.steps(), Ok(Some(_)))
            && strategy.deletion_order.eq_ignore_ascii_case("Reverse")
    }

    /// Returns the changes of applications that the controller may make.
    pub fn applications_sync(&self) -> ApplicationsSync {
        match &self.sync_policy {
            Some(policy) => policy.applications_sync.unwrap_or_default(),
            None => ApplicationsSync::default(),
        }
    }

    /// Returns true if existing applications may be written.
    pub(super) fn may_update(&self) -> bool {
        matches!(
            self.applications_sync(),
            ApplicationsSync::Sync | ApplicationsSync::CreateUpdate
        )
    }

    /// Returns the template's `syncPolicy.automated`.
    pub fn automated(&self) -> Option<&Automated> {
        self.template.spec.sync_policy.as_ref()?.automated.as_ref()
    }

    /// Returns the template's `syncPolicy.retry`.
    pub fn retry(&self) -> Option<&Retry> {
        self.template.spec.sync_policy.as_ref()?.retry.as_ref()
    }

    /// Returns the shortest interval of all generators. `None`: no generator has a timer.
    pub fn requeue_after(&self) -> Option<SimDuration> {
        requeue_after(&self.generators)
    }
}

/// Returns the shortest interval of these generators. `None`: no generator has a timer.
fn requeue_after(generators: &[Generator]) -> Option<SimDuration> {
    let mut shortest = None;
    for (kind, body) in generators.iter().flatten() {
        let interval = body.as_ref().and_then(|body| body.requeue_after(kind));
        shortest = match (shortest, interval) {
            (Some(shortest), Some(interval)) => Some(interval.min(shortest)),
            (shortest, interval) => shortest.or(interval),
        };
    }
    shortest
}

impl GeneratorBody {
    /// Returns the interval of a generator of this kind. Source of the defaults: the `GetRequeueAfter` functions of
    /// `applicationset/generators/*.go`.
    fn requeue_after(&self, kind: &str) -> Option<SimDuration> {
        const SHORT: i64 = 180;
        const LONG: i64 = 1800;
        let default = match kind {
            "git" | "clusterDecisionResource" => SHORT,
            "scmProvider" | "pullRequest" | "plugin" => LONG,
            // The shortest interval of the children.
            "matrix" | "merge" => return requeue_after(&self.generators),
            // A changed cluster secret queues a pass; a list never changes.
            _ => return None,
        };
        match self.requeue_after_seconds.unwrap_or(default) {
            seconds @ 1.. => Some(SimDuration::from_secs(seconds as u64)),
            ..=0 => None,
        }
    }
}

impl Automated {
    /// Returns whether the application controller syncs automatically.
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened from the example in `docs/operator-manual/applicationset/Progressive-Syncs.md`, with further fields
    /// of real files.
    const GUESTBOOK: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: guestbook, namespace: argocd}
spec:
  goTemplate: true
  generators:
  - list: {elements: [{cluster: engineering-dev, url: "https://1.2.3.4", env: env-dev}]}
  - matrix: {generators: [{clusters: {}}, {git: {repoURL: "https://x", requeueAfterSeconds: 60}}]}
  strategy:
    type: RollingSync
    deletionOrder: reverse
    rollingSync:
      steps:
        - matchExpressions: [{key: envLabel, operator: In, values: [env-dev]}]
        - matchExpressions: [{key: envLabel, operator: In, values: [env-qa]}]
          maxUpdate: 0
        - matchExpressions: [{key: envLabel, operator: In, values: [env-prod]}]
          maxUpdate: 10%
  template:
    metadata: {name: "{{.cluster}}-guestbook", labels: {envLabel: "{{.env}}"}, finalizers: [resources-finalizer.argocd.argoproj.io]}
    spec:
      project: my-project
      syncPolicy: {automated: {prune: true}, retry: {limit: 2, backoff: {duration: 5s}}}
      source: {repoURL: "https://github.com/infra-team/cluster-deployments.git", targetRevision: HEAD}
"#;

    #[test]
    fn a_real_file_is_read_with_its_other_fields() {
        let file: ApplicationSetFile = serde_saphyr::from_str(GUESTBOOK).expect("it is read");
        let spec = file.check().expect("it is in order");
        let steps = spec
            .steps()
            .expect("it has steps")
            .expect("it is a RollingSync");
        let limits: Vec<_> = steps.iter().map(|step| step.max_update.clone()).collect();
        assert_eq!(limits, [None, Some(0.into()), Some("10%".into())]);
        assert_eq!(steps[2].match_expressions[0].values, ["env-prod"]);
        assert!(spec.is_deletion_reversed(), "in any letter case");
        assert!(
            spec.automated()
                .is_some_and(|automated| automated.prune && automated.is_enabled())
        );
        assert_eq!(spec.template.metadata.finalizers.len(), 1);
        assert_eq!(
            spec.requeue_after(),
            Some(SimDuration::from_secs(60)),
            "the git generator inside the matrix"
        );
        let written = serde_json::to_string(&spec).expect("it is JSON");
        assert_eq!(
            serde_json::from_str::<ApplicationSetSpec>(&written).expect("and is read back"),
            spec
        );
    }

    #[test]
    fn a_file_that_the_product_does_not_process_is_rejected_with_its_reason() {
        let cases = [
            (
                "kind: Application\nspec: {generators: [{list: {}}]}",
                ApplicationSetError::Kind("Application".to_owned()),
            ),
            (
                "kind: ApplicationSet\nspec: {}",
                ApplicationSetError::NoGenerators,
            ),
            (
                "kind: ApplicationSet\nspec: {generators: [{list: {}}], strategy: {type: RollingSync, rollingSync: {}}}",
                ApplicationSetError::NoSteps,
            ),
        ];
        for (yaml, error) in cases {
            let file: ApplicationSetFile = serde_saphyr::from_str(yaml).expect(yaml);
            assert_eq!(file.check(), Err(error), "{yaml}");
        }
        for (yaml, why) in [
            (
                "spec: {syncPolicy: {applicationsSync: update-only}}",
                "the schema lists four values",
            ),
            (
                "spec: {strategy: {rollingSync: {steps: [{maxUpdate: 1.5}]}}}",
                "a number is whole",
            ),
            (
                "spec: {strategy: {rollingSync: {steps: {}}}}",
                "steps are a list",
            ),
            ("kind: ApplicationSet", "a spec is required"),
        ] {
            assert!(
                serde_saphyr::from_str::<ApplicationSetFile>(yaml).is_err(),
                "{yaml}: {why}"
            );
        }
    }

    #[test]
    fn only_the_exact_type_and_its_block_make_a_rolling_sync() {
        let cases = [
            // strategy, rolling, why
            ("null", Ok(false), "none"),
            ("{type: AllAtOnce}", Ok(false), "the default by its name"),
            ("{type: RollingSync}", Ok(false), "no block"),
            (
                "{type: RollingSync, rollingSync: {steps: []}}",
                Err(ApplicationSetError::NoSteps),
                "an empty list",
            ),
            (
                "{type: RollingSync, rollingSync: {steps: null}}",
                Err(ApplicationSetError::NoSteps),
                "null is an empty list",
            ),
            (
                "{type: rollingsync, rollingSync: {steps: [{}]}}",
                Ok(false),
                "case counts",
            ),
            (
                "{type: RollingUpdate, rollingSync: {steps: [{}]}}",
                Ok(false),
                "the proposal's name never shipped",
            ),
            (
                "{type: RollingSync, rollingSync: {steps: [{}]}}",
                Ok(true),
                "as it should be",
            ),
        ];
        for (yaml, rolling, why) in cases {
            let spec: ApplicationSetSpec =
                serde_saphyr::from_str(&format!("strategy: {yaml}")).expect(yaml);
            assert_eq!(
                spec.steps().map(|steps| steps.is_some()),
                rolling,
                "{yaml}: {why}"
            );
        }
    }

    #[test]
    fn the_most_frequent_generator_sets_the_timer() {
        let cases = [
            (
                "[{list: {elements: []}}, {clusters: {}}]",
                None,
                "neither has one",
            ),
            ("[{git: {}}]", Some(180), "its own"),
            (
                "[{git: {requeueAfterSeconds: 20}}, {plugin: {}}]",
                Some(20),
                "as written",
            ),
            (
                "[{git: {requeueAfterSeconds: 0}}]",
                None,
                "0 switches it off",
            ),
            (
                "[{pullRequest: {}}, {scmProvider: {}}]",
                Some(1800),
                "these ask slowly",
            ),
            (
                "[{merge: {generators: [{clusterDecisionResource: {}}, {plugin: {}}]}}]",
                Some(180),
                "of the children",
            ),
        ];
        for (yaml, seconds, why) in cases {
            let generators: Vec<Generator> = serde_saphyr::from_str(yaml).expect(yaml);
            assert_eq!(
                requeue_after(&generators),
                seconds.map(SimDuration::from_secs),
                "{yaml}: {why}"
            );
        }
    }
}
