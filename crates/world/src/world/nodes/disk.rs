//! A node's disk behind its page cache: layers are unpacked into memory, and the disk writes the memory out. Downloads
//! are also written, and a download is complete when all of it is on the disk.
//!
//! While the buffer has room, each layer is unpacked as fast as it is decompressed. When it is full, all layers and
//! downloads share the disk's rate equally. The disk keeps writing when no layer is unpacked, so the buffer empties
//! with time. This models Linux's dirty-page budget as a fluid: writers are not throttled up to the middle between
//! `dirty_background_ratio` and `dirty_ratio` (torvalds/linux `mm/page-writeback.c`, `dirty_freerun_ceiling`), which
//! by default is 15% of the memory that can be dirty.
//!
//! containerd syncs each blob before it can be unpacked (`fp.Sync()` in containerd/containerd @02e0fef
//! `plugins/content/local/writer.go`), and holds the blob's download slot until then. The kernel has already written
//! pages that are older than [`DIRTY_EXPIRE`]; the rest is written during the sync, before the dirty pages of unpacked
//! layers while the buffer has room.
//!
//! Left out: the gradual onset of the kernel's throttling, a disk's credits for bursts, reading blobs back, and disk
//! use by pods.

use crate::engine::EventId;
use crate::world::ids::PullId;
use crate::world::nodes::catalog::Packing;
use crate::world::nodes::pull_progress::PullLayer;
use fleetsim_units::{Bytes, BytesPerSec, SimDuration, SimTime};

/// Age at which the kernel writes a dirty page. Source: `vm.dirty_expire_centisecs` of Linux, 3000.
const DIRTY_EXPIRE: SimDuration = SimDuration::from_secs(30);

/// Rate at which memory accepts an uncompressed layer, in bytes per second: higher than any limit.
const MEMORY_RATE: f64 = 1e12;

/// A layer that is being written.
#[derive(Clone, Copy, Debug)]
struct Writer {
    of: PullLayer,
    /// The value of [`Unpackers::written`], [`Disk::copied`] or [`Disk::synced`] at which this layer is complete.
    ends: f64,
}

/// A download that will be synced to the disk.
#[derive(Clone, Copy, Debug)]
struct DiskDownload {
    of: PullLayer,
    began: SimTime,
}

/// Layers whose writing has ended.
#[derive(Debug, Default)]
pub(crate) struct EndedWrites {
    /// Downloads that are on the disk.
    pub synced: Vec<PullLayer>,
    /// Layers that are unpacked.
    pub unpacked: Vec<PullLayer>,
}

/// Rates at which a node unpacks one layer, in uncompressed bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnpackRates {
    pub(crate) gzip: BytesPerSec,
    pub(crate) zstd: BytesPerSec,
}

impl UnpackRates {
    pub(crate) fn of(gzip: BytesPerSec, zstd_factor: f64) -> Self {
        Self {
            gzip,
            zstd: BytesPerSec::new(gzip.get() * zstd_factor),
        }
    }

    /// Returns the rate of one layer on a node whose disk never limits it.
    pub(crate) const fn of_packing(self, packing: Packing) -> BytesPerSec {
        match packing {
            Packing::Plain | Packing::Gzip => self.gzip,
            Packing::Zstd => self.zstd,
        }
    }
}

/// Layers that are decompressed at the same rate.
#[derive(Debug, Default)]
struct Unpackers {
    /// Rate of one layer, in bytes per second.
    decompress: f64,
    /// Bytes that a writer would have written if it had been active since the start.
    written: f64,
    writers: Vec<Writer>,
}

impl Unpackers {
    fn new(decompress: BytesPerSec) -> Self {
        Self {
            decompress: decompress.get(),
            ..Self::default()
        }
    }

    fn begin(&mut self, of: PullLayer, bytes: f64) {
        let ends = self.written + bytes;
        self.writers.push(Writer { of, ends });
    }

    /// Returns the total rate if the disk limits each layer to `share`.
    fn rate_of_all(&self, share: f64) -> f64 {
        self.writers.len() as f64 * self.decompress.min(share)
    }

    fn advance(&mut self, share: f64, span: f64) {
        if !self.writers.is_empty() {
            self.written += self.decompress.min(share) * span;
        }
    }

    fn take_done(&mut self) -> Vec<PullLayer> {
        take_done(&mut self.writers, self.written)
    }

    /// Returns the seconds until the first layer is complete, if the disk limits each layer to `share`.
    fn until_first(&self, share: f64) -> Option<f64> {
        until_first(&self.writers, self.written, self.decompress.min(share))
    }
}

/// The state of one disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// Rate of the disk, in bytes per second.
    rate: f64,
    buffer: f64,
    /// Bytes in memory that are not yet on the disk.
    dirty: f64,
    /// Bytes that a writer without decompression would have written if it had been active since the start.
    copied: f64,
    /// Bytes that a sync would have written if it had been active since the start.
    synced: f64,
    now: SimTime,
    /// Gzip layers being unpacked.
    gzip: Unpackers,
    /// Zstd layers being unpacked.
    zstd: Unpackers,
    /// Layers being written without decompression.
    copies: Vec<Writer>,
    /// Downloads being synced.
    syncs: Vec<Writer>,
    /// Downloads in progress.
    downloads: Vec<DiskDownload>,
    /// The pending event for the time of [`Disk::next_change`].
    pub event: Option<EventId>,
}

impl Disk {
    /// Creates a disk with this write rate and buffer, on a node whose processors decompress at these rates.
    pub(crate) fn new(rate: BytesPerSec, buffer: Bytes, unpack: UnpackRates) -> Self {
        Self {
            rate: rate.get(),
            buffer: buffer.get() as f64,
            gzip: Unpackers::new(unpack.gzip),
            zstd: Unpackers::new(unpack.zstd),
            ..Self::default()
        }
    }

    /// Begins to unpack a layer of `bytes` uncompressed bytes.
    pub(crate) fn begin(&mut self, now: SimTime, of: PullLayer, bytes: f64, packing: Packing) {
        self.advance(now);
        match packing {
            Packing::Gzip => self.gzip.begin(of, bytes),
            Packing::Zstd => self.zstd.begin(of, bytes),
            Packing::Plain => self.copies.push(Writer {
                of,
                ends: self.copied + bytes,
            }),
        }
    }

    /// Records that the download of a layer begins.
    pub(crate) fn download_begins(&mut self, now: SimTime, of: PullLayer) {
        // A download that resumes after an error began earlier.
        if !self.downloads.iter().any(|download| download.of == of) {
            self.downloads.push(DiskDownload { of, began: now });
        }
    }

    /// Begins to sync a layer of `bytes` compressed bytes whose download has ended.
    pub(crate) fn sync(&mut self, now: SimTime, of: PullLayer, bytes: f64) {
        self.advance(now);
        let at = self.downloads.iter().position(|other| other.of == of);
        let began = match at {
            Some(at) => self.downloads.swap_remove(at).began,
            None => now,
        };
        let lasted = (now - began).as_secs_f64().max(DIRTY_EXPIRE.as_secs_f64());
        let left = bytes * DIRTY_EXPIRE.as_secs_f64() / lasted;
        self.syncs.push(Writer {
            of,
            ends: self.synced + left,
        });
    }

    /// Cancels the layers that a pull is still writing.
    pub(crate) fn cancel(&mut self, now: SimTime, pull: PullId) {
        self.advance(now);
        self.gzip.writers.retain(|writer| writer.of.pull != pull);
        self.zstd.writers.retain(|writer| writer.of.pull != pull);
        self.copies.retain(|writer| writer.of.pull != pull);
        self.syncs.retain(|writer| writer.of.pull != pull);
        self.downloads.retain(|download| download.of.pull != pull);
    }

    /// Removes and returns the layers that are complete at `now`; layers of one packing are in the order in which they
    /// began.
    pub(crate) fn take_ended(&mut self, now: SimTime) -> EndedWrites {
        self.advance(now);
        let mut unpacked = self.gzip.take_done();
        unpacked.extend(self.zstd.take_done());
        unpacked.extend(take_done(&mut self.copies, self.copied));
        EndedWrites {
            synced: take_done(&mut self.syncs, self.synced),
            unpacked,
        }
    }

    /// Returns when the next layer is complete, or the buffer becomes full so that rates change. `None`: nothing is
    /// being written.
    pub(crate) fn next_change(&self) -> Option<SimTime> {
        let ends = [
            self.gzip.until_first(self.unpack_share()),
            self.zstd.until_first(self.unpack_share()),
            until_first(&self.copies, self.copied, self.copy_rate()),
            until_first(&self.syncs, self.synced, self.sync_rate()),
        ];
        let mut after = ends.into_iter().flatten().min_by(f64::total_cmp)?;
        let filling = self.filling();
        if !self.is_full() && filling > 0.0 {
            after = after.min((self.buffer - self.dirty) / filling);
        }
        Some(self.now + SimDuration::from_nanos((after * 1e9).ceil() as u64))
    }

    fn is_full(&self) -> bool {
        self.dirty + 0.5 >= self.buffer
    }

    /// Returns the share of the disk's rate for each writer.
    fn share(&self) -> f64 {
        let waiting = if self.is_full() {
            self.gzip.writers.len() + self.zstd.writers.len() + self.copies.len()
        } else {
            0
        };
        self.rate / (waiting + self.syncs.len()).max(1) as f64
    }

    /// Returns the rate of each sync.
    fn sync_rate(&self) -> f64 {
        self.share()
    }

    /// Returns the maximum rate that the disk leaves each layer being unpacked: unlimited while the buffer has room.
    fn unpack_share(&self) -> f64 {
        if self.is_full() {
            self.share()
        } else {
            f64::INFINITY
        }
    }

    /// Returns the total rate of all layers being unpacked.
    fn unpack_rate(&self) -> f64 {
        let share = self.unpack_share();
        self.gzip.rate_of_all(share) + self.zstd.rate_of_all(share)
    }

    /// Returns the rate of each layer that is written without decompression. If the buffer is full, the layers share
    /// the rest of the disk's rate.
    fn copy_rate(&self) -> f64 {
        if !self.is_full() {
            return MEMORY_RATE;
        }
        let syncing = self.syncs.len() as f64 * self.sync_rate();
        (self.rate - syncing - self.unpack_rate()) / self.copies.len().max(1) as f64
    }

    /// Returns the rate at which dirty pages of unpacked layers grow, in bytes per second.
    fn filling(&self) -> f64 {
        let flushed = self.rate - self.syncs.len() as f64 * self.sync_rate();
        let mut written = self.unpack_rate();
        if !self.copies.is_empty() {
            written += self.copies.len() as f64 * self.copy_rate();
        }
        written - flushed
    }

    fn advance(&mut self, now: SimTime) {
        let span = (now - self.now).as_secs_f64();
        let filling = self.filling();
        let share = self.unpack_share();
        self.gzip.advance(share, span);
        self.zstd.advance(share, span);
        if !self.copies.is_empty() {
            self.copied += self.copy_rate() * span;
        }
        if !self.syncs.is_empty() {
            self.synced += self.sync_rate() * span;
        }
        self.dirty = (self.dirty + filling * span).clamp(0.0, self.buffer);
        self.now = now;
    }
}

/// Removes and returns the layers that are complete if each writer has written `done` bytes.
fn take_done(writers: &mut Vec<Writer>, done: f64) -> Vec<PullLayer> {
    // Event times are whole nanoseconds, so a layer may lack a fraction of a byte due to rounding.
    let is_done = |writer: &Writer| writer.ends <= done + 0.5;
    let ended = writers.iter().filter(|writer| is_done(writer));
    let ended = ended.map(|writer| writer.of).collect();
    writers.retain(|writer| !is_done(writer));
    ended
}

/// Returns the seconds until the first layer is complete, if each writer has written `done` bytes and writes at
/// `rate`.
fn until_first(writers: &[Writer], done: f64, rate: f64) -> Option<f64> {
    let left = writers
        .iter()
        .map(|writer| writer.ends - done)
        .min_by(f64::total_cmp)?;
    Some(left.max(0.0) / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn layer(layer: u16) -> PullLayer {
        PullLayer::new(PullId(0), layer)
    }

    fn disk(buffer: u64) -> Disk {
        Disk::new(
            BytesPerSec::new(100.0),
            Bytes::new(buffer),
            UnpackRates::of(BytesPerSec::new(300.0), 2.0),
        )
    }

    /// Runs the disk until no layer is left. Returns when each layer was complete.
    fn run(disk: &mut Disk) -> Vec<(u16, f64)> {
        let mut ended = Vec::new();
        while let Some(at) = disk.next_change() {
            let EndedWrites { synced, unpacked } = disk.take_ended(at);
            ended.extend(
                synced
                    .into_iter()
                    .chain(unpacked)
                    .map(|of| (of.layer, at.as_secs_f64())),
            );
        }
        ended
    }

    #[track_caller]
    fn assert_ends(found: &[(u16, f64)], expected: &[(u16, f64)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found.0 == expected.0 && (found.1 - expected.1).abs() < 0.01,
                "{found:?}, not {expected:?}"
            );
        }
    }

    #[test]
    fn a_writer_is_limited_by_the_disk_only_when_the_buffer_is_full() {
        let mut disk = disk(10_000);
        disk.begin(SimTime::ZERO, layer(0), 20_000.0, Packing::Gzip);
        // The buffer fills at 300 - 100 = 200 B/s and is full after 50 s, with 15,000 B written. The other 5,000 B
        // take another 50 s at 100 B/s.
        assert_ends(&run(&mut disk), &[(0, 100.0)]);
        // For 25 s the disk writes alone, which makes room for 2,500 B. This lasts for 12.5 s and 3,750 B; then 1,250
        // B are written at 100 B/s.
        disk.begin(SimTime::from_secs(125), layer(1), 5_000.0, Packing::Gzip);
        assert_ends(&run(&mut disk), &[(1, 125.0 + 12.5 + 12.5)]);
    }

    #[test]
    fn zstd_layers_have_a_separate_rate_until_the_buffer_is_full() {
        // 600 B/s fill the buffer at 500 B/s. It is full after 20 s, with 12,000 B written. The other 8,000 B take
        // another 80 s at 100 B/s.
        let mut slow = disk(10_000);
        slow.begin(SimTime::ZERO, layer(0), 20_000.0, Packing::Zstd);
        assert_ends(&run(&mut slow), &[(0, 100.0)]);
        // The buffer has room for everything: 6,000 B at 600 B/s concurrently with 6,000 B at 300 B/s.
        let mut roomy = disk(100_000);
        roomy.begin(SimTime::ZERO, layer(0), 6_000.0, Packing::Gzip);
        roomy.begin(SimTime::ZERO, layer(1), 6_000.0, Packing::Zstd);
        assert_ends(&run(&mut roomy), &[(1, 10.0), (0, 20.0)]);
        // A disk with a full buffer is shared equally: 50 B/s each.
        let mut full = disk(0);
        full.begin(SimTime::ZERO, layer(0), 100.0, Packing::Gzip);
        full.begin(SimTime::ZERO, layer(1), 200.0, Packing::Zstd);
        assert_ends(&run(&mut full), &[(0, 2.0), (1, 3.0)]);
    }

    #[test]
    fn writers_share_a_busy_disk_but_not_an_empty_buffer() {
        let mut disk = disk(10_000);
        disk.begin(SimTime::ZERO, layer(0), 3_000.0, Packing::Gzip);
        disk.begin(SimTime::ZERO, layer(1), 9_000.0, Packing::Gzip);
        // Together 600 B/s fill the buffer at 500 B/s: the first layer is written after 10 s, with 5,000 B in the
        // buffer. The other layer has 6,000 B left and fills the buffer at 200 B/s: it needs 20 s, and the buffer
        // would be full after 25 s.
        assert_ends(&run(&mut disk), &[(0, 10.0), (1, 30.0)]);
    }

    #[test]
    fn without_a_buffer_writers_share_the_disk_equally() {
        let mut disk = disk(0);
        disk.begin(SimTime::ZERO, layer(0), 100.0, Packing::Gzip);
        disk.begin(SimTime::ZERO, layer(1), 300.0, Packing::Gzip);
        // 50 B/s each until 2 s; then the rest, 200 B, at 100 B/s.
        assert_ends(&run(&mut disk), &[(0, 2.0), (1, 4.0)]);
    }

    #[test]
    fn a_cancelled_layer_leaves_its_disk_rate_to_others() {
        let mut disk = disk(0);
        disk.begin(
            SimTime::ZERO,
            PullLayer::new(PullId(7), 0),
            1_000.0,
            Packing::Gzip,
        );
        disk.begin(SimTime::ZERO, layer(1), 300.0, Packing::Gzip);
        disk.cancel(SimTime::from_secs(2), PullId(7));
        // 100 B in the first two seconds, 200 B in the next two.
        assert_ends(&run(&mut disk), &[(1, 4.0)]);
    }

    #[test]
    fn an_uncompressed_layer_is_only_limited_by_the_disk() {
        let mut disk = Disk::new(
            BytesPerSec::new(100e6),
            Bytes::new(10_000_000_000),
            UnpackRates::of(BytesPerSec::new(300e6), 2.0),
        );
        disk.begin(SimTime::ZERO, layer(0), 9_000e6, Packing::Plain);
        // The buffer has room for the whole layer.
        assert_ends(&run(&mut disk), &[(0, 0.0)]);
        // After a second the disk has written 100 MB, so the buffer has room for 1,100 MB. The other 8,900 MB are
        // written at 100 MB/s.
        disk.begin(SimTime::from_secs(1), layer(1), 10_000e6, Packing::Plain);
        assert_ends(&run(&mut disk), &[(1, 90.0)]);
    }

    #[test]
    fn an_uncompressed_layer_uses_the_bandwidth_that_decompression_leaves_on_a_full_disk() {
        let mut disk = Disk::new(
            BytesPerSec::new(1000.0),
            Bytes::new(0),
            UnpackRates::of(BytesPerSec::new(300.0), 2.0),
        );
        disk.begin(SimTime::ZERO, layer(0), 600.0, Packing::Gzip);
        disk.begin(SimTime::ZERO, layer(1), 2_400.0, Packing::Plain);
        // 300 B/s for 2 s, concurrently with 700 B/s for the other layer; then 1,000 B at 1,000 B/s.
        assert_ends(&run(&mut disk), &[(0, 2.0), (1, 3.0)]);
    }

    #[test]
    fn a_download_is_complete_when_it_is_written_to_the_disk() {
        let mut disk = disk(10_000);
        disk.download_begins(SimTime::ZERO, layer(0));
        disk.sync(SimTime::from_secs(10), layer(0), 1_000.0);
        // 1,000 B at 100 B/s.
        assert_ends(&run(&mut disk), &[(0, 20.0)]);
        // Of 1,000 B that arrive in 60 s, the kernel has already written the bytes of the first 30 s.
        disk.download_begins(SimTime::from_secs(20), layer(1));
        disk.sync(SimTime::from_secs(80), layer(1), 1_000.0);
        assert_ends(&run(&mut disk), &[(1, 85.0)]);
    }

    #[test]
    fn a_download_takes_precedence_over_dirty_pages_and_shares_the_disk_when_the_buffer_is_full() {
        let mut disk = disk(1_200);
        disk.begin(SimTime::ZERO, layer(0), 3_000.0, Packing::Gzip);
        disk.sync(SimTime::ZERO, layer(1), 1_000.0);
        // For 4 s the buffer fills at 300 B/s, by 1,200 B, while 400 B are synced. Then both have 50 B/s: the sync of
        // the other 600 B ends at 16 s, with 1,800 B unpacked. The last 1,200 B are written at 100 B/s.
        assert_ends(&run(&mut disk), &[(1, 16.0), (0, 28.0)]);
    }
}
