//! `series.parquet`: the time series of every run. `timeline.csv` only has one run for each variant.
//!
//! A study of 100 variants may have 100 million bins, too many for CSV. Columns have the types that DuckDB and pandas
//! infer for the CSV files, so that tables join without a cast: counts are 64-bit integers, times and rates doubles,
//! an empty text NULL.
//!
//! The bytes depend only on the rows, this program's version and its locked dependencies: there is no time stamp, and
//! one thread writes. Rows are in the order of variants, replicates, bins. A row group has up to about a million rows
//! (DuckDB reads groups in parallel) and is written column by column from the runs.
//!
//! `applications-series.parquet` has the series of applications, in a file of its own because its rows are not the bins
//! of a run. Only runs in detail have them: the displayed run of each variant.
//!
//! Left out: the clusters and passes of every run, which a study does not keep.

use std::sync::Arc;

use itertools::Itertools;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RecordWriter;
use parquet::schema::types::ColumnPath;
use parquet_derive::ParquetRecordWriter;

use super::{RunRecord, SeriesRow, VariantRecord};

/// The name of the file in a results folder.
pub const SERIES_FILE: &str = "series.parquet";

/// The name of the file of applications in a results folder.
pub const APPLICATION_SERIES_FILE: &str = "applications-series.parquet";

/// Maximum number of rows of a row group.
const GROUP_ROWS_MAX: usize = 1 << 20;

/// One bin of one run.
#[derive(Default, ParquetRecordWriter)]
struct SeriesRecord<'a> {
    variant: Option<&'a str>,
    strategy: Option<&'a str>,
    setting: Option<&'a str>,
    replicate: i64,
    bin_s: f64,
    t_s: f64,
    pulls: i64,
    downloads: i64,
    egress_bytes_per_s: f64,
    egress_peak_1s_bytes_per_s: f64,
    ready_new: i64,
    updating: i64,
    not_ready: i64,
    waiting: i64,
}

impl<'a> SeriesRecord<'a> {
    fn of(variant: &'a VariantRecord, run: &RunRecord, row: &SeriesRow) -> Self {
        Self {
            variant: text(&variant.variant),
            strategy: text(&variant.strategy),
            setting: text(&variant.setting),
            replicate: run.run.replicate.into(),
            bin_s: run.bin_s,
            t_s: row.t_s,
            pulls: count(row.pulls),
            downloads: count(row.downloads),
            egress_bytes_per_s: row.egress_bytes_per_s,
            egress_peak_1s_bytes_per_s: row.egress_peak_1s_bytes_per_s,
            ready_new: count(row.ready_new),
            updating: count(row.updating),
            not_ready: count(row.not_ready),
            waiting: count(row.waiting),
        }
    }
}

/// One bin of one application of a run.
#[derive(Default, ParquetRecordWriter)]
struct ApplicationSeriesRecord<'a> {
    variant: Option<&'a str>,
    strategy: Option<&'a str>,
    setting: Option<&'a str>,
    replicate: i64,
    application: Option<&'a str>,
    bin_s: f64,
    t_s: f64,
    pulls: i64,
    pulls_at_peak: i64,
    ready_new: i64,
}

/// A text cell; `None` for an empty text.
fn text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// A count cell.
fn count(count: u64) -> i64 {
    i64::try_from(count).expect("nothing is counted so far")
}

/// The bytes of `series.parquet`: one row for each bin of each run.
#[must_use]
pub fn series_parquet(variants: &[VariantRecord]) -> Vec<u8> {
    write(variants, GROUP_ROWS_MAX)
        .expect("the schema fits the columns, and writes to memory do not fail")
}

/// The bytes of `applications-series.parquet`: one row for each bin of each application. `None`: no run has any.
#[must_use]
pub fn application_series_parquet(variants: &[VariantRecord]) -> Option<Vec<u8>> {
    let mut rows = Vec::new();
    for variant in variants {
        for run in &variant.runs {
            for series in &run.application_series {
                for (at, bin) in series.bins.iter().enumerate() {
                    rows.push(ApplicationSeriesRecord {
                        variant: text(&variant.variant),
                        strategy: text(&variant.strategy),
                        setting: text(&variant.setting),
                        replicate: run.run.replicate.into(),
                        application: text(&series.application),
                        bin_s: run.bin_s,
                        t_s: at as f64 * run.bin_s,
                        pulls: count(bin.pulls),
                        pulls_at_peak: count(bin.pulls_at_peak),
                        ready_new: count(bin.ready_new),
                    });
                }
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let written = write_applications(&rows);
    Some(written.expect("the schema fits the columns, and writes to memory do not fail"))
}

fn write_applications(rows: &[ApplicationSeriesRecord<'_>]) -> Result<Vec<u8>, ParquetError> {
    let schema = rows.schema()?;
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties()?))?;
    for group in rows.chunks(GROUP_ROWS_MAX) {
        let mut row_group = writer.next_row_group()?;
        group.write_to_row_group(&mut row_group)?;
        row_group.close()?;
    }
    writer.into_inner()
}

fn write(variants: &[VariantRecord], group_rows_max: usize) -> Result<Vec<u8>, ParquetError> {
    let schema = [SeriesRecord::default()].as_slice().schema()?;
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties()?))?;
    let runs = variants
        .iter()
        .flat_map(|variant| variant.runs.iter().map(move |run| (variant, run)));
    let rows = runs.flat_map(|(variant, run)| {
        run.series
            .iter()
            .map(move |row| SeriesRecord::of(variant, run, row))
    });
    for group in &rows.chunks(group_rows_max) {
        let mut row_group = writer.next_row_group()?;
        group
            .collect_vec()
            .as_slice()
            .write_to_row_group(&mut row_group)?;
        row_group.close()?;
    }
    writer.into_inner()
}

/// Sets the encoding of each column to the one with the fewest bytes for the series of our experiments. The default is
/// a dictionary.
fn properties() -> Result<WriterProperties, ParquetError> {
    // Neighbouring values differ little, so their differences are stored.
    let counts = [
        "pulls",
        "pulls_at_peak",
        "downloads",
        "ready_new",
        "updating",
        "not_ready",
        "waiting",
    ];
    let counts = counts.map(|name| (name, Encoding::DELTA_BINARY_PACKED));
    let encodings = [
        // Doubles have no delta encoding, but the split bytes of an even grid compress well: half a bit per row.
        ("t_s", Encoding::BYTE_STREAM_SPLIT),
        // Rates often repeat exactly, which zstd detects best in plain encoding.
        ("egress_bytes_per_s", Encoding::PLAIN),
        ("egress_peak_1s_bytes_per_s", Encoding::PLAIN),
    ];
    let mut properties = WriterProperties::builder()
        // The form that readers expect. The default would contain the build of the library.
        .set_created_by(concat!("fleetsim version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?));
    for (name, encoding) in counts.into_iter().chain(encodings) {
        let path = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, encoding);
    }
    Ok(properties.build())
}

#[cfg(test)]
mod tests {
    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::super::testing::{run_record, variant};
    use super::super::{ApplicationBin, ApplicationSeries};
    use super::*;

    /// Two variants, the second without a setting; the runs differ in length and in their bins.
    fn two_variants() -> Vec<VariantRecord> {
        let series = |bin_s: f64, bins: u64| -> Vec<SeriesRow> {
            let row = |bin: u64| SeriesRow {
                t_s: bin as f64 * bin_s,
                pulls: 7 * bin % 5,
                downloads: 3 * bin,
                egress_bytes_per_s: 1.25e9 / (bin + 1) as f64,
                egress_peak_1s_bytes_per_s: 2.5e9 / (bin + 1) as f64,
                ready_new: bin,
                updating: 2,
                not_ready: 1,
                waiting: bins - bin,
            };
            (0..bins).map(row).collect()
        };
        let run = |replicate, bin_s, bins| RunRecord {
            bin_s,
            series: series(bin_s, bins),
            ..run_record(replicate, 1)
        };
        let swept = variant(
            "s limit=1",
            vec![run(0, 1.0, 5), run(1, 2.0, 4), run(2, 1.0, 0)],
        );
        let mut plain = variant("all at once", vec![run(0, 1.0, 3)]);
        plain.setting.clear();
        vec![swept, plain]
    }

    fn open(bytes: &[u8]) -> SerializedFileReader<std::fs::File> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(SERIES_FILE);
        std::fs::write(&path, bytes).expect("written");
        SerializedFileReader::new(std::fs::File::open(path).expect("there"))
            .expect("a Parquet file")
    }

    /// The rows as text, with the names of their columns, and the number of rows in each group.
    fn read(bytes: &[u8]) -> (Vec<Vec<(String, String)>>, Vec<i64>) {
        let reader = open(bytes);
        let text = |field: &Field| match field {
            Field::Null => "NULL".to_owned(),
            Field::Str(text) => text.clone(),
            Field::Long(count) => count.to_string(),
            Field::Double(number) => format!("{number:?}"),
            other => panic!("no column is {other:?}"),
        };
        let rows = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| {
                let row = row.expect("a whole row");
                row.get_column_iter()
                    .map(|(name, field)| (name.clone(), text(field)))
                    .collect()
            })
            .collect();
        (
            rows,
            reader
                .metadata()
                .row_groups()
                .iter()
                .map(RowGroupMetaData::num_rows)
                .collect(),
        )
    }

    /// The expected rows, taken directly from the records.
    fn expected(variants: &[VariantRecord]) -> Vec<Vec<(String, String)>> {
        let mut rows = Vec::new();
        for variant in variants {
            let setting = if variant.setting.is_empty() {
                "NULL"
            } else {
                &variant.setting
            };
            for run in &variant.runs {
                for row in &run.series {
                    let columns = [
                        ("variant", variant.variant.clone()),
                        ("strategy", variant.strategy.clone()),
                        ("setting", setting.to_owned()),
                        ("replicate", run.run.replicate.to_string()),
                        ("bin_s", format!("{:?}", run.bin_s)),
                        ("t_s", format!("{:?}", row.t_s)),
                        ("pulls", row.pulls.to_string()),
                        ("downloads", row.downloads.to_string()),
                        (
                            "egress_bytes_per_s",
                            format!("{:?}", row.egress_bytes_per_s),
                        ),
                        (
                            "egress_peak_1s_bytes_per_s",
                            format!("{:?}", row.egress_peak_1s_bytes_per_s),
                        ),
                        ("ready_new", row.ready_new.to_string()),
                        ("updating", row.updating.to_string()),
                        ("not_ready", row.not_ready.to_string()),
                        ("waiting", row.waiting.to_string()),
                    ];
                    rows.push(
                        columns
                            .map(|(name, value)| (name.to_owned(), value))
                            .to_vec(),
                    );
                }
            }
        }
        rows
    }

    #[test]
    fn every_bin_of_every_run_reads_back_wherever_row_groups_end() {
        let variants = two_variants();
        let cases: [(usize, &[i64], &str); 4] = [
            (GROUP_ROWS_MAX, &[12], "all in one group"),
            (
                5,
                &[5, 5, 2],
                "the first run fills a group, the next variant begins within one",
            ),
            (4, &[4, 4, 4], "groups end within runs"),
            (1, &[1; 12], "a group a row"),
        ];
        for (rows_max, sizes, why) in cases {
            let (rows, groups) = read(&write(&variants, rows_max).expect("written"));
            assert_eq!(groups, sizes, "{why}");
            assert_eq!(rows, expected(&variants), "{why}");
        }
    }

    #[test]
    fn parquet_bytes_depend_on_the_rows_but_not_on_the_build() {
        let bytes = series_parquet(&two_variants());
        assert_eq!(bytes, series_parquet(&two_variants()));
        let reader = open(&bytes);
        let created_by = reader
            .metadata()
            .file_metadata()
            .created_by()
            .map(str::to_owned);
        assert_eq!(
            created_by,
            Some(format!("fleetsim version {}", env!("CARGO_PKG_VERSION")))
        );
    }

    #[test]
    fn a_study_without_time_series_has_a_file_with_columns_but_no_rows() {
        let bytes = series_parquet(&[variant("v", vec![run_record(0, 0)])]);
        let reader = open(&bytes);
        let metadata = reader.metadata().file_metadata();
        assert_eq!(metadata.num_rows(), 0);
        assert_eq!(metadata.schema_descr().num_columns(), 14);
    }

    #[test]
    fn applications_have_a_file_of_the_runs_that_recorded_them() {
        let mut variants = two_variants();
        assert!(application_series_parquet(&variants).is_none());
        let run = &mut variants[1].runs[0];
        for application in ["shop", "(others)"] {
            let mut bins = Vec::new();
            for at in 0..3 {
                bins.push(ApplicationBin {
                    pulls: 2 + at,
                    pulls_at_peak: at,
                    ready_new: 1,
                });
            }
            run.application_series.push(ApplicationSeries {
                application: application.to_owned(),
                bins,
            });
        }
        let (rows, groups) = read(&application_series_parquet(&variants).expect("rows"));
        assert_eq!(groups, [6]);
        let cells: Vec<&str> = rows[4].iter().map(|(_, value)| value.as_str()).collect();
        let name = variants[1].variant.as_str();
        let strategy = variants[1].strategy.as_str();
        let wanted = [
            name, strategy, "NULL", "0", "(others)", "1.0", "1.0", "3", "1", "1",
        ];
        assert_eq!(cells, wanted);
        let documentation = include_str!("../../../../docs/results-format.md");
        let section = documentation
            .split("\n## ")
            .find(|section| section.starts_with(&format!("`{APPLICATION_SERIES_FILE}`")))
            .expect("the file has a section");
        for (column, _) in &rows[0] {
            assert!(section.contains(&format!("`{column}`")), "{column}");
        }
    }

    #[test]
    fn every_column_is_documented() {
        let documentation = include_str!("../../../../docs/results-format.md");
        let section = documentation
            .split("\n## ")
            .find(|section| section.starts_with(&format!("`{SERIES_FILE}`")))
            .expect("the file has a section");
        for column in [SeriesRecord::default()]
            .as_slice()
            .schema()
            .expect("a schema")
            .get_fields()
        {
            let name = column.name();
            assert!(
                section.contains(&format!("`{name}`")),
                "{name} is documented"
            );
        }
    }
}
