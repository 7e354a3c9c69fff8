//! Forecasts with releases that are still to come, and with people who react.

use fleetsim::forecast::Forecaster;
use fleetsim::results::ForecastRecord;
use fleetsim::scenario::{Overrides, VariedExperiment};

use super::exporter::Exported;
use super::{cut, experiment, forecast, inputs, truth};
use crate::common::folder_with;

/// The number of draws.
const DRAWS: u32 = 20;

/// Forecasts the rollout of the usual experiment at 30 %, with further sections of the experiment. `Err`: the message
/// of the refusal.
fn forecast_with(sections: &str) -> Result<ForecastRecord, String> {
    let product = Exported::Fleet;
    let (folder, varied) = experiment(product);
    let run = truth(&varied, 0);
    let now = cut(&run, 0.3);
    let text = std::fs::read_to_string(folder.path().join("experiment.yaml")).expect("readable");
    let other = folder_with(&[("experiment.yaml", &format!("{text}{sections}\n"))]);
    let varied = VariedExperiment::load(other.path(), &Overrides::default())
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let inputs = inputs(other.path(), product, &run, now, DRAWS);
    match Forecaster::new(&varied, 0, &inputs) {
        Ok(forecaster) => Ok(forecast(&forecaster)),
        Err(error) => Err(error.render(false)),
    }
}

#[test]
fn a_release_that_is_still_to_come_moves_the_end() {
    let plain = forecast_with("").expect("a forecast");
    assert!(plain.superseded.abs() < f64::EPSILON);
    let back = forecast_with("releases: [{at: 0 s}, {at: 20h, rollback: true}]").expect("one");
    assert!((back.superseded - 1.0).abs() < f64::EPSILON);
    let end = back.done.median.expect("all go back").s;
    assert!(end > 20.0 * 3600.0, "{end}");
}

#[test]
fn a_release_before_the_export_is_refused() {
    let refusal = forecast_with("releases: [{at: 0 s}, {at: 1 s, rollback: true}]");
    let message = refusal.expect_err("refused");
    assert!(
        message.contains("a forecast follows one release"),
        "{message}"
    );
    assert!(message.contains("releases"), "{message}");
}

#[test]
fn people_who_notice_now_act_after_their_time() {
    // A container works for an hour, crashes, and works again, so hardly two targets fail at a time.
    let broken = "faults: {defect: {share: 100%, kind: crashes, detectedAfter: 1h}}\n";
    let rule = "operator: [{when: failed > 0, within: 2h, then: rollback}]";
    let record = forecast_with(&format!("{broken}{rule}")).expect("a forecast");
    assert!(record.superseded > 0.9, "{}", record.superseded);
    let end = record.done.median.expect("all go back").s;
    assert!(end > 2.0 * 3600.0, "{end}");
}
