//! A program that runs a command in its own process: where the command's texts go, who may end it, how far it is, and
//! what the program brings along to an experiment.
//!
//! The `fleetsim` program writes to its terminal, and a signal ends it. In another program, such as a Python
//! interpreter, a command must write into memory, end when it is asked to, and leave the process alone. That program
//! enters a [`CommandHost`] on a thread ([`CommandHost::during`]); every command on this thread then belongs to it.
//! Threads that a command starts adopt the host of their parent ([`CommandHost::adopt`]).
//!
//! Left out: several terminals, and commands that ask questions, such as `fleetsim init`.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::engine::Stop;
use crate::scenario::Guests;

thread_local! {
    /// The host of the commands on this thread. `None`: the program itself.
    static HOST: RefCell<Option<Arc<CommandHost>>> = const { RefCell::new(None) };
}

/// The file with the library that contains the commands, if they run in another program.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Another program in whose process a command runs.
#[derive(Debug, Default)]
pub struct CommandHost {
    /// Ends the command's runs when it is set.
    pub stop: Stop,
    /// What the program brings along to every experiment that the command loads.
    pub guests: Guests,
    /// Whether the command leaves out what the program can make later from the results: charts, the page, and saved
    /// runs for a resumed study.
    pub is_sketch: bool,
    out: Mutex<String>,
    err: Mutex<String>,
    record: Mutex<String>,
    progress: FollowedPart,
}

/// Says how far a part of a command is.
pub type ProgressSource = Box<dyn Fn() -> HostProgress + Send + Sync>;

/// The part of a command that is in progress.
#[derive(Default)]
struct FollowedPart {
    source: Mutex<Option<ProgressSource>>,
}

impl std::fmt::Debug for FollowedPart {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("FollowedPart")
    }
}

/// The progress of a command.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HostProgress {
    /// The number of finished runs.
    pub done: u64,
    /// The number of runs, as far as it is known. 0: unknown.
    pub wanted: u64,
}

impl CommandHost {
    /// Returns the host of the commands on this thread. `None`: the program itself.
    #[must_use]
    pub fn current() -> Option<Arc<Self>> {
        HOST.with_borrow(Clone::clone)
    }

    /// Does work on this thread with this host.
    pub fn during<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let previous = HOST.replace(Some(Arc::clone(self)));
        let stop = self.stop.rules_thread();
        let done = work();
        stop.rules_thread();
        HOST.set(previous);
        done
    }

    /// Makes this the host of the current thread until it ends, for a thread that a command starts.
    pub fn adopt(self: &Arc<Self>) {
        HOST.set(Some(Arc::clone(self)));
        self.stop.rules_thread();
    }

    /// Returns what the program brings along to experiments, for a command on this thread.
    #[must_use]
    pub fn guests_of_thread() -> Guests {
        Self::current().map_or_else(Guests::default, |host| host.guests.clone())
    }

    /// Returns whether a command on this thread leaves out charts, the page and saved runs.
    #[must_use]
    pub fn is_sketch_on_thread() -> bool {
        Self::current().is_some_and(|host| host.is_sketch)
    }

    /// Returns the file with the library that contains the commands, if they run in another program.
    #[must_use]
    pub fn program() -> Option<PathBuf> {
        PROGRAM.get().cloned()
    }

    /// Names the file with the library that contains the commands. The first call counts.
    pub fn set_program(file: PathBuf) {
        let _ = PROGRAM.set(file);
    }

    /// Returns whether a command on this thread saves finished runs for a resumed study. Runs of guests are never
    /// saved, because nothing tells whether a guest of a later command is the same.
    #[must_use]
    pub fn saves_runs_on_thread() -> bool {
        let Some(host) = Self::current() else {
            return true;
        };
        let has_guests = !host.guests.strategies.is_empty() || host.guests.faults.is_some();
        !host.is_sketch && !has_guests
    }

    /// Adds text to the standard output of the command.
    pub fn write_out(&self, text: &str) {
        lock(&self.out).push_str(text);
    }

    /// Adds text to the notes and errors of the command.
    pub fn write_err(&self, text: &str) {
        lock(&self.err).push_str(text);
    }

    /// Takes the standard output of the command so far.
    #[must_use]
    pub fn take_out(&self) -> String {
        std::mem::take(&mut *lock(&self.out))
    }

    /// Takes the notes and errors of the command so far.
    #[must_use]
    pub fn take_err(&self) -> String {
        std::mem::take(&mut *lock(&self.err))
    }

    /// Keeps the record behind the text that a command prints, as JSON.
    pub fn keep_record(&self, json: &[u8]) {
        *lock(&self.record) = String::from_utf8_lossy(json).into_owned();
    }

    /// Takes the record behind the text that the command has printed. Empty: it has none.
    #[must_use]
    pub fn take_record(&self) -> String {
        std::mem::take(&mut *lock(&self.record))
    }

    /// Names the source that says how far the command is, from now on.
    pub fn follow(&self, part: ProgressSource) {
        let source = &self.progress.source;
        *source.lock().unwrap_or_else(PoisonError::into_inner) = Some(part);
    }

    /// Returns how far the command is.
    #[must_use]
    pub fn progress(&self) -> HostProgress {
        let source = &self.progress.source;
        let part = source.lock().unwrap_or_else(PoisonError::into_inner);
        part.as_ref()
            .map_or_else(HostProgress::default, |part| part())
    }
}

/// Locks a text. A command that panicked has left it as it was.
fn lock(text: &Mutex<String>) -> std::sync::MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_rules_its_thread_only_during_the_work() {
        let host = Arc::new(CommandHost::default());
        assert!(CommandHost::current().is_none());
        host.during(|| {
            let current = CommandHost::current().expect("it was entered");
            current.write_out("a result\n");
            assert!(Stop::of_thread().is(&host.stop));
            std::thread::spawn(|| assert!(CommandHost::current().is_none()))
                .join()
                .expect("another thread has no host");
        });
        assert!(CommandHost::current().is_none() && !Stop::of_thread().is(&host.stop));
        assert_eq!(host.take_out(), "a result\n");
        assert_eq!(host.take_out(), "");
    }

    #[test]
    fn a_set_flag_ends_runs_on_the_thread_at_once() {
        let host = Arc::new(CommandHost::default());
        host.stop.set();
        let path = std::path::Path::new("experiments/01-max-unavailable");
        let experiment = crate::scenario::load(path, &crate::scenario::Overrides::default())
            .expect("a valid experiment");
        let stopped = host.during(|| crate::sim::run(&experiment.variants[0], 1, 0));
        assert_eq!(stopped.err(), Some(crate::sim::RunFailure::Stopped));
    }
}
