//! The limits of registries, regions, mirrors and regional caches, compared with the demand of a release.

use std::collections::BTreeMap;

use super::demand::{LayerDemand, RegistryDemand, ReleaseDemand, RequestCounts};
use super::need::{NeededAmount, ResourceNeed};
use crate::world::distribution::spec::{CachePlace, DistributionKind};
use crate::world::quantity::RateModel;
use crate::world::registry::load_spec::OtherLoad;
use crate::world::registry::spec::{
    BlobScope, ClientScope, HostSpec, PullQuota, RegistrySpec, RequestLimit,
};
use crate::world::spec::WorldSpec;
use fleetsim_units::{Bytes, BytesPerSec, SimDuration};

/// Computes the need of bytes over a link. The share `data_share` of the link's rate is data.
pub(super) fn over_link(
    resource: String,
    bytes: f64,
    rate: BytesPerSec,
    data_share: f64,
) -> Option<ResourceNeed> {
    if rate == BytesPerSec::UNLIMITED || rate.get() <= 0.0 {
        return None;
    }
    Some(ResourceNeed {
        resource,
        amount: NeededAmount::Bytes(Bytes::new(bytes.round() as u64)),
        limit: rate.to_string(),
        least: SimDuration::from_secs_f64(bytes / (rate.get() * data_share)),
    })
}

/// The needs of all registries.
pub(super) fn registry_needs(world: &WorldSpec, demand: &ReleaseDemand) -> Vec<ResourceNeed> {
    let data_share = world.registry.tcp.data_share();
    let mut needs = Vec::new();
    for (at, demand) in demand.registries.iter().enumerate() {
        let limits = RegistryLimits {
            name: match at {
                0 => "registry".to_owned(),
                other => format!("registry {}", world.registries[other - 1].name),
            },
            spec: world.registry_at(at),
            demand,
        };
        needs.extend(limits.link(data_share));
        needs.extend(
            limits
                .spec
                .per_blob
                .as_ref()
                .and_then(|rate| limits.layer(rate)),
        );
        needs.extend(limits.request_needs());
        needs.extend(limits.spec.pull_quota.map(|quota| limits.quota(quota)));
    }
    needs
}

/// A registry with the demand on it.
struct RegistryLimits<'w> {
    name: String,
    spec: &'w RegistrySpec,
    demand: &'w RegistryDemand,
}

impl RegistryLimits<'_> {
    /// Returns the need of the link, with its burst and the steady load of others.
    fn link(&self, data_share: f64) -> Option<ResourceNeed> {
        let egress = self.spec.egress;
        if egress == BytesPerSec::UNLIMITED {
            return None;
        }
        let others = least_load(self.spec.other_load.as_ref());
        let left = (1.0 - others.get() / egress.get()).max(0.0);
        let sent = self.demand.bytes / data_share;
        let mut limit = egress.to_string();
        if others > BytesPerSec::ZERO {
            limit.push_str(&format!(" less {others} for others"));
        }
        let mut seconds = sent / (egress.get() * left);
        if let Some(burst) = self.spec.burst {
            limit.push_str(&format!(
                ", and {} after {} above it",
                burst.baseline, burst.bytes
            ));
            let lasts = burst.bytes.get() as f64 / (egress.get() - burst.baseline.get());
            let later = sent - lasts * egress.get() * left;
            if later > 0.0 {
                seconds = lasts + later / (burst.baseline.get() * left);
            }
        }
        Some(ResourceNeed {
            resource: format!("{} link", self.name),
            amount: NeededAmount::Bytes(Bytes::new(self.demand.bytes.round() as u64)),
            limit,
            least: SimDuration::from_secs_f64(seconds),
        })
    }

    /// Returns the need of the layer that takes longest at the registry's rate for one blob.
    fn layer(&self, rate: &RateModel) -> Option<ResourceNeed> {
        let mut sent: BTreeMap<LayerDemand, f64> = BTreeMap::new();
        for (&layer, bytes) in &self.demand.layers {
            let region = match self.spec.per_blob_scope {
                BlobScope::Registry => None,
                BlobScope::Region => layer.region,
            };
            *sent.entry(LayerDemand { region, ..layer }).or_default() += bytes;
        }
        let most = sent.into_values().max_by(f64::total_cmp)?;
        over_link(
            format!("{}, one layer", self.name),
            most,
            rate.typical(),
            1.0,
        )
    }

    /// Returns the needs of the hosts and of the limits on kinds of requests.
    fn request_needs(&self) -> Vec<ResourceNeed> {
        let mut needs = Vec::new();
        let api = &self.spec.api;
        needs.extend(self.bucket("API", RequestCounts::to_api, api.request_limit));
        needs.extend(self.workers("API", self.demand.requests.to_api(), api));
        let token = &self.spec.token;
        needs.extend(self.bucket(
            "tokens",
            |requests| requests.challenges,
            token.request_limit,
        ));
        needs.extend(self.workers("tokens", self.demand.requests.challenges, token));
        // The API host redirects requests for blobs to the blob host.
        if self.spec.blobs.redirect {
            let spec = &self.spec.blobs.host;
            needs.extend(self.bucket("blobs", |requests| requests.blobs, spec.request_limit));
            needs.extend(self.workers("blobs", self.demand.requests.blobs, spec));
        }
        let manifests = self.spec.manifest_limit;
        needs.extend(self.bucket("manifests", RequestCounts::for_manifests, manifests));
        let blobs = self.spec.blob_limit;
        needs.extend(self.bucket("requests for blobs", |requests| requests.blobs, blobs));
        needs
    }

    /// Computes the need of requests through a token bucket. Refused requests take no token.
    fn bucket(
        &self,
        what: &str,
        of_kind: impl Fn(RequestCounts) -> u64,
        limit: Option<RequestLimit>,
    ) -> Option<ResourceNeed> {
        let RequestLimit {
            rate, burst, scope, ..
        } = limit?;
        let requests = self.demand.most(scope, of_kind);
        let later = requests.saturating_sub(u64::from(burst));
        let whose = owner_words(scope);
        Some(ResourceNeed {
            resource: format!("{}, {what}{whose}", self.name),
            amount: NeededAmount::Requests(requests),
            limit: format!("{:.1} requests/s, {burst} at once", rate.get()),
            least: SimDuration::from_secs_f64(later as f64 / rate.get()),
        })
    }

    /// Computes the need of requests that share a host's workers.
    fn workers(&self, what: &str, requests: u64, host: &HostSpec) -> Option<ResourceNeed> {
        let workers = host.workers?;
        let service = host.service_time.typical();
        let turns = requests as f64 / f64::from(workers);
        Some(ResourceNeed {
            resource: format!("{}, workers for {what}", self.name),
            amount: NeededAmount::Requests(requests),
            limit: format!("{workers} at a time, {service} each"),
            least: service.mul_f64(turns),
        })
    }

    /// Returns the need of the pull quota. A pull leaves the window after the window's full length.
    fn quota(&self, quota: PullQuota) -> ResourceNeed {
        let PullQuota { pulls, per, scope } = quota;
        let needed = self.demand.most(scope, |requests| requests.manifests);
        let whose = owner_words(scope);
        let windows = needed.saturating_sub(1) / u64::from(pulls);
        ResourceNeed {
            resource: format!("{}, pull quota{whose}", self.name),
            amount: NeededAmount::Pulls(needed),
            limit: format!("{pulls} pulls in {per}"),
            least: per * windows,
        }
    }
}

/// Returns the words for the clients that share a limit.
const fn owner_words(scope: ClientScope) -> &'static str {
    match scope {
        ClientScope::Account => "",
        ClientScope::Address => " of a cluster's address",
        ClientScope::Node => " of a node's address",
    }
}

/// Returns the minimum rate of a link that others use at any time.
fn least_load(load: Option<&OtherLoad>) -> BytesPerSec {
    let Some(load) = load else {
        return BytesPerSec::ZERO;
    };
    let (steps, _) = load.steps();
    let rates = steps.iter().map(|(_, rate)| rate.get());
    let least = rates.fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        BytesPerSec::new(least)
    } else {
        BytesPerSec::ZERO
    }
}

/// The needs of links that clusters share: regions, mirrors and caches of regions.
pub(super) fn shared_link_needs(world: &WorldSpec, demand: &ReleaseDemand) -> Vec<ResourceNeed> {
    let data_share = world.registry.tcp.data_share();
    let mut needs = Vec::new();
    for (region, bytes) in world.regions.iter().zip(&demand.regions) {
        let name = format!("link of region {}", region.name);
        needs.extend(over_link(name, *bytes, region.bandwidth, data_share));
    }
    for (mirror, bytes) in world.distribution.mirrors.iter().zip(&demand.mirrors) {
        let name = format!("mirror {}", mirror.name);
        needs.extend(over_link(name, *bytes, mirror.egress, data_share));
    }
    if let DistributionKind::Cache(cache) = &world.distribution.kind
        && cache.per == CachePlace::Region
    {
        for (region, bytes) in world.regions.iter().zip(&demand.region_caches) {
            let name = format!("cache of region {}", region.name);
            needs.extend(over_link(name, *bytes, cache.egress, data_share));
        }
        for (region, bytes) in world.regions.iter().zip(&demand.region_fetches) {
            let name = format!("fetches of the cache of region {}", region.name);
            let rate = cache.pull_bandwidth.unwrap_or(BytesPerSec::UNLIMITED);
            needs.extend(over_link(name, *bytes, rate, data_share));
        }
    }
    needs
}
