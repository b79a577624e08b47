"""Fits over the workers of a Dask cluster.

    from dask.distributed import Client
    from prevail import PrevalenceClassifier
    from prevail.dask import fit

    client = Client("scheduler:8786")
    model = fit(PrevalenceClassifier(prevalence=0.01), "/data/visits/*.parquet", "cancer", client=client)

Each worker is one rank: it reads the source itself, and computes its part of every pass over the rows. The
coefficients are bit-identical to those of one process. Ranks exchange data directly between workers, through an actor
on one of them.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from distributed import default_client, wait

from ._classifier import PrevalenceClassifier
from ._ranks import Ranks


class _Meeting:
    """The actor to which ranks send their data and from which they receive those of the others."""

    def __init__(self, size):
        self.size = size
        self.open = {}  # by number of the exchange: what came so far, and the event that all of it is there
        self.broken = None

    async def gather(self, number, rank, mine):
        parts, whole = self.open.setdefault(number, ({}, asyncio.Event()))
        parts[rank] = mine
        if len(parts) == self.size or self.broken:
            whole.set()
        await whole.wait()
        if self.broken:
            raise RuntimeError(self.broken)
        if len(parts) == self.size:
            self.open.pop(number, None)
        return [parts[i] for i in range(self.size)]

    async def break_up(self, why):
        self.broken = why
        for _, whole in self.open.values():
            whole.set()


def _take_part(estimator, source, target, arguments, rank, size, meeting):
    numbers = itertools.count()
    ranks = Ranks(rank, size, lambda mine: meeting.gather(next(numbers), rank, mine).result())
    return estimator.fit_source(source, target, ranks=ranks, **arguments)


def _lost(client, workers):
    there = client.scheduler_info()["workers"]
    return next((worker for worker in workers if worker not in there), None)


def fit(
    estimator: PrevalenceClassifier,
    source: str,
    target: str,
    *,
    client: Any = None,
    workers: list[str] | None = None,
    **arguments: Any,
) -> PrevalenceClassifier:
    """Fits a clone of the estimator on the workers, and returns it.

    Parameters
    ----------
    estimator : PrevalenceClassifier
        The estimator to fit; it is not changed.
    source, target, **arguments
        As for `PrevalenceClassifier.fit_source`. Every worker must be able to read the source.
    client : distributed.Client, optional
        The cluster; by default the current one.
    workers : list of str, optional
        The workers to use, by address; by default all of them.
    """
    client = client or default_client()
    workers = list(workers or client.scheduler_info()["workers"])
    if not workers:
        raise RuntimeError("the cluster has no workers")
    meeting = client.submit(_Meeting, len(workers), actor=True, workers=workers[:1], pure=False).result()
    parts = [
        client.submit(
            _take_part, estimator, source, target, arguments, rank, len(workers), meeting, workers=[worker], pure=False
        )
        for rank, worker in enumerate(workers)
    ]
    waiting, why = set(parts), None
    while waiting and why is None:
        try:
            done, not_done = wait(list(waiting), timeout=1, return_when="FIRST_COMPLETED")
            waiting = set(not_done)
            why = next((part.exception() for part in done if part.status == "error"), None)
        except (TimeoutError, asyncio.TimeoutError):  # two of them before Python 3.11
            lost = _lost(client, workers)
            if lost is not None:
                why = RuntimeError(f"the worker {lost} is gone; fit again")
    if why is None:
        return parts[0].result()
    if waiting and _lost(client, workers[:1]) is None:  # nobody is to wait for what does not come
        meeting.break_up(str(why)).result()
    client.cancel(parts)
    raise why
