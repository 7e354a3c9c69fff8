//! Measurements while a world runs: exact peaks and totals, and a time series in bins.
//!
//! Peaks come from counters that see every change, not from sampling. The series starts with bins of one second. When
//! it exceeds [`MAX_BINS`], pairs of bins are merged, so a long rollout keeps a bounded series. The peaks of the
//! registry's egress over a second and over a minute are measured before any merging.

mod application_load;
#[cfg(test)]
mod tests;

use crate::world::ids::ApplicationId;
pub use application_load::{LoadChange, LoadChangeKind};
use fleetsim_units::{BytesPerSec, SimDuration, SimTime};

/// Maximum number of bins of a series before they are merged in pairs.
const MAX_BINS: usize = 4096;
/// Length of the shortest bin.
const SECOND: SimDuration = SimDuration::from_secs(1);
/// Number of bins in the long egress window.
const MINUTE: usize = 60;
/// Length of the window for the busiest hour, in seconds.
const HOUR: usize = 3600;

/// A counter that rises and falls, with its peak.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    value: u64,
    peak: u64,
    /// Highest value since the start of the current second.
    second_peak: u64,
    /// Integral of the value over time so far.
    area_nanos: u128,
}

impl Gauge {
    /// Adds one.
    pub(crate) fn rise(&mut self) {
        self.value += 1;
        self.peak = self.peak.max(self.value);
        self.second_peak = self.second_peak.max(self.value);
    }

    /// Subtracts one.
    pub fn fall(&mut self) {
        self.value = self
            .value
            .checked_sub(1)
            .expect("a counter that falls has risen");
    }

    fn integrate(&mut self, span: SimDuration) {
        self.area_nanos += u128::from(span.as_nanos()) * u128::from(self.value);
    }

    /// Returns the integral of the value over time up to the last [`Meter::advance`], in nanoseconds.
    #[must_use]
    pub const fn area_nanos(&self) -> u128 {
        self.area_nanos
    }

    /// Returns the current value.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the highest value so far.
    #[must_use]
    pub const fn peak(&self) -> u64 {
        self.peak
    }
}

/// The phase of a deployment in the series.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeploymentPhase {
    /// The deployment has not been instructed yet to run the new revision.
    Waiting,
    /// The deployment is instructed, not ready, and making progress.
    Updating,
    /// The deployment is instructed, not ready, and stalled: its cluster is cut off, or a pod backs off or is not ready
    /// because of a defect. A deployment whose workloads were deleted for good counts here, too.
    NotReady,
    /// The deployment is ready on the new revision, as the product sees it.
    Ready,
}

/// The number of values of [`DeploymentPhase`].
const PHASES: usize = 4;

/// One bin of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Peak of concurrent image pulls.
    pub pulls: u64,
    /// Peak of concurrent blob downloads.
    pub downloads: u64,
    /// Bytes that left the registry.
    pub egress_bytes: f64,
    /// Maximum number of bytes that left the registry in one second.
    pub egress_peak_second_bytes: f64,
    /// Deployments per phase at the end of the bin, in the order of [`DeploymentPhase`].
    pub phases: [u64; PHASES],
}

impl Bin {
    /// Extends the bin by the bin that follows it.
    fn absorb(&mut self, later: &Self) {
        self.pulls = self.pulls.max(later.pulls);
        self.downloads = self.downloads.max(later.downloads);
        self.egress_bytes += later.egress_bytes;
        self.egress_peak_second_bytes = self
            .egress_peak_second_bytes
            .max(later.egress_peak_second_bytes);
        self.phases = later.phases;
    }
}

/// The number of seconds with each rate. Rates in the same class differ by at most 1.1%; the upper end represents the
/// class.
#[derive(Clone, Debug, Default)]
struct RateHistogram {
    seconds: u64,
    /// The counts by class; class 0 has rates of at most 1 B/s.
    classes: Vec<u64>,
}

impl RateHistogram {
    /// Number of classes between a rate and its double.
    const CLASSES: f64 = 64.0;

    fn count(&mut self, rate: f64) {
        let class = if rate <= 1.0 {
            0
        } else {
            (libm::log2(rate) * Self::CLASSES).ceil() as usize
        };
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.seconds += 1;
    }

    fn exceeded_in(&self, share: f64) -> f64 {
        let most = (share * self.seconds as f64).floor() as u64;
        let mut above = 0;
        for (class, seconds) in self.classes.iter().enumerate().rev() {
            above += seconds;
            if above > most {
                return if class == 0 {
                    0.0
                } else {
                    libm::exp2(class as f64 / Self::CLASSES)
                };
            }
        }
        0.0
    }
}

/// The traffic that the registries send to the fleet and to others together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TotalsWithOthers {
    /// Highest mean rate over a whole second, in bytes per second.
    pub peak_second: f64,
    /// Highest mean rate over 60 consecutive seconds, in bytes per second.
    pub peak_minute: f64,
    /// Bytes to others since the start.
    pub other_bytes: f64,
}

/// The egress of one registry, or the load of another link.
#[derive(Clone, Copy, Debug, Default)]
pub struct EgressMeter {
    rate: f64,
    at_capacity: bool,
    busy: SimDuration,
    second_bytes: f64,
    peak_second_bytes: f64,
}

impl EgressMeter {
    fn integrate(&mut self, span: SimDuration) {
        self.second_bytes += self.rate * span.as_secs_f64();
        if self.at_capacity {
            self.busy += span;
        }
    }

    fn close_second(&mut self) {
        self.peak_second_bytes = self.peak();
        self.second_bytes = 0.0;
    }

    /// Returns the highest mean egress over a whole second, in bytes per second. The bytes of an incomplete second
    /// count as if the second were complete.
    #[must_use]
    pub const fn peak(&self) -> f64 {
        self.peak_second_bytes.max(self.second_bytes)
    }

    /// Returns the time during which the registry's egress was at its capacity.
    #[must_use]
    pub const fn busy(&self) -> SimDuration {
        self.busy
    }
}

/// What people may notice of an application.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ApplicationSigns {
    /// The number of deployments in which the wanted revision fails: a pod backs off, crashes or never gets ready, an
    /// apply has failed, or a progress deadline has passed.
    pub failed: u64,
    /// The number of deployments whose workloads have a defective revision.
    pub exposed: u64,
}

/// What people may notice of a deployment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct DeploymentSigns {
    pub(crate) has_failed: bool,
    pub(crate) is_exposed: bool,
}

/// All meters of one run.
#[derive(Clone, Debug)]
pub struct Meter {
    now: SimTime,
    second_end: SimTime,
    second_bytes: f64,
    /// Bytes of each second of the last minute, as a ring.
    last_minute: [f64; MINUTE],
    seconds: usize,
    peak_second_bytes: f64,
    peak_minute_bytes: f64,
    egress_rate: f64,
    /// Bytes that the registries sent to the fleet so far.
    egress_bytes: f64,
    egress_at_capacity: bool,
    /// The total rate of the registries, to the fleet and to others.
    total_rate: f64,
    total_second_bytes: f64,
    total_peak_second_bytes: f64,
    total_last_minute: [f64; MINUTE],
    total_peak_minute_bytes: f64,
    other_bytes: f64,
    busy: SimDuration,
    /// Busy time of each second in the last hour, as a ring, and its sum.
    last_hour: Vec<SimDuration>,
    hour_busy: SimDuration,
    second_busy: SimDuration,
    busiest_hour: SimDuration,
    over_time: RateHistogram,
    /// The egress of each registry.
    registries: Vec<EgressMeter>,
    /// The links that do not belong to registries.
    links: Vec<EgressMeter>,
    /// Time that deployments spent in `Updating` or `NotReady`, in deployment-nanoseconds.
    not_ready_nanos: u128,
    bins: Vec<Bin>,
    /// The open bin.
    open: Bin,
    open_seconds: u64,
    seconds_per_bin: u64,
    phases: [u64; PHASES],
    peak_not_ready: u64,
    /// The signs of each application that people may notice.
    signs: Vec<ApplicationSigns>,
    /// The changes of each application. `None`: they are not watched.
    load_changes: Option<Vec<LoadChange>>,
    /// Number of image pulls in progress.
    pub pulls: Gauge,
    /// Number of blob downloads in progress.
    pub downloads: Gauge,
    /// Number of blobs that a registry is sending to nodes, caches and seeds.
    pub registry_downloads: Gauge,
    /// Number of clusters with an image pull in progress.
    pub pulling_clusters: Gauge,
    /// Number of pods for which no node has room.
    pub unbound_pods: Gauge,
}

impl Meter {
    /// Creates the meters of a run with this many registries, and this many deployments, all of them waiting.
    #[must_use]
    pub fn new(deployments: u64, registries: usize) -> Self {
        Self {
            now: SimTime::ZERO,
            second_end: SimTime::ZERO + SECOND,
            second_bytes: 0.0,
            last_minute: [0.0; MINUTE],
            seconds: 0,
            peak_second_bytes: 0.0,
            peak_minute_bytes: 0.0,
            egress_rate: 0.0,
            egress_bytes: 0.0,
            egress_at_capacity: false,
            total_rate: 0.0,
            total_second_bytes: 0.0,
            total_peak_second_bytes: 0.0,
            total_last_minute: [0.0; MINUTE],
            total_peak_minute_bytes: 0.0,
            other_bytes: 0.0,
            busy: SimDuration::ZERO,
            last_hour: vec![SimDuration::ZERO; HOUR],
            hour_busy: SimDuration::ZERO,
            second_busy: SimDuration::ZERO,
            busiest_hour: SimDuration::ZERO,
            over_time: RateHistogram::default(),
            registries: vec![EgressMeter::default(); registries],
            links: Vec::new(),
            not_ready_nanos: 0,
            bins: Vec::new(),
            open: Bin::default(),
            open_seconds: 0,
            seconds_per_bin: 1,
            phases: [deployments, 0, 0, 0],
            peak_not_ready: 0,
            signs: Vec::new(),
            load_changes: None,
            pulls: Gauge::default(),
            downloads: Gauge::default(),
            registry_downloads: Gauge::default(),
            pulling_clusters: Gauge::default(),
            unbound_pods: Gauge::default(),
        }
    }

    /// Advances to `now`: counts the bytes since the last call and closes every second in between.
    pub fn advance(&mut self, now: SimTime) {
        while self.second_end <= now {
            self.integrate(self.second_end);
            self.close_second();
        }
        self.integrate(now);
    }

    fn integrate(&mut self, to: SimTime) {
        let span = to - self.now;
        let bytes = self.egress_rate * span.as_secs_f64();
        self.second_bytes += bytes;
        self.egress_bytes += bytes;
        self.total_second_bytes += self.total_rate * span.as_secs_f64();
        self.other_bytes += (self.total_rate - self.egress_rate) * span.as_secs_f64();
        if self.egress_at_capacity {
            self.busy += span;
            self.second_busy += span;
        }
        for link in self.registries.iter_mut().chain(&mut self.links) {
            link.integrate(span);
        }
        for gauge in [
            &mut self.pulls,
            &mut self.downloads,
            &mut self.pulling_clusters,
        ] {
            gauge.integrate(span);
        }
        self.not_ready_nanos += u128::from(span.as_nanos()) * u128::from(self.not_ready());
        self.now = to;
    }

    /// Returns the current second as a bin.
    fn second(&self) -> Bin {
        Bin {
            pulls: self.pulls.second_peak,
            downloads: self.downloads.second_peak,
            egress_bytes: self.second_bytes,
            egress_peak_second_bytes: self.second_bytes,
            phases: self.phases,
        }
    }

    fn close_second(&mut self) {
        self.peak_second_bytes = self.peak_second_bytes.max(self.second_bytes);
        self.total_peak_second_bytes = self.total_peak_second_bytes.max(self.total_second_bytes);
        self.total_last_minute[self.seconds % MINUTE] = self.total_second_bytes;
        self.total_second_bytes = 0.0;
        self.last_minute[self.seconds % MINUTE] = self.second_bytes;
        let of_hour = std::mem::replace(&mut self.last_hour[self.seconds % HOUR], self.second_busy);
        self.hour_busy = (self.hour_busy + self.second_busy).saturating_sub(of_hour);
        self.busiest_hour = self.busiest_hour.max(self.hour_busy);
        self.second_busy = SimDuration::ZERO;
        self.over_time.count(self.second_bytes);
        self.seconds += 1;
        // Recompute the sum instead of updating it: this takes sixty additions per second, and has no drift.
        self.peak_minute_bytes = self.peak_minute_bytes.max(self.last_minute.iter().sum());
        if self.other_bytes > 0.0 {
            let minute = self.total_last_minute.iter().sum();
            self.total_peak_minute_bytes = self.total_peak_minute_bytes.max(minute);
        }
        self.open.absorb(&self.second());
        self.open_seconds += 1;
        if self.open_seconds == self.seconds_per_bin {
            self.close_bin();
        }
        self.second_bytes = 0.0;
        for link in self.registries.iter_mut().chain(&mut self.links) {
            link.close_second();
        }
        self.second_end = self.second_end + SECOND;
        for gauge in [&mut self.pulls, &mut self.downloads] {
            gauge.second_peak = gauge.value;
        }
    }

    fn close_bin(&mut self) {
        self.bins.push(std::mem::take(&mut self.open));
        self.open_seconds = 0;
        if self.bins.len() == MAX_BINS {
            for pair in 0..MAX_BINS / 2 {
                let mut merged = self.bins[2 * pair];
                merged.absorb(&self.bins[2 * pair + 1]);
                self.bins[pair] = merged;
            }
            self.bins.truncate(MAX_BINS / 2);
            self.seconds_per_bin *= 2;
        }
    }

    /// Returns the current time of the meters.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Sets the current sending rate of each registry, and whether it is at its capacity. Call [`Meter::advance`]
    /// first.
    pub fn set_egress(&mut self, registries: impl Iterator<Item = (BytesPerSec, bool)>) {
        (self.egress_rate, self.egress_at_capacity) = (0.0, false);
        for (meter, (rate, at_capacity)) in self.registries.iter_mut().zip(registries) {
            (meter.rate, meter.at_capacity) = (rate.get(), at_capacity);
            self.egress_rate += meter.rate;
            self.egress_at_capacity |= at_capacity;
        }
        self.total_rate = self.egress_rate;
    }

    /// Sets the current rate at which the registries also send to others. Call it after [`Meter::set_egress`].
    pub(crate) fn add_others(&mut self, rate: f64) {
        self.total_rate += rate;
    }

    /// Returns the highest mean egress over a whole second, to the fleet and others together, in bytes per second, and
    /// the bytes sent to others.
    #[must_use]
    pub fn totals_with_others(&self) -> TotalsWithOthers {
        let mut last_minute = self.total_last_minute;
        last_minute[self.seconds % MINUTE] = self.total_second_bytes;
        // Before the first byte to others, the fleet's own minutes are the total.
        let peak_minute_bytes = self
            .total_peak_minute_bytes
            .max(self.peak_minute_bytes)
            .max(last_minute.iter().sum());
        TotalsWithOthers {
            peak_second: self.total_peak_second_bytes.max(self.total_second_bytes),
            peak_minute: peak_minute_bytes / MINUTE as f64,
            other_bytes: self.other_bytes,
        }
    }

    /// Creates the meters of this number of other links.
    pub(crate) fn follow_links(&mut self, links: usize) {
        self.links.resize(links, EgressMeter::default());
    }

    /// Sets the rates of the other links from now on, each with a flag that is true at capacity. Call
    /// [`Meter::advance`] first.
    pub(crate) fn set_links(&mut self, links: impl Iterator<Item = (BytesPerSec, bool)>) {
        for (meter, (rate, at_capacity)) in self.links.iter_mut().zip(links) {
            (meter.rate, meter.at_capacity) = (rate.get(), at_capacity);
        }
    }

    /// Returns the meters of the other links.
    #[must_use]
    pub fn links(&self) -> &[EgressMeter] {
        &self.links
    }

    /// Returns the egress of each registry.
    #[must_use]
    pub fn registries(&self) -> &[EgressMeter] {
        &self.registries
    }

    /// Records the start of an image pull.
    pub fn pull_begins(&mut self, first_of_cluster: bool) {
        self.pulls.rise();
        if first_of_cluster {
            self.pulling_clusters.rise();
        }
    }

    /// Records the end of an image pull.
    pub fn pull_ends(&mut self, last_of_cluster: bool) {
        self.pulls.fall();
        if last_of_cluster {
            self.pulling_clusters.fall();
        }
    }

    /// Moves a deployment from one phase to another.
    pub fn move_deployment(&mut self, from: DeploymentPhase, to: DeploymentPhase) {
        self.phases[from as usize] -= 1;
        self.phases[to as usize] += 1;
        self.peak_not_ready = self.peak_not_ready.max(self.not_ready());
    }

    /// Counts the signs of a deployment of an application, which were others before.
    pub(crate) fn note_signs(
        &mut self,
        application: usize,
        was: DeploymentSigns,
        now: DeploymentSigns,
    ) {
        if self.signs.len() <= application {
            self.signs
                .resize(application + 1, ApplicationSigns::default());
        }
        let signs = &mut self.signs[application];
        signs.failed = signs.failed + u64::from(now.has_failed) - u64::from(was.has_failed);
        signs.exposed = signs.exposed + u64::from(now.is_exposed) - u64::from(was.is_exposed);
    }

    /// Returns the signs of an application that people may notice now.
    #[must_use]
    pub fn signs(&self, application: ApplicationId) -> ApplicationSigns {
        let signs = self.signs.get(application.index());
        signs.copied().unwrap_or_default()
    }

    /// Returns the bytes that the registries sent to the fleet so far, as integrated over time.
    #[must_use]
    pub const fn egress_so_far(&self) -> f64 {
        self.egress_bytes
    }

    /// Starts recording the changes of each application.
    pub(crate) fn watch_applications(&mut self) {
        self.load_changes = Some(Vec::new());
    }

    /// Records a change of an application, if they are watched. Call [`Meter::advance`] first.
    pub(crate) fn note_load(&mut self, application: usize, kind: LoadChangeKind) {
        if let Some(changes) = &mut self.load_changes {
            changes.push(LoadChange {
                at: self.now,
                application: ApplicationId(application as u16),
                kind,
            });
        }
    }

    /// Returns the changes of all applications in the order of events. Empty if they are not watched.
    #[must_use]
    pub fn load_changes(&self) -> &[LoadChange] {
        self.load_changes.as_deref().unwrap_or_default()
    }

    /// Returns the number of deployments that are instructed and not ready.
    fn not_ready(&self) -> u64 {
        self.phases[DeploymentPhase::Updating as usize]
            + self.phases[DeploymentPhase::NotReady as usize]
    }

    /// Returns the peak number of deployments that were instructed and not ready.
    #[must_use]
    pub const fn peak_not_ready(&self) -> u64 {
        self.peak_not_ready
    }

    /// Returns the integral over time of the number of deployments that were instructed and not ready, in hours.
    #[must_use]
    pub fn not_ready_hours(&self) -> f64 {
        self.not_ready_nanos as f64 / 3600e9
    }

    /// Returns the highest mean egress over a whole second, and over sixty consecutive seconds, in bytes per second.
    ///
    /// The bytes of an incomplete second count as if the second were complete.
    #[must_use]
    pub fn egress_peaks(&self) -> (f64, f64) {
        let mut last_minute = self.last_minute;
        last_minute[self.seconds % MINUTE] = self.second_bytes;
        (
            self.peak_second_bytes.max(self.second_bytes),
            self.peak_minute_bytes.max(last_minute.iter().sum()) / MINUTE as f64,
        )
    }

    /// Returns the time during which the registry's egress was at its capacity.
    #[must_use]
    pub const fn busy(&self) -> SimDuration {
        self.busy
    }

    /// Returns the greatest share of an hour in which the registry's egress was at its capacity.
    #[must_use]
    pub fn busiest_hour_share(&self) -> f64 {
        let open =
            (self.hour_busy + self.second_busy).saturating_sub(self.last_hour[self.seconds % HOUR]);
        self.busiest_hour.max(open).as_secs_f64() / HOUR as f64
    }

    /// Returns the rate that the egress exceeded in `share` of the whole seconds so far, in bytes per second.
    #[must_use]
    pub fn exceeded_in(&self, share: f64) -> f64 {
        self.over_time.exceeded_in(share).min(self.egress_peaks().0)
    }

    /// Returns the series and the length of its bins; the end of the run may cut the last bin short.
    #[must_use]
    pub fn series(&self) -> (SimDuration, Vec<Bin>) {
        let mut bins = self.bins.clone();
        let mut last = self.open;
        last.absorb(&self.second());
        bins.push(last);
        (SECOND * self.seconds_per_bin, bins)
    }
}
