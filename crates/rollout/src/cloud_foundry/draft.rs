//! The processes of an app while a pass changes them: saved one by one, each checked against the quotas, and rolled
//! back together when one does not fit.

use super::quota::Usage;
use super::view::{AppView, ProcessAction};

/// The desired processes, by their index in the view.
#[derive(Clone, Debug)]
pub(super) struct Draft<'v> {
    view: &'v AppView,
    /// Desired instances. `None`: destroyed.
    rows: Vec<Option<u32>>,
    pub(super) actions: Vec<ProcessAction>,
}

/// An old process as a pass counts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldProcess {
    /// Its index in the view.
    pub(super) index: usize,
    /// Its assumed number of instances.
    pub(super) instances: u32,
}

impl<'v> Draft<'v> {
    pub(super) fn new(view: &'v AppView) -> Self {
        let processes = view.processes.iter();
        Self {
            view,
            rows: processes.map(|process| Some(process.instances)).collect(),
            actions: Vec::new(),
        }
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
    ///
    /// # Errors
    /// It does not fit; the text is the client's.
    pub(super) fn save(&mut self, index: usize, instances: u32) -> Result<(), String> {
        let Some(saved) = self.rows[index] else {
            return Ok(());
        };
        if saved == instances {
            return Ok(());
        }
        self.rows[index] = Some(instances);
        if self.view.started
            && let Some(exceeded) = self.view.quota.exceeded_by(self.usage())
        {
            self.rows[index] = Some(saved);
            return Err(exceeded);
        }
        self.actions.push(ProcessAction::Scale(
            self.view.processes[index].id,
            instances,
        ));
        Ok(())
    }

    /// The usage of all processes as saved so far.
    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for (process, instances) in self.view.processes.iter().zip(&self.rows) {
            usage = usage.with(instances.unwrap_or(0), process.memory_in_mb);
        }
        usage
    }

    /// Removes `cut` instances from the old processes, from the oldest on. An unchanged number is not written.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub(super) fn shrink(&mut self, old: &[OldProcess], mut cut: u64) -> Result<(), String> {
        let oldest = self.oldest();
        for &OldProcess { index, instances } in old {
            if cut < u64::from(instances) {
                return if cut > 0 {
                    self.save(index, instances - cut as u32)
                } else {
                    Ok(())
                };
            }
            cut -= u64::from(instances);
            if oldest == Some(index) {
                self.save(index, 0)?;
            } else {
                self.destroy(index);
            }
        }
        Ok(())
    }

    pub(super) fn destroy(&mut self, index: usize) {
        if self.rows[index].take().is_some() {
            self.actions
                .push(ProcessAction::Delete(self.view.processes[index].id));
        }
    }
}
