//! The kind of site of imported clusters, which determines their links.
//!
//! A cluster may indicate it: by the address of its API server, which cloud providers assign, by a label of a cloud,
//! or by a label like `site: dc`. These words are a guess, so the summary lists the kinds that were found. Left out:
//! the exact links, which can be set in the columns of the table of clusters.

use std::collections::BTreeMap;

use clap::ValueEnum;
use itertools::Itertools;

use super::guess::Guess;
use super::target::FleetTarget;
use crate::world::SiteKind;

/// Suffixes of label keys that may indicate a kind of site.
const KEYS: [&str; 6] = [
    "site",
    "site-type",
    "sitetype",
    "location-type",
    "kind",
    "type",
];

/// Words that indicate each kind of site.
const WORDS: [(SiteKind, &[&str]); 3] = [
    (
        SiteKind::DataCentre,
        &[
            "dc",
            "datacenter",
            "datacentre",
            "data-center",
            "data-centre",
        ],
    ),
    (SiteKind::Store, &["store", "shop", "retail"]),
    (SiteKind::Branch, &["branch", "branch-office", "office"]),
];

/// Suffixes of the API server addresses that cloud providers assign to managed clusters.
const CLOUD_ADDRESSES: [&str; 14] = [
    // Amazon EKS
    ".eks.amazonaws.com",
    ".eks.amazonaws.com.cn",
    // Azure Kubernetes Service, also in China
    ".azmk8s.io",
    ".azk8s.cn",
    ".aks.containerservice.azure.us",
    // Google Kubernetes Engine, by its DNS endpoint
    ".gke.goog",
    ".k8s.ondigitalocean.com",
    ".linodelke.net",
    ".k8s.scw.cloud",
    ".k8s.ovh.net",
    ".vultr-k8s.com",
    // OpenShift as a service, and Azure Red Hat OpenShift
    ".openshiftapps.com",
    ".aroapp.io",
    ".containers.cloud.ibm.com",
];

/// Prefixes of the context names that the clients of cloud providers create: `gke_PROJECT_ZONE_NAME` and
/// `arn:aws:eks:REGION:ACCOUNT:cluster/NAME`. `argocd cluster add` uses these names for clusters.
const CLOUD_NAMES: [&str; 3] = ["gke_", "arn:aws:eks:", "arn:aws-cn:eks:"];

/// Suffixes of label keys that may indicate a provider.
const PROVIDER_KEYS: [&str; 5] = ["provider", "cloud", "cloud-provider", "vendor", "platform"];

/// Names of cloud providers and their Kubernetes services, in lower case.
const PROVIDERS: [&str; 9] = [
    "eks",
    "aks",
    "gke",
    "aws",
    "azure",
    "gcp",
    "amazon",
    "google",
    "openshift-dedicated",
];

/// Returns whether a cloud provider assigned the address of a cluster's API server.
fn has_cloud_address(server: &str) -> bool {
    let host = server.split_once("://").map_or(server, |(_, host)| host);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    let host = host.to_lowercase();
    CLOUD_ADDRESSES.iter().any(|end| host.ends_with(end))
}

/// Returns the kind of site that an exported cluster indicates by its address, its name, or its labels.
pub(super) fn of_cluster(
    server: &str,
    name: &str,
    labels: &BTreeMap<String, String>,
) -> Option<SiteKind> {
    let is_cloud_name = CLOUD_NAMES.iter().any(|begin| name.starts_with(begin));
    if is_cloud_name || has_cloud_address(server) {
        return Some(SiteKind::Cloud);
    }
    of_labels(labels)
}

/// Returns the kind of site that a target indicates.
fn shown(target: &FleetTarget) -> Option<SiteKind> {
    target.shown_site.or_else(|| of_labels(&target.labels))
}

/// Returns the kind of site that labels indicate.
fn of_labels(labels: &BTreeMap<String, String>) -> Option<SiteKind> {
    const REGIONS: [&str; 3] = [
        "fleet.azure.com/location",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/region",
    ];
    if REGIONS.iter().any(|label| labels.contains_key(*label)) {
        return Some(SiteKind::Cloud);
    }
    for (key, word) in labels {
        // Rancher's key is `provider.cattle.io`.
        let last = key.rsplit('/').next().unwrap_or_default();
        let is_provider = PROVIDER_KEYS.contains(&last) || key == "provider.cattle.io";
        if is_provider && PROVIDERS.contains(&word.to_lowercase().as_str()) {
            return Some(SiteKind::Cloud);
        }
    }
    for (key, word) in labels {
        if let Some(kind) = kind_of_label(key, word) {
            return Some(kind);
        }
    }
    None
}

/// Returns the kind of site that a label indicates, if its key may indicate one.
fn kind_of_label(key: &str, word: &str) -> Option<SiteKind> {
    let key = key.rsplit('/').next().unwrap_or_default().to_lowercase();
    if !KEYS.contains(&key.as_str()) {
        return None;
    }
    let word = word.to_lowercase();
    for (kind, words) in WORDS {
        if words.contains(&word.as_str()) {
            return Some(kind);
        }
    }
    None
}

/// The kind of site of all targets that do not indicate one.
pub(super) struct FoundSite {
    pub(super) kind: SiteKind,
    /// The note about how the kinds were determined.
    pub(super) note: String,
}

impl FoundSite {
    /// Assumes one kind of site for all targets.
    fn of_all(kind: SiteKind, why: &str) -> Self {
        let name = kind.name();
        Self {
            kind,
            note: format!("the links are those of `--site {name}`, because {why}"),
        }
    }
}

/// Sets the kinds of site that targets indicate. Returns the kind for the other targets.
pub(super) fn find(targets: &mut [FleetTarget], has_cloud_nodes: bool, is_app: bool) -> FoundSite {
    if is_app {
        let why = "an app's instances run on cells of one foundation";
        return FoundSite::of_all(SiteKind::DataCentre, why);
    }
    let kinds: Vec<Option<SiteKind>> = targets.iter().map(shown).collect();
    if let Ok(Some(kind)) = kinds.iter().all_equal_value() {
        return FoundSite::of_all(*kind, "labels or addresses of all clusters say so");
    }
    for (target, kind) in targets.iter_mut().zip(&kinds) {
        target.site = *kind;
    }
    let has_shown = kinds.iter().any(Option::is_some);
    if has_shown {
        return of_some(&kinds, has_cloud_nodes);
    }
    if has_cloud_nodes {
        return FoundSite::of_all(SiteKind::Cloud, "the nodes have a `providerID` of a cloud");
    }
    let note = "no --site: the links are those of branch offices; `fleetsim import --help` lists other kinds";
    FoundSite {
        kind: SiteKind::default(),
        note: note.to_owned(),
    }
}

/// Returns the kind of site for targets that indicate none, if other targets indicate one.
fn of_some(kinds: &[Option<SiteKind>], has_cloud_nodes: bool) -> FoundSite {
    let (kind, of_rest) = if has_cloud_nodes {
        (
            SiteKind::Cloud,
            "cloud, because the nodes have a `providerID` of a cloud",
        )
    } else {
        (SiteKind::default(), "branch offices")
    };
    let counts = kinds.iter().flatten().map(|kind| kind.name()).counts();
    let counts = counts.into_iter().sorted();
    let counts = counts
        .map(|(name, count)| format!("{count} {name}"))
        .join(", ");
    let others = match kinds.iter().filter(|kind| kind.is_none()).count() {
        0 => String::new(),
        count => format!("; for the other {count}, those of {of_rest}"),
    };
    FoundSite {
        kind,
        note: format!(
            "links follow the kind of site that labels and addresses indicate: {counts} (column `site` in \
             clusters.csv){others}"
        ),
    }
}

/// Returns the guess that sites are of this kind. `place`: the path of the section that contains `site`.
pub(super) fn guess(site: SiteKind, place: &str) -> Guess {
    let replace = format!(
        "another --site, a column `site` in clusters.csv, or `downlink` and `rtt` of your sites; the source of {} is: {}",
        site.name(),
        site.link().source
    );
    Guess::new(
        &format!("{place}.site"),
        &site.name(),
        &format!("one of {} kinds", SiteKind::value_variants().len()),
        &replace,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(labels: &[(&str, &str)]) -> FleetTarget {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        FleetTarget {
            labels,
            ..FleetTarget::default()
        }
    }

    #[test]
    fn kinds_of_sites_are_recognised_by_labels_and_nodes() {
        let aks = target(&[("fleet.azure.com/location", "westeurope")]);
        let shop = target(&[("provider.cattle.io", "k3s"), ("region", "eu")]);
        let dc = target(&[("example.com/site", "DC")]);
        let kinds = |targets: &[&FleetTarget], nodes| {
            let mut targets: Vec<FleetTarget> =
                targets.iter().map(|target| (*target).clone()).collect();
            let FoundSite { kind, note } = find(&mut targets, nodes, false);
            (
                kind,
                targets
                    .into_iter()
                    .map(|target| target.site)
                    .collect::<Vec<_>>(),
                note,
            )
        };
        let (rest, sites, note) = kinds(&[&aks, &aks], false);
        assert_eq!((rest, sites), (SiteKind::Cloud, vec![None, None]), "{note}");
        let (rest, sites, note) = kinds(&[&aks, &shop, &dc], false);
        let expected = vec![Some(SiteKind::Cloud), None, Some(SiteKind::DataCentre)];
        assert_eq!((rest, sites), (SiteKind::Branch, expected));
        let words = "labels and addresses indicate: 1 cloud, 1 data-centre (column `site` in clusters.csv); for the \
            other 1, those of branch";
        assert!(note.contains(words), "{note}");
        let (rest, sites, note) = kinds(&[&shop], true);
        assert_eq!((rest, sites), (SiteKind::Cloud, vec![None]), "{note}");
    }

    #[test]
    fn clouds_are_recognised_by_addresses_and_names() {
        for (server, name, is_cloud) in [
            ("https://0A1B2C.gr7.eu-west-1.eks.amazonaws.com", "a", true),
            (
                "https://shop-dns-1a2b.hcp.westeurope.azmk8s.io:443",
                "a",
                true,
            ),
            ("https://gke-1a2b.europe-west1.gke.goog/", "a", true),
            ("https://34.1.2.3", "gke_project_europe-west1_shop", true),
            (
                "https://34.1.2.3",
                "arn:aws:eks:eu-west-1:1:cluster/shop",
                true,
            ),
            ("https://10.0.0.1:6443", "eks", false),
            ("https://eks.amazonaws.com.example.net", "a", false),
            ("https://kubernetes.default.svc", "in-cluster", false),
        ] {
            let kind = of_cluster(server, name, &BTreeMap::new());
            assert_eq!(kind == Some(SiteKind::Cloud), is_cloud, "{server} {name}");
        }
        let labels = |key: &str, word: &str| [(key.to_owned(), word.to_owned())].into();
        let kind = |key, word| of_cluster("https://10.0.0.1", "a", &labels(key, word));
        assert_eq!(
            kind("topology.kubernetes.io/region", "x"),
            Some(SiteKind::Cloud)
        );
        assert_eq!(
            kind("example.com/cloud-provider", "AWS"),
            Some(SiteKind::Cloud)
        );
        assert_eq!(kind("provider", "vsphere"), None);
    }
}
