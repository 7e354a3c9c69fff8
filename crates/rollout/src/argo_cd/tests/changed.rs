//! A partial pass makes the same decision as a full pass, in random worlds with many events between passes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::super::TargetSet;
use super::invariants::{EVENTS, STEPS, options};
use super::*;

const FLEET: [(&str, usize); 3] = [("dev", 40), ("prod", 30), ("lab", 10)];

/// Returns the applications that differ.
fn changes(old: &[ApplicationView], new: &[ApplicationView]) -> TargetSet {
    let mut changed = TargetSet::new(new.len());
    let pairs = (0..).zip(old.iter().zip(new));
    for (index, _) in pairs.filter(|(_, (old, new))| old != new) {
        changed.insert(index);
    }
    changed
}

/// A set and the view of its last pass. Each of its passes is compared with a full pass.
struct Watched {
    story: SetStory,
    known: Vec<ApplicationView>,
}

impl Watched {
    fn new(spec: ApplicationSetSpec, options: ControllerOptions, begin: Begin) -> Self {
        let mut story = SetStory::new(spec, options, &FLEET, begin);
        let known = story.view.clone();
        story
            .set
            .reconcile_changed(SimTime::ZERO, &known, &TargetSet::default(), &mut |_| {
                Some(SimTime::ZERO)
            });
        Self { story, known }
    }

    /// Runs one pass without the `omitted` changes.
    fn pass(&mut self, now: SimTime, is_stored: bool, omitted: &[u32]) {
        let mut changed = changes(&self.known, &self.story.view);
        omitted.iter().for_each(|index| _ = changed.remove(*index));
        self.known = self.story.view.clone();
        let pass = self
            .story
            .set
            .reconcile_changed(now, &self.story.view, &changed, &mut |_| {
                Some(SimTime::ZERO)
            });
        if is_stored {
            self.story.set.store(&pass, &mut self.story.view);
        }
    }

    fn unsettled(&self) -> Vec<u32> {
        self.story
            .set
            .ledger
            .as_ref()
            .expect("it was kept")
            .unsettled
            .iter()
            .collect()
    }
}

proptest! {
    #[test]
    fn a_pass_over_changes_decides_like_a_full_pass(
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
        let mut watched = Watched::new(spec.clone(), options, if settled { Begin::Settled } else { Begin::Empty });
        let mut second = 0;
        for (event, first, count, is_stored, luck) in events {
            // Several events and passes may share a second.
            second += u64::from(luck % 3);
            let now = SimTime::from_secs(second);
            let range = format!("{first}-{}", (first + count).min(79));
            watched.story.happens(now, &format!("{} {range}", EVENTS[event]));
            match luck {
                0 => watched.story.happens(now, &format!("move prod {range}")),
                1 => watched.story.set.set_spec(rolling(STEPS[event % STEPS.len()])),
                2 => {
                    let spec = if event % 2 == 0 { ApplicationSetSpec::default() } else { spec.clone() };
                    watched.story.set.set_spec(spec);
                }
                7 => watched.story.happens(now, &format!("gone {first}")),
                _ => {}
            }
            watched.pass(now, is_stored, &[]);
        }
    }
}

#[test]
#[should_panic(expected = "a pass over the changed targets decides like a full pass")]
fn an_unreported_change_makes_the_two_passes_differ() {
    let mut watched = Watched::new(
        rolling("{maxUpdate: 2}"),
        ControllerOptions::default(),
        Begin::Settled,
    );
    let at = SimTime::from_secs;
    (1..3).for_each(|second| watched.pass(at(second), true, &[]));
    watched.story.happens(at(5), "commit 2 7");
    watched.pass(at(5), true, &[7]);
}

#[test]
fn a_pass_over_changes_visits_few_applications() {
    let mut watched = Watched::new(
        rolling("{maxUpdate: 2}"),
        ControllerOptions::default(),
        Begin::Settled,
    );
    let at = SimTime::from_secs;
    (1..5).for_each(|second| watched.pass(at(second), true, &[]));
    assert!(watched.unsettled().is_empty(), "nothing is left to look at");
    watched.story.happens(at(6), "commit 2 7");
    watched.pass(at(6), true, &[]);
    assert_eq!(watched.unsettled(), [7], "its row moves on");
}
