//! The pulls of the data, simulated with the settings that are printed for pasting.
//!
//! The settings are read back from their text, so a value that is missing there or rounded too far shows in the error.
//! Each image is pulled alone by an empty node. Left out: the links of the site and the registry, which are the
//! reader's own, and the spread between nodes.

use std::sync::Arc;

use serde::Deserialize;

use super::replay;
use crate::calibrate::rates::{LayerBytes, PullModel};
use crate::document::problem::Source;
use crate::document::{reader, tree};
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{NodeSpec, RegistrySpec};

/// The sections of the text that decide a pull.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PastedSettings {
    node: NodeSpec,
    registry: RegistrySpec,
}

/// The duration of a pull of each of these images, given by the layers that a node lacks. `None`: the text is empty or
/// cannot be read.
pub(in crate::calibrate) fn seconds(
    snippet: &str,
    images: &[Vec<LayerBytes>],
    (rtt, service): (SimDuration, SimDuration),
) -> Option<Vec<f64>> {
    let source = Arc::new(Source::new("snippet", snippet));
    let reading = reader::read(tree::parse(&source).ok()?);
    let PastedSettings { node, registry } = reading.value.filter(|_| reading.errors.is_empty())?;
    let endless = BytesPerSec::new(1e13);
    let pulled = |layers: &Vec<LayerBytes>| {
        let layers = layers
            .iter()
            .enumerate()
            .map(|(at, layer)| (format!("layer {at}"), *layer));
        let image = replay::image_of("image", layers.collect());
        let mut world = replay::world(1, vec![image], false, &PullModel::default());
        world.clusters[0].rtt = rtt.into();
        world.node = NodeSpec {
            nic: endless.into(),
            registry_pull_qps: 0,
            unpack_spread: 0.0,
            ..node.clone()
        };
        world.registry = RegistrySpec {
            per_connection: registry.per_connection,
            ..RegistrySpec::unlimited(endless, service.into())
        };
        replay::lone_pull(&world)
    };
    Some(images.iter().map(pulled).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_takes_what_the_text_says() {
        let text = "node:\n  pullConstant: 1 s\n  unpackPerLayer: 0 s\n  unpackRate: 100 MB/s\nregistry:\n  perConnection: \
                    unlimited\n";
        let images = [vec![(1.0, 200e6), (1.0, 100e6)]];
        let none = (SimDuration::ZERO, SimDuration::ZERO);
        // 1 s, and 300 MB at 100 MB/s.
        let found = seconds(text, &images, none).expect("it can be read")[0];
        assert!((found - 4.0).abs() < 0.01, "{found}");
        // Without the last lines, the model's own 88 MB/s and 25 ms for each layer count.
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
