//! Argo CD's strategies in an experiment. Settings that the product itself rejects are errors, with the product's own
//! reason.
//!
//! Some surprising settings are valid: a step that selects nothing, an unknown operator, a `maxUpdate` that cannot be
//! parsed. The product shows them as a condition, and `fleetsim explain` as a note. One setting that the product
//! accepts is rejected: a back-off with an invalid duration, because the product reports the error only after a sync
//! has failed. Unknown fields are rejected in the experiment, and in the strategy and the back-off of a file.

use std::num::NonZeroU32;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::exceptions::SkippedApplication;
use super::settings::UPSTREAM_KEYS;
use super::{
    ApplicationControllerSettings, ApplicationExceptions, ApplicationSource, ArgoCdProposal,
    ArgoCdRelease, ArgoCdStrategy, GeneratedLabels, SyncWindows, targets,
};
use crate::control_plane::ControlLoop;
use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::fields::{Accepted, FileChoice};
use crate::products::{
    AT_ONCE, ControllerChoice, FieldPlaces, Fleet, Product, ProductFile, Program, Strategy,
    Targets, TunedSetting, UpstreamProgram, version,
};
use crate::rollout::RuleSet;
use crate::rollout::argo_cd::proposal::{ProposalFile, ProposalStrategy, ProposedRollingUpdate};
use crate::rollout::argo_cd::{
    ApplicationSetError, ApplicationSetFile, ApplicationSetSpec, ApplicationSetStrategy,
    ApplicationsSync, ArgoCdVersion, Automated, ControllerOptions, RetryBackoff,
};
use crate::world::AgentSpec;

/// The loop of the ApplicationSet controller. It has no rollout timer; a pass starts after a change of the set and
/// after the changes that [`queues_pass`](crate::rollout::argo_cd::queues_pass) lists. Its client has a rate limit:
/// `K8sClientConfigQPS` and `K8sClientConfigBurst` in `common/common.go`, which `ARGOCD_K8S_CLIENT_QPS` sets.
const CONTROL_LOOP: ControlLoop = ControlLoop::limited(50, 100);

/// Argo CD's ApplicationSet, from a real file or set here. Fields set here override the file. Each cluster of the
/// fleet is one application, with the cluster's name and labels.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "ArgoCd"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct ArgoCdConfig {
    /// An ApplicationSet file. Its `spec` supplies the fields that are not set here.
    file: Option<String>,
    /// Names of fields in the file that affect the rollout but are not simulated. A listed field adds a note to the
    /// results; any other such field is an error.
    accept: Accepted,
    /// `spec.strategy`, replaced as a whole. Default: all at once.
    strategy: Option<ApplicationSetStrategy>,
    /// Whether the template has an enabled `syncPolicy.automated`. If false, only the steps sync. Default: the file's
    /// value, or true without a file.
    auto_sync: Option<bool>,
    /// Entries whose application has the opposite of `autoSync`, or of the template's setting. No effect with a
    /// RollingSync, which disables automated sync on every application.
    auto_sync_except: Vec<String>,
    /// Applications that the application controller ignores.
    skip_reconcile: Vec<SkippedApplication>,
    /// A file with the AppProject of the applications. Only its sync windows count: `kubectl get appprojects NAME -n
    /// argocd -o yaml`. They need a date in `startsAt`. By default there are none.
    project: Option<String>,
    /// `spec.syncPolicy.applicationsSync`. Default: sync.
    applications_sync: Option<ApplicationsSync>,
    /// The part of the template that names the new release. Default: derived from the file's `targetRevision`, which
    /// is a branch (`commit`) or a tag; `targetRevision` without a file.
    release: Option<ArgoCdRelease>,
    /// Whether the repository calls Argo CD's webhook on each commit. If false, an application learns of a commit at
    /// its next periodic refresh (`appResync`, `appResyncJitter`). Only for releases by commit.
    webhook: bool,
    /// Whether the file's generators and template make the applications of the fleet's clusters. `false`: each entry
    /// of the fleet is an application, with the labels that it has and those of the template. Default: true with a
    /// file.
    generate: Option<bool>,
    /// Version of Argo CD. Default: the newest release.
    #[serde(deserialize_with = "version::read")]
    version: ArgoCdVersion,
    /// Flags of the ApplicationSet controller.
    options: ControllerOptions,
    /// Maximum number of Applications that the controller writes concurrently, at least 1.
    #[cfg_attr(test, schemars(range(min = 1)))]
    concurrent_application_updates: ConcurrentUpdates,
    /// Flags and costs of the application controller.
    application_controller: ApplicationControllerSettings,
    /// The program that makes the decisions.
    controller: ControllerChoice,
}

/// The `RollingUpdate` strategy that was proposed for Argo CD's ApplicationSets and never shipped.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "ArgoCdProposal"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct ProposalConfig {
    /// An ApplicationSet file. Its `spec.strategy` applies if `strategy` is not set here.
    file: Option<String>,
    /// Names of fields in the file that affect the rollout but are not simulated. A listed field adds a note to the
    /// results; any other such field is an error.
    accept: Accepted,
    /// `spec.strategy`, replaced as a whole. Default: all at once.
    strategy: Option<ProposalStrategy>,
    /// Whether the file's generators and template make applications and labels. `false`: each entry of the fleet is an
    /// application, with its labels.
    generate: bool,
    /// Rules for the displayed statuses. `documented`: the condition `ApplicationSetUpToDate` of the proposal.
    statuses: RuleSet,
}

/// The flag `--concurrent-application-updates`, 1 by default.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct ConcurrentUpdates(NonZeroU32);

impl Default for ConcurrentUpdates {
    fn default() -> Self {
        Self(NonZeroU32::MIN)
    }
}

/// The field's name in the experiment, and its path in an ApplicationSet.
const IN_FILE: [(&str, &str); 1] = [("strategy", "spec.strategy")];

const REFUSED: &str = "Argo CD refuses this too and would not roll out at all";

/// Paths under which an unknown field is an error: the strategy and the back-off.
const STRICT: [&str; 2] = ["spec.strategy", BACKOFF];
const BACKOFF: &str = "spec.template.spec.syncPolicy.retry.backoff";

const DURATIONS: &str =
    "write e.g. `30s` or `1m30s`; a text of only digits, `\"30\"`, means seconds";

impl Product for ArgoCdConfig {
    const KEY: &'static str = "argoCd";
    const TITLE: &'static str = "Argo CD";
    const SUMMARY: &'static str = "Argo CD's ApplicationSet: RollingSync, or all at once.";
    const IN_FILE: &'static [(&'static str, &'static str)] = &IN_FILE;
    const TUNED: &'static [TunedSetting] = &[TunedSetting::of(
        "strategy.rollingSync.steps.*.maxUpdate",
        AT_ONCE,
    )];
    const CONTROL_LOOP: ControlLoop = CONTROL_LOOP;
    const AGENT: &'static AgentSpec = &super::agent::AGENT;

    fn targets(&self, path: &Path, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<Targets> {
        if targets::is_of_proposal(self.file_choice(path), context) {
            return None;
        }
        if self.generates() {
            targets::of(self.file_choice(path), fleet, context)
        } else {
            Some(Targets::All)
        }
    }

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let choice = self.file_choice(path);
        let file: ProductFile<ApplicationSetFile> =
            ProductFile::object(choice, &[targets::APPLICATION_SET], &STRICT, context)?;
        if let Some(document) = &file.document
            && self.controller == ControllerChoice::Upstream
        {
            targets::check_upstream(document, fleet, context);
        }
        let applications = match &file.document {
            Some(document) if self.generates() => {
                ApplicationSource::Generators(targets::parameters(document, fleet, context)?)
            }
            _ => ApplicationSource::Entries,
        };
        let release = match &file.document {
            Some(document) => targets::release(document, self.release, path, context)?,
            None => self.release.unwrap_or_default(),
        };
        if self.webhook && release != ArgoCdRelease::Commit {
            let message = "a webhook announces commits, but this release changes the spec";
            let help = "remove `webhook`, or write `release: commit`";
            context.report(&path.key("webhook"), message, help);
            return None;
        }
        let controller = path.key("applicationController");
        if context.is_set(&controller.key("cpuPerSync"))
            && self.application_controller.cpu.is_none()
        {
            context.report(
                &controller.key("cpuPerSync"),
                "`cpuPerSync` has no effect without `cpu`, the cores that the shards share",
                "write `cpu`, e.g. `cpu: 8` for one node of 8 cores, or remove `cpuPerSync`",
            );
        }
        let exceptions = ApplicationExceptions::find(
            &self.auto_sync_except,
            &self.skip_reconcile,
            path,
            fleet,
            context,
        )?;
        let places = FieldPlaces::new(path, file.document.as_ref(), &IN_FILE);
        let spec = self.spec(file.value.spec);
        let checked = if file.document.is_some() {
            let kind = file.value.kind;
            ApplicationSetFile { kind, spec }.check()
        } else {
            let is_valid = spec.steps().map(|_| ());
            is_valid.map(|()| spec)
        };
        let spec = match checked {
            Ok(spec) => spec,
            Err(error) => {
                report_refusal(&error, &places, context);
                return None;
            }
        };
        let backoff = spec.retry().and_then(|retry| retry.backoff.as_ref());
        if let Some(Err(error)) = backoff.map(RetryBackoff::waits) {
            let field = format!("{BACKOFF}.{}", error.field);
            places.report(&field, error.to_string(), DURATIONS, context);
            return None;
        }
        let mut native = ArgoCdStrategy {
            spec,
            options: ControllerOptions {
                version: self.version,
                ..self.options
            },
            release,
            has_webhook: self.webhook,
            exceptions,
            applications,
            application_controller: self.application_controller,
            concurrent_updates: self.concurrent_application_updates.0.get(),
            sync_windows: None,
        };
        if let Some(name) = &self.project {
            let windowed = native.windowed(file.document.as_ref(), fleet);
            let place = path.key("project");
            let windows = SyncWindows::read(name, &place, fleet.calendar, &windowed, context)?;
            native.sync_windows = Some(windows);
        }
        self.controller
            .apply(self.program(), Arc::new(native), path, context)
    }
}

/// Reports the reason why Argo CD would reject a set.
fn report_refusal(
    error: &ApplicationSetError,
    places: &FieldPlaces<'_>,
    context: &mut Context<'_>,
) {
    let (field, help) = match error {
        ApplicationSetError::Kind(_) => ("kind", REFUSED),
        ApplicationSetError::NoGenerators => ("spec.generators", REFUSED),
        // Steps that cannot be parsed are already reported and do not count as missing.
        ApplicationSetError::NoSteps if !context.is_untouched(&places.path.key("strategy")) => {
            return;
        }
        ApplicationSetError::NoSteps => (
            "spec.strategy.rollingSync.steps",
            "write a step, or leave out `rollingSync` to update all at once",
        ),
    };
    places.report(field, error.to_string(), help, context);
}

impl ArgoCdConfig {
    /// Describes Argo CD's own controllers and their flags.
    fn program(&self) -> Program<'_> {
        let mut settings = self
            .application_controller
            .upstream_settings(self.concurrent_application_updates.0);
        if self.generates() {
            settings.insert(
                "applicationSet.templateLabels".to_owned(),
                "true".to_owned(),
            );
        }
        Program {
            other_keys: UPSTREAM_KEYS,
            settings,
            ..Program::new(UpstreamProgram::ArgoCd, self.file.as_deref())
        }
    }

    fn file_choice<'c>(&'c self, path: &'c Path) -> FileChoice<'c> {
        FileChoice {
            name: self.file.as_deref(),
            path,
            accept: &self.accept,
            // These fields determine the applications, which are computed from them or reported as not computable.
            moot: &["spec.generators"],
        }
    }

    /// Returns whether the file's generators and template produce the applications.
    fn generates(&self) -> bool {
        self.file.is_some() && self.generate != Some(false)
    }

    /// Merges the fields set here into the file's spec, if there is one.
    fn spec(&self, mut spec: ApplicationSetSpec) -> ApplicationSetSpec {
        spec.strategy = self.strategy.clone().or(spec.strategy);
        if self.file.is_none() {
            set_auto_sync(&mut spec, true);
        }
        if let Some(auto_sync) = self.auto_sync {
            set_auto_sync(&mut spec, auto_sync);
        }
        if self.applications_sync.is_some() {
            spec.sync_policy.get_or_insert_default().applications_sync = self.applications_sync;
        }
        spec
    }
}

impl Product for ProposalConfig {
    const KEY: &'static str = "argoCdProposal";
    const TITLE: &'static str = "Argo CD's proposal";
    const SUMMARY: &'static str =
        "The RollingUpdate strategy that was proposed for Argo CD and never shipped.";
    const IN_FILE: &'static [(&'static str, &'static str)] = &IN_FILE;
    const TUNED: &'static [TunedSetting] = &[TunedSetting::of(
        "strategy.rollingUpdate.steps.*.maxUpdate",
        AT_ONCE,
    )];
    const CONTROL_LOOP: ControlLoop = CONTROL_LOOP;
    const AGENT: &'static AgentSpec = &super::agent::AGENT;

    fn targets(&self, path: &Path, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<Targets> {
        if self.generates() {
            targets::of(self.file_choice(path), fleet, context)
        } else {
            Some(Targets::All)
        }
    }

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let choice = self.file_choice(path);
        let file: ProductFile<ProposalFile> =
            ProductFile::object(choice, &[targets::APPLICATION_SET], &STRICT, context)?;
        let places = FieldPlaces::new(path, file.document.as_ref(), &IN_FILE);
        let generated = match &file.document {
            Some(document) if self.generates() => Some(GeneratedLabels {
                parameters: targets::parameters(document, fleet, context)?,
                spec: context.read_from(document, &Path::of("spec"), |error| !error.is_of_key())?,
            }),
            _ => None,
        };
        let proposal = ArgoCdProposal {
            strategy: self.strategy.clone().unwrap_or(file.value.spec.strategy),
            generated,
            statuses: self.statuses,
        };
        let applications = proposal.applications(&fleet.world.clusters);
        if let Err(error) = ProposedRollingUpdate::new(&proposal.strategy, &applications) {
            let field = format!("spec.{}", error.field);
            places.report(
                &field,
                error.to_string(),
                "the proposal does not define this field",
                context,
            );
            return None;
        }
        Some(Arc::new(proposal))
    }
}

impl ProposalConfig {
    fn file_choice<'c>(&'c self, path: &'c Path) -> FileChoice<'c> {
        FileChoice {
            name: self.file.as_deref(),
            path,
            accept: &self.accept,
            // The effect of these fields is computed, so `accept` need not list them.
            moot: if self.generates() {
                &["spec.generators"]
            } else {
                &[]
            },
        }
    }

    /// Returns whether the file's generators and template create the applications.
    fn generates(&self) -> bool {
        self.file.is_some() && self.generate
    }
}

fn set_auto_sync(spec: &mut ApplicationSetSpec, auto_sync: bool) {
    let policy = spec.template.spec.sync_policy.get_or_insert_default();
    if auto_sync {
        policy.automated.get_or_insert_default().enabled = Some(true);
    } else if let Some(Automated { enabled, .. }) = &mut policy.automated {
        *enabled = Some(false);
    }
}
