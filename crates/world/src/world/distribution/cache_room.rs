//! The capacity of a store with a limited number of bytes: the least recently used blobs are evicted first.
//!
//! Diego's cells store downloads in this way (code.cloudfoundry.org/cacheddownloader, `file_cache.go`: the entry with
//! the oldest access is removed until the new one fits). A blob that is larger than the capacity is not stored.

use fleetsim_units::{Bytes, SimTime};

/// The capacity and the use of one store.
#[derive(Clone, Debug)]
pub(crate) struct CacheRoom {
    most: Bytes,
    /// The size of each blob.
    sizes: Vec<Bytes>,
    /// The time of last use of each stored blob.
    used: Vec<Option<SimTime>>,
}

impl CacheRoom {
    /// Creates a capacity of `most` bytes for blobs of these sizes.
    pub(super) fn new(most: Bytes, sizes: Vec<Bytes>) -> Self {
        Self {
            most,
            used: vec![None; sizes.len()],
            sizes,
        }
    }

    /// Records that a blob is used.
    pub(super) fn touch(&mut self, blob: usize, now: SimTime) {
        self.used[blob] = Some(now);
    }

    /// Stores a new blob. Returns the evicted blobs, or only the blob itself if it does not fit.
    pub(super) fn keep(&mut self, blob: usize, now: SimTime) -> Vec<usize> {
        if self.sizes[blob] > self.most {
            return vec![blob];
        }
        self.used[blob] = Some(now);
        let mut gone = Vec::new();
        while self.kept() > self.most.get() {
            let others = (0..self.used.len()).filter(|other| *other != blob);
            let oldest = others
                .filter_map(|other| Some((self.used[other]?, other)))
                .min();
            let Some((_, oldest)) = oldest else { break };
            self.used[oldest] = None;
            gone.push(oldest);
        }
        gone
    }

    fn kept(&self) -> u64 {
        self.used
            .iter()
            .zip(&self.sizes)
            .filter(|(used, _)| used.is_some())
            .map(|(_, size)| size.get())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_blob_is_evicted() {
        let at = SimTime::from_secs;
        let sizes = [40, 40, 40, 101].map(Bytes::new).to_vec();
        let mut room = CacheRoom::new(Bytes::new(100), sizes);
        assert_eq!(room.keep(0, at(1)), [0; 0]);
        assert_eq!(room.keep(1, at(2)), [0; 0]);
        room.touch(0, at(3));
        assert_eq!(
            room.keep(2, at(4)),
            [1],
            "80 + 40 > 100, and blob 1 was not used since 2 s"
        );
        assert_eq!(
            room.keep(3, at(5)),
            [3],
            "101 > 100: it would not fit into an empty room"
        );
        assert_eq!(room.keep(1, at(6)), [0]);
    }
}
