//! Pulls that stall, and the timeout that cancels them.
//!
//! containerd cancels a pull when it has requests in progress and no bytes have arrived for
//! `image_pull_progress_timeout` (`internal/cri/server/images/image_pull.go`, five minutes since v2.0, one in v1.7.0).
//! Arrived bytes are kept, and the kubelet's next attempt resumes. CRI-O has no such limit by default.
//!
//! A transfer's rate is zero only when a link on its path has no capacity, so no polling is needed: the pulls behind a
//! link are checked when its capacity drops to zero or returns, and a pull is checked when one of its transfers starts
//! or ends while some link has no capacity.
//!
//! Left out: the reporter checks every 10 s (so cancellation is up to 10 s later), and counts requests that wait for a
//! response as no progress; here, such requests end by their own timeouts.

use std::ops::Range;

use crate::world::World;
use crate::world::distribution::spec::DistributionKind;
use crate::world::event::{Event, PullEvent, Queue};
use crate::world::ids::PullId;
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::pull_progress::Fetch;
use crate::world::registry::request::Request;

impl World<'_> {
    /// Starts or stops the timeout of a pull, depending on whether its transfers stall.
    pub(crate) fn check_stall(&mut self, id: PullId, queue: &mut Queue) {
        let Some(timeout) = self.spec.node.runtime.no_progress_timeout else {
            return;
        };
        let waits = self.pulls[id.index()].stall_timeout.is_some();
        if !self.transfers.has_dead_links() && !waits {
            return;
        }
        let is_stalled = self.is_stalled(id);
        let pull = &mut self.pulls[id.index()];
        if is_stalled && !waits {
            pull.stall_timeout =
                Some(queue.schedule_in(timeout, Event::Pull(id, PullEvent::Stalled)));
        } else if let Some(event) = pull.stall_timeout.take_if(|_| !is_stalled) {
            queue.cancel(event);
        }
    }

    /// Like [`World::check_stall`], for the pulls of these nodes. `nodes`: all nodes whose transfers may use the link
    /// whose capacity dropped to zero or returned.
    pub(crate) fn check_stalls(&mut self, nodes: Range<usize>, queue: &mut Queue) {
        if self.spec.node.runtime.no_progress_timeout.is_none() {
            return;
        }
        // A pull that waits for the fill of a cache or a seed may stall without its own check; the next outage of any
        // cluster detects the stall.
        let kind = &self.spec.distribution.kind;
        let fills = !matches!(kind, DistributionKind::Direct | DistributionKind::Spegel(_));
        let nodes = if fills { 0..self.nodes.len() } else { nodes };
        for node in nodes {
            for at in 0..self.nodes[node].pulls.len() {
                self.check_stall(self.nodes[node].pulls[at], queue);
            }
        }
        debug_assert!(
            self.stalls_are_known(),
            "a link concerns nodes that are not behind it"
        );
    }

    /// Returns whether the stalled pulls, and no others, wait for their timeout.
    fn stalls_are_known(&self) -> bool {
        let mut pulls = self.nodes.iter().flat_map(|node| &node.pulls);
        pulls.all(|&id| {
            let waits = self.pulls[id.index()].stall_timeout.is_some();
            (!self.transfers.has_dead_links() && !waits) || self.is_stalled(id) == waits
        })
    }

    /// Returns whether a pull has transfers in progress and none of them makes progress.
    pub(crate) fn is_stalled(&self, id: PullId) -> bool {
        let pull = &self.pulls[id.index()];
        let layers = (0..)
            .zip(&pull.fetches)
            .filter_map(|(layer, fetch)| match fetch {
                Fetch::Downloading(transfer) => Some(*transfer),
                Fetch::Settling(_) => {
                    let source = pull.source(Request::Layer(layer));
                    self.delivery.awaited_fill(source)
                }
                _ => None,
            });
        let mut transfers = layers.chain(pull.config).peekable();
        transfers.peek().is_some() && transfers.all(|transfer| !self.transfers.is_moving(transfer))
    }

    pub(crate) fn cancel_stalled(&mut self, id: PullId, queue: &mut Queue) {
        self.pulls[id.index()].stall_timeout = None;
        self.fail(id, PullError::NoProgress, queue);
    }
}
