//! Kinds of sites: the links of clusters that no export contains, from published measurements where there are some.
//!
//! Home lines of 2020 stand for shops: FCC, Measuring Broadband America, September 2020
//! (afreund415/MBA-broadband-research @0468a0b). Cellular: Starlink-Project/Satellite-vs-Cellular @79f9412. Cloud:
//! awsdocs/amazon-ec2-user-guide @1300242. Branch offices and data centres are guesses. Left out: links of several
//! kinds in one fleet; a column of the table of clusters has these.

use clap::ValueEnum;

use super::guess::Guess;
use super::target::FleetTarget;

/// The kind of site where clusters are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum SiteKind {
    /// Branch offices: 100 Mbit/s, 30 ms
    #[default]
    Branch,
    /// DSL: 16 Mbit/s, 35 ms
    Dsl,
    /// Cable: 230 Mbit/s, 17 ms
    Cable,
    /// Fibre: 305 Mbit/s, 12 ms
    Fibre,
    /// Cellular networks: 58 Mbit/s, 80 ms
    Cellular,
    /// Data centres: 10 Gbit/s, 1 ms
    DataCentre,
    /// Regions of a cloud provider: 5 Gbit/s, 5 ms
    Cloud,
}

/// The links of a kind, as an experiment writes them.
#[derive(Clone, Copy, Debug)]
pub struct SiteLink {
    /// The downlink of a site, with its spread.
    pub downlink: &'static str,
    /// The median of it.
    pub median: &'static str,
    /// Between which downlinks of such sites are.
    downlink_range: &'static str,
    /// The round trip to the registry.
    pub rtt: &'static str,
    rtt_range: &'static str,
    /// What the values rest on.
    pub source: &'static str,
}

impl SiteLink {
    /// The median of the round trip.
    #[must_use]
    pub fn median_rtt(&self) -> &'static str {
        let median = self.rtt.strip_prefix("{median: ").and_then(|rest| rest.split_once(','));
        median.map_or(self.rtt, |(median, _)| median)
    }
}

const FCC: &str = "the FCC's Measuring Broadband America, September 2020";

impl SiteKind {
    /// The word on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The links of such sites.
    #[must_use]
    pub fn link(self) -> SiteLink {
        let of = |downlink, median, downlink_range, rtt, rtt_range, source| SiteLink {
            downlink,
            median,
            downlink_range,
            rtt,
            rtt_range,
            source,
        };
        match self {
            Self::Branch => {
                of("100 Mbit/s", "100 Mbit/s", "20 Mbit/s to 500 Mbit/s", "30 ms", "5 ms to 150 ms", "a guess")
            }
            Self::Dsl => of(
                "{median: 16 Mbit/s, sigma: 1.1}",
                "16 Mbit/s",
                "2.8 Mbit/s to 80 Mbit/s",
                "{median: 35 ms, sigma: 0.37}",
                "23 ms to 54 ms",
                FCC,
            ),
            Self::Cable => of(
                "{median: 230 Mbit/s, sigma: 0.95}",
                "230 Mbit/s",
                "60 Mbit/s to 570 Mbit/s",
                "{median: 17 ms, sigma: 0.29}",
                "12 ms to 25 ms",
                FCC,
            ),
            Self::Fibre => of(
                "{median: 305 Mbit/s, sigma: 0.87}",
                "305 Mbit/s",
                "82 Mbit/s to 767 Mbit/s",
                "{median: 12 ms, sigma: 0.34}",
                "7 ms to 23 ms",
                FCC,
            ),
            Self::Cellular => of(
                "{median: 58 Mbit/s, sigma: 1.2}",
                "58 Mbit/s",
                "8 Mbit/s to 220 Mbit/s",
                "80 ms",
                "40 ms to 200 ms",
                "three carriers, measured while driving; the round trip is a guess",
            ),
            Self::DataCentre => of(
                "10 Gbit/s",
                "10 Gbit/s",
                "1 Gbit/s to 25 Gbit/s",
                "1 ms",
                "0.2 ms to 10 ms",
                "a guess from the links of machines in data centres",
            ),
            Self::Cloud => of(
                "5 Gbit/s",
                "5 Gbit/s",
                "0.75 Gbit/s to 25 Gbit/s",
                "5 ms",
                "0.5 ms to 50 ms",
                "the limit of EC2 instances with less than 32 vCPU; the round trip is a guess",
            ),
        }
    }

    /// The kind that exports show, and how. `None`: they do not.
    pub(super) fn shown(targets: &[FleetTarget], has_cloud_nodes: bool, is_app: bool) -> Option<(Self, &'static str)> {
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
            () if is_app => Some((Self::DataCentre, "an app's instances run on cells of one foundation")),
            () if 2 * labelled > targets.len() => Some((Self::Cloud, "labels name a region or a provider")),
            () if has_cloud_nodes => Some((Self::Cloud, "the nodes have a `providerID` of a cloud")),
            () => None,
        }
    }

    /// Guesses of downlink and round trip, below `place`.
    pub(super) fn guesses(self, place: &str) -> [Guess; 2] {
        let link = self.link();
        let replace = |what: &str| format!("{what}; these are of {}: {}", self.name(), link.source);
        let of = |key: &str, value: &str, range: &str, what: &str| {
            Guess::new(&format!("{place}.{key}"), value, range, &replace(what))
        };
        let downlink = "the bandwidth of the sites, another --site, or a column `downlink` in clusters.csv";
        let rtt = "the time of a `ping` from a site to the registry, or a column `rtt` in clusters.csv";
        [of("downlink", link.downlink, link.downlink_range, downlink), of("rtt", link.rtt, link.rtt_range, rtt)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{BytesPerSec, SimDuration, WithUnit};

    fn target(labels: &[(&str, &str)]) -> FleetTarget {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        FleetTarget { labels, ..FleetTarget::default() }
    }

    #[test]
    fn medians_are_in_the_range_of_their_kind() {
        for kind in SiteKind::value_variants() {
            let link = kind.link();
            assert!(link.downlink.contains(link.median), "{kind:?}");
            let ends: Vec<BytesPerSec> =
                link.downlink_range.split(" to ").map(|end| BytesPerSec::parse(end).expect("a rate")).collect();
            let median = BytesPerSec::parse(link.median).expect("a rate");
            assert!(ends[0] < median && median < ends[1], "{kind:?}");
            let ends: Vec<SimDuration> =
                link.rtt_range.split(" to ").map(|end| SimDuration::parse(end).expect("a time")).collect();
            assert!(ends[0] < ends[1], "{kind:?}");
        }
    }

    #[test]
    fn a_cloud_is_known_by_labels_and_nodes() {
        let aks = target(&[("fleet.azure.com/location", "westeurope")]);
        let shop = target(&[("provider.cattle.io", "k3s"), ("region", "eu")]);
        let kind = |targets: &[FleetTarget], nodes| SiteKind::shown(targets, nodes, false).map(|(kind, _)| kind);
        assert_eq!(kind(&[aks.clone(), aks.clone(), shop.clone()], false), Some(SiteKind::Cloud));
        assert_eq!(kind(&[aks, shop.clone(), shop.clone()], false), None);
        assert_eq!(kind(&[shop], true), Some(SiteKind::Cloud));
    }
}
