//! Clusters as a table: a CSV file with one row for each cluster.
//!
//! Columns: `name`, and any of `namespace`, `labels` (`env=prod,ring=1`, as `kubectl get --show-labels` prints them),
//! `nodes`, `site`, `downlink`, `rtt`, `loss`, `region`, `paused`, `registered` and `offline`. An empty cell leaves
//! the field unset. Unknown columns are rejected, because a misspelt column would leave the default for every cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;

use crate::document::csv::{broken, byte_of, cell_at, reader};
use crate::document::problem::{Problem, Source, any_of, did_you_mean};
use crate::document::wording::Wording;
use crate::units::{BytesPerSec, Share, SimDuration, WithUnit};
use crate::world::{FactorModel, MOST_NODES, SiteKind};

use super::inventory::{InventoryCluster, LinkFields};

/// The permitted columns of a table.
pub(crate) const COLUMNS: [&str; 12] = [
    "name",
    "namespace",
    "labels",
    "nodes",
    "site",
    "downlink",
    "rtt",
    "loss",
    "region",
    "paused",
    "registered",
    "offline",
];

/// Maximum number of problems to report before the rest of a table is skipped.
const MOST_PROBLEMS: usize = 100;

/// Reads the clusters in a table, at least one.
///
/// # Errors
/// Returns all problems of the table.
pub(crate) fn clusters(source: &Arc<Source>) -> Result<Vec<InventoryCluster>, Vec<Problem>> {
    let broken = broken(source, "each row needs as many cells as the first line");
    let mut reader = reader(source).map_err(|problem| vec![*problem])?;
    let headers = reader.headers().map_err(|error| vec![*broken(error)])?;
    let columns = headers.iter().map(str::to_owned).collect();
    let mut table = Table {
        source,
        columns,
        names: BTreeSet::new(),
        problems: Vec::new(),
    };
    table.check_columns();
    if !table.problems.is_empty() {
        return Err(table.problems);
    }
    let mut clusters = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => clusters.push(table.row(&record)),
            Err(error) => {
                table.problems.push(*broken(error));
                break;
            }
        }
        if table.problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    if clusters.is_empty() && table.problems.is_empty() {
        table.report(
            0,
            "",
            "the table has no rows",
            "write one row for each cluster",
        );
    }
    if table.problems.is_empty() {
        Ok(clusters)
    } else {
        Err(table.problems)
    }
}

/// A table that is being read.
struct Table<'s> {
    source: &'s Arc<Source>,
    columns: Vec<String>,
    names: BTreeSet<(String, String)>,
    problems: Vec<Problem>,
}

impl Table<'_> {
    fn at(&self, byte: usize, field: &str, message: impl Into<Wording>) -> Problem {
        let index = self.columns.iter().position(|column| column == field);
        let byte = index.map_or(byte, |index| cell_at(&self.source.text, byte, index));
        self.source.at(byte..byte, field, message)
    }

    fn report(
        &mut self,
        byte: usize,
        field: &str,
        message: impl Into<Wording>,
        help: impl Into<Wording>,
    ) {
        self.problems
            .push(self.at(byte, field, message).with_help(help));
    }

    fn check_columns(&mut self) {
        let columns = self.columns.clone();
        for (index, column) in columns.iter().enumerate() {
            if !COLUMNS.contains(&column.as_str()) {
                let help = did_you_mean(column, COLUMNS, || {
                    format!("columns are {}", any_of(&COLUMNS))
                });
                let message =
                    Wording::quoting(format!("unknown column `{column}`"), "unknown column");
                self.report(0, column, message, help);
            } else if columns[..index].contains(column) {
                let message = format!("the column `{column}` appears twice");
                let message = Wording::quoting(message, "a column appears twice");
                self.report(0, column, message, "keep one of the two");
            }
        }
        if !columns.iter().any(|column| column == "name") {
            let help = "the first line names the columns, e.g. `name,labels,nodes`";
            self.report(0, "name", "the table has no column `name`", help);
        }
    }

    fn row(&mut self, record: &csv::StringRecord) -> InventoryCluster {
        let at = byte_of(record.position());
        let name = self.cell(record, "name").unwrap_or_default().to_owned();
        let namespace = self
            .cell(record, "namespace")
            .unwrap_or_default()
            .to_owned();
        if name.is_empty() {
            self.report(
                at,
                "name",
                "the cluster has no name",
                "write a name in every row",
            );
        } else if !self.names.insert((namespace.clone(), name.clone())) {
            let message = format!("two clusters are named `{name}` in the same namespace");
            let message = Wording::quoting(message, "two clusters have the same name");
            self.report(
                at,
                "name",
                message,
                "keep one; a cluster must be in the file only once",
            );
        }
        let downlink = self.parsed(record, "downlink", BytesPerSec::parse);
        let downlink = self.ranged(
            at,
            "downlink",
            downlink,
            |rate| rate.get() > 0.0,
            "bandwidth must be greater than 0",
        );
        let loss = self.parsed(record, "loss", Share::parse);
        let loss = self.ranged(
            at,
            "loss",
            loss,
            |loss| loss.get() < 1.0,
            "must be less than 100%",
        );
        let nodes = self.parsed(record, "nodes", node_count);
        InventoryCluster {
            namespace,
            name,
            labels: self.parsed(record, "labels", labels).unwrap_or_default(),
            paused: self.parsed(record, "paused", yes_or_no).unwrap_or(false),
            registered: self.parsed(record, "registered", yes_or_no).unwrap_or(true),
            offline: self.parsed(record, "offline", yes_or_no).unwrap_or(false),
            last_seen: None,
            link: LinkFields {
                nodes,
                autoscaling: None,
                site: self.parsed(record, "site", site_kind),
                downlink: downlink.map(Into::into),
                rtt: self
                    .parsed(record, "rtt", SimDuration::parse)
                    .map(Into::into),
                loss,
                gaps: None,
                region: self.cell(record, "region").map(str::to_owned),
                region_index: None,
            },
        }
    }

    /// Returns the text in a cell. `None`: the cell is empty, or the table lacks the column.
    fn cell<'r>(&self, record: &'r csv::StringRecord, column: &str) -> Option<&'r str> {
        let index = self.columns.iter().position(|known| known == column)?;
        record.get(index).filter(|cell| !cell.is_empty())
    }

    fn parsed<T, E: fmt::Display>(
        &mut self,
        record: &csv::StringRecord,
        column: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let cell = self.cell(record, column)?;
        match parse(cell) {
            Ok(value) => Some(value),
            Err(error) => {
                let message = Wording::quoting(
                    format!("invalid `{column}`: `{cell}`: {error}"),
                    "a cell has an invalid value",
                );
                let problem = self.at(byte_of(record.position()), column, message);
                self.problems.push(problem);
                None
            }
        }
    }

    fn ranged<T>(
        &mut self,
        at: usize,
        column: &str,
        value: Option<T>,
        is_valid: impl Fn(&T) -> bool,
        message: &'static str,
    ) -> Option<T> {
        if value.as_ref().is_some_and(|value| !is_valid(value)) {
            self.problems.push(self.at(at, column, message));
        }
        value
    }
}

fn yes_or_no(text: &str) -> Result<bool, &'static str> {
    text.parse().map_err(|_| "it must be `true` or `false`")
}

fn site_kind(text: &str) -> Result<SiteKind, String> {
    let names: Vec<String> = SiteKind::value_variants()
        .iter()
        .map(|kind| kind.name())
        .collect();
    SiteKind::from_str(text, false).map_err(|_| format!("it must be {}", any_of(&names)))
}

/// Parses a number of nodes.
fn node_count(text: &str) -> Result<FactorModel, String> {
    match text.parse() {
        Ok(nodes) if (1..=MOST_NODES).contains(&nodes) => Ok(FactorModel::from(nodes)),
        _ => Err(format!("it must be a whole number from 1 to {MOST_NODES}")),
    }
}

/// Parses labels as `kubectl get --show-labels` prints them.
fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for pair in text.split(',').filter(|_| text != "<none>") {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not a label; write `key=value`"))?;
        if labels
            .insert(key.trim().to_owned(), value.trim().to_owned())
            .is_some()
        {
            return Err(format!(
                "the label `{}` appears twice; keep one",
                key.trim()
            ));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ClusterSpec;

    fn read(text: &str) -> Result<Vec<InventoryCluster>, Vec<String>> {
        let source = Arc::new(Source::new("clusters.csv", text));
        clusters(&source).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_row_is_a_cluster_and_an_empty_cell_leaves_a_field_out() {
        let text = "name,labels,nodes,downlink,rtt,region,paused,registered,offline\n\
            a,\"env=prod,ring=1\",5,50 Mbit/s,40 ms,eu,true,false,true\nb,<none>,,,,,,,\n";
        let read = read(text).expect("a table");
        assert_eq!(read[0].labels.len(), 2);
        assert_eq!(
            (
                read[0].link.nodes.clone(),
                read[0].paused,
                read[0].registered
            ),
            (Some(5.into()), true, false)
        );
        assert_eq!(
            read[0].link.downlink,
            Some(BytesPerSec::from_mbit(50.0).into())
        );
        assert_eq!(read[0].link.rtt, Some(SimDuration::from_millis(40).into()));
        assert_eq!(read[0].link.region.as_deref(), Some("eu"));
        assert_eq!((read[0].offline, read[1].offline), (true, false));
        assert_eq!(
            (
                read[1].link.nodes.clone(),
                read[1].paused,
                read[1].registered
            ),
            (None, false, true)
        );
        assert_eq!(
            (&read[1].link, read[1].labels.len()),
            (&LinkFields::default(), 0)
        );
    }

    #[test]
    fn a_row_names_the_kind_of_its_site() {
        let rows = read("name,site,downlink\na,dsl,\nb,data-centre,1 Gbit/s\n").expect("a table");
        let clusters = rows.iter().map(|row| {
            let mut cluster = ClusterSpec::default();
            row.link.apply(&mut cluster);
            cluster
        });
        let [dsl, dc] = clusters.collect::<Vec<_>>().try_into().expect("two rows");
        assert_eq!((dsl.downlink, dsl.rtt, dsl.rtt_correlation), {
            let link = SiteKind::Dsl.link();
            (link.downlink, link.rtt, link.correlation)
        });
        // A value in its own column overrides the value of the kind of site.
        assert_eq!(dc.downlink, BytesPerSec::from_mbit(1000.0).into());
        assert_eq!(dc.rtt, SimDuration::from_millis(1).into());
        let refused = read("name,site\na,dls\n").expect_err("a wrong kind");
        assert!(
            refused[0]
                .starts_with("clusters.csv:2:3: site: invalid `site`: `dls`: it must be `branch`"),
            "{refused:?}"
        );
    }

    #[test]
    fn an_invalid_table_is_refused_with_row_and_column() {
        for (text, message) in [
            ("", "clusters.csv:1:1: name: the table has no column `name`"),
            ("name\n", "clusters.csv:1:1: the table has no rows"),
            (
                "name,node\na,1\n",
                "clusters.csv:1:6: node: unknown column `node` (help: did you mean `nodes`?)",
            ),
            (
                "name,name\na,b\n",
                "clusters.csv:1:1: name: the column `name` appears twice",
            ),
            (
                "name,nodes\na,1\na,2\n",
                "clusters.csv:3:1: name: two clusters are named `a`",
            ),
            (
                "name,nodes\na,0\n",
                "clusters.csv:2:3: nodes: invalid `nodes`: `0`: it must be a whole number from 1 to 10000",
            ),
            (
                "name,nodes\na,x\n",
                "clusters.csv:2:3: nodes: invalid `nodes`: `x`: it must be a whole number from 1 to 10000",
            ),
            (
                "name,downlink\na,0 Mbit/s\n",
                "clusters.csv:2:3: downlink: bandwidth must be greater than 0",
            ),
            (
                "name,downlink\na,100\n",
                "clusters.csv:2:3: downlink: invalid `downlink`: `100`",
            ),
            (
                "name,labels\na,prod\n",
                "clusters.csv:2:3: labels: invalid `labels`: `prod`",
            ),
            (
                "name,labels\na,\"env=a,ring=1,env=b\"\n",
                "clusters.csv:2:3: labels: invalid `labels`: `env=a,ring=1,env=b`: the label `env` appears twice",
            ),
            (
                "name,loss\na,100%\n",
                "clusters.csv:2:3: loss: must be less than 100%",
            ),
            (
                "name,nodes,paused\na,1,maybe\n",
                "clusters.csv:2:5: paused: invalid `paused`: `maybe`: it must be `true` or `false`",
            ),
            ("name,nodes\na,1\nb\n", "clusters.csv:3:1: not CSV"),
            (
                "name,nodes\n,1\n",
                "clusters.csv:2:1: name: the cluster has no name",
            ),
        ] {
            let errors = read(text).expect_err(text);
            assert!(errors[0].starts_with(message), "{text:?}: {errors:?}");
        }
    }
}
