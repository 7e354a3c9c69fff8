//! A user's request: the body of `POST /v3/deployments`, and its validation by the product.
//!
//! Follows `app/messages/deployment_create_message.rb` and `process_scale_message.rb`. A body is stored unchanged,
//! because the product reports wrong types with its own messages, and rejects unknown fields itself. The options
//! match those of `cf push --strategy --max-in-flight --instance-steps`. `relationships`, `metadata`, and the content
//! of `droplet` and `revision` are ignored. Numbers of scaling are also accepted as texts.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::json::Json;
use fleetsim_units::serial::Ordered;

/// Why the product rejects a request; displayed as its client sees it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The path of the invalid field, e.g. `options.max_in_flight`, or of the first unknown one.
    pub field: String,
    message: String,
    /// The Ruby class of the exception with which the product fails (HTTP 500) instead of rejecting. `None`: it
    /// rejects.
    pub exception: Option<&'static str>,
}

impl RequestError {
    fn new(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            message: message.into(),
            exception: None,
        }
    }
}

/// Replacement of the old version by the new one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DeploymentStrategy {
    /// Without a pause.
    #[default]
    Rolling,
    /// With a pause after each step, until a user continues.
    Canary,
}

/// A body of `POST /v3/deployments`, unchanged. [`check`](Self::check) interprets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DeploymentRequest(Json);

/// A checked request.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DeploymentOptions {
    /// The deployment strategy.
    pub strategy: DeploymentStrategy,
    /// New instances that may be started beyond those that are routable; at least 1.
    pub max_in_flight: u64,
    /// Final number of instances. `None`: unchanged.
    pub web_instances: Option<u32>,
    /// Memory of a new instance. `None`: unchanged.
    pub memory_in_mb: Option<u32>,
    /// Disk of a new instance, without effect on the updater. `None`: unchanged.
    pub disk_in_mb: Option<u32>,
    /// Log rate of a new instance, without effect here. `None`: unchanged.
    pub log_rate_limit_in_bytes_per_second: Option<i64>,
    /// The steps' weights in percent, ascending. `None`: one step with one new instance.
    pub canary_steps: Option<Vec<u8>>,
}

impl Default for DeploymentOptions {
    fn default() -> Self {
        Self {
            strategy: DeploymentStrategy::Rolling,
            max_in_flight: 1,
            web_instances: None,
            memory_in_mb: None,
            disk_in_mb: None,
            log_rate_limit_in_bytes_per_second: None,
            canary_steps: None,
        }
    }
}

impl<'de> Deserialize<'de> for DeploymentRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Null => Ok(Self::default()),
            body @ Json::Object(_) => Ok(Self(body)),
            _ => Err(de::Error::custom(
                "a deployment is an object, e.g. `{strategy: rolling}`",
            )),
        }
    }
}

impl DeploymentRequest {
    /// The fields that the product knows.
    pub const FIELDS: [&str; 6] = [
        "strategy",
        "options",
        "droplet",
        "revision",
        "relationships",
        "metadata",
    ];

    /// The fields of `options` that the product knows.
    pub const OPTIONS: [&str; 6] = [
        "max_in_flight",
        "web_instances",
        "memory_in_mb",
        "disk_in_mb",
        "log_rate_limit_in_bytes_per_second",
        "canary",
    ];

    /// The options of the request, if it passes the product's validation and does not make the product fail
    /// afterwards.
    ///
    /// # Errors
    /// All errors, in the product's order; at least one.
    pub fn check(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let options = self.validate()?;
        if options.canary_steps.as_ref().is_some_and(Vec::is_empty) {
            let message = "Options canary steps must not be empty (the product accepts this, and then fails with \
                           NoMethodError)";
            return Err(vec![RequestError {
                exception: Some("NoMethodError"),
                ..RequestError::new(STEPS, message)
            }]);
        }
        Ok(options)
    }

    /// The options of the request, by the product's validation alone: it accepts an empty list of steps, which cannot
    /// be created.
    ///
    /// # Errors
    /// All errors, in the product's order; at least one.
    pub fn validate(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let mut errors = Vec::new();
        let unknown = unknown_keys(&self.0, &Self::FIELDS);
        if let [first, ..] = &unknown[..] {
            let quoted: Vec<_> = unknown.iter().map(|name| format!("'{name}'")).collect();
            errors.push(RequestError::new(
                first,
                format!("Unknown field(s): {}", quoted.join(", ")),
            ));
        }
        let mut found = DeploymentOptions::default();
        match self.0.at("strategy") {
            Json::Null => {}
            Json::Text(text) if text == "rolling" => {}
            Json::Text(text) if text == "canary" => found.strategy = DeploymentStrategy::Canary,
            other => {
                let message = format!("Strategy '{other}' is not a supported deployment strategy");
                errors.push(RequestError::new("strategy", message));
            }
        }
        if !self.0.at("droplet").is_blank() && !self.0.at("revision").is_blank() {
            errors.push(RequestError::new(
                "droplet",
                "Droplet Cannot set both fields 'droplet' and 'revision'",
            ));
        }
        match self.0.at("options") {
            options @ Json::Object(_) => read_options(options, &mut found, &mut errors),
            Json::Null => {}
            options if options.is_blank() => {
                // Validation ends here. The product fails when it reads options that should not have passed.
                if errors.is_empty() {
                    let class = if matches!(options, Json::List(_)) {
                        "TypeError"
                    } else {
                        "NoMethodError"
                    };
                    let message = format!(
                        "Options must be an object (the product accepts an empty list or text, and then fails with \
                         {class})"
                    );
                    errors.push(RequestError {
                        exception: Some(class),
                        ..RequestError::new("options", message)
                    });
                }
            }
            _ => errors.push(RequestError::new("options", "Options must be an object")),
        }
        if errors.is_empty() {
            Ok(found)
        } else {
            Err(errors)
        }
    }

    /// Replaces the value at a path of keys, such as `options.max_in_flight`.
    pub fn set(&mut self, path: &str, value: &serde_json::Value) {
        self.0.set(
            path,
            Json::deserialize(value).expect("any value can be kept"),
        );
    }
}

/// The largest number of the product's database.
const MAX_DB_INT: i128 = 2_147_483_647;

/// The path of the canary steps.
const STEPS: &str = "options.canary.steps";

/// Options with a number that the rules of scaling check, with the least and the largest.
const NUMBERS: [(&str, i128, i128); 4] = [
    ("web_instances", 0, MAX_DB_INT),
    ("memory_in_mb", 1, MAX_DB_INT),
    ("disk_in_mb", 1, MAX_DB_INT),
    ("log_rate_limit_in_bytes_per_second", -1, i64::MAX as i128),
];

/// The number of an option; `None`: null, absent or invalid.
fn read_number(
    options: &Json,
    (name, min, max): (&str, i128, i128),
    errors: &mut Vec<RequestError>,
) -> Option<i128> {
    let number = match options.at(name) {
        Json::Null => return None,
        Json::Number(number) => number.as_i128().ok_or("must be an integer"),
        // A text of digits alone is parsed as a number, and the number is saved.
        Json::Text(text) => {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                Ok(text.parse().unwrap_or(if text.starts_with('-') {
                    i128::MIN
                } else {
                    i128::MAX
                }))
            } else if text.trim().parse::<f64>().is_ok_and(f64::is_finite) {
                Err("must be an integer")
            } else {
                Err("is not a number")
            }
        }
        Json::Bool(_) | Json::List(_) | Json::Object(_) => Err("is not a number"),
    };
    let problem = match number {
        Ok(number) if number < min && min == 1 => "must be greater than 0".to_owned(),
        Ok(number) if number < min => format!("must be greater than or equal to {min}"),
        Ok(number) if number > max => format!("must be less than or equal to {max}"),
        Ok(number) => return Some(number),
        Err(problem) => problem.to_owned(),
    };
    let title = name[..1].to_uppercase() + &name[1..].replace('_', " ");
    errors.push(RequestError::new(
        &format!("options.{name}"),
        format!("{title} {problem}"),
    ));
    None
}

fn unknown_keys(object: &Json, known: &[&str]) -> Vec<String> {
    let Json::Object(Ordered(fields)) = object else {
        return Vec::new();
    };
    fields
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !known.contains(&name.as_str()))
        .cloned()
        .collect()
}

/// Reads `options` with the product's validation: all errors, in its order.
fn read_options(options: &Json, found: &mut DeploymentOptions, errors: &mut Vec<RequestError>) {
    let unknown = unknown_keys(options, &DeploymentRequest::OPTIONS);
    if let [first, ..] = &unknown[..] {
        let message = format!("Options has unsupported key(s): {}", unknown.join(", "));
        errors.push(RequestError::new(&format!("options.{first}"), message));
    }
    let [web_instances, memory, disk, log_rate] =
        NUMBERS.map(|field| read_number(options, field, errors));
    let unsigned = |number: Option<i128>| number.and_then(|number| u32::try_from(number).ok());
    found.web_instances = unsigned(web_instances);
    found.memory_in_mb = unsigned(memory);
    found.disk_in_mb = unsigned(disk);
    found.log_rate_limit_in_bytes_per_second =
        log_rate.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let mut refuse = |field, message: &str| errors.push(RequestError::new(field, message));
    match options.at("max_in_flight") {
        written if !written.is_truthy() => {}
        Json::Number(number) if number.as_u64().is_some_and(|number| number >= 1) => {
            found.max_in_flight = number.as_u64().unwrap_or(u64::MAX);
        }
        _ => refuse(
            "options.max_in_flight",
            "Max in flight must be an integer greater than 0",
        ),
    }
    match options.at("canary") {
        canary if !canary.is_truthy() => {}
        // Only the given strategy is checked, not what another one such as `recreate` would need.
        canary @ Json::Object(_) if found.strategy == DeploymentStrategy::Canary => {
            found.canary_steps = read_steps(canary.at("steps"), errors);
        }
        Json::Object(_) => refuse(
            "options.canary",
            "Options canary are only valid for Canary deployments",
        ),
        _ => refuse("options.canary", "Options canary must be an object"),
    }
}

fn read_steps(steps: &Json, errors: &mut Vec<RequestError>) -> Option<Vec<u8>> {
    let mut refuse = |message: String| {
        errors.push(RequestError::new(
            STEPS,
            format!("Options canary steps {message}"),
        ));
    };
    let list = match steps {
        steps if !steps.is_truthy() => return None,
        Json::List(list) if list.iter().all(|step| matches!(step, Json::Object(_))) => list,
        _ => {
            refuse("must be an array of objects".to_owned());
            return None;
        }
    };
    for unknown in list
        .iter()
        .map(|step| unknown_keys(step, &["instance_weight"]))
        .filter(|keys| !keys.is_empty())
    {
        refuse(format!("has unsupported key(s): {}", unknown.join(", ")));
    }
    let has_weight = |step: &Json| matches!(step, Json::Object(Ordered(fields)) if fields.iter().any(|(name, _)| name == "instance_weight"));
    if !list.iter().all(has_weight) {
        refuse("missing key: \"instance_weight\"".to_owned());
    }
    let weight = |step: &Json| match step.at("instance_weight") {
        Json::Number(weight) => weight.as_i128(),
        _ => None,
    };
    let weights: Option<Vec<i128>> = list.iter().map(weight).collect();
    if weights
        .as_ref()
        .is_none_or(|weights| weights.iter().any(|weight| !(1..=100).contains(weight)))
    {
        refuse("instance weight must be an Integer between 1-100 (inclusive)".to_owned());
    }
    if weights.as_ref().is_some_and(|weights| !weights.is_sorted()) {
        refuse("instance weight must be sorted in ascending order".to_owned());
    }
    weights?
        .into_iter()
        .map(|weight| u8::try_from(weight).ok())
        .collect()
}
