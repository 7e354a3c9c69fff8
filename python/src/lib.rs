//! The extension module of the Python package: the program's commands, tables and charts for `python/fleetsim`.
//!
//! Everything here is thin. A study is the command `fleetsim run` in this process (`src/cli`), so a notebook has the
//! same bytes, errors and checks as the command line; tables, charts and answers come from the results that it
//! writes. What Python adds is in `strategy` and `faults`: decisions and outages by Python objects.
//!
//! | module | contents |
//! |---|---|
//! | `run` | commands in this process: progress, Ctrl-C, failures |
//! | `load` | an experiment before it is run |
//! | `results` | tables as Arrow, charts and texts of a results folder |
//! | `strategy` | a strategy in Python, and what it sees of the fleet |
//! | `faults` | a failure model in Python, and its random numbers |
//!
//! How we know: the tests in `python/tests` compare checksums with the program's.

#[path = "../../src/cli/mod.rs"]
mod cli;
mod columns;
mod errors;
mod faults;
mod load;
mod results;
mod run;
mod strategy;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these words, as on a terminal. Returns its exit code.
#[pyfunction]
fn program(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| cli::of_terminal(words))
}

/// Panics, for a test: a panic must reach Python as an exception.
#[pyfunction]
fn panic_for_test(py: Python<'_>) -> PyResult<()> {
    run::in_thread(py, || panic!("a panic for a test"))
}

/// The extension module `fleetsim._fleetsim`.
#[pymodule]
fn _fleetsim(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(program, module)?)?;
    module.add_function(wrap_pyfunction!(panic_for_test, module)?)?;
    module.add_function(wrap_pyfunction!(run::set_library, module)?)?;
    module.add_function(wrap_pyfunction!(run::execute, module)?)?;
    module.add_function(wrap_pyfunction!(load::described, module)?)?;
    module.add_function(wrap_pyfunction!(results::figures, module)?)?;
    module.add_function(wrap_pyfunction!(results::table_text, module)?)?;
    module.add_function(wrap_pyfunction!(results::answer_html, module)?)?;
    module.add_function(wrap_pyfunction!(results::comparison_json, module)?)?;
    module.add_function(wrap_pyfunction!(results::latex, module)?)?;
    module.add_function(wrap_pyfunction!(results::verdicts, module)?)?;
    module.add_class::<results::Chart>()?;
    module.add_class::<columns::ArrowTable>()?;
    module.add_class::<run::CommandOutput>()?;
    module.add_class::<run::GuestParts>()?;
    module.add_class::<strategy::Fleet>()?;
    module.add_class::<strategy::Target>()?;
    module.add_class::<strategy::Change>()?;
    module.add_class::<faults::Site>()?;
    module.add_class::<faults::Rng>()?;
    Ok(())
}
