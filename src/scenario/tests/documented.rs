//! Tests that the tables in docs/experiment-format.md and its chapters match the schema, and that the documented
//! defaults are the actual defaults.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

const OPEN: &str = "<!-- generated: ";
/// Maximum length of a default in a cell, in characters.
const LONGEST_DEFAULT: usize = 75;
const CLOSE: &str = "<!-- end of generated -->";
/// Minimum number of chapters that are checked.
const FEWEST_CHAPTERS: usize = 15;

#[test]
fn the_tables_of_the_format_document_are_current() {
    let schema = crate::scenario::schema();
    let mut outdated = Vec::new();
    for path in format_pages() {
        let written = std::fs::read_to_string(&path).expect("the page");
        let current = with_tables(&written, &schema);
        if written == current {
            continue;
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, current).expect("docs can be written");
        } else {
            outdated.push(path);
        }
    }
    assert!(
        outdated.is_empty(),
        "these pages are out of date; write them with `UPDATE_DOCS=1 cargo test --lib documented`: {outdated:?}"
    );
}

/// Returns the page about the format, and its chapters in name order.
pub(in crate::scenario) fn format_pages() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let chapters = std::fs::read_dir(docs.join("experiment-format")).expect("the folder");
    let mut pages: Vec<PathBuf> = chapters
        .map(|chapter| chapter.expect("a chapter").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(
        pages.len() >= FEWEST_CHAPTERS,
        "only {} chapters",
        pages.len()
    );
    pages.sort();
    pages.insert(0, docs.join("experiment-format.md"));
    pages
}

/// Returns the document with regenerated tables between its markers.
fn with_tables(document: &str, schema: &Value) -> String {
    let mut parts = document.split(OPEN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").expect("a marker ends");
        let (_, after) = rest.split_once(CLOSE).expect("a generated table ends");
        text += &format!("{OPEN}{name} -->\n{}{CLOSE}{after}", table(schema, name));
    }
    text
}

/// Returns a type's fields as a table, whose cells contain the first sentence of each description, and a list of the
/// remaining sentences.
fn table(schema: &Value, name: &str) -> String {
    if let Some(settings) = name.strip_prefix("defaults of ") {
        return defaults_by_product(settings);
    }
    let of = match name {
        "experiment" => schema,
        _ if schema["properties"][name].is_object() => &schema["properties"][name],
        _ => &schema["$defs"][name],
    };
    if let Some(choices) = of["oneOf"].as_array() {
        return choice_table(choices);
    }
    let fields = of["properties"]
        .as_object()
        .unwrap_or_else(|| panic!("`{name}` has fields"));
    let required = of["required"].as_array().cloned().unwrap_or_default();
    let mut table = String::from("| field | value | default | meaning |\n|---|---|---|---|\n");
    let mut more = String::new();
    for (field, property) in fields {
        let (meaning, mut rest) = meaning(property);
        let default = match property.get("default").map(short) {
            Some(text) if text.len() > LONGEST_DEFAULT => "see below".to_owned(),
            Some(text) if !text.is_empty() => text,
            _ if required.contains(&Value::from(field.as_str())) => "required".to_owned(),
            _ => stated_default(&mut rest),
        };
        table += &format!(
            "| `{field}` | {} | {default} | {} |\n",
            value(schema, property),
            meaning.replace('|', "\\|")
        );
        more += &list_item(field, &rest);
    }
    with_list(table, &more)
}

/// Returns the default that a description states in a separate sentence, and removes the sentence.
fn stated_default(rest: &mut String) -> String {
    let sentences: Vec<&str> = rest.trim_end_matches('.').split(". ").collect();
    let stated = sentences.iter().find_map(|text| {
        text.strip_prefix("Default: ")
            .or(text.strip_prefix("Absent: "))
    });
    match stated
        .filter(|text| text.len() <= LONGEST_DEFAULT && !text.contains(';'))
        .map(str::to_owned)
    {
        Some(default) => {
            let others: Vec<&str> = sentences
                .into_iter()
                .filter(|text| !text.ends_with(&format!(": {default}")))
                .collect();
            *rest = if others.is_empty() {
                String::new()
            } else {
                others.join(". ") + "."
            };
            default
        }
        None if ["efault", "Absent", "Without it"]
            .iter()
            .any(|word| rest.contains(word)) =>
        {
            "see below".to_owned()
        }
        None => "none".to_owned(),
    }
}

/// Returns the defaults of settings that depend on the product, with one column per setting.
fn defaults_by_product(settings: &str) -> String {
    let mut products: Vec<(Value, Vec<&str>)> = Vec::new();
    for product in crate::products::PRODUCTS {
        let value = match settings {
            "controller" => serde_json::to_value(&product.control_loop),
            "agent" => serde_json::to_value(product.agent),
            "crashBackoff" => serde_json::to_value(product.restarts),
            other => panic!("no settings are called `{other}`"),
        };
        let value = crate::scenario::schema::tests::as_written(value.expect("settings are JSON"));
        match products.iter_mut().find(|(other, _)| *other == value) {
            Some((_, keys)) => keys.push(product.key),
            None => products.push((value, vec![product.key])),
        }
    }
    let fields: Vec<&String> = products[0]
        .0
        .as_object()
        .expect("settings are a map")
        .keys()
        .collect();
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut table = row(std::iter::once("strategy".to_owned())
        .chain(fields.iter().map(|f| format!("`{f}`")))
        .collect());
    table += &format!("|{}\n", "---|".repeat(fields.len() + 1));
    let most = products.iter().map(|(_, keys)| keys.len()).max();
    for (value, keys) in &products {
        let all = keys.len() > 5 && Some(keys.len()) == most;
        let keys = if all {
            "all others".to_owned()
        } else {
            keys.iter()
                .map(|key| format!("`{key}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        table += &row(std::iter::once(keys)
            .chain(fields.iter().map(|field| cell(&value[*field])))
            .collect());
    }
    table
}

/// Returns a value for a cell of a table. A choice with many settings is reduced to its key.
fn cell(value: &Value) -> String {
    let text = short(value);
    match value.as_object().and_then(|choice| choice.keys().next()) {
        Some(key) if text.len() > LONGEST_DEFAULT => format!("{{{key}: {{}}}}"),
        _ => text,
    }
}

/// Returns a table, followed by a list if there is one.
fn with_list(table: String, list: &str) -> String {
    if list.is_empty() {
        table
    } else {
        format!("{table}\n{list}")
    }
}

fn list_item(field: &str, rest: &str) -> String {
    if rest.is_empty() {
        String::new()
    } else {
        wrapped(&format!("- `{field}`: {}", rest.trim_start()))
    }
}

/// Returns the values of a choice, each of which may be a key with settings below it.
fn choice_table(choices: &[Value]) -> String {
    let mut table = String::from("| choice | meaning |\n|---|---|\n");
    let mut more = String::new();
    for choice in choices {
        let key = choice["required"][0]
            .as_str()
            .or_else(|| choice["const"].as_str())
            .expect("a choice has a name");
        let (meaning, rest) = meaning(choice);
        table += &format!("| `{key}` | {meaning} |\n");
        more += &list_item(key, &rest);
    }
    with_list(table, &more)
}

/// Returns the first sentence of a description, and the remaining sentences.
fn meaning(property: &Value) -> (String, String) {
    let text = property["description"]
        .as_str()
        .unwrap_or_default()
        .replace('\n', " ");
    let ends = text
        .match_indices(". ")
        .map(|(at, _)| at)
        .find(|&at| !text[..at].ends_with("e.g"));
    let (first, rest) = ends.map_or((text.as_str(), ""), |at| (&text[..at], &text[at + 2..]));
    (format!("{}.", first.trim_end_matches('.')), rest.to_owned())
}

/// Wraps a list item to lines of fewer than 120 columns.
fn wrapped(item: &str) -> String {
    let mut lines = vec![String::new()];
    for word in item.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.len() + word.len() > 115 {
            lines.push(format!("  {word}"));
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// Describes the values that a field accepts.
fn value(schema: &Value, property: &Value) -> String {
    if let Some(reference) = property["$ref"].as_str() {
        return named(schema, reference.rsplit('/').next().unwrap_or_default());
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(choices) = property[key].as_array() {
            let texts: Vec<String> = choices
                .iter()
                .filter(|choice| choice["type"] != "null")
                .map(|choice| value(schema, choice))
                .collect();
            return texts.join(" or ");
        }
    }
    if let Some(choices) = property["enum"].as_array() {
        return choices
            .iter()
            .map(|choice| format!("`{}`", short(choice)))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    if property.get("const").is_some() {
        return format!("`{}`", short(&property["const"]));
    }
    let types: Vec<&str> = match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect(),
        _ => Vec::new(),
    };
    match types.as_slice() {
        ["string"] => "text".to_owned(),
        ["integer" | "number"] => "number".to_owned(),
        ["boolean"] => "`true` or `false`".to_owned(),
        ["array"] => format!("list of {}", value(schema, &property["items"])),
        ["object"] if property["additionalProperties"].is_object() => {
            format!(
                "map of {}",
                value(schema, &property["additionalProperties"])
            )
        }
        ["object"] => "map".to_owned(),
        _ => "any value".to_owned(),
    }
}

/// Describes a definition: its name in the document, or its choices.
fn named(schema: &Value, name: &str) -> String {
    let known = [
        ("Duration", "duration"),
        ("Size", "size"),
        ("Rate", "rate"),
        ("RateLimit", "rate or `unlimited`"),
        ("Timeout", "duration or `off`"),
        ("PerTime", "rate per time"),
        ("Percent", "share"),
        ("Amount", "amount"),
        ("DurationDistribution", "random duration"),
        ("SizeDistribution", "random size"),
        ("RateDistribution", "random rate"),
        ("FactorDistribution", "random number"),
        ("LabelSelector", "label selector"),
        ("DistributionFile", "a way of distribution"),
        ("RegistryPreset", "name of a preset"),
        ("SiteKind", "kind of site"),
        ("Strategy", "a strategy"),
        ("ReadinessSpec", "`delay`, `debounce` or `looks`"),
        ("CountOrPercent", "number or share"),
        ("IntOrString", "number or share"),
    ];
    if let Some((_, text)) = known.iter().find(|(known, _)| *known == name) {
        return (*text).to_owned();
    }
    let of = &schema["$defs"][name];
    if of["properties"].is_object() || of["anyOf"].is_array() {
        let name = ["Spec", "File", "Fields"]
            .iter()
            .fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        return format!("*{}*", words(name));
    }
    value(schema, of)
}

/// Converts `RequestLimit` to `request limit`.
fn words(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// Formats a value as one line of YAML.
fn short(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => String::new(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(short).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) => {
            let fields: Map<_, _> = fields
                .clone()
                .into_iter()
                .filter(|(_, value)| !short(value).is_empty())
                .collect();
            let text = |(key, value): (&String, &Value)| format!("{key}: {}", short(value));
            format!(
                "{{{}}}",
                fields.iter().map(text).collect::<Vec<_>>().join(", ")
            )
        }
        other => other.to_string(),
    }
}
