"""Labels as codes, and prevalences as the library reads them."""

import ctypes
import math
import numbers
import re
import warnings
from collections.abc import Mapping

import numpy as np

from ._errors import InputError, PrevailWarning
from ._frames import by_label, encode, is_guess, label_text, label_texts, listed, positive_index, texts


def is_missing(label):
    """None, NaN or pandas' NA, which is neither equal to itself nor not."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def check_no_label_is_missing(y):
    """Rejects an array of labels with a missing label."""
    if y.dtype.kind not in "fO" or y.ndim != 1:
        return
    absent = np.isnan(y) if y.dtype.kind == "f" else np.fromiter(map(is_missing, y), bool, len(y))
    if absent.any():
        row = int(absent.argmax())
        raise InputError(f"Input y contains NaN: there is no label in row {row}", "input", row=row)


def classes_and_codes(y, classes=None):
    """The labels of y in order, and the place of each row's label among them.

    If classes are given, a label that is not one of them is an error.
    """
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"labels are one per row, and y has the shape {y.shape}", "input")
    if len(y) == 0:
        raise InputError("y has no rows", "input")
    check_no_label_is_missing(y)
    found = _small_integers(y)
    if found is None:
        values, codes = np.unique(y, return_inverse=True)
        codes = codes.reshape(-1)
    else:
        values, codes = found
    if classes is None:
        return values, codes
    wanted = {label_text(label): i for i, label in enumerate(classes)}
    place = np.array([wanted.get(label_text(label), -1) for label in values], dtype=np.int32)
    if (place < 0).any():
        label = values[int((place < 0).argmax())]
        row = int((codes == int((place < 0).argmax())).argmax())
        raise InputError(
            f"y has the label {label_text(label)} in row {row}, which is not one of the classes: {listed(wanted)}",
            "input",
            row=row,
        )
    return np.asarray(classes), codes if (place == np.arange(len(place))).all() else place[codes]


def _small_integers(y):
    """The same without a sort, for whole numbers close together."""
    if y.dtype.kind not in "biu":
        return None
    low, high = int(y.min()), int(y.max())
    if high - low > 1000:
        return None
    if high - low == 1:
        return np.array([low, high]).astype(y.dtype), (y != y.dtype.type(low)).astype(np.int32)
    codes = y.astype(np.intp) - low
    present = np.bincount(codes, minlength=high - low + 1) > 0
    values = np.arange(low, high + 1)[present].astype(y.dtype)
    return values, codes if present.all() else (np.cumsum(present) - 1)[codes]


def prevalence_text(prevalence, classes, positive=None, option="prevalence"):
    """A prevalence as the command's options have it; None stays None.

    A number is that of the positive class of two; a sequence has one number for each of the classes, in their order; a
    mapping, or a Series of pandas, has them by label; a text is the library's own form, an interval such as "0.005-0.02" among others.
    """
    if prevalence is None:
        return None
    if isinstance(prevalence, str):
        if _STARTS_AS_NUMBER.match(prevalence):
            _of_which(option, prevalence, classes, positive)
        return prevalence
    labels = label_texts(classes)
    prevalence = by_label(prevalence, classes)
    if isinstance(prevalence, Mapping):
        given = {label_text(label): float(share) for label, share in prevalence.items()}
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise InputError(
                f"`{option}`: there is no label {unknown[0]!r}; the labels are {listed(labels)}", "usage"
            )
        return ",".join(f"{label}={share!r}" for label, share in given.items())
    if isinstance(prevalence, numbers.Real) and not isinstance(prevalence, bool):
        if len(labels) != 2:
            raise InputError(
                f"`{option}={prevalence!r}` is one number, and there are {len(labels)} classes ({listed(labels)}): "
                "give one for each, as a mapping or in their order",
                "usage",
            )
        share = float(prevalence)
        if not 0 < share < 1 or math.isnan(share):
            raise InputError(
                f"`{option}={prevalence!r}`: a prevalence is between 0 and 1" + _percent(share), "usage"
            )
        if share != 0.5:
            _of_which(option, share, classes, positive)
        return f"{labels[positive_index(classes, positive)]}={share!r}"
    shares = np.asarray(prevalence, dtype=np.float64)
    if shares.shape != (len(labels),):
        raise InputError(
            f"`{option}` has the shape {shares.shape}, and there are {len(labels)} classes: {listed(labels)}", "usage"
        )
    if option in _OF_POPULATIONS and len(labels) == 2:
        at = positive_index(classes, positive)
        if 0.5 < shares[at] < 1 and math.isclose(shares.sum(), 1, rel_tol=1e-6):
            warnings.warn(
                f"{option}={[float(share) for share in shares]}: a sequence is in the order of the classes, {labels[0]}, "
                f"{labels[1]}, which makes {labels[at]} the more common one. If that is meant, give it by label: "
                f"{{{_shown(classes[0])}: {float(shares[0]):g}, {_shown(classes[1])}: {float(shares[1]):g}}}",
                PrevailWarning,
                stacklevel=4,
            )
    return ",".join(f"{label}={float(share)!r}" for label, share in zip(labels, shares))


def _of_which(option, share, classes, positive):
    """Raises an error if it is unclear which label a single number refers to."""
    if not is_guess(classes, positive):
        return
    one, other = (_shown(label) for label in classes)
    by_label = f"{option}={share!r}" if isinstance(share, str) else f"{option}={{{one}: {share!r}, {other}: {1 - share:.6g}}}"
    by_label = f"use positive={one} or positive={other}" if isinstance(share, str) else f"say {by_label} if it is that of {one}, or name it with `positive`"
    raise InputError(f"`{option}={share!r}`: which label has it, {one} or {other}? {by_label[0].upper()}{by_label[1:]}", "usage")


_STARTS_AS_NUMBER = re.compile(r"\s*[0-9.][^=,]*$")


# Used for statements about a population, in which the positive class is rarely the majority; in designs it may be.
_OF_POPULATIONS = {"prevalence", "population", "to", "stated_for"}


def _shown(label):
    return repr(label.item() if isinstance(label, np.generic) else label)


def missing_prevalence(option, classes, positive=None):
    """The message for a prevalence that is needed but missing."""
    if len(classes) != 2:
        by_label = ", ".join(f"{_shown(label)}: ..." for label in classes[:3])
        return f"`{option}` is missing: state how common each class is, {option}={{{by_label}}}"
    at = positive_index(classes, positive)
    return (
        f"`{option}` is missing: state how common {label_text(classes[at])} is, {option}=0.02 for one in fifty, or by label, "
        f"{option}={{{_shown(classes[1 - at])}: 0.98, {_shown(classes[at])}: 0.02}}"
    )


def _percent(share):
    return f"; is it {share / 100:g}, that is {share:g} %?" if 1 < share <= 100 else ""


def shares(ctx, option, prevalence, classes, positive=None):
    """The prevalence of each class, in their order, as the library reads it."""
    labels = label_texts(classes)
    if prevalence is None:
        raise InputError(missing_prevalence(option, classes, positive), "usage")
    found = (ctypes.c_double * len(labels))()
    text = prevalence_text(prevalence, classes, positive, option)
    turned = len(labels) == 2 and positive_index(classes, positive) == 0 and "," not in text  # one number is that of the last
    named = texts(labels[::-1] if turned else labels)
    ctx.call("pv_prevalence_parse_one", encode(f"`{option}`"), encode(text), named, len(labels), found)
    return np.array(found)[::-1] if turned else np.array(found)
