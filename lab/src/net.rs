//! Network namespaces and shaped links: a switch, the registry and its mirror, and one namespace for each site.
//!
//! All interfaces are created inside of namespaces, so the machine's own interfaces are never changed. The registry's
//! sending and each site's receiving are shaped; bytes count with their headers. Before a link, packets wait either in
//! one queue for all connections (`tc tbf`), at most for [`LATENCY`] and dropped beyond that, or in one queue for each
//! connection, served in turn (`tc htb` with equal classes): see [`PacketQueue`]. A server assigns queues to its
//! connections in turn, so no two share one; before a site's link, a hash of address and port selects the queue. All
//! routes have the same TCP congestion control, whatever the machine's own is.
//!
//! Left out: the traffic back to the registry (requests and acknowledgements), and round trips and loss unless the
//! kernel has netem.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::{Args, ValueEnum};
use fleetsim::units::BytesPerSec;

use crate::command::run;
use crate::error::LabError;

/// Prefix of namespace names, followed by the number of the laboratory's process.
const PREFIX: &str = "fleetsim-lab-";

/// Maximum wait of a packet before a shaped link with one queue.
const LATENCY: &str = "100ms";

/// Number of queues of a link with one queue per connection, as in `fq_codel`.
const QUEUES: usize = 1024;

/// Size of each queue: nine times the ten packets with which a connection begins (RFC 6928). Guess.
const CLASS_BYTES: usize = 131_072;

/// The rate of a link that is not shaped yet.
const UNSHAPED: BytesPerSec = BytesPerSec::new(10e9 / 8.0);

/// The smallest bucket of a shaped link with one queue: the largest bundle of packets is 64 KiB, and the kernel splits
/// those that are larger than the bucket.
const TBF_BURST_MIN: f64 = 16_384.0;

/// The smallest bucket of a shaped link with a queue for each connection: two packets.
const HTB_BURST_MIN: f64 = 4_096.0;

/// A link's bucket, as a duration at its rate: the delay of timers while all processors are busy. With 2 ms, the storm
/// of `one-layer` ended 7.9 % after its simulation; with 10 ms, 3.4 %.
const BURST_SECS: f64 = 0.01;

/// The address range of all namespaces.
const NETWORK: &str = "10.77.0.0/16";

/// The address of the registry.
pub(crate) const REGISTRY: &str = "10.77.0.1";

/// The address of the registry's mirror.
pub(crate) const MIRROR: &str = "10.77.0.2";

/// The queues before a shaped link.
#[derive(Clone, Copy, Debug, Default, PartialEq, ValueEnum)]
pub(crate) enum PacketQueue {
    /// Each connection has its own queue, and queues are served in turn, as in fair queueing (`fq_codel`, CAKE).
    #[default]
    Fair,
    /// All connections wait in one queue, which drops packets when it is full.
    Fifo,
}

/// The settings of TCP and of links.
#[derive(Clone, Debug, Args)]
pub(crate) struct Transport {
    /// Queues before a shaped link
    #[arg(long, value_name = "KIND", default_value = "fair")]
    pub(crate) queue: PacketQueue,
    /// TCP's congestion control, one of net.ipv4.tcp_available_congestion_control
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) congestion: String,
}

/// The network of a set-up. It is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Network {
    prefix: String,
    sites: usize,
    queue: PacketQueue,
}

impl Network {
    /// Creates the namespaces of `sites` sites, with unshaped links. The mirror's namespace always exists.
    pub(crate) fn build(sites: usize, transport: &Transport) -> Result<Self, LabError> {
        remove_stale()?;
        let network = Self {
            prefix: format!("{PREFIX}{}-", std::process::id()),
            sites,
            queue: transport.queue,
        };
        let (switch, registry, mirror) = (network.switch(), network.registry(), network.mirror());
        let names: Vec<String> = (0..sites).map(|at| network.site(at)).collect();
        let mut batch = String::new();
        for name in [&switch, &registry, &mirror].into_iter().chain(&names) {
            writeln!(batch, "netns add {name}").expect("writes to memory do not fail");
        }
        run(&["ip", "-batch", "-"], &batch)?;
        run(
            &["ip", "-n", &switch, "-batch", "-"],
            "link add name br0 type bridge\nlink set br0 up\n",
        )?;
        let ports = names
            .iter()
            .enumerate()
            .map(|(at, name)| (port(at), name.clone(), address(at)));
        let servers = [("reg", registry, REGISTRY), ("mir", mirror, MIRROR)];
        let servers =
            servers.map(|(port, name, address)| (port.to_owned(), name, address.to_owned()));
        for (port, name, address) in servers.into_iter().chain(ports) {
            let veth = format!("link add name {port} type veth peer name eth0 netns {name}\n");
            run(
                &["ip", "-n", &switch, "-batch", "-"],
                &format!("{veth}link set {port} master br0 up\n"),
            )?;
            // For a route, the kernel allows any congestion control; for a namespace, only those that users may
            // choose.
            let route = format!(
                "route replace {NETWORK} dev eth0 src {address} congctl {}",
                transport.congestion
            );
            let inside = format!(
                "link set lo up\naddr add {address}/16 dev eth0\nlink set eth0 up\n{route}\n"
            );
            run(&["ip", "-n", &name, "-batch", "-"], &inside)?;
        }
        if network.queue == PacketQueue::Fair {
            let switch = network.switch();
            for server in [network.registry(), network.mirror()] {
                make_fair(&server, "eth0", in_turn())?;
            }
            for at in 0..sites {
                make_fair(&switch, &port(at), by_hash())?;
            }
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

    /// Limits the rate at which the registry sends.
    pub(crate) fn shape_egress(&self, rate: BytesPerSec) -> Result<(), LabError> {
        self.shape(&self.registry(), "eth0", rate)
    }

    /// Limits the rate at which the mirror sends.
    pub(crate) fn shape_mirror(&self, rate: BytesPerSec) -> Result<(), LabError> {
        self.shape(&self.mirror(), "eth0", rate)
    }

    /// Limits the rate at which a site receives.
    pub(crate) fn shape_downlink(&self, site: usize, rate: BytesPerSec) -> Result<(), LabError> {
        self.shape(&self.switch(), &port(site), rate)
    }

    fn shape(&self, namespace: &str, device: &str, rate: BytesPerSec) -> Result<(), LabError> {
        let line = match self.queue {
            PacketQueue::Fifo => {
                let (rate, burst) = (rate.get() * 8.0, burst(rate, TBF_BURST_MIN));
                format!(
                    "qdisc replace dev {device} root tbf rate {rate:.0}bit burst {burst:.0} latency {LATENCY}\n"
                )
            }
            PacketQueue::Fair => fair_root(device, rate),
        };
        run(&["tc", "-n", namespace, "-batch", "-"], &line).map(drop)
    }

    /// Cuts a site off, or connects it again.
    pub(crate) fn connect(&self, site: usize, is_connected: bool) -> Result<(), LabError> {
        let state = if is_connected { "up" } else { "down" };
        run(
            &[
                "ip",
                "-n",
                &self.switch(),
                "link",
                "set",
                &port(site),
                state,
            ],
            "",
        )
        .map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let names = (0..self.sites).map(|at| self.site(at)).chain([
            self.registry(),
            self.mirror(),
            self.switch(),
        ]);
        remove(names);
    }
}

/// The bucket of a shaped link, in bytes.
fn burst(rate: BytesPerSec, least: f64) -> f64 {
    (rate.get() * BURST_SECS).max(least)
}

/// The class that all queues of a link borrow from, with the link's rate: a line for `tc`.
fn fair_root(device: &str, rate: BytesPerSec) -> String {
    let (rate, burst) = (rate.get() * 8.0, burst(rate, HTB_BURST_MIN));
    // By default the second bucket (`cburst`) is one packet, and the smaller of the two applies.
    format!(
        "class replace dev {device} parent 1: classid 1:1 htb rate {rate:.0}bit burst {burst:.0} cburst {burst:.0}\n"
    )
}

/// nftables tables and a rule with which a server marks packets: each new connection gets the next queue. Of 60
/// connections that a hash distributes over 1,024 queues, two pairs would share one, and a node with such a connection
/// would end 10 % later.
fn in_turn() -> (String, String) {
    let tables = format!(
        "table ip connections {{\nchain begin {{\ntype filter hook input priority 0;\n\
         ct state new ct mark set numgen inc mod {QUEUES}\n}}\n\
         chain answer {{\ntype filter hook output priority 0;\nmeta mark set ct mark\n}}\n}}\n"
    );
    (tables, String::new())
}

/// nftables tables and a rule with which the switch marks packets by a hash of address and port. The switch forwards
/// packets, and does not track connections.
fn by_hash() -> (String, String) {
    (
        String::new(),
        format!("ip protocol tcp meta mark set jhash ip daddr . tcp dport mod {QUEUES}\n"),
    )
}

/// Gives a link one queue per connection. Each packet is counted individually, so packets are not sent in bundles.
fn make_fair(
    namespace: &str,
    device: &str,
    (tables, rule): (String, String),
) -> Result<(), LabError> {
    let mut batch = format!(
        "qdisc add dev {device} root handle 1: htb\n{}",
        fair_root(device, UNSHAPED)
    );
    for class in (0..QUEUES).map(class_of) {
        let parent =
            format!("class add dev {device} parent 1:1 classid {class} htb rate 8kbit ceil 10gbit");
        let queue = format!("qdisc add dev {device} parent {class} bfifo limit {CLASS_BYTES}");
        writeln!(
            batch,
            "{parent} quantum 1514 burst 1600 cburst 1600\n{queue}"
        )
        .expect("writes to memory do not fail");
    }
    run(
        &[
            "ip",
            "-n",
            namespace,
            "link",
            "set",
            device,
            "gso_max_segs",
            "1",
        ],
        "",
    )?;
    run(&["tc", "-n", namespace, "-batch", "-"], &batch)?;
    let classes: Vec<String> = (0..QUEUES)
        .map(|at| format!("{at} : {}", class_of(at)))
        .collect();
    let rules = format!(
        "{tables}table netdev fair-{device} {{\nchain out {{\ntype filter hook egress device {device} priority 0;\n\
         {rule}meta priority set meta mark map {{ {} }}\n}}\n}}\n",
        classes.join(", ")
    );
    run(
        &["ip", "netns", "exec", namespace, "nft", "-f", "-"],
        &rules,
    )
    .map(drop)
}

/// The identifier of a queue's class.
fn class_of(queue: usize) -> String {
    format!("1:{:x}", 16 + queue)
}

/// The switch's port for a site.
fn port(site: usize) -> String {
    format!("p{site}")
}

/// The address of a site.
pub(crate) fn address(site: usize) -> String {
    format!("10.77.{}.{}", 1 + site / 250, 1 + site % 250)
}

fn remove(names: impl Iterator<Item = String>) {
    let batch: String = names.map(|name| format!("netns del {name}\n")).collect();
    // If building failed, some links do not exist. That must not prevent the removal of the other links.
    let _ = run(&["ip", "-force", "-batch", "-"], &batch);
}

/// Removes the namespaces of killed laboratories.
fn remove_stale() -> Result<(), LabError> {
    let of_dead = |name: &str| {
        let id = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        id.is_some_and(|id| !Path::new("/proc").join(id).exists())
    };
    let list = run(&["ip", "netns", "list"], "")?;
    let names = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    remove(names.filter(|name| of_dead(name)).map(str::to_owned));
    Ok(())
}

/// Returns true if the kernel can delay and drop packets.
pub(crate) fn has_netem() -> bool {
    try_in_namespace(|name| {
        run(
            &[
                "tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms",
            ],
            "",
        )
        .map(drop)
    })
    .is_ok()
}

/// Tests whether the kernel has the parts of [`PacketQueue::Fair`].
pub(crate) fn try_fair_queues() -> Result<(), LabError> {
    try_in_namespace(|name| make_fair(name, "lo", in_turn()))
}

/// Creates a namespace, runs commands in it, and removes it.
pub(crate) fn try_in_namespace(
    action: impl FnOnce(&str) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let name = format!("{PREFIX}{}-probe", std::process::id());
    run(&["ip", "netns", "add", &name], "")?;
    let result = action(&name);
    remove(std::iter::once(name));
    result
}

/// The bytes that the namespace of a process has sent over `eth0`, with headers.
pub(crate) fn sent_bytes(process: u32) -> Option<u64> {
    let table = fs::read_to_string(format!("/proc/{process}/net/dev")).ok()?;
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix("eth0:"))?;
    line.split_whitespace().nth(8)?.parse().ok()
}
