//! Reads an app manifest as Cloud Foundry does.
//!
//! The API reads the first YAML document with Ruby's `Psych.safe_load`, which rejects aliases and dates
//! (`app/controllers/v3/application_controller.rb` of cloudfoundry/cloud_controller_ng), and converts names to snake
//! case (`app/messages/app_manifest_message.rb`). A web process in `processes` overrides the settings of the app;
//! other processes are not updated gradually. Left out: the formats of memory, disk and routes.

use std::path::Path as FsPath;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::super::draft::AppField;
use super::super::kinds::MANIFEST;
use super::super::sources::Texts;
use super::{AppFacts, readiness, start_timeout};
use crate::document::documents::{documents, only};
use crate::document::path::{Path, Step};
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::document::tree::{self, MOST_YAML_VALUES, Node, Value};
use crate::products::fields::{APP_MANIFEST, DecidingField, checked};
use crate::units::counted;

const REFUSED: &str = "Cloud Foundry refuses this too";

/// Settings of an app that a web process in `processes` overrides.
const OF_PROCESS: [&str; 9] = [
    "instances",
    "memory",
    "log-rate-limit-per-second",
    "health-check-type",
    "health-check-interval",
    "timeout",
    "readiness-health-check-type",
    "readiness-health-check-interval",
    "command",
];

/// The kinds of health checks; `none` is an old name for `process`.
const CHECKS: [&str; 4] = ["port", "process", "http", "none"];

/// A manifest that Cloud Foundry can read.
struct AppManifest {
    source: Arc<Source>,
    root: Node,
    deciding: Vec<DecidingField>,
}

/// Reads the requested app in a manifest, or the only app.
///
/// # Errors
/// Returns everything that Cloud Foundry rejects.
pub(super) fn read(
    path: &FsPath,
    wanted: Option<&str>,
    texts: &mut Texts,
    read: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> OrProblems<AppFacts> {
    let source = texts.read(path, MANIFEST.command)?;
    let manifest = AppManifest::read(&source, notes)?;
    let at = manifest.app_index(wanted)?;
    let app = Path::of("applications").index(at);
    let web = manifest.web_process(&app)?;
    manifest.check_version()?;
    let deciding = manifest.deciding(&app, web.as_ref());
    // The app's settings apply to its web process unless that process is listed.
    let process = web.as_ref().unwrap_or(&app);
    if web.is_some() {
        notes.extend(manifest.note_on_replaced(&app, &source.name));
    }
    let instances = manifest.instances(&process.key("instances"))?;
    let name = manifest.text(&app.key("name"))?.unwrap_or_default();
    if name.is_empty() {
        let problem = manifest.problem(&app, "Name must not be empty");
        return Err(vec![problem.with_help(REFUSED)]);
    }
    let health = manifest.check_kind(&process.key("health-check-type"))?;
    let timeout = manifest.timeout(&process.key("timeout"))?;
    let kind = manifest.check_kind(&process.key("readiness-health-check-type"))?;
    let interval = manifest.number(&process.key("readiness-health-check-interval"))?;
    read.push(format!(
        "{}: the app `{name}` with {}",
        source.name,
        counted(instances, "instance")
    ));
    Ok(AppFacts {
        name,
        origin: source.name.clone(),
        instances,
        readiness: readiness(kind.as_deref(), interval),
        start_timeout: start_timeout(health.as_deref(), timeout),
        deciding,
    })
}

impl AppManifest {
    fn read(source: &Arc<Source>, notes: &mut Vec<String>) -> OrProblems<Self> {
        // For JSON, the JSON reader reports where the text is cut off.
        if source.text.trim_start().starts_with('{') {
            MANIFEST.read::<IgnoredAny>(source)?;
        }
        let ranges = documents(&source.text);
        let first = match ranges.first() {
            Some(range) if ranges.len() > 1 => {
                let count = ranges.len();
                let name = &source.name;
                notes.push(format!(
                    "{name}: of {count} YAML documents the first is read, as Cloud Foundry does"
                ));
                Arc::new(source.with_text(only(&source.text, range)))
            }
            _ => Arc::clone(source),
        };
        if tree::has_alias(&first) {
            let problem = Problem::of_file(&source.name, "the manifest has an alias (`*name`)");
            let help = "write the values out; Cloud Foundry refuses aliases in a manifest";
            return Err(vec![problem.with_help(help)]);
        }
        let (mut root, replaced) =
            tree::parse_as_product(MOST_YAML_VALUES, &first).map_err(|problem| vec![*problem])?;
        if root.get(&Path::of("applications")).is_none() {
            // The generic reader reports the kind of file that this is instead.
            MANIFEST.read::<IgnoredAny>(source)?;
        }
        if let Some(problem) = date_in(&root, &first) {
            return Err(vec![problem]);
        }
        let found = checked(&mut root, &replaced, &first, &APP_MANIFEST);
        if !found.problems.is_empty() {
            return Err(found.problems);
        }
        for note in found.notes {
            notes.push(format!("{}: {note}", source.name));
        }
        Ok(Self {
            source: first,
            root,
            deciding: found.deciding,
        })
    }

    fn problem(&self, path: &Path, message: impl Into<String>) -> Problem {
        let message: String = message.into();
        self.source
            .at(self.root.place(path), path.to_string(), message)
    }

    /// Returns the items of a list.
    fn items(&self, path: &Path) -> &[Node] {
        self.root.get(path).map_or(&[], Node::items)
    }

    /// Returns the index of the requested app, or of the only app.
    fn app_index(&self, wanted: Option<&str>) -> OrProblems<usize> {
        let list = Path::of("applications");
        let mut names = Vec::new();
        for at in 0..self.items(&list).len() {
            let name = self.text(&list.index(at).key("name"))?;
            names.push(name.unwrap_or_default());
        }
        let problem = match (wanted, names.len()) {
            (Some(name), _) => {
                if let Some(index) = names.iter().position(|known| known == name) {
                    return Ok(index);
                }
                self.problem(&list, format!("the manifest has no app `{name}`"))
                    .with_help(format!("it has {}", some_of(&names)))
            }
            (None, 1) => return Ok(0),
            (None, 0) => self
                .problem(&list, "the manifest has no apps")
                .with_help("write one"),
            (None, count) => self
                .problem(&list, format!("the manifest has {count} apps"))
                .with_help(format!("choose one with --app: {}", some_of(&names))),
        };
        Err(vec![problem])
    }

    /// Returns the web process of an app, if its processes are listed.
    fn web_process(&self, app: &Path) -> OrProblems<Option<Path>> {
        let list = app.key("processes");
        let mut types: Vec<String> = Vec::new();
        let mut web = None;
        for at in 0..self.items(&list).len() {
            let process = list.index(at);
            let kind = self.text(&process.key("type"))?.unwrap_or_default();
            let message = if kind.is_empty() {
                "All Processes must specify a type".to_owned()
            } else if types.contains(&kind) {
                format!("Process \"{kind}\" may only be present once")
            } else {
                if kind == "web" {
                    web = Some(process);
                }
                types.push(kind);
                continue;
            };
            return Err(vec![self.problem(&process, message).with_help(REFUSED)]);
        }
        Ok(web)
    }

    /// Returns the fields of an app and of its web process that affect the rollout but are not simulated.
    fn deciding(&self, app: &Path, web: Option<&Path>) -> Vec<AppField> {
        let mut found = Vec::new();
        for field in &self.deciding {
            let is_of_app = field.path.starts_with(app)
                && !field.path.starts_with(&app.key("processes"))
                && !(web.is_some() && is_of_process(&field.path, app));
            let is_of_web = web.is_some_and(|web| field.path.starts_with(web));
            if !is_of_app && !is_of_web {
                continue;
            }
            let at = self.root.key_place(&field.path);
            let name = field.path.to_string();
            found.push(AppField::of(field.clone(), |message| {
                self.source.at(at, name, message)
            }));
        }
        found
    }

    /// Rejects a manifest version that Cloud Foundry rejects: `check_version_is_supported!` in
    /// `app/controllers/v3/space_manifests_controller.rb`.
    fn check_version(&self) -> OrProblems<()> {
        let path = Path::of("version");
        match self.root.get(&path).map(|node| &node.value) {
            None | Some(Value::Null | Value::Bool(false) | Value::Int(1)) => Ok(()),
            Some(_) => {
                let message =
                    "Unsupported manifest schema version. Currently supported versions: [1].";
                Err(vec![self.problem(&path, message).with_help(REFUSED)])
            }
        }
    }

    /// Returns the timeout of a health check.
    fn timeout(&self, path: &Path) -> OrProblems<Option<u64>> {
        let timeout = self.number(path)?;
        if timeout == Some(0) {
            let message = "Timeout must be greater than or equal to 1";
            return Err(vec![self.problem(path, message).with_help(REFUSED)]);
        }
        Ok(timeout)
    }

    /// Returns the note about settings of an app that its web process overrides.
    fn note_on_replaced(&self, app: &Path, file: &str) -> Option<String> {
        let mut names = Vec::new();
        for name in OF_PROCESS {
            if self.root.get(&app.key(name)).is_some() {
                names.push(format!("`{name}`"));
            }
        }
        if names.is_empty() {
            return None;
        }
        Some(format!(
            "{file}: {} of the app: without effect, because Cloud Foundry uses the web process in `processes` instead",
            names.join(", ")
        ))
    }

    /// Returns the number of instances. The default is 1.
    fn instances(&self, path: &Path) -> OrProblems<u64> {
        Ok(self.number(path)?.unwrap_or(1))
    }

    /// Returns a number, which may be written as a string of digits.
    fn number(&self, path: &Path) -> OrProblems<Option<u64>> {
        let Some(node) = self.root.get(path) else {
            return Ok(None);
        };
        let number = match &node.value {
            Value::Null => return Ok(None),
            Value::Int(number) => u64::try_from(*number).ok(),
            Value::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().ok()
            }
            _ => None,
        };
        if number.is_some() {
            return Ok(number);
        }
        let message = format!("`{}` is not a whole number, 0 or more", node.short_text());
        let help = "replace the variable with its number; Cloud Foundry refuses this too";
        Err(vec![self.problem(path, message).with_help(help)])
    }

    /// Returns the kind of a health check.
    fn check_kind(&self, path: &Path) -> OrProblems<Option<String>> {
        let kind = self.text(path)?;
        if let Some(kind) = &kind
            && !CHECKS.contains(&kind.as_str())
        {
            let message = format!("`{kind}` must be \"port\", \"process\", or \"http\"");
            return Err(vec![self.problem(path, message).with_help(REFUSED)]);
        }
        Ok(kind)
    }

    fn text(&self, path: &Path) -> OrProblems<Option<String>> {
        match self.root.get(path).map(|node| &node.value) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(vec![
                self.problem(path, "must be a text, in quotes")
                    .with_help(REFUSED),
            ]),
        }
    }
}

/// Returns whether a field in an app also exists in its web process.
fn is_of_process(path: &Path, app: &Path) -> bool {
    match path.0.get(app.0.len()) {
        Some(Step::Key(key)) => OF_PROCESS.contains(&key.as_str()),
        _ => false,
    }
}

/// Returns the problem with a date or symbol, to which Ruby's reader converts some unquoted strings.
fn date_in(node: &Node, source: &Arc<Source>) -> Option<Problem> {
    match &node.value {
        Value::Text(text) => {
            let written = source.text.get(node.at.clone()).unwrap_or_default();
            let is_quoted = written.starts_with(['"', '\'', '|', '>']);
            let class = class_of(text).filter(|_| !is_quoted)?;
            let message =
                format!("`{text}` is a {class}, which Cloud Foundry refuses in a manifest");
            let problem = source.at(node.at.clone(), "", message);
            Some(problem.with_help("write it in quotes"))
        }
        Value::List(items) => items.iter().find_map(|item| date_in(item, source)),
        Value::Map(entries) => entries.iter().find_map(|(_, value)| date_in(value, source)),
        _ => None,
    }
}

/// Returns the Ruby class of an unquoted string, if manifests must not contain that class.
fn class_of(text: &str) -> Option<&'static str> {
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let parts: Vec<&str> = date.split('-').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if let [year, month, day] = parts[..]
        && year.len() == 4
        && month.len() <= 2
        && day.len() <= 2
        && parts.iter().all(is_number)
        && (time.is_empty() || is_time(time))
    {
        return Some("date");
    }
    let is_symbol = text.len() > 1 && text.starts_with(':') && !text.contains(' ');
    is_symbol.then_some("symbol")
}

/// Returns whether a string is a time of day, optionally with a time zone.
fn is_time(text: &str) -> bool {
    let of_time = |byte: u8| byte.is_ascii_digit() || b":.+- Z".contains(&byte);
    text.contains(':') && text.bytes().all(of_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_ruby_reads_as_dates_or_symbols_are_treated_as_such() {
        for (text, class) in [
            ("2026-01-02", Some("date")),
            ("2026-1-2 10:00:00 Z", Some("date")),
            (":shop", Some("symbol")),
            ("1.2-3-4", None),
            ("cflinuxfs4", None),
            ("2026-01", None),
            ("2026-01-02 was a Friday", None),
        ] {
            assert_eq!(class_of(text), class, "{text}");
        }
    }
}
