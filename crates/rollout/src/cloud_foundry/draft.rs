//! The processes of an app while a pass changes them: saved one by one, each checked against the quotas, and rolled
//! back together when one does not fit.

use super::quota::Usage;
use super::view::{AppView, Process, ProcessAction};

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
        let rows = view
            .processes
            .iter()
            .map(|process| Some(process.instances))
            .collect();
        Self {
            view,
            rows,
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
        let Some(saved) = self.rows[index].filter(|saved| *saved != instances) else {
            return Ok(());
        };
        self.rows[index] = Some(instances);
        let rows = self.view.processes.iter().zip(&self.rows);
        let add = |usage: Usage, (process, instances): (&Process, &Option<u32>)| {
            usage.with(instances.unwrap_or(0), process.memory_in_mb)
        };
        let usage = rows.fold(Usage::default(), add);
        if let Some(exceeded) = self
            .view
            .quota
            .exceeded_by(usage)
            .filter(|_| self.view.started)
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

    /// Removes `cut` instances from the old processes, from the oldest on, of which each has an assumed number. An
    /// unchanged number is not written.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub(super) fn shrink(&mut self, old: &[(usize, u32)], mut cut: u64) -> Result<(), String> {
        let oldest = self.oldest();
        for &(index, counted) in old {
            if cut < u64::from(counted) {
                return if cut > 0 {
                    self.save(index, counted - cut as u32)
                } else {
                    Ok(())
                };
            }
            cut -= u64::from(counted);
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
