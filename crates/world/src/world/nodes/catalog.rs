//! Images as nodes store them: blobs by digest, and chains of layers.
//!
//! Layers with the same digest are one blob, which is downloaded once, even within one image. A node unpacks chains:
//! each is a layer together with all layers below it (containerd's chain id). So a layer is unpacked again if it is
//! used on another base. Digests and chains are numbered once per run, so that nodes keep plain arrays.
//!
//! Random sizes are drawn here, once per run and digest: every strategy rolls out the same bytes, and a layer that two
//! images share has the same size in both.

use std::collections::HashMap;

use crate::engine::{EntityKey, Streams, dist};
use crate::world::ids::{NEW, later_release};
use crate::world::quantity::SizeModel;
use crate::world::spec::{ImageSpec, LayerSpec, Uncompressed};
use fleetsim_rollout::Revision;
use fleetsim_units::{Bytes, Share};

/// Maximum number of images of a world; all of their revisions together are numbered with 16 bits.
pub const MOST_IMAGES: usize = 32_767;
/// Maximum number of layers of all images in all revisions; layers are numbered with 16 bits.
pub const MOST_LAYERS: usize = 65_535;

/// One image in one revision: an index into [`Catalog::images`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ImageRef(pub u16);

/// One layer of one image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    /// The blob from which the layer is unpacked.
    pub blob: u16,
    /// The chain that the layer forms together with the layers below it.
    pub chain: u16,
    pub compressed: Bytes,
    pub uncompressed: Bytes,
    pub packing: Packing,
}

/// How a layer is decompressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Packing {
    /// The layer is transferred as stored on disk, without compression.
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(spec: &LayerSpec) -> Self {
        if spec.uncompressed == Uncompressed::AsSent {
            Self::Plain
        } else if spec.is_zstd {
            Self::Zstd
        } else {
            Self::Gzip
        }
    }
}

/// An image with its layers, bottom first.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub layers: Vec<Layer>,
    pub config: Bytes,
    /// Whether the image is pulled lazily: its layers are mounted and read on demand.
    pub(crate) is_lazy: bool,
}

/// Every image of a run, in all of its revisions.
///
/// The new revision of image `i` is number `2 i`, and the previous one `2 i + 1`; those of later releases follow all of
/// these.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    images: Vec<Image>,
    /// For each image of the specification, its content in each later release.
    later: Vec<Vec<ImageRef>>,
    /// For each of the contents of later releases, the index of its image in the specification.
    specified_of_later: Vec<usize>,
    /// The key of each blob's digest.
    pub(crate) blob_keys: Vec<EntityKey>,
    /// The number of blobs.
    pub blobs: usize,
    pub chains: usize,
}

impl Catalog {
    /// Creates the images of a run. `prepared`: a streaming service has prepared all old images and this share of the
    /// new images for lazy pulls. `None`: there is no such service.
    pub(crate) fn new(specs: &[ImageSpec], prepared: Option<Share>, streams: &Streams) -> Self {
        let mut numbering = Numbering {
            streams,
            blobs: HashMap::new(),
            blob_keys: Vec::new(),
            chains: HashMap::new(),
        };
        let mut images = Vec::with_capacity(specs.len() * 2);
        for spec in specs {
            let key = EntityKey::of(&spec.name);
            let config = size(&spec.config, streams, key, "config size");
            images.push(Image {
                layers: numbering.layers(&spec.layers),
                config,
                is_lazy: prepared.is_some_and(|share| is_prepared(share, streams, key)),
            });
            images.push(Image {
                layers: numbering.layers(&spec.previous),
                config,
                is_lazy: prepared.is_some(),
            });
        }
        let mut later = Vec::with_capacity(specs.len());
        let mut specified_of_later = Vec::new();
        for (at, spec) in specs.iter().enumerate() {
            let mut released = numbered(at * 2);
            let mut layers = &spec.layers;
            let mut of_image = Vec::new();
            for next in &spec.later {
                if next != layers {
                    released = numbered(images.len());
                    let key = EntityKey::of(&spec.name);
                    images.push(Image {
                        layers: numbering.layers(next),
                        config: images[at * 2].config,
                        is_lazy: prepared.is_some_and(|share| is_prepared(share, streams, key)),
                    });
                    specified_of_later.push(at);
                    layers = next;
                }
                of_image.push(released);
            }
            later.push(of_image);
        }
        Self {
            images,
            later,
            specified_of_later,
            blobs: numbering.blobs.len(),
            blob_keys: numbering.blob_keys,
            chains: numbering.chains.len(),
        }
    }

    pub(crate) fn image(&self, image: ImageRef) -> &Image {
        &self.images[usize::from(image.0)]
    }

    /// Returns the layers of the image at `image`.
    pub(crate) fn layers(&self, image: usize) -> &[Layer] {
        &self.images[image].layers
    }

    /// Returns the content of the image at `index` of the specification in a revision of its application.
    pub(crate) fn revision(&self, index: usize, revision: Revision) -> ImageRef {
        if revision == NEW {
            return numbered(index * 2);
        }
        match later_release(revision) {
            Some(release) => self.later[index][release],
            None => numbered(index * 2 + 1),
        }
    }

    /// Returns the index in the specification of an image.
    pub(crate) fn specified_index(&self, image: ImageRef) -> usize {
        let ImageRef(number) = image;
        let first_later = self.later.len() * 2;
        match usize::from(number).checked_sub(first_later) {
            Some(at) => self.specified_of_later[at],
            None => usize::from(number / 2),
        }
    }

    /// Returns whether the image at `image` has this blob.
    pub(crate) fn contains(&self, image: usize, blob: u16) -> bool {
        self.layers(image).iter().any(|layer| layer.blob == blob)
    }

    /// Returns the number of images of the specification.
    pub(crate) const fn specified(&self) -> usize {
        self.later.len()
    }

    /// Returns, for each blob, the index of the only image of the specification that has it. `None`: several images
    /// have it, or there is only one image.
    pub(crate) fn only_image_of_blobs(&self) -> Vec<Option<u16>> {
        let mut images = vec![Vec::new(); self.blobs];
        for (at, image) in self.images.iter().enumerate() {
            for layer in &image.layers {
                let specified = self.specified_index(numbered(at));
                images[usize::from(layer.blob)].push(specified as u16);
            }
        }
        let mut only = Vec::with_capacity(self.blobs);
        for mut having in images {
            having.sort_unstable();
            having.dedup();
            let is_one = having.len() == 1 && self.specified() > 1;
            only.push(is_one.then(|| having[0]));
        }
        only
    }

    /// Returns the compressed size of each blob.
    pub(crate) fn blob_sizes(&self) -> Vec<Bytes> {
        let mut sizes = vec![Bytes::new(0); self.blobs];
        for layer in self.images.iter().flat_map(|image| &image.layers) {
            sizes[usize::from(layer.blob)] = layer.compressed;
        }
        sizes
    }

    pub(crate) fn len(&self) -> usize {
        self.images.len()
    }
}

/// Returns the image with this number.
fn numbered(number: usize) -> ImageRef {
    ImageRef(
        u16::try_from(number).expect("a scenario has fewer than 65 536 images in all revisions"),
    )
}

/// Returns whether a service that prepares this share of the images has prepared `image`.
fn is_prepared(share: Share, streams: &Streams, image: EntityKey) -> bool {
    let mut rng = streams.stream(image, "prepared for lazy pulls");
    share == Share::ALL || dist::bernoulli(&mut rng, share.get())
}

struct Numbering<'s> {
    streams: &'s Streams,
    blobs: HashMap<&'s str, u16>,
    blob_keys: Vec<EntityKey>,
    /// The number of each chain, by the chain below it (if any) and its top blob.
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
                let key = EntityKey::of(&spec.digest);
                if self.blob_keys.len() < self.blobs.len() {
                    self.blob_keys.push(key);
                }
                let compressed = size(&spec.compressed, self.streams, key, "layer size");
                let uncompressed = match &spec.uncompressed {
                    Uncompressed::Ratio(ratio) => compressed.mul_f64(*ratio),
                    Uncompressed::Size(model) => {
                        size(model, self.streams, key, "layer size on disk")
                    }
                    Uncompressed::AsSent => compressed,
                };
                Layer {
                    blob,
                    chain,
                    compressed,
                    uncompressed,
                    packing: Packing::of(spec),
                }
            })
            .collect()
    }
}

/// The largest size that can be drawn: 10^13 bytes, a thousand times the largest known layer on public registries.
const MOST_BYTES: f64 = 1e13;

fn size(model: &SizeModel, streams: &Streams, key: EntityKey, purpose: &'static str) -> Bytes {
    match model {
        SizeModel::Constant(size) => *size,
        _ => {
            let drawn = model.draw(streams, key, purpose, 0).get() as f64;
            Bytes::new(drawn.clamp(1.0, MOST_BYTES) as u64)
        }
    }
}

fn next_number(taken: usize) -> u16 {
    u16::try_from(taken).expect("a scenario has fewer than 65 536 layers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ids::OLD;

    fn layer(digest: &str) -> LayerSpec {
        LayerSpec {
            digest: digest.to_owned(),
            compressed: Bytes::new(10).into(),
            uncompressed: Uncompressed::Size(Bytes::new(20).into()),
            is_zstd: false,
        }
    }

    #[test]
    fn the_same_layer_on_another_base_is_the_same_blob_but_another_chain() {
        let spec = ImageSpec {
            name: "shop".to_owned(),
            layers: vec![layer("base"), layer("new-libs"), layer("app")],
            previous: vec![layer("base"), layer("libs"), layer("app")],
            later: Vec::new(),
            config: Bytes::new(1).into(),
            registry: 0,
            index: true,
        };
        let catalog = Catalog::new(&[spec], None, &Streams::new(1, 0));
        let new = &catalog.image(catalog.revision(0, NEW)).layers;
        let old = &catalog.image(catalog.revision(0, OLD)).layers;
        assert_eq!(
            (new[0].blob, new[0].chain),
            (old[0].blob, old[0].chain),
            "a shared base is shared whole"
        );
        assert_eq!(
            new[2].blob, old[2].blob,
            "the same bytes are not downloaded again"
        );
        assert_ne!(
            new[2].chain, old[2].chain,
            "but they are unpacked again, on top of another layer"
        );
        assert_eq!((catalog.blobs, catalog.chains), (4, 5));
    }

    #[test]
    fn random_sizes_depend_on_the_digest_and_the_run() {
        let drawn = |digest: &str| LayerSpec {
            compressed: SizeModel::LogNormal {
                median: Bytes::new(1_000_000),
                sigma: 1.0,
            },
            uncompressed: Uncompressed::Ratio(2.0),
            ..layer(digest)
        };
        let image = |name: &str, layers: &[&str]| ImageSpec {
            name: name.to_owned(),
            layers: layers.iter().copied().map(drawn).collect(),
            previous: Vec::new(),
            later: Vec::new(),
            config: Bytes::new(1).into(),
            registry: 0,
            index: true,
        };
        let images = [
            image("shop", &["base", "app"]),
            image("api", &["libs", "base"]),
        ];
        let sizes = |replicate| {
            let catalog = Catalog::new(&images, None, &Streams::new(1, replicate));
            let layers = |at| catalog.image(catalog.revision(at, NEW)).layers.clone();
            let size = |layer: &Layer| (layer.compressed.get(), layer.uncompressed.get());
            (
                layers(0).iter().map(size).collect::<Vec<_>>(),
                layers(1).iter().map(size).collect::<Vec<_>>(),
            )
        };
        let (shop, api) = sizes(0);
        assert_eq!(shop[0], api[1], "the same digest has one size");
        assert_ne!(shop[0], shop[1]);
        assert_eq!(shop[0].1, shop[0].0 * 2, "on disk by the ratio");
        assert_eq!(sizes(0), (shop.clone(), api), "the same run draws the same");
        assert_ne!(sizes(1).0, shop, "another draws anew");
    }
}
