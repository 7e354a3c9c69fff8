//! Ctrl-C, SIGTERM and SIGHUP: what is unfinished is removed, and the program ends with exit code 130.
//!
//! While runs are simulated, the first signal lets those that have begun finish, so that they are saved. At any other
//! time, and at a second signal, the program ends immediately: saved runs are on disk, and results are published as a
//! whole or not at all.

use std::process::exit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Failure, output};

/// Whether a signal came while runs were simulated.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);
/// Whether runs are simulated, or their folder is being prepared.
static SIMULATING: AtomicBool = AtomicBool::new(false);
/// The text to print when the program ends.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Waits for signals from now on.
pub(super) fn listen() -> Result<(), Failure> {
    let listening = ctrlc::set_handler(|| {
        fleetsim::process::interrupt();
        if SIMULATING.load(Ordering::SeqCst) && !STOP.swap(true, Ordering::SeqCst) {
            return;
        }
        fleetsim::io::abandon(|| {
            if let Ok(words) = LAST_WORDS.try_lock() {
                output::err(&words);
            }
            exit(130)
        });
    });
    listening.map_err(|error| Failure::Machine(format!("cannot listen for signals: {error}")))
}

/// From now on, runs are simulated: they end by themselves after a signal.
pub(super) fn simulating() {
    SIMULATING.store(true, Ordering::SeqCst);
}

/// From now on, a signal ends the program with these words. Fails when one came before.
pub(super) fn ends_with(words: String) -> Result<(), Failure> {
    if let Ok(mut last) = LAST_WORDS.lock() {
        *last = words;
    }
    SIMULATING.store(false, Ordering::SeqCst);
    if STOP.load(Ordering::SeqCst) {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}
