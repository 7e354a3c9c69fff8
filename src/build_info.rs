//! The source that this program was built from, and its target: `build.rs` finds them out.

use crate::results::{BuildInfo, sha256};

/// Those of this program.
#[must_use]
pub fn build_info() -> BuildInfo {
    let commit = env!("FLEETSIM_COMMIT");
    BuildInfo {
        commit: match commit {
            "" => None,
            commit => Some(commit.to_owned()),
        },
        modified: env!("FLEETSIM_MODIFIED").parse().ok(),
        cargo_lock_sha256: sha256(include_bytes!("../Cargo.lock")),
        target: env!("FLEETSIM_TARGET").to_owned(),
    }
}
