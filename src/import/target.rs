//! The fleet of an import: one target for each cluster, application or instance, and the table of targets.

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
    /// The target's kind of site, if it differs from the common kind.
    pub(super) site: Option<SiteKind>,
    /// The link that the target shares with others.
    pub(super) region: Option<String>,
    pub(super) paused: bool,
    pub(super) has_no_agent: bool,
    /// Whether the target was unreachable when it was exported.
    pub(super) offline: bool,
    /// The kind of site that the exported cluster indicates.
    pub(super) shown_site: Option<SiteKind>,
}

impl From<&InventoryCluster> for FleetTarget {
    fn from(cluster: &InventoryCluster) -> Self {
        Self {
            name: cluster.name.clone(),
            namespace: cluster.namespace.clone(),
            labels: cluster.labels.clone(),
            nodes: typical_nodes(cluster),
            site: cluster.link.site,
            region: None,
            paused: cluster.paused,
            has_no_agent: !cluster.registered,
            offline: cluster.offline,
            shown_site: None,
        }
    }
}

/// Returns the typical number of nodes of a cluster, if the inventory has one.
fn typical_nodes(cluster: &InventoryCluster) -> Option<u32> {
    let nodes = cluster.link.nodes.as_ref()?;
    Some(nodes.typical().get() as u32)
}

/// A column of the table of targets.
struct CsvColumn {
    name: &'static str,
    /// Returns a target's cell; empty if the target has no value.
    cell: fn(&FleetTarget) -> String,
}

/// All columns, in order.
const COLUMNS: [CsvColumn; 9] = [
    CsvColumn {
        name: "name",
        cell: |target| target.name.clone(),
    },
    CsvColumn {
        name: "namespace",
        cell: |target| target.namespace.clone(),
    },
    CsvColumn {
        name: "labels",
        cell: labels_cell,
    },
    CsvColumn {
        name: "nodes",
        cell: nodes_cell,
    },
    CsvColumn {
        name: "site",
        cell: site_cell,
    },
    CsvColumn {
        name: "region",
        cell: |target| target.region.clone().unwrap_or_default(),
    },
    CsvColumn {
        name: "paused",
        cell: paused_cell,
    },
    CsvColumn {
        name: "registered",
        cell: registered_cell,
    },
    CsvColumn {
        name: "offline",
        cell: offline_cell,
    },
];

impl CsvColumn {
    /// Returns whether the table has this column: some target uses it, or it is the name column.
    fn is_used(&self, targets: &[FleetTarget]) -> bool {
        let mut targets = targets.iter();
        self.name == "name" || targets.any(|target| !(self.cell)(target).is_empty())
    }
}

/// Returns the labels of a target as `key=value`, joined by commas.
fn labels_cell(target: &FleetTarget) -> String {
    let labels = target.labels.iter();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .join(",")
}

/// Returns the number of nodes of a target, for its cell.
fn nodes_cell(target: &FleetTarget) -> String {
    match target.nodes {
        Some(nodes) => nodes.to_string(),
        None => String::new(),
    }
}

/// Returns the kind of site of a target, for its cell.
fn site_cell(target: &FleetTarget) -> String {
    target.site.map_or_else(String::new, SiteKind::name)
}

/// Returns `true` for a paused target.
fn paused_cell(target: &FleetTarget) -> String {
    let text = if target.paused { "true" } else { "" };
    text.to_owned()
}

/// Returns `false` for a target without an agent.
fn registered_cell(target: &FleetTarget) -> String {
    let text = if target.has_no_agent { "false" } else { "" };
    text.to_owned()
}

/// Returns `true` for an offline target.
fn offline_cell(target: &FleetTarget) -> String {
    let text = if target.offline { "true" } else { "" };
    text.to_owned()
}

/// Returns the table of the fleet, with the columns that some target uses.
pub(super) fn to_csv(targets: &[FleetTarget]) -> Vec<u8> {
    let mut used = Vec::new();
    for column in COLUMNS {
        if column.is_used(targets) {
            used.push(column);
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = used.iter().map(|column| column.name);
    writer.write_record(header).expect("memory takes it");
    for target in targets {
        let cells = used.iter().map(|column| (column.cell)(target));
        writer.write_record(cells).expect("memory takes it");
    }
    writer.into_inner().expect("memory takes it")
}

/// Returns the first label that a table cell cannot contain (Kubernetes would reject it, too), as `key=value`.
pub(super) fn bad_label(labels: &BTreeMap<String, String>) -> Option<String> {
    for (key, value) in labels {
        if is_bad_text(key) || is_bad_text(value) {
            return Some(format!("{key}={value}"));
        }
    }
    None
}

/// Returns whether a cell of labels cannot contain this text.
fn is_bad_text(text: &str) -> bool {
    text.contains([',', '=', '"', '\n', '\r']) || text.trim() != text
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
            offline: bool,
        ) -> FleetTarget {
            FleetTarget { name, namespace, labels, nodes, site, region, paused, has_no_agent, offline, shown_site: None }
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
