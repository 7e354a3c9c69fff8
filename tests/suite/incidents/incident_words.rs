//! The words of the incidents' page: what a report states, what is simulated, and what would have avoided it.
//!
//! In these texts, `{measure form setting}` is a number of the results: a column of `runs.csv`, its form, and the
//! setting's place in the list. `±` adds the interval over the draws.

/// How a simulated value relates to a report, as in docs/validation.md.
pub(super) enum IncidentLabel {
    /// Nothing was set on the value.
    Predicted,
    /// The number of values that were set on the report.
    Calibrated(u32),
    /// The value is beyond the tolerance, or cannot be simulated. The text is the reason, in one sentence.
    Missed(&'static str),
}

/// What a report states about the simulated measure.
pub(super) enum StatedValue {
    /// A number, in the measure's unit.
    Figure(f64),
    /// No number, but an event that happens only if the measure exceeds this value.
    MoreThan(f64),
    /// Nothing that a measure has.
    Nothing,
}

/// A variant of an incident's experiment, in words.
pub(super) struct IncidentSetting {
    pub(super) variant: &'static str,
    pub(super) words: &'static str,
}

/// A column in the table of settings.
pub(super) struct SettingColumn {
    pub(super) header: &'static str,
    pub(super) measure: &'static str,
    pub(super) form: &'static str,
}

/// An incident with its experiment.
pub(super) struct Incident {
    /// The folder below experiments/12-incidents.
    pub(super) folder: &'static str,
    /// The heading of its section.
    pub(super) heading: &'static str,
    /// What the sources state, with links.
    pub(super) reported: &'static str,
    /// The same for a table cell.
    pub(super) reported_in_short: &'static str,
    pub(super) stated: StatedValue,
    /// The measure that the report is compared with.
    pub(super) measure: &'static str,
    /// The place of the setting that the report describes.
    pub(super) compared_setting: usize,
    pub(super) simulated: &'static str,
    pub(super) simulated_in_short: &'static str,
    pub(super) label: IncidentLabel,
    /// The place of the setting that would have avoided it.
    pub(super) remedy_setting: usize,
    /// What would have avoided it, for a table cell.
    pub(super) remedy: &'static str,
    /// What that costs, for a table cell.
    pub(super) costs: &'static str,
    pub(super) settings: &'static [IncidentSetting],
    pub(super) columns: &'static [SettingColumn],
}

impl Incident {
    /// The variant that the report describes.
    pub(super) fn variant(&self) -> &'static str {
        self.settings[self.compared_setting].variant
    }

    /// The variant that would have avoided it.
    pub(super) fn remedy_variant(&self) -> &'static str {
        self.settings[self.remedy_setting].variant
    }
}

const READY: SettingColumn = SettingColumn {
    header: "all ready",
    measure: "reachable_ready_s",
    form: "time",
};
const MEDIAN_PULL: SettingColumn = SettingColumn {
    header: "median pull",
    measure: "pull_p50_s",
    form: "time",
};
const LATE_PULL: SettingColumn = SettingColumn {
    header: "95 % of pulls within",
    measure: "pull_p95_s",
    form: "time",
};
const PEAK: SettingColumn = SettingColumn {
    header: "peak of pulls",
    measure: "peak_pulls",
    form: "count",
};
const EGRESS: SettingColumn = SettingColumn {
    header: "from the registry",
    measure: "egress_bytes",
    form: "bytes",
};
const FAILED: SettingColumn = SettingColumn {
    header: "failed pulls",
    measure: "failed_pulls",
    form: "count",
};
const TOO_MANY: SettingColumn = SettingColumn {
    header: "answers 429",
    measure: "responses_429",
    form: "count",
};

pub(super) const INCIDENTS: &[Incident] = &[
    Incident {
        folder: "01-serial-pulls",
        heading: "1. One image of 17 GB blocks all pods of a node",
        reported: "the pull of about 17 GB often takes 30 minutes on a fresh node, and all other images of the node \
                   wait for it ([OpenAI, 2018](https://openai.com/index/scaling-kubernetes-to-2500-nodes/); the same \
                   cause in [kubernetes#109956](https://github.com/kubernetes/kubernetes/issues/109956) and \
                   [neco#2294](https://github.com/cybozu-go/neco/issues/2294)).",
        reported_in_short: "17 GB take 30 min, all other images wait",
        stated: StatedValue::Figure(1800.0),
        measure: "pull_p95_s",
        compared_setting: 0,
        simulated: "the large pull takes {pull_p95_s time 0 ±}. The median image of the node, which has 0.02 to \
                    0.2 GB, arrives after {pull_p50_s time 0}. With parallel pulls alone it arrives after \
                    {pull_p50_s time 2}, and the large pull takes {pull_p95_s time 2}.",
        simulated_in_short: "{pull_p95_s time 0 ±}; median image {pull_p50_s time 0}",
        label: IncidentLabel::Calibrated(1),
        remedy_setting: 3,
        remedy: "parallel pulls and a fast disk: median image after {pull_p50_s time 3}",
        costs: "{peak_pulls count 3} concurrent pulls on ten nodes instead of {peak_pulls count 0}",
        settings: &[
            IncidentSetting {
                variant: "fresh serializeImagePulls=true; rate=14 MB/s",
                words: "serial pulls, network disk",
            },
            IncidentSetting {
                variant: "fresh serializeImagePulls=true; rate=200 MB/s",
                words: "serial pulls, SSD",
            },
            IncidentSetting {
                variant: "fresh serializeImagePulls=false; rate=14 MB/s",
                words: "parallel pulls, network disk",
            },
            IncidentSetting {
                variant: "fresh serializeImagePulls=false; rate=200 MB/s",
                words: "parallel pulls, SSD",
            },
        ],
        columns: &[MEDIAN_PULL, LATE_PULL, PEAK],
    },
    Incident {
        folder: "02-hub-quota",
        heading: "2. A pull quota is used up in the morning",
        reported: "30 nodes, 15 services, 450 pulls with one free account of Docker Hub: all further pods are in \
                   back-off until the window of 6 hours has passed \
                   ([exercise](https://coraxity.com/scenario-tests/cmncke03i08tkobqe1ljp8q6h), \
                   [quota](https://docs.docker.com/docker-hub/usage/pulls/); without numbers in \
                   [mybinder.org-deploy#1786](https://github.com/jupyterhub/mybinder.org-deploy/issues/1786)).",
        reported_in_short: "450 pulls, 200 in 6 h allowed: the rest waits for the next window",
        stated: StatedValue::MoreThan(21_600.0),
        measure: "reachable_ready_s",
        compared_setting: 0,
        simulated: "the last node is ready after {reachable_ready_s time 0 ±}, in the third window. Until then \
                    {failed_pulls count 0} pulls fail.",
        simulated_in_short: "last node after {reachable_ready_s time 0 ±}",
        label: IncidentLabel::Predicted,
        remedy_setting: 1,
        remedy: "a cache for all nodes: {reachable_ready_s time 1}",
        costs: "the cache; {egress_bytes bytes 1} from Docker Hub instead of {egress_bytes bytes 0}",
        settings: &[
            IncidentSetting {
                variant: "rollout pulls=200; distribution=direct",
                words: "free account",
            },
            IncidentSetting {
                variant: "rollout pulls=200; distribution=cache(per=region, coalesce=stream)",
                words: "free account, cache",
            },
            IncidentSetting {
                variant: "rollout pulls=100000; distribution=direct",
                words: "paid account",
            },
            IncidentSetting {
                variant: "rollout pulls=100000; distribution=cache(per=region, coalesce=stream)",
                words: "paid account, cache",
            },
        ],
        columns: &[READY, EGRESS, FAILED],
    },
    Incident {
        folder: "03-acr-basic",
        heading: "3. A rollout against 1,000 requests a minute",
        reported: "a Basic registry of Azure answers 1,000 reads a minute, and 429 beyond \
                   ([tiers](https://learn.microsoft.com/en-us/azure/container-registry/container-registry-skus)); \
                   nobody names a safe number of pulls \
                   ([Q&A 5876144](https://learn.microsoft.com/en-us/answers/questions/5876144/)).",
        reported_in_short: "429 at busy times; space pulls out",
        stated: StatedValue::MoreThan(0.0),
        measure: "responses_429",
        compared_setting: 0,
        simulated: "300 nodes together get {responses_429 count 0 ±} answers 429, {failed_pulls count 0} pulls fail, \
                    and all are ready after {reachable_ready_s time 0}; with a Standard registry after \
                    {reachable_ready_s time 1}. 10 % of the clusters at a time get {responses_429 count 3} answers \
                    429 and need {reachable_ready_s time 3}; with a Standard registry {reachable_ready_s time 4}.",
        simulated_in_short: "{responses_429 count 0 ±} answers 429",
        label: IncidentLabel::Predicted,
        remedy_setting: 3,
        remedy: "10 % at a time: {responses_429 count 3} answers 429",
        costs: "{reachable_ready_s time 3} instead of {reachable_ready_s time 0}",
        settings: &[
            IncidentSetting {
                variant: "at-once preset=acr-basic",
                words: "Basic, all together",
            },
            IncidentSetting {
                variant: "at-once preset=acr-standard",
                words: "Standard, all together",
            },
            IncidentSetting {
                variant: "at-once preset=acr-premium",
                words: "Premium, all together",
            },
            IncidentSetting {
                variant: "ten-percent preset=acr-basic",
                words: "Basic, 10 %",
            },
            IncidentSetting {
                variant: "ten-percent preset=acr-standard",
                words: "Standard, 10 %",
            },
            IncidentSetting {
                variant: "ten-percent preset=acr-premium",
                words: "Premium, 10 %",
            },
        ],
        columns: &[READY, PEAK, TOO_MANY, FAILED],
    },
    Incident {
        folder: "04-cold-cache",
        heading: "4. Fifty clients on a cold cache",
        reported: "about 50 test runs start together, miss the cache, and all hit the registry behind it \
                   ([os-autoinst#23484](https://github.com/os-autoinst/os-autoinst-distri-opensuse/pull/23484); the \
                   rule in [distribution#1334](https://github.com/distribution/distribution/issues/1334) and \
                   [#3428](https://github.com/distribution/distribution/pull/3428)).",
        reported_in_short: "about 50 clients miss together",
        stated: StatedValue::Figure(5e9),
        measure: "upstream_bytes",
        compared_setting: 0,
        simulated: "{upstream_bytes bytes 0} pass the cache for an image of 0.1 GB, which is one copy for each client \
                    and one for the cache.",
        simulated_in_short: "{upstream_bytes bytes 0} for an image of 0.1 GB",
        label: IncidentLabel::Predicted,
        remedy_setting: 2,
        remedy: "one client first: {upstream_bytes bytes 2}; one fetch for all: {upstream_bytes bytes 1}",
        costs: "{reachable_ready_s time 2} instead of {reachable_ready_s time 0}; one fetch: nothing",
        settings: &[
            IncidentSetting {
                variant: "together distribution=cache(per=region, coalesce=ownCopy)",
                words: "all together",
            },
            IncidentSetting {
                variant: "together distribution=cache(per=region, coalesce=stream)",
                words: "all together, one fetch for all",
            },
            IncidentSetting {
                variant: "one-first distribution=cache(per=region, coalesce=ownCopy)",
                words: "one first, the rest after 5 min",
            },
            IncidentSetting {
                variant: "one-first distribution=cache(per=region, coalesce=stream)",
                words: "one first, one fetch for all",
            },
        ],
        columns: &[
            READY,
            SettingColumn {
                header: "upstream",
                measure: "upstream_bytes",
                form: "bytes",
            },
        ],
    },
    Incident {
        folder: "05-nat-bill",
        heading: "5. A NAT that charges by the gigabyte",
        reported: "2,773 TB in July 2026, 3.73 TB an hour, and 124,765 dollars at 0.045 dollars a GB for one of \
                   PyTorch's CI clusters ([ci-infra#1032](https://github.com/pytorch/ci-infra/pull/1032), \
                   [s3-gateway-endpoint.md](https://github.com/pytorch/ci-infra/blob/main/osdc/docs/\
                   s3-gateway-endpoint.md)).",
        reported_in_short: "3.73 TB an hour (2,773 TB in July)",
        // 2,773 TB in 744 hours.
        stated: StatedValue::Figure(3.727e12),
        measure: "egress_bytes",
        compared_setting: 0,
        simulated: "250 new nodes an hour with 16 GB each send {egress_bytes bytes 0} through the NAT.",
        simulated_in_short: "{egress_bytes bytes 0} an hour",
        label: IncidentLabel::Predicted,
        remedy_setting: 1,
        remedy: "a cache behind the NAT: {egress_bytes bytes 1}; peers: {egress_bytes bytes 2}",
        costs: "the cache; {reachable_ready_s time 1} instead of {reachable_ready_s time 0}",
        settings: &[
            IncidentSetting {
                variant: "launches distribution=direct",
                words: "each node through the NAT",
            },
            IncidentSetting {
                variant: "launches distribution=cache(per=cluster, coalesce=stream, egress=25 Gbit/s)",
                words: "cache behind the NAT",
            },
            IncidentSetting {
                variant: "launches distribution=spegel",
                words: "peers (Spegel)",
            },
            IncidentSetting {
                variant: "launches distribution=lazy(background=0 MB/s)",
                words: "lazy loading",
            },
        ],
        columns: &[READY, EGRESS],
    },
    Incident {
        folder: "06-node-exporter",
        heading: "6. A node exporter over 250 nodes",
        reported: "one node at a time, 250 nodes take about 100 minutes, and ten nodes 4 min 30 s; with 10 % at a \
                   time about 10 minutes \
                   ([kube-prometheus#661](https://github.com/prometheus-operator/kube-prometheus/pull/661), \
                   [cluster-monitoring-operator#902]\
                   (https://github.com/openshift/cluster-monitoring-operator/pull/902)).",
        reported_in_short: "100 min one at a time, 10 min with 10 %",
        stated: StatedValue::Figure(6000.0),
        measure: "reachable_ready_s",
        compared_setting: 0,
        simulated: "{reachable_ready_s time 0 ±} one at a time, and {reachable_ready_s time 1 ±} with 10 %.",
        simulated_in_short: "{reachable_ready_s time 0 ±}; 10 %: {reachable_ready_s time 1}",
        label: IncidentLabel::Missed(
            "A pod takes 24 to 27 s there and about 18 s here: the time that a pod takes to stop is unknown and \
             decides most of it. The 10 minutes seem to be a tenth of 100; ten waves of 27 s are 4.5.",
        ),
        remedy_setting: 1,
        remedy: "`maxUnavailable: 10%`: {reachable_ready_s time 1}",
        costs: "25 nodes without metrics at a time, peak of {peak_pulls count 1} pulls",
        settings: &[
            IncidentSetting {
                variant: "update maxUnavailable=1",
                words: "one at a time",
            },
            IncidentSetting {
                variant: "update maxUnavailable=10%",
                words: "10 %",
            },
            IncidentSetting {
                variant: "update maxUnavailable=33%",
                words: "33 %",
            },
        ],
        columns: &[READY, PEAK],
    },
    Incident {
        folder: "07-cut-links",
        heading: "7. Links that are cut in mid-pull",
        reported: "a pull without progress is cancelled after 1 minute \
                   ([containerd#6150](https://github.com/containerd/containerd/pull/6150)), later after 5 \
                   (discussed in [#9347](https://github.com/containerd/containerd/pull/9347)); over cellular links \
                   the download starts over after each disconnect \
                   ([iotedge#1593](https://github.com/Azure/iotedge/issues/1593)).",
        reported_in_short: "after each disconnect the download starts over",
        stated: StatedValue::MoreThan(25e9),
        measure: "egress_bytes",
        compared_setting: 1,
        simulated: "with four cuts of 6 minutes and a time-out of 5, the registry sends {egress_bytes bytes 1 ±} for \
                    20 images of 1 GB.",
        simulated_in_short: "{egress_bytes bytes 1 ±} for 20 GB",
        label: IncidentLabel::Predicted,
        remedy_setting: 2,
        remedy: "a time-out of 10 min: {egress_bytes bytes 2}, {reachable_ready_s time 2}",
        costs: "a hung pull is noticed 5 minutes later",
        settings: &[
            IncidentSetting {
                variant: "edge noProgressTimeout=1 min",
                words: "time-out 1 min",
            },
            IncidentSetting {
                variant: "edge noProgressTimeout=5 min",
                words: "time-out 5 min",
            },
            IncidentSetting {
                variant: "edge noProgressTimeout=10 min",
                words: "time-out 10 min",
            },
            IncidentSetting {
                variant: "edge noProgressTimeout=off",
                words: "no time-out",
            },
        ],
        columns: &[READY, EGRESS, FAILED],
    },
    Incident {
        folder: "08-harbor-1200",
        heading: "8. 1,200 simultaneous pulls",
        reported: "1,200 parallel pulls of 0.5 to 2 GB from a Harbor: connections are reset, answers are 502, TLS \
                   handshakes fail, and the registry restarts \
                   ([harbor#20523](https://github.com/goharbor/harbor/issues/20523), \
                   [perf#52](https://github.com/goharbor/perf/issues/52)). No times are stated.",
        reported_in_short: "resets, 502, failed handshakes, restarts",
        stated: StatedValue::Nothing,
        measure: "failed_pulls",
        compared_setting: 0,
        simulated: "with room for 1,000 connections, {failed_pulls count 0 ±} pulls fail, and the last node is ready \
                    after {reachable_ready_s time 0 ±}.",
        simulated_in_short: "{failed_pulls count 0} failed pulls, {reachable_ready_s time 0 ±}",
        label: IncidentLabel::Missed(
            "The registry restarts at a limit of memory, which the model does not have; the refused connections follow \
             from the assumed limit.",
        ),
        remedy_setting: 2,
        remedy: "one cluster at a time: {failed_pulls count 2} failed pulls",
        costs: "nothing: {reachable_ready_s time 2} in place of {reachable_ready_s time 0}",
        settings: &[
            IncidentSetting {
                variant: "at-once distribution=direct",
                words: "all together",
            },
            IncidentSetting {
                variant: "at-once distribution=dragonfly",
                words: "all together, peers (Dragonfly)",
            },
            IncidentSetting {
                variant: "one-cluster-at-a-time distribution=direct",
                words: "one cluster at a time",
            },
            IncidentSetting {
                variant: "one-cluster-at-a-time distribution=dragonfly",
                words: "one cluster at a time, peers",
            },
        ],
        columns: &[READY, PEAK, EGRESS, FAILED],
    },
    Incident {
        folder: "09-empty-stage",
        heading: "9. An empty stage that waits for approval",
        reported: "a first stage selects all clusters, a second one selects none, and the update run still waits for \
                   the second one's tasks ([kubefleet#610](https://github.com/kubefleet-dev/kubefleet/issues/610)); \
                   the wait is 1 hour by default.",
        reported_in_short: "the run waits for the empty stage's tasks (1 h)",
        stated: StatedValue::Figure(3600.0),
        measure: "reported_s",
        compared_setting: 0,
        simulated: "all clusters are ready after {reachable_ready_s time 0}, and the run ends after \
                    {reported_s time 0 ±}.",
        simulated_in_short: "ready after {reachable_ready_s time 0}, run ends after {reported_s time 0}",
        label: IncidentLabel::Predicted,
        remedy_setting: 2,
        remedy: "a version with #609: the run ends after {reported_s time 2}",
        costs: "nothing; deletions no longer wait for that approval",
        settings: &[
            IncidentSetting {
                variant: "v0-3",
                words: "0.3, approved after 10 min",
            },
            IncidentSetting {
                variant: "v0-3-nobody-approves",
                words: "0.3, nobody approves",
            },
            IncidentSetting {
                variant: "main",
                words: "main, with #609",
            },
        ],
        columns: &[
            READY,
            SettingColumn {
                header: "run ends",
                measure: "reported_s",
                form: "time",
            },
        ],
    },
    Incident {
        folder: "10-offline-device",
        heading: "10. An offline device that holds all others",
        reported: "one device is off for a few days, nothing is deployed to the others, and a few minutes after its \
                   return all get it ([fleet#192](https://github.com/rancher/fleet/issues/192); the rule in \
                   [rancher#30661](https://github.com/rancher/rancher/issues/30661)). The reporter was told to set \
                   `maxUnavailable` to 100%, tried it, and still saw `WaitApplied`.",
        reported_in_short: "no deployments for a few days (3 assumed)",
        // The days are assumed, so only the order of events is a prediction.
        stated: StatedValue::MoreThan(259_199.0),
        measure: "t50_s",
        compared_setting: 0,
        simulated: "half of the ten devices have the release after {t50_s time 0}, all after \
                    {reachable_ready_s time 0}.",
        simulated_in_short: "half of the devices after {t50_s time 0}",
        label: IncidentLabel::Predicted,
        remedy_setting: 1,
        remedy: "by the rule, `maxUnavailable: 2`: half after {t50_s time 1}; 100 %: {t50_s time 2}",
        costs: "two devices at risk of a bad release, or all ten",
        settings: &[
            IncidentSetting {
                variant: "default-of-2020",
                words: "`maxUnavailable: 10%`",
            },
            IncidentSetting {
                variant: "two",
                words: "`maxUnavailable: 2`",
            },
            IncidentSetting {
                variant: "all",
                words: "`maxUnavailable: 100%`",
            },
        ],
        columns: &[
            SettingColumn {
                header: "half ready",
                measure: "t50_s",
                form: "time",
            },
            SettingColumn {
                header: "90 % ready",
                measure: "t90_s",
                form: "time",
            },
            PEAK,
        ],
    },
    Incident {
        folder: "11-acr-premium",
        heading: "11. Fifteen minutes for 2 GiB, and no error",
        reported: "a pull of 2 GiB takes about 15 minutes from a Premium registry of Azure, without failures and \
                   without 429; how many concurrent pulls can it support? \
                   ([Q&A 5814281](https://learn.microsoft.com/en-us/answers/questions/5814281/))",
        reported_in_short: "15 min a pull, no 429",
        stated: StatedValue::Figure(900.0),
        measure: "pull_p50_s",
        compared_setting: 2,
        simulated: "42 concurrent pulls take {pull_p50_s time 2 ±}, with {responses_429 count 2} answers 429. Ten \
                    take {pull_p50_s time 1}.",
        simulated_in_short: "{pull_p50_s time 2 ±} for 42 pulls",
        label: IncidentLabel::Calibrated(1),
        remedy_setting: 1,
        remedy: "ten pulls at a time: {pull_p50_s time 1} each",
        costs: "by arithmetic, nothing: the registry sends as much in the same time",
        settings: &[
            IncidentSetting {
                variant: "pulls clusters=1",
                words: "1 pull",
            },
            IncidentSetting {
                variant: "pulls clusters=10",
                words: "10 pulls",
            },
            IncidentSetting {
                variant: "pulls clusters=42",
                words: "42 pulls",
            },
            IncidentSetting {
                variant: "pulls clusters=100",
                words: "100 pulls",
            },
        ],
        columns: &[MEDIAN_PULL, READY, EGRESS, TOO_MANY],
    },
    Incident {
        folder: "12-more-nodes",
        heading: "12. More nodes are slower",
        reported: "5 GB take 3 min 24 s on one node, 5 min 34 s on 20 nodes and 22 min 17 s on 87 nodes at the same \
                   time ([dragonfly#1146](https://github.com/dragonflyoss/dragonfly-archived/issues/1146); the size is \
                   that of [#1143](https://github.com/dragonflyoss/dragonfly-archived/issues/1143), by the same \
                   author a day earlier).",
        reported_in_short: "5 GB on 87 nodes: 22 min 17 s",
        stated: StatedValue::Figure(1337.0),
        measure: "pull_p95_s",
        compared_setting: 4,
        simulated: "from the times of one node and of 20, 87 nodes take {pull_p95_s time 4 ±}.",
        simulated_in_short: "{pull_p95_s time 4 ±}",
        label: IncidentLabel::Predicted,
        remedy_setting: 5,
        remedy: "peers that pass pieces on: {pull_p95_s time 5}",
        costs: "the nodes' own upload; {egress_bytes bytes 5} instead of {egress_bytes bytes 4}",
        settings: &[
            IncidentSetting {
                variant: "pulls nodes=1; distribution=direct",
                words: "1 node (set)",
            },
            IncidentSetting {
                variant: "pulls nodes=1; distribution=dragonfly",
                words: "1 node, peers",
            },
            IncidentSetting {
                variant: "pulls nodes=20; distribution=direct",
                words: "20 nodes (set)",
            },
            IncidentSetting {
                variant: "pulls nodes=20; distribution=dragonfly",
                words: "20 nodes, peers",
            },
            IncidentSetting {
                variant: "pulls nodes=87; distribution=direct",
                words: "87 nodes",
            },
            IncidentSetting {
                variant: "pulls nodes=87; distribution=dragonfly",
                words: "87 nodes, peers",
            },
        ],
        columns: &[LATE_PULL, EGRESS],
    },
];
