//! The details of finished runs, kept until it is known which run the reports display.
//!
//! Every run records what a displayed run shows: its clusters, its passes, its statuses and its applications over
//! time. The displayed replicate depends on all runs, so the details of each run are kept in a compact form until
//! then. When they exceed a budget, the details of further runs are dropped; a displayed run without details is
//! simulated again. A run whose strategy starts a process is always simulated again, to check that the process gives
//! the same answers.

use std::collections::HashMap;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::results::{ApplicationSeries, ClusterRow, PassRow, RunId, RunRecord, StatusRow};

/// Maximum size of the details that a study keeps, in bytes.
const BUDGET: usize = 256 << 20;

/// Maximum number of runs of a variant for which details are kept. Recording the shown conditions costs up to a
/// quarter of a run, so with more runs, repeating one run costs less.
const RUNS_MAX: u32 = 3;

/// The stored details of a study's runs.
#[derive(Debug)]
pub(super) struct Details {
    kept: Mutex<Kept>,
    /// Whether each variant has so few runs that keeping details costs less than repeating a run.
    pub(super) is_wanted: bool,
}

#[derive(Debug, Default)]
struct Kept {
    runs: HashMap<RunId, KeptDetail>,
    bytes: usize,
}

/// The stored details of one run.
#[derive(Debug)]
enum KeptDetail {
    /// Details that are not encoded, because no other run can be the displayed run.
    Plain(Box<RunDetails>),
    /// Details that are encoded to save memory.
    Compact(Vec<u8>),
}

/// The parts of a record that are needed only for the displayed run.
#[derive(Debug, Deserialize, Serialize)]
struct RunDetails {
    clusters: Vec<ClusterRow>,
    passes: Vec<PassRow>,
    statuses: Vec<StatusRow>,
    application_series: Vec<ApplicationSeries>,
}

impl RunDetails {
    /// Moves the details out of a record.
    fn take(run: &mut RunRecord) -> Self {
        Self {
            clusters: std::mem::take(&mut run.clusters),
            passes: std::mem::take(&mut run.passes),
            statuses: std::mem::take(&mut run.statuses),
            application_series: std::mem::take(&mut run.application_series),
        }
    }

    /// Encodes the details in a compact form.
    fn compact(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain rows are always encoded")
    }

    /// Moves the details back into a record.
    fn put_into(self, run: &mut RunRecord) {
        run.clusters = self.clusters;
        run.passes = self.passes;
        run.statuses = self.statuses;
        run.application_series = self.application_series;
    }
}

impl Details {
    /// Creates the storage for a study with at most this many runs of each variant.
    pub(super) fn new(runs: u32) -> Self {
        Self {
            kept: Mutex::default(),
            is_wanted: runs <= RUNS_MAX,
        }
    }

    /// Returns whether the details of further runs are kept.
    pub(super) fn has_room(&self) -> bool {
        self.is_wanted && self.kept.lock().expect("no holder panics").bytes < BUDGET
    }

    /// Moves the details out of a record and stores them if there is room. `is_only`: no other run of the variant
    /// exists.
    pub(super) fn keep(&self, id: RunId, run: &mut RunRecord, is_only: bool) {
        let details = RunDetails::take(run);
        if !self.has_room() {
            return;
        }
        let detail = if is_only {
            KeptDetail::Plain(Box::new(details))
        } else {
            KeptDetail::Compact(details.compact())
        };
        let mut kept = self.kept.lock().expect("no holder panics");
        if let KeptDetail::Compact(bytes) = &detail {
            kept.bytes += bytes.len();
        }
        kept.runs.insert(id, detail);
    }

    /// Stores the details of a saved run regardless of the budget, because the run cannot provide them again.
    pub(super) fn put_back(&self, id: RunId, run: &mut RunRecord) {
        let details = RunDetails::take(run);
        if details.clusters.is_empty() {
            return;
        }
        let detail = KeptDetail::Compact(details.compact());
        let mut kept = self.kept.lock().expect("no holder panics");
        kept.runs.insert(id, detail);
    }

    /// Moves the details of a run back into its record. Returns false if they were not stored.
    pub(super) fn restore(&self, id: RunId, run: &mut RunRecord) -> bool {
        let Some(detail) = self.kept.lock().expect("no holder panics").runs.remove(&id) else {
            return false;
        };
        let details: RunDetails = match detail {
            KeptDetail::Plain(details) => *details,
            KeptDetail::Compact(bytes) => {
                postcard::from_bytes(&bytes).expect("they were encoded here")
            }
        };
        details.put_into(run);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ApplicationBin;

    fn record() -> RunRecord {
        let cluster = |at: u32| ClusterRow {
            cluster: format!("c-{at}"),
            ready_s: (at > 1).then_some(0.1 + f64::from(at)),
            downlink_bytes_per_s: 1e7 / 3.0,
            ..ClusterRow::default()
        };
        let status = StatusRow {
            t_s: 1.0 / 3.0,
            object: "Set/app".to_owned(),
            ..StatusRow::default()
        };
        RunRecord {
            run: serde_json::from_value(run_row()).expect("a row"),
            registries: Vec::new(),
            workloads: Vec::new(),
            releases: Vec::new(),
            applications: Vec::new(),
            series: Vec::new(),
            bin_s: 1.0,
            clusters: (0..4).map(cluster).collect(),
            passes: vec![PassRow {
                t_s: 0.3,
                passes: 1,
                duration_s: 0.1,
                created: 2,
                promoted: 3,
                unavailable: 4,
            }],
            statuses: vec![status],
            application_series: vec![ApplicationSeries {
                application: "shop".to_owned(),
                bins: vec![ApplicationBin {
                    pulls: 3,
                    pulls_at_peak: 2,
                    ready_new: 1,
                }],
            }],
        }
    }

    /// Returns a row in which all measures are zero.
    fn run_row() -> serde_json::Value {
        let mut row = serde_json::json!({
            "variant": "v", "strategy": "s", "setting": "", "replicate": 0, "outcome": "complete", "held_by": "",
        });
        for measure in crate::results::Measure::ALL {
            row[measure.column()] = if measure.column().ends_with("_s") {
                0.0.into()
            } else {
                0.into()
            };
        }
        row
    }

    #[test]
    fn details_read_back_bit_by_bit() {
        for is_only in [false, true] {
            let (details, whole) = (Details::new(3), record());
            let mut run = whole.clone();
            details.keep((1, 2), &mut run, is_only);
            assert!(run.clusters.is_empty() && run.passes.is_empty() && run.statuses.is_empty());
            assert!(run.application_series.is_empty());
            assert!(!details.restore((1, 1), &mut run), "another run");
            assert!(details.restore((1, 2), &mut run));
            assert_eq!(run, whole);
            assert!(!details.restore((1, 2), &mut run), "only once");
        }
    }

    #[test]
    fn details_of_a_saved_run_are_kept_for_any_number_of_runs() {
        let (details, whole) = (Details::new(RUNS_MAX + 1), record());
        let mut run = whole.clone();
        details.put_back((1, 2), &mut run);
        assert!(run.clusters.is_empty() && run.passes.is_empty() && run.statuses.is_empty());
        assert!(details.restore((1, 2), &mut run));
        assert_eq!(run, whole);
        let mut without = RunRecord {
            clusters: Vec::new(),
            passes: Vec::new(),
            statuses: Vec::new(),
            ..whole
        };
        details.put_back((1, 3), &mut without);
        assert!(
            !details.restore((1, 3), &mut without),
            "a run without details is simulated again"
        );
    }

    #[test]
    fn details_beyond_the_budget_are_dropped() {
        let details = Details::new(RUNS_MAX);
        assert!(details.has_room() && !Details::new(RUNS_MAX + 1).has_room());
        details.kept.lock().expect("free").bytes = BUDGET;
        let mut run = record();
        details.keep((0, 0), &mut run, false);
        assert!(!details.restore((0, 0), &mut run) && !details.has_room());
        assert!(run.clusters.is_empty(), "the memory is given back");
    }
}
