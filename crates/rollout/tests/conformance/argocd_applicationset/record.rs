//! The format of the recorded cases.

use fleetsim_rollout::argo_cd::{ApplicationSetStrategy, IntOrString};
use fleetsim_rollout::label_selector::Labels;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
pub struct BudgetCase {
    pub max: Option<IntOrString>,
    pub total: usize,
    pub updating: usize,
    pub waiting: usize,
    pub promoted: usize,
    #[serde(default)]
    pub invalid: u8,
    pub cap: Option<i64>,
}

#[derive(Deserialize)]
pub struct StepsCase {
    pub strategy: Option<ApplicationSetStrategy>,
    pub apps: Vec<TraceApp>,
}

#[derive(Clone, Deserialize)]
pub struct TraceApp {
    pub n: String,
    #[serde(default)]
    pub l: Labels,
    pub p: Option<String>,
    #[serde(default)]
    pub bad: u8,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct TraceTemplate {
    pub auto: u8,
    pub retry: i64,
    pub fin: u8,
}

#[derive(Deserialize)]
pub struct Trace {
    pub kind: String,
    pub strategy: Option<ApplicationSetStrategy>,
    pub tmpl: TraceTemplate,
    pub p: String,
    #[serde(rename = "gen")]
    pub gen_: Option<Vec<TraceApp>>,
    #[serde(default)]
    pub live: Vec<(Change, Vec<String>)>,
    #[serde(default)]
    pub rows: Vec<(StoredRow, Vec<String>)>,
    pub op: Option<Value>,
    pub steps: Vec<TraceStep>,
}

#[derive(Deserialize)]
pub struct StoredRow {
    pub s: String,
    #[serde(default)]
    pub k: i64,
    #[serde(default)]
    pub t: i64,
    #[serde(default)]
    pub m: String,
    #[serde(default)]
    pub r: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Change {
    pub y: Option<String>,
    pub h: Option<String>,
    pub v: Option<Vec<String>>,
    pub o: Option<(String, i64)>,
    pub r: Option<i64>,
    pub e: Option<Vec<String>>,
    pub q: Option<u8>,
    pub x: u8,
}

#[derive(Deserialize)]
pub struct TraceStep {
    pub t: i64,
    /// The strategy. `Some(null)`: removed.
    #[serde(default, deserialize_with = "present")]
    pub strategy: Option<Value>,
    #[serde(rename = "gen")]
    pub gen_: Option<Vec<TraceApp>>,
    pub p: Option<String>,
    #[serde(default)]
    pub set: Vec<(Change, Vec<String>)>,
    #[serde(default)]
    pub delset: u8,
    pub wake: u8,
    #[serde(default)]
    pub skip: u8,
    pub out: Map<String, Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
