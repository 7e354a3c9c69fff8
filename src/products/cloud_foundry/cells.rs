//! The cells of an app's instances: what each was last told to run, and what it reports.
//!
//! Cell i is the cluster i of the fleet. It has the instance i of the process that was started there last. Left out:
//! two instances of different processes in one cell at a time. In the world the later one takes the place of the
//! earlier one, which the Cloud Controller counts until a pass stops it.

use crate::rollout::cloud_foundry::{AppView, LrpState};
use crate::rollout::{Revision, TargetId};
use crate::world::{Report, WorldSpec};

/// One cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The process whose instance was started here last. `None`: that of before the first deployment.
    process: Option<TargetId>,
    /// The revision that the cell was last told to run.
    revision: Option<Revision>,
    /// The revision whose instance the cell last reported as ready. `None`: no instance is ready.
    ready: Option<Revision>,
}

/// All cells, in the order of the instances.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    cells: Vec<Cell>,
}

impl Cells {
    /// Creates the cells before the release.
    pub(super) fn before_release(world: &WorldSpec) -> Self {
        let mut cells = Vec::new();
        for index in 0..world.clusters.len() {
            let installed = world.installed(0, index);
            cells.push(Cell {
                process: None,
                revision: installed,
                ready: installed,
            });
        }
        Self { cells }
    }

    /// Records that an instance of a process is started in a cell. Returns the state that Diego reports of it first:
    /// an instance of the revision that runs there has nothing to download, and counts as running at once.
    pub(super) fn start(
        &mut self,
        index: usize,
        process: TargetId,
        revision: Revision,
    ) -> LrpState {
        let Some(cell) = self.cells.get_mut(index) else {
            return LrpState::Unclaimed;
        };
        cell.process = Some(process);
        cell.revision = Some(revision);
        if cell.ready == Some(revision) {
            LrpState::Running
        } else {
            LrpState::Unclaimed
        }
    }

    /// Tells all cells to run a revision, because only the process with it survives a cancelled deployment. Returns the
    /// cells that were told to run another one.
    pub(super) fn go_back(&mut self, survivor: TargetId, revision: Revision) -> Vec<usize> {
        let mut changed = Vec::new();
        for (index, cell) in self.cells.iter_mut().enumerate() {
            cell.process = Some(survivor);
            if cell.revision != Some(revision) {
                cell.revision = Some(revision);
                changed.push(index);
            }
        }
        changed
    }

    /// Writes a cell's report to the instance that was started there last. Returns whether the instance has another
    /// state now.
    pub(super) fn learn(&mut self, report: Report, app: &mut AppView) -> bool {
        let index = report.target.index();
        let cell = &mut self.cells[index];
        cell.ready = report.ready.then_some(report.applied);
        let Some(process) = cell.process.and_then(|process| app.process_mut(process)) else {
            return false;
        };
        let Some(&before) = process.lrps.get(index) else {
            return false;
        };
        let state = match (report.applied == process.revision, report.ready, before) {
            (true, true, _) => LrpState::Running,
            (true, false, LrpState::Crashed) => LrpState::Crashed,
            (true, false, _) => LrpState::Claimed,
            // The cell was still at work on another revision when the instance counted as running.
            (false, _, LrpState::Running) => LrpState::Claimed,
            (false, _, _) => return false,
        };
        if state != before {
            process.lrps.set(index, state);
        }
        state != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{NEW, OLD};

    const SECOND: TargetId = TargetId(1);

    fn cells(running: Revision) -> Cells {
        let cell = Cell {
            process: None,
            revision: Some(running),
            ready: Some(running),
        };
        Cells {
            cells: vec![cell; 3],
        }
    }

    fn report(applied: Revision, ready: bool) -> Report {
        Report {
            target: TargetId(0),
            applied,
            ready,
            degraded: false,
            failure: None,
        }
    }

    #[test]
    fn an_instance_of_the_revision_that_a_cell_runs_counts_as_running_at_once() {
        let mut cells = cells(OLD);
        assert_eq!(cells.start(0, SECOND, NEW), LrpState::Unclaimed);
        assert_eq!(cells.start(1, SECOND, OLD), LrpState::Running);
        assert_eq!(
            cells.start(9, SECOND, OLD),
            LrpState::Unclaimed,
            "there is no such cell"
        );
    }

    #[test]
    fn only_cells_with_another_revision_go_back() {
        let mut cells = cells(OLD);
        cells.start(1, SECOND, NEW);
        assert_eq!(cells.go_back(TargetId(0), OLD), [1]);
        assert_eq!(cells.go_back(TargetId(0), NEW), [0, 1, 2]);
    }

    #[test]
    fn a_report_is_one_of_the_instance_that_was_started_last() {
        let mut app = AppView::settled(OLD, 3);
        let mut cells = cells(OLD);
        assert!(
            !cells.learn(report(OLD, false), &mut app),
            "the instances before all deployments are not followed"
        );
        let first = app.processes[0].id;
        cells.start(0, first, OLD);
        app.processes[0].revision = NEW;
        assert!(
            cells.learn(report(OLD, true), &mut app),
            "it ran and is replaced"
        );
        assert!(
            !cells.learn(report(OLD, true), &mut app),
            "it is not there yet"
        );
        assert!(cells.learn(report(NEW, true), &mut app));
        assert_eq!(app.processes[0].lrps[0], LrpState::Running);
    }
}
