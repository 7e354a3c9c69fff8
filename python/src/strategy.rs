//! A strategy in Python: `Strategy.decide(now, fleet)` names the clusters that are next.
//!
//! The strategy answers the messages of an external process (`docs/external-schedulers.md`) without a pipe. What a
//! process learns from `hello` and `news`, the strategy finds in its [`Fleet`], which keeps the state of each target.
//! Each run works on a copy of the strategy, so that runs on several threads do not disturb one another.

use std::collections::BTreeMap;

use fleetsim::process::{
    Approval, ApprovalTime, BegunRun, Decided, Decider, Held, Hello, Instruction, News, Ready,
    RunDecider, StageTargets,
};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::errors;
use crate::faults::copied;
use crate::run::Raised;

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// A strategy in Python, of which each run has a copy.
#[derive(Debug)]
pub(crate) struct PythonStrategy {
    object: Py<PyAny>,
    name: String,
    raised: Raised,
}

impl PythonStrategy {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>, raised: Raised) -> PyResult<Self> {
        let class = object.bind(py).get_type();
        let module: String = class.getattr("__module__")?.extract()?;
        let name: String = class.getattr("__qualname__")?.extract()?;
        let name = format!("{module}.{name}");
        Ok(Self {
            object,
            name,
            raised,
        })
    }

    fn begun(&self, py: Python<'_>, hello: &Hello<'_>) -> PyResult<BegunRun> {
        let strategy = copied(py, &self.object)?;
        let fleet = Py::new(py, Fleet::of(py, hello)?)?;
        strategy.call_method1("begin", (&fleet,))?;
        let stages = strategy.call_method1("stages", (&fleet,))?;
        let ready = Ready {
            stages: stages_of(&stages)?,
            ..Ready::default()
        };
        let decider = PythonRun {
            decide: strategy.getattr("decide")?.unbind(),
            strategy: strategy.unbind(),
            fleet,
            raised: self.raised.clone(),
        };
        Ok(BegunRun {
            decider: Box::new(decider),
            ready,
        })
    }
}

impl Decider for PythonStrategy {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn begin(&self, hello: &Hello<'_>) -> Result<BegunRun, String> {
        Python::attach(|py| {
            let begun = self.begun(py, hello);
            begun.map_err(|error| failed(py, error, "begin", &self.raised))
        })
    }
}

/// Keeps an exception of a strategy, and returns it in words.
fn failed(py: Python<'_>, error: PyErr, method: &str, raised: &Raised) -> String {
    let text = errors::in_words(py, &error);
    raised.keep(error);
    format!("`{method}` of the strategy has failed: {text}")
}

/// Returns the stages from a mapping or a list of lists.
fn stages_of(named: &Bound<'_, PyAny>) -> PyResult<Vec<StageTargets>> {
    let mut stages = Vec::new();
    if named.is_none() {
        return Ok(stages);
    }
    if let Ok(mapping) = named.cast::<PyDict>() {
        for (name, targets) in mapping {
            stages.push(StageTargets::Named {
                name: name.extract()?,
                targets: targets_of(&targets)?,
            });
        }
        return Ok(stages);
    }
    for targets in named.try_iter()? {
        stages.push(StageTargets::Numbered(targets_of(&targets?)?));
    }
    Ok(stages)
}

/// Returns the numbers of targets from any iterable.
fn targets_of(named: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let mut targets = Vec::new();
    if let Ok(list) = named.cast::<PyList>() {
        targets.reserve(list.len());
        for target in list {
            targets.push(target_number(&target)?);
        }
        return Ok(targets);
    }
    for target in named.try_iter()? {
        targets.push(target_number(&target?)?);
    }
    Ok(targets)
}

/// Returns the number of a target from a number or a [`Target`].
fn target_number(target: &Bound<'_, PyAny>) -> PyResult<u32> {
    if let Ok(target) = target.cast::<Target>() {
        return Ok(target.get().index);
    }
    target.extract().map_err(|_| {
        let message = format!("a target must be its number or a `Target`, not {target}");
        PyTypeError::new_err(message)
    })
}

/// The strategy of one run.
#[derive(Debug)]
struct PythonRun {
    strategy: Py<PyAny>,
    /// The bound method, which is called in every pass.
    decide: Py<PyAny>,
    fleet: Py<Fleet>,
    raised: Raised,
}

impl PythonRun {
    fn decided(&self, py: Python<'_>, now: u64, news: &[News]) -> PyResult<Decided> {
        self.fleet.borrow_mut(py).learn(now, news);
        let seconds = now as f64 / SECOND;
        let named = self.decide.bind(py).call1((seconds, &self.fleet))?;
        let targets = if named.is_none() {
            Vec::new()
        } else {
            targets_of(&named)?
        };
        let mut fleet = self.fleet.borrow_mut(py);
        for target in targets {
            let revision = fleet.wanted;
            fleet.instruct(target, revision)?;
        }
        Ok(std::mem::take(&mut fleet.decided))
    }

    fn held(&self, py: Python<'_>) -> PyResult<Held> {
        let named = self
            .strategy
            .bind(py)
            .call_method1(intern!(py, "hold"), (&self.fleet,))?;
        if named.is_none() {
            return Ok(Held::default());
        }
        if let Ok(explanation) = named.cast::<PyString>() {
            let rule = self.strategy.bind(py).get_type().name()?.to_string();
            return Ok(Held {
                rule,
                explanation: explanation.to_string(),
            });
        }
        let (rule, explanation) = named.extract()?;
        Ok(Held { rule, explanation })
    }
}

impl RunDecider for PythonRun {
    fn decide(&mut self, now: u64, news: &[News]) -> Result<Decided, String> {
        Python::attach(|py| {
            let decided = self.decided(py, now, news);
            decided.map_err(|error| failed(py, error, "decide", &self.raised))
        })
    }

    fn hold(&mut self) -> Result<Held, String> {
        Python::attach(|py| {
            let held = self.held(py);
            held.map_err(|error| failed(py, error, "hold", &self.raised))
        })
    }
}

/// A cluster of the fleet, as a strategy sees it.
#[pyclass(frozen, module = "fleetsim._fleetsim")]
#[derive(Debug)]
pub(crate) struct Target {
    /// The number of the target, from 0.
    #[pyo3(get)]
    index: u32,
    /// The name of the cluster.
    #[pyo3(get)]
    name: String,
    /// The group of the fleet that contains the cluster.
    #[pyo3(get)]
    group: String,
    /// The labels at the start of the run.
    #[pyo3(get)]
    labels: BTreeMap<String, String>,
    /// Whether a person has paused the cluster.
    #[pyo3(get)]
    paused: bool,
    /// Whether the cluster has an agent.
    #[pyo3(get)]
    registered: bool,
}

#[pymethods]
impl Target {
    fn __repr__(&self) -> String {
        format!("Target({}, {:?})", self.index, self.name)
    }

    /// The number, so that a target can be an index.
    const fn __index__(&self) -> u32 {
        self.index
    }
}

/// A piece of news: what a target reports, or what a person does.
#[pyclass(frozen, module = "fleetsim._fleetsim")]
#[derive(Debug)]
pub(crate) struct Change {
    news: News,
}

#[pymethods]
impl Change {
    /// The time at which the controller saw it, in seconds.
    #[getter]
    fn at(&self) -> f64 {
        self.news.at as f64 / SECOND
    }

    /// The number of the target. `None`: a person acts.
    #[getter]
    const fn target(&self) -> Option<u32> {
        self.news.target
    }

    /// The revision that the target has applied.
    #[getter]
    const fn applied(&self) -> Option<u32> {
        self.news.applied
    }

    /// Whether all workloads of that revision are ready.
    #[getter]
    const fn ready(&self) -> Option<bool> {
        self.news.ready
    }

    /// Why an apply fails. Empty: it does not fail any more.
    #[getter]
    const fn failing(&self) -> Option<&'static str> {
        self.news.failing
    }

    /// Whether a person stops (`True`) or resumes (`False`) the rollout.
    #[getter]
    const fn stop(&self) -> Option<bool> {
        self.news.stop
    }

    /// The stage that a person approves, and `before` or `after`.
    #[getter]
    fn approve(&self) -> Option<(String, &'static str)> {
        let Approval { stage, when } = self.news.approve.as_ref()?;
        let when = match when {
            ApprovalTime::Before => "before",
            ApprovalTime::After => "after",
        };
        Some((stage.clone(), when))
    }

    /// The revision that a person publishes.
    #[getter]
    const fn release(&self) -> Option<u32> {
        self.news.release
    }

    /// Whether the target belongs to the rollout from now on.
    #[getter]
    const fn selected(&self) -> Option<bool> {
        self.news.selected
    }
}

/// What is known of a target.
#[derive(Clone, Copy, Debug)]
struct TargetState {
    assigned: u32,
    applied: u32,
    ready: bool,
    /// Whether instructions can reach the target, and it belongs to the rollout.
    is_open: bool,
}

/// The fleet, as a strategy sees it: the state of each target after the latest news.
#[pyclass(module = "fleetsim._fleetsim")]
#[derive(Debug)]
pub(crate) struct Fleet {
    targets: Py<PyTuple>,
    states: Vec<TargetState>,
    /// The revision that is rolled out.
    #[pyo3(get)]
    wanted: u32,
    /// Whether a person has stopped the rollout.
    #[pyo3(get)]
    stopped: bool,
    /// A number that belongs to the run, for random choices.
    #[pyo3(get)]
    seed: u64,
    now: u64,
    news: Vec<News>,
    decided: Decided,
    /// The number of targets that were told to run the wanted revision and are not ready on it.
    in_flight: usize,
    /// All targets before this number are not waiting, so that a search need not begin at the first one.
    first_waiting: usize,
}

impl Fleet {
    fn of(py: Python<'_>, hello: &Hello<'_>) -> PyResult<Self> {
        let mut targets = Vec::with_capacity(hello.targets.len());
        let mut states = Vec::with_capacity(hello.targets.len());
        for (index, target) in hello.targets.iter().enumerate() {
            let revision = target.revision.unwrap_or(hello.release.installed);
            let paused = target.paused.unwrap_or(false);
            let registered = target.registered.unwrap_or(true);
            states.push(TargetState {
                assigned: revision,
                applied: revision,
                ready: revision != 0,
                is_open: registered && !paused,
            });
            let target = Target {
                index: index as u32,
                name: target.name.to_owned(),
                group: target.group.to_owned(),
                labels: target.labels.clone(),
                paused,
                registered,
            };
            targets.push(Py::new(py, target)?);
        }
        Ok(Self {
            targets: PyTuple::new(py, targets)?.unbind(),
            states,
            wanted: hello.release.revision,
            stopped: false,
            seed: hello.seed,
            now: 0,
            news: Vec::new(),
            decided: Decided::default(),
            in_flight: 0,
            first_waiting: 0,
        })
    }

    const fn is_in_flight(&self, state: TargetState) -> bool {
        state.assigned == self.wanted && !state.ready
    }

    const fn is_waiting(&self, state: TargetState) -> bool {
        state.is_open && state.assigned != self.wanted
    }

    /// Changes what is known of a target.
    fn set(&mut self, target: usize, state: TargetState) {
        let before = self.states[target];
        self.in_flight -= usize::from(self.is_in_flight(before));
        self.in_flight += usize::from(self.is_in_flight(state));
        self.states[target] = state;
        if self.is_waiting(state) {
            self.first_waiting = self.first_waiting.min(target);
        }
    }

    /// Takes in the news of a pass.
    fn learn(&mut self, now: u64, news: &[News]) {
        self.now = now;
        for item in news {
            self.stopped = item.stop.unwrap_or(self.stopped);
            if let Some(revision) = item.release {
                self.release(revision);
            }
            let Some(target) = item.target.map(|target| target as usize) else {
                continue;
            };
            let mut state = self.states[target];
            if let (Some(applied), Some(ready)) = (item.applied, item.ready) {
                state.applied = applied;
                state.ready = ready && applied == state.assigned;
            }
            state.is_open = item.selected.unwrap_or(state.is_open);
            self.set(target, state);
        }
        self.news = news.to_vec();
    }

    /// A person has published a revision, which is now the wanted one.
    fn release(&mut self, revision: u32) {
        self.wanted = revision;
        self.first_waiting = 0;
        let states = self.states.iter();
        self.in_flight = states.filter(|state| self.is_in_flight(**state)).count();
    }

    /// Records an instruction.
    fn instruct(&mut self, target: u32, revision: u32) -> PyResult<()> {
        let Some(state) = self.states.get(target as usize) else {
            let message = format!(
                "a target must be a number from 0 to {}, not {target}",
                self.states.len().saturating_sub(1)
            );
            return Err(PyIndexError::new_err(message));
        };
        let state = TargetState {
            assigned: revision,
            ready: false,
            ..*state
        };
        self.set(target as usize, state);
        self.decided.deploy.push(Instruction { target, revision });
        Ok(())
    }

    fn state(&self, target: &Bound<'_, PyAny>) -> PyResult<TargetState> {
        let number = target_number(target)?;
        let state = self.states.get(number as usize);
        state
            .copied()
            .ok_or_else(|| PyIndexError::new_err(format!("there is no target {number}")))
    }
}

#[pymethods]
impl Fleet {
    fn __len__(&self) -> usize {
        self.states.len()
    }

    /// All targets.
    #[getter]
    fn targets(&self, py: Python<'_>) -> Py<PyTuple> {
        self.targets.clone_ref(py)
    }

    /// The time of the pass in nanoseconds of virtual time.
    #[getter]
    const fn now_ns(&self) -> u64 {
        self.now
    }

    /// The changes since the last pass.
    #[getter]
    fn news(&self) -> Vec<Change> {
        let news = self.news.iter();
        news.map(|news| Change { news: news.clone() }).collect()
    }

    /// The number of targets that were told to run the wanted revision and are not ready on it yet.
    #[getter]
    const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The numbers of these targets, in order.
    fn all_in_flight(&self) -> Vec<u32> {
        self.numbers(|state| self.is_in_flight(state))
    }

    /// The numbers of the first `most` targets that were not told to run the wanted revision yet, in order.
    #[pyo3(signature = (most = None))]
    fn waiting(&mut self, most: Option<usize>) -> Vec<u32> {
        let most = most.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let mut first = None;
        for at in self.first_waiting..self.states.len() {
            if found.len() == most {
                break;
            }
            if self.is_waiting(self.states[at]) {
                first.get_or_insert(at);
                found.push(at as u32);
            }
        }
        if most > 0 {
            self.first_waiting = first.unwrap_or(self.states.len());
        }
        found
    }

    /// The number of targets that are ready on the wanted revision.
    #[getter]
    fn done(&self) -> usize {
        let states = self.states.iter();
        let done = states.filter(|state| state.ready && state.assigned == self.wanted);
        done.count()
    }

    /// Whether the target is ready on the revision that it was told to run.
    fn is_ready(&self, target: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.state(target)?.ready)
    }

    /// Whether the target was told to run the wanted revision.
    fn is_told(&self, target: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.state(target)?.assigned == self.wanted)
    }

    /// The revision that the target has applied last. 0: none.
    fn applied(&self, target: &Bound<'_, PyAny>) -> PyResult<u32> {
        Ok(self.state(target)?.applied)
    }

    /// Tells the target to run a revision, by default the wanted one; 0 removes what is installed.
    #[pyo3(signature = (target, revision = None))]
    fn deploy(&mut self, target: &Bound<'_, PyAny>, revision: Option<u32>) -> PyResult<()> {
        let number = target_number(target)?;
        self.instruct(number, revision.unwrap_or(self.wanted))
    }

    /// Asks for another pass at this time in seconds, even without news. The earliest of several times counts.
    fn wake(&mut self, at: f64) -> PyResult<()> {
        let at = at * SECOND;
        if !(at.is_finite() && at > self.now as f64) {
            let message = "`wake` must be later than now; time does not go back";
            return Err(PyValueError::new_err(message));
        }
        let at = (at.round() as u64).max(self.now + 1);
        let earlier = self.decided.wake.map_or(at, |wake| wake.min(at));
        self.decided.wake = Some(earlier);
        Ok(())
    }

    /// Asks people to approve a stage, before or after it.
    #[pyo3(signature = (stage, when = "after"))]
    fn ask_approval(&mut self, stage: String, when: &str) -> PyResult<()> {
        let when = match when {
            "before" => ApprovalTime::Before,
            "after" => ApprovalTime::After,
            _ => {
                let message = format!("`when` must be \"before\" or \"after\", not {when:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        self.decided.approvals.push(Approval { stage, when });
        Ok(())
    }
}

impl Fleet {
    /// Returns the numbers of the targets in a state.
    fn numbers(&self, is_meant: impl Fn(TargetState) -> bool) -> Vec<u32> {
        let mut numbers = Vec::new();
        for (at, state) in self.states.iter().enumerate() {
            if is_meant(*state) {
                numbers.push(at as u32);
            }
        }
        numbers
    }
}
