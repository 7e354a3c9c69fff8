//! Ctrl-C, SIGTERM and SIGHUP end the program immediately, with exit code 130, even in the middle of a run.
//!
//! A flag that threads check would not be sufficient, because a thread may be in a run of ten minutes, a parser or a
//! chart. The signal handler therefore removes unfinished files and ends the process. Saved runs are on disk, results
//! are published completely or not at all, and external processes end with fleetsim.

use std::process::exit;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fleetsim::results::SavedRuns;

use super::{Failure, output, progress};

/// The total number of runs of a study.
#[derive(Clone, Copy, Debug)]
pub(super) enum RunTotal {
    /// It depends on the results.
    Unknown,
    /// Those of the shard, whatever their number.
    OfShard,
    /// At least and at most as many, without trials of unstated links.
    Between(u64, u64),
}

impl RunTotal {
    /// Returns the words behind a number of finished runs, such as ` of 20`. Empty if the total is unknown.
    fn words_for(self, runs: usize) -> String {
        match self {
            Self::Between(_, most) if runs as u64 > most => String::new(),
            Self::Between(least, most) if least == most => format!(" of {most}"),
            Self::Between(least, most) => format!(" of {least} to {most}"),
            Self::OfShard => " of this shard's".to_owned(),
            Self::Unknown => String::new(),
        }
    }
}

/// The current work, for the message after a signal.
static WORK: Mutex<CurrentWork> = Mutex::new(CurrentWork::None);

/// Maximum time for printing the last message, because a terminal or pipe may no longer accept output.
const PATIENCE: Duration = Duration::from_millis(300);

/// The work that the program is doing.
enum CurrentWork {
    /// No work that an interruption must mention.
    None,
    /// A simulation or a calibration that saves no runs.
    Unsaved,
    /// A study that saves its runs, with their total number.
    Study(SavedRuns, RunTotal),
}

impl CurrentWork {
    /// Returns the message to print after a signal.
    fn last_words(&self) -> String {
        let interrupted = "interrupted; no results were written\n";
        match self {
            Self::None => String::new(),
            Self::Unsaved => interrupted.to_owned(),
            Self::Study(runs, _) if runs.is_finished() => String::new(),
            Self::Study(runs, total) => saved(runs.count(), *total) + interrupted,
        }
    }
}

/// Returns the line about saved runs. Empty if there are none.
pub(super) fn saved(runs: usize, total: RunTotal) -> String {
    let of_all = total.words_for(runs);
    match runs {
        0 => String::new(),
        1 if of_all.is_empty() => {
            "1 finished run was saved; run the same command to resume\n".to_owned()
        }
        runs => {
            format!("{runs}{of_all} finished runs were saved; run the same command to resume\n")
        }
    }
}

/// Starts listening for signals.
pub(super) fn listen() -> Result<(), Failure> {
    let listening = ctrlc::set_handler(|| fleetsim::io::abandon(end));
    listening.map_err(|error| Failure::Machine(format!("cannot listen for signals: {error}")))
}

/// Registers a study with its saved runs for the message after a signal.
pub(super) fn study_begins(runs: SavedRuns, total: RunTotal) {
    set(CurrentWork::Study(runs, total));
}

/// Registers that no study is in progress.
pub(super) fn study_ended() {
    set(CurrentWork::None);
}

/// Does work that saves no runs, and registers it unless it is part of a study.
pub(super) fn during<T>(work: impl FnOnce() -> T) -> T {
    let is_own = matches!(
        *WORK.lock().unwrap_or_else(PoisonError::into_inner),
        CurrentWork::None
    );
    if is_own {
        set(CurrentWork::Unsaved);
    }
    let done = work();
    if is_own {
        set(CurrentWork::None);
    }
    done
}

fn set(work: CurrentWork) {
    *WORK.lock().unwrap_or_else(PoisonError::into_inner) = work;
}

/// Ends the program without saving or publishing anything more.
fn end() {
    let work = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let last_words = work.last_words();
    if let CurrentWork::Study(runs, _) = &*work {
        runs.remove_if_empty();
    }
    let (done, printed) = channel();
    thread::spawn(move || {
        progress::clear();
        output::err(&last_words);
        let _ = done.send(());
    });
    let _ = printed.recv_timeout(PATIENCE);
    exit(130)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_runs_are_never_more_than_all() {
        let cases = [
            (0, RunTotal::Between(2, 2), ""),
            (1, RunTotal::Unknown, "1 finished run was saved"),
            (7, RunTotal::Unknown, "7 finished runs were saved"),
            (
                1,
                RunTotal::Between(2, 2),
                "1 of 2 finished runs were saved",
            ),
            (
                5,
                RunTotal::Between(2, 9),
                "5 of 2 to 9 finished runs were saved",
            ),
            (3, RunTotal::Between(2, 2), "3 finished runs were saved"),
            (
                3,
                RunTotal::OfShard,
                "3 of this shard's finished runs were saved",
            ),
        ];
        for (runs, total, words) in cases {
            let line = saved(runs, total);
            assert!(line.starts_with(words), "{runs} of {total:?}: {line}");
        }
    }
}
