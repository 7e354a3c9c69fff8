//! The parts of scaling a deployment that the shipped and the documented rules share.

use super::draft::Draft;
use super::view::Deployment;
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

/// While `routable` new instances are routable: the old ones that stay, and the new ones that max in flight allows.
pub(super) fn limits(rules: RuleSet, deployment: &Deployment, routable: u32) -> (u64, u64) {
    let goal = deployment.goal(rules);
    let keep = match rules {
        RuleSet::Shipped => goal.total().saturating_sub(routable),
        RuleSet::Documented => documented::keep(deployment, routable),
    };
    let most = u64::from(routable).saturating_add(deployment.options.max_in_flight);
    (u64::from(keep), most.min(u64::from(goal.canary)))
}

/// Removes `cut` instances from the old processes, from the oldest on, of which each has an assumed number. A number
/// that stays is not written.
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
