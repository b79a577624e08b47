"""Weights of a mixture, the maximum of a log score over the simplex, with SciPy: the oracle of pv__mixture_solve.

  /usr/bin/python3 tests/oracle/make_stack.py > tests/oracle/stack.txt

The problem is solved by SLSQP, and by a Newton method for the equivalent problem without the constraint that weights sum
to 1 (maximise f(v) - sum v over v >= 0, L-BFGS-B); the script fails where the two differ. Some problems have their
maximum on an edge, one has members that agree.
"""
import numpy as np
import scipy
from scipy.optimize import minimize


def array(name, values):
    values = np.ravel(values)
    print("array", name, len(values))
    print(*("%.17g" % v for v in values))


def solve(a, p):
    members = p.shape[1]

    def loss(v):
        return -a @ np.log(p @ v)

    def slope(v):
        return -(a / (p @ v)) @ p

    start = np.full(members, 1 / members)
    first = minimize(loss, start, jac=slope, method="SLSQP", bounds=[(0, 1)] * members,
                     constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like},
                     options={"ftol": 1e-15, "maxiter": 10000})
    second = minimize(lambda v: loss(v) + v.sum(), start, jac=lambda v: slope(v) + 1, method="L-BFGS-B",
                      bounds=[(1e-300, None)] * members, options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 100000})
    assert abs(loss(first.x) - loss(second.x)) < 1e-7, (loss(first.x), loss(second.x))
    assert abs(second.x.sum() - 1) < 1e-4
    return first.x / first.x.sum(), -loss(first.x / first.x.sum())


def main():
    print(f"# Made by tests/oracle/make_stack.py with NumPy {np.__version__} and SciPy {scipy.__version__}.")
    rng = np.random.default_rng(16)
    for name, rows, members, spread in (("two", 40, 2, 1.0), ("five", 200, 5, 0.1), ("edge", 60, 8, 0.3), ("one", 50, 3, 0)):
        a = rng.exponential(size=rows)
        a[::7] = 0
        a /= a.sum()
        p = 1 / (1 + np.exp(-rng.normal(rng.normal(0, spread, members), 1, (rows, members))))
        if name == "one":  # the first is better for every row
            p = np.sort(p)[:, ::-1].copy()
        v, best = solve(a, p)
        print(f"case {name} rows={rows} members={members} best={best:.17g}")
        array("a", a)
        array("p", p)
        array("v", v)
    print("end 4")


main()
