//! What an app's user asks for: the body of `POST /v3/deployments`, and what the product refuses of it.
//!
//! Follows `app/messages/deployment_create_message.rb` and `process_scale_message.rb`. A body is kept as it is written,
//! because the product judges wrong types with messages of its own; unknown fields are refused by the product itself.
//! The same options as the command line's `cf push --strategy --max-in-flight --instance-steps`. `relationships`,
//! `metadata`, and the content of `droplet` and `revision` are not looked at.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::json::Json;

/// The largest number of the product's database.
const MAX_DB_INT: i128 = 2_147_483_647;

/// How the new version replaces the old one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Without a pause.
    #[default]
    Rolling,
    /// With a pause after each step, until a user continues.
    Canary,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rolling => "rolling",
            Self::Canary => "canary",
        })
    }
}

/// A body of `POST /v3/deployments`, as it is written. [`check`](Self::check) tells what it means.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DeploymentRequest(#[schemars(with = "Body")] Json);

/// The fields of a body, for the schema alone.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentRequestBody")]
struct Body {
    /// Absent: `rolling`.
    strategy: Option<Strategy>,
    /// Absent: all defaults.
    options: Option<Options>,
    /// Which droplet to run. Not looked at.
    droplet: Option<serde_json::Value>,
    /// Which revision to go back to. Not looked at; not together with `droplet`.
    revision: Option<serde_json::Value>,
    /// Of which app. Not looked at.
    relationships: Option<serde_json::Value>,
    /// Not looked at.
    metadata: Option<serde_json::Value>,
}

/// `options` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentOptions")]
struct Options {
    /// How many new instances may be started beyond those that are routable. Absent: 1.
    #[schemars(range(min = 1))]
    max_in_flight: Option<u64>,
    /// How many instances to end with. Absent: as many as there are.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    web_instances: Option<u32>,
    /// Memory of a new instance. Absent: as it is.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    memory_in_mb: Option<u32>,
    /// Disk of a new instance. Of no effect here.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    disk_in_mb: Option<u32>,
    /// Log rate of a new instance. Of no effect here.
    #[schemars(range(min = -1))]
    log_rate_limit_in_bytes_per_second: Option<i64>,
    /// Only with the strategy `canary`.
    canary: Option<Canary>,
}

/// `options.canary` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentCanary")]
struct Canary {
    /// In ascending order. Absent: one step with one new instance.
    #[schemars(length(min = 1))]
    steps: Option<Vec<Step>>,
}

/// One of `options.canary.steps` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentCanaryStep")]
struct Step {
    /// Percent of the instances that are new when the step is reached.
    #[schemars(range(min = 1, max = 100))]
    instance_weight: u8,
}

/// What a request means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeploymentOptions {
    /// How to go on.
    pub strategy: Strategy,
    /// New instances that may be started beyond those that are routable; at least 1.
    pub max_in_flight: u64,
    /// Instances to end with. `None`: as many as there are.
    pub web_instances: Option<u32>,
    /// Memory of a new instance. `None`: as it is.
    pub memory_in_mb: Option<u32>,
    /// Disk of a new instance, of no effect on the updater. `None`: as it is.
    pub disk_in_mb: Option<u32>,
    /// Log rate of a new instance, of no effect here. `None`: as it is.
    pub log_rate_limit_in_bytes_per_second: Option<i64>,
    /// The steps' weights in percent, ascending. `None`: one step with one new instance.
    pub canary_steps: Option<Vec<u8>>,
}

impl Default for DeploymentOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::Rolling,
            max_in_flight: 1,
            web_instances: None,
            memory_in_mb: None,
            disk_in_mb: None,
            log_rate_limit_in_bytes_per_second: None,
            canary_steps: None,
        }
    }
}

/// Why the product refuses a request; displayed as its client reads it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A field of the body that the product does not know.
    #[error("Unknown field(s): {}", quoted(.0))]
    UnknownFields(Vec<String>),
    /// Any text but `rolling` and `canary`.
    #[error("Strategy '{0}' is not a supported deployment strategy")]
    Strategy(String),
    /// Two answers to what should run.
    #[error("Droplet Cannot set both fields 'droplet' and 'revision'")]
    DropletAndRevision,
    /// `options` is of another type.
    #[error("Options must be an object")]
    OptionsNotObject,
    /// An `options` that validation takes for absent, and that nothing can be read from.
    #[error("Options must be an object (the product accepts an empty list or text, and then fails with {0})")]
    OptionsUnreadable(&'static str),
    /// Fields of `options` that the product does not know.
    #[error("Options has unsupported key(s): {}", .0.join(", "))]
    UnknownOptions(Vec<String>),
    /// A number of instances, memory, disk or log rate.
    #[error("{} {problem}", field.title())]
    Number {
        /// Which.
        field: NumberField,
        /// What is wrong with it.
        problem: NumberProblem,
    },
    /// Not a whole number above 0.
    #[error("Max in flight must be an integer greater than 0")]
    MaxInFlight,
    /// `options.canary` is of another type.
    #[error("Options canary must be an object")]
    CanaryNotObject,
    /// `options.canary` without the strategy.
    #[error("Options canary are only valid for Canary deployments")]
    CanaryWithoutStrategy,
    /// `steps` is of another type, or one of them is.
    #[error("Options canary steps must be an array of objects")]
    StepsNotObjects,
    /// Fields of a step that the product does not know.
    #[error("Options canary steps has unsupported key(s): {}", .0.join(", "))]
    UnknownStepFields(Vec<String>),
    /// A step without weight.
    #[error("Options canary steps missing key: \"instance_weight\"")]
    MissingWeight,
    /// A weight that is not a whole number from 1 to 100.
    #[error("Options canary steps instance weight must be an Integer between 1-100 (inclusive)")]
    Weight,
    /// A weight that is less than the one before.
    #[error("Options canary steps instance weight must be sorted in ascending order")]
    WeightOrder,
    /// No step. The product validates this, and then breaks.
    #[error("Options canary steps must not be empty (the product accepts this, and then fails with NoMethodError)")]
    EmptySteps,
}

/// A field with a number that is checked by the rules of scaling.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NumberField {
    /// `options.web_instances`
    WebInstances,
    /// `options.memory_in_mb`
    Memory,
    /// `options.disk_in_mb`
    Disk,
    /// `options.log_rate_limit_in_bytes_per_second`
    LogRate,
}

/// What is wrong with a number; displayed as in the product.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NumberProblem {
    /// Of another type.
    #[error("is not a number")]
    NotNumber,
    /// With a fraction, also `1.0`.
    #[error("must be an integer")]
    NotInteger,
    /// Below the least that is allowed.
    #[error("must be greater than or equal to {0}")]
    BelowMinimum(i32),
    /// Not above what is still too little.
    #[error("must be greater than {0}")]
    TooSmall(i32),
    /// Beyond the database's integers.
    #[error("must be less than or equal to 2147483647")]
    TooLarge,
}

impl RequestError {
    /// The path of the field that is at fault, e.g. `options.max_in_flight`; empty for the body as a whole.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::UnknownFields(_) => "",
            Self::Strategy(_) => "strategy",
            Self::DropletAndRevision => "droplet",
            Self::OptionsNotObject | Self::OptionsUnreadable(_) | Self::UnknownOptions(_) => "options",
            Self::Number { field, .. } => field.path(),
            Self::MaxInFlight => "options.max_in_flight",
            Self::CanaryNotObject | Self::CanaryWithoutStrategy => "options.canary",
            Self::StepsNotObjects
            | Self::UnknownStepFields(_)
            | Self::MissingWeight
            | Self::Weight
            | Self::WeightOrder
            | Self::EmptySteps => "options.canary.steps",
        }
    }

    /// The Ruby class of the exception with which the product breaks (HTTP 500) instead of refusing. `None`: it refuses.
    #[must_use]
    pub const fn exception(&self) -> Option<&'static str> {
        match self {
            Self::OptionsUnreadable(class) => Some(class),
            Self::EmptySteps => Some("NoMethodError"),
            _ => None,
        }
    }
}

impl NumberField {
    const ALL: [Self; 4] = [Self::WebInstances, Self::Memory, Self::Disk, Self::LogRate];

    const fn path(self) -> &'static str {
        match self {
            Self::WebInstances => "options.web_instances",
            Self::Memory => "options.memory_in_mb",
            Self::Disk => "options.disk_in_mb",
            Self::LogRate => "options.log_rate_limit_in_bytes_per_second",
        }
    }

    /// Its name in `options`.
    fn key(self) -> &'static str {
        self.path().trim_start_matches("options.")
    }

    /// Its name in a message.
    const fn title(self) -> &'static str {
        match self {
            Self::WebInstances => "Web instances",
            Self::Memory => "Memory in mb",
            Self::Disk => "Disk in mb",
            Self::LogRate => "Log rate limit in bytes per second",
        }
    }

    /// The number that is written. `None`: null or absent.
    fn read(self, written: &Json) -> Result<Option<i128>, NumberProblem> {
        let number = match written {
            Json::Null => return Ok(None),
            Json::Integer(number) => *number,
            Json::Float(_) => return Err(NumberProblem::NotInteger),
            // A text is read as a number; what is saved is the number.
            Json::Text(text) => match text.trim().parse::<i128>() {
                Ok(number) => number,
                Err(_) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
                    return Err(NumberProblem::NotInteger);
                }
                Err(_) => return Err(NumberProblem::NotNumber),
            },
            Json::Bool(_) | Json::List(_) | Json::Object(_) => return Err(NumberProblem::NotNumber),
        };
        match self {
            Self::WebInstances if number < 0 => Err(NumberProblem::BelowMinimum(0)),
            Self::LogRate if number < -1 => Err(NumberProblem::BelowMinimum(-1)),
            Self::Memory | Self::Disk if number <= 0 => Err(NumberProblem::TooSmall(0)),
            Self::WebInstances | Self::Memory | Self::Disk if number > MAX_DB_INT => Err(NumberProblem::TooLarge),
            _ => Ok(Some(number)),
        }
    }
}

impl<'de> Deserialize<'de> for DeploymentRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Null => Ok(Self::default()),
            body @ Json::Object(_) => Ok(Self(body)),
            _ => Err(de::Error::custom("a deployment is an object, e.g. `{strategy: rolling}`")),
        }
    }
}

impl DeploymentRequest {
    /// The fields that the product knows.
    pub const FIELDS: [&str; 6] = ["strategy", "options", "droplet", "revision", "relationships", "metadata"];

    /// The fields of `options` that the product knows.
    pub const OPTIONS: [&str; 6] = [
        "max_in_flight",
        "web_instances",
        "memory_in_mb",
        "disk_in_mb",
        "log_rate_limit_in_bytes_per_second",
        "canary",
    ];

    /// What the request means, by the product's validation, and without what breaks the product afterwards.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the product's order; at least one.
    pub fn check(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let options = self.validate()?;
        if options.canary_steps.as_ref().is_some_and(Vec::is_empty) {
            return Err(vec![RequestError::EmptySteps]);
        }
        Ok(options)
    }

    /// What the request means, by the product's validation alone: it lets an empty list of steps pass, which cannot be
    /// created.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the product's order; at least one.
    pub fn validate(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let mut errors = Vec::new();
        let unknown = unknown_keys(&self.0, &Self::FIELDS);
        if !unknown.is_empty() {
            errors.push(RequestError::UnknownFields(unknown));
        }
        let mut found = DeploymentOptions::default();
        match self.0.at("strategy") {
            Json::Null => {}
            Json::Text(text) if text == "rolling" => {}
            Json::Text(text) if text == "canary" => found.strategy = Strategy::Canary,
            other => errors.push(RequestError::Strategy(other.to_string())),
        }
        if !self.0.at("droplet").is_blank() && !self.0.at("revision").is_blank() {
            errors.push(RequestError::DropletAndRevision);
        }
        match self.0.at("options") {
            options if options.is_blank() => {
                // Validation is done here. What it let pass breaks when the options are read.
                if errors.is_empty() {
                    errors.extend(unreadable(options));
                }
            }
            options @ Json::Object(_) => read_options(options, &mut found, &mut errors),
            _ => errors.push(RequestError::OptionsNotObject),
        }
        if errors.is_empty() { Ok(found) } else { Err(errors) }
    }

    /// This request with every field that `other` sets taken from `other`, option by option.
    #[must_use]
    pub fn overridden_by(mut self, other: Self) -> Self {
        let Json::Object(fields) = other.0 else { return self };
        for (key, value) in fields {
            match value {
                Json::Object(options) if key == "options" => {
                    let mut merged = self.0.at("options").clone();
                    options.into_iter().for_each(|(option, value)| merged.set(&option, value));
                    self.0.set("options", merged);
                }
                value => self.0.set(&key, value),
            }
        }
        self
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

fn unknown_keys(object: &Json, known: &[&str]) -> Vec<String> {
    let Json::Object(fields) = object else { return Vec::new() };
    fields.iter().map(|(name, _)| name).filter(|name| !known.contains(&name.as_str())).cloned().collect()
}

fn unreadable(options: &Json) -> Option<RequestError> {
    match options {
        Json::Null | Json::Object(_) => None,
        Json::List(_) => Some(RequestError::OptionsUnreadable("TypeError")),
        _ => Some(RequestError::OptionsUnreadable("NoMethodError")),
    }
}

fn read_options(options: &Json, found: &mut DeploymentOptions, errors: &mut Vec<RequestError>) {
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
        Json::Integer(number) if *number >= 1 => {
            found.max_in_flight = u64::try_from(*number).unwrap_or(u64::MAX);
        }
        _ => errors.push(RequestError::MaxInFlight),
    }
    let canary = options.at("canary");
    if canary.is_truthy() {
        match canary {
            // What it would be under `recreate`, say, is not asked: the strategy is what was written.
            Json::Object(_) if found.strategy == Strategy::Canary => {
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
    let has_weight =
        |step: &Json| matches!(step, Json::Object(fields) if fields.iter().any(|(name, _)| name == "instance_weight"));
    if !list.iter().all(has_weight) {
        errors.push(RequestError::MissingWeight);
    }
    let weight = |step: &Json| match step.at("instance_weight") {
        Json::Integer(weight) => Some(*weight),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(yaml: &str) -> DeploymentRequest {
        serde_saphyr::from_str(yaml).expect(yaml)
    }

    fn refused(yaml: &str) -> Vec<String> {
        match request(yaml).check() {
            Ok(options) => panic!("{yaml}: {options:?}"),
            Err(errors) => errors.iter().map(|error| format!("{}: {error}", error.field())).collect(),
        }
    }

    #[test]
    fn a_real_body_is_read_with_all_that_it_carries() {
        let body = r#"{
  "droplet": {"guid": "44ccfa61-dbcf-4a0d-82fe-f668e9d2a962"},
  "strategy": "canary",
  "options": {"max_in_flight": 3, "web_instances": "20", "memory_in_mb": 256, "disk_in_mb": null,
    "canary": {"steps": [{"instance_weight": 10}, {"instance_weight": 10}, {"instance_weight": 60}], "later": 1}},
  "relationships": {"app": {"data": {"guid": "305cea31-5a44-45ca-b51b-e89c7a8ef8b2"}}},
  "metadata": {"labels": {}, "annotations": {}}
}"#;
        let options = request(body).check().expect("it is accepted");
        let expected = DeploymentOptions {
            strategy: Strategy::Canary,
            max_in_flight: 3,
            web_instances: Some(20),
            memory_in_mb: Some(256),
            canary_steps: Some(vec![10, 10, 60]),
            ..DeploymentOptions::default()
        };
        assert_eq!(options, expected);
        let json = serde_json::to_string(&request(body)).expect("it is JSON");
        assert_eq!(request(&json), request(body), "it is written as it was read");
    }

    #[test]
    fn an_absent_option_is_the_default() {
        for yaml in ["", "{}", "{strategy: null}", "{options: {max_in_flight: null}}", "{options: {canary: null}}"] {
            assert_eq!(request(yaml).check(), Ok(DeploymentOptions::default()), "{yaml:?}");
        }
        assert!(serde_saphyr::from_str::<DeploymentRequest>("[rolling]").is_err(), "a list is no deployment");
    }

    #[test]
    fn what_is_refused_is_refused_in_the_products_words_and_order() {
        let cases: [(&str, &[&str]); 9] = [
            ("{strategy: recreate}", &["strategy: Strategy 'recreate' is not a supported deployment strategy"]),
            (
                "{b: 1, a: 2, strategy: '', options: 7}",
                &[
                    ": Unknown field(s): 'b', 'a'",
                    "strategy: Strategy '' is not a supported deployment strategy",
                    "options: Options must be an object",
                ],
            ),
            (
                "{options: {maxInFlight: 2, max_in_flight: 1.0, memory_in_mb: 0, log_rate_limit_in_bytes_per_second: -2}}",
                &[
                    "options: Options has unsupported key(s): maxInFlight",
                    "options.memory_in_mb: Memory in mb must be greater than 0",
                    "options.log_rate_limit_in_bytes_per_second: Log rate limit in bytes per second must be greater \
                     than or equal to -1",
                    "options.max_in_flight: Max in flight must be an integer greater than 0",
                ],
            ),
            (
                "{options: {web_instances: 1.5, disk_in_mb: 2147483648}}",
                &[
                    "options.web_instances: Web instances must be an integer",
                    "options.disk_in_mb: Disk in mb must be less than or equal to 2147483647",
                ],
            ),
            ("{options: {canary: {}}}", &["options.canary: Options canary are only valid for Canary deployments"]),
            (
                "{strategy: canary, options: {canary: {steps: [{instance_weight: 101}, {instance_weight: 5}]}}}",
                &[
                    "options.canary.steps: Options canary steps instance weight must be an Integer between 1-100 \
                     (inclusive)",
                    "options.canary.steps: Options canary steps instance weight must be sorted in ascending order",
                ],
            ),
            (
                "{strategy: canary, options: {canary: {steps: [20, 40]}}}",
                &["options.canary.steps: Options canary steps must be an array of objects"],
            ),
            (
                "{strategy: canary, options: {canary: {steps: []}}}",
                &["options.canary.steps: Options canary steps must not be empty (the product accepts this, and then \
                   fails with NoMethodError)"],
            ),
            (
                "{options: []}",
                &["options: Options must be an object (the product accepts an empty list or text, and then fails \
                   with TypeError)"],
            ),
        ];
        for (yaml, expected) in cases {
            assert_eq!(refused(yaml), expected, "{yaml}");
        }
    }

    #[test]
    fn an_override_replaces_option_by_option() {
        let file = request("{strategy: canary, options: {max_in_flight: 5, web_instances: 7}}");
        let merged = file.overridden_by(request("{options: {max_in_flight: 2}, strategy: rolling}"));
        assert_eq!(merged, request("{strategy: rolling, options: {max_in_flight: 2, web_instances: 7}}"));
        let merged = DeploymentRequest::default().overridden_by(request("{options: {max_in_flight: 2}}"));
        assert_eq!(merged.check().map(|options| options.max_in_flight), Ok(2));
    }

    #[test]
    fn the_schema_names_every_field() {
        let schema = serde_json::to_value(schemars::schema_for!(DeploymentRequest)).expect("it is JSON");
        let text = schema.to_string();
        for field in DeploymentRequest::FIELDS.iter().chain(&DeploymentRequest::OPTIONS) {
            assert!(text.contains(&format!("\"{field}\"")), "{field}: {text}");
        }
    }
}
