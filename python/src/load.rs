//! An experiment before it is run: reading and checking it.

use std::path::PathBuf;

use fleetsim::scenario::{Overrides, load, load_plan};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::run::{GuestParts, in_thread};

/// Reads and checks an experiment. Returns its name, question, variants and numbers.
///
/// # Errors
/// Raises `InvalidExperiment` with all problems.
#[pyfunction]
#[pyo3(signature = (path, set, seed, replicates, parts, *, plan = false))]
pub(crate) fn described<'py>(
    py: Python<'py>,
    path: PathBuf,
    set: Vec<String>,
    seed: Option<u64>,
    replicates: Option<u32>,
    parts: &Bound<'py, GuestParts>,
    plan: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let overrides = Overrides {
        seed,
        replicates,
        set,
        guests: parts.get().guests.clone(),
    };
    let loaded = in_thread(py, move || {
        if plan {
            load_plan(&path, &overrides)
        } else {
            load(&path, &overrides)
        }
    })?;
    let experiment = loaded.map_err(|error| errors::invalid(py, &error))?;
    let facts = PyDict::new(py);
    facts.set_item("name", &experiment.name)?;
    facts.set_item("question", &experiment.question)?;
    facts.set_item("seed", experiment.seed)?;
    facts.set_item("replicates", experiment.replicates)?;
    let labels = experiment.variants.iter().map(|variant| &variant.label);
    facts.set_item("variants", labels.collect::<Vec<_>>())?;
    let mut clusters = 0;
    for variant in &experiment.variants {
        clusters = clusters.max(variant.scenario.world.clusters.len());
    }
    facts.set_item("clusters", clusters)?;
    facts.set_item("resolved", experiment.resolved())?;
    Ok(facts)
}
