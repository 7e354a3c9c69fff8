//! The model's duration of a pull, and the contribution of each parameter to it.
//!
//! The pipeline is the one in `world/nodes`: layers are downloaded through a few slots, from bottom to top. Each layer
//! is unpacked once it is downloaded and the layer below is unpacked. The duration is the length of a critical path,
//! so it is linear in the parameters as long as the path stays the same: a constant, the number of layers times the
//! time per layer, and bytes divided by rates.
//!
//! Left out here, but simulated: links that nodes share, and the order in which requests are answered.

/// Number of layers that are downloaded concurrently: containerd's `max_concurrent_downloads`.
pub(super) const SLOTS: u32 = 3;

/// Number of parameters.
pub(super) const PARAMETERS: usize = 5;

/// The indices of the parameters.
pub(super) const CONSTANT: usize = 0;
pub(super) const PER_LAYER: usize = 1;
pub(super) const UNPACK: usize = 2;
pub(super) const DOWNLOAD: usize = 3;
/// Additional seconds for each byte beyond the knee.
pub(super) const BEYOND: usize = 4;

/// The parameters: the constant in seconds, seconds per layer, and seconds per byte for unpacking, downloading, and
/// unpacking beyond the knee.
pub(super) type Parameters = [f64; PARAMETERS];

/// A layer that a node lacked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calibrate) struct LayerBytes {
    /// Bytes to download.
    pub(in crate::calibrate) compressed: f64,
    /// Bytes on disk.
    pub(in crate::calibrate) uncompressed: f64,
}

impl LayerBytes {
    pub(in crate::calibrate) const fn new(compressed: f64, uncompressed: f64) -> Self {
        Self {
            compressed,
            uncompressed,
        }
    }
}

/// The known times of a pull's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RequestTimes {
    /// Time for the pull as a whole: its token, manifests and config.
    pub(super) of_pull: f64,
    /// Time for each layer.
    pub(super) of_layer: f64,
}

/// A critical path: its length in seconds, and how often it contains each parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CriticalPath {
    pub(super) length: f64,
    pub(super) counts: Parameters,
}

/// Returns the critical path of a pull of these layers. `knee`: the uncompressed bytes that fit into memory.
pub(super) fn critical_path(
    at: &Parameters,
    layers: &[LayerBytes],
    requests: RequestTimes,
    knee: Option<f64>,
) -> CriticalPath {
    let mut slots = [CriticalPath::default(); SLOTS as usize];
    let mut unpacked = CriticalPath::default();
    let mut written = 0.0;
    for &LayerBytes {
        compressed,
        uncompressed,
    } in layers
    {
        let slot = (0..slots.len())
            .min_by(|a, b| slots[*a].length.total_cmp(&slots[*b].length))
            .expect("there are slots");
        let download = &mut slots[slot];
        if compressed > 0.0 {
            download.length += requests.of_layer + at[DOWNLOAD] * compressed;
            download.counts[DOWNLOAD] += compressed;
        }
        if download.length > unpacked.length {
            unpacked = *download;
        }
        written += uncompressed;
        let beyond = knee.map_or(0.0, |knee| (written - knee).clamp(0.0, uncompressed));
        unpacked.length += at[PER_LAYER] + at[UNPACK] * uncompressed + at[BEYOND] * beyond;
        unpacked.counts[PER_LAYER] += 1.0;
        unpacked.counts[UNPACK] += uncompressed;
        unpacked.counts[BEYOND] += beyond;
    }
    unpacked.counts[CONSTANT] = 1.0;
    unpacked.length += at[CONSTANT] + requests.of_pull;
    unpacked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_duration_equals_the_critical_path() {
        // Constant 1 s, 0.1 s per layer, 2 s/MB for unpacking, 1 s/MB for downloading. Computed by hand:
        let at = [1.0, 0.1, 2e-6, 1e-6, 0.0];
        let none = RequestTimes::default();
        // One layer of 1 MB: 1 + 1 + 0.1 + 2.
        let one = LayerBytes::new(1e6, 1e6);
        let CriticalPath { length, counts } = critical_path(&at, &[one], none, None);
        assert!((length - 4.1).abs() < 1e-9, "{length}");
        assert_eq!(
            counts.map(|count| count as u64),
            [1, 1, 1000000, 1000000, 0]
        );
        // Four layers of 1 MB through three slots: unpacking is the bottleneck, 1 + 1 + 4 · 2.1.
        let CriticalPath { length, counts } = critical_path(&at, &[one; 4], none, None);
        assert!((length - 10.4).abs() < 1e-9, "{length}");
        assert_eq!(
            counts.map(|count| count as u64),
            [1, 4, 4000000, 1000000, 0]
        );
        // Four layers of 10 MB that need no unpacking: the fourth waits for a slot, 1 + 20 + 0.1.
        let empty = LayerBytes::new(10e6, 0.0);
        let CriticalPath { length, counts } = critical_path(&at, &[empty; 4], none, None);
        assert!((length - 21.1).abs() < 1e-9, "{length}");
        assert_eq!(counts.map(|count| count as u64), [1, 1, 0, 20000000, 0]);
        // The length is the sum of the parameters times their counts.
        let sum: f64 = at
            .iter()
            .zip(counts)
            .map(|(value, count)| value * count)
            .sum();
        assert!((sum - length).abs() < 1e-9);
        let requests = RequestTimes {
            of_pull: 0.5,
            of_layer: 0.25,
        };
        let with_requests = critical_path(&at, &[one], requests, None);
        assert!((with_requests.length - 4.85).abs() < 1e-9);
    }

    #[test]
    fn bytes_beyond_the_page_cache_take_longer() {
        let at = [0.0, 0.0, 1e-6, 0.0, 3e-6];
        // 2 MB fit into memory; the other 4 MB take 1 + 3 s each: 6 · 1 + 4 · 3.
        let layer = LayerBytes::new(0.0, 3e6);
        let CriticalPath { length, counts } =
            critical_path(&at, &[layer; 2], RequestTimes::default(), Some(2e6));
        assert!((length - 18.0).abs() < 1e-9, "{length}");
        assert!((counts[BEYOND] - 4e6).abs() < 1e-6);
    }
}
