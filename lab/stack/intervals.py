#!/usr/bin/env python3
"""Coverage of a bootstrap around `--model auto`: do percentile intervals of refitted mixtures hold the true risk?

usage: intervals.py [ROWS [REPLICATES [DRAWS]]]     ROWS of each label (100), 40 samples, 60 draws of each

Rows are drawn by label from logistic models of five columns, one linear and one curved; the prevalence is 0.1. A mixture is fitted,
then its members are fitted to DRAWS bootstrap samples by label, their priors and weights held. The 90 % percentile interval of the
mixture's predictions should hold the true risk of nine in ten of 200 other people. Prints the mean share, its standard error over
samples, and the mean width on the log odds; next to it the intervals of the default linear and the additive model.
Needs the Python package.
"""

import sys

import numpy as np

import prevail

PREVALENCE, LEVEL = 0.1, 0.9


def log_odds(x, curved):
    return -2.9 + x[:, 0] + 0.5 * x[:, 1] - 0.5 * x[:, 2] + (1.2 * np.sin(1.5 * x[:, 3]) + 0.6 * (x[:, 4] ** 2 - 1) if curved else 0.4 * x[:, 3])


def shift(curved):
    """What makes the prevalence that of the population."""
    x = np.random.default_rng(0).normal(size=(200_000, 5))
    z, low, high = log_odds(x, curved), -5.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-z - middle))).mean() < PREVALENCE else (low, middle)
    return low


def draw(rng, m, curved, moved):
    found = {0: [], 1: []}
    while min(map(len, found.values())) < m:
        x = rng.normal(size=(20 * m, 5))
        y = rng.random(len(x)) < 1 / (1 + np.exp(-log_odds(x, curved) - moved))
        for label in (0, 1):
            found[label] += list(x[y == label])
    return np.array(found[0][:m] + found[1][:m]), np.repeat([0, 1], m)


def member(name):
    """A candidate's own model; None: the prevalence."""
    if name == "prevalence":
        return None
    kind, prior = name.split()
    if kind == "iw":
        return prevail.PrevalenceClassifier(PREVALENCE, loss="iw", prior=prior, threads=1)
    weighting = {} if kind.startswith("mlp") else {"weighting": "0"}
    return prevail.PrevalenceClassifier(PREVALENCE, model=kind, prior=prior, threads=1, **weighting)


def mixed(weights, X, y, new):
    """The mixture with these weights: members are capped as the library caps them."""
    cap, p = np.log(np.bincount(y).min() + 1), 0
    for name, weight in weights.items():
        own = member(name)
        if own is None:
            p += weight * PREVALENCE
            continue
        ratio = np.clip(own.fit(X, y).decision_function(new) - np.log(PREVALENCE / (1 - PREVALENCE)), -cap, cap)
        p += weight / (1 + np.exp(-ratio) * (1 - PREVALENCE) / PREVALENCE)
    return p


def main(m=100, replicates=40, draws=60):
    for curved in (False, True):
        moved, held = shift(curved), {"auto, bootstrap": [], "linear (default)": [], "additive": []}
        for replicate in range(replicates):
            rng = np.random.default_rng([m, curved, replicate])
            X, y = draw(rng, m, curved, moved)
            new = rng.normal(size=(200, 5))
            truth = 1 / (1 + np.exp(-log_odds(new, curved) - moved))
            auto = prevail.PrevalenceClassifier(PREVALENCE, model="auto", candidates="prevalence,linear,iw,additive,mlp", threads=1).fit(X, y)
            weights = auto.candidates_["weight"].iloc[:-1]
            weights = {name: weight for name, weight in weights.items() if weight > 0}
            again = []
            for _ in range(draws):
                rows = np.concatenate([rng.choice(np.flatnonzero(y == label), m) for label in (0, 1)])
                again.append(mixed(weights, X[rows], y[rows], new))
            bounds = {"auto, bootstrap": np.quantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)}
            for name, model in (("linear (default)", "linear"), ("additive", "additive")):
                own = prevail.PrevalenceClassifier(PREVALENCE, model=model, threads=1).fit(X, y)
                bounds[name] = [bound[:, 1] for bound in own.predict_interval(new, LEVEL)]
            for name, (low, high) in bounds.items():
                width = np.log(high / (1 - high)) - np.log(low / (1 - low))
                held[name].append((((low <= truth) & (truth <= high)).mean(), width.mean()))
            if replicate % 5 == 4 or replicate == replicates - 1:
                tell(m, curved, held)


def tell(m, curved, held):
    print(f"{m} rows of each label, {'curved' if curved else 'linear'}, {len(held['additive'])} samples: " + "; ".join(
        f"{name} {np.mean(own, axis=0)[0]:.3f} ({np.std(own, axis=0, ddof=1)[0] / len(own) ** 0.5:.3f}), width {np.mean(own, axis=0)[1]:.2f}"
        for name, own in held.items()), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
