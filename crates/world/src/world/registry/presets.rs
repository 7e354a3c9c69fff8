//! Published limits of known registries, and one measured server.
//!
//! A preset sets published values and leaves the rest at the defaults. Registries count quotas over seconds or
//! minutes; here each quota is a bucket with the size of one published period, which is a guess if the counting method
//! is not published. If no egress is published, the preset guesses 100 Gbit/s, so that other links are the bottleneck.
//!
//! Left out: limits on writes and storage, monthly limits, and Docker Hub's separate limit on abuse (it has no
//! number).

use crate::world::calibration;
use crate::world::quantity::{DurationModel, RateModel};
use crate::world::registry::spec::{
    BlobHostSpec, CdnSpec, ClientScope, HostSpec, OverLimit, PullQuota, RegistryPreset,
    RegistrySpec, RequestLimit,
};
use fleetsim_units::{BytesPerSec, PerSecond, SimDuration};

impl RegistryPreset {
    /// Returns the settings of the preset.
    #[must_use]
    pub fn spec(self) -> RegistrySpec {
        RegistrySpec {
            preset: Some(self),
            ..self.limits()
        }
    }

    fn limits(self) -> RegistrySpec {
        match self {
            // The limits are stated as minimum estimates; a pull counts one read for each layer and one for the
            // manifest. Source: MicrosoftDocs/azure-docs `includes/container-registry-limits.md`, 2019; today's page
            // has no such numbers.
            Self::AcrBasic => acr(1_000, 30.0),
            Self::AcrStandard => acr(3_000, 60.0),
            Self::AcrPremium => acr(10_000, 100.0),
            // The limits of BatchGetImage, GetDownloadUrlForLayer and GetAuthorizationToken are per account and
            // region, and adjustable. Source: exports of the AWS service quotas; one AWS page still has 20/s for
            // tokens. The blobs are on S3.
            Self::Ecr => RegistrySpec {
                manifest_limit: Some(per_second(2_000)),
                blob_limit: Some(per_second(3_000)),
                token: HostSpec {
                    request_limit: Some(per_second(500)),
                    ..HostSpec::unlimited(calibration::SERVICE_TIME)
                },
                blobs: s3(),
                ..plain()
            },
            // The limit is 60,000 requests per minute, per region and project; each request of a pull counts. Source:
            // cloud.google.com/artifact-registry/quotas.
            Self::ArtifactRegistry => {
                let mut spec = plain();
                spec.api.request_limit = Some(per_minute(60_000));
                spec
            }
            // The limits are 100 and 200 pulls in a rolling window of six hours. Source: docker/docs up to 2024 (pull
            // request 20774), and updatecli's documentation, which found the same numbers on Docker's page in July
            // 2026. In between, 10 and 100 per hour were announced (docker/docs pull request 22134).
            Self::DockerHubAnonymous => docker_hub(100, ClientScope::Address),
            Self::DockerHubSignedIn => docker_hub(200, ClientScope::Account),
            // No limit is published (github/docs#24504), so all of it is measured. Pulls of programs by 2 to 256 nodes
            // of three clouds (converged-computing/performance-study @6f3df68): one layer arrives at 1.6 to 2.1 GB/s,
            // which varies from day to day with a sigma of 0.13 to 0.3; all layers together at 3.9 to 5.3 GB/s. Pulls
            // by ten nodes (spegel-org/benchmark-results @645a85c): a connection has 46 MB/s until the first download
            // of a layer is complete, and about 500 MB/s afterwards; a request takes 120 to 140 ms with its round
            // trip. From GKE it takes at most 40 ms (container-chonks @fa06749).
            Self::Ghcr => RegistrySpec {
                cdn: Some(CdnSpec::default()),
                per_blob: Some(RateModel::LogNormal {
                    median: BytesPerSec::new(1.7e9),
                    sigma: 0.3,
                }),
                ..RegistrySpec::unlimited(
                    BytesPerSec::new(5e9),
                    DurationModel::LogNormal {
                        median: SimDuration::from_millis(120),
                        sigma: 0.64,
                    },
                )
            },
            // "Tens of requests per second from the same IP address" and "a few requests per second for each address
            // and endpoint, with a burst" (access.redhat.com/articles/5531191 and solutions/6218921). Guesses: 20 per
            // second, a burst of 100, and blobs on S3.
            Self::Quay => {
                let mut spec = plain();
                spec.api.request_limit = Some(RequestLimit {
                    scope: ClientScope::Address,
                    ..RequestLimit::new(PerSecond::new(20.0), 100)
                });
                spec.blobs = s3();
                spec
            }
            // According to the documentation of distribution, `storage-drivers/s3.md`, blobs are redirected unless
            // `redirect.disable` is set.
            Self::DistributionS3 => RegistrySpec {
                blobs: s3(),
                ..plain()
            },
            // goharbor/harbor#12540, Harbor 2.1: the median duration of 1,000 pulls of a 10 MiB image, 500
            // concurrently, was 151.1 s (p95 162.1 s), which is 3.3 pulls per second. Guesses: Harbor's processors
            // were the limit, the image had one layer, and there were four workers: 4 / (6 requests · 0.2 s) = 3.3 per
            // second.
            Self::HarborSmall => {
                let mut spec = plain();
                spec.egress = BytesPerSec::from_gbit(1.0);
                spec.blobs.redirect = false;
                spec.api.workers = Some(4);
                spec.api.service_time = DurationModel::Constant(SimDuration::from_millis(200));
                spec.token.service_time = spec.api.service_time.clone();
                spec
            }
        }
    }
}

/// Returns the defaults, with an egress that is not a bottleneck.
fn plain() -> RegistrySpec {
    RegistrySpec {
        egress: BytesPerSec::from_gbit(100.0),
        ..RegistrySpec::default()
    }
}

fn per_second(requests: u32) -> RequestLimit {
    RequestLimit::new(PerSecond::new(f64::from(requests)), requests)
}

fn per_minute(requests: u32) -> RequestLimit {
    RequestLimit::new(PerSecond::new(f64::from(requests) / 60.0), requests)
}

fn acr(reads_per_minute: u32, megabytes: f64) -> RegistrySpec {
    let mut spec = plain();
    spec.egress = BytesPerSec::new(megabytes * 1e6);
    spec.api.request_limit = Some(per_minute(reads_per_minute));
    spec
}

fn docker_hub(pulls: u32, scope: ClientScope) -> RegistrySpec {
    RegistrySpec {
        pull_quota: Some(PullQuota {
            pulls,
            per: SimDuration::from_hours(6),
            scope,
        }),
        ..plain()
    }
}

/// Returns S3's limits: 5,500 GETs per second for each prefix, 503 above. Source: AWS's guidance for S3. It is a guess
/// that an image's blobs have the same prefix; S3 splits busy prefixes automatically within minutes, which is left
/// out.
fn s3() -> BlobHostSpec {
    let mut blobs = BlobHostSpec::default();
    blobs.host.request_limit = Some(RequestLimit {
        answer: OverLimit::Unavailable,
        ..per_second(5_500)
    });
    blobs
}
