//! The kind of site of imported clusters, whose links no export contains.
//!
//! Left out: links of several kinds in one fleet; a column of the table of clusters has these.

use serde::Serialize;

use super::guess::Guess;
use super::target::FleetTarget;
use crate::world::SiteKind;

/// The kind that exports show, and how. `None`: they do not.
pub(super) fn shown(targets: &[FleetTarget], has_cloud_nodes: bool, is_app: bool) -> Option<(SiteKind, &'static str)> {
    const LABELS: [&str; 3] = ["fleet.azure.com/location", "provider.cattle.io", "topology.kubernetes.io/region"];
    const PROVIDERS: [&str; 3] = ["eks", "aks", "gke"];
    let is_cloud = |target: &&FleetTarget| {
        LABELS
            .iter()
            .filter_map(|label| Some((label, target.labels.get(*label)?)))
            .any(|(label, value)| *label != "provider.cattle.io" || PROVIDERS.contains(&value.as_str()))
    };
    let labelled = targets.iter().filter(is_cloud).count();
    match () {
        () if is_app => Some((SiteKind::DataCentre, "an app's instances run on cells of one foundation")),
        () if 2 * labelled > targets.len() => Some((SiteKind::Cloud, "labels name a region or a provider")),
        () if has_cloud_nodes => Some((SiteKind::Cloud, "the nodes have a `providerID` of a cloud")),
        () => None,
    }
}

/// Guesses of downlink and round trip of a kind of site, below `place`.
pub(super) fn guesses(site: SiteKind, place: &str) -> [Guess; 2] {
    let link = site.link();
    let replace = |what: &str| format!("{what}; these are of {}: {}", site.name(), link.source);
    let of = |key: &str, value: &str, range: &str, what: &str| {
        Guess::new(&format!("{place}.{key}"), value, range, &replace(what))
    };
    let downlink = "the bandwidth of the sites, another --site, or a column `downlink` in clusters.csv";
    let rtt = "the time of a `ping` from a site to the registry, or a column `rtt` in clusters.csv";
    [
        of("downlink", &written(&link.downlink), link.downlink_range, downlink),
        of("rtt", &written(&link.rtt), link.rtt_range, rtt),
    ]
}

/// A value as an experiment writes it.
fn written(value: &impl Serialize) -> String {
    match serde_json::to_value(value).expect("a quantity can be written") {
        serde_json::Value::Object(fields) => {
            let field = |(key, value): (&String, &serde_json::Value)| {
                format!("{key}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        value => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(labels: &[(&str, &str)]) -> FleetTarget {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        FleetTarget { labels, ..FleetTarget::default() }
    }

    #[test]
    fn a_cloud_is_known_by_labels_and_nodes() {
        let aks = target(&[("fleet.azure.com/location", "westeurope")]);
        let shop = target(&[("provider.cattle.io", "k3s"), ("region", "eu")]);
        let kind = |targets: &[FleetTarget], nodes| shown(targets, nodes, false).map(|(kind, _)| kind);
        assert_eq!(kind(&[aks.clone(), aks.clone(), shop.clone()], false), Some(SiteKind::Cloud));
        assert_eq!(kind(&[aks, shop.clone(), shop.clone()], false), None);
        assert_eq!(kind(&[shop], true), Some(SiteKind::Cloud));
    }
}
