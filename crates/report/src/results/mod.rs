//! The format of results: rows whose columns have units in their names, and the folder that contains them.
//!
//! A simulation fills the rows and reports read them; neither depends on the other. Every column is documented in
//! `docs/results-format.md`, and a column's name ends in its unit.
//!
//! - [`RunRecord`] is the record of one run; [`VariantRecord`] holds the runs of one variant.
//! - [`Tables::of`] makes the tables from them, [`Tables::files`] writes them as CSV, [`Tables::read`] reads them back.
//! - `series_parquet` (Cargo feature `parquet`) writes the time series of every run, `application_series_parquet` those
//!   of the applications of displayed runs.
//! - [`Measure`] is a measure of a run: each is defined once, with its column, unit, definition and direction.
//! - [`Provenance`] says where results come from; [`Publication`] publishes a folder as a whole or not at all.
//! - [`Limit`] is a condition on a measure, [`Objective`] a duration to minimise, and [`PlanRecord`] the result of a
//!   search for settings.
//! - [`Journal`] saves the finished runs of a study until its results are published.
//! - [`StudyShard`] is a share of a study's runs for one of several machines, and [`ShardSet`] all shares before
//!   merging.

mod allowed_left;
mod application_series;
mod application_timeline;
mod best;
mod calibration;
mod causes;
mod comparison;
mod displayed;
mod error;
mod folder;
mod forecast;
mod formulas;
mod journal;
mod limit;
mod measure_name;
mod measures;
mod objective;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod provenance;
mod reach;
mod room;
mod rows;
mod saved_runs;
mod sensitivity;
mod shard;
mod shard_set;
mod staging;
mod statistic;
mod summary;
mod tables;
#[cfg(test)]
mod testing;
mod timeline;
mod uncertainty;
mod variants;

pub use allowed_left::AllowedLeft;
pub use application_series::{
    ApplicationBin, ApplicationSeries, LARGEST_APPLICATIONS, OTHER_APPLICATIONS,
};
pub use application_timeline::{ApplicationPeak, ApplicationTimeline, PeakShare};
pub use best::{ComparisonRow, contenders};
pub use calibration::*;
pub use causes::{
    CauseRow, CauseVerdict, Resource, ResourceKind, TrialKind, causes_table, read_causes,
    resource_keys,
};
pub use comparison::{compared, distinct, grouped};
pub use displayed::displayed_replicate;
pub use error::ResultsError;
pub use folder::{Publication, Published, check_tables};
pub use forecast::*;
pub use journal::{Journal, SavedRuns};
pub use limit::{Limit, ShareVerdict, Verdict};
pub use measure_name::{MeasureError, SHORT_NAMES};
pub use measures::{Direction, Measure, READY_TIME, RunOutcome, RunRow};
pub use objective::{Objective, quantity};
#[cfg(feature = "parquet")]
pub use parquet::{
    APPLICATION_SERIES_FILE, SERIES_FILE, application_series_parquet, series_parquet,
};
pub use plan::*;
pub use provenance::*;
pub use reach::ReachRange;
pub use room::{LINK_LOAD, ROOM_SHARE, has_room, most_with_room};
pub use rows::*;
pub use sensitivity::*;
pub use shard::{RunId, ShardInfo, ShardTextError, StudyShard};
pub use shard_set::{MOST_ROUNDS, SHARD_RUNS_FILE, ShardError, ShardSet, is_shard_complete};
pub use staging::StagedFolder;
pub use staging::restore;
pub use statistic::{MeasuredStatistic, Statistic};
pub use summary::{SummaryRow, interval_of_mean, paired_differences, share_below, share_below_at};
pub use tables::{RunKey, TableWriter, Tables};
pub use timeline::{BINS_MAX, TimelineRow};
pub use uncertainty::{
    DrawDecisionRow, DrawnConstant, UncertaintyRow, decisions_table, read_draws, read_uncertainty,
    uncertainty_tables,
};
