//! Windows of an export: Fleet's Schedules, and the sync windows of Argo CD's projects.
//!
//! The objects may be in any file of the import. Fleet's Schedules are copied if they select a target. Argo CD selects
//! the applications of a window by their names and destinations (`Matches` in
//! `pkg/apis/application/v1alpha1/types.go`). An experiment has no destinations, so the copy names the applications.
//! Windows of several projects become windows of one project, because each names only applications of its own project.
//!
//! No export contains the time of the start, so it becomes a guess: the time of the import. Left out: the windows of
//! global projects, and the state of a Schedule, which follows from its times.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kinds::{ExpectedKind, ExportShape, PROJECTS, SCHEDULES};
use super::left_out::left_out;
use super::sources::Texts;
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::document::yaml::to_yaml;
use crate::products::argo_cd::{ExportedWindow, WindowedApplication};
use crate::rollout::rancher_fleet::{FleetCluster, ManualPartition, selected_by};
use crate::scenario::import::object::{IgnoredPart, KubeObject, OrDefault};
use crate::scenario::import::objects::{ExportObject, objects_of_product};
use crate::units::counted;

/// The start of an experiment whose import has no clock.
const UNKNOWN_START: &str = "2026-01-05 22:00";

/// A file with windows, next to the experiment.
pub(super) struct WindowsFile {
    /// The setting of the strategy that names the file.
    pub(super) setting: &'static str,
    /// The name of the file.
    pub(super) name: &'static str,
    /// The files that the windows come from, for messages.
    pub(super) origin: String,
    pub(super) text: String,
    /// The assumed start of the rollout, as the experiment has it.
    pub(super) start: String,
}

/// The windows of an import.
#[derive(Default)]
pub(super) struct ImportedWindows {
    /// `None`: no target has windows.
    pub(super) file: Option<WindowsFile>,
    /// One line for each item that was read.
    pub(super) read: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// The objects of one kind in all files of an import.
struct WindowObjects {
    found: Vec<WindowObject>,
    /// The files that have such objects.
    files: BTreeSet<String>,
}

/// A Schedule or a project of an export.
struct WindowObject {
    value: Value,
    source: Arc<Source>,
    /// The index of the object in its file.
    number: usize,
}

impl WindowObject {
    fn name(&self) -> &str {
        self.value["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Returns a problem with a field, at its position in the file.
    fn problem(&self, field: &str, message: String) -> Vec<Problem> {
        let objects = objects_of_product(&self.source).unwrap_or_default();
        match objects.get(self.number) {
            Some(object) => vec![object.problem(field, message)],
            None => vec![Problem::of_file(&self.source.name, message)],
        }
    }
}

impl WindowObjects {
    fn find(texts: &Texts, kind: &ExpectedKind) -> Self {
        let mut found = Self {
            found: Vec::new(),
            files: BTreeSet::new(),
        };
        for source in texts.sources() {
            found.add(source, kind);
        }
        found
    }

    /// Adds the objects of a file. Problems of the file are reported where the file is read.
    fn add(&mut self, source: &Arc<Source>, kind: &ExpectedKind) {
        // Most files have none, and some have 100,000 objects of other kinds.
        if !kind.may_be_in(&source.text) {
            return;
        }
        let objects = objects_of_product(source).unwrap_or_default();
        for (number, object) in objects.iter().enumerate() {
            if ExportShape::of(object).is_of(kind) && !is_leaving(object) {
                self.found.push(WindowObject {
                    value: object.to_json(),
                    source: Arc::clone(source),
                    number,
                });
                self.files.insert(source.name.clone());
            }
        }
    }

    fn origin(&self) -> String {
        Vec::from_iter(self.files.iter().cloned()).join(", ")
    }
}

/// Whether an object is being deleted.
fn is_leaving(object: &ExportObject<'_>) -> bool {
    let read = object.try_read::<KubeObject<IgnoredPart, IgnoredPart>>();
    read.is_ok_and(|object| object.is_leaving())
}

/// Returns the start that an experiment with windows assumes, in UTC.
fn assumed_start(clock: Option<Timestamp>) -> String {
    match clock {
        Some(clock) => clock.strftime("%Y-%m-%d %H:%M").to_string(),
        None => UNKNOWN_START.to_owned(),
    }
}

/// A Schedule, as far as it selects clusters.
type ScheduleObject = KubeObject<ScheduleSelection, IgnoredPart>;

#[derive(Default, Deserialize)]
struct ScheduleSelection {
    targets: OrDefault<SelectedClusters>,
}

#[derive(Default, Deserialize)]
struct SelectedClusters {
    clusters: OrDefault<Vec<ManualPartition>>,
}

impl ScheduleSelection {
    /// Whether an entry names or selects cluster groups.
    fn uses_groups(&self) -> bool {
        let mut entries = self.targets.clusters.iter();
        entries
            .any(|entry| !entry.cluster_group.is_empty() || entry.cluster_group_selector.is_some())
    }
}

/// The targets of a Fleet rollout, as its Schedules select them.
pub(super) struct ScheduledFleet<'f> {
    /// The workspace.
    pub(super) space: &'f str,
    pub(super) targets: Vec<FleetCluster>,
    /// Whether the cluster groups were exported.
    pub(super) has_groups: bool,
    pub(super) clock: Option<Timestamp>,
}

impl ScheduledFleet<'_> {
    /// Reads the Schedules in all files.
    ///
    /// # Errors
    /// Returns the problems of Schedules with fields of a wrong type or with invalid selectors.
    pub(super) fn windows(&self, texts: &Texts) -> OrProblems<ImportedWindows> {
        let found = WindowObjects::find(texts, &SCHEDULES);
        let mut imported = ImportedWindows::default();
        let mut scheduled = BTreeSet::new();
        let mut kept = Vec::new();
        let mut elsewhere = 0;
        let mut unused = 0;
        for schedule in &found.found {
            if schedule.value["metadata"]["namespace"] != self.space {
                elsewhere += 1;
                continue;
            }
            let selected = self.selected(schedule, &mut imported.notes)?;
            if selected.is_empty() {
                unused += 1;
            } else {
                scheduled.extend(selected);
                kept.push(&schedule.value);
            }
        }
        let notes = &mut imported.notes;
        let outside = format!("outside of {}", self.space);
        notes.extend(left_out(elsewhere, "Schedule", &outside));
        notes.extend(left_out(unused, "Schedule", "that selects no target"));
        notes.extend(self.note_on_missing(texts, &scheduled));
        if !kept.is_empty() {
            let count = counted(kept.len(), "Schedule");
            let clusters = counted(scheduled.len(), "cluster");
            let origin = found.origin();
            imported
                .read
                .push(format!("{origin}: {count} for {clusters}"));
            imported.file = Some(WindowsFile {
                setting: "schedules",
                name: "schedules.yaml",
                origin: format!("{origin} (Schedules)"),
                text: copied(&kept),
                start: assumed_start(self.clock),
            });
        }
        Ok(imported)
    }

    /// Returns the names of the targets that a Schedule selects.
    fn selected(
        &self,
        schedule: &WindowObject,
        notes: &mut Vec<String>,
    ) -> OrProblems<Vec<String>> {
        const TARGETS: &str = "spec.targets.clusters";
        let read = serde_json::from_value::<ScheduleObject>(schedule.value.clone());
        let read = read.map_err(|error| schedule.problem(TARGETS, error.to_string()))?;
        if read.spec.uses_groups() && !self.has_groups {
            let name = schedule.name();
            notes.push(format!(
                "the Schedule `{name}` selects cluster groups, which select nothing: add --cluster-groups"
            ));
        }
        let entries = &read.spec.targets.clusters;
        let is_selected = selected_by(entries, &self.targets).map_err(|(entry, error)| {
            schedule.problem(&format!("{TARGETS}[{entry}]"), error.to_string())
        })?;
        let mut names = Vec::new();
        for (target, is_selected) in self.targets.iter().zip(is_selected) {
            if is_selected {
                names.push(target.name.clone());
            }
        }
        Ok(names)
    }

    /// Returns the note about targets that have a Schedule, by their status, and none here.
    fn note_on_missing(&self, texts: &Texts, scheduled: &BTreeSet<String>) -> Option<String> {
        let mut missing = BTreeSet::new();
        for source in texts.sources() {
            if source.text.contains("scheduled") {
                missing.extend(self.scheduled_by_status(source));
            }
        }
        let missing: Vec<String> = missing.difference(scheduled).cloned().collect();
        if missing.is_empty() {
            return None;
        }
        Some(format!(
            "not simulated, and can change the answer: `status.scheduled` of Cluster {}. Outside of the times of its \
             Schedule, a cluster applies nothing. Export the Schedules with `{}`, and name the file with {}",
            some_of(&missing),
            SCHEDULES.command,
            SCHEDULES.option
        ))
    }

    /// Returns the targets whose Cluster has `status.scheduled` in a file.
    fn scheduled_by_status(&self, source: &Arc<Source>) -> Vec<String> {
        let mut names = Vec::new();
        for object in objects_of_product(source).unwrap_or_default() {
            let cluster = object.to_json();
            let is_scheduled = cluster["kind"] == "Cluster"
                && cluster["metadata"]["namespace"] == self.space
                && cluster["status"]["scheduled"] == true;
            let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
            if is_scheduled && self.targets.iter().any(|target| target.name == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

/// Returns Schedules with the fields that decide.
fn copied(schedules: &[&Value]) -> String {
    let mut documents = Vec::new();
    for schedule in schedules {
        let mut spec = serde_json::Map::new();
        for field in ["schedule", "duration", "location", "targets"] {
            let value = &schedule["spec"][field];
            if !value.is_null() {
                spec.insert(field.to_owned(), value.clone());
            }
        }
        documents.push(to_yaml(&json!({
            "apiVersion": "fleet.cattle.io/v1alpha1",
            "kind": "Schedule",
            "metadata": {
                "name": schedule["metadata"]["name"],
                "namespace": schedule["metadata"]["namespace"],
            },
            "spec": spec,
        })));
    }
    documents.join("---\n")
}

/// An application of a rollout, and the project that it belongs to.
pub(super) struct ProjectMember {
    pub(super) project: String,
    /// The name of the target.
    pub(super) target: String,
    pub(super) application: WindowedApplication,
}

/// The targets of an Argo CD rollout, as the windows of its projects select them.
pub(super) struct ProjectFleet<'f> {
    /// The exported applications. Empty: their destinations are not known.
    pub(super) members: &'f [ProjectMember],
    /// The project in the template of the set. Applications that are not exported belong to it.
    pub(super) project: Option<&'f str>,
    pub(super) clock: Option<Timestamp>,
}

impl ProjectFleet<'_> {
    /// Reads the projects in all files.
    pub(super) fn windows(&self, texts: &Texts) -> ImportedWindows {
        let found = WindowObjects::find(texts, &PROJECTS);
        let mut imported = ImportedWindows::default();
        let projects = &found.found;
        if projects.is_empty() {
            return imported;
        }
        if self.members.is_empty() && self.project.is_none() && projects.len() > 1 {
            let of = counted(projects.len(), "project");
            let note = format!(
                "left out: the sync windows of {of}, because no file says which is that of the applications"
            );
            imported.notes.push(note);
            return imported;
        }
        let mut windows = Vec::new();
        let mut names = Vec::new();
        for project in projects {
            let of_project = self.windows_of(project);
            if !of_project.is_empty() {
                names.push(project.name().to_owned());
                windows.extend(of_project);
            }
        }
        imported.notes.extend(self.note_on_missing(&found));
        let origin = found.origin();
        let of = counted(projects.len(), "project");
        let count = counted(windows.len(), "sync window");
        let line = format!("{origin}: {of} with {count} for the applications");
        imported.read.push(line);
        if windows.is_empty() {
            return imported;
        }
        imported.notes.extend(self.note_on_destinations(projects));
        imported.file = Some(WindowsFile {
            setting: "project",
            name: "project.yaml",
            origin: format!("{origin} (AppProject)"),
            text: to_yaml(&json!({
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "AppProject",
                "metadata": {"name": names.join("-")},
                "spec": {"syncWindows": windows},
            })),
            start: assumed_start(self.clock),
        });
        imported
    }

    /// Returns the note about windows that the copy changes.
    fn note_on_destinations(&self, projects: &[WindowObject]) -> Option<String> {
        let mut is_changed = false;
        for project in projects {
            let windows = project.value["spec"]["syncWindows"].as_array();
            for window in windows.into_iter().flatten() {
                is_changed |= window["clusters"].is_array() || window["namespaces"].is_array();
            }
        }
        (is_changed && !self.members.is_empty()).then(|| {
            "sync windows that select clusters or namespaces name their applications in project.yaml".to_owned()
        })
    }

    /// Returns the windows of a project that select applications.
    fn windows_of(&self, project: &WindowObject) -> Vec<Value> {
        let name = project.name();
        let windows = project.value["spec"]["syncWindows"].as_array();
        let windows = windows.cloned().unwrap_or_default();
        if self.members.is_empty() {
            let is_own = self.project.is_none_or(|own| own == name);
            return if is_own { windows } else { Vec::new() };
        }
        let mut named = Vec::new();
        for window in &windows {
            named.extend(self.naming_applications(window, name));
        }
        named
    }

    /// Returns a window of a project that names the applications of which it is, rather than destinations. `None`: it
    /// is of no application. A window that cannot be read stays as it is, so that the check of the experiment reports
    /// it.
    fn naming_applications(&self, window: &Value, project: &str) -> Option<Value> {
        let Some(read) = ExportedWindow::read(window) else {
            return Some(window.clone());
        };
        let mut names = Vec::new();
        for member in self.members {
            if member.project == project && read.is_of(&member.application) {
                names.push(member.target.clone());
            }
        }
        if names.is_empty() {
            return None;
        }
        if names.len() == self.members.len() {
            names = vec!["*".to_owned()];
        }
        let mut named = window.clone();
        let fields = named.as_object_mut()?;
        for selecting in ["clusters", "namespaces", "andOperator"] {
            fields.remove(selecting);
        }
        fields.insert("applications".to_owned(), names.into());
        Some(named)
    }

    /// Returns the note about projects of applications that are not among the files.
    fn note_on_missing(&self, found: &WindowObjects) -> Option<String> {
        let mut missing: BTreeSet<&str> = BTreeSet::new();
        missing.extend(self.members.iter().map(|member| member.project.as_str()));
        if self.members.is_empty() {
            missing.extend(self.project);
        }
        for project in &found.found {
            missing.remove(project.name());
        }
        if missing.is_empty() {
            return None;
        }
        let missing: Vec<String> = missing.into_iter().map(str::to_owned).collect();
        Some(format!(
            "the files do not have the project {} of the applications, so its sync windows are unknown: export it \
             with `{}`, and name the file with {}",
            some_of(&missing),
            PROJECTS.command,
            PROJECTS.option
        ))
    }
}
