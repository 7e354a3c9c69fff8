//! The defaults of `agent` under Argo CD: how long a sync takes, and how a change of health comes to be known.
//!
//! There is no agent in the clusters. The application controller applies over the network and watches the clusters'
//! objects, so an instruction and a report take one way over the site's link. A sync keeps its processor for the sum
//! of `instructionDelay`, `apply` and `reportDelay`.

use crate::units::SimDuration;
use crate::world::{AgentSpec, DurationModel, ReadinessSpec, calibration};

/// One way between the controller and a cluster. Guess: a connection that is open, and the API server's time; 10 ms to
/// 1 s.
const WAY: DurationModel = DurationModel::LogNormal { median: SimDuration::from_millis(100), sigma: 0.5 };

/// The agent in each cluster, where the experiment does not say.
pub(super) const AGENT: AgentSpec = AgentSpec {
    instruction_delay: WAY,
    // Source: under 1 s for a ConfigMap in AWS's published scale test with 10,000 applications (Argo CD of 2023), 10 to
    // 13 requests; 3 s from `startedAt` to `finishedAt` of one sync of a Service and more objects
    // (terraform-provider-argocd#887). The median within and the spread between clusters are guesses.
    apply: DurationModel::LogNormal { median: SimDuration::from_millis(800), sigma: 0.5 },
    apply_spread: calibration::APPLY_SPREAD,
    wait: false,
    // A change of health queues the application at once. Source: `handleObjectUpdated` in
    // `controller/appcontroller.go` of argoproj/argo-cd at 37ee009, a rate-limited add with 1 ms.
    readiness: ReadinessSpec::Delay(DurationModel::Constant(SimDuration::from_millis(1))),
    report_delay: WAY,
};
