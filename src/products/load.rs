//! From an experiment file to a checked strategy.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::described::Described;
use super::fields::{self, FileChoice, ObjectKind};
use super::{Fleet, Strategy, Targets};
use crate::control_plane::ControlLoop;
use crate::document::context::{Context, Document};
use crate::document::path::Path;
use crate::document::reader::{Kind, ReadError};
use crate::document::wording::Wording;
use crate::world::{AgentSpec, Restarts};

/// A product, implemented by the configuration of one of its strategies.
pub(crate) trait Product: DeserializeOwned + Described + 'static {
    /// The key in an experiment's `strategies`.
    const KEY: &'static str;
    /// The product's name.
    const TITLE: &'static str;
    /// A description of the strategy, in one sentence for editors.
    const SUMMARY: &'static str;
    /// The product's word for an entry of the fleet. `None`: that of the products it is compared with.
    const TARGET: Option<&'static str> = if Self::IS_BOUND {
        None
    } else {
        Some("cluster")
    };
    /// Whether no product ships it: a bound of what any pacing can do. It has the agents and the control loop of the
    /// product that it is compared with.
    const IS_BOUND: bool = false;
    /// The fields in place that replace those of a file of the product, and where the file has each.
    const IN_FILE: &'static [(&'static str, &'static str)] = &[];
    /// The settings that a plan searches where the experiment says `auto`.
    const TUNED: &'static [TunedSetting] = &[];
    /// The control loop, where the experiment does not say.
    const CONTROL_LOOP: ControlLoop = ControlLoop::kubernetes();
    /// The agent in each cluster, where the experiment does not say.
    const AGENT: &'static AgentSpec = &AgentSpec::HELM;
    /// The platform's restarts of containers that crash, where the experiment does not say.
    const RESTARTS: Restarts = Restarts::KUBELET;

    /// The entries of the fleet that the files select. `path` is the place of the configuration in the experiment.
    /// `None` when they cannot be told; then a problem was reported.
    fn targets(
        &self,
        _path: &Path,
        _fleet: Fleet<'_>,
        _context: &mut Context<'_>,
    ) -> Option<Targets> {
        Some(Targets::All)
    }

    /// Checks the configuration, and the files that it names, against its targets. `path` is its place in the
    /// experiment. `None` when no strategy can be made of it; then a problem was reported.
    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>>;
}

/// A setting that a plan searches where the experiment says `auto`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunedSetting {
    /// Its path below the product; `*` stands for each entry of a list.
    pub(crate) path: &'static str,
    /// Its candidates in rising order, as written in a file.
    pub(crate) values: &'static [&'static str],
    /// The list that the strategy must have (`true`) or must not have for this setting to count.
    pub(crate) list: Option<(&'static str, bool)>,
}

impl TunedSetting {
    /// A setting that always counts.
    pub(crate) const fn of(path: &'static str, values: &'static [&'static str]) -> Self {
        Self {
            path,
            values,
            list: None,
        }
    }
}

/// Candidates for a number of targets that are under way at once.
pub(crate) const AT_ONCE: &[&str] = &["1", "5%", "10%", "25%", "50%", "100%"];

/// A file of the product that a configuration may name with `file`.
pub(crate) struct ProductFile<T> {
    /// `None`: no file is named, and the value is the default.
    pub(crate) document: Option<Document>,
    pub(crate) value: T,
}

impl<T: Default + DeserializeOwned> ProductFile<T> {
    /// Reads an object of Kubernetes of one of these kinds. Unknown fields are refused below `strict` alone, because
    /// real objects hold many fields that decide nothing here. `None`: a problem was reported.
    pub(crate) fn object(
        choice: FileChoice<'_>,
        kinds: &[ObjectKind],
        strict: &[&str],
        context: &mut Context<'_>,
    ) -> Option<Self> {
        let Some(name) = choice.name else {
            return Some(Self::absent());
        };
        let document = fields::object(name, kinds, choice, context)?;
        let strict: Vec<Path> = strict
            .iter()
            .filter_map(|base| Path::parse(base).ok())
            .collect();
        Self::of(document, &Path::default(), context, |error| {
            is_reported(error, &strict)
        })
    }

    /// Reads the rollout strategy of a fleet.yaml, a Bundle or a HelmOp. `None`: a problem was reported.
    pub(crate) fn fleet_yaml(choice: FileChoice<'_>, context: &mut Context<'_>) -> Option<Self> {
        let Some(name) = choice.name else {
            return Some(Self::absent());
        };
        let document = fields::bundle(name, choice, context)?.document;
        Self::of(document, &Path::of("rolloutStrategy"), context, |error| {
            is_reported(error, &[])
        })
    }

    /// Reads a file that is the value. `None`: a problem was reported.
    pub(crate) fn whole(
        choice: FileChoice<'_>,
        kind: ObjectKind,
        context: &mut Context<'_>,
    ) -> Option<Self> {
        let Some(name) = choice.name else {
            return Some(Self::absent());
        };
        let document = fields::object(name, &[kind], choice, context)?;
        Self::of(document, &Path::default(), context, |_| true)
    }

    /// The value at `base` of a document; its default where there is none. Errors that `counts` selects are reported
    /// at their places in it, and the others ignored.
    fn of(
        document: Document,
        base: &Path,
        context: &mut Context<'_>,
        counts: impl Fn(&ReadError) -> bool,
    ) -> Option<Self> {
        let value = match document.tree.get(base) {
            Some(node) if !node.is_empty() => context.read_from(&document, base, counts)?,
            _ => T::default(),
        };
        Some(Self {
            document: Some(document),
            value,
        })
    }

    fn absent() -> Self {
        Self {
            document: None,
            value: T::default(),
        }
    }
}

/// Whether an error in an object of Kubernetes is reported: unknown fields only below the `strict` paths.
fn is_reported(error: &ReadError, strict: &[Path]) -> bool {
    !matches!(error.kind, Kind::UnknownField { .. })
        || strict.iter().any(|base| error.path.starts_with(base))
}

/// The places of a configuration's fields: each is written in the experiment, or in the product's file.
pub(crate) struct FieldPlaces<'p> {
    /// The configuration's place in the experiment.
    pub(crate) path: &'p Path,
    file: Option<&'p Document>,
    /// The fields in place, and where the file has each.
    in_file: &'static [(&'static str, &'static str)],
    /// In the file, the field's name is marked in place of its value.
    pub(crate) marks_names: bool,
}

impl<'p> FieldPlaces<'p> {
    /// The places in an experiment and, if there is one, in the product's file.
    pub(crate) fn new(
        path: &'p Path,
        file: Option<&'p Document>,
        in_file: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            path,
            file,
            in_file,
            marks_names: false,
        }
    }

    /// Reports a problem with a field that is named as in the file.
    pub(crate) fn report(
        &self,
        field: &str,
        message: impl Into<Wording>,
        help: impl Into<Wording>,
        context: &mut Context<'_>,
    ) {
        let there = Path::parse(field).unwrap_or_default();
        let problem = match (self.in_experiment(&there, context), self.file) {
            (Some(here), _) => context.at(&here, message),
            (None, Some(file)) => file.problem(&there, self.marks_names, message),
            (None, None) => context.at(self.path, message),
        };
        context.problems.push(problem.with_help(help));
    }

    /// The place in the experiment of a field that is `there` in the file. `None`: no field in place replaces it, or
    /// that field is not set.
    fn in_experiment(&self, there: &Path, context: &Context<'_>) -> Option<Path> {
        for (key, at) in self.in_file {
            let Ok(at) = Path::parse(at) else { continue };
            let is_around = !there.0.is_empty() && at.starts_with(there);
            if !there.starts_with(&at) && !is_around {
                continue;
            }
            let here = self.path.key(key);
            if self.file.is_none() || context.is_set(&here) {
                let rest = there.0.iter().skip(at.0.len()).cloned().collect();
                return Some(here.then(&Path(rest)));
            }
        }
        None
    }
}
