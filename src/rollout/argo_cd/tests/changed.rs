//! A pass over what changed decides as a pass over all applications, over random worlds.
//!
//! Larger sets than those that debug builds check by themselves, and many events between passes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::super::TargetSet;
use super::invariants::{EVENTS, STEPS, options};
use super::*;

const FLEET: [(&str, usize); 3] = [("dev", 40), ("prod", 30), ("lab", 10)];

/// The applications that differ.
fn changes(old: &ApplicationSetView, new: &ApplicationSetView) -> TargetSet {
    let mut changed = TargetSet::new(new.applications.len());
    let pairs = (0..).zip(old.applications.iter().zip(&new.applications));
    for (index, _) in pairs.filter(|(_, (old, new))| old != new) {
        changed.insert(index);
    }
    changed
}

/// Two sets over one view: one looks at all applications in every pass, one at those that changed.
struct Twins {
    story: SetStory,
    quick: ArgoCd,
    /// The view of the last pass.
    known: ApplicationSetView,
}

impl Twins {
    fn new(spec: ApplicationSetSpec, options: ControllerOptions, begin: Begin) -> Self {
        let story = SetStory::new(spec, options, &FLEET, begin);
        let (quick, known) = (story.set.clone(), story.view.clone());
        Self { story, quick, known }
    }

    /// Both make a pass; `omitted` changes are kept from the quick one. Returns whether they agree.
    fn agree(&mut self, now: SimTime, is_stored: bool, omitted: &[u32]) -> bool {
        let mut changed = changes(&self.known, &self.story.view);
        omitted.iter().for_each(|index| _ = changed.remove(*index));
        self.known = self.story.view.clone();
        let mut full = self.story.set.reconcile(now, &self.story.view);
        let quick = self.quick.reconcile_changed(now, &self.story.view, &changed);
        // Requests of applications that have an operation start nothing, and only the full pass lists them.
        full.status.requested = quick.status.requested.clone();
        let started = |action: &&ApplicationAction| matches!(action, ApplicationAction::Deploy(..));
        let is_listed = quick.actions.iter().filter(started).count() == quick.status.requested.len();
        if is_stored {
            self.story.set.store(now, &full, &mut self.story.view);
        }
        let is_same = (full == quick) && self.story.set.rows() == self.quick.rows();
        is_same
            && is_listed
            && self.story.set.steps() == self.quick.steps()
            && self.story.set.conditions() == self.quick.conditions()
            && self.story.set.hold(&self.story.view) == self.quick.hold(&self.story.view)
    }
}

proptest! {
    #[test]
    fn it_decides_as_a_full_pass(
        steps in prop::sample::select(STEPS.to_vec()),
        options in options(),
        settled in any::<bool>(),
        policy in prop::sample::select(vec!["", "create-only", "create-update", "create-delete"]),
        events in vec((0..EVENTS.len(), 0..80_u32, 0..30_u32, any::<bool>(), 0..8_u8), 1..50),
    ) {
        let mut spec = rolling(steps);
        if !policy.is_empty() {
            spec.sync_policy = serde_saphyr::from_str(&format!("applicationsSync: {policy}")).ok();
        }
        let mut twins = Twins::new(spec.clone(), options, if settled { Begin::Settled } else { Begin::Empty });
        let mut second = 0;
        for (event, first, count, is_stored, luck) in events {
            // Several events and passes may share a second.
            second += u64::from(luck % 3);
            let now = SimTime::from_secs(second);
            let range = format!("{first}-{}", (first + count).min(79));
            twins.story.happens(now, &format!("{} {range}", EVENTS[event]));
            match luck {
                0 => twins.story.happens(now, &format!("move prod {range}")),
                1 => for set in [&mut twins.story.set, &mut twins.quick] {
                    set.set_spec(rolling(STEPS[event % STEPS.len()]));
                },
                2 => for set in [&mut twins.story.set, &mut twins.quick] {
                    set.set_spec(if event % 2 == 0 { ApplicationSetSpec::default() } else { spec.clone() });
                },
                7 => twins.story.happens(now, &format!("gone {first}")),
                _ => {}
            }
            prop_assert!(twins.agree(now, is_stored, &[]), "event {event} of {range}");
        }
    }
}

#[test]
fn a_change_that_it_is_not_told_of_makes_a_difference() {
    let mut twins = Twins::new(rolling("{maxUpdate: 2}"), ControllerOptions::default(), Begin::Settled);
    let at = SimTime::from_secs;
    assert!(twins.agree(at(1), true, &[]) && twins.agree(at(2), true, &[]));
    twins.story.happens(at(5), "commit 2 7");
    assert!(!twins.agree(at(5), true, &[7]), "or the comparison could not fail");
}

#[test]
fn it_looks_at_few() {
    let mut twins = Twins::new(rolling("{maxUpdate: 2}"), ControllerOptions::default(), Begin::Settled);
    let at = SimTime::from_secs;
    (1..5).for_each(|second| assert!(twins.agree(at(second), true, &[])));
    assert!(twins.quick.ledger.as_ref().expect("it was made").unsettled.is_empty(), "nothing is left to look at");
    twins.story.happens(at(6), "commit 2 7");
    assert!(twins.agree(at(6), true, &[]));
    let unsettled: Vec<u32> = twins.quick.ledger.as_ref().expect("it was kept").unsettled.iter().collect();
    assert_eq!(unsettled, [7], "its row moves on");
}
