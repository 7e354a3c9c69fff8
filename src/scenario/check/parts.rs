//! Nodes and agent.

use super::super::file::{AgentFile, BackoffFile, DiskFile, NodeFile, RequeueFile};
use super::Checker;
use crate::document::path::Path;
use crate::rollout::rancher_fleet;
use crate::units::{Bytes, BytesPerSec, PerSecond, SimDuration};
use crate::world::calibration as default;
use crate::world::{AgentSpec, Backoff, DiskSpec, NodeSpec, PullOrder, RequestLimit, Requeue, Restarts};

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
            nic: self.rate_spread(&path.key("nic"), written.nic.as_ref(), BytesPerSec::from_gbit(default::NIC_GBIT)),
            pulls: self.pull_order(&path, &written),
            pull_rate: self.pull_rate(&path, &written),
            image_backoff: self.backoff(
                &path.key("imageBackoff"),
                written.image_backoff.as_ref(),
                default::IMAGE_BACKOFF,
                // An entry of client-go lives for twice the longest wait.
                |max| max * 2,
            ),
            error_requeue: self.spread(
                &path.key("errorRequeue"),
                written.error_requeue.as_ref(),
                default::ERROR_REQUEUE,
            ),
            requeue: self.requeue(&path, &written),
            pull_deadline: written.pull_deadline.map(|span| self.positive(&path.key("pullDeadline"), span.0)),
            runtime: self.runtime(&path, &written),
            keep_blobs: written.keep_blobs.unwrap_or(default::KEEP_BLOBS),
            unpack_slots: self.count(&path.key("unpackSlots"), written.unpack_slots, default::UNPACK_SLOTS),
            disk: written.disk.as_ref().map(|disk| self.disk(&path.key("disk"), disk)),
            unpack_rate: self.rate_spread(
                &path.key("unpackRate"),
                written.unpack_rate.as_ref(),
                mb(default::UNPACK_MB),
            ),
            unpack_spread: spread,
            unpack_per_layer: self.spread(
                &path.key("unpackPerLayer"),
                written.unpack_per_layer.as_ref(),
                default::UNPACK_PER_LAYER,
            ),
            pull_constant: self.spread(
                &path.key("pullConstant"),
                written.pull_constant.as_ref(),
                default::PULL_CONSTANT,
            ),
            start_overhead: self.spread(
                &path.key("startOverhead"),
                written.start_overhead.as_ref(),
                default::START_OVERHEAD,
            ),
        }
    }

    /// How containers that crash are started again, on a platform that has its own way.
    pub(in crate::scenario) fn restarts(&mut self, written: Option<&NodeFile>, default: Restarts) -> Restarts {
        let Some(written) = written.and_then(|node| node.crash_backoff.as_ref()) else { return default };
        let path = Path::of("node").key("crashBackoff");
        let backoff = BackoffFile { initial: written.initial, max: written.max, reset: written.reset };
        Restarts {
            immediate: written.immediate.unwrap_or(default.immediate),
            backoff: self.backoff(&path, Some(&backoff), default.backoff, |_| default.backoff.reset),
            ..default
        }
    }

    fn disk(&mut self, path: &Path, written: &DiskFile) -> DiskSpec {
        if written.rate.0.get() <= 0.0 {
            let help = "write a rate above 0, or leave `disk` out when it is no limit";
            self.report(&path.key("rate"), "nothing is ever written to a disk of 0", help);
        }
        DiskSpec { rate: written.rate.0, buffer: written.buffer.map_or(Bytes::ZERO, |size| size.0) }
    }

    fn requeue(&mut self, path: &Path, written: &NodeFile) -> Requeue {
        match (written.requeue, written.sync_frequency) {
            (Some(RequeueFile::AtExpiry), period) => {
                let period = period.map_or(default::SYNC_PERIOD, |span| span.0);
                Requeue::AtExpiry { sync_period: self.positive(&path.key("syncFrequency"), period) }
            }
            (Some(RequeueFile::AfterError), None) => Requeue::AfterError,
            (None, None) => default::REQUEUE,
            (_, Some(_)) => {
                let help = "write `requeue: atExpiry`, or leave `syncFrequency` out";
                self.report(&path.key("syncFrequency"), "nothing asks for it", help);
                Requeue::AfterError
            }
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

    fn backoff(
        &mut self,
        path: &Path,
        written: Option<&BackoffFile>,
        default: Backoff,
        reset: impl Fn(SimDuration) -> SimDuration,
    ) -> Backoff {
        let written = written.cloned().unwrap_or_default();
        let initial = written.initial.map_or(default.initial, |span| span.0);
        let initial = self.positive(&path.key("initial"), initial);
        let max = written.max.map_or(default.max.max(initial), |span| span.0);
        if max < initial {
            let message = format!("the longest wait ({max}) is shorter than the first ({initial})");
            self.report(&path.key("max"), message, "raise `max` or lower `initial`");
        }
        Backoff { initial, max, reset: written.reset.map_or_else(|| reset(max), |span| span.0) }
    }

    pub(super) fn agent(&mut self, written: Option<&AgentFile>) -> AgentSpec {
        let written = written.cloned().unwrap_or_default();
        let path = Path::of("agent");
        AgentSpec {
            instruction_delay: self.spread(
                &path.key("instructionDelay"),
                written.instruction_delay.as_ref(),
                default::INSTRUCTION_DELAY,
            ),
            apply: self.spread(&path.key("apply"), written.apply.as_ref(), default::APPLY),
            report_delay: self.spread(&path.key("reportDelay"), written.report_delay.as_ref(), default::REPORT_DELAY),
            readiness_delay: self.spread(
                &path.key("readinessDelay"),
                written.readiness_delay.as_ref(),
                rancher_fleet::READINESS_DELAY.into(),
            ),
        }
    }
}
