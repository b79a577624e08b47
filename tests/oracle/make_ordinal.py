"""Proportional odds in the population, rows drawn by grade: p(x) profiled out with the prevalence held, by SciPy.

Reads the rows of the case `plain` in ordinal.txt. For each (thresholds, slopes) the masses theta of the rows maximise
sum log theta with sum theta = 1 and sum theta p(y|x) = pi_y, through the dual (one multiplier a label); the outside by BFGS
from two starts. The last case has soft labels: every row shares its mass with the grade above.
"""
import os

import numpy as np
from scipy.optimize import minimize

HERE = os.path.dirname(os.path.abspath(__file__))
rows = {}
with open(os.path.join(HERE, "ordinal.txt")) as file:
    lines = file.read().split("\n")
at = lines.index(next(line for line in lines if line.startswith("case plain")))
for i, line in enumerate(lines[at : at + 6]):
    if line.startswith("array "):
        rows[line.split()[1]] = np.array(lines[at + i + 1].split(), float)
x = rows["x"].reshape(-1, 2)
grade = rows["grade"].astype(int) - 1
n, K = len(grade), 5
sd, mean = x.std(0), x.mean(0)
z = (x - mean) / sd
PI = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def probabilities(t):
    """p [n][K], and what d/dt makes of d/dp."""
    c = np.cumsum(np.r_[t[0], np.exp(t[1 : K - 1])])
    cumulative = 1 / (1 + np.exp(-(c[None, :] - (z @ t[K - 1 :])[:, None])))
    p = np.diff(np.c_[np.zeros(n), cumulative, np.ones(n)], axis=1)

    def back(dp):
        d = (dp[:, :-1] - dp[:, 1:]) * cumulative * (1 - cumulative)
        dc = d.sum(0)[::-1].cumsum()[::-1]
        return np.r_[dc * np.r_[1, np.exp(t[1 : K - 1])], -z.T @ d.sum(1)]

    return p, back


def inner(p):
    """max over m of sum log(1 + sum_j m_j r_nj), r = p/pi - 1 for all labels but the first: Newton's method, damped."""
    r = p[:, 1:] / PI[1:] - 1
    m = np.zeros(K - 1)
    value = 0.0
    for _ in range(200):
        q = 1 + r @ m
        g = (r / q[:, None]).sum(0)
        if np.abs(g).max() < 1e-10:
            break
        step = np.linalg.solve((r / q[:, None]).T @ (r / q[:, None]), g)
        share = 1.0
        while share > 1e-12:
            trial = 1 + r @ (m + share * step)
            if (trial > 0).all() and np.log(trial).sum() >= value:
                break
            share /= 2
        else:
            break
        m = m + share * step
        value = np.log(1 + r @ m).sum()
    return value, m, 1 + r @ m


def objective(t, share):
    p, back = probabilities(t)
    value, m, q = inner(p)
    if np.abs(((p[:, 1:] / PI[1:] - 1) / q[:, None]).sum(0)).max() > 1e-6:
        return 1e12, np.zeros(len(t))  # no masses of the rows have this prevalence
    dp = -share / p
    dp[:, 1:] += (m / PI[1:])[None, :] / q[:, None]  # by the envelope theorem
    return -(share * np.log(p)).sum() + value, back(dp)


def selection(t, share):
    """-log p(y|x, drawn by label), which is smooth everywhere: where the profile starts."""
    p, back = probabilities(t)
    ratio = share.mean(0) / PI
    sums = p @ ratio
    return -(share * np.log(p * ratio / sums[:, None])).sum(), back(-share / p + ratio / sums[:, None])


def show(name, share):
    c = np.log(np.cumsum(PI)[:-1] / (1 - np.cumsum(PI)[:-1]))
    first = np.r_[c[0], np.log(np.diff(c))]
    near = minimize(selection, np.r_[first, 0, 0], args=(share,), jac=True, method="BFGS").x
    found, again = [minimize(objective, near + off, args=(share,), jac=True, method="BFGS", options={"gtol": 1e-9})
                    for off in (0, [0, 0, 0, 0, 0.02, -0.02])]
    assert np.abs(found.x - again.x).max() < 1e-6 and np.abs(found.jac).max() < 1e-5, (found, again)
    t = found.x
    slopes = t[K - 1 :] / sd
    thresholds = np.cumsum(np.r_[t[0], np.exp(t[1 : K - 1])]) + slopes @ mean
    print("case %s n=%d" % (name, n))
    for label, values in (("slopes", slopes), ("thresholds", thresholds)):
        print("array %s %d\n%s" % (label, len(values), " ".join("%.17g" % v for v in values)))


hard = np.eye(K)[grade]
soft = 0.75 * hard + 0.25 * np.eye(K)[np.minimum(grade + 1, K - 1)]
show("profile", hard)
show("votes", soft)
print("end 4")
