//! `release`: images in two revisions, and the workloads that run them.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Checker;
use super::import::manifest::{self, MOST_LAYER_BYTES};
use super::import::media_type::LayerPacking;
use super::registry::FIRST_REGISTRY;
use crate::document::path::Path;
use crate::document::text_or::{FromText, TextOr};
use crate::units::SimDuration;
use crate::world::calibration as default;
use crate::world::{
    CountOrPercent, ImageSpec, LayerSpec, MOST_IMAGES, MOST_LAYERS, ReleaseKind, SizeModel,
    Uncompressed, WorkloadKind, WorkloadSpec,
};

/// Maximum number of replicas of a workload. A cluster has 110 pods per node and at most a few thousand nodes, so more
/// replicas are a mistake.
const MOST_REPLICAS: u32 = 100_000;

/// The images and workloads that are rolled out.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(inline))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReleaseFile {
    /// Whether an older revision runs everywhere when the rollout starts.
    #[serde(default)]
    pub(crate) kind: ReleaseKind,
    /// The images, with their new and old revisions. May be omitted if `workloads` is `[]`.
    #[serde(default)]
    #[cfg_attr(test, schemars(required))]
    pub(crate) images: Vec<ImageFile>,
    /// The workloads that every cluster runs. `[]`: no workloads, as for a ConfigMap or a chart without pods; a
    /// cluster is then ready once the release is applied.
    #[serde(default)]
    #[cfg_attr(test, schemars(required))]
    pub(crate) workloads: Vec<WorkloadSpec>,
}

/// An image.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ImageFile {
    /// The image's name, which workloads refer to.
    pub(crate) name: String,
    /// The new revision: a file in the format of `crane manifest`, or its layers.
    pub(crate) manifest: TextOr<InlineManifest>,
    /// The old revision, written like `manifest`. Without it, no layer is shared with the new revision.
    pub(crate) previous: Option<TextOr<InlineManifest>>,
    /// The registry that the image comes from, a name in `registries`. Default: `registry`.
    pub(crate) registry: Option<String>,
    /// Whether the image's tag refers to an index of platforms. `false`: it refers to a manifest, which saves a
    /// request.
    #[serde(default = "has_index")]
    pub(crate) index: bool,
    /// Ratio of uncompressed to compressed bytes of a layer, from 0.1 to 1000.
    #[serde(default = "compression_ratio")]
    pub(crate) compression_ratio: f64,
}

impl ImageFile {
    /// Returns whether a layer has no digest in the experiment: it then differs from all other layers.
    pub(super) fn is_own_layer(manifest: &TextOr<InlineManifest>, layer: usize) -> bool {
        let TextOr(manifest) = manifest;
        let layer = manifest.layers.get(layer);
        layer.is_some_and(|layer| layer.digest.is_none())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InlineManifest {
    /// A file to use instead of `layers`, relative to the experiment's folder.
    #[serde(skip)]
    file: Option<String>,
    /// Size of the config blob; drawn once per run.
    #[serde(default = "config")]
    pub(crate) config: SizeModel,
    /// The layers, from bottom to top.
    pub(crate) layers: Vec<LayerFile>,
}

/// One layer of an image.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LayerFile {
    /// Any text. Layers with the same digest are identical. Without it, the layer differs from all others.
    pub(crate) digest: Option<String>,
    /// Compressed size, as transferred; drawn once per run for each digest.
    pub(crate) size: SizeModel,
    /// Size on disk; drawn once per run for each digest. Default: `size` times the image's `compressionRatio`.
    pub(crate) uncompressed: Option<SizeModel>,
}

const fn has_index() -> bool {
    true
}

fn compression_ratio() -> f64 {
    default::COMPRESSION_RATIO
}

const fn config() -> SizeModel {
    SizeModel::Constant(default::CONFIG_SIZE)
}

/// A manifest in a separate file, or its layers.
impl FromText for InlineManifest {
    const NAME: &'static str = "Manifest";
    const EXPECTING: &'static str = "the path of a manifest, or `{layers: [{size: 30 MB}]}`";

    fn of_text(file: &str) -> Result<Self, String> {
        Ok(Self {
            file: Some(file.to_owned()),
            config: config(),
            layers: Vec::new(),
        })
    }
}

impl Checker<'_> {
    /// Returns the images of the release that is written at a path.
    pub(super) fn images(
        &mut self,
        at: &Path,
        release: Option<&ReleaseFile>,
        registries: &[String],
    ) -> Vec<ImageSpec> {
        let kind = release.map_or_else(ReleaseKind::default, |release| release.kind);
        let list = at.key("images");
        let written = release
            .map(|release| release.images.as_slice())
            .unwrap_or_default();
        let has_workloads = release.is_none_or(|release| !release.workloads.is_empty());
        let is_without_pods = !has_workloads && self.is_set(&at.key("workloads"));
        if written.is_empty() && !is_without_pods && self.is_whole(&list) {
            let help = "write `release: {images: [{name: shop, manifest: shop-v2.json}], workloads: [{kind: Deployment, \
                        image: shop}]}`";
            let path = if release.is_some() {
                list.clone()
            } else {
                at.clone()
            };
            self.report(&path, "no image is released", help);
        }
        self.unique(
            &list,
            written
                .iter()
                .enumerate()
                .map(|(index, image)| (index, image.name.as_str())),
        );
        let mut images = Vec::new();
        let mut layers = 0;
        for (index, image) in written.iter().enumerate() {
            let image = self.image(&list.index(index), image, kind, registries);
            layers += image.layers.len() + image.previous.len();
            images.push(image);
        }
        self.image_limits(&list, images.len(), layers);
        images
    }

    /// Reports too many images, or layers in all of their revisions.
    pub(super) fn image_limits(&mut self, list: &Path, images: usize, layers: usize) {
        if layers > MOST_LAYERS || images > MOST_IMAGES {
            let message = format!("the release has {images} images with {layers} layers");
            let help =
                format!("at most {MOST_IMAGES} images and {MOST_LAYERS} layers are simulated");
            self.report(list, message, &help);
        }
    }

    fn image(
        &mut self,
        path: &Path,
        image: &ImageFile,
        kind: ReleaseKind,
        registries: &[String],
    ) -> ImageSpec {
        let ratio = image.compression_ratio;
        if !(0.1..=1000.0).contains(&ratio) {
            let message = format!("must be between 0.1 and 1000, not {ratio}");
            self.report(
                &path.key("compressionRatio"),
                message,
                "uncompressed over compressed bytes, usually 1 to 5",
            );
        }
        let (config, layers) = self.manifest(
            &path.key("manifest"),
            &image.manifest,
            &format!("{}@new", image.name),
            ratio,
        );
        let previous = match (&image.previous, kind) {
            (Some(previous), ReleaseKind::Update) => {
                self.manifest(
                    &path.key("previous"),
                    previous,
                    &format!("{}@previous", image.name),
                    ratio,
                )
                .1
            }
            // Before a first deployment, no node has any layers.
            (Some(_), ReleaseKind::Initial) | (None, _) => Vec::new(),
        };
        // The first registry has no other name.
        let named = image
            .registry
            .as_ref()
            .filter(|name| *name != FIRST_REGISTRY);
        let registry = named.and_then(|name| {
            self.lookup(
                &path.key("registry"),
                name,
                &Path::of("registries"),
                registries,
            )
        });
        // Registry 0 is the unnamed one.
        let registry = registry.map_or(0, |at| at + 1);
        ImageSpec {
            name: image.name.clone(),
            layers,
            previous,
            later: Vec::new(),
            config,
            registry,
            index: image.index,
        }
    }

    /// Returns the size of the config, and the layers. `own` creates digests for layers without one.
    pub(super) fn manifest(
        &mut self,
        path: &Path,
        TextOr(manifest): &TextOr<InlineManifest>,
        own: &str,
        ratio: f64,
    ) -> (SizeModel, Vec<LayerSpec>) {
        if let Some(name) = &manifest.file {
            let mut layers = Vec::new();
            match self.file(name, path).map(|source| manifest::read(&source)) {
                Some(Ok(read)) => {
                    for layer in read.layers {
                        let uncompressed = match layer.packing {
                            LayerPacking::Plain => Uncompressed::AsSent,
                            LayerPacking::Gzip | LayerPacking::Zstd => Uncompressed::Ratio(ratio),
                        };
                        layers.push(LayerSpec {
                            digest: layer.digest,
                            compressed: layer.size.into(),
                            uncompressed,
                            is_zstd: layer.packing == LayerPacking::Zstd,
                        });
                    }
                    return (read.config.into(), layers);
                }
                Some(Err(problems)) => self.problems.extend(problems),
                None => {}
            }
            return (default::CONFIG_SIZE.into(), layers);
        }
        if manifest.layers.is_empty() && self.is_whole(&path.key("layers")) {
            self.report(
                &path.key("layers"),
                "the image has no layers",
                "write e.g. `layers: [{size: 30 MB}]`",
            );
        }
        let mut layers = Vec::new();
        for (index, layer) in manifest.layers.iter().enumerate() {
            let path = path.key("layers").index(index);
            let compressed = self.layer_size(&path.key("size"), &layer.size);
            let on_disk = layer
                .uncompressed
                .as_ref()
                .map(|size| self.layer_size(&path.key("uncompressed"), size));
            layers.push(LayerSpec {
                digest: layer
                    .digest
                    .clone()
                    .unwrap_or_else(|| format!("{own}/{index}")),
                compressed,
                uncompressed: on_disk.map_or(Uncompressed::Ratio(ratio), Uncompressed::Size),
                is_zstd: false,
            });
        }
        let mut config = manifest.config.clone();
        self.resolve(&path.key("config"), &mut config);
        (config, layers)
    }

    /// Checks a layer's size. Drawn sizes outside the bounds are clipped; fixed or measured sizes outside the bounds
    /// are errors.
    fn layer_size(&mut self, path: &Path, written: &SizeModel) -> SizeModel {
        let mut model = written.clone();
        self.resolve(path, &mut model);
        let bytes = match &model {
            SizeModel::Constant(size) => size.get(),
            SizeModel::Empirical(sizes) => match sizes[0].get() {
                0 => 0,
                _ => sizes[sizes.len() - 1].get(),
            },
            _ => 1,
        };
        if bytes == 0 || bytes > MOST_LAYER_BYTES {
            let message = format!("a layer cannot have {bytes} bytes");
            self.report(path, message, "write 1 B to 10 TB, e.g. `30 MB`");
        }
        model
    }

    /// Returns the workloads of the release that is written at a path. `images` are its images.
    pub(super) fn workloads(
        &mut self,
        at: &Path,
        release: Option<&ReleaseFile>,
        images: &[ImageSpec],
    ) -> Vec<WorkloadSpec> {
        let list = at.key("workloads");
        let written = release
            .map(|release| release.workloads.as_slice())
            .unwrap_or_default();
        if written.is_empty() && release.is_some() && !self.is_set(&list) && self.is_whole(&list) {
            let help = "write e.g. `workloads: [{kind: Deployment, image: shop}]`, or `workloads: []` for a release \
                        without pods";
            self.report(&list, "no workload runs the images", help);
        }
        let names: Vec<String> = images.iter().map(|image| image.name.clone()).collect();
        let mut workloads = written.to_vec();
        for workload in workloads
            .iter_mut()
            .filter(|workload| workload.name.is_empty())
        {
            workload.name.clone_from(&workload.image_name);
        }
        self.unique(
            &list,
            workloads
                .iter()
                .map(|workload| workload.name.as_str())
                .enumerate(),
        );
        for (index, workload) in workloads.iter_mut().enumerate() {
            let path = list.index(index);
            let images = at.key("images");
            workload.image = self
                .lookup(&path.key("image"), &workload.image_name, &images, &names)
                .unwrap_or(0);
            self.workload(&path, workload);
        }
        workloads
    }

    fn workload(&mut self, path: &Path, workload: &mut WorkloadSpec) {
        self.resolve(&path.key("start"), &mut workload.start);
        self.resolve(&path.key("termination"), &mut workload.termination);
        if workload.start_timeout.is_some_and(SimDuration::is_zero) {
            let help = "remove it to wait for a start indefinitely";
            let message = "`startTimeout` must be greater than 0";
            self.report(&path.key("startTimeout"), message, help);
        }
        let (WorkloadKind::Deployment {
            max_unavailable,
            max_surge,
            ..
        }
        | WorkloadKind::DaemonSet {
            max_unavailable,
            max_surge,
        }) = workload.kind;
        let key = if self.is_set(&path.key("maxUnavailable")) {
            "maxUnavailable"
        } else {
            "maxSurge"
        };
        if max_unavailable.is_zero() && max_surge.is_zero() {
            let message =
                "`maxUnavailable` and `maxSurge` are both 0, so no pod could ever be replaced";
            self.report(
                &path.key(key),
                message,
                "Kubernetes refuses this too; raise one of them",
            );
        }
        let is_daemon_set = matches!(workload.kind, WorkloadKind::DaemonSet { .. });
        for (key, amount) in [("maxUnavailable", max_unavailable), ("maxSurge", max_surge)] {
            let is_bounded = key == "maxUnavailable" || is_daemon_set;
            if is_bounded && matches!(amount, CountOrPercent::Percent(101..)) {
                let help = "Kubernetes refuses this too; write at most 100%";
                self.report(&path.key(key), "more than 100% of the pods", help);
            }
        }
        match workload.kind {
            WorkloadKind::Deployment {
                replicas,
                progress_deadline,
                ..
            } => {
                if replicas > MOST_REPLICAS {
                    let message = format!("{replicas} pods in each cluster");
                    let help = format!("at most {MOST_REPLICAS} are simulated");
                    self.report(&path.key("replicas"), message, &help);
                }
                self.progress_deadline(path, progress_deadline, workload.min_ready);
            }
            WorkloadKind::DaemonSet { .. } => {
                self.fields_of_deployments(path);
                if !max_unavailable.is_zero() && !max_surge.is_zero() {
                    let message = "a DaemonSet has either `maxUnavailable` or `maxSurge`";
                    let help = "Kubernetes refuses both (`maxUnavailable` is 1 by default); set one of them to 0";
                    self.report(&path.key("maxSurge"), message, help);
                }
            }
        }
    }

    /// Reports fields of a DaemonSet that exist only for Deployments.
    fn fields_of_deployments(&mut self, path: &Path) {
        for (key, message) in [
            ("replicas", "a DaemonSet runs one pod per node"),
            ("progressDeadline", "a DaemonSet has no progress deadline"),
        ] {
            let path = path.key(key);
            if self.is_set(&path) {
                self.report(&path, message, "remove it, or write `kind: Deployment`");
            }
        }
    }

    fn progress_deadline(&mut self, path: &Path, deadline: SimDuration, min_ready: SimDuration) {
        if deadline <= min_ready {
            let key = if self.is_set(&path.key("progressDeadline")) {
                "progressDeadline"
            } else {
                "minReady"
            };
            let message = format!(
                "the progress deadline, {deadline}, must be longer than `minReady`, {min_ready}"
            );
            self.report(
                &path.key(key),
                message,
                "Kubernetes refuses this too; raise `progressDeadline`",
            );
        }
    }
}
