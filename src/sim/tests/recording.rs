//! Recordings of whole rollouts by the products' own controllers: the inputs, and the controllers' actions.
//!
//! `controllers/PROTOCOL.md` describes the first message, `controllers/README.md` the rest.
//!
//! Two environment variables choose recordings: `RECORDINGS=DIR` reads the folders `DIR/argocd`, `DIR/fleet` and
//! `DIR/kubefleet` (one of them is enough) instead of the repository's, and `DIR/several/argocd` and
//! `DIR/several/fleet`; `REPLAY=WORD` selects recordings whose name contains the word.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::units::SimDuration;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Recording {
    pub(super) id: String,
    pub(super) hello: Hello,
    pub(super) fleet: Rules,
    #[serde(default)]
    pub(super) script: Vec<News>,
    pub(super) until: u64,
    pub(super) product: Ready,
    /// Time, target and revision of each instruction.
    pub(super) deploy: Vec<(u64, usize, u32)>,
    /// Time and revision of each report that a rollout is complete.
    #[serde(default)]
    pub(super) completed: Vec<(u64, u32)>,
    /// Changes of the conditions that the product's objects show.
    #[serde(default)]
    pub(super) conditions: Vec<Shown>,
    /// How the recording ends: `completed`, `failed` or `running`.
    pub(super) end: String,
    /// The product's conditions at the end, which give the reason for the hold.
    pub(super) hold: Held,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shown {
    pub(super) at: u64,
    pub(super) object: String,
    pub(super) condition: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Held {
    pub(super) rule: String,
    pub(super) explanation: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) targets: Vec<Target>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    pub(super) release: Release,
    #[serde(default)]
    pub(super) latency: Latency,
    /// Flags of the product.
    #[serde(default)]
    pub(super) settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Target {
    pub(super) name: String,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    pub(super) revision: Option<u32>,
    #[serde(default)]
    pub(super) offline: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Release {
    #[serde(default)]
    pub(super) installed: u32,
    pub(super) revision: u32,
    /// The time of its publication. Only recordings of several applications have one.
    #[serde(default)]
    pub(super) at: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Latency {
    request: u64,
    pub(super) watch: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            request: 5_000_000,
            watch: 5_000_000,
        }
    }
}

impl Latency {
    pub(super) const fn request(&self) -> SimDuration {
        SimDuration::from_nanos(self.request)
    }

    pub(super) const fn watch(&self) -> SimDuration {
        SimDuration::from_nanos(self.watch)
    }
}

/// The scripted behaviour of targets.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Rules {
    pub(super) apply: u64,
    pub(super) ready: u64,
    #[serde(default)]
    pub(super) targets: BTreeMap<usize, Exception>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Exception {
    pub(super) ready: Option<u64>,
    pub(super) fails: Vec<u32>,
}

impl Rules {
    pub(super) const fn apply(&self) -> SimDuration {
        SimDuration::from_nanos(self.apply)
    }

    /// Returns the delay from the apply of a revision until it is ready. `None`: it never becomes ready.
    pub(super) fn ready(&self, target: usize, revision: u32) -> Option<SimDuration> {
        let exception = self.targets.get(&target).cloned().unwrap_or_default();
        let after = exception.ready.unwrap_or(self.ready);
        (!exception.fails.contains(&revision)).then(|| SimDuration::from_nanos(after))
    }
}

/// An event, as described in the protocol.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct News {
    pub(super) at: u64,
    /// The application, if there are several and it is not the first.
    pub(super) application: Option<usize>,
    pub(super) target: Option<usize>,
    pub(super) applied: Option<u32>,
    pub(super) ready: Option<bool>,
    pub(super) failing: Option<String>,
    pub(super) offline: Option<bool>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) selected: Option<bool>,
    pub(super) release: Option<u32>,
    pub(super) approve: Option<Approval>,
    pub(super) stop: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Approval {
    pub(super) stage: String,
    pub(super) when: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Ready {
    #[serde(default)]
    lookahead: u64,
    #[serde(rename = "version")]
    _version: IgnoredAny,
}

impl Ready {
    pub(super) const fn lookahead(&self) -> SimDuration {
        SimDuration::from_nanos(self.lookahead)
    }
}

/// Returns whether all of the repository's recordings are used, so that the expected counts apply.
pub(super) fn are_all() -> bool {
    ["RECORDINGS", "REPLAY"]
        .iter()
        .all(|name| std::env::var_os(name).is_none())
}

/// Returns all recordings of a product with one application, by name.
pub(super) fn recordings(product: &str) -> Vec<Recording> {
    recordings_in(product)
}

/// Returns all recordings in a folder for a product, by name.
pub(super) fn recordings_in<R: DeserializeOwned>(product: &str) -> Vec<R> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/closed-loop");
    let folder = std::env::var_os("RECORDINGS")
        .map_or(own, PathBuf::from)
        .join(product);
    if !are_all() && !folder.exists() {
        return Vec::new();
    }
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("recordings")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    if let Ok(wanted) = std::env::var("REPLAY") {
        files.retain(|file| file.to_string_lossy().contains(&wanted));
    }
    let mut recordings = Vec::with_capacity(files.len());
    for file in &files {
        let mut text = String::new();
        let packed = fs::File::open(file).expect("a recording");
        flate2::read::GzDecoder::new(packed)
            .read_to_string(&mut text)
            .expect("compressed text");
        let recording = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        recordings.push(recording);
    }
    recordings
}
