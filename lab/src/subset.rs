//! The subset of experiments that can be emulated. Others are refused, with the field, the reason and the fix.
//!
//! The laboratory emulates fleets with their downlinks, one registry with its egress, images of fixed sizes, updates
//! with shared layers, download slots, pull-through caches in clusters, brownouts of the registry, and cuts and
//! brownouts of clusters at given times. Agents, pods, kubelets and controllers are the program's models, running in
//! real time.

use fleetsim::rollout::Revision;
use fleetsim::scenario::{Experiment, Variant};
use fleetsim::units::{Bytes, Share, SimDuration};
use fleetsim::world::{
    CachePlace, ClusterSpec, CutKind, DiskClass, DiskSpec, DistributionKind, DurationModel,
    FactorModel, FaultSpec, HostSpec, ImageSpec, MirrorSpec, NodeSpec, RegionSpec, RegistrySpec,
    SizeModel, SlotScope, TcpSpec, WorldSpec,
};

use crate::error::LabError;
use crate::image::LAYER_MIN;

/// Maximum number of nodes: each node has a containerd, and a small machine cannot run more.
const NODES_MAX: u32 = 128;

/// Maximum size of a layer, because layers are kept in memory.
const LAYER_MAX: Bytes = Bytes::new(1_000_000_000);

/// The revision before the new one.
pub(crate) const OLD: Revision = fleetsim::world::OLD;

/// Parts of an experiment that cannot be emulated: the field, the reason, and the fix of each.
struct Refusals(Vec<String>);

impl Refusals {
    fn unless(&mut self, is_fine: bool, field: &str, reason: &str, fix: &str) {
        if !is_fine {
            self.0.push(format!("{field}: {reason}; {fix}"));
        }
    }
}

/// Checks that an experiment can be emulated completely on a machine with or without netem.
pub(crate) fn check(experiment: &Experiment, file: &str, has_netem: bool) -> Result<(), LabError> {
    let mut refusals = Refusals(Vec::new());
    refusals.unless(
        experiment.precision.is_none(),
        "precision",
        "runs take real time",
        "write `replicates`",
    );
    for variant in &experiment.variants {
        check_variant(variant, has_netem, &mut refusals);
    }
    refusals.0.sort();
    refusals.0.dedup();
    if refusals.0.is_empty() {
        return Ok(());
    }
    let list: String = refusals
        .0
        .iter()
        .map(|refusal| format!("\n  {refusal}"))
        .collect();
    Err(LabError::Unsupported(format!(
        "{file}: parts of the experiment cannot be emulated{list}"
    )))
}

fn check_variant(variant: &Variant, has_netem: bool, refusals: &mut Refusals) {
    let world = &*variant.scenario.world;
    let is_own = variant.scenario.strategy().command().is_none();
    refusals.unless(
        is_own,
        "strategies",
        "processes have a clock of their own",
        "use a strategy of the program",
    );
    check_fleet(world, has_netem, refusals);
    check_registry(&world.registry, refusals);
    refusals.unless(
        world.registries.is_empty(),
        "registries",
        "there is one registry",
        "remove it",
    );
    check_distribution(world, refusals);
    check_node(&world.node, refusals);
    world
        .images
        .iter()
        .for_each(|image| check_image(image, refusals));
    check_faults(&world.faults, refusals);
}

fn check_fleet(world: &WorldSpec, has_netem: bool, refusals: &mut Refusals) {
    let are_fixed = world
        .clusters
        .iter()
        .all(|cluster| matches!(cluster.nodes, FactorModel::Constant(_)));
    refusals.unless(
        are_fixed,
        "fleet.nodes",
        "nodes are not drawn",
        "write a number",
    );
    let nodes: f64 = world
        .clusters
        .iter()
        .map(|cluster| cluster.nodes.mean())
        .sum();
    let most = format!(
        "there must be at most {NODES_MAX} nodes, because each is a containerd, not {nodes}"
    );
    refusals.unless(
        nodes <= f64::from(NODES_MAX),
        "fleet",
        &most,
        "take a smaller fleet with proportionally smaller links",
    );
    let is_limit = |region: &RegionSpec| region.bandwidth < world.registry.egress;
    let fix = "write a `bandwidth` of at least the registry's egress, or remove them";
    refusals.unless(
        !world.regions.iter().any(is_limit),
        "regions",
        "links of regions are not built",
        fix,
    );
    for ClusterSpec { rtt, loss, .. } in &world.clusters {
        let is_zero = *rtt == DurationModel::Constant(SimDuration::ZERO);
        let why = if has_netem {
            "round trips are not emulated yet"
        } else {
            "this kernel has no netem to delay packets"
        };
        refusals.unless(is_zero, "fleet.rtt", why, "write `rtt: 0 s`");
        let why = if has_netem {
            "loss is not emulated yet"
        } else {
            "this kernel has no netem to drop packets"
        };
        refusals.unless(*loss == Share::NONE, "fleet.loss", why, "remove it");
    }
}

fn check_registry(registry: &RegistrySpec, refusals: &mut Refusals) {
    let mut unless = |is_fine, field: &str, reason: &str, fix: &str| {
        refusals.unless(is_fine, &format!("registry.{field}"), reason, fix);
    };
    unless(
        registry.egress.get().is_finite(),
        "egress",
        "the link must have a rate",
        "write e.g. `egress: 100 Mbit/s`",
    );
    let fix = "write `perConnection: unlimited`";
    unless(
        registry.per_connection.is_none(),
        "perConnection",
        "connections are limited by links alone",
        fix,
    );
    unless(
        registry.cdn.is_none(),
        "cdn",
        "there is no delivery network",
        "remove it",
    );
    let TcpSpec {
        window, slow_start, ..
    } = registry.tcp;
    unless(
        window.is_none() && !slow_start,
        "tcp",
        "the kernel's TCP decides",
        "leave out window and slowStart",
    );
    unless(
        !registry.tokens,
        "tokens",
        "Distribution without `auth` asks for none",
        "write `tokens: false`",
    );
    unless(
        !registry.blobs.redirect,
        "blobs.redirect",
        "Distribution sends blobs itself",
        "write `redirect: false`",
    );
    unless(
        registry.blobs.overload.is_none(),
        "blobs.overload",
        "the registry's own behaviour counts",
        "remove it",
    );
    let no_limit = "Distribution has no such limit";
    let is_free = |host: &HostSpec| host.connections.is_none() && host.workers.is_none();
    let others = [&registry.token, &registry.blobs.host];
    let are_free = is_free(&registry.api)
        && others
            .into_iter()
            .all(|host| is_free(host) && host.request_limit.is_none());
    unless(
        are_free,
        "connections, workers",
        no_limit,
        "remove them, and `requests` of other hosts",
    );
    let is_unlimited = registry.manifest_limit.is_none() && registry.blob_limit.is_none();
    unless(
        is_unlimited && registry.pull_quota.is_none(),
        "limits and quotas",
        no_limit,
        "remove them",
    );
    let is_brownout = registry
        .windows
        .iter()
        .all(|window| !window.down && window.egress > Share::NONE);
    unless(
        is_brownout,
        "windows",
        "only the link can get narrower",
        "write `egress` above 0%, and not `down`",
    );
    let are_requests_whole = registry
        .windows
        .iter()
        .all(|window| window.requests == Share::ALL);
    unless(
        are_requests_whole,
        "windows.requests",
        no_limit,
        "remove it",
    );
}

fn check_distribution(world: &WorldSpec, refusals: &mut Refusals) {
    let distribution = &world.distribution;
    refusals.unless(
        distribution.lazy.is_none(),
        "distribution.lazy",
        "containerd unpacks images",
        "remove it",
    );
    refusals.unless(
        distribution.pre_pull.is_none(),
        "distribution.prePull",
        "it is not emulated yet",
        "remove it",
    );
    let is_simple =
        |mirror: &MirrorSpec| mirror.per_connection.is_none() && mirror.rtt == SimDuration::ZERO;
    let is_first = distribution.mirrors.len() < 2 && distribution.mirrors.iter().all(is_simple);
    let is_whole = distribution.mirrors.is_empty()
        || world
            .clusters
            .iter()
            .all(|cluster| cluster.region.is_some());
    let fix = "write one with `rtt: 0 s`, without `perConnection`, for a region with all clusters";
    refusals.unless(
        is_first && is_whole,
        "mirrors",
        "one mirror of all clusters is built",
        fix,
    );
    let has_limit = world.registry.api.request_limit.is_some();
    let is_rare = world
        .registry
        .api
        .request_limit
        .is_some_and(|limit| limit.rate.get() * 60.0 < 1.0);
    refusals.unless(
        !is_rare,
        "registry.requests.rate",
        "nginx counts requests a minute",
        "write at least 1/min",
    );
    let is_update = world.images.iter().any(|image| !image.previous.is_empty());
    let reason = "nodes would get the images before an update through the limit";
    refusals.unless(
        !(has_limit && is_update),
        "registry.requests",
        reason,
        "write `kind: initial`",
    );
    match &distribution.kind {
        DistributionKind::Direct => {}
        DistributionKind::Cache(cache) => {
            let is_inside = cache.per == CachePlace::Cluster && cache.per_connection.is_none();
            let reason = "caches are in clusters, without a limit of connections";
            refusals.unless(
                is_inside,
                "distribution.cache",
                reason,
                "write `per: cluster` and no `perConnection`",
            );
            let are_free = cache.upstream_connections.is_none();
            let reason = "Distribution has no such limit";
            refusals.unless(
                are_free,
                "distribution.cache.upstreamConnections",
                reason,
                "remove it",
            );
        }
        _ => refusals.unless(
            false,
            "distribution",
            "only `direct` and `cache` are built",
            "write `{direct: {}}`",
        ),
    }
}

fn check_node(node: &NodeSpec, refusals: &mut Refusals) {
    refusals.unless(
        node.pull_deadline.is_none(),
        "node.pullDeadline",
        "containerd has none",
        "remove it",
    );
    let is_of_image = node.runtime.slot_scope == SlotScope::Image;
    let fix = "write `runtime: containerd-1.7`";
    refusals.unless(
        is_of_image,
        "node.slotScope",
        "the client counts the slots of each image",
        fix,
    );
    let is_left_out =
        |disk: &DiskSpec| disk.class == DiskClass::None || *disk == DiskSpec::default();
    let fix = "remove it, because experiments are simulated with `disk: {class: none}`";
    refusals.unless(
        node.disk.as_ref().is_none_or(is_left_out),
        "node.disk",
        "nodes keep their files in memory",
        fix,
    );
}

fn check_image(image: &ImageSpec, refusals: &mut Refusals) {
    let field = format!("release.images.{}", image.name);
    let why = "images of one platform are pushed";
    refusals.unless(!image.index, &field, why, "write `index: false`");
    let constant = |size: &SizeModel| match size {
        SizeModel::Constant(bytes) => Some(*bytes),
        _ => None,
    };
    let layers = image.layers.iter().chain(&image.previous);
    let mut sizes = layers.map(|layer| constant(&layer.compressed));
    let is_built = sizes
        .all(|size| size.is_some_and(|size| (Bytes::new(LAYER_MIN)..=LAYER_MAX).contains(&size)));
    refusals.unless(
        is_built && constant(&image.config).is_some(),
        &field,
        "sizes must be fixed, and those of layers between 8 192 B and 1 GB",
        "write e.g. `{size: 2 MB}`",
    );
    refusals.unless(
        image.registry == 0,
        &field,
        "there is one registry",
        "remove `registry`",
    );
}

fn check_faults(faults: &FaultSpec, refusals: &mut Refusals) {
    let nothing = FaultSpec {
        regional: faults.regional.clone(),
        defect: faults.defect.clone(),
        ..FaultSpec::default()
    };
    let reason = "only `regional` windows and defects of containers are emulated";
    refusals.unless(*faults == nothing, "faults", reason, "remove the others");
    for regional in &faults.regional {
        let is_given = regional.between.is_none()
            && regional.repair.is_none()
            && regional.cuts != CutKind::Management;
        let fix = "write `windows`, and leave out `between`, `repair` and `cuts: management`";
        refusals.unless(
            is_given,
            "faults.regional",
            "links change at given times",
            fix,
        );
    }
}
