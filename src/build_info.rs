//! The source and the target of this build, determined by `build.rs`.

use crate::results::{BuildInfo, sha256};

/// Returns the build information for this program.
#[must_use]
pub fn build_info() -> BuildInfo {
    BuildInfo {
        commit: known(env!("FLEETSIM_COMMIT")),
        modified: env!("FLEETSIM_MODIFIED").parse().ok(),
        cargo_lock_sha256: sha256(include_bytes!("../Cargo.lock")),
        target: env!("FLEETSIM_TARGET").to_owned(),
    }
}

/// Returns the commit. `None`: it is empty, because the program was built outside a repository.
fn known(commit: &str) -> Option<String> {
    if commit.is_empty() {
        return None;
    }
    Some(commit.to_owned())
}
