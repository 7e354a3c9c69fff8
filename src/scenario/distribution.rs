//! `distribution` and `mirrors`: the path of images from the registry to the nodes.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Checker;
use crate::document::path::Path;
use crate::world::{
    CachePlace, CacheSpec, CellSpec, ClusterSpec, CountOrPercent, DistributionKind,
    DistributionSpec, LazySpec, MirrorSpec, NodeSpec, PiecesSpec, PrePullSpec, RegionSpec,
    SpegelSpec,
};

/// Path of the images from the registry to the nodes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) enum DistributionFile {
    /// Every node pulls from the registry.
    Direct {},
    /// Pull-through caches (distribution's proxy mode, Harbor's proxy projects).
    Cache(CacheSpec),
    /// Cells of Cloud Foundry, each of which downloads an image once for all of its instances.
    Cells(CellSpec),
    /// Nodes serve the images that they have completely to other nodes of their cluster.
    Spegel(SpegelSpec),
    /// Peers that pass on pieces while they download, with Dragonfly's parameters.
    Dragonfly(#[expect(dead_code, reason = "read again, over the product's defaults")] PiecesSpec),
    /// Peers that pass on pieces while they download, with Kraken's parameters.
    Kraken(#[expect(dead_code, reason = "as above")] PiecesSpec),
    /// Containers start before their image is present (eStargz, SOCI, Nydus, overlaybd).
    Lazy(LazyFile),
    /// The new images are downloaded to the nodes before the release.
    PrePull(PrePullFile),
}

/// Settings of lazy pulling.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LazyFile {
    #[serde(rename = "~spec")]
    #[cfg_attr(test, schemars(flatten))]
    spec: LazySpec,
    /// Path of the image data to the nodes. Default: direct.
    via: Option<Box<DistributionFile>>,
}

/// Settings of pre-pulling.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PrePullFile {
    #[serde(rename = "~spec")]
    #[cfg_attr(test, schemars(flatten))]
    spec: PrePullSpec,
    /// Path of the image data to the nodes. Default: direct.
    via: Option<Box<DistributionFile>>,
}

impl Checker<'_> {
    /// Returns the checked distribution, without its mirrors.
    pub(super) fn distribution(
        &mut self,
        written: Option<&DistributionFile>,
        clusters: &[ClusterSpec],
        node: &NodeSpec,
    ) -> DistributionSpec {
        let mut spec = DistributionSpec::default();
        if let Some(written) = written {
            let path = Path::of("distribution");
            self.distribution_by(&path, written, clusters, node, &mut spec);
        }
        spec
    }

    /// Fills in the settings under the method's key, and those of its `via`.
    fn distribution_by(
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
                let no_region = clusters.iter().all(|cluster| cluster.region.is_none());
                if cache.per == CachePlace::Region && !clusters.is_empty() && no_region {
                    let help = "give groups of the fleet a `region`, or write `per: cluster`";
                    let message = "no cluster is in a region, so no cluster would use a cache";
                    self.report(&path.key("cache").key("per"), message, help);
                }
                spec.kind = DistributionKind::Cache(cache.clone());
            }
            DistributionFile::Cells(cells) => spec.kind = DistributionKind::Cells(cells.clone()),
            DistributionFile::Spegel(spegel) => {
                spec.kind = DistributionKind::Spegel(spegel.clone());
            }
            DistributionFile::Dragonfly(_) => {
                let defaults = PiecesSpec::dragonfly(node.nic.typical());
                spec.kind = DistributionKind::Pieces(self.pieces(&path.key("dragonfly"), defaults));
            }
            DistributionFile::Kraken(_) => {
                spec.kind = DistributionKind::Pieces(
                    self.pieces(&path.key("kraken"), PiecesSpec::default()),
                );
            }
            DistributionFile::Lazy(lazy) => {
                let path = path.key("lazy");
                let mut lazy_spec = lazy.spec.clone();
                self.resolve(&path.key("mount"), &mut lazy_spec.mount);
                if spec.lazy.replace(lazy_spec).is_some() {
                    self.report(
                        &path,
                        "`lazy` cannot be nested in `lazy`",
                        "write another key under `via`",
                    );
                }
                if let Some(via) = &lazy.via {
                    self.distribution_by(&path.key("via"), via, clusters, node, spec);
                }
            }
            DistributionFile::PrePull(pre_pull) => {
                let path = path.key("prePull");
                if let CountOrPercent::Count(0) | CountOrPercent::Percent(0 | 101..) =
                    pre_pull.spec.clusters
                {
                    let message = "must be at least 1 cluster, or between 1% and 100%";
                    self.report(&path.key("clusters"), message, "write e.g. `100` or `10%`");
                }
                if spec.pre_pull.replace(pre_pull.spec).is_some() {
                    self.report(
                        &path,
                        "`prePull` cannot be nested in `prePull`",
                        "write another key under `via`",
                    );
                }
                if let Some(via) = &pre_pull.via {
                    self.distribution_by(&path.key("via"), via, clusters, node, spec);
                }
            }
        }
    }

    fn pieces(&mut self, path: &Path, defaults: PiecesSpec) -> PiecesSpec {
        let by_card = defaults.seeds_have_node_cards;
        let mut pieces = self.over(path, defaults, &[]);
        pieces.seeds_have_node_cards = by_card && !self.is_set(&path.key("seedOut"));
        if pieces.connections < 2 {
            let help = "with fewer, a piece would pass along a single chain of peers";
            self.report(&path.key("connections"), "must be at least 2", help);
        }
        if pieces
            .timeouts
            .is_some_and(|timeouts| timeouts.share.get() > 0.9)
        {
            let help = "with more, a node would hardly ever find a peer";
            self.report(
                &path.key("timeouts").key("share"),
                "must be at most 90%",
                help,
            );
        }
        pieces
    }

    pub(super) fn mirrors(
        &mut self,
        written: &[MirrorSpec],
        regions: &[RegionSpec],
        images: &[String],
    ) -> Vec<MirrorSpec> {
        let list = Path::of("mirrors");
        self.unique(
            &list,
            written
                .iter()
                .map(|mirror| mirror.name.as_str())
                .enumerate(),
        );
        let regions: Vec<String> = regions.iter().map(|region| region.name.clone()).collect();
        let mut mirrors = Vec::new();
        for (index, mirror) in written.iter().enumerate() {
            mirrors.extend(self.mirror(&list.index(index), mirror, &regions, images));
        }
        mirrors
    }

    fn mirror(
        &mut self,
        path: &Path,
        mirror: &MirrorSpec,
        regions: &[String],
        images: &[String],
    ) -> Option<MirrorSpec> {
        let region = self.lookup(
            &path.key("region"),
            &mirror.region_name,
            &Path::of("regions"),
            regions,
        )?;
        let list = if self.is_set(&Path::of("applications")) {
            Path::of("applications")
        } else {
            Path::of("release").key("images")
        };
        let mut holds = Vec::new();
        match &mirror.image_names {
            None => holds.extend(0..images.len()),
            Some(names) => {
                for (index, name) in names.iter().enumerate() {
                    let path = path.key("holds").index(index);
                    if self.lookup(&path, name, &list, images).is_some() {
                        // Several applications may have an image with this name.
                        holds.extend((0..images.len()).filter(|at| images[*at] == *name));
                    }
                }
            }
        }
        Some(MirrorSpec {
            region,
            holds,
            ..mirror.clone()
        })
    }
}
