//! The pulls and starts of containers, read from events of a Kubernetes cluster.
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

/// Returns the containers in the events. `only`: limits them to pods whose `namespace/name` contains this text.
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
