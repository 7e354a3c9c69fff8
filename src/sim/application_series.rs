//! The applications of a detailed run over time: the largest ones, and the others together.
//!
//! The bins are those of the run's series. The world notes every begin and end of a pull and every change of readiness
//! in the order of events, so that in each bin the pulls of all applications at its peak add up to the peak itself.
//!
//! Left out: runs that nobody looks at, whose world notes nothing.

use std::cmp::Reverse;

use super::Sim;
use crate::results::{
    ApplicationBin, ApplicationRow, ApplicationSeries, LARGEST_APPLICATIONS, OTHER_APPLICATIONS,
};
use crate::units::SimDuration;
use crate::world::{ApplicationId, LoadChange, LoadChangeKind};

/// The applications that have a series, and the series of each application.
struct SeriesPlan {
    names: Vec<String>,
    /// The index of each application's series.
    series_of: Vec<usize>,
}

impl SeriesPlan {
    /// A series for each of the applications with the most bytes, and one for all others.
    fn of(applications: &[ApplicationRow]) -> Self {
        let mut by_size: Vec<usize> = (0..applications.len()).collect();
        // A stable sort: of equal ones, the first in the file.
        by_size.sort_by_key(|&at| Reverse(applications[at].received_bytes));
        by_size.truncate(LARGEST_APPLICATIONS);
        let mut names = Vec::new();
        let mut series_of = vec![by_size.len(); applications.len()];
        for (series, &at) in by_size.iter().enumerate() {
            names.push(applications[at].application.clone());
            series_of[at] = series;
        }
        if applications.len() > by_size.len() {
            names.push(OTHER_APPLICATIONS.to_owned());
        }
        Self { names, series_of }
    }

    fn series_of(&self, application: ApplicationId) -> usize {
        self.series_of[application.index()]
    }
}

/// One series while it is recorded.
#[derive(Clone, Debug, Default)]
struct OpenSeries {
    /// Pulls and ready targets now.
    pulls: u64,
    ready: u64,
    open: ApplicationBin,
    bins: Vec<ApplicationBin>,
}

/// All series while they are recorded.
struct SeriesRecorder {
    series: Vec<OpenSeries>,
    /// Pulls of all applications now, and their maximum in the open bin.
    pulls: u64,
    peak: u64,
}

impl SeriesRecorder {
    fn new(series: usize) -> Self {
        Self {
            series: vec![OpenSeries::default(); series],
            pulls: 0,
            peak: 0,
        }
    }

    /// Number of closed bins.
    fn closed(&self) -> usize {
        self.series.first().map_or(0, |series| series.bins.len())
    }

    /// Handles the next change of one series.
    fn change(&mut self, at: usize, kind: LoadChangeKind) {
        let series = &mut self.series[at];
        match kind {
            LoadChangeKind::PullBegins => {
                series.pulls += 1;
                self.pulls += 1;
                series.open.pulls = series.open.pulls.max(series.pulls);
            }
            LoadChangeKind::PullEnds => {
                series.pulls -= 1;
                self.pulls -= 1;
            }
            LoadChangeKind::Ready => series.ready += 1,
            LoadChangeKind::NotReady => series.ready -= 1,
        }
        if self.pulls > self.peak {
            self.peak = self.pulls;
            for series in &mut self.series {
                series.open.pulls_at_peak = series.pulls;
            }
        }
    }

    /// Closes the open bin. The next one begins with the pulls in progress.
    fn close_bin(&mut self) {
        for series in &mut self.series {
            series.bins.push(ApplicationBin {
                ready_new: series.ready,
                ..series.open
            });
            series.open.pulls = series.pulls;
            series.open.pulls_at_peak = series.pulls;
        }
        self.peak = self.pulls;
    }
}

/// Records the changes of a run in this number of bins of this length.
fn recorded(
    plan: &SeriesPlan,
    changes: &[LoadChange],
    bin: SimDuration,
    bins: usize,
) -> SeriesRecorder {
    let mut recorder = SeriesRecorder::new(plan.names.len());
    for change in changes {
        let at = (change.at.as_nanos() / bin.as_nanos()) as usize;
        while recorder.closed() < at.min(bins - 1) {
            recorder.close_bin();
        }
        recorder.change(plan.series_of(change.application), change.kind);
    }
    while recorder.closed() < bins {
        recorder.close_bin();
    }
    recorder
}

impl Sim<'_> {
    /// Starts noting the load of each application, if there are several.
    pub(super) fn watch_applications(&mut self) {
        if self.scenario.has_several_applications() {
            self.world.watch_applications();
        }
    }

    /// Returns the largest applications over time and the others together. Empty if they were not watched.
    pub(super) fn application_series(
        &self,
        applications: &[ApplicationRow],
    ) -> Vec<ApplicationSeries> {
        let changes = self.world.meter().load_changes();
        if changes.is_empty() {
            return Vec::new();
        }
        let (bin, bins) = self.world.meter().series();
        let plan = SeriesPlan::of(applications);
        let recorder = recorded(&plan, changes, bin, bins.len());
        let mut all = Vec::with_capacity(plan.names.len());
        for (application, series) in plan.names.into_iter().zip(recorder.series) {
            all.push(ApplicationSeries {
                application,
                bins: series.bins,
            });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimTime;

    fn application(name: &str, received_bytes: u64) -> ApplicationRow {
        ApplicationRow {
            application: name.to_owned(),
            received_bytes,
            ..ApplicationRow::default()
        }
    }

    #[test]
    fn the_largest_have_a_series_each_and_the_others_one_together() {
        let mut applications = Vec::new();
        for at in 0..10 {
            applications.push(application(&format!("a{at}"), 5));
        }
        applications[9].received_bytes = 7;
        let plan = SeriesPlan::of(&applications);
        let wanted = ["a9", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "(others)"];
        assert_eq!(plan.names, wanted);
        assert_eq!(plan.series_of, [1, 2, 3, 4, 5, 6, 7, 8, 8, 0]);
        let eight = SeriesPlan::of(&applications[..8]);
        assert_eq!(eight.names.len(), 8, "there are no others");
    }

    #[test]
    fn pulls_at_the_peak_of_a_bin_add_up_to_it_although_maxima_are_at_other_times() {
        use LoadChangeKind::{NotReady, PullBegins, PullEnds, Ready};
        let plan = SeriesPlan::of(&[application("one", 2), application("two", 1)]);
        let steps = [
            (100, 0, PullBegins),
            (200, 0, PullBegins),
            (300, 0, PullEnds),
            (300, 1, PullBegins),
            (400, 1, PullBegins),
            (500, 0, PullEnds),
            (2_000, 1, PullEnds),
            (2_000, 0, Ready),
            (2_500, 1, Ready),
            (3_500, 1, NotReady),
        ];
        let mut changes = Vec::new();
        for (millis, application, kind) in steps {
            changes.push(LoadChange {
                at: SimTime::from_nanos(millis * 1_000_000),
                application: ApplicationId(application),
                kind,
            });
        }
        let recorder = recorded(&plan, &changes, SimDuration::from_secs(1), 5);
        let bin = |pulls, pulls_at_peak, ready_new| ApplicationBin {
            pulls,
            pulls_at_peak,
            ready_new,
        };
        // The most at once are three pulls at 0.4 s: one of the first, two of the second.
        let one = [
            bin(2, 1, 0),
            bin(0, 0, 0),
            bin(0, 0, 1),
            bin(0, 0, 1),
            bin(0, 0, 1),
        ];
        // At 2 s a pull ends, so the third bin begins with both of them, as in the run's own series.
        let two = [
            bin(2, 2, 0),
            bin(2, 2, 0),
            bin(2, 2, 1),
            bin(1, 1, 0),
            bin(1, 1, 0),
        ];
        assert_eq!(recorder.series[0].bins, one);
        assert_eq!(recorder.series[1].bins, two);
    }
}
