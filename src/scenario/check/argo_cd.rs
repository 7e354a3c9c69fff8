//! Argo CD's ApplicationSets: what the product itself would not work on is refused, with its own reason.
//!
//! What it does work on, though it may surprise (a step that selects nothing, an operator that does not exist, a
//! `maxUpdate` that it cannot read), is no error there and none here: the product shows it as a condition, and
//! `fleetsim explain` as a note. One thing is refused all the same, a back-off whose duration cannot be read: there it
//! shows only once a sync has failed. Unknown fields are refused in place, and in the strategy and the back-off of a
//! file.

use serde::de::DeserializeOwned;

use super::super::Strategy;
use super::super::argo_cd::applications;
use super::super::file_argo_cd::{ArgoCdFile, ArgoCdProposalFile};
use super::{CheckedWorld, Checker};
use crate::document::context::Document;
use crate::document::path::Path;
use crate::document::problem::Problem;
use crate::document::reader::{Kind, ReadError};
use crate::rollout::argo_cd::proposal::{ProposalError, ProposalFile, ProposedRollingUpdate};
use crate::rollout::argo_cd::{
    ApplicationSetError, ApplicationSetFile, ApplicationSetSpec, Automated, BackoffError, Waits,
};

/// A file of the product, read.
struct FromFile<T> {
    document: Document,
    value: T,
}

const REFUSED: &str = "Argo CD refuses this too and would not roll out at all";

const BACKOFF: &str = "spec.template.spec.syncPolicy.retry.backoff";

const DURATIONS: &str = "write e.g. `30s` or `1m30s`; a text of digits alone, `\"30\"`, means seconds";

impl Checker<'_> {
    pub(super) fn argo_cd(&mut self, path: &Path, written: &ArgoCdFile) -> Option<Strategy> {
        let file = match &written.file {
            Some(name) => Some(self.product_file::<ApplicationSetFile>(&path.key("file"), name)?),
            None => None,
        };
        let mut spec = match &file {
            Some(file) => file.value.spec.clone(),
            None => with_auto_sync(ApplicationSetSpec::default(), true),
        };
        if let Some(strategy) = &written.strategy {
            spec.strategy = Some(strategy.clone());
        }
        if let Some(auto_sync) = written.auto_sync {
            spec = with_auto_sync(spec, auto_sync);
        }
        if written.applications_sync.is_some() {
            spec.sync_policy.get_or_insert_default().applications_sync = written.applications_sync;
        }
        let checked = match &file {
            Some(file) => ApplicationSetFile { kind: file.value.kind.clone(), spec }.check(),
            None => spec.steps().map(|_| ()).map(|()| spec),
        };
        if let Some(Err(error)) = spec_backoff(checked.as_ref().ok()) {
            let field = format!("{BACKOFF}.{}", error.field);
            let problem = self.set_problem(path, file.as_ref(), &field, error.to_string());
            self.problems.push(problem.with_help(DURATIONS));
            return None;
        }
        match checked {
            Ok(spec) => Some(Strategy::ArgoCd {
                spec,
                options: written.options.unwrap_or_default(),
                release: written.release.unwrap_or_default(),
            }),
            // Steps that were left out for an error of their own are no news.
            Err(ApplicationSetError::NoSteps) if !self.is_untouched(&path.key("strategy")) => None,
            Err(error) => {
                let field = match &error {
                    ApplicationSetError::Kind(_) => "kind",
                    ApplicationSetError::NoGenerators => "spec.generators",
                    _ => "spec.strategy.rollingSync.steps",
                };
                let problem = self.set_problem(path, file.as_ref(), field, error.to_string());
                self.problems.push(problem.with_help(REFUSED));
                None
            }
        }
    }

    pub(super) fn argo_cd_proposal(
        &mut self,
        path: &Path,
        written: &ArgoCdProposalFile,
        world: &CheckedWorld,
    ) -> Option<Strategy> {
        let file = match &written.file {
            Some(name) => Some(self.product_file::<ProposalFile>(&path.key("file"), name)?),
            None => None,
        };
        let from_file = || file.as_ref().map(|file| file.value.spec.strategy.clone()).unwrap_or_default();
        let strategy = written.strategy.clone().unwrap_or_else(from_file);
        if let Err(error) = ProposedRollingUpdate::new(&strategy, &applications(&world.world.clusters)) {
            let field = match &error {
                ProposalError::MaxUpdate { step, .. } => {
                    format!("spec.strategy.rollingUpdate.steps[{step}].maxUpdate")
                }
                ProposalError::Operator { step, .. } => format!("spec.strategy.rollingUpdate.steps[{step}]"),
                _ => "spec.strategy.type".to_owned(),
            };
            let problem = self.set_problem(path, file.as_ref(), &field, error.to_string());
            self.problems.push(problem.with_help("the proposal gives this no meaning"));
            return None;
        }
        Some(Strategy::ArgoCdProposal { strategy })
    }

    /// A problem with a field of an ApplicationSet: in place if its strategy is set there, else in the file.
    fn set_problem<T>(&self, path: &Path, file: Option<&FromFile<T>>, field: &str, message: String) -> Problem {
        let there = Path::parse(field).unwrap_or_default();
        let in_place = field.strip_prefix("spec.").and_then(|field| Path::parse(field).ok());
        let is_here = field.starts_with("spec.strategy") && self.tree.get(&path.key("strategy")).is_some();
        match (file, in_place) {
            (Some(file), _) if !is_here => file.document.at(&there, message),
            (_, Some(field)) => {
                let mut here = path.clone();
                here.0.extend(field.0);
                self.at(&here, message)
            }
            (_, None) => self.at(path, message),
        }
    }

    /// A file of the product, with errors at their places in it.
    fn product_file<T: DeserializeOwned>(&mut self, path: &Path, name: &str) -> Option<FromFile<T>> {
        let document = self.document(name, path)?;
        let value = self.read_from(&document, &Path::default(), |error| !is_of_no_account(error))?;
        Some(FromFile { document, value })
    }
}

/// Real files carry much that decides nothing here; in the strategy, and in a back-off, an unknown field is a slip.
fn is_of_no_account(error: &ReadError) -> bool {
    let is_in = |field| Path::parse(field).is_ok_and(|field| error.path.starts_with(&field));
    matches!(error.kind, Kind::UnknownField { .. }) && !is_in("spec.strategy") && !is_in(BACKOFF)
}

fn spec_backoff(spec: Option<&ApplicationSetSpec>) -> Option<Result<Waits, BackoffError>> {
    Some(spec?.retry()?.backoff.as_ref()?.waits())
}

fn with_auto_sync(mut spec: ApplicationSetSpec, auto_sync: bool) -> ApplicationSetSpec {
    let policy = spec.template.spec.sync_policy.get_or_insert_default();
    if auto_sync {
        policy.automated.get_or_insert_default().enabled = Some(true);
    } else if let Some(Automated { enabled, .. }) = &mut policy.automated {
        *enabled = Some(false);
    }
    spec
}
