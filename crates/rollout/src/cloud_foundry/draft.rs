//! The processes of an app while a pass changes them. The processes are saved one by one, and each is checked against
//! the quotas. If one does not fit, all are rolled back.

use super::quota::Usage;
use super::view::{AppView, ProcessAction};

/// The desired processes, by their index in the view.
#[derive(Clone, Debug)]
pub(super) struct Draft<'v> {
    view: &'v AppView,
    /// Desired instances of each process. `None`: destroyed.
    rows: Vec<Option<u32>>,
    pub(super) actions: Vec<ProcessAction>,
}

/// An old process in a pass, with the number of instances that the pass assumes.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldProcess {
    /// The index of the process in the view.
    pub(super) index: usize,
    /// The assumed number of instances.
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

    /// Returns the desired instances as saved so far; 0 for a destroyed process.
    pub(super) fn instances(&self, index: usize) -> u32 {
        self.rows[index].unwrap_or(0)
    }

    pub(super) fn is_destroyed(&self, index: usize) -> bool {
        self.rows[index].is_none()
    }

    /// Returns the oldest process that exists.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.rows.iter().position(Option::is_some)
    }

    /// Saves a process with a new number of instances, and checks the quotas. An unchanged number is not checked.
    ///
    /// # Errors
    /// If the process does not fit; the text is the message to the client.
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

    /// Returns the usage of all processes as saved so far.
    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for (process, instances) in self.view.processes.iter().zip(&self.rows) {
            usage = usage.with(instances.unwrap_or(0), process.memory_in_mb);
        }
        usage
    }

    /// Removes `cut` instances from the old processes, oldest first. An unchanged number is not written.
    ///
    /// # Errors
    /// Same as [`Self::save`].
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
