//! Settings that are not constants of the model, because users choose or know them, or because a product fixes them.
//!
//! A path that ends in `.**` stands for all settings below it.

/// Settings that are not varied, all for the same reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserSetting {
    /// Paths of the settings in an experiment.
    pub(super) paths: &'static [&'static str],
    /// The reason why the settings are not varied.
    pub(super) reason: &'static str,
}

/// All settings with numbers that are not constants.
pub(super) const CHOICES: &[UserSetting] = &[
    UserSetting {
        paths: &[
            "seed",
            "replicates",
            "horizon",
            "allowLeftBehind",
            "precision.**",
            "uncertainty.**",
            "plan.**",
            "strategies.*.external.timeout",
        ],
        reason: "the study itself: its question and its runs",
    },
    UserSetting {
        paths: &["clusters", "fleet[*].clusters", "regions[*].bandwidth"],
        reason: "the user's fleet, which is known or can be counted",
    },
    UserSetting {
        paths: &[
            "registry.egress",
            "registry.burst.**",
            "registry.otherLoad.**",
            "registry.requests.**",
            "registry.connections.**",
            "registry.workers",
            "registry.token.**",
            "registry.blobs.requests.**",
            "registry.blobs.connections.**",
            "registry.blobs.workers",
            "registry.blobs.serviceTime",
            "registry.blobs.overload.**",
            "registry.manifestRequests.**",
            "registry.blobRequests.**",
            "registry.pullQuota.**",
            "registry.retryAfter",
            "registry.windows[*].**",
        ],
        reason: "the user's registry: its link, its limits and its outages are the question or are known. The token \
                 service takes the registry's service time, and the blob host none, unless the experiment says so",
    },
    UserSetting {
        paths: &[
            "registry.tcp.handshakeRoundTrips",
            "registry.tcp.retransmission",
            "registry.tcp.segment",
            "registry.tcp.window",
        ],
        reason: "TCP and TLS as their standards have them; the window is the operating system's setting",
    },
    UserSetting {
        paths: &[
            "distribution.cache.perConnection",
            "distribution.cache.pullBandwidth",
            "distribution.cache.ttl",
            "distribution.cache.upstreamConnections",
            "distribution.cells.**",
            "distribution.spegel.timeout",
            "distribution.kraken.seeds",
            "distribution.kraken.sourceRate",
            "distribution.kraken.seedOut",
            "distribution.kraken.peerOut",
            "distribution.kraken.peerIn",
            "distribution.kraken.piece",
            "distribution.kraken.connections",
            "distribution.lazy.prefetch",
            "distribution.lazy.parallelReads",
            "distribution.lazy.prepared",
            "distribution.prePull.clusters",
            "distribution.prePull.every",
            "distribution.prePull.releaseAfter",
            "mirrors[*].perConnection",
        ],
        reason: "configuration of the distribution method, with its product's documented defaults",
    },
    UserSetting {
        paths: &[
            "fleet[*].autoscaling.minNodes",
            "fleet[*].autoscaling.maxNodes",
            "fleet[*].autoscaling.podsPerNode",
            "fleet[*].autoscaling.creation.**",
            "node.disk.size",
            "node.disk.unusedImages",
        ],
        reason: "the user's nodes: how many there may be, what fits on one, and its disk",
    },
    UserSetting {
        paths: &[
            "node.disk.collection.**",
            "pods.creation.**",
            "pods.scheduling.**",
            "node.maxParallelImagePulls",
            "node.registryPullQPS",
            "node.registryBurst",
            "node.imageBackoff.**",
            "node.crashBackoff.**",
            "node.errorRequeue",
            "node.syncFrequency",
            "node.pullDeadline",
            "node.downloadSlots",
            "node.retry429.**",
            "node.retry5xx",
            "node.retryTransport.**",
            "node.dialTimeout",
            "node.noProgressTimeout",
            "node.collectAfter",
            "node.unpackSlots",
        ],
        reason: "fixed in the source of the kubelet or the container runtime, or configured by the user with a \
                 documented default",
    },
    UserSetting {
        paths: &["release.images[*].manifest.layers[*].**"],
        reason: "the user's images, which manifests state to the byte",
    },
    UserSetting {
        paths: &[
            "release.workloads[*].replicas",
            "release.workloads[*].maxUnavailable",
            "release.workloads[*].maxSurge",
            "release.workloads[*].progressDeadline",
            "release.workloads[*].minReady",
            "release.workloads[*].startTimeout",
            "release.workloads[*].readiness.initialDelay",
            "release.workloads[*].readiness.successThreshold",
        ],
        reason: "the user's workloads, as their manifests say",
    },
    UserSetting {
        paths: &[
            "faults.offline.**",
            "faults.outages.downlink",
            "faults.regional[*].**",
            "faults.slow.**",
            "faults.notFound",
            "releases[*].faults.notFound",
            "applications.*.releases[*].faults.notFound",
            "faults.apply[*].**",
            "faults.defect.share",
            "faults.defect.detectedAfter",
        ],
        reason: "the faults that the experiment asks about",
    },
    UserSetting {
        paths: &["faults.nodeLoss.eviction"],
        reason: "the toleration that the API server's admission adds by default",
    },
    UserSetting {
        paths: &["agent.readiness.**"],
        reason: "fixed in the products' agents, or a flag with a documented default",
    },
    UserSetting {
        paths: &[
            "releases[*].at",
            "applications.*.releases[*].at",
            "applications.*.releases.every",
            "applications.*.releases.from",
        ],
        reason: "the times at which people release, which are the question",
    },
    UserSetting {
        paths: &["agent.workers"],
        reason: "a flag of Fleet with a documented default, or fixed in KubeFleet's agent",
    },
    UserSetting {
        paths: &["controller.clientQps", "controller.clientBurst"],
        reason: "flags of the products' controllers, with documented defaults",
    },
    UserSetting {
        paths: &[
            "strategies.*.argoCd.applicationController.statusProcessors",
            "strategies.*.argoCd.applicationController.operationProcessors",
            "strategies.*.argoCd.applicationController.kubectlParallelism",
            "strategies.*.argoCd.applicationController.clientQps",
            "strategies.*.argoCd.applicationController.clientBurst",
            "strategies.*.argoCd.applicationController.cpu",
            "strategies.*.argoCd.applicationController.shards",
            "strategies.*.argoCd.applicationController.appResync",
            "strategies.*.argoCd.applicationController.appResyncJitter",
            "strategies.*.argoCd.applicationController.tcpTimeout",
            "strategies.*.argoCd.applicationController.syncTimeout",
            "strategies.*.argoCd.options.**",
            "strategies.*.argoCd.concurrentApplicationUpdates",
        ],
        reason: "flags of Argo CD's controllers, with documented defaults",
    },
    UserSetting {
        paths: &[
            "strategies.*.rancherFleet.**",
            "strategies.*.argoCd.strategy.**",
            "strategies.*.argoCdProposal.**",
            "strategies.*.kubeFleetStaged.stages[*].**",
            "strategies.*.kubeFleetStaged.resourceSnapshots.**",
            "strategies.*.kubeFleetRolling.maxSurge",
            "strategies.*.kubeFleetRolling.maxUnavailable",
            "strategies.*.kubeFleetRolling.unavailablePeriodSeconds",
            "strategies.*.cloudFoundry.maxInFlight",
            "strategies.*.cloudFoundry.canarySteps",
            "strategies.*.cloudFoundry.quota.**",
            "strategies.*.cloudFoundry.supersedes.**",
            "strategies.*.batches.**",
            "strategies.*.doubling.**",
        ],
        reason: "the strategies to compare",
    },
    UserSetting {
        paths: &[
            "changes[*].after",
            "operator[*].within",
            "strategies.*.external.approvals.**",
            "strategies.*.kubeFleetStaged.approvals.**",
            "strategies.*.kubeFleetStaged.runs[*].**",
            "strategies.*.cloudFoundry.continueAfter.**",
            "strategies.*.cloudFoundry.cancelAfter.**",
        ],
        reason: "response times of the user's own people",
    },
];
