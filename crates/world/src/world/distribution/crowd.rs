//! The total that machines can send to a swarm. Each machine counts once, however many blobs it has.
//!
//! A crowd is a set of downloads and the machines that can serve them: the nodes that have or download any of its
//! blobs, and the seeds of the cluster. All downloads of a crowd share one link, whose capacity is the second term of
//! the fluid equation (see `pieces`). A node that has a whole blob of the crowd counts fully, a node that only
//! downloads counts by the effectiveness, and no node counts twice, because its blobs share its network card.

use crate::flow::{LinkId, Network};
use crate::world::distribution::method::MemberChange;
use fleetsim_units::{BytesPerSec, Share, SimTime};

/// The number of a crowd's blobs that one node has or downloads.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    downloading: u16,
    complete: u16,
}

/// The part that a node has in a crowd.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    Absent,
    Downloading,
    Complete,
}

impl Holding {
    fn standing(self) -> Standing {
        match self {
            Self { complete: 1.., .. } => Standing::Complete,
            Self {
                downloading: 1.., ..
            } => Standing::Downloading,
            Self { .. } => Standing::Absent,
        }
    }

    fn apply(&mut self, change: MemberChange) {
        match change {
            MemberChange::Joins => self.downloading += 1,
            MemberChange::Completes => {
                self.downloading -= 1;
                self.complete += 1;
            }
            MemberChange::Leaves => self.downloading -= 1,
        }
    }
}

/// A node within its cluster, and the rate at which it can send to its peers, in whole bytes per second, so that sums
/// are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerNode {
    pub at: usize,
    pub out: u64,
}

/// The rate of all seeds of a cluster together, and the share of their rate that incomplete nodes can use.
#[derive(Clone, Copy, Debug)]
pub(super) struct UploadTerms {
    pub seeds: f64,
    pub effectiveness: Share,
}

/// Downloads, and the machines that can serve them.
#[derive(Debug)]
pub(super) struct Crowd {
    /// The link that the downloads share.
    pub link: LinkId,
    holdings: Vec<Holding>,
    /// Number of nodes that have or download a blob.
    nodes: u32,
    /// The sum of the rates of nodes that only download.
    downloading_out: u64,
    /// The sum of the rates of nodes with a whole blob.
    complete_out: u64,
}

impl Crowd {
    /// Creates a crowd without nodes, which only the seeds serve.
    pub(super) fn new(cluster_nodes: usize, terms: UploadTerms, network: &mut Network) -> Self {
        Self {
            link: network.add_link(None, BytesPerSec::new(terms.seeds)),
            holdings: vec![Holding::default(); cluster_nodes],
            nodes: 0,
            downloading_out: 0,
            complete_out: 0,
        }
    }

    /// Returns the number of nodes that have or download a blob.
    pub(super) const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Records a change of one blob of a node.
    pub(super) fn change(
        &mut self,
        node: PeerNode,
        change: MemberChange,
        terms: UploadTerms,
        now: SimTime,
        network: &mut Network,
    ) {
        let before = self.holdings[node.at].standing();
        self.holdings[node.at].apply(change);
        let after = self.holdings[node.at].standing();
        if before == after {
            return;
        }
        match before {
            Standing::Absent => self.nodes += 1,
            Standing::Downloading => self.downloading_out -= node.out,
            Standing::Complete => self.complete_out -= node.out,
        }
        match after {
            Standing::Absent => self.nodes -= 1,
            Standing::Downloading => self.downloading_out += node.out,
            Standing::Complete => self.complete_out += node.out,
        }
        let incomplete = terms.effectiveness.get() * self.downloading_out as f64;
        let upload = incomplete + self.complete_out as f64 + terms.seeds;
        network.set_capacity(now, self.link, BytesPerSec::new(upload));
    }
}
