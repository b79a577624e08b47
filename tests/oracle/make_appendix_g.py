"""Known label counts, and how likely rows of unknown prevalence are, by summing over every assignment of labels: the
oracle of Appendix G's joint p(Y*) and of its joint update of q(w).

  /usr/bin/python3 tests/oracle/make_appendix_g.py > tests/oracle/appendix_g.txt

With r_n(y) = p(y|x_n,w)/p(y|w) and Y over all of classes^n assignments,

  counts    p(y_n|X*,c) = sum over Y with counts c and y_n of prod r / the same without y_n;  evidence: the latter over the
            number of such Y
  exact     evidence = sum over Y of prod r times the Dirichlet-multinomial probability of Y (the prior of pi integrated
            out); rows of weight v are v rows, known labels are kept fixed
  vb        the updates as they stand, twenty thousand of them, and the evidence lower bound from its definition: the
            expectation of log p(X*,Y*,pi) plus the entropies of q(Y*) and q(pi), term by term
"""
import itertools

import numpy as np
from scipy.special import digamma, gammaln, logsumexp


def show(name, values):
    values = np.asarray(values, float).ravel()
    print(f"array {name} {values.size}")
    print(" ".join(repr(float(v)) for v in values))


def log_ratios(rng, n, classes, spread):
    marginal = rng.dirichlet(np.full(classes, 2.0))
    logit = spread * rng.standard_normal((n, classes)) + np.log(marginal)
    return logit - logsumexp(logit, 1, keepdims=True), np.log(marginal)


def assignments(n, classes):
    return np.array(list(itertools.product(range(classes), repeat=n)))


def counts_case(rng, name, count, spread, sure=()):
    classes, n = len(count), sum(count)
    loglik, marginal = log_ratios(rng, n, classes, spread)
    for row, label in sure:
        loglik[row] = -np.inf
        loglik[row, label] = 0
    a = loglik - marginal
    y = assignments(n, classes)
    y = y[[all((row == c).sum() == count[c] for c in range(classes)) for row in y]]
    logs = a[np.arange(n), y].sum(1)
    total = logsumexp(logs)
    log_p = np.full((n, classes), -np.inf)
    for i in range(n):
        for c in range(classes):
            chosen = logs[y[:, i] == c]
            if chosen.size:
                log_p[i, c] = logsumexp(chosen) - total
    print(f"case {name} kind=counts n={n} classes={classes}")
    show("loglik", loglik)
    show("log_marginal", marginal)
    show("count", count)
    show("p", np.exp(log_p))
    show("evidence", total - np.log(len(y)))


def evidence_exact(a, alpha, label):
    n, classes = a.shape
    y = assignments(n, classes)
    y = y[((label < 0) | (y == label)).all(1)]
    tally = np.stack([(y == c).sum(1) for c in range(classes)], 1)
    prior = (gammaln(alpha + tally) - gammaln(alpha)).sum(1) + gammaln(alpha.sum()) - gammaln(alpha.sum() + n)
    return logsumexp(a[np.arange(n), y].sum(1) + prior)


def evidence_vb(a, alpha, label):
    n, classes = a.shape
    q = np.full((n, classes), 1.0 / classes)
    fixed = label >= 0
    for _ in range(20000):
        q[fixed] = np.eye(classes)[label[fixed]]
        post = alpha + q.sum(0)
        mean = digamma(post) - digamma(post.sum())
        logits = a + mean
        new = np.exp(logits - logsumexp(logits, 1, keepdims=True))
        q[~fixed] = new[~fixed]
    entropy = -(q[q > 0] * np.log(q[q > 0])).sum()
    log_prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * mean).sum()
    log_q = gammaln(post.sum()) - gammaln(post).sum() + ((post - 1) * mean).sum()
    return (q * (a + mean)).sum() + entropy + log_prior - log_q


def evidence_case(rng, name, n, classes, spread, dirichlet, alpha, labelled=0, repeat=1, approximate=0):
    loglik, marginal = log_ratios(rng, n, classes, spread)
    label = np.full(n, -1)
    label[:labelled] = rng.integers(0, classes, labelled)
    weight = np.ones(n, int)
    weight[-1] = repeat
    a, every = np.repeat(loglik - marginal, weight, 0), np.repeat(label, weight)
    alpha = np.asarray(alpha, float)
    print(f"case {name} kind=evidence n={n} classes={classes} dirichlet={dirichlet} approximate={approximate}")
    show("loglik", loglik)
    show("log_marginal", marginal)
    show("label", label)
    show("weight", weight)
    show("exact", evidence_exact(a, alpha, every))
    show("vb", evidence_vb(a, alpha, every))


def main():
    rng = np.random.default_rng(7)
    print(f"# made by make_appendix_g.py with NumPy {np.__version__}")
    counts_case(rng, "two_labels", (8, 4), 1.0)
    counts_case(rng, "two_labels_one", (11, 1), 2.0)
    counts_case(rng, "two_labels_extreme", (5, 6), 12.0)
    counts_case(rng, "two_labels_none", (6, 0), 1.0)
    counts_case(rng, "two_labels_sure", (4, 5), 1.5, sure=((0, 1), (3, 0), (5, 1)))
    counts_case(rng, "three_labels", (3, 2, 4), 1.5)
    counts_case(rng, "three_labels_absent", (4, 0, 5), 1.5)
    counts_case(rng, "four_labels", (2, 2, 1, 3), 2.0)
    counts_case(rng, "three_labels_sure", (2, 3, 3), 1.0, sure=((1, 2), (4, 0)))
    evidence_case(rng, "pair_flat", 10, 2, 1.5, "flat", (1, 1))
    evidence_case(rng, "pair_jeffreys", 8, 2, 2.5, "jeffreys", (0.5, 0.5), labelled=2)
    evidence_case(rng, "pair_counts", 8, 2, 1.0, "counts:3,1.5", (3, 1.5), repeat=3)
    evidence_case(rng, "three_flat", 9, 3, 2.0, "flat", (1, 1, 1), approximate=1)
    evidence_case(rng, "three_counts", 9, 3, 1.0, "counts:4,3,5", (4, 3, 5), approximate=1)
    print("end 14")


main()
