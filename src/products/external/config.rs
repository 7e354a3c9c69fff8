//! The settings of `external` in an experiment.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ApprovalModel, ExternalStrategy};
use crate::document::context::Context;
use crate::document::path::Path;
use crate::process::ProcessCommand;
use crate::products::delay::ApprovalDelay;
use crate::products::{Fleet, Product, Strategy};
use crate::units::SimDuration;
use crate::units::serial::positive;

/// A process that decides which cluster is next, see docs/external-schedulers.md.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ExternalConfig {
    /// The program and its arguments. The working directory is the experiment's folder. Runs need `--allow-commands`.
    #[cfg_attr(test, schemars(required))]
    command: Vec<String>,
    /// Files passed to the process in the first message. They are recorded with the results.
    files: Vec<String>,
    /// Flags passed to the process in the first message.
    settings: BTreeMap<String, String>,
    /// Delay until approvals that the process requests are given. Default: never.
    approvals: Option<ApprovalDelay>,
    /// Which side runs the control loop: passes, their duration, and the delay of changes.
    #[serde(rename = "loop")]
    keeper: LoopKeeper,
    /// Time limit of each answer, in real time.
    #[serde(deserialize_with = "positive")]
    timeout: SimDuration,
}

/// The side that runs the control loop.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoopKeeper {
    /// fleetsim, which asks the process in every pass. The durations come from `controller`.
    Fleetsim,
    /// The process. It receives the mean request time and the watch delay of `controller`.
    Process,
}

impl Default for ExternalConfig {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            files: Vec::new(),
            settings: BTreeMap::new(),
            approvals: None,
            keeper: LoopKeeper::Fleetsim,
            timeout: SimDuration::from_secs(60),
        }
    }
}

impl Product for ExternalConfig {
    const KEY: &'static str = "external";
    const TITLE: &'static str = "External scheduler";
    const SUMMARY: &'static str = "A process of your own that decides which cluster is next.";
    const TARGET: Option<&'static str> = None;

    fn check(
        &self,
        path: &Path,
        _: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        if self.command.first().is_none_or(String::is_empty)
            && context.is_untouched(&path.key("command"))
        {
            let at = if context.is_set(&path.key("command")) {
                path.key("command")
            } else {
                path.clone()
            };
            context.report(
                &at,
                "`command` must name a program",
                "write e.g. `command: [python3, scheduler.py]`",
            );
        }
        let mut files = Vec::new();
        for (index, name) in self.files.iter().enumerate() {
            let source = context.file(name, &path.key("files").index(index))?;
            files.push((name.clone(), source.text.clone()));
            context.files.copy_whole(name);
        }
        let delay = self
            .approvals
            .as_ref()
            .and_then(|of| of.check(&path.key("approvals"), context));
        // An argument that is a file may be the program or its settings; changing it changes the results.
        for word in &self.command {
            if context.files.is_file(word) {
                // A program that is not text is also recorded.
                let _ = context.files.read(word);
                context.files.copy_whole(word);
            }
        }
        Some(Arc::new(ExternalStrategy {
            command: ProcessCommand {
                words: self.command.clone(),
                folder: context.files.folder().to_owned(),
                timeout_ns: self.timeout.as_nanos(),
                remedy: "install it or correct `command`",
            },
            decider: None,
            files,
            settings: self.settings.clone(),
            keeper: self.keeper,
            approvals: ApprovalModel {
                delay,
                by_condition: Vec::new(),
            },
            sees_progress_deadlines: false,
            heeds_pause: true,
            native: None,
            acts: Vec::new(),
        }))
    }
}
