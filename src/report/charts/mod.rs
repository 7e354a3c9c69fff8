//! The charts of a results folder, one file each, drawn from its recorded files alone.

pub(super) mod completion;
pub(super) mod front;
pub(super) mod over_time;
pub(super) mod ready;
pub(super) mod states;
pub(super) mod tradeoff;
