//! `--set PATH=VALUE`: values from the command line that override those in the experiment file.
//!
//! Each value is inserted into the file's tree before anything else is read from it, so it is checked like a value in
//! the file. In the source, the arguments follow the file's text, one per line, and problems with them point there.

use std::ops::Range;
use std::sync::Arc;

use crate::document::path::{Path, Step};
use crate::document::problem::{OrProblem, Source};
use crate::document::tree::{self, Node, Value};
use crate::document::yaml;

/// Examples of values, for error messages.
const HELP: &str =
    "write e.g. `--set registry.egress=unlimited` or `--set fleet[0].downlink=\"20 Mbit/s\"`";

/// A value that replaces another value in the file.
#[derive(Debug)]
pub(super) struct SetValue {
    pub(super) path: Path,
    pub(super) key_at: Range<usize>,
    pub(super) node: Node,
}

/// Returns the text of a file, followed by the arguments.
pub(super) fn with_arguments(file: &Arc<Source>, arguments: &[String]) -> Arc<Source> {
    if arguments.is_empty() {
        return Arc::clone(file);
    }
    let mut text = file.text.clone();
    for argument in arguments {
        text.push('\n');
        text.push_str(&argument.replace('\n', " "));
    }
    Arc::new(file.with_text(text))
}

/// Returns the values of the arguments that follow the first `begin` bytes of a source. Sections of the file in
/// `refused` cannot be set.
///
/// # Errors
/// Returns the problem with the first argument that is not a valid setting.
pub(super) fn values(
    source: &Arc<Source>,
    begin: usize,
    refused: &[&str],
) -> OrProblem<Vec<SetValue>> {
    let mut values: Vec<SetValue> = Vec::new();
    let mut start = begin + 1;
    let Some(arguments) = source.text.get(start..) else {
        return Ok(values);
    };
    for line in arguments.split('\n') {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key_at = start..start + key.len();
        let value_at = (key_at.end + 1).min(start + line.len())..start + line.len();
        let read = path_and_value(key, value, &values);
        match read.and_then(|read| permitted(read, refused)) {
            Ok((path, node)) => values.push(SetValue {
                path,
                key_at,
                node: node.moved(&value_at),
            }),
            Err(message) => {
                let problem = source.at(key_at, key, message);
                return Err(Box::new(problem.with_help(HELP)));
            }
        }
        start += line.len() + 1;
    }
    Ok(values)
}

/// Returns a value, unless it is in a section of the file that cannot be set.
fn permitted(read: (Path, Node), refused: &[&str]) -> Result<(Path, Node), String> {
    match read.0.0.as_slice() {
        [Step::Key(top), ..] if refused.contains(&top.as_str()) => {
            Err(format!("`{top}` cannot be set here: write it in the file"))
        }
        _ => Ok(read),
    }
}

/// Returns the path and the value of an argument that follows others.
///
/// # Errors
/// Returns the reason why the argument is invalid.
fn path_and_value(key: &str, value: &str, others: &[SetValue]) -> Result<(Path, Node), String> {
    if value.trim().is_empty() {
        return Err("`--set` must have a path, `=` and a value".to_owned());
    }
    let path = Path::parse(key)?;
    if let Some(other) = others.iter().find(|other| other.path.overlaps(&path)) {
        let other = &other.path;
        return Err(format!("`{other}` is also set: keep one of the two"));
    }
    match tree::parse(&Arc::new(Source::new("", value))) {
        Ok(node) => Ok((path, node)),
        Err(problem) => Err(format!(
            "`{value}` is not a valid value: {}",
            problem.message
        )),
    }
}

/// Returns the part of a path up to its first list, or the whole path if it contains no list.
fn up_to_list(path: &Path, tree: &Node) -> Path {
    for steps in 1..path.0.len() {
        let part = Path(path.0[..steps].to_vec());
        if let Some(node) = tree.get(&part)
            && matches!(node.value, Value::List(_))
        {
            return part;
        }
    }
    path.clone()
}

/// Returns these values, which `tree` contains, as text of the file. Each path ends at its first list, which is
/// written as a whole.
pub(super) fn to_yaml(values: &[Arc<SetValue>], tree: &Node) -> String {
    let mut file = Node::of_value(&serde_json::json!({}), &(0..0));
    for value in values {
        let path = up_to_list(&value.path, tree);
        if let Some(node) = tree.get(&path) {
            // The path leads only through maps, which are created if necessary.
            let _ = file.set(&path, node, &(0..0));
        }
    }
    if values.is_empty() {
        String::new()
    } else {
        yaml::to_yaml(&file.to_json())
    }
}
