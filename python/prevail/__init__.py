"""Calibrated classifiers from data that were sampled by class.

There are two scikit-learn estimators, `PrevalenceAdjusted` around any classifier and `PrevalenceClassifier` for the
library's own fits. Other functions evaluate probabilities in the population (`evaluate`, `Scorer`, `net_benefit`,
`report`, displays) and correct them for another population (`adjust`, `infer_prevalence`, `decide`). `rate` estimates
how common labels are from imperfect verdicts. `size` says how many cases and controls a study needs, and
`sets` finds sets of labels with guaranteed coverage.
"""

from ._adjusted import PrevalenceAdjusted
from ._classifier import PrevalenceClassifier
from ._display import CalibrationDisplay, DecisionCurveDisplay, PrecisionRecallDisplay, RocDisplay
from ._errors import ConvergenceWarning, FileError, InputError, NumericError, PrevailError, PrevailWarning
from ._judge import Evaluation, Metric, Report, Scorer, evaluate, net_benefit, report
from ._options import options
from ._population import Decisions, InferredPrevalence, adjust, decide, infer_prevalence
from ._ranks import Ranks
from ._effect import Effect
from ._rate import Rate, rate
from ._size import Size, size
from ._sets import Sets, sets
from ._version import __version__


__all__ = [
    "CalibrationDisplay",
    "ConvergenceWarning",
    "DecisionCurveDisplay",
    "Decisions",
    "Evaluation",
    "FileError",
    "InferredPrevalence",
    "InputError",
    "Metric",
    "NumericError",
    "PrecisionRecallDisplay",
    "PrevailError",
    "PrevailWarning",
    "PrevalenceAdjusted",
    "PrevalenceClassifier",
    "Ranks",
    "Effect",
    "Rate",
    "Report",
    "RocDisplay",
    "Scorer",
    "Size",
    "Sets",
    "__version__",
    "adjust",
    "decide",
    "evaluate",
    "infer_prevalence",
    "net_benefit",
    "options",
    "rate",
    "report",
    "size",
    "sets",
]
