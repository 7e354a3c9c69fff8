//! The products whose rollouts are simulated: everything about a product except its rules.
//!
//! A product is a folder here and one line in [`PRODUCTS`]; its rules are in `crates/rollout`. The folder contains the
//! product's configuration in an experiment with its checks, the adapter between the scheduler and the world, the
//! explanation of a strategy, and the snippet for the product's own file.
//!
//! ```text
//!   experiment file ──read──▶ configuration ──check──▶ Strategy ──controller──▶ Controller ◀──▶ one run
//!        (Product::KEY)        (Product)                  ├──▶ StrategyExplanation
//!                                                         └──▶ Snippet
//! ```
//!
//! No product depends on another one or on the rest of the experiment: the scenario passes the [`Fleet`] and a
//! `Context` for reporting problems.

pub mod argo_cd;
pub mod baseline;
pub mod cloud_foundry;
mod delay;
mod described;
mod entry;
pub mod external;
pub(crate) mod fields;
mod fleet;
pub mod kubefleet;
mod load;
pub mod rancher_fleet;
pub(crate) mod selection;
mod strategy;
mod targets;
mod upstream;
pub(crate) mod version;
pub(crate) mod words;

pub(crate) use entry::{ANY_TARGET, Configuration, DEPLOYMENT, target_of};
pub use entry::{ProductEntry, StrategyChoice, find};
pub use fleet::{Fleet, FleetGroup, Run};
pub(crate) use strategy::REMAINING_TIME;
use strategy::yaml_snippet;
pub use strategy::{
    Documented, FailureRefusal, Strategy, StrategyEq, StrategyExplanation, StrategyPart,
};

pub(crate) use load::{AT_ONCE, FieldPlaces, Product, ProductFile, TunedSetting};
pub(crate) use targets::{ChosenTarget, TargetOrder, Targets};
pub(crate) use upstream::{ControllerChoice, Program, UpstreamProgram};

/// All products, in the order in which the schema and the documentation list them.
pub static PRODUCTS: &[ProductEntry] = &[
    ProductEntry::of::<rancher_fleet::RancherFleetConfig>(),
    ProductEntry::of::<cloud_foundry::CloudFoundryConfig>(),
    ProductEntry::of::<argo_cd::ArgoCdConfig>(),
    ProductEntry::of::<argo_cd::ProposalConfig>(),
    ProductEntry::of::<baseline::AllAtOnce>(),
    ProductEntry::of::<baseline::Batches>(),
    ProductEntry::of::<baseline::OneByOne>(),
    ProductEntry::of::<baseline::Doubling>(),
    ProductEntry::of::<kubefleet::StagedConfig>(),
    ProductEntry::of::<kubefleet::RollingConfig>(),
    ProductEntry::of::<external::ExternalConfig>(),
];
