//! Tests that replayed pulls take as long as the fitted formula predicts, and that kubelets queue pulls.

use super::*;
use crate::calibrate::images::KnownImages;
use crate::calibrate::rates::{AssumedWorld, LayerBytes, PullModel};
use crate::calibrate::time::Stamp;

const SECOND: i64 = 1_000_000_000;

/// Returns the first container of a pod that was scheduled at `scheduled` seconds.
fn pod(name: &str, node: &str, image: &str, scheduled: i64) -> ContainerStart {
    let stamp = |seconds: i64| {
        Some(Stamp {
            at: seconds * SECOND,
            is_exact: true,
        })
    };
    ContainerStart {
        pod: name.to_owned(),
        pod_id: name.to_owned(),
        container: "spec.containers{c}".to_owned(),
        node: node.to_owned(),
        image: image.to_owned(),
        scheduled: stamp(scheduled),
        pulling: stamp(scheduled),
        pulled: stamp(scheduled + 5),
        started: stamp(scheduled + 5),
        is_first: true,
        was_present: false,
        failures: 0,
        pull_s: Some(5.0),
        with_waiting_s: Some(5.0),
        prints_wait: true,
        size: Some(30_000_000),
        unused: None,
    }
}

fn images() -> KnownImages {
    let mut images = KnownImages::default();
    images
        .add_pattern("{layers}x{compressed}x{uncompressed}")
        .expect("a pattern");
    images
}

fn model() -> PullModel {
    PullModel {
        constant_s: 0.3,
        per_layer_s: 0.05,
        unpack_rate: Some(100e6),
        download_rate: Some(20e6),
        disk: None,
        spread: None,
        assumed: AssumedWorld::default(),
    }
}

fn predicted(starts: &[ContainerStart]) -> Vec<f64> {
    let settings = ReplaySettings {
        images: &images(),
        compression_ratio: 2.6,
        model: &model(),
        before: &[0.0],
        after: &[0.0],
    };
    let record = of_events(starts, settings, 1);
    let record = record.expect("few enough to simulate").expect("pods");
    record.rows.iter().map(|row| row.predicted_s).collect()
}

#[test]
fn a_simulated_pull_has_the_duration_of_the_fitted_formula() {
    for (count, compressed, uncompressed) in [
        (1, 60e6, 150e6),
        (4, 60e6, 150e6),
        (9, 90e6, 900e6),
        (7, 700e6, 70e6),
    ] {
        let image = format!("{count}x{compressed}x{uncompressed}");
        let found = predicted(&[pod("a", "n", &image, 0)])[0];
        let each = f64::from(count);
        let layer = LayerBytes::new(compressed / each, uncompressed / each);
        let layers = vec![layer; count as usize];
        let expected = model().seconds(&layers);
        // Bytes are rounded to integers and times to nanoseconds.
        assert!(
            (found - expected).abs() < 1e-3,
            "{image}: {found} in the world, {expected} by the formula"
        );
    }
}

#[test]
fn pulls_of_one_node_wait_for_each_other_and_shared_images_are_pulled_once() {
    // Computed by hand: one layer of 20 MB takes 0.3 + 1 + 0.05 + 0.4 = 1.75 s.
    let image = "1x20000000x40000000";
    let alone = predicted(&[pod("a", "n", image, 0), pod("b", "m", image, 0)]);
    assert!(alone.iter().all(|at| (at - 1.75).abs() < 1e-3), "{alone:?}");
    // The second pod is scheduled after 1 s. In the recorded rollout its pull followed the first one, so the kubelet
    // pulls serially.
    let mut second = pod("b", "n", "1x20000000x40000001", 1);
    second.pulled = Some(Stamp {
        at: 10 * SECOND,
        is_exact: true,
    });
    let queued = predicted(&[pod("a", "n", image, 0), second]);
    assert!(
        (queued[0] - 1.75).abs() < 1e-3 && (queued[1] - 3.5).abs() < 1e-3,
        "{queued:?}"
    );
    let present = predicted(&[pod("a", "n", image, 0), pod("b", "n", image, 60)]);
    assert!(
        (present[1] - 60.0).abs() < 1e-3,
        "the image is there: {present:?}"
    );
}

#[test]
fn an_image_present_before_the_events_is_not_pulled() {
    let mut present = pod("a", "n", "unknown:1", 3);
    (present.was_present, present.pull_s, present.size) = (true, None, None);
    let found = predicted(&[pod("b", "n", "1x20000000x40000000", 0), present]);
    assert!((found[1] - 3.0).abs() < 1e-6, "{found:?}");
}
