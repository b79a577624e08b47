"""Where an identity does not hold to the last bit or to 1e-8, and why: the only place that says so.

An exception applies where the relation, the case and the value's path fit. Its tolerance replaces the relation's, and "skip"
leaves the value out, "present" asks only that both have it. A known failure is a defect: `known.py` has an input on which it must still fail, and random cases of its
kind are left out, and counted.
"""
import fnmatch
import math


class Exception_:
    def __init__(self, relations, path, tolerance, reason, when=lambda case: True):
        self.relations, self.path, self.tolerance, self.reason, self.when = relations, path, tolerance, reason, when
        self.used = 0

    def fits(self, relation, case):
        return any(fnmatch.fnmatch(relation, pattern) for pattern in self.relations.split("|")) and self.when(case)

    def has(self, path):
        return fnmatch.fnmatch("/".join(map(str, path)), self.path)



def by_draws(path, values):
    """Four and a half standard errors of two sets of 400 independent draws (150, effectively, of a chain): what their means and
    5 % quantiles may differ by, next to the posterior's spread. More where a chain reports fewer effective draws."""
    fewer = max(1.0, 150 / (values.get(("ess_min",)) or 150)) ** 0.5
    if path[0] == "coefficients" and path[:-1] + ("sd",) in values:
        spread, what = values[path[:-1] + ("sd",)], path[-1]
        if what == "sign":
            return 4.5 * fewer * (2 * max(values[path] * (1 - values[path]), 1 / 150) / 150) ** 0.5
        logarithm = {"odds_ratio": "value", "odds_ratio_lo": "lo", "odds_ratio_hi": "hi"}.get(what)
        error = fewer * spread * {"value": 0.5, "sd": 0.4, "lo": 1.0, "hi": 1.0}.get(logarithm or what, 0)
        return values[path] * math.expm1(error) if logarithm else error
    if path[0] == "marginal_interval":
        return fewer * 1.2 * (values[path[:-1] + ("hi",)] - values[path[:-1] + ("lo",)])
    if path[0] == "predicted" and path[1][:2] in ("p_", "lo", "hi"):
        label = path[1].split("__", 1)[1]
        low, high = (values.get(("predicted", f"{end}__{label}", path[2])) for end in ("lo", "hi"))
        return fewer * 0.5 * (high - low) if high is not None else "skip"
    return "skip"


def drawn(case):
    return case.infer in ("laplace", "vi", "hmc")


DRAWN = ("coefficients/*", "marginal/*", "marginal_interval/*", "predicted/*", "elbo*", "evidence", "ess_min", "rhat_max", "divergences",
         "loss", "warnings/*", "posterior_stop")
ORDER = "columns reordered|columns negated|positive label swapped"
EXCEPTIONS = [
    Exception_("counts as rows|counts split|cases and controls|sampling weights split|rows of weight 0", "rows", "skip",
               "the number of rows of the table is reported as it is"),
    Exception_("rows dropped", "dropped", "skip", "the number of rows left out is reported as it is"),
    Exception_("columns scaled|columns times powers of two|columns negated|columns shifted", "coefficients/*odds_ratio*", "skip", "per unit of the column"),
    *[Exception_("columns shifted|offset shifted", f"coefficients/*(Intercept)/{what}", "skip", "the intercept is that of another point")
      for what in ("se", "sd", "lo", "hi", "z", "p", "df", "sign")],
    *[Exception_("columns shifted", f"coefficients/*(Intercept)/if_linear/{what}", "skip", "the intercept is that of another point")
      for what in ("se", "lo", "hi")],
    *[Exception_("columns shifted", f"coefficients/*|*/{what}", "skip", "the threshold is that of another point")
      for what in ("se", "sd", "lo", "hi", "z", "p", "df", "sign")],
    Exception_("sampling weights split", "loss", "skip", "sampling weights are scaled to a mean of 1"),
    Exception_("*", "weighting/*", 1e-6, "a test statistic is a quadratic form in an inverse", lambda case: case.design == "terms"),
    Exception_("one stratum", "strata/*", "skip", "a fit without strata reports none"),
    Exception_("columns reordered|positive label swapped|columns negated", "*", "skip",
               "a network's weights start at random, by their place", lambda case: case.model == "mlp"),
    *[Exception_(ORDER, path, by_draws, "draws of parameters are matched to them by their order and sign", drawn) for path in DRAWN],
    *[Exception_("*", path, by_draws, "a chain leaves its path at the first rounding error",
                 lambda case: case.infer == "hmc") for path in DRAWN],
    Exception_("positive label swapped", "warnings/*", "present", "a warning names the positive label and its risk"),
]


def incomparable(relation, case):
    """The reason why nothing of a case can be compared; None where something can."""
    return next((e.reason for e in EXCEPTIONS if e.fits(relation, case) and e.path == "*" and e.tolerance == "skip"), None)


def tolerance_of(relation, case):
    """The tolerance of each value of a comparison, as `compare` takes it."""
    fitting = [exception for exception in EXCEPTIONS if exception.fits(relation, case)]

    def find(path, values):
        for exception in fitting:
            if exception.has(path):
                exception.used += 1
                return exception.tolerance(path, values) if callable(exception.tolerance) else exception.tolerance
        return None

    return find
