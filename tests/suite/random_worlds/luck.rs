//! Draws of random experiments.

use fleetsim::engine::{Stream, dist};
use fleetsim::units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration};
use fleetsim::world::{
    BlobHostSpec, ConnectionLimit, CountOrPercent, DurationModel, Excess, HostSpec, LayerSpec,
    OverLimit, OverloadSpec, RegistrySpec, RequestLimit, TcpSpec, Uncompressed, WindowSpec,
};

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
            _ => DurationModel::Uniform {
                min: SimDuration::ZERO,
                max: median,
            },
        }
    }

    pub(crate) fn share(&mut self, p: f64, max: f64) -> Share {
        if self.chance(p) {
            Share::new(dist::unit(&mut self.0) * max)
        } else {
            Share::NONE
        }
    }

    pub(crate) fn limit(&mut self) -> CountOrPercent {
        if self.chance(0.5) {
            CountOrPercent::Count(self.number(0, 3))
        } else {
            CountOrPercent::Percent(self.number(0, 100))
        }
    }

    pub(crate) fn rate(&mut self, lo: f64, hi: f64) -> BytesPerSec {
        BytesPerSec::new(lo * libm::pow(hi / lo, dist::unit(&mut self.0)))
    }

    pub(crate) fn layers(&mut self, names: &[&str]) -> Vec<LayerSpec> {
        let mut layers = Vec::new();
        for name in names {
            if self.chance(0.8) {
                // The size of a layer depends only on its digest, wherever the digest appears.
                let bytes = name.bytes().map(u64::from).sum::<u64>() * 97_003 % 30_000_000 + 1;
                layers.push(LayerSpec {
                    digest: (*name).to_owned(),
                    compressed: Bytes::new(bytes).into(),
                    uncompressed: Uncompressed::Ratio(2.0),
                    is_zstd: false,
                });
            }
        }
        layers
    }

    pub(crate) fn request_limit(&mut self) -> Option<RequestLimit> {
        self.chance(0.5).then(|| {
            RequestLimit::new(
                PerSecond::new(f64::from(self.number(1, 50))),
                self.number(1, 50),
            )
        })
    }

    pub(crate) fn host(&mut self, max_s: f64) -> HostSpec {
        let excess = if self.chance(0.5) {
            Excess::Refuse
        } else {
            Excess::Queue
        };
        let mut request_limit = self.request_limit();
        if self.chance(0.5)
            && let Some(limit) = &mut request_limit
        {
            limit.answer = OverLimit::Unavailable;
        }
        HostSpec {
            request_limit,
            connections: self.chance(0.3).then(|| ConnectionLimit {
                max: self.number(1, 20),
                excess,
            }),
            workers: self.chance(0.3).then(|| self.number(1, 10)),
            service_time: self.duration(max_s),
        }
    }

    /// Draws up to two windows of at most a quarter of an hour, one after the other.
    pub(crate) fn windows(&mut self) -> Vec<WindowSpec> {
        let mut from = SimDuration::ZERO;
        let mut windows = Vec::new();
        for _ in 0..self.number(0, 2) {
            from += SimDuration::from_secs(u64::from(self.number(0, 100)));
            let span = SimDuration::from_secs(u64::from(self.number(1, 900)));
            let whole = WindowSpec {
                from,
                span,
                down: true,
                egress: Share::ALL,
                requests: Share::ALL,
            };
            windows.push(if self.chance(0.5) {
                whole
            } else {
                WindowSpec {
                    down: false,
                    egress: self.share(0.7, 1.0),
                    requests: Share::new(0.1),
                    ..whole
                }
            });
            from += span;
        }
        windows
    }

    pub(crate) fn registry(&mut self) -> RegistrySpec {
        let egress = self.rate(1e6, 1e10);
        let overload = self.chance(0.3).then(|| OverloadSpec {
            connections: self.number(1, 10),
            floor: Share::new(0.2),
        });
        RegistrySpec {
            per_connection: self.chance(0.5).then(|| self.rate(1e6, 1e8)),
            tcp: {
                let (window, is_real) = (
                    self.chance(0.3).then_some(Bytes::new(4_194_304)),
                    self.chance(0.3),
                );
                let retransmission = is_real.then(|| SimDuration::from_millis(200));
                TcpSpec {
                    window,
                    slow_start: is_real,
                    weight_spread: is_real.then_some(0.7),
                    retransmission,
                    ..TcpSpec::OFF
                }
            },
            api: self.host(0.1),
            token: self.host(0.1),
            blobs: BlobHostSpec {
                host: self.host(0.01),
                redirect: self.chance(0.7),
                cold_first_byte: None,
                overload,
            },
            manifest_limit: self.request_limit(),
            blob_limit: self.request_limit(),
            retry_after: self.chance(0.5).then(|| SimDuration::from_secs(3)),
            windows: self.windows(),
            ..RegistrySpec::unlimited(egress, DurationModel::Constant(SimDuration::ZERO))
        }
    }
}
