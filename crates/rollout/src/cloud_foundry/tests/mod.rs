//! Rollouts as scripts: events, and the resulting actions of the updater or the rule that blocks it.
//!
//! A line of a script is `event => outcome`. Events: `create OPTIONS`, `continue`, `cancel` are user requests; all
//! others report the new process's instances by index (`3 up, 1 starting, 1 crashed`, the rest is not reported), with
//! `2 ending` for stopped old instances that still exist, and run a pass; `no Diego` runs a pass without a report.
//! Outcome: instances of old processes, oldest first, and of the new process, and the status that a client sees; the
//! hold after a pass without changes; or the error of a rejected request.

mod documented;
mod invariants;
mod request;
mod shipped;

use std::fmt::Write as _;

use super::super::Revision;
use super::ProcessAction;
use super::*;

pub(super) const OLD: Revision = Revision(1);
pub(super) const NEW: Revision = Revision(2);

pub(super) struct AppStory {
    pub(super) updater: CloudFoundry,
    pub(super) app: AppView,
    now: SimTime,
}

impl AppStory {
    pub(super) fn new(rules: RuleSet, instances: u32) -> Self {
        Self {
            updater: CloudFoundry::new(rules),
            app: AppView::settled(OLD, instances),
            now: SimTime::ZERO,
        }
    }

    /// Runs the events of `story` and compares the outcomes.
    pub(super) fn plays(&mut self, story: &str) {
        let lines: Vec<&str> = story
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let mut played = String::new();
        for line in &lines {
            let (event, _) = line.split_once("=>").expect("a line has an outcome");
            let outcome = self.event(event.trim());
            writeln!(played, "{event}=> {outcome}").expect("memory takes all");
        }
        assert_eq!(played.trim_end(), lines.join("\n"));
    }

    fn event(&mut self, event: &str) -> String {
        let last = self.app.deployments.len().saturating_sub(1);
        let (name, rest) = event.split_once(' ').unwrap_or((event, ""));
        let refused = match name {
            "create" => self.create(rest).err(),
            "continue" => self.app.continue_deployment(last).err(),
            "cancel" => self.app.cancel_deployment(last).err(),
            _ => return self.report_and_pass(event),
        };
        refused.map_or_else(|| self.shown(), |error| format!("rejected: {error}"))
    }

    pub(super) fn create(&mut self, yaml: &str) -> Result<usize, ApiError> {
        let request: DeploymentRequest = serde_saphyr::from_str(yaml).expect(yaml);
        self.app
            .create(self.updater.rules, &request.check().expect(yaml), NEW)
    }

    fn report_and_pass(&mut self, event: &str) -> String {
        let deployment = self.app.deployments.last().expect("a deployment");
        let (new, mut lrps, mut ending) = (deployment.process, Vec::new(), 0);
        self.app.diego_available = event != "no Diego";
        for part in event
            .split(", ")
            .filter(|part| part.ends_with(|last: char| last != 'o') && *part != "pass")
        {
            let (count, state) = part.split_once(' ').expect("a number and a state");
            let count: usize = count.parse().expect("a number");
            let state = match state {
                "up" => LrpState::Running,
                "not routable" => LrpState::RunningNotRoutable,
                "starting" => LrpState::Claimed,
                "crashed" => LrpState::Crashed,
                "ending" => {
                    ending = count;
                    continue;
                }
                other => panic!("unknown state `{other}`"),
            };
            lrps.extend(std::iter::repeat_n(state, count));
        }
        for process in &mut self.app.processes {
            if Some(process.id) == new {
                process.lrps = lrps.clone().into();
            } else {
                let alive = process.instances as usize + std::mem::take(&mut ending);
                process.lrps = vec![LrpState::Running; alive].into();
            }
        }
        self.now = self.now + UPDATE_FREQUENCY;
        let hold = self.updater.hold(&self.app);
        let before = (self.app.processes.clone(), self.state());
        let pass = self.updater.reconcile(self.now, &self.app);
        assert_eq!(
            pass,
            self.updater.reconcile(self.now, &self.app),
            "the same view gives the same pass"
        );
        self.app.store(&pass);
        let moves = before != (self.app.processes.clone(), self.state());
        assert!(
            !moves || hold.is_none_or(|hold| hold.rule == "cancel"),
            "a hold in a pass that makes progress: {event}"
        );
        match self.updater.hold(&self.app) {
            Some(hold) if !moves => format!("hold {hold}"),
            _ => self.shown(),
        }
    }

    fn state(&self) -> Option<DeploymentState> {
        self.app
            .deployments
            .last()
            .map(|deployment| deployment.state)
    }

    /// Formats the app's state: `old 4+2, new 6, ACTIVE/DEPLOYING`.
    fn shown(&self) -> String {
        let deployment = self.app.deployments.last().expect("a deployment");
        let is_new = |process: &&Process| Some(process.id) == deployment.process;
        let old = self.app.processes.iter().filter(|process| !is_new(process));
        let old: Vec<String> = old.map(|process| process.instances.to_string()).collect();
        let old = if old.is_empty() {
            "none".to_owned()
        } else {
            old.join("+")
        };
        let new = self.app.processes.iter().find(is_new);
        let new = new.map_or_else(
            || "none".to_owned(),
            |process| process.instances.to_string(),
        );
        format!("old {old}, new {new}, {}", api_status(deployment))
    }
}

/// Formats a deployment's status: `ACTIVE/PAUSED, step 2 of 5`, and the error.
fn api_status(deployment: &Deployment) -> String {
    let steps = deployment.options.canary_steps.as_ref().map_or(1, Vec::len);
    let step = deployment
        .canary_current_step
        .map(|step| format!(", step {step} of {steps}"))
        .unwrap_or_default();
    let error = deployment
        .error
        .as_ref()
        .map(|error| format!(", error: {error}"))
        .unwrap_or_default();
    format!(
        "{}/{}{step}{error}",
        deployment.value(),
        deployment.reason()
    )
}

/// Returns a quota that only limits the organization's instances.
pub(super) fn quota_of_organization(name: &str, limit: u64, other_instances: u64) -> AppQuota {
    let name = name.to_owned();
    let organization = QuotaLimits {
        name,
        app_instance_limit: Some(limit),
        other_instances,
        ..QuotaLimits::default()
    };
    AppQuota {
        organization,
        ..AppQuota::default()
    }
}
