//! Checked experiments: an experiment file and the files that it refers to are converted to scenarios that can be run.
//!
//! There are three representations. The file is text, with fields left out. The checked [`Scenario`] has resolved
//! units and defaults, so later code needs no further checks. The running state is in `sim`.

mod alternatives;
mod application;
mod application_file;
mod application_images;
mod applications;
mod assertion;
mod autoscaling;
mod changes;
mod check;
mod clock;
pub mod constants;
mod disk_space;
mod distribution;
mod effects;
mod faults;
mod file;
mod file_plan;
mod file_uncertainty;
mod fleet;
mod fleet_size;
mod guests;
mod header;
pub(crate) mod import;
mod later_releases;
mod load;
mod load_plan;
mod loader;
mod names;
mod node;
mod operator;
mod operator_file;
mod plan;
mod plan_auto;
mod precision;
pub(crate) mod price;
mod registry;
mod release;
mod release_files;
mod release_times;
mod rollouts;
mod schema;
mod set;
mod shared_worlds;
mod sweep;
mod targeted;
#[cfg(test)]
mod tests;
mod turned_off;
mod uncertainty;
mod variants;
mod vary;
pub(crate) mod worded;
mod world;

use std::sync::Arc;

use crate::build_info::build_info;
use crate::calendar::CalendarStart;
use crate::control_plane::ControlLoop;
use crate::products::{self, ANY_TARGET, DEPLOYMENT, FleetGroup, PRODUCTS};
use crate::results::{AllowedLeft, FileNotes, Provenance, Setting, VariantInfo};
use crate::units::{BytesPerSec, SimDuration};
use crate::world::{PlatformSpec, WorldSpec};

pub use crate::document::files::OpenFile;
pub use crate::document::{InputFile, LoadError, Problem};
pub use application::ApplicationRollout;
pub use assertion::Assertion;
pub use constants::{Level, SettingInForce, SettingsInForce, StrategySettings};
pub use guests::Guests;
pub use header::Overrides;
pub use load::{load, load_again, load_plan, load_with};
pub use operator::OperatorRule;
pub use operator_file::{OperatorAct, OperatorSign, TargetAmount};
pub use plan::{FIRST_RUNS, Plan};
pub use precision::Precision;
pub use price::{Currency, PriceList, RegistryPrices};
pub use release_times::PublishedRelease;
pub use schema::schema;
pub(crate) use sweep::is_setting_of_experiment;
pub use uncertainty::Uncertainty;
pub use vary::{VariedConstant, VariedExperiment, VariedValue};

/// A complete experiment: every variant of every strategy, ready to run.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// Short name of the experiment, which is also the name of the results folder.
    pub name: String,
    /// The question that the experiment answers, in one sentence.
    pub question: String,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Number of runs of every variant. With `precision`, the minimum number.
    pub replicates: u32,
    /// Required precision of the results. `None`: each variant has `replicates` runs.
    pub precision: Option<Precision>,
    /// All combinations of strategies and swept values, in the file's order. Labels are unique.
    pub variants: Vec<Variant>,
    /// The uncertainty about the constants. `None`: every constant keeps its value.
    pub uncertainty: Option<Uncertainty>,
    /// Limits that the results must meet.
    pub assertions: Vec<Assertion>,
    /// The limits and the objective of a search for settings. `None`: the file has no plan, and no search was
    /// requested.
    pub plan: Option<Plan>,
    /// The targets that a run may leave on the old version and still count as one that leaves none.
    pub allowed_left: AllowedLeft,
    /// The word for a target: the products' word for an entry of the fleet (`cluster`, `member cluster` or `instance`),
    /// or `deployment` if there are several applications.
    pub target: &'static str,
    /// Guesses that replace unknown facts about the fleet.
    pub guesses: Vec<GuessedLink>,
    /// Every setting in force, with its origin.
    pub settings: SettingsInForce,
    /// The values of `--set` in the format of the file, with complete lists. Empty if there are none.
    pub set_yaml: String,
    /// Every file that was read, for provenance.
    pub inputs: Vec<InputFile>,
}

impl Experiment {
    /// Returns every setting in force with its origin, as YAML.
    #[must_use]
    pub fn resolved(&self) -> String {
        self.settings.to_yaml()
    }

    /// Returns the currency of the prices. `None`: there are none.
    pub(crate) fn currency(&self) -> Option<String> {
        let mut prices = self
            .variants
            .iter()
            .filter_map(|variant| variant.scenario.price.as_ref());
        Some(prices.next()?.currency.to_string())
    }

    /// Returns the provenance of the experiment's results, without horizon, command and inputs.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        let planned = self.plan.iter().filter(|_| self.assertions.is_empty());
        Provenance {
            aims: planned
                .flat_map(|plan| &plan.limits)
                .map(ToString::to_string)
                .collect(),
            allowed_left: self.allowed_left,
            build: build_info(),
            file_notes: file_notes(&self.variants),
            variants: self.variants.iter().map(Variant::info).collect(),
            limits: self.assertions.iter().map(Assertion::info).collect(),
            ..Provenance::new(&self.name, &self.question, self.seed, self.replicates)
        }
    }
}

/// Returns the notes on the products' files for each strategy that has notes, without duplicates.
fn file_notes(variants: &[Variant]) -> Vec<FileNotes> {
    let mut found: Vec<FileNotes> = Vec::new();
    for variant in variants {
        let applications = &variant.scenario.applications;
        for note in applications
            .iter()
            .flat_map(|application| &application.file_notes)
        {
            let known = found
                .iter_mut()
                .find(|notes| notes.strategy == variant.strategy);
            match known {
                Some(known) if known.notes.contains(note) => {}
                Some(known) => known.notes.push(note.clone()),
                None => found.push(FileNotes {
                    strategy: variant.strategy.clone(),
                    notes: vec![note.clone()],
                }),
            }
        }
    }
    found
}

/// A value of the sites' links that the experiment does not state.
#[derive(Clone, Debug)]
pub struct GuessedLink {
    /// The path of the corresponding constant.
    pub constant: &'static str,
    /// A description that includes the settings to use instead of the guess.
    pub text: String,
}

/// One strategy with one combination of swept values.
#[derive(Clone, Debug)]
pub struct Variant {
    /// A short text with the strategy and the setting, unique in the experiment.
    pub label: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings as `name=value`, joined by `; `. Empty without a sweep.
    pub setting: String,
    /// The swept settings as a list, in the order of the sweep.
    pub settings: Vec<Setting>,
    /// The scenario to run.
    pub scenario: Scenario,
}

impl Variant {
    /// Returns the variant in the format of the results.
    #[must_use]
    pub fn info(&self) -> VariantInfo {
        // With several registries, the total traffic cannot be compared with a single registry's link.
        let world = &self.scenario.world;
        let egress = Some(world.registry.egress).filter(|_| world.registries.is_empty());
        let product = PRODUCTS
            .iter()
            .find(|product| product.title == self.scenario.product);
        let target = products::target_of(product.into_iter());
        VariantInfo {
            variant: self.label.clone(),
            strategy: self.strategy.clone(),
            setting: self.setting.clone(),
            settings: self.settings.clone(),
            product: self.scenario.product.to_owned(),
            target: if self.scenario.has_several_applications() {
                DEPLOYMENT.to_owned()
            } else if target == ANY_TARGET {
                String::new()
            } else {
                target.to_owned()
            },
            is_bound: self.scenario.is_bound,
            registry_egress_bytes_per_s: egress
                .filter(|egress| *egress != BytesPerSec::UNLIMITED)
                .map(BytesPerSec::get),
            precision: None,
        }
    }
}

/// One world, and the applications that are rolled out in it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The fleet, the registry, the release and the faults. Variants that differ only in strategy share it.
    pub world: Arc<WorldSpec>,
    /// Cluster groups, which a strategy may refer to. Their selectors are valid.
    pub groups: Arc<Vec<FleetGroup>>,
    /// The applications, in the order of the experiment. There is at least one, and all have the same product.
    pub applications: Vec<ApplicationRollout>,
    /// The name of the strategy's product. A bound has the name of the product whose agents and control loop it uses.
    pub product: &'static str,
    /// Whether no product ships the strategy.
    pub is_bound: bool,
    /// The date and time of the start, if the experiment has one.
    pub calendar: Option<Arc<CalendarStart>>,
    /// Settings of the control loop.
    pub control_loop: ControlLoop,
    /// The agents, and the platform's rule for restarts.
    pub platform: PlatformSpec,
    /// The time at which an unfinished run ends.
    pub horizon: SimDuration,
    /// What people do when a rollout goes wrong.
    pub operator: Vec<OperatorRule>,
    /// What the rollout costs. `None`: no prices are written.
    pub price: Option<Arc<PriceList>>,
}
