//! The state of an attempt to pull an image while it is in progress: its downloads, their sources, and the unpacked
//! layers. `pull` describes the model.

use std::collections::VecDeque;

use crate::engine::EventId;
use crate::flow::TransferId;
use crate::world::faults::pulls::PlannedFailure;
use crate::world::ids::{PodId, PullId};
use crate::world::nodes::pull_wait::PullWaits;
use crate::world::nodes::runtime::retries::Tries;
use crate::world::transfers::payload::BlobSource;
use fleetsim_units::Bytes;

/// One layer of the image being pulled, by its index in the image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PullLayer {
    pub(crate) pull: PullId,
    pub(crate) layer: u16,
}

impl PullLayer {
    pub(crate) const fn new(pull: PullId, layer: u16) -> Self {
        Self { pull, layer }
    }
}

/// The state of a layer's download.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fetch {
    /// The layer is not needed, or complete.
    Done,
    /// Another pull of this node downloads the layer, or this pull downloads it for an earlier position in the image.
    Elsewhere,
    /// The layer waits for a slot.
    Queued,
    /// The layer has a slot; its request is in progress.
    Requested,
    /// The layer's transfer is in progress.
    Downloading(TransferId),
    /// This many bytes have arrived; the layer is complete once its source is complete.
    Settling(Bytes),
    /// This many bytes have arrived; the layer is complete once the node's disk has written it.
    Syncing(Bytes),
}

/// The state of an attempt in progress.
#[derive(Debug)]
pub(crate) struct PullProgress {
    pub fetches: Vec<Fetch>,
    /// Failed attempts of each layer's request.
    pub(crate) layer_tries: Vec<Tries>,
    /// The source of each layer. Empty: all layers are from the registry.
    pub sources: Vec<BlobSource>,
    /// The lowest layer that is not committed.
    pub(crate) unpack_next: usize,
    /// Layers that are being unpacked.
    pub unpacking: Vec<u16>,
    /// Unpacked layers with a missing layer below them.
    pub unpacked: Vec<u16>,
    /// The point at which the attempt aborts, if it does.
    pub(crate) planned_failure: Option<PlannedFailure>,
    pub(crate) failing_layer: Option<usize>,
    /// The bytes of the failing layer that fit on the disk, if it fails because others do not.
    pub(super) free_bytes: Option<u64>,
    /// Whether a layer does not fit on the disk when it is unpacked, so that the attempt fails at this instant.
    pub(super) is_out_of_space: bool,
    /// Whether the config has arrived and the missing layers are known.
    pub planned: bool,
    /// Whether all layers are committed, so that only the constant part is left.
    pub(crate) finishing: bool,
    pub(crate) blob_host_known: bool,
    /// Number of slots of this pull, if slots are counted per image.
    pub(super) slots_taken: u32,
    pub(super) slot_queue: VecDeque<u16>,
    /// The pull's requests that wait before they are sent again.
    pub(super) waits: PullWaits,
    /// Failed attempts of the current control request.
    pub tries: Tries,
    pub config: Option<TransferId>,
    pub(crate) config_source: BlobSource,
    /// Pods whose own pulls of the same image wait for this one.
    pub others: Vec<PodId>,
    /// The pending event at the attempt's deadline.
    pub(super) deadline: Option<EventId>,
    /// The pending event of the attempt's end, if real machines carry it out.
    pub(super) order: Option<EventId>,
    /// The pending cancellation while no transfer makes progress.
    pub(crate) stall_timeout: Option<EventId>,
}

impl PullProgress {
    pub(super) const fn of_layers(layer_tries: Vec<Tries>, fetches: Vec<Fetch>) -> Self {
        Self {
            others: Vec::new(),
            planned: false,
            tries: Tries::NONE,
            layer_tries,
            fetches,
            sources: Vec::new(),
            config_source: BlobSource::Registry,
            unpack_next: 0,
            unpacking: Vec::new(),
            unpacked: Vec::new(),
            finishing: false,
            deadline: None,
            order: None,
            config: None,
            blob_host_known: false,
            slots_taken: 0,
            slot_queue: VecDeque::new(),
            waits: PullWaits::NONE,
            planned_failure: None,
            failing_layer: None,
            free_bytes: None,
            is_out_of_space: false,
            stall_timeout: None,
        }
    }
}
