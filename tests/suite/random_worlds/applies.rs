//! Failing applies, for products that simulate the reaction to them, in half of the random worlds. They have separate
//! random numbers, so that the other parts of a world do not depend on them.

use fleetsim::units::{Share, SimDuration};
use fleetsim::world::{AgentSpec, ApplyFailure, ApplyFaultSpec, ApplyRetry, ApplyRules, WorldSpec};

use super::luck::Luck;

/// Makes applies fail: because of faults, because the wait for the workloads times out, or both.
pub(crate) fn fail(luck: &mut Luck, world: &mut WorldSpec, agent: &mut AgentSpec) {
    if luck.chance(0.5) {
        return;
    }
    agent.applies = ApplyRules {
        again: ApplyRetry::CONTROLLER_RUNTIME,
        ..ApplyRules::NONE
    };
    let kinds = [
        ApplyFailure::Rejected,
        ApplyFailure::Hook,
        ApplyFailure::Timeout,
    ];
    for _ in 0..luck.number(0, 2) {
        world.faults.apply.push(ApplyFaultSpec {
            share: Share::new(0.4),
            clusters: Vec::new(),
            kind: kinds[luck.number(0, 2) as usize],
            attempts: luck.chance(0.7).then(|| luck.number(1, 15)),
            after: luck.chance(0.3).then(|| luck.duration(60.0)),
        });
    }
    if luck.chance(0.5) {
        agent.wait = true;
        agent.applies.wait_limit = Some(SimDuration::from_secs(u64::from(luck.number(1, 120))));
        agent.applies.rolls_back = luck.chance(0.5);
    }
}
