//! How images are distributed.

use super::super::distribution_file::{
    CacheFile, CachePlaceFile, CdnFile, CoalesceFile, DistributionFile, LazyFile, MirrorFile, PiecesFile, PrePullFile,
    SpegelFile,
};
use super::super::file::ExperimentFile;
use super::super::quantity::{Percent, RateLimit};
use super::Checker;
use crate::document::path::Path;
use crate::units::{Bytes, BytesPerSec};
use crate::world::calibration as default;
use crate::world::{
    CachePlace, CacheSpec, CdnSpec, ClusterSpec, Coalesce, CountOrPercent, DistributionKind, DistributionSpec,
    ImageSpec, LazySpec, MirrorSpec, NodeSpec, PiecesSpec, PrePullSpec, RegionSpec, SpegelSpec,
};

/// Numbers in which Dragonfly and Kraken differ.
struct Product {
    out: BytesPerSec,
    inlet: BytesPerSec,
    connections: u32,
}

impl Checker<'_> {
    pub(super) fn distribution(
        &mut self,
        file: &ExperimentFile,
        clusters: &[ClusterSpec],
        regions: &[RegionSpec],
        images: &[ImageSpec],
        node: &NodeSpec,
    ) -> DistributionSpec {
        let mut spec = DistributionSpec::default();
        if let Some(written) = &file.distribution {
            self.way(&Path::of("distribution"), written, clusters, node, &mut spec);
        }
        spec.mirrors = self.mirrors(file, regions, images);
        spec
    }

    /// Fills in what one key says, and what its `via` says.
    fn way(
        &mut self,
        path: &Path,
        written: &DistributionFile,
        clusters: &[ClusterSpec],
        node: &NodeSpec,
        spec: &mut DistributionSpec,
    ) {
        match written {
            DistributionFile::Direct {} => {}
            DistributionFile::Cache(cache) => {
                spec.kind = DistributionKind::Cache(self.cache(&path.key("cache"), cache, clusters));
            }
            DistributionFile::Spegel(spegel) => {
                spec.kind = DistributionKind::Spegel(self.spegel(&path.key("spegel"), spegel));
            }
            DistributionFile::Dragonfly(pieces) => {
                let nic = node.nic.typical();
                let product = Product { out: nic, inlet: nic, connections: default::DRAGONFLY_PARENTS };
                spec.kind = DistributionKind::Pieces(self.pieces(&path.key("dragonfly"), pieces, &product));
            }
            DistributionFile::Kraken(pieces) => {
                let product = Product {
                    out: BytesPerSec::new(default::KRAKEN_OUT_MB * 1e6),
                    inlet: BytesPerSec::new(default::KRAKEN_IN_MB * 1e6),
                    connections: default::KRAKEN_CONNECTIONS,
                };
                spec.kind = DistributionKind::Pieces(self.pieces(&path.key("kraken"), pieces, &product));
            }
            DistributionFile::Lazy(lazy) => {
                let path = path.key("lazy");
                if spec.lazy.is_some() {
                    self.report(&path, "lazy pulling by way of lazy pulling", "write another key under `via`");
                }
                spec.lazy = Some(self.lazy(&path, lazy));
                if let Some(via) = &lazy.via {
                    self.way(&path.key("via"), via, clusters, node, spec);
                }
            }
            DistributionFile::PrePull(pre_pull) => {
                let path = path.key("prePull");
                if spec.pre_pull.is_some() {
                    self.report(&path, "a pre-pull before a pre-pull", "write another key under `via`");
                }
                spec.pre_pull = Some(self.pre_pull(&path, pre_pull, clusters.len()));
                if let Some(via) = &pre_pull.via {
                    self.way(&path.key("via"), via, clusters, node, spec);
                }
            }
        }
    }

    fn cache(&mut self, path: &Path, written: &CacheFile, clusters: &[ClusterSpec]) -> CacheSpec {
        let per = match written.per {
            Some(CachePlaceFile::Region) => CachePlace::Region,
            Some(CachePlaceFile::Cluster) | None => CachePlace::Cluster,
        };
        if per == CachePlace::Region && !clusters.is_empty() && clusters.iter().all(|cluster| cluster.region.is_none())
        {
            let help = "give groups of the fleet a `region`, or write `per: cluster`";
            self.report(&path.key("per"), "no cluster is in a region, so nobody would use a cache", help);
        }
        let ttl = written.ttl.map_or(default::CACHE_TTL, |ttl| ttl.0);
        CacheSpec {
            per,
            egress: self.rate(&path.key("egress"), written.egress, BytesPerSec::from_gbit(default::CACHE_EGRESS_GBIT)),
            per_connection: self.connection(&path.key("perConnection"), written.per_connection, None),
            rtt: written.rtt.map_or(default::CACHE_RTT, |rtt| rtt.0),
            coalesce: match written.coalesce {
                Some(CoalesceFile::Wait) => Coalesce::Wait,
                Some(CoalesceFile::Stream) => Coalesce::Stream,
                Some(CoalesceFile::None) | None => Coalesce::None,
            },
            ttl: self.positive(&path.key("ttl"), ttl),
            upstream_connections: written
                .upstream_connections
                .map(|most| self.count(&path.key("upstreamConnections"), Some(most), 1)),
        }
    }

    fn spegel(&mut self, path: &Path, written: &SpegelFile) -> SpegelSpec {
        let cap = Some(BytesPerSec::new(default::PEER_CONNECTION_MB * 1e6));
        SpegelSpec {
            lookup: written.lookup.map_or(default::SPEGEL_LOOKUP, |span| span.0),
            timeout: written.timeout.map_or(default::SPEGEL_TIMEOUT, |span| span.0),
            per_connection: self.connection(&path.key("peerConnection"), written.peer_connection, cap),
        }
    }

    fn pieces(&mut self, path: &Path, written: &PiecesFile, product: &Product) -> PiecesSpec {
        let connections = written.connections.unwrap_or(product.connections);
        if connections < 2 {
            let help = "write 2 or more; with fewer a piece would go from peer to peer in one row";
            self.report(&path.key("connections"), format!("{connections} connections make no swarm"), help);
        }
        PiecesSpec {
            seeds: self.count(&path.key("seeds"), written.seeds, default::SEEDS),
            source_rate: self.connection(&path.key("sourceRate"), written.source_rate, None),
            seed_out: self.rate(&path.key("seedOut"), written.seed_out, product.out),
            peer_out: self.rate(&path.key("peerOut"), written.peer_out, product.out),
            peer_in: self.rate(&path.key("peerIn"), written.peer_in, product.inlet),
            piece: self.size(&path.key("piece"), written.piece.map_or(default::PIECE, |size| size.0)),
            connections: connections.max(2),
            effectiveness: written.effectiveness.map_or(default::EFFECTIVENESS, |Percent(share)| share.get()),
            announce: written.announce.map_or(default::ANNOUNCE, |span| span.0),
        }
    }

    fn lazy(&mut self, path: &Path, written: &LazyFile) -> LazySpec {
        let background = written.background.map_or(BytesPerSec::new(default::LAZY_BACKGROUND_MB * 1e6), |rate| rate.0);
        LazySpec {
            start_fraction: written.start_fraction.map_or(default::LAZY_START, |Percent(share)| share.get()),
            prefetch: written.prefetch.map_or(0.0, |Percent(share)| share.get()),
            read: self.size(&path.key("read"), written.read.map_or(default::LAZY_READ, |size| size.0)),
            parallel_reads: self.count(&path.key("parallelReads"), written.parallel_reads, 1),
            toc: written.toc.map_or(default::LAZY_TOC, |size| size.0),
            background: (background.get() > 0.0).then_some(background),
        }
    }

    fn pre_pull(&mut self, path: &Path, written: &PrePullFile, clusters: usize) -> PrePullSpec {
        let at_path = path.key("clusters");
        let at_once = match written.clusters {
            None => clusters as u32,
            Some(CountOrPercent::Count(count)) => self.count(&at_path, Some(count), 1),
            Some(CountOrPercent::Percent(percent)) => {
                if percent == 0 || percent > 100 {
                    let message = format!("{percent}% of the clusters cannot begin together");
                    self.report(&at_path, message, "write 1% to 100%, or a count");
                }
                (clusters * percent as usize / 100) as u32
            }
        };
        let every = written.every.map_or(default::PRE_PULL_EVERY, |span| span.0);
        PrePullSpec {
            clusters: at_once.max(1),
            every: self.positive(&path.key("every"), every),
            release_after: written.release_after.map(|span| span.0),
        }
    }

    fn mirrors(&mut self, file: &ExperimentFile, regions: &[RegionSpec], images: &[ImageSpec]) -> Vec<MirrorSpec> {
        let list = Path::of("mirrors");
        let written = file.mirrors.as_deref().unwrap_or_default();
        self.unique(&list, written.iter().enumerate().map(|(index, mirror)| (index, mirror.name.as_str())));
        let regions: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
        let images: Vec<String> = images.iter().map(|image| image.name.clone()).collect();
        let mut mirrors = Vec::new();
        for (index, mirror) in written.iter().enumerate() {
            mirrors.extend(self.mirror(&list.index(index), mirror, &regions, &images));
        }
        mirrors
    }

    fn mirror(
        &mut self,
        path: &Path,
        written: &MirrorFile,
        regions: &[String],
        images: &[String],
    ) -> Option<MirrorSpec> {
        let region = self.lookup(&path.key("region"), &written.region, &Path::of("regions"), regions)?;
        let list = Path::of("release").key("images");
        let holds = match &written.holds {
            None => (0..images.len()).collect(),
            Some(names) => {
                let path = path.key("holds");
                let at = |(index, name): (usize, &String)| self.lookup(&path.index(index), name, &list, images);
                names.iter().enumerate().filter_map(at).collect()
            }
        };
        Some(MirrorSpec {
            name: written.name.clone(),
            region,
            egress: self.rate(&path.key("egress"), written.egress, BytesPerSec::from_gbit(default::CACHE_EGRESS_GBIT)),
            per_connection: self.connection(&path.key("perConnection"), written.per_connection, None),
            rtt: written.rtt.map_or(default::MIRROR_RTT, |rtt| rtt.0),
            holds,
        })
    }

    /// A content delivery network that carries no more of a cold blob than of a warm one.
    pub(super) fn cdn(&mut self, path: &Path, written: CdnFile) -> CdnSpec {
        let mb = |rate: f64| BytesPerSec::new(rate * 1e6);
        let cold = self.rate(&path.key("cold"), written.cold, mb(default::CDN_COLD_MB));
        let warm = self.rate(&path.key("warm"), written.warm, mb(default::CDN_WARM_MB.max(cold.get() / 1e6)));
        if warm.get() < cold.get() {
            let message = format!("a warm connection ({warm}) carries less than a cold one ({cold})");
            self.report(&path.key("warm"), message, "raise `warm` or lower `cold`");
        }
        CdnSpec { cold, warm }
    }

    /// What one connection carries, which is not zero.
    fn connection(
        &mut self,
        path: &Path,
        written: Option<RateLimit>,
        default: Option<BytesPerSec>,
    ) -> Option<BytesPerSec> {
        let cap = written.map_or(default, |limit| limit.0);
        if cap.is_some_and(|rate| rate.get() <= 0.0) {
            let help = "write a rate above 0, or `unlimited`";
            self.report(path, "nothing ever arrives over a connection of 0", help);
        }
        cap
    }

    /// A size that is not zero.
    fn size(&mut self, path: &Path, size: Bytes) -> Bytes {
        if size == Bytes::ZERO {
            self.report(path, "the size is 0", "write a size above 0, e.g. `4 MB`");
            return Bytes::new(1);
        }
        size
    }
}
