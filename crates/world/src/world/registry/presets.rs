//! Published limits of known registries, and one measured server.
//!
//! A preset sets what somebody published and leaves the rest at the defaults. Quotas are counted by the registries
//! over seconds or minutes; here each is a bucket that holds as much as comes in the published unit of time, which is
//! a guess wherever the counting is not published. Egress is a guess where none is published: 100 Gbit/s, so that
//! other links bind.
//!
//! Left out: limits on writes, on storage and on months, and Docker Hub's separate limit on abuse (it has no number).

use crate::world::calibration;
use crate::world::quantity::DurationModel;
use crate::world::registry::spec::{
    BlobHostSpec, HostSpec, OverLimit, PullQuota, QuotaScope, RegistryPreset, RegistrySpec,
    RequestLimit,
};
use fleetsim_units::{BytesPerSec, PerSecond, SimDuration};

impl RegistryPreset {
    /// Its settings.
    #[must_use]
    pub fn spec(self) -> RegistrySpec {
        RegistrySpec {
            preset: Some(self),
            ..self.limits()
        }
    }

    fn limits(self) -> RegistrySpec {
        match self {
            // Stated as minimum estimates; a pull counts one read for each layer and one for the manifest. Source:
            // MicrosoftDocs/azure-docs `includes/container-registry-limits.md`, 2019; today's page prints none.
            Self::AcrBasic => acr(1_000, 30.0),
            Self::AcrStandard => acr(3_000, 60.0),
            Self::AcrPremium => acr(10_000, 100.0),
            // BatchGetImage, GetDownloadUrlForLayer and GetAuthorizationToken per account and region, all adjustable.
            // Source: exports of the AWS service quotas; one AWS page still prints 20/s for tokens. The blobs are on
            // S3.
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
            // 60 000 requests a minute per region and project; each request of a pull counts. Source:
            // cloud.google.com/artifact-registry/quotas.
            Self::ArtifactRegistry => {
                let mut spec = plain();
                spec.api.request_limit = Some(per_minute(60_000));
                spec
            }
            // 100 and 200 pulls in a rolling window of six hours. Source: docker/docs up to 2024 (pull request 20774),
            // and updatecli's documentation, which found the same on Docker's page in July 2026. In between 10 and 100
            // an hour were announced (docker/docs pull request 22134).
            Self::DockerHubAnonymous => docker_hub(100, QuotaScope::Address),
            Self::DockerHubSignedIn => docker_hub(200, QuotaScope::Account),
            // distribution docs, `storage-drivers/s3.md`: blobs are redirected unless `redirect.disable` is set.
            Self::DistributionS3 => RegistrySpec {
                blobs: s3(),
                ..plain()
            },
            // goharbor/harbor#12540, Harbor 2.1: 1 000 pulls of a 10 MiB image, 500 at a time, took 151.1 s each in
            // the median (p95 162.1 s), which is 3.3 pulls a second. That its processors were the limit, that the
            // image had one layer, and the split into four workers are guesses: 4 / (6 requests · 0.2 s) = 3.3 a
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

/// The defaults, with an egress that does not bind.
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

fn docker_hub(pulls: u32, scope: QuotaScope) -> RegistrySpec {
    RegistrySpec {
        pull_quota: Some(PullQuota {
            pulls,
            per: SimDuration::from_hours(6),
            scope,
        }),
        ..plain()
    }
}

/// 5 500 GETs a second for each prefix, 503 above. Source: AWS's guidance for S3. That an image's blobs are under one
/// prefix is a guess; S3 splits prefixes on its own within minutes, which is left out.
fn s3() -> BlobHostSpec {
    let mut blobs = BlobHostSpec::default();
    blobs.host.request_limit = Some(RequestLimit {
        answer: OverLimit::Unavailable,
        ..per_second(5_500)
    });
    blobs
}
