//! The user's own folder for data that the program keeps between two runs.
//!
//! A file next to an experiment or to results may have arrived with them, from somebody else. Files that the program
//! trusts without checking their origin must therefore be in a folder that only the user can write to. Its location
//! follows the XDG Base Directory Specification 0.8: `$XDG_STATE_HOME`, by default `~/.local/state`. On Windows it is
//! `%LOCALAPPDATA%`.
//!
//! Left out: permissions on Windows, where this folder has the permissions of the user's profile, and other programs
//! of the same user, which can change whatever the user can.

use std::env::{home_dir, var_os};
use std::fs::{self, DirBuilder};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The environment variable with the state folder of all programs.
const VARIABLE: &str = if cfg!(windows) {
    "LOCALAPPDATA"
} else {
    "XDG_STATE_HOME"
};

/// The default state folder, relative to the user's home.
const DEFAULT: &str = if cfg!(windows) {
    "AppData/Local"
} else {
    ".local/state"
};

/// The program's own folder in the state folder.
const OWN: &str = "fleetsim";

/// Returns the user's own folder for the program's state, and creates it if it does not exist.
///
/// # Errors
/// If the folder cannot be created, or somebody else could have written to it. The message names the folder.
pub fn state_folder() -> Result<PathBuf> {
    let folder = state_home()?.join(OWN);
    match create_private(&folder).and_then(|()| check_private(&folder)) {
        Ok(()) => Ok(folder),
        Err(error) => {
            let place = folder.display();
            let fix = format!("set {VARIABLE} to a folder of your own");
            Err(Error::new(
                error.kind(),
                format!("cannot use {place} ({error}); {fix}"),
            ))
        }
    }
}

/// Returns the state folder of all programs. Relative paths are ignored, because they would refer to the current
/// folder, which may be a stranger's.
fn state_home() -> Result<PathBuf> {
    if let Some(named) = var_os(VARIABLE).map(PathBuf::from)
        && named.is_absolute()
    {
        return Ok(named);
    }
    match home_dir() {
        Some(home) if home.is_absolute() => Ok(home.join(DEFAULT)),
        _ => Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no home folder; set {VARIABLE} to a folder of your own"),
        )),
    }
}

/// Creates the folder and its parents. Only the user can read and write the new folders.
fn create_private(folder: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Checks that the user owns the folder, and that nobody else can read or write it.
fn check_private(folder: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() {
        return Err(Error::other("it must be a folder, and not a link to one"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(Error::other("it belongs to another user"));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(Error::other(
                "others can access it; check what is in it, and run `chmod 700` on it",
            ));
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_state_folder_is_created_only_for_its_user_and_other_folders_are_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("state/fleetsim");
        create_private(&folder).expect("created");
        for created in [&folder, &home.path().join("state")] {
            let mode = fs::metadata(created).expect("there").mode();
            assert_eq!(mode & 0o777, 0o700, "{}", created.display());
        }
        create_private(&folder).expect("it may exist");
        check_private(&folder).expect("private");
        for mode in [0o770, 0o702, 0o755] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("own folder");
            let error = check_private(&folder).expect_err("not private").to_string();
            assert!(error.contains("chmod 700"), "{mode:o}: {error}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("own folder");
        let link = home.path().join("link");
        symlink(&folder, &link).expect("linked");
        let error = check_private(&link).expect_err("a link").to_string();
        assert!(error.contains("not a link"), "{error}");
        // Root owns the root of the file system, and tests in a container run as root.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&folder, Some(65_534), None).expect("root may");
            let error = check_private(&folder).expect_err("foreign").to_string();
            assert!(error.contains("another user"), "{error}");
        }
    }
}
