//! The settings that `fleetsim calibrate` prints for pasting are the fitted ones: they are simulated and compared with
//! the data.

use serde_json::Value;

use super::super::common::{fleetsim, folder_with, text};
use super::stream::{EventStream, Kubelet};
use super::{NAMES, calibrated, entry, number};

fn warnings(record: &Value) -> String {
    record["warnings"].to_string()
}

#[test]
fn images_with_equal_layer_counts_leave_no_default_in_the_pasted_settings() {
    let mut stream = EventStream::new(3);
    for (nth, bytes) in [100_000_000, 200_000_000, 400_000_000, 800_000_000]
        .into_iter()
        .enumerate()
    {
        for pod in 0..6 {
            // The images have 120 layers of 20 ms each. If the model's default of 25 ms per layer were not replaced,
            // it would add 3 s to each pull.
            stream.pod(
                "node-a",
                f64::from(pod) * 60.0 + nth as f64 * 600.0,
                120,
                bytes,
                Kubelet::Full,
            );
        }
    }
    let home = folder_with(&[("events.jsonl", &stream.text())]);
    let record = calibrated(
        home.path(),
        &["--events", "events.jsonl", "--image-name", NAMES],
    );
    let rates = &record["rates"];
    assert!(
        entry(&rates["parameters"], "name", "part of each layer")["value"].is_null(),
        "{rates}"
    );
    // The setting is pasted nevertheless, and so is the rate of a connection, which is not part of the fit.
    for setting in [
        "node.pullConstant",
        "node.unpackPerLayer",
        "node.unpackRate",
        "registry.perConnection",
    ] {
        entry(&record["values"], "setting", setting);
    }
    assert!(
        number(&rates["simulated_error"]) < 0.05,
        "{}",
        rates["simulated_error"]
    );
    let mut command = fleetsim(home.path());
    command.args([
        "calibrate",
        "--no-charts",
        "--out",
        "again",
        "--events",
        "events.jsonl",
        "--image-name",
        NAMES,
    ]);
    let told = text(&command.assert().success().get_output().stdout);
    assert!(
        told.contains("Pulls simulated with the settings below differ from the data by "),
        "{told}"
    );
}

#[test]
fn settings_fitted_to_sizes_alone_are_as_accurate_as_the_fit() {
    let mut stream = EventStream::new(4);
    for (nth, bytes) in [4_000_000_000_u64, 8_000_000_000, 16_000_000_000]
        .into_iter()
        .enumerate()
    {
        for pod in 0..4 {
            stream.pod(
                "node-a",
                f64::from(pod) * 900.0 + nth as f64 * 9_000.0,
                9,
                bytes,
                Kubelet::Full,
            );
        }
    }
    let home = folder_with(&[("events.jsonl", &stream.text())]);
    let record = calibrated(home.path(), &["--events", "events.jsonl"]);
    // Simulated pulls with the pasted settings are as accurate as the fit.
    let [fitted, simulated] =
        ["median_error", "simulated_error"].map(|error| number(&record["rates"][error]));
    assert!((fitted - simulated).abs() < 0.01, "{fitted} {simulated}");
}

#[test]
fn a_start_after_an_init_container_with_lost_events_is_not_start_overhead() {
    let mut stream = EventStream::new(5);
    let main = "spec.containers{shop}";
    for pod in 0..30 {
        let (name, at) = (format!("web-{pod}"), f64::from(pod) * 100.0);
        stream.event(
            &name,
            "",
            "node-a",
            at,
            "Scheduled",
            &format!("Successfully assigned shop/{name} to node-a"),
        );
        if pod < 8 {
            let init = "spec.initContainers{migrate}";
            stream.event(
                &name,
                init,
                "node-a",
                at + 0.45,
                "Pulling",
                "Pulling image \"migrate:1\"",
            );
            let message = "Successfully pulled image \"migrate:1\" in 1s (1s including waiting). Image size: 900 bytes.";
            stream.event(&name, init, "node-a", at + 1.45, "Pulled", message);
            stream.event(
                &name,
                init,
                "node-a",
                at + 1.55,
                "Started",
                "Started container migrate",
            );
        }
        // The init container has run for 18 s at this time.
        stream.event(
            &name,
            main,
            "node-a",
            at + 20.0,
            "Pulling",
            "Pulling image \"web:1\"",
        );
        let message = "Successfully pulled image \"web:1\" in 2s (2s including waiting). Image size: 9000000 bytes.";
        stream.event(&name, main, "node-a", at + 22.0, "Pulled", message);
        stream.event(
            &name,
            main,
            "node-a",
            at + 22.1,
            "Started",
            "Started container shop",
        );
    }
    let home = folder_with(&[("events.jsonl", &stream.text())]);
    let record = calibrated(home.path(), &["--events", "events.jsonl"]);
    let overhead = entry(&record["samples"], "name", "start_overhead");
    assert!(
        (number(&overhead["median_s"]) - 0.55).abs() < 0.01,
        "{overhead}"
    );
    assert_eq!(number(&overhead["count"]) as u64, 8);
    assert!(
        record["left_out"]
            .to_string()
            .contains("init container whose events are missing")
    );
}

#[test]
fn streamed_images_have_no_rate_to_paste() {
    let mut stream = EventStream::new(6);
    for (nth, gigabytes) in [1_u64, 2, 4, 8, 16].into_iter().enumerate() {
        for pod in 0..4 {
            let (name, at) = (
                format!("lazy-{nth}-{pod}"),
                nth as f64 * 400.0 + f64::from(pod) * 50.0,
            );
            let main = "spec.containers{shop}";
            let image = format!("bench:9-layers-{}-bytes", gigabytes * 1_000_000_000);
            let took = 0.4 + 0.000_01 * gigabytes as f64;
            stream.event(
                &name,
                "",
                "node-a",
                at,
                "Scheduled",
                &format!("Successfully assigned shop/{name} to node-a"),
            );
            stream.event(
                &name,
                main,
                "node-a",
                at + 0.4,
                "Pulling",
                &format!("Pulling image \"{image}\""),
            );
            let message = format!(
                "Successfully pulled image \"{image}\" in {took:.5}s ({took:.5}s including waiting). Image size: 900 bytes."
            );
            stream.event(&name, main, "node-a", at + 0.4 + took, "Pulled", &message);
            stream.event(
                &name,
                main,
                "node-a",
                at + 1.0 + took,
                "Started",
                "Started container shop",
            );
        }
    }
    let home = folder_with(&[("events.jsonl", &stream.text())]);
    let record = calibrated(
        home.path(),
        &["--events", "events.jsonl", "--image-name", NAMES],
    );
    assert!(
        warnings(&record).contains("the images are streamed"),
        "{}",
        warnings(&record)
    );
    assert!(
        !record["snippet"].to_string().contains("unpackRate"),
        "{}",
        record["snippet"]
    );
}

#[test]
fn without_layers_and_sizes_the_missing_rate_has_a_reason() {
    let mut stream = EventStream::new(7);
    for pod in 0..5 {
        stream.pod(
            "node-a",
            f64::from(pod) * 60.0,
            9,
            100_000_000,
            Kubelet::Duration,
        );
    }
    let home = folder_with(&[("events.jsonl", &stream.text())]);
    let record = calibrated(home.path(), &["--events", "events.jsonl"]);
    assert!(record["rates"].is_null());
    assert!(
        warnings(&record).contains("rates: unknown, because")
            && warnings(&record).contains("--image"),
        "{record}"
    );
}
