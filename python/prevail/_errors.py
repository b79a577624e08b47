"""Exceptions and warnings, and the logger."""

from __future__ import annotations

import keyword
import logging
import re

import sklearn.exceptions

logger = logging.getLogger("prevail")


class PrevailWarning(UserWarning):
    """The result may not be what was intended; the message says why and what to do."""


class ConvergenceWarning(PrevailWarning, sklearn.exceptions.ConvergenceWarning):
    """The optimiser or the sampler stopped before it converged."""


class PrevailError(Exception):
    """An operation of the library failed.

    Attributes
    ----------
    status : str
        The kind of error, as the library names it: "input", "usage", "numeric", ...
    file : str or None
        The file concerned.
    row : int or None
        The row of the data concerned, from 0.
    column : str or None
        The column concerned.
    option : str or None
        The parameter concerned.
    value : str or None
        Its value, if that is the problem.
    problem : str
        What is wrong.
    remedy : str or None
        How to fix it.
    """

    def __init__(
        self,
        message: str,
        status: str = "internal",
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        option: str | None = None,
        value: str | None = None,
        problem: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.file, self.row, self.column = status, file, row, column
        self.option, self.value, self.problem, self.remedy = option, value, problem or message, remedy

    def __reduce__(self):
        told = (self.status, self.file, self.row, self.column, self.option, self.value, self.problem, self.remedy)
        return type(self), (self.args[0], *told)


class InputError(PrevailError, ValueError):
    """Data or an argument that cannot be used."""


class FileError(PrevailError, OSError):
    """A file that cannot be read or written."""


class NumericError(PrevailError, ArithmeticError):
    """A numerical failure."""


KINDS = {
    "usage": InputError,
    "input": InputError,
    "format": InputError,
    "path": FileError,
    "write": FileError,
    "numeric": NumericError,
}

# A reference to an option in a text of the library: `name` or `name=value`. A backquote in a value is doubled.
_OPTION = re.compile(r"`([a-z][a-z0-9-]*)(?:=((?:[^`]|``)*))?`")
_UNQUOTED = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?|[A-Z]+")  # a number, or what stands for one: N


def parameter(name):
    """The parameter that an option is here."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def in_python(text):
    """A text of the library with its options as arguments are written here.

    >>> in_python("leave it out with `exclude=age`, or use `missing=drop`; `prevalence-n=100` is a number")
    "leave it out with `exclude='age'`, or use `missing='drop'`; `prevalence_n=100` is a number"
    """

    def argument(match):
        name, value = parameter(match.group(1)), match.group(2)
        if value is None:
            return f"`{name}`"
        value = value.replace("``", "`")
        return f"`{name}={value if _UNQUOTED.fullmatch(value) else repr(value)}`"

    return _OPTION.sub(argument, text)
