//! The total that machines can send to a swarm. Each machine counts once, however many blobs it has.
//!
//! A crowd is a set of downloads and the machines that can serve them: the nodes that have or download any of its
//! blobs, and the seeds of the cluster. All downloads of a crowd share one link, whose capacity is the second term of
//! the fluid equation (see `pieces`). A node that has a whole blob of the crowd counts fully, a node that only
//! downloads counts by the effectiveness, and no node counts twice, because its blobs share its network card.
//!
//! A crowd of several blobs counts a whole blob only while some node downloads it. Layers that everybody has already
//! give nobody something to send.
//!
//! Left out: a node that has one blob whole and downloads another one. It counts fully for both together, although it
//! can send only parts of the other one.

use crate::flow::{LinkId, Network};
use fleetsim_units::{BytesPerSec, Share, SimTime};

/// The number of a crowd's blobs that one node has or downloads.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    downloading: u16,
    complete: u16,
}

/// A change of one blob of a node, as a crowd counts it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CrowdChange {
    /// A download begins.
    Downloads,
    /// A download ends, complete or not.
    EndsDownload,
    /// The node has a whole blob that it can send.
    Serves,
    /// The node's whole blob is asked for no longer.
    StopsServing,
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

    const fn apply(&mut self, change: CrowdChange) {
        match change {
            CrowdChange::Downloads => self.downloading += 1,
            CrowdChange::EndsDownload => self.downloading -= 1,
            CrowdChange::Serves => self.complete += 1,
            CrowdChange::StopsServing => self.complete -= 1,
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
    /// Number of downloads that are in progress.
    downloads: u32,
    /// Number of nodes that have or download a blob.
    nodes: u32,
    /// The sum of the rates of nodes that only download.
    downloading_out: u64,
    /// The sum of the rates of nodes with a whole blob.
    complete_out: u64,
    /// The capacity of the link, in bytes per second.
    upload: f64,
}

impl Crowd {
    /// Creates a crowd without nodes, which only the seeds serve.
    pub(super) fn new(cluster_nodes: usize, terms: UploadTerms, network: &mut Network) -> Self {
        Self {
            link: network.add_link(None, BytesPerSec::new(terms.seeds)),
            holdings: vec![Holding::default(); cluster_nodes],
            downloads: 0,
            nodes: 0,
            downloading_out: 0,
            complete_out: 0,
            upload: terms.seeds,
        }
    }

    /// Returns the number of nodes that have or download a blob.
    pub(super) const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Returns whether any node downloads a blob.
    pub(super) const fn is_active(&self) -> bool {
        self.downloads > 0
    }

    /// Returns whether a node has a whole blob.
    pub(super) fn is_complete(&self, node: usize) -> bool {
        self.holdings[node].complete > 0
    }

    /// Records a change of one blob of a node. The capacity stays until [`Crowd::update`].
    pub(super) fn change(&mut self, node: PeerNode, change: CrowdChange) {
        match change {
            CrowdChange::Downloads => self.downloads += 1,
            CrowdChange::EndsDownload => self.downloads -= 1,
            CrowdChange::Serves | CrowdChange::StopsServing => {}
        }
        let before = self.holdings[node.at].standing();
        self.holdings[node.at].apply(change);
        let after = self.holdings[node.at].standing();
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
    }

    /// Sets the capacity of the link to what the machines can send.
    pub(super) fn update(&mut self, terms: UploadTerms, now: SimTime, network: &mut Network) {
        let incomplete = terms.effectiveness.get() * self.downloading_out as f64;
        let upload = incomplete + self.complete_out as f64 + terms.seeds;
        if upload.to_bits() == self.upload.to_bits() {
            return;
        }
        self.upload = upload;
        network.set_capacity(now, self.link, BytesPerSec::new(upload));
    }
}
