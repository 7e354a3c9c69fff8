//! Builds images with the layer sizes of an experiment, as an OCI layout that skopeo copies.
//!
//! A layer is a tar archive of one file: incompressible bytes, then zeros, which take almost no space when compressed.
//! The incompressible bytes are stored without Huffman coding, because all nodes unpack on the processors of one
//! machine: with Huffman coding, 20 nodes took nine seconds of processor time for 24 MB each. A compressed layer has
//! exactly the stated size: the extra field of gzip's header pads it. On disk the size differs by at most some hundred
//! bytes. Equal digests in the experiment give equal layers.
//!
//! Left out: many small files in a layer, which take longer to unpack than one large one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use fleetsim::results::sha256;
use fleetsim::world::{ImageSpec, LayerSpec, SizeModel, Uncompressed};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde_json::{Value, json};

use crate::command::run;
use crate::error::LabError;

/// Number of bytes of a layer in addition to its file's content: header and end of tar, header and trailer of gzip.
const FRAME: u64 = 4096;

/// Size of the field that contains the length of gzip's extra field. Source: RFC 1952.
const EXTRA_LENGTH: usize = 2;

/// Bytes of a file's header in a tar archive.
const TAR_HEADER: usize = 512;

/// The minimum size of a layer.
pub(crate) const LAYER_MIN: u64 = 2 * FRAME;

/// The tags of an image's new and old revision.
pub(crate) const TAGS: [&str; 2] = ["new", "old"];

/// Writes the images to a folder and copies them into the registry, from within the registry's namespace.
pub(crate) fn push(
    images: &[ImageSpec],
    folder: &Path,
    namespace: &str,
    registry: &str,
) -> Result<(), LabError> {
    for image in images {
        for (tag, layers) in TAGS.into_iter().zip([&image.layers, &image.previous]) {
            if layers.is_empty() {
                continue;
            }
            let layout = folder.join(format!("{}-{tag}", image.name));
            write_layout(&layout, layers, &image.config)?;
            let from = format!("oci:{}:{tag}", layout.display());
            let to = format!("docker://{registry}/{}", reference(&image.name, tag));
            let copy = [
                "skopeo",
                "copy",
                "--quiet",
                "--dest-tls-verify=false",
                &from,
                &to,
            ];
            run(
                &[&["ip", "netns", "exec", namespace], &copy[..]].concat(),
                "",
            )?;
            fs::remove_dir_all(&layout).map_err(LabError::file(&layout))?;
        }
    }
    Ok(())
}

/// The name of an image in a registry.
pub(crate) fn reference(image: &str, tag: &str) -> String {
    format!("lab/{image}:{tag}")
}

fn write_layout(folder: &Path, layers: &[LayerSpec], config: &SizeModel) -> Result<(), LabError> {
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(LabError::file(&blobs))?;
    let put = |kind: &str, bytes: &[u8]| -> Result<Value, LabError> {
        let digest = sha256(bytes);
        let path = blobs.join(&digest);
        fs::write(&path, bytes).map_err(LabError::file(&path))?;
        Ok(json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
    };
    let mut known = BTreeMap::new();
    let (mut descriptors, mut ids) = (Vec::new(), Vec::new());
    for layer in layers {
        if !known.contains_key(&layer.digest) {
            let (archive, compressed) = layer_of(layer)?;
            let descriptor = put("application/vnd.oci.image.layer.v1.tar+gzip", &compressed)?;
            known.insert(
                &layer.digest,
                (descriptor, format!("sha256:{}", sha256(&archive))),
            );
        }
        let (descriptor, id) = &known[&layer.digest];
        descriptors.push(descriptor.clone());
        ids.push(id.clone());
    }
    let rootfs = json!({"type": "layers", "diff_ids": ids});
    let mut text =
        json!({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).to_string();
    // Trailing white space is valid in JSON.
    let wanted = usize::try_from(constant(config)).expect("a config fits into memory");
    text.extend(std::iter::repeat_n(' ', wanted.saturating_sub(text.len())));
    let config = put("application/vnd.oci.image.config.v1+json", text.as_bytes())?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest =
        json!({"schemaVersion": 2, "mediaType": kind, "config": config, "layers": descriptors});
    let mut manifest = put(kind, manifest.to_string().as_bytes())?;
    let tag = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let tag = tag.rsplit('-').next().unwrap_or_default();
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": tag});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]}).to_string();
    for (name, text) in [
        ("index.json", index),
        (
            "oci-layout",
            json!({"imageLayoutVersion": "1.0.0"}).to_string(),
        ),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(LabError::file(&path))?;
    }
    Ok(())
}

/// A layer as a tar archive, and compressed.
fn layer_of(layer: &LayerSpec) -> Result<(Vec<u8>, Vec<u8>), LabError> {
    let compressed = constant(&layer.compressed);
    let on_disk = match &layer.uncompressed {
        Uncompressed::Ratio(ratio) => (compressed as f64 * ratio) as u64,
        Uncompressed::Size(size) => constant(size),
        Uncompressed::AsSent => compressed,
    };
    let zeros = on_disk.saturating_sub(compressed);
    let mut random = compressed - FRAME;
    let plain = packed(&archive(layer, random, zeros)?, random, None)?.len() as u64;
    // Zeros and the headers of blocks also take space when compressed; their size is known only after compressing
    // them.
    random = random.saturating_sub((plain + FRAME / 2).saturating_sub(compressed));
    let archive = archive(layer, random, zeros)?;
    let plain = packed(&archive, random, None)?;
    let missing = usize::try_from(compressed)
        .expect("a layer fits into memory")
        .saturating_sub(plain.len());
    let filled = packed(&archive, random, missing.checked_sub(EXTRA_LENGTH))?;
    Ok((archive, filled))
}

/// A tar archive of one file with `random` incompressible bytes and `zeros` zeros.
fn archive(layer: &LayerSpec, random: u64, zeros: u64) -> Result<Vec<u8>, LabError> {
    let mut content = vec![0; usize::try_from(random + zeros).expect("a layer fits into memory")];
    let seed = sha256(layer.digest.as_bytes());
    let seed: [u8; 32] = std::array::from_fn(|at| seed.as_bytes()[at]);
    let random = usize::try_from(random).expect("a layer fits into memory");
    Xoshiro256PlusPlus::from_seed(seed).fill_bytes(&mut content[..random]);
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    let appended = builder.append_data(&mut header, "content", content.as_slice());
    appended
        .and_then(|()| builder.into_inner())
        .map_err(LabError::file(Path::new("a layer in memory")))
}

/// Compresses an archive whose first `random` bytes of content are incompressible, with `extra` bytes in the header's
/// extra field: one part is stored, the other compressed.
fn packed(archive: &[u8], random: u64, extra: Option<usize>) -> Result<Vec<u8>, LabError> {
    let stored = TAR_HEADER + usize::try_from(random).expect("a layer fits into memory");
    let (stored, rest) = archive.split_at(stored.min(archive.len()));
    let builder = extra.map_or_else(GzBuilder::new, |bytes| {
        GzBuilder::new().extra(vec![0; bytes])
    });
    let parts = [
        (builder, stored, Compression::none()),
        (GzBuilder::new(), rest, Compression::fast()),
    ];
    let written = parts
        .into_iter()
        .try_fold(Vec::new(), |bytes, (builder, part, level)| {
            let mut encoder = builder.write(bytes, level);
            encoder.write_all(part).and_then(|()| encoder.finish())
        });
    written.map_err(LabError::file(Path::new("a layer in memory")))
}

/// Returns a size, which [`crate::subset`] has verified to be constant.
fn constant(size: &SizeModel) -> u64 {
    match size {
        SizeModel::Constant(bytes) => bytes.get(),
        drawn => unreachable!("refused: {drawn:?}"),
    }
}

#[cfg(test)]
mod tests {
    use fleetsim::units::Bytes;

    use super::*;

    #[test]
    fn a_layer_has_its_exact_compressed_size_and_nearly_its_size_on_disk() {
        for (compressed, ratio) in [
            (LAYER_MIN, 1.0),
            (200_000, 1.0),
            (200_000, 3.0),
            (1_000_000, 20.0),
        ] {
            let layer = LayerSpec {
                digest: "base".to_owned(),
                compressed: Bytes::new(compressed).into(),
                uncompressed: Uncompressed::Ratio(ratio),
                is_zstd: false,
            };
            let (archive, bytes) = layer_of(&layer).expect("writes to memory do not fail");
            assert_eq!(bytes.len() as u64, compressed, "{compressed} times {ratio}");
            let off = archive.len() as f64 - compressed as f64 * ratio;
            assert!(
                off.abs() < 0.05 * compressed as f64 * ratio + 8192.0,
                "{compressed} times {ratio}: off by {off}"
            );
        }
    }
}
