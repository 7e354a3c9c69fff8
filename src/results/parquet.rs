//! `series.parquet`: the time series of every run; `timeline.csv` has that of one run for each variant.
//!
//! A study of 100 variants may have 100 million bins, too many for CSV. Columns have the types that DuckDB and pandas
//! infer for the CSV files, so that tables join without a cast: counts are 64-bit integers, times and rates doubles,
//! an empty text NULL.
//!
//! The bytes depend only on the rows, this program's version and its locked dependencies: there is no time stamp, and
//! one thread writes. Rows are in the order of variants, replicates, bins. A row group has up to about a million rows
//! (DuckDB reads groups in parallel) and is written column by column from the runs.
//!
//! Left out: the clusters and passes of every run, which a study does not keep.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::{RunRecord, SeriesRow, VariantRecord};

/// The name of the file in a results folder.
pub const SERIES_FILE: &str = "series.parquet";

/// Most rows of a row group.
const GROUP_ROWS_MAX: usize = 1 << 20;

/// The type of a column, and its source.
enum SeriesColumn {
    /// The same for all rows of a variant; NULL when empty.
    Text(fn(&VariantRecord) -> &str),
    /// The same for all rows of a run, or one a bin.
    Count(fn(&RunRecord, &SeriesRow) -> u64),
    /// Likewise, with a unit.
    Number(fn(&RunRecord, &SeriesRow) -> f64),
}

use SeriesColumn::{Count, Number, Text};

const COLUMNS: [(&str, SeriesColumn); 14] = [
    ("variant", Text(|variant| &variant.variant)),
    ("strategy", Text(|variant| &variant.strategy)),
    ("setting", Text(|variant| &variant.setting)),
    ("replicate", Count(|run, _| u64::from(run.run.replicate))),
    ("bin_s", Number(|run, _| run.bin_s)),
    ("t_s", Number(|_, row| row.t_s)),
    ("pulls", Count(|_, row| row.pulls)),
    ("downloads", Count(|_, row| row.downloads)),
    ("egress_bytes_per_s", Number(|_, row| row.egress_bytes_per_s)),
    ("egress_peak_1s_bytes_per_s", Number(|_, row| row.egress_peak_1s_bytes_per_s)),
    ("ready_new", Count(|_, row| row.ready_new)),
    ("updating", Count(|_, row| row.updating)),
    ("not_ready", Count(|_, row| row.not_ready)),
    ("waiting", Count(|_, row| row.waiting)),
];

/// The bytes of `series.parquet`: one row for each bin of each run.
#[must_use]
pub fn series_parquet(variants: &[VariantRecord]) -> Vec<u8> {
    write(variants, GROUP_ROWS_MAX).expect("the schema fits the columns, and memory takes every byte")
}

fn write(variants: &[VariantRecord], group_rows_max: usize) -> Result<Vec<u8>, ParquetError> {
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema()?), Arc::new(properties()?))?;
    for parts in groups(variants, group_rows_max) {
        let mut group = writer.next_row_group()?;
        for (_, column) in &COLUMNS {
            match column {
                Text(of) => write_text(&mut group, &parts, *of)?,
                Count(of) => write_values::<Int64Type>(&mut group, &parts, |run, row| {
                    i64::try_from(of(run, row)).expect("nothing is counted so far")
                })?,
                Number(of) => write_values::<DoubleType>(&mut group, &parts, of)?,
            }
        }
        group.close()?;
    }
    writer.into_inner()
}

/// Rows of one run that lie in one row group.
struct RunPart<'a> {
    variant: &'a VariantRecord,
    run: &'a RunRecord,
    rows: &'a [SeriesRow],
}

/// All rows in order, cut into groups of at most `rows_max`.
fn groups(variants: &[VariantRecord], rows_max: usize) -> Vec<Vec<RunPart<'_>>> {
    let mut groups: Vec<Vec<RunPart<'_>>> = Vec::new();
    let mut free = 0;
    for variant in variants {
        for run in &variant.runs {
            let mut rows = run.series.as_slice();
            while !rows.is_empty() {
                if free == 0 {
                    groups.push(Vec::new());
                    free = rows_max;
                }
                let (now, later) = rows.split_at(rows.len().min(free));
                groups.last_mut().expect("one is open").push(RunPart { variant, run, rows: now });
                free -= now.len();
                rows = later;
            }
        }
    }
    groups
}

fn write_text(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    parts: &[RunPart<'_>],
    of: fn(&VariantRecord) -> &str,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    for part in parts {
        let text = of(part.variant);
        let is_there = i16::from(!text.is_empty());
        let values = vec![ByteArray::from(text); if text.is_empty() { 0 } else { part.rows.len() }];
        column.typed::<ByteArrayType>().write_batch(&values, Some(&vec![is_there; part.rows.len()]), None)?;
    }
    column.close()
}

fn write_values<Value: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    parts: &[RunPart<'_>],
    of: impl Fn(&RunRecord, &SeriesRow) -> Value::T,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    for part in parts {
        let values: Vec<Value::T> = part.rows.iter().map(|row| of(part.run, row)).collect();
        column.typed::<Value>().write_batch(&values, None, None)?;
    }
    column.close()
}

fn schema() -> Result<Type, ParquetError> {
    let field = |(name, column): &(&str, SeriesColumn)| {
        let field = match column {
            Text(_) => Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(Some(LogicalType::String)),
            Count(_) => Type::primitive_type_builder(name, Physical::INT64).with_repetition(Repetition::REQUIRED),
            Number(_) => Type::primitive_type_builder(name, Physical::DOUBLE).with_repetition(Repetition::REQUIRED),
        };
        field.build().map(Arc::new)
    };
    let fields = COLUMNS.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("series").with_fields(fields).build()
}

fn properties() -> Result<WriterProperties, ParquetError> {
    let properties = WriterProperties::builder()
        // In the form that readers look for, without the build of the library that would be there by default.
        .set_created_by(concat!("fleetsim version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?));
    Ok(COLUMNS.iter().fold(properties, encode).build())
}

/// How a column is encoded: as takes the fewest bytes for the series of our experiments. The default is a dictionary.
fn encode(properties: WriterPropertiesBuilder, (name, column): &(&str, SeriesColumn)) -> WriterPropertiesBuilder {
    let encoding = match (*name, column) {
        ("replicate" | "bin_s", _) | (_, Text(_)) => return properties,
        // Neighbours differ by little.
        (_, Count(_)) => Encoding::DELTA_BINARY_PACKED,
        // Doubles have no delta encoding, but the bytes of an even grid fall into place: half a bit a row.
        ("t_s", _) => Encoding::BYTE_STREAM_SPLIT,
        // Rates repeat as a whole, which zstd finds best when they are left whole.
        (_, Number(_)) => Encoding::PLAIN,
    };
    let path = ColumnPath::from(*name);
    properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
}

#[cfg(test)]
mod tests {
    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::super::testing::{run_record, variant};
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
        let run = |replicate, bin_s, bins| RunRecord { bin_s, series: series(bin_s, bins), ..run_record(replicate, 1) };
        let swept = variant("s limit=1", vec![run(0, 1.0, 5), run(1, 2.0, 4), run(2, 1.0, 0)]);
        let mut plain = variant("all at once", vec![run(0, 1.0, 3)]);
        plain.setting.clear();
        vec![swept, plain]
    }

    fn open(bytes: &[u8]) -> SerializedFileReader<std::fs::File> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(SERIES_FILE);
        std::fs::write(&path, bytes).expect("written");
        SerializedFileReader::new(std::fs::File::open(path).expect("there")).expect("a Parquet file")
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
                row.get_column_iter().map(|(name, field)| (name.clone(), text(field))).collect()
            })
            .collect();
        (rows, reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect())
    }

    /// The same rows, straight from the records.
    fn expected(variants: &[VariantRecord]) -> Vec<Vec<(String, String)>> {
        let mut rows = Vec::new();
        for variant in variants {
            let setting = if variant.setting.is_empty() { "NULL" } else { &variant.setting };
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
                        ("egress_bytes_per_s", format!("{:?}", row.egress_bytes_per_s)),
                        ("egress_peak_1s_bytes_per_s", format!("{:?}", row.egress_peak_1s_bytes_per_s)),
                        ("ready_new", row.ready_new.to_string()),
                        ("updating", row.updating.to_string()),
                        ("not_ready", row.not_ready.to_string()),
                        ("waiting", row.waiting.to_string()),
                    ];
                    rows.push(columns.map(|(name, value)| (name.to_owned(), value)).to_vec());
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
            (5, &[5, 5, 2], "the first run fills a group, the next variant begins within one"),
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
    fn the_same_rows_are_the_same_bytes_and_name_no_build() {
        let bytes = series_parquet(&two_variants());
        assert_eq!(bytes, series_parquet(&two_variants()));
        let reader = open(&bytes);
        let created_by = reader.metadata().file_metadata().created_by().map(str::to_owned);
        assert_eq!(created_by, Some(format!("fleetsim version {}", env!("CARGO_PKG_VERSION"))));
    }

    #[test]
    fn a_study_without_a_series_is_a_file_without_rows_that_names_its_columns() {
        let bytes = series_parquet(&[variant("v", vec![run_record(0, 0)])]);
        let reader = open(&bytes);
        let metadata = reader.metadata().file_metadata();
        assert_eq!(metadata.num_rows(), 0);
        let names: Vec<&str> = metadata.schema_descr().columns().iter().map(|column| column.name()).collect();
        assert_eq!(names, COLUMNS.map(|(name, _)| name));
    }

    #[test]
    fn every_column_is_documented() {
        let documentation = include_str!("../../docs/results-format.md");
        let section = documentation
            .split("\n## ")
            .find(|section| section.starts_with(&format!("`{SERIES_FILE}`")))
            .expect("the file has a section");
        for (name, _) in &COLUMNS {
            assert!(section.contains(&format!("`{name}`")), "{name} is documented");
        }
    }
}
