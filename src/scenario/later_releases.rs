//! The contents of the releases after the first one, as checked: the layers of each image, and what fails.
//!
//! An image that a release does not name keeps its content. A layer without a digest differs from all layers of other
//! releases; one with the digest of an earlier layer is the same bytes.

use super::check::Checker;
use super::release::ImageFile;
use super::release_times::{LaterImageFile, PublishedRelease, ReleaseAt, ReleaseTimes};
use crate::control_plane::Change;
use crate::document::path::Path;
use crate::products::Strategy;
use crate::world::{ImageSpec, LaterRelease, LayerSpec, ReleaseFaults, ReleaseKind, WorkloadSpec};

/// What the releases after the first one may refer to.
pub(super) struct FirstRelease<'f> {
    pub(super) kind: ReleaseKind,
    pub(super) images: &'f [ImageFile],
    pub(super) workloads: &'f [WorkloadSpec],
    /// The names of the clusters.
    pub(super) clusters: &'f [String],
}

impl Checker<'_> {
    /// Reports releases after the first one that a strategy does not support. `path`: that of `releases`.
    pub(super) fn supports_releases(
        &mut self,
        path: &Path,
        releases: &[PublishedRelease],
        name: &str,
        strategy: &dyn Strategy,
    ) {
        for (at, release) in (1..).zip(releases) {
            if let Err(reason) = strategy.takes(&Change::Release(release.revision)) {
                let message = format!("`{name}` does not support a later release: {reason}");
                let help = "keep the first release, or compare strategies that support later ones";
                self.report(&path.index(at), message, help);
                return;
            }
        }
    }

    /// Adds the contents of the releases after the first one to the images, and returns what fails in each. `path`:
    /// that of `releases`.
    pub(super) fn later_releases(
        &mut self,
        path: &Path,
        releases: Option<&ReleaseTimes>,
        first: &FirstRelease<'_>,
        images: &mut [ImageSpec],
    ) -> Vec<LaterRelease> {
        let Some(ReleaseTimes::List(releases)) = releases else {
            return Vec::new();
        };
        self.first_entry(path, releases);
        let mut later = Vec::new();
        let mut earlier_contents = usize::from(first.kind == ReleaseKind::Update);
        for (at, release) in releases.iter().enumerate().skip(1) {
            let path = path.index(at);
            if release.rollback {
                self.rollback(&path, release, earlier_contents, first.kind);
                earlier_contents = earlier_contents.saturating_sub(1);
                continue;
            }
            earlier_contents += 1;
            let number = format!("release-{}", later.len() + 2);
            let list = path.key("images");
            self.later_images(&list, &release.images, first.images, images, &number);
            later.push(LaterRelease {
                faults: self.faults_of_release(&path.key("faults"), &release.faults, first),
            });
        }
        later
    }

    /// Checks that the first entry has no content.
    fn first_entry(&mut self, path: &Path, releases: &[ReleaseAt]) {
        let path = path.index(0);
        for (key, message) in [
            ("images", "the images of the first release are in `release`"),
            ("rollback", "the first release has nothing to go back to"),
            (
                "faults",
                "the failures of the first release are in `faults` of the experiment",
            ),
        ] {
            let path = path.key(key);
            if !releases.is_empty() && self.is_set(&path) {
                self.report(&path, message, "remove it from the first entry");
            }
        }
    }

    /// Checks a rollback. `earlier`: the number of contents to which it can go back.
    fn rollback(&mut self, path: &Path, release: &ReleaseAt, earlier: usize, kind: ReleaseKind) {
        if !release.images.is_empty() || self.is_set(&path.key("faults")) {
            let help = "remove `images` and `faults`, or remove `rollback` for another content";
            let message = "a rollback publishes the content of an earlier release";
            self.report(&path.key("rollback"), message, help);
        }
        if earlier == 0 {
            let help = match kind {
                ReleaseKind::Update => "remove it: a rollback before it has gone back to the start",
                ReleaseKind::Initial => {
                    "remove it, or write `kind: update` if an older revision runs at the start"
                }
            };
            let message = "there is no earlier content to go back to";
            self.report(&path.key("rollback"), message, help);
        }
    }

    /// Adds the layers of a later release to all images. `list`: the path of the images with another content, and
    /// `release`: its name in the digests of its own layers.
    pub(super) fn later_images(
        &mut self,
        list: &Path,
        changed: &[LaterImageFile],
        files: &[ImageFile],
        images: &mut [ImageSpec],
        release: &str,
    ) {
        self.unique(
            list,
            changed
                .iter()
                .enumerate()
                .map(|(index, image)| (index, image.name.as_str())),
        );
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        for image in &mut *images {
            image
                .later
                .push(image.later.last().unwrap_or(&image.layers).clone());
        }
        for (index, later) in changed.iter().enumerate() {
            let path = list.index(index);
            let known = Path::of("release").key("images");
            let Some(at) = self.lookup(&path.key("name"), &later.name, &known, &names) else {
                continue;
            };
            let own = format!("{}@{release}", later.name);
            let ratio = files[at].compression_ratio;
            let (_, layers) = self.manifest(&path.key("manifest"), &later.manifest, &own, ratio);
            if let Some(last) = images[at].later.last_mut() {
                *last = layers;
            }
        }
    }

    /// Checks what fails in a later release.
    fn faults_of_release(
        &mut self,
        path: &Path,
        written: &ReleaseFaults,
        first: &FirstRelease<'_>,
    ) -> ReleaseFaults {
        let mut faults = written.clone();
        self.defect(&path.key("defect"), &mut faults.defect, first.workloads);
        for (at, one) in faults.apply.iter_mut().enumerate() {
            self.apply_fault(&path.key("apply").index(at), one, first.clusters);
        }
        faults
    }
}

/// Makes a layer without a digest in the file one of an application's own.
pub(super) fn make_own(application: &str, layer: &mut LayerSpec) {
    layer.digest = format!("{application}/{}", layer.digest);
}

/// Makes the layers of later releases those of an application, if they have no digest in the file. `contents`: the
/// images that each release changes.
pub(super) fn make_later_own(
    application: &str,
    image: &mut ImageSpec,
    file: &ImageFile,
    contents: &[&[LaterImageFile]],
) {
    let mut written = &file.manifest;
    for (layers, changed) in image.later.iter_mut().zip(contents) {
        if let Some(LaterImageFile { manifest, .. }) =
            changed.iter().find(|later| later.name == file.name)
        {
            written = manifest;
        }
        for (at, layer) in layers.iter_mut().enumerate() {
            if ImageFile::is_own_layer(written, at) {
                make_own(application, layer);
            }
        }
    }
}
