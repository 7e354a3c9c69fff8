//! Settings of individual exported Applications: automated sync, the annotation `skip-reconcile`, and the revision
//! that they follow.
//!
//! An ApplicationSet writes its template into its applications, so an export differs from the template only in fields
//! that the set does not manage or has not written yet. The export takes precedence. In a set with a RollingSync no
//! application syncs automatically, and the set's controller writes `automated: {enabled: false}`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::draft::StrategyDraft;
use super::guess::Guess;
use crate::document::problem::some_of;
use crate::document::yaml::quoted;
use crate::products::argo_cd::follows_commits;
use crate::scenario::import::object::{IgnoredPart, OrDefault};

/// The relevant part of the specification of an Application or of an ApplicationSet's template.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArgoApplicationSpec {
    pub(super) destination: OrDefault<ApplicationDestination>,
    pub(super) project: OrDefault<String>,
    sync_policy: OrDefault<OwnSyncPolicy>,
    source: Option<RevisionSource>,
    sources: OrDefault<Vec<RevisionSource>>,
    ignore_differences: OrDefault<Vec<IgnoredPart>>,
    source_hydrator: Option<IgnoredPart>,
}

#[derive(Default, Deserialize)]
pub(super) struct ApplicationDestination {
    pub(super) server: OrDefault<String>,
    pub(super) name: OrDefault<String>,
    pub(super) namespace: OrDefault<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnSyncPolicy {
    automated: Option<OwnAutomated>,
    retry: Option<IgnoredPart>,
    sync_options: OrDefault<Vec<String>>,
}

/// Sync options that affect the rollout but are not simulated. The table of fields lists their effects.
const DECIDING_OPTIONS: [&str; 3] = [
    "ApplyOutOfSyncOnly=true",
    "FailOnSharedResource=true",
    "RespectIgnoreDifferences=true",
];

#[derive(Deserialize)]
struct OwnAutomated {
    enabled: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RevisionSource {
    target_revision: OrDefault<String>,
}

impl ArgoApplicationSpec {
    /// Returns whether the application syncs automatically: `IsAutomatedSyncEnabled` in
    /// `pkg/apis/application/v1alpha1/types.go`.
    pub(super) fn is_automated(&self) -> bool {
        let automated = self.sync_policy.automated.as_ref();
        automated.is_some_and(|automated| automated.enabled != Some(false))
    }

    /// Returns the fields of an application without a set that affect the rollout but are not simulated.
    pub(super) fn not_simulated(&self) -> Vec<&'static str> {
        let policy = &self.sync_policy;
        let mut fields = Vec::new();
        if !self.ignore_differences.is_empty() {
            fields.push("spec.ignoreDifferences");
        }
        if self.source_hydrator.is_some() {
            fields.push("spec.sourceHydrator");
        }
        if policy.retry.is_some() {
            fields.push("spec.syncPolicy.retry");
        }
        let mut options = policy.sync_options.iter();
        if options.any(|option| DECIDING_OPTIONS.contains(&option.as_str())) {
            fields.push("spec.syncPolicy.syncOptions");
        }
        fields
    }

    /// Returns a source's revision whose meaning changes with new commits. `None`: each revision stands for one
    /// commit.
    pub(super) fn moving_revision(&self) -> Option<&str> {
        let mut sources = self.source.iter().chain(self.sources.iter());
        let source = sources.find(|source| follows_commits(&source.target_revision))?;
        let revision = source.target_revision.as_str();
        Some(if revision.is_empty() {
            "HEAD"
        } else {
            revision
        })
    }
}

/// Returns the name of an application's project. Source: `GetProject` in `pkg/apis/application/v1alpha1/types.go`.
pub(super) fn project_name(written: &str) -> &str {
    if written.is_empty() {
        "default"
    } else {
        written
    }
}

/// The annotation that makes Argo CD's application controller ignore an Application or a cluster.
const SKIP_RECONCILE: &str = "argocd.argoproj.io/skip-reconcile";

/// Returns whether annotations make Argo CD ignore an object. The value is parsed like `strconv.ParseBool`; an invalid
/// value counts as false (`canProcessApp` in `controller/appcontroller.go`).
pub(super) fn is_skipped(annotations: &BTreeMap<String, String>) -> bool {
    let value = annotations.get(SKIP_RECONCILE).map(String::as_str);
    value.is_some_and(|value| ["1", "t", "T", "TRUE", "true", "True"].contains(&value))
}

/// The unchanging status of a skipped application.
#[derive(Clone, Debug)]
pub(super) struct SkippedStatus {
    pub(super) sync: String,
    pub(super) health: String,
}

impl SkippedStatus {
    /// Returns the status of an application whose status was not exported: Synced and Healthy.
    pub(super) fn settled() -> Self {
        Self {
            sync: "Synced".to_owned(),
            health: "Healthy".to_owned(),
        }
    }

    /// Returns the sync status and health as the experiment names them. Other values, such as those of an application
    /// that was never compared, become `Unknown`.
    fn words(&self) -> (&str, &str) {
        const HEALTHS: [&str; 5] = ["Healthy", "Progressing", "Degraded", "Missing", "Suspended"];
        let sync = match self.sync.as_str() {
            known @ ("Synced" | "OutOfSync") => known,
            _ => "Unknown",
        };
        let health = self.health.as_str();
        let is_known = HEALTHS.contains(&health);
        (sync, if is_known { health } else { "Unknown" })
    }
}

/// The individual settings of one application, identified by its target's name.
#[derive(Clone, Debug)]
pub(super) struct OwnSettings {
    pub(super) name: String,
    /// Whether the application syncs automatically. `None`: the export does not tell, so the template's setting
    /// applies.
    pub(super) is_automated: Option<bool>,
    /// The status that the application keeps if it is skipped. `None`: the application is not skipped.
    pub(super) skipped: Option<SkippedStatus>,
    /// The revision whose meaning changes with new commits. `None`: there is none, or the export does not contain it.
    pub(super) moving: Option<String>,
    /// Fields that affect the rollout but are not simulated.
    pub(super) not_simulated: Vec<&'static str>,
}

/// The set's settings for automatic sync and its timing. The default stands for no set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SetSync<'s> {
    pub(super) is_there: bool,
    /// Whether the set has steps.
    pub(super) is_rolling: bool,
    /// Whether the set's template has an enabled `syncPolicy.automated`.
    pub(super) is_automated: bool,
    /// The template's revision whose meaning changes with new commits.
    pub(super) moving: Option<&'s str>,
}

/// Adds the settings that exported applications require to a draft, and notes about them.
pub(super) fn add_settings(
    own: &[OwnSettings],
    set: SetSync<'_>,
    draft: &mut StrategyDraft,
    notes: &mut Vec<String>,
) {
    if set.is_rolling {
        notes.extend(note_on_rolling(own));
    } else {
        auto_sync(own, set, draft, notes);
    }
    skip_reconcile(own, draft, notes);
    // The fields in a set's template belong to the set's file, and are classified separately.
    if !set.is_there {
        notes.extend(notes_on_not_simulated(own));
    }
    release(own, set, draft, notes);
}

/// Returns a line for each field that affects the rollout but is not simulated.
fn notes_on_not_simulated(own: &[OwnSettings]) -> Vec<String> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for own in own {
        for field in &own.not_simulated {
            found.entry(field).or_default().push(own.name.clone());
        }
    }
    let mut notes = Vec::new();
    for (field, names) in found {
        notes.push(format!(
            "`{field}` is not simulated and can change the answer: {}",
            some_of(&names)
        ));
    }
    notes
}

/// Returns the note about applications with automated sync in a set with a RollingSync.
fn note_on_rolling(own: &[OwnSettings]) -> Option<String> {
    let automated = names(own, |own| own.is_automated == Some(true));
    if automated.is_empty() {
        return None;
    }
    Some(format!(
        "{} of {} have automated sync, which a RollingSync turns off: simulated as turned off; if the exported set is \
         already rolling out, its controller runs without --enable-progressive-syncs: write `options: \
         {{enableProgressiveSyncs: false}}` below `argoCd`",
        automated.len(),
        own.len()
    ))
}

/// Adds the setting for applications with automated sync, if there is no RollingSync.
fn auto_sync(
    own: &[OwnSettings],
    set: SetSync<'_>,
    draft: &mut StrategyDraft,
    notes: &mut Vec<String>,
) {
    let automated = names(own, |own| own.is_automated == Some(true));
    let manual = names(own, |own| own.is_automated == Some(false));
    let of_template = !set.is_there || set.is_automated;
    let is_automated = if manual.is_empty() && automated.is_empty() {
        of_template
    } else {
        automated.len() >= manual.len()
    };
    if is_automated != of_template {
        draft.shown.push(format!("autoSync: {is_automated}"));
    }
    let others = if is_automated { &manual } else { &automated };
    if !others.is_empty() {
        draft.shown.push("autoSyncExcept:".to_owned());
        for name in others {
            draft.shown.push(format!("  - {}", quoted(name)));
        }
    }
    if !manual.is_empty() {
        notes.push(note_on_manual(&manual, own.len(), set));
    } else if !automated.is_empty() && set.is_there && !set.is_automated {
        notes.push(
            "the applications have automated sync, although the template has none: taken as exported, by `autoSync`"
                .to_owned(),
        );
    }
}

/// Returns the note about applications without automated sync. `all`: the total number of applications.
fn note_on_manual(manual: &[String], all: usize, set: SetSync<'_>) -> String {
    let against = if set.is_there && set.is_automated {
        ", although the template has it: as exported, a user syncs them"
    } else {
        ": a user syncs them"
    };
    format!(
        "{} of {all} have no automated sync ({}){against}; see `autoSync` and `autoSyncExcept` of argoCd",
        manual.len(),
        some_of(manual)
    )
}

/// Adds the setting for applications that Argo CD ignores.
fn skip_reconcile(own: &[OwnSettings], draft: &mut StrategyDraft, notes: &mut Vec<String>) {
    let skipped = names(own, |own| own.skipped.is_some());
    if skipped.is_empty() {
        return;
    }
    draft.shown.push("skipReconcile:".to_owned());
    for own in own {
        if let Some(status) = &own.skipped {
            let (sync, health) = status.words();
            let name = quoted(&own.name);
            draft.shown.push(format!(
                "  - {{name: {name}, sync: {sync}, health: {health}}}"
            ));
        }
    }
    notes.push(format!(
        "`skip-reconcile` keeps Argo CD from comparing or syncing {}; see `skipReconcile` of argoCd",
        some_of(&skipped)
    ));
}

/// Adds the kind of release, which is by commit if a revision's meaning changes with new commits. A set's file already
/// determines its kind.
fn release(
    own: &[OwnSettings],
    set: SetSync<'_>,
    draft: &mut StrategyDraft,
    notes: &mut Vec<String>,
) {
    let moving = names(own, |own| own.moving.is_some());
    let own_revision = own.iter().find_map(|own| own.moving.as_deref());
    let revision = if set.is_there {
        set.moving
    } else {
        own_revision
    };
    let Some(revision) = revision else { return };
    if !set.is_there {
        draft.shown.push("release: commit".to_owned());
        if moving.len() < own.len() {
            notes.push(format!(
                "{} of {} follow commits; the others name a tag or a commit, and are simulated as if they followed them \
                 too",
                moving.len(),
                own.len()
            ));
        }
    }
    draft.guesses.push(Guess::webhook());
    notes.push(format!(
        "`targetRevision` is {revision}, so a release is a commit, which applications find by polling, within 5 min; \
         set `webhook: true` in argoCd if a webhook announces it"
    ));
}

/// Returns the names of the applications for which `is_meant` is true.
fn names(own: &[OwnSettings], is_meant: fn(&OwnSettings) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for own in own {
        if is_meant(own) {
            names.push(own.name.clone());
        }
    }
    names
}
