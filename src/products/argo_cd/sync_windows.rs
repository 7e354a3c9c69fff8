//! Argo CD's sync windows, which restrict the times at which the applications of a project are synced.
//!
//! Follows argoproj/argo-cd 37ee0097, `SyncWindows` in `pkg/apis/application/v1alpha1/types.go`:
//! - A window has five cron fields as robfig/cron reads them, without descriptors, and a duration. It is active from
//!   just after the expression fires to just before the duration is over. The expression is read in UTC, on a clock
//!   that is ahead of UTC by the offset that the window's `timeZone` has now (`scheduleOffsetByTimeZone`). So a change
//!   of the clocks moves a window immediately, even an open one, and no time is skipped or repeated.
//! - A window applies to an application if one of its lists matches the application's name, the name or the address of
//!   its destination, or the destination's namespace. With `andOperator`, every existing list must match (`Matches`).
//! - An active deny window blocks syncs. Without one, an active allow window permits them. With neither, an inactive
//!   allow window blocks them (`CanSync`). `manualSync` permits only users' syncs, which are not simulated: the
//!   operations of a RollingSync are marked as automated, like those of automated sync.
//! - `syncOverrun`: an operation continues in a closed window if the start in `status.operationState` was in an open
//!   window, provided that all active deny windows, or else all allow windows, have this option. At the first check of
//!   a new operation, the status still has the start of the previous operation (`processRequestedAppOperation` passes
//!   the old application). So a new operation may begin in a closed window.
//! - Automated sync begins no operation in a closed window (`Sync prevented by sync window`, `appcontroller.go`); the
//!   next refresh checks again. A requested operation is Running, `Sync operation blocked by sync window`, and is
//!   checked again every 30 s (`SyncAppState` in `sync.go`, `appOperationMaxRequeueInterval`). It keeps its row.
//!
//! Rejected: an invalid expression or duration, with which Argo CD would block every sync of the application, and
//! everything that `SyncWindow.Validate` rejects. An unknown `timeZone` means UTC, as in the product, and adds a note.
//!
//! Evidence: the product's source; the expressions are compared with robfig/cron itself. Left out: windows of global
//! projects; checks after events of an application, in addition to those every 30 s; a change of the clocks between
//! the start of an operation and the evaluation of `syncOverrun`. An operation before the release counts as started in
//! an open window.

use serde::Deserialize;

use super::ArgoCdStrategy;
use super::glob::glob_matches;
use crate::calendar::{CalendarStart, FiveFieldCron, OpenSpans, TimeSpan, UnixSeconds, Zone};
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::reader::Kind;
use crate::products::Fleet;
use crate::products::fields::{self, ObjectKind};
use crate::products::words::first_names;
use crate::rollout::parse_duration;
use crate::units::{SimDuration, SimTime, counted};

/// Time span in which an explanation searches for an open window.
const FORESIGHT: SimDuration = SimDuration::from_hours(32 * 24);

const PROJECT: ObjectKind = ObjectKind::of("AppProject");

/// The fields of an `AppProject` that affect the rollout.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ProjectFile {
    spec: ProjectFields,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProjectFields {
    sync_windows: Vec<SyncWindowFields>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SyncWindowFields {
    kind: String,
    schedule: String,
    duration: String,
    applications: Vec<String>,
    namespaces: Vec<String>,
    clusters: Vec<String>,
    time_zone: String,
    and_operator: bool,
    sync_overrun: bool,
}

/// The properties of an application by which windows select it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedApplication {
    pub(crate) name: String,
    /// The destination's name. Empty: the destination is given by its address.
    pub(crate) cluster: String,
    /// The destination's address. Empty: the destination has none. `None`: it has one, and nothing here knows it.
    pub(crate) server: Option<String>,
    /// The destination's namespace. `None`: the simulation does not know it.
    pub(crate) namespace: Option<String>,
}

impl ArgoCdStrategy {
    /// Returns the properties of a fleet's applications by which windows select them. `document` is the
    /// ApplicationSet. Without it, each destination has the name of its entry.
    pub(super) fn windowed(
        &self,
        document: Option<&Document>,
        fleet: Fleet<'_>,
    ) -> Vec<WindowedApplication> {
        let destination = Path::of("spec")
            .key("template")
            .key("spec")
            .key("destination");
        let mut has_server = false;
        let mut namespace = None;
        if let Some(document) = document {
            let server = document.text(&destination.key("server"));
            has_server = server.is_some_and(|server| !server.is_empty());
            let text = document.text(&destination.key("namespace")).unwrap_or("");
            namespace = (!text.contains("{{")).then(|| text.to_owned());
        }
        let mut windowed = Vec::new();
        for (index, cluster) in fleet.world.clusters.iter().enumerate() {
            let (name, _) = self.application(index, &cluster.name, &cluster.labels);
            windowed.push(WindowedApplication {
                name,
                cluster: if has_server {
                    String::new()
                } else {
                    cluster.name.clone()
                },
                server: (!has_server).then(String::new),
                namespace: namespace.clone(),
            });
        }
        windowed
    }
}

/// A window of an exported project, whose applications have known destinations.
pub(crate) struct ExportedWindow(SyncWindowFields);

impl ExportedWindow {
    /// Reads a window. `None`: it has a field of a wrong type.
    pub(crate) fn read(window: &serde_json::Value) -> Option<Self> {
        serde_json::from_value(window.clone()).ok().map(Self)
    }

    /// Whether the window is of an application, whose address and namespace are known.
    pub(crate) fn is_of(&self, application: &WindowedApplication) -> bool {
        is_of(&self.0, application).unwrap_or(true)
    }
}

/// A checked window.
#[derive(Clone, Debug, PartialEq)]
struct SyncWindow {
    is_deny: bool,
    cron: FiveFieldCron,
    duration: SimDuration,
    zone: Zone,
    has_overrun: bool,
    /// For each entry of the fleet, whether the window applies to its application.
    has: Vec<bool>,
}

impl SyncWindow {
    /// Returns the times from the start to `horizon` at which the window is active.
    fn spans(&self, start: &CalendarStart, horizon: SimTime) -> OpenSpans {
        let mut spans = OpenSpans::default();
        let end = start.instant(horizon) + 1;
        let mut from = start.at();
        while from < end {
            let to = match self.zone.next_change(from) {
                Some(change) => change.min(end),
                None => end,
            };
            self.add_spans(from, to, start, &mut spans);
            from = to;
        }
        spans
    }

    /// Adds the times from `from` to `to`. The clocks do not change between these times.
    fn add_spans(
        &self,
        from: UnixSeconds,
        to: UnixSeconds,
        start: &CalendarStart,
        spans: &mut OpenSpans,
    ) {
        let ahead = self.zone.offset(from);
        let seconds = (self.duration.as_nanos() / 1_000_000_000) as i64;
        let mut fired = from + ahead - seconds;
        while let Some(next) = self.cron.next(fired, &Zone::utc()) {
            fired = next;
            let begins = next - ahead;
            if begins >= to {
                return;
            }
            let begin = start.since_start(begins.max(from));
            let end = start.since_start((begins + seconds).min(to));
            if let (Some(begin), Some(end)) = (begin, end) {
                spans.add(TimeSpan {
                    from: begin,
                    to: end,
                    has_begun: begins < from,
                });
            }
        }
    }
}

/// The sync windows of a project, and the start of the rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncWindows {
    start: CalendarStart,
    windows: Vec<SyncWindow>,
}

/// The start of the operation in an application's status, at the time when a sync is checked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum StatusStart {
    /// No operation has ever run.
    #[default]
    Never,
    /// The last operation ran before the release.
    BeforeRelease,
    /// The operation began at this time.
    At(SimTime),
}

impl SyncWindows {
    /// Reads the project in a file. `path` is the location of the file's name in the experiment. `None`: a problem was
    /// reported.
    pub(super) fn read(
        name: &str,
        path: &Path,
        start: Option<&CalendarStart>,
        applications: &[WindowedApplication],
        context: &mut Context<'_>,
    ) -> Option<Self> {
        let documents = fields::objects(name, &PROJECT, path, context)?;
        let [document] = documents.as_slice() else {
            let message = "the file has several projects, but applications belong to one";
            context.report(path, message, "keep the project of the applications");
            return None;
        };
        let file: ProjectFile = context.read_from(document, &Path::default(), |error| {
            !matches!(error.kind, Kind::UnknownField { .. })
        })?;
        let Some(start) = start else {
            let message = "windows have dates and times, so the rollout needs a start time";
            let help = "add e.g. `startsAt: 2026-03-28 22:00 Europe/Berlin` to the experiment";
            context.report(path, message, help);
            return None;
        };
        if file.spec.sync_windows.is_empty() {
            context
                .notes
                .push(format!("{name}: the project has no sync windows"));
        }
        let mut windows = Vec::new();
        for (index, fields) in file.spec.sync_windows.iter().enumerate() {
            let place = Path::of("spec").key("syncWindows").index(index);
            note_zone(fields, name, document, &place, context);
            windows.push(read_window(
                fields,
                applications,
                document,
                &place,
                context,
            )?);
        }
        Some(Self {
            start: start.clone(),
            windows,
        })
    }

    /// Returns one line: the applications with windows, how many of them cannot sync at the start, and the time at
    /// which the first can.
    pub(super) fn in_words(&self, names: &[String]) -> String {
        let run = RunWindows::new(self, SimTime::ZERO + FORESIGHT);
        let mut windowed = Vec::new();
        let mut blocked = 0;
        let mut first: Option<SimTime> = None;
        for (index, name) in names.iter().enumerate() {
            if run.of(index).is_empty() {
                continue;
            }
            windowed.push(name.clone());
            if !run.can_sync(index, SimTime::ZERO, StatusStart::Never) {
                blocked += 1;
                let opens = run.opens_after(index, SimTime::ZERO);
                first = [first, opens].into_iter().flatten().min();
            }
        }
        if windowed.is_empty() {
            let count = self.windows.len();
            return format!("sync windows ({count}): they select no application");
        }
        let mut line = format!(
            "sync windows ({}): {} of {} ({})",
            self.windows.len(),
            windowed.len(),
            counted(names.len(), "application"),
            first_names(&windowed)
        );
        if blocked == 0 {
            line.push_str(", all may sync at the start");
            return line;
        }
        line.push_str(&format!("; blocked at the start: {blocked}"));
        match first {
            Some(at) => line.push_str(&format!(
                "; the first may sync from {}",
                self.time_in_words(at)
            )),
            None => line.push_str("; no window opens within 32 days"),
        }
        line
    }

    /// Formats a simulated time as a date in the zone of the start.
    pub(super) fn time_in_words(&self, at: SimTime) -> String {
        self.start.zone().in_words(self.start.instant(at))
    }
}

/// The windows of one run, in simulated time.
#[derive(Clone, Debug, Default)]
pub(super) struct RunWindows {
    spans: Vec<OpenSpans>,
    is_deny: Vec<bool>,
    has_overrun: Vec<bool>,
    /// For each entry of the fleet, the windows of its application. Empty: the project has no windows.
    of: Vec<Vec<usize>>,
}

impl RunWindows {
    pub(super) fn new(windows: &SyncWindows, horizon: SimTime) -> Self {
        let mut run = Self::default();
        let count = windows.windows.first().map_or(0, |window| window.has.len());
        run.of = vec![Vec::new(); count];
        for (index, window) in windows.windows.iter().enumerate() {
            run.spans.push(window.spans(&windows.start, horizon));
            run.is_deny.push(window.is_deny);
            run.has_overrun.push(window.has_overrun);
            for (application, has) in window.has.iter().enumerate() {
                if *has {
                    run.of[application].push(index);
                }
            }
        }
        run
    }

    fn of(&self, application: usize) -> &[usize] {
        self.of.get(application).map_or(&[], Vec::as_slice)
    }

    /// Returns whether an application may be synced at a time (`CanSync`). `started` is the start of the operation in
    /// its status.
    pub(super) fn can_sync(&self, application: usize, at: SimTime, started: StatusStart) -> bool {
        let mut denies = Vec::new();
        let mut allows = Vec::new();
        let mut is_allowed = false;
        for &window in self.of(application) {
            let is_active = self.spans[window].is_inside(at);
            if !self.is_deny[window] {
                allows.push(window);
                is_allowed |= is_active;
            } else if is_active {
                denies.push(window);
            }
        }
        let blocking = if denies.is_empty() {
            allows
        } else {
            denies.clone()
        };
        if denies.is_empty() && (is_allowed || blocking.is_empty()) {
            return true;
        }
        let overruns = blocking.iter().all(|window| self.has_overrun[*window]);
        overruns
            && match started {
                StatusStart::Never => false,
                StatusStart::BeforeRelease => true,
                StatusStart::At(then) => self.can_sync(application, then, StatusStart::Never),
            }
    }

    /// Returns the first time after `at` at which an application may be synced. `None`: there is no such time within
    /// the run.
    pub(super) fn opens_after(&self, application: usize, at: SimTime) -> Option<SimTime> {
        let mut edges = Vec::new();
        for &window in self.of(application) {
            for span in self.spans[window].spans() {
                edges.extend([span.from, span.to]);
            }
        }
        edges.retain(|edge| *edge >= at);
        edges.sort_unstable();
        for edge in edges {
            let after = edge + SimDuration::from_nanos(1);
            for time in [edge, after] {
                if time > at && self.can_sync(application, time, StatusStart::Never) {
                    return Some(time);
                }
            }
        }
        None
    }

    /// Returns the first of the times `from + period`, `from + 2 period`, … at which an application may be synced.
    pub(super) fn next_look(
        &self,
        application: usize,
        from: SimTime,
        period: SimDuration,
    ) -> Option<SimTime> {
        let mut opens = self.opens_after(application, from)?;
        loop {
            let since = opens.saturating_since(from).as_nanos();
            let looks = since.div_ceil(period.as_nanos()).max(1);
            let at = from + SimDuration::from_nanos(looks * period.as_nanos());
            if self.can_sync(application, at, StatusStart::Never) {
                return Some(at);
            }
            opens = self.opens_after(application, at)?;
        }
    }
}

/// A window's field with an invalid value.
struct WindowProblem {
    field: &'static str,
    message: String,
    help: &'static str,
}

impl WindowProblem {
    const fn new(field: &'static str, message: String, help: &'static str) -> Self {
        Self {
            field,
            message,
            help,
        }
    }
}

const BLOCKS_ALL: &str =
    "with this, Argo CD blocks every sync of the applications: `invalid sync windows`";

/// Reads a window at its location in a project. `None`: a problem was reported.
fn read_window(
    fields: &SyncWindowFields,
    applications: &[WindowedApplication],
    document: &Document,
    place: &Path,
    context: &mut Context<'_>,
) -> Option<SyncWindow> {
    match checked(fields, applications) {
        Ok(window) => Some(window),
        Err(problem) => {
            let path = place.key(problem.field);
            let reported = document.at(&path, problem.message);
            context.problems.push(reported.with_help(problem.help));
            None
        }
    }
}

fn checked(
    fields: &SyncWindowFields,
    applications: &[WindowedApplication],
) -> Result<SyncWindow, WindowProblem> {
    if fields.kind != "allow" && fields.kind != "deny" {
        let message = format!("kind '{}' mismatch: can only be allow or deny", fields.kind);
        return Err(WindowProblem::new(
            "kind",
            message,
            "Argo CD refuses this too",
        ));
    }
    let cron = FiveFieldCron::parse(&fields.schedule).map_err(|error| {
        let message = format!("cannot parse schedule '{}': {error}", fields.schedule);
        WindowProblem::new("schedule", message, BLOCKS_ALL)
    })?;
    let duration = parse_duration(&fields.duration).ok_or_else(|| {
        let message = format!("cannot parse duration '{}'", fields.duration);
        WindowProblem::new("duration", message, BLOCKS_ALL)
    })?;
    let mut has = Vec::new();
    for application in applications {
        has.push(is_of(fields, application)?);
    }
    Ok(SyncWindow {
        is_deny: fields.kind == "deny",
        cron,
        duration,
        zone: Zone::load(&fields.time_zone).unwrap_or_else(Zone::utc),
        has_overrun: fields.sync_overrun,
        has,
    })
}

/// Returns whether a window applies to an application (`Matches`).
fn is_of(
    window: &SyncWindowFields,
    application: &WindowedApplication,
) -> Result<bool, WindowProblem> {
    let is_and = window.and_operator;
    let mut names = window.applications.iter();
    let mut is_matched = names.any(|pattern| glob_matches(pattern, &application.name));
    let mut is_set = !window.applications.is_empty();
    if is_and && !is_matched && is_set {
        return Ok(false);
    }
    if !is_and && is_matched {
        return Ok(true);
    }
    if !window.clusters.is_empty() {
        is_set = true;
        is_matched = matches_cluster(window, application)?;
    }
    if is_and && !is_matched && is_set {
        return Ok(false);
    }
    if !is_and && is_matched {
        return Ok(true);
    }
    if !window.namespaces.is_empty() {
        is_matched = matches_namespace(window, application)?;
    }
    Ok(is_matched)
}

fn matches_cluster(
    window: &SyncWindowFields,
    application: &WindowedApplication,
) -> Result<bool, WindowProblem> {
    for pattern in &window.clusters {
        let server = application.server.as_deref().unwrap_or_default();
        let mut known = [application.cluster.as_str(), server].into_iter();
        if pattern == "*" || known.any(|known| !known.is_empty() && glob_matches(pattern, known)) {
            return Ok(true);
        }
    }
    if application.server.is_none() {
        return Err(WindowProblem {
            field: "clusters",
            message: format!(
                "the destination of `{}` is an address, which the fleet does not have",
                application.name
            ),
            help: "name the destination by `name` in the template, or select by `applications`",
        });
    }
    Ok(false)
}

fn matches_namespace(
    window: &SyncWindowFields,
    application: &WindowedApplication,
) -> Result<bool, WindowProblem> {
    if window.namespaces.iter().any(|pattern| pattern == "*") {
        return Ok(true);
    }
    let Some(namespace) = &application.namespace else {
        return Err(WindowProblem {
            field: "namespaces",
            message: format!(
                "the namespace of the destination of `{}` is not known",
                application.name
            ),
            help: "name an ApplicationSet with `file` whose template has one, or select by `applications`",
        });
    };
    let mut patterns = window.namespaces.iter();
    Ok(patterns.any(|pattern| glob_matches(pattern, namespace)))
}

/// Adds a note about a zone that the product does not know and replaces with UTC.
fn note_zone(
    fields: &SyncWindowFields,
    name: &str,
    document: &Document,
    place: &Path,
    context: &mut Context<'_>,
) {
    let is_written = document.tree.get(&place.key("timeZone")).is_some();
    if is_written && Zone::load(&fields.time_zone).is_none() {
        context.notes.push(format!(
            "{name}: {place}: `{}` is not a time zone; Argo CD uses UTC",
            fields.time_zone
        ));
    }
}
