//! The images and workloads of all applications of a world.
//!
//! Every application has images of its own, even if several have one entry of `applications` or one file. A layer
//! without a digest belongs to its image, so it differs between applications. Layers with the same digest are the same
//! bytes, whichever images have them: a base layer that a typical service has in common with others needs a digest.
//! All layers of a manifest in a file have digests.
//!
//! Names of images, and digests of layers without one, contain the application's name, because they are the keys of
//! random numbers. Those of the first application do not, so that one application has the same random numbers with
//! `applications` as with `release`.

use super::applications::{ClustersOfEntries, NamedApplication, entry_path, named};
use super::check::Checker;
use super::file::ExperimentFile;
use super::later_releases::{FirstRelease, make_later_own, make_own};
use super::operator::ReleasedEntry;
use super::release::ImageFile;
use super::release_times::LaterImageFile;
use crate::document::path::Path;
use crate::world::{ApplicationSpec, ImageSpec, LaterRelease, WorkloadSpec};

/// The images and workloads of a world.
#[derive(Clone, Debug, Default)]
pub(super) struct WorldContents {
    pub(super) images: Vec<ImageSpec>,
    /// The name of each image as written, which mirrors use.
    pub(super) written_names: Vec<String>,
    pub(super) applications: Vec<ApplicationSpec>,
}

impl WorldContents {
    /// Returns the workloads of all applications.
    pub(super) fn workloads(&self) -> Vec<WorkloadSpec> {
        let mut workloads = Vec::new();
        for application in &self.applications {
            workloads.extend(application.workloads.iter().cloned());
        }
        workloads
    }
}

/// The checked release of one entry of `applications`.
struct CheckedRelease<'f> {
    key: &'f str,
    images: Vec<ImageSpec>,
    workloads: Vec<WorkloadSpec>,
    later: Vec<LaterRelease>,
    /// The images that each later content changes.
    contents: Vec<&'f [LaterImageFile]>,
}

impl Checker<'_> {
    /// Returns the images and workloads of the only application of an experiment with `release`.
    pub(super) fn contents_of_release(
        &mut self,
        file: &ExperimentFile,
        registries: &[String],
        clusters: &[String],
    ) -> WorldContents {
        let at = Path::of("release");
        let release = file.release.as_ref();
        let mut images = self.images(&at, release, registries);
        let workloads = self.workloads(&at, release, &images);
        let kind = release.map(|release| release.kind).unwrap_or_default();
        let first = FirstRelease {
            kind,
            images: release.map_or(&[], |release| &release.images),
            workloads: &workloads,
            clusters,
        };
        let releases = Path::of("releases");
        let mut later = self.later_releases(&releases, file.releases.as_ref(), &first, &mut images);
        let entry = ReleasedEntry {
            key: None,
            releases: file.releases.as_ref(),
        };
        later.extend(self.repairs(&file.operator, entry, &first, &mut images));
        let layers = layers_of(&images);
        self.image_limits(&at.key("images"), images.len(), layers);
        WorldContents {
            written_names: names_of(&images),
            images,
            applications: vec![ApplicationSpec {
                later,
                ..ApplicationSpec::everywhere(String::new(), workloads, kind)
            }],
        }
    }

    /// Returns the images and workloads of all applications, on the selected clusters of a fleet with these names of
    /// clusters.
    pub(super) fn contents_of_applications(
        &mut self,
        file: &ExperimentFile,
        registries: &[String],
        selected: &ClustersOfEntries,
        clusters: &[String],
    ) -> WorldContents {
        let mut releases = Vec::new();
        for (key, application) in file.applications.iter().flat_map(|written| &written.0) {
            let at = entry_path(key).key("release");
            if application.release.file.is_some() {
                let help = "write another application for the other file, or use `--set`";
                let message = "a file cannot vary, because its settings may";
                self.report(&at.key("file"), message, help);
            }
            let release = Some(&application.release.release);
            let mut images = self.images(&at, release, registries);
            let workloads = self.workloads(&at, release, &images);
            let first = FirstRelease {
                kind: application.release.release.kind,
                images: &application.release.release.images,
                workloads: &workloads,
                clusters,
            };
            let path = entry_path(key).key("releases");
            let mut later =
                self.later_releases(&path, application.releases.as_ref(), &first, &mut images);
            let entry = ReleasedEntry {
                key: Some(key),
                releases: application.releases.as_ref(),
            };
            later.extend(self.repairs(&file.operator, entry, &first, &mut images));
            releases.push(CheckedRelease {
                key,
                images,
                workloads,
                later,
                contents: entry.contents(&file.operator),
            });
        }
        let mut contents = WorldContents::default();
        for application in named(file) {
            let release = releases.iter().find(|one| one.key == application.key);
            let own = selected.get(application.key);
            if let (Some(release), Some(own)) = (release, own) {
                contents.add(&application, release, own, clusters.len());
            }
        }
        let layers = layers_of(&contents.images);
        self.image_limits(&Path::of("applications"), contents.images.len(), layers);
        contents
    }
}

impl WorldContents {
    /// Adds an application with its images.
    fn add(
        &mut self,
        application: &NamedApplication<'_>,
        release: &CheckedRelease<'_>,
        selected: &[usize],
        clusters: usize,
    ) {
        let first_image = self.images.len();
        let is_first = self.applications.is_empty();
        let written = &application.file.release.release.images;
        for (image, file) in release.images.iter().zip(written) {
            self.written_names.push(image.name.clone());
            self.images.push(if is_first {
                image.clone()
            } else {
                image_of(&application.name, image, file, &release.contents)
            });
        }
        let mut workloads = release.workloads.clone();
        for workload in &mut workloads {
            workload.image += first_image;
        }
        let kind = application.file.release.release.kind;
        self.applications.push(ApplicationSpec {
            later: release.later.clone(),
            clusters: (selected.len() < clusters).then(|| selected.to_vec()),
            ..ApplicationSpec::everywhere(application.name.clone(), workloads, kind)
        });
    }
}

/// Returns the number of layers of all images in all of their revisions.
fn layers_of(images: &[ImageSpec]) -> usize {
    let mut layers = 0;
    for image in images {
        layers += image.layers.len() + image.previous.len();
        layers += image.later.iter().map(Vec::len).sum::<usize>();
    }
    layers
}

fn names_of(images: &[ImageSpec]) -> Vec<String> {
    let mut names = Vec::with_capacity(images.len());
    for image in images {
        names.push(image.name.clone());
    }
    names
}

/// Returns an application's own copy of an image that is written in this way.
fn image_of(
    application: &str,
    image: &ImageSpec,
    file: &ImageFile,
    contents: &[&[LaterImageFile]],
) -> ImageSpec {
    let mut own = image.clone();
    own.name = format!("{application}/{}", image.name);
    for (at, layer) in own.layers.iter_mut().enumerate() {
        if ImageFile::is_own_layer(&file.manifest, at) {
            make_own(application, layer);
        }
    }
    for (at, layer) in own.previous.iter_mut().enumerate() {
        if let Some(previous) = &file.previous
            && ImageFile::is_own_layer(previous, at)
        {
            make_own(application, layer);
        }
    }
    make_later_own(application, &mut own, file, contents);
    own
}
