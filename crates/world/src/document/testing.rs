//! Documents for tests.

use std::sync::Arc;

use super::problem::Source;

/// Wraps the text of an experiment.
#[must_use]
pub fn source(text: &str) -> Arc<Source> {
    Arc::new(Source::new("experiment.yaml", text))
}
