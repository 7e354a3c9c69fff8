//! The processes of an app while a pass changes them: saved one by one, each checked against the quotas, and rolled
//! back together when one does not fit.

use std::fmt;

use super::quota::{QuotaError, Usage, texts};
use super::view::{AppView, ProcessAction};

/// Why a pass failed; displayed as a client sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum PassError {
    /// A process does not fit into these quotas.
    Quota(Vec<QuotaError>),
    /// Diego does not respond. The product intends to skip the pass silently, but catches the wrong class.
    InstancesUnavailable,
    /// A process was destroyed twice.
    NoExistingObject,
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self {
            Self::Quota(errors) => return f.write_str(&texts(errors)),
            Self::InstancesUnavailable => "CloudController::Errors::InstancesUnavailable",
            Self::NoExistingObject => "Sequel::NoExistingObject",
        };
        write!(f, "An unexpected error has occurred: {class}")
    }
}

/// The desired processes, by their index in the view.
#[derive(Clone, Debug)]
pub(super) struct Draft<'v> {
    view: &'v AppView,
    /// Desired instances. `None`: destroyed.
    rows: Vec<Option<u32>>,
    pub(super) actions: Vec<ProcessAction>,
}

impl<'v> Draft<'v> {
    pub(super) fn new(view: &'v AppView) -> Self {
        let rows = view.processes.iter().map(|process| Some(process.instances)).collect();
        Self { view, rows, actions: Vec::new() }
    }

    /// Desired instances as saved so far; 0 for a destroyed process.
    pub(super) fn instances(&self, index: usize) -> u32 {
        self.rows[index].unwrap_or(0)
    }

    pub(super) fn is_destroyed(&self, index: usize) -> bool {
        self.rows[index].is_none()
    }

    /// The oldest process that exists.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.rows.iter().position(Option::is_some)
    }

    /// Saves a process with a new number of instances, checked against the quotas; an unchanged number is not
    /// checked.
    pub(super) fn save(&mut self, index: usize, instances: u32) -> Result<(), PassError> {
        let Some(saved) = self.rows[index].filter(|saved| *saved != instances) else { return Ok(()) };
        self.rows[index] = Some(instances);
        if self.view.started {
            let exceeded = self.view.quota.exceeded_by(self.usage());
            if !exceeded.is_empty() {
                self.rows[index] = Some(saved);
                return Err(PassError::Quota(exceeded));
            }
        }
        self.actions.push(ProcessAction::Scale { target: self.view.processes[index].id, instances });
        Ok(())
    }

    pub(super) fn destroy(&mut self, index: usize) {
        if self.rows[index].take().is_some() {
            self.actions.push(ProcessAction::Delete { target: self.view.processes[index].id });
        }
    }

    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for (process, instances) in self.view.processes.iter().zip(&self.rows) {
            let instances = u64::from(instances.unwrap_or(0));
            usage.instances += instances;
            usage.memory_in_mb += instances * u64::from(process.memory_in_mb);
        }
        usage
    }
}
