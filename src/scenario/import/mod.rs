//! Files that an experiment refers to: the output of other tools, and tables of clusters.

pub(crate) mod git_repo;
pub(crate) mod inventory;
pub(crate) mod manifest;
pub(crate) mod media_type;
pub(crate) mod object;
pub(crate) mod objects;
pub(crate) mod table;
