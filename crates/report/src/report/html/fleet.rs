//! The times at which each cluster of a variant's displayed run was instructed, applied the revision, pulled and
//! became ready. They are stored as columns of small integers, each the time since the previous event, so that 10,000
//! clusters take little space.

use itertools::Itertools;
use serde::Serialize;

use crate::report::data::VariantResults;
use crate::results::ClusterRow;

/// Approximate number of steps in the longest time.
const STEPS: f64 = 20_000.0;

/// Every n-th cluster of one variant, in the fleet's order. A column that holds only `null` is stored empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct FleetData {
    /// Index of the list with the names of the clusters.
    names: usize,
    /// The unit of all times, in seconds.
    step: f64,
    /// Time since the previous cluster was instructed.
    instructed: Vec<Option<i64>>,
    /// Time since the previous event of the same cluster, or since zero.
    applied: Vec<Option<i64>>,
    first: Vec<Option<i64>>,
    last: Vec<Option<i64>>,
    ready: Vec<Option<i64>>,
    /// Clusters that were offline at the start, and clusters in which the new revision is defective.
    offline: Vec<usize>,
    defective: Vec<usize>,
    /// The names of the stages. `runs` of neighbours in one stage follow: the index of the stage, and the number of
    /// neighbours.
    stages: Vec<String>,
    runs: Vec<(usize, usize)>,
    /// The names of several applications, with the number of neighbours of each. Left out for a single application.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    applications: Vec<(String, usize)>,
}

/// The clusters of `variant`, or one in every `each`. `names` collects the distinct lists of cluster names.
pub(super) fn fleet(
    variant: &VariantResults<'_>,
    each: usize,
    names: &mut Vec<Vec<String>>,
) -> FleetData {
    let clusters: Vec<&ClusterRow> = variant.clusters.iter().copied().step_by(each).collect();
    let mut longest: f64 = 0.0;
    for cluster in &clusters {
        for moment in moments(cluster).into_iter().flatten() {
            longest = longest.max(moment);
        }
    }
    let step = step_for(longest);
    let mut data = FleetData {
        names: place_of_names(&clusters, names),
        step,
        offline: clusters.iter().positions(|row| row.offline).collect(),
        defective: clusters.iter().positions(|row| row.defective).collect(),
        ..FleetData::default()
    };
    let mut instructed_before = 0;
    for cluster in clusters {
        data.add_to_stages(&cluster.stage);
        data.add_to_applications(&cluster.application);
        let [instructed, rest @ ..] = moments(cluster).map(|moment| steps(moment, step));
        data.instructed
            .push(instructed.map(|instructed| instructed - instructed_before));
        instructed_before = instructed.unwrap_or(instructed_before);
        let mut before = instructed.unwrap_or(0);
        let columns = [
            &mut data.applied,
            &mut data.first,
            &mut data.last,
            &mut data.ready,
        ];
        for (column, moment) in columns.into_iter().zip(rest) {
            column.push(moment.map(|moment| moment - before));
            before = moment.unwrap_or(before);
        }
    }
    for column in [
        &mut data.instructed,
        &mut data.applied,
        &mut data.first,
        &mut data.last,
        &mut data.ready,
    ] {
        if column.iter().all(Option::is_none) {
            column.clear();
        }
    }
    data
}

/// The times of a cluster's events, in their order.
fn moments(cluster: &ClusterRow) -> [Option<f64>; 5] {
    [
        cluster.instructed_s,
        cluster.applied_s,
        cluster.first_pull_s,
        cluster.last_pull_s,
        cluster.ready_s,
    ]
}

/// The index in `names` of the list with the names of these clusters; the list is added if it is new.
fn place_of_names(clusters: &[&ClusterRow], names: &mut Vec<Vec<String>>) -> usize {
    let own: Vec<String> = clusters.iter().map(|row| row.cluster.clone()).collect();
    if let Some(known) = names.iter().position(|other| *other == own) {
        return known;
    }
    names.push(own);
    names.len() - 1
}

impl FleetData {
    /// Adds the next cluster: extends the current run of clusters in `stage`, or begins a new one.
    fn add_to_stages(&mut self, stage: &str) {
        let known = self.stages.iter().position(|known| known == stage);
        let place = known.unwrap_or_else(|| {
            self.stages.push(stage.to_owned());
            self.stages.len() - 1
        });
        match self.runs.last_mut() {
            Some((last, length)) if *last == place => *length += 1,
            _ => self.runs.push((place, 1)),
        }
    }

    /// Adds the next target to its application. A single application has no name.
    fn add_to_applications(&mut self, application: &str) {
        match self.applications.last_mut() {
            Some((last, length)) if last == application => *length += 1,
            _ if application.is_empty() => {}
            _ => self.applications.push((application.to_owned(), 1)),
        }
    }
}

/// Whole steps until an event, if its time is known.
fn steps(moment: Option<f64>, step: f64) -> Option<i64> {
    moment.map(|seconds| steps_until(seconds, step))
}

/// Whole steps until an event, rounded up, so that the page shows nothing before it happened.
fn steps_until(seconds: f64, step: f64) -> i64 {
    // Slightly less, because 0.1 s is not a binary fraction, and 10.5 s would become 106 steps.
    (seconds / step - 1e-6).ceil() as i64
}

/// A round step, at least a tenth of a second, with which `longest` seconds are about [`STEPS`] steps.
fn step_for(longest: f64) -> f64 {
    let steps = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0,
    ];
    steps
        .into_iter()
        .find(|step| longest <= step * STEPS)
        .unwrap_or(3600.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::VariantInfo;

    fn cluster(name: &str, stage: &str, moments: [Option<f64>; 5]) -> ClusterRow {
        let [instructed_s, applied_s, first_pull_s, last_pull_s, ready_s] = moments;
        ClusterRow {
            cluster: name.to_owned(),
            stage: stage.to_owned(),
            offline: instructed_s.is_none(),
            defective: false,
            instructed_s,
            applied_s,
            first_pull_s,
            last_pull_s,
            ready_s,
            pulls: 1,
            failed_pulls: 0,
            received_bytes: 1,
            ..ClusterRow::default()
        }
    }

    #[test]
    fn times_count_from_the_previous_event_and_stages_are_stored_as_runs() {
        let rows = [
            cluster(
                "a",
                "first",
                [Some(10.0), Some(10.5), Some(10.5), Some(20.0), Some(31.25)],
            ),
            // Pulled before the release, and before the cluster was instructed.
            cluster(
                "b",
                "first",
                [Some(12.0), Some(13.0), Some(2.0), Some(5.0), Some(14.0)],
            ),
            cluster("c", "rest", [None; 5]),
        ];
        let info = VariantInfo {
            variant: "v".to_owned(),
            strategy: "s".to_owned(),
            setting: String::new(),
            settings: Vec::new(),
            product: String::new(),
            target: String::new(),
            is_bound: false,
            registry_egress_bytes_per_s: None,
            precision: None,
        };
        let mut variant = VariantResults::bare(&info);
        variant.clusters = rows.iter().collect();
        let mut names = Vec::new();
        let data = fleet(&variant, 1, &mut names);
        assert_eq!(names, [["a", "b", "c"]]);
        // A step is 0.1 s: 10 s; then 2 s later; then never.
        assert_eq!(data.instructed, [Some(100), Some(20), None]);
        assert_eq!(data.applied, [Some(5), Some(10), None]);
        assert_eq!(data.first, [Some(0), Some(-110), None]);
        assert_eq!(data.last, [Some(95), Some(30), None]);
        assert_eq!(
            data.ready,
            [Some(113), Some(90), None],
            "a part of a step is rounded up"
        );
        assert_eq!((data.offline.as_slice(), data.stages.len()), (&[2][..], 2));
        assert_eq!(data.runs, [(0, 2), (1, 1)]);
        assert_eq!(
            fleet(&variant, 1, &mut names).names,
            0,
            "a known list of names is stored once"
        );
        assert_eq!(names.len(), 1);
        let some = fleet(&variant, 2, &mut names);
        assert_eq!(
            (names[some.names].as_slice(), some.ready),
            (&["a".to_owned(), "c".to_owned()][..], vec![Some(113), None])
        );
        assert_eq!(
            (some.offline, some.runs),
            (vec![1], vec![(0, 1), (1, 1)]),
            "places among those that are there"
        );
    }

    #[test]
    fn applications_are_stored_as_runs_and_left_out_for_a_single_one() {
        let mut rows = Vec::new();
        for name in ["shop", "shop", "till", "shop"] {
            rows.push(ClusterRow {
                application: name.to_owned(),
                ..cluster("a", "", [None; 5])
            });
        }
        let info = VariantInfo::default();
        let mut variant = VariantResults::bare(&info);
        variant.clusters = rows.iter().collect();
        let all = fleet(&variant, 1, &mut Vec::new()).applications;
        let (shop, till) = ("shop".to_owned(), "till".to_owned());
        assert_eq!(
            all,
            [(shop.clone(), 2), (till.clone(), 1), (shop.clone(), 1)]
        );
        let some = fleet(&variant, 2, &mut Vec::new()).applications;
        assert_eq!(some, [(shop, 1), (till, 1)]);
        let one = [cluster("a", "", [None; 5])];
        variant.clusters = one.iter().collect();
        let json = serde_json::to_string(&fleet(&variant, 1, &mut Vec::new())).expect("JSON");
        assert!(!json.contains("applications"), "{json}");
    }

    #[test]
    fn long_rollouts_have_longer_steps() {
        for (longest, step) in [
            (0.0, 0.1),
            (2000.0, 0.1),
            (2001.0, 0.2),
            (86_400.0, 5.0),
            (1e9, 3600.0),
        ] {
            assert!((step_for(longest) - step).abs() < 1e-12, "{longest}");
        }
    }
}
