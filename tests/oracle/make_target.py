"""Unknown prevalences of small target samples by Gauss-Legendre panels and plain NumPy loops, the oracle of
pv_unknown_infer and pv_unknown_predict.

  /usr/bin/python3 tests/oracle/make_target.py > tests/oracle/target.txt

Two classes: the posterior of pi = pi_1 with the labels summed out is integrated in theta, pi = sin^2 theta, where it is
smooth up to both ends, panel by panel from its mode to where it has fallen by exp(-60) (in C: the trapezoidal rule in
logit pi). Forty points a panel; "check" below compares with SciPy's adaptive quad. Quantiles by brentq on the integral. Rows of large weight stand for many: 1e6 rows
make the posterior narrow. Three classes: a product of Gauss-Legendre rules on the triangle. vb and em: the updates as they
stand, a hundred thousand of them.
"""
import numpy as np
import scipy
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betainc, digamma, logsumexp

LEVEL = 0.9
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def show(name, values):
    values = np.asarray(values, float).ravel()
    print(f"array {name} {values.size}")
    print(" ".join(repr(float(v)) for v in values))


def sample(rng, n, classes, prevalence, marginal, separation, extreme=False):
    """log p(y|x,w) of normal features, x|y around separation times a corner for each class."""
    y = rng.choice(classes, n, p=prevalence)
    corner = separation * np.eye(classes)
    x = rng.standard_normal((n, classes)) + corner[y]
    logit = x @ corner.T + np.log(marginal)
    if extreme:
        logit[:, -1] *= 8
    return logit - logsumexp(logit, 1, keepdims=True), y


class Pair:
    """The posterior of pi_1, by quad."""

    def __init__(self, loglik, log_marginal, weight, alpha):
        r = np.exp(loglik - log_marginal - (loglik - log_marginal).max(1, keepdims=True))
        self.r0, self.r1, self.v, self.alpha = r[:, 0], r[:, 1], weight, alpha
        # Integrated over theta with pi = sin^2 theta: smooth for every alpha >= 1/2.
        best = minimize_scalar(lambda t: -self.log(t), bounds=(1e-9, np.pi / 2 - 1e-9), method="bounded",
                               options={"xatol": 1e-12})
        self.mode, self.top = best.x, -best.fun
        self.edges = np.concatenate([self.side(0.0)[::-1], [self.mode], self.side(np.pi / 2)])
        self.z = self.integral(lambda t: 1.0)
        self.check()

    def log(self, t):
        p1, p0 = np.sin(t) ** 2, np.cos(t) ** 2
        # d pi = 2 sin cos d theta
        prior = (2 * self.alpha[1] - 1) * np.log(np.sin(t)) + (2 * self.alpha[0] - 1) * np.log(np.cos(t))
        mixed = np.multiply.outer(p0, self.r0) + np.multiply.outer(p1, self.r1)
        return prior + (self.v * np.log(mixed)).sum(-1)

    def side(self, end):
        """Panel edges from the mode towards an end, growing, until the density is nothing."""
        width, out, at = 1e-6, [], self.mode
        away = np.sign(end - self.mode)
        while True:
            at = self.mode + away * width
            if (at - end) * away >= 0:
                return np.array(out + [end])
            out.append(at)
            if self.log(at) < self.top - 60:
                return np.array(out)
            width *= 1.5

    def integral(self, f, upto=None):
        total = 0.0
        for a, b in zip(self.edges[:-1], self.edges[1:]):
            if upto is not None and a >= upto:
                break
            b = b if upto is None else min(b, upto)
            t = a + (b - a) * (NODES + 1) / 2
            total += (b - a) / 2 * (WEIGHTS * np.exp(self.log(t) - self.top) * f(t)).sum()
        return total

    def check(self):
        """The normaliser once more, by QUADPACK."""
        parts = [quad(lambda t: float(np.exp(self.log(np.array([t])) - self.top)[0]), a, b, epsabs=1e-15)[0]
                 for a, b in zip(self.edges[:-1], self.edges[1:])]
        assert abs(sum(parts) / self.z - 1) < 1e-11, sum(parts) / self.z - 1

    def mean(self, f):
        return self.integral(f) / self.z

    def quantile(self, p):
        return np.sin(brentq(lambda t: self.integral(lambda s: 1.0, t) / self.z - p, self.edges[0], self.edges[-1],
                             xtol=1e-15, rtol=1e-14)) ** 2


def adapt(pi, loglik, log_marginal):
    z = loglik - log_marginal + np.log(pi)
    return np.exp(z - logsumexp(z, 1, keepdims=True))


def counts(label, weight, classes):
    known = np.zeros(classes)
    for y, v in zip(label, weight):
        if y >= 0:
            known[int(y)] += v
    return known


def exact_pair(name, dirichlet, alpha, loglik, log_marginal, weight=None, label=None):
    n = len(loglik)
    v = np.ones(n) if weight is None else weight
    lab = -np.ones(n) if label is None else label
    post = Pair(loglik[lab < 0], log_marginal, v[lab < 0], np.asarray(alpha, float) + counts(lab, v, 2))
    print(f"case {name} n={n} classes=2 method=exact dirichlet={dirichlet}")
    inputs(loglik, log_marginal, weight, label)
    m = post.mean(lambda t: np.sin(t) ** 2)
    lo, hi = post.quantile(0.5 - LEVEL / 2), post.quantile(0.5 + LEVEL / 2)
    show("value", [post.mean(lambda t: np.cos(t) ** 2), m])
    show("sd", [np.sqrt(post.mean(lambda t: (np.sin(t) ** 2 - m) ** 2))] * 2)
    show("lo", [1 - hi, lo])
    show("hi", [1 - lo, hi])
    r = np.exp(loglik - log_marginal - (loglik - log_marginal).max(1, keepdims=True))
    rows = range(0, n, max(1, n // 6))
    show("row", list(rows))
    show("p", [post.mean(lambda t: np.sin(t) ** 2 * b / (np.sin(t) ** 2 * b + np.cos(t) ** 2 * a))
               for a, b in r[list(rows)]])
    show("p_lo", adapt([1 - lo, lo], loglik, log_marginal)[list(rows), 1])
    show("p_hi", adapt([1 - hi, hi], loglik, log_marginal)[list(rows), 1])


def inputs(loglik, log_marginal, weight, label):
    show("loglik", loglik)
    show("log_marginal", log_marginal)
    if weight is not None:
        show("weight", weight)
    if label is not None:
        show("label", label)


def updates(name, method, dirichlet, alpha0, loglik, log_marginal, weight=None, label=None):
    n, k = loglik.shape
    v = np.ones(n) if weight is None else weight
    lab = -np.ones(n) if label is None else label
    known, v = counts(lab, v, k), np.where(lab < 0, v, 0)
    pi, alpha = np.exp(log_marginal) / np.exp(log_marginal).sum(), None
    if method == "vb":
        alpha0 = np.asarray(alpha0, float) + known
        alpha = alpha0.copy()
    for _ in range(100_000):
        if method == "vb":
            pi = np.exp(digamma(alpha) - digamma(alpha.sum()))
        s = (v[:, None] * adapt(pi, loglik, log_marginal)).sum(0)
        if method == "vb":
            new = alpha0 + s
            moved, alpha = np.abs(new - alpha).max(), new
        else:
            new = (s + known) / (v.sum() + known.sum())
            moved, pi = np.abs(new - pi).max(), new
        if moved < 1e-15:
            break
    print(f"case {name} n={n} classes={k} method={method} dirichlet={dirichlet}")
    inputs(loglik, log_marginal, weight, label)
    rows = list(range(0, n, max(1, n // 6)))
    if method == "vb":
        pi = np.exp(digamma(alpha) - digamma(alpha.sum()))
        a, b = alpha, alpha.sum() - alpha
        show("value", a / (a + b))
        show("lo", [brentq(lambda x: betainc(i, j, x) - 0.05, 0, 1, xtol=1e-16, rtol=1e-14) for i, j in zip(a, b)])
        show("hi", [brentq(lambda x: betainc(i, j, x) - 0.95, 0, 1, xtol=1e-16, rtol=1e-14) for i, j in zip(a, b)])
    else:
        show("value", pi)
    show("row", rows)
    show("p", adapt(pi, loglik, log_marginal)[rows, -1])


def known(name, prevalence, loglik, log_marginal):
    n, k = loglik.shape
    print(f"case {name} n={n} classes={k} method=known dirichlet=none")
    inputs(loglik, log_marginal, None, None)
    show("prevalence", prevalence)
    r = np.exp(loglik) / np.exp(log_marginal) * np.asarray(prevalence)
    rows = list(range(0, n, max(1, n // 6)))
    show("row", rows)
    show("p", (r / r.sum(1, keepdims=True))[rows, -1])


def triangle(loglik, log_marginal, alpha, points=220):
    """Nodes and weights of the posterior of three classes: Gauss-Legendre in x, y of pi = (x, (1-x) y, (1-x)(1-y))."""
    g, w = np.polynomial.legendre.leggauss(points)
    g, w = (g + 1) / 2, w / 2
    x, y = np.meshgrid(g, g, indexing="ij")
    weight = np.outer(w, w) * (1 - x)
    pi = np.stack([x, (1 - x) * y, (1 - x) * (1 - y)], -1).reshape(-1, 3)
    r = np.exp(loglik - log_marginal - (loglik - log_marginal).max(1, keepdims=True))
    log = np.log(pi @ r.T).sum(1) + ((np.asarray(alpha) - 1) * np.log(pi)).sum(1)
    mass = weight.ravel() * np.exp(log - log.max())
    return pi, mass / mass.sum(), r


def exact_three(name, dirichlet, alpha, loglik, log_marginal):
    n = len(loglik)
    pi, mass, r = triangle(loglik, log_marginal, alpha)
    print(f"case {name} n={n} classes=3 method=exact dirichlet={dirichlet}")
    inputs(loglik, log_marginal, None, None)
    mean = mass @ pi
    show("value", mean)
    show("sd", np.sqrt(mass @ (pi - mean) ** 2))
    lo, hi = [], []
    for y in range(3):
        order = np.argsort(pi[:, y])
        c = np.cumsum(mass[order])
        lo.append(pi[order, y][np.searchsorted(c, 0.05)])
        hi.append(pi[order, y][np.searchsorted(c, 0.95)])
    show("lo", lo)
    show("hi", hi)
    rows = list(range(0, n, max(1, n // 6)))
    show("row", rows)
    show("p", [mass @ (pi[:, -1] * r[i, -1] / (pi @ r[i])) for i in rows])


def main():
    rng = np.random.default_rng(7)
    print(f"# made by make_target.py with NumPy {np.__version__}, SciPy {scipy.__version__}")
    cases = 0

    def count(f, *a, **k):
        nonlocal cases
        f(*a, **k)
        cases += 1

    two = np.log([0.9, 0.1])
    usual, y = sample(rng, 60, 2, [0.7, 0.3], np.exp(two), 1.2)
    count(exact_pair, "pair_flat", "flat", [1, 1], usual, two)
    count(exact_pair, "pair_jeffreys", "jeffreys", [0.5, 0.5], usual, two)
    count(exact_pair, "pair_true", "true:1", [9, 1], usual, two)
    count(exact_pair, "pair_strong", "counts:3000,7000", [3000, 7000], usual, two)
    label = np.where(np.arange(60) % 3 == 0, y, -1).astype(float)
    count(exact_pair, "pair_labels", "flat", [1, 1], usual, two, label=label)
    weight = np.round(rng.gamma(1, 2e4, 60))
    count(exact_pair, "pair_million", "flat", [1, 1], usual, two, weight=weight)
    none, _ = sample(rng, 300, 2, [1.0, 0.0], np.exp(two), 4.0)
    count(exact_pair, "pair_boundary", "flat", [1, 1], none, two)
    count(exact_pair, "pair_boundary_jeffreys", "jeffreys", [0.5, 0.5], none, two)
    all_, _ = sample(rng, 200, 2, [0.0, 1.0], np.exp(two), 3.0)
    count(exact_pair, "pair_other_boundary", "flat", [1, 1], all_, two)
    dull, _ = sample(rng, 20, 2, [0.5, 0.5], np.exp(two), 0.02)
    count(exact_pair, "pair_dull", "flat", [1, 1], dull, two)
    sure, _ = sample(rng, 40, 2, [0.5, 0.5], np.exp(two), 3.0, extreme=True)
    count(exact_pair, "pair_sure", "flat", [1, 1], sure, two)
    count(exact_pair, "pair_two_rows", "flat", [1, 1], usual[:2], two)
    for method in ("vb", "em"):
        count(updates, f"{method}_pair", method, "flat", [1, 1], usual, two)
        count(updates, f"{method}_labels", method, "flat", [1, 1], usual, two, label=label)
        count(updates, f"{method}_million", method, "flat", [1, 1], usual, two, weight=weight)
    count(updates, "vb_true", "vb", "true:1", [9, 1], usual, two)
    count(known, "known_pair", [0.65, 0.35], usual, two)
    count(known, "known_rare", [0.9999, 0.0001], usual, two)
    three = np.log([0.6, 0.3, 0.1])
    many, _ = sample(rng, 120, 3, [0.3, 0.3, 0.4], np.exp(three), 1.3)
    for method in ("vb", "em"):
        count(updates, f"{method}_three", method, "flat", [1, 1, 1], many, three)
    count(known, "known_three", [0.2, 0.3, 0.5], many, three)
    count(exact_three, "three_flat", "flat", [1, 1, 1], many, three)
    count(exact_three, "three_counts", "counts:2,3,5", [2, 3, 5], many[:30], three)
    edge, _ = sample(rng, 150, 3, [0.6, 0.4, 0.0], np.exp(three), 2.5)
    count(exact_three, "three_boundary", "flat", [1, 1, 1], edge, three)
    print(f"end {cases}")


main()
