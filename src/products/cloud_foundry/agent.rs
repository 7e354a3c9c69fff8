//! Default `agent` settings under Cloud Foundry: the delays of Diego's cell, which starts and checks an instance.

use crate::units::SimDuration;
use crate::world::{AgentSpec, ApplyRules, DurationModel, ReadinessSpec, calibration};

/// The default agent for each cluster.
pub(super) const AGENT: AgentSpec = AgentSpec {
    // Guess: the auction that finds a cell.
    instruction_delay: calibration::INSTRUCTION_DELAY,
    // Guess: the creation of the container. Single logs show 9 and 15 s on a loaded VM of 2016
    // (cloudfoundry/diego-release#130) and 0.3 s for staging in 2017 (cloudfoundry/cli#1119).
    apply: DurationModel::LogNormal {
        median: SimDuration::from_secs(3),
        sigma: 0.4,
    },
    apply_spread: 0.0,
    wait: false,
    // An executor creates up to 32 containers at a time, and a cell here has one instance of each app.
    workers: None,
    client: None,
    // As deployed, an instance is checked every 2 s, so its readiness is noticed up to 2 s late. Source:
    // `jobs/rep/spec` of cloudfoundry/diego-release; 500 ms is only the default of the binary.
    readiness: ReadinessSpec::Delay(DurationModel::Uniform {
        min: SimDuration::ZERO,
        max: SimDuration::from_secs(2),
    }),
    report_delay: calibration::REPORT_DELAY,
    applies: ApplyRules::NONE,
};
