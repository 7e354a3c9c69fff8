//! Progress of a study: a one-line estimate before the longest part, and a progress bar on a terminal.
//!
//! Runs of different variants take very different times, so remaining runs are weighted by the mean time of finished
//! runs of the same variant or, before one has finished, by the number of events. Progress does not affect results.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fleetsim::host::{CommandHost, HostProgress};
use fleetsim::results::{BINS_MAX, Measure, RunRecord, interval_of_mean};
use fleetsim::stats::MOST_RESAMPLED;
use fleetsim::study::{Job, StudyObserver};
use fleetsim::units::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, WeakProgressBar};
use itertools::izip;

use super::output::{self, grouped};

/// Minimum duration of a study for which an estimate is printed.
const LONG: Duration = Duration::from_secs(10);

/// Shows the progress of a study on stderr.
pub(super) struct StudyProgress {
    bar: ProgressBar,
    state: Arc<Mutex<StudyTimings>>,
    /// The upper bound for the number of runs, if the number is not known in advance.
    most: Option<u64>,
}

/// Timings of a study's finished runs.
#[derive(Debug, Default)]
struct StudyTimings {
    threads: usize,
    /// The timings of each variant.
    variants: Vec<VariantTimings>,
    running: HashMap<Job, Instant>,
    is_estimated: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct VariantTimings {
    at_hand: u32,
    wanted: u32,
    /// Whether the detailed run at the end has finished.
    detailed: bool,
    /// Whether all runs record their details, so that no separate detailed run is needed.
    has_details: bool,
    /// Number of timed runs of the variant. Their total time is in the next field.
    timed: u32,
    took: Duration,
    /// Number of events in the variant's first run.
    events: u64,
}

impl VariantTimings {
    /// Returns the number of remaining runs, including the detailed one.
    fn runs_left(&self) -> u32 {
        let needs_details = !self.detailed && !self.has_details;
        self.wanted.saturating_sub(self.at_hand) + u32::from(needs_details)
    }
}

/// Counts of runs over all variants.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct RunCounts {
    at_hand: u64,
    wanted: u64,
}

/// The progress bar on stderr, if there is one.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// Returns a progress bar on stderr with this `template`. It is hidden if stderr is not a terminal.
pub(super) fn bar(bar: ProgressBar, template: &str) -> ProgressBar {
    let bar = bar
        .with_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
    show(&bar);
    if let Some(host) = CommandHost::current()
        && bar.length().is_some()
    {
        let shown = bar.clone();
        host.follow(Box::new(move || HostProgress {
            done: shown.position(),
            wanted: shown.length().unwrap_or(0),
        }));
    }
    bar
}

fn show(bar: &ProgressBar) {
    if CommandHost::current().is_some() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        return;
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
}

/// Removes the progress bar, if there is one.
pub(super) fn clear() {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bar) = shown.as_ref().and_then(WeakProgressBar::upgrade) {
        bar.finish_and_clear();
    }
}

/// Returns a part of the progress bar that `write` derives from the timings.
fn shown_timings(
    state: &Arc<Mutex<StudyTimings>>,
    write: fn(&StudyTimings, &mut dyn fmt::Write) -> fmt::Result,
) -> impl Fn(&ProgressState, &mut dyn fmt::Write) + Clone + Send + Sync + use<> {
    let state = Arc::clone(state);
    move |_, out| {
        let _ = write(&state.lock().expect("no holder panics"), out);
    }
}

impl StudyProgress {
    /// Creates the progress of a study with `variants` on `threads` threads. `most` is an upper bound for the number
    /// of runs, if that is not fixed.
    pub(super) fn new(variants: usize, threads: usize, most: Option<u64>) -> Self {
        let variants = vec![VariantTimings::default(); variants];
        let state = Arc::new(Mutex::new(StudyTimings {
            threads,
            variants,
            ..StudyTimings::default()
        }));
        let bar = ProgressBar::new(1).with_style(
            ProgressStyle::with_template("simulating {wide_bar} {runs}{left}")
                .expect("the template is well-formed")
                .with_key("runs", shown_timings(&state, StudyTimings::write_runs))
                .with_key("left", shown_timings(&state, StudyTimings::write_left)),
        );
        show(&bar);
        if let Some(host) = CommandHost::current() {
            let state = Arc::clone(&state);
            host.follow(Box::new(move || {
                let runs = state.lock().expect("no holder panics").runs();
                HostProgress {
                    done: runs.at_hand,
                    wanted: runs.wanted,
                }
            }));
        }
        Self { bar, state, most }
    }

    /// Removes the progress bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Changes the state and updates the progress bar. The bar locks the state while it draws, so the lock is released
    /// first.
    fn update<T>(&self, change: impl FnOnce(&mut StudyTimings) -> T) -> T {
        let mut state = self.state.lock().expect("no holder panics");
        let result = change(&mut state);
        let done = state.done();
        let all = done + state.work_left();
        drop(state);
        self.bar.set_length((all.as_millis() as u64).max(1));
        self.bar.set_position(done.as_millis() as u64);
        result
    }
}

impl StudyObserver for StudyProgress {
    fn round(&self, at_hand: &[u32], wanted: &[u32], firsts: &[&RunRecord], again: &[bool]) {
        let line = self.update(|state| {
            for (variant, (&at_hand, &wanted, again)) in
                state.variants.iter_mut().zip(izip!(at_hand, wanted, again))
            {
                variant.at_hand = at_hand;
                variant.wanted = wanted;
                variant.has_details = !again;
            }
            for (variant, first) in state.variants.iter_mut().zip(firsts) {
                variant.events = first.run.events;
            }
            state.first_estimate(firsts, wanted, self.most)
        });
        if let Some(line) = line {
            self.bar.suspend(|| output::err(&line));
        }
    }

    fn begins(&self, job: Job) {
        self.update(|state| state.running.insert(job, Instant::now()));
    }

    fn ended(&self, job: Job) {
        self.update(|state| {
            let began = state.running.remove(&job);
            let took = began.map_or(Duration::ZERO, |began| began.elapsed());
            state.ended(job, took);
        });
    }
}

impl StudyTimings {
    fn ended(&mut self, job: Job, took: Duration) {
        let variant = &mut self.variants[job.variant()];
        variant.timed += 1;
        variant.took += took;
        match job {
            Job::Run(_) => variant.at_hand += 1,
            Job::Detail(_) => variant.detailed = true,
        }
    }

    fn runs(&self) -> RunCounts {
        let mut counts = RunCounts::default();
        for variant in &self.variants {
            counts.at_hand += u64::from(variant.at_hand);
            counts.wanted += u64::from(variant.wanted);
        }
        counts
    }

    fn write_runs(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let RunCounts { at_hand, wanted } = self.runs();
        write!(out, "{}/{} runs", grouped(at_hand), grouped(wanted))
    }

    fn write_left(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        match self.left() {
            Some(left) => write!(out, ", {} left", in_words(left)),
            None => Ok(()),
        }
    }

    /// Returns the estimate for a long study, once its first runs have finished. `None`: the study is short, or the
    /// estimate was already printed.
    fn first_estimate(
        &mut self,
        firsts: &[&RunRecord],
        wanted: &[u32],
        most: Option<u64>,
    ) -> Option<String> {
        if firsts.is_empty() || self.is_estimated {
            return None;
        }
        self.is_estimated = true;
        let left = self.left()? + statistics(wanted);
        (left > LONG).then(|| estimate(self, left, results_bytes(firsts, wanted), most))
    }

    /// Returns the expected duration of a run of this variant.
    fn each(&self, variant: &VariantTimings) -> Duration {
        if variant.timed > 0 {
            return variant.took / variant.timed;
        }
        let mut took = Duration::ZERO;
        let mut events = 0;
        for other in &self.variants {
            if other.timed > 0 && other.events > 0 {
                took += other.took;
                events += u64::from(other.timed) * other.events;
            }
        }
        if events == 0 {
            Duration::ZERO
        } else {
            took.mul_f64(variant.events as f64 / events as f64)
        }
    }

    fn done(&self) -> Duration {
        let mut done = Duration::ZERO;
        for variant in &self.variants {
            done += self.each(variant) * (variant.at_hand + u32::from(variant.detailed));
        }
        done
    }

    /// Returns the remaining time if one thread did all the work.
    fn work_left(&self) -> Duration {
        let mut left = Duration::ZERO;
        for variant in &self.variants {
            left += self.each(variant) * variant.runs_left();
        }
        left
    }

    /// Returns the remaining time on all threads. `None`: no run has finished yet.
    fn left(&self) -> Option<Duration> {
        if self.variants.iter().all(|variant| variant.timed == 0) {
            return None;
        }
        let mut spent = Duration::ZERO;
        let mut longest = Duration::ZERO;
        for (job, began) in &self.running {
            let each = self.each(&self.variants[job.variant()]);
            let elapsed = began.elapsed().min(each);
            spent += elapsed;
            longest = longest.max(each - elapsed);
        }
        let shared = self.work_left().saturating_sub(spent) / self.threads.max(1) as u32;
        Some(shared.max(longest))
    }
}

/// Returns the expected duration of the statistics for these numbers of runs, which one thread computes: for each run,
/// each measure and its difference are resampled, and compared measures once more for each pair of variants.
fn statistics(wanted: &[u32]) -> Duration {
    const SAMPLE: u32 = 100;
    const COMPARED: usize = 8;
    let values: Vec<f64> = (0..SAMPLE).map(f64::from).collect();
    let began = Instant::now();
    let _ = std::hint::black_box(interval_of_mean(&values, 1));
    let each = began.elapsed() / SAMPLE;
    let times = 2 * Measure::ALL.len() + COMPARED * wanted.len().saturating_sub(1) / 2;
    let mut once = Duration::ZERO;
    for &runs in wanted {
        once += each * runs.min(MOST_RESAMPLED as u32);
    }
    once * times as u32
}

/// Returns the estimate as one line.
fn estimate(state: &StudyTimings, left: Duration, results: Bytes, most: Option<u64>) -> String {
    let RunCounts { at_hand, wanted } = state.runs();
    let saved = if at_hand > state.variants.len() as u64 {
        format!(" ({} saved)", grouped(at_hand))
    } else {
        String::new()
    };
    let more = match most {
        Some(most) if most > wanted => {
            let runs_left = wanted.saturating_sub(at_hand).max(1);
            let ratio = most.saturating_sub(at_hand) as f64 / runs_left as f64;
            format!(
                "; up to {} runs and {} to reach the precision",
                grouped(most),
                in_words(left.mul_f64(ratio))
            )
        }
        _ => String::new(),
    };
    format!(
        "{} runs{saved} of {} variant{}: about {} on {} thread{}, {} MB of results{more}\n",
        grouped(wanted),
        state.variants.len(),
        plural_ending(state.variants.len()),
        in_words(left),
        state.threads,
        plural_ending(state.threads),
        // The size is rounded to megabytes.
        (results.get() as f64 / 1e6).round().max(1.0),
    )
}

const fn plural_ending(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Returns the expected size of the results folder, from the first run of every variant.
fn results_bytes(firsts: &[&RunRecord], wanted: &[u32]) -> Bytes {
    // Bytes for each row: averages over the results of experiments 01, 02, 04 and 05 in this repository. Whole folders
    // are 0.9 to 1.6 times as large.
    const RUN: u64 = 350;
    const SUMMARY: u64 = 250;
    const BIN: u64 = 160;
    const CLUSTER: u64 = 180;
    const PASS: u64 = 80;
    // Six charts as SVG and PNG: 0.2 MB each, plus a share for each variant.
    const CHARTS: u64 = 1_200_000;
    const CHARTS_OF_VARIANT: u64 = 150_000;
    let mut bytes = CHARTS;
    for (first, &wanted) in firsts.iter().zip(wanted) {
        let bins = first.series.len().min(BINS_MAX) as u64;
        bytes += RUN * u64::from(wanted)
            + SUMMARY * Measure::ALL.len() as u64
            + BIN * bins
            + CLUSTER * first.run.targets
            + PASS * first.run.passes
            + CHARTS_OF_VARIANT;
    }
    Bytes::new(bytes)
}

/// Formats a duration for people, such as `40 s`, `2 min` or `1.5 h`.
fn in_words(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds @ ..10.0 => format!("{} s", seconds.ceil()),
        seconds @ ..90.0 => format!("{} s", (seconds / 5.0).round() * 5.0),
        seconds @ ..5400.0 => format!("{} min", (seconds / 60.0).round()),
        seconds => format!("{} h", (seconds / 1800.0).round() / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(threads: usize, variants: &[VariantTimings]) -> StudyTimings {
        StudyTimings {
            threads,
            variants: variants.to_vec(),
            running: HashMap::new(),
            is_estimated: false,
        }
    }

    #[test]
    fn remaining_runs_are_weighted_by_the_time_of_the_variant() {
        let spent = |at_hand, timed, seconds, events| VariantTimings {
            at_hand,
            wanted: 20,
            detailed: false,
            has_details: false,
            timed,
            took: Duration::from_secs(seconds),
            events,
        };
        let mut state = state(
            2,
            &[
                spent(10, 5, 5, 1000),
                spent(20, 1, 60, 60_000),
                spent(0, 0, 0, 130),
            ],
        );
        // 11 · 1 s + 1 · 60 s + 21 runs with 130 events, at 65 s for 5 · 1,000 + 60,000 events: 0.13 s each. Two
        // threads share the work.
        let left = state.left().expect("runs have ended");
        assert!(
            (left.as_secs_f64() - (11.0 + 60.0 + 21.0 * 0.13) / 2.0).abs() < 1e-6,
            "{left:?}"
        );
        let runs = RunCounts {
            at_hand: 30,
            wanted: 60,
        };
        assert_eq!(state.runs(), runs);
        state.ended(Job::Run((0, 10)), Duration::from_secs(7));
        state.ended(Job::Detail(1), Duration::from_secs(60));
        // Six runs took 12 s; nine runs and the detailed run remain.
        let left = state.left().expect("runs have ended");
        let each = 132.0 / (6.0 * 1000.0 + 2.0 * 60_000.0) * 130.0;
        let expected = (10.0 * 2.0 + 21.0 * each) / 2.0;
        assert!(
            (left.as_secs_f64() - expected).abs() < 1e-3,
            "{left:?}, not {expected} s"
        );
    }

    #[test]
    fn there_is_no_estimate_before_a_run_has_finished() {
        assert_eq!(
            state(
                4,
                &[VariantTimings {
                    wanted: 20,
                    ..VariantTimings::default()
                }]
            )
            .left(),
            None
        );
    }

    #[test]
    fn the_estimate_is_one_line() {
        let variant = VariantTimings {
            at_hand: 1,
            wanted: 20,
            timed: 1,
            took: Duration::from_secs(12),
            ..VariantTimings::default()
        };
        let state = state(2, &[variant; 8]);
        // Nineteen runs and a detailed run of 12 s each, for eight variants on two threads: 960 s for 152 runs; 1592
        // runs would take 2.8 h.
        let left = state.left().expect("runs have ended");
        assert_eq!(
            estimate(&state, left, Bytes::new(14_300_000), None),
            "160 runs of 8 variants: about 16 min on 2 threads, 14 MB of results\n"
        );
        assert_eq!(
            estimate(&state, left, Bytes::new(14_300_000), Some(1600)),
            "160 runs of 8 variants: about 16 min on 2 threads, 14 MB of results; up to 1,600 runs and 3 h to reach the precision\n"
        );
    }

    #[test]
    fn durations_are_rounded_to_short_texts() {
        for (seconds, words) in [
            (0.2, "1 s"),
            (9.9, "10 s"),
            (43.0, "45 s"),
            (95.0, "2 min"),
            (5000.0, "83 min"),
            (9000.0, "2.5 h"),
        ] {
            assert_eq!(in_words(Duration::from_secs_f64(seconds)), words);
        }
    }
}
