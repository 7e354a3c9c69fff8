//! The variants of an experiment: each strategy at each point of its grid, as a separate scenario.
//!
//! The values of a point are inserted into the file's tree, and the whole file is read and checked again. Worlds are
//! checked once for each combination of the settings that affect them. Errors in the unchanged file are not reported
//! again.

use itertools::Itertools;

use super::alternatives::Alternatives;
use super::applications::named;
use super::constants::{lay_all, product_of};
use super::loader::{Loader, ReadExperiment, VariantGrid};
use super::operator::ReleasedEntry;
use super::rollouts::VariantRollouts;
use super::sweep::{self, Axis, LeadsNowhere, Point};
use super::{ApplicationRollout, OperatorRule, Plan, Scenario, Variant};
use crate::control_plane::Change;
use crate::document::in_one_line;
use crate::document::tree::Node;
use crate::products::ProductEntry;
use crate::results::Setting;
use crate::world::PlatformSpec;

/// The file's tree with the values of a variant.
pub(super) struct VariantTree {
    pub(super) tree: Node,
    pub(super) strategy: String,
    pub(super) product: &'static ProductEntry,
}

impl Loader {
    /// Returns the tree of every variant.
    pub(super) fn trees(&self) -> Vec<VariantTree> {
        let (axes, _) = sweep::axes(&self.tree);
        let mut trees = Vec::new();
        for variant in Alternatives::of(&self.tree).variants {
            for point in sweep::grid(&axes, &variant) {
                let Ok(tree) = sweep::apply(&self.tree, &axes, &point) else {
                    continue;
                };
                if let Some(product) = product_of(&tree, &variant) {
                    trees.push(VariantTree {
                        tree,
                        strategy: variant.clone(),
                        product,
                    });
                }
            }
        }
        trees
    }

    /// Returns every strategy at every point of its grid.
    pub(super) fn variants(
        &mut self,
        grid: &mut VariantGrid,
        strategies: &[String],
        plan: Option<&Plan>,
    ) -> Vec<Variant> {
        let mut variants = Vec::new();
        for name in strategies {
            for point in points(&grid.axes, name, plan) {
                if let Some(scenario) = self.scenario(grid, name, &point) {
                    let settings = sweep::settings(&grid.axes, &point);
                    variants.push(variant(name, settings, scenario));
                }
            }
        }
        variants
    }

    /// Returns one strategy at one point of its grid. `None`: there are problems, which were reported.
    fn scenario(&mut self, grid: &mut VariantGrid, name: &str, point: &Point) -> Option<Scenario> {
        let mut tree = match sweep::apply(&self.tree, &grid.axes, point) {
            Ok(tree) => tree,
            Err(LeadsNowhere { axis, part }) => {
                let Axis { path, at, .. } = &grid.axes[axis];
                let problem = self.no_setting(path, &part, at, "sweep");
                self.problems.push(problem);
                return None;
            }
        };
        lay_all(&mut tree, name, &self.levels, &self.ranges);
        let swept: Vec<&Axis> = point.iter().map(|chosen| &grid.axes[chosen.axis]).collect();
        let mut known = grid.base_errors.clone();
        let reading = self.read(tree, &swept, &mut known)?;
        let world = grid
            .worlds
            .entry(sweep::world_point(&grid.axes, point))
            .or_insert_with(|| self.world(&reading))
            .clone();
        let product = product_of(&reading.tree, name)?;
        let rollouts = self.rollouts(&reading, name, &world);
        let described = self.check(&reading, |checker| checker.agent(product.agent));
        let restarts = self.check(&reading, |checker| checker.restarts(product.restarts));
        let control_loop = self.check(&reading, |checker| {
            checker.control_loop(product.control_loop.clone())
        });
        let VariantRollouts {
            mut applications,
            strategies,
            world,
        } = rollouts?;
        let is_bound = reading.strategies.get(&strategies[0])?.product.is_bound;
        // All applications have the same agents.
        let mut agent = applications[0].strategy.agent(described);
        if applications.len() == 1 {
            // A single application never waits for a worker.
            agent.workers = None;
        }
        let platform = PlatformSpec { agent, restarts };
        for (application, strategy) in applications.iter_mut().zip(&strategies) {
            let own = &*application.strategy;
            application.changes = self.check(&reading, |checker| {
                checker.apply_faults_of(strategy, own, &world.world.faults);
                checker.changes(&reading.file.changes, name, own, &world)
            });
            for release in &application.later {
                let change = Change::Release(release.revision);
                application.changes.push((release.after, change));
            }
            application.changes.sort_by_key(|(after, _)| *after);
        }
        let mut targets = Vec::new();
        for application in &applications {
            let own = application.view.as_ref().unwrap_or(&world.world);
            targets.push(own.clusters.len());
        }
        let operator = self.operator(&reading, &applications, &strategies, &targets);
        self.check(&reading, |checker| checker.horizon(&reading.file));
        let price = self.check(&reading, |checker| {
            checker.price(reading.file.price.as_ref(), &world.world)
        });
        Some(Scenario {
            world: world.world,
            groups: world.groups,
            calendar: world.calendar,
            control_loop,
            platform,
            applications,
            product: product.title,
            is_bound,
            horizon: reading.file.horizon,
            operator,
            price,
        })
    }
}

impl Loader {
    /// Returns the rules of the operator for these applications with these strategies.
    fn operator(
        &mut self,
        reading: &ReadExperiment,
        applications: &[ApplicationRollout],
        strategies: &[String],
        targets: &[usize],
    ) -> Vec<OperatorRule> {
        let file = &reading.file;
        let mut entries = Vec::new();
        for application in named(file) {
            entries.push(ReleasedEntry {
                key: Some(application.key),
                releases: application.file.releases.as_ref(),
            });
        }
        if file.applications.is_none() {
            entries.push(ReleasedEntry {
                key: None,
                releases: file.releases.as_ref(),
            });
        }
        let rules = self.check(reading, |checker| checker.operator_rules(file, &entries));
        self.check(reading, |checker| {
            checker.operator_can_act(&rules, targets, file.horizon);
        });
        for (application, strategy) in applications.iter().zip(strategies) {
            self.check(reading, |checker| {
                checker.supports_operator(&rules, strategy, &*application.strategy);
            });
        }
        rules
    }
}

/// Returns the points of a strategy's grid. A search with a number of tries begins with the current setting in each
/// world.
fn points(axes: &[Axis], strategy: &str, plan: Option<&Plan>) -> Vec<Point> {
    let grid = sweep::grid(axes, strategy);
    let has_own = axes.iter().any(|axis| axis.tunes(strategy));
    let is_tuned =
        plan.is_some_and(|plan| plan.tries.is_some() && plan.objective.measure().is_some());
    if !has_own || !is_tuned {
        return grid;
    }
    let worlds = grid.iter().map(|point| sweep::world_point(axes, point));
    let mut points: Vec<Point> = worlds.unique().collect();
    points.extend(grid);
    points
}

/// Returns a variant with its label.
fn variant(strategy: &str, settings: Vec<Setting>, scenario: Scenario) -> Variant {
    let setting = in_one_line(&Setting::in_short(&settings));
    let strategy = in_one_line(strategy);
    let label = if setting.is_empty() {
        strategy.clone()
    } else {
        format!("{strategy} {setting}")
    };
    Variant {
        label,
        strategy,
        setting,
        settings,
        scenario,
    }
}
