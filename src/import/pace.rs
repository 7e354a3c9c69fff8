//! The number of targets that a strategy updates at a time: the setting, and values for a sweep.
//!
//! All partitions, steps or stages get the same value, because a small first one decides whether targets that are
//! offline block all others. A limit of Fleet for the whole bundle is lifted, as it would hide those of partitions.
//! Left out: strategies without such a setting (Argo CD without a rolling sync).

use itertools::Itertools;
use serde_json::{Map, Value};

use super::draft::ARGO_CD;

/// A setting of a strategy, and the values to compare.
pub(super) struct PaceSweep {
    /// The path below the strategy.
    pub(super) path: &'static str,
    pub(super) values: String,
    /// A line of the strategy, so that the setting alone decides.
    pub(super) also: Option<&'static str>,
}

const SHARES: &str = "[5%, 10%, 25%, 50%, 100%]";

/// The sweep of a product's strategy with the fields that its file has; `None`: nothing sets the pace.
pub(super) fn sweep(
    product: &str,
    fields: &Map<String, Value>,
    targets: usize,
) -> Option<PaceSweep> {
    let of_shares = |path| {
        Some(PaceSweep {
            path,
            values: SHARES.to_owned(),
            also: None,
        })
    };
    let is_list = |value: &Value| value.as_array().is_some_and(|items| !items.is_empty());
    let of_partition = |partition: &Value| partition.get("maxUnavailable").is_some();
    match product {
        "rancherFleet"
            if fields
                .get("partitions")
                .and_then(Value::as_array)
                .is_some_and(|all| all.iter().any(of_partition)) =>
        {
            let also = fields
                .contains_key("maxUnavailable")
                .then_some("maxUnavailable: 100%");
            of_shares("partitions.*.maxUnavailable").map(|sweep| PaceSweep { also, ..sweep })
        }
        "rancherFleet" | "kubeFleetRolling" => of_shares("maxUnavailable"),
        "kubeFleetStaged" if fields.get("stages").is_some_and(is_list) => {
            of_shares("stages.*.maxConcurrency")
        }
        ARGO_CD => {
            let steps = fields
                .get("strategy")
                .and_then(|strategy| strategy.pointer("/rollingSync/steps"));
            steps
                .filter(|steps| is_list(steps))
                .and_then(|_| of_shares("strategy.rollingSync.steps.*.maxUpdate"))
        }
        "cloudFoundry" => {
            let values = [2, 5, 10, 25, 50]
                .map(|percent| (targets * percent / 100).max(1))
                .into_iter()
                .dedup();
            Some(PaceSweep {
                path: "maxInFlight",
                values: format!("[{}]", values.format(", ")),
                also: None,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_setting_that_is_swept_is_the_one_that_sets_the_pace() {
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
