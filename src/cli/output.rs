//! Writing to the terminal and to the files that options name.
//!
//! All text for the terminal passes one place, which escapes what a terminal would obey. A file is written beside its
//! place and renamed, so that a failure leaves the old one. A reader that closes the pipe is no failure.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Error, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleetsim::io::{Temporary, printable, uninterrupted};
use fleetsim::report::{self, Results};
use fleetsim::results::PROVENANCE_FILE;
use fleetsim::scenario::Experiment;

use super::Failure;

/// The name of standard output where an option names a file.
pub(crate) const STANDARD: &str = "-";

/// Prints results. A closed pipe, as with `head`, is not a failure; a full disk is.
pub(super) fn out(text: &str) -> Result<(), Failure> {
    let mut stdout = stdout().lock();
    match stdout
        .write_all(printable(text).as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(failure(&error, Path::new(STANDARD)))
        }
        _ => Ok(()),
    }
}

/// Waits for this time. Returns false as soon as nobody reads standard output any more, as behind `head`.
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
    styled_err(&printable(text));
}

/// Prints text with colours, which must be printable but for these.
pub(crate) fn styled_err(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

/// Writes the asserted limits of these results as a JUnit report, if a file is named. `inputs` as for [`file`].
pub(crate) fn junit(
    to: Option<&Path>,
    results: &Results,
    inputs: &[PathBuf],
) -> Result<(), Failure> {
    let Some(to) = to else { return Ok(()) };
    file(to, inputs, |out| {
        out.write_all(report::junit(results).as_bytes())
    })
    .map_err(|error| failure(&error, to))
}

/// Checks, before any work, that [`junit`] can write.
pub(crate) fn check_junit(to: Option<&Path>, inputs: &[PathBuf]) -> Result<(), Failure> {
    let Some(to) = to else { return Ok(()) };
    let writable = place(to, inputs)
        .and_then(|place| place.map_or(Ok(()), |(place, _)| beside(&place).map(drop)));
    writable.map_err(|error| failure(&error, to))
}

/// The files of the experiment that a user `named`.
pub(crate) fn inputs(named: &Path, experiment: &Experiment) -> Vec<PathBuf> {
    let folder = if named.is_dir() {
        named
    } else {
        named.parent().unwrap_or(named)
    };
    experiment
        .inputs
        .iter()
        .map(|input| folder.join(&input.path))
        .collect()
}

/// Writes what an option asks for: to standard output, to a device or pipe, or to a file, which is replaced as a whole.
/// Links are followed.
///
/// # Errors
/// When the place is one of the `inputs` or in it, belongs to results, or cannot be written.
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
    let Some((place, old)) = place(to, inputs)? else {
        let mut out = BufWriter::new(File::options().write(true).open(to)?);
        return write(&mut out).and_then(|()| out.flush());
    };
    let (mut out, partial) = beside(&place)?;
    write(&mut out)?;
    let new = out.into_inner()?;
    if let Some(old) = old {
        new.set_permissions(old.permissions())?;
    }
    uninterrupted(|| fs::rename(partial.path(), &place))
}

/// The file to write, with links resolved, and what it is now. `None`: standard output, a device or a pipe.
fn place(to: &Path, inputs: &[PathBuf]) -> io::Result<Option<(PathBuf, Option<Metadata>)>> {
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
    let parent = to
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let place = if old.is_some() {
        to.canonicalize()?
    } else {
        parent.canonicalize()?.join(name)
    };
    let is_input = |input: &PathBuf| {
        input
            .canonicalize()
            .is_ok_and(|input| place.starts_with(input))
    };
    if inputs.iter().any(is_input)
        || place
            .ancestors()
            .skip(1)
            .any(|above| above.join(PROVENANCE_FILE).exists())
    {
        return Err(Error::other(
            "it must not be an input or in a results folder; name another file",
        ));
    }
    Ok(Some((place, old)))
}

/// A terminal gets all text in one piece, escaped.
fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut stdout = stdout().lock();
    if stdout.is_terminal() {
        let mut text = Vec::new();
        write(&mut text)?;
        return stdout.write_all(printable(&String::from_utf8_lossy(&text)).as_bytes());
    }
    let mut out = BufWriter::new(stdout);
    write(&mut out).and_then(|()| out.flush())
}

/// A new hidden file in the folder of `place`, locked while this process writes it. Those of killed processes are
/// removed.
fn beside(place: &Path) -> io::Result<(BufWriter<File>, Temporary)> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let start = format!(".{name}.fleetsim-");
    remove_abandoned(place, &start);
    for attempt in 0_u32.. {
        let path = place.with_file_name(format!("{start}{}-{attempt}", std::process::id()));
        let made: io::Result<_> = uninterrupted(|| {
            let file = File::create_new(&path)?;
            let partial = Temporary::new(path.clone());
            // Until it is locked, another process may take it for abandoned.
            Ok((file.try_lock().is_ok() && path.exists()).then(|| (BufWriter::new(file), partial)))
        });
        match made {
            Ok(Some(beside)) => return Ok(beside),
            Ok(None) => {}
            Err(error) if ErrorKind::AlreadyExists == error.kind() => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("a folder has fewer files")
}

/// Removes the hidden files of killed processes, whose names are `start` and two numbers. What cannot be removed stays.
fn remove_abandoned(place: &Path, start: &str) {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let entries = place
        .parent()
        .and_then(|folder| fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_own = name
            .strip_prefix(start)
            .and_then(|rest| rest.split_once('-'));
        if is_own.is_some_and(|(process, attempt)| is_number(process) && is_number(attempt))
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A place that cannot be written.
pub(crate) fn failure(error: &Error, place: &Path) -> Failure {
    let name = if place == Path::new(STANDARD) {
        "to standard output".into()
    } else {
        place.to_string_lossy()
    };
    Failure::Machine(format!("cannot write {name}: {error}"))
}

/// Whether colours are wanted on stderr: it is a terminal and `NO_COLOR` is not set.
pub(crate) fn stderr_has_colour() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// An error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes =
        std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string);
    causes.fold(error.to_string(), |text, cause| {
        if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// Columns of the terminal; 100 when stdout is not a terminal, so that files look the same everywhere.
pub(crate) fn width() -> usize {
    const DEFAULT: usize = 100;
    if stdout().is_terminal() {
        console::Term::stdout().size().1.into()
    } else {
        DEFAULT
    }
}

/// A whole number with thousands separators: `1,000`.
pub(crate) fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}
