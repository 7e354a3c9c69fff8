//! The pace of a strategy, which is the number of targets that it updates concurrently: the setting that determines
//! it, and values for a sweep.
//!
//! All partitions, steps or stages get the same value. Otherwise a small first stage would determine whether offline
//! targets block all others. Fleet's limit for the whole bundle is removed, because it would hide the partitions'
//! limits. Left out: strategies without such a setting (Argo CD without a rolling sync).

use itertools::Itertools;
use serde_json::{Map, Value};

use super::draft::ARGO_CD;

/// A setting in a strategy, and the values to compare.
pub(super) struct PaceSweep {
    /// The setting's path below the strategy.
    pub(super) path: &'static str,
    /// The values, as a YAML list.
    pub(super) values: String,
    /// An additional line in the strategy that makes the setting the only limit.
    pub(super) also: Option<&'static str>,
}

/// The shares of targets to compare.
const SHARES: &str = "[5%, 10%, 25%, 50%, 100%]";

/// Returns the sweep for a product's strategy, given the fields of its file. `None`: no setting determines the pace.
pub(super) fn sweep(
    product: &str,
    fields: &Map<String, Value>,
    targets: usize,
) -> Option<PaceSweep> {
    match product {
        "rancherFleet" if has_limited_partition(fields) => {
            let has_limit = fields.contains_key("maxUnavailable");
            Some(PaceSweep {
                also: has_limit.then_some("maxUnavailable: 100%"),
                ..PaceSweep::of_shares("partitions.*.maxUnavailable")
            })
        }
        "rancherFleet" | "kubeFleetRolling" => Some(PaceSweep::of_shares("maxUnavailable")),
        "kubeFleetStaged" if has_items(fields.get("stages")) => {
            Some(PaceSweep::of_shares("stages.*.maxConcurrency"))
        }
        ARGO_CD => {
            let strategy = fields.get("strategy")?;
            if has_items(strategy.pointer("/rollingSync/steps")) {
                Some(PaceSweep::of_shares(
                    "strategy.rollingSync.steps.*.maxUpdate",
                ))
            } else {
                None
            }
        }
        "cloudFoundry" => Some(PaceSweep {
            path: "maxInFlight",
            values: numbers(targets),
            also: None,
        }),
        _ => None,
    }
}

impl PaceSweep {
    /// Creates a sweep over shares of the targets.
    fn of_shares(path: &'static str) -> Self {
        Self {
            path,
            values: SHARES.to_owned(),
            also: None,
        }
    }
}

/// Returns whether a field is a list with items.
fn has_items(field: Option<&Value>) -> bool {
    match field.and_then(Value::as_array) {
        Some(items) => !items.is_empty(),
        None => false,
    }
}

/// Returns whether a partition of a fleet.yaml has its own limit.
fn has_limited_partition(fields: &Map<String, Value>) -> bool {
    let Some(Value::Array(partitions)) = fields.get("partitions") else {
        return false;
    };
    let mut partitions = partitions.iter();
    partitions.any(|partition| partition.get("maxUnavailable").is_some())
}

/// Returns numbers of targets for a sweep if the setting does not accept percentages.
fn numbers(targets: usize) -> String {
    let mut numbers = Vec::new();
    for percent in [2, 5, 10, 25, 50] {
        numbers.push((targets * percent / 100).max(1));
    }
    numbers.dedup();
    format!("[{}]", numbers.iter().format(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_import_sweeps_the_setting_that_determines_the_pace() {
        let of = |product, fields: Value| {
            let sweep = sweep(product, fields.as_object().expect("a map"), 240)?;
            Some(
                format!(
                    "{}: {} {}",
                    sweep.path,
                    sweep.values,
                    sweep.also.unwrap_or_default()
                )
                .trim_end()
                .to_owned(),
            )
        };
        let shares = |path: &str| Some(format!("{path}: {SHARES}"));
        assert_eq!(of("rancherFleet", json!({})), shares("maxUnavailable"));
        assert_eq!(
            of("rancherFleet", json!({"partitions": [{"name": "a"}]})),
            shares("maxUnavailable")
        );
        let partitions =
            json!({"maxUnavailable": 3, "partitions": [{"name": "a", "maxUnavailable": 1}]});
        let lifted = Some(format!(
            "partitions.*.maxUnavailable: {SHARES} maxUnavailable: 100%"
        ));
        assert_eq!(of("rancherFleet", partitions), lifted);
        assert_eq!(of("argoCd", json!({})), None);
        let steps = json!({"strategy": {"rollingSync": {"steps": [{}]}}});
        assert_eq!(
            of("argoCd", steps),
            shares("strategy.rollingSync.steps.*.maxUpdate")
        );
        assert_eq!(
            of("kubeFleetStaged", json!({"stages": [{}]})),
            shares("stages.*.maxConcurrency")
        );
        assert_eq!(
            of("cloudFoundry", json!({})),
            Some("maxInFlight: [4, 12, 24, 60, 120]".to_owned())
        );
    }
}
