"""fleetsim simulates rollouts across thousands of Kubernetes clusters, and the load that they put on an image registry.

>>> import fleetsim as fs
>>> exp = fs.Experiment({
...     "name": "two-ways",
...     "question": "How many clusters may update at once?",
...     "fleet": [{"name": "site-{01..20}", "downlink": "50 Mbit/s"}],
...     "release": {"images": [{"name": "app", "manifest": {"layers": [{"size": "80 MB"}]}}],
...                 "workloads": [{"kind": "Deployment", "image": "app", "replicas": 1}]},
...     "strategies": {"all": {"allAtOnce": {}}, "five": {"batches": {"size": 5}}},
... })
>>> r = exp.run(replicates=3)
>>> sorted(set(r.runs.rows("strategy", "outcome")))
[('all', 'complete'), ('five', 'complete')]

``r.answer`` is the answer, ``r.summary`` and the other tables give pandas, Polars or Arrow, and ``r.plot`` has the
charts. Results are byte for byte those of the command ``fleetsim run``. See ``docs/python.md`` of the repository.
"""

from __future__ import annotations

from fleetsim import _fleetsim
from fleetsim._errors import CommandFailed, FleetsimError, InternalError, InvalidExperiment, Problem
from fleetsim._experiment import Experiment, compare, load, merge
from fleetsim._faults import Faults, Outage
from fleetsim._fleetsim import ArrowTable, Change, Fleet, Rng, Site, Target, __version__
from fleetsim._plot import Chart, Plots
from fleetsim._results import Answer, Comparison, Forecast, Plan, Results, Sensitivity, Text, read
from fleetsim._strategy import Strategy
from fleetsim._table import Table

__all__ = [
    "Answer",
    "ArrowTable",
    "Change",
    "Chart",
    "CommandFailed",
    "Comparison",
    "Experiment",
    "Faults",
    "Fleet",
    "FleetsimError",
    "Forecast",
    "InternalError",
    "InvalidExperiment",
    "Outage",
    "Plan",
    "Plots",
    "Problem",
    "Results",
    "Rng",
    "Sensitivity",
    "Site",
    "Strategy",
    "Table",
    "Target",
    "Text",
    "__version__",
    "compare",
    "load",
    "merge",
    "read",
]

_fleetsim.set_library(str(_fleetsim.__file__))
