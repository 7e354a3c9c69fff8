//! Files that an experiment names: what other tools print.

pub(crate) mod git_repo;
pub(crate) mod inventory;
pub(crate) mod manifest;
