"""The efficient and the weighted estimate of a linear model, their bias reduction, sandwich, degrees of freedom and
combination, by NumPy in double precision straight from the formulas of docs/method.md, section 15: the oracle of
src/infer/side.c, src/infer/combined.c and src/design/units.c. Rows are spelt out one by one: a count of c is c rows, and
sums over units are loops.

  /usr/bin/python3 tests/oracle/make_combined.py

writes tests/oracle/combined.txt and the tables combined.csv and combined_people.csv, a sample of the population whose
rows are the control variates of src/infer/controls.c.
"""
import os

import numpy as np
from scipy.linalg import block_diag
from scipy.special import logsumexp

here = os.path.dirname(os.path.abspath(__file__))


class Problem:
    """people: a count for each row; unit: the weight of one person; cell: stratum x label; a, ratio: by cell."""

    def __init__(self, x, label, k, people, unit, stratum, prior, cluster=None):
        self.x, self.label, self.k, self.people, self.unit = x, label, k, people.astype(float), unit
        self.stratum, self.prior, self.cluster = stratum, prior, cluster
        self.cell = stratum * k + label
        self.size, self.J = x.shape[1], k - 1
        self.P = self.size * self.J

    def rows(self, a, ratio, w):
        logits = np.c_[np.zeros(len(self.x)), self.x @ w.reshape(self.J, self.size).T] + ratio.reshape(-1, self.k)[self.stratum]
        log_q = logits - logsumexp(logits, axis=1, keepdims=True)
        q = np.exp(log_q)
        weight = self.unit * a[self.cell]
        r = weight[:, None] * (np.eye(self.k)[self.label] - q)[:, 1:]
        return q, log_q, weight, r

    def curvature(self, q, weight, i):
        p = q[i, 1:]
        return weight[i] * (np.diag(p) - np.outer(p, p))

    def prior_terms(self, w):
        out = np.full((self.J, self.size), 1 / self.prior**2 if self.prior else 0.0)
        out[:, 0] = 0
        return out.ravel()

    def fit(self, a, ratio, start):
        w = start.copy()
        for _ in range(100):
            q, log_q, weight, r = self.rows(a, ratio, w)
            g = np.einsum("i,ij,ic->jc", self.people, r, self.x).ravel() - self.prior_terms(w) * w
            H = np.diag(self.prior_terms(w))
            for i in range(len(self.x)):
                H = H + self.people[i] * np.kron(self.curvature(q, weight, i), np.outer(self.x[i], self.x[i]))
            step = np.linalg.solve(H, g)
            w = w + step / max(1, np.abs(step).max() / 2)
            if np.abs(step).max() < 1e-13:
                break
        return w, np.linalg.inv(H)

    def side(self, a, ratio, start, corrected):
        w, inverse = self.fit(a, ratio, start)
        q, _, weight, r = self.rows(a, ratio, w)
        n, J, size = len(self.x), self.J, self.size
        influence, plain = np.zeros((n, self.P)), np.zeros((n, self.P))
        lever, blocks = [], []
        for i in range(n):
            X = np.kron(np.eye(J), self.x[i][:, None])  # [P][J]
            h = self.curvature(q, weight, i) @ (X.T @ inverse @ X)
            lever.append(h)
            own = np.linalg.solve(np.eye(J) - h, r[i]) if corrected else r[i]
            influence[i] = inverse @ X @ own
            blocks.append((X, self.curvature(q, weight, i)))
            plain[i] = inverse @ X @ r[i]
        for g in np.unique(self.cluster) if corrected and self.cluster is not None else []:
            of = np.flatnonzero(self.cluster == g)  # (I - H_gg)^-1 r_g, H_gg the cluster's block of the hat matrix
            X = np.hstack([blocks[i][0] for i in of])
            A = block_diag(*[blocks[i][1] for i in of])
            own = np.linalg.solve(np.eye(len(of) * J) - A @ X.T @ inverse @ X, r[of].ravel()).reshape(len(of), J)
            for i, residual in zip(of, own):
                influence[i] = inverse @ blocks[i][0] @ residual
        hc0 = np.einsum("i,ij,ik->jk", self.people, plain, plain)
        bias = np.zeros(self.P)
        for i in range(n):
            X = np.kron(np.eye(J), self.x[i][:, None])
            W, p = X.T @ hc0 @ X, q[i, 1:]
            third = np.zeros(J)
            for m in range(J):
                for j in range(J):
                    for l in range(J):
                        kappa = ((m == j == l) * p[m] - (m == j) * p[m] * p[l] - (m == l) * p[m] * p[j]
                                 - (j == l) * p[j] * p[m] + 2 * p[m] * p[j] * p[l])
                        third[m] += 0.5 * weight[i] * kappa * W[j, l]
            bias += self.people[i] * (X @ (lever[i] @ r[i] + third))
        return w, inverse, influence, inverse @ bias

    def by_unit(self, influence):
        """Units about the mean of their cell, each with the root of its factor G/(G-1)."""
        out, means = [], {}
        for c in np.unique(self.cell):
            in_cell = self.cell == c
            means[c] = np.average(influence[in_cell], axis=0, weights=self.people[in_cell])
        centred = influence - np.array([means[c] for c in self.cell])
        if self.cluster is None:
            for i in range(len(centred)):
                G = self.people[self.cell == self.cell[i]].sum()
                out += [centred[i] * np.sqrt(G / (G - 1))] * int(self.people[i])
            return np.array(out)
        groups = np.unique(self.cluster)
        sums = np.array([(self.people[:, None] * centred)[self.cluster == g].sum(0) for g in groups])
        sums = sums - sums.mean(0)
        return sums * np.sqrt(len(groups) / (len(groups) - 1))


def freedom(G, n):
    return 2 / ((G**4).sum(0) / ((G**2).sum(0)) ** 2 - 1 / n)


def run(name, out, problem, pi, share, terms, corrected=True):
    """pi [strata][k], share [strata]; terms: lists of slopes."""
    k, cells = problem.k, pi.size
    mass = np.array([(problem.people * problem.unit)[problem.cell == c].sum() for c in range(cells)])
    total, flat = mass.sum(), pi.ravel()
    a = np.repeat(share, k) * flat * total / mass
    square = np.repeat((pi**2).sum(1), k)
    a *= (mass * a * (1 - square)).sum() / (mass * a * a * (1 - 2 * flat + square)).sum()
    design = mass.reshape(-1, k) / mass.reshape(-1, k).sum(1, keepdims=True)
    ratio = (np.log(design) - np.log(pi)).ravel()
    start = np.zeros(problem.P)
    whole = share @ pi
    start.reshape(problem.J, -1)[:, 0] = np.log(whole[1:] / whole[0])
    w_r, _, U_r, c_r = problem.side(a, np.zeros(cells), start, corrected)
    w_e, inverse_e, U_e, c_e = problem.side(np.ones(cells), ratio, start, corrected)
    Z_r, Z_e = problem.by_unit(U_r), problem.by_unit(U_e)
    V_r, V_e, V_d = Z_r.T @ Z_r, Z_e.T @ Z_e, (Z_e - Z_r).T @ (Z_e - Z_r)
    if corrected:
        w_r = w_r + c_r * min(1, (np.sqrt(np.diag(V_r)) / np.abs(c_r)).min())
        w_e = w_e + c_e * min(1, (np.sqrt(np.diag(V_e)) / np.abs(c_e)).min())
    d, w, shares = w_e - w_r, w_r.copy(), []
    for term in terms:
        which = [j * problem.size + 1 + i for j in range(problem.J) for i in term]
        Q = d[which] @ np.linalg.solve(V_d[np.ix_(which, which)], d[which])
        efficient = min(1, len(which) / Q)
        w[which] += efficient * d[which]
        shares.append(1 - efficient)
    slopes = [j * problem.size + 1 + i for j in range(problem.J) for i in range(problem.size - 1)]
    statistic = d[slopes] @ np.linalg.solve(V_d[np.ix_(slopes, slopes)], d[slopes])
    for _ in range(100):  # the intercepts
        q, _, weight, r = problem.rows(a, np.zeros(cells), w)
        g = problem.people @ r
        H = sum(problem.people[i] * problem.curvature(q, weight, i) for i in range(len(q)))
        step = np.linalg.solve(H, g)
        w.reshape(problem.J, -1)[:, 0] += step
        if np.abs(step).max() < 1e-14:
            break
    units, blocks = len(Z_r), 1 if problem.cluster is not None else len(np.unique(problem.cell))
    print(f"case {name} prior={problem.prior:.17g}", file=out)
    for what, values in [("prevalence", pi), ("weighted", w_r), ("efficient", w_e), ("w", w), ("shares", shares),
                         ("covariance", V_r), ("statistic", [statistic]),
                         ("df", np.minimum(freedom(Z_r, units), units - blocks)[slopes])]:
        values = np.ravel(values)
        print(f"array {what} {len(values)}\n" + " ".join(f"{v:.17g}" for v in values), file=out)


def controls(name, out, problem, pi, people_x, people_count, chance):
    """The weighted estimate with the people as control variates; chance: the variance of the logarithm of each prevalence."""
    k, P, J = problem.k, problem.P, problem.J
    mass = np.array([problem.people[problem.cell == y].sum() for y in range(k)])
    square = (pi**2).sum()

    def estimate(pi, corrected=True):
        a = pi * mass.sum() / mass
        b = (mass * a * (1 - square)).sum() / (mass * a * a * (1 - 2 * pi + square)).sum()
        start = np.zeros(P)
        start.reshape(J, -1)[:, 0] = np.log(pi[1:] / pi[0])
        return a * b, problem.side(a * b, np.zeros(k), start, corrected)

    def moments(w, x):
        logits = np.c_[np.zeros(len(x)), x @ w.reshape(J, -1).T]
        q = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))[:, 1:]
        return np.einsum("ij,ic->ijc", q, x).reshape(len(x), P)

    a, (w, inverse, U, correction) = estimate(pi)
    u = problem.people * a[problem.cell]
    h, h_people = moments(w, problem.x), moments(w, people_x)
    spelt = np.repeat(h_people, people_count, axis=0)
    T = u @ h / u.sum() - spelt.mean(0)
    Z, Z_h = problem.by_unit(U), problem.by_unit(a[problem.cell][:, None] * h / u.sum())
    V, n = Z.T @ Z, len(Z)
    B = np.linalg.solve(Z_h.T @ Z_h + np.cov(spelt.T) / len(spelt), Z_h.T @ Z)
    b = w + correction * min(1, (np.sqrt(np.diag(V)) / np.abs(correction)).min()) - B.T @ T
    covariance = n / (n - 2 * P) * (V - Z.T @ Z_h @ B)
    for y in range(k):  # prevalences move together: log pi_y by 1 - pi_y, the others by -pi_y
        e = 1e-5
        moved = [np.exp(np.log(pi) + s * e * ((np.arange(k) == y) - pi[y])) for s in (-1, 1)]
        D = (estimate(moved[1], False)[1][0] - estimate(moved[0], False)[1][0]) / (2 * e)
        means = np.array([np.average(h[problem.label == z], axis=0, weights=problem.people[problem.label == z]) for z in range(k)])
        D = D - B.T @ (((np.arange(k) == y) - pi[y]) * pi @ means)
        covariance += chance[y] * np.outer(D, D)
    print(f"case {name} prior={problem.prior:.17g}", file=out)
    for what, values in [("prevalence", pi), ("weighted", b), ("covariance", covariance)]:
        values = np.ravel(values)
        print(f"array {what} {len(values)}\n" + " ".join(f"{v:.17g}" for v in values), file=out)


rng = np.random.default_rng(11)
n = 160
z = np.round(rng.standard_normal((n, 2)), 3)
z[:, 1] = np.round(np.exp(0.4 * z[:, 1]), 3)
level = rng.integers(0, 3, n)
eta = -0.3 + 0.9 * z[:, 0] - 0.4 * z[:, 1] + 0.3 * z[:, 0] ** 2 + 0.5 * (level == 1)
y2 = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
y3 = np.where(y2 == 1, 1 + (rng.random(n) < 1 / (1 + np.exp(0.4 + 1.5 * z[:, 0]))), 0)
count = rng.integers(1, 4, n)
sampling = np.round(rng.uniform(0.5, 4, n), 2)
stratum = (rng.random(n) < 0.4).astype(int)
cluster = rng.permutation(np.repeat(np.arange(40), 4))
with open(os.path.join(here, "combined.csv"), "w") as table:
    print("y2,y3,x1,x2,g,count,sampling,stratum,cluster", file=table)
    for i in range(n):
        print(f"{y2[i]},{y3[i]},{z[i,0]:.17g},{z[i,1]:.17g},{'abc'[level[i]]},{count[i]},{sampling[i]:.17g},{'uv'[stratum[i]]},{cluster[i]}", file=table)


def design(weight):
    """As prevail standardises: numbers by their weighted mean and deviation, levels against the first."""
    mean = np.average(z, axis=0, weights=weight)
    sd = np.sqrt(np.average((z - mean) ** 2, axis=0, weights=weight))
    return np.c_[np.ones(n), (z - mean) / sd, level == 1, level == 2]


N = 300
# The rows' own prevalence; otherwise the library would leave them out.
people = count * np.where(y2 == 1, 0.03 / count[y2 == 1].sum(), 0.97 / count[y2 == 0].sum())
people = np.round(z[rng.choice(n, N, p=people)] + 0.05 * rng.standard_normal((N, 2)), 3)
people_count = rng.integers(1, 5, N)
with open(os.path.join(here, "combined_people.csv"), "w") as table:
    print("x1,x2,count", file=table)
    for i in range(N):
        print(f"{people[i,0]:.17g},{people[i,1]:.17g},{people_count[i]}", file=table)


def with_people(columns, weight):
    """The first columns of the rows, and of the people, on the scale of the rows."""
    mean = np.average(z, axis=0, weights=weight)
    sd = np.sqrt(np.average((z - mean) ** 2, axis=0, weights=weight))
    return np.c_[np.ones(n), ((z - mean) / sd)[:, :columns]], np.c_[np.ones(N), ((people - mean) / sd)[:, :columns]]


one, none, terms = np.ones(n), np.zeros(n, int), [[0], [1], [2, 3]]
with open(os.path.join(here, "combined.txt"), "w") as out:
    print("# Made by: /usr/bin/python3 tests/oracle/make_combined.py", file=out)
    print(f"# NumPy {np.__version__}", file=out)
    two, three = np.array([[0.97, 0.03]]), np.array([[0.9, 0.07, 0.03]])
    run("two", out, Problem(design(one), y2, 2, one, one, none, 0), two, np.ones(1), terms)
    run("two_prior", out, Problem(design(one), y2, 2, one, one, none, 2.5), two, np.ones(1), terms)
    run("two_counts", out, Problem(design(count), y2, 2, count, one, none, 0), two, np.ones(1), terms)
    run("two_sampling", out, Problem(design(sampling), y2, 2, one, sampling, none, 0), two, np.ones(1), terms)
    run("two_clusters", out, Problem(design(one), y2, 2, one, one, none, 0, cluster), two, np.ones(1), terms)
    run("two_hc0", out, Problem(design(one), y2, 2, one, one, none, 0), two, np.ones(1), terms, corrected=False)
    run("three", out, Problem(design(one), y3, 3, one, one, none, 0), three, np.ones(1), terms)
    run("strata", out, Problem(design(one), y2, 2, one, one, stratum, 0), np.array([[0.98, 0.02], [0.9, 0.1]]),
        np.array([0.75, 0.25]), terms)
    x, others = with_people(2, count)
    controls("controls", out, Problem(x, y2, 2, count, one, none, 0), two[0], others, people_count, np.zeros(2))
    controls("controls_counted", out, Problem(x, y2, 2, count, one, none, 0), two[0], others, people_count, 1 / (2000 * two[0]))
    x, others = with_people(1, count)
    controls("controls_three", out, Problem(x, y3, 3, count, one, none, 2.5), three[0], others, people_count, np.zeros(3))
    print("end 11", file=out)
