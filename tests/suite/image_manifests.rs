//! Manifests of images, each with one feature, and the interpretation that a container runtime gives to each. Every
//! manifest is read by an import, and as the `manifest` of an experiment.
//!
//! The runtime's behaviour is that of containerd 301026e: layers and their compression `core/images/mediatypes.go`,
//! layers with urls `core/remotes/docker/fetcher.go`; of the OCI image specification 1.1 for artifacts, digests and
//! indexes; and of Docker's `distribution` package for configs of old registries.

use std::fs;
use std::path::{Path, PathBuf};

use fleetsim::scenario::{Overrides, load};
use fleetsim::world::{ImageSpec, Uncompressed};

use super::common::{fleetsim, folder_with, root, text};

/// The outcome of reading a manifest.
#[derive(Clone, Copy, Debug)]
enum ManifestOutcome {
    /// The manifest was read as an image.
    Image {
        listed: usize,
        /// Number of bytes that a node without any layer downloads.
        bytes: u64,
        /// Number of uncompressed layers.
        plain: usize,
        /// Number of layers with zstd.
        zstd: usize,
    },
    /// The manifest was rejected with an error at this line, with this field and a part of the reason.
    Refused(usize, &'static str, &'static str),
}

use ManifestOutcome::{Image, Refused};

/// An image of gzip layers.
const fn gzip(listed: usize, bytes: u64) -> ManifestOutcome {
    Image {
        listed,
        bytes,
        plain: 0,
        zstd: 0,
    }
}

/// An image of one uncompressed layer.
const PLAIN: ManifestOutcome = Image {
    listed: 1,
    bytes: 30_000_000,
    plain: 1,
    zstd: 0,
};

/// An image of one layer with zstd.
const ZSTD: ManifestOutcome = Image {
    listed: 1,
    bytes: 30_000_000,
    plain: 0,
    zstd: 1,
};

/// Manifests that an import and an experiment read with the same outcome.
const MANIFESTS: [(&str, ManifestOutcome); 27] = [
    ("gzip", gzip(2, 50_000_000)),
    ("zstd", ZSTD),
    ("uncompressed", PLAIN),
    ("docker", gzip(1, 30_000_000)),
    ("docker-uncompressed", PLAIN),
    ("config-octet-stream", gzip(1, 30_000_000)),
    ("repeated-layer", gzip(3, 51_000_000)),
    (
        "repeated-layer-two-sizes",
        Refused(22, "layers[2].size", "40000000 bytes here and 50000000"),
    ),
    ("empty-layers", gzip(4, 50_000_032)),
    ("no-media-types", gzip(1, 30_000_000)),
    ("encrypted", gzip(1, 30_000_000)),
    ("nondistributable-in-registry", gzip(1, 30_000_000)),
    (
        "foreign-layer",
        Refused(
            15,
            "layers[0].urls",
            "downloaded from `https://example.com/layer`",
        ),
    ),
    (
        "attestation",
        Refused(
            11,
            "layers[0].mediaType",
            "this is an attestation, not an image",
        ),
    ),
    (
        "signature",
        Refused(11, "layers[0].mediaType", "this is a signature"),
    ),
    (
        "sbom",
        Refused(16, "artifactType", "a list of components (SBOM)"),
    ),
    (
        "helm-chart",
        Refused(5, "config.mediaType", "this is a Helm chart, not an image"),
    ),
    (
        "wasm",
        Refused(5, "config.mediaType", "this is a WebAssembly module"),
    ),
    (
        "artifact-type",
        Refused(
            16,
            "artifactType",
            "this is an artifact, not an image (`application/vnd.example.model`)",
        ),
    ),
    (
        "artifact-config",
        Refused(5, "config.mediaType", "this is an artifact, not an image"),
    ),
    (
        "layer-of-no-type",
        Refused(16, "layers[1].mediaType", "`application/vnd.example.blob`"),
    ),
    ("schema-1", Refused(1, "", "a Docker schema 1 manifest")),
    (
        "capital-digest",
        Refused(17, "layers[1].digest", "is not a digest"),
    ),
    (
        "digest-without-algorithm",
        Refused(12, "layers[0].digest", "is not a digest"),
    ),
    ("size-zero", Refused(12, "layers[0].size", "the size is 0")),
    (
        "config-size-negative",
        Refused(6, "config.size", "`-1`, which is not a number of bytes"),
    ),
    ("no-layers", Refused(1, "", "the image has no layers")),
];

/// Files that only an import accepts, because it resolves them to the manifest of the platform.
const IMPORTED: [(&str, ManifestOutcome); 4] = [
    ("index-attestation-unknown", gzip(1, 30_000_000)),
    ("index-attestation-of-platform", gzip(1, 30_000_000)),
    ("image-and-attestation", gzip(1, 30_000_000)),
    (
        "index-of-attestations",
        Refused(4, "manifests", "has no manifest for linux/amd64"),
    ),
];

fn file(name: &str) -> PathBuf {
    root().join(format!("tests/files/images/{name}.json"))
}

/// The first image of the experiment in a folder, or its error.
fn image_of(folder: &Path) -> Result<ImageSpec, String> {
    match load(folder, &Overrides::default()) {
        Ok(experiment) => Ok(experiment.variants[0].scenario.world.images[0].clone()),
        Err(error) => Err(error.render(false)),
    }
}

/// The image of an experiment that names the manifest.
fn in_an_experiment(name: &str) -> Result<ImageSpec, String> {
    let manifest = fs::read_to_string(file(name)).expect("a manifest");
    let experiment = "name: x\nfleet: [{name: a, nodes: 1}]\nrelease: {images: [{name: app, manifest: app.json}], \
                      workloads: [{kind: Deployment, image: app}]}\nstrategies: {all: {allAtOnce: {}}}\n";
    let folder = folder_with(&[("app.json", &manifest), ("experiment.yaml", experiment)]);
    image_of(folder.path()).map_err(|error| error.replace("app.json", &format!("{name}.json")))
}

/// The image of an import with the given manifest.
fn imported(name: &str) -> Result<ImageSpec, String> {
    let process =
        r#"{"pagination": {}, "resources": [{"guid": "g", "type": "web", "instances": 2}]}"#;
    let folder = folder_with(&[("process.json", process)]);
    let output = fleetsim(folder.path())
        .args([
            "import",
            "--process",
            "process.json",
            "-o",
            "out",
            "--image",
        ])
        .arg(file(name))
        .output()
        .expect("the program ran");
    if output.status.success() {
        image_of(&folder.path().join("out"))
    } else {
        assert_eq!(output.status.code(), Some(2), "{name}");
        Err(text(&output.stderr))
    }
}

/// The difference between the expected and the actual outcome. `None`: the outcomes are equal.
fn difference(
    way: &str,
    name: &str,
    expected: ManifestOutcome,
    found: &Result<ImageSpec, String>,
) -> Option<String> {
    let is_right = match (expected, found) {
        (
            Image {
                listed,
                bytes,
                plain,
                zstd,
            },
            Ok(image),
        ) => {
            let distinct = image.distinct_layers();
            let sent: u64 = distinct.map(|layer| layer.compressed.typical().get()).sum();
            let mut layers = image.layers.iter();
            let as_sent = layers
                .by_ref()
                .filter(|layer| layer.uncompressed == Uncompressed::AsSent);
            let with_zstd = image.layers.iter().filter(|layer| layer.is_zstd);
            as_sent.count() == plain
                && with_zstd.count() == zstd
                && image.layers.len() == listed
                && sent == bytes
        }
        (Refused(line, field, reason), Err(error)) => {
            error.contains(&format!("{name}.json:{line}:"))
                && error.contains(field)
                && error.contains(reason)
                && error.contains("help:")
        }
        _ => false,
    };
    (!is_right).then(|| format!("{way}, {name}: expected {expected:?}, found {found:?}"))
}

#[test]
fn manifests_are_read_as_by_a_container_runtime() {
    let mut differences = Vec::new();
    for (name, expected) in MANIFESTS {
        let found = in_an_experiment(name);
        differences.extend(difference("experiment", name, expected, &found));
    }
    for (name, expected) in MANIFESTS.into_iter().chain(IMPORTED) {
        differences.extend(difference("import", name, expected, &imported(name)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_image_file_has_an_expected_outcome() {
    let entries = fs::read_dir(root().join("tests/files/images")).expect("a folder");
    let names = MANIFESTS.iter().chain(&IMPORTED).map(|(name, _)| *name);
    assert_eq!(entries.count(), names.clone().count());
    for name in names {
        assert!(file(name).is_file(), "{name}");
    }
}

#[test]
fn the_error_for_an_index_lists_its_platforms() {
    let error = in_an_experiment("index-of-attestations").expect_err("an index");
    assert!(
        error.contains("an index without a manifest for any platform"),
        "{error}"
    );
}

#[test]
fn explain_counts_a_repeated_layer_once() {
    let manifest = fs::read_to_string(file("repeated-layer")).expect("a manifest");
    let experiment = "name: x\nfleet: [{name: 'a{1..10}', nodes: 2}]\nrelease: {images: [{name: app, manifest: app.json}], \
                      workloads: [{kind: Deployment, image: app}]}\nstrategies: {all: {allAtOnce: {}}}\n";
    let folder = folder_with(&[("app.json", &manifest), ("experiment.yaml", experiment)]);
    let explained = fleetsim(folder.path())
        .args(["explain", "."])
        .assert()
        .success();
    let explained = text(&explained.get_output().stdout);
    assert!(
        explained.contains("image app: 3 layers, 51 MB; 51 MB of it new"),
        "{explained}"
    );
    assert!(
        explained.contains("if every node pulls once: 1.02 GB"),
        "{explained}"
    );
}

#[test]
fn the_rate_of_zstd_is_an_assumption_of_an_import_and_a_note_of_check() {
    let manifest = fs::read_to_string(file("zstd")).expect("a manifest");
    let experiment = "name: x\nfleet: [{name: a, nodes: 1}]\nrelease: {images: [{name: app, manifest: app.json}], \
                      workloads: [{kind: Deployment, image: app}]}\nstrategies: {all: {allAtOnce: {}}}\n";
    let written = format!("{experiment}node: {{zstdFactor: 2}}\n");
    let process = r#"{"pagination": {"total_results": 1, "next": null},
        "resources": [{"guid": "g", "type": "web", "instances": 2, "health_check": {"type": "port", "data": {}}}]}"#;
    let folder = folder_with(&[
        ("app.json", &manifest),
        ("experiment.yaml", experiment),
        ("written.yaml", &written),
        ("process.json", process),
    ]);
    let run = |words: &str| {
        let mut command = fleetsim(folder.path());
        let assert = command.args(words.split(' ')).assert().success();
        text(&assert.get_output().stdout).replace("\n  ", " ")
    };
    let note = "note: layers with zstd are unpacked 1.8 times as fast as those with gzip";
    assert!(run("check experiment.yaml").contains(note));
    assert!(!run("check written.yaml").contains(note));
    let imported = run("import --process process.json --image app.json -o out");
    assert!(imported.contains("node.zstdFactor"), "{imported}");
    let page = fs::read_to_string(folder.path().join("out/experiment.yaml")).expect("written");
    assert!(page.contains("\n  zstdFactor: 1.8\n"), "{page}");
}
