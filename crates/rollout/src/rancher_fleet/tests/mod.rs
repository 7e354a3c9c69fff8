//! Rollouts as scripts: events, and the resulting actions of the scheduler or the rule that blocks it.
//!
//! A line of a script is `event => outcome`. Events: `pass` (nothing), `ready LIST` (apply the deployed id and become
//! ready), `unready LIST`, `pause LIST`, `unpause LIST`, `register LIST`, `version N LIST`; a list is `0-3,7`, by
//! index. Each event is followed by a pass, which is stored. Outcome: the clusters created and promoted, or the hold
//! if no cluster was promoted.

mod changed;
mod documented;
mod invariants;
mod shipped;

use std::fmt::Write as _;
use std::sync::Arc;

use super::super::Revision;
use super::super::testing::{self, ranges};
use super::BundleAction;
use super::*;

pub(super) const OLD: Revision = Revision(1);
pub(super) const NEW: Revision = Revision(2);

/// The state before the rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Release {
    /// No deployment exists.
    Initial,
    /// All clusters are healthy on the old version.
    Update,
}

/// The part of a pass that an outcome shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Show {
    /// Actions `create` and `deploy`, and the hold's full text.
    All,
    /// Only the promoted clusters (`start`) and the hold's rule. First deployments and updates then have the same
    /// text.
    Starts,
}

/// Creates clusters `c000`, `c001`, …: for each value of the label `stage`, the given number of clusters. An empty
/// value means no label.
pub(super) fn clusters(stages: &[(&str, usize)]) -> Vec<FleetCluster> {
    let stages = stages
        .iter()
        .flat_map(|(stage, count)| std::iter::repeat_n(*stage, *count));
    let cluster = |(index, stage): (usize, &str)| FleetCluster {
        name: format!("c{index:03}"),
        labels: Arc::new(
            (!stage.is_empty())
                .then(|| ("stage".to_owned(), stage.to_owned()))
                .into_iter()
                .collect(),
        ),
        groups: Vec::new(),
    };
    stages.enumerate().map(cluster).collect()
}

pub(super) struct BundleStory {
    pub(super) fleet: RancherFleet,
    pub(super) view: BundleView,
}

impl BundleStory {
    pub(super) fn new(
        yaml: &str,
        rules: RuleSet,
        release: Release,
        clusters: Vec<FleetCluster>,
    ) -> Self {
        let mut cluster = match release {
            Release::Initial => ClusterView::new(NEW),
            Release::Update => ClusterView::settled(OLD),
        };
        cluster.wanted = NEW;
        let view = BundleView {
            paused: false,
            clusters: vec![cluster; clusters.len()],
        };
        Self {
            fleet: RancherFleet::new(serde_saphyr::from_str(yaml).expect(yaml), rules, clusters),
            view,
        }
    }

    /// Runs the events of `story` and compares the outcomes.
    pub(super) fn plays(mut self, show: Show, title: &str, story: &str) {
        let mut played = String::new();
        for line in story.lines().filter(|line| !line.trim().is_empty()) {
            let (event, _) = line.split_once("=>").expect("a line has an outcome");
            self.event(event.trim());
            writeln!(played, "{event}=> {}", self.pass(show)).expect("memory takes all");
        }
        let story: Vec<&str> = story
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        assert_eq!(played.trim_end(), story.join("\n"), "{title}");
    }

    fn event(&mut self, event: &str) {
        let mut words = event.split(' ');
        let name = words.next().unwrap_or_default();
        let version = if name == "version" {
            words.next().and_then(|word| word.parse().ok())
        } else {
            None
        };
        for index in ranges(words.next().unwrap_or_default()) {
            let cluster = &mut self.view.clusters[index as usize];
            match (name, &mut cluster.deployment) {
                ("ready", Some(deployment)) => {
                    deployment.applied = deployment.deployed;
                    (deployment.ready, deployment.non_modified) = (true, true);
                }
                ("unready", Some(deployment)) => deployment.ready = false,
                ("pause" | "unpause", _) => cluster.paused = name == "pause",
                ("register", _) => cluster.registered = true,
                ("version", _) => cluster.wanted = Revision(version.expect("a version")),
                other => panic!("{event}: {other:?}"),
            }
        }
    }

    fn pass(&mut self, show: Show) -> String {
        let pass = self.fleet.reconcile(SimTime::ZERO, &self.view);
        let (mut created, mut promoted) = (Vec::new(), Vec::new());
        for action in &pass.actions {
            match action {
                BundleAction::Create(target) => created.push(target.0),
                BundleAction::Deploy(target) => promoted.push(target.0),
                BundleAction::Stage(..) | BundleAction::Delete(..) => {}
            }
        }
        let moves = !promoted.is_empty() || !created.is_empty();
        // The hold is computed before the pass is stored, and must not contradict it.
        let hold = self.fleet.hold(&self.view);
        assert!(
            !moves || hold.is_none(),
            "{hold:?} in a pass that moves on: {:?}",
            pass.actions
        );
        self.view.store(&pass);
        match (show, hold) {
            (_, None) if !moves && self.view.is_done() => "done".to_owned(),
            (Show::All, Some(hold)) => format!("hold {hold}"),
            (Show::Starts, Some(hold)) => format!("hold {}", hold.rule),
            (Show::Starts, None) => format!("start {}", print_ranges(&promoted)),
            (Show::All, None) if created.is_empty() => {
                format!("deploy {}", print_ranges(&promoted))
            }
            (Show::All, None) => format!(
                "create {}, deploy {}",
                print_ranges(&created),
                print_ranges(&promoted)
            ),
        }
    }
}

pub(super) fn print_ranges(list: &[u32]) -> String {
    if list.is_empty() {
        "nobody".to_owned()
    } else {
        testing::print_ranges(list)
    }
}
