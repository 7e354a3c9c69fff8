//! The times at which transfers end.
//!
//! Each link that bounds bundles, and each bundle at its cap, has an entry in the queue: the time at which its clock
//! reaches the next tag. If a link's level depends on hubs, that time would change with every event. Its entry is then
//! a lower bound, because its guards limit how high its level can rise. The entry at the front of the queue is made
//! exact.

use super::bundle::CAP;
use super::{Mesh, NONE, site_of_link};
use crate::engine::heap::{self, Keyed, NOWHERE};
use crate::flow::instant::{Instant, SLACK_NANOS};

/// Transfers that end later than this do not end at the current tick, unless their rates rise a lot.
const NEAR_NANOS: u64 = 1000;

impl Mesh {
    /// Marks the queue entry of a site for renewal.
    pub(super) fn unqueue(&mut self, site: u32) {
        let at = &mut self.sites[site as usize];
        if !at.unqueued {
            at.unqueued = true;
            self.unqueued.push(site);
        }
    }

    /// Renews the queue entries that have changed, and all exact entries that depend on hubs.
    pub(super) fn renew_queue(&mut self) {
        while let Some(link) = self.refreshed.pop() {
            self.unqueue(site_of_link(link));
        }
        while let Some(site) = self.unqueued.pop() {
            self.sites[site as usize].unqueued = false;
            let id = site / 2;
            let due = if site == site_of_link(id) {
                self.due_at_link(id)
            } else {
                self.due_at_cap(id)
            };
            self.queue_as(site, due);
        }
    }

    fn queue_as(&mut self, site: u32, due: Option<Instant>) {
        match (self.queue_at[site as usize], due) {
            (NOWHERE, None) => {}
            (NOWHERE, Some(due)) => heap::push(&mut self.queue, due, site, &mut self.queue_at),
            (place, None) => {
                heap::remove(&mut self.queue, place, &mut self.queue_at);
            }
            (place, Some(due)) => heap::rekey(&mut self.queue, place, due, &mut self.queue_at),
        }
    }

    fn due_at_cap(&self, id: u32) -> Option<Instant> {
        let bundle = &self.bundles[id as usize];
        if bundle.bottleneck != CAP || bundle.tags.is_empty() {
            return None;
        }
        self.due_after(bundle.since, bundle.first_tag() - bundle.clock, bundle.cap)
    }

    /// Returns when the first transfer at a link ends, or a lower bound of this time.
    fn due_at_link(&mut self, id: u32) -> Option<Instant> {
        let link = &mut self.links[id as usize];
        link.exact = link.hub != NONE || link.level.is_constant();
        let first = link.bound.first()?.key;
        let link = &self.links[id as usize];
        match link.hub {
            NONE if link.exact => self.due_after(link.since, first - link.clock, self.level_of(id)),
            NONE => self.due_after(self.now, first - self.reading_of_link(id), link.fastest),
            hub => {
                let hub = &self.hubs[hub as usize];
                self.due_after(hub.since, first - hub.clock, hub.level)
            }
        }
    }

    fn due_after(&self, since: Instant, left: f64, rate: f64) -> Option<Instant> {
        if left == f64::INFINITY {
            return None;
        }
        // A transfer that rounding puts before `since` is due immediately; at rate 0 no other transfer is ever due.
        let nanos = if left > 0.0 { left / rate * 1e9 } else { 0.0 };
        since.after(nanos).map(|due| due.max(self.now))
    }

    /// Returns the end of the next transfer.
    fn next(&mut self) -> Option<Instant> {
        loop {
            let first = *self.queue.first()?;
            if !self.refresh(first.item) {
                return Some(first.key);
            }
        }
    }

    /// Makes a queue entry exact. Returns false if it already was.
    fn refresh(&mut self, site: u32) -> bool {
        let id = site / 2;
        if site != site_of_link(id) || self.links[id as usize].exact {
            return false;
        }
        let left = self.links[id as usize].bound[0].key - self.reading_of_link(id);
        let due = self.due_after(self.now, left, self.level_of(id));
        self.links[id as usize].exact = true;
        self.refreshed.push(id);
        self.queue_as(site, due);
        true
    }

    /// Returns the tick at which the next transfer has ended.
    pub(in crate::flow) fn next_due(&mut self) -> Option<u64> {
        self.solve();
        self.next().map(Instant::tick)
    }

    /// Like [`Self::next_due`], but only up to `tick`. After a completion at that tick, it can exclude another
    /// completion at the tick without solving, so that a replacement transfer is solved together with it. A transfer
    /// that ends only because of the completion, within the same nanosecond, is found when rates are solved next.
    pub(in crate::flow) fn next_due_by(&mut self, tick: u64) -> Option<u64> {
        let others = self
            .queue
            .first()
            .is_some_and(|first| first.key.tick() <= tick + NEAR_NANOS);
        if self.quiet && self.now.tick() == tick && !others {
            return None;
        }
        self.next_due().filter(|&due| due <= tick)
    }

    /// Advances to a tick before which nothing is due.
    pub(in crate::flow) fn move_to(&mut self, tick: u64) {
        self.now = self.now.moved_to(tick);
    }

    /// Advances to the end of the next transfer, ends all transfers that are due then, and appends them to `ended`.
    pub(in crate::flow) fn complete(&mut self, ended: &mut Vec<u32>) {
        self.solve();
        let Some(now) = self.next() else { return };
        self.now = now;
        let before = ended.len();
        while let Some(&Keyed { item: site, .. }) = self
            .queue
            .first()
            .filter(|next| now.coincides_with(next.key))
        {
            if self.refresh(site) {
                continue;
            }
            heap::remove(&mut self.queue, 0, &mut self.queue_at);
            let id = site / 2;
            if site == site_of_link(id) {
                // The end of the first transfer was announced for this instant, and rounding must not delay it.
                let due = self.reading_of_link(id) + self.level_of(id) * (SLACK_NANOS * 1e-9);
                let bound = &self.links[id as usize].bound;
                self.collect_bundles(bound, 0, due.max(bound[0].key), ended);
            } else {
                let bundle = &self.bundles[id as usize];
                let due = self.reading_of_bundle(id) + bundle.cap * (SLACK_NANOS * 1e-9);
                collect_due(&bundle.tags, 0, due.max(bundle.first_tag()), ended);
            }
        }
        self.work += (ended.len() - before) as u64;
        // All ended transfers were collected before the first is removed: rates after `now` must not affect what is
        // due at `now`.
        for &transfer in &ended[before..] {
            self.remove(transfer);
        }
        let mut least_left = f64::INFINITY;
        for &transfer in &ended[before..] {
            let (bundle, _) = self.transfer_bundle[transfer as usize];
            let bottleneck = self.bundles[bundle as usize].bottleneck;
            let left = match self.links.get(bottleneck as usize) {
                Some(link) => link.bound[0].key - self.reading_of_link(bottleneck),
                None => self.bundles[bundle as usize].first_tag() - self.reading_of_bundle(bundle),
            };
            least_left = least_left.min(left);
        }
        // A transfer that would need two nanoseconds at the rate of the fastest link cannot end within the rest of
        // this nanosecond.
        self.quiet = least_left > self.fastest / self.lightest.get() * 2e-9;
    }

    fn collect_bundles(&self, bound: &[Keyed<f64>], place: usize, due: f64, ended: &mut Vec<u32>) {
        let Keyed { key, item } = bound[place];
        if key <= due {
            let bundle = &self.bundles[item as usize];
            collect_due(
                &bundle.tags,
                0,
                (due + bundle.clock).max(bundle.first_tag()),
                ended,
            );
            for down in heap::below(place, bound.len()) {
                self.collect_bundles(bound, down, due, ended);
            }
        }
    }
}

fn collect_due(tags: &[Keyed<f64>], place: usize, due: f64, ended: &mut Vec<u32>) {
    if tags[place].key <= due {
        ended.push(tags[place].item);
        for down in heap::below(place, tags.len()) {
            collect_due(tags, down, due, ended);
        }
    }
}
