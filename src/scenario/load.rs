//! Loads an experiment from its path: all its variants, or all its problems. The functions differ in where the files
//! come from.
//!
//! [`Loader`] reads the files and creates the variants.

use std::path::{Path as FsPath, PathBuf};

use super::Experiment;
use super::header::Overrides;
use super::loader::{FILE, Loader, Purpose};
use crate::document::files::{Files, InputFile, OpenFile};
use crate::document::problem::LoadError;

/// Reads and checks an experiment. `path` is the file, or a folder with an `experiment.yaml`.
///
/// # Errors
/// Returns all problems, with positions and fixes.
pub fn load(path: &FsPath, overrides: &Overrides) -> Result<Experiment, LoadError> {
    begin(Purpose::Run, None, path, overrides)?.finish()
}

/// Reads and checks an experiment like [`load`], but uses `open` to read its file at `path` and all files that it
/// refers to.
///
/// # Errors
/// See [`load`].
pub fn load_with(
    open: OpenFile,
    path: &FsPath,
    overrides: &Overrides,
) -> Result<Experiment, LoadError> {
    begin(Purpose::Run, Some(open), path, overrides)?.finish()
}

/// Reads and checks an experiment again with other `overrides`. Uses only the files that were read before; the first
/// of them is the experiment's own file.
///
/// # Errors
/// Returns all problems, with positions and fixes.
pub fn load_again(
    name: &str,
    inputs: &[InputFile],
    overrides: &Overrides,
) -> Result<Experiment, LoadError> {
    let files = Files::closed(PathBuf::from(name), inputs);
    let file = inputs.first().map_or(FILE, |input| &input.path);
    Loader::of(Purpose::Run, files, (file, FsPath::new(file)), overrides)?.finish()
}

/// Reads and checks an experiment whose settings will be searched: its variants are the candidates, and it has a
/// [`Plan`](super::Plan) even if the file has no `plan`.
///
/// # Errors
/// Returns all problems, with positions and fixes. Having fewer than two candidates is also an error.
pub fn load_plan(path: &FsPath, overrides: &Overrides) -> Result<Experiment, LoadError> {
    begin(Purpose::Plan, None, path, overrides)?.finish()
}

/// Reads the file of an experiment. Returns a loader with its folder, and the file's name for error messages.
pub(super) fn begin(
    purpose: Purpose,
    open: Option<OpenFile>,
    path: &FsPath,
    overrides: &Overrides,
) -> Result<Loader, LoadError> {
    let file_path = if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    };
    let parent = file_path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let folder = parent.unwrap_or(FsPath::new(".")).to_owned();
    let shown = file_path.display().to_string();
    // Provenance contains only the name of the file, so that results do not depend on the folder in which the program
    // was started.
    let name = file_path
        .file_name()
        .map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    Loader::of(
        purpose,
        Files::opened_by(open, folder),
        (&name, &file_path),
        overrides,
    )
}
