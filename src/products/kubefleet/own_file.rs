//! KubeFleet's own objects in the files that an experiment names.

use serde::de::DeserializeOwned;

use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::problem::any_of;
use crate::document::reader::{Kind, ReadError};
use crate::document::tree::{Node, Value};
use crate::products::ProductFile;

/// The object in the file that the settings at `path` name, of one of these kinds; without a kind it is taken for one.
/// Unknown fields are refused below `base` alone, because real objects hold many fields that decide nothing here.
pub(super) fn object<T: Default + DeserializeOwned>(
    file: Option<&str>,
    path: &Path,
    kinds: &[&str],
    base: &str,
    context: &mut Context<'_>,
) -> Option<Option<ProductFile<T>>> {
    let Some(name) = file else { return Some(None) };
    let document = context.document(name, &path.key("file"))?;
    let at = Path::of("kind");
    if let Some(Node { value: Value::Text(kind), .. }) = document.tree.get(&at)
        && !kinds.contains(&kind.as_str())
    {
        let problem = document.at(&at, format!("an object of kind `{kind}` cannot be used here"));
        context.problems.push(problem.with_help(format!("give a file with a {}", any_of(kinds))));
        return None;
    }
    let base = Path::parse(base).unwrap_or_default();
    let counts = |error: &ReadError| !matches!(error.kind, Kind::UnknownField { .. }) || error.path.starts_with(&base);
    ProductFile::of(document, &Path::default(), context, counts).map(Some)
}
