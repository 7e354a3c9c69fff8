//! Files in a revision of a git repository, such as `main:rollouts/shop`. The `git` program reads them from the object
//! store of the repository that contains the current folder; nothing is checked out, and the work tree does not
//! change.
//!
//! [`Repository`] prevents git from starting programs that the repository's configuration names.

use std::path::{Component, Path, PathBuf};

use fleetsim::io::{EntryKind, MOST_BYTES, Repository, RevisionEntry};

/// Returns the file of an experiment in a revision, if the text is `REVISION:PATH`. The path is a folder with an
/// `experiment.yaml`, or the file, relative to the current folder. `None`: the text is a path in the file system, and
/// no such revision exists.
///
/// # Errors
/// Returns an error if neither the revision nor a file with this name exists, or the revision does not contain the
/// path.
pub(super) fn experiment(place: &Path) -> Result<Option<PathBuf>, String> {
    let Some((revision, path)) = parts(place) else {
        return Ok(None);
    };
    // `C:\rollout` on Windows is a path, and a text that looks like an option is not a revision.
    if revision.len() < 2 || revision.starts_with('-') {
        return Ok(None);
    }
    let nothing = format!("there is no file or folder `{}`", place.display());
    let current = match CurrentFolder::find() {
        Ok(current) => current,
        Err(_) if place.exists() => return Ok(None),
        Err(error) => return Err(format!("{nothing}, and {error}")),
    };
    // A revision takes precedence over a path with the same name, because a change under review could add such a path.
    // No revision has a name like `./main`.
    if !current.repository.has_revision(revision)? {
        if place.exists() {
            return Ok(None);
        }
        let top = current.repository.top().display();
        let fix = "name a branch, a tag or a commit that was fetched";
        return Err(format!(
            "no such revision: `{revision}` in the repository {top}; {fix}"
        ));
    }
    let entry = current.entry(revision, path)?;
    Ok(Some(if entry.kind == EntryKind::Folder {
        place.join("experiment.yaml")
    } else {
        place.to_owned()
    }))
}

/// Reads the file at `REVISION:PATH`.
pub(super) fn open(place: &Path) -> Result<Vec<u8>, String> {
    let Some((revision, path)) = parts(place) else {
        return Err(
            "only files of the revision are read; name it relative to the experiment".to_owned(),
        );
    };
    let current = CurrentFolder::find()?;
    let entry = current.entry(revision, path)?;
    match entry.kind {
        EntryKind::File => current.repository.read(&entry, MOST_BYTES),
        EntryKind::Folder => Err("it is a folder, not a file".to_owned()),
        EntryKind::Link => {
            Err("it is a link, and links of a revision are not followed; name the file".to_owned())
        }
        EntryKind::Submodule => Err("it is another repository, not a file".to_owned()),
    }
}

/// Returns the revision and the path. `None`: the text names no revision.
fn parts(place: &Path) -> Option<(&str, &Path)> {
    let (revision, path) = place.to_str()?.split_once(':')?;
    Some((revision, Path::new(path)))
}

/// The current folder in the work tree of its repository.
struct CurrentFolder {
    repository: Repository,
    /// The folder's path below the top of the work tree.
    below: PathBuf,
}

impl CurrentFolder {
    fn find() -> Result<Self, String> {
        let current = std::env::current_dir()
            .map_err(|error| format!("cannot find the current folder: {error}"))?;
        let repository = Repository::around(&current).ok_or_else(|| {
            "a revision needs a git repository around the current folder".to_owned()
        })?;
        let below = current.strip_prefix(repository.top()).unwrap_or(&current);
        Ok(Self {
            below: below.to_owned(),
            repository,
        })
    }

    /// Returns the file or folder at a path relative to this folder.
    fn entry(&self, revision: &str, path: &Path) -> Result<RevisionEntry, String> {
        let path = from_top(&self.below, path)
            .ok_or_else(|| format!("`{}` is outside the repository", path.display()))?;
        let entry = self.repository.entry(revision, &path)?;
        entry.ok_or_else(|| {
            format!("there is no file or folder `{path}` in the revision `{revision}`")
        })
    }
}

/// Converts a path relative to a folder of the work tree to a path relative to the top, without `.` and `..`. `None`:
/// the path leaves the work tree.
fn from_top(folder: &Path, path: &Path) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for part in folder.components().chain(path.components()) {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::ParentDir => _ = names.pop()?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_top_of_the_work_tree() {
        let cases = [
            ("", "rollouts/shop/../v1.json", Some("rollouts/v1.json")),
            ("rollouts", "./a", Some("rollouts/a")),
            ("rollouts/shop", "../b/./c", Some("rollouts/b/c")),
            ("rollouts", "..", Some("")),
            ("", "", Some("")),
            ("rollouts", "../../b", None),
            ("rollouts", "/etc/passwd", None),
        ];
        for (folder, path, found) in cases {
            let found_now = from_top(Path::new(folder), Path::new(path));
            assert_eq!(found_now.as_deref(), found, "{folder} {path}");
        }
    }
}
