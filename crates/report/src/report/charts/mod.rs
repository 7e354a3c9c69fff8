//! The charts of a results folder, one file each, drawn from its recorded files alone.

pub(super) mod applications;
pub(super) mod causes;
pub(super) mod completion;
mod curves;
pub(super) mod exposure;
pub(super) mod front;
pub(super) mod heat;
mod key_table;
pub(super) mod load;
pub(super) mod multiples;
pub(super) mod over_time;
mod panel;
pub(super) mod path;
pub(super) mod ready;
mod rows;
pub(super) mod stages;
pub(super) mod states;
pub(super) mod sweep;
#[cfg(test)]
mod tests;
pub(super) mod tradeoff;
