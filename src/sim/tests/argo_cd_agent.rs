//! Clusters under Argo CD, as `controllers/argocd/applications.go` models them for the real controller.
//!
//! There is no agent: the write that marks an operation as Running is the instruction, and the application controller
//! sees changes immediately unless the cluster is offline.

use super::field::{Agent, Sight};
use super::recording::News;

#[derive(Clone, Debug, Default)]
pub(super) struct ArgoCdAgent {
    applied: u32,
    ready: bool,
    offline: bool,
    failing: bool,
    /// The last reported state: the applied revision, whether it is ready, and whether it is failing.
    known: (u32, bool, bool),
}

impl ArgoCdAgent {
    /// Creates a cluster that runs this revision and is ready.
    pub(super) fn new(revision: u32, offline: bool) -> Self {
        let ready = revision > 0;
        Self {
            applied: revision,
            ready,
            offline,
            failing: false,
            known: (revision, ready, false),
        }
    }
}

impl Agent for ArgoCdAgent {
    type Step = ();

    fn is_online(&self) -> bool {
        !self.offline
    }

    fn written(&mut self, revision: u32, _is_paused: bool, sight: &mut Sight<'_, ()>) {
        if !self.offline {
            sight.deployed(revision);
        }
    }

    fn step(&mut self, (): (), _sight: &mut Sight<'_, ()>) {}

    fn news(&mut self, news: &News, sight: &mut Sight<'_, ()>) {
        self.offline = news.offline.unwrap_or(self.offline);
        if let Some(revision) = news.applied.filter(|revision| *revision != self.applied) {
            (self.applied, self.ready, self.failing) = (revision, false, false);
        }
        self.ready = news.ready.unwrap_or(self.ready);
        self.failing = news
            .failing
            .as_ref()
            .map_or(self.failing, |reason| !reason.is_empty());
        let state = (self.applied, self.ready && !self.failing, self.failing);
        if !self.offline && self.known != state {
            self.known = state;
            let (applied, ready, degraded) = state;
            sight.report_health(applied, ready, degraded);
        }
    }
}
