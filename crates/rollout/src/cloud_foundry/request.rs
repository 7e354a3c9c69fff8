//! A user's request: the body of `POST /v3/deployments`, and its validation by the product.
//!
//! Follows `app/messages/deployment_create_message.rb` and `process_scale_message.rb`. A body is stored unchanged,
//! because the product reports wrong types with its own messages, and rejects unknown fields itself. The options match
//! those of `cf push --strategy --max-in-flight --instance-steps`. `relationships`, `metadata`, and the content of
//! `droplet` and `revision` are ignored. Numbers for scaling may also be texts.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::json::Json;
use fleetsim_units::serial::Ordered;

/// The reason why the product rejects a request. Its `Display` is the message to the client.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The path of the invalid field, e.g. `options.max_in_flight`, or of the first unknown field.
    pub field: String,
    message: String,
    /// The Ruby class of the exception if the product fails (HTTP 500) instead of rejecting the request.
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

    fn empty_steps() -> Self {
        let message = "Options canary steps must not be empty (the product accepts this, and then fails with \
                       NoMethodError)";
        Self {
            exception: Some("NoMethodError"),
            ..Self::new(STEPS, message)
        }
    }

    /// Returns the error for `options` that are empty, but not an object.
    fn blank_options(options: &Json) -> Self {
        let class = match options {
            Json::List(_) => "TypeError",
            _ => "NoMethodError",
        };
        let message = format!(
            "Options must be an object (the product accepts an empty list or text, and then fails with {class})"
        );
        Self {
            exception: Some(class),
            ..Self::new("options", message)
        }
    }
}

/// How the new version replaces the old one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DeploymentStrategy {
    /// Replaces all instances without a pause.
    #[default]
    Rolling,
    /// Pauses after each step until a user continues.
    Canary,
}

/// A body of `POST /v3/deployments`, unchanged; see [`check`](Self::check).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DeploymentRequest {
    body: Json,
}

/// A checked request.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DeploymentOptions {
    /// The deployment strategy.
    pub strategy: DeploymentStrategy,
    /// Maximum number of new instances that are started but not routable yet; at least 1.
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
            body @ Json::Object(_) => Ok(Self { body }),
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

    /// Returns the options of the request if it passes the product's validation and does not make the product fail
    /// afterwards.
    ///
    /// # Errors
    /// All errors, in the product's order; at least one.
    pub fn check(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let options = self.validate()?;
        if options.canary_steps.as_ref().is_some_and(Vec::is_empty) {
            return Err(vec![RequestError::empty_steps()]);
        }
        Ok(options)
    }

    /// Returns the options of the request if it passes the product's validation. It may have an empty list of steps,
    /// with which no deployment can be created.
    ///
    /// # Errors
    /// All errors, in the product's order; at least one.
    pub fn validate(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let mut validation = RequestValidation::default();
        validation.read_fields(&self.body);
        match self.body.at("options") {
            options @ Json::Object(_) => validation.read_options(options),
            Json::Null => {}
            options if options.is_blank() => {
                // Validation ends here. The product fails when it reads options that should have been rejected.
                if validation.errors.is_empty() {
                    let error = RequestError::blank_options(options);
                    validation.errors.push(error);
                }
            }
            _ => validation.refuse("options", "Options must be an object"),
        }
        if validation.errors.is_empty() {
            Ok(validation.found)
        } else {
            Err(validation.errors)
        }
    }

    /// Replaces the value at a path of keys, such as `options.max_in_flight`.
    pub fn set(&mut self, path: &str, value: &serde_json::Value) {
        let value = Json::deserialize(value).expect("any value can be kept");
        self.body.set(path, value);
    }
}

/// The largest number that the product's database can store.
const MAX_DB_INT: i128 = 2_147_483_647;

/// The path of the field with the canary steps.
const STEPS: &str = "options.canary.steps";

/// An option that is a number and is checked by the rules for scaling.
struct NumberOption {
    name: &'static str,
    min: i128,
    max: i128,
}

const WEB_INSTANCES: NumberOption = NumberOption {
    name: "web_instances",
    min: 0,
    max: MAX_DB_INT,
};
const MEMORY: NumberOption = NumberOption {
    name: "memory_in_mb",
    min: 1,
    max: MAX_DB_INT,
};
const DISK: NumberOption = NumberOption {
    name: "disk_in_mb",
    min: 1,
    max: MAX_DB_INT,
};
const LOG_RATE: NumberOption = NumberOption {
    name: "log_rate_limit_in_bytes_per_second",
    min: -1,
    max: i64::MAX as i128,
};

impl NumberOption {
    /// Returns the problem with a number, in the product's words.
    fn problem_of(&self, number: i128) -> Option<String> {
        let Self { min, max, .. } = self;
        if number < *min && *min == 1 {
            Some("must be greater than 0".to_owned())
        } else if number < *min {
            Some(format!("must be greater than or equal to {min}"))
        } else if number > *max {
            Some(format!("must be less than or equal to {max}"))
        } else {
            None
        }
    }
}

/// A validation in progress: the options that were read, and the errors in the product's order.
#[derive(Default)]
struct RequestValidation {
    found: DeploymentOptions,
    errors: Vec<RequestError>,
}

impl RequestValidation {
    fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.errors.push(RequestError::new(field, message));
    }

    fn refuse_steps(&mut self, problem: &str) {
        self.refuse(STEPS, format!("Options canary steps {problem}"));
    }

    /// Reads all fields except `options`.
    fn read_fields(&mut self, body: &Json) {
        let unknown = unknown_keys(body, &DeploymentRequest::FIELDS);
        if let [first, ..] = &unknown[..] {
            let message = format!("Unknown field(s): '{}'", unknown.join("', '"));
            self.refuse(first, message);
        }
        match body.at("strategy") {
            Json::Null => {}
            Json::Text(text) if text == "rolling" => {}
            Json::Text(text) if text == "canary" => {
                self.found.strategy = DeploymentStrategy::Canary;
            }
            other => {
                let message = format!("Strategy '{other}' is not a supported deployment strategy");
                self.refuse("strategy", message);
            }
        }
        if !body.at("droplet").is_blank() && !body.at("revision").is_blank() {
            let message = "Droplet Cannot set both fields 'droplet' and 'revision'";
            self.refuse("droplet", message);
        }
    }

    /// Reads `options` with the product's validation.
    fn read_options(&mut self, options: &Json) {
        let unknown = unknown_keys(options, &DeploymentRequest::OPTIONS);
        if let [first, ..] = &unknown[..] {
            let message = format!("Options has unsupported key(s): {}", unknown.join(", "));
            self.refuse(&format!("options.{first}"), message);
        }
        self.found.web_instances = self.read_unsigned(options, &WEB_INSTANCES);
        self.found.memory_in_mb = self.read_unsigned(options, &MEMORY);
        self.found.disk_in_mb = self.read_unsigned(options, &DISK);
        let log_rate = self.read_number(options, &LOG_RATE);
        self.found.log_rate_limit_in_bytes_per_second =
            log_rate.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        match options.at("max_in_flight") {
            written if !written.is_truthy() => {}
            Json::Number(number) if number.as_u64().is_some_and(|number| number >= 1) => {
                self.found.max_in_flight = number.as_u64().unwrap_or(u64::MAX);
            }
            _ => self.refuse(
                "options.max_in_flight",
                "Max in flight must be an integer greater than 0",
            ),
        }
        match options.at("canary") {
            canary if !canary.is_truthy() => {}
            // Check only the given strategy, not the requirements of another strategy such as `recreate`.
            canary @ Json::Object(_) if self.found.strategy == DeploymentStrategy::Canary => {
                self.found.canary_steps = self.read_steps(canary.at("steps"));
            }
            Json::Object(_) => self.refuse(
                "options.canary",
                "Options canary are only valid for Canary deployments",
            ),
            _ => self.refuse("options.canary", "Options canary must be an object"),
        }
    }

    /// Like [`Self::read_number`], but returns an unsigned number.
    fn read_unsigned(&mut self, options: &Json, option: &NumberOption) -> Option<u32> {
        u32::try_from(self.read_number(options, option)?).ok()
    }

    /// Reads the number of an option; `None`: null, absent or invalid.
    fn read_number(&mut self, options: &Json, option: &NumberOption) -> Option<i128> {
        let name = option.name;
        let number = match options.at(name) {
            Json::Null => return None,
            Json::Number(number) => number.as_i128().ok_or("must be an integer"),
            Json::Text(text) => number_in_text(text),
            Json::Bool(_) | Json::List(_) | Json::Object(_) => Err("is not a number"),
        };
        let problem = match number {
            Ok(number) => match option.problem_of(number) {
                None => return Some(number),
                Some(problem) => problem,
            },
            Err(problem) => problem.to_owned(),
        };
        let title = name[..1].to_uppercase() + &name[1..].replace('_', " ");
        self.refuse(&format!("options.{name}"), format!("{title} {problem}"));
        None
    }

    fn read_steps(&mut self, steps: &Json) -> Option<Vec<u8>> {
        let list = match steps {
            steps if !steps.is_truthy() => return None,
            Json::List(list) if list.iter().all(|step| matches!(step, Json::Object(_))) => list,
            _ => {
                self.refuse_steps("must be an array of objects");
                return None;
            }
        };
        for step in list {
            let unknown = unknown_keys(step, &[WEIGHT]);
            if !unknown.is_empty() {
                self.refuse_steps(&format!("has unsupported key(s): {}", unknown.join(", ")));
            }
        }
        if !list.iter().all(|step| step.has(WEIGHT)) {
            self.refuse_steps("missing key: \"instance_weight\"");
        }
        let weights: Option<Vec<i128>> = list.iter().map(weight_of).collect();
        let Some(weights) = weights else {
            self.refuse_steps(WEIGHT_PROBLEM);
            return None;
        };
        if !weights.iter().all(|weight| (1..=100).contains(weight)) {
            self.refuse_steps(WEIGHT_PROBLEM);
        }
        if !weights.is_sorted() {
            self.refuse_steps("instance weight must be sorted in ascending order");
        }
        let weights = weights.into_iter().map(|weight| u8::try_from(weight).ok());
        weights.collect()
    }
}

/// The only key of a canary step.
const WEIGHT: &str = "instance_weight";

const WEIGHT_PROBLEM: &str = "instance weight must be an Integer between 1-100 (inclusive)";

/// Returns the weight of a canary step if it is an integer.
fn weight_of(step: &Json) -> Option<i128> {
    match step.at(WEIGHT) {
        Json::Number(weight) => weight.as_i128(),
        _ => None,
    }
}

/// Parses a text of digits, as the product does when it saves the text as a number. The error is in the product's
/// words.
fn number_in_text(text: &str) -> Result<i128, &'static str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let out_of_range = if text.starts_with('-') {
            i128::MIN
        } else {
            i128::MAX
        };
        Ok(text.parse().unwrap_or(out_of_range))
    } else if text.trim().parse::<f64>().is_ok_and(f64::is_finite) {
        Err("must be an integer")
    } else {
        Err("is not a number")
    }
}

fn unknown_keys(object: &Json, known: &[&str]) -> Vec<String> {
    let Json::Object(Ordered(fields)) = object else {
        return Vec::new();
    };
    let mut unknown = Vec::new();
    for (name, _) in fields {
        if !known.contains(&name.as_str()) {
            unknown.push(name.clone());
        }
    }
    unknown
}
