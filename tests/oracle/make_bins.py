"""The likelihood of a prevalence by bins, both labels' shares profiled out, by expectation maximisation: the oracle of
pv__bins_profile and pv__bins_mode.

  /usr/bin/python3 tests/oracle/make_bins.py > tests/oracle/bins.txt

For given pi: u_k = pi f_1k / (pi f_1k + (1 - pi) f_0k), f_1k = (n_1k + m_k u_k) / sum, f_0k = (n_0k + m_k (1 - u_k)) / sum,
until nothing moves (in C: a quadratic for each bin and one multiplier). The most likely pi by SciPy's bounded search on
that, and by maximisation over pi and all shares at once (BFGS) as a check. Three labels and more: BFGS alone, over what is
free, with derivatives (in C: expectation maximisation in squared steps).
"""
import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax, xlogy

AT = [0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.97]


def show(name, values):
    values = np.asarray(values, float).ravel()
    print(f"array {name} {values.size}")
    print(" ".join(repr(float(v)) for v in values))


def value(n, m, t, pi, f):
    return xlogy(n, f).sum() + xlogy(m, pi * f[1] + (1 - pi) * f[0]).sum() + xlogy(t[1], pi) + xlogy(t[0], 1 - pi)


def profile(n, m, t, pi):
    f = (n + 0.5 * m + 1e-3) / (n + 0.5 * m + 1e-3).sum(1, keepdims=True)
    for _ in range(2_000_000):
        q = pi * f[1] + (1 - pi) * f[0]
        u = pi * f[1] / q
        new = np.array([n[0] + m * (1 - u), n[1] + m * u])
        new /= new.sum(1, keepdims=True)
        if np.abs(new - f).max() < 1e-16:
            break
        f = new
    return value(n, m, t, pi, f), f


def best(n, m, t):
    """Over pi and all shares, from several starts."""
    k = len(m)

    def loss(w):
        f = np.exp(np.array([w[1 : k + 1], w[k + 1 :]]))
        f /= f.sum(1, keepdims=True)
        return -value(n, m, t, 1 / (1 + np.exp(-w[0])), np.maximum(f, 1e-300))

    made = [minimize(loss, np.r_[z, np.log(n[0] + 0.5), np.log(n[1] + 0.5)], method="BFGS", options={"gtol": 1e-8}) for z in (-2, 0, 1)]
    made = min(made, key=lambda r: r.fun)
    return -made.fun, 1 / (1 + np.exp(-made.x[0]))


LABELS = [("three", 3, 60, 400, 0), ("four", 4, 40, 300, 0), ("named", 3, 80, 500, 20), ("poor", 3, 25, 60, 0)]


def labels(rng):
    """Three labels and more, by cells: pv__label_cells_mode and pv__label_cells_profile."""
    for name, k, each, rows, told in LABELS:
        cells = 2 * k
        share = np.array([np.exp(1.2 * (np.arange(cells) // 2 == y) + 0.5 * rng.standard_normal(cells)) for y in range(k)])
        share /= share.sum(1, keepdims=True)
        pi = rng.dirichlet(np.full(k, 3.0))
        n = np.array([rng.multinomial(each, p) for p in share], float)
        m = rng.multinomial(rows, pi @ share).astype(float)
        t = rng.multinomial(told, pi).astype(float)

        def loss(w, y=None, at=None):
            p, f = np.exp(w[:k] - logsumexp(w[:k])), softmax(w[k:].reshape(k, cells), axis=1)
            if y is not None:
                rest = 1 - p[y]
                p = np.where(np.arange(k) == y, at, (1 - at) * p / rest)
            q = p @ f
            by_f = n / f + m / q * p[:, None]
            by_w = f * (by_f - (by_f * f).sum(1, keepdims=True))
            by_p = f @ (m / q) + t / np.maximum(p, 1e-300)
            if y is None:
                by_z = p * (by_p - by_p @ p)
            else:
                part = np.where(np.arange(k) == y, 0, p / (1 - at))
                by_z = (1 - at) * part * (by_p - by_p @ part)
            value = xlogy(n, f).sum() + xlogy(m, q).sum() + xlogy(t, p).sum()
            return -value, -np.r_[by_z, by_w.ravel()]

        def best(*held):
            made = [minimize(loss, np.r_[np.log(pi) + 0.15 * z * rng.standard_normal(k), (np.log(n + 0.5) + 0.1 * z * rng.standard_normal((k, cells))).ravel()], args=held, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}) for z in range(16)]
            return min(made, key=lambda r: r.fun)

        free = best()
        found = np.exp(free.x[:k] - logsumexp(free.x[:k]))
        print(f"case {name} labels={k} told={told}")
        show("known", n)
        show("target", m)
        show("told", t)
        show("pi", found)
        show("mode", [-free.fun])
        show("profile", [-best(y, at).fun for y in range(k) for at in SHARES])


SHARES = [0.02, 0.2, 0.6]


def main():
    print("# made by make_bins.py: profile likelihoods of a prevalence by bins")
    rng = np.random.default_rng(5)
    cases = [("even", 200, 200, 500, 0.3, 8, 0, 0), ("rare", 100, 100, 2000, 0.05, 6, 0, 0), ("odd", 40, 300, 120, 0.6, 5, 0, 0),
             ("told", 150, 150, 400, 0.2, 9, 12, 30), ("empty", 30, 30, 80, 0.4, 10, 0, 0)]
    labels(rng)
    rng = np.random.default_rng(5)
    for name, n1, n0, rows, pi, bins, t1, t0 in cases:
        share = np.exp(np.array([-0.5, 0.4 if name != "empty" else 1.5])[:, None] * np.arange(bins))
        share /= share.sum(1, keepdims=True)
        n = np.array([rng.multinomial(n0, share[0]), rng.multinomial(n1, share[1])], float)
        m = rng.multinomial(rows, pi * share[1] + (1 - pi) * share[0]).astype(float)
        t = np.array([t0, t1], float)
        found = [profile(n, m, t, at) for at in AT]
        mode = minimize_scalar(lambda at: -profile(n, m, t, at)[0], bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-7})
        check, at = best(n, m, t)
        assert abs(check + mode.fun) < 1e-5 and abs(at - mode.x) < 2e-3, (name, check, mode.fun, at, mode.x)
        print(f"case {name} bins={bins}")
        show("known", n)
        show("target", m)
        show("told", t)
        show("at", AT)
        show("value", [v for v, _ in found])
        show("shares", [f for _, f in found])
        show("mode", [mode.x, -mode.fun])
    print(f"end {len(cases) + len(LABELS)}")


main()
