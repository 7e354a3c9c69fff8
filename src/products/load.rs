//! From an experiment file to a checked strategy.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Fleet, Strategy};
use crate::document::context::Context;
use crate::document::path::Path;
use crate::rollout::ControlLoop;
use crate::world::Restarts;

/// A product, implemented by the configuration of one of its strategies.
pub(crate) trait Product: DeserializeOwned + JsonSchema + 'static {
    /// The key in an experiment's `strategies`.
    const KEY: &'static str;
    /// The product's name.
    const TITLE: &'static str;
    /// What the strategy is, in one sentence for editors.
    const SUMMARY: &'static str;

    /// How the control loop runs where the experiment does not say.
    fn control_loop() -> ControlLoop;

    /// How the platform restarts containers that crash, where the experiment does not say. Default: as the kubelet.
    fn restarts() -> Restarts {
        Restarts::KUBELET
    }

    /// Checks the configuration, and the files that it names, against the fleet. `path` is its place in the
    /// experiment. `None` when no strategy can be made of it; then a problem was reported.
    fn check(&self, path: &Path, context: &mut LoadContext<'_, '_>) -> Option<Arc<dyn Strategy>>;
}

/// The experiment while one of its strategies is checked.
pub(crate) struct LoadContext<'a, 'd> {
    pub(crate) context: &'a mut Context<'d>,
    pub(crate) fleet: Fleet<'a>,
}

impl<'d> Deref for LoadContext<'_, 'd> {
    type Target = Context<'d>;

    fn deref(&self) -> &Context<'d> {
        self.context
    }
}

impl<'d> DerefMut for LoadContext<'_, 'd> {
    fn deref_mut(&mut self) -> &mut Context<'d> {
        self.context
    }
}
