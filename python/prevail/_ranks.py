"""Processes that share a fit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import contextmanager

from . import _c
from ._c import lib


class Ranks:
    """One of several processes that fit together, for `PrevalenceClassifier.fit_source`.

    Parameters
    ----------
    rank, size : int
        The number of this process, from 0, and the number of processes.
    gather : callable
        Takes bytes, and returns the list of all processes' bytes, in the order of ranks. All processes call it the
        same number of times. With mpi4py it is ``comm.allgather``; `prevail.dask` has one for Dask.
    """

    def __init__(self, rank: int, size: int, gather: Callable[[bytes], list[bytes]]) -> None:
        if not 0 <= rank < size:
            raise ValueError(f"rank={rank} of size={size}: ranks are 0 to size - 1")
        self.rank, self.size, self.gather = rank, size, gather
        self._failure = None

    def _on_gather(self, state, mine, count, everyone):
        try:
            parts = self.gather(ctypes.string_at(mine, count))
            if len(parts) != self.size or any(len(part) != count for part in parts):
                raise ValueError(f"gather returned {[len(part) for part in parts]} bytes, not {count} from each of {self.size}")
            ctypes.memmove(everyone, b"".join(parts), count * self.size)
        except BaseException as problem:  # it has nowhere to go from here
            self._failure = problem
            return False
        return True

    @contextmanager
    def share(self, ctx):
        """Shares the context's work within the block; if the block fails, the other ranks are notified."""
        call = _c.pv_gather_call(self._on_gather)
        ctx.keep(call)
        self._failure = None
        try:
            ctx.call("pv_ctx_set_ranks", ctypes.byref(_c.pv_ranks(self.rank, self.size, None, call)))
            yield
        except BaseException:
            lib.pv_ranks_end(ctx.handle, lib.pv_ctx_error(ctx.handle).contents.status or _FAILED)
            if self._failure is not None:
                raise self._failure from None
            raise
        ctx.call("pv_ranks_end", 0)


_FAILED = 1  # any status but PV_OK: what is wrong was found here, not in the library
