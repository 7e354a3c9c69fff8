//! Recordings of several applications on one fleet, and their parts as recordings of one application.
//!
//! `controllers/README.md` ("Several applications at once") describes the fields that differ from those of a single
//! application.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::recording::{
    Exception, Held, Hello, Latency, News, Ready, Recording, Release, Rules, Target,
};
use crate::rollout::label_selector::LabelSelector;
use crate::units::SimDuration;

/// A rollout of several applications by a product's own controllers.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SharedRecording {
    pub(super) id: String,
    pub(super) hello: SharedHello,
    pub(super) fleet: SharedRules,
    #[serde(default)]
    pub(super) script: Vec<News>,
    pub(super) until: u64,
    pub(super) product: Ready,
    deploy: Vec<RecordedDeploy>,
    applications: Vec<RecordedEnd>,
}

/// The first message to the controllers.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SharedHello {
    pub(super) targets: Vec<Target>,
    pub(super) applications: Vec<RecordedApplication>,
    #[serde(default)]
    pub(super) latency: Latency,
    #[serde(default)]
    pub(super) settings: BTreeMap<String, String>,
    pub(super) client: Option<RecordedLimit>,
}

/// The rate limit of the controllers' client. A rate of 0 means no limit.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RecordedLimit {
    pub(super) qps: u32,
    pub(super) burst: u32,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct RecordedApplication {
    pub(super) name: String,
    #[serde(default)]
    clusters: Vec<usize>,
    selector: Option<LabelSelector>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    release: Release,
}

/// The scripted behaviour of all deployments.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SharedRules {
    apply: u64,
    ready: u64,
    #[serde(default)]
    targets: BTreeMap<usize, Exception>,
    #[serde(default)]
    applications: BTreeMap<usize, RecordedBehaviour>,
}

/// An application that behaves differently.
#[derive(Clone, Debug, Deserialize)]
struct RecordedBehaviour {
    #[serde(flatten)]
    everywhere: Exception,
    #[serde(default)]
    targets: BTreeMap<usize, Exception>,
}

/// An instruction: time, application, target and revision.
#[derive(Clone, Copy, Debug, Deserialize)]
struct RecordedDeploy(u64, usize, usize, u32);

#[derive(Clone, Debug, Deserialize)]
struct RecordedEnd {
    #[serde(default)]
    completed: Vec<RecordedCompletion>,
}

/// A report that the rollout of a revision is complete: its time and the revision.
#[derive(Clone, Copy, Debug, Deserialize)]
struct RecordedCompletion(u64, u32);

/// One application of a recording.
pub(super) struct ApplicationPart {
    /// The application as a recording of a single one, without what the controllers did.
    pub(super) alone: Recording,
    /// The clusters of its targets, as indices into the fleet.
    pub(super) clusters: Vec<usize>,
    pub(super) name: String,
    /// The delay from time 0 to its release.
    pub(super) released: SimDuration,
    /// The first time at which the product reported its new revision as complete.
    pub(super) completed: Option<u64>,
}

impl SharedRecording {
    /// Returns the number of a deployment among those of all applications.
    pub(super) const fn number(&self, application: usize, cluster: usize) -> usize {
        application * self.hello.targets.len() + cluster
    }

    /// Returns the parts of all applications.
    pub(super) fn parts(&self) -> Vec<ApplicationPart> {
        let mut parts = Vec::with_capacity(self.hello.applications.len());
        for (application, end) in self.hello.applications.iter().zip(&self.applications) {
            let newest = application.release.revision;
            let completion = end
                .completed
                .iter()
                .find(|RecordedCompletion(_, revision)| *revision == newest);
            let clusters = application.clusters_in(&self.hello.targets);
            let mut targets = Vec::with_capacity(clusters.len());
            for &cluster in &clusters {
                targets.push(self.hello.targets[cluster].clone());
            }
            parts.push(ApplicationPart {
                alone: self.alone(application, targets),
                clusters,
                name: application.name.clone(),
                released: SimDuration::from_nanos(application.release.at),
                completed: completion.map(|RecordedCompletion(at, _)| *at),
            });
        }
        parts
    }

    /// Returns an application as a recording of a single one on these targets.
    fn alone(&self, application: &RecordedApplication, targets: Vec<Target>) -> Recording {
        Recording {
            id: format!("{}, {}", self.id, application.name),
            hello: Hello {
                targets,
                files: application.files.clone(),
                release: application.release.clone(),
                latency: self.hello.latency.clone(),
                settings: self.hello.settings.clone(),
            },
            fleet: Rules {
                apply: self.fleet.apply,
                ready: self.fleet.ready,
                targets: BTreeMap::new(),
            },
            script: Vec::new(),
            until: self.until,
            product: self.product.clone(),
            deploy: Vec::new(),
            completed: Vec::new(),
            conditions: Vec::new(),
            end: String::new(),
            hold: Held::default(),
        }
    }

    /// Returns the whole as a recording of one application, whose targets are the deployments of all.
    pub(super) fn as_one(&self) -> Recording {
        let first = &self.hello.applications[0];
        let mut one = self.alone(first, self.hello.targets.clone());
        one.id.clone_from(&self.id);
        for application in 0..self.hello.applications.len() {
            for cluster in 0..self.hello.targets.len() {
                let exception = self.fleet.exception(application, cluster);
                let number = self.number(application, cluster);
                one.fleet.targets.insert(number, exception);
            }
        }
        for &RecordedDeploy(at, application, cluster, revision) in &self.deploy {
            let number = self.number(application, cluster);
            one.deploy.push((at, number, revision));
        }
        one
    }
}

impl SharedRules {
    /// Returns the delay from an instruction until its revision is applied.
    pub(super) const fn apply(&self) -> SimDuration {
        SimDuration::from_nanos(self.apply)
    }

    /// Returns the delay from the apply of a revision until it is ready. `None`: it never becomes ready.
    pub(super) fn ready(
        &self,
        application: usize,
        cluster: usize,
        revision: u32,
    ) -> Option<SimDuration> {
        let exception = self.exception(application, cluster);
        let after = exception.ready.unwrap_or(self.ready);
        (!exception.fails.contains(&revision)).then(|| SimDuration::from_nanos(after))
    }

    /// Returns how a deployment differs from the fleet. A rule for the application on the cluster goes before one for
    /// the application, and that before one for the cluster.
    fn exception(&self, application: usize, cluster: usize) -> Exception {
        let of_cluster = self.targets.get(&cluster);
        let behaviour = self.applications.get(&application);
        let of_application = behaviour.map(|behaviour| &behaviour.everywhere);
        let of_both = behaviour.and_then(|behaviour| behaviour.targets.get(&cluster));
        let mut merged = Exception::default();
        for exception in [of_cluster, of_application, of_both].into_iter().flatten() {
            merged.ready = exception.ready.or(merged.ready);
            merged.fails.extend(&exception.fails);
        }
        merged
    }
}

impl RecordedApplication {
    /// Returns the clusters of the application, as indices into the fleet.
    fn clusters_in(&self, targets: &[Target]) -> Vec<usize> {
        if !self.clusters.is_empty() {
            return self.clusters.clone();
        }
        let selector = self.selector.clone().unwrap_or_default();
        let selector = selector.check().expect("the product has accepted it");
        let mut clusters = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            if selector.matches(&target.labels) {
                clusters.push(index);
            }
        }
        clusters
    }
}
