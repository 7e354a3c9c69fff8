//! Network namespaces and shaped links: a switch, the registry and its mirror, and one namespace for each site.
//!
//! All interfaces are made inside of namespaces, so the machine's own are never touched. The kernel's token bucket
//! filter (`tc tbf`) shapes the registry's sending and each site's receiving; it counts bytes with their headers. A
//! packet waits at most `QUEUE`, and is dropped beyond that.
//!
//! Left out: what the way back to the registry carries (requests and acknowledgements), and round trips and loss
//! unless the kernel has netem.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use fleetsim::units::BytesPerSec;

use crate::command::run;
use crate::error::LabError;

/// Names of namespaces begin with this and the number of the laboratory's process.
const PREFIX: &str = "fleetsim-lab-";

/// Longest wait of a packet before a shaped link.
const QUEUE: &str = "100ms";

/// Smallest bucket of a shaped link.
const BURST_MIN: f64 = 16_384.0;

/// What a link sends at once, as a span of its rate: a few ticks of the kernel's timer.
const BURST_SECS: f64 = 0.002;

/// The address of the registry.
pub(crate) const REGISTRY: &str = "10.77.0.1";

/// The address of the registry's mirror.
pub(crate) const MIRROR: &str = "10.77.0.2";

/// The network of a set-up; dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Network {
    prefix: String,
    sites: usize,
}

impl Network {
    /// Makes the namespaces of so many sites, with links that are not shaped yet. That of the mirror is always there.
    pub(crate) fn build(sites: usize) -> Result<Self, LabError> {
        remove_stale()?;
        let network = Self { prefix: format!("{PREFIX}{}-", std::process::id()), sites };
        let (switch, registry, mirror) = (network.switch(), network.registry(), network.mirror());
        let names: Vec<String> = (0..sites).map(|at| network.site(at)).collect();
        let mut batch = String::new();
        for name in [&switch, &registry, &mirror].into_iter().chain(&names) {
            writeln!(batch, "netns add {name}").expect("memory takes every byte");
        }
        run(&["ip", "-batch", "-"], &batch)?;
        run(&["ip", "-n", &switch, "-batch", "-"], "link add name br0 type bridge\nlink set br0 up\n")?;
        let ports = names.iter().enumerate().map(|(at, name)| (format!("p{at}"), name.clone(), address(at)));
        let servers = [("reg", registry, REGISTRY), ("mir", mirror, MIRROR)];
        let servers = servers.map(|(port, name, address)| (port.to_owned(), name, address.to_owned()));
        for (port, name, address) in servers.into_iter().chain(ports) {
            let veth = format!("link add name {port} type veth peer name eth0 netns {name}\n");
            run(&["ip", "-n", &switch, "-batch", "-"], &format!("{veth}link set {port} master br0 up\n"))?;
            let inside = format!("link set lo up\naddr add {address}/16 dev eth0\nlink set eth0 up\n");
            run(&["ip", "-n", &name, "-batch", "-"], &inside)?;
        }
        Ok(network)
    }

    /// The namespace of the switch.
    fn switch(&self) -> String {
        format!("{}sw", self.prefix)
    }

    /// The namespace of the registry.
    pub(crate) fn registry(&self) -> String {
        format!("{}reg", self.prefix)
    }

    /// The namespace of the mirror.
    pub(crate) fn mirror(&self) -> String {
        format!("{}mir", self.prefix)
    }

    /// The namespace of a site.
    pub(crate) fn site(&self, at: usize) -> String {
        format!("{}s{at}", self.prefix)
    }

    /// Shapes the registry's sending.
    pub(crate) fn shape_egress(&self, rate: BytesPerSec) -> Result<(), LabError> {
        shape(&self.registry(), "eth0", rate)
    }

    /// Shapes the mirror's sending.
    pub(crate) fn shape_mirror(&self, rate: BytesPerSec) -> Result<(), LabError> {
        shape(&self.mirror(), "eth0", rate)
    }

    /// Shapes what a site receives.
    pub(crate) fn shape_downlink(&self, site: usize, rate: BytesPerSec) -> Result<(), LabError> {
        shape(&self.switch(), &format!("p{site}"), rate)
    }

    /// Cuts a site off, or connects it again.
    pub(crate) fn connect(&self, site: usize, is_connected: bool) -> Result<(), LabError> {
        let state = if is_connected { "up" } else { "down" };
        run(&["ip", "-n", &self.switch(), "link", "set", &format!("p{site}"), state], "").map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let names = (0..self.sites).map(|at| self.site(at)).chain([self.registry(), self.mirror(), self.switch()]);
        remove(names);
    }
}

/// The address of a site.
pub(crate) fn address(site: usize) -> String {
    format!("10.77.{}.{}", 1 + site / 250, 1 + site % 250)
}

fn shape(namespace: &str, device: &str, rate: BytesPerSec) -> Result<(), LabError> {
    let burst = (rate.get() * BURST_SECS).max(BURST_MIN);
    let rate = format!("{:.0}bit", rate.get() * 8.0);
    let burst = format!("{burst:.0}");
    let words = ["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf", "rate"];
    run(&[&words[..], &[&rate, "burst", &burst, "latency", QUEUE]].concat(), "").map(drop)
}

fn remove(names: impl Iterator<Item = String>) {
    let batch: String = names.map(|name| format!("netns del {name}\n")).collect();
    // Those that are not there, because building failed, are no reason to keep the others.
    let _ = run(&["ip", "-force", "-batch", "-"], &batch);
}

/// Removes the namespaces of laboratories that were killed.
fn remove_stale() -> Result<(), LabError> {
    let of_dead = |name: &str| {
        let id = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        id.is_some_and(|id| !Path::new("/proc").join(id).exists())
    };
    let list = run(&["ip", "netns", "list"], "")?;
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    remove(names.filter(|name| of_dead(name)).map(str::to_owned));
    Ok(())
}

/// Whether the kernel can delay and drop packets.
pub(crate) fn has_netem() -> bool {
    let name = format!("{PREFIX}{}-probe", std::process::id());
    let add = || {
        run(&["ip", "netns", "add", &name], "")?;
        run(&["tc", "-n", &name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"], "")
    };
    let found = add().is_ok();
    remove(std::iter::once(name));
    found
}

/// The bytes that the namespace of a process has sent over `eth0`, with headers.
pub(crate) fn sent_bytes(process: u32) -> Option<u64> {
    let table = fs::read_to_string(format!("/proc/{process}/net/dev")).ok()?;
    let line = table.lines().find_map(|line| line.trim().strip_prefix("eth0:"))?;
    line.split_whitespace().nth(8)?.parse().ok()
}
