//! The machine that measures: its programs and kernel, its load, and interference from other processes.
//!
//! Shares of processor time come from `/proc/stat` (proc(5)): steal is time in which this machine was ready to run,
//! but another guest of the host ran. The load of `/proc/loadavg` is only recorded, because it still includes the
//! previous set-up.

use std::fs;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use fleetsim::results::EmulationInfo;

use crate::command::run;
use crate::error::LabError;
use crate::net::{PacketQueue, Transport, has_netem, try_fair_queues, try_in_namespace};

/// Maximum share of the processors that other processes may use before a measurement. The value is a guess; with a
/// load of ten, times grow by a third.
const BUSY_MAX: f64 = 0.10;

/// Maximum share of the processors that other guests may use. The value is a guess.
const STEAL_MAX: f64 = 0.02;

/// Time for which the machine is observed before a measurement.
const WATCHED: Duration = Duration::from_secs(2);

/// Maximum time to wait until the machine becomes quiet.
const QUIET_WITHIN: Duration = Duration::from_secs(30);

/// Processor time since the machine started, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    busy: u64,
    steal: u64,
    all: u64,
}

impl CpuTime {
    /// Reads the current processor time.
    pub(crate) fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .map(|word| word.parse().unwrap_or(0))
            .collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        // The fields are user, nice, system, idle, iowait, irq, softirq, steal.
        let idle = at(3) + at(4);
        let all: u64 = (0..8).map(at).sum();
        Self {
            busy: all - idle - at(7),
            steal: at(7),
            all,
        }
    }

    /// Shares of busy and of stolen time since `earlier`.
    pub(crate) fn shares_since(self, earlier: Self) -> (f64, f64) {
        let all = (self.all - earlier.all).max(1) as f64;
        (
            (self.busy - earlier.busy) as f64 / all,
            (self.steal - earlier.steal) as f64 / all,
        )
    }
}

/// Returns whether a program is in one of the folders of `PATH`.
pub(crate) fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// The file that lists the kernel's congestion controls, separated by blanks.
const CONGESTION_KINDS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Checks that the laboratory can run on this machine. Returns a description of the environment.
pub(crate) fn check(transport: &Transport) -> Result<EmulationInfo, LabError> {
    let tools = [
        "docker-registry",
        "containerd",
        "skopeo",
        "ip",
        "tc",
        "setpriv",
    ];
    let classifier = (transport.queue == PacketQueue::Fair).then_some("nft");
    let missing: Vec<&str> = tools
        .into_iter()
        .chain(classifier)
        .filter(|tool| !is_installed(tool))
        .collect();
    if !missing.is_empty() {
        return Err(LabError::Machine(format!(
            "the laboratory needs {}; run: apt-get install docker-registry containerd skopeo iproute2 nftables util-linux",
            missing.join(", ")
        )));
    }
    let kinds = fs::read_to_string(CONGESTION_KINDS).unwrap_or_default();
    if !kinds
        .split_whitespace()
        .any(|kind| kind == transport.congestion)
    {
        return Err(LabError::Machine(format!(
            "`--congestion {}` must be one that this kernel has: {}",
            transport.congestion,
            kinds.trim()
        )));
    }
    if let Err(error) = try_in_namespace(|_| Ok(())) {
        return Err(LabError::Machine(format!(
            "the laboratory must be allowed to make network namespaces ({error}); run it as root"
        )));
    }
    if transport.queue == PacketQueue::Fair
        && let Err(error) = try_fair_queues()
    {
        return Err(LabError::Machine(format!(
            "`--queue fair` must find htb, connection tracking and nftables' egress hook in the kernel ({error}); take \
             `--queue fifo`"
        )));
    }
    let version = |words: &[&str]| {
        run(words, "")
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    Ok(EmulationInfo {
        kernel: version(&["uname", "-r"]),
        registry: version(&["docker-registry", "--version"]),
        client: version(&["containerd", "--version"]),
        processors: std::thread::available_parallelism().map_or(0, usize::from),
        has_netem: has_netem(),
        congestion: transport.congestion.clone(),
        queue: transport
            .queue
            .to_possible_value()
            .expect("no kind is hidden")
            .get_name()
            .to_owned(),
        ..EmulationInfo::default()
    })
}

/// Waits until the machine is quiet. Returns the shares of busy and stolen time.
///
/// # Errors
/// Returns an error if the machine stays busy, unless `anyway`.
pub(crate) fn wait_until_quiet(anyway: bool) -> Result<(f64, f64), LabError> {
    let until = Instant::now() + QUIET_WITHIN;
    loop {
        let before = CpuTime::now();
        std::thread::sleep(WATCHED);
        let (busy, steal) = CpuTime::now().shares_since(before);
        if anyway || (busy <= BUSY_MAX && steal <= STEAL_MAX) {
            return Ok((busy, steal));
        }
        if Instant::now() > until {
            return Err(LabError::Machine(format!(
                "the machine must be quiet to measure: others use {:.0} % of it (at most {:.0} %), and {:.0} % is stolen \
                 (at most {:.0} %); end other work, or measure with --anyway, which the results record",
                busy * 100.0,
                BUSY_MAX * 100.0,
                steal * 100.0,
                STEAL_MAX * 100.0
            )));
        }
    }
}

/// The mean number of runnable processes in the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0)
}
