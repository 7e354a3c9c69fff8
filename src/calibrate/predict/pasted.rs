//! Simulates the pulls of the data with the settings that are printed for pasting.
//!
//! The settings are parsed from their text, so the error includes the effect of a missing value or of rounding. An
//! empty node pulls each image alone. Left out: the links of the site and the registry, which the user sets, and the
//! spread between nodes.

use std::sync::Arc;

use serde::Deserialize;

use super::replay;
use crate::calibrate::rates::{LayerBytes, PullModel};
use crate::document::problem::Source;
use crate::document::{reader, tree};
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{NodeSpec, RegistrySpec};

/// The sections of the pasted text that affect a pull.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PastedSettings {
    node: NodeSpec,
    registry: RegistrySpec,
}

/// The latency of requests to a registry.
#[derive(Clone, Copy, Debug)]
pub(in crate::calibrate) struct RegistryLatency {
    /// The round trip to the registry.
    pub(in crate::calibrate) rtt: SimDuration,
    /// The registry's time for one request.
    pub(in crate::calibrate) service: SimDuration,
}

/// Returns the duration of each pull, given the layers that its node lacks. `None`: the text is empty or cannot be
/// read.
pub(in crate::calibrate) fn seconds(
    snippet: &str,
    images: &[Vec<LayerBytes>],
    latency: RegistryLatency,
) -> Option<Vec<f64>> {
    let source = Arc::new(Source::new("snippet", snippet));
    let reading = reader::read(tree::parse(&source).ok()?);
    let settings: PastedSettings = reading.value.filter(|_| reading.errors.is_empty())?;
    let mut seconds = Vec::with_capacity(images.len());
    for layers in images {
        seconds.push(settings.pull_seconds(layers, latency));
    }
    Some(seconds)
}

impl PastedSettings {
    /// Returns the duration of a pull of these layers by an empty node.
    fn pull_seconds(&self, layers: &[LayerBytes], latency: RegistryLatency) -> f64 {
        let endless = BytesPerSec::new(1e13);
        let mut specs = Vec::with_capacity(layers.len());
        for (at, layer) in layers.iter().enumerate() {
            specs.push(replay::layer_of(format!("layer {at}"), *layer));
        }
        let image = replay::image_of("image", specs);
        let mut world = replay::world(1, vec![image], false, &PullModel::default());
        world.clusters[0].rtt = latency.rtt.into();
        world.node = NodeSpec {
            nic: endless.into(),
            registry_pull_qps: 0,
            unpack_spread: 0.0,
            ..self.node.clone()
        };
        world.registry = RegistrySpec {
            per_connection: self.registry.per_connection,
            ..RegistrySpec::unlimited(endless, latency.service.into())
        };
        replay::lone_pull(&world)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_pull_has_the_duration_that_the_text_states() {
        let text = "node:\n  pullConstant: 1 s\n  unpackPerLayer: 0 s\n  unpackRate: 100 MB/s\nregistry:\n  perConnection: \
                    unlimited\n";
        let images = [vec![
            LayerBytes::new(1.0, 200e6),
            LayerBytes::new(1.0, 100e6),
        ]];
        let none = RegistryLatency {
            rtt: SimDuration::ZERO,
            service: SimDuration::ZERO,
        };
        // 1 s, plus 300 MB at 100 MB/s.
        let found = seconds(text, &images, none).expect("it can be read")[0];
        assert!((found - 4.0).abs() < 0.01, "{found}");
        // Without the last lines, the model's default of 88 MB/s and 25 ms per layer applies.
        let partial = seconds(
            "node:\n  pullConstant: 1 s\n  unpackRate: 100 MB/s\n",
            &images,
            none,
        )
        .expect("read")[0];
        assert!((partial - 4.05).abs() < 0.01, "{partial}");
        assert_eq!(
            seconds("node: {pullConstant: a while}", &images, none),
            None
        );
    }
}
