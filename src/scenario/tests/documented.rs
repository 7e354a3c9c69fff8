//! The tables of docs/experiment-format.md are those of the schema, whose defaults are the values of the settings.

use std::path::PathBuf;

use serde_json::{Map, Value};

const OPEN: &str = "<!-- generated: ";
const CLOSE: &str = "<!-- end of generated -->";

#[test]
fn the_tables_of_the_format_document_are_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/experiment-format.md");
    let written = std::fs::read_to_string(&path).expect("the document");
    let current = with_tables(&written, &crate::scenario::schema());
    if written != current && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, current).expect("docs can be written");
        return;
    }
    assert!(
        written == current,
        "docs/experiment-format.md is out of date; write it with `UPDATE_DOCS=1 cargo test --lib documented`"
    );
}

/// The document with the tables between its markers made again.
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

fn table(schema: &Value, name: &str) -> String {
    let of = if schema["title"] == name { schema } else { &schema["$defs"][name] };
    let fields = of["properties"].as_object().unwrap_or_else(|| panic!("`{name}` has fields"));
    let required = of["required"].as_array().cloned().unwrap_or_default();
    let mut rows: Vec<[String; 4]> = vec![["field", "value", "default", "meaning"].map(str::to_owned)];
    for (field, property) in fields {
        let default = match property.get("default").map(short) {
            Some(text) if !text.is_empty() => text,
            _ if required.contains(&Value::from(field.as_str())) => "required".to_owned(),
            _ => "none".to_owned(),
        };
        let meaning = property["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        rows.push([format!("`{field}`"), value(schema, property), default, meaning]);
    }
    let line = |row: &[String; 4]| format!("| {} |\n", row.join(" | "));
    let rule = "|---|---|---|---|\n";
    let rows: Vec<String> = rows.iter().map(line).collect();
    format!("{}{rule}{}", rows[0], rows[1..].concat())
}

/// The values that a field takes, in words.
fn value(schema: &Value, property: &Value) -> String {
    if let Some(reference) = property["$ref"].as_str() {
        return named(schema, reference.rsplit('/').next().unwrap_or_default());
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(choices) = property[key].as_array() {
            let texts: Vec<String> =
                choices.iter().filter(|choice| choice["type"] != "null").map(|choice| value(schema, choice)).collect();
            return texts.join(" or ");
        }
    }
    if let Some(choices) = property["enum"].as_array() {
        return choices.iter().map(|choice| format!("`{}`", short(choice))).collect::<Vec<_>>().join(" or ");
    }
    if property.get("const").is_some() {
        return format!("`{}`", short(&property["const"]));
    }
    let types: Vec<&str> = match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
        _ => Vec::new(),
    };
    match types.as_slice() {
        ["string"] => "text".to_owned(),
        ["integer" | "number"] => "number".to_owned(),
        ["boolean"] => "`true` or `false`".to_owned(),
        ["array"] => format!("list of {}", value(schema, &property["items"])),
        ["object"] if property["additionalProperties"].is_object() => {
            format!("map of {}", value(schema, &property["additionalProperties"]))
        }
        ["object"] => "map".to_owned(),
        _ => "any value".to_owned(),
    }
}

/// A definition in words: what it is called in the document, or its choices.
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
        ("StrategyFile", "a strategy"),
    ];
    if let Some((_, text)) = known.iter().find(|(known, _)| *known == name) {
        return (*text).to_owned();
    }
    let of = &schema["$defs"][name];
    if of["properties"].is_object() || of["anyOf"].is_array() {
        let name = ["Spec", "File", "Fields"].iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        return format!("*{}*", words(name));
    }
    value(schema, of)
}

/// `RequestLimit` as `request limit`.
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

/// A value as it is written in one line of YAML.
fn short(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => String::new(),
        Value::Array(items) => format!("[{}]", items.iter().map(short).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) => {
            let text = |(key, value): (&String, &Value)| format!("{key}: {}", short(value));
            format!("{{{}}}", Map::iter(fields).map(text).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
