//! Failing applies, for products that simulate the reaction to them, in half of the random worlds. They have separate
//! random numbers, so that the other parts of a world do not depend on them.

use fleetsim::units::{Share, SimDuration};
use fleetsim::world::{AgentSpec, ApplyFailure, ApplyFaultSpec, ApplyRetry, ApplyRules, WorldSpec};

use super::luck::Luck;
use super::strategies::Product;

/// Returns the rules of this product's agent for failed applies. `None`: its applies do not fail.
fn rules(product: Product) -> Option<ApplyRules> {
    let (again, immutable_is_final) = match product {
        Product::FleetOrBaseline => (ApplyRetry::CONTROLLER_RUNTIME, true),
        Product::ArgoCd => (ApplyRetry::ByController, false),
        Product::KubeFleetStaged | Product::KubeFleetRolling => (ApplyRetry::AtLooks, false),
        Product::ArgoCdProposal | Product::CloudFoundry => return None,
    };
    Some(ApplyRules {
        again,
        immutable_is_final,
        ..ApplyRules::NONE
    })
}

/// Lets applies fail: by faults, under Rancher Fleet by a time-out of the wait for the workloads, or by both.
pub(crate) fn fail(
    luck: &mut Luck,
    product: Product,
    world: &mut WorldSpec,
    agent: &mut AgentSpec,
) {
    let Some(rules) = rules(product).filter(|_| !luck.chance(0.5)) else {
        return;
    };
    agent.applies = rules;
    world.faults.apply = faults(luck, product);
    if product == Product::FleetOrBaseline && luck.chance(0.5) {
        agent.wait = true;
        agent.applies.wait_limit = Some(SimDuration::from_secs(u64::from(luck.number(1, 120))));
        agent.applies.rolls_back = luck.chance(0.5);
    }
}

/// Draws failing applies of one release, of kinds to which the product reacts.
pub(crate) fn faults(luck: &mut Luck, product: Product) -> Vec<ApplyFaultSpec> {
    let kinds = match product {
        Product::FleetOrBaseline => [
            ApplyFailure::Rejected,
            ApplyFailure::Hook,
            ApplyFailure::Timeout,
        ],
        Product::ArgoCd => [
            ApplyFailure::Immutable,
            ApplyFailure::Hook,
            ApplyFailure::Timeout,
        ],
        _ => [
            ApplyFailure::Rejected,
            ApplyFailure::Immutable,
            ApplyFailure::Timeout,
        ],
    };
    // Argo CD repeats a sync five times, and often less.
    let most = if product == Product::ArgoCd { 4 } else { 15 };
    let mut faults = Vec::new();
    for _ in 0..luck.number(0, 2) {
        faults.push(ApplyFaultSpec {
            share: Share::new(0.4),
            clusters: Vec::new(),
            kind: kinds[luck.number(0, 2) as usize],
            attempts: luck.chance(0.7).then(|| luck.number(1, most)),
            after: luck.chance(0.3).then(|| luck.duration(60.0)),
        });
    }
    faults
}
