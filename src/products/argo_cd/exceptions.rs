//! Applications in an export that differ from the set's template: in automated sync, or because the application
//! controller ignores them.
//!
//! Follows argoproj/argo-cd 37ee0097. `createOrUpdateInCluster` (`applicationset_controller.go`) writes the template's
//! spec and annotations into each application, so a difference persists only where the set does not overwrite it: with
//! `ignoreApplicationDifferences`, `preservedFields`, `templatePatch` or `applicationsSync`.
//! - `autoSync` (`appcontroller.go`) begins no operation unless `syncPolicy.automated` is present and enabled. A set
//!   with a RollingSync disables it on each application (`disableAutomatedSync` in `progressive_sync.go`) and requests
//!   the syncs itself, so the difference has no effect there.
//! - `canProcessApp` (`appcontroller.go`): an application whose annotation `argocd.argoproj.io/skip-reconcile` is true
//!   gets no events. It is never compared and runs no operation, and its status does not change. The ApplicationSet
//!   controller does not know the annotation: it writes the spec, and derives the row from the unchanged status.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::problem::nearest;
use crate::products::Fleet;
use crate::rollout::argo_cd::{Application, Health, SyncStatus};
use crate::world::ClusterId;

/// An application that Argo CD's application controller ignores: the annotation `argocd.argoproj.io/skip-reconcile` is
/// true. It keeps its version and its status.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SkippedApplication {
    /// The name of the application's entry in the fleet.
    name: String,
    /// `status.sync.status`.
    #[serde(default)]
    sync: KeptSync,
    /// `status.health.status`.
    #[serde(default)]
    health: KeptHealth,
}

/// The sync status that an application keeps.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
enum KeptSync {
    #[default]
    Synced,
    OutOfSync,
    Unknown,
}

/// The health that an application keeps.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
enum KeptHealth {
    #[default]
    Healthy,
    Progressing,
    Degraded,
    Missing,
    Suspended,
    Unknown,
}

/// The status of an application that is never compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptStatus {
    /// The sync status.
    pub sync: SyncStatus,
    /// The health.
    pub health: Health,
}

impl KeptStatus {
    /// Returns whether a row of a rolling set becomes Healthy with this status.
    pub(super) fn is_settled(self) -> bool {
        self.sync == SyncStatus::Synced && self.health == Health::Healthy
    }

    /// Sets this status on an application, with a time long before the rollout.
    pub(super) fn keep(self, application: Application) -> Application {
        Application {
            sync: self.sync,
            health: self.health,
            ..application
        }
    }
}

impl From<&SkippedApplication> for KeptStatus {
    fn from(skipped: &SkippedApplication) -> Self {
        Self {
            sync: match skipped.sync {
                KeptSync::Synced => SyncStatus::Synced,
                KeptSync::OutOfSync => SyncStatus::OutOfSync,
                KeptSync::Unknown => SyncStatus::Unknown,
            },
            health: match skipped.health {
                KeptHealth::Healthy => Health::Healthy,
                KeptHealth::Progressing => Health::Progressing,
                KeptHealth::Degraded => Health::Degraded,
                KeptHealth::Missing => Health::Missing,
                KeptHealth::Suspended => Health::Suspended,
                KeptHealth::Unknown => Health::Unknown,
            },
        }
    }
}

/// Applications that differ from the template, by their index in the fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationExceptions {
    /// Applications whose automated sync is the opposite of the template's.
    pub other_auto_sync: BTreeSet<u32>,
    /// Applications that the application controller ignores, with their unchanging status.
    pub skipped: BTreeMap<u32, KeptStatus>,
}

impl ApplicationExceptions {
    /// Returns whether the application controller ignores an application.
    pub(super) fn is_skipped(&self, index: usize) -> bool {
        self.skipped.contains_key(&(index as u32))
    }

    /// Returns whether an application has the opposite of the template's automated sync.
    pub(super) fn has_other_auto_sync(&self, index: usize) -> bool {
        self.other_auto_sync.contains(&(index as u32))
    }

    /// Finds the named applications. `None`: a name is unknown or used twice, which was reported. `path`: the
    /// strategy's path in the experiment.
    pub(super) fn find(
        other_auto_sync: &[String],
        skipped: &[SkippedApplication],
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Self> {
        let names = NamedEntries::of(fleet);
        let mut found = Self::default();
        let place = path.key("autoSyncExcept");
        for (at, name) in other_auto_sync.iter().enumerate() {
            let index = names.find(name, &place.index(at), context)?;
            if !found.other_auto_sync.insert(index.0) {
                report_second(name, &place.index(at), context);
                return None;
            }
        }
        let place = path.key("skipReconcile");
        for (at, application) in skipped.iter().enumerate() {
            let place = place.index(at).key("name");
            let index = names.find(&application.name, &place, context)?;
            let before = found.skipped.insert(index.0, application.into());
            if before.is_some() {
                report_second(&application.name, &place, context);
                return None;
            }
        }
        Some(found)
    }
}

/// The entries of the fleet by name.
struct NamedEntries<'f> {
    ids: BTreeMap<&'f str, ClusterId>,
}

impl<'f> NamedEntries<'f> {
    fn of(fleet: Fleet<'f>) -> Self {
        let mut ids = BTreeMap::new();
        for (index, cluster) in fleet.world.clusters.iter().enumerate() {
            ids.insert(cluster.name.as_str(), ClusterId::at(index));
        }
        Self { ids }
    }

    /// Returns the entry with this name. `None`: there is no such entry, which was reported at `place`.
    fn find(&self, name: &str, place: &Path, context: &mut Context<'_>) -> Option<ClusterId> {
        let found = self.ids.get(name).copied();
        if found.is_none() {
            let help = match nearest(name, self.ids.keys().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "write the name of an entry of the fleet".to_owned(),
            };
            let message = format!("no application belongs to the entry `{name}`");
            context.report(place, message, &help);
        }
        found
    }
}

fn report_second(name: &str, place: &Path, context: &mut Context<'_>) {
    let message = format!("`{name}` is named twice");
    context.report(place, message, "remove one of the two");
}
