//! The registry as the experiment file writes it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::distribution_file::CdnFile;
use super::quantity::{Duration, PerTime, Percent, Rate, RateLimit, Size};
use super::spread::Spread;

/// A registry beside the first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NamedRegistryFile {
    /// The name that images use.
    pub(crate) name: String,
    /// What it is, with the same defaults as the first.
    pub(crate) registry: Option<RegistryFile>,
}

/// The registry that serves every image. Fields without a host's name are those of the API host.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RegistryFile {
    /// A known registry, whose published limits the other fields begin with. Default: none.
    pub(crate) preset: Option<RegistryPresetFile>,
    /// What it can send in all. Default: 10 Gbit/s.
    pub(crate) egress: Option<Rate>,
    /// What one connection can carry at most, or `unlimited`. Default: 88 MB/s.
    pub(crate) per_connection: Option<RateLimit>,
    /// A content delivery network that carries less of a blob which nobody has downloaded yet. Default: none.
    pub(crate) cdn: Option<CdnFile>,
    /// What TCP makes of round trip and loss.
    pub(crate) tcp: Option<TcpFile>,
    /// Token bucket for all requests to the API host. Default: no limit.
    pub(crate) requests: Option<RequestsFile>,
    /// A bucket for manifests alone; what exceeds it is answered with 429. Default: no limit.
    pub(crate) manifest_requests: Option<BucketFile>,
    /// A bucket for blobs alone, at the API host; what exceeds it is answered with 429. Default: no limit.
    pub(crate) blob_requests: Option<BucketFile>,
    /// Most connections at once. Default: no cap.
    pub(crate) connections: Option<ConnectionsFile>,
    /// Requests served at once; others wait, first come first served. Default: no cap.
    pub(crate) workers: Option<u32>,
    /// Time to serve one request, without the round trip. Default: {median: 20 ms, sigma: 0.5}.
    pub(crate) service_time: Option<Spread>,
    /// The host that gives tokens.
    pub(crate) token: Option<HostFile>,
    /// The host that sends blobs.
    pub(crate) blobs: Option<BlobsFile>,
    /// Images that may be pulled in a span of time; one more is answered with 429. Default: no quota.
    pub(crate) pull_quota: Option<PullQuotaFile>,
    /// The `Retry-After` of answers 429 and 503. Default: none.
    pub(crate) retry_after: Option<Duration>,
    /// When it is out of order. Default: never.
    #[serde(default)]
    pub(crate) windows: Vec<WindowFile>,
}

/// A known registry.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RegistryPresetFile {
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
    /// CNCF Distribution with blobs on S3: 5500/s with 503.
    #[serde(rename = "distribution-s3")]
    DistributionS3,
    /// A small Harbor: 4 workers, 200 ms a request, no redirect, 1 Gbit/s.
    HarborSmall,
}

/// A token bucket.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BucketFile {
    /// Tokens per time.
    pub(crate) rate: PerTime,
    /// Most tokens it holds, at least 1. Default: as many as come in one second.
    pub(crate) burst: Option<u32>,
}

/// A token bucket in front of a host.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RequestsFile {
    /// Tokens per time.
    pub(crate) rate: PerTime,
    /// Most tokens it holds, at least 1. Default: as many as come in one second.
    pub(crate) burst: Option<u32>,
    /// What is said to a request above it: 429 or 503. Default: 429.
    pub(crate) answer: Option<u32>,
}

/// A cap on connections. One lasts until the answer leaves, or until the last byte where the host sends a blob.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ConnectionsFile {
    /// At least 1.
    pub(crate) max: u32,
    /// What happens to one more. Default: refuse.
    pub(crate) excess: Option<ExcessFile>,
}

/// What happens to a connection above the cap.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ExcessFile {
    /// 503.
    Refuse,
    /// It waits, first come first served.
    Queue,
}

/// One host.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct HostFile {
    /// Token bucket for all its requests. Default: no limit.
    pub(crate) requests: Option<RequestsFile>,
    /// Most connections at once. Default: no cap.
    pub(crate) connections: Option<ConnectionsFile>,
    /// Requests served at once. Default: no cap.
    pub(crate) workers: Option<u32>,
    /// Time to serve one request. Default: the API host's.
    pub(crate) service_time: Option<Spread>,
}

/// The host that sends blobs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BlobsFile {
    /// Whether the API host redirects to it; else the API host sends the blobs itself. Default: true.
    pub(crate) redirect: Option<bool>,
    /// Token bucket for all its requests. Default: no limit.
    pub(crate) requests: Option<RequestsFile>,
    /// Most connections at once. Default: no cap.
    pub(crate) connections: Option<ConnectionsFile>,
    /// Requests served at once, without their bytes. Default: no cap.
    pub(crate) workers: Option<u32>,
    /// Time from a request to the first byte. Default: 0 s.
    pub(crate) service_time: Option<Spread>,
    /// How egress falls when too many blobs are sent at once. Default: it does not.
    pub(crate) overload: Option<OverloadFile>,
}

/// Egress falls to `connections` / n of itself when n blobs are sent at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OverloadFile {
    /// Blobs sent at once up to which nothing is lost; at least 1.
    pub(crate) connections: u32,
    /// Least share of the egress that is left, above 0%.
    pub(crate) floor: Percent,
}

/// What TCP makes of round trip and loss.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TcpFile {
    /// The receiver's window, which bounds a connection to window / round trip. Default: no bound.
    pub(crate) window: Option<Size>,
    /// Bytes of a segment. Default: 1460 B.
    pub(crate) segment: Option<Size>,
    /// Whether a transfer begins with ten segments a round trip and doubles. Default: false.
    pub(crate) slow_start: Option<bool>,
}

/// A quota of pulls.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PullQuotaFile {
    /// At least 1.
    pub(crate) pulls: u32,
    /// In any span of this length.
    pub(crate) per: Duration,
    /// Who shares it. Default: account.
    pub(crate) scope: Option<QuotaScopeFile>,
}

/// Who shares a quota of pulls.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum QuotaScopeFile {
    /// The whole fleet.
    Account,
    /// The nodes of a cluster.
    Address,
}

/// A span in which the registry is out of order: either `down: true`, or what is left of egress and requests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WindowFile {
    /// When it begins, from the start of the rollout.
    pub(crate) from: Duration,
    /// How long it lasts.
    #[serde(rename = "for")]
    pub(crate) span: Duration,
    /// Nothing is answered and nothing is sent. Default: false.
    #[serde(default)]
    pub(crate) down: bool,
    /// What is left of the egress; may be 0%. Default: 100%.
    pub(crate) egress: Option<Percent>,
    /// What is left of the rates of all buckets; serving a request takes as much longer. Above 0%. Default: 100%.
    pub(crate) requests: Option<Percent>,
}
