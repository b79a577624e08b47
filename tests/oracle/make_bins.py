"""The likelihood of a prevalence by bins, both labels' shares profiled out, by expectation maximisation: the oracle of
pv__bins_profile and pv__bins_mode.

  /usr/bin/python3 tests/oracle/make_bins.py > tests/oracle/bins.txt

For given pi: u_k = pi f_1k / (pi f_1k + (1 - pi) f_0k), f_1k = (n_1k + m_k u_k) / sum, f_0k = (n_0k + m_k (1 - u_k)) / sum,
until nothing moves (in C: a quadratic for each bin and one multiplier). The most likely pi by SciPy's bounded search on
that, and by maximisation over pi and all shares at once (SLSQP) as a check.
"""
import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import xlogy

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


def main():
    print("# made by make_bins.py: profile likelihoods of a prevalence by bins")
    rng = np.random.default_rng(5)
    cases = [("even", 200, 200, 500, 0.3, 8, 0, 0), ("rare", 100, 100, 2000, 0.05, 6, 0, 0), ("odd", 40, 300, 120, 0.6, 5, 0, 0),
             ("told", 150, 150, 400, 0.2, 9, 12, 30), ("empty", 30, 30, 80, 0.4, 10, 0, 0)]
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
    print(f"end {len(cases)}")


main()
