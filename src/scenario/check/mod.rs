//! From the file as written to what a run needs: units resolved, defaults filled in, everything that can be told wrong
//! before a run told at once and with its place.

mod distribution;
mod fleet;
mod fleet_size;
mod parts;
mod registry;
mod release;
mod runtime;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::file::ExperimentFile;
use super::inventory::InventoryCluster;
use super::quantity::Rate;
use super::spread::{Measured, Spread};
use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::{Fleet, FleetGroup};
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{Distribution, Quantity, RateModel, WorldSpec};

/// One reading of an experiment file while it is checked.
pub(crate) struct Checker<'a> {
    /// The file, with the values of the sweep put in.
    pub(crate) context: Context<'a>,
    /// Inventories by file, so that a sweep does not read them again for every value.
    pub(crate) inventories: &'a mut BTreeMap<String, Arc<Vec<InventoryCluster>>>,
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

/// A world with what a strategy knows of it.
#[derive(Clone, Debug)]
pub(crate) struct CheckedWorld {
    pub(crate) world: Arc<WorldSpec>,
    pub(crate) groups: Arc<Vec<FleetGroup>>,
}

impl CheckedWorld {
    pub(crate) fn fleet(&self) -> Fleet<'_> {
        Fleet { world: &self.world, groups: &self.groups }
    }
}

impl Checker<'_> {
    /// A quantity that may be drawn; values of a file are read. If they cannot be, that is reported and the default used.
    fn spread<Q: Measured>(
        &mut self,
        path: &Path,
        written: Option<&Spread<Q>>,
        default: Distribution<Q::Holds>,
    ) -> Distribution<Q::Holds> {
        match written {
            None => default,
            Some(Spread::Model(model)) => model.clone(),
            Some(Spread::Values(values)) => {
                Distribution::Unread(values.clone()).read_values(path, &mut self.context).unwrap_or(default)
            }
        }
    }

    /// Reads the file that a random quantity names. If that fails, a constant takes its place for the other checks.
    pub(in crate::scenario) fn resolve<Q: Quantity>(&mut self, path: &Path, model: &mut Distribution<Q>) {
        if matches!(model, Distribution::Unread(_)) {
            let read = model.clone().read_values(path, &mut self.context);
            *model = read.unwrap_or_else(|| Q::from_number(1.0).into());
        }
    }

    /// A rate that may be drawn and is never zero.
    fn rate_spread(&mut self, path: &Path, written: Option<&Spread<Rate>>, default: BytesPerSec) -> RateModel {
        let model = self.spread(path, written, default.into());
        let lowest = match model {
            RateModel::Constant(_) | RateModel::Uniform { .. } | RateModel::Empirical(_) => model.least(),
            _ => model.mean(),
        };
        if lowest <= 0.0 {
            let help = "write rates above 0, e.g. `10 Mbit/s`; a cluster that is cut off is `faults: {offline: …}`";
            self.report(path, "nothing ever arrives over a link of 0", help);
        }
        model
    }

    /// A rate that is not zero.
    fn rate(&mut self, path: &Path, rate: Option<Rate>, default: BytesPerSec) -> BytesPerSec {
        match rate {
            Some(Rate(rate)) if rate.get() > 0.0 => rate,
            Some(_) => {
                self.report(path, "nothing ever arrives over a link of 0", "write a rate above 0, e.g. `10 Mbit/s`");
                default
            }
            None => default,
        }
    }

    /// A count of at least one.
    fn count(&mut self, path: &Path, count: Option<u32>, default: u32) -> u32 {
        if count == Some(0) {
            self.report(path, "0 is too few", "write 1 or more");
            return default;
        }
        count.unwrap_or(default)
    }

    /// A duration that is not zero.
    fn positive(&mut self, path: &Path, duration: SimDuration) -> SimDuration {
        if duration.is_zero() {
            self.report(path, "the duration is 0", "write a duration above 0, e.g. `10 s`");
        }
        duration
    }

    /// Everything but the strategy.
    pub(crate) fn world(&mut self, file: &ExperimentFile) -> CheckedWorld {
        let regions = self.regions(file);
        let clusters = self.clusters(file, &regions);
        let groups = self.groups(file, &clusters);
        let kind = release::kind(file.release.as_ref());
        let registries = self.registries(file);
        let names: Vec<String> = registries.iter().map(|registry| registry.name.clone()).collect();
        let images = self.images(file.release.as_ref(), kind, &names);
        let workloads = self.workloads(file.release.as_ref(), &images);
        let node = self.node(file.node.as_ref());
        let distribution = self.distribution(file, &clusters, &regions, &images, &node);
        let faults = self.faults(&file.faults, &clusters, &regions, &workloads);
        let world = WorldSpec {
            clusters,
            regions,
            registry: self.registry(&Path::of("registry"), file.registry.as_ref()),
            registries,
            distribution,
            node,
            images,
            workloads,
            release: kind,
            agent: self.agent(file.agent.as_ref()),
            faults,
        };
        CheckedWorld { world: Arc::new(world), groups: Arc::new(groups) }
    }
}
