"""Sample sizes: the oracle of src/size.

  /usr/bin/python3 tests/oracle/make_size.py > tests/oracle/size.txt

riley_*    the criteria of Riley et al. (2019, 2020) as the R package pmsampsize prints them: its example (0.174, 24 parameters,
           R2 0.288: 623 and 662 rows), and the one of the BMJ paper (0.05, 30 parameters, R2 0.05: 5249), by the formulas.
model_*    what a design of cases and controls gives, for normal scores: R2 in the population and in the design, standard errors of
           the AUC, a risk, PPV and net benefit, by adaptive quadrature of densities.
odds_*     the standard error of a log odds ratio and the power: a binary exposure alone (closed form of the 2 x 2 table), a normal
           one alone, and both given a normal score, by adaptive quadrature of the Fisher information.
slope_*    the calibration slope of a maximum-likelihood fit, by solving the equations of the limit with SciPy's root, means by
           Gauss-Hermite quadrature and the proximal map by Lambert-like bisection.
"""
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, root
from scipy.special import expit, logit
from scipy.stats import norm

Z = norm.ppf(0.975)


cases = 0


def case(text):
    global cases
    cases += 1
    print("case " + text)


def show(name, values):
    values = np.asarray(values, float).ravel()
    print(f"array {name} {values.size}")
    print(" ".join(repr(float(v)) for v in values))


def riley():
    for name, prevalence, parameters, r2 in (("pmsampsize", 0.174, 24, 0.288), ("bmj", 0.05, 30, 0.05), ("common", 0.4, 8, 0.2)):
        most = 1 - np.exp(2 * (prevalence * np.log(prevalence) + (1 - prevalence) * np.log(1 - prevalence)))
        s = r2 / (r2 + 0.05 * most)
        rows = [parameters / ((k - 1) * np.log(1 - r2 / k)) for k in (0.9, s)] + [(Z / 0.05) ** 2 * prevalence * (1 - prevalence)]
        case(f"riley_{name} prevalence={prevalence} parameters={parameters} r2={r2}")
        show("rows", np.ceil(rows))


def mean(f, mu, d):
    """E f(s), s normal with mean mu and standard deviation d."""
    return quad(lambda u: f(mu + d * u) * norm.pdf(u), -10, 10, epsabs=1e-13, epsrel=1e-12, limit=400)[0]


def r2(d, share):
    gain = share * mean(lambda s: -np.log(share + (1 - share) * np.exp(-s)), d * d / 2, d)
    gain += (1 - share) * mean(lambda s: -np.log(share * np.exp(s) + 1 - share), -d * d / 2, d)
    return 1 - np.exp(-2 * gain)


def model():
    for auc, n_cases, controls, prevalence, people, parameters, threshold in (
        (0.8, 150, 450, 0.02, 5000, 12, 0.1), (0.7, 300, 300, 0.1, 800, 5, 0.15), (0.95, 80, 400, 0.3, 1e5, 1, 0.5), (0.55, 500, 250, 0.01, 1e4, 20, 0.012)
    ):  # fmt: skip
        d, n = np.sqrt(2) * norm.ppf(auc), n_cases + controls
        w = n_cases / n
        at = logit(threshold) - logit(prevalence)
        tpr, fpr = norm.sf((at - d * d / 2) / d), norm.sf((at + d * d / 2) / d)
        auc_error = np.sqrt(
            (mean(lambda s: norm.cdf((s + d * d / 2) / d) ** 2, d * d / 2, d) - auc**2) / n_cases
            + (mean(lambda s: norm.sf((s - d * d / 2) / d) ** 2, -d * d / 2, d) - auc**2) / controls
        )
        info = np.zeros((2, 2))
        for i in range(2):
            for j in range(2):
                part = lambda s: expit(logit(w) + s) * expit(-logit(w) - s) * s ** (i + j)
                info[i, j] = w * mean(part, d * d / 2, d) + (1 - w) * mean(part, -d * d / 2, d)
        x, prior = np.array([1, at]), 1 / (people * prevalence * (1 - prevalence))
        risk = x @ np.linalg.inv(info) @ x / n + (parameters - 1) / info[0, 0] / n - 1 / n_cases - 1 / controls + prior
        ppv = (1 - tpr) / tpr / n_cases + (1 - fpr) / fpr / controls + prior
        odds = threshold / (1 - threshold)
        benefit = (prevalence * (1 - prevalence) / people * (tpr + odds * fpr) ** 2
                   + prevalence**2 * tpr * (1 - tpr) / n_cases + ((1 - prevalence) * odds) ** 2 * fpr * (1 - fpr) / controls)  # fmt: skip
        case(f"model_{auc} auc={auc} cases={n_cases} ratio={controls / n_cases} prevalence={prevalence} people={people} "
              f"parameters={parameters} threshold={threshold}")  # fmt: skip
        show("errors", [r2(d, prevalence), r2(d, w), auc_error, np.sqrt(risk), np.sqrt(ppv), np.sqrt(benefit)])


def odds():
    cases_of = {"alone": (2.0, 0.3, 0, 150, 300), "protective": (0.5, 0.1, 0, 400, 200), "normal": (1.4, 0, 0, 200, 200),
                "given": (1.8, 0.25, 0.8, 250, 500), "both": (1.5, 0, 0.75, 300, 300)}  # fmt: skip
    for name, (ratio, exposure, auc, n_cases, controls) in cases_of.items():
        beta, w = np.log(ratio), n_cases / (n_cases + controls)
        d = np.sqrt(2) * norm.ppf(auc) if auc else 0
        exposed = expit(logit(exposure) + beta) if exposure else 0
        if exposure and not auc:
            error = np.sqrt(1 / (n_cases * exposed * (1 - exposed)) + 1 / (controls * exposure * (1 - exposure)))
        else:
            node, weight = np.polynomial.hermite_e.hermegauss(120)
            weight = weight / weight.sum()
            s = [(-d * d / 2 + d * node, weight), (d * d / 2 + d * node, weight)] if auc else [(np.zeros(1), np.ones(1))] * 2
            if exposure:
                e = [(np.array([0, 1]), np.array([1 - p, p])) for p in (exposure, exposed)]
                llr = lambda v: np.where(v > 0, np.log(exposed / exposure), np.log((1 - exposed) / (1 - exposure)))
            else:
                e = [(node, weight), (node + beta, weight)]
                llr = lambda v: beta * v - beta**2 / 2
            info = np.zeros((3, 3))
            for y, share in enumerate((1 - w, w)):
                S, E = np.meshgrid(s[y][0], e[y][0], indexing="ij")
                p = expit(logit(w) + S + llr(E))
                mass = share * np.outer(s[y][1], e[y][1]) * p * (1 - p)
                x = [np.ones_like(S), E, S]
                info += np.array([[(mass * a * b).sum() for a in x] for b in x])
            k = 3 if auc else 2
            error = np.sqrt(np.linalg.inv(info[:k, :k])[1, 1] / (n_cases + controls))
        power = norm.cdf(abs(beta) / error - Z) + norm.cdf(-abs(beta) / error - Z)
        case(f"odds_{name} ratio={controls / n_cases} cases={n_cases} odds_ratio={ratio} exposure={exposure} auc={auc}")
        show("error", [error, power])


def slope():
    node, weight = np.polynomial.hermite_e.hermegauss(150)
    weight = weight / weight.sum()

    def proximal(r, strength, y):
        return np.array([brentq(lambda f: f - v - strength * (y - expit(f)), v - strength - 1, v + strength + 1, xtol=1e-14) for v in r])

    for auc, share, parameters, rows in ((0.8, 0.5, 10, 294), (0.7, 0.2, 10, 1065), (0.9, 0.5, 24, 800), (0.888, 0.174, 24, 662)):
        d = np.sqrt(2) * norm.ppf(auc)

        def gap(u):
            intercept, along, noise, strength = u[0], u[1], u[2] ** 2, u[3]
            sd = np.sqrt(along**2 + noise)
            sums = np.zeros(4)
            for y, part in enumerate((1 - share, share)):
                f = proximal(intercept + along * y * d + sd * node, strength, y)
                psi, bend, x = y - expit(f), expit(f) * expit(-f), y * d + along / sd * node
                sums += part * np.array([(weight * v).sum() for v in (psi, x * psi, psi**2, 1 / (1 + strength * bend))])
            # with K + 1 coefficients in all, K - 1 of them orthogonal to the difference of the means
            return [sums[0], sums[1], noise - (parameters - 1) * rows * strength**2 * sums[2] / (parameters + 1) ** 2,
                    1 - (parameters + 1) / rows - sums[3]]  # fmt: skip

        found = root(gap, [logit(share) - d * d / 2, d * 1.05, np.sqrt(8 * parameters / rows), 8 * parameters / rows], tol=1e-13)
        assert max(abs(np.array(gap(found.x)))) < 1e-9, found
        case(f"slope_{auc}_{rows} auc={auc} share={share} parameters={parameters} rows={rows}")
        show("slope", [found.x[1] * d / (found.x[1] ** 2 + found.x[2] ** 2)])


print("# made by make_size.py: sample sizes")
riley()
model()
odds()
slope()
print(f"end {cases}")
