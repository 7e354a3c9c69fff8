//! Default `agent` settings under Argo CD: the duration of a sync, and the delay until a health change is seen.
//!
//! Argo CD has no agent in the clusters. The application controller applies over the network and watches the clusters'
//! objects, so an instruction and a report each travel the site's link once. A sync occupies its processor for the sum
//! of `instructionDelay`, `apply` and `reportDelay`.

use crate::units::SimDuration;
use crate::world::{AgentSpec, ApplyRetry, ApplyRules, DurationModel, ReadinessSpec, calibration};

/// One-way delay between the controller and a cluster: half of a 30 ms round trip, plus the API server's time. Source:
/// the median request takes about 5 ms at a member and 13 to 16 ms at the hub (CNOE's test on EKS).
const WAY: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(30),
    sigma: 0.5,
};

/// The default agent for each cluster.
pub(super) const AGENT: AgentSpec = AgentSpec {
    instruction_delay: WAY,
    // Source: under 1 s for a ConfigMap in AWS's published scale test with 10,000 applications (Argo CD in 2023), 10
    // to 13 requests; 3 s from `startedAt` to `finishedAt` of one sync with a Service and other objects
    // (terraform-provider-argocd#887). 0.3 s gives the 9 to 10 s that five applications took in Argo CD's own test of
    // RollingSync (docs/validation.md).
    apply: DurationModel::LogNormal {
        median: SimDuration::from_millis(300),
        sigma: 0.5,
    },
    apply_spread: calibration::APPLY_SPREAD,
    wait: false,
    // The application controller applies, with its own processors.
    workers: None,
    client: None,
    // A change of health queues the application immediately. Source: `handleObjectUpdated` in
    // `controller/appcontroller.go` of argoproj/argo-cd at 37ee009, a rate-limited add with 1 ms.
    readiness: ReadinessSpec::Delay(DurationModel::Constant(SimDuration::from_millis(1))),
    report_delay: WAY,
    // The application controller decides about another attempt (`application_controller::failed_syncs`).
    applies: ApplyRules {
        again: ApplyRetry::ByController,
        ..ApplyRules::NONE
    },
};
