//! Nodes, agent and faults.

use super::super::file::{AgentFile, BackoffFile, ControllerFile, FaultsFile, NodeFile};
use super::super::path::Path;
use super::super::quantity::Percent;
use super::Checker;
use crate::rollout::{ControlLoop, rancher_fleet};
use crate::units::{BytesPerSec, PerSecond, Share, SimDuration};
use crate::world::calibration as default;
use crate::world::{AgentSpec, Backoff, FaultSpec, NodeSpec, PullOrder, RequestLimit};

pub(super) fn mb(rate: f64) -> BytesPerSec {
    BytesPerSec::new(rate * 1e6)
}

impl Checker<'_> {
    pub(super) fn node(&mut self, written: Option<&NodeFile>) -> NodeSpec {
        let written = written.cloned().unwrap_or_default();
        let path = Path::of("node");
        let spread = written.unpack_spread.unwrap_or(default::UNPACK_SPREAD);
        if !(0.0..=2.0).contains(&spread) {
            let help = "it is the sigma of a lognormal factor, 0 to 2; 0.1 is usual";
            self.report(&path.key("unpackSpread"), format!("{spread} is no spread"), help);
        }
        NodeSpec {
            nic: self.rate(&path.key("nic"), written.nic, BytesPerSec::from_gbit(default::NIC_GBIT)),
            pulls: self.pull_order(&path, &written),
            pull_rate: self.pull_rate(&path, &written),
            image_backoff: self.backoff(
                &path.key("imageBackoff"),
                written.image_backoff.as_ref(),
                default::IMAGE_BACKOFF,
            ),
            crash_backoff: self.backoff(
                &path.key("crashBackoff"),
                written.crash_backoff.as_ref(),
                default::CRASH_BACKOFF,
            ),
            error_requeue: written.error_requeue.map_or(default::ERROR_REQUEUE, |span| span.0),
            runtime: self.runtime(&path, &written),
            keep_blobs: written.keep_blobs.unwrap_or(default::KEEP_BLOBS),
            unpack_rate: self.rate(&path.key("unpackRate"), written.unpack_rate, mb(default::UNPACK_MB)),
            unpack_spread: spread,
            unpack_per_layer: written.unpack_per_layer.map_or(default::UNPACK_PER_LAYER, |span| span.0),
            pull_constant: written.pull_constant.map_or(default::PULL_CONSTANT, |span| span.0),
            start_overhead: written.start_overhead.map_or(default::START_OVERHEAD, |span| span.0),
        }
    }

    /// The kubelet's own rule: serial unless two or more may be pulled in parallel.
    fn pull_order(&mut self, path: &Path, written: &NodeFile) -> PullOrder {
        let max = written.max_parallel_image_pulls;
        if max == Some(0) {
            let help = "write 1 or more, or leave it out for no cap";
            self.report(&path.key("maxParallelImagePulls"), "no image could ever be pulled", help);
        }
        match (written.serialize_image_pulls, max) {
            (Some(true), Some(2..)) => {
                let message = "`serializeImagePulls: true` allows one pull at a time";
                let help = "the kubelet refuses this too; write `serializeImagePulls: false` or leave one of them out";
                self.report(&path.key("maxParallelImagePulls"), message, help);
                PullOrder::Serial
            }
            (Some(true), _) | (None, None | Some(0 | 1)) => PullOrder::Serial,
            (Some(false), _) | (None, Some(2..)) => PullOrder::Parallel { max },
        }
    }

    fn pull_rate(&mut self, path: &Path, written: &NodeFile) -> Option<RequestLimit> {
        let qps = written.registry_pull_qps.unwrap_or(default::REGISTRY_PULL_QPS);
        let burst = self.count(&path.key("registryBurst"), written.registry_burst, default::REGISTRY_BURST);
        (qps > 0).then(|| RequestLimit { rate: PerSecond::new(f64::from(qps)), burst })
    }

    fn backoff(&mut self, path: &Path, written: Option<&BackoffFile>, default: Backoff) -> Backoff {
        let written = written.cloned().unwrap_or_default();
        let initial = written.initial.map_or(default.initial, |span| span.0);
        let initial = self.positive(&path.key("initial"), initial);
        let max = written.max.map_or(default.max.max(initial), |span| span.0);
        if max < initial {
            let message = format!("the longest wait ({max}) is shorter than the first ({initial})");
            self.report(&path.key("max"), message, "raise `max` or lower `initial`");
        }
        Backoff { initial, max }
    }

    pub(super) fn agent(&mut self, written: Option<&AgentFile>) -> AgentSpec {
        let written = written.cloned().unwrap_or_default();
        AgentSpec {
            instruction_delay: written.instruction_delay.map_or(default::INSTRUCTION_DELAY, |span| span.0),
            apply: written.apply.map_or(default::APPLY, |span| span.0),
            report_delay: written.report_delay.map_or(default::REPORT_DELAY, |span| span.0),
            readiness_delay: written.readiness_delay.map_or(rancher_fleet::READINESS_DELAY, |span| span.0),
        }
    }

    pub(super) fn faults(&mut self, written: Option<&FaultsFile>) -> FaultSpec {
        let written = written.cloned().unwrap_or_default();
        let share = |share: Option<Percent>| share.map_or(Share::NONE, |share| share.0);
        let pull_failure = share(written.pull_failure);
        if pull_failure.get() >= 1.0 {
            let help = "write less than 100%; a fleet that cannot pull at all is not a rollout";
            self.report(&Path::of("faults").key("pullFailure"), "no pull would ever succeed", help);
        }
        FaultSpec {
            offline: share(written.offline.as_ref().map(|offline| offline.share)),
            offline_return: written.offline.and_then(|offline| offline.comes_back).map(|span| span.0),
            pull_failure,
            defect: share(written.defect.as_ref().map(|defect| defect.share)),
            crash_after: written
                .defect
                .and_then(|defect| defect.crash_after)
                .map_or(default::CRASH_AFTER, |span| span.0),
        }
    }
}

/// How the controller runs; all strategies of an experiment run at the same pace, so that they can be compared.
pub(crate) fn control_loop(written: Option<&ControllerFile>, default: ControlLoop) -> ControlLoop {
    let written = written.cloned().unwrap_or_default();
    let or = |span: Option<super::super::quantity::Duration>, default: SimDuration| span.map_or(default, |span| span.0);
    ControlLoop {
        pass_base: or(written.pass_base, default.pass_base),
        pass_per_target: or(written.pass_per_target, default.pass_per_target),
        pass_per_write: or(written.pass_per_write, default.pass_per_write),
        watch_delay: or(written.watch_delay, default.watch_delay),
    }
}
