//! Rancher Fleet's agents, as `controllers/fleet/agent.go` models them for the real controllers.

use super::field::{Agent, Sight};
use super::recording::News;
use crate::units::{SimDuration, SimTime};

/// Delay from an event of a deployed resource until the agent checks it, and from the first apply until the agent
/// watches its resources.
const SETTLING: SimDuration = SimDuration::from_secs(5);

/// A scheduled action of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Look,
    Read(u32),
    Report,
    Watch,
    Settled,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FleetAgent {
    /// The deployment's id in the management cluster, and whether the deployment is held back.
    spec: Option<(u32, bool)>,
    /// Number of requests for reading a deployment: one for its content, and one for its values if there are any.
    reads: u64,
    told: u32,
    applied: u32,
    known: Vec<u32>,
    ready: bool,
    /// The reason why the last instruction fails to apply or to run. Empty: it does not fail.
    failing: String,
    offline: bool,
    missed: bool,
    owes: bool,
    watches: SimTime,
    timer: bool,
    /// The last written status: the applied revision, whether it is ready, and whether it is failing.
    written: (u32, bool, bool),
}

impl FleetAgent {
    /// Creates an agent whose cluster runs this revision and is ready. The agent reads a deployment's content with one
    /// request and its values with another.
    pub(super) fn new(revision: u32, offline: bool, has_values: bool) -> Self {
        let spec = (revision > 0).then_some((revision, false));
        let known = vec![revision];
        let ready = revision > 0;
        let written = (revision, ready, false);
        let reads = 1 + u64::from(has_values);
        Self {
            spec,
            reads,
            told: revision,
            applied: revision,
            known,
            ready,
            offline,
            written,
            ..Self::default()
        }
    }

    fn look(&mut self, sight: &mut Sight<'_, Step>) {
        if self.offline {
            self.missed = true;
            return;
        }
        if self.spec.is_none() && self.told != 0 {
            (self.told, self.applied, self.ready, self.written) = (0, 0, false, (0, false, false));
            self.failing.clear();
            sight.deployed(0);
        }
        let Some((id, false)) = self.spec else { return };
        if id != self.told {
            self.told = id;
            sight.after(sight.request * self.reads, Step::Read(id));
        } else if id == self.applied {
            sight.after(sight.request, Step::Report);
        }
    }

    fn event(&mut self, sight: &mut Sight<'_, Step>) {
        if !self.timer && sight.now >= self.watches {
            self.timer = true;
            sight.after(SETTLING, Step::Settled);
        }
    }

    fn report(&mut self, sight: &mut Sight<'_, Step>) {
        if self.offline {
            self.owes = true;
            return;
        }
        let Some((id, _)) = self.spec else { return };
        let fails = !self.failing.is_empty();
        let (applied, was_ready, failed) = self.written;
        // Until the newest id is applied, the status keeps its earlier readiness and failure.
        let now = match (self.applied == self.told, id == self.applied) {
            (false, _) => (applied, was_ready, failed || fails),
            (true, true) => (self.applied, self.ready && !fails, fails),
            (true, false) => (self.applied, was_ready, false),
        };
        if self.written != now {
            self.written = now;
            sight.report_health(now.0, now.1, now.2);
        }
    }
}

impl Agent for FleetAgent {
    type Step = Step;

    fn written(&mut self, revision: u32, is_paused: bool, sight: &mut Sight<'_, Step>) {
        self.spec = (revision > 0).then_some((revision, is_paused));
        sight.after(sight.watch, Step::Look);
    }

    fn step(&mut self, step: Step, sight: &mut Sight<'_, Step>) {
        match step {
            Step::Look => self.look(sight),
            Step::Read(id) if self.told == id => {
                self.known.push(id);
                sight.deployed(id);
            }
            Step::Read(_) => {}
            Step::Report => self.report(sight),
            Step::Watch => self.event(sight),
            Step::Settled => {
                self.timer = false;
                if self.spec.is_some_and(|(_, is_paused)| !is_paused) {
                    self.report(sight);
                }
            }
        }
    }

    fn news(&mut self, news: &News, sight: &mut Sight<'_, Step>) {
        if let Some(offline) = news.offline
            && offline != self.offline
        {
            self.offline = offline;
            if !offline && std::mem::take(&mut self.missed) {
                self.look(sight);
            }
            if !offline && std::mem::take(&mut self.owes) {
                self.report(sight);
            }
        }
        let (mut changed, mut applied) = (false, false);
        if let Some(revision) = news.applied
            && self.known.contains(&revision)
            && revision != self.applied
        {
            if self.applied == 0 {
                self.watches = sight.now + SETTLING;
                sight.after(SETTLING, Step::Watch);
            }
            (self.applied, self.ready) = (revision, false);
            self.failing.clear();
            (changed, applied) = (true, true);
        }
        if let Some(ready) = news.ready
            && ready != self.ready
            && news.applied.is_none_or(|revision| revision == self.applied)
        {
            (self.ready, changed) = (ready, true);
        }
        if let Some(reason) = news
            .failing
            .as_ref()
            .filter(|reason| **reason != self.failing)
        {
            self.failing.clone_from(reason);
            changed = true;
            // The last instructed apply has failed, and its failure is the result.
            applied |= self.applied != self.told;
        }
        if applied {
            self.report(sight);
        }
        if changed {
            self.event(sight);
        }
    }
}
