//! A file that an experiment names, and whether errors may quote it.
//!
//! A stranger's experiment may name any file on this machine, even through a link, and its errors may end up in a log
//! that others read. So errors quote only files in the experiment's folder, and files that git tracks in its
//! repository. Even then, they do not quote git's own files (`.git/config` contains tokens) or files that git ignores,
//! such as credentials that a pipeline has written. If git does not answer, nothing in a repository is quoted.
//!
//! Left out: changes by the experiment's author. Whoever changes `.gitignore` decides what git ignores.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fleetsim_units::io::Repository;

const OUTSIDE: &str =
    "the file's text is not shown, because it is outside the experiment's folder and repository";
const UNTRACKED: &str = "the file's text is not shown, because it is outside the experiment's folder and git does \
not track it";
const OF_GIT: &str = "the file's text is not shown, because it belongs to git";
const IGNORED: &str = "the file's text is not shown, because git ignores it";
const UNKNOWN: &str =
    "the file's text is not shown, because git did not report whether it ignores it";

/// A file that an experiment names.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct NamedFile {
    /// The experiment's folder and the file, both without links.
    folder: PathBuf,
    file: PathBuf,
    withheld: OnceLock<Option<&'static str>>,
}

impl NamedFile {
    /// Creates the file at `path`, named by an experiment in `folder`.
    ///
    /// # Errors
    /// If the folder or the file does not exist.
    pub(super) fn new(folder: &Path, path: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.canonicalize()?,
            file: path.canonicalize()?,
            withheld: OnceLock::new(),
        })
    }

    /// Returns why errors must not quote the file. `None`: errors may quote it. Git is queried only once, for the
    /// first error in the file.
    pub(super) fn withheld(&self) -> Option<&'static str> {
        *self.withheld.get_or_init(|| self.find_reason().err())
    }

    fn find_reason(&self) -> Result<(), &'static str> {
        let mut parts = self.file.iter();
        if parts.any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(OF_GIT);
        }
        if self.file.starts_with(&self.folder) {
            self.not_ignored()
        } else {
            self.tracked()
        }
    }

    /// Checks that a file outside of the experiment's folder is tracked by the experiment's repository.
    fn tracked(&self) -> Result<(), &'static str> {
        let own = Repository::around(&self.folder);
        let around_file = self.file.parent().and_then(Repository::around);
        let Some(repository) = own.filter(|own| Some(own) == around_file.as_ref()) else {
            return Err(OUTSIDE);
        };
        match repository.tracks(&self.file) {
            Ok(true) => Ok(()),
            Ok(false) => Err(UNTRACKED),
            Err(_) => Err(UNKNOWN),
        }
    }

    /// Checks that git does not ignore a file in the experiment's folder: neither the file's own repository does, nor
    /// a surrounding one up to the experiment's.
    fn not_ignored(&self) -> Result<(), &'static str> {
        let mut asked = self.file.clone();
        while let Some(repository) = asked.parent().and_then(Repository::around) {
            match repository.ignores(&asked) {
                Ok(false) => {}
                Ok(true) => return Err(IGNORED),
                Err(_) => return Err(UNKNOWN),
            }
            if self.folder.starts_with(repository.top()) {
                break;
            }
            asked = repository.top().to_owned();
        }
        Ok(())
    }
}
