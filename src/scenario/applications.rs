//! `applications`: several applications in one experiment, as written, with their names and release times.
//!
//! A key is a name, or a pattern such as `svc-{01..40}` for forty names. Each application has images of its own;
//! `application_images` says which layers they share. [`super::alternatives`] says which strategies are compared.
//!
//! Left out: applications that wait for others, and people's changes.

use std::collections::BTreeMap;

use super::application_file::ApplicationFile;
use super::check::Checker;
use super::file::ExperimentFile;
use super::names;
use super::release_times::{PublishedRelease, ReleaseTimes};
use crate::document::path::Path;
use crate::rollout::label_selector::{LabelSelector, Labels};
use crate::units::SimDuration;
use crate::world::ClusterSpec;

/// Maximum number of applications. The largest published fleets of Argo CD have about as many.
pub(super) const MOST_APPLICATIONS: usize = 10_000;

/// Maximum number of targets of all applications, about 2 GB of memory in a run.
pub(super) const MOST_DEPLOYMENTS: usize = 1_000_000;

/// One application: a name of an entry of `applications`.
#[derive(Clone, Debug)]
pub(super) struct NamedApplication<'f> {
    pub(super) name: String,
    /// The key of the entry.
    pub(super) key: &'f str,
    pub(super) file: &'f ApplicationFile,
    /// The time from the start to the release.
    pub(super) released: SimDuration,
    /// The releases that supersede it.
    pub(super) later: Vec<PublishedRelease>,
}

/// Returns the path of an entry of `applications`.
pub(super) fn entry_path(key: &str) -> Path {
    Path::of("applications").key(key)
}

/// Returns all applications in the order of the file, without those of entries with problems.
pub(super) fn named(file: &ExperimentFile) -> Vec<NamedApplication<'_>> {
    let mut all = Vec::new();
    for (key, application) in file.applications.iter().flat_map(|written| &written.0) {
        let names = names::expand(key).unwrap_or_default();
        for (nth, name) in (0..).zip(names) {
            all.push(NamedApplication {
                name,
                key,
                file: application,
                released: application
                    .releases
                    .as_ref()
                    .map_or(SimDuration::ZERO, |releases| releases.of(nth)),
                later: application
                    .releases
                    .as_ref()
                    .map_or_else(Vec::new, ReleaseTimes::published),
            });
        }
    }
    all
}

/// The clusters of an entry of `applications`, by their index in the fleet.
pub(super) type ClustersOfEntries = BTreeMap<String, Vec<usize>>;

impl Checker<'_> {
    /// Checks that an experiment has either a release or applications. Returns whether it has applications.
    pub(super) fn release_or_applications(&mut self, file: &ExperimentFile) -> bool {
        let path = Path::of("applications");
        let Some(applications) = &file.applications else {
            return self.is_set(&path);
        };
        if file.release.is_some() {
            let help = "move `release` into an application, or remove `applications`";
            let message = "an experiment has `release` or `applications`, not both";
            self.report(&path, message, help);
        }
        if file.releases.is_some() {
            let help = "move `releases` into an application";
            let message = "each application has its own `releases`";
            self.report(&Path::of("releases"), message, help);
        }
        if applications.0.is_empty() && self.is_untouched(&path) {
            let help = "write e.g. `applications: {shop: {release: {file: shop.yaml}}}`";
            self.report(&path, "there is no application", help);
        }
        true
    }

    /// Checks the names of the applications and their number.
    pub(super) fn application_names(&mut self, file: &ExperimentFile) {
        let mut keys: BTreeMap<String, &str> = BTreeMap::new();
        for (key, _) in file.applications.iter().flat_map(|written| &written.0) {
            let path = entry_path(key);
            let names = match names::expand(key) {
                Ok(names) => names,
                Err(message) => {
                    let help = "write a name such as `shop`, or `svc-{01..40}` for forty";
                    self.report_key(&path, &message, help);
                    continue;
                }
            };
            if keys.len() + names.len() > MOST_APPLICATIONS {
                let message = format!(
                    "there are {} applications with `{key}`",
                    keys.len() + names.len()
                );
                let help = format!("at most {MOST_APPLICATIONS} applications are simulated");
                self.report_key(&path, &message, &help);
                return;
            }
            for name in names {
                if !is_application_name(&name) {
                    let help = "use at most 253 letters, digits, `-` and `_`";
                    self.report_key(&path, &format!("invalid application name `{name}`"), help);
                    break;
                }
                if let Some(other) = keys.insert(name.clone(), key) {
                    let message = format!("`{name}` is a name of `{other}` already");
                    let help = "give each application a name of its own";
                    self.report_key(&path, &message, help);
                    break;
                }
            }
        }
    }

    /// Reports a problem with the key of an entry.
    fn report_key(&mut self, path: &Path, message: &str, help: &str) {
        let place = self.tree.key_place(path);
        let problem = self.source.at(place, path.to_string(), message.to_owned());
        self.problems.push(problem.with_help(help.to_owned()));
    }

    /// Returns the clusters of each entry of `applications`. The number of all targets is limited.
    pub(super) fn clusters_of_applications(
        &mut self,
        file: &ExperimentFile,
        clusters: &[ClusterSpec],
    ) -> ClustersOfEntries {
        let labels: Vec<&Labels> = clusters.iter().map(|cluster| &*cluster.labels).collect();
        let mut selected = ClustersOfEntries::new();
        let mut targets: usize = 0;
        for (key, application) in file.applications.iter().flat_map(|written| &written.0) {
            let path = entry_path(key);
            let own = match &application.clusters {
                None => (0..clusters.len()).collect(),
                Some(selector) => self.matching(&path.key("clusters"), selector, &labels),
            };
            let names = names::expand(key).map_or(0, |names| names.len());
            targets = targets.saturating_add(names.saturating_mul(own.len()));
            if targets > MOST_DEPLOYMENTS {
                let message = format!("the applications have {targets} targets with `{key}`");
                let help = format!(
                    "at most {MOST_DEPLOYMENTS} are simulated: select fewer clusters, or write fewer applications"
                );
                self.report_key(&path, &message, &help);
                break;
            }
            selected.insert(key.clone(), own);
        }
        selected
    }

    fn matching(
        &mut self,
        path: &Path,
        selector: &LabelSelector,
        labels: &[&Labels],
    ) -> Vec<usize> {
        let Some(checked) = self.selector(path, selector, labels) else {
            return Vec::new();
        };
        let mut matching = Vec::new();
        for (index, labels) in labels.iter().enumerate() {
            if checked.matches(labels) {
                matching.push(index);
            }
        }
        matching
    }

    /// Checks the release times, and that the runs last long enough.
    pub(super) fn release_times(&mut self, file: &ExperimentFile) {
        for (key, application) in file.applications.iter().flat_map(|written| &written.0) {
            let Some(releases) = &application.releases else {
                continue;
            };
            let path = entry_path(key).key("releases");
            let names = names::expand(key).map_or(1, |names| names.len());
            self.times_of(&path, releases, names, file.horizon);
        }
    }

    /// Checks the release times of an experiment with `release`.
    pub(super) fn times_of_release(&mut self, file: &ExperimentFile) {
        if let Some(releases) = &file.releases {
            self.times_of(&Path::of("releases"), releases, 1, file.horizon);
        }
    }

    /// Checks the release times of a number of applications.
    fn times_of(
        &mut self,
        path: &Path,
        releases: &ReleaseTimes,
        applications: usize,
        horizon: SimDuration,
    ) {
        if !self.is_whole(path) {
            // Entries with errors are missing from the list.
            return;
        }
        if let Some(problem) = releases.problem(applications) {
            self.report(path, problem.message, problem.help);
            return;
        }
        let last = releases.last(applications.saturating_sub(1) as u32);
        if last >= horizon {
            let message = format!("the last release is at {last}, but runs end at {horizon}");
            self.report(path, message, "write earlier times, or a longer `horizon`");
        }
    }
}

/// Returns whether this is a valid name of an application.
fn is_application_name(name: &str) -> bool {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_plain && !name.is_empty() && name.len() <= names::LONGEST_NAME
}
