//! Image manifests as `crane manifest` prints them: OCI and Docker schema 2.
//!
//! A layer's `size` is what goes over the wire; what it takes on disk is not in a manifest and is estimated elsewhere.

use std::sync::Arc;

use serde::Deserialize;

use crate::document::files::read_json;
use crate::document::problem::{OrProblem, Problem, Source};
use crate::document::wording::Wording;
use crate::units::Bytes;

/// No layer is larger: 10^13 bytes, a thousand times the largest layer found on public registries.
pub(crate) const MOST_LAYER_BYTES: u64 = 10_000_000_000_000;

/// Information of a manifest about an image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) config: Bytes,
    /// Bottom first.
    pub(crate) layers: Vec<ManifestLayer>,
}

/// A layer of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ManifestLayer {
    pub(crate) digest: String,
    /// Compressed.
    pub(crate) size: Bytes,
    /// Bytes on disk, which people may write beside the size.
    pub(crate) uncompressed: Option<u64>,
}

#[derive(Deserialize)]
struct ManifestJson {
    config: Option<BlobJson>,
    layers: Option<Vec<BlobJson>>,
    /// An index or manifest list has these in place of layers.
    manifests: Option<Vec<PlatformJson>>,
    /// Docker's schema 1.
    #[serde(rename = "fsLayers")]
    fs_layers: Option<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct BlobJson {
    digest: String,
    uncompressed: Option<u64>,
    /// Kept as it is written: what is no size must be told with the digest.
    size: serde_json::Value,
    #[serde(rename = "mediaType")]
    media_type: Option<String>,
}

/// The type of the configuration of a Helm chart that is stored in a registry.
const HELM_CHART: &str = "application/vnd.cncf.helm.config.v1+json";

#[derive(Deserialize)]
struct PlatformJson {
    platform: Option<ImagePlatform>,
}

/// A platform of an index.
#[derive(Deserialize)]
pub(crate) struct ImagePlatform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl ImagePlatform {
    /// `linux/arm64/v8`.
    pub(crate) fn name(&self) -> String {
        let variant = self
            .variant
            .as_ref()
            .map(|variant| format!("/{variant}"))
            .unwrap_or_default();
        format!("{}/{}{variant}", self.os, self.architecture)
    }

    /// Whether it is the wanted one; a variant that is not asked for does not matter.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        self.name() == wanted || format!("{}/{}", self.os, self.architecture) == wanted
    }

    /// The names of platforms. Attestations are listed as `unknown/unknown`; nobody runs those.
    pub(crate) fn names<'p>(platforms: impl Iterator<Item = &'p Self>) -> Vec<String> {
        platforms
            .filter(|platform| platform.os != "unknown")
            .map(Self::name)
            .collect()
    }
}

/// Reads a manifest.
///
/// # Errors
/// All that is wrong with it.
pub(crate) fn read(source: &Arc<Source>) -> Result<Manifest, Vec<Problem>> {
    let json: ManifestJson = read_json(source).map_err(|problem| vec![*problem])?;
    if let Some(problem) = other_content(&json, source) {
        return Err(vec![problem]);
    }
    let mut problems = Vec::new();
    let mut config = crate::world::calibration::CONFIG_SIZE;
    if let Some(blob) = &json.config {
        match size_of(blob, "config.size", source) {
            Ok(size) => config = size,
            Err(problem) => problems.push(*problem),
        }
    }
    let mut layers = Vec::new();
    for (at, blob) in json.layers.iter().flatten().enumerate() {
        match size_of(blob, &format!("layers[{at}].size"), source) {
            Ok(size) => layers.push(ManifestLayer {
                digest: blob.digest.clone(),
                size,
                uncompressed: blob.uncompressed,
            }),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() {
        Ok(Manifest { config, layers })
    } else {
        Err(problems)
    }
}

/// The problem of a file that is not the manifest of an image with layers.
fn other_content(json: &ManifestJson, source: &Arc<Source>) -> Option<Problem> {
    if let Some(platforms) = &json.manifests {
        return Some(index_of_platforms(platforms, source));
    }
    let media_type = json
        .config
        .as_ref()
        .and_then(|config| config.media_type.as_deref());
    let (message, help) = if json.fs_layers.is_some() {
        (
            "this is a Docker schema 1 manifest, which tells no sizes",
            "push the image again with a current client, or write its layers in place",
        )
    } else if media_type == Some(HELM_CHART) {
        (
            "this is a Helm chart, not an image",
            "name the images that it installs: `helm template CHART | grep image:`, and `crane manifest` of each",
        )
    } else if json.layers.is_none() {
        (
            "this is no image manifest: it has no `layers`",
            "write it with `crane manifest IMAGE`",
        )
    } else if json.layers.as_ref().is_some_and(Vec::is_empty) {
        ("the image has no layers", "an image has at least one layer")
    } else {
        return None;
    };
    Some(source.at(0..0, "", message).with_help(help))
}

/// The problem of an index, which lists manifests.
fn index_of_platforms(platforms: &[PlatformJson], source: &Arc<Source>) -> Problem {
    let names = ImagePlatform::names(platforms.iter().filter_map(|entry| entry.platform.as_ref()));
    let first = names.first().map_or("linux/amd64", String::as_str);
    let message = Wording::quoting(
        format!(
            "this is an index of several platforms ({}), not the manifest of an image",
            names.join(", ")
        ),
        "this is an index of several platforms",
    );
    let help =
        format!("write the one that the nodes run: `crane manifest --platform {first} IMAGE`");
    source.at(0..0, "", message).with_help(help)
}

/// The size of a blob, which the manifest has in a field.
fn size_of(blob: &BlobJson, field: &str, source: &Arc<Source>) -> OrProblem<Bytes> {
    checked_size(&blob.size).map_err(|message| {
        let message = format!("{message} for `{}`", blob.digest);
        let message = Wording::quoting(message, "the size of a blob is invalid");
        let help = "write the manifest again with `crane manifest IMAGE`; sizes are bytes as stored, compressed";
        let problem = source.at(source.find_json_string(&blob.digest), field, message);
        Box::new(problem.with_help(help))
    })
}

fn checked_size(written: &serde_json::Value) -> Result<Bytes, String> {
    match written.as_u64() {
        Some(0) => {
            Err("the size is 0, but no blob is empty (an empty layer has 32 bytes)".to_owned())
        }
        Some(size) if size > MOST_LAYER_BYTES => Err(format!(
            "the size is {size} bytes; at most 10^13 are believed"
        )),
        Some(size) => Ok(Bytes::new(size)),
        None => Err(format!(
            "the size is `{written}`, which is no number of bytes"
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
                "config":{"mediaType":"x","digest":"sha256:c","size":7023},
                "layers":[{"mediaType":"x","digest":"sha256:a","size":32654},{"digest":"sha256:b","size":32}]}"#,
        );
        let layer = |digest: &str, size| ManifestLayer {
            digest: digest.to_owned(),
            size: Bytes::new(size),
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
    fn sizes_that_no_layer_has_are_refused_with_their_digest() {
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
                "the size is 1000000000000000000 bytes; at most 10^13 are believed",
            ),
            ("-1", "the size is `-1`, which is no number of bytes"),
            ("1e30", "the size is `1e+30`, which is no number of bytes"),
            ("\"5\"", "the size is `\"5\"`, which is no number of bytes"),
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
    fn what_is_no_image_manifest_says_what_it_is() {
        for (text, message) in [
            (
                r#"{"manifests":[{"platform":{"os":"linux","architecture":"arm64","variant":"v8"}},{"platform":{"os":"unknown","architecture":"unknown"}}]}"#,
                "m.json:1:1: this is an index of several platforms (linux/arm64/v8), not the manifest of an image \
                 (help: write the one that the nodes run: `crane manifest --platform linux/arm64/v8 IMAGE`)",
            ),
            (
                r#"{"schemaVersion":1,"fsLayers":[{"blobSum":"sha256:a"}]}"#,
                "m.json:1:1: this is a Docker schema 1 manifest, which tells no sizes \
                 (help: push the image again with a current client, or write its layers in place)",
            ),
            (
                "{}",
                "m.json:1:1: this is no image manifest: it has no `layers` (help: write it with `crane manifest IMAGE`)",
            ),
            (
                r#"{"layers":[]}"#,
                "m.json:1:1: the image has no layers (help: an image has at least one layer)",
            ),
            (
                r#"{"layers":[{"digest":"sha256:a","si"#,
                "m.json:1:35: the JSON ends too early: EOF while parsing a string \
                 (help: the file is cut off; write it again with the command it came from)",
            ),
        ] {
            assert_eq!(read_text(text), Err(vec![message.to_owned()]), "{text}");
        }
    }
}
