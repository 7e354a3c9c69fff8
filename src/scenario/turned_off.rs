//! Settings that another setting turns off, such as the limits of a token service that no pull asks.
//!
//! Such a setting has a value in the scenario, so comparing scenarios does not find it ([`super::effects`]). Each rule
//! here states what a run reads the setting for. A setting that is turned off in every world of a sweep is an error;
//! one that is in use in some world is not.
//!
//! Left out: a share of 0%, which says by itself that nothing is affected, and settings whose use is drawn, such as
//! those for a loss that only some draws have.
//!
//! How we know: `scenario::tests::turned_off` has each rule with a file that breaks it and one that does not.

use std::sync::Arc;

use crate::document::path::Path;
use crate::document::tree::Node;
use crate::units::Share;
use crate::world::{RegistrySpec, Requeue, WorldSpec};

/// A setting that is written and that no run reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TurnedOff {
    pub(super) path: Path,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// The settings of an experiment that are written.
#[derive(Clone, Copy)]
pub(super) struct WrittenSettings<'w> {
    pub(super) file: &'w Node,
    /// The paths of the sweep.
    pub(super) swept: &'w [Path],
}

impl WrittenSettings<'_> {
    /// Returns whether the experiment has applications instead of a release.
    fn has_applications(self) -> bool {
        self.file.get(&Path::of("applications")).is_some()
    }

    /// Returns where a setting is written: its path, or the sweep's that is at it or below it.
    fn place(self, path: &Path) -> Option<Path> {
        if self.file.get(path).is_some() {
            return Some(path.clone());
        }
        let swept = self
            .swept
            .iter()
            .find(|swept| swept.0.starts_with(&path.0))?;
        Some(Path::of("sweep").key(&swept.to_string()))
    }
}

/// Returns the settings that are turned off in all of these worlds, which contain the whole fleet.
pub(super) fn turned_off(
    written: WrittenSettings<'_>,
    worlds: &[Arc<WorldSpec>],
) -> Vec<TurnedOff> {
    let mut worlds = worlds.iter();
    let Some(first) = worlds.next() else {
        return Vec::new();
    };
    let mut off = of_world(written, first);
    for world in worlds {
        let of_this = of_world(written, world);
        off.retain(|setting| of_this.contains(setting));
    }
    off
}

/// Returns the settings that are turned off in a world.
fn of_world(written: WrittenSettings<'_>, world: &WorldSpec) -> Vec<TurnedOff> {
    let mut rules = Rules {
        written,
        world,
        off: Vec::new(),
    };
    rules.registries();
    rules.regions();
    rules.mirrors();
    rules.images();
    rules.node();
    rules.disk();
    rules.pre_pull();
    rules.offline();
    rules.agent();
    rules.off
}

/// The rules while they are applied to a world.
struct Rules<'w> {
    written: WrittenSettings<'w>,
    world: &'w WorldSpec,
    off: Vec<TurnedOff>,
}

impl Rules<'_> {
    /// Adds a setting that is turned off, if it is written.
    fn add(&mut self, path: &Path, message: impl Into<String>, help: &'static str) {
        if let Some(path) = self.written.place(path) {
            self.off.push(TurnedOff {
                path,
                message: message.into(),
                help,
            });
        }
    }

    fn registries(&mut self) {
        let world = self.world;
        self.registry(&Path::of("registry"), &world.registry);
        let mut is_used = vec![world.images.is_empty(); 1 + world.registries.len()];
        for image in &world.images {
            is_used[image.registry] = true;
        }
        if !is_used[0] {
            self.add(
                &Path::of("registry"),
                "no image is in the first registry: all name one of `registries`",
                "remove `registry`, or remove the `registry` of an image",
            );
        }
        for (at, registry) in world.registries.iter().enumerate() {
            let path = Path::of("registries").index(at);
            if !is_used[at + 1] {
                self.add(
                    &path.key("name"),
                    format!("no image is in the registry `{}`", registry.name),
                    "write its name as the `registry` of an image, or remove it",
                );
            }
            self.registry(&path.key("registry"), &registry.spec);
        }
    }

    fn registry(&mut self, path: &Path, registry: &RegistrySpec) {
        if registry.per_blob.is_none() {
            self.add(
                &path.key("perBlobScope"),
                "without `perBlob` the scope has no effect",
                "write `perBlob` too, such as `perBlob: 1.7 GB/s`",
            );
        }
        if !registry.tokens {
            self.add(
                &path.key("token"),
                "`token` has no effect: with `tokens: false` no pull asks for a token",
                "remove `token`, or write `tokens: true`",
            );
        }
        if !self.world.node.runtime.retry_429.honours_retry_after {
            self.add(
                &path.key("retryAfter"),
                "`retryAfter` has no effect: the nodes' runtime ignores it, as containerd does",
                "remove it, or write `node: {retry429: {honoursRetryAfter: true}}`, which is the default of `cri-o`",
            );
        }
    }

    fn regions(&mut self) {
        let world = self.world;
        for (at, region) in world.regions.iter().enumerate() {
            if !self.has_clusters(at) {
                self.add(
                    &Path::of("regions").index(at).key("name"),
                    format!("no cluster is in the region `{}`", region.name),
                    "set `region:` in a group of `fleet`, or remove the region",
                );
            }
        }
    }

    fn mirrors(&mut self) {
        let world = self.world;
        for (at, mirror) in world.distribution.mirrors.iter().enumerate() {
            if !self.has_clusters(mirror.region) {
                self.add(
                    &Path::of("mirrors").index(at).key("region"),
                    format!(
                        "no cluster uses the mirror `{}`: no cluster is in its region",
                        mirror.name
                    ),
                    "set `region:` in a group of `fleet`, or remove the mirror",
                );
            }
        }
    }

    fn has_clusters(&self, region: usize) -> bool {
        for cluster in &self.world.clusters {
            if cluster.region == Some(region) {
                return true;
            }
        }
        false
    }

    fn images(&mut self) {
        let world = self.world;
        // The images of an application have other names in the world.
        if world.applications[0].workloads.is_empty() || self.written.has_applications() {
            return;
        }
        let mut is_run = vec![false; world.images.len()];
        for workload in &world.applications[0].workloads {
            is_run[workload.image] = true;
        }
        for (at, image) in world.images.iter().enumerate() {
            if !is_run[at] {
                self.add(
                    &Path::of("release").key("images").index(at).key("name"),
                    format!("no workload runs the image `{}`", image.name),
                    "write its name as the `image` of a workload, or remove it",
                );
            }
        }
    }

    fn pre_pull(&mut self) {
        let world = self.world;
        let clusters = world.clusters.len();
        if let Some(pre_pull) = &world.distribution.pre_pull
            && pre_pull.group(clusters) >= clusters
        {
            self.add(
                &Path::of("distribution").key("prePull").key("every"),
                "`every` has no effect: all clusters begin together",
                "write how many begin together, e.g. `clusters: 10%`, or remove it",
            );
        }
    }

    fn disk(&mut self) {
        let path = Path::of("node").key("disk");
        let disk = self.world.node.disk.as_ref();
        if disk.is_some_and(|disk| disk.limit().is_none()) {
            self.add(
                &path.key("buffer"),
                "`buffer` has no effect: with `class: none` the disk has no rate",
                "remove it, or write the disk's `rate`",
            );
        }
    }

    fn node(&mut self) {
        let world = self.world;
        let path = Path::of("node");
        match world.node.requeue {
            Requeue::AfterError => self.add(
                &path.key("syncFrequency"),
                "`syncFrequency` has no effect",
                "write `requeue: atExpiry`, or remove `syncFrequency`",
            ),
            Requeue::AtExpiry => self.add(
                &path.key("errorRequeue"),
                "`errorRequeue` has no effect with `requeue: atExpiry`",
                "remove it, or write `requeue: afterError`",
            ),
        }
        if world.node.registry_pull_qps == 0 {
            self.add(
                &path.key("registryBurst"),
                "`registryBurst` has no effect: with `registryPullQPS: 0` pulls have no limit",
                "remove it, or write the pulls per second in `registryPullQPS`",
            );
        }
        let waits = world.all_registries().any(|one| one.retry_after.is_some());
        if world.node.runtime.retry_429.honours_retry_after && !waits {
            self.add(
                &path.key("retry429").key("honoursRetryAfter"),
                "`honoursRetryAfter` has no effect: no registry has a `retryAfter`",
                "write the registry's `retryAfter`, or remove it",
            );
        }
        let mut layers = world.images.iter().flat_map(|image| &image.layers);
        if !layers.any(|layer| layer.is_zstd) {
            self.add(
                &path.key("zstdFactor"),
                "`zstdFactor` has no effect: no layer is compressed with zstd",
                "remove it; layers of manifests with a media type that ends in `zstd` use it",
            );
        }
    }

    fn agent(&mut self) {
        if self.world.applications.len() == 1 {
            self.add(
                &Path::of("agent").key("workers"),
                "`workers` has no effect: an agent applies only one application",
                "remove it, or write several `applications`",
            );
        }
    }

    fn offline(&mut self) {
        let world = self.world;
        let is_offline = world.clusters.iter().any(|cluster| cluster.offline);
        if world.faults.offline.share == Share::NONE && !is_offline {
            self.add(
                &Path::of("faults").key("offline").key("return"),
                "`return` has no effect: no cluster is offline",
                "write the `share` of the clusters that are offline, or `offline: true` for some of `fleet`",
            );
        }
    }
}
