//! The parts of scaling a deployment that the shipped and the documented rules share.

use super::draft::Draft;
use super::view::{Deployment, DeploymentState};
use super::{RuleSet, documented};

/// The result of scaling a deployment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ScaleProgress {
    /// No change was needed, and nothing is written.
    Idle,
    /// A change was made or attempted.
    Moved,
    /// All instances of the step, or of the deployment, are routable.
    Finished,
}

/// The numbers of instances that a deployment scales to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Goals {
    /// Of all versions; excess old instances are removed.
    pub(super) total: u32,
    /// Of the new version.
    pub(super) new: u32,
}

impl Goals {
    pub(super) fn of(rules: RuleSet, deployment: &Deployment) -> Self {
        match deployment.current_step(rules).filter(|_| deployment.state == DeploymentState::Prepaused) {
            Some(step) => Self { total: step.total(), new: step.canary },
            None => Self { total: deployment.target_instances(), new: deployment.target_instances() },
        }
    }
}

/// While `routable` new instances are routable: the old ones that stay, and the new ones that max in flight allows.
pub(super) fn limits(rules: RuleSet, deployment: &Deployment, routable: u32) -> (u64, u64) {
    let goals = Goals::of(rules, deployment);
    let keep = match rules {
        RuleSet::Shipped => goals.total.saturating_sub(routable),
        RuleSet::Documented => documented::keep(deployment, routable),
    };
    let most = u64::from(routable).saturating_add(deployment.options.max_in_flight);
    (u64::from(keep), most.min(u64::from(goals.new)))
}

/// Removes `cut` instances from the old processes, from the oldest on, of which each has an assumed number. An unchanged
/// number is not written.
pub(super) fn shrink(draft: &mut Draft<'_>, old: &[(usize, u32)], mut cut: u64) -> Result<(), String> {
    let oldest = draft.oldest();
    for &(index, counted) in old {
        if cut < u64::from(counted) {
            return if cut > 0 { draft.save(index, counted - cut as u32) } else { Ok(()) };
        }
        cut -= u64::from(counted);
        if oldest == Some(index) {
            draft.save(index, 0)?;
        } else {
            draft.destroy(index);
        }
    }
    Ok(())
}
