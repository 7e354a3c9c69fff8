//! Exceptions. Their classes are in `python/fleetsim/_errors.py`, so that they have documentation and types there.

use std::any::Any;

use fleetsim::scenario::{LoadError, Problem};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns an exception of a class in `fleetsim._errors`.
fn exception<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    let made = py
        .import("fleetsim._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// Returns the exception for an invalid experiment, with the text that the program prints.
pub(crate) fn invalid(py: Python<'_>, error: &LoadError) -> PyErr {
    let mut problems = Vec::new();
    for problem in &error.problems {
        match described(py, problem) {
            Ok(problem) => problems.push(problem),
            Err(failed) => return failed,
        }
    }
    let text = error.render(false).trim_end().to_owned();
    exception(py, "InvalidExperiment", (text, problems))
}

/// Returns the parts of a problem.
fn described<'py>(py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("file", &problem.file)?;
    parts.set_item("line", problem.line())?;
    parts.set_item("field", &problem.field)?;
    parts.set_item("message", &problem.message)?;
    parts.set_item("help", &problem.help)?;
    Ok(parts)
}

/// Returns the exception for a command that failed with this text and exit code.
pub(crate) fn failed(py: Python<'_>, text: &str, code: u8) -> PyErr {
    exception(py, "CommandFailed", (text.trim_end().to_owned(), code))
}

/// Returns the exception for a failure in the library, such as a damaged results folder.
pub(crate) fn of_library(py: Python<'_>, error: &dyn std::error::Error) -> PyErr {
    exception(py, "FleetsimError", (error.to_string(),))
}

/// Returns the exception for a panic.
pub(crate) fn panicked(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let message = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no message".to_owned());
    exception(py, "InternalError", (message,))
}

/// Returns an exception as text: its last line, and the lines of the traceback that name a place.
pub(crate) fn in_words(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    let _ = value.setattr("__traceback__", error.traceback(py));
    let lines = py
        .import("fleetsim._errors")
        .and_then(|module| module.getattr("in_words"))
        .and_then(|in_words| in_words.call1((value,)))
        .and_then(|text| text.extract::<String>());
    lines.unwrap_or_else(|_| error.to_string())
}

/// Returns the exception for threads that cannot be started.
pub(crate) fn no_thread(error: &std::io::Error) -> PyErr {
    PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
}
