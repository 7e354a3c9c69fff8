//! Images as nodes see them: blobs by digest, and layers by chain.
//!
//! Two layers with the same digest are one blob, downloaded once. What is unpacked on a disk is not a layer but a
//! chain, a layer on top of all those below it (containerd's chain id): the same layer on another base is unpacked
//! again. Digests and chains are numbered once per run, so that a node keeps plain arrays.

use std::collections::HashMap;

use super::spec::{ImageSpec, LayerSpec};
use crate::units::Bytes;

/// One image in one revision: an index into [`Catalog::images`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ImageRef(pub(super) u16);

impl ImageRef {
    /// The index in the specification of the image of which this is a revision.
    pub(super) fn index(self) -> usize {
        usize::from(self.0 / 2)
    }
}

/// One layer of one image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    /// Which blob it is unpacked from.
    pub(super) blob: u16,
    /// Which chain it makes on top of the layers below it.
    pub(super) chain: u16,
    pub(super) compressed: Bytes,
    pub(super) uncompressed: Bytes,
}

/// An image with its layers, bottom first.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) layers: Vec<Layer>,
    pub(super) config: Bytes,
}

/// Every image of a run in both revisions.
#[derive(Clone, Debug)]
pub(super) struct Catalog {
    images: Vec<Image>,
    /// Size of each blob.
    pub(super) blobs: usize,
    pub(super) chains: usize,
}

impl Catalog {
    pub(super) fn new(specs: &[ImageSpec]) -> Self {
        let mut numbering = Numbering::default();
        let mut images = Vec::with_capacity(specs.len() * 2);
        for spec in specs {
            images.push(Image { layers: numbering.layers(&spec.layers), config: spec.config });
            images.push(Image { layers: numbering.layers(&spec.previous), config: spec.config });
        }
        Self { images, blobs: numbering.blobs.len(), chains: numbering.chains.len() }
    }

    pub(super) fn image(&self, image: ImageRef) -> &Image {
        &self.images[usize::from(image.0)]
    }

    /// The new revision of the image at `index` of the specification, or the one before.
    pub(super) fn revision(index: usize, new: bool) -> ImageRef {
        ImageRef(u16::try_from(index * 2 + usize::from(!new)).expect("a scenario has fewer than 32 768 images"))
    }

    /// Whether the image at `image` has this blob.
    pub(super) fn contains(&self, image: usize, blob: u16) -> bool {
        self.images[image].layers.iter().any(|layer| layer.blob == blob)
    }

    pub(super) fn len(&self) -> usize {
        self.images.len()
    }
}

#[derive(Default)]
struct Numbering<'s> {
    blobs: HashMap<&'s str, u16>,
    /// From (chain below or none, blob) to chain.
    chains: HashMap<(Option<u16>, u16), u16>,
}

impl<'s> Numbering<'s> {
    fn layers(&mut self, specs: &'s [LayerSpec]) -> Vec<Layer> {
        let mut below = None;
        specs
            .iter()
            .map(|spec| {
                let blobs = next_number(self.blobs.len());
                let blob = *self.blobs.entry(&spec.digest).or_insert(blobs);
                let chains = next_number(self.chains.len());
                let chain = *self.chains.entry((below, blob)).or_insert(chains);
                below = Some(chain);
                Layer { blob, chain, compressed: spec.compressed, uncompressed: spec.uncompressed }
            })
            .collect()
    }
}

fn next_number(taken: usize) -> u16 {
    u16::try_from(taken).expect("a scenario has fewer than 65 536 layers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(digest: &str) -> LayerSpec {
        LayerSpec { digest: digest.to_owned(), compressed: Bytes::new(10), uncompressed: Bytes::new(20) }
    }

    #[test]
    fn the_same_layer_on_another_base_is_the_same_blob_but_another_chain() {
        let spec = ImageSpec {
            name: "shop".to_owned(),
            layers: vec![layer("base"), layer("new-libs"), layer("app")],
            previous: vec![layer("base"), layer("libs"), layer("app")],
            config: Bytes::new(1),
            registry: 0,
        };
        let catalog = Catalog::new(&[spec]);
        let new = &catalog.image(Catalog::revision(0, true)).layers;
        let old = &catalog.image(Catalog::revision(0, false)).layers;
        assert_eq!((new[0].blob, new[0].chain), (old[0].blob, old[0].chain), "a shared base is shared whole");
        assert_eq!(new[2].blob, old[2].blob, "the same bytes are not downloaded again");
        assert_ne!(new[2].chain, old[2].chain, "but they are unpacked again, on top of another layer");
        assert_eq!((catalog.blobs, catalog.chains), (4, 5));
    }
}
