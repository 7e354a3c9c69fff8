//! Simulates the pulls of the data with the settings that are printed for pasting.
//!
//! The settings are pasted into an ordinary experiment, whose other settings have their defaults, so the error includes
//! the effect of a missing value, of rounding, and of everything that an experiment adds by itself. An empty node pulls
//! each image alone. Left out: other pulls at the same time, and the spread between nodes.

use super::replay;
use crate::calibrate::rates::LayerBytes;
use crate::document::files::InputFile;
use crate::scenario::{Overrides, load_again};
use crate::world::WorldSpec;

/// The experiment into which the settings are pasted.
const EXPERIMENT: &str = "\
name: pasted
release:
  kind: initial
  images: [{name: pulled, manifest: {layers: [{size: 1 MB}]}}]
  workloads: [{kind: Deployment, image: pulled}]
strategies: {all: {allAtOnce: {}}}
";

/// The clusters, if no setting to paste is one of clusters.
const FLEET: &str = "fleet: [{name: pasted}]\n";

/// Returns the duration of each pull, given the layers that its node lacks. `samples`: files to which the text refers.
/// `None`: the experiment with the text is not valid.
pub(in crate::calibrate) fn seconds(
    snippet: &str,
    samples: &[(String, Vec<u8>)],
    images: &[Vec<LayerBytes>],
) -> Option<Vec<f64>> {
    let mut text = format!("{EXPERIMENT}{snippet}");
    if !snippet.lines().any(|line| line == "fleet:") {
        text.push_str(FLEET);
    }
    let mut inputs = vec![InputFile::new("experiment.yaml", text.into_bytes())];
    for (path, bytes) in samples {
        inputs.push(InputFile::new(path, bytes.clone()));
    }
    let experiment = load_again("pasted", &inputs, &Overrides::default()).ok()?;
    let world = &experiment.variants.first()?.scenario.world;
    let mut seconds = Vec::with_capacity(images.len());
    for layers in images {
        seconds.push(pull_seconds((**world).clone(), layers));
    }
    Some(seconds)
}

/// Returns the duration of a pull of these layers by an empty node of the world.
fn pull_seconds(mut world: WorldSpec, layers: &[LayerBytes]) -> f64 {
    let mut specs = Vec::with_capacity(layers.len());
    for (at, layer) in layers.iter().enumerate() {
        specs.push(replay::layer_of(format!("layer {at}"), *layer));
    }
    world.images = vec![replay::image_of("pulled", specs)];
    world.node.unpack_spread = 0.0;
    replay::lone_pull(&world)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_pull_has_the_duration_that_the_text_states() {
        let node = "node:\n  pullConstant: 1 s\n  unpackPerLayer: 0 s\n  unpackRate: 100 MB/s\n";
        let rest = "  disk: {class: none}\n\
                    registry:\n  perConnection: unlimited\n  serviceTime: 0 s\n\
                    fleet:\n  - {name: it, rtt: 0 s}\n";
        let images = [vec![
            LayerBytes::new(1.0, 200e6),
            LayerBytes::new(1.0, 100e6),
        ]];
        // 1 s, plus 300 MB at 100 MB/s.
        let found = seconds(&format!("{node}{rest}"), &[], &images).expect("an experiment")[0];
        assert!((found - 4.0).abs() < 0.01, "{found}");
        // The defaults add requests: 13 round trips of 30 ms, two more for each layer, and the registry's answers.
        let ordinary = seconds(node, &[], &images).expect("an experiment")[0];
        assert!(ordinary > 4.45, "{ordinary}");
        assert_eq!(seconds("node: {pullConstant: a while}", &[], &images), None);
    }
}
