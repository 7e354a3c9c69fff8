//! A node's disk behind its page cache: layers are unpacked into memory, and the disk writes it out.
//!
//! While the buffer has room, each layer is written as fast as it is decompressed. When it is full, all layers share
//! the disk's rate equally. The disk keeps writing when no layer is unpacked, so room returns with time. This models
//! Linux's dirty-page budget as a fluid: writers run freely up to the middle between `dirty_background_ratio` and
//! `dirty_ratio` (torvalds/linux `mm/page-writeback.c`, `dirty_freerun_ceiling`), which by default is 15 % of the
//! memory that can be dirty.
//!
//! Left out: the gradual onset of the kernel's throttling, disk writes of downloads, and disk use by pods.

use crate::engine::EventId;
use crate::units::{BytesPerSec, SimDuration, SimTime};
use crate::world::ids::PullId;
use crate::world::nodes::spec::DiskSpec;

/// A layer that is being written.
#[derive(Clone, Copy, Debug)]
struct Writer {
    pull: PullId,
    layer: u16,
    /// The value of [`Disk::written`] at which this layer is complete.
    ends: f64,
}

/// The state of one disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// Bytes per second.
    rate: f64,
    buffer: f64,
    /// Decompression rate of one layer, bytes per second.
    decompress: f64,
    /// Bytes in memory that are not yet on the disk.
    dirty: f64,
    /// Bytes that a permanent writer would have written.
    written: f64,
    now: SimTime,
    writers: Vec<Writer>,
    /// The pending event at [`Disk::next_change`].
    pub(crate) event: Option<EventId>,
}

impl Disk {
    pub(crate) fn new(spec: DiskSpec, decompress: BytesPerSec) -> Self {
        Self {
            rate: spec.rate.get(),
            buffer: spec.buffer.get() as f64,
            decompress: decompress.get(),
            ..Self::default()
        }
    }

    /// A layer of `bytes` uncompressed bytes begins to be written.
    pub(crate) fn begin(&mut self, now: SimTime, pull: PullId, layer: u16, bytes: f64) {
        self.advance(now);
        self.writers.push(Writer { pull, layer, ends: self.written + bytes });
    }

    /// Cancels the layers that a pull still writes.
    pub(crate) fn cancel(&mut self, now: SimTime, pull: PullId) {
        self.advance(now);
        self.writers.retain(|writer| writer.pull != pull);
    }

    /// Removes and returns the layers that are complete at `now`, in the order in which they began.
    pub(crate) fn take_written(&mut self, now: SimTime) -> Vec<(PullId, u16)> {
        self.advance(now);
        // Event times are whole nanoseconds, so a layer may be complete except for rounding.
        let done = self.written + 0.5;
        let ended = self.writers.iter().filter(|writer| writer.ends <= done);
        let ended = ended.map(|writer| (writer.pull, writer.layer)).collect();
        self.writers.retain(|writer| writer.ends > done);
        ended
    }

    /// When the next layer is complete, or the buffer is full and rates change. `None`: no layer is being written.
    pub(crate) fn next_change(&self) -> Option<SimTime> {
        let first = self.writers.iter().map(|writer| writer.ends - self.written).min_by(f64::total_cmp)?;
        let mut after = first.max(0.0) / self.writer_rate();
        let filling = self.writers.len() as f64 * self.decompress - self.rate;
        if !self.is_full() && filling > 0.0 {
            after = after.min((self.buffer - self.dirty) / filling);
        }
        Some(self.now + SimDuration::from_nanos((after * 1e9).ceil() as u64))
    }

    fn is_full(&self) -> bool {
        self.dirty + 0.5 >= self.buffer
    }

    fn writer_rate(&self) -> f64 {
        let writers = self.writers.len() as f64;
        if self.is_full() { self.decompress.min(self.rate / writers) } else { self.decompress }
    }

    fn advance(&mut self, now: SimTime) {
        let span = (now - self.now).as_secs_f64();
        let rate = if self.writers.is_empty() { 0.0 } else { self.writer_rate() };
        self.written += rate * span;
        let filling = self.writers.len() as f64 * rate - self.rate;
        self.dirty = (self.dirty + filling * span).clamp(0.0, self.buffer);
        self.now = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    const PULL: PullId = PullId(0);

    fn disk(buffer: u64) -> Disk {
        let spec = DiskSpec { rate: BytesPerSec::new(100.0), buffer: Bytes::new(buffer) };
        Disk::new(spec, BytesPerSec::new(300.0))
    }

    /// Runs the disk until no layer is left. Returns when each layer was complete.
    fn run(disk: &mut Disk) -> Vec<(u16, f64)> {
        let mut ended = Vec::new();
        while let Some(at) = disk.next_change() {
            ended.extend(disk.take_written(at).into_iter().map(|(_, layer)| (layer, at.as_secs_f64())));
        }
        ended
    }

    #[track_caller]
    fn assert_ends(found: &[(u16, f64)], expected: &[(u16, f64)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 0.01, "{found:?}, not {expected:?}");
        }
    }

    #[test]
    fn a_writer_is_fast_until_the_buffer_is_full_and_then_as_fast_as_the_disk() {
        let mut disk = disk(10_000);
        disk.begin(SimTime::ZERO, PULL, 0, 20_000.0);
        // It fills at 300 - 100 = 200 B/s: full after 50 s, 15 000 B written. The other 5 000 B at 100 B/s: 50 s more.
        assert_ends(&run(&mut disk), &[(0, 100.0)]);
        // For 25 s the disk goes on alone: room for 2 500 B, which last 12.5 s, 3 750 B; then 1 250 B at 100 B/s.
        disk.begin(SimTime::from_secs(125), PULL, 1, 5_000.0);
        assert_ends(&run(&mut disk), &[(1, 125.0 + 12.5 + 12.5)]);
    }

    #[test]
    fn writers_share_a_full_disk_and_not_an_empty_buffer() {
        let mut disk = disk(10_000);
        disk.begin(SimTime::ZERO, PULL, 0, 3_000.0);
        disk.begin(SimTime::ZERO, PULL, 1, 9_000.0);
        // Together 600 B/s, filling at 500: the first is written after 10 s, with 5 000 B in the buffer. The other has
        // 6 000 B left and fills at 200: it needs 20 s and would be stopped after 25.
        assert_ends(&run(&mut disk), &[(0, 10.0), (1, 30.0)]);
    }

    #[test]
    fn without_a_buffer_writers_share_the_disk_equally() {
        let mut disk = disk(0);
        disk.begin(SimTime::ZERO, PULL, 0, 100.0);
        disk.begin(SimTime::ZERO, PULL, 1, 300.0);
        // 50 B/s each until 2 s; then 200 B at 100 B/s.
        assert_ends(&run(&mut disk), &[(0, 2.0), (1, 4.0)]);
    }

    #[test]
    fn a_cancelled_layer_leaves_its_share_to_others() {
        let mut disk = disk(0);
        disk.begin(SimTime::ZERO, PullId(7), 0, 1_000.0);
        disk.begin(SimTime::ZERO, PULL, 1, 300.0);
        disk.cancel(SimTime::from_secs(2), PullId(7));
        // 100 B in two seconds, 200 B in two more.
        assert_ends(&run(&mut disk), &[(1, 4.0)]);
    }
}
