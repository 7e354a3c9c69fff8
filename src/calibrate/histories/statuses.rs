//! `statuses.csv` of a results folder: what a product showed in a simulated or recorded run.
//!
//! Durations are from the first status of a kind to the first of the one that ends it, for each object and condition
//! of a run; of a bundle, which is ready again and again while its clusters are updated, to the last. Times there
//! have fractions of a second.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::HistoryDurations;
use crate::calibrate::input::Input;
use crate::document::problem::OrProblem;

#[derive(Deserialize)]
struct StatusLine {
    #[serde(default)]
    variant: String,
    #[serde(default)]
    replicate: String,
    t_s: f64,
    object: String,
    condition: String,
    #[serde(default)]
    status: String,
}

/// The statuses of an object's condition in the order of the table, with their times.
type Times = Vec<(f64, String)>;

pub(super) fn read(input: &Input, durations: &mut HistoryDurations<'_>) -> OrProblem<()> {
    let help = "name the statuses.csv of a results folder, or objects as `kubectl get KIND -A -o json` prints them";
    let mut reader = csv::Reader::from_reader(input.source.text.as_bytes());
    let broken = input.broken("a history", help);
    let header = reader.headers().map_err(&broken)?.clone();
    for column in ["t_s", "object", "condition", "status"] {
        if !header.iter().any(|found| found == column) {
            return Err(input.at(0, column, format!("the table has no column `{column}`"), help));
        }
    }
    let mut runs: BTreeMap<(String, String, String, String), Times> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(&broken)?;
        let line: StatusLine = record.deserialize(Some(&header)).map_err(&broken)?;
        let key = (line.variant, line.replicate, line.object, line.condition);
        runs.entry(key).or_default().push((line.t_s, line.status));
    }
    for ((variant, replicate, object, condition), times) in runs {
        let id = format!("{variant} {replicate} {object} {condition}");
        let mut between = |quantity, from: &str, to: &str, is_last: bool| {
            let Some(begin) = times.iter().position(|(_, status)| status == from) else { return };
            let mut ends = times[begin..].iter().filter(|(_, status)| status == to).map(|(time, _)| *time);
            if let Some(end) = if is_last { ends.next_back() } else { ends.next() } {
                durations.add(quantity, id.clone(), end - times[begin].0);
            }
        };
        let depth = object.matches('/').count();
        match (object.split('/').next().unwrap_or_default(), condition.as_str()) {
            ("ApplicationSet", condition) if condition.starts_with("applicationStatus/") => {
                between("argo_cd_progressing", "Progressing", "Healthy", false);
                between("argo_cd_pending", "Pending", "Progressing", false);
            }
            ("Bundle", "Ready") => between("fleet_bundle", "False", "True", true),
            // The stage progresses, and does not any more when it has succeeded.
            ("ClusterStagedUpdateRun", "Progressing") if depth == 2 => {
                between("kubefleet_stage", "True", "False", false);
            }
            _ => durations.tally.add("condition without a duration that is used here"),
        }
    }
    Ok(())
}
