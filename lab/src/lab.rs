//! A built set-up, and one run in it: the clock, the pulls, and the measurements.
//!
//! The clock starts with the run. A pull is a task that waits for its node. The registry's rate is read from the
//! counters of its interface a few times a second; each reading covers the preceding interval, so the curve lags by
//! that interval. Header bytes are subtracted, so that the rate is comparable with the program's.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fleetsim::engine::Observer;
use fleetsim::sim::{EndedPull, LabObservation, Laboratory, MeasuredEgress};
use fleetsim::units::{Bytes, BytesPerSec, SimTime};
use fleetsim::world::{
    CutKind, DistributionKind, Event, FaultEvent, PullError, PullId, PullOrder, Queue, Totals,
    World, WorldSpec,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::command::run;
use crate::error::LabError;
use crate::image::{self, TAGS, reference};
use crate::net::{MIRROR, Network, REGISTRY, Transport, address, sent_bytes};
use crate::node::Node;
use crate::registry::{PORT, RegistryServer};
use crate::subset::OLD;

/// Whether the laboratory has received a signal to end.
pub(crate) static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Time between two readings of the registry's counters.
const SAMPLING: Duration = Duration::from_millis(200);

/// Bytes of data in a packet of 1,514 bytes on the wire. Source: Ethernet's header has 14 bytes, IPv4's 20, TCP's 20
/// with 12 of time stamps (RFC 894, 791, 9293, 7323).
const DATA_SHARE: f64 = 1448.0 / 1514.0;

/// A link counts as busy above this share of its rate, because a sample contains only whole packets.
const BUSY_SHARE: f64 = 0.97;

/// Number of nodes that start, or pull the old images, at the same time.
const AT_ONCE: usize = 8;

/// A built set-up. When it is dropped, everything is stopped and removed, the nodes before the network.
#[derive(Debug)]
pub(crate) struct Setup {
    world: WorldSpec,
    /// Nodes of each cluster.
    nodes: Vec<Vec<Node>>,
    registry: RegistryServer,
    /// The cache of each cluster; empty if images do not come through caches.
    caches: Vec<RegistryServer>,
    /// The mirror, from which nodes try to pull before they try the registry.
    mirror: Option<RegistryServer>,
    network: Network,
    scratch: PathBuf,
    /// The runtime that executes the clients of the nodes.
    runtime: Runtime,
}

impl Setup {
    /// Builds the namespaces, the registry, the images and the nodes of an experiment, in a folder that is removed
    /// afterwards.
    pub(crate) fn build(
        world: &WorldSpec,
        transport: &Transport,
        scratch: &Path,
    ) -> Result<Self, LabError> {
        let network = Network::build(world.clusters.len(), transport)?;
        let namespace = network.registry();
        let limit = world.registry.api.request_limit;
        let registry =
            RegistryServer::start(&namespace, REGISTRY, &scratch.join("registry"), None, limit)?;
        image::push(
            &world.images,
            &scratch.join("images"),
            &namespace,
            registry.push_to(),
        )?;
        let mirror = world.distribution.mirrors.first().map(|spec| {
            let namespace = network.mirror();
            let mirror =
                RegistryServer::start(&namespace, MIRROR, &scratch.join("mirror"), None, None)?;
            let held: Vec<_> = spec
                .holds
                .iter()
                .map(|&at| world.images[at].clone())
                .collect();
            image::push(
                &held,
                &scratch.join("mirrored"),
                &namespace,
                mirror.push_to(),
            )?;
            Ok::<_, LabError>(mirror)
        });
        let mirror = mirror.transpose()?;
        let mut setup = Self {
            world: world.clone(),
            nodes: Vec::new(),
            registry,
            caches: Vec::new(),
            mirror,
            network,
            scratch: scratch.to_owned(),
            runtime: Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .map_err(|error| LabError::Machine(error.to_string()))?,
        };
        setup.start_nodes()?;
        setup.preload()?;
        Ok(setup)
    }

    fn start_nodes(&mut self) -> Result<(), LabError> {
        for (at, cluster) in self.world.clusters.iter().enumerate() {
            let namespace = self.network.site(at);
            let (registries, slots) = (self.registries(at), self.world.node.runtime.download_slots);
            let folder = |node| self.scratch.join(format!("site-{at}-{node}"));
            let start =
                |node| Node::start(&namespace, &folder(node), &registries, slots, &self.runtime);
            let nodes: Vec<Node> = (0..cluster.nodes.typical().get() as u32)
                .map(start)
                .collect::<Result<_, _>>()?;
            self.nodes.push(nodes);
            if self
                .nodes
                .iter()
                .map(Vec::len)
                .sum::<usize>()
                .is_multiple_of(AT_ONCE)
            {
                self.nodes[at]
                    .iter()
                    .try_for_each(|node| node.wait(&self.runtime))?;
            }
            check_interrupt()?;
        }
        self.nodes
            .iter()
            .flatten()
            .try_for_each(|node| node.wait(&self.runtime))
    }

    /// Pulls the images that run before an update from the registry, over unshaped links.
    fn preload(&self) -> Result<(), LabError> {
        let mut pulls = Vec::new();
        for (_, nodes) in self
            .nodes
            .iter()
            .enumerate()
            .filter(|(at, _)| self.world.installed(0, *at).is_some())
        {
            for image in self
                .world
                .images
                .iter()
                .filter(|image| !image.previous.is_empty())
            {
                let reference = format!("{REGISTRY}:{PORT}/{}", reference(&image.name, TAGS[1]));
                pulls.extend(
                    nodes
                        .iter()
                        .map(|node| (node.images().clone(), reference.clone())),
                );
            }
        }
        for chunk in pulls.chunks(AT_ONCE) {
            check_interrupt()?;
            let mut tasks = JoinSet::new();
            for (images, reference) in chunk.iter().cloned() {
                tasks.spawn_on(
                    async move { images.pull(reference).await },
                    self.runtime.handle(),
                );
            }
            let pulled = self.runtime.block_on(tasks.join_all());
            if let Some((_, message)) = pulled.into_iter().find_map(Result::err) {
                return Err(LabError::Program {
                    command: "PullImage".to_owned(),
                    message,
                });
            }
        }
        Ok(())
    }

    /// The registries of a cluster's nodes, each with its hosts in the order in which the nodes try them: a mirror
    /// comes first, and a cluster's cache is a separate registry.
    fn registries(&self, cluster: usize) -> Vec<(String, Vec<String>)> {
        let host = |address: &str| format!("{address}:{PORT}");
        let asked = self.mirror.iter().map(|_| MIRROR).chain([REGISTRY]);
        vec![
            (host(REGISTRY), asked.map(host).collect()),
            (host(&address(cluster)), vec![host(&address(cluster))]),
        ]
    }

    /// The reference by which a node of a cluster pulls an image: from the cluster's cache, if there is one.
    fn reference(&self, cluster: usize, image: &str, tag: &str) -> String {
        let host = match self.world.distribution.kind {
            DistributionKind::Cache(_) => address(cluster),
            _ => REGISTRY.to_owned(),
        };
        format!("{host}:{PORT}/{}", reference(image, tag))
    }

    /// Prepares a run: shapes the links to the drawn rates, and starts empty caches.
    pub(crate) fn prepare(&mut self, links: &[BytesPerSec]) -> Result<(), LabError> {
        self.network.shape_egress(self.world.registry.egress)?;
        if let Some(mirror) = self.world.distribution.mirrors.first() {
            self.network.shape_mirror(mirror.egress)?;
        }
        for (at, rate) in links.iter().enumerate() {
            self.network.shape_downlink(at, *rate)?;
            self.network.connect(at, true)?;
        }
        self.caches.clear();
        if matches!(self.world.distribution.kind, DistributionKind::Cache(_)) {
            for at in 0..self.world.clusters.len() {
                let folder = self.scratch.join(format!("cache-{at}"));
                // This folder may be left over from the previous run.
                let _ = std::fs::remove_dir_all(&folder);
                let upstream = format!("{REGISTRY}:{PORT}");
                let cache = RegistryServer::start(
                    &self.network.site(at),
                    &address(at),
                    &folder,
                    Some(&upstream),
                    None,
                )?;
                self.caches.push(cache);
            }
        }
        self.registry.forget()?;
        self.caches
            .iter_mut()
            .chain(&mut self.mirror)
            .try_for_each(RegistryServer::forget)
    }

    /// Removes the new images from all nodes, so that the next run starts from the same state.
    pub(crate) fn reset(&self) -> Result<(), LabError> {
        for (at, nodes) in self.nodes.iter().enumerate() {
            check_interrupt()?;
            for image in &self.world.images {
                let reference = self.reference(at, &image.name, TAGS[0]);
                for node in nodes {
                    // It is not an error if the image has not arrived.
                    let _ = self
                        .runtime
                        .block_on(node.images().remove(reference.clone()));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.nodes.iter().flatten().for_each(Node::ask_to_end);
        self.caches.clear();
        self.mirror = None;
        self.nodes.clear();
    }
}

/// A finished pull: its id, its end, and the error if it failed.
type Ended = (PullId, Instant, Option<PullError>);

/// One run in a set-up.
#[derive(Debug)]
pub(crate) struct LabRun<'s> {
    setup: &'s Setup,
    links: Vec<BytesPerSec>,
    began: Instant,
    sender: Sender<Ended>,
    receiver: Receiver<Ended>,
    /// The pulls in progress; dropping them cancels them.
    pulls: JoinSet<()>,
    sampled: (Instant, u64),
    egress: BytesPerSec,
    /// The maximum delay between an event's time and its processing.
    pub(crate) late: Duration,
    failed: Option<LabError>,
}

impl<'s> LabRun<'s> {
    /// Starts the clock. `links` are the clusters' downlinks.
    pub(crate) fn begin(setup: &'s Setup, links: Vec<BytesPerSec>) -> Self {
        let (sender, receiver) = channel();
        let began = Instant::now();
        let sent = sent_bytes(setup.registry.id()).unwrap_or(0);
        Self {
            setup,
            links,
            began,
            sender,
            receiver,
            pulls: JoinSet::new(),
            sampled: (began, sent),
            egress: setup.world.registry.egress,
            late: Duration::ZERO,
            failed: None,
        }
    }

    fn time(&self, at: Instant) -> SimTime {
        let nanos = at.saturating_duration_since(self.began).as_nanos();
        SimTime::from_nanos(u64::try_from(nanos).expect("a run is shorter than 500 years"))
    }

    /// The registry's rate since the previous sample.
    fn sample(&mut self, now: Instant) -> Option<MeasuredEgress> {
        let sent = sent_bytes(self.setup.registry.id())?;
        let (since, before) = std::mem::replace(&mut self.sampled, (now, sent));
        let rate = sent.saturating_sub(before) as f64 / (now - since).as_secs_f64();
        Some(MeasuredEgress {
            rate: BytesPerSec::new(rate * DATA_SHARE),
            is_at_capacity: rate >= self.egress.get() * BUSY_SHARE,
        })
    }

    /// Changes the links of the set-up when an event changes the links of the simulated world.
    fn follow(&mut self, event: &Event) -> Result<(), LabError> {
        let world = &self.setup.world;
        match *event {
            Event::RegistryWindow { window, begins, .. } => {
                let share = if begins {
                    world.registry.windows[window as usize].egress.get()
                } else {
                    1.0
                };
                self.egress = BytesPerSec::new(world.registry.egress.get() * share);
                self.setup.network.shape_egress(self.egress)
            }
            Event::Fault(FaultEvent::RegionalBegins(at) | FaultEvent::RegionalEnds(at)) => {
                let begins = matches!(event, Event::Fault(FaultEvent::RegionalBegins(_)));
                let outage = &world.faults.regional[at as usize];
                outage.clusters.iter().try_for_each(|&cluster| {
                    match (outage.cuts, outage.downlink) {
                        (CutKind::Brownout { downlink }, _) | (_, Some(downlink)) => {
                            let share = if begins { downlink.get() } else { 1.0 };
                            let rate = BytesPerSec::new(self.links[cluster].get() * share);
                            self.setup.network.shape_downlink(cluster, rate)
                        }
                        _ => self.setup.network.connect(cluster, !begins),
                    }
                })
            }
            _ => Ok(()),
        }
    }
}

impl Observer<Event> for LabRun<'_> {
    fn observe(&mut self, at: SimTime, event: &Event) {
        let now = self.time(Instant::now());
        self.late = self
            .late
            .max(Duration::from_nanos(now.saturating_since(at).as_nanos()));
        if let Err(error) = self.follow(event) {
            self.failed.get_or_insert(error);
        }
    }
}

impl Laboratory for LabRun<'_> {
    type Error = LabError;

    fn begin(&mut self, order: PullOrder) -> Result<(), LabError> {
        let (cluster, world) = (order.cluster.index(), &self.setup.world);
        let tag = if order.revision == OLD {
            TAGS[1]
        } else {
            TAGS[0]
        };
        let reference = self
            .setup
            .reference(cluster, &world.images[order.image].name, tag);
        let images = self.setup.nodes[cluster][order.node].images().clone();
        let sender = self.sender.clone();
        let site = world.clusters[cluster].name.clone();
        let pull = async move {
            let error = images.pull(reference).await.err();
            if let Some((_, message)) = &error {
                // The rest of the line repeats the reference and containerd's steps.
                let line = crate::command::last_line(message);
                eprintln!(
                    "note: {site}: a pull failed: {}",
                    line.rsplit(": ").next().unwrap_or(&line)
                );
            }
            // Sending fails after the end of the run, when there is no receiver.
            let _ = sender.send((order.pull, Instant::now(), error.map(|(kind, _)| kind)));
        };
        self.pulls.spawn_on(pull, self.setup.runtime.handle());
        Ok(())
    }

    fn wait(&mut self, due: SimTime) -> Result<LabObservation, LabError> {
        check_interrupt()?;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let due = self.began + Duration::from_nanos(due.as_nanos());
        let until = due.min(self.sampled.0 + SAMPLING);
        let mut observed = LabObservation::default();
        match self
            .receiver
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            Ok(ended) => {
                for (pull, at, error) in std::iter::once(ended).chain(self.receiver.try_iter()) {
                    let at = self.time(at);
                    observed.ended.push(EndedPull { pull, at, error });
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("the run itself keeps a sender"),
        }
        let now = Instant::now();
        if now >= self.sampled.0 + SAMPLING {
            observed.egress = self.sample(now);
        }
        observed.now = self.time(now);
        Ok(observed)
    }

    fn totals(&mut self) -> Result<Totals, LabError> {
        // The registry logs a response while its last byte is being sent, so wait until the log is complete.
        thread::sleep(Duration::from_millis(200));
        let served = self.setup.registry.served()?;
        let from_caches = self
            .setup
            .caches
            .iter()
            .chain(&self.setup.mirror)
            .map(RegistryServer::served);
        let from_caches: u64 = from_caches
            .collect::<Result<Vec<_>, _>>()?
            .iter()
            .map(|cache| cache.bytes)
            .sum();
        let sent = Bytes::new(served.bytes);
        Ok(Totals {
            sent,
            upstream: if self.setup.caches.is_empty() {
                Bytes::ZERO
            } else {
                sent
            },
            from_caches: Bytes::new(from_caches),
            requests: served.requests,
            responses_429: served.responses_429,
            responses_503: served.responses_503,
            ..Totals::default()
        })
    }
}

/// The clusters' downlinks in one replicate.
pub(crate) fn links(
    variant: &fleetsim::scenario::Variant,
    seed: u64,
    replicate: u32,
) -> Vec<BytesPerSec> {
    let mut queue = Queue::new();
    let scenario = &variant.scenario;
    let world = World::new(
        &scenario.world,
        &scenario.platform,
        seed,
        replicate,
        &mut queue,
    );
    world.site_facts().map(|site| site.downlink).collect()
}

/// Returns an error after a signal.
pub(crate) fn check_interrupt() -> Result<(), LabError> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        Err(LabError::Interrupted)
    } else {
        Ok(())
    }
}

/// Removes everything that a killed laboratory left in the scratch folder.
pub(crate) fn remove_stale(folder: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name
            .strip_prefix(prefix)
            .and_then(|rest| rest.split('-').next().map(str::to_owned));
        if id.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            let _ = run(
                &[
                    "rm",
                    "-rf",
                    "--one-file-system",
                    &entry.path().display().to_string(),
                ],
                "",
            );
        }
    }
}
