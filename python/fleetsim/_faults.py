"""Failure models in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from fleetsim._fleetsim import Rng, Site

__all__ = ["Faults", "Outage"]


class Outage(NamedTuple):
    """An outage of one site. Times are seconds from the start of the run."""

    site: int | Site
    start: float
    duration: float
    #: What the outage cuts: all traffic, or only the link to the management cluster.
    cuts: Literal["all", "management"] = "all"
    #: The share of the downlink that remains, for a brownout in place of a cut.
    downlink: float | None = None


class Faults(ABC):
    """A failure model of your own: subclass it and write :meth:`outages`.

    It adds to the ``faults`` of the experiment. All random numbers must come from ``rng``: the same seed and replicate
    then give the same outages, under every strategy and on any number of threads.

    >>> import fleetsim as fs
    >>> class Storms(fs.Faults):
    ...     def outages(self, sites, horizon, rng):
    ...         at = 0.0
    ...         while (at := at + rng.exponential(mean=3600)) < horizon:
    ...             for site in rng.sample(sites, len(sites) // 10):
    ...                 yield fs.Outage(site, at, rng.lognormal(median=600, sigma=0.5))
    """

    @abstractmethod
    def outages(self, sites: Sequence[Site], horizon: float, rng: Rng) -> Iterable[Outage]:
        """Names all outages of one run that begin before ``horizon``, in seconds."""
