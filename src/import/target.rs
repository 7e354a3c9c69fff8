//! The fleet of an import: one target for each cluster, application or instance, and its table.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::scenario::import::inventory::InventoryCluster;
use crate::world::SiteKind;

/// One target of the rollout.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FleetTarget {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) nodes: Option<u32>,
    /// The kind of site, where it is not that of all.
    pub(super) site: Option<SiteKind>,
    /// The link that it shares with others.
    pub(super) region: Option<String>,
    pub(super) paused: bool,
    pub(super) has_no_agent: bool,
}

impl From<&InventoryCluster> for FleetTarget {
    fn from(cluster: &InventoryCluster) -> Self {
        Self {
            name: cluster.name.clone(),
            namespace: cluster.namespace.clone(),
            labels: cluster.labels.clone(),
            nodes: cluster
                .link
                .nodes
                .as_ref()
                .map(|nodes| nodes.typical().get() as u32),
            site: cluster.link.site,
            region: None,
            paused: cluster.paused,
            has_no_agent: !cluster.registered,
        }
    }
}

/// A column: its name, and a target's cell.
type CsvColumn = (&'static str, fn(&FleetTarget) -> String);

/// The table of the fleet, with the columns that some target uses.
pub(super) fn to_csv(targets: &[FleetTarget]) -> Vec<u8> {
    let columns: [CsvColumn; 8] = [
        ("name", |target| target.name.clone()),
        ("namespace", |target| target.namespace.clone()),
        ("labels", |target| {
            target
                .labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .join(",")
        }),
        ("nodes", |target| {
            target
                .nodes
                .map_or_else(String::new, |nodes| nodes.to_string())
        }),
        ("site", |target| {
            target.site.map_or_else(String::new, SiteKind::name)
        }),
        ("region", |target| target.region.clone().unwrap_or_default()),
        ("paused", |target| {
            if target.paused {
                "true".to_owned()
            } else {
                String::new()
            }
        }),
        ("registered", |target| {
            if target.has_no_agent {
                "false".to_owned()
            } else {
                String::new()
            }
        }),
    ];
    let is_used = |column: &&CsvColumn| {
        column.0 == "name" || targets.iter().any(|target| !column.1(target).is_empty())
    };
    let used: Vec<&CsvColumn> = columns.iter().filter(is_used).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header: Vec<String> = used.iter().map(|column| column.0.to_owned()).collect();
    let rows = targets
        .iter()
        .map(|target| used.iter().map(|column| column.1(target)).collect());
    for row in std::iter::once(header).chain(rows) {
        writer.write_record(row).expect("memory takes it");
    }
    writer.into_inner().expect("memory takes it")
}

/// The first label that a table cannot hold, and that Kubernetes would refuse: `key=value`.
pub(super) fn bad_label(labels: &BTreeMap<String, String>) -> Option<String> {
    let is_bad = |text: &str| text.contains([',', '=', '"', '\n', '\r']) || text.trim() != text;
    labels
        .iter()
        .find(|(key, value)| is_bad(key) || is_bad(value))
        .map(|(key, value)| format!("{key}={value}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::ValueEnum;
    use proptest::prelude::*;

    use super::*;
    use crate::document::problem::Source;
    use crate::scenario::import::table;

    prop_compose! {
        fn target()(
            name in "[a-z0-9][a-z0-9./:\" ,-]{0,20}[a-z0-9]",
            namespace in "[a-z-]{0,8}",
            labels in prop::collection::btree_map("[a-z./-]{1,12}", "[A-Za-z0-9_.-]{0,8}", 0..4),
            nodes in prop::option::of(1_u32..100),
            site in prop::option::of(prop::sample::select(SiteKind::value_variants())),
            region in prop::option::of("[a-z]{1,5}"),
            paused: bool,
            has_no_agent: bool,
        ) -> FleetTarget {
            FleetTarget { name, namespace, labels, nodes, site, region, paused, has_no_agent }
        }
    }

    proptest! {
        #[test]
        fn a_written_table_is_read_back(targets in prop::collection::vec(target(), 1..8)) {
            let targets: Vec<FleetTarget> = targets.into_iter().unique_by(|target| (target.namespace.clone(), target.name.clone())).collect();
            let text = String::from_utf8(to_csv(&targets)).expect("text");
            let source = Arc::new(Source::new("clusters.csv", text));
            let read = table::clusters(&source).unwrap_or_else(|problems| panic!("{problems:?}\n{}", source.text));
            let back: Vec<FleetTarget> = read
                .iter()
                .map(|cluster| FleetTarget { region: cluster.link.region.clone(), ..FleetTarget::from(cluster) })
                .collect();
            prop_assert_eq!(back, targets);
        }
    }
}
