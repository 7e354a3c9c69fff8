//! Commands of the program in this process. A command works on threads of its own while the calling thread releases
//! the interpreter and looks for Ctrl-C every few milliseconds.
//!
//! Left out: ending a Python strategy that never returns. The exception is raised all the same; the command's threads
//! then wait for the strategy in the background.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fleetsim::host::CommandHost;
use fleetsim::process::Decider;
use fleetsim::scenario::Guests;
use pyo3::prelude::*;

use crate::faults::PythonFaults;
use crate::strategy::PythonStrategy;
use crate::{cli, errors};

/// The time between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);
/// The time between two reports of progress.
const REPORT: Duration = Duration::from_millis(200);
/// How long Ctrl-C waits for the command to end by itself.
const PATIENCE: Duration = Duration::from_millis(600);
/// The stack of a command's thread, as large as that of a program's first thread.
const STACK: usize = 8 << 20;

/// Names the file of the extension module, which identifies the program in saved runs and shards.
#[pyfunction]
pub(crate) fn set_library(file: PathBuf) {
    CommandHost::set_program(file);
}

/// What an experiment of Python brings along: its text, strategies and a failure model.
#[pyclass(frozen, module = "fleetsim._fleetsim")]
pub(crate) struct GuestParts {
    pub(crate) guests: Guests,
    /// The first exception of a strategy or a failure model.
    pub(crate) raised: Raised,
}

/// The place for the first exception that Python code raises in a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps an exception, unless there is one already.
    pub(crate) fn keep(&self, error: PyErr) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
    }

    fn take(&self) -> Option<PyErr> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }
}

#[pymethods]
impl GuestParts {
    #[new]
    #[pyo3(signature = (text, strategies, faults, sources))]
    fn new(
        py: Python<'_>,
        text: Option<String>,
        strategies: BTreeMap<String, Py<PyAny>>,
        faults: Option<Py<PyAny>>,
        sources: BTreeMap<String, String>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let mut deciders: BTreeMap<String, Arc<dyn Decider>> = BTreeMap::new();
        for (name, object) in strategies {
            let strategy = PythonStrategy::new(py, object, raised.clone())?;
            deciders.insert(name, Arc::new(strategy));
        }
        let guests = Guests {
            text: text.map(Into::into),
            strategies: deciders,
            faults: match faults {
                Some(object) => Some(Arc::new(PythonFaults::new(object, raised.clone()))),
                None => None,
            },
            sources,
        };
        Ok(Self { guests, raised })
    }
}

/// A command that has ended.
struct EndedCommand {
    out: String,
    err: String,
    record: String,
    failed: Option<cli::FailedCommand>,
}

/// What a command has printed.
#[pyclass(frozen, get_all, module = "fleetsim._fleetsim")]
pub(crate) struct CommandOutput {
    /// The text on standard output.
    out: String,
    /// The notes on standard error.
    err: String,
    /// The record behind the text, as JSON. Empty: there is none.
    record: String,
    /// The exit code.
    code: u8,
}

/// Runs a command in this process.
///
/// `sketch`: leave out charts and saved runs. `report` is called with the numbers of finished and wanted runs. The exit
/// codes in `permitted` are results; others are raised.
#[pyfunction]
#[pyo3(signature = (words, parts, *, sketch, permitted, report = None))]
pub(crate) fn execute(
    py: Python<'_>,
    words: Vec<OsString>,
    parts: &Bound<'_, GuestParts>,
    sketch: bool,
    permitted: Vec<u8>,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<CommandOutput> {
    let parts = parts.get();
    let mut host = CommandHost::default();
    host.guests = parts.guests.clone();
    host.is_sketch = sketch;
    let host = Arc::new(host);
    let working = Arc::clone(&host);
    let command = Command::start(move || {
        let failed = working.during(|| cli::run(words)).err();
        EndedCommand {
            out: working.take_out(),
            err: working.take_err(),
            record: working.take_record(),
            failed,
        }
    })?;
    let ended = command.wait(py, &host, report.as_ref())?;
    let raised = parts.raised.take();
    match ended.failed {
        Some(failed) if !permitted.contains(&failed.code) => {
            let error = errors::failed(py, &failed.text, failed.code);
            error.set_cause(py, raised);
            Err(error)
        }
        failed => {
            let code = failed.map_or(0, |failed| failed.code);
            Ok(CommandOutput {
                out: ended.out,
                err: ended.err,
                record: ended.record,
                code,
            })
        }
    }
}

/// Does work on a thread of its own while the interpreter is released.
pub(crate) fn in_thread<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    Command::start(work)?.wait(py, &CommandHost::default(), None)
}

/// Work in progress on a thread of its own.
struct Command<T> {
    thread: thread::JoinHandle<()>,
    ended: Mutex<Receiver<thread::Result<T>>>,
}

impl<T: Send + 'static> Command<T> {
    fn start(work: impl FnOnce() -> T + Send + 'static) -> PyResult<Self> {
        let (sender, ended) = channel();
        let thread = thread::Builder::new()
            .name("fleetsim".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                let _ = sender.send(result);
            })
            .map_err(|error| errors::no_thread(&error))?;
        Ok(Self {
            thread,
            ended: Mutex::new(ended),
        })
    }

    /// Waits for the end of the work, and stops it on Ctrl-C.
    fn wait(
        self,
        py: Python<'_>,
        host: &CommandHost,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<T> {
        let mut reported = Instant::now();
        loop {
            if let Some(ended) = self.look(py, LOOK) {
                let _ = py.detach(|| self.thread.join());
                return ended.map_err(|panic| errors::panicked(py, &*panic));
            }
            let mut interrupted = py.check_signals();
            if let Some(report) = report
                && interrupted.is_ok()
                && reported.elapsed() >= REPORT
            {
                reported = Instant::now();
                let progress = host.progress();
                interrupted = report.call1((progress.done, progress.wanted)).map(drop);
            }
            if let Err(error) = interrupted {
                host.stop.set();
                self.look(py, PATIENCE);
                return Err(error);
            }
        }
    }

    /// Waits a limited time for the end of the work. `None`: it goes on.
    fn look(&self, py: Python<'_>, wait: Duration) -> Option<thread::Result<T>> {
        let ended = &self.ended;
        let received = py.detach(|| {
            let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.recv_timeout(wait)
        });
        match received {
            Ok(result) => Some(result),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(Err(Box::new("a thread ended without a result")))
            }
        }
    }
}
