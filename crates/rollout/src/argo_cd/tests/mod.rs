//! Rollouts as scripts: events, and the resulting actions and stored rows of a pass, or the rule that blocks it.
//!
//! A line of a script is `SECOND event LIST => outcome`; a list is `0-3,7`, by index, and absent for all. Events:
//! `pass` (nothing), `compared` (first comparison: OutOfSync and Missing at revision 1), `commit N` (detected:
//! OutOfSync at revision N), `template N` (other parameters), `move ENV`, `drop` and `add` (by the generators),
//! `drift` (detected: OutOfSync), `refresh` (compared: Synced), `reconciled` (compared: as before), `start` (the
//! operation is running), `synced`, `failed` (its result; a synced application is Progressing), `healthy`, `degraded`,
//! `gone`. Each event is followed by a pass, which is stored. Outcome: objects created, updated, refreshed and
//! deleted; started syncs; rows by new status; or, without a change, the hold or `done`.

mod changed;
mod cost;
mod invariants;
mod mended;
mod shipped;
mod versions;

use std::sync::Arc;

use super::super::Revision;
use super::super::testing::{print_ranges, ranges};
use super::ApplicationAction;
use super::*;

/// A set, its applications, and a toy application controller.
pub(super) struct SetStory {
    set: ArgoCd,
    view: Vec<ApplicationView>,
}

/// The initial state of a story.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Begin {
    /// No application.
    Empty,
    /// All applications, Synced and Healthy at revision 1, with matching rows.
    Settled,
}

pub(super) fn rolling(steps: &str) -> ApplicationSetSpec {
    let yaml = format!("strategy: {{type: RollingSync, rollingSync: {{steps: [{steps}]}}}}");
    serde_saphyr::from_str(&yaml).expect(&yaml)
}

pub(super) fn env(name: &str) -> Arc<Labels> {
    Arc::new([("env".to_owned(), name.to_owned())].into())
}

impl SetStory {
    /// Creates applications a00, a01, …, each with one of these values of the label `env`.
    pub(super) fn new(
        spec: ApplicationSetSpec,
        options: ControllerOptions,
        steps: &[(&str, usize)],
        begin: Begin,
    ) -> Self {
        let labels: Vec<_> = steps
            .iter()
            .flat_map(|(name, count)| std::iter::repeat_n(env(name), *count))
            .collect();
        let names = (0..labels.len())
            .map(|index| format!("a{index:02}"))
            .collect();
        let mut set = ArgoCd::new(spec, options, names);
        let application = |labels: Arc<Labels>| {
            let generated = Generated::new(Arc::clone(&labels), 1, Revision(1));
            let spec = set.spec_of(&generated);
            let live = Application {
                reconciled_at: Some(SimTime::ZERO),
                ..Application::settled(labels, spec, Revision(1))
            };
            ApplicationView {
                generated: Some(generated),
                live: (begin == Begin::Settled).then_some(live),
            }
        };
        let view: Vec<ApplicationView> = labels.into_iter().map(application).collect();
        if begin == Begin::Settled {
            set.reconcile(SimTime::ZERO, &view);
        }
        Self { set, view }
    }

    pub(super) fn happens(&mut self, now: SimTime, event: &str) {
        let mut words = event.split(' ');
        let name = words.next().expect("an event has a name");
        let argument =
            matches!(name, "commit" | "template" | "move").then(|| words.next().expect("a word"));
        let number = || {
            argument
                .expect("it has one")
                .parse::<u32>()
                .expect("a number")
        };
        let list = words
            .next()
            .map_or_else(|| (0..self.view.len() as u32).collect(), ranges);
        for index in list {
            let application = &mut self.view[index as usize];
            match (name, &mut application.generated) {
                ("template", Some(generated)) => {
                    (generated.parameters, generated.wanted) = (number(), Revision(number()));
                }
                ("commit", Some(generated)) => generated.wanted = Revision(number()),
                ("move", Some(generated)) => generated.labels = env(argument.expect("where to")),
                ("drop", generated) => *generated = None,
                ("add", generated) => *generated = Some(Generated::new(env("dev"), 1, Revision(1))),
                ("gone", _) => application.live = None,
                _ => {}
            }
            if let Some(live) = &mut application.live {
                observe(live, now, name, argument);
            }
        }
    }

    /// Runs and stores one pass; returns its requests and changes.
    pub(super) fn pass(&mut self, now: SimTime) -> String {
        let before = self.set.rows().to_vec();
        let hold = self.set.hold(&self.view);
        let pass = self.set.reconcile(now, &self.view);
        self.set.store(&pass, &mut self.view);
        let of = |select: fn(&ApplicationAction) -> Option<u32>| {
            pass.actions.iter().filter_map(select).collect::<Vec<_>>()
        };
        let groups = [
            (
                "create",
                of(|action| {
                    if let ApplicationAction::Create(target) = action {
                        Some(target.0)
                    } else {
                        None
                    }
                }),
            ),
            (
                "update",
                of(|action| {
                    if let ApplicationAction::Stage(target) = action {
                        Some(target.0)
                    } else {
                        None
                    }
                }),
            ),
            (
                "refresh",
                of(|action| {
                    if let ApplicationAction::Refresh(target) = action {
                        Some(target.0)
                    } else {
                        None
                    }
                }),
            ),
            (
                "delete",
                of(|action| {
                    if let ApplicationAction::Delete(target) = action {
                        Some(target.0)
                    } else {
                        None
                    }
                }),
            ),
            (
                "sync",
                of(|action| {
                    if let ApplicationAction::Deploy(target) = action {
                        Some(target.0)
                    } else {
                        None
                    }
                }),
            ),
        ];
        let mut texts: Vec<String> = groups
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(what, list)| format!("{what} {}", print_ranges(list)))
            .collect();
        for status in RolloutStatus::ALL {
            let is_new = |index: &u32| {
                let (old, new) = (
                    before[*index as usize].as_ref(),
                    self.set.rows()[*index as usize].as_ref(),
                );
                new.is_some_and(|new| {
                    new.status == status && old.is_none_or(|old| old.is_worth_writing_over(new))
                })
            };
            let list: Vec<u32> = (0..before.len() as u32).filter(is_new).collect();
            if !list.is_empty() {
                texts.push(format!("{status:?}: {}", print_ranges(&list)));
            }
        }
        assert!(
            pass.actions.is_empty() || hold.is_none(),
            "{hold:?} in a pass that makes progress: {:?}",
            pass.actions
        );
        match hold {
            Some(hold) => format!("hold {hold}"),
            None if texts.is_empty() && self.view.iter().all(ApplicationView::is_done) => {
                "done".to_owned()
            }
            None if texts.is_empty() => "nothing".to_owned(),
            None => texts.join("; "),
        }
    }

    pub(super) fn plays(mut self, story: &str) {
        let played: String = story
            .lines()
            .map(|line| {
                let Some((head, _)) = line.split_once(" => ") else {
                    return "\n".to_owned();
                };
                let (second, event) = head.split_once(' ').expect("a second and an event");
                let now = SimTime::from_secs(second.parse().expect("a number of seconds"));
                self.happens(now, event);
                format!("{head} => {}\n", self.pass(now))
            })
            .collect();
        assert_eq!(played.trim(), story.trim(), "\n{played}");
    }
}

/// Applies the application controller's reaction to an event.
fn observe(live: &mut Application, now: SimTime, event: &str, argument: Option<&str>) {
    let state = |phase, started_at| Some(OperationState { phase, started_at });
    let started_at = live.operation_state.map_or(now, |state| state.started_at);
    match event {
        "compared" => {
            (live.sync, live.health, live.revisions) = (
                SyncStatus::OutOfSync,
                Health::Missing,
                Arc::new([Revision(1)]),
            );
        }
        "commit" => {
            let revision = Revision(argument.expect("which").parse().expect("a number"));
            (live.sync, live.revisions) = (SyncStatus::OutOfSync, Arc::new([revision]));
        }
        "drift" => live.sync = SyncStatus::OutOfSync,
        "refresh" => live.sync = SyncStatus::Synced,
        "start" => live.operation_state = state(OperationPhase::Running, now),
        "synced" => {
            (live.sync, live.health, live.operation) =
                (SyncStatus::Synced, Health::Progressing, None);
            live.operation_state = state(OperationPhase::Succeeded, started_at);
        }
        "failed" => {
            (live.operation_state, live.operation) =
                (state(OperationPhase::Failed, started_at), None);
        }
        "healthy" => live.health = Health::Healthy,
        "degraded" => live.health = Health::Degraded,
        "reconciled" => {}
        _ => return,
    }
    (live.reconciled_at, live.refresh) = (Some(now), false);
}
