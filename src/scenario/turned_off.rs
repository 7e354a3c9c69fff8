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
use crate::world::{RegistrySpec, WorldSpec};

/// A setting that is written and that no run reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TurnedOff {
    pub(super) path: Path,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Returns the settings in the file that are turned off in all of these worlds, which contain the whole fleet.
pub(super) fn turned_off(file: &Node, worlds: &[Arc<WorldSpec>]) -> Vec<TurnedOff> {
    let mut worlds = worlds.iter();
    let Some(first) = worlds.next() else {
        return Vec::new();
    };
    let mut off = of_world(file, first);
    for world in worlds {
        let of_this = of_world(file, world);
        off.retain(|setting| of_this.contains(setting));
    }
    off
}

/// Returns the settings in the file that are turned off in a world.
fn of_world(file: &Node, world: &WorldSpec) -> Vec<TurnedOff> {
    let mut rules = Rules {
        file,
        world,
        off: Vec::new(),
    };
    rules.registries();
    rules.regions();
    rules.mirrors();
    rules.node();
    rules.offline();
    rules.off
}

/// The rules while they are applied to a world.
struct Rules<'w> {
    file: &'w Node,
    world: &'w WorldSpec,
    off: Vec<TurnedOff>,
}

impl Rules<'_> {
    /// Adds a setting that is turned off, if the file contains it.
    fn add(&mut self, path: Path, message: impl Into<String>, help: &'static str) {
        if self.file.get(&path).is_some() {
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
        for (at, registry) in world.registries.iter().enumerate() {
            let path = Path::of("registries").index(at);
            if !world.images.iter().any(|image| image.registry == at + 1) {
                self.add(
                    path.key("name"),
                    format!("no image is in the registry `{}`", registry.name),
                    "write its name as the `registry` of an image, or remove it",
                );
            }
            self.registry(&path.key("registry"), &registry.spec);
        }
    }

    fn registry(&mut self, path: &Path, registry: &RegistrySpec) {
        if !registry.tokens {
            self.add(
                path.key("token"),
                "`token` has no effect: with `tokens: false` no pull asks for a token",
                "remove `token`, or write `tokens: true`",
            );
        }
        if !self.world.node.runtime.retry_429.honours_retry_after {
            self.add(
                path.key("retryAfter"),
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
                    Path::of("regions").index(at).key("name"),
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
                    Path::of("mirrors").index(at).key("region"),
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
        let mut clusters = self.world.clusters.iter();
        clusters.any(|cluster| cluster.region == Some(region))
    }

    fn node(&mut self) {
        let world = self.world;
        let path = Path::of("node");
        if world.node.registry_pull_qps == 0 {
            self.add(
                path.key("registryBurst"),
                "`registryBurst` has no effect: with `registryPullQPS: 0` pulls have no limit",
                "remove it, or write the pulls per second in `registryPullQPS`",
            );
        }
        let waits = world.all_registries().any(|one| one.retry_after.is_some());
        if world.node.runtime.retry_429.honours_retry_after && !waits {
            self.add(
                path.key("retry429").key("honoursRetryAfter"),
                "`honoursRetryAfter` has no effect: no registry has a `retryAfter`",
                "write the registry's `retryAfter`, or remove it",
            );
        }
        let mut layers = world.images.iter().flat_map(|image| &image.layers);
        if !layers.any(|layer| layer.is_zstd) {
            self.add(
                path.key("zstdFactor"),
                "`zstdFactor` has no effect: no layer is compressed with zstd",
                "remove it; layers of manifests with a media type that ends in `zstd` use it",
            );
        }
    }

    fn offline(&mut self) {
        let world = self.world;
        let is_offline = world.clusters.iter().any(|cluster| cluster.offline);
        if world.faults.offline.share == Share::NONE && !is_offline {
            self.add(
                Path::of("faults").key("offline").key("return"),
                "`return` has no effect: no cluster is offline",
                "write the `share` of the clusters that are offline, or `offline: true` for some of `fleet`",
            );
        }
    }
}
