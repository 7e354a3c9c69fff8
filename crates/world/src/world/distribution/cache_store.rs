//! The blobs that a cache, or the seeds of a cluster, has and fetches.
//!
//! A request for a missing blob is a *miss* and starts a fill. [`Coalesce`] decides what later requests do before the
//! fill is complete: start their own fill, wait for it, or share it as it arrives. A shared fill, or a cache's own
//! copy, always completes; a fill for one request is cancelled with the request.
//!
//! A Cloud Foundry cell has a limited capacity, and queues requests that other stores would refuse.
//!
//! Left out: full disks of other stores; requests for part of a blob (if a node resumes a broken download, its cache
//! fetches the whole blob); and blobs that were cached before the run.

use crate::world::distribution::cache_room::CacheRoom;
use crate::world::distribution::spec::Coalesce;
use crate::world::ids::{FillId, PullId};
use crate::world::registry::request::PullRequest;
use fleetsim_units::{SimDuration, SimTime};

/// The result of a lookup.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CacheLookup {
    /// The whole blob is stored.
    Hit,
    /// A fill of the blob is in progress, which the request may share.
    Filling(FillId),
    /// The blob is missing, so the request starts a fill.
    Miss,
    /// A fill of the blob is in progress, and the request waits for it.
    Waits,
    /// No connection is free for another fill.
    Full,
}

/// The content of one store.
#[derive(Debug)]
pub(crate) struct CacheStore {
    coalesce: Coalesce,
    ttl: SimDuration,
    /// Maximum number of concurrent fills.
    most: Option<u32>,
    /// The time at which each blob was completely stored.
    whole: Vec<Option<SimTime>>,
    /// For each blob, the fill that others may share or wait for, or the cache's own copy.
    running: Vec<Option<FillId>>,
    /// Misses whose fill has not begun, with their blob.
    leads: Vec<(u16, PullId)>,
    /// Requests that wait for the fill of a blob.
    waiters: Vec<(u16, PullRequest)>,
    /// Fills in progress.
    fills: u32,
    /// The limited capacity of the store. `None`: unlimited.
    room: Option<CacheRoom>,
    /// Requests for which no connection was free. `None`: such requests are refused.
    queue: Option<Vec<PullRequest>>,
}

impl CacheStore {
    pub(super) fn new(
        blobs: usize,
        coalesce: Coalesce,
        ttl: SimDuration,
        most: Option<u32>,
    ) -> Self {
        Self {
            coalesce,
            ttl,
            most,
            whole: vec![None; blobs],
            running: vec![None; blobs],
            leads: Vec::new(),
            waiters: Vec::new(),
            fills: 0,
            room: None,
            queue: None,
        }
    }

    /// Limits the store to this capacity, and lets requests wait for a free connection.
    pub(super) fn with_room(self, room: CacheRoom) -> Self {
        Self {
            room: Some(room),
            queue: Some(Vec::new()),
            ..self
        }
    }

    /// Looks up a blob for a request.
    pub(super) fn look_up(&mut self, now: SimTime, blob: u16, waiter: PullRequest) -> CacheLookup {
        let at = usize::from(blob);
        let pull = waiter.pull;
        if self.whole[at].is_some_and(|since| now - since < self.ttl) {
            if let Some(room) = &mut self.room {
                room.touch(at, now);
            }
            return CacheLookup::Hit;
        }
        // The registry refused the request, which is now sent again.
        if self.leads.contains(&(blob, pull)) {
            return CacheLookup::Miss;
        }
        if self.is_shared() {
            match self.running[at] {
                Some(fill) if self.coalesce == Coalesce::Stream => {
                    return CacheLookup::Filling(fill);
                }
                None if !self.leads.iter().any(|&(led, _)| led == blob) => {}
                _ => {
                    self.waiters.push((blob, waiter));
                    return CacheLookup::Waits;
                }
            }
        }
        if self
            .most
            .is_some_and(|most| self.leads.len() as u32 + self.fills >= most)
        {
            let Some(queue) = &mut self.queue else {
                return CacheLookup::Full;
            };
            queue.push(waiter);
            return CacheLookup::Waits;
        }
        self.leads.push((blob, pull));
        CacheLookup::Miss
    }

    /// Begins the fill that `pull` caused. Returns the waiting requests that may share the fill.
    pub(super) fn fill_begins(
        &mut self,
        blob: u16,
        pull: PullId,
        fill: FillId,
    ) -> Vec<PullRequest> {
        self.leads.retain(|&lead| lead != (blob, pull));
        self.fills += 1;
        if !self.is_shared() {
            return Vec::new();
        }
        self.running[usize::from(blob)] = Some(fill);
        if self.coalesce == Coalesce::Stream {
            self.take_waiters(blob)
        } else {
            Vec::new()
        }
    }

    /// Returns whether the store stores only its own copies, and is not fetching this blob yet.
    pub(super) fn lacks_own_copy(&self, blob: u16) -> bool {
        self.coalesce == Coalesce::OwnCopy && self.running[usize::from(blob)].is_none()
    }

    /// Begins to fetch the cache's own copy.
    pub(super) fn own_copy_begins(&mut self, blob: u16, fill: FillId) {
        self.fills += 1;
        self.running[usize::from(blob)] = Some(fill);
    }

    /// Ends a fill; the whole blob arrived at `whole`. Returns the requests that waited for the fill.
    pub(super) fn fill_ends(
        &mut self,
        blob: u16,
        fill: FillId,
        whole: Option<SimTime>,
    ) -> Vec<PullRequest> {
        self.fills -= 1;
        let at = usize::from(blob);
        let is_running = self.running[at] == Some(fill);
        if let Some(now) = whole
            && (is_running || self.coalesce != Coalesce::OwnCopy)
        {
            self.keep(at, now);
        }
        if is_running {
            self.running[at] = None;
        }
        let mut waiters = self.take_waiters(blob);
        waiters.extend(self.take_queue());
        waiters
    }

    /// Stores a complete blob.
    fn keep(&mut self, blob: usize, now: SimTime) {
        self.whole[blob] = Some(now);
        let gone = self
            .room
            .as_mut()
            .map_or_else(Vec::new, |room| room.keep(blob, now));
        for gone in gone {
            self.whole[gone] = None;
        }
    }

    /// Removes and returns the requests for which no connection was free.
    fn take_queue(&mut self) -> Vec<PullRequest> {
        self.queue.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Handles a failed pull. Returns the requests that waited for its misses; the first of them will be the next
    /// miss.
    pub(super) fn cancel_pull(&mut self, pull: PullId) -> Vec<PullRequest> {
        self.waiters.retain(|(_, waiting)| waiting.pull != pull);
        let given: Vec<u16> = self
            .leads
            .iter()
            .filter(|&&(_, lead)| lead == pull)
            .map(|&(blob, _)| blob)
            .collect();
        self.leads.retain(|&(_, lead)| lead != pull);
        if let Some(queue) = &mut self.queue {
            queue.retain(|waiting| waiting.pull != pull);
        }
        let mut waiters: Vec<PullRequest> = given
            .iter()
            .flat_map(|&blob| self.take_waiters(blob))
            .collect();
        if !given.is_empty() {
            waiters.extend(self.take_queue());
        }
        waiters
    }

    /// Returns whether fills are shared, so that they do not end with the request that started them.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self.coalesce, Coalesce::None | Coalesce::OwnCopy)
    }

    fn take_waiters(&mut self, blob: u16) -> Vec<PullRequest> {
        let mut taken = Vec::new();
        self.waiters.retain(|&(waited, waiter)| {
            let is_taken = waited == blob;
            if is_taken {
                taken.push(waiter);
            }
            !is_taken
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::registry::request::Request;
    use fleetsim_units::Bytes;

    fn cache_store(coalesce: Coalesce, most: Option<u32>) -> CacheStore {
        CacheStore::new(2, coalesce, SimDuration::from_secs(100), most)
    }

    fn from(pull: u32) -> PullRequest {
        PullRequest::new(PullId(pull), Request::Layer(0))
    }

    const START: SimTime = SimTime::ZERO;

    #[test]
    fn without_coalescing_every_request_before_the_first_copy_is_complete_misses() {
        let mut cache_store = cache_store(Coalesce::None, None);
        assert_eq!(cache_store.look_up(START, 0, from(1)), CacheLookup::Miss);
        assert_eq!(cache_store.fill_begins(0, PullId(1), FillId(0)), []);
        assert_eq!(
            cache_store.look_up(START, 0, from(2)),
            CacheLookup::Miss,
            "the first is still on its way"
        );
        cache_store.fill_begins(0, PullId(2), FillId(1));
        cache_store.fill_ends(0, FillId(0), Some(SimTime::from_secs(10)));
        assert_eq!(
            cache_store.look_up(SimTime::from_secs(10), 0, from(3)),
            CacheLookup::Hit
        );
        assert_eq!(
            cache_store.look_up(SimTime::from_secs(110), 0, from(4)),
            CacheLookup::Miss,
            "its time to live is over"
        );
    }

    #[test]
    fn only_a_download_by_the_cache_itself_is_stored() {
        let mut cache_store = cache_store(Coalesce::OwnCopy, None);
        assert_eq!(cache_store.look_up(START, 0, from(1)), CacheLookup::Miss);
        assert_eq!(cache_store.fill_begins(0, PullId(1), FillId(0)), []);
        assert!(cache_store.lacks_own_copy(0));
        cache_store.own_copy_begins(0, FillId(1));
        assert!(!cache_store.lacks_own_copy(0), "one is enough");
        cache_store.fill_ends(0, FillId(0), Some(START));
        assert_eq!(
            cache_store.look_up(START, 0, from(2)),
            CacheLookup::Miss,
            "that was the request's copy"
        );
        cache_store.fill_ends(0, FillId(1), Some(START));
        assert_eq!(cache_store.look_up(START, 0, from(3)), CacheLookup::Hit);
    }

    #[test]
    fn waiting_requests_proceed_when_the_fill_ends_and_sharing_requests_when_it_begins() {
        for (coalesce, at_begin, at_end) in [(Coalesce::Wait, 0, 1), (Coalesce::Stream, 1, 0)] {
            let mut cache_store = cache_store(coalesce, None);
            assert_eq!(cache_store.look_up(START, 0, from(1)), CacheLookup::Miss);
            assert_eq!(
                cache_store.look_up(START, 0, from(2)),
                CacheLookup::Waits,
                "the first has not been answered yet"
            );
            assert_eq!(
                cache_store.look_up(START, 1, from(2)),
                CacheLookup::Miss,
                "another blob"
            );
            assert_eq!(
                cache_store.fill_begins(0, PullId(1), FillId(0)).len(),
                at_begin,
                "{coalesce:?}"
            );
            assert_eq!(
                cache_store.fill_ends(0, FillId(0), Some(START)).len(),
                at_end,
                "{coalesce:?}"
            );
        }
    }

    #[test]
    fn when_a_fill_is_cancelled_waiting_requests_are_sent_again() {
        let mut cache_store = cache_store(Coalesce::Wait, None);
        assert_eq!(cache_store.look_up(START, 0, from(1)), CacheLookup::Miss);
        assert_eq!(cache_store.look_up(START, 0, from(2)), CacheLookup::Waits);
        assert_eq!(cache_store.look_up(START, 0, from(3)), CacheLookup::Waits);
        assert_eq!(cache_store.cancel_pull(PullId(3)), [], "it only waited");
        assert_eq!(cache_store.cancel_pull(PullId(1)), [from(2)]);
        assert_eq!(cache_store.look_up(START, 0, from(2)), CacheLookup::Miss);
    }

    #[test]
    fn in_a_cell_requests_wait_for_a_connection_and_blobs_for_a_slot() {
        let room = CacheRoom::new(Bytes::new(100), vec![Bytes::new(60); 2]);
        let mut cell = cache_store(Coalesce::Wait, Some(1)).with_room(room);
        assert_eq!(cell.look_up(START, 0, from(1)), CacheLookup::Miss);
        assert_eq!(
            cell.look_up(START, 1, from(2)),
            CacheLookup::Waits,
            "one download at a time"
        );
        cell.fill_begins(0, PullId(1), FillId(0));
        assert_eq!(
            cell.fill_ends(0, FillId(0), Some(SimTime::from_secs(1))),
            [from(2)]
        );
        assert_eq!(
            cell.look_up(SimTime::from_secs(1), 0, from(3)),
            CacheLookup::Hit
        );
        assert_eq!(
            cell.look_up(SimTime::from_secs(1), 1, from(2)),
            CacheLookup::Miss
        );
        cell.fill_begins(1, PullId(2), FillId(1));
        cell.fill_ends(1, FillId(1), Some(SimTime::from_secs(2)));
        assert_eq!(
            cell.look_up(SimTime::from_secs(2), 0, from(4)),
            CacheLookup::Miss,
            "60 + 60 > 100"
        );
        assert_eq!(cell.cancel_pull(PullId(4)), [], "nobody waited for it");
    }

    #[test]
    fn a_limit_of_upstream_connections_counts_misses_and_fills() {
        let mut cache_store = cache_store(Coalesce::None, Some(2));
        assert_eq!(cache_store.look_up(START, 0, from(1)), CacheLookup::Miss);
        assert_eq!(
            cache_store.look_up(START, 0, from(1)),
            CacheLookup::Miss,
            "the same request again"
        );
        cache_store.fill_begins(0, PullId(1), FillId(0));
        assert_eq!(cache_store.look_up(START, 1, from(2)), CacheLookup::Miss);
        assert_eq!(cache_store.look_up(START, 1, from(3)), CacheLookup::Full);
        cache_store.fill_ends(0, FillId(0), None);
        assert_eq!(cache_store.look_up(START, 1, from(3)), CacheLookup::Miss);
    }
}
