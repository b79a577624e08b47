"""Independent reference of the losses in include/prevail/core.h: the paper's formulas in PyTorch (float64, autograd)
and the profile of BEYOND, section 1, in NumPy (80-bit). Slow and plain on purpose; make_core.py makes the oracle file
with it.

Shapes: f, t [n][K] log-likelihoods and targets (one-hot rows for hard labels); v [n] row weights; prevalence [K].
"""
import numpy as np
import torch
from scipy.optimize import minimize

LD = np.longdouble


# ---- the full batch -------------------------------------------------------------------------------------------------
def label_mass(t, v):
    return (v[:, None] * t).sum(0)


def plain(f, t, v):
    return -(v[:, None] * t * f).sum()


def iw(f, t, v, prevalence):
    mass = label_mass(t, v)
    return -(v[:, None] * t * (prevalence / (mass / mass.sum())) * f).sum()


def plugin_log_marginal(f, t, v, prevalence):
    share = v * (t * (prevalence / label_mass(t, v))).sum(1)
    return torch.logsumexp(torch.log(share)[:, None] + f, 0)


def plugin(f, t, v, prevalence, counts):
    return plain(f, t, v) + (counts * plugin_log_marginal(f, t, v, prevalence)).sum()


def selection(f, t, v, log_ratio):
    return -(v[:, None] * t * torch.log_softmax(f + log_ratio, 1)).sum()


# ---- minibatches ----------------------------------------------------------------------------------------------------
def stratum_weight(stratum, full, expected, counted):
    """N_s / n_B(s), or N_s / (n_B expected_s): what one row of the batch stands for in the full data."""
    in_batch = torch.bincount(stratum, minlength=len(full)).double()
    size = in_batch if counted else len(stratum) * expected
    return (full / size)[stratum]


def population_share(t, v, stratum, full, expected, mass, prevalence, counted):
    return stratum_weight(stratum, full, expected, counted) * v * (t * (prevalence / mass)).sum(1)


def batch_log_marginal(f, share):
    return torch.logsumexp(torch.log(share)[:, None] + f, 0)


class Implementation2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, log_batch, log_q):
        ctx.save_for_backward(log_batch, log_q)
        return log_q.clone()

    @staticmethod
    def backward(ctx, g):
        log_batch, log_q = ctx.saved_tensors
        return torch.exp(log_batch - log_q) * g, None


class Implementation3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, log_q, gamma):
        ctx.save_for_backward(f, log_q, gamma)
        return log_q.clone()

    @staticmethod
    def backward(ctx, g):
        f, log_q, gamma = ctx.saved_tensors
        return torch.exp(gamma[:, None] + f - log_q) * g, None, None


def auxiliary_log_marginal(implementation, f, log_q, share):
    """The stand-in for log p(y|w) that each of the paper's implementations feeds to the loss."""
    if implementation == 1:
        log_batch = batch_log_marginal(f, share)
        return torch.exp(log_batch - log_q).detach() * log_batch
    if implementation == 2:
        return Implementation2.apply(batch_log_marginal(f, share), log_q)
    return Implementation3.apply(f, log_q, torch.log(share))


# ---- auxiliary networks ---------------------------------------------------------------------------------------------
def auxiliary(w, bias, offset, matrix):
    return torch.log_softmax(bias if matrix is None else (w - offset) @ matrix + bias, 0)


# ---- the profile ----------------------------------------------------------------------------------------------------
# max over theta in the simplex of  sum_n v_n log(W theta_n/v_n) - sum_y c_y log lambda_y,
# lambda_y = sum_n theta_n p_ny. Rows without a label (t = 0) contribute to v but not to c.
# Stationary points: theta_n = v_n / (N_pr + sum_y c_y p_ny/lambda_y), N_pr = W - sum c the multiplier of sum theta = 1.
# Only p_ny/lambda_y matters, so columns are scaled to a maximum of 1, and probabilities of exp(-20000) are no problem.
def log_softmax(z):
    z = z - z.max(1, keepdims=True)
    return z - np.log(np.exp(z).sum(1, keepdims=True))


def xlogy(a, b):
    return np.where(a > 0, a * np.log(np.where(a > 0, b, 1)), 0)


def objective(p, c, v, theta):
    return xlogy(v, v.sum() * theta / np.where(v > 0, v, 1)).sum() - (c * np.log(theta @ p)).sum()


def climb(p, c, v, start):
    """A local maximum by trust-region Newton on theta = softmax(tau): no use of the stationarity equations."""
    def down(tau):
        theta = np.exp(tau - tau.max())
        theta /= theta.sum()
        lam = theta @ p
        g = v / theta - p @ (c / lam)
        s = theta * (g - theta @ g)
        jac = np.diag(theta) - np.outer(theta, theta)
        hess = jac @ (-np.diag(v / theta**2) + (p * (c / lam**2)) @ p.T) @ jac
        hess += np.diag(s) - np.outer(theta, s) - np.outer(s, theta)
        return -objective(p, c, v, theta), -s, -hess

    r = minimize(lambda x: down(x)[0], np.log(start), jac=lambda x: down(x)[1], hess=lambda x: down(x)[2],
                 method="trust-exact", options=dict(gtol=1e-7 * (v.sum() + np.abs(c).sum()), maxiter=300))
    theta = np.exp(r.x - r.x.max())
    return theta / theta.sum()


def polish(p, c, n_pr, v, theta):
    """Newton in log theta on v_n = theta_n (N_pr + sum_y c_y p_ny/lambda_y), sum theta = 1: residuals in 80 bits, steps
    from a float64 solve. Rows of weight 0 have theta = 0. None where it does not converge."""
    used = v > 0
    p, v, theta = p[used], v[used], theta[used].astype(LD)
    for _ in range(60):
        q = p / (theta @ p)
        term = theta * (n_pr + q @ c)
        jac = np.vstack([np.diag(term) - (theta[:, None] * q * c) @ (q * theta[:, None]).T, theta])
        residual = np.append(v - term, 1 - theta.sum())
        scale = np.append(np.abs(jac[:-1]).max(1), 1)
        step = np.linalg.lstsq((jac / scale[:, None]).astype(float), (residual / scale).astype(float), rcond=1e-15)[0]
        theta = theta * np.exp(step * min(1, 0.7 / max(1e-30, np.abs(step).max())))
        if np.abs(step).max() < 1e-16:
            break
    if not np.abs(step).max() < 1e-13:
        return None
    full = np.zeros(len(used), LD)
    full[used] = theta / theta.sum()           # otherwise N_pr times the rounding error of the sum enters the value
    return full


def search(p, c, n_pr, v, plug, starts=12, seed=5):
    """The best of many local maxima; also how many different values were met."""
    used = v > 0
    rng = np.random.default_rng(seed)
    p64, v64 = p[used].astype(float), v[used].astype(float)
    first = [v64 / v64.sum(), plug[used] / plug[used].sum()]
    found = []
    for start in first + [rng.dirichlet(np.full(used.sum(), a)) + 1e-9 for a in np.resize([1.0, 0.3, 5.0], starts)]:
        theta = climb(p64, c.astype(float), v64, start / start.sum())
        whole = np.zeros(len(v))
        whole[used] = theta
        theta = polish(p, c, n_pr, v, whole)
        if theta is not None:
            found.append((objective(p, c, v, theta), theta))
    assert found, "no stationary point"
    found.sort(key=lambda pair: -pair[0])
    distinct = 1 + sum(abs(a[0] - b[0]) > 1e-8 for a, b in zip(found, found[1:]))
    return found[0][1], distinct


def known(p, prevalence, v):
    """lambda held at the prevalence: the multipliers x_y = mu_y prevalence_y of the concave dual, that of the most
    common class 0; None where there is no theta > 0 with this marginal."""
    d = p / prevalence - 1
    free = np.arange(p.shape[1]) != prevalence.argmax()
    d, v, x = d[v > 0][:, free], v[v > 0], np.zeros(free.sum(), LD)

    def value(x):
        q = 1 + d @ x
        return (v * np.log(q)).sum() if (q > 0).all() else -np.inf

    for _ in range(300):
        q = 1 + d @ x
        g = d.T @ (v / q)
        hess = (d.T * (v / q**2)) @ d
        scale = np.sqrt(np.diag(hess))
        scaled = np.linalg.solve((hess / np.outer(scale, scale)).astype(float), (g / scale).astype(float))
        step, length = scaled / scale, LD(1)
        close = np.abs(scaled).max() < 1e-3    # rounding would mislead the line search, and Newton's step is safe
        while not close and value(x + length * step) < value(x) and length > 1e-12:
            length /= 2
        x = x + length * step
        if np.abs(scaled).max() < 1e-16:
            break
    if np.abs(scaled).max() > 1e-12 or abs((v / (1 + d @ x)).sum() / v.sum() - 1) > 1e-12:
        return None
    full = np.zeros(p.shape[1], LD)
    full[free] = x
    return full


class Profile:
    """Loss -sum v t f - max[...] as a function of the logits z [n][K], and its gradient by the envelope theorem."""

    def __init__(self, z, t, v, prevalence, n_pr):
        self.t, self.v, self.prevalence = t.astype(LD), v.astype(LD), prevalence.astype(LD)
        self.n_pr, self.mass = n_pr, label_mass(self.t, self.v)
        self.c = self.mass - (0 if np.isinf(n_pr) else LD(n_pr) * self.prevalence)
        self.level = self.v.sum() - self.c.sum()   # N_pr, and the weight of the rows without a label
        self.distinct = 1
        f = log_softmax(z.astype(LD))
        if np.isinf(n_pr):
            self.feasible = known(np.exp(f), self.prevalence, self.v) is not None
        else:
            self.shift = f.max(0)
            plug = (self.v[:, None] * self.t * (self.prevalence / self.mass)).sum(1)
            plug = np.where(self.t.sum(1) > 0, plug, self.v / self.v.sum())
            self.start, self.distinct = search(np.exp(f - self.shift), self.c, self.level, self.v, plug.astype(float))
            self.feasible = True

    def solve(self, z):
        """value, theta, log lambda, and dloglik by the envelope theorem."""
        f = log_softmax(z.astype(LD))
        loss = -(self.v[:, None] * self.t * f).sum()
        gradient = -self.v[:, None] * self.t
        if np.isinf(self.n_pr):
            x = known(np.exp(f), self.prevalence, self.v)
            ratio = np.exp(f - np.log(self.prevalence))
            theta = self.v / (self.v.sum() * (1 + (ratio - 1) @ x))
            log_theta = xlogy(self.v, self.v.sum() * theta / np.where(self.v > 0, self.v, 1)).sum()
            value = loss - log_theta + (self.mass * np.log(self.prevalence)).sum()
            return value, theta, np.log(self.prevalence), gradient + self.v.sum() * theta[:, None] * x * ratio
        p = np.exp(f - self.shift)
        theta = polish(p, self.c, self.level, self.v, self.start)
        assert theta is not None
        lam = theta @ p
        value = loss - objective(p, self.c, self.v, theta) + (self.c * self.shift).sum()
        return value, theta, np.log(lam) + self.shift, gradient + theta[:, None] * self.c * p / lam

    def central(self, z, entries, step=1e-4):
        """The gradient with respect to these logits by central differences of fourth order."""
        def value(at, h):
            moved = z.astype(LD)
            moved[at] += LD(h)
            return self.solve(moved)[0]

        return np.array([(8 * (value(at, step) - value(at, -step)) - (value(at, 2 * step) - value(at, -2 * step)))
                         / (12 * LD(step)) for at in entries])


def to_logits(dloglik, p):
    return dloglik - p * dloglik.sum(1, keepdims=True)
