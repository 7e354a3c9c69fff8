//! `fleetsim schema`: the JSON Schema of the experiment file.

use super::{Failure, output};

pub(super) fn schema() -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(&fleetsim::scenario::schema()).expect("a schema is JSON");
    text.push('\n');
    output::out(&text);
    Ok(())
}
