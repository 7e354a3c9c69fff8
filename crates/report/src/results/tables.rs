//! The tables of a results folder: built from runs, written as CSV, and read back.
//!
//! CSV according to RFC 4180, except that records end in a line feed: one header line, quotes only if needed, empty
//! for no value, floats in the shortest form that reads back to the same bits.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use csv::StringRecord;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::application_timeline::{ApplicationTimeline, ApplicationTimelineRow};
use super::best::{ComparisonRow, comparisons};
use super::formulas::FormulasAsText;
use super::measures::RunColumns;
use super::rows::{ClusterColumns, RegistryColumns, RegistryGroups};
use super::summary::{SummaryRow, summary};
use super::timeline::{TimelineRow, timeline};
use super::variants::variant_table;
use super::{
    ApplicationRow, ClusterRow, Measure, PassRow, RegistryRow, ReleaseRow, ResultsError, RunRow,
    StatusRow, VariantRecord, WorkloadRow, displayed_replicate,
};
use fleetsim_units::io::open_below;

/// The first columns of a row of `registries.csv`, `clusters.csv`, `passes.csv` or `statuses.csv`, which identify the
/// row's run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RunKey {
    /// The variant.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings.
    pub setting: String,
    /// The replicate; in `clusters.csv` and `passes.csv` it is the displayed one.
    pub replicate: u32,
}

/// The table that only experiments with several workloads have.
const WORKLOADS_FILE: &str = "workloads.csv";

/// The table that only experiments with several applications have.
const APPLICATIONS_FILE: &str = "applications.csv";
/// The table that only experiments with later releases or an operator have.
const RELEASES_FILE: &str = "releases.csv";
/// The table of applications over time.
const APPLICATIONS_TIMELINE_FILE: &str = "applications-timeline.csv";

/// Writes one table of a folder.
pub type TableWriter = fn(&Tables, &mut dyn Write) -> io::Result<()>;

/// The tables of a results folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// `variants.csv`: the names of its columns, which depend on the experiment, followed by every variant.
    pub variants: Vec<Vec<String>>,
    /// `runs.csv`: every run.
    pub runs: Vec<RunRow>,
    /// `registries.csv`: every registry of every run, and the links of mirrors, caches, regions and peers.
    pub registries: Vec<(RunKey, RegistryRow)>,
    /// `workloads.csv`: every workload of every run. Empty for a single workload.
    pub workloads: Vec<(RunKey, WorkloadRow)>,
    /// `applications.csv`: every application of every run. Empty for a single application.
    pub applications: Vec<(RunKey, ApplicationRow)>,
    /// `releases.csv`: every release of every run. Empty if each application has one.
    pub releases: Vec<(RunKey, ReleaseRow)>,
    /// `applications-timeline.csv`: the applications of every variant's displayed run over time. Empty for a single
    /// application.
    pub application_timelines: Vec<(RunKey, ApplicationTimeline)>,
    /// `summary.csv`: every measure of every variant over its runs.
    pub summary: Vec<SummaryRow>,
    /// `comparison.csv`: which variants may be the best.
    pub comparison: Vec<ComparisonRow>,
    /// `timeline.csv`: the displayed run of every variant, with percentiles of all its runs.
    pub timeline: Vec<TimelineRow>,
    /// `clusters.csv`: the clusters of every variant's displayed run.
    pub clusters: Vec<(RunKey, ClusterRow)>,
    /// `passes.csv`: the scheduler passes of every variant's displayed run.
    pub passes: Vec<(RunKey, PassRow)>,
    /// `statuses.csv`: the statuses that the product showed in every variant's displayed run.
    pub statuses: Vec<(RunKey, StatusRow)>,
}

impl Tables {
    /// The tables of an experiment. `seed` determines the resampling of the intervals.
    #[must_use]
    pub fn of(variants: &[VariantRecord], seed: u64) -> Self {
        Self::showing(variants, seed, displayed_replicate(variants))
    }

    /// Like [`Tables::of`], with the replicate that curves and fleets show.
    #[must_use]
    pub fn showing(variants: &[VariantRecord], seed: u64, displayed: Option<u32>) -> Self {
        let mut runs: Vec<RunRow> = Vec::new();
        let mut registries = Vec::new();
        let mut workloads = Vec::new();
        let mut applications = Vec::new();
        let mut releases = Vec::new();
        for variant in variants {
            for run in &variant.runs {
                runs.push(run.run.clone());
                let key = key(variant, run.run.replicate);
                registries.extend(keyed(&key, &run.registries));
                workloads.extend(keyed(&key, &run.workloads));
                applications.extend(keyed(&key, &run.applications));
                releases.extend(keyed(&key, &run.releases));
            }
        }
        let summary = summary(variants, seed);
        let comparison = comparisons(variants, seed);
        let mut tables = Self {
            variants: variant_table(variants),
            runs,
            registries,
            workloads,
            applications,
            releases,
            summary,
            comparison,
            ..Self::default()
        };
        let Some(displayed) = displayed else {
            return tables;
        };
        for variant in variants {
            let mut replicates = variant.runs.iter().map(|run| run.run.replicate);
            let Some(at) = replicates.position(|replicate| replicate == displayed) else {
                continue;
            };
            tables.timeline.extend(timeline(variant, at));
            let run = &variant.runs[at];
            let key = key(variant, displayed);
            let applications = ApplicationTimeline::of(variant, at);
            if !applications.is_empty() {
                tables
                    .application_timelines
                    .push((key.clone(), applications));
            }
            tables.clusters.extend(keyed(&key, &run.clusters));
            tables.passes.extend(keyed(&key, &run.passes));
            tables.statuses.extend(keyed(&key, &run.statuses));
        }
        tables
    }

    /// The names of the files, and the function that writes each row by row.
    pub const FILES: [(&'static str, TableWriter); 13] = [
        ("variants.csv", |tables, out| {
            write_csv(out, "", &tables.variants)
        }),
        ("runs.csv", |tables, out| {
            write_runs(out, tables.runs.iter())
        }),
        ("registries.csv", |tables, out| {
            write_registries(out, &tables.registries)
        }),
        (WORKLOADS_FILE, |tables, out| {
            write_csv(out, &header::<(RunKey, WorkloadRow)>(), &tables.workloads)
        }),
        (APPLICATIONS_FILE, |tables, out| {
            let header = header::<(RunKey, ApplicationRow)>();
            write_csv(out, &header, &tables.applications)
        }),
        (RELEASES_FILE, |tables, out| {
            let header = header::<(RunKey, ReleaseRow)>();
            write_csv(out, &header, &tables.releases)
        }),
        (APPLICATIONS_TIMELINE_FILE, |tables, out| {
            write_application_timelines(out, &tables.application_timelines)
        }),
        ("summary.csv", |tables, out| {
            write_csv(out, "", &tables.summary)
        }),
        ("comparison.csv", |tables, out| {
            write_csv(out, &header::<ComparisonRow>(), &tables.comparison)
        }),
        ("timeline.csv", |tables, out| {
            write_csv(out, &header::<TimelineRow>(), &tables.timeline)
        }),
        ("clusters.csv", |tables, out| {
            write_clusters(out, &tables.clusters)
        }),
        ("passes.csv", |tables, out| {
            write_csv(out, &header::<(RunKey, PassRow)>(), &tables.passes)
        }),
        ("statuses.csv", |tables, out| {
            write_csv(out, &header::<(RunKey, StatusRow)>(), &tables.statuses)
        }),
    ];

    /// The files of a folder with these tables. `workloads.csv` exists only if the experiment has several workloads,
    /// the tables of applications only if it has several of them, and `releases.csv` only with later releases.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, TableWriter)> {
        let has_workloads = !self.workloads.is_empty();
        let has_applications = !self.applications.is_empty();
        let has_releases = !self.releases.is_empty();
        let has_timelines = !self.application_timelines.is_empty();
        Self::FILES
            .into_iter()
            .filter(move |(name, _)| match *name {
                WORKLOADS_FILE => has_workloads,
                APPLICATIONS_FILE => has_applications,
                RELEASES_FILE => has_releases,
                APPLICATIONS_TIMELINE_FILE => has_timelines,
                _ => true,
            })
    }

    /// The files with their names, in memory.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut files = Vec::new();
        for (name, write) in self.written() {
            let mut bytes = Vec::new();
            write(self, &mut bytes).expect("writes to memory do not fail");
            files.push((name, bytes));
        }
        files
    }

    /// Reads `summary.csv` of a results folder.
    ///
    /// # Errors
    /// Returns an error if it is missing or invalid.
    pub fn read_summary(folder: &Path) -> Result<Vec<SummaryRow>, ResultsError> {
        from_csv(folder, "summary.csv", measure_row)
    }

    /// Reads the tables of a results folder.
    ///
    /// # Errors
    /// Returns an error if a file is missing or invalid.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        Ok(Self {
            variants: read_records(folder, "variants.csv")?,
            runs: from_csv(folder, "runs.csv", row)?,
            registries: from_csv(folder, "registries.csv", keyed_row)?,
            workloads: from_csv_if_there(folder, WORKLOADS_FILE, keyed_row)?,
            applications: from_csv_if_there(folder, APPLICATIONS_FILE, keyed_row)?,
            releases: from_csv_if_there(folder, RELEASES_FILE, keyed_row)?,
            application_timelines: read_application_timelines(folder)?,
            summary: Self::read_summary(folder)?,
            comparison: from_csv_if_there(folder, "comparison.csv", measure_row)?,
            timeline: from_csv(folder, "timeline.csv", row)?,
            clusters: from_csv(folder, "clusters.csv", keyed_row)?,
            passes: from_csv(folder, "passes.csv", keyed_row)?,
            statuses: from_csv_if_there(folder, "statuses.csv", keyed_row)?,
        })
    }
}

/// Rows of a run with its key.
fn keyed<Row: Clone>(key: &RunKey, rows: &[Row]) -> Vec<(RunKey, Row)> {
    rows.iter().map(|row| (key.clone(), row.clone())).collect()
}

/// The key of a run.
fn key(variant: &VariantRecord, replicate: u32) -> RunKey {
    RunKey {
        variant: variant.variant.clone(),
        strategy: variant.strategy.clone(),
        setting: variant.setting.clone(),
        replicate,
    }
}

/// The names of the fields, for a table that has a header even without rows.
pub(super) fn header<Row: Default + Serialize>() -> String {
    header_of(&Row::default())
}

/// The names of the fields of a row.
fn header_of(row: &impl Serialize) -> String {
    let text = String::from_utf8(to_csv("", [row])).expect("CSV is text");
    text.lines().next().unwrap_or_default().to_owned()
}

/// Rows as CSV below `header`, or below the names of their fields if `header` is empty.
pub(super) fn to_csv(header: &str, rows: impl IntoIterator<Item = impl Serialize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_csv(&mut bytes, header, rows).expect("writes to memory do not fail");
    bytes
}

/// Runs as CSV.
pub(super) fn runs_csv<'r>(runs: impl Iterator<Item = &'r RunRow> + Clone) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_runs(&mut bytes, runs).expect("writes to memory do not fail");
    bytes
}

/// Writes runs. Columns of measures that only some runs have are written only if a run has them.
fn write_runs<'r>(
    out: &mut dyn Write,
    runs: impl Iterator<Item = &'r RunRow> + Clone,
) -> io::Result<()> {
    let measures = Measure::columns(&runs);
    let rows = runs.map(|run| RunColumns {
        run,
        measures: &measures,
    });
    write_csv(out, "", rows)
}

/// Writes registries and links, with the columns of limits and prices that some row has.
fn write_registries(out: &mut dyn Write, rows: &[(RunKey, RegistryRow)]) -> io::Result<()> {
    let groups = RegistryGroups::of(rows.iter().map(|(_, row)| row));
    let bare = RegistryRow::default();
    let first = (RunKey::default(), RegistryColumns { row: &bare, groups });
    let columns = rows
        .iter()
        .map(|(key, row)| (key, RegistryColumns { row, groups }));
    write_csv(out, &header_of(&first), columns)
}

/// Writes targets, with the column of applications if there are several.
fn write_clusters(out: &mut dyn Write, rows: &[(RunKey, ClusterRow)]) -> io::Result<()> {
    let has_applications = rows.iter().any(|(_, row)| !row.application.is_empty());
    let bare = ClusterRow::default();
    let first = ClusterColumns {
        row: &bare,
        has_applications,
    };
    let columns = rows.iter().map(|(key, row)| {
        let columns = ClusterColumns {
            row,
            has_applications,
        };
        (key, columns)
    });
    write_csv(out, &header_of(&(RunKey::default(), first)), columns)
}

/// Writes the applications of displayed runs over time.
fn write_application_timelines(
    out: &mut dyn Write,
    timelines: &[(RunKey, ApplicationTimeline)],
) -> io::Result<()> {
    let rows = timelines
        .iter()
        .flat_map(|(key, timeline)| timeline.rows().map(move |row| (key, row)));
    write_csv(out, &header::<(RunKey, ApplicationTimelineRow)>(), rows)
}

/// Reads the applications of displayed runs over time. Empty if the folder does not have the table.
fn read_application_timelines(
    folder: &Path,
) -> Result<Vec<(RunKey, ApplicationTimeline)>, ResultsError> {
    let rows: Vec<(RunKey, ApplicationTimelineRow)> =
        from_csv_if_there(folder, APPLICATIONS_TIMELINE_FILE, keyed_row)?;
    let mut timelines: Vec<(RunKey, ApplicationTimeline)> = Vec::new();
    for (key, row) in rows {
        if timelines.last().is_none_or(|(last, _)| *last != key) {
            timelines.push((key, ApplicationTimeline::default()));
        }
        if let Some((_, timeline)) = timelines.last_mut() {
            timeline.push(row);
        }
    }
    Ok(timelines)
}

/// Like [`to_csv`], row by row.
fn write_csv(
    out: &mut dyn Write,
    header: &str,
    rows: impl IntoIterator<Item = impl Serialize>,
) -> io::Result<()> {
    let mut rows = rows.into_iter().peekable();
    if !header.is_empty() || rows.peek().is_none() {
        writeln!(out, "{header}")?;
    }
    let mut writer = csv::WriterBuilder::new()
        .has_headers(header.is_empty())
        .from_writer(FormulasAsText::new(out));
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()
}

/// Reads a row, given the header of its table. `None`: the row is left out.
type RowReader<Row> = fn(&StringRecord, &StringRecord) -> csv::Result<Option<Row>>;

/// Reads the rows of a file; `read` converts each row, given the header. All numbers must be finite, as in every
/// written file.
fn from_csv<Row: Serialize>(
    folder: &Path,
    name: &str,
    read: RowReader<Row>,
) -> Result<Vec<Row>, ResultsError> {
    let path = folder.join(name);
    let file = open_below(folder, name).map_err(ResultsError::io("read", &path))?;
    let mut reader = csv::Reader::from_reader(file);
    rows_of(&mut reader, read).map_err(|problem| ResultsError::Table(path, problem))
}

/// The rows of a table, or its first problem in words.
fn rows_of<Row: Serialize>(
    reader: &mut csv::Reader<File>,
    read: RowReader<Row>,
) -> Result<Vec<Row>, String> {
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let row = read(&record, &header).map_err(|error| in_words(&error, &header))?;
        let Some(row) = row else {
            continue;
        };
        if let Some(column) = infinite(&record, &header, &row) {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(format!(
                "line {line}, column `{column}`: it must be a finite number"
            ));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A column in which this row has a number that is not finite.
fn infinite<'h>(
    record: &StringRecord,
    header: &'h StringRecord,
    row: &impl Serialize,
) -> Option<&'h str> {
    let mut suspects: Vec<&str> = Vec::new();
    for (column, cell) in header.iter().zip(record) {
        if cell.parse::<f64>().is_ok_and(|number| !number.is_finite()) {
            suspects.push(column);
        }
    }
    if suspects.is_empty() {
        return None;
    }
    let row = serde_json::to_value(row).ok()?;
    suspects.into_iter().find(|column| is_null(&row, column))
}

/// Returns whether a row, converted to JSON, is null in a column: JSON has no infinite numbers, and texts stay texts.
fn is_null(row: &Value, column: &str) -> bool {
    match row {
        Value::Array(parts) => parts.iter().any(|part| is_null(part, column)),
        row => row.get(column).is_some_and(Value::is_null),
    }
}

/// The error of a row, with its line and the name of the column.
fn in_words(error: &csv::Error, header: &StringRecord) -> String {
    let csv::ErrorKind::Deserialize { pos: Some(at), err } = error.kind() else {
        return error.to_string();
    };
    let column = err.field().and_then(|index| header.get(index as usize));
    let column = match column {
        Some(column) => format!(", column `{column}`"),
        None => String::new(),
    };
    format!("line {}{column}: {}", at.line(), err.kind())
}

/// Like [`from_csv`], for a file that may be missing: results of versions before 1.0, and of some studies, do not have
/// it.
pub(super) fn from_csv_if_there<Row: Serialize>(
    folder: &Path,
    name: &str,
    read: RowReader<Row>,
) -> Result<Vec<Row>, ResultsError> {
    if folder.join(name).exists() {
        from_csv(folder, name, read)
    } else {
        Ok(Vec::new())
    }
}

/// The header and the records of a file.
fn read_records(folder: &Path, name: &str) -> Result<Vec<Vec<String>>, ResultsError> {
    let path = folder.join(name);
    let file = open_below(folder, name).map_err(ResultsError::io("read", &path))?;
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(file);
    reader
        .into_deserialize()
        .collect::<Result<_, _>>()
        .map_err(|error: csv::Error| ResultsError::Table(path, error.to_string()))
}

/// Deserialises a row whose fields are the columns of the table.
pub(super) fn row<Row: DeserializeOwned>(
    record: &StringRecord,
    header: &StringRecord,
) -> csv::Result<Option<Row>> {
    record.deserialize(Some(header)).map(Some)
}

/// Reads a row of a table that has a row for each measure. A measure that this version does not know is left out, like
/// an unknown column of `runs.csv`.
pub(super) fn measure_row<Row: DeserializeOwned>(
    record: &StringRecord,
    header: &StringRecord,
) -> csv::Result<Option<Row>> {
    let column = header.iter().position(|column| column == "measure");
    let measure = column.and_then(|column| record.get(column));
    if measure.is_some_and(|measure| measure.parse::<Measure>().is_err()) {
        return Ok(None);
    }
    row(record, header)
}

/// Reads a row that begins with a run's key. Each half reads its columns by name and skips the others.
fn keyed_row<Row: DeserializeOwned>(
    record: &StringRecord,
    header: &StringRecord,
) -> csv::Result<Option<(RunKey, Row)>> {
    let key = record.deserialize(Some(header))?;
    let row = record.deserialize(Some(header))?;
    Ok(Some((key, row)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_documented, run_record, variant};
    use super::super::{ApplicationBin, ApplicationSeries, RunOutcome, RunRecord, SeriesRow};
    use super::*;

    fn cluster() -> ClusterRow {
        ClusterRow {
            application: "shop".to_owned(),
            cluster: "store, \"north\"".to_owned(),
            stage: String::new(),
            group: "store-{1..9}".to_owned(),
            region: "north".to_owned(),
            nodes: 3,
            downlink_bytes_per_s: 12.5e6,
            rtt_s: 0.03,
            offline: true,
            defective: false,
            instructed_s: Some(0.1 + 0.2),
            applied_s: None,
            first_pull_s: None,
            last_pull_s: None,
            ready_s: None,
            pulls: 3,
            failed_pulls: 0,
            received_bytes: u64::MAX,
        }
    }

    fn pass() -> PassRow {
        PassRow {
            t_s: 1e-9,
            passes: 1,
            duration_s: 2.5,
            created: 1,
            promoted: 2,
            unavailable: 3,
        }
    }

    fn status() -> StatusRow {
        StatusRow {
            t_s: 0.1 + 0.2,
            object: "Bundle/app".to_owned(),
            condition: "Ready".to_owned(),
            status: "False".to_owned(),
            reason: String::new(),
            message: "NotReady(1) [Cluster fleet-default/a]; WaitApplied(2), \"b\"".to_owned(),
        }
    }

    fn workload(name: &str, ready_s: Option<f64>) -> WorkloadRow {
        WorkloadRow {
            workload: name.to_owned(),
            ready_s,
        }
    }

    fn application(name: &str, completion_s: Option<f64>) -> ApplicationRow {
        ApplicationRow {
            application: name.to_owned(),
            targets: 3,
            targets_done: 2,
            left_behind: 1,
            reachable_targets: 2,
            release_s: Some(600.0),
            completion_s,
            reachable_ready_s: Some(0.1 + 0.2),
            peak_pulls: 2,
            pulls: 4,
            failed_pulls: 1,
            received_bytes: u64::MAX,
            defective_targets: 1,
            exposed_targets: 1,
        }
    }

    fn release() -> ReleaseRow {
        ReleaseRow {
            application: "shop".to_owned(),
            release: 2,
            content: "installed".to_owned(),
            cause: "failed > 5".to_owned(),
            noticed_s: Some(0.1 + 0.2),
            published_s: Some(600.0),
            superseded_s: None,
            completion_s: Some(9.5),
            targets_done: 3,
            egress_bytes: u64::MAX,
            exposed_target_hours: 0.1 + 0.7,
        }
    }

    fn over_time(name: &str, pulls: u64) -> ApplicationSeries {
        ApplicationSeries {
            application: name.to_owned(),
            bins: vec![ApplicationBin {
                pulls: pulls + 1,
                pulls_at_peak: pulls,
                ready_new: 2,
            }],
        }
    }

    /// Returns a run with a row in every table.
    fn full_run(replicate: u32, peak: u64) -> RunRecord {
        RunRecord {
            application_series: vec![over_time("shop", peak - 1), over_time("(others)", 1)],
            applications: vec![application("shop", None), application("till", Some(9.5))],
            releases: vec![release()],
            workloads: vec![workload("shop", Some(0.1 + 0.2)), workload("till", None)],
            clusters: vec![cluster()],
            passes: vec![pass()],
            statuses: vec![status()],
            series: vec![SeriesRow {
                pulls: peak,
                ..SeriesRow::default()
            }],
            ..run_record(replicate, peak)
        }
    }

    fn two_variants() -> Vec<VariantRecord> {
        let mut stalled = full_run(1, 4);
        stalled.run.outcome = RunOutcome::Stalled;
        stalled.run.completion_s = None;
        stalled.run.held_by = "maxUnavailable".to_owned();
        stalled.run.held_detail = "one cluster, \"north\", is offline".to_owned();
        let complete = vec![full_run(0, 9), full_run(1, 7), full_run(2, 8)];
        vec![
            variant("all at once", complete),
            variant("one", vec![full_run(0, 4), stalled]),
        ]
    }

    #[test]
    fn tables_read_back_as_they_were_written() {
        let tables = Tables::of(&two_variants(), 1);
        assert_eq!(
            (
                tables.runs.len(),
                tables.clusters.len(),
                tables.passes.len()
            ),
            (5, 2, 2)
        );
        assert_eq!(tables.statuses.len(), 2);
        assert_eq!((tables.variants.len(), tables.registries.len()), (3, 5));
        assert_eq!((tables.workloads.len(), tables.files().len()), (10, 13));
        assert_eq!((tables.applications.len(), tables.releases.len()), (10, 5));
        assert_eq!(
            tables.application_timelines.len(),
            2,
            "a run of each variant"
        );
        let own = Measure::ALL
            .iter()
            .filter(|measure| measure.is_own())
            .count();
        assert_eq!(tables.summary.len(), 2 * (Measure::ALL.len() - own));
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in tables.files() {
            std::fs::write(folder.path().join(name), bytes).expect("written");
        }
        assert_eq!(Tables::read(folder.path()).expect("readable"), tables);
    }

    #[test]
    fn one_workload_alone_has_no_table() {
        let tables = Tables::of(&[variant("v", vec![run_record(0, 1)])], 1);
        let files = tables.files();
        assert!(files.iter().all(|(name, _)| *name != WORKLOADS_FILE));
        assert!(files.iter().all(|(name, _)| *name != APPLICATIONS_FILE));
        assert!(files.iter().all(|(name, _)| *name != RELEASES_FILE));
        assert!(
            files
                .iter()
                .all(|(name, _)| *name != APPLICATIONS_TIMELINE_FILE)
        );
    }

    /// Returns the table of clusters of a run with a deployment of this application.
    fn clusters_csv(application: &str) -> String {
        let mut run = run_record(0, 1);
        run.clusters.push(ClusterRow {
            application: application.to_owned(),
            ..ClusterRow::default()
        });
        let mut files = Tables::of(&[variant("v", vec![run])], 1).files();
        files.retain(|(name, _)| *name == "clusters.csv");
        String::from_utf8(files.remove(0).1).expect("CSV is text")
    }

    #[test]
    fn clusters_have_a_column_of_applications_only_if_there_are_several() {
        let one = clusters_csv("");
        assert!(one.starts_with("variant,strategy,setting,replicate,cluster,"));
        let several = clusters_csv("shop");
        assert!(
            several.starts_with("variant,strategy,setting,replicate,application,cluster,")
                && several.contains(",0,shop,,"),
            "{several}"
        );
    }

    #[test]
    fn a_measure_from_a_later_version_is_ignored() {
        let tables = Tables::of(&two_variants(), 1);
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in tables.files() {
            let mut text = String::from_utf8(bytes).expect("CSV is text");
            if name == "summary.csv" {
                text = text.replace(",peak_pulls,", ",peak_of_later,");
            }
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let read = Tables::read(folder.path()).expect("readable");
        assert_eq!(read.summary.len(), tables.summary.len() - 2);
        assert!(
            read.summary
                .iter()
                .all(|row| row.measure != Measure::PeakPulls)
        );
    }

    #[test]
    fn numbers_of_every_table_must_be_finite() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut tables = Tables::of(&two_variants(), 1);
        tables.statuses[0].1.reason = "NaN".to_owned();
        let refused = |change: &dyn Fn(&mut Tables, f64), place: &str| {
            for number in [f64::NAN, f64::INFINITY] {
                let mut tables = tables.clone();
                change(&mut tables, number);
                for (name, bytes) in tables.files() {
                    std::fs::write(folder.path().join(name), bytes).expect("written");
                }
                let error = Tables::read(folder.path())
                    .expect_err("no statistic can be made")
                    .to_string();
                assert!(
                    error.contains(place) && error.contains("must be a finite number"),
                    "{place}: {error}"
                );
            }
        };
        let of_runs =
            "runs.csv is not a valid results table: line 2, column `reachable_ready_s`: it must";
        refused(
            &|tables, number| tables.runs[0].reachable_ready_s = Some(number),
            of_runs,
        );
        refused(
            &|tables, number| tables.summary[1].median = Some(number),
            "line 3, column `median`",
        );
        refused(
            &|tables, number| tables.timeline[0].pulls_p50 = number,
            "line 2, column `pulls_p50`",
        );
        refused(
            &|tables, number| tables.clusters[1].1.instructed_s = Some(number),
            "line 3, column `instructed_s`",
        );
        refused(
            &|tables, number| tables.registries[0].1.egress_busy_share = Some(number),
            "column `egress_busy_share`",
        );
        for (name, bytes) in tables.files() {
            std::fs::write(folder.path().join(name), bytes).expect("written");
        }
        assert_eq!(
            Tables::read(folder.path()).expect("a text is no number"),
            tables
        );
    }

    #[test]
    fn every_table_shows_the_same_replicate_of_all_variants() {
        let tables = Tables::of(&two_variants(), 1);
        let mut shown: Vec<u32> = tables
            .clusters
            .iter()
            .map(|(key, _)| key.replicate)
            .collect();
        shown.extend(tables.passes.iter().map(|(key, _)| key.replicate));
        shown.extend(tables.timeline.iter().map(|row| row.replicate));
        // Peaks 9, 7, 8 and 4, 4; the second variant has no third run, and its second run did not finish.
        assert_eq!(shown, [0; 6]);
        let curves: Vec<u64> = tables.timeline.iter().map(|row| row.pulls).collect();
        assert_eq!(curves, [9, 4], "the curves are those of replicate 0");
    }

    #[test]
    fn the_error_for_a_damaged_table_names_the_file_and_the_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in Tables::of(&two_variants(), 1).files() {
            std::fs::write(folder.path().join(name), bytes).expect("written");
        }
        let passes = folder.path().join("passes.csv");
        let damaged = std::fs::read_to_string(&passes)
            .expect("readable")
            .replace("2.5", "soon");
        std::fs::write(&passes, damaged).expect("written");
        let error = Tables::read(folder.path())
            .expect_err("`soon` is not a number")
            .to_string();
        assert!(
            error.contains("passes.csv") && error.contains("run the experiment again"),
            "{error}"
        );
        assert!(
            error.contains("line 2, column `duration_s`: invalid float"),
            "{error}"
        );
        std::fs::remove_file(&passes).expect("removed");
        let error = Tables::read(folder.path())
            .expect_err("a missing table")
            .to_string();
        assert!(
            error.contains("cannot read") && error.contains("passes.csv"),
            "{error}"
        );
    }

    #[test]
    fn every_column_is_documented() {
        let documentation = include_str!("../../../../docs/results-format.md");
        for (name, bytes) in Tables::of(&two_variants(), 1).files() {
            // The other columns are the swept settings.
            let bytes = if name == "variants.csv" {
                b"variant,strategy".to_vec()
            } else {
                bytes
            };
            assert_documented(name, &bytes);
        }
        for measure in Measure::ALL {
            assert!(
                documentation.contains(measure.definition()),
                "{}: {}",
                measure.column(),
                measure.definition()
            );
        }
    }

    #[test]
    fn a_table_without_rows_has_the_same_header() {
        let header = |(name, bytes): (&'static str, Vec<u8>)| {
            let text = String::from_utf8(bytes).expect("CSV is text");
            (name, text.lines().next().unwrap_or_default().to_owned())
        };
        let mut full: Vec<_> = Tables::of(&two_variants(), 1)
            .files()
            .into_iter()
            .map(header)
            .collect();
        let optional = [
            WORKLOADS_FILE,
            APPLICATIONS_FILE,
            RELEASES_FILE,
            APPLICATIONS_TIMELINE_FILE,
        ];
        full.retain(|(name, _)| !optional.contains(name));
        for (_, header) in &mut full {
            *header = header.replace(",application,cluster,", ",cluster,");
        }
        let bare = Tables::of(&[variant("v", vec![run_record(0, 1)])], 1);
        assert!(bare.timeline.is_empty() && bare.clusters.is_empty() && bare.passes.is_empty());
        let empty: Vec<_> = bare.files().into_iter().map(header).collect();
        assert_eq!(empty, full);
    }

    #[test]
    fn every_numeric_column_of_a_run_is_a_measure() {
        let first = "variant,strategy,setting,replicate,outcome,held_by,held_detail";
        let plain = run_record(0, 1).run;
        let mut counted = run_record(1, 1).run;
        counted.peak_instances = Some(55);
        counted.removed_targets = Some(3);
        let mut scaled = run_record(1, 1).run;
        scaled.joined_nodes = Some(2);
        let mut priced = run_record(2, 1).run;
        priced.cost = Some(1.25);
        priced.currency = "USD".to_owned();
        let of_strategies = [Measure::PeakInstances, Measure::RemovedTargets];
        let cases = [
            (vec![plain.clone()], Vec::new()),
            // A run without the measure has an empty cell.
            (vec![plain.clone(), counted], of_strategies.to_vec()),
            (vec![plain.clone(), scaled], vec![Measure::JoinedNodes]),
            (vec![plain, priced], vec![Measure::Cost]),
        ];
        for (runs, own) in cases {
            let text = String::from_utf8(runs_csv(runs.iter())).expect("CSV is text");
            let mut columns = vec![first];
            if own.contains(&Measure::Cost) {
                columns.push("currency");
            }
            for measure in Measure::ALL {
                if own.contains(measure) || !measure.is_own() {
                    columns.push(measure.column());
                }
            }
            assert_eq!(text.lines().next(), Some(columns.join(",").as_str()));
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let read: Vec<RunRow> = reader
                .deserialize()
                .collect::<Result<_, _>>()
                .expect("as it was written");
            assert_eq!(read, runs);
        }
    }
}
