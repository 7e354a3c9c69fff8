//! The kind of site of imported clusters, whose links no export contains.
//!
//! A label of a cluster may show it: that of a cloud, or one like `site: dc`. The words are a guess, and the summary
//! names them. Left out: links that no word tells; a column of the table of clusters has these.

use clap::ValueEnum;
use itertools::Itertools;

use super::guess::Guess;
use super::target::FleetTarget;
use crate::world::SiteKind;

/// Ends of keys of labels that may name a kind of site.
const KEYS: [&str; 6] = [
    "site",
    "site-type",
    "sitetype",
    "location-type",
    "kind",
    "type",
];

/// Words for kinds of sites.
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

/// The kind that the labels of a target show.
fn labelled(target: &FleetTarget) -> Option<SiteKind> {
    const REGIONS: [&str; 2] = ["fleet.azure.com/location", "topology.kubernetes.io/region"];
    const PROVIDERS: [&str; 3] = ["eks", "aks", "gke"];
    let is_region = REGIONS
        .iter()
        .any(|label| target.labels.contains_key(*label));
    let provider = target.labels.get("provider.cattle.io");
    if is_region || provider.is_some_and(|provider| PROVIDERS.contains(&provider.as_str())) {
        return Some(SiteKind::Cloud);
    }
    for (key, word) in &target.labels {
        if let Some(kind) = kind_of_label(key, word) {
            return Some(kind);
        }
    }
    None
}

/// The kind that a label shows, if its key may name one.
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

/// The kind of site of all targets that have none of their own.
pub(super) struct FoundSite {
    pub(super) kind: SiteKind,
    /// The note on where the kinds are from.
    pub(super) note: String,
}

impl FoundSite {
    /// One kind of all targets.
    fn of_all(kind: SiteKind, why: &str) -> Self {
        let name = kind.name();
        Self {
            kind,
            note: format!("the links are those of `--site {name}`, because {why}"),
        }
    }
}

/// Gives targets the kinds that their labels show. Returns the kind of the others.
pub(super) fn find(targets: &mut [FleetTarget], has_cloud_nodes: bool, is_app: bool) -> FoundSite {
    if is_app {
        let why = "an app's instances run on cells of one foundation";
        return FoundSite::of_all(SiteKind::DataCentre, why);
    }
    let kinds: Vec<Option<SiteKind>> = targets.iter().map(labelled).collect();
    if let Ok(Some(kind)) = kinds.iter().all_equal_value() {
        return FoundSite::of_all(*kind, "labels of all clusters say so");
    }
    for (target, kind) in targets.iter_mut().zip(&kinds) {
        target.site = *kind;
    }
    let has_labels = kinds.iter().any(Option::is_some);
    if has_labels {
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

/// The kind of the targets without a label, where others have one.
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
        count => format!("; those of the other {count} are of {of_rest}"),
    };
    FoundSite {
        kind,
        note: format!(
            "the links are of the kind of site that labels show: {counts} (column `site` in clusters.csv){others}"
        ),
    }
}

/// The guess that sites are of this kind, below `place`.
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
    fn kinds_of_sites_are_known_by_labels_and_nodes() {
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
        let words = "labels show: 1 cloud, 1 data-centre (column `site` in clusters.csv); those of the other 1 are of branch";
        assert!(note.contains(words), "{note}");
        let (rest, sites, note) = kinds(&[&shop], true);
        assert_eq!((rest, sites), (SiteKind::Cloud, vec![None]), "{note}");
    }
}
