//! The registry: a preset, and what is written over it.

use super::super::file::ExperimentFile;
use super::super::file_registry::{
    BucketFile, ConnectionsFile, ExcessFile, OverloadFile, PullQuotaFile, QuotaScopeFile, RegistryFile,
    RegistryPresetFile, RequestsFile, TcpFile, WindowFile,
};
use super::super::quantity::PerTime;
use super::Checker;
use super::parts::mb;
use crate::document::path::Path;
use crate::units::{Bytes, BytesPerSec, Share, SimTime};
use crate::world::calibration as default;
use crate::world::{
    ConnectionLimit, Excess, HostSpec, NamedRegistry, OverLimit, OverloadSpec, PullQuota, QuotaScope, RegistryPreset,
    RegistrySpec, RequestLimit, TcpSpec, Trouble, WindowSpec,
};

/// Segments in the first round trip of a transfer. Source: RFC 6928.
const INITIAL_SEGMENTS: u32 = 10;

impl Checker<'_> {
    /// The registries beside the first.
    pub(super) fn registries(&mut self, file: &ExperimentFile) -> Vec<NamedRegistry> {
        let list = Path::of("registries");
        let written = file.registries.as_deref().unwrap_or_default();
        self.unique(&list, written.iter().enumerate().map(|(index, registry)| (index, registry.name.as_str())));
        let mut registries = Vec::new();
        for (index, named) in written.iter().enumerate() {
            let spec = self.registry(&list.index(index).key("registry"), named.registry.as_ref());
            registries.push(NamedRegistry { name: named.name.clone(), spec });
        }
        registries
    }

    pub(super) fn registry(&mut self, path: &Path, written: Option<&RegistryFile>) -> RegistrySpec {
        let written = written.cloned().unwrap_or_default();
        let mut registry = written.preset.map_or_else(plain, |preset| known(preset).spec());
        registry.egress = self.rate(&path.key("egress"), written.egress, registry.egress);
        if let Some(cdn) = written.cdn {
            registry.cdn = Some(self.cdn(&path.key("cdn"), cdn));
            // It says itself what a connection carries.
            registry.per_connection = None;
        }
        if let Some(limit) = written.per_connection {
            registry.per_connection = limit.0;
            if limit.0.is_some_and(|rate| rate.get() <= 0.0) {
                let help = "write a rate above 0, or `unlimited`";
                self.report(&path.key("perConnection"), "nothing ever arrives over a connection of 0", help);
            }
        }
        if let Some(tcp) = &written.tcp {
            registry.tcp = self.tcp(&path.key("tcp"), tcp);
        }
        if written.service_time.is_some() {
            let time = self.spread(&path.key("serviceTime"), written.service_time.as_ref(), default::SERVICE_TIME);
            registry.token.service_time = time.clone();
            registry.api.service_time = time;
        }
        self.host(path, &mut registry.api, written.requests.as_ref(), written.connections.as_ref(), written.workers);
        if let Some(bucket) = &written.manifest_requests {
            registry.manifest_limit = Some(self.bucket(&path.key("manifestRequests"), bucket));
        }
        if let Some(bucket) = &written.blob_requests {
            registry.blob_limit = Some(self.bucket(&path.key("blobRequests"), bucket));
        }
        if let Some(token) = &written.token {
            let path = path.key("token");
            self.host(&path, &mut registry.token, token.requests.as_ref(), token.connections.as_ref(), token.workers);
            if token.service_time.is_some() {
                let path = path.key("serviceTime");
                registry.token.service_time = self.spread(&path, token.service_time.as_ref(), default::SERVICE_TIME);
            }
        }
        if let Some(blobs) = &written.blobs {
            let path = path.key("blobs");
            let host = &mut registry.blobs;
            self.host(&path, host, blobs.requests.as_ref(), blobs.connections.as_ref(), blobs.workers);
            if blobs.service_time.is_some() {
                let path = path.key("serviceTime");
                host.service_time = self.spread(&path, blobs.service_time.as_ref(), default::SERVICE_TIME);
            }
            registry.redirect = blobs.redirect.unwrap_or(registry.redirect);
            let has_host = blobs.requests.is_some() || blobs.connections.is_some() || blobs.workers.is_some();
            if !registry.redirect && has_host {
                let message = "without a redirect the API host sends the blobs, and this host is never asked";
                self.report(&path.key("redirect"), message, "write the limits beside `blobs`, or `redirect: true`");
            }
            if let Some(overload) = &blobs.overload {
                registry.overload = Some(self.overload(&path.key("overload"), overload));
            }
        }
        if let Some(quota) = &written.pull_quota {
            registry.pull_quota = Some(self.pull_quota(&path.key("pullQuota"), quota));
        }
        registry.retry_after = written.retry_after.map(|span| span.0);
        registry.windows = self.windows(&path.key("windows"), &written.windows);
        registry
    }

    fn host(
        &mut self,
        path: &Path,
        host: &mut HostSpec,
        requests: Option<&RequestsFile>,
        connections: Option<&ConnectionsFile>,
        workers: Option<u32>,
    ) {
        if let Some(requests) = requests {
            let path = path.key("requests");
            host.request_limit = Some(self.limit(&path, requests.rate, requests.burst));
            host.over_limit = match requests.answer {
                None | Some(429) => OverLimit::TooMany,
                Some(503) => OverLimit::Unavailable,
                Some(other) => {
                    self.report(&path.key("answer"), format!("no registry says {other} here"), "write 429 or 503");
                    OverLimit::TooMany
                }
            };
        }
        if let Some(connections) = connections {
            let max = self.count(&path.key("connections").key("max"), Some(connections.max), 1);
            let excess = match connections.excess {
                Some(ExcessFile::Queue) => Excess::Queue,
                Some(ExcessFile::Refuse) | None => Excess::Refuse,
            };
            host.connections = Some(ConnectionLimit { max, excess });
        }
        if workers.is_some() {
            host.workers = Some(self.count(&path.key("workers"), workers, 1));
        }
    }

    fn bucket(&mut self, path: &Path, written: &BucketFile) -> RequestLimit {
        self.limit(path, written.rate, written.burst)
    }

    fn limit(&mut self, path: &Path, rate: PerTime, burst: Option<u32>) -> RequestLimit {
        let rate = rate.0;
        if rate.get() <= 0.0 {
            let field = Path(path.0.last().cloned().into_iter().collect());
            let help = format!("write a rate above 0, or leave `{field}` out for no limit");
            self.report(&path.key("rate"), "no request would ever be answered", &help);
        }
        let second = (rate.get().ceil() as u32).max(1);
        RequestLimit { rate, burst: self.count(&path.key("burst"), burst, second) }
    }

    fn tcp(&mut self, path: &Path, written: &TcpFile) -> TcpSpec {
        for (field, size) in [("window", written.window), ("segment", written.segment)] {
            if size.is_some_and(|size| size.0 == Bytes::ZERO) {
                self.report(&path.key(field), "nothing is ever sent with 0 B", "write an amount above 0");
            }
        }
        TcpSpec {
            window: written.window.map(|size| size.0),
            segment: written.segment.map_or(TcpSpec::OFF.segment, |size| size.0),
            initial_segments: written.slow_start.unwrap_or(false).then_some(INITIAL_SEGMENTS),
        }
    }

    fn overload(&mut self, path: &Path, written: &OverloadFile) -> OverloadSpec {
        if written.floor.0.get() <= 0.0 {
            self.report(&path.key("floor"), "nothing would be left of the egress", "write a share above 0%");
        }
        let connections = self.count(&path.key("connections"), Some(written.connections), 1);
        OverloadSpec { connections, floor: written.floor.0 }
    }

    fn pull_quota(&mut self, path: &Path, written: &PullQuotaFile) -> PullQuota {
        PullQuota {
            pulls: self.count(&path.key("pulls"), Some(written.pulls), 1),
            per: self.positive(&path.key("per"), written.per.0),
            scope: match written.scope {
                Some(QuotaScopeFile::Address) => QuotaScope::Address,
                Some(QuotaScopeFile::Account) | None => QuotaScope::Account,
            },
        }
    }

    /// The windows in the order of time.
    fn windows(&mut self, list: &Path, written: &[WindowFile]) -> Vec<WindowSpec> {
        let mut windows: Vec<(usize, WindowSpec)> = Vec::new();
        for (index, window) in written.iter().enumerate() {
            let path = list.index(index);
            let span = self.positive(&path.key("for"), window.span.0);
            let from = SimTime::ZERO + window.from.0;
            let trouble = self.trouble(&path, window);
            windows.push((index, WindowSpec { from, to: from + span, trouble }));
        }
        windows.sort_by_key(|(_, window)| window.from);
        for pair in windows.windows(2) {
            if pair[1].1.from < pair[0].1.to {
                let (index, earlier) = (pair[1].0, pair[0].0);
                let message = format!("it begins before `{list}[{earlier}]` is over");
                self.report(&list.index(index).key("from"), message, "let windows follow each other");
            }
        }
        windows.into_iter().map(|(_, window)| window).collect()
    }

    fn trouble(&mut self, path: &Path, window: &WindowFile) -> Trouble {
        let share = |share: Option<super::super::quantity::Percent>| share.map_or(Share::ALL, |share| share.0);
        match (window.down, window.egress, window.requests) {
            (true, None, None) => return Trouble::Down,
            (true, ..) => {
                let help = "write `down: true` alone, or what is left of `egress` and `requests`";
                self.report(&path.key("down"), "a registry that is down sends and answers nothing", help);
            }
            (false, None, None) => {
                let help = "write `down: true`, `egress: 10%` or `requests: 20%`";
                self.report(path, "nothing is out of order in this window", help);
            }
            (false, ..) => {}
        }
        if window.requests.is_some_and(|share| share.0.get() <= 0.0) {
            self.report(&path.key("requests"), "nothing would be answered", "write a share above 0%, or `down: true`");
        }
        Trouble::Brownout { egress: share(window.egress), requests: share(window.requests) }
    }
}

/// The defaults.
fn plain() -> RegistrySpec {
    let egress = BytesPerSec::from_gbit(default::REGISTRY_EGRESS_GBIT);
    RegistrySpec {
        per_connection: Some(mb(default::CONNECTION_MB)),
        ..RegistrySpec::unlimited(egress, default::SERVICE_TIME)
    }
}

const fn known(preset: RegistryPresetFile) -> RegistryPreset {
    match preset {
        RegistryPresetFile::AcrBasic => RegistryPreset::AcrBasic,
        RegistryPresetFile::AcrStandard => RegistryPreset::AcrStandard,
        RegistryPresetFile::AcrPremium => RegistryPreset::AcrPremium,
        RegistryPresetFile::Ecr => RegistryPreset::Ecr,
        RegistryPresetFile::ArtifactRegistry => RegistryPreset::ArtifactRegistry,
        RegistryPresetFile::DockerHubAnonymous => RegistryPreset::DockerHubAnonymous,
        RegistryPresetFile::DockerHubSignedIn => RegistryPreset::DockerHubSignedIn,
        RegistryPresetFile::DistributionS3 => RegistryPreset::DistributionS3,
        RegistryPresetFile::HarborSmall => RegistryPreset::HarborSmall,
    }
}
