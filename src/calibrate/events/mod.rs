//! Events of a Kubernetes cluster: which container pulled what, and when it started.
//!
//! | file | contents |
//! |---|---|
//! | `read` | the files, in all their forms |
//! | `message` | the kubelet's messages |
//! | `pulls` | containers with their pulls |
//! | `tally` | what was left out, and why |

mod message;
mod pulls;
mod read;
mod tally;
#[cfg(test)]
mod tests;

pub(super) use pulls::{ContainerStart, Stamp};
pub(super) use tally::Tally;

use super::input::Input;
use crate::document::problem::OrProblem;

/// The containers of several files, whose events may overlap. `only`: those whose pod's namespace and name contain it.
///
/// # Errors
/// When a file is not JSON, is cut off, or has no events.
pub(super) fn containers(inputs: &[Input], only: Option<&str>, tally: &mut Tally) -> OrProblem<Vec<ContainerStart>> {
    let mut read = read::PodEvents::default();
    for input in inputs {
        read::read(input, &mut read, tally)?;
    }
    let mut events = read.events;
    if let Some(only) = only {
        let all = events.len();
        events.retain(|event| event.pod.contains(only));
        tally.add_many("event of a pod that `--only` excludes", all - events.len());
    }
    Ok(pulls::containers(events, tally))
}
