//! Rancher Fleet's Schedules: windows outside which agents do nothing.
//!
//! Follows rancher/fleet at 3b2c622, `internal/cmd/controller/reconciler/{schedule_controller,cronduration_job}.go`,
//! `internal/cmd/controller/target/{target,matcher/schedulematch}.go` and
//! `internal/cmd/agent/controller/{bundledeployment,drift}_controller.go`:
//! - A Schedule has a cron expression of go-quartz, a duration, a location, and targets, which select clusters like
//!   the entries of a GitRepo. Its clusters are `scheduled`. A window begins when the expression fires, and lasts for
//!   the duration. The search for the next window starts at its end.
//! - The start of a window sets `activeSchedule` of each of its clusters, and the end removes it, with one request for
//!   each cluster. So if a cluster has several Schedules, the last event counts: the first window that ends closes the
//!   cluster, even if another one is still open.
//! - A cluster that is scheduled and not active is off schedule (`spec.offSchedule` of its deployment). Passes ignore
//!   this: the cluster gets its new id, but its agent applies nothing and reports nothing. An apply in progress at the
//!   end of the window completes and is reported. Readiness after that is reported when the next window begins.
//! - A Schedule that is created, or whose clusters change, starts closed. The simulated Schedules were created long
//!   before the release, and their clusters do not change.
//! - Rejected, as by Fleet: an invalid expression or location, and a duration that is not shorter than the time
//!   between the next two window starts.
//!
//! Evidence: the product's source; the expressions are compared with go-quartz itself. Left out: controllers that do
//! not run in UTC, whose zone would apply to an empty `location`; the product's order of two simultaneous events,
//! which here follow the order of the Schedules' names; the requests for the status of the Schedule itself; labels
//! that change during the rollout and would move a cluster into or out of a Schedule.

use serde::Deserialize;

use super::{FleetVersion, clusters};
use crate::calendar::{CalendarStart, QuartzCron, UnixSeconds, Zone};
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::reader::Kind;
use crate::products::Fleet;
use crate::products::fields::{self, ObjectKind};
use crate::products::words::first_names;
use crate::rollout::parse_duration;
use crate::rollout::rancher_fleet::{ManualPartition, selected_by};
use crate::units::{SimDuration, SimTime, counted};

const SCHEDULE: ObjectKind = ObjectKind::of("Schedule");

const REFUSED: &str = "Fleet refuses this too, and its clusters would have no schedule";

/// Time spans, in seconds, in which the last window before the start is searched: an hour, a day, 32 days, a year.
const LOOKBACKS: [i64; 4] = [3_600, 86_400, 32 * 86_400, 366 * 86_400];

/// The fields of a `Schedule` of the product's API that affect the rollout.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ScheduleFile {
    metadata: ScheduleMetadata,
    spec: ScheduleFields,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ScheduleMetadata {
    name: String,
    namespace: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ScheduleFields {
    schedule: String,
    duration: Option<String>,
    location: String,
    targets: ScheduleTargets,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ScheduleTargets {
    clusters: Vec<ManualPartition>,
}

/// A checked Schedule.
#[derive(Clone, Debug, PartialEq)]
struct FleetSchedule {
    name: String,
    cron: QuartzCron,
    seconds: i64,
    zone: Zone,
    /// The clusters of the Schedule, in the order of their names.
    clusters: Vec<u32>,
}

/// The beginning or the end of a window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct WindowEvent {
    pub(super) at: UnixSeconds,
    pub(super) opens: bool,
}

impl FleetSchedule {
    /// Returns the last event up to `now`. `None`: there was no event within a year.
    fn last_event(&self, now: UnixSeconds) -> Option<WindowEvent> {
        let began = self.last_beginning(now)?;
        let ends = began + self.seconds;
        Some(if ends <= now {
            WindowEvent {
                at: ends,
                opens: false,
            }
        } else {
            WindowEvent {
                at: began,
                opens: true,
            }
        })
    }

    /// Returns the last time up to `now` at which a window began.
    fn last_beginning(&self, now: UnixSeconds) -> Option<UnixSeconds> {
        for lookback in LOOKBACKS {
            let mut last = None;
            let mut at = now - lookback - self.seconds;
            while let Some(next) = self.cron.next(at, &self.zone).filter(|next| *next <= now) {
                last = Some(next);
                at = next;
            }
            if last.is_some() {
                return last;
            }
        }
        None
    }

    /// Returns the event after `last`.
    fn event_after(&self, last: WindowEvent) -> Option<WindowEvent> {
        if last.opens {
            return Some(WindowEvent {
                at: last.at + self.seconds,
                opens: false,
            });
        }
        let at = self.cron.next(last.at, &self.zone)?;
        Some(WindowEvent { at, opens: true })
    }
}

/// The Schedules of a fleet, and the start of the rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetSchedules {
    start: CalendarStart,
    schedules: Vec<FleetSchedule>,
}

impl FleetSchedules {
    /// The number of Schedules.
    pub(super) const fn len(&self) -> usize {
        self.schedules.len()
    }

    /// The clusters of a Schedule, in the order of their names.
    pub(super) fn clusters(&self, schedule: usize) -> &[u32] {
        &self.schedules[schedule].clusters
    }

    /// Returns the first event of a Schedule after the start.
    pub(super) fn first_event(&self, schedule: usize) -> Option<WindowEvent> {
        let schedule = &self.schedules[schedule];
        let now = self.start.at();
        let last = schedule.last_event(now).unwrap_or(WindowEvent {
            at: now,
            opens: false,
        });
        if last.opens {
            return schedule.event_after(last);
        }
        // An event at the start itself has already been counted.
        let from = WindowEvent {
            at: now,
            opens: false,
        };
        schedule.event_after(from)
    }

    /// Returns the event of a Schedule after another event.
    pub(super) fn event_after(&self, schedule: usize, last: WindowEvent) -> Option<WindowEvent> {
        self.schedules[schedule].event_after(last)
    }

    /// Returns the simulated time of an event.
    pub(super) fn time_of(&self, event: WindowEvent) -> SimTime {
        self.start.since_start(event.at).unwrap_or(SimTime::ZERO)
    }

    /// Returns, for each of `count` clusters, whether its schedule is active at the start. `None`: the cluster has no
    /// schedule.
    pub(super) fn active_at_start(&self, count: usize) -> Vec<Option<bool>> {
        let now = self.start.at();
        let mut active: Vec<Option<bool>> = vec![None; count];
        let mut changed_at = vec![i64::MIN; count];
        for schedule in &self.schedules {
            let last = schedule.last_event(now);
            for &cluster in &schedule.clusters {
                let index = cluster as usize;
                let is_active = active[index].get_or_insert(false);
                if let Some(last) = last
                    && last.at >= changed_at[index]
                {
                    changed_at[index] = last.at;
                    *is_active = last.opens;
                }
            }
        }
        active
    }

    /// Returns in words when the next window of one of these clusters begins after `now`.
    pub(super) fn next_opening(&self, clusters: &[u32], now: SimTime) -> Option<String> {
        let now = self.start.instant(now);
        let mut first: Option<UnixSeconds> = None;
        for schedule in &self.schedules {
            if !clusters
                .iter()
                .any(|cluster| schedule.clusters.contains(cluster))
            {
                continue;
            }
            if let Some(next) = schedule.cron.next(now, &schedule.zone) {
                first = Some(first.map_or(next, |first| first.min(next)));
            }
        }
        first.map(|at| self.start.zone().in_words(at))
    }

    /// Returns one line: the clusters with windows, how many windows are open at the start, and when the next one
    /// opens.
    pub(super) fn in_words(&self, names: &[String]) -> String {
        let active = self.active_at_start(names.len());
        let mut scheduled = Vec::new();
        let mut closed = Vec::new();
        for (index, active) in active.iter().enumerate() {
            if let Some(is_active) = active {
                scheduled.push(names[index].clone());
                if !is_active {
                    closed.push(index as u32);
                }
            }
        }
        let mut schedules = Vec::new();
        for schedule in &self.schedules {
            schedules.push(schedule.name.clone());
        }
        if scheduled.is_empty() {
            let schedules = first_names(&schedules);
            return format!("schedules ({schedules}): they select no cluster");
        }
        let mut line = format!(
            "schedules ({}): {} of {} ({})",
            first_names(&schedules),
            scheduled.len(),
            counted(names.len(), "cluster"),
            first_names(&scheduled),
        );
        if closed.is_empty() {
            line.push_str(", all inside a window at the start");
            return line;
        }
        line.push_str(&format!(
            "; outside their windows at the start: {}",
            closed.len()
        ));
        match self.next_opening(&closed, SimTime::ZERO) {
            Some(at) => line.push_str(&format!("; the first window opens on {at}")),
            None => line.push_str("; no window opens again"),
        }
        line
    }

    /// Reads the file with the Schedules. `path` is the location of its name in the experiment. `None`: a problem was
    /// reported.
    pub(super) fn read(
        name: &str,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Self> {
        let Some(start) = fleet.calendar else {
            let message = "windows have dates and times, so the rollout needs a start time";
            let help = "add e.g. `startsAt: 2026-03-28 22:00 Europe/Berlin` to the experiment";
            context.report(path, message, help);
            return None;
        };
        let mut schedules = Vec::new();
        let mut first_namespace: Option<String> = None;
        for document in fields::objects(name, &SCHEDULE, path, context)? {
            let file: ScheduleFile = context.read_from(&document, &Path::default(), |error| {
                !matches!(error.kind, Kind::UnknownField { .. })
            })?;
            let namespace = first_namespace.get_or_insert_with(|| file.metadata.namespace.clone());
            if *namespace != file.metadata.namespace {
                let message = format!(
                    "a Schedule of `{namespace}` and one of `{}`: each applies only to the clusters of its own \
                     namespace",
                    file.metadata.namespace
                );
                let problem = document.at(&Path::of("metadata").key("namespace"), message);
                let help = "keep the Schedules of the rollout's namespace";
                context.problems.push(problem.with_help(help));
                return None;
            }
            schedules.push(checked(&document, file, start, fleet, context)?);
        }
        schedules.sort_by(|one: &FleetSchedule, other| one.name.cmp(&other.name));
        Some(Self {
            start: start.clone(),
            schedules,
        })
    }
}

/// Returns whether a version of Fleet supports Schedules. Reports a problem if it does not.
pub(super) fn knows_schedules(
    version: FleetVersion,
    path: &Path,
    context: &mut Context<'_>,
) -> bool {
    let is_known = version >= FleetVersion::V0_14;
    if !is_known {
        let message = "Rancher Fleet has Schedules since 0.14";
        let help = "write `version: \"0.14\"` or later, or remove `schedules`";
        context.report(path, message, help);
    }
    is_known
}

/// Checks a Schedule. `None`: a problem was reported.
fn checked(
    document: &Document,
    file: ScheduleFile,
    start: &CalendarStart,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> Option<FleetSchedule> {
    let read = match WindowTimes::read(&file.spec, start.at()) {
        Ok(times) => members(&file.spec.targets, fleet).map(|members| (times, members)),
        Err(problem) => Err(problem),
    };
    match read {
        Ok((
            WindowTimes {
                cron,
                seconds,
                zone,
            },
            clusters,
        )) => Some(FleetSchedule {
            name: file.metadata.name,
            cron,
            seconds,
            zone,
            clusters,
        }),
        Err(RefusedSchedule { field, message }) => {
            let path = Path::parse(&field).unwrap_or_default();
            let problem = document.at(&path, message).with_help(REFUSED);
            context.problems.push(problem);
            None
        }
    }
}

/// A value that Fleet refuses.
struct RefusedSchedule {
    field: String,
    message: String,
}

impl RefusedSchedule {
    fn new(field: &str, message: String) -> Self {
        Self {
            field: field.to_owned(),
            message,
        }
    }
}

/// The times of a Schedule's windows.
struct WindowTimes {
    cron: QuartzCron,
    seconds: i64,
    zone: Zone,
}

impl WindowTimes {
    fn read(fields: &ScheduleFields, start: UnixSeconds) -> Result<Self, RefusedSchedule> {
        let cron = QuartzCron::parse(&fields.schedule).map_err(|message| {
            let message = format!("parse cron expression: {message}");
            RefusedSchedule::new("spec.schedule", message)
        })?;
        let Some(zone) = Zone::load(&fields.location) else {
            let message = format!("unknown time zone {}", fields.location);
            return Err(RefusedSchedule::new("spec.location", message));
        };
        let written = fields.duration.as_deref().unwrap_or("0");
        let Some(duration) = parse_duration(written) else {
            let message = format!("`{written}` is not a duration such as `6h` or `1h30m`");
            return Err(RefusedSchedule::new("spec.duration", message));
        };
        check_duration(&cron, &zone, duration, start)
            .map_err(|message| RefusedSchedule::new("spec.duration", message))?;
        Ok(Self {
            cron,
            seconds: (duration.as_nanos() / 1_000_000_000) as i64,
            zone,
        })
    }
}

/// Returns the clusters that the targets of a Schedule select, in the order of their names.
fn members(targets: &ScheduleTargets, fleet: Fleet<'_>) -> Result<Vec<u32>, RefusedSchedule> {
    let known = clusters(fleet);
    let selected = selected_by(&targets.clusters, &known).map_err(|(entry, error)| {
        let field = format!("spec.targets.clusters[{entry}]");
        RefusedSchedule::new(&field, error.to_string())
    })?;
    let mut members: Vec<u32> = (0..known.len() as u32).collect();
    members.retain(|member| selected[*member as usize]);
    members.sort_by(|one, other| known[*one as usize].name.cmp(&known[*other as usize].name));
    Ok(members)
}

/// Checks a duration like `checkScheduleAndDuration`, with the next two window starts after the start of the rollout.
///
/// # Errors
/// Returns the reason.
fn check_duration(
    cron: &QuartzCron,
    zone: &Zone,
    duration: SimDuration,
    start: UnixSeconds,
) -> Result<(), String> {
    let first = cron.next(start, zone);
    let second = first.and_then(|first| cron.next(first, zone));
    let (Some(first), Some(second)) = (first, second) else {
        return Err("trigger has expired: the schedule does not fire twice more".to_owned());
    };
    let seconds = (duration.as_nanos() / 1_000_000_000) as i64;
    if seconds >= second - first {
        return Err(format!(
            "duration is too long and overlaps with the next execution time: windows begin on {} and on {}",
            zone.in_words(first),
            zone.in_words(second)
        ));
    }
    Ok(())
}
