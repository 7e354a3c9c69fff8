//! Settings of a registry: its hosts, their limits, the rate of a connection, and its outages.

#[cfg(any(test, feature = "schema"))]
use std::borrow::Cow;

#[cfg(any(test, feature = "schema"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::world::calibration;
use crate::world::quantity::{DurationModel, RateModel};
use crate::world::registry::load_spec::{BurstSpec, OtherLoad};
use fleetsim_units::serial::{TextVisitor, checked_spread, link, positive, unlimited};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration, SimTime};

/// The registry that serves every image: an API host, a token service, and a host that sends the blobs. Fields without
/// a host apply to the API host.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RegistrySpec {
    /// A known registry, whose published limits replace the defaults of the other fields.
    pub preset: Option<RegistryPreset>,
    /// Total sending rate, or `unlimited` to measure how much the fleet requests.
    #[serde(deserialize_with = "link")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub egress: BytesPerSec,
    /// Maximum rate of one connection, or `unlimited`. With a `cdn` the default is unlimited.
    #[serde(with = "unlimited")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub per_connection: Option<BytesPerSec>,
    /// Maximum rate at which all nodes together receive one blob; drawn for each digest. Default: no such limit.
    ///
    /// A blob is a layer. Large registries send each blob from one store, so a layer that many nodes pull at the same
    /// time arrives at the rate of this store, however high the egress is. A cache, a mirror and the seeds of a swarm
    /// fetch at this rate, but do not send at it.
    pub per_blob: Option<RateModel>,
    /// The places that have their own `perBlob`: the registry, or each region.
    pub per_blob_scope: BlobScope,
    /// A burst allowance on bytes: full `egress` for some time, then a baseline. Default: no baseline.
    pub burst: Option<BurstSpec>,
    /// Load that the registry sends to clients outside of the fleet. Default: no load.
    pub other_load: Option<OtherLoad>,
    /// A content delivery network. Its connections are slower for blobs that have not been downloaded before.
    pub cdn: Option<CdnSpec>,
    /// Effect of round trip and loss on TCP connections.
    pub tcp: TcpSpec,
    /// The host that serves manifests and the addresses of blobs.
    #[serde(rename = "~api")]
    #[cfg_attr(any(test, feature = "schema"), schemars(flatten))]
    pub api: HostSpec,
    /// Whether the registry requires tokens. False: it responds without tokens, like CNCF Distribution without `auth`,
    /// and pulls send two requests fewer.
    pub tokens: bool,
    /// The host that issues tokens. Its default `serviceTime` is the API host's.
    pub token: HostSpec,
    /// The host that sends blobs.
    pub blobs: BlobHostSpec,
    /// A token bucket only for manifests, besides that for all requests. Excess requests get 429.
    #[serde(rename = "manifestRequests")]
    pub manifest_limit: Option<RequestLimit>,
    /// A token bucket only for blob requests, besides that for all requests. Excess requests get 429.
    #[serde(rename = "blobRequests")]
    pub blob_limit: Option<RequestLimit>,
    /// Maximum number of image pulls in a period. Further pulls get 429.
    pub pull_quota: Option<PullQuota>,
    /// `Retry-After` header of 429 and 503 responses. Default: no such header.
    pub retry_after: Option<SimDuration>,
    /// Windows of outages and brownouts, which must not overlap.
    pub windows: Vec<WindowSpec>,
}

impl Default for RegistrySpec {
    fn default() -> Self {
        Self {
            per_connection: Some(calibration::CONNECTION),
            ..Self::unlimited(calibration::REGISTRY_EGRESS, calibration::SERVICE_TIME)
        }
    }
}

impl RegistrySpec {
    /// Creates a registry without limits other than its egress.
    #[must_use]
    pub fn unlimited(egress: BytesPerSec, service_time: DurationModel) -> Self {
        let host = HostSpec::unlimited(service_time);
        Self {
            preset: None,
            egress,
            per_connection: None,
            per_blob: None,
            per_blob_scope: BlobScope::Registry,
            burst: None,
            other_load: None,
            tcp: TcpSpec::OFF,
            api: host.clone(),
            tokens: true,
            token: host,
            blobs: BlobHostSpec::default(),
            manifest_limit: None,
            blob_limit: None,
            pull_quota: None,
            retry_after: None,
            cdn: None,
            windows: Vec::new(),
        }
    }
}

/// A known registry.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RegistryPreset {
    /// Azure Container Registry Basic: 1000 reads/min, 30 MB/s.
    AcrBasic,
    /// Azure Container Registry Standard: 3000 reads/min, 60 MB/s.
    AcrStandard,
    /// Azure Container Registry Premium: 10000 reads/min, 100 MB/s.
    AcrPremium,
    /// Amazon ECR: 2000/s manifests, 3000/s blobs, 500/s tokens; S3 5500/s with 503.
    Ecr,
    /// Google Artifact Registry: 60000 requests/min.
    ArtifactRegistry,
    /// Docker Hub without an account: 100 pulls in 6 h from each cluster's address.
    DockerHubAnonymous,
    /// Docker Hub with a free account: 200 pulls in 6 h for the fleet.
    DockerHubSignedIn,
    /// GitHub's ghcr.io, as measured: 1.7 GB/s for one layer, 5 GB/s in total, a connection 46 MB/s cold.
    Ghcr,
    /// Quay.io: 20 requests/s from each cluster's address.
    Quay,
    /// CNCF Distribution with blobs on S3: 5500/s with 503.
    #[serde(rename = "distribution-s3")]
    DistributionS3,
    /// A small Harbor: 4 workers, 200 ms per request, no redirect, 1 Gbit/s.
    HarborSmall,
}

/// The host that sends the bytes of blobs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema), schemars(transform = service_time_of_blobs))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct BlobHostSpec {
    /// Whether the API host redirects requests for blobs to this host. Otherwise the API host sends the bytes itself.
    pub redirect: bool,
    /// The host's limits. The service time is the time to the first byte; default: 0 s.
    #[serde(rename = "~host")]
    #[cfg_attr(any(test, feature = "schema"), schemars(flatten))]
    pub host: HostSpec,
    /// Time to the first byte of a layer that has not been completely downloaded before. Default: as for other layers.
    pub cold_first_byte: Option<DurationModel>,
    /// Loss of egress when many blobs are sent simultaneously.
    pub overload: Option<OverloadSpec>,
}

impl Default for BlobHostSpec {
    fn default() -> Self {
        Self {
            redirect: true,
            host: HostSpec::unlimited(DurationModel::Constant(SimDuration::ZERO)),
            cold_first_byte: None,
            overload: None,
        }
    }
}

/// Sets a flattened field's default in the schema, because it differs from the default of the field's type.
#[cfg(any(test, feature = "schema"))]
fn service_time_of_blobs(schema: &mut Schema) {
    let default = serde_json::to_value(BlobHostSpec::default().host.service_time)
        .expect("a duration is a text");
    schema
        .pointer_mut("/properties/serviceTime")
        .expect("a host has a service time")["default"] = default;
}

/// One host of a registry: a request passes its bucket, then gets a connection, then a worker.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct HostSpec {
    /// Token bucket for all requests to the host.
    #[serde(rename = "requests")]
    pub request_limit: Option<RequestLimit>,
    /// Maximum number of open connections.
    pub connections: Option<ConnectionLimit>,
    /// Number of requests served simultaneously; others wait, first come, first served.
    #[serde(deserialize_with = "positive")]
    pub workers: Option<u32>,
    /// Time to serve one request, without the round trip, waits and transfer.
    pub service_time: DurationModel,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self::unlimited(calibration::SERVICE_TIME)
    }
}

impl HostSpec {
    /// Creates a host that serves every request without limits.
    #[must_use]
    pub const fn unlimited(service_time: DurationModel) -> Self {
        Self {
            request_limit: None,
            connections: None,
            workers: None,
            service_time,
        }
    }
}

/// Status of the response to a request above the rate limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OverLimit {
    /// Status 429.
    #[default]
    TooMany,
    /// Status 503, as used by S3 ("SlowDown").
    Unavailable,
}

impl<'de> Deserialize<'de> for OverLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |status: &str| match status {
            "429" => Ok(Self::TooMany),
            "503" => Ok(Self::Unavailable),
            other => Err(format!("must be 429 or 503, not {other}")),
        };
        deserializer.deserialize_any(TextVisitor {
            expecting: "429 or 503",
            read,
        })
    }
}

impl Serialize for OverLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(match self {
            Self::TooMany => 429,
            Self::Unavailable => 503,
        })
    }
}

#[cfg(any(test, feature = "schema"))]
impl JsonSchema for OverLimit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OverLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [429, 503] })
    }
}

/// A token bucket: `burst` requests immediately, refilled at `rate`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RequestLimit {
    /// Tokens per time.
    #[serde(deserialize_with = "positive")]
    pub rate: PerSecond,
    /// Maximum number of tokens; at least 1. Default: the tokens of one second.
    #[serde(
        default,
        deserialize_with = "positive",
        skip_serializing_if = "is_unset"
    )]
    pub burst: u32,
    /// Status of the response to a request above the limit: 429 or 503.
    #[serde(default)]
    pub answer: OverLimit,
    /// The clients that share a bucket. By default the fleet has one bucket.
    #[serde(default)]
    pub scope: ClientScope,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
const fn is_unset(burst: &u32) -> bool {
    *burst == 0
}

impl RequestLimit {
    /// Creates a bucket whose excess requests get 429.
    #[must_use]
    pub const fn new(rate: PerSecond, burst: u32) -> Self {
        Self {
            rate,
            burst,
            answer: OverLimit::TooMany,
            scope: ClientScope::Account,
        }
    }
}

/// Maximum number of open connections of a host. A connection lasts from the request until the response is sent; for a
/// blob, until the last byte is sent.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ConnectionLimit {
    /// The limit; at least 1.
    #[serde(deserialize_with = "positive")]
    pub max: u32,
    /// Handling of further connections.
    #[serde(default)]
    pub excess: Excess,
}

/// How a host handles a request above its connection limit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Excess {
    /// The request gets 503.
    #[default]
    Refuse,
    /// The request waits, first come, first served.
    Queue,
}

/// Maximum number of images in any period of this length. Requests for a platform's manifest are counted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PullQuota {
    /// The limit; at least 1.
    #[serde(deserialize_with = "positive")]
    pub pulls: u32,
    /// The length of the rolling window.
    #[serde(deserialize_with = "positive")]
    pub per: SimDuration,
    /// The clients that share the quota.
    #[serde(default)]
    pub scope: ClientScope,
}

/// The clients that share a limit.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
// The released schema has this name.
#[cfg_attr(
    any(test, feature = "schema"),
    derive(JsonSchema),
    schemars(rename = "QuotaScope")
)]
#[serde(rename_all = "camelCase")]
pub enum ClientScope {
    /// The whole fleet, which uses the same account.
    #[default]
    Account,
    /// The nodes of a cluster, which share an address.
    Address,
    /// Each node, which has its own public address.
    Node,
}

/// The places that each send a blob at their own rate.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum BlobScope {
    /// The registry: all clusters share the rate of a blob.
    #[default]
    Registry,
    /// The edge of a content delivery network in each region: the clusters of a region share the rate of a blob, and
    /// so do all clusters without a region.
    Region,
}

/// A content delivery network in front of the blobs. A blob is cold until its first download has completed; transfers
/// that began earlier keep their rate.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CdnSpec {
    /// Rate of one connection for a cold blob.
    #[serde(deserialize_with = "positive")]
    pub cold: BytesPerSec,
    /// Rate of one connection for any other blob; at least `cold`.
    #[serde(deserialize_with = "positive")]
    pub warm: BytesPerSec,
}

impl Default for CdnSpec {
    fn default() -> Self {
        Self {
            cold: calibration::CDN_COLD,
            warm: calibration::CDN_WARM,
        }
    }
}

impl CdnSpec {
    /// Returns the rate of one connection.
    #[must_use]
    pub const fn rate(&self, warm: bool) -> BytesPerSec {
        if warm { self.warm } else { self.cold }
    }
}

/// A registry whose egress shrinks with the number of blobs that it sends simultaneously: egress · max(floor,
/// connections / n) for n above `connections`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OverloadSpec {
    /// Number of simultaneous blobs above which the egress shrinks; at least 1.
    #[serde(deserialize_with = "positive")]
    pub connections: u32,
    /// Minimum remaining share of the egress.
    #[serde(deserialize_with = "positive")]
    pub floor: Share,
}

/// Limits on a TCP connection by round trip and loss.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TcpSpec {
    /// The receiver's window, which limits a connection to window / round trip. Default: no such limit.
    #[serde(deserialize_with = "positive")]
    pub window: Option<Bytes>,
    /// Size of a segment in bytes.
    #[serde(deserialize_with = "positive")]
    pub segment: Bytes,
    /// Whether transfers start slowly. They begin with ten segments per round trip (RFC 6928) and double up to their
    /// rate.
    pub slow_start: bool,
    /// Number of round trips to open a connection to one of the registry's hosts. It is 2 with TLS 1.3 (RFC 8446), 3
    /// with TLS 1.2 (RFC 5246), 1 without TLS.
    #[serde(deserialize_with = "positive")]
    pub handshake_round_trips: u32,
    /// Share of the bytes on links that are headers; below 50%.
    ///
    /// The links are those from registries, caches and mirrors. By default, links carry only data. Ethernet: 4.36%, 66
    /// of 1,514 bytes (14 Ethernet, 20 IPv4, 20 TCP and 12 of its time stamps).
    #[serde(deserialize_with = "headers")]
    pub headers: Option<Share>,
    /// Variation of the weights with which connections share a full link, from 0 to 2. It is the sigma of a lognormal
    /// factor with median 1, drawn for each connection to the registry. By default, connections are equal. 0.7 fits
    /// the first and last of many simultaneous pulls over real TCP, but not the medians (docs/validation.md).
    #[serde(deserialize_with = "weight_spread")]
    pub weight_spread: Option<f64>,
    /// Minimum wait before a sender retransmits after a cut of a cluster's link. The round trip is added, and the wait
    /// doubles with each retransmission, up to 120 s. Linux: 200 ms. By default, transfers resume as soon as the link
    /// recovers.
    #[serde(deserialize_with = "positive")]
    pub retransmission: Option<SimDuration>,
}

fn weight_spread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::<f64>::deserialize(deserializer)?
        .map(|sigma| checked_spread(sigma, 0.7))
        .transpose()
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Share>, D::Error> {
    match Option::<Share>::deserialize(deserializer)? {
        Some(share) if share.get() >= 0.5 => {
            Err(D::Error::custom("must be below 50%; Ethernet has 4.36%"))
        }
        share => Ok(share),
    }
}

impl TcpSpec {
    /// No limits: Ethernet segments, no window, no slow start, TLS 1.3, no headers, equal connections.
    pub const OFF: Self = Self {
        window: None,
        segment: Bytes::new(1460),
        slow_start: false,
        handshake_round_trips: 2,
        headers: None,
        weight_spread: None,
        retransmission: None,
    };

    /// Returns the share of a link's rate that is available for data.
    pub(crate) fn data_share(&self) -> f64 {
        1.0 - self.headers.map_or(0.0, Share::get)
    }
}

impl Default for TcpSpec {
    fn default() -> Self {
        Self::OFF
    }
}

/// A window in which the registry has an outage (`down: true`), or a brownout with remaining shares of egress and
/// requests.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowSpec {
    /// Start of the window, from the start of the rollout.
    pub from: SimDuration,
    /// Duration of the window.
    #[serde(rename = "for", deserialize_with = "positive")]
    pub span: SimDuration,
    /// Whether the registry does not respond and sends nothing.
    #[serde(default)]
    pub down: bool,
    /// Remaining share of the egress; may be 0%.
    #[serde(default = "all")]
    pub egress: Share,
    /// Remaining share of the rates of all buckets. Serving requests slows down by the same factor.
    #[serde(default = "all", deserialize_with = "positive")]
    pub requests: Share,
}

const fn all() -> Share {
    Share::ALL
}

impl WindowSpec {
    /// Returns when the window begins.
    #[must_use]
    pub fn begins(&self) -> SimTime {
        SimTime::ZERO + self.from
    }

    /// Returns when the window ends.
    #[must_use]
    pub fn ends(&self) -> SimTime {
        self.begins() + self.span
    }
}
