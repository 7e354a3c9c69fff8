//! The line `apps`: which of several applications is done last and when, and which make the peak of pulls together.
//!
//! An application is named as the last one only with the number of runs in which it is. Times are medians over these
//! runs. The peak is that of the displayed run, the only one whose applications are recorded over time.
//!
//! Left out: applications that are not complete, of which the line `left` speaks.

use std::collections::HashMap;

use itertools::Itertools;

use super::sentence::listed;
use crate::report::data::VariantResults;
use crate::report::format::{count, in_unit, time};
use crate::results::{ApplicationPeak, ApplicationRow, RunRow};
use fleetsim_units::stats;

/// Maximum number of applications that are named for a peak.
const MOST_NAMED: usize = 3;
/// Minimum share of a peak for an application after the first to be named.
const LEAST_SHARE: f64 = 0.1;
/// A time since an application's own release is mentioned if the release was later than this, in seconds.
const LATER_S: f64 = 1.0;

/// The application that is done last in a run.
struct LastApplication<'r> {
    name: &'r str,
    /// Time from the first release of all.
    since_first_s: f64,
    /// Time from its own release.
    since_own_s: f64,
}

/// `svc-40 is done last, 3.4 h after the first release; the peak of 22 pulls in the displayed run is of shop (14) and
/// svc-07 (8)`. `None`: there is one application.
pub(super) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(last(variant));
    parts.extend(peak(variant));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Which application is done last. `None`: no run has all of them complete.
fn last(variant: &VariantResults<'_>) -> Option<String> {
    let mut of_runs: Vec<LastApplication<'_>> = Vec::new();
    for run in &variant.runs {
        of_runs.extend(last_of_run(variant, run));
    }
    let mut runs_of: HashMap<&str, Vec<&LastApplication<'_>>> = HashMap::new();
    for last in &of_runs {
        runs_of.entry(last.name).or_default().push(last);
    }
    // The names' order decides between applications that are last equally often.
    let (name, runs) = runs_of
        .into_iter()
        .sorted_by_key(|(name, _)| *name)
        .max_by_key(|(name, runs)| (runs.len(), std::cmp::Reverse(*name)))?;
    let since_first: Vec<f64> = runs.iter().map(|run| run.since_first_s).collect();
    let since_own: Vec<f64> = runs.iter().map(|run| run.since_own_s).collect();
    let since_first_s = stats::median(&since_first)?;
    let since_own_s = stats::median(&since_own)?;
    let mut text = format!("{name} is done last");
    if runs.len() < variant.runs.len() {
        text.push_str(&format!(
            " in {} of {} runs",
            runs.len(),
            variant.runs.len()
        ));
    }
    text.push_str(&format!(
        ", {} after the first release",
        time(since_first_s)
    ));
    if since_first_s - since_own_s > LATER_S {
        text.push_str(&format!(" and {} after its own", time(since_own_s)));
    }
    Some(text)
}

/// The application that is done last in a run; of several, the first one. `None`: one of them is never done.
fn last_of_run<'r>(variant: &VariantResults<'r>, run: &RunRow) -> Option<LastApplication<'r>> {
    let mut last: Option<LastApplication<'r>> = None;
    for &(replicate, row) in &variant.applications {
        if replicate != run.replicate {
            continue;
        }
        let since_first_s = done_s(row)? - run.release_s;
        if last
            .as_ref()
            .is_none_or(|last| since_first_s > last.since_first_s)
        {
            last = Some(LastApplication {
                name: &row.application,
                since_first_s,
                since_own_s: row.reachable_ready_s?,
            });
        }
    }
    last
}

/// The time from the start of the run until an application is done. `None`: it never is.
fn done_s(row: &ApplicationRow) -> Option<f64> {
    Some(row.release_s? + row.reachable_ready_s?)
}

/// Which applications make the peak together. `None`: nothing is pulled, or no run is displayed.
fn peak(variant: &VariantResults<'_>) -> Option<String> {
    let peak = variant.application_timeline?.peak()?;
    let pulls = in_unit(peak.pulls as f64, "pulls");
    Some(format!(
        "the peak of {pulls} in the displayed run is of {}",
        makers(&peak)
    ))
}

/// `shop (14), svc-07 (6) and others (2)`: the applications with the most pulls at a peak. The numbers add up to it.
pub(in crate::report) fn makers(peak: &ApplicationPeak<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut alone = "";
    let mut rest = peak.pulls;
    for share in &peak.shares {
        let is_enough = parts.is_empty() || share.pulls as f64 >= LEAST_SHARE * peak.pulls as f64;
        if !share.is_of_others() && is_enough && parts.len() < MOST_NAMED {
            parts.push(format!(
                "{} ({})",
                share.application,
                count(share.pulls as f64)
            ));
            alone = share.application;
            rest -= share.pulls;
        }
    }
    match (parts.len(), rest) {
        (1, 0) => format!("{alone} alone"),
        (_, 0) => listed(&parts),
        (0, _) => "smaller applications".to_owned(),
        (_, rest) => {
            parts.push(format!("others ({})", count(rest as f64)));
            listed(&parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::readable_quietly;
    use crate::results::{
        ApplicationBin, ApplicationSeries, ApplicationTimeline, OTHER_APPLICATIONS, VariantInfo,
    };

    fn bin(pulls_at_peak: u64) -> ApplicationBin {
        ApplicationBin {
            pulls: 100,
            pulls_at_peak,
            ready_new: 0,
        }
    }

    fn timeline(shares: &[(&str, u64)]) -> ApplicationTimeline {
        let mut applications = Vec::new();
        for &(name, pulls) in shares {
            applications.push(ApplicationSeries {
                application: name.to_owned(),
                bins: vec![bin(0), bin(pulls), bin(pulls / 2)],
            });
        }
        ApplicationTimeline {
            bin_s: 1.0,
            applications,
        }
    }

    #[test]
    fn numbers_of_a_peak_add_up_and_name_at_most_three_applications() {
        let cases: [(&[(&str, u64)], &str); 6] = [
            (&[("shop", 14), ("svc-07", 8)], "shop (14) and svc-07 (8)"),
            (&[("svc-07", 0), ("shop", 3)], "shop alone"),
            (&[("a", 1), ("b", 20), ("c", 1)], "b (20) and others (2)"),
            (
                &[
                    ("a", 4),
                    ("b", 4),
                    ("c", 4),
                    ("d", 4),
                    (OTHER_APPLICATIONS, 30),
                ],
                "a (4) and others (42)",
            ),
            (
                &[("a", 6), ("b", 5), ("c", 4), ("d", 5)],
                "a (6), b (5), d (5) and others (4)",
            ),
            (&[("a", 0), (OTHER_APPLICATIONS, 7)], "smaller applications"),
        ];
        for (shares, wanted) in cases {
            let timeline = timeline(shares);
            let peak = timeline.peak().expect("there are pulls");
            assert_eq!(makers(&peak), wanted);
        }
        assert!(timeline(&[("a", 0)]).peak().is_none(), "nothing is pulled");
    }

    fn application(name: &str, release_s: f64, ready_s: Option<f64>) -> ApplicationRow {
        ApplicationRow {
            application: name.to_owned(),
            release_s: Some(release_s),
            reachable_ready_s: ready_s,
            ..ApplicationRow::default()
        }
    }

    #[test]
    fn the_last_application_is_named_with_the_runs_in_which_it_is_last() {
        let results = readable_quietly(&six_settings());
        let mut runs = Vec::new();
        for replicate in 0..3 {
            runs.push(RunRow {
                replicate,
                release_s: 60.0,
                ..results.tables.runs[0].clone()
            });
        }
        let rows = [
            (0, application("shop", 60.0, Some(600.0))),
            (0, application("svc", 360.0, Some(120.0))),
            (1, application("shop", 60.0, Some(400.0))),
            (1, application("svc", 360.0, Some(180.0))),
            (2, application("shop", 60.0, Some(400.0))),
            (2, application("svc", 360.0, Some(240.0))),
        ];
        let info = VariantInfo::default();
        let mut variant = VariantResults::bare(&info);
        variant.runs = runs.iter().collect();
        variant.applications = rows
            .iter()
            .map(|(replicate, row)| (*replicate, row))
            .collect();
        let text = "svc is done last in 2 of 3 runs, 8.50 min after the first release and 3.50 min after its own";
        assert_eq!(line(&variant).as_deref(), Some(text));
        variant.runs.truncate(1);
        let text = "shop is done last, 10.0 min after the first release";
        assert_eq!(line(&variant).as_deref(), Some(text));
        let unfinished = application("svc", 360.0, None);
        variant.applications[1] = (0, &unfinished);
        assert_eq!(line(&variant), None, "one is never done");
        variant.applications.clear();
        assert_eq!(line(&variant), None, "there is one application");
    }
}
