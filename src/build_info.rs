//! The source that this program was built from, and its target: `build.rs` finds them out.

use crate::results::{BuildInfo, sha256};

/// Those of this program.
#[must_use]
pub fn build_info() -> BuildInfo {
    BuildInfo {
        commit: known(env!("FLEETSIM_COMMIT")),
        modified: env!("FLEETSIM_MODIFIED").parse().ok(),
        cargo_lock_sha256: sha256(include_bytes!("../Cargo.lock")),
        target: env!("FLEETSIM_TARGET").to_owned(),
    }
}

/// The commit, which is empty outside of a repository.
fn known(commit: &str) -> Option<String> {
    if commit.is_empty() {
        return None;
    }
    Some(commit.to_owned())
}
