//! Draws of random experiments.

use fleetsim::engine::{Stream, dist};
use fleetsim::units::{Bytes, BytesPerSec, Share, SimDuration};
use fleetsim::world::{CountOrPercent, DurationModel, LayerSpec, Uncompressed};

pub(crate) struct Luck(pub(crate) Stream);

impl Luck {
    /// A whole number from `lo` to `hi`, both included.
    pub(crate) fn number(&mut self, lo: u32, hi: u32) -> u32 {
        lo + (dist::unit(&mut self.0) * f64::from(hi - lo + 1)) as u32
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        dist::bernoulli(&mut self.0, p)
    }

    pub(crate) fn duration(&mut self, max_s: f64) -> DurationModel {
        let median = SimDuration::from_secs_f64(dist::unit(&mut self.0) * max_s + 0.001);
        match self.number(0, 3) {
            0 => DurationModel::Constant(median),
            1 => DurationModel::LogNormal { median, sigma: 0.7 },
            2 => DurationModel::Exponential { mean: median },
            _ => DurationModel::Uniform { min: SimDuration::ZERO, max: median },
        }
    }

    pub(crate) fn share(&mut self, p: f64, max: f64) -> Share {
        if self.chance(p) { Share::new(dist::unit(&mut self.0) * max) } else { Share::NONE }
    }

    pub(crate) fn limit(&mut self) -> CountOrPercent {
        if self.chance(0.5) {
            CountOrPercent::Count(self.number(0, 3))
        } else {
            CountOrPercent::Percent(self.number(0, 100))
        }
    }

    pub(crate) fn rate(&mut self, lo: f64, hi: f64) -> BytesPerSec {
        BytesPerSec::new(lo * (hi / lo).powf(dist::unit(&mut self.0)))
    }

    pub(crate) fn layers(&mut self, names: &[&str]) -> Vec<LayerSpec> {
        let mut layers = Vec::new();
        for name in names {
            if self.chance(0.8) {
                // The size belongs to the digest, wherever it appears.
                let bytes = name.bytes().map(u64::from).sum::<u64>() * 97_003 % 30_000_000 + 1;
                layers.push(LayerSpec {
                    digest: (*name).to_owned(),
                    compressed: Bytes::new(bytes).into(),
                    uncompressed: Uncompressed::Ratio(2.0),
                });
            }
        }
        layers
    }
}
