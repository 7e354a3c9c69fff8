//! The windows of Schedules in a run: the writes of the schedule controller, and when the bundle controller sees them.
//!
//! `schedules.rs` has the rules and their source. At the start and the end of a window, the schedule controller visits
//! the clusters of the Schedule in the order of their names, and patches one status after the other. A cluster with
//! the right status needs no patch. The bundle controller sees each patch a watch delay later, and starts a pass,
//! which writes `spec.offSchedule`.

use std::sync::Arc;

use super::super::schedules::{FleetSchedules, WindowEvent};
use super::{FleetController, FleetStep};
use crate::control_plane::{ApiClient, Plane};
use crate::products::words::first_names;
use crate::rollout::Hold;
use crate::units::{SimTime, counted};
use crate::world::TargetId;

/// The Schedules of a run and their current states.
pub(super) struct ScheduleWindows {
    /// `None`: the strategy has no Schedules.
    schedules: Option<Arc<FleetSchedules>>,
    /// For each cluster, its `activeSchedule`. `None`: it is not `scheduled`.
    active: Vec<Option<bool>>,
    /// For each Schedule, its next event.
    next: Vec<Option<WindowEvent>>,
    client: ApiClient,
    horizon: SimTime,
    /// The time of the controller's last input.
    pub(super) now: SimTime,
}

impl ScheduleWindows {
    /// Creates the state at the start for `count` clusters.
    pub(super) fn new(
        schedules: Option<&Arc<FleetSchedules>>,
        count: usize,
        client: ApiClient,
        horizon: SimTime,
    ) -> Self {
        let mut next = Vec::new();
        let mut active = vec![None; count];
        if let Some(schedules) = schedules {
            active = schedules.active_at_start(count);
            for schedule in 0..schedules.len() {
                next.push(schedules.first_event(schedule));
            }
        }
        Self {
            schedules: schedules.cloned(),
            active,
            next,
            client,
            horizon,
            now: SimTime::ZERO,
        }
    }

    /// Returns whether the schedule controller regards a cluster as outside its windows.
    pub(super) fn is_off(&self, cluster: usize) -> bool {
        self.active[cluster] == Some(false)
    }

    /// Returns the time of a Schedule's next event. `None`: it is not within the run.
    fn next_at(&self, schedule: usize) -> Option<SimTime> {
        let schedules = self.schedules.as_ref()?;
        let at = schedules.time_of(self.next[schedule]?);
        (at <= self.horizon).then_some(at)
    }
}

impl FleetController<'_> {
    /// Handles the release: agents outside their windows do nothing, and the next event of each Schedule is scheduled.
    pub(super) fn start_windows(&mut self, plane: &mut Plane<'_>) {
        for cluster in 0..self.view.clusters.len() {
            if self.windows.is_off(cluster) {
                plane.pause(plane.now(), TargetId(cluster as u32), true);
            }
        }
        for schedule in 0..self.windows.next.len() {
            self.await_window(schedule, plane);
        }
    }

    fn await_window(&mut self, schedule: usize, plane: &mut Plane<'_>) {
        if let Some(at) = self.windows.next_at(schedule) {
            self.runtime.step(at, FleetStep::Window(schedule), plane);
        }
    }

    /// Handles the start or the end of a Schedule's window.
    pub(super) fn window(&mut self, schedule: usize, plane: &mut Plane<'_>) {
        let schedules = self.windows.schedules.clone();
        let (Some(schedules), Some(event)) = (schedules, self.windows.next[schedule]) else {
            return;
        };
        let mut at = plane.now();
        for &cluster in schedules.clusters(schedule) {
            let index = cluster as usize;
            if self.windows.active[index] == Some(event.opens) {
                continue;
            }
            self.windows.active[index] = Some(event.opens);
            at = self.windows.client.in_turn(0, at, 1);
            let seen = at + self.watch_delay;
            let step = FleetStep::Scheduled(index, event.opens);
            self.runtime.step(seen, step, plane);
        }
        self.windows.next[schedule] = schedules.event_after(schedule, event);
        self.await_window(schedule, plane);
    }

    /// Handles the time at which the bundle controller sees that a cluster is inside or outside its windows.
    pub(super) fn scheduled(&mut self, cluster: usize, is_active: bool) {
        self.view.clusters[cluster].off_schedule = !is_active;
        self.changed.insert(cluster as u32);
        self.runtime.add(());
    }

    /// Adds the clusters that wait for their window to a hold.
    pub(super) fn with_windows(&self, mut hold: Hold) -> Hold {
        let Some(schedules) = &self.windows.schedules else {
            return hold;
        };
        let mut waiting = Vec::new();
        let mut names = Vec::new();
        for (index, view) in self.view.clusters.iter().enumerate() {
            if view.off_schedule && view.targeted && !view.is_done() {
                waiting.push(index as u32);
                names.push(self.clusters[index].name.clone());
            }
        }
        if waiting.is_empty() {
            return hold;
        }
        let opens = match schedules.next_opening(&waiting, self.windows.now) {
            Some(at) => format!("which opens on {at}"),
            None => "which never opens again".to_owned(),
        };
        let wait = if waiting.len() == 1 { "waits" } else { "wait" };
        hold.explanation.push_str(&format!(
            "; {} ({}) {wait} for a window of their schedule, {opens}",
            counted(waiting.len(), "cluster"),
            first_names(&names)
        ));
        hold
    }
}
