//! The writes of a rolling update into bindings, as far as the work generator has to do with them.
//!
//! A spec or a deletion is sent at one time and written at another one. Until then the pass may give it up, or be
//! refused. Writes of a status change the version of a binding, which refuses what the generator has read before.
//! Replayed rollouts of KubeFleet's own controllers test it, above all those in which a release overtakes another one.

use super::super::hub_client::{HubKind, HubRequest};
use super::{Effect, GeneratorStep, WorkGenerator};
use crate::rollout::Revision;
use crate::units::SimTime;
use crate::world::ClusterId;

impl WorkGenerator {
    /// The rollout's controller writes a binding in a group of writes, which it may give up.
    pub(in super::super) fn request_of_pass(&mut self, now: SimTime) -> HubRequest {
        self.client.request_of_pass(now)
    }

    /// The rollout's controller gives up its writes that wait for the client's limit.
    pub(in super::super) fn give_up(&mut self, now: SimTime) {
        self.client.give_up(now);
    }

    /// A rolling update sends a binding's spec, or for `None` its deletion, which is answered at `written`.
    pub(in super::super) fn rolls(&mut self, cluster: usize, revision: Option<Revision>, written: SimTime) {
        self.items[cluster].rolls = Some((written, true, self.scheduled));
        self.schedule(written, GeneratorStep::Rolled(cluster, revision));
    }

    /// A rolling update sends a binding's RolloutStarted, which was another one before.
    pub(in super::super) fn marks(&mut self, cluster: usize, written: SimTime) {
        self.schedule(written, GeneratorStep::Does(Effect::Marked(ClusterId(cluster as u32))));
    }

    /// Somebody else has written a binding's status: what the generator has read before is refused.
    pub(in super::super) fn marked(&mut self, cluster: usize, now: SimTime) {
        self.items[cluster].written = Some(now);
    }

    /// When a binding is written that a rolling update has sent.
    pub(in super::super) fn will_roll(&self, cluster: usize) -> Option<SimTime> {
        self.items[cluster].rolls.map(|(written, ..)| written)
    }

    /// A binding that a rolling update has sent is not sent after all, or is written now.
    pub(in super::super) fn takes_back(&mut self, cluster: usize) -> Option<Effect> {
        let key = self.items[cluster].rolls.take()?;
        let Some(GeneratorStep::Rolled(_, revision)) = self.agenda.remove(&key) else { unreachable!("it is pending") };
        Some(Effect::Rolled(ClusterId(cluster as u32), revision))
    }

    /// A binding's spec is written by a rolling update, which sends the status unless it has given up.
    pub(in super::super) fn write_spec(
        &mut self,
        cluster: usize,
        revision: Revision,
        has_given_up: bool,
        now: SimTime,
    ) {
        let started = if has_given_up { SimTime::MAX } else { self.client.answer(HubKind::Binding, now) };
        let item = &mut self.items[cluster];
        (item.revision, item.started) = (Some(revision), Some(started));
        item.written = Some(now);
        self.schedule(now + self.watch_delay, GeneratorStep::Look(cluster));
        self.wake(now);
    }

    /// The rolling update writes RolloutStarted of a binding again.
    pub(in super::super) fn restarts(&mut self, cluster: usize, now: SimTime) {
        if self.items[cluster].started == Some(SimTime::MAX) {
            self.items[cluster].started = Some(now);
        }
    }

    /// When the status of a binding whose spec is written is written.
    pub(in super::super) fn started(&self, cluster: usize) -> Option<SimTime> {
        self.items[cluster].started.filter(|started| *started != SimTime::MAX)
    }
}
