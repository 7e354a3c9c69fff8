//! Checks an experiment file after it is read, and collects the problems.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::import::inventory::InventoryCluster;
use crate::calendar::CalendarStart;
use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::{Fleet, FleetGroup};
use crate::results::MeasureError;
use crate::world::{Distribution, Quantity, RateModel, WorldSpec};

/// An experiment file that is being checked.
pub(crate) struct Checker<'a> {
    /// The file, with the values of the sweep inserted.
    pub(crate) context: Context<'a>,
    /// Inventories by file, so that a sweep does not read a file again for every value.
    pub(crate) inventories: &'a mut BTreeMap<String, Arc<Vec<InventoryCluster>>>,
    /// Number of labels in the changes of all variants so far.
    pub(crate) changed_labels: &'a mut usize,
    /// Whether constants have other values than those of the file.
    pub(crate) is_drawn: bool,
}

impl<'a> Deref for Checker<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.context
    }
}

impl<'a> DerefMut for Checker<'a> {
    fn deref_mut(&mut self) -> &mut Context<'a> {
        &mut self.context
    }
}

/// A checked world, and the cluster groups that strategies need.
#[derive(Clone, Debug)]
pub(crate) struct CheckedWorld {
    pub(crate) world: Arc<WorldSpec>,
    pub(crate) groups: Arc<Vec<FleetGroup>>,
    /// The date of the start, if it is written.
    pub(crate) calendar: Option<Arc<CalendarStart>>,
}

impl CheckedWorld {
    pub(crate) fn fleet(&self) -> Fleet<'_> {
        Fleet {
            world: &self.world,
            groups: &self.groups,
            calendar: self.calendar.as_deref(),
        }
    }
}

impl Checker<'_> {
    /// Reads the file with the values of a random quantity, if it has one. If that fails, a constant replaces the
    /// quantity so that other checks can continue.
    pub(super) fn resolve<Q: Quantity>(&mut self, path: &Path, model: &mut Distribution<Q>) {
        if matches!(model, Distribution::Unread(_)) {
            let read = model.clone().read_values(path, &mut self.context);
            *model = read.unwrap_or_else(|| Q::from_number(1.0).into());
        }
    }

    /// Returns the path for a problem in a value that may be written in a short form. In the short form, only the
    /// value as a whole has a position.
    pub(super) fn place(&self, path: Path, whole: &Path) -> Path {
        if self.is_set(&path) {
            path
        } else {
            whole.clone()
        }
    }

    /// Returns a parsed measure or limit. `None`: it is invalid, which was reported.
    pub(super) fn parsed<T>(&mut self, path: &Path, read: Result<T, MeasureError>) -> Option<T> {
        read.map_err(|MeasureError { message, help }| self.report(path, message, &help))
            .ok()
    }

    /// Checks that a rate is never zero.
    pub(super) fn positive_rate(&mut self, path: &Path, rate: &RateModel) {
        let lowest = match rate {
            RateModel::Constant(_) | RateModel::Uniform { .. } | RateModel::Empirical(_) => {
                rate.least()
            }
            _ => rate.mean(),
        };
        if lowest <= 0.0 {
            let help = "write e.g. `10 Mbit/s`; to cut clusters off, use `faults: {offline: …}`";
            self.report(path, "bandwidth must be greater than 0", help);
        }
    }
}
