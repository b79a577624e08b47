"""Calibrated classifiers from data whose classes were sampled by design.

Two estimators of scikit-learn's kind, `PrevalenceAdjusted` around any classifier and `PrevalenceClassifier` for the
library's own fits; what their probabilities are worth in the population (`evaluate`, `Scorer`, `net_benefit`,
`report`, displays); probabilities in another population (`adjust`, `infer_prevalence`, `decide`).
"""

from ._adjusted import PrevalenceAdjusted
from ._classifier import PrevalenceClassifier
from ._display import CalibrationDisplay, DecisionCurveDisplay, PrecisionRecallDisplay, RocDisplay
from ._errors import ConvergenceWarning, FileError, InputError, NumericError, PrevailError, PrevailWarning
from ._judge import Evaluation, Metric, Report, Scorer, evaluate, net_benefit, report
from ._options import options
from ._population import Decisions, InferredPrevalence, adjust, decide, infer_prevalence
from ._ranks import Ranks
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
    "Report",
    "RocDisplay",
    "Scorer",
    "__version__",
    "adjust",
    "decide",
    "evaluate",
    "infer_prevalence",
    "net_benefit",
    "options",
    "report",
]
