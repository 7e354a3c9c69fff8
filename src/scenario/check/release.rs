//! What is rolled out: images in two revisions, and the workloads that run them.

use super::super::file::{ImageFile, InlineManifest, ManifestFile, PullPolicyFile, ReleaseFile, ReleaseKindFile};
use super::super::file::{ProbeFile, WorkloadFile, WorkloadKindFile};
use super::super::manifest::{self, MOST_LAYER_BYTES};
use super::super::quantity::{Amount, Size};
use super::super::spread::Spread;
use super::Checker;
use crate::document::path::Path;
use crate::units::{Bytes, SimDuration};
use crate::world::calibration as default;
use crate::world::{
    CountOrPercent, ImageSpec, LayerSpec, ProbeSpec, PullPolicy, ReleaseKind, SizeModel, Uncompressed, WorkloadKind,
    WorkloadSpec,
};

/// A cluster has 110 pods a node and at most some thousand nodes; more replicas are a slip.
const MOST_REPLICAS: u32 = 100_000;

pub(super) fn kind(release: Option<&ReleaseFile>) -> ReleaseKind {
    match release.and_then(|release| release.kind) {
        Some(ReleaseKindFile::Initial) => ReleaseKind::Initial,
        Some(ReleaseKindFile::Update) | None => ReleaseKind::Update,
    }
}

impl Checker<'_> {
    pub(super) fn images(
        &mut self,
        release: Option<&ReleaseFile>,
        kind: ReleaseKind,
        registries: &[String],
    ) -> Vec<ImageSpec> {
        let list = Path::of("release").key("images");
        let written = release.map(|release| release.images.as_slice()).unwrap_or_default();
        if written.is_empty() && self.is_whole(&list) {
            let help = "write `release: {images: [{name: shop, manifest: shop-v2.json}], workloads: [{kind: Deployment, \
                        image: shop}]}`";
            let path = if release.is_some() { list.clone() } else { Path::of("release") };
            self.report(&path, "no image is released", help);
        }
        self.unique(&list, written.iter().enumerate().map(|(index, image)| (index, image.name.as_str())));
        written
            .iter()
            .enumerate()
            .map(|(index, image)| self.image(&list.index(index), image, kind, registries))
            .collect()
    }

    fn image(&mut self, path: &Path, image: &ImageFile, kind: ReleaseKind, registries: &[String]) -> ImageSpec {
        let ratio = image.compression_ratio.unwrap_or(default::COMPRESSION_RATIO);
        let ratio = if (0.1..=1000.0).contains(&ratio) {
            ratio
        } else {
            let help = "it is uncompressed over compressed bytes, usually 1 to 5";
            self.report(&path.key("compressionRatio"), format!("{ratio} is no compression ratio"), help);
            default::COMPRESSION_RATIO
        };
        let (config, layers) =
            self.manifest(&path.key("manifest"), &image.manifest, &format!("{}@new", image.name), ratio);
        let previous = match (&image.previous, kind) {
            (Some(previous), ReleaseKind::Update) => {
                self.manifest(&path.key("previous"), previous, &format!("{}@previous", image.name), ratio).1
            }
            // Before a first deployment nothing is on any node.
            (Some(_), ReleaseKind::Initial) | (None, _) => Vec::new(),
        };
        let named = image.registry.as_ref();
        let registry =
            named.and_then(|name| self.lookup(&path.key("registry"), name, &Path::of("registries"), registries));
        // The first is the one without a name.
        let registry = registry.map_or(0, |at| at + 1);
        ImageSpec { name: image.name.clone(), layers, previous, config, registry }
    }

    /// Config size and layers. `own` makes up digests of layers that have none.
    fn manifest(&mut self, path: &Path, manifest: &ManifestFile, own: &str, ratio: f64) -> (SizeModel, Vec<LayerSpec>) {
        match manifest {
            ManifestFile::Inline(inline) => self.inline_manifest(path, inline, own, ratio),
            ManifestFile::File(name) => {
                let Some(source) = self.file(name, path) else { return (default::CONFIG_SIZE.into(), Vec::new()) };
                match manifest::read(&source) {
                    Ok(read) => {
                        let layer = |(digest, compressed): (String, Bytes)| LayerSpec {
                            digest,
                            compressed: compressed.into(),
                            uncompressed: Uncompressed::Ratio(ratio),
                        };
                        (read.config.into(), read.layers.into_iter().map(layer).collect())
                    }
                    Err(problems) => {
                        self.problems.extend(problems);
                        (default::CONFIG_SIZE.into(), Vec::new())
                    }
                }
            }
        }
    }

    fn inline_manifest(
        &mut self,
        path: &Path,
        inline: &InlineManifest,
        own: &str,
        ratio: f64,
    ) -> (SizeModel, Vec<LayerSpec>) {
        if inline.layers.is_empty() && self.is_whole(&path.key("layers")) {
            self.report(&path.key("layers"), "the image has no layers", "write e.g. `layers: [{size: 30 MB}]`");
        }
        let mut layers = Vec::new();
        for (index, layer) in inline.layers.iter().enumerate() {
            let path = path.key("layers").index(index);
            let compressed = self.layer_size(&path.key("size"), &layer.size);
            let on_disk = layer.uncompressed.as_ref().map(|size| self.layer_size(&path.key("uncompressed"), size));
            layers.push(LayerSpec {
                digest: layer.digest.clone().unwrap_or_else(|| format!("{own}/{index}")),
                compressed,
                uncompressed: on_disk.map_or(Uncompressed::Ratio(ratio), Uncompressed::Size),
            });
        }
        let config = self.spread(&path.key("config"), inline.config.as_ref(), default::CONFIG_SIZE.into());
        (config, layers)
    }

    /// What is drawn beyond the bounds is cut off there; what is fixed or measured beyond them is a slip.
    fn layer_size(&mut self, path: &Path, written: &Spread<Size>) -> SizeModel {
        let model = self.spread(path, Some(written), Bytes::new(1).into());
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

    pub(super) fn workloads(&mut self, release: Option<&ReleaseFile>, images: &[ImageSpec]) -> Vec<WorkloadSpec> {
        let list = Path::of("release").key("workloads");
        let written = release.map(|release| release.workloads.as_slice()).unwrap_or_default();
        if written.is_empty() && release.is_some() && self.is_whole(&list) {
            self.report(
                &list,
                "no workload runs the images",
                "write e.g. `workloads: [{kind: Deployment, image: shop}]`",
            );
        }
        let names: Vec<String> = images.iter().map(|image| image.name.clone()).collect();
        let name = |workload: &WorkloadFile| workload.name.clone().unwrap_or_else(|| workload.image.clone());
        let named: Vec<String> = written.iter().map(name).collect();
        self.unique(&list, named.iter().map(String::as_str).enumerate());
        let mut workloads = Vec::new();
        for (index, workload) in written.iter().enumerate() {
            let path = list.index(index);
            let images = Path::of("release").key("images");
            let image = self.lookup(&path.key("image"), &workload.image, &images, &names).unwrap_or(0);
            workloads.push(WorkloadSpec {
                name: named[index].clone(),
                kind: self.workload_kind(&path, workload),
                image,
                pull_policy: match workload.image_pull_policy {
                    Some(PullPolicyFile::Always) => PullPolicy::Always,
                    Some(PullPolicyFile::IfNotPresent) | None => PullPolicy::IfNotPresent,
                },
                start: self.spread(&path.key("start"), workload.start.as_ref(), default::START),
                readiness: workload.readiness.as_ref().map(|probe| self.probe(&path.key("readiness"), probe)),
                min_ready: workload.min_ready.map_or(SimDuration::ZERO, |span| span.0),
                termination: self.spread(&path.key("termination"), workload.termination.as_ref(), default::TERMINATION),
            });
        }
        workloads
    }

    fn probe(&mut self, path: &Path, probe: &ProbeFile) -> ProbeSpec {
        let period = probe.period.map_or(default::PROBE_PERIOD, |span| span.0);
        ProbeSpec {
            initial_delay: probe.initial_delay.map_or(SimDuration::ZERO, |span| span.0),
            period: self.positive(&path.key("period"), period),
            success_threshold: self.count(&path.key("successThreshold"), probe.success_threshold, 1),
        }
    }

    fn progress_deadline(&mut self, path: &Path, workload: &WorkloadFile) -> SimDuration {
        let deadline = workload.progress_deadline.map_or(default::PROGRESS_DEADLINE, |span| span.0);
        let min_ready = workload.min_ready.map_or(SimDuration::ZERO, |span| span.0);
        if deadline <= min_ready {
            let key = if workload.progress_deadline.is_some() { "progressDeadline" } else { "minReady" };
            let message = format!(
                "a progress deadline of {} s is not longer than `minReady`, {} s",
                deadline.as_secs_f64(),
                min_ready.as_secs_f64()
            );
            self.report(&path.key(key), message, "Kubernetes refuses this too; raise `progressDeadline`");
        }
        deadline
    }

    fn workload_kind(&mut self, path: &Path, workload: &WorkloadFile) -> WorkloadKind {
        let amount = |amount: Option<Amount>, default| amount.unwrap_or(default);
        let is_zero = |amount| matches!(amount, CountOrPercent::Count(0) | CountOrPercent::Percent(0));
        let (unavailable, surge) = match workload.kind {
            WorkloadKindFile::Deployment => (default::DEPLOYMENT_MAX_UNAVAILABLE, default::DEPLOYMENT_MAX_SURGE),
            WorkloadKindFile::DaemonSet => (default::DAEMON_SET_MAX_UNAVAILABLE, default::DAEMON_SET_MAX_SURGE),
        };
        let max_unavailable = amount(workload.max_unavailable, unavailable);
        let max_surge = amount(workload.max_surge, surge);
        let key = if workload.max_unavailable.is_some() { "maxUnavailable" } else { "maxSurge" };
        if is_zero(max_unavailable) && is_zero(max_surge) {
            let message = "`maxUnavailable` and `maxSurge` are both 0, so no pod could ever be replaced";
            self.report(&path.key(key), message, "Kubernetes refuses this too; raise one of them");
        }
        for (key, amount) in [("maxUnavailable", max_unavailable), ("maxSurge", max_surge)] {
            let bounded = key == "maxUnavailable" || matches!(workload.kind, WorkloadKindFile::DaemonSet);
            if bounded && matches!(amount, CountOrPercent::Percent(101..)) {
                self.report(
                    &path.key(key),
                    "more than 100% of the pods",
                    "Kubernetes refuses this too; write at most 100%",
                );
            }
        }
        match workload.kind {
            WorkloadKindFile::Deployment => {
                let replicas = self.count(&path.key("replicas"), workload.replicas, 1);
                if replicas > MOST_REPLICAS {
                    let message = format!("{replicas} pods in each cluster");
                    self.report(&path.key("replicas"), message, &format!("at most {MOST_REPLICAS} are simulated"));
                }
                let progress_deadline = self.progress_deadline(path, workload);
                WorkloadKind::Deployment { replicas, max_unavailable, max_surge, progress_deadline }
            }
            WorkloadKindFile::DaemonSet => {
                if workload.replicas.is_some() {
                    let help = "leave `replicas` out, or write `kind: Deployment`";
                    self.report(&path.key("replicas"), "a DaemonSet runs one pod a node", help);
                }
                if workload.progress_deadline.is_some() {
                    let help = "leave `progressDeadline` out, or write `kind: Deployment`";
                    self.report(&path.key("progressDeadline"), "a DaemonSet has no progress deadline", help);
                }
                if !is_zero(max_unavailable) && !is_zero(max_surge) {
                    let message = "a DaemonSet has either `maxUnavailable` or `maxSurge`";
                    let help = "Kubernetes refuses both (`maxUnavailable` is 1 when left out); set one of them to 0";
                    self.report(&path.key("maxSurge"), message, help);
                }
                WorkloadKind::DaemonSet { max_unavailable, max_surge }
            }
        }
    }
}
