//! A file that an experiment names, and whether errors may quote it.
//!
//! An experiment of a stranger may name any file of this machine, also through a link, and its errors end in a log that
//! others read. So errors quote the files of the experiment's folder, and those of its repository that git tracks; of
//! these two not what belongs to git itself (`.git/config` holds tokens), and not what git ignores, such as a file of
//! credentials that a pipeline has written there. Without an answer of git, nothing in a repository is quoted.
//!
//! Left out: what an experiment's author may make of this. Whoever changes `.gitignore` decides what git ignores.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fleetsim_units::io::Repository;

const OUTSIDE: &str =
    "the file's text is not shown, because it is outside of the experiment's folder and repository";
const UNTRACKED: &str = "the file's text is not shown, because it is outside of the experiment's folder and git does not track it";
const OF_GIT: &str = "the file's text is not shown, because it belongs to git";
const IGNORED: &str = "the file's text is not shown, because git ignores it";
const UNKNOWN: &str =
    "the file's text is not shown, because git does not say whether it ignores it";

/// A file that an experiment names.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct NamedFile {
    /// The experiment's folder, and the file; both without links.
    folder: PathBuf,
    file: PathBuf,
    withheld: OnceLock<Option<&'static str>>,
}

impl NamedFile {
    /// The file at `path`, named by an experiment in `folder`.
    ///
    /// # Errors
    /// When one of them is not there.
    pub(super) fn new(folder: &Path, path: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.canonicalize()?,
            file: path.canonicalize()?,
            withheld: OnceLock::new(),
        })
    }

    /// Why errors must not quote it. `None`: they may. Git is asked when the first error has a place in the file.
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

    /// Outside of the experiment's folder, a file must be one that the experiment's repository tracks.
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

    /// In the experiment's folder, neither the file's repository nor one around that may ignore it, up to that of the
    /// experiment.
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
