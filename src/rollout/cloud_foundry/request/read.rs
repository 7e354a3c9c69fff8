//! Reads `options` of a request with the product's validation: all errors, in its order.

use super::super::json::Json;
use super::error::RequestError;
use super::number::NumberField;
use super::{DeploymentOptions, DeploymentRequest, DeploymentStrategy};
use crate::units::serial::Ordered;

pub(super) fn unknown_keys(object: &Json, known: &[&str]) -> Vec<String> {
    let Json::Object(Ordered(fields)) = object else { return Vec::new() };
    fields.iter().map(|(name, _)| name).filter(|name| !known.contains(&name.as_str())).cloned().collect()
}

pub(super) fn unreadable(options: &Json) -> Option<RequestError> {
    match options {
        Json::Null | Json::Object(_) => None,
        Json::List(_) => Some(RequestError::OptionsUnreadable("TypeError")),
        _ => Some(RequestError::OptionsUnreadable("NoMethodError")),
    }
}

pub(super) fn read_options(options: &Json, found: &mut DeploymentOptions, errors: &mut Vec<RequestError>) {
    let unknown = unknown_keys(options, &DeploymentRequest::OPTIONS);
    if !unknown.is_empty() {
        errors.push(RequestError::UnknownOptions(unknown));
    }
    for field in NumberField::ALL {
        let number = match field.read(options.at(field.key())) {
            Ok(number) => number,
            Err(problem) => {
                errors.push(RequestError::Number { field, problem });
                continue;
            }
        };
        let unsigned = || number.map(|number| u32::try_from(number).expect("it was checked to be in range"));
        match field {
            NumberField::WebInstances => found.web_instances = unsigned(),
            NumberField::Memory => found.memory_in_mb = unsigned(),
            NumberField::Disk => found.disk_in_mb = unsigned(),
            NumberField::LogRate => {
                found.log_rate_limit_in_bytes_per_second =
                    number.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
            }
        }
    }
    match options.at("max_in_flight") {
        written if !written.is_truthy() => {}
        Json::Number(number) if number.as_u64().is_some_and(|number| number >= 1) => {
            found.max_in_flight = number.as_u64().unwrap_or(u64::MAX);
        }
        _ => errors.push(RequestError::MaxInFlight),
    }
    let canary = options.at("canary");
    if canary.is_truthy() {
        match canary {
            // Only the given strategy is checked, not what another one such as `recreate` would need.
            Json::Object(_) if found.strategy == DeploymentStrategy::Canary => {
                found.canary_steps = read_steps(canary.at("steps"), errors);
            }
            Json::Object(_) => errors.push(RequestError::CanaryWithoutStrategy),
            _ => errors.push(RequestError::CanaryNotObject),
        }
    }
}

fn read_steps(steps: &Json, errors: &mut Vec<RequestError>) -> Option<Vec<u8>> {
    if !steps.is_truthy() {
        return None;
    }
    let list = match steps {
        Json::List(list) if list.iter().all(|step| matches!(step, Json::Object(_))) => list,
        _ => {
            errors.push(RequestError::StepsNotObjects);
            return None;
        }
    };
    for step in list {
        let unknown = unknown_keys(step, &["instance_weight"]);
        if !unknown.is_empty() {
            errors.push(RequestError::UnknownStepFields(unknown));
        }
    }
    let has_weight = |step: &Json| matches!(step, Json::Object(Ordered(fields)) if fields.iter().any(|(name, _)| name == "instance_weight"));
    if !list.iter().all(has_weight) {
        errors.push(RequestError::MissingWeight);
    }
    let weight = |step: &Json| match step.at("instance_weight") {
        Json::Number(weight) => weight.as_i128(),
        _ => None,
    };
    let Some(weights) = list.iter().map(weight).collect::<Option<Vec<i128>>>() else {
        errors.push(RequestError::Weight);
        return None;
    };
    if weights.iter().any(|weight| !(1..=100).contains(weight)) {
        errors.push(RequestError::Weight);
    }
    if !weights.is_sorted() {
        errors.push(RequestError::WeightOrder);
    }
    weights.into_iter().map(|weight| u8::try_from(weight).ok()).collect()
}
