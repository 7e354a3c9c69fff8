//! Places of constants: patterns such as `fleet[*]|downlink` against the tree of an experiment, and default values.

use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::document::path::{Path, Step};
use crate::document::reader;
use crate::document::tree::{Node, Value};
use crate::products::ProductEntry;
use crate::scenario::schema::schema;
use crate::world::{DiskClass, RegistryPreset, RuntimeVersion, SiteKind, SiteLink};

/// A place without its marks, such as `fleet[*].downlink`.
pub(super) fn plain(place: &str) -> String {
    place
        .trim_start_matches('?')
        .replacen('|', ".", 1)
        .trim_start_matches('.')
        .to_owned()
}

/// The steps of a pattern or place: keys, and `*` for all indices of a list or all keys of a map.
pub(super) fn steps(pattern: &str) -> Vec<&str> {
    pattern
        .split(['.', '[', ']', '|'])
        .filter(|step| !step.is_empty())
        .collect()
}

/// The paths in a tree that a place stands for, each with the path of what must be there. `strategy` stands for
/// `strategies.*`.
pub(super) fn paths(tree: &Node, place: &str, strategy: &str) -> Vec<(Path, Path)> {
    let (is_written, place) = match place.strip_prefix('?') {
        Some(rest) => (true, rest),
        None => (false, place),
    };
    let (needs, rest) = place.split_once('|').unwrap_or(("", place));
    let mut found = vec![Path::default()];
    for (depth, step) in steps(needs).into_iter().enumerate() {
        found = found
            .iter()
            .flat_map(|path| below(tree, path, step, depth, strategy))
            .collect();
    }
    let paths = found.into_iter().map(|needs| {
        let path = steps(rest)
            .into_iter()
            .fold(needs.clone(), |path, key| path.key(key));
        (needs, path)
    });
    let is_of_site = |path: &Path| {
        LINK.contains(&&*path.last_key()) && tree.get(&owner(path).key("site")).is_some()
    };
    paths
        .filter(|(_, path)| !is_written || tree.get(path).is_some() || is_of_site(path))
        .collect()
}

/// The settings that a kind of site has values for.
const LINK: [&str; 3] = ["downlink", "rtt", "loss"];

/// The path of the map that a setting is in.
fn owner(path: &Path) -> Path {
    Path(path.0[..path.0.len().saturating_sub(1)].to_vec())
}

/// The paths one step below a path, and those behind a `via` of the distribution.
fn below(tree: &Node, path: &Path, step: &str, depth: usize, strategy: &str) -> Vec<Path> {
    let Some(node) = tree.get(path) else {
        return Vec::new();
    };
    if step == "*" {
        return match &node.value {
            Value::List(items) => (0..items.len()).map(|index| path.index(index)).collect(),
            Value::Map(_) if path.last_key() == "strategies" => vec![path.key(strategy)],
            _ => Vec::new(),
        };
    }
    let mut found = Vec::new();
    if node.entries().iter().any(|(key, _)| key.text == step) {
        found.push(path.key(step));
    }
    if depth > 0 && matches!(path.0.first(), Some(Step::Key(top)) if top == "distribution") {
        for outer in ["lazy", "prePull"] {
            let via = path.key(outer).key("via");
            found.extend(below(tree, &via, step, depth, strategy));
        }
    }
    found
}

/// The default value at a place for a product, as a tree.
pub(super) fn default_of(place: &str, product: &ProductEntry) -> Option<Node> {
    let plain = plain(place);
    let path = steps(&plain);
    let json = match path.as_slice() {
        ["agent", rest @ ..] => get(&serde_json::to_value(product.agent).ok()?, rest)?,
        ["controller", rest @ ..] => get(&serde_json::to_value(&product.control_loop).ok()?, rest)?,
        _ => setting(&path)?.get("default")?.clone(),
    };
    Some(Node::of_value(&json, &(0..0)))
}

/// The value in force where the tree has none: that of the kind of site, the registry's preset, the container runtime
/// or the class of disk, else the default.
pub(super) fn unwritten(
    tree: &Node,
    place: &str,
    path: &Path,
    product: &ProductEntry,
) -> Option<Node> {
    let key = path.last_key();
    let owner = owner(path);
    let beside = |name: &str| tree.get(&owner.key(name));
    if is_absent(tree, path) {
        return None;
    }
    if LINK.contains(&&*key)
        && let Some(site) = beside("site")
    {
        let link = |site: SiteKind| {
            let SiteLink {
                downlink,
                rtt,
                loss,
                ..
            } = site.link();
            json!({ "downlink": downlink, "rtt": rtt, "loss": loss })
        };
        return of_choice(site, link, &key);
    }
    if owner.last_key() == "node"
        && let Some(value) =
            beside("runtime").and_then(|runtime| of_choice(runtime, RuntimeVersion::spec, &key))
    {
        return Some(value);
    }
    if owner == Path::of("node").key("disk")
        && let Some(class) = beside("class")
    {
        return of_choice(class, DiskClass::spec, &key);
    }
    if owner.last_key() == "registry"
        && let Some(preset) = beside("preset")
    {
        return of_choice(preset, RegistryPreset::spec, &key);
    }
    default_of(place, product)
}

/// The value of a setting where another one chooses all of a kind.
fn of_choice<C: DeserializeOwned, S: Serialize>(
    choice: &Node,
    spec: impl Fn(C) -> S,
    key: &str,
) -> Option<Node> {
    let spec = Node::of_value(&spec(reader::read(choice.clone()).value?), &(0..0));
    spec.get(&Path::of(key)).cloned()
}

/// A setting beside an unwritten one takes its place: connections have the rates of a content delivery network, and
/// nodes without a disk have neither its rate nor its buffer.
pub(super) fn is_absent(tree: &Node, path: &Path) -> bool {
    let (owner, key) = (owner(path), path.last_key());
    let beside = |name: &str| tree.get(&owner.key(name));
    if owner == Path::of("node").key("disk") {
        let has_none = beside("class").is_some_and(|class| class.short_text() == "none");
        return key != "class" && has_none && beside("rate").is_none();
    }
    owner.last_key() == "registry" && key == "perConnection" && beside("cdn").is_some()
}

fn get(json: &Json, path: &[&str]) -> Option<Json> {
    path.iter()
        .try_fold(json, |json, key| json.get(key))
        .cloned()
}

/// The JSON Schema of experiment files.
pub(super) fn whole() -> &'static Json {
    static SCHEMA: LazyLock<Json> = LazyLock::new(schema);
    &SCHEMA
}

/// The schema of the setting at a path, in which `*` stands for an index or a name.
pub(super) fn setting(path: &[&str]) -> Option<&'static Json> {
    let whole = whole();
    path.iter()
        .try_fold(whole, |schema, step| child(whole, schema, step))
}

/// Returns true if experiments have a setting at a path such as `fleet[0].downlink` or `fleet[*].downlink`.
pub(crate) fn is_setting(path: &str) -> bool {
    let whole = whole();
    let below =
        |schema, step: &str| child(whole, schema, step).or_else(|| child(whole, schema, "*"));
    let steps = steps(path);
    !steps.is_empty() && steps.into_iter().try_fold(whole, below).is_some()
}

/// One step down in a schema, through references and alternatives.
fn child(whole: &'static Json, schema: &'static Json, step: &str) -> Option<&'static Json> {
    let target = resolved(whole, schema);
    let below = if step == "*" {
        target.get("items").or_else(|| {
            target
                .get("additionalProperties")
                .filter(|below| below.is_object())
        })
    } else {
        target
            .get("properties")
            .and_then(|properties| properties.get(step))
    };
    below.or_else(|| {
        let alternatives = ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|key| target.get(*key)?.as_array());
        alternatives
            .flatten()
            .find_map(|alternative| child(whole, alternative, step))
    })
}

/// A schema, or the one that it refers to.
pub(super) fn resolved(whole: &'static Json, schema: &'static Json) -> &'static Json {
    let name = schema
        .get("$ref")
        .and_then(Json::as_str)
        .and_then(|name| name.strip_prefix("#/$defs/"));
    name.and_then(|name| whole["$defs"].get(name))
        .unwrap_or(schema)
}
