//! Opens every file that an experiment, an export, a shard or a results folder names.
//!
//! Only regular files of a limited size are read: a pipe or a device may never end. An experiment may name files
//! anywhere. A results folder may only name files inside itself: names must stay below the folder, and links are not
//! followed. Left out: a folder that changes while it is read.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Component, Path, PathBuf};

/// The maximum size of one file of an experiment. An inventory of a million clusters is smaller.
pub const MOST_BYTES: u64 = 256_000_000;

/// The maximum size of one file in a results folder.
const MOST_RESULT_BYTES: u64 = 4_000_000_000;

/// Returns the bytes of the regular file at `path`. Follows links.
///
/// # Errors
/// If there is no regular file at `path`, or it has more than `most` bytes, or cannot be read.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    read_at_most(open_file(path)?, most)
}

/// Opens the regular file at `path`, whatever its size. Follows links.
///
/// # Errors
/// If there is no regular file at `path`, or it cannot be opened.
pub fn open_file(path: &Path) -> Result<File> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(Error::other("it is a folder, not a file"));
    }
    if !metadata.is_file() {
        return Err(Error::other(
            "it is not a regular file; save its output to a file, or use `-` where that is allowed",
        ));
    }
    File::open(path)
}

/// Returns the bytes of the file `name` below a results folder; see [`open_below`].
///
/// # Errors
/// Same as [`open_below`], or if the file has more than 4 GB.
pub fn read_below(folder: &Path, name: &str) -> Result<Vec<u8>> {
    read_below_at_most(folder, name, MOST_RESULT_BYTES)
}

/// Like [`read_below`], with another size limit.
///
/// # Errors
/// Same as [`open_below`], or if the file has more than `most` bytes.
pub fn read_below_at_most(folder: &Path, name: &str, most: u64) -> Result<Vec<u8>> {
    read_at_most(open_below(folder, name)?, most)
}

/// Opens the file `name` below a results folder.
///
/// # Errors
/// Same as [`path_below`], or if the file cannot be opened.
pub fn open_below(folder: &Path, name: &str) -> Result<File> {
    File::open(path_below(folder, name)?)
}

/// Returns the path of the regular file `name` below `folder`. The folder itself may be a link, because the user names
/// it.
///
/// # Errors
/// If the name is not a relative path of plain components, a component is a link, or there is no regular file at the
/// path.
pub fn path_below(folder: &Path, name: &str) -> Result<PathBuf> {
    if !is_plain(name) {
        return Err(invalid("files in a results folder must have plain names"));
    }
    let mut path = folder.to_owned();
    let mut found = None;
    for part in Path::new(name).components() {
        path.push(part);
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            return Err(invalid(
                "links in a results folder are not followed; replace it with the file",
            ));
        }
        found = Some(metadata);
    }
    if found.is_some_and(|metadata| metadata.is_file()) {
        Ok(path)
    } else {
        Err(invalid("it is not a regular file"))
    }
}

/// Returns whether a name is a relative path that consists of file and folder names only.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}

/// Opens one of the program's own files for reading and writing, and creates it if needed. Keeps existing content.
///
/// # Errors
/// If `path` exists and is not a regular file, or cannot be opened or created.
pub fn open_own(path: &Path) -> Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::other("it is not a regular file; remove it"));
    }
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

fn read_at_most(file: File, most: u64) -> Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(too_large(most))
    } else {
        Ok(bytes)
    }
}

fn too_large(most: u64) -> Error {
    Error::other(format!("it has more than {most} bytes"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_name_in_results_stays_below_the_folder_and_follows_no_link() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("results");
        fs::create_dir_all(folder.join("charts")).expect("made");
        for name in ["victim", "results/charts/a.svg"] {
            fs::write(home.path().join(name), name).expect("written");
        }
        symlink(home.path(), folder.join("up")).expect("linked");
        symlink("charts/a.svg", folder.join("a.svg")).expect("linked");
        assert_eq!(
            read_below(&folder, "charts/a.svg").expect("plain"),
            b"results/charts/a.svg"
        );
        let absolute = home.path().join("victim").display().to_string();
        for name in [
            "../victim",
            "up/victim",
            "charts/../../victim",
            "a.svg",
            "",
            ".",
            "charts",
            absolute.as_str(),
        ] {
            let error = read_below(&folder, name).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{name}: {error}");
        }
        assert_eq!(
            read_below(&folder, "b.svg").expect_err("none").kind(),
            ErrorKind::NotFound
        );
        symlink(&folder, home.path().join("link")).expect("linked");
        assert!(
            read_below(&home.path().join("link"), "charts/a.svg").is_ok(),
            "the user names the folder"
        );
    }

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("a");
        fs::write(&file, "four").expect("written");
        assert_eq!(read_file(&file, 4).expect("small"), b"four");
        assert_eq!(
            read_file(&file, 3).expect_err("large").to_string(),
            "it has more than 3 bytes"
        );
        assert!(
            read_file(home.path(), 9)
                .expect_err("a folder")
                .to_string()
                .contains("a folder")
        );
        assert!(
            read_file(Path::new("/dev/zero"), 9)
                .expect_err("a device")
                .to_string()
                .contains("regular file")
        );
        let sparse =
            File::create(home.path().join("sparse")).and_then(|file| file.set_len(1 << 40));
        sparse.expect("made");
        assert!(
            read_file(&home.path().join("sparse"), MOST_BYTES).is_err(),
            "nothing of it is read"
        );
    }
}
