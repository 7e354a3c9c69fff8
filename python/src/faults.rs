//! A failure model in Python: `Faults.outages(sites, horizon, rng)` names the outages of one run.
//!
//! The model works on a copy of its own in each run, and gets the run's generator, so that neither the order of runs
//! nor the number of threads changes what it names.

use std::collections::BTreeMap;

use fleetsim::engine::{Stream, dist};
use fleetsim::units::{Share, SimDuration};
use fleetsim::world::{ClusterSpec, CutKind, GuestOutage, OutageModel};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors;
use crate::run::Raised;

/// A failure model in Python.
#[derive(Debug)]
pub(crate) struct PythonFaults {
    object: Py<PyAny>,
    raised: Raised,
}

impl PythonFaults {
    pub(crate) const fn new(object: Py<PyAny>, raised: Raised) -> Self {
        Self { object, raised }
    }

    fn named(
        &self,
        py: Python<'_>,
        clusters: &[ClusterSpec],
        horizon: SimDuration,
        rng: Stream,
    ) -> PyResult<Vec<GuestOutage>> {
        let model = copied(py, &self.object)?;
        let mut sites = Vec::with_capacity(clusters.len());
        for (index, cluster) in clusters.iter().enumerate() {
            sites.push(Py::new(py, Site::of(index, cluster))?);
        }
        let sites = PyTuple::new(py, sites)?;
        let rng = Py::new(py, Rng { stream: rng })?;
        let named = model.call_method1("outages", (sites, horizon.as_secs_f64(), rng))?;
        let mut outages = Vec::new();
        for outage in named.try_iter()? {
            outages.push(outage_of(&outage?)?);
        }
        Ok(outages)
    }
}

/// Returns a deep copy of an object.
pub(crate) fn copied<'py>(py: Python<'py>, object: &Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
    py.import("copy")?
        .call_method1("deepcopy", (object.bind(py),))
}

impl OutageModel for PythonFaults {
    fn outages(
        &self,
        clusters: &[ClusterSpec],
        horizon: SimDuration,
        rng: Stream,
    ) -> Result<Vec<GuestOutage>, String> {
        Python::attach(|py| {
            self.named(py, clusters, horizon, rng).map_err(|error| {
                let text = errors::in_words(py, &error);
                self.raised.keep(error);
                format!("the failure model has failed: {text}")
            })
        })
    }
}

/// Returns an outage from `(site, start, duration)`, or from an object with these and `cuts` or `downlink`.
fn outage_of(named: &Bound<'_, PyAny>) -> PyResult<GuestOutage> {
    let parts = named
        .cast::<PyTuple>()
        .map_err(|_| PyTypeError::new_err("an outage must be `Outage(site, start, duration)`"))?;
    let site = parts.get_item(0)?;
    let cluster = match site.cast::<Site>() {
        Ok(site) => site.get().index,
        Err(_) => site.extract::<usize>()?,
    };
    let from = seconds(&parts.get_item(1)?, "start")?;
    let lasts = seconds(&parts.get_item(2)?, "duration")?;
    let cuts = match parts.get_item(3).ok() {
        Some(cuts) => cut_kind(&cuts.extract::<String>()?)?,
        None => CutKind::All,
    };
    let downlink = parts
        .get_item(4)
        .ok()
        .and_then(|share| share.extract::<f64>().ok());
    let cuts = match downlink {
        None => cuts,
        Some(share) if share > 0.0 && share <= 1.0 => CutKind::Brownout {
            downlink: Share::new(share),
        },
        Some(share) => {
            let message = format!("`downlink` must be above 0 and at most 1, not {share}");
            return Err(PyValueError::new_err(message));
        }
    };
    Ok(GuestOutage {
        cluster,
        from,
        lasts,
        cuts,
    })
}

/// Returns a time of an outage.
fn seconds(value: &Bound<'_, PyAny>, name: &str) -> PyResult<SimDuration> {
    /// A hundred years: later times do not fit into the clock of a run.
    const MOST: f64 = 3_155_760_000.0;
    let seconds: f64 = value.extract()?;
    if (0.0..=MOST).contains(&seconds) {
        Ok(SimDuration::from_secs_f64(seconds))
    } else {
        let message = format!("`{name}` must be from 0 s to 100 years, not {seconds}");
        Err(PyValueError::new_err(message))
    }
}

fn cut_kind(name: &str) -> PyResult<CutKind> {
    match name {
        "all" => Ok(CutKind::All),
        "management" => Ok(CutKind::Management),
        _ => {
            let message = format!("`cuts` must be \"all\" or \"management\", not {name:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

/// A cluster, as a failure model sees it.
#[pyclass(frozen, module = "fleetsim._fleetsim")]
pub(crate) struct Site {
    /// The number of the cluster, from 0.
    #[pyo3(get)]
    index: usize,
    /// The name of the cluster.
    #[pyo3(get)]
    name: String,
    /// The group of the fleet that contains the cluster.
    #[pyo3(get)]
    group: String,
    /// The region whose link the cluster shares. Empty: none.
    #[pyo3(get)]
    region: String,
    /// The labels of the cluster.
    #[pyo3(get)]
    labels: BTreeMap<String, String>,
}

impl Site {
    fn of(index: usize, cluster: &ClusterSpec) -> Self {
        Self {
            index,
            name: cluster.name.clone(),
            group: cluster.group.clone(),
            region: cluster.region_name.clone().unwrap_or_default(),
            labels: (*cluster.labels).clone(),
        }
    }
}

#[pymethods]
impl Site {
    fn __repr__(&self) -> String {
        format!("Site({}, {:?})", self.index, self.name)
    }
}

/// The random numbers of one run. The same seed and replicate give the same numbers.
#[pyclass(module = "fleetsim._fleetsim")]
pub(crate) struct Rng {
    stream: Stream,
}

#[pymethods]
impl Rng {
    /// A generator of its own, for tries outside of a run.
    #[new]
    fn new(seed: u64) -> Self {
        let streams = fleetsim::engine::Streams::new(seed, 0);
        Self {
            stream: streams.stream("python", "tries"),
        }
    }

    /// A number from 0 to below 1.
    fn random(&mut self) -> f64 {
        dist::unit(&mut self.stream)
    }

    /// A number between two numbers.
    #[pyo3(signature = (low = 0.0, high = 1.0))]
    fn uniform(&mut self, low: f64, high: f64) -> PyResult<f64> {
        if low.is_finite() && high.is_finite() && low <= high {
            return Ok(dist::uniform(&mut self.stream, low, high));
        }
        Err(PyValueError::new_err("`low` must not be above `high`"))
    }

    /// An exponential number with this mean.
    fn exponential(&mut self, mean: f64) -> PyResult<f64> {
        positive(mean, "mean")?;
        Ok(dist::exponential(&mut self.stream, mean))
    }

    /// A lognormal number with this median and this standard deviation of its logarithm.
    fn lognormal(&mut self, median: f64, sigma: f64) -> PyResult<f64> {
        positive(median, "median")?;
        positive(sigma, "sigma")?;
        Ok(dist::lognormal(&mut self.stream, median, sigma))
    }

    /// A Weibull number with this scale and shape.
    fn weibull(&mut self, scale: f64, shape: f64) -> PyResult<f64> {
        positive(scale, "scale")?;
        positive(shape, "shape")?;
        Ok(dist::weibull(&mut self.stream, scale, shape))
    }

    /// An integer from 0 to below `end`.
    fn integer(&mut self, end: u64) -> PyResult<u64> {
        if end == 0 {
            return Err(PyIndexError::new_err(
                "there is no integer from 0 to below 0",
            ));
        }
        // A product of a unit number and `end` is below `end` except by rounding.
        Ok(((dist::unit(&mut self.stream) * end as f64) as u64).min(end - 1))
    }

    /// An element of a sequence.
    fn choice<'py>(&mut self, sequence: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let at = self.integer(sequence.len()? as u64)?;
        sequence.get_item(at)
    }

    /// `count` different elements of a sequence, in random order.
    fn sample<'py>(
        &mut self,
        py: Python<'py>,
        sequence: &Bound<'py, PyAny>,
        count: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut places: Vec<usize> = (0..sequence.len()?).collect();
        if count > places.len() {
            let message = format!("a sample of {count} needs as many elements");
            return Err(PyValueError::new_err(message));
        }
        let chosen = PyList::empty(py);
        for at in 0..count {
            let other = at + self.integer((places.len() - at) as u64)? as usize;
            places.swap(at, other);
            chosen.append(sequence.get_item(places[at])?)?;
        }
        Ok(chosen)
    }

    /// A seed for another generator, such as `numpy.random.default_rng(rng.seed())`.
    fn seed(&mut self) -> u64 {
        // 53 random bits, as many as a unit number has.
        (dist::unit(&mut self.stream) * 9_007_199_254_740_992.0) as u64
    }
}

fn positive(value: f64, name: &str) -> PyResult<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let message = format!("`{name}` must be above 0, not {value}");
    Err(PyValueError::new_err(message))
}
