//! Converts the strategies of an experiment file to checked strategies.

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
    /// The product's word for an entry of the fleet. `None`: use the word of the product it is compared with.
    const TARGET: Option<&'static str> = if Self::IS_BOUND {
        None
    } else {
        Some("cluster")
    };
    /// Whether no product ships the strategy; it then serves as a bound for any pacing. Such a strategy uses the
    /// agents and the control loop of the product it is compared with.
    const IS_BOUND: bool = false;
    /// The fields in the experiment that replace fields of the product's file, with their paths in that file.
    const IN_FILE: &'static [(&'static str, &'static str)] = &[];
    /// The settings that a plan searches if the experiment sets them to `auto`.
    const TUNED: &'static [TunedSetting] = &[];
    /// The default control loop.
    const CONTROL_LOOP: ControlLoop = ControlLoop::kubernetes();
    /// The default agent of each cluster.
    const AGENT: &'static AgentSpec = &AgentSpec::HELM;
    /// The platform's default rule for restarting containers that crash.
    const RESTARTS: Restarts = Restarts::KUBELET;

    /// Returns the entries of the fleet that the strategy's files select. `path` is the configuration's path in the
    /// experiment. `None`: they cannot be determined, and a problem was reported.
    fn targets(
        &self,
        _path: &Path,
        _fleet: Fleet<'_>,
        _context: &mut Context<'_>,
    ) -> Option<Targets> {
        Some(Targets::All)
    }

    /// Checks the configuration and its files against its targets. `path` is the configuration's path in the
    /// experiment. `None`: the strategy is invalid, and a problem was reported.
    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>>;
}

/// A setting that a plan searches if the experiment sets it to `auto`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunedSetting {
    /// The setting's path below the product's key; `*` stands for each entry of a list.
    pub(crate) path: &'static str,
    /// The candidates in ascending order, as written in a file.
    pub(crate) values: &'static [&'static str],
    /// A list that the strategy must have (`true`) or must not have (`false`) for this setting to apply.
    pub(crate) list: Option<(&'static str, bool)>,
}

impl TunedSetting {
    /// Creates a setting that always applies.
    pub(crate) const fn of(path: &'static str, values: &'static [&'static str]) -> Self {
        Self {
            path,
            values,
            list: None,
        }
    }
}

/// Candidates for the number of targets that are updated concurrently.
pub(crate) const AT_ONCE: &[&str] = &["1", "5%", "10%", "25%", "50%", "100%"];

/// A file of the product that a configuration may name with `file`.
pub(crate) struct ProductFile<T> {
    /// The document. `None`: no file is named, and the value is the default.
    pub(crate) document: Option<Document>,
    pub(crate) value: T,
}

impl<T: Default + DeserializeOwned> ProductFile<T> {
    /// Reads a Kubernetes object of one of these kinds. Unknown fields are rejected only below `strict`, because real
    /// objects have many fields that have no effect here. `None`: a problem was reported.
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

    /// Reads a file whose entire content is the value. `None`: a problem was reported.
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

    /// Reads the value at `base` in a document, or its default if it is absent. Errors that `counts` selects are
    /// reported at their positions; others are ignored.
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

/// Returns whether an error in a Kubernetes object is reported: unknown fields only below the `strict` paths.
fn is_reported(error: &ReadError, strict: &[Path]) -> bool {
    !matches!(error.kind, Kind::UnknownField { .. })
        || strict.iter().any(|base| error.path.starts_with(base))
}

/// The locations of a configuration's fields, which are in the experiment or in the product's file.
pub(crate) struct FieldPlaces<'p> {
    /// The configuration's path in the experiment.
    pub(crate) path: &'p Path,
    file: Option<&'p Document>,
    /// The fields in the experiment, with their paths in the file.
    in_file: &'static [(&'static str, &'static str)],
    /// Whether problems in the file are marked at the field's name instead of its value.
    pub(crate) marks_names: bool,
}

impl<'p> FieldPlaces<'p> {
    /// Creates the locations for an experiment and the product's file, if there is one.
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

    /// Reports a problem with a field, given by its path in the file.
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

    /// Returns the path in the experiment of a field whose path in the file is `there`. `None`: no field of the
    /// experiment replaces it, or the replacing field is not set.
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
