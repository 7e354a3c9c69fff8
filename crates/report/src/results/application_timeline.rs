//! `applications-timeline.csv`: the largest applications of each displayed run, in the bins of `timeline.csv`.
//!
//! Bins of a run are merged as for `timeline.csv`: the maximum of each application's pulls, the moment with the most
//! pulls of all applications together, and the last number of ready targets.

use serde::{Deserialize, Serialize};

use super::application_series::{ApplicationBin, ApplicationSeries, OTHER_APPLICATIONS};
use super::timeline::CommonBins;
use super::{RunRecord, VariantRecord};

/// The applications of a variant's displayed run over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationTimeline {
    /// Length of a bin.
    pub bin_s: f64,
    /// The largest applications, the one with the most bytes first, and the others.
    pub applications: Vec<ApplicationSeries>,
}

/// One row of `applications-timeline.csv`, after the run's key.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct ApplicationTimelineRow {
    pub(super) application: String,
    pub(super) bin_s: f64,
    pub(super) t_s: f64,
    pub(super) pulls: u64,
    pub(super) pulls_at_peak: u64,
    pub(super) ready_new: u64,
}

/// The pulls of all applications at the moment at which they had the most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationPeak<'s> {
    /// The concurrent pulls of all.
    pub pulls: u64,
    /// The applications that had pulls, those with the most first; the others last.
    pub shares: Vec<PeakShare<'s>>,
}

/// The pulls of one application at the peak of all.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PeakShare<'s> {
    /// The application's name, or [`OTHER_APPLICATIONS`].
    pub application: &'s str,
    /// Its concurrent pulls.
    pub pulls: u64,
}

impl PeakShare<'_> {
    /// Returns whether these are all applications without a series of their own.
    #[must_use]
    pub fn is_of_others(&self) -> bool {
        self.application == OTHER_APPLICATIONS
    }
}

impl ApplicationTimeline {
    /// The applications of one run of a variant in the variant's common bins. Empty if the run did not record them.
    pub(super) fn of(variant: &VariantRecord, displayed: usize) -> Self {
        let run = &variant.runs[displayed];
        let Some(bins) = CommonBins::of(variant) else {
            return Self::default();
        };
        if run.application_series.is_empty() {
            return Self::default();
        }
        let peaks = peaks(run, &bins);
        let mut applications = Vec::with_capacity(run.application_series.len());
        for series in &run.application_series {
            applications.push(rebinned(run, series, &bins, &peaks));
        }
        Self {
            bin_s: bins.bin_s,
            applications,
        }
    }

    /// Returns whether no applications were recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.applications.is_empty()
    }

    /// Returns the number of bins.
    #[must_use]
    pub fn bins(&self) -> usize {
        let lengths = self.applications.iter().map(|series| series.bins.len());
        lengths.min().unwrap_or(0)
    }

    /// Returns the pulls of all applications together at the peak of a bin.
    #[must_use]
    pub fn pulls_in(&self, bin: usize) -> u64 {
        let bins = self.applications.iter().map(|series| series.bins.get(bin));
        bins.flatten().map(|bin| bin.pulls_at_peak).sum()
    }

    /// Returns which applications make the peak of pulls. `None`: nothing is pulled.
    #[must_use]
    pub fn peak(&self) -> Option<ApplicationPeak<'_>> {
        let mut peak = ApplicationPeak::default();
        let mut at = 0;
        for bin in 0..self.bins() {
            let pulls = self.pulls_in(bin);
            if pulls > peak.pulls {
                peak.pulls = pulls;
                at = bin;
            }
        }
        if peak.pulls == 0 {
            return None;
        }
        for series in &self.applications {
            let pulls = series.bins[at].pulls_at_peak;
            if pulls > 0 {
                peak.shares.push(PeakShare {
                    application: &series.application,
                    pulls,
                });
            }
        }
        // A stable sort: applications with equal pulls stay in their order.
        peak.shares
            .sort_by_key(|share| (share.is_of_others(), u64::MAX - share.pulls));
        Some(peak)
    }

    /// The rows of the table.
    pub(super) fn rows(&self) -> impl Iterator<Item = ApplicationTimelineRow> + '_ {
        self.applications.iter().flat_map(|series| {
            let bins = series.bins.iter().enumerate();
            bins.map(|(at, bin)| self.row(&series.application, at, *bin))
        })
    }

    fn row(&self, application: &str, at: usize, bin: ApplicationBin) -> ApplicationTimelineRow {
        ApplicationTimelineRow {
            application: application.to_owned(),
            bin_s: self.bin_s,
            t_s: at as f64 * self.bin_s,
            pulls: bin.pulls,
            pulls_at_peak: bin.pulls_at_peak,
            ready_new: bin.ready_new,
        }
    }

    /// Adds the next row of the table: to the last application if it is of the same one, otherwise of a new one.
    pub(super) fn push(&mut self, row: ApplicationTimelineRow) {
        self.bin_s = row.bin_s;
        let bin = ApplicationBin {
            pulls: row.pulls,
            pulls_at_peak: row.pulls_at_peak,
            ready_new: row.ready_new,
        };
        match self.applications.last_mut() {
            Some(last) if last.application == row.application => last.bins.push(bin),
            _ => self.applications.push(ApplicationSeries {
                application: row.application,
                bins: vec![bin],
            }),
        }
    }
}

/// The run's own bin with the most pulls of all applications in each of the common bins. `None`: the run has no bin
/// there.
fn peaks(run: &RunRecord, bins: &CommonBins) -> Vec<Option<usize>> {
    let mut found = vec![None; bins.count];
    let mut most = vec![0; bins.count];
    for own in 0..run.series.len() {
        let mut pulls = 0;
        for series in &run.application_series {
            pulls += series.bins[own].pulls_at_peak;
        }
        let common = bins.index_of(own, run);
        if found[common].is_none() || pulls > most[common] {
            found[common] = Some(own);
            most[common] = pulls;
        }
    }
    found
}

/// The series of an application in the common bins. After the run's end there are no pulls, and ready targets stay.
fn rebinned(
    run: &RunRecord,
    series: &ApplicationSeries,
    bins: &CommonBins,
    peaks: &[Option<usize>],
) -> ApplicationSeries {
    let mut common = vec![ApplicationBin::default(); bins.count];
    for (own, bin) in series.bins.iter().enumerate() {
        let at = bins.index_of(own, run);
        common[at].pulls = common[at].pulls.max(bin.pulls);
        common[at].ready_new = bin.ready_new;
    }
    let mut ready = 0;
    for (bin, peak) in common.iter_mut().zip(peaks) {
        match peak {
            Some(own) => {
                bin.pulls_at_peak = series.bins[*own].pulls_at_peak;
                ready = bin.ready_new;
            }
            None => bin.ready_new = ready,
        }
    }
    ApplicationSeries {
        application: series.application.clone(),
        bins: common,
    }
}

#[cfg(test)]
mod tests {
    use super::super::SeriesRow;
    use super::super::testing::{run_record, variant};
    use super::*;

    fn bin(pulls: u64, pulls_at_peak: u64, ready_new: u64) -> ApplicationBin {
        ApplicationBin {
            pulls,
            pulls_at_peak,
            ready_new,
        }
    }

    /// A run with a series of this number of bins.
    fn run(
        replicate: u32,
        bin_s: f64,
        bins: usize,
        applications: &[&[ApplicationBin]],
    ) -> RunRecord {
        let mut series = Vec::new();
        for (name, bins) in ["one", OTHER_APPLICATIONS].iter().zip(applications) {
            series.push(ApplicationSeries {
                application: (*name).to_owned(),
                bins: bins.to_vec(),
            });
        }
        RunRecord {
            bin_s,
            series: vec![SeriesRow::default(); bins],
            application_series: series,
            ..run_record(replicate, 1)
        }
    }

    #[test]
    fn merged_bins_keep_maxima_and_the_moment_with_the_most_pulls_of_all() {
        let one = [bin(3, 1, 0), bin(9, 2, 1), bin(4, 4, 2)];
        let others = [bin(5, 5, 0), bin(3, 3, 0), bin(1, 0, 7)];
        let fine = run(0, 1.0, 3, &[&one, &others]);
        let coarse = run(1, 2.0, 4, &[]);
        let both = variant("v", vec![fine, coarse]);
        let timeline = ApplicationTimeline::of(&both, 0);
        // The first bin has six pulls in its first half, and five in its second; the run ends in the second bin.
        let wanted = [bin(9, 1, 1), bin(4, 4, 2), bin(0, 0, 2), bin(0, 0, 2)];
        assert_eq!(timeline.applications[0].bins, wanted);
        let wanted = [bin(5, 5, 0), bin(1, 0, 7), bin(0, 0, 7), bin(0, 0, 7)];
        assert_eq!(timeline.applications[1].bins, wanted);
        let peak = timeline.peak().expect("there are pulls");
        let shares: Vec<(&str, u64)> = (peak.shares.iter())
            .map(|share| (share.application, share.pulls))
            .collect();
        assert_eq!(peak.pulls, 6);
        assert_eq!(shares, [("one", 1), ("(others)", 5)], "the others are last");
        assert!(ApplicationTimeline::of(&both, 1).is_empty(), "not recorded");
    }
}
