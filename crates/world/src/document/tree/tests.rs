//! Trees, locations, and rejected texts.

use super::*;
use crate::document::testing::source;

const TEXT: &str = "name: x\nfleet:\n  - {name: a, nodes: 3}\n  - name: \"10\"\nlink: &l 10 Gbit/s\nother: *l\nnone:\n";

#[test]
fn every_value_and_key_has_its_byte_range() {
    let source = source(TEXT);
    let tree = parse(&source).expect("TEXT is YAML");
    for (path, value, key) in [
        ("name", "x", "name"),
        ("fleet[0].nodes", "3", "nodes"),
        ("fleet[1].name", "\"10\"", "name"),
        ("link", "10 Gbit/s", "link"),
        ("other", "*l", "other"),
        ("fleet", "fleet", "fleet"),
    ] {
        let path = Path::parse(path).expect("a path");
        assert_eq!(&TEXT[tree.place(&path)], value, "{path}");
        assert_eq!(&TEXT[tree.key_place(&path)], key, "{path}");
    }
    assert_eq!(
        tree.get(&Path::of("other"))
            .map(Node::short_text)
            .as_deref(),
        Some("10 Gbit/s")
    );
}

#[test]
fn a_number_in_quotes_is_text() {
    let tree = parse(&source(TEXT)).expect("TEXT is YAML");
    let name = tree
        .get(&Path::parse("fleet[1].name").expect("a path"))
        .expect("it is there");
    assert!(matches!(&name.value, Value::Text(text) if text == "10"));
}

#[test]
fn setting_a_value_creates_only_the_maps_along_its_path() {
    let mut tree = parse(&source(TEXT)).expect("TEXT is YAML");
    let five = Node::made(0..0, Value::Int(5));
    let path = |text: &str| Path::parse(text).expect("a path");
    for (at, outcome) in [
        ("fleet[0].nodes", Ok(())),
        ("none.a.b", Ok(())),
        ("new.a", Ok(())),
        ("fleet[7].nodes", Err("fleet[7]")),
        ("fleet.nodes", Err("fleet.nodes")),
        ("name.first", Err("name.first")),
    ] {
        let result = tree
            .set(&path(at), &five, &(0..4))
            .map_err(|path| path.to_string());
        assert_eq!(
            result.as_ref().map_err(String::as_str).copied(),
            outcome,
            "{at}"
        );
        if outcome.is_ok() {
            assert_eq!(
                tree.get(&path(at)).map(Node::short_text).as_deref(),
                Some("5"),
                "{at}"
            );
        }
    }
}

#[test]
fn invalid_yaml_is_reported_at_its_position() {
    let bomb = {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let uses = vec![format!("*a{}", level - 1); 10].join(", ");
            text += &format!("a{level}: &a{level} [{uses}]\n");
        }
        text
    };
    let deep = "[".repeat(2000);
    for (text, message) in [
        (bomb.as_str(), "expands to too many values"),
        (deep.as_str(), "nested too deeply"),
        ("a: 1\na: 2\n", "the key `a` appears twice"),
        ("a: 1\n---\nb: 1\n", "several YAML documents"),
        ("a: [1, 2\n", "not YAML"),
        ("a: b: c\n", "not YAML"),
        ("a: *nothing\n", "not YAML"),
    ] {
        let problem = parse(&source(text)).expect_err(message);
        assert!(problem.message.contains(message), "{problem}");
    }
}

#[test]
fn errors_for_tabs_and_recursive_aliases_have_a_specific_fix() {
    for (text, line, message, help) in [
        (
            "a:\n\tb: 1\n",
            2,
            "a tab in the indentation",
            "replace the tabs",
        ),
        (
            "a:\n  b: 1\n \tc: 2\n",
            3,
            "a tab in the indentation",
            "replace the tabs",
        ),
        (
            "fleet:\n\t- name: x\n\t  nodes: 3\n",
            2,
            "a tab in the indentation",
            "replace the tabs",
        ),
        (
            "a: &x [1, *x]\n",
            1,
            "this alias is inside the value that it refers to",
            "move the anchor",
        ),
        (
            "a: &x\n  b: {c: *x}\n",
            2,
            "this alias is inside the value that it refers to",
            "move the anchor",
        ),
        (
            "a: *nothing\n",
            1,
            "not YAML",
            "name the value with `&name`",
        ),
        (
            "a: 1\nb: [.nan]\n",
            2,
            "value `.nan` is not a finite number",
            "remove its line",
        ),
        (
            "a: -.INF\n",
            1,
            "value `-.INF` is not a finite number",
            "remove its line",
        ),
    ] {
        let problem = parse(&source(text)).expect_err(message);
        assert!(problem.message.contains(message), "{text:?}: {problem}");
        assert_eq!(problem.line(), Some(line), "{text:?}: {problem}");
        assert!(problem.to_string().contains(help), "{text:?}: {problem}");
    }
    // A tab outside an indentation is valid, so the error is not reported at a tab.
    for text in ["a: [1,\n\t2]\n", "{\n\t\"a\": 1\n}\n"] {
        assert!(parse(&source(text)).is_ok(), "{text:?}");
    }
    let problem = parse(&source("a:\tb: c\n")).expect_err("two colons");
    assert!(!problem.message.contains("indentation"), "{problem}");
}

#[test]
fn a_product_file_is_read_as_the_product_reads_it() {
    let text = "paused: yes\nquoted: \"yes\"\nsize: 010\nanchored: &a on\nagain: *a\nn: x\nlabels: {a: 1.10, b: '07'}\n\
                block: |\n  yes\ntagged: !!str yes\nlong: a\n  b\nsize: 5 # mine\nempty:\nnested: {a: 1, a: [no]}\n";
    let source = Arc::new(Source::new("x", text));
    let (root, replaced) = parse_as_product(1_000, &source).expect("YAML");
    assert_eq!(
        root.to_json(),
        serde_json::json!({
            "paused": true, "quoted": "yes", "size": 5, "anchored": true, "again": true, "false": "x",
            "labels": {"a": 1.1, "b": "07"}, "block": "yes\n", "tagged": "yes", "long": "a b", "empty": null,
            "nested": {"a": [false]},
        })
    );
    let replaced: Vec<(&str, usize)> = replaced
        .iter()
        .map(|key| (&*key.text, text[..key.at.start].lines().count()))
        .collect();
    assert_eq!(replaced, [("size", 2), ("a", 15)]);
}
