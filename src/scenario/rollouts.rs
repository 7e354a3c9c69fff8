//! The rollouts of a variant: each application with its strategy, and the world in which they share the fleet.
//!
//! A product sees a view: a world with only its application and the clusters that it updates. Applications of one
//! entry of `applications` share a view, because their clusters and workloads are equal. With one application, the
//! view is the world of the run.
//!
//! Left out, and refused with several applications: products that differ, agents that differ, external processes,
//! people's changes, and pre-pulls.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ApplicationRollout;
use super::alternatives::{Alternatives, OWN};
use super::applications::{NamedApplication, entry_path, named};
use super::check::CheckedWorld;
use super::constants::product_of;
use super::loader::{Loader, ReadExperiment};
use super::release_times::ReleaseTimes;
use super::shared_worlds::clusters_of;
use crate::document::path::Path;
use crate::document::problem::{any_of, did_you_mean};
use crate::products::{Strategy, TargetOrder};
use crate::units::SimDuration;
use crate::world::AgentSpec;

/// The rollouts of a variant, and the world that they share.
pub(super) struct VariantRollouts {
    pub(super) applications: Vec<ApplicationRollout>,
    /// The name of each application's strategy.
    pub(super) strategies: Vec<String>,
    pub(super) world: CheckedWorld,
}

/// The strategy of the applications of one entry, and their view of the world.
struct EntryRollout {
    name: String,
    strategy: Arc<dyn Strategy>,
    view: CheckedWorld,
    /// The clusters of the view, by their index in the whole fleet.
    clusters: Vec<usize>,
    file_notes: Vec<String>,
}

impl Loader {
    /// Returns the applications of a variant with their strategies, and the world that they share. `None`: there are
    /// problems, which were reported.
    pub(super) fn rollouts(
        &mut self,
        reading: &ReadExperiment,
        variant: &str,
        whole: &CheckedWorld,
    ) -> Option<VariantRollouts> {
        self.notes.clear();
        if reading.file.applications.is_none() {
            let order = TargetOrder::OfProduct;
            let (strategy, world) = self.strategy(reading, variant, whole, order)?;
            let releases = reading.file.releases.as_ref();
            let later = releases.map_or_else(Vec::new, ReleaseTimes::published);
            self.check(reading, |checker| {
                checker.supports_releases(&Path::of("releases"), &later, variant, &*strategy);
            });
            let application = ApplicationRollout {
                released: releases.map_or(SimDuration::ZERO, |releases| releases.of(0)),
                later,
                file_notes: std::mem::take(&mut self.notes),
                ..ApplicationRollout::only(strategy)
            };
            return Some(VariantRollouts {
                applications: vec![application],
                strategies: vec![variant.to_owned()],
                world,
            });
        }
        let named = named(&reading.file);
        if named.is_empty() || named.len() != whole.world.applications.len() {
            // Problems with the applications were reported.
            return None;
        }
        let entries = self.entry_rollouts(reading, variant, whole, &named)?;
        let is_several = named.len() > 1;
        if is_several && !self.can_share(reading, &named, &entries) {
            return None;
        }
        let mut applications = Vec::new();
        let mut clusters = Vec::new();
        let mut strategies = Vec::new();
        for application in &named {
            let entry = &entries[application.key];
            strategies.push(entry.name.clone());
            clusters.push(entry.clusters.clone());
            self.check(reading, |checker| {
                let path = entry_path(application.key).key("releases");
                checker.supports_releases(&path, &application.later, &entry.name, &*entry.strategy);
            });
            applications.push(ApplicationRollout {
                name: application.name.clone(),
                view: is_several.then(|| Arc::clone(&entry.view.world)),
                released: application.released,
                later: application.later.clone(),
                file_notes: entry.file_notes.clone(),
                ..ApplicationRollout::only(Arc::clone(&entry.strategy))
            });
        }
        let world = if is_several {
            CheckedWorld {
                world: self.shared.world(&whole.world, clusters),
                ..whole.clone()
            }
        } else {
            entries[named[0].key].view.clone()
        };
        Some(VariantRollouts {
            applications,
            strategies,
            world,
        })
    }

    /// Returns the strategy and the view of each entry of `applications`.
    fn entry_rollouts<'f>(
        &mut self,
        reading: &ReadExperiment,
        variant: &str,
        whole: &CheckedWorld,
        named: &[NamedApplication<'f>],
    ) -> Option<BTreeMap<&'f str, EntryRollout>> {
        let mut entries = BTreeMap::new();
        let mut is_complete = true;
        for (at, application) in named.iter().enumerate() {
            if entries.contains_key(application.key) || !is_complete {
                continue;
            }
            let own = application.file.strategy.as_deref();
            if let Some(own) = own
                && !reading.names_strategy(own)
            {
                self.no_strategy(reading, application.key, own);
                is_complete = false;
                continue;
            }
            let name = own.unwrap_or(variant);
            match self.entry_rollout(reading, name, whole, at, named.len() > 1) {
                Some(entry) => _ = entries.insert(application.key, entry),
                None => is_complete = false,
            }
        }
        is_complete.then_some(entries)
    }

    fn entry_rollout(
        &mut self,
        reading: &ReadExperiment,
        name: &str,
        whole: &CheckedWorld,
        application: usize,
        is_several: bool,
    ) -> Option<EntryRollout> {
        let view = CheckedWorld {
            world: self.shared.view(&whole.world, application),
            ..whole.clone()
        };
        let all = clusters_of(&whole.world, application);
        self.notes.clear();
        let order = if is_several {
            TargetOrder::OfFleet
        } else {
            TargetOrder::OfProduct
        };
        let (strategy, targeted) = self.strategy(reading, name, &view, order)?;
        let clusters = if Arc::ptr_eq(&targeted.world, &view.world) {
            all
        } else {
            let mut numbers = BTreeMap::new();
            for cluster in all {
                numbers.insert(whole.world.clusters[cluster].name.as_str(), cluster);
            }
            let targets = targeted.world.clusters.iter();
            targets
                .map(|cluster| numbers[cluster.name.as_str()])
                .collect()
        };
        Some(EntryRollout {
            name: name.to_owned(),
            strategy,
            view: targeted,
            clusters,
            file_notes: std::mem::take(&mut self.notes),
        })
    }

    /// Reports that an application names a strategy that does not exist.
    fn no_strategy(&mut self, reading: &ReadExperiment, key: &str, name: &str) {
        let written = reading.file.strategies.iter().flat_map(|all| &all.0);
        let names: Vec<&str> = written.map(|(name, _)| name.as_str()).collect();
        let help = did_you_mean(name, names.iter().copied(), || {
            format!("the strategies are {}", any_of(&names))
        });
        let path = entry_path(key).key("strategy");
        self.report_application(key, &path, format!("there is no strategy `{name}`"), &help);
    }

    /// Returns the names of the variants of an experiment with these strategies: of those that no application names.
    pub(super) fn alternatives(
        &mut self,
        reading: &ReadExperiment,
        strategies: &[String],
    ) -> Vec<String> {
        let Some(applications) = &reading.file.applications else {
            return strategies.to_vec();
        };
        let mut variants = Alternatives::of(&self.tree).variants;
        let is_own = variants == [OWN];
        variants.retain(|name| is_own || strategies.contains(name));
        for (key, application) in &applications.0 {
            if variants.is_empty() && application.strategy.is_none() && !strategies.is_empty() {
                let message =
                    format!("`{key}` has no strategy: each belongs to other applications");
                let help = "write its `strategy`, or another entry of `strategies`";
                let path = entry_path(key).key("strategy");
                self.report_application(key, &path, message, help);
            }
        }
        let written = &applications.0;
        let mut all_have_own = true;
        for (_, application) in written {
            let own = application.strategy.as_ref();
            all_have_own &= own.is_some_and(|own| strategies.contains(own));
        }
        if let Some(unused) = variants.first()
            && all_have_own
            && !is_own
            && !written.is_empty()
        {
            let message = format!("no application has the strategy `{unused}`");
            let help = "remove it, or remove the `strategy` of an application";
            let path = Path::of("strategies").key(unused);
            let place = self.tree.key_place(&path);
            let problem = self.source.at(place, path.to_string(), message);
            self.problems.push(problem.with_help(help));
        }
        variants
    }

    /// Reports what several applications cannot share yet. Returns whether there is nothing of the kind.
    fn can_share(
        &mut self,
        reading: &ReadExperiment,
        named: &[NamedApplication<'_>],
        entries: &BTreeMap<&str, EntryRollout>,
    ) -> bool {
        let before = self.problems.len();
        let first = &entries[named[0].key];
        let product = product_of(&reading.tree, &first.name);
        let mut external: Vec<&str> = Vec::new();
        for (key, entry) in entries {
            let path = entry_path(key).key("strategy");
            let own = product_of(&reading.tree, &entry.name);
            if own.map(|own| own.key) != product.map(|product| product.key) {
                let titles = [product, own].map(|one| one.map_or("", |one| one.title));
                let message = format!(
                    "`{}` is a strategy of {}, but `{}` is one of {}",
                    entry.name, titles[1], first.name, titles[0]
                );
                let help = "all applications of a run have one product: name strategies of one";
                self.report_application(key, &path, message, help);
            } else if has_other_agent(&*entry.strategy, &*first.strategy) {
                let message = format!(
                    "`{}` and `{}` set the clusters' agents differently",
                    entry.name, first.name
                );
                let help = "write the same settings of the apply, such as time-outs, in both";
                self.report_application(key, &path, message, help);
            }
            let is_external =
                entry.strategy.command().is_some() || is_external(reading, &entry.name);
            if is_external && !external.contains(&entry.name.as_str()) {
                external.push(&entry.name);
                let message = format!(
                    "`{}` is decided by a process, which is simulated for one application",
                    entry.name
                );
                let help = "use a native strategy, or keep one application";
                self.report_application(key, &path, message, help);
            }
        }
        if !reading.file.changes.is_empty() {
            let message = "people's changes are simulated for one application";
            let help = "remove `changes`, or keep one application";
            self.report_top("changes", message, help);
        }
        let pre_pull = Path::of("distribution").key("prePull");
        if reading.tree.get(&pre_pull).is_some() {
            let message = "a pre-pull is simulated for one application";
            let help = "remove `prePull`, or keep one application";
            self.report_top("distribution", message, help);
        }
        self.problems.len() == before
    }

    /// Reports a problem with an entry of `applications`, at its strategy if it names one.
    fn report_application(&mut self, key: &str, path: &Path, message: String, help: &str) {
        let place = match self.tree.get(path) {
            Some(_) => self.tree.place(path),
            None => self.tree.key_place(&entry_path(key)),
        };
        let problem = self.source.at(place, path.to_string(), message);
        self.problems.push(problem.with_help(help.to_owned()));
    }

    fn report_top(&mut self, key: &str, message: &str, help: &str) {
        let place = self.tree.key_place(&Path::of(key));
        let problem = self.source.at(place, key, message.to_owned());
        self.problems.push(problem.with_help(help.to_owned()));
    }
}

/// Returns whether two strategies make different agents of the same one.
fn has_other_agent(one: &dyn Strategy, other: &dyn Strategy) -> bool {
    one.agent(AgentSpec::default()) != other.agent(AgentSpec::default())
}

/// Returns whether a strategy is decided outside of the program, or by a guest in its place.
fn is_external(reading: &ReadExperiment, strategy: &str) -> bool {
    let strategy = reading.strategies.get(strategy);
    strategy.is_some_and(|strategy| strategy.product.key == "external")
}
