//! Writes to the terminal and to the files that options name.
//!
//! All text for the terminal passes through this module, which escapes control characters. A file is written under a
//! temporary name and renamed, so a failure leaves the old file unchanged. A closed pipe is not an error.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Error, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleetsim::host::CommandHost;
use fleetsim::io::{Temporary, printable, uninterrupted};
use fleetsim::report::{self, Results};
use fleetsim::results::PROVENANCE_FILE;
use fleetsim::scenario::Experiment;

use super::Failure;

/// The name of standard output in options that take a file.
pub(crate) const STANDARD: &str = "-";

/// Prints results. A closed pipe (as with `head`) is not an error; a full disk is.
pub(super) fn out(text: &str) -> Result<(), Failure> {
    if let Some(host) = CommandHost::current() {
        host.write_out(text);
        return Ok(());
    }
    let mut stdout = stdout().lock();
    let written = stdout.write_all(printable(text).as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(failure(&error, Path::new(STANDARD)))
        }
        _ => Ok(()),
    }
}

/// Waits for this time. Returns false as soon as the reader of standard output has closed it, such as `head` on exit.
pub(super) fn wait(time: Duration) -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdout = stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        if let Ok(limit) = Timespec::try_from(time) {
            match poll(&mut polled, Some(&limit)) {
                Ok(0) => return true,
                Ok(_)
                    if polled[0]
                        .revents()
                        .intersects(PollFlags::ERR | PollFlags::HUP) =>
                {
                    return false;
                }
                _ => {}
            }
        }
    }
    std::thread::sleep(time);
    true
}

/// Prints progress, notes and errors.
pub(crate) fn err(text: &str) {
    if let Some(host) = CommandHost::current() {
        host.write_err(text);
        return;
    }
    styled_err(&printable(text));
}

/// Prints text that may contain colours, but no other control characters.
pub(crate) fn styled_err(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

/// Writes the asserted limits in these results as a JUnit report, if a file is named. `inputs` are passed to [`file`].
pub(crate) fn junit(
    to: Option<&Path>,
    results: &Results,
    inputs: &[PathBuf],
) -> Result<(), Failure> {
    let Some(to) = to else { return Ok(()) };
    let report = report::junit(results);
    let written = file(to, inputs, |out| out.write_all(report.as_bytes()));
    written.map_err(|error| failure(&error, to))
}

/// Checks before any other work that [`junit`] can write its file.
pub(crate) fn check_junit(to: Option<&Path>, inputs: &[PathBuf]) -> Result<(), Failure> {
    let Some(to) = to else { return Ok(()) };
    check_writable(to, inputs).map_err(|error| failure(&error, to))
}

fn check_writable(to: &Path, inputs: &[PathBuf]) -> io::Result<()> {
    if let Some(target) = target_file(to, inputs)? {
        partial_file(&target.path)?;
    }
    Ok(())
}

/// Returns the files of an experiment, which the user named as `named`.
pub(crate) fn inputs(named: &Path, experiment: &Experiment) -> Vec<PathBuf> {
    let folder = if named.is_dir() {
        named
    } else {
        named.parent().unwrap_or(named)
    };
    let inputs = experiment.inputs.iter();
    inputs.map(|input| folder.join(&input.path)).collect()
}

/// Writes an option's output to standard output, a device, a pipe, or a file, which is replaced as a whole. Symbolic
/// links are followed.
///
/// # Errors
/// Returns an error if the file is one of the `inputs` or inside one of them, belongs to results, or cannot be
/// written.
pub(crate) fn file(
    to: &Path,
    inputs: &[PathBuf],
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if to == Path::new(STANDARD) {
        return match to_stdout(write) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        };
    }
    let Some(target) = target_file(to, inputs)? else {
        let mut out = BufWriter::new(File::options().write(true).open(to)?);
        write(&mut out)?;
        return out.flush();
    };
    let PartialFile { mut out, temporary } = partial_file(&target.path)?;
    write(&mut out)?;
    let new = out.into_inner()?;
    if let Some(old) = target.old {
        new.set_permissions(old.permissions())?;
    }
    uninterrupted(|| fs::rename(temporary.path(), &target.path))
}

/// A file to write or replace, with symbolic links resolved.
struct TargetFile {
    path: PathBuf,
    /// The metadata of the file that is replaced, if there is one.
    old: Option<Metadata>,
}

/// A hidden file in the same folder as the target, locked while this process writes it.
struct PartialFile {
    out: BufWriter<File>,
    temporary: Temporary,
}

/// Returns the file to write. `None`: the output is standard output, a device or a pipe.
fn target_file(to: &Path, inputs: &[PathBuf]) -> io::Result<Option<TargetFile>> {
    if to == Path::new(STANDARD) {
        return Ok(None);
    }
    let old = match fs::metadata(to) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(Error::other("it is a folder; name a file in it"));
        }
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound && !to.is_symlink() => None,
        Err(error) => return Err(error),
    };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Ok(None);
    }
    let name = to.file_name().ok_or_else(|| Error::other("name a file"))?;
    let path = match to.parent() {
        _ if old.is_some() => to.canonicalize()?,
        Some(parent) if !parent.as_os_str().is_empty() => parent.canonicalize()?.join(name),
        _ => Path::new(".").canonicalize()?.join(name),
    };
    if is_input(&path, inputs) || is_in_results(&path) {
        return Err(Error::other(
            "it must not be an input or in a results folder; name another file",
        ));
    }
    Ok(Some(TargetFile { path, old }))
}

/// Returns whether a file is one of the inputs, or inside one of them.
fn is_input(file: &Path, inputs: &[PathBuf]) -> bool {
    let mut inputs = inputs.iter().filter_map(|input| input.canonicalize().ok());
    inputs.any(|input| file.starts_with(input))
}

fn is_in_results(file: &Path) -> bool {
    let mut folders = file.ancestors().skip(1);
    folders.any(|folder| folder.join(PROVENANCE_FILE).exists())
}

/// Writes to standard output. On a terminal, the text is escaped and written in one piece.
fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut stdout = stdout().lock();
    if stdout.is_terminal() {
        let mut text = Vec::new();
        write(&mut text)?;
        return stdout.write_all(printable(&String::from_utf8_lossy(&text)).as_bytes());
    }
    let mut out = BufWriter::new(stdout);
    write(&mut out)?;
    out.flush()
}

/// Creates a hidden file in the same folder as `place`, and removes hidden files of killed processes.
fn partial_file(place: &Path) -> io::Result<PartialFile> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let start = format!(".{name}.fleetsim-");
    remove_abandoned(place, &start);
    for attempt in 0_u32.. {
        let path = place.with_file_name(format!("{start}{}-{attempt}", std::process::id()));
        match uninterrupted(|| create_locked(&path)) {
            Ok(Some(partial)) => return Ok(partial),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("a folder has fewer files")
}

/// Creates and locks a file. `None`: another process treated the file as abandoned before it was locked.
fn create_locked(path: &Path) -> io::Result<Option<PartialFile>> {
    let file = File::create_new(path)?;
    let temporary = Temporary::new(path.to_owned());
    if file.try_lock().is_err() || !path.exists() {
        return Ok(None);
    }
    Ok(Some(PartialFile {
        out: BufWriter::new(file),
        temporary,
    }))
}

/// Removes the hidden files of killed processes, whose names are `start` and two numbers. Files that cannot be removed
/// are left.
fn remove_abandoned(place: &Path, start: &str) {
    let Some(Ok(entries)) = place.parent().map(fs::read_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let name = entry.file_name();
        if is_file && is_partial_name(&name.to_string_lossy(), start) && is_unlocked(&entry.path())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether a name is `start` followed by two numbers, for the process and the attempt.
fn is_partial_name(name: &str, start: &str) -> bool {
    let numbers = name
        .strip_prefix(start)
        .and_then(|rest| rest.split_once('-'));
    let Some((process, attempt)) = numbers else {
        return false;
    };
    is_number(process) && is_number(attempt)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether no process is writing the file.
fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Returns the error for a file that cannot be written.
pub(crate) fn failure(error: &Error, place: &Path) -> Failure {
    let name = if place == Path::new(STANDARD) {
        "to standard output".into()
    } else {
        place.to_string_lossy()
    };
    Failure::Machine(format!("cannot write {name}: {error}"))
}

/// Returns whether stderr uses colours: it is a terminal, and `NO_COLOR` is not set.
pub(crate) fn stderr_has_colour() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns an error with its causes on one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(&format!(": {cause_text}"));
        }
        next = cause.source();
    }
    text
}

/// Returns the width of the terminal in columns, or 100 if stdout is not a terminal, so that files do not depend on
/// the terminal.
pub(crate) fn width() -> usize {
    const DEFAULT: usize = 100;
    if CommandHost::current().is_none() && stdout().is_terminal() {
        console::Term::stdout().size().1.into()
    } else {
        DEFAULT
    }
}

/// Formats an integer with thousands separators, such as `1,000`.
pub(crate) fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}
