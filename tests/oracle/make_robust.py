"""Lines between profile and iw, the check of a fit in its population, matched biases and sandwich variances: the oracle of
src/infer/robust.c, agree.c, match.c and sandwich.c, by NumPy and SciPy. Covariances are sums over rows and labels, as the
definitions have them; optima are SciPy's, polished by Newton steps on numerical Jacobians of the scores.

  /usr/bin/python3 tests/oracle/make_robust.py

writes tests/oracle/robust.txt and the tables robust_two.csv and robust_three.csv.
"""
import os

import numpy as np
import scipy
from scipy.optimize import minimize, root
from scipy.special import logsumexp
from scipy.stats import chi2

here = os.path.dirname(os.path.abspath(__file__))


def softmax(logits):
    return np.exp(logits - logsumexp(logits, axis=1, keepdims=True))


class Problem:
    def __init__(self, name, x, label, weight, prevalence, prior):
        self.name, self.label, self.v, self.pi, self.prior = name, label, weight, np.array(prevalence), prior
        mean = np.average(x, axis=0, weights=weight)
        sd = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
        self.x = np.c_[np.ones(len(x)), (x - mean) / sd]
        self.k = len(prevalence)
        self.t = np.eye(self.k)[label]
        self.d = (self.v[:, None] * self.t).sum(0) / self.v.sum()
        self.size = self.x.shape[1]

    def logits(self, w):
        return np.c_[np.zeros(len(self.x)), self.x @ w.reshape(self.k - 1, self.size).T]

    def weights(self, t):
        a = (self.pi / self.d) ** t
        mean = (self.d * a).sum()
        return a * (self.k - 1) / (a.sum() - (self.d * a * a).sum() / mean)

    def rows(self, t, w):
        """Probabilities in the weighted sample, and each row's score for one unit of its weight."""
        q = softmax(self.logits(w) + (1 - t) * np.log(self.d / self.pi))
        unit = self.weights(t)[self.label]
        residual = unit[:, None] * (self.t - q)[:, 1:]
        return q, unit, (residual[:, :, None] * self.x[:, None, :]).reshape(len(self.x), -1)

    def slope(self, w):
        if not self.prior:
            return np.zeros_like(w)
        out = w.reshape(self.k - 1, self.size) / self.prior**2
        out[:, 0] = 0
        return out.ravel()

    def score(self, t, w):
        return (self.v[:, None] * self.rows(t, w)[2]).sum(0) - self.slope(w)

    def curvature(self, t, w):
        q, unit, _ = self.rows(t, w)
        P = (self.k - 1) * self.size
        H = np.zeros((P, P))
        for n in range(len(self.x)):
            block = np.diag(q[n]) - np.outer(q[n], q[n])
            H += self.v[n] * unit[n] * np.kron(block[1:, 1:], np.outer(self.x[n], self.x[n]))
        if self.prior:
            own = np.full((self.k - 1, self.size), 1 / self.prior**2)
            own[:, 0] = 0
            H += np.diag(own.ravel())
        return H

    def fit(self, t):
        def value(w):
            q = softmax(self.logits(w) + (1 - t) * np.log(self.d / self.pi))
            own = -(self.v * self.weights(t)[self.label] * np.log(q[np.arange(len(q)), self.label])).sum()
            return own + 0.5 * (w * self.slope(w)).sum()

        start = np.zeros((self.k - 1, self.size))
        start[:, 0] = np.log(self.pi[1:] / self.pi[0])
        w = minimize(value, start.ravel(), jac=lambda w: -self.score(t, w), method="BFGS").x
        for _ in range(20):
            w = w + np.linalg.solve(self.curvature(t, w), self.score(t, w))
        return w

    def agreement(self, w):
        """Mean, z, statistic: with the covariances given x summed over the labels."""
        p = softmax(self.logits(w))
        q = softmax(self.logits(w) + np.log(self.d / self.pi))
        a = self.pi / self.d
        P = (self.k - 1) * self.size
        B, A, H, g, s = np.zeros((P, P)), np.zeros((P, P)), np.zeros((P, P)), np.zeros(P), np.zeros(P)
        for n in range(len(self.x)):
            own = self.x[n]
            for y in range(self.k):
                e = np.eye(self.k)[y]
                of_g = np.kron(a[y] * (e - p[n])[1:], own)
                of_s = np.kron((e - q[n])[1:], own)
                B += self.v[n] * q[n, y] * np.outer(of_g, of_g)
                A += self.v[n] * q[n, y] * np.outer(of_g, of_s)
                H += self.v[n] * q[n, y] * np.outer(of_s, of_s)
                if y == self.label[n]:
                    g += self.v[n] * of_g
                    s += self.v[n] * of_s
        V = B - A @ np.linalg.solve(H, A.T)
        mended = g - A @ np.linalg.solve(H, s)
        rho = self.v * (self.pi / (self.d * self.v.sum()))[self.label]
        mean = (rho[:, None] * p).sum(0)
        heads = np.arange(self.k - 1) * self.size
        spread = V[np.ix_(heads, heads)] / self.v.sum() ** 2
        first = np.r_[spread.sum(), np.diag(spread)]
        away = -mended[heads] / self.v.sum()  # of the means, less what the prior does
        z = np.r_[-away.sum(), away] / np.sqrt(first)
        statistic = mended @ np.linalg.solve(V, mended)
        return mean, z, away @ np.linalg.solve(spread, away), statistic, chi2.sf(statistic, P)

    def shift(self, w):
        rho = self.v * (self.pi / (self.d * self.v.sum()))[self.label]
        f = self.logits(w)

        def miss(b):
            return (rho[:, None] * softmax(f + np.r_[0, b])).sum(0)[1:] / self.pi[1:] - 1

        return np.r_[0, root(miss, np.zeros(self.k - 1), tol=1e-14).x]

    def sandwich(self, t, w, strength):
        q, weight, unit = self.rows(t, w)
        raw = unit.copy()
        inverse = np.linalg.inv(self.curvature(t, w))
        for n in range(len(unit)):  # HC3
            e = np.kron(np.eye(self.k - 1), self.x[n][:, None])
            own = weight[n] * (np.diag(q[n]) - np.outer(q[n], q[n]))[1:, 1:]
            r = weight[n] * (self.t[n] - q[n])[1:]
            unit[n] = e @ np.linalg.solve(np.eye(self.k - 1) - own @ (e.T @ inverse @ e), r)
        J = 0
        for y in range(self.k):
            own, v = unit[self.label == y], self.v[self.label == y]
            own = own - np.average(raw[self.label == y], axis=0, weights=v)
            J = J + v.sum() / (v.sum() - 1) * (v[:, None] * own).T @ own
        if np.isfinite(strength):
            kept, pi = self.pi, self.pi
            D = []
            for y in range(1, self.k):  # along pi_y, at the expense of the first label
                side = []
                for h in (-1, 1):
                    self.pi = pi + h * 1e-6 * pi[y] * (np.eye(self.k)[y] - np.eye(self.k)[0])
                    side.append(self.score(t, w))
                D.append((side[1] - side[0]) / (2e-6 * pi[y]))
            self.pi = kept
            D = np.array(D).T
            J = J + D @ ((np.diag(pi) - np.outer(pi, pi)) / strength)[1:, 1:] @ D.T
        return inverse @ J @ inverse


def table(name, x, label, weight):
    with open(os.path.join(here, name), "w") as file:
        file.write("a,b,y,v\n")
        for row, y, v in zip(x, label, weight):
            file.write("%.17g,%.17g,%s,%.17g\n" % (row[0], row[1], "pqr"[y], v))


def write(file, name, values):
    values = np.asarray(values).ravel()
    file.write("array %s %d\n%s\n" % (name, len(values), " ".join("%.17g" % v for v in values)))


def main():
    rng = np.random.default_rng(20)
    cases = []
    x = np.round(rng.normal(size=(240, 2)), 3)
    y = (rng.random(240) < 1 / (1 + np.exp(-x[:, 0] - 0.5 * x[:, 0] ** 2 + x[:, 1]))).astype(int)
    v = rng.integers(1, 4, 240).astype(float)
    table("robust_two.csv", x, y, v)
    cases += [("two", x, y, v, [0.95, 0.05], 2.5), ("two_ml", x, y, v, [0.95, 0.05], 0)]
    x = np.round(rng.normal(size=(300, 2)), 3)
    f = np.c_[np.zeros(300), x[:, 0] + 0.3 * x[:, 0] ** 2, 0.7 * x[:, 1] - 0.2 * x[:, 0] * x[:, 1]]
    y = np.array([rng.choice(3, p=p) for p in softmax(f)])
    v = rng.integers(1, 3, 300).astype(float)
    table("robust_three.csv", x, y, v)
    cases += [("three", x, y, v, [0.9, 0.07, 0.03], 2.5)]
    with open(os.path.join(here, "robust.txt"), "w") as file:
        file.write("# by make_robust.py with NumPy %s, SciPy %s\n" % (np.__version__, scipy.__version__))
        for name, x, y, v, pi, prior in cases:
            problem = Problem(name, x, y, v, pi, prior)
            file.write("case %s classes=%d prior=%g table=%s\n" % (name, len(pi), prior, name.split("_")[0]))
            w = problem.fit(0)
            mean, z, mean_statistic, statistic, p_value = problem.agreement(w)
            write(file, "prevalence", pi)
            write(file, "mean", mean)
            write(file, "z", z)
            write(file, "tests", [mean_statistic, statistic, p_value])
            write(file, "shift", problem.shift(w))
            for t in (0, 0.25, 1):
                write(file, "w_%g" % t, problem.fit(t))
            write(file, "covariance", problem.sandwich(1, problem.fit(1), np.inf))
            write(file, "covariance_500", problem.sandwich(1, problem.fit(1), 500))
            write(file, "covariance_quarter", problem.sandwich(0.25, problem.fit(0.25), np.inf))
        file.write("end %d\n" % len(cases))


main()
