"""Exceptions and warnings, and the logger."""

import logging
import re

logger = logging.getLogger("prevail")


class PrevailWarning(UserWarning):
    """The result may not be what was wanted; the text says why and what to do."""


class PrevailError(Exception):
    """Something that the library could not do.

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
    """

    def __init__(self, message, status="internal", file=None, row=None, column=None):
        super().__init__(message)
        self.status, self.file, self.row, self.column = status, file, row, column

    def __reduce__(self):
        return type(self), (self.args[0], self.status, self.file, self.row, self.column)


class InputError(PrevailError, ValueError):
    """Data or an argument that cannot be used."""


class FileError(PrevailError, OSError):
    """A file that cannot be read or written."""


class NumericError(PrevailError, ArithmeticError):
    """Numbers that left their domain."""


KINDS = {
    "usage": InputError,
    "input": InputError,
    "format": InputError,
    "path": FileError,
    "write": FileError,
    "numeric": NumericError,
}

_OPTION = re.compile(r"`([a-z][a-z0-9-]*)`")


def in_python(text):
    """A text of the library with its options as arguments are written here: `prevalence-n` is `prevalence_n`."""
    return _OPTION.sub(lambda match: "`" + match.group(1).replace("-", "_") + "`", text)
