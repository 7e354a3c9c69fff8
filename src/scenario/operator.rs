//! `operator`: the rules of people who watch rollouts, as checked.
//!
//! A rule has a sign that people notice, the time from the sign to their act, and the act. Nothing says how long people
//! take, so an experiment must: it is the most important number of a way back. Incidents of three large clouds with a
//! rollback were over after a median of 190 minutes, and a tenth within 67 (docs/experiment-format/releases.md).
//!
//! Left out: rules that look at the past of another application, and people who are not there at night.

use super::check::Checker;
use super::file::ExperimentFile;
use super::later_releases::FirstRelease;
use super::operator_file::{OperatorAct, OperatorRuleFile, OperatorSign};
use super::release_times::{LaterImageFile, ReleaseTimes};
use crate::control_plane::Change;
use crate::document::path::Path;
use crate::products::Strategy;
use crate::rollout::Revision;
use crate::units::{SimDuration, counted};
use crate::world::{DurationModel, ImageSpec, LaterRelease, OLD, ReleaseKind, later_revision};

/// A checked rule of the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorRule {
    /// The sign as written.
    pub text: String,
    /// The sign that people notice.
    pub sign: OperatorSign,
    /// The time from the sign to the act.
    pub within: DurationModel,
    /// What they do.
    pub act: OperatorAct,
    /// The revision of the release that repairs, for each application. `None`: the rule does not watch it.
    pub repairs: Vec<Option<Revision>>,
}

impl OperatorRule {
    /// Returns whether the rule watches the application with this index.
    #[must_use]
    pub fn watches(&self, application: usize) -> bool {
        self.repairs[application].is_some()
    }
}

/// An entry of `applications`, or the release of an experiment without them.
#[derive(Clone, Copy)]
pub(super) struct ReleasedEntry<'f> {
    /// The key of the entry. `None`: the experiment has `release`.
    pub(super) key: Option<&'f str>,
    pub(super) releases: Option<&'f ReleaseTimes>,
}

impl<'f> ReleasedEntry<'f> {
    /// Returns the images that each content after the first one changes: those of releases, then those of repairs.
    pub(super) fn contents(self, rules: &'f [OperatorRuleFile]) -> Vec<&'f [LaterImageFile]> {
        let mut contents: Vec<&[LaterImageFile]> = Vec::new();
        for release in self.releases.map_or(&[][..], ReleaseTimes::later) {
            if !release.rollback {
                contents.push(&release.images);
            }
        }
        for rule in rules {
            if rule.then == OperatorAct::FixForward && self.is_watched_by(rule) {
                contents.push(&rule.images);
            }
        }
        contents
    }

    fn is_watched_by(self, rule: &OperatorRuleFile) -> bool {
        rule.application.is_none() || rule.application.as_deref() == self.key
    }

    /// Returns the revision that a rule with this index releases to repair. Those of rules that release nothing are
    /// not used.
    fn repair_by(self, rules: &[OperatorRuleFile], at: usize) -> Option<Revision> {
        if !self.is_watched_by(&rules[at]) {
            return None;
        }
        Some(later_revision(self.contents(&rules[..at]).len()))
    }
}

impl Checker<'_> {
    /// Adds the contents of the releases with which the operator repairs to the images of an entry.
    pub(super) fn repairs(
        &mut self,
        rules: &[OperatorRuleFile],
        entry: ReleasedEntry<'_>,
        first: &FirstRelease<'_>,
        images: &mut [ImageSpec],
    ) -> Vec<LaterRelease> {
        let mut later = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            if rule.then != OperatorAct::FixForward || !entry.is_watched_by(rule) {
                continue;
            }
            let path = Path::of("operator").index(at).key("images");
            let number = format!("repair-{}", at + 1);
            self.later_images(&path, &rule.images, first.images, images, &number);
            later.push(LaterRelease::default());
        }
        later
    }

    /// Checks what does not depend on a strategy, and returns the rules for these applications, each with its entry.
    pub(super) fn operator_rules(
        &mut self,
        file: &ExperimentFile,
        applications: &[ReleasedEntry<'_>],
    ) -> Vec<OperatorRule> {
        let mut rules = Vec::new();
        for (at, written) in file.operator.iter().enumerate() {
            let path = Path::of("operator").index(at);
            let mut within = written.within.clone();
            self.resolve(&path.key("within"), &mut within);
            self.act_of_rule(&path, written, file);
            let mut repairs = Vec::new();
            for entry in applications {
                repairs.push(entry.repair_by(&file.operator, at));
            }
            rules.push(OperatorRule {
                text: written.when.text.clone(),
                sign: written.when.sign,
                within,
                act: written.then,
                repairs,
            });
        }
        rules
    }

    fn act_of_rule(&mut self, path: &Path, rule: &OperatorRuleFile, file: &ExperimentFile) {
        let repairs = rule.then == OperatorAct::FixForward;
        let images = path.key("images");
        if repairs && rule.images.is_empty() && self.is_whole(&images) {
            let help = "write e.g. `images: [{name: shop, manifest: {layers: [{size: 10 MB}]}}]`";
            self.report(&images, "a release that repairs needs other images", help);
        }
        if !repairs && self.is_set(&images) {
            let help = "remove it, or write `then: fixForward`";
            self.report(&images, "only `fixForward` releases other images", help);
        }
        let written = file.applications.iter().flat_map(|all| &all.0);
        let mut keys = Vec::new();
        let mut goes_back_nowhere = file
            .release
            .as_ref()
            .is_some_and(|release| release.kind == ReleaseKind::Initial)
            && has_one_content(file.releases.as_ref());
        for (key, application) in written {
            keys.push(key.clone());
            let is_watched = rule.application.as_ref().is_none_or(|only| only == key);
            let is_initial = application.release.release.kind == ReleaseKind::Initial;
            goes_back_nowhere |=
                is_watched && is_initial && has_one_content(application.releases.as_ref());
        }
        if let Some(only) = &rule.application {
            self.lookup(
                &path.key("application"),
                only,
                &Path::of("applications"),
                &keys,
            );
        } else if repairs && keys.len() > 1 {
            let help = "write the key in `applications` whose images it replaces";
            self.report(path, "`fixForward` needs an `application`", help);
        }
        if rule.then == OperatorAct::Rollback && goes_back_nowhere {
            let help = "write `kind: update` in the release, or `then: pause`";
            let message = "there is no earlier content to go back to";
            self.report(&path.key("then"), message, help);
        }
    }

    /// Reports rules that never act: more targets than there are would have to show the sign, or people take longer
    /// than a run. A rule that watches nothing was reported. `targets`: the number of targets of each application.
    pub(super) fn operator_can_act(
        &mut self,
        rules: &[OperatorRule],
        targets: &[usize],
        horizon: SimDuration,
    ) {
        for (at, rule) in rules.iter().enumerate() {
            let path = Path::of("operator").index(at);
            let mut most = 0;
            for (application, number) in targets.iter().enumerate() {
                if rule.watches(application) {
                    most = most.max(*number as u64);
                }
            }
            if let OperatorSign::Failed(amount) | OperatorSign::Exposed(amount) = rule.sign
                && most > 0
                && !amount.can_be_exceeded(most)
            {
                let message = format!(
                    "the rule never acts: {} are watched",
                    counted(most as usize, "target")
                );
                let help = "write a smaller number, or a share such as `failed > 10%`";
                self.report(&path.key("when"), message, help);
            }
            if rule.within.least() >= horizon.as_secs_f64() {
                let message = format!("the rule never acts: runs end at {horizon}");
                let help = "write a shorter time, or a longer `horizon`";
                self.report(&path.key("within"), message, help);
            }
        }
    }

    /// Reports rules with acts that a strategy does not support.
    pub(super) fn supports_operator(
        &mut self,
        rules: &[OperatorRule],
        name: &str,
        strategy: &dyn Strategy,
    ) {
        for (at, rule) in rules.iter().enumerate() {
            let supported = match rule.act {
                OperatorAct::Pause => strategy.can_pause(),
                OperatorAct::Rollback => strategy.takes(&Change::Release(OLD)),
                OperatorAct::FixForward => strategy.takes(&Change::Release(later_revision(0))),
            };
            if let Err(reason) = supported {
                let path = Path::of("operator").index(at).key("then");
                let message = format!("`{name}` does not support this act: {reason}");
                let help = "write another act, or compare strategies that support this one";
                self.report(&path, message, help);
                return;
            }
        }
    }
}

/// Returns whether there is only the content of the first release.
fn has_one_content(releases: Option<&ReleaseTimes>) -> bool {
    releases.is_none_or(|releases| releases.later().is_empty())
}
