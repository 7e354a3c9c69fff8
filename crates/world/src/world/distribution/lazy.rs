//! Containers that start before their image is complete: eStargz, SOCI, Nydus, overlaybd.
//!
//! A layer is mounted once its table of contents and its prefetched part have arrived; nothing is unpacked. A
//! container then reads what it needs to become ready: `startFraction` of the image's bytes (mean 6.4% over 57 images:
//! Harter et al., "Slacker", FAST '16), in reads of one size, several concurrently. Each read costs a round trip and
//! the time to serve a request, and its bytes use the same links as everything else. The rest arrives slowly in the
//! background, and then the node has the whole blob. So lazy pulling is slower than a plain pull if round trips are
//! long: with PostgreSQL and eStargz, at 150 ms and above (Starlight, Chen et al., NSDI '22).
//!
//! Mounting takes its own time (`mount`), in addition to the bytes: published lazy starts have a floor of about 1.2 s.
//! A service that prepares images (by converting or indexing them) may not have prepared a new image yet: the image is
//! then pulled as a whole.
//!
//! A cache or a swarm serves reads without waiting for the whole blob; otherwise the registry does. The round trips
//! come first, and then all bytes in one transfer: the total time is right, but not the order of its parts.
//!
//! Left out: reads after a container is ready, containers that share reads, overhead of formats in bytes and CPU, the
//! effect of read requests on the registry's limits (there are many small requests, so a registry with a limit would
//! be affected), and the time of the blob host to serve each read.

use crate::world::World;
use crate::world::distribution::spec::LazySpec;
use crate::world::event::{DistributionEvent, Event, Queue};
use crate::world::ids::{NodeId, PodId};
use crate::world::nodes::catalog::{ImageRef, Layer};
use crate::world::nodes::node::{Blob, ReadProgress};
use crate::world::transfers::links::Leg;
use crate::world::transfers::payload::{Payload, Sender, Transfer};
use fleetsim_units::{Bytes, BytesPerSec, SimDuration};

/// The parts of a layer, in the order in which they arrive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Parts {
    mount: Bytes,
    reads: Bytes,
    rest: Bytes,
}

impl LazySpec {
    fn parts(&self, layer: &Layer) -> Parts {
        let size = layer.compressed;
        let needed = size.mul_f64(self.start_fraction.get());
        let prefetched = needed.mul_f64(self.prefetch.get());
        let mount = Bytes::new((self.toc + prefetched).get().min(size.get()));
        let reads = Bytes::new((needed - prefetched).get().min((size - mount).get()));
        Parts {
            mount,
            reads,
            rest: size - mount - reads,
        }
    }

    /// Returns the bytes of a layer that must arrive before it can be mounted.
    pub(crate) fn mount_size(&self, layer: &Layer) -> Bytes {
        self.parts(layer).mount
    }
}

/// A part of an image that is transferred after the image is mounted on a node.
#[derive(Clone, Copy, Debug)]
struct LazyPart {
    node: NodeId,
    image: ImageRef,
    size: Bytes,
    /// Maximum rate of the transfer's connection.
    cap: Option<BytesPerSec>,
}

impl LazyPart {
    const fn transfer(&self, payload: Payload, sender: Sender) -> Transfer {
        Transfer {
            payload,
            bytes: self.size,
            sender,
            receiver: Some(self.node),
            blob: None,
        }
    }
}

impl<'s> World<'s> {
    fn lazy(&self) -> &'s LazySpec {
        let spec: &'s _ = self.spec;
        spec.distribution
            .lazy
            .as_ref()
            .expect("only lazy pulls read on demand")
    }

    /// Starts the reads of a container that is about to start. Returns false if there is nothing to read.
    pub(crate) fn read_on_demand(
        &mut self,
        pod: PodId,
        after: SimDuration,
        queue: &mut Queue,
    ) -> bool {
        let node = self.pods[pod.index()].node;
        let image = self.pods[pod.index()].image;
        if !self.catalog.image(image).is_lazy {
            return false;
        }
        match &mut self.nodes[node.index()].content_mut().reading[usize::from(image.0)] {
            ReadProgress::Done => false,
            ReadProgress::Now(waiting) => {
                waiting.push(pod);
                true
            }
            reading @ ReadProgress::NotYet => {
                *reading = ReadProgress::Now(vec![pod]);
                let round_trips = match self.bytes_to_read(node, image) {
                    Some(bytes) => self.round_trips(node, image, bytes),
                    None => SimDuration::ZERO,
                };
                let mount = self.draw(pod, &self.lazy().mount, "lazy mount", 0);
                queue.schedule_in(
                    after + mount + round_trips,
                    Event::Distribution(DistributionEvent::ReadsBegin {
                        node,
                        image: image.0,
                    }),
                );
                true
            }
        }
    }

    /// Returns the bytes of an image that are read on demand. `None`: none of its layers is mounted.
    fn bytes_to_read(&self, node: NodeId, image: ImageRef) -> Option<Bytes> {
        let lazy = self.lazy();
        let layers = self.nodes[node.index()].mounted_layers(self.catalog.image(image));
        layers
            .map(|layer| lazy.parts(layer).reads)
            .reduce(|all, reads| all + reads)
    }

    fn round_trips(&mut self, node: NodeId, image: ImageRef, bytes: Bytes) -> SimDuration {
        let lazy = self.lazy();
        let reads = bytes
            .get()
            .div_ceil(lazy.read.get())
            .div_ceil(u64::from(lazy.parallel_reads));
        let each = match self.reads_from(node, image) {
            Some((_, rtt)) => rtt,
            None => self.clusters[self.nodes[node.index()].cluster.index()].rtt,
        };
        each * reads
    }

    /// Returns the cache or swarm that serves reads, if any.
    fn reads_from(&mut self, node: NodeId, image: ImageRef) -> Option<(Leg, SimDuration)> {
        let cluster = self.nodes[node.index()].cluster;
        let blob = self.catalog.image(image).layers.first()?.blob;
        self.delivery
            .method
            .reads(cluster, node, blob, &mut self.transfers.network)
    }

    /// Starts the transfer of a container's reads.
    pub(crate) fn reads_begin(&mut self, node: NodeId, image: ImageRef, queue: &mut Queue) {
        let size = self.bytes_to_read(node, image).unwrap_or(Bytes::ZERO);
        let part = LazyPart {
            node,
            image,
            size,
            cap: None,
        };
        self.start_lazy(part, Payload::Reads(node, image), queue);
    }

    /// Starts the transfer of a part of an image, from a cache, a swarm or the registry.
    fn start_lazy(&mut self, part: LazyPart, payload: Payload, queue: &mut Queue) {
        let LazyPart {
            node, image, cap, ..
        } = part;
        let now = queue.now();
        if let Some((leg, _)) = self.reads_from(node, image) {
            let cluster = self.nodes[node.index()].cluster;
            let store = self.delivery.method.store_of(cluster);
            let sender = self.spec.distribution.kind.sender_of(store);
            self.link_loads.note_change(sender);
            let connection = cap.or(leg.connection.cap).into();
            let leg = Leg { connection, ..leg };
            self.transfers
                .start_over(now, &leg, part.transfer(payload, sender));
        } else {
            let from = self.spec.images[self.catalog.specified_index(image)].registry;
            let key = self.nodes[node.index()].key;
            let tcp = &self.registries[from].spec.tcp;
            let connection = self.transfers.connect(node, key, cap, tcp, &self.streams);
            let transfer = part.transfer(payload, Sender::RegistryReads(from));
            self.transfers
                .start_from_registry(now, from, node, connection, transfer);
        }
        self.note_download_begins(node);
        self.rates_changed(queue);
    }

    /// Called when the reads are complete: the containers run, and the rest is downloaded in the background.
    pub(crate) fn reads_end(
        &mut self,
        node: NodeId,
        image: ImageRef,
        size: Bytes,
        queue: &mut Queue,
    ) {
        self.totals.received += size;
        let lazy = self.lazy();
        if lazy.background.is_some() {
            let layers = self.nodes[node.index()].mounted_layers(self.catalog.image(image));
            let mounted: Vec<Layer> = layers.copied().collect();
            for layer in mounted {
                let part = LazyPart {
                    node,
                    image,
                    size: lazy.parts(&layer).rest,
                    cap: lazy.background,
                };
                self.start_lazy(part, Payload::Background(node, image, layer.blob), queue);
            }
        }
        let reading = std::mem::replace(
            &mut self.nodes[node.index()].content_mut().reading[usize::from(image.0)],
            ReadProgress::Done,
        );
        if let ReadProgress::Now(pods) = reading {
            for pod in pods {
                self.process_runs(pod, queue);
            }
        }
    }

    /// Counts bytes of an image that a node received after the pull, for the image's application.
    pub(crate) fn count_lazily_received(&mut self, node: NodeId, image: ImageRef, bytes: Bytes) {
        let cluster = &self.clusters[self.nodes[node.index()].cluster.index()];
        let specified = self.catalog.specified_index(image);
        for target in &cluster.deployments {
            let deployment = &mut self.deployments[target.index()];
            let application = &self.spec.applications[deployment.application];
            let mut images = application.workloads.iter().map(|workload| workload.image);
            if images.any(|own| own == specified) {
                deployment.facts.lazily_received += bytes;
                return;
            }
        }
    }

    /// Called when the rest of a layer has arrived. It is kept if the layer is still mounted: meanwhile, the layer may
    /// have been deleted with its image, or another image of the node may have brought the rest first.
    pub(crate) fn background_ends(&mut self, node: NodeId, blob: u16, size: Bytes) {
        self.totals.received += size;
        let kept = &mut self.nodes[node.index()].content_mut().blobs[usize::from(blob)];
        if *kept != Blob::Mounted {
            return;
        }
        *kept = if self.spec.node.keep_blobs {
            Blob::Whole
        } else {
            Blob::Discarded
        };
    }
}
