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

# An option, and what follows it up to the end of the word: a quoted name counts as one.
_OPTION = re.compile(r"`([a-z][a-z0-9-]*)`(?: ('[^']*'|[^\s`]*[^\s`.,;:)]))?")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.e+-]*")
_SHARE = re.compile(r"([^\s=]+)=([0-9.e+-]+)(%?)")
# What is given to an option, by its name: words of its own, or the name of a column. All other words go on in a sentence.
_WORDS = {
    "batch": "auto full",
    "collinear": "warn refuse keep",
    "constant": "refuse drop",
    "design": "uniform balanced optimal",
    "infer": "map ml laplace vi hmc robust",
    "intercept-prior": "auto none normal student laplace jeffreys",
    "loss": "ig iw plain matched",
    "marginal": "profile plugin auxiliary",
    "match": "auto none shrunk full",
    "method": "exact vb em bbse",
    "missing": "refuse drop indicator impute",
    "model": "linear ordinal mlp convnet inception",
    "population": "true design unknown",
    "prevalence-n": "auto known rows",
    "prior": "usual auto none normal student laplace",
    "robust": "auto",
    "schedule": "cosine constant",
    "start": "prevalence zero",
    "stated-for": "rows population",
    "weights-are": "auto counts sampling",
}
_COLUMNS = {"exclude", "id", "strata", "matched", "offset", "cluster", "group", "features", "categorical"}
_SENTENCE = set(
    "out it them is are and or as with does do the a says needs takes has knows names each go choose sets of for in if "
    "that to by on instead which".split()
)


def _given(option, word):
    """What follows an option as a value is written here; None where it is the next word of a sentence."""
    if word is None:
        return None
    share = _SHARE.fullmatch(word)
    if share and option in ("prevalence", "population", "to", "from", "stated-for"):
        value = float(share.group(2)) / (100 if share.group(3) else 1)
        return f"{{{share.group(1)!r}: {value:g}}}"
    if _NUMBER.fullmatch(word):
        return word
    if word.split(":")[0] in _WORDS.get(option, "").split():
        return repr(word)
    if option in _COLUMNS and word not in _SENTENCE:
        return repr(word.strip("'"))
    return None


def in_python(text):
    """A text of the library with its options as arguments are written here.

    >>> in_python("leave it out with `exclude` age, or use `missing` drop; `prevalence-n` is a number")
    "leave it out with `exclude='age'`, or use `missing='drop'`; `prevalence_n` is a number"
    """

    def argument(match):
        option, word = match.group(1), match.group(2)
        value, name = _given(option, word), option.replace("-", "_")
        if value is None and word and text[match.end() : match.end() + 1] == ":" and word not in _SENTENCE:
            value = repr(word.strip("'"))  # what was given, and what is wrong with it
        if value is not None:
            return f"`{name}={value}`"
        return f"`{name}`" + ("" if word is None else " " + word)

    return _OPTION.sub(argument, text)
