//! `node` and `agent`: container runtime versions, back-offs, and checks across several fields.

use super::check::Checker;
use crate::control_plane::ControlLoop;
use crate::document::path::Path;
use crate::units::SimDuration;
use crate::world::{AgentSpec, Backoff, NodeSpec, ReadinessSpec, Restarts, RetrySpec, RuntimeSpec};

impl Checker<'_> {
    pub(super) fn node(&mut self, written: Option<&NodeSpec>) -> NodeSpec {
        let mut node = written.cloned().unwrap_or_default();
        let path = Path::of("node");
        for (key, rate) in [
            ("nic", &mut node.nic),
            ("unpackRate", &mut node.unpack_rate),
        ] {
            self.resolve(&path.key(key), rate);
            self.positive_rate(&path.key(key), rate);
        }
        for (key, duration) in [
            ("errorRequeue", &mut node.error_requeue),
            ("unpackPerLayer", &mut node.unpack_per_layer),
            ("pullConstant", &mut node.pull_constant),
            ("sandbox", &mut node.sandbox),
            ("startOverhead", &mut node.start_overhead),
        ] {
            self.resolve(&path.key(key), duration);
        }
        // A back-off entry of client-go expires after twice the maximum wait.
        self.backoff(&path.key("imageBackoff"), &mut node.image_backoff, |max| {
            max * 2
        });
        node.runtime = self.runtime(&path, node.version.spec());
        let disk = node.disk.get_or_insert_default();
        let disk_path = path.key("disk");
        *disk = self.over(&disk_path, disk.class.spec(), &[]);
        self.resolve(&disk_path.key("rate"), &mut disk.rate);
        self.positive_rate(&disk_path.key("rate"), &disk.rate);
        self.resolve(&disk_path.key("used"), &mut disk.used);
        self.resolve(&disk_path.key("unusedImages"), &mut disk.unused_images);
        self.without_effect(&Path::of("node"), &node);
        node
    }

    fn without_effect(&mut self, path: &Path, node: &NodeSpec) {
        if node.serialize_image_pulls == Some(true)
            && node.max_parallel_image_pulls.is_some_and(|max| max > 1)
        {
            let message = "`serializeImagePulls: true` allows one pull at a time";
            let help = "the kubelet refuses this too; write `serializeImagePulls: false` or remove one of them";
            self.report(&path.key("maxParallelImagePulls"), message, help);
        }
    }

    /// Returns the settings of a container runtime. Settings in the file override those of the runtime's version.
    fn runtime(&mut self, path: &Path, version: RuntimeSpec) -> RuntimeSpec {
        let mut runtime = self.over(path, version, &["retry429", "retryTransport"]);
        self.retry(&path.key("retry429"), &mut runtime.retry_429);
        self.retry(&path.key("retryTransport"), &mut runtime.retry_transport);
        runtime
    }

    fn retry(&mut self, path: &Path, retry: &mut RetrySpec) {
        if self.is_set(&path.key("delay")) && !self.is_set(&path.key("delayMax")) {
            retry.delay_max = retry.delay;
        }
        self.longest_wait(&path.key("delayMax"), "delay", retry.delay, retry.delay_max);
    }

    fn longest_wait(&mut self, path: &Path, first: &str, initial: SimDuration, max: SimDuration) {
        if max < initial {
            let message = format!("the longest wait ({max}) is shorter than the first ({initial})");
            self.report(
                path,
                message,
                &format!("raise `{}` or lower `{first}`", path.last_key()),
            );
        }
    }

    fn backoff(
        &mut self,
        path: &Path,
        backoff: &mut Backoff,
        reset: impl Fn(SimDuration) -> SimDuration,
    ) {
        if !self.is_set(&path.key("max")) {
            backoff.max = backoff.max.max(backoff.initial);
        }
        if !self.is_set(&path.key("reset")) {
            backoff.reset = reset(backoff.max);
        }
        self.longest_wait(&path.key("max"), "initial", backoff.initial, backoff.max);
    }

    /// Returns how crashed containers are restarted. Settings in the file override the rules of the product's
    /// platform.
    pub(super) fn restarts(&mut self, platform: Restarts) -> Restarts {
        let path = Path::of("node").key("crashBackoff");
        let mut restarts = self.over(&path, platform, &[]);
        self.backoff(&path, &mut restarts.backoff, |_| platform.backoff.reset);
        Restarts {
            immediate: restarts.immediate,
            backoff: restarts.backoff,
            ..platform
        }
    }

    /// Returns the control loop. Settings in the file override the product's.
    pub(super) fn control_loop(&mut self, product: ControlLoop) -> ControlLoop {
        let path = Path::of("controller");
        let mut control_loop = self.over(&path, product, &[]);
        self.resolve(&path.key("request"), &mut control_loop.request);
        control_loop
    }

    /// Returns the agents. Settings in the file override the product's.
    pub(super) fn agent(&mut self, product: &AgentSpec) -> AgentSpec {
        let path = Path::of("agent");
        let mut agent = self.over(&path, product.clone(), &[]);
        agent.applies = product.applies;
        agent.client = product.client;
        for (key, delay) in [
            ("instructionDelay", &mut agent.instruction_delay),
            ("apply", &mut agent.apply),
            ("reportDelay", &mut agent.report_delay),
        ] {
            self.resolve(&path.key(key), delay);
        }
        let path = path.key("readiness");
        match &mut agent.readiness {
            ReadinessSpec::Delay(delay) => self.resolve(&path.key("delay"), delay),
            ReadinessSpec::Debounce(_) => {}
            ReadinessSpec::Looks(looks) => {
                if let Some(problem) = looks.problem() {
                    let path = path.key("looks").key(problem.setting);
                    self.report(&path, problem.rule, problem.fix);
                }
            }
        }
        agent
    }
}
