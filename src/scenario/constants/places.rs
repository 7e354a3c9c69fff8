//! Path patterns of constants: matches patterns such as `fleet[*]|downlink` with the tree of an experiment, and finds
//! default values.

use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::document::path::{Path, Step};
use crate::document::reader;
use crate::document::tree::{Node, Value};
use crate::products::ProductEntry;
use crate::scenario::alternatives::Alternatives;
use crate::scenario::schema::schema;
use crate::units::BytesPerSec;
use crate::world::{DiskClass, RegistryPreset, RuntimeVersion, SiteKind, SiteLink};

/// The mark of a setting beside the one that must exist: `cpu|^.cpuPerSync` is `cpuPerSync` where `cpu` is written.
const BESIDE: &str = "^";

/// Returns a pattern without its marks, such as `fleet[*].downlink`.
pub(super) fn plain(place: &str) -> String {
    let place = place.trim_start_matches('?');
    if let Some((needs, beside)) = place.split_once("|^.") {
        let map = needs.rsplit_once('.').map_or("", |(map, _)| map);
        return format!("{map}.{beside}");
    }
    place
        .replacen('|', ".", 1)
        .trim_start_matches('.')
        .to_owned()
}

/// Returns the steps of a pattern: keys, and `*` for all indices of a list or all keys of a map.
pub(super) fn steps(pattern: &str) -> Vec<&str> {
    pattern
        .split(['.', '[', ']', '|'])
        .filter(|step| !step.is_empty())
        .collect()
}

/// A path in a tree that matches a constant's pattern.
pub(super) struct ConstantPath {
    /// The path of the setting that must exist.
    pub(super) needs: Path,
    pub(super) path: Path,
}

/// Returns the paths in a tree that match a pattern. `strategies.*` are the strategies of a variant, and a pattern in
/// `release` is one in the release of each application, too.
pub(super) fn paths(tree: &Node, place: &str, strategy: &str) -> Vec<ConstantPath> {
    let (must_be_written, place) = match place.strip_prefix('?') {
        Some(rest) => (true, rest),
        None => (false, place),
    };
    let (needs, rest) = place.split_once('|').unwrap_or(("", place));
    let mut found = matching(tree, &steps(needs), strategy);
    if needs == "release" || needs.starts_with("release.") {
        let mut of_applications = vec!["applications", "*"];
        of_applications.extend(steps(needs));
        found.extend(matching(tree, &of_applications, strategy));
    }
    let mut paths = Vec::new();
    for needs in found {
        let mut path = needs.clone();
        for key in steps(rest) {
            path = if key == BESIDE {
                owner(&path)
            } else {
                path.key(key)
            };
        }
        if !must_be_written || tree.get(&path).is_some() || is_of_site(tree, &path) {
            paths.push(ConstantPath { needs, path });
        }
    }
    paths
}

/// Returns the paths in a tree that match these steps.
fn matching(tree: &Node, steps: &[&str], strategy: &str) -> Vec<Path> {
    let mut found = vec![Path::default()];
    for (depth, step) in steps.iter().enumerate() {
        let mut deeper = Vec::new();
        for path in &found {
            deeper.extend(below(tree, path, step, depth, strategy));
        }
        found = deeper;
    }
    found
}

/// Returns whether the kind of site next to a setting determines the setting's default.
fn is_of_site(tree: &Node, path: &Path) -> bool {
    let is_link = is_of_link(path) && tree.get(&owner(path).key("site")).is_some();
    is_link || gaps_of_site(tree, path).is_some()
}

/// Returns the gaps of the links of a kind of site, if `path` is a setting of gaps that are not written.
pub(super) fn gaps_of_site(tree: &Node, path: &Path) -> Option<Node> {
    let gaps = owner(path);
    if gaps.last_key() != "gaps" || tree.get(&gaps).is_some() {
        return None;
    }
    let site = tree.get(&owner(&gaps).key("site"))?;
    let site: SiteKind = reader::read(site.clone()).value?;
    Some(Node::of_value(&site.link().gaps?, &(0..0)))
}

/// Returns whether a kind of site determines the default of this setting.
fn is_of_link(path: &Path) -> bool {
    LINK.contains(&&*path.last_key())
}

/// The settings whose defaults depend on the kind of site.
const LINK: [&str; 3] = ["downlink", "rtt", "loss"];

/// Returns the path of the map that contains a setting.
pub(super) fn owner(path: &Path) -> Path {
    Path(path.0[..path.0.len().saturating_sub(1)].to_vec())
}

/// Returns the paths one step below a path, including paths below a `via` of the distribution.
fn below(tree: &Node, path: &Path, step: &str, depth: usize, strategy: &str) -> Vec<Path> {
    let Some(node) = tree.get(path) else {
        return Vec::new();
    };
    if step == "*" {
        return match &node.value {
            Value::List(items) => (0..items.len()).map(|index| path.index(index)).collect(),
            Value::Map(_) if path.last_key() == "strategies" => {
                let alternatives = Alternatives::of(tree);
                let names = alternatives.in_variant(strategy);
                names.into_iter().map(|name| path.key(name)).collect()
            }
            Value::Map(entries) if path.last_key() == "applications" => {
                entries.iter().map(|(key, _)| path.key(&key.text)).collect()
            }
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

/// Returns a product's default value for a pattern, as a tree.
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

/// Returns the value in force if the tree has none. It comes from the kind of site, the registry's preset, the
/// container runtime, the class of disk, or the default.
pub(super) fn unwritten(
    tree: &Node,
    place: &str,
    path: &Path,
    product: &ProductEntry,
) -> Option<Node> {
    let key = path.last_key();
    let owner = owner(path);
    if is_absent(tree, path) {
        return None;
    }
    if is_of_link(path)
        && let Some(site) = tree.get(&owner.key("site"))
    {
        return of_choice(site, link_of_site, &key);
    }
    if owner == Path::of("node")
        && key == "nic"
        && let SiteCards::Alike(nic) = SiteCards::of(tree)
    {
        return Some(Node::of_value(&json!(nic), &(0..0)));
    }
    if owner.last_key() == "node"
        && let Some(runtime) = tree.get(&owner.key("runtime"))
        && let Some(value) = of_choice(runtime, RuntimeVersion::spec, &key)
    {
        return Some(value);
    }
    if owner == Path::of("node").key("disk")
        && let Some(class) = tree.get(&owner.key("class"))
    {
        return of_choice(class, DiskClass::spec, &key);
    }
    if owner.last_key() == "registry"
        && let Some(preset) = tree.get(&owner.key("preset"))
    {
        return of_choice(preset, RegistryPreset::spec, &key);
    }
    if let Some(gaps) = gaps_of_site(tree, path) {
        return gaps.get(&Path::of(&key)).cloned();
    }
    if let Some(network) = network_of_preset(tree, path) {
        return network.get(&Path::of(&key)).cloned();
    }
    default_of(place, product)
}

/// The network cards that the kinds of sites determine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SiteCards {
    /// No site determines its nodes' cards.
    Free,
    /// All sites have the same cards.
    Alike(BytesPerSec),
    /// Only some sites determine their cards, so there is no single value.
    Mixed,
}

impl SiteCards {
    fn of(tree: &Node) -> Self {
        let mut places = Vec::new();
        let groups = tree.get(&Path::of("fleet"));
        for index in 0..groups.map_or(0, |fleet| fleet.items().len()) {
            places.push(Path::of("fleet").index(index));
        }
        if tree.get(&Path::of("inventory")).is_some() {
            places.push(Path::of("inventory").key("default"));
        }
        let mut cards = Vec::new();
        for place in places {
            let site = tree.get(&place.key("site"));
            let site: Option<SiteKind> = site.and_then(|site| reader::read(site.clone()).value);
            cards.push(site.and_then(|site| site.link().nic));
        }
        match cards.first() {
            Some(&first) if cards.iter().all(|card| *card == first) => {
                first.map_or(Self::Free, Self::Alike)
            }
            None => Self::Free,
            Some(_) => Self::Mixed,
        }
    }
}

/// Returns the settings in [`LINK`] for a kind of site.
fn link_of_site(site: SiteKind) -> Json {
    let SiteLink {
        downlink,
        rtt,
        loss,
        ..
    } = site.link();
    json!({ "downlink": downlink, "rtt": rtt, "loss": loss })
}

/// Returns the value of a setting in the preset that another setting selects.
fn of_choice<C: DeserializeOwned, S: Serialize>(
    choice: &Node,
    spec: impl Fn(C) -> S,
    key: &str,
) -> Option<Node> {
    let spec = Node::of_value(&spec(reader::read(choice.clone()).value?), &(0..0));
    spec.get(&Path::of(key)).cloned()
}

/// Returns the content delivery network of a registry's preset, if `path` is a setting of one that is not written.
fn network_of_preset(tree: &Node, path: &Path) -> Option<Node> {
    let network = owner(path);
    if network.last_key() != "cdn" || tree.get(&network).is_some() {
        return None;
    }
    let preset = tree.get(&owner(&network).key("preset"))?;
    let found = of_choice(preset, RegistryPreset::spec, "cdn")?;
    (!found.entries().is_empty()).then_some(found)
}

/// The settings of a disk that mean nothing without its size.
const NEED_SIZE: [&str; 3] = ["used", "unusedImages", "collection"];

/// Returns whether an unwritten setting has no value because of another one: connections have the rates of a content
/// delivery network, registries without one have no rates of it, nodes without a disk have neither a disk rate nor a
/// buffer, disks without a size have no space, some sites determine their cards, and peers may have no time-outs.
pub(super) fn is_absent(tree: &Node, path: &Path) -> bool {
    let owner = owner(path);
    let key = path.last_key();
    if owner.last_key() == "cdn" {
        return tree.get(&owner).is_none() && network_of_preset(tree, path).is_none();
    }
    if owner == Path::of("node").key("disk") {
        if NEED_SIZE.contains(&&*key) {
            return tree.get(&owner.key("size")).is_none();
        }
        let class = tree.get(&owner.key("class"));
        let has_none = class.is_some_and(|class| class.short_text() == "none");
        return key != "class" && has_none && tree.get(&owner.key("rate")).is_none();
    }
    if is_card_of_mixed_sites(tree, path) {
        return true;
    }
    if owner.last_key() == "timeouts" {
        return tree
            .get(&owner)
            .is_some_and(|timeouts| matches!(timeouts.value, Value::Null));
    }
    let network = owner.key("cdn");
    owner.last_key() == "registry"
        && key == "perConnection"
        && (tree.get(&network).is_some() || network_of_preset(tree, &network.key("cold")).is_some())
}

/// Returns whether `path` is the card of all nodes, which only some sites determine, so that it has no single value.
pub(super) fn is_card_of_mixed_sites(tree: &Node, path: &Path) -> bool {
    owner(path) == Path::of("node")
        && path.last_key() == "nic"
        && SiteCards::of(tree) == SiteCards::Mixed
}

fn get(json: &Json, path: &[&str]) -> Option<Json> {
    let mut found = json;
    for key in path {
        found = found.get(key)?;
    }
    Some(found.clone())
}

/// Returns the JSON Schema of experiment files.
pub(super) fn whole() -> &'static Json {
    static SCHEMA: LazyLock<Json> = LazyLock::new(schema);
    &SCHEMA
}

/// Returns the schema of the setting at a path. `*` stands for any index or name.
pub(super) fn setting(path: &[&str]) -> Option<&'static Json> {
    let whole = whole();
    let mut schema = whole;
    for step in path {
        schema = child(whole, schema, step)?;
    }
    Some(schema)
}

/// Returns true if experiments have a setting at a path such as `fleet[0].downlink` or `fleet[*].downlink`.
pub(crate) fn is_setting(path: &str) -> bool {
    let whole = whole();
    let mut schema = whole;
    let steps = steps(path);
    for step in &steps {
        match child(whole, schema, step).or_else(|| child(whole, schema, "*")) {
            Some(below) => schema = below,
            None => return false,
        }
    }
    !steps.is_empty()
}

/// Returns the schema one step below another one, through references and alternatives.
fn child(whole: &'static Json, schema: &'static Json, step: &str) -> Option<&'static Json> {
    let target = resolved(whole, schema);
    if let Some(below) = own_child(target, step) {
        return Some(below);
    }
    for kind in ["anyOf", "oneOf", "allOf"] {
        let alternatives = target.get(kind).and_then(Json::as_array);
        for alternative in alternatives.into_iter().flatten() {
            if let Some(below) = child(whole, alternative, step) {
                return Some(below);
            }
        }
    }
    None
}

/// Returns the schema one step below another one, without its alternatives. `*` stands for any item of a list or any
/// value of a map.
fn own_child(schema: &'static Json, step: &str) -> Option<&'static Json> {
    if step != "*" {
        return schema.get("properties")?.get(step);
    }
    if let Some(items) = schema.get("items") {
        return Some(items);
    }
    schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
}

/// Returns a schema, or the schema that it refers to.
pub(super) fn resolved(whole: &'static Json, schema: &'static Json) -> &'static Json {
    let name = schema
        .get("$ref")
        .and_then(Json::as_str)
        .and_then(|name| name.strip_prefix("#/$defs/"));
    name.and_then(|name| whole["$defs"].get(name))
        .unwrap_or(schema)
}
