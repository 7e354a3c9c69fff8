//! Events of a Kubernetes cluster: the pulls and starts of containers.
//!
//! | file | contents |
//! |---|---|
//! | `read` | the files, in all their forms |
//! | `message` | the kubelet's messages |
//! | `pulls` | containers with their pulls |
//! | `tally` | the number of inputs that were left out, by reason |

mod message;
mod pulls;
mod read;
mod tally;
#[cfg(test)]
mod tests;

pub(super) use pulls::ContainerStart;
pub(super) use read::{ITEMS, PodEvents, read};
pub(super) use tally::Tally;

/// Returns the containers of events. `only`: those whose pod's namespace and name contain it.
pub(super) fn containers(
    read: PodEvents,
    only: Option<&str>,
    tally: &mut Tally,
) -> Vec<ContainerStart> {
    let mut events = read.events;
    if let Some(only) = only {
        let all = events.len();
        events.retain(|event| event.pod.contains(only));
        tally.add_many("event of a pod that `--only` excludes", all - events.len());
    }
    pulls::containers(events, tally)
}
