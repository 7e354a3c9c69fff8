//! Argo CD's exported Applications: the choice of applications, and a target for each.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use super::argo_clusters::{ArgoCluster, ArgoClusterFacts};
use super::argo_own::{
    self, ApplicationDestination, ArgoApplicationSpec, OwnSettings, SkippedStatus,
};
use super::argo_status::{ApplicationStatusJson, StateSurvey};
use super::fleet::check_objects;
use super::left_out::left_out;
use super::site;
use super::target::FleetTarget;
use super::windows::ProjectMember;
use crate::document::problem::{OrProblems, Problem, some_of};
use crate::products::argo_cd::WindowedApplication;
use crate::scenario::import::object::{KubeObject, OrDefault};
use crate::scenario::import::objects::ReadObject;
use crate::world::SiteKind;

pub(super) type ApplicationObject = KubeObject<ArgoApplicationSpec, ApplicationStatusJson>;

/// The targets of an import, before the strategy.
pub(super) struct GeneratedFleet {
    /// The file from which targets are imported.
    pub(super) origin: String,
    pub(super) targets: Vec<FleetTarget>,
    /// The individual settings of each target's application.
    pub(super) own: Vec<OwnSettings>,
    /// The exported applications, as sync windows select them. Empty: they were not exported.
    pub(super) members: Vec<ProjectMember>,
}

/// The criteria for choosing applications.
pub(super) struct ApplicationChoice<'c> {
    pub(super) namespace: Option<&'c str>,
    /// The namespace and name of the ApplicationSet.
    pub(super) owner: Option<(&'c str, &'c str)>,
    /// The file with the applications.
    pub(super) file: &'c str,
    /// The clusters, if they were also exported.
    pub(super) known: Option<&'c ArgoClusterFacts>,
}

impl ApplicationChoice<'_> {
    /// Returns a target for each application.
    pub(super) fn fleet(
        &self,
        found: &[ReadObject<'_, ApplicationObject>],
        notes: &mut Vec<String>,
    ) -> OrProblems<GeneratedFleet> {
        check_objects(found)?;
        let all: Vec<&ApplicationObject> = found.iter().map(|read| &read.value).collect();
        let mut in_space = all.clone();
        in_space.retain(|application| self.is_in_namespace(application));
        let mut staying = in_space.clone();
        staying.retain(|application| !application.is_leaving());
        let owned = self.owned(&staying)?;
        let elsewhere = all.len() - in_space.len();
        notes.extend(left_out(elsewhere, "application", "of other namespaces"));
        let deleted = in_space.len() - staying.len();
        notes.extend(left_out(deleted, "application", "being deleted"));
        notes.extend(left_out(
            staying.len() - owned.len(),
            "application",
            "belonging to other ApplicationSets or to none",
        ));
        if owned.is_empty() {
            return Err(self.nothing_left(&all));
        }
        let mut targets = self.targets(&owned);
        let mut own = Vec::new();
        let mut members = Vec::new();
        let mut survey = StateSurvey::default();
        for (application, target) in owned.iter().zip(&mut targets) {
            let cluster = self.known_cluster(application);
            let is_cut_off = cluster.is_some_and(|cluster| cluster.has_failed);
            survey.add(target, application.status.shows(is_cut_off));
            own.push(own_settings(application, &target.name, cluster));
            members.push(project_member(application, &target.name));
        }
        notes.extend(survey.notes());
        Ok(GeneratedFleet {
            origin: self.file.to_owned(),
            targets,
            own,
            members,
        })
    }

    /// Returns whether an application is in the requested namespace. True if no namespace is requested.
    fn is_in_namespace(&self, application: &ApplicationObject) -> bool {
        match self.namespace {
            Some(namespace) => application.namespace() == namespace,
            None => true,
        }
    }

    /// Returns the problem with an export that has no application to update.
    fn nothing_left(&self, all: &[&ApplicationObject]) -> Vec<Problem> {
        let mut namespaces = BTreeSet::new();
        for application in all {
            namespaces.insert(application.namespace().to_owned());
        }
        let namespaces: Vec<String> = namespaces.into_iter().collect();
        let problem = Problem::of_file(self.file, "no application is left to roll out to");
        vec![problem.with_help(format!(
            "applications are in the namespaces {}",
            some_of(&namespaces)
        ))]
    }

    /// Returns a target for each application. Applications in the same cluster share its link.
    fn targets(&self, applications: &[&ApplicationObject]) -> Vec<FleetTarget> {
        let mut per_cluster: BTreeMap<String, usize> = BTreeMap::new();
        for application in applications {
            *per_cluster.entry(self.cluster_of(application)).or_default() += 1;
        }
        let mut names = applications.iter().map(|application| application.name());
        let is_unique = names.all_unique();
        let mut targets = Vec::new();
        for application in applications {
            let cluster = self.cluster_of(application);
            let is_shared = per_cluster[&cluster] > 1 && !cluster.is_empty();
            let name = application.name();
            targets.push(FleetTarget {
                name: if is_unique {
                    name.to_owned()
                } else {
                    format!("{}/{name}", application.namespace())
                },
                labels: application.labels(),
                region: is_shared.then_some(cluster),
                shown_site: match self.known_cluster(application) {
                    Some(cluster) => cluster.site(),
                    None => site_of(&application.spec.destination),
                },
                ..FleetTarget::default()
            });
        }
        targets
    }

    /// Returns the name of an application's cluster.
    fn cluster_of(&self, application: &ApplicationObject) -> String {
        match self.known {
            Some(known) => destination(application, &known.names),
            None => destination(application, &BTreeMap::new()),
        }
    }

    /// Returns an application's cluster, if that was exported.
    fn known_cluster(&self, application: &ApplicationObject) -> Option<&ArgoCluster> {
        self.known?.find(&self.cluster_of(application))
    }

    /// Returns the applications of the ApplicationSet, or all applications if none of them has an owner.
    fn owned<'a>(
        &self,
        applications: &[&'a ApplicationObject],
    ) -> OrProblems<Vec<&'a ApplicationObject>> {
        let Some((space, owner)) = self.owner.filter(|(_, owner)| !owner.is_empty()) else {
            return Ok(applications.to_vec());
        };
        let mut owned = applications.to_vec();
        owned.retain(|application| is_owned(application, space, owner));
        if !owned.is_empty() {
            return Ok(owned);
        }
        let mut others = BTreeSet::new();
        for application in applications {
            for other in owners(application) {
                others.insert(in_words(application.namespace(), other));
            }
        }
        if others.is_empty() {
            return Ok(applications.to_vec());
        }
        let others: Vec<String> = others.into_iter().collect();
        let message = format!(
            "no application belongs to the ApplicationSet `{}`",
            in_words(space, owner)
        );
        let help = format!(
            "the applications belong to {}; pass its file with --strategy",
            some_of(&others)
        );
        Err(vec![Problem::of_file(self.file, message).with_help(help)])
    }
}

/// Returns an application's individual settings. `name`: the name of its target.
fn own_settings(
    application: &ApplicationObject,
    name: &str,
    cluster: Option<&ArgoCluster>,
) -> OwnSettings {
    let is_skipped = argo_own::is_skipped(&application.metadata.annotations)
        || cluster.is_some_and(|cluster| cluster.is_skipped);
    let status = || SkippedStatus {
        sync: application.status.sync().to_owned(),
        health: application.status.health().to_owned(),
    };
    OwnSettings {
        name: name.to_owned(),
        is_automated: Some(application.spec.is_automated()),
        skipped: is_skipped.then(status),
        moving: application.spec.moving_revision().map(str::to_owned),
        not_simulated: application.spec.not_simulated(),
    }
}

/// Returns an application as sync windows select it. `name`: the name of its target.
fn project_member(application: &ApplicationObject, name: &str) -> ProjectMember {
    let ApplicationDestination {
        server: OrDefault(server),
        name: OrDefault(cluster),
        namespace: OrDefault(namespace),
    } = &*application.spec.destination;
    ProjectMember {
        project: argo_own::project_name(&application.spec.project).to_owned(),
        target: name.to_owned(),
        application: WindowedApplication {
            name: application.name().to_owned(),
            cluster: cluster.clone(),
            server: Some(server.clone()),
            namespace: Some(namespace.clone()),
        },
    }
}

/// Returns whether an application belongs to an ApplicationSet, which is always in the application's namespace.
fn is_owned(application: &ApplicationObject, space: &str, owner: &str) -> bool {
    let own = application.namespace();
    let is_same_space = own == space || own.is_empty() || space.is_empty();
    owners(application).contains(&owner) && is_same_space
}

/// Returns the names of the ApplicationSets that have generated an application.
fn owners(application: &ApplicationObject) -> Vec<&str> {
    let references = &application.metadata.owner_references;
    references
        .iter()
        .filter(|owner| owner.kind.as_deref() == Some("ApplicationSet"))
        .filter_map(|owner| owner.name.as_deref())
        .collect()
}

/// Returns the name of an object, including its namespace if it has one.
fn in_words(space: &str, name: &str) -> String {
    if space.is_empty() {
        name.to_owned()
    } else {
        format!("{space}/{name}")
    }
}

/// Returns the kind of site that a destination indicates, if its cluster was not exported.
fn site_of(destination: &ApplicationDestination) -> Option<SiteKind> {
    site::of_cluster(&destination.server, &destination.name, &BTreeMap::new())
}

/// Returns the cluster of an application: its name, or its server if the name is unknown.
fn destination(application: &ApplicationObject, names: &BTreeMap<String, String>) -> String {
    let ApplicationDestination {
        server: OrDefault(server),
        name: OrDefault(name),
        ..
    } = &*application.spec.destination;
    if name.is_empty() {
        names.get(server).unwrap_or(server).clone()
    } else {
        name.clone()
    }
}
