//! Scaling limits of a deployment under the rules of the product's proposals: how many old instances stay, and how
//! many new ones may be added.
//!
//! Follows "Deployments Max-in-flights proposal" (cloud_controller_ng #3878) and "Feature Request: Allow multiple
//! Canary steps". The shipped rules differ in many ways (see [`super`]); simulating both shows the effect of the
//! difference.
//!
//! - "Desires 5 new LRPs": up to max in flight start immediately, even in the first step of a canary deployment.
//! - "For each of the healthy new LRPs, requests Diego to bring down an old app version instance": one for one, so
//!   with fewer `web_instances` nothing is removed in advance.
//! - "For each old app version that is torn down, desires a new LRP, never exceeding 55 instances at one time (50
//!   instances + 5 max-in-flight)": an old instance counts until Diego no longer reports it.
//! - Weights are rounded to the nearest instance with halves down, and one additional instance "always" exists
//!   (`steps.rs`).
//! - An unhealthy instance counts as in flight, and has no other effect. A pass without Diego is skipped silently, as
//!   a comment in `actions/scale.rb` says.
//!
//! The proposals do not mention superseded deployments: their instances are treated like other old instances, and are
//! replaced one for one. Cancelling and finishing are as shipped.

use super::RuleSet;
use super::view::{Deployment, Process};

/// Returns how many instances may be added to those of `processes`, which include those that are being stopped.
pub(super) fn room(deployment: &Deployment, processes: &[Process]) -> u64 {
    let mut existing = 0;
    for process in processes {
        existing += u64::from(process.instances) + u64::from(process.stopping());
    }
    cap(deployment).saturating_sub(existing)
}

/// Returns the maximum number of instances: "never exceeding 50 instances + 5 max-in-flight".
pub(super) fn cap(deployment: &Deployment) -> u64 {
    let instances = deployment
        .original_instances
        .max(deployment.target_instances());
    u64::from(instances).saturating_add(deployment.options.max_in_flight)
}

/// Returns how many old instances stay while `routable` new ones are routable.
pub(super) fn keep(deployment: &Deployment, routable: u32) -> u32 {
    let one_for_one = deployment.original_instances.saturating_sub(routable);
    // At the end of a step the app has one additional instance.
    one_for_one.max(deployment.goal(RuleSet::Documented).original)
}
