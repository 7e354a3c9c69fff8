//! Files that an experiment names: what other tools print.

pub(crate) mod inventory;
pub(crate) mod manifest;
