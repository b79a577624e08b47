"""A context of the library: errors become exceptions, its log goes to `logging` and `warnings`, Ctrl-C stops it."""

import ctypes
import json
import logging
import signal
import sys
import threading
import warnings
from contextlib import contextmanager

import numpy as np

from . import _c
from ._c import lib
from ._errors import KINDS, PrevailError, PrevailWarning, in_python, logger, parameter

_DEBUG, _INFO, _WARNING = -1, 0, 1  # pv_log_level
_LEVELS = {_DEBUG: logging.DEBUG, _INFO: logging.INFO, _WARNING: logging.WARNING}


def _array(result, name):
    """A copy of an array of a result, [rows][columns]."""
    rows, columns = ctypes.c_size_t(), ctypes.c_size_t()
    data = lib.pv_result_array(lib.pv_result_get(result, name.encode()), ctypes.byref(rows), ctypes.byref(columns))
    shape = (rows.value, columns.value) if columns.value else (rows.value,)
    return np.ctypeslib.as_array(data, shape).copy() if rows.value else np.empty(shape)


class _Interrupts:
    """Ctrl-C while the library works.

    Python runs a signal's handler when it next runs Python code, which is in a callback; the exception of the usual
    handler would be lost there. So the handler is another one for as long as a context is in use on the main thread:
    it takes note, and the context raises KeyboardInterrupt once the library has come back. A handler of the user's own
    stays.
    """

    def __init__(self):
        self.depth = 0
        self.hit = False

    def _note(self, number, frame):
        self.hit = True

    def enter(self):
        """Whether this context is to look for Ctrl-C."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if self.depth == 0:
            if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                return False
            self.hit = False
            signal.signal(signal.SIGINT, self._note)
        self.depth += 1
        return True

    def leave(self):
        self.depth -= 1
        if self.depth == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.hit = False


_interrupts = _Interrupts()


class Context:
    """One piece of work on one thread; used in a `with` statement.

    Parameters
    ----------
    threads : int or None
        The most threads that the library uses; None: as many as the machine has.
    verbose : int or bool
        Whether to show progress.
    names : dict of str to list of str
        The columns of tables in memory by the name of the table, for messages.
    looks : bool
        Whether Ctrl-C stops the work; not where it takes a moment.
    """

    def __init__(self, threads=None, verbose=0, names=None, looks=True):
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise ValueError(f"threads={threads!r}: give a number of at least 1, or None for all")
        self.names = names or {}
        self.stopped = False
        self._resumed = False
        self._warnings = []
        self._cleanup = []
        self._kept = []
        self._bar = None
        handle = ctypes.c_void_p()
        if lib.pv_ctx_new(None, ctypes.byref(handle)) != 0:
            raise MemoryError
        self.handle = handle
        self._log = _c.pv_log_call(self._on_log)
        self._poll = _c.pv_poll_call(self._on_poll)
        level = _DEBUG if logger.isEnabledFor(logging.DEBUG) else _INFO
        lib.pv_ctx_set_log(handle, self._log, None, level)
        lib.pv_ctx_set_poll(handle, self._poll, None)
        if threads is not None:
            lib.pv_ctx_set_threads(handle, threads)
        self._looks = looks and _interrupts.enter()
        if verbose:
            from ._progress import Bar

            self._bar = Bar()
            self._progress = _c.pv_progress_call(self._on_progress)
            lib.pv_ctx_set_progress(handle, self._progress, None)

    # ---- callbacks: an exception cannot propagate through C ----------------------------------------------------------

    def _on_log(self, state, level, message):
        text = in_python(message.decode("utf-8", "replace"))
        if level >= _WARNING:  # told by `warnings`, and once
            self._warnings.append((text, PrevailWarning))
            return
        logger.log(_LEVELS.get(level, logging.INFO), "%s", text)

    def _on_poll(self, state):
        self.stopped = self.stopped or (self._looks and _interrupts.hit)
        return self.stopped and not self._resumed

    def _on_progress(self, state, progress):
        self._bar.update(progress.contents)

    def resume(self):
        """After Ctrl-C: lets what is left be done with what there is. The exception follows at the end."""
        if self.stopped:
            self._resumed = True
            lib.pv_ctx_clear_interrupt(self.handle)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def call(self, name, *arguments):
        """Calls a function of the library; raises what its status says."""
        status = getattr(lib, name)(self.handle, *arguments)
        if status != 0:
            self._fail(status)

    def new(self, name, *arguments, kind=ctypes.c_void_p, free=None):
        """Calls a function that makes an object, its last argument; frees it with the context where free is named."""
        made = kind()
        self.call(name, *arguments, ctypes.byref(made))
        return self.later(free, made) if free else made

    def tree(self, name, *arguments, arrays=()):
        """Calls a function that makes a result, its last argument: a mapping, in which undefined numbers are None. arrays: the
        members that are arrays of numbers."""
        made, text = self.new(name, *arguments), ctypes.c_char_p()
        try:
            self.call("pv_result_json", made, ctypes.byref(text))
            found = json.loads(text.value)
            for array in arrays:
                found[array] = _array(made, array)
            return found
        finally:
            lib.pv_result_text_free(self.handle, text)
            lib.pv_result_free(made)

    def later(self, free, made):
        """Has an object freed with the context, the last one first."""
        self._cleanup.append((free, made))
        return made

    def keep(self, *borrowed):
        """Keeps objects alive as long as the context, because the library borrows their memory."""
        self._kept.extend(borrowed)

    def warn(self, text, category=PrevailWarning):
        """A warning from the library, issued at the end."""
        self._warnings.append((in_python(text), category))

    def _fail(self, status):
        word = lib.pv_status_name(status).decode()
        error = lib.pv_ctx_error(self.handle).contents
        if word == "interrupted":
            raise KeyboardInterrupt
        if word == "memory":
            raise MemoryError("prevail: out of memory")
        message, problem, remedy, option, value, file = (
            getattr(error, field).decode("utf-8", "replace") for field in ("message", "problem", "remedy", "option", "value", "file")
        )
        message, file = in_python(message), file or None
        told = (parameter(option) or None, value or None, in_python(problem), in_python(remedy) or None)
        row = column = None
        columns = self.names.get(file)
        if columns is not None:  # a table in memory: its lines are those of a CSV file with a header
            row = error.line - 2 if error.line >= 2 else None
            column = columns[error.column - 1] if 1 <= error.column <= len(columns) else None
            message = f"{file}: {message}" + ("" if row is None else f" (row {row}, counted from 0)")
            file = None
        elif file:
            place = f"{file}:{error.line}" if error.line else file
            message = f"{place}: {message}"
        raise KINDS.get(word, PrevailError)(message, word, file, row, column, *told)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self._bar:
            self._bar.close()
        for name, made in reversed(self._cleanup):
            getattr(lib, name)(self.handle, made)
        lib.pv_ctx_free(self.handle)
        self.handle = None
        if self._looks:
            self.stopped = self.stopped or _interrupts.hit  # it may have come after the library's last look
            _interrupts.leave()
        if self.stopped and kind is None:
            raise KeyboardInterrupt
        if kind is None:
            for text, category in dict.fromkeys(self._warnings):
                warnings.warn(text, category, stacklevel=_outside())


def _outside():
    """How many frames up the first one lies that is not this package's: where a warning is to point."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("prevail."):
        level, frame = level + 1, frame.f_back
    return level


@contextmanager
def brief():
    """A context for short work without progress or messages."""
    handle = ctypes.c_void_p()
    if lib.pv_ctx_new(None, ctypes.byref(handle)) != 0:
        raise MemoryError
    try:
        yield handle
    finally:
        lib.pv_ctx_free(handle)
