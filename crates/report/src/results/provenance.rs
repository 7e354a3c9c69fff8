//! `provenance.json`: the origin of results, and how to reproduce them.
//!
//! It has no time stamp, host name, absolute path or thread count: the same experiment, seed and program give the same
//! bytes everywhere. Two builds of one version may differ, so the program is also identified by commit, dependencies
//! and target. Only [`MODEL_VERSION`] matters for the comparison of results.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use itertools::Itertools;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::shard::ShardInfo;
use super::{AllowedLeft, ResultsError};
use fleetsim_units::io::{read_below, read_below_at_most};

/// The version of the results format; raised when a column changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 4;

/// The oldest version of the results format that is read. The columns that came later are empty or 0 there.
pub const OLDEST_SCHEMA_VERSION: u32 = 3;

/// The version of the model: raised by every change that changes the results of an experiment. Results of one model
/// version are equal for the same experiment and seed. A test in `tests/suite/model_version.rs` fails if results
/// change but the version does not.
pub const MODEL_VERSION: u32 = 16;

/// The file of a results folder with every setting in force.
pub const RESOLVED_FILE: &str = "resolved.yaml";

/// The folder of a results folder with a copy of every input.
pub const INPUTS_FOLDER: &str = "inputs";

/// Maximum number of variants, in an experiment and in results.
pub const MOST_VARIANTS: usize = 10_000;

/// The size limit of a provenance file; 10,000 variants with long names and many settings are smaller.
const MOST_PROVENANCE_BYTES: u64 = 100_000_000;

/// The name of the provenance file in a results folder.
pub const PROVENANCE_FILE: &str = "provenance.json";

/// Marks a provenance file as ours.
const PROGRAM: &str = "fleetsim";

/// The origin of results.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Provenance {
    /// The version of the results format.
    pub schema_version: u32,
    /// Always `fleetsim`.
    pub program: String,
    /// The version of fleetsim that simulated.
    pub program_version: String,
    /// [`MODEL_VERSION`] of the program that simulated.
    #[serde(default)]
    pub model_version: u32,
    /// The source that the program was built from.
    #[serde(default)]
    pub build: BuildInfo,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment's question.
    pub question: String,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Settings of the command line that replaced those in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Number of runs of every variant; with a precision, the minimum.
    pub replicates: u32,
    /// The requested precision. `None`: `replicates` runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionAsked>,
    /// Time limit of a run; the maximum over all variants.
    pub horizon_s: f64,
    /// The command that reproduces the results.
    pub command: String,
    /// What another program has brought along and no command has, such as a strategy in Python: words for readers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guests: Vec<String>,
    /// Every file that the experiment was read from; a copy is in [`INPUTS_FOLDER`].
    pub inputs: Vec<FileDigest>,
    /// Sentences that state whether the answer depends on links that the experiment does not set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<String>,
    /// Notes on the products' files, for each strategy that has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_notes: Vec<FileNotes>,
    /// The variants in the experiment's order. Reports show the variants listed here.
    pub variants: Vec<VariantInfo>,
    /// The limits that the experiment asserts.
    pub limits: Vec<LimitInfo>,
    /// The limits of the experiment's plan, if the experiment asserts none: the answer names the setting that meets
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aims: Vec<String>,
    /// The targets that a run may leave on the old version and still count as one that leaves none.
    #[serde(default, skip_serializing_if = "AllowedLeft::is_none")]
    pub allowed_left: AllowedLeft,
    /// The part of the study's runs; only for a shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardInfo>,
    /// The measurement conditions; only for results with emulated variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<EmulationInfo>,
    /// Every other file of the results folder, sorted by path. Filled in when the folder is written.
    pub files: Vec<FileDigest>,
}

/// The source that a program was built from, and its target.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct BuildInfo {
    /// The commit, in hexadecimal. `None` for a debug build, and outside of a checkout or a package.
    pub commit: Option<String>,
    /// Whether sources were changed after the commit. `None` if the commit is unknown.
    pub modified: Option<bool>,
    /// SHA-256 of `Cargo.lock`, in hexadecimal: the versions of all dependencies.
    pub cargo_lock_sha256: String,
    /// The target triple, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
}

/// An input file of the experiment, or a file of the results folder.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FileDigest {
    /// An input's path as written in the experiment, relative to its folder; a result's path relative to the results
    /// folder, with `/`.
    pub path: String,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// The parts of a strategy's files that are not simulated, or were read in a way that users may not expect.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FileNotes {
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The notes, each of which is one sentence with the name of the file.
    pub notes: Vec<String>,
}

/// A limit that the experiment asserts.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LimitInfo {
    /// The limit as written, such as `completion_p95 < 4h`; [`Limit::parse`](super::Limit::parse) reads it.
    pub limit: String,
    /// The strategy to which the limit applies. `None`: all strategies.
    pub strategy: Option<String>,
}

/// The conditions under which emulated variants were measured: the machine, and its load. For several runs, the worst
/// value.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct EmulationInfo {
    /// The version of the kernel.
    pub kernel: String,
    /// The registry and its version.
    pub registry: String,
    /// The container runtime's client and its version.
    pub client: String,
    /// The number of processors.
    pub processors: usize,
    /// Whether the kernel can delay and drop packets.
    pub has_netem: bool,
    /// TCP's congestion control.
    #[serde(default)]
    pub congestion: String,
    /// The queues before a link: `fair`, one for each connection, or `fifo`, one for all.
    #[serde(default)]
    pub queue: String,
    /// Whether the lab was started with `--anyway`, so that it did not wait for an idle machine.
    pub anyway: bool,
    /// Mean number of runnable processes in the minute before the measurement.
    pub load_before: f64,
    /// Share of the processors that other processes used before the measurement.
    pub busy_before_share: f64,
    /// Share of the processors that was used during the runs, including the emulation itself.
    pub busy_share: f64,
    /// Share of the processors that other guests of the machine took during the runs.
    pub steal_share: f64,
    /// Maximum delay between an event's time and its processing.
    pub late_max_s: f64,
}

/// The ending of the labels of emulated variants, their strategies and their experiments.
pub const EMULATED: &str = "emulated";

/// One variant: a strategy with one choice of swept settings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct VariantInfo {
    /// Strategy and setting in one short text, unique in the experiment.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings, `name=value`, joined by `; `; empty without a sweep.
    pub setting: String,
    /// The swept settings as a list, in the order of the sweep.
    pub settings: Vec<Setting>,
    /// The name of the variant's product. For a bound, the product whose agents and control loop the bound has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub product: String,
    /// The product's word for an entry of the fleet, such as `instance`. Empty if the word is `cluster`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Whether the variant is a bound for any pacing, which no product ships.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bound: bool,
    /// Capacity of the registry's link. `None` if unlimited, or if there are several registries.
    pub registry_egress_bytes_per_s: Option<f64>,
    /// The precision of the variant's results. `None` if no precision was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionFound>,
}

/// The requested precision.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PrecisionAsked {
    /// Half of the 95% interval of the mean that is to be reached, as a share of the mean.
    pub to: f64,
    /// The measures that must reach the precision.
    pub of: Vec<String>,
    /// Maximum number of runs of a variant.
    pub max: u32,
}

/// The precision of the results of one variant.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PrecisionFound {
    /// Number of runs of the variant.
    pub runs: u32,
    /// Whether the results reach the requested precision.
    pub reached: bool,
    /// For each measure, half of the 95% interval of the mean as a share of the mean. `None` for fewer than two
    /// values, and for values that vary around 0.
    pub half_widths: BTreeMap<String, Option<f64>>,
}

impl FileDigest {
    /// The path of an input's copy in the results folder: below `inputs`, under its own path. `None` for a path
    /// outside of the experiment's folder.
    #[must_use]
    pub fn copy(&self) -> Option<String> {
        // Backslashes become `/` first, so that they cannot escape the folder afterwards.
        let path = self.path.replace('\\', "/");
        let is_inside = Path::new(&path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        (is_inside && !path.is_empty()).then(|| format!("{INPUTS_FOLDER}/{path}"))
    }
}

/// One value that a sweep put into the experiment.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Setting {
    /// A path of the experiment file, at which the value was set.
    pub path: String,
    /// The name of the setting in results: the last key of the path, or the whole path if the key is not unique.
    pub name: String,
    /// The value of the setting, as written.
    pub value: String,
}

impl Setting {
    /// Returns whether the setting belongs to a strategy, or is the strategy or the release time of an application.
    /// Other settings define the world.
    #[must_use]
    pub fn is_of_strategy(&self) -> bool {
        Self::is_path_of_strategy(&self.path)
    }

    /// Returns whether a path of the experiment is inside a strategy, or is the strategy or the release time of an
    /// application.
    #[must_use]
    pub fn is_path_of_strategy(path: &str) -> bool {
        let Some(of_application) = path.strip_prefix("applications.") else {
            return path.starts_with("strategies.");
        };
        // A name may have a range in braces.
        let name_ends = of_application.find('}').unwrap_or(0);
        let setting = of_application[name_ends..].split_once('.');
        setting.is_some_and(|(_, setting)| {
            setting == "strategy"
                || setting == "releases"
                || setting.starts_with("releases.")
                || setting.starts_with("releases[")
        })
    }

    /// The settings that define the world: variants that share them have the same fleet, release and random numbers.
    pub fn of_world(settings: &[Self]) -> impl Iterator<Item = &Self> + Clone {
        settings.iter().filter(|setting| !setting.is_of_strategy())
    }

    /// Several settings as one text: `name=value`, joined by `; `.
    pub fn in_short<'s>(settings: impl IntoIterator<Item = &'s Self>) -> String {
        settings
            .into_iter()
            .map(|setting| format!("{}={}", setting.name, setting.value))
            .join("; ")
    }
}

impl Provenance {
    /// The provenance of one experiment's results by this program, before build, horizon, command, inputs, variants
    /// and limits are filled in.
    #[must_use]
    pub fn new(experiment: &str, question: &str, seed: u64, replicates: u32) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            program: PROGRAM.to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            model_version: MODEL_VERSION,
            experiment: experiment.to_owned(),
            question: question.to_owned(),
            seed,
            replicates,
            ..Self::default()
        }
    }

    /// Reads the provenance of a results folder. `None` if the folder has no provenance file, or another program wrote
    /// it.
    ///
    /// # Errors
    /// Returns an error if it is unreadable or damaged, or has another format.
    pub fn read(folder: &Path) -> Result<Option<Self>, ResultsError> {
        let found = read_below_at_most(folder, PROVENANCE_FILE, MOST_PROVENANCE_BYTES);
        let Some((path, text)) = if_there(folder, PROVENANCE_FILE, found)? else {
            return Ok(None);
        };
        let mark: ProvenanceMark = serde_json::from_slice(&text).unwrap_or_default();
        if mark.program != PROGRAM {
            return Ok(None);
        }
        let version = mark.schema_version.as_u64().map(u32::try_from);
        if let Some(Ok(found)) = version
            && !(OLDEST_SCHEMA_VERSION..=SCHEMA_VERSION).contains(&found)
        {
            return Err(ResultsError::SchemaVersion {
                path,
                found,
                expected: SCHEMA_VERSION,
            });
        }
        match serde_json::from_slice(&text).and_then(checked) {
            Ok(provenance) => Ok(Some(provenance)),
            Err(source) => Err(ResultsError::Provenance(path, source)),
        }
    }

    /// Like [`Provenance::read`], for a folder that must have results.
    ///
    /// # Errors
    /// Also returns an error if there is no provenance of fleetsim's.
    pub fn of_results(folder: &Path) -> Result<Self, ResultsError> {
        Self::read(folder)?.ok_or_else(|| missing(folder, PROVENANCE_FILE))
    }
}

/// The error for a folder without the given file of results.
fn missing(folder: &Path, file: &'static str) -> ResultsError {
    ResultsError::NoResults {
        folder: folder.to_owned(),
        file,
    }
}

/// The fields that identify a provenance that this program can read. All other fields are skipped.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProvenanceMark {
    program: Value,
    schema_version: Value,
}

/// Rejects values that no experiment has, before any work is done for each variant.
fn checked(provenance: Provenance) -> Result<Provenance, serde_json::Error> {
    let variants = provenance.variants.len();
    if variants > MOST_VARIANTS {
        return Err(serde_json::Error::custom(format!(
            "it must have at most {MOST_VARIANTS} variants, but it has {variants}"
        )));
    }
    Ok(provenance)
}

/// The record that a command writes into its results folder.
pub(super) trait VersionedRecord: DeserializeOwned {
    /// The name of the record's file.
    const FILE: &'static str;
    /// The fleetsim command that writes the record.
    const COMMAND: &'static str;
    /// The version of the record's format that this program reads.
    const EXPECTED_VERSION: u32;

    /// The version of the record's format in the file.
    fn version(&self) -> u32;
}

/// Reads the record of a results folder.
pub(super) fn read_record<Record: VersionedRecord>(folder: &Path) -> Result<Record, ResultsError> {
    let found = read_below(folder, Record::FILE);
    let Some((path, bytes)) = if_there(folder, Record::FILE, found)? else {
        return Err(missing(folder, Record::FILE));
    };
    let record: Record = match serde_json::from_slice(&bytes) {
        Ok(record) => record,
        Err(source) => {
            return Err(ResultsError::Record {
                path,
                command: Record::COMMAND,
                source,
            });
        }
    };
    if record.version() != Record::EXPECTED_VERSION {
        return Err(ResultsError::SchemaVersion {
            path,
            found: record.version(),
            expected: Record::EXPECTED_VERSION,
        });
    }
    Ok(record)
}

/// The path and the bytes of a file if it exists.
fn if_there(
    folder: &Path,
    name: &str,
    found: std::io::Result<Vec<u8>>,
) -> Result<Option<(PathBuf, Vec<u8>)>, ResultsError> {
    let path = folder.join(name);
    match found {
        Ok(bytes) => Ok(Some((path, bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ResultsError::io("read", &path)(error)),
    }
}

/// The bytes of a record's file: indented JSON with a line feed at its end.
///
/// # Panics
/// Does not panic: records are plain fields with text keys.
pub fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec_pretty(value).expect("plain fields with text keys are always JSON");
    bytes.push(b'\n');
    bytes
}

/// SHA-256 of `bytes`, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provenance_reads_back_and_other_files_are_not_mistaken_for_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(PROVENANCE_FILE);
        assert_eq!(
            Provenance::read(folder.path()).expect("nothing there is no error"),
            None
        );
        let provenance = Provenance::new("waves", "How high?", 7, 20);
        std::fs::write(&path, to_json(&provenance)).expect("written");
        assert_eq!(
            Provenance::read(folder.path()).expect("readable"),
            Some(provenance)
        );
        for foreign in [
            "not json",
            "{}",
            r#"{"program": "other", "schema_version": 1}"#,
        ] {
            std::fs::write(&path, foreign).expect("written");
            assert_eq!(
                Provenance::read(folder.path()).expect("foreign is no error"),
                None,
                "{foreign}"
            );
        }
        std::fs::write(&path, r#"{"program": "fleetsim", "schema_version": 99}"#).expect("written");
        let error = Provenance::read(folder.path())
            .expect_err("a later format")
            .to_string();
        assert!(error.contains("has format version 99"), "{error}");
        std::fs::write(
            &path,
            "{\"program\": \"fleetsim\",\n\"schema_version\": -1}",
        )
        .expect("written");
        let error = Provenance::read(folder.path())
            .expect_err("no version")
            .to_string();
        assert!(
            error.contains("is not a valid provenance file: ")
                && error.contains("at line 2 column"),
            "{error}"
        );
    }

    #[test]
    fn copies_of_inputs_stay_below_the_folder_of_inputs() {
        let copy = |path: &str| {
            FileDigest {
                path: path.to_owned(),
                sha256: String::new(),
            }
            .copy()
        };
        assert_eq!(copy("a/b.csv").as_deref(), Some("inputs/a/b.csv"));
        assert_eq!(copy("a\\b.csv").as_deref(), Some("inputs/a/b.csv"));
        for path in [
            "",
            "..",
            "../x",
            "/x",
            "a/../../x",
            "a\\..\\..\\..\\x",
            "..\\x",
            "\\x",
        ] {
            assert_eq!(copy(path), None, "{path}");
        }
    }

    #[test]
    fn sha256_equals_the_published_example() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
