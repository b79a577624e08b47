"""Rank-normalised split R-hat and bulk effective size of small sets of draws, the oracle of pv_split_rhat and
pv_effective_size: the formulas of Vehtari et al. (2021) with NumPy and SciPy (ranks by rankdata, autocovariances by FFT).

  /usr/bin/python3 tests/oracle/make_draws.py > tests/oracle/draws.txt

Each case: a line `NAME CHAINS EACH RHAT ESS`, then CHAINS lines of EACH draws. A last line `end CASES`.
"""
import numpy as np
import scipy
from scipy.stats import norm, rankdata


def split(x):
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def scores(x):
    return norm.ppf((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))


def rhat_of(x):
    n = x.shape[1]
    within, between = x.var(1, ddof=1).mean(), n * x.mean(1).var(ddof=1)
    return np.sqrt(((n - 1) / n * within + between / n) / within)


def rhat(x):
    return max(rhat_of(scores(split(x))), rhat_of(scores(split(abs(x - np.median(x))))))


def autocovariance(x):
    n = x.shape[1]
    f = np.fft.rfft(x - x.mean(1, keepdims=True), 2 * n)
    return np.fft.irfft(abs(f) ** 2)[:, :n] / n


def ess(x):
    x = scores(split(x))
    m, n = x.shape
    mean_cov = autocovariance(x).mean(0)
    within = mean_cov[0] * n / (n - 1)
    total = within * (n - 1) / n + x.mean(1).var(ddof=1)
    rho = 1 - (within - mean_cov) / total
    rho[0] = 1
    pairs = [rho[0] + rho[1]]
    t = 2
    # Pairs are added while positive; the last even term is added alone.
    while t <= n - 4 and rho[t] + rho[t + 1] >= 0:
        pairs.append(rho[t] + rho[t + 1])
        t += 2
    if t <= n - 4:
        tail = max(rho[t], 0)  # the pair that turned negative
    else:
        pairs.pop()  # the last pair there was room for: its even term only
        tail = rho[t - 2]
    tau = -1 + 2 * np.minimum.accumulate(pairs).sum() + tail
    return m * n / max(tau, 1 / np.log10(m * n))


def autoregressive(rng, chains, each, phi):
    x = rng.normal(size=(chains, each))
    for t in range(1, each):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * x[:, t]
    return x


rng = np.random.default_rng(20210317)
shift = np.array([[0.0], [0.0], [0.6]])
cases = {
    "independent": rng.normal(size=(4, 60)),
    "one_chain": rng.normal(size=(1, 100)),
    "odd": autoregressive(rng, 2, 75, 0.5),
    "slow": autoregressive(rng, 4, 120, 0.95),
    "antithetic": autoregressive(rng, 4, 80, -0.7),
    "apart": rng.normal(size=(3, 60)) + shift,
    "scales": rng.normal(size=(3, 60)) * np.array([[1], [1], [4]]),
    "cauchy": rng.standard_cauchy(size=(4, 60)),
    "ties": np.round(autoregressive(rng, 4, 60, 0.6)),
    "trend": np.linspace(0, 3, 90)[None, :] + rng.normal(size=(2, 90)),
    "short": rng.normal(size=(2, 12)),
}
print(f"# Made by tests/oracle/make_draws.py with NumPy {np.__version__}, SciPy {scipy.__version__}.")
for name, x in cases.items():
    x = np.array([[float("%.6g" % v) for v in row] for row in x])
    print(name, *x.shape, "%.17g %.17g" % (rhat(x), ess(x)))
    for row in x:
        print(*("%.6g" % v for v in row))
print("end", len(cases))
