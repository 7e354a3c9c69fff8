//! The limits of registries, regions, mirrors and regional caches, compared with the demand of a release.

use std::collections::BTreeMap;

use super::demand::{LayerDemand, RegistryDemand, ReleaseDemand};
use super::need::{NeededAmount, ResourceNeed};
use crate::world::distribution::spec::{CachePlace, DistributionKind};
use crate::world::quantity::RateModel;
use crate::world::registry::load_spec::OtherLoad;
use crate::world::registry::spec::{
    BlobScope, HostSpec, PullQuota, QuotaScope, RegistrySpec, RequestLimit,
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
        let demand = self.demand;
        let manifests = demand.heads + demand.indexes + demand.manifests;
        let api = demand.challenges + manifests + demand.blobs;
        let mut needs = Vec::new();
        for (host, requests, spec) in [
            ("API", api, &self.spec.api),
            ("tokens", demand.challenges, &self.spec.token),
            ("blobs", self.redirected(), &self.spec.blobs.host),
        ] {
            needs.extend(self.bucket(host, requests, spec.request_limit));
            needs.extend(self.workers(host, requests, spec));
        }
        needs.extend(self.bucket("manifests", manifests, self.spec.manifest_limit));
        needs.extend(self.bucket("requests for blobs", demand.blobs, self.spec.blob_limit));
        needs
    }

    /// Returns the number of requests that the API host redirects to the blob host.
    const fn redirected(&self) -> u64 {
        if self.spec.blobs.redirect {
            self.demand.blobs
        } else {
            0
        }
    }

    /// Computes the need of requests through a token bucket. Refused requests take no token.
    fn bucket(
        &self,
        what: &str,
        requests: u64,
        limit: Option<RequestLimit>,
    ) -> Option<ResourceNeed> {
        let RequestLimit { rate, burst, .. } = limit?;
        let later = requests.saturating_sub(u64::from(burst));
        Some(ResourceNeed {
            resource: format!("{}, {what}", self.name),
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
        let (resource, needed) = match scope {
            QuotaScope::Account => ("pull quota".to_owned(), self.demand.manifests),
            QuotaScope::Address => (
                "pull quota of a cluster's address".to_owned(),
                self.demand.most_manifests,
            ),
        };
        let windows = needed.saturating_sub(1) / u64::from(pulls);
        ResourceNeed {
            resource: format!("{}, {resource}", self.name),
            amount: NeededAmount::Pulls(needed),
            limit: format!("{pulls} pulls in {per}"),
            least: per * windows,
        }
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
    }
    needs
}
