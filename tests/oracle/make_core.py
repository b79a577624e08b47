"""Makes tests/oracle/core.txt: values and gradients of include/prevail/core.h from core_reference.py.

    python3 tests/oracle/make_core.py tests/oracle/core.txt [profile_reference.py]

needs torch and scipy. With the second argument the profile cases are also compared, loosely, with that other reference.

The file: lines starting with # are comments. `case NAME key=value ...` opens a case; `array NAME COUNT` is followed by
COUNT numbers; `end CASES` closes the file. Cases of kind data and batch_data hold inputs; others name theirs by data=.
Gradients are with respect to each f_n(y) as a free variable (dloglik) or, for the profile, whose dloglik is defined up
to a constant in each row, with respect to the logits (dlogit).
"""
import importlib.util
import os
import sys

import numpy as np
import torch

import core_reference as ref

PREVALENCE = {2: [0.99, 0.01], 5: [0.6, 0.25, 0.1, 0.049, 0.001]}


class Writer:
    def __init__(self, path):
        self.path, self.cases = path, 0
        self.out = open(path + ".part", "w")    # the file itself appears whole or not at all
        self.out.write("# Oracle of the core's losses. Made by:\n")
        self.out.write("# python3 tests/oracle/make_core.py tests/oracle/core.txt\n")

    def case(self, name, arrays, **keys):
        number = lambda x: "%.17g" % x if isinstance(x, (int, float)) else x
        self.out.write("\ncase " + " ".join([name] + [f"{k}={number(x)}" for k, x in keys.items()]) + "\n")
        for label, array in arrays.items():
            if array is None:
                continue
            array = np.asarray(array, float)
            self.out.write(f"array {label} {array.size}\n")
            for row in array.reshape(-1, array.shape[-1]) if array.ndim > 1 else [array.ravel()]:
                for start in range(0, len(row), 5):
                    self.out.write(" ".join("%.17g" % x for x in row[start : start + 5]) + "\n")
        self.cases += 1

    def close(self):
        self.out.write(f"\nend {self.cases}\n")
        self.out.close()
        os.replace(self.path + ".part", self.path)


def gradient(value, *leaves):
    return [g.numpy() for g in torch.autograd.grad(value, leaves)]


def leaf(x):
    return torch.tensor(np.asarray(x, float), requires_grad=True)


def fixed(x):
    return torch.tensor(np.asarray(x, float))


# ---- inputs ---------------------------------------------------------------------------------------------------------
def make_data(seed, n, classes, soft=False, weights=None, prevalence=None, centred=True):
    rng = np.random.default_rng(seed)
    prevalence = np.array(PREVALENCE[classes] if prevalence is None else prevalence)
    label = np.arange(n) % classes
    votes = np.stack([rng.multinomial(4, 0.3 / classes + 0.7 * np.eye(classes)[y]) for y in label]) / 4
    t = votes if soft else np.eye(classes)[label]
    z = 1.5 * rng.normal(size=(n, classes)) + 1.0 * t + (np.log(prevalence) if centred else 0)
    v = rng.uniform(0.2, 3.0, n) if weights else np.ones(n)
    if weights == "zero":
        v[[3, 8]] = 0
    return dict(z=z, f=torch.log_softmax(fixed(z), 1).numpy(), t=t, v=v, prevalence=prevalence,
                label=None if soft else label, weighted=bool(weights))


def make_hard(seed):
    """Few rows, five classes, rows sure of different ones: the prevalence far outside their hull, lambda at its rim."""
    rng = np.random.default_rng(seed)
    n, classes = (6, 12)[seed % 2], 5
    prevalence = 0.001 + 0.995 * rng.dirichlet(np.full(classes, 0.5))
    label = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    t = np.eye(classes)[label]
    z = rng.choice([3.0, 6.0]) * rng.normal(size=(n, classes)) + rng.choice([0, 3]) * (t + rng.normal(size=classes))
    return dict(z=z, f=torch.log_softmax(fixed(z), 1).numpy(), t=t, v=rng.uniform(0.2, 3.0, n), prevalence=prevalence,
                label=label, weighted=True)


def write_data(out, name, d, **keys):
    out.case(name, dict(loglik=d["f"], label=d["label"], frequency=d["t"] if d["label"] is None else None,
                        weight=d["v"] if d["weighted"] else None, prevalence=d["prevalence"], **keys),
             kind="data" if not keys else "batch_data", n=len(d["f"]), classes=d["f"].shape[1])


# ---- the full batch -------------------------------------------------------------------------------------------------
def full_cases(out, name, d, other, strengths, extreme=0):
    t, v, prevalence = fixed(d["t"]), fixed(d["v"]), fixed(d["prevalence"])
    mass = ref.label_mass(t, v)
    log_marginal = ref.plugin_log_marginal(fixed(d["f"]), t, v, prevalence).numpy()
    as_drawn = torch.logsumexp(torch.log(v / v.sum())[:, None] + fixed(d["f"]), 0).numpy()

    def write(loss, value, f, n_pr, counts=None):
        keys = dict(kind="full", data=name, loss=loss, marginal="plugin", n_pr=n_pr, extreme=extreme)
        tail = f"/{n_pr:g}" + ("/counts" if counts is not None else "") if loss == "ig" else ""
        out.case(f"full/{loss}{tail}/{name}",
                 dict(value=value.item(), dloglik=gradient(value, f)[0], log_marginal=log_marginal, counts=counts,
                      as_drawn=as_drawn if loss == "plain" else None), **keys)

    f = leaf(d["f"])
    write("plain", ref.plain(f, t, v), f, 0.0)
    write("iw", ref.iw(f, t, v, prevalence), f, 0.0)
    for n_pr in strengths:
        if np.isfinite(n_pr):
            write("ig", ref.plugin(f, t, v, prevalence, mass - n_pr * prevalence), f, n_pr)
        if not extreme and n_pr in (7.5, np.inf):
            counts = fixed(np.linspace(-3.25, 4.5, len(mass)))
            write("ig", ref.plugin(f, t, v, prevalence, counts), f, n_pr, counts)
        profile_case(out, name, d, n_pr, other, extreme)


def profile_case(out, name, d, n_pr, other, extreme):
    keys = dict(kind="full", data=name, loss="ig", marginal="profile", n_pr=n_pr, extreme=extreme)
    profile = ref.Profile(d["z"], d["t"], d["v"], d["prevalence"], n_pr)
    title = f"full/profile/{n_pr:g}/{name}"
    if not profile.feasible:
        out.case(title, dict(value=np.inf, dlogit=np.zeros_like(d["f"])), **keys)
        print(f"{title}: outside the hull")
        return
    value, theta, log_lambda, dloglik = profile.solve(d["z"])
    p = np.exp(ref.log_softmax(d["z"].astype(ref.LD)))
    dlogit = ref.to_logits(dloglik, p)
    entries = list(np.ndindex(d["z"].shape))
    entries = [entries[i] for i in np.random.default_rng(1).permutation(len(entries))[:30]]
    central = profile.central(d["z"], entries)
    off = np.abs(central - np.array([dlogit[at] for at in entries])).max() / max(np.abs(dlogit).max(), extreme)
    assert off < 1e-9, (title, off)
    assert abs(theta.sum() - 1) < 1e-15, title
    assert extreme or np.abs(theta @ p / np.exp(log_lambda) - 1).max() < 1e-12, title
    note = ""
    if other is not None and not extreme:
        used = d["v"] > 0                   # it takes no weights of 0
        theirs = other.profile(p[used].astype(float), np.asarray(profile.mass, float), d["prevalence"], n_pr,
                               d["v"][used])
        loss = ref.plain(fixed(d["f"]), fixed(d["t"]), fixed(d["v"])).item()
        weights = (d["v"][used] * np.log(d["v"][used])).sum()    # theirs has log(W theta), ours log(W theta/v)
        assert abs(float(value) - (loss - theirs[0] + weights)) < 1e-6, title
        assert np.abs(theirs[3] - theta[used].astype(float)).max() < 1e-4, title
        note = ", other reference agrees"
    print(f"{title}: {float(value):.10g}, central differences off {float(off):.1e}, "
          f"local maxima {profile.distinct}{note}")
    out.case(title, dict(value=float(value), dlogit=dlogit, log_marginal=log_lambda, theta=theta), **keys)


def selection_case(out, name, d, log_ratio, extreme=0):
    f, r = leaf(d["f"]), leaf(log_ratio)
    value = ref.selection(f, fixed(d["t"]), fixed(d["v"]), r)
    df, dr = gradient(value, f, r)
    out.case(f"selection/{name}", dict(log_ratio=log_ratio, value=value.item(), dloglik=df, dlog_ratio=dr),
             kind="selection", data=name, extreme=extreme)


# ---- minibatches ----------------------------------------------------------------------------------------------------
def batch_inputs(d, seed, strata):
    """Strata of the rows and the full data they stand for; strata None: the labels are the strata."""
    rng = np.random.default_rng(seed)
    n, classes = d["f"].shape
    count = classes if strata is None else strata
    stratum = d["label"] if strata is None else (np.arange(n) * 7 + np.arange(n) // 3) % count
    assert len(set(stratum)) == count
    full = rng.integers(20, 400, count).astype(float)
    expected = rng.dirichlet(np.full(count, 5.0))
    mass = full if strata is None and not d["weighted"] else rng.uniform(10, 500, classes)
    log_q = np.log(rng.dirichlet(np.full(classes, 3.0)))
    return dict(stratum=stratum, full=full, expected=expected, mass=mass, log_q=log_q, explicit=strata is not None)


def shares(d, b, counted):
    return ref.population_share(fixed(d["t"]), fixed(d["v"]), torch.tensor(b["stratum"]), fixed(b["full"]),
                                fixed(b["expected"]), fixed(b["mass"]), fixed(d["prevalence"]), counted)


def epochs(d, b, counted):
    return ref.stratum_weight(torch.tensor(b["stratum"]), fixed(b["full"]), fixed(b["expected"]), counted)


def check_paper_weights(d, b):
    """Hard labels that are the strata, unit weights: beta/n_B and N/n_B omega as the paper writes them."""
    n, y = len(d["label"]), d["label"]
    in_batch = np.bincount(y).astype(float)
    total, p_full = b["full"].sum(), b["full"] / b["full"].sum()
    for counted in (True, False):
        beta = n / in_batch * d["prevalence"] if counted else d["prevalence"] / b["expected"]
        omega = n / in_batch * p_full if counted else p_full / b["expected"]
        assert np.allclose(shares(d, b, counted), beta[y] / n, rtol=1e-14)
        assert np.allclose(epochs(d, b, counted), total / n * omega[y], rtol=1e-14)


def batch_cases(out, name, d, b):
    write_data(out, name, d, full=b["full"], expected=b["expected"], mass=b["mass"], log_q=b["log_q"],
               stratum=b["stratum"] if b["explicit"] else None)
    for beta in ("counted", "expected"):
        for omega in ("counted", "expected"):
            out.case(f"weights/{beta}/{omega}/{name}",
                     dict(epoch=epochs(d, b, omega == "counted"), population=shares(d, b, beta == "counted")),
                     kind="weights", data=name, beta=beta, omega=omega)
    marginal_cases(out, name, d, b)
    weighting = [(x, y) for x in ("counted", "expected") for y in ("counted", "expected")]
    turn = 0
    for loss in ("plain", "iw"):
        for direct in (0, 1):
            batch_case(out, name, d, b, loss, "profile", 1, 7.5, direct, *weighting[turn % 4])
            turn += 1
    for n_pr in (0.0, 7.5, 1e5, np.inf):
        batch_case(out, name, d, b, "ig", "profile", 2, n_pr, turn % 2, *weighting[turn % 4])
        turn += 1
    for direct in (0, 1):
        for implementation in (1, 2, 3):
            for n_pr in (0.0, 300.0):
                marginal = ("auxiliary:constant", "auxiliary:linear")[turn % 2]
                batch_case(out, name, d, b, "ig", marginal, implementation, n_pr, direct, *weighting[turn * 3 // 2 % 4])
                turn += 1


def marginal_cases(out, name, d, b):
    share = shares(d, b, True)
    counts = fixed(np.linspace(-20.5, 31.0, d["f"].shape[1]))
    log_q = fixed(b["log_q"])
    out.case(f"log_marginal/{name}", dict(population=share, log_marginal=ref.batch_log_marginal(fixed(d["f"]), share)),
             kind="log_marginal", data=name)
    gradients = []
    start = np.random.default_rng(9).normal(size=d["f"].shape)
    for implementation in (1, 2, 3):
        f = leaf(d["f"])
        value = (counts * ref.auxiliary_log_marginal(implementation, f, log_q, share)).sum()
        gradients.append(gradient(value, f)[0])
        out.case(f"backward/{implementation}/{name}",
                 dict(population=share, counts=counts, log_q=log_q, start=start, value=value.item(),
                      dloglik=start + gradients[-1]), kind="backward", data=name, implementation=implementation)
    for other in gradients[1:]:
        assert np.abs(other - gradients[0]).max() < 1e-12 * np.abs(gradients[0]).max()


def batch_case(out, name, d, b, loss, marginal, implementation, n_pr, direct, beta, omega):
    t, v, prevalence, mass = fixed(d["t"]), fixed(d["v"]), fixed(d["prevalence"]), fixed(b["mass"])
    epoch, share = epochs(d, b, omega == "counted"), shares(d, b, beta == "counted")
    log_q, f = fixed(b["log_q"]), leaf(d["f"])
    if loss == "ig" and marginal == "profile":
        value = ref.selection(f, t, epoch * v, torch.log(mass / mass.sum()) - log_q)
        if np.isfinite(n_pr):
            value = value - n_pr * (prevalence * log_q).sum()
    elif loss == "ig":
        count = (ref.label_mass(t, epoch * v) if direct else mass) - n_pr * prevalence
        value = ref.plain(f, t, epoch * v)
        value = value + (count * ref.auxiliary_log_marginal(implementation, f, log_q, share)).sum()
    else:
        ratio = prevalence / (mass / mass.sum()) if loss == "iw" else torch.ones_like(mass)
        value = ref.plain(f, t * ratio, epoch * v)
    tail = f"/{marginal}/{implementation}/{n_pr:g}" if loss == "ig" else ""
    out.case(f"batch/{loss}{tail}/{'direct' if direct else 'lower'}/{beta}/{omega}/{name}",
             dict(value=value.item(), dloglik=gradient(value, f)[0],
                  log_batch_marginal=ref.batch_log_marginal(fixed(d["f"]), share)),
             kind="batch", data=name, loss=loss, marginal=marginal, implementation=implementation, n_pr=n_pr,
             direct=direct, beta=beta, omega=omega)


# ---- auxiliary networks ---------------------------------------------------------------------------------------------
def auxiliary_cases(out):
    rng = np.random.default_rng(77)
    for classes, params, total, spread in ((2, 0, 1.0, 1.0), (5, 0, 0.83, 3.0), (2, 3, 1.0, 1.0), (5, 37, 1.21, 1.0),
                                           (3, 1, 1e-6, 0.3), (4, 130, 1.0, 20.0)):
        w = rng.normal(size=params)
        bias, offset = leaf(spread * rng.normal(size=classes)), leaf(w + 0.3 * rng.normal(size=params))
        matrix = leaf(0.4 * rng.normal(size=(params, classes)))
        target = total * rng.dirichlet(np.ones(classes))
        log_q = ref.auxiliary(fixed(w), bias, offset, matrix if params else None)
        value = -(fixed(target) * log_q).sum()
        arrays = dict(bias=bias.detach(), log_target=np.log(target), log_q=log_q.detach(), value=value.item())
        if params:
            db, do, dm = gradient(value, bias, offset, matrix)
            arrays.update(w=w, offset=offset.detach(), matrix=matrix.detach(), dbias=db, doffset=do, dmatrix=dm)
        else:
            arrays.update(dbias=gradient(value, bias)[0])
        out.case(f"auxiliary/{classes}/{params}", arrays, kind="auxiliary", classes=classes, params=params, scale=0.7)


def spoil(d, logits):
    return dict(d, z=logits, f=torch.log_softmax(fixed(logits), 1).numpy())


def extreme_cases(out, other):
    rare = make_data(61, 16, 2, weights="real", prevalence=[1 - 1e-9, 1e-9])
    right = make_data(62, 16, 2)
    sign = 2e4 * (right["t"] - 0.5)
    wrong = sign.copy()
    wrong[5] = -wrong[5]                    # one row of the rare class sure to be common
    sided = 1e4 * np.array([1.0, -1.0]) + np.random.default_rng(63).normal(size=(16, 2))
    for name, d, strengths in (("extreme-rare", rare, (0.0, 300.0, 1e5, np.inf)),
                               ("extreme-sure", spoil(right, sign), (300.0, 1e5)),
                               ("extreme-wrong", spoil(right, wrong), (300.0, 1e5)),
                               ("extreme-sided", spoil(right, sided), (0.0, 300.0, 1e5))):
        write_data(out, name, d)
        full_cases(out, name, d, other, strengths, extreme=1)
        selection_case(out, name, d, np.array([-3.0, 800.0]), extreme=1)


def hard_cases(out):
    """Unique maxima, and no loss of digits in the problem itself: a change of the inputs is hardly magnified."""
    for seed in (168, 176, 206, 242, 248, 274, 288):
        d, name = make_hard(seed), f"hard-{seed}"
        write_data(out, name, d)
        for n_pr in (0.0, 20.0, 300.0, 1e4):
            profile_case(out, name, d, n_pr, None, 0)


def sample_cases(out):
    """A third of the rows without a label: a sample of the population."""
    for name, d in (("sample-two", make_data(71, 24, 2)), ("sample-two-real", make_data(72, 24, 2, False, "real")),
                    ("sample-five", make_data(73, 45, 5, False, "real"))):
        plain = np.arange(len(d["t"])) >= 2 * len(d["t"]) // 3
        d["t"][plain] = 0
        d["label"][plain] = -1
        write_data(out, name, d)
        t, v, prevalence = fixed(d["t"]), fixed(d["v"]), fixed(d["prevalence"])
        for n_pr in (0.0, 7.5, 300.0):
            f = leaf(d["f"])
            log_marginal = torch.logsumexp(torch.log(v[plain] / v[plain].sum())[:, None] + f[plain], 0)
            value = ref.plain(f, t, v) + ((ref.label_mass(t, v) - n_pr * prevalence) * log_marginal).sum()
            out.case(f"full/ig/{n_pr:g}/{name}", dict(value=value.item(), dloglik=gradient(value, f)[0],
                                                    log_marginal=log_marginal.detach().numpy()),
                     kind="full", data=name, loss="ig", marginal="plugin", n_pr=n_pr, extreme=0)
            profile_case(out, name, d, n_pr, None, 0)


def main(path, other_path=None):
    other = None
    if other_path:
        spec = importlib.util.spec_from_file_location("other", other_path)
        other = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(other)
    out = Writer(path)
    strengths = (0.0, 7.5, 300.0, 1e5, np.inf)
    for name, d in (("two-hard", make_data(11, 12, 2)),
                    ("two-soft-real", make_data(12, 24, 2, True, "real", [0.7, 0.3])),
                    ("two-hard-real-off", make_data(13, 20, 2, False, "real", centred=False)),
                    ("two-hard-zero", make_data(14, 20, 2, False, "zero")),
                    ("five-hard", make_data(21, 40, 5)),
                    ("five-soft-real", make_data(22, 30, 5, True, "real")),
                    ("five-hard-real-off", make_data(23, 24, 5, False, "real", centred=False)),
                    ("five-soft-zero", make_data(24, 30, 5, True, "zero"))):
        write_data(out, name, d)
        full_cases(out, name, d, other, strengths)
        selection_case(out, name, d, np.random.default_rng(4).normal(size=d["f"].shape[1]) * 2)
    for name, d, strata in (("batch-two", make_data(31, 8, 2), None),
                            ("batch-two-real", make_data(32, 9, 2, False, "real"), None),
                            ("batch-two-sites", make_data(33, 10, 2), 4),
                            ("batch-two-soft", make_data(34, 9, 2, True, "real"), 3),
                            ("batch-five", make_data(35, 12, 5), None),
                            ("batch-five-soft", make_data(36, 12, 5, True, "zero"), 4)):
        b = batch_inputs(d, 5, strata)
        if strata is None and not d["weighted"]:
            check_paper_weights(d, b)
        batch_cases(out, name, d, b)
    auxiliary_cases(out)
    extreme_cases(out, other)
    hard_cases(out)
    sample_cases(out)
    out.close()
    print(f"{out.cases} cases")


if __name__ == "__main__":
    main(*sys.argv[1:3])
