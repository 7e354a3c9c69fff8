//! A process whose instances start or become routable. The load covers only the part of a pass whose time depends on
//! the number of instances: counting them by state.

use fleetsim::rollout::cloud_foundry::{InstanceReports, LrpState};

use super::{CHANGES, Load};

/// The reported states of a process' instances.
pub(crate) struct ProcessLoad {
    reports: InstanceReports,
    is_routable: bool,
}

impl ProcessLoad {
    pub(crate) fn new(instances: usize) -> Self {
        Self {
            reports: InstanceReports::from(vec![LrpState::Running; instances]),
            is_routable: true,
        }
    }
}

impl Load for ProcessLoad {
    fn change(&mut self) {
        self.is_routable = !self.is_routable;
        let state = if self.is_routable {
            LrpState::Running
        } else {
            LrpState::Claimed
        };
        let instances = self.reports.len();
        (0..instances)
            .step_by((instances / CHANGES).max(1))
            .for_each(|at| self.reports.set(at, state));
    }

    fn pass(&mut self, is_full: bool) -> u64 {
        let wanted = self.reports.len() as u32;
        let again = is_full.then(|| InstanceReports::from(self.reports.to_vec()));
        u64::from(
            again
                .as_ref()
                .unwrap_or(&self.reports)
                .counts(wanted)
                .unhealthy,
        )
    }
}
