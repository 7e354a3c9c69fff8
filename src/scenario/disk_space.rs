//! `node.disk.size` and what belongs to it: settings without effect, and disks that are too small from the start.
//!
//! The constants of a draw are independent, so the used bytes and the images of the previous revision may not fit on
//! the disk together, whose size is not drawn. There is no such node: the draw has as many used bytes as leave the
//! kubelet nothing to do.

use super::check::Checker;
use crate::document::path::Path;
use crate::units::Bytes;
use crate::world::{CollectionSpec, WorldSpec};

impl Checker<'_> {
    /// Checks the settings of a disk's space.
    pub(super) fn disk_space(&mut self, world: &mut WorldSpec) {
        let path = Path::of("node").key("disk");
        let Some(disk) = &world.node.disk else {
            return;
        };
        let Some(size) = disk.size else {
            for key in ["used", "unusedImages", "collection"] {
                if self.is_set(&path.key(key)) {
                    self.report(
                        &path.key(key),
                        format!("`{key}` has no effect on a disk without a size"),
                        "write `size`, e.g. `size: 100 GB`, or remove this",
                    );
                }
            }
            return;
        };
        self.thresholds(&path.key("collection"), &disk.collection);
        if world.distribution.lazy.is_some() {
            self.report(
                &path.key("size"),
                "the space of images that are pulled lazily is not simulated",
                "remove `size`, or `distribution.lazy`",
            );
        }
        let taken = world.space_at_start().unwrap_or_default();
        let size_bytes = size.get() as f64;
        if taken <= size_bytes {
            return;
        }
        if self.is_drawn {
            let free = disk.collection.least_free(size.get()) as f64;
            let of_images = taken - disk.used.typical().get() as f64;
            let used = Bytes::new((size_bytes - free - of_images).max(0.0) as u64);
            if let Some(disk) = &mut world.node.disk {
                disk.used = used.into();
            }
        } else {
            let message = format!(
                "the disk of {size} is too small for what is on it at the start: {:.1} GB",
                taken / 1e9
            );
            let help = "raise `size`, or lower `used`; images count compressed and unpacked";
            self.report(&path.key("size"), message, help);
        }
    }

    fn thresholds(&mut self, path: &Path, collection: &CollectionSpec) {
        let low = collection.image_gc_low_threshold_percent;
        let high = collection.image_gc_high_threshold_percent;
        if high > 100 {
            self.report(
                &path.key("imageGCHighThresholdPercent"),
                "must be at most 100",
                "write 100 to let the image collector remove nothing",
            );
        } else if low >= high {
            self.report(
                &path.key("imageGCLowThresholdPercent"),
                format!("the low threshold ({low}) must be less than the high one ({high})"),
                "the kubelet refuses this too; lower it or raise the high threshold",
            );
        }
        if collection.imagefs_available.get() >= 1.0 {
            self.report(
                &path.key("imagefsAvailable"),
                "must be less than 100%",
                "the kubelet's default is 15%",
            );
        }
    }
}
