//! Image manifests as `crane manifest` prints them: OCI and Docker schema 2.
//!
//! A layer's `size` is its compressed size, which is transferred. If its media type is uncompressed, its size on disk
//! equals `size`. Otherwise the manifest does not contain the size on disk, and it is estimated elsewhere.
//!
//! Artifacts that a container runtime would not run as an image are rejected: artifacts of other kinds, layers that
//! the runtime does not unpack, and invalid digests. Layers with `urls` are not downloaded from the registry
//! (containerd `core/remotes/docker/fetcher.go` tries the URLs first), which is not simulated.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;

use super::media_type::{LayerPacking, OtherArtifact, is_image_config};
use crate::document::files::read_json;
use crate::document::problem::{OrProblem, Problem, Source};
use crate::document::wording::Wording;
use crate::units::Bytes;

/// Maximum size of a layer in bytes: 10^13, a thousand times the largest layer found on public registries.
pub(crate) const MOST_LAYER_BYTES: u64 = 10_000_000_000_000;

/// The information about an image in a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) config: Bytes,
    /// The layers, from bottom to top.
    pub(crate) layers: Vec<ManifestLayer>,
}

/// A layer of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ManifestLayer {
    pub(crate) digest: String,
    /// Compressed size, which is transferred.
    pub(crate) size: Bytes,
    pub(crate) packing: LayerPacking,
    /// Size on disk in bytes, which users may write next to `size`.
    pub(crate) uncompressed: Option<u64>,
}

#[derive(Deserialize)]
struct ManifestJson {
    #[serde(rename = "schemaVersion")]
    schema_version: Option<serde_json::Value>,
    #[serde(rename = "artifactType")]
    artifact_type: Option<String>,
    config: Option<BlobJson>,
    layers: Option<Vec<BlobJson>>,
    /// The entries of an index or manifest list, which has no layers itself.
    manifests: Option<Vec<PlatformEntry>>,
    /// The layers in Docker's schema 1.
    #[serde(rename = "fsLayers")]
    fs_layers: Option<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct BlobJson {
    digest: String,
    uncompressed: Option<u64>,
    /// The size as written, because an invalid size must be reported together with the digest.
    size: serde_json::Value,
    #[serde(rename = "mediaType")]
    media_type: Option<String>,
    /// The URLs from which the layer is downloaded instead of from the registry.
    urls: Option<Vec<String>>,
}

/// An entry of an index: a manifest and its platform.
#[derive(Deserialize)]
pub(crate) struct PlatformEntry {
    pub(crate) platform: Option<ImagePlatform>,
    annotations: Option<BTreeMap<String, serde_json::Value>>,
}

impl PlatformEntry {
    /// Returns the platform of the entry's image. `None`: the entry has no platform, or its manifest is an
    /// attestation, which cannot run. BuildKit lists attestations as `unknown/unknown`, with an annotation.
    pub(crate) fn runnable(&self) -> Option<&ImagePlatform> {
        let platform = self.platform.as_ref()?;
        let is_unknown = platform.os == "unknown" && platform.architecture == "unknown";
        let mut annotations = self.annotations.iter().flatten();
        let is_reference = annotations.any(|(key, _)| key == "vnd.docker.reference.type");
        (!is_reference && !is_unknown).then_some(platform)
    }

    /// Returns whether the entry's manifest is for an image of this platform.
    pub(crate) fn is_for(&self, platform: &str) -> bool {
        self.runnable().is_some_and(|of| of.is(platform))
    }
}

/// Returns whether a manifest belongs to an attestation.
pub(crate) fn is_attestation(manifest: &serde_json::Value) -> bool {
    let layers = manifest["layers"].as_array();
    layers.into_iter().flatten().any(|layer| {
        let media_type = layer["mediaType"].as_str();
        media_type.and_then(OtherArtifact::of) == Some(OtherArtifact::Attestation)
    })
}

/// A platform in an index.
#[derive(Deserialize)]
pub(crate) struct ImagePlatform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl ImagePlatform {
    /// Returns the name of the platform, such as `linux/arm64/v8`.
    pub(crate) fn name(&self) -> String {
        let variant = self
            .variant
            .as_ref()
            .map(|variant| format!("/{variant}"))
            .unwrap_or_default();
        format!("{}/{}{variant}", self.os, self.architecture)
    }

    /// Returns whether this is the wanted platform. The variant is ignored unless `wanted` contains one.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        self.name() == wanted || format!("{}/{}", self.os, self.architecture) == wanted
    }

    /// Returns the names of the platforms in an index.
    pub(crate) fn names<'p>(entries: impl Iterator<Item = &'p PlatformEntry>) -> Vec<String> {
        entries
            .filter_map(PlatformEntry::runnable)
            .map(Self::name)
            .collect()
    }
}

/// Reads a manifest.
///
/// # Errors
/// Returns all problems of the manifest.
pub(crate) fn read(source: &Arc<Source>) -> Result<Manifest, Vec<Problem>> {
    let json: ManifestJson = read_json(source).map_err(|problem| vec![*problem])?;
    if let Some(problem) = other_content(&json, source) {
        return Err(vec![problem]);
    }
    let mut problems = Vec::new();
    let mut config = crate::world::calibration::CONFIG_SIZE;
    if let Some(blob) = &json.config {
        match size_of(blob, "config", source) {
            Ok(size) => config = size,
            Err(problem) => problems.push(*problem),
        }
    }
    let mut layers = Vec::new();
    for (at, blob) in json.layers.iter().flatten().enumerate() {
        match layer_of(blob, &format!("layers[{at}]"), source) {
            Ok(layer) => layers.push(layer),
            Err(problem) => problems.push(*problem),
        }
    }
    problems.extend(contradictions(&layers, source));
    if problems.is_empty() {
        Ok(Manifest { config, layers })
    } else {
        Err(problems)
    }
}

/// Returns the problem with a file that is not the manifest of an image with layers.
fn other_content(json: &ManifestJson, source: &Arc<Source>) -> Option<Problem> {
    if let Some(platforms) = &json.manifests {
        return Some(index_of_platforms(platforms, source));
    }
    let version = json.schema_version.as_ref();
    let is_first_schema = version.is_some_and(|version| *version == 1);
    let (message, help) = if json.fs_layers.is_some() || is_first_schema {
        (
            "this is a Docker schema 1 manifest, which has no sizes",
            "push the image again with a current client, or list its layers in the experiment",
        )
    } else if let Some(problem) = artifact(json, source) {
        return Some(problem);
    } else if json.layers.is_none() {
        (
            "this is not an image manifest: it has no `layers`",
            "write it with `crane manifest IMAGE`",
        )
    } else if json.layers.as_ref().is_some_and(Vec::is_empty) {
        ("the image has no layers", "an image has at least one layer")
    } else {
        return None;
    };
    Some(source.at(0..0, "", message).with_help(help))
}

/// A media type in a manifest, and the field that contains it.
struct TypedField<'m> {
    field: String,
    media_type: &'m str,
}

impl ManifestJson {
    fn config_type(&self) -> Option<&str> {
        self.config.as_ref()?.media_type.as_deref()
    }

    /// Returns the media types that describe the contents, in order of precedence.
    fn types(&self) -> Vec<TypedField<'_>> {
        let mut types = Vec::new();
        if let Some(media_type) = &self.artifact_type {
            types.push(TypedField {
                field: "artifactType".to_owned(),
                media_type,
            });
        }
        if let Some(media_type) = self.config_type() {
            types.push(TypedField {
                field: "config.mediaType".to_owned(),
                media_type,
            });
        }
        for (at, layer) in self.layers.iter().flatten().enumerate() {
            if let Some(media_type) = &layer.media_type {
                types.push(TypedField {
                    field: format!("layers[{at}].mediaType"),
                    media_type,
                });
            }
        }
        types
    }
}

/// Returns the problem with a manifest that is not for an image.
fn artifact(json: &ManifestJson, source: &Arc<Source>) -> Option<Problem> {
    let types = json.types();
    for typed in &types {
        if let Some(artifact) = OtherArtifact::of(typed.media_type) {
            return Some(not_an_image(artifact, typed, source));
        }
    }
    let is_artifact = json.artifact_type.is_some() || !is_image_config(json.config_type());
    let deciding = types.first().filter(|_| is_artifact)?;
    Some(not_an_image(OtherArtifact::Unknown, deciding, source))
}

fn not_an_image(artifact: OtherArtifact, typed: &TypedField<'_>, source: &Arc<Source>) -> Problem {
    let message = Wording::quoting(
        format!("{} (`{}`)", artifact.message(), typed.media_type),
        artifact.message(),
    );
    // The media type of an artifact may also be the type of its layers.
    let key = source.find_json_string(&typed.field);
    let place = source.find_json_string_after(key.end, typed.media_type);
    source
        .at(place, &typed.field, message)
        .with_help(artifact.help())
}

/// Returns the problem with an index, which lists manifests.
fn index_of_platforms(platforms: &[PlatformEntry], source: &Arc<Source>) -> Problem {
    let names = ImagePlatform::names(platforms.iter());
    if names.is_empty() {
        let problem = source.at(
            0..0,
            "",
            "this is an index without a manifest for any platform",
        );
        return problem.with_help("write the manifest of the image itself: `crane manifest IMAGE`");
    }
    let first = names.first().map_or("linux/amd64", String::as_str);
    let message = Wording::quoting(
        format!(
            "this is an index of several platforms ({}), not the manifest of an image",
            names.join(", ")
        ),
        "this is an index of several platforms",
    );
    let help =
        format!("write the one for the nodes' platform: `crane manifest --platform {first} IMAGE`");
    source.at(0..0, "", message).with_help(help)
}

/// Returns the layer in a field of the manifest, as a runtime would pull it from the registry.
fn layer_of(blob: &BlobJson, field: &str, source: &Arc<Source>) -> OrProblem<ManifestLayer> {
    let media_type = blob.media_type.as_deref();
    let Some(packing) = LayerPacking::of(media_type) else {
        return Err(Box::new(not_unpacked(
            media_type.unwrap_or_default(),
            field,
            source,
        )));
    };
    if let Some(url) = blob.urls.iter().flatten().next() {
        return Err(Box::new(from_elsewhere(url, field, source)));
    }
    Ok(ManifestLayer {
        digest: blob.digest.clone(),
        size: size_of(blob, field, source)?,
        packing,
        uncompressed: blob.uncompressed,
    })
}

/// Returns the problem with a layer that no container runtime unpacks.
fn not_unpacked(media_type: &str, field: &str, source: &Arc<Source>) -> Problem {
    let message = Wording::quoting(
        format!("no container runtime unpacks a layer of the type `{media_type}`"),
        "no container runtime unpacks a layer of this type",
    );
    let place = source.find_json_string(media_type);
    let problem = source.at(place, format!("{field}.mediaType"), message);
    problem.with_help(
        "layers are tar archives, plain or with gzip or zstd; write others inline, e.g. `manifest: {layers: [{size: \
         30 MB}]}`",
    )
}

/// Returns the problem with a layer that is not downloaded from the registry.
fn from_elsewhere(url: &str, field: &str, source: &Arc<Source>) -> Problem {
    let message = Wording::quoting(
        format!(
            "this layer is downloaded from `{url}`, not from the registry; that is not simulated"
        ),
        "this layer is not downloaded from the registry; that is not simulated",
    );
    let problem = source.at(
        source.find_json_string(url),
        format!("{field}.urls"),
        message,
    );
    problem.with_help(
        "remove `urls` if your registry has the layer too; else push it (`--allow-nondistributable-artifacts`) and \
         write the manifest again",
    )
}

/// Returns the problems with layers that have the same digest as an earlier one but another size, because equal
/// digests mean equal bytes.
fn contradictions(layers: &[ManifestLayer], source: &Arc<Source>) -> Vec<Problem> {
    let mut sizes: HashMap<&str, Bytes> = HashMap::new();
    let mut problems = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let known = *sizes.entry(&layer.digest).or_insert(layer.size);
        if known == layer.size {
            continue;
        }
        let message = Wording::quoting(
            format!(
                "`{}` has {} bytes here and {} in an earlier layer",
                layer.digest,
                layer.size.get(),
                known.get()
            ),
            "a layer that is listed twice has two sizes",
        );
        let mut place = 0..0;
        for listed in &layers[..=at] {
            if listed.digest == layer.digest {
                place = source.find_json_string_after(place.end, &layer.digest);
            }
        }
        let problem = source.at(place, format!("layers[{at}].size"), message);
        problems.push(problem.with_help(REWRITE));
    }
    problems
}

/// The fix for a manifest with wrong sizes.
const REWRITE: &str =
    "write the manifest again with `crane manifest IMAGE`; sizes are bytes as stored, compressed";

/// Returns the size of a blob in a field of the manifest.
fn size_of(blob: &BlobJson, field: &str, source: &Arc<Source>) -> OrProblem<Bytes> {
    let digest = &blob.digest;
    let place = source.find_json_string(digest);
    let size = checked_size(&blob.size).map_err(|message| {
        let message = format!("{message} for `{digest}`");
        let message = Wording::quoting(message, "the size of a blob is invalid");
        let problem = source.at(place.clone(), format!("{field}.size"), message);
        Box::new(problem.with_help(REWRITE))
    })?;
    if !is_digest(digest) {
        let message = Wording::quoting(
            format!(
                "`{digest}` is not a digest; it must be `sha256:` and 64 of the digits 0-9 and a-f"
            ),
            "this is not a digest",
        );
        let problem = source.at(place, format!("{field}.digest"), message);
        return Err(Box::new(problem.with_help(
            "container runtimes refuse it; write the manifest again with `crane manifest IMAGE`",
        )));
    }
    Ok(size)
}

/// Returns whether a digest is an algorithm followed by an encoded hash, as in the OCI image specification. SHA-2
/// digests have no capital letters. Their length and the use of letters after `f` are not checked, so that users can
/// invent digests.
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, encoded)) = digest.split_once(':') else {
        return false;
    };
    if algorithm.is_empty() || encoded.is_empty() {
        return false;
    }
    let has_capitals = encoded.bytes().any(|letter| letter.is_ascii_uppercase());
    let is_encoded = encoded
        .bytes()
        .all(|letter| letter.is_ascii_alphanumeric() || b"=_-".contains(&letter));
    is_encoded && !(algorithm.starts_with("sha") && has_capitals)
}

fn checked_size(written: &serde_json::Value) -> Result<Bytes, String> {
    match written.as_u64() {
        Some(0) => {
            Err("the size is 0, but no blob is empty (an empty layer has 32 bytes)".to_owned())
        }
        Some(size) if size > MOST_LAYER_BYTES => Err(format!(
            "the size is {size} bytes, above the maximum of 10^13"
        )),
        Some(size) => Ok(Bytes::new(size)),
        None => Err(format!(
            "the size is `{written}`, which is not a number of bytes"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Manifest, Vec<String>> {
        let source = Arc::new(Source::new("m.json", text));
        read(&source).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn an_image_manifest_is_read() {
        let manifest = read_text(
            r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
                "config":{"digest":"sha256:c","size":7023},
                "layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:a","size":32654},
                {"digest":"sha256:b","size":32}]}"#,
        );
        let layer = |digest: &str, size| ManifestLayer {
            digest: digest.to_owned(),
            size: Bytes::new(size),
            packing: LayerPacking::Gzip,
            uncompressed: None,
        };
        let layers = vec![layer("sha256:a", 32_654), layer("sha256:b", 32)];
        assert_eq!(
            manifest,
            Ok(Manifest {
                config: Bytes::new(7023),
                layers
            })
        );
    }

    #[test]
    fn impossible_layer_sizes_are_refused_with_their_digest() {
        let with = |size: &str| {
            read_text(&format!(
                "{{\"layers\":[{{\"digest\":\"sha256:a\",\"size\":5}},\n{{\"digest\":\"sha256:b\",\"size\":{size}}}]}}"
            ))
        };
        let mend = "(help: write the manifest again with `crane manifest IMAGE`; sizes are bytes as stored, compressed)";
        for (size, message) in [
            (
                "0",
                "the size is 0, but no blob is empty (an empty layer has 32 bytes)",
            ),
            (
                "1000000000000000000",
                "the size is 1000000000000000000 bytes, above the maximum of 10^13",
            ),
            ("-1", "the size is `-1`, which is not a number of bytes"),
            (
                "1e30",
                "the size is `1e+30`, which is not a number of bytes",
            ),
            (
                "\"5\"",
                "the size is `\"5\"`, which is not a number of bytes",
            ),
        ] {
            let errors = with(size).expect_err(size);
            assert_eq!(
                errors,
                [format!(
                    "m.json:2:11: layers[1].size: {message} for `sha256:b` {mend}"
                )]
            );
        }
        assert!(with("10000000000000").is_ok(), "10^13 is the largest");
    }

    #[test]
    fn the_error_for_a_file_that_is_not_a_manifest_names_its_kind() {
        for (text, message) in [
            (
                r#"{"manifests":[{"platform":{"os":"linux","architecture":"arm64","variant":"v8"}},{"platform":{"os":"unknown","architecture":"unknown"}}]}"#,
                "m.json:1:1: this is an index of several platforms (linux/arm64/v8), not the manifest of an image \
                 (help: write the one for the nodes' platform: `crane manifest --platform linux/arm64/v8 IMAGE`)",
            ),
            (
                r#"{"schemaVersion":1,"fsLayers":[{"blobSum":"sha256:a"}]}"#,
                "m.json:1:1: this is a Docker schema 1 manifest, which has no sizes \
                 (help: push the image again with a current client, or list its layers in the experiment)",
            ),
            (
                "{}",
                "m.json:1:1: this is not an image manifest: it has no `layers` (help: write it with `crane manifest IMAGE`)",
            ),
            (
                r#"{"layers":[]}"#,
                "m.json:1:1: the image has no layers (help: an image has at least one layer)",
            ),
            (
                r#"{"layers":[{"digest":"sha256:a","si"#,
                "m.json:1:35: the JSON ends too early: EOF while parsing a string \
                 (help: the file is cut off; rerun the command that wrote it)",
            ),
        ] {
            assert_eq!(read_text(text), Err(vec![message.to_owned()]), "{text}");
        }
    }
}
