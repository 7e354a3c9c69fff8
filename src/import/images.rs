//! Image manifests and indexes in the format of `crane manifest` and `skopeo inspect --raw`.
//!
//! An index lists manifests by their digests and has no layers. The manifest of the requested platform must be among
//! the given files or documents; it is identified by its digest, the SHA-256 of its bytes. `docker manifest inspect
//! --verbose` prints every platform with its layers; the requested one is used.

use std::path::Path;
use std::sync::Arc;

use itertools::Itertools;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kinds::{ClientObject, ExportShape, IMAGE};
use super::sources::Texts;
use crate::document::files::sha256;
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::scenario::import::manifest::{
    self, ImagePlatform, Manifest, ManifestLayer, PlatformEntry,
};
use crate::scenario::import::media_type::LayerPacking;
use crate::scenario::import::objects::{ExportObject, objects, unpacked_name};
use crate::units::Bytes;

/// An image of the release.
pub(super) struct ImportedImage {
    pub(super) name: String,
    pub(super) new: ManifestFile,
    pub(super) previous: Option<ManifestFile>,
}

impl ImportedImage {
    /// Returns whether any layer that may have to be unpacked is compressed with zstd.
    pub(super) fn has_zstd(&self) -> bool {
        let layers = &self.new.manifest.layers;
        layers
            .iter()
            .any(|layer| layer.packing == LayerPacking::Zstd)
    }
}

/// A manifest, with the text of its own file.
pub(super) struct ManifestFile {
    pub(super) file: String,
    pub(super) bytes: Vec<u8>,
    pub(super) manifest: Manifest,
}

/// Reads the images. The n-th previous manifest belongs to the n-th image.
///
/// # Errors
/// Returns an error if a file is not a manifest, or there are more previous manifests than images.
pub(super) fn images(
    new: &[impl AsRef<Path>],
    previous: &[impl AsRef<Path>],
    platform: &str,
    texts: &mut Texts,
) -> OrProblems<Vec<ImportedImage>> {
    if let Some(extra) = previous.get(new.len()) {
        let file = extra.as_ref().display().to_string();
        let problem = Problem::of_file(&file, "each --previous belongs to an --image before it");
        return Err(vec![problem.with_help("add --image for the new version")]);
    }
    let mut images = Vec::new();
    let mut problems = Vec::new();
    for (at, path) in new.iter().enumerate() {
        let previous: Option<&Path> = previous.get(at).map(AsRef::as_ref);
        match read_image(path.as_ref(), previous, platform, texts) {
            Ok(image) => images.push(image),
            Err(found) => problems.extend(found),
        }
    }
    let mut names = Vec::new();
    for image in &mut images {
        image.name = unique(&image.name, "", &names);
        names.push(image.name.clone());
    }
    if problems.is_empty() {
        Ok(images)
    } else {
        Err(problems)
    }
}

/// Reads an image, and its previous version if there is one.
fn read_image(
    new: &Path,
    previous: Option<&Path>,
    platform: &str,
    texts: &mut Texts,
) -> OrProblems<ImportedImage> {
    let mut problems = Vec::new();
    let mut manifests = Vec::new();
    for path in [Some(new), previous].into_iter().flatten() {
        match read_manifest(path, platform, texts) {
            Ok(manifest) => manifests.push(manifest),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut manifests = manifests.into_iter();
    Ok(ImportedImage {
        name: image_name(new),
        new: manifests.next().expect("it was read"),
        previous: manifests.next(),
    })
}

/// Returns a unique name. If the name is taken, a number is inserted before the extension.
pub(super) fn unique(name: &str, ending: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}{ending}"));
    let mut candidates = std::iter::once(format!("{name}{ending}")).chain(numbered);
    candidates
        .find(|candidate| !taken.contains(candidate))
        .unwrap_or_default()
}

/// Derives the name of an image from its file name: `shop-v2.json` becomes `shop`. A file name without letters becomes
/// `app`.
fn image_name(path: &Path) -> String {
    let path = path.to_string_lossy();
    let stem = Path::new(unpacked_name(&path)).file_stem();
    let stem = match stem {
        Some(stem) => stem.to_string_lossy().to_lowercase(),
        None => String::new(),
    };
    let mut kept = Vec::new();
    for word in stem.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        if !word.is_empty() && !is_version(word) && !NOISE.contains(&word) {
            kept.push(word);
        }
    }
    if kept.is_empty() {
        "app".to_owned()
    } else {
        kept.join("-")
    }
}

/// Words in file names that do not describe the image.
const NOISE: [&str; 5] = ["new", "old", "manifest", "image", "index"];

/// Returns whether a word is a number, optionally with a leading `v`.
fn is_version(word: &str) -> bool {
    let number = word.strip_prefix('v').unwrap_or(word);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the manifest of a platform.
fn read_manifest(path: &Path, platform: &str, texts: &mut Texts) -> OrProblems<ManifestFile> {
    let source = texts.read(path, IMAGE.command)?;
    let file = match path.file_name() {
        Some(name) => unpacked_name(&name.to_string_lossy()).to_owned(),
        None => "image.json".to_owned(),
    };
    let objects = objects(&source)?;
    let text = match objects.as_slice() {
        [] => {
            let problem = Problem::of_file(&source.name, "the file has no manifest");
            return Err(vec![
                problem.with_help(format!("write it with `{}`", IMAGE.command)),
            ]);
        }
        // Only an object in a bare array has a non-empty path.
        [only]
            if only.path.0.is_empty()
                && ExportShape::of(only).is_client(ClientObject::ImageManifest) =>
        {
            source.text.clone()
        }
        several => chosen(&source, several, platform)?,
    };
    let own = Arc::new(source.with_text(text));
    let manifest = manifest::read(&own)?;
    Ok(ManifestFile {
        file,
        bytes: own.text.clone().into_bytes(),
        manifest,
    })
}

/// Returns the text of the chosen manifest in a file.
fn chosen(
    source: &Arc<Source>,
    objects: &[ExportObject<'_>],
    platform: &str,
) -> OrProblems<String> {
    let shapes: Vec<ExportShape> = objects.iter().map(ExportShape::of).collect();
    if place_of(&shapes, ClientObject::ImageInspection).is_some() {
        return inspected(source, objects, platform);
    }
    if let Some(at) = place_of(&shapes, ClientObject::ImageIndex) {
        return of_index(&objects[at], objects, platform);
    }
    // The file may also contain an image's attestations.
    let mut manifests = objects.iter().zip(&shapes).filter(|(object, shape)| {
        shape.is_client(ClientObject::ImageManifest) && !manifest::is_attestation(&object.to_json())
    });
    match (manifests.next(), manifests.next()) {
        (Some((one, _)), None) => Ok(text_of(one)),
        (Some(_), Some((second, _))) => {
            let problem = second.problem("", "the file has two image manifests");
            Err(vec![problem.with_help(
                "keep the one for the nodes' platform, or add the index",
            )])
        }
        (None, _) => Err(vec![IMAGE.wrong_kind(&objects[0], &shapes[0])]),
    }
}

/// Returns the index of the first object of this kind.
fn place_of(shapes: &[ExportShape], kind: ClientObject) -> Option<usize> {
    shapes.iter().position(|shape| shape.is_client(kind))
}

/// Returns an object's original JSON text, because the digest depends on it.
fn text_of(object: &ExportObject<'_>) -> String {
    match object.json_text() {
        Some(text) => text.to_owned(),
        None => pretty(&object.to_json()),
    }
}

/// Formats a value as the text of a file.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("values can be written") + "\n"
}

/// An index that lists an image's manifests.
#[derive(Deserialize)]
struct IndexJson {
    manifests: Vec<IndexEntry>,
}

#[derive(Deserialize)]
struct IndexEntry {
    digest: String,
    #[serde(flatten)]
    of: PlatformEntry,
}

/// Finds the manifest for the index's platform among the other documents, by its digest.
fn of_index(
    index: &ExportObject<'_>,
    all: &[ExportObject<'_>],
    platform: &str,
) -> OrProblems<String> {
    let entries = index.read::<IndexJson>()?.manifests;
    let names = ImagePlatform::names(entries.iter().map(|entry| &entry.of));
    let Some(entry) = entries.iter().find(|entry| entry.of.is_for(platform)) else {
        let message = format!("the index has no manifest for {platform}");
        let help = match names.first() {
            Some(_) => format!("choose one of {} with --platform", some_of(&names)),
            None => "name the manifest of the image itself".to_owned(),
        };
        return Err(vec![index.problem("manifests", message).with_help(help)]);
    };
    for object in all {
        if object
            .json_text()
            .is_some_and(|text| digest(text) == entry.digest)
        {
            return Ok(text_of(object));
        }
    }
    let message = format!(
        "this is an index of {}: it lists only the digests of manifests, not their layers",
        some_of(&names)
    );
    let help = format!(
        "write the manifest of {platform}: `crane manifest IMAGE@{}`",
        entry.digest
    );
    Err(vec![index.problem("manifests", message).with_help(help)])
}

/// Returns the digest of a document.
fn digest(text: &str) -> String {
    format!("sha256:{}", sha256(text.as_bytes()))
}

/// An entry of `docker manifest inspect --verbose`, or `skopeo inspect` without `--raw`.
#[derive(Deserialize)]
struct Inspection {
    #[serde(rename = "Descriptor")]
    descriptor: Option<PlatformEntry>,
    #[serde(rename = "OCIManifest")]
    oci: Option<Value>,
    #[serde(rename = "SchemaV2Manifest")]
    schema2: Option<Value>,
    #[serde(rename = "LayersData")]
    layers: Option<Vec<InspectedLayer>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InspectedLayer {
    digest: String,
    size: u64,
    #[serde(rename = "MIMEType")]
    media_type: Option<String>,
}

/// Returns the manifest for a platform, from client output with several platforms or only with layers.
fn inspected(source: &Arc<Source>, all: &[ExportObject<'_>], platform: &str) -> OrProblems<String> {
    let mut names = Vec::new();
    for object in all {
        let inspection = object.read::<Inspection>()?;
        let entry = inspection.descriptor;
        let is_it = match &entry {
            Some(entry) => entry.platform.is_none() || entry.is_for(platform),
            None => true,
        };
        names.extend(ImagePlatform::names(entry.iter()));
        if let Some(manifest) = inspection.oci.or(inspection.schema2).filter(|_| is_it) {
            return Ok(pretty(&manifest));
        }
        if let Some(layers) = inspection.layers {
            let mut blobs = Vec::new();
            for layer in layers {
                let mut blob = json!({ "digest": layer.digest, "size": layer.size });
                if let Some(media_type) = layer.media_type {
                    blob["mediaType"] = json!(media_type);
                }
                blobs.push(blob);
            }
            return Ok(pretty(&json!({ "schemaVersion": 2, "layers": blobs })));
        }
    }
    let problem = Problem::of_file(
        &source.name,
        format!("the file has no manifest for {platform}"),
    );
    Err(vec![problem.with_help(format!(
        "it has {}; choose one with --platform",
        some_of(&names)
    ))])
}

/// Returns the compressed size of all layers, and of the layers that the previous version lacks. A layer that is
/// listed twice counts once.
pub(super) fn sizes(image: &ImportedImage) -> (Bytes, Bytes) {
    let mut all = 0;
    let mut new = 0;
    let layers = image.new.manifest.layers.iter();
    for layer in layers.unique_by(|layer| &layer.digest) {
        all += layer.size.get();
        if !is_in(layer, image.previous.as_ref()) {
            new += layer.size.get();
        }
    }
    (Bytes::new(all), Bytes::new(new))
}

/// Returns whether a manifest contains a layer.
fn is_in(layer: &ManifestLayer, manifest: Option<&ManifestFile>) -> bool {
    let Some(file) = manifest else {
        return false;
    };
    let mut layers = file.manifest.layers.iter();
    layers.any(|known| known.digest == layer.digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_named_after_its_file() {
        for (file, name) in [
            ("shop-v2.json", "shop"),
            ("a/b/shop_1.2.3.json", "shop"),
            ("v2.json", "app"),
            ("shop-v2.json.gz", "shop"),
            ("-", "app"),
            ("new-manifest.json", "app"),
            ("Web Front.json", "web-front"),
        ] {
            assert_eq!(image_name(Path::new(file)), name, "{file}");
        }
        assert_eq!(
            unique(
                "shop",
                ".json",
                &["shop.json".to_owned(), "shop-2.json".to_owned()]
            ),
            "shop-3.json"
        );
    }

    const MANIFEST: &str = r#"{"layers":[{"digest":"sha256:a","size":5}]}"#;

    fn chosen_of(text: &str, platform: &str) -> Result<String, Vec<String>> {
        let source = Arc::new(Source::new("x.json", text));
        let objects = objects(&source).expect("well-formed");
        chosen(&source, &objects, platform)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn an_index_is_followed_to_the_manifest_of_the_platform() {
        let index = format!(
            r#"{{"manifests":[{{"digest":"sha256:0","platform":{{"os":"unknown","architecture":"unknown"}}}},
                {{"digest":"{}","platform":{{"os":"linux","architecture":"amd64"}}}},
                {{"digest":"sha256:1","platform":{{"os":"linux","architecture":"arm64","variant":"v8"}}}}]}}"#,
            digest(MANIFEST)
        );
        assert_eq!(
            chosen_of(&format!("{index}\n{MANIFEST}\n"), "linux/amd64"),
            Ok(MANIFEST.to_owned())
        );
        let errors = chosen_of(&index, "linux/arm64").expect_err("no manifest");
        assert!(
            errors[0].contains("lists only the digests of manifests, not their layers"),
            "{errors:?}"
        );
        assert!(
            errors[0].contains("`crane manifest IMAGE@sha256:1`"),
            "{errors:?}"
        );
        let errors = chosen_of(&index, "linux/s390x").expect_err("no such platform");
        assert!(
            errors[0].contains("choose one of `linux/amd64`, `linux/arm64/v8` with --platform"),
            "{errors:?}"
        );
    }

    #[test]
    fn inspections_with_layers_are_read() {
        let docker = format!(
            r#"[{{"Ref":"x","Descriptor":{{"platform":{{"os":"linux","architecture":"arm64"}}}},"OCIManifest":{{}}}},
                {{"Ref":"x","Descriptor":{{"platform":{{"os":"linux","architecture":"amd64"}}}},"SchemaV2Manifest":{MANIFEST}}}]"#
        );
        assert!(
            chosen_of(&docker, "linux/amd64")
                .expect("one")
                .contains("sha256:a")
        );
        let skopeo = r#"{"Name":"x","Layers":["sha256:b"],"LayersData":[{"Digest":"sha256:b","Size":7,"MIMEType":"x"}]}"#;
        assert!(
            chosen_of(skopeo, "linux/amd64")
                .expect("one")
                .contains("\"size\": 7")
        );
    }
}
