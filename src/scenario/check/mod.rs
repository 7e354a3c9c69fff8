//! From the file as written to what a run needs: units resolved, defaults filled in, everything that can be told wrong
//! before a run told at once and with its place.

mod argo_cd;
mod cloud_foundry;
mod distribution;
mod faults;
mod fleet;
mod fleet_size;
mod kubefleet;
mod parts;
mod registry;
mod release;
mod runtime;
mod strategy;
mod values;

pub(crate) use parts::control_loop;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::ExperimentFile;
use super::inventory::InventoryCluster;
use super::quantity::Rate;
use super::spread::Spread;
use super::{FleetGroup, Strategy, fleet_clusters};
use crate::document::files::Files;
use crate::document::path::Path;
use crate::document::problem::{Place, Problem, Source, nearest};
use crate::document::tree::Node;
use crate::rollout::rancher_fleet::Cluster;
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{RateModel, WorldSpec};

/// One reading of an experiment file while it is checked.
pub(crate) struct Checker<'a> {
    pub(crate) files: &'a mut Files,
    pub(crate) source: &'a Arc<Source>,
    /// With the values of the sweep put in.
    pub(crate) tree: &'a Node,
    /// What was wrong already and left out.
    pub(crate) struck: &'a [Path],
    pub(crate) problems: Vec<Problem>,
    /// Inventories by file, so that a sweep does not read them again for every value.
    pub(crate) inventories: &'a mut BTreeMap<String, Arc<Vec<InventoryCluster>>>,
}

/// A world with what a strategy knows of it.
#[derive(Clone, Debug)]
pub(crate) struct CheckedWorld {
    pub(crate) world: Arc<WorldSpec>,
    pub(crate) groups: Arc<Vec<FleetGroup>>,
    /// The clusters as Fleet's rules see them, for all strategies.
    pub(crate) fleet_clusters: Arc<Vec<Cluster>>,
}

impl Checker<'_> {
    /// A problem at a value of the experiment file.
    fn at(&self, path: &Path, message: impl Into<String>) -> Problem {
        let place = Place { source: Arc::clone(self.source), span: self.tree.place(path) };
        Problem::at(place, path.to_string(), message)
    }

    fn report(&mut self, path: &Path, message: impl Into<String>, help: &str) {
        let problem = self.at(path, message).with_help(help);
        self.problems.push(problem);
    }

    /// Whether nothing at or below `path` was left out; else what is missing there is no news.
    fn is_untouched(&self, path: &Path) -> bool {
        !self.struck.iter().any(|struck| struck.starts_with(path) || path.starts_with(struck))
    }

    /// Whether no entry of the list at `list` was left out; what is inside of its entries does not matter.
    fn is_whole(&self, list: &Path) -> bool {
        let is_entry = |struck: &Path| struck.starts_with(list) && struck.0.len() <= list.0.len() + 1;
        !self.struck.iter().any(|struck| list.starts_with(struck) || is_entry(struck))
    }

    /// The text of a file that the value at `path` names; a file that cannot be read is reported there.
    fn file(&mut self, name: &str, path: &Path) -> Option<Arc<Source>> {
        match self.files.read(name) {
            Ok(source) => Some(source),
            Err(message) => {
                let problem = self
                    .at(path, format!("cannot read `{name}`: {message}"))
                    .with_help("paths are relative to the folder of the experiment file")
                    .unreadable();
                self.problems.push(problem);
                None
            }
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

    /// The index of `name` among `known`, which are the names under `list`.
    fn lookup(&mut self, path: &Path, name: &str, list: &Path, known: &[String]) -> Option<usize> {
        let found = known.iter().position(|candidate| candidate == name);
        if found.is_none() && self.is_whole(list) {
            let help = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => format!("`{list}` has no entries"),
                None => format!("`{list}` has {}", names(known)),
            };
            self.report(path, format!("there is no `{name}` in `{list}`"), &help);
        }
        found
    }

    /// Reports the second of two equal names of a list.
    fn unique<'n>(&mut self, list: &Path, named: impl IntoIterator<Item = (usize, &'n str)>) {
        let mut seen = std::collections::BTreeMap::new();
        for (index, name) in named {
            if let Some(first) = seen.insert(name, index) {
                let path = list.index(index).key("name");
                self.report(
                    &path,
                    format!("`{name}` is the name of `{list}[{first}]` already"),
                    "give each its own name",
                );
            }
        }
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
        let faults = self.faults(file.faults.as_ref(), &clusters, &regions, &workloads);
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
        let fleet_clusters = Arc::new(fleet_clusters(&world.clusters, &groups));
        CheckedWorld { world: Arc::new(world), groups: Arc::new(groups), fleet_clusters }
    }

    /// One strategy. `None` when it cannot be made.
    pub(crate) fn one_strategy(&mut self, file: &ExperimentFile, name: &str, world: &CheckedWorld) -> Option<Strategy> {
        let written = file.strategies.as_ref()?.0.iter().find(|(strategy, _)| strategy == name)?;
        self.strategy(&Path::of("strategies").key(name), &written.1, world)
    }
}

/// Names in words, at most eight.
fn names(known: &[String]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = known.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > MOST { format!(" and {} more", known.len() - MOST) } else { String::new() };
    shown.join(", ") + &more
}
