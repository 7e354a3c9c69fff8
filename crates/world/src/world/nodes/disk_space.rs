//! The space on a disk of limited size: what is on it beside the release, and what the kubelet knows about it.

use crate::engine::{EntityKey, Streams};
use crate::world::nodes::catalog::ImageRef;
use crate::world::nodes::spec::DiskSpec;
use crate::world::quantity::DurationModel;
use fleetsim_units::{SimDuration, SimTime};

/// How an image of the release is used on a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ImageUse {
    /// Number of pods on the node that run the image or wait for it.
    pub(super) pods: u32,
    /// When the image was pulled. `None`: long before the run.
    pub(super) pulled: Option<SimTime>,
    /// When the last of its pods was gone.
    pub(super) last_used: SimTime,
}

/// The space on a disk of limited size.
#[derive(Debug)]
pub(crate) struct DiskSpace {
    /// Size of the disk, in bytes.
    pub(super) size: u64,
    /// Bytes that are never freed.
    pub(super) used: u64,
    /// Bytes of unused images of other releases.
    pub(super) unused: u64,
    /// The use of each image of the release.
    pub(super) images: Vec<ImageUse>,
    /// The first time at which the kubelet looks at the available space, and at which it collects images.
    pub(super) first_look: SimTime,
    pub(super) first_collection: SimTime,
    /// Whether a look, and a collection, is scheduled.
    pub(super) will_look: bool,
    pub(super) will_collect: bool,
    /// Whether too little space was available at the last look, and remained so.
    pub(super) is_short: bool,
    /// The time until which the node takes no pods at least, if its disk was nearly full.
    pub(super) pressed_until: Option<SimTime>,
}

/// Returns a time within the period of a loop, which may have begun at any time before the run.
const fn within(period: SimDuration) -> DurationModel {
    DurationModel::Uniform {
        min: SimDuration::ZERO,
        max: period,
    }
}

impl DiskSpace {
    /// Creates the space of a node with the key `node`. `None`: its disk has no limit.
    pub(crate) fn draw(
        spec: Option<&DiskSpec>,
        streams: &Streams,
        node: EntityKey,
        images: usize,
    ) -> Option<Self> {
        let spec = spec?;
        let size = spec.size?;
        let collection = &spec.collection;
        Some(Self {
            size: size.get(),
            used: spec.used.draw(streams, node, "used space", 0).get(),
            unused: spec
                .unused_images
                .draw(streams, node, "unused images", 0)
                .get(),
            images: vec![ImageUse::default(); images],
            first_look: SimTime::ZERO
                + within(collection.monitoring_interval).draw(
                    streams,
                    node,
                    "first look at the disk",
                    0,
                ),
            first_collection: SimTime::ZERO
                + within(collection.image_gc_period).draw(
                    streams,
                    node,
                    "first image collection",
                    0,
                ),
            will_look: false,
            will_collect: false,
            is_short: false,
            pressed_until: None,
        })
    }

    pub(super) fn use_of(&mut self, image: ImageRef) -> &mut ImageUse {
        &mut self.images[usize::from(image.0)]
    }
}
