//! Git repositories, queried with the `git` program: objects of a revision, and whether git tracks or ignores a file.
//!
//! A repository may come from a stranger. Its configuration can name programs: a file system monitor, hooks, a
//! transport, a credential helper. A clone contains no configuration, but a folder in it can be a bare repository with
//! a configuration, and so can the `.git` of an unpacked archive. This module starts no program that a configuration
//! names, and fetches nothing:
//!
//! - This module itself searches upwards from a folder for the nearest `.git`. By default, git would also use a bare
//!   repository that it passes in this search.
//! - The only commands that run are look-ups: `rev-parse`, `ls-tree`, `cat-file`, `ls-files`, `check-ignore`. None of
//!   them runs hooks, filters, `textconv`, an editor or a pager.
//! - No protocol is allowed. A partial clone may lack an object, and git would fetch it with a command that the
//!   configuration names (`uploadpack`, `core.sshCommand`). Releases since May 2024 do not fetch, because this module
//!   sets `GIT_NO_LAZY_FETCH`. Older versions that support partial clones (2.17 and newer) check `GIT_ALLOW_PROTOCOL`
//!   before they connect, so no version of git has to be rejected.
//! - Environment variables that select a repository are ignored. The user's own configuration applies, such as
//!   `safe.directory`: git refuses the repositories of other users of this machine.
//!
//! Left out: repositories without a work tree, and programs named `git` on the user's own `PATH` that are not git.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum time for one git command.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

/// Interval at which to check whether git has exited.
const GLANCE: Duration = Duration::from_millis(1);

/// Settings that override those of the repository. An empty value disables the setting.
const SETTINGS: [&str; 9] = [
    "core.askPass=",
    "core.fsmonitor=",
    "core.gitProxy=",
    "core.hooksPath=/dev/null",
    "core.sshCommand=",
    "credential.helper=",
    // Git 2.40 and newer start a fetch with a download from this URI, and do not check the allowed protocols.
    "fetch.bundleURI=",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
];

/// Environment variables for git and its child processes.
const ENVIRONMENT: [(&str, &str); 7] = [
    // No protocol has this name, so none is allowed.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// A repository with a work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repository {
    /// The folder that contains `.git`.
    top: PathBuf,
}

/// A file or folder in a revision.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RevisionEntry {
    /// The entry's kind.
    pub kind: EntryKind,
    /// The name of the git object with the entry's content.
    object: String,
}

/// The kinds of entries that are handled differently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link, whose target path git stores as its content.
    Link,
    /// A submodule.
    Submodule,
}

impl Repository {
    /// Returns the repository whose work tree contains this folder, which must be an absolute path. `None`: neither
    /// the folder nor a parent has a `.git`.
    #[must_use]
    pub fn around(folder: &Path) -> Option<Self> {
        let mut above = folder.ancestors();
        let top = above.find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
        Some(Self {
            top: top.to_owned(),
        })
    }

    /// Returns the folder of the work tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Returns whether the repository has this revision, which must not begin with `-`.
    ///
    /// # Errors
    /// If git fails to answer.
    pub fn has_revision(&self, revision: &str) -> Result<bool, String> {
        let commit = format!("{revision}^{{commit}}");
        self.says(&["rev-parse", "--quiet", "--verify", &commit])
    }

    /// Returns the file or folder at a path in a revision, relative to the top of the work tree. `None`: there is no
    /// such path.
    ///
    /// # Errors
    /// If git fails to answer, or the revision does not exist.
    pub fn entry(&self, revision: &str, path: &str) -> Result<Option<RevisionEntry>, String> {
        if path.is_empty() {
            let object = format!("{revision}^{{tree}}");
            let kind = EntryKind::Folder;
            return Ok(Some(RevisionEntry { kind, object }));
        }
        // Treat the path literally, not as a pattern.
        let command = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree"];
        let listed = self.output(&[&command[..], &[revision, "--", path]].concat())?;
        Ok(RevisionEntry::of_line(&String::from_utf8_lossy(&listed)))
    }

    /// Returns the bytes of a file in a revision. The size is queried first, so a file that is too large is not read.
    ///
    /// # Errors
    /// If the file has more than `most` bytes, or git does not have it.
    pub fn read(&self, entry: &RevisionEntry, most: u64) -> Result<Vec<u8>, String> {
        let object = entry.object.as_str();
        let size = self.output(&["cat-file", "-s", object]).map_err(|_| {
            format!(
                "its content is not in this clone; fetch it with `git cat-file blob {object}`, or clone without `--filter`"
            )
        })?;
        let size = String::from_utf8_lossy(&size).trim().parse::<u64>();
        let size = size.map_err(|_| "git does not report its size".to_owned())?;
        if size > most {
            return Err(format!("it has more than {most} bytes"));
        }
        let mut git = self
            .command(&["cat-file", "blob", object])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| not_started(&error))?;
        let mut bytes = Vec::new();
        if let Some(output) = git.stdout.take() {
            // The pipe is dropped here, so git does not block on output that nobody reads.
            let read = output.take(size + 1).read_to_end(&mut bytes);
            read.map_err(|error| error.to_string())?;
        }
        let status = git.wait().map_err(|error| error.to_string())?;
        if status.success() && bytes.len() as u64 == size {
            Ok(bytes)
        } else {
            Err("git cannot read it; `git fsck` reports what is damaged".to_owned())
        }
    }

    /// Returns whether git ignores the file at this path in the work tree. A tracked file is not ignored.
    ///
    /// # Errors
    /// If git fails to answer.
    pub fn ignores(&self, file: &Path) -> Result<bool, String> {
        self.says_of(&["check-ignore", "--quiet", "--"], file)
    }

    /// Returns whether git tracks the file at this path in the work tree.
    ///
    /// # Errors
    /// If git fails to answer.
    pub fn tracks(&self, file: &Path) -> Result<bool, String> {
        let command = ["--literal-pathspecs", "ls-files", "--error-unmatch", "--"];
        self.says_of(&command, file)
    }

    fn says_of(&self, arguments: &[&str], file: &Path) -> Result<bool, String> {
        let Ok(path) = file.strip_prefix(&self.top) else {
            return Err("it is outside the work tree".to_owned());
        };
        // `check-ignore` cannot be told to treat paths literally, but it does so for a path that begins with `./`.
        let path = Path::new(".").join(path);
        let mut arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        arguments.push(path.as_os_str());
        self.says(&arguments)
    }

    /// Runs a command that exits with 0 for yes and 1 for no, and returns its answer.
    fn says(&self, arguments: &[impl AsRef<OsStr>]) -> Result<bool, String> {
        let output = self.run(arguments)?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(in_one_line(&output)),
        }
    }

    /// Returns the output of a command.
    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.run(arguments)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(in_one_line(&output))
        }
    }

    /// Runs a command with little output. It has a time limit, because a file of the repository may be a pipe without
    /// a writer.
    fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Output, String> {
        let git = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&error))?;
        match output_in_time(git) {
            Ok(Some(output)) => Ok(output),
            Ok(None) => Err(format!("git did not respond within {LONGEST_ANSWER:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(without_prefix(&self.top))
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if decides_repository(&name) {
                command.env_remove(name);
            }
        }
        // With an invalid `.git`, git must not continue with a repository further up.
        if let Some(above) = self.top.parent() {
            command.env("GIT_CEILING_DIRECTORIES", without_prefix(above));
        }
        command.envs(ENVIRONMENT).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command
    }
}

/// Returns the output of git. `None`: it exceeded the time limit and was killed.
fn output_in_time(mut git: Child) -> std::io::Result<Option<Output>> {
    let begun = Instant::now();
    while git.try_wait()?.is_none() {
        if begun.elapsed() > LONGEST_ANSWER {
            git.kill()?;
            git.wait()?;
            return Ok(None);
        }
        thread::sleep(GLANCE);
    }
    git.wait_with_output().map(Some)
}

impl RevisionEntry {
    /// Parses a line of `git ls-tree`: mode, type, object, then a tab and the path.
    fn of_line(line: &str) -> Option<Self> {
        let (entry, _) = line.split_once('\t')?;
        let fields: Vec<&str> = entry.split(' ').collect();
        let [mode, kind, object] = fields.as_slice() else {
            return None;
        };
        let kind = match (*mode, *kind) {
            ("120000", _) => EntryKind::Link,
            (_, "blob") => EntryKind::File,
            (_, "tree") => EntryKind::Folder,
            _ => EntryKind::Submodule,
        };
        Some(Self {
            kind,
            object: (*object).to_owned(),
        })
    }
}

/// Returns whether an environment variable may select another repository or change what git does. Variables that
/// locate the user's own configuration or git's own files do not count.
fn decides_repository(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("GIT_") && !name.starts_with("GIT_CONFIG") && name != "GIT_EXEC_PATH"
}

/// Returns the path as other programs on Windows expect it: without the prefix of canonical paths.
fn without_prefix(path: &Path) -> &Path {
    let plain = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    plain.map_or(path, Path::new)
}

fn not_started(error: &std::io::Error) -> String {
    format!("cannot start git: {error}")
}

/// Returns git's error message on one line.
fn in_one_line(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let fatal = error.lines().find_map(|line| line.strip_prefix("fatal: "));
    fatal
        .or(error.lines().next())
        .unwrap_or("git failed")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_of_an_entry_in_a_revision_determines_its_kind() {
        for (line, kind) in [
            ("100644 blob 1f\ta.yaml\0", EntryKind::File),
            ("100755 blob 1f\ta.yaml\0", EntryKind::File),
            ("120000 blob 1f\ta.yaml\0", EntryKind::Link),
            ("040000 tree 1f\ta\0", EntryKind::Folder),
            ("160000 commit 1f\ta\0", EntryKind::Submodule),
        ] {
            let object = "1f".to_owned();
            assert_eq!(
                RevisionEntry::of_line(line),
                Some(RevisionEntry { kind, object }),
                "{line}"
            );
        }
        assert_eq!(RevisionEntry::of_line(""), None);
    }

    #[test]
    fn only_environment_variables_that_select_a_repository_are_ignored() {
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_SSH_COMMAND", "GIT_TRACE"] {
            assert!(decides_repository(OsStr::new(name)), "{name}");
        }
        for name in [
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_COUNT",
            "GIT_EXEC_PATH",
            "HOME",
        ] {
            assert!(!decides_repository(OsStr::new(name)), "{name}");
        }
    }
}
