# From "I undersampled, now my probabilities are wrong" to a report, cell by cell. docs/python.md shows the same.
# %% A population in which one in fifty is ill, and a table of it that is too large to label at will
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prevail

rng = np.random.default_rng(0)
n = 40_000
ill = rng.random(n) < 0.02
age = rng.normal(60, 10, n) + 6 * ill
marker = np.exp(rng.normal(0, 1, n) + 1.2 * ill)
noise = rng.normal(size=n)
X, y = np.column_stack([age, marker, noise]), ill.astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %% Undersampling: all cases, and as many controls
cases = np.flatnonzero(y_train == 1)
controls = rng.choice(np.flatnonzero(y_train == 0), len(cases), replace=False)
rows = np.concatenate([cases, controls])
forest = RandomForestClassifier(100, min_samples_leaf=10, random_state=0)
forest.fit(X_train[rows], y_train[rows])
raw = forest.predict_proba(X_test)[:, 1]
print(f"the forest says {raw.mean():.2f} on average, {y_test.mean():.2f} are ill")
assert raw.mean() > 10 * y_test.mean()

# %% The correction: the design is half and half, the population has 2 %
model = prevail.PrevalenceAdjusted(forest, prevalence=0.02, design=0.5)
right = model.predict_proba(X_test)[:, 1]
print(f"adjusted it says {right.mean():.3f}")
assert abs(right.mean() - y_test.mean()) < 0.01

# %% What it is worth, with intervals
before, after = prevail.evaluate(y_test, raw), prevail.evaluate(y_test, right, prevalence=0.02)
print(after)
assert after.log_loss.value < before.log_loss.value and abs(after.auc.value - before.auc.value) < 1e-6
assert after.calibration_ratio.lo < 1.2 and after.calibration_ratio.value < 2

# %% The same judged on a balanced sample: stated for the population all the same
test_cases = np.flatnonzero(y_test == 1)
some = np.concatenate([test_cases, rng.choice(np.flatnonzero(y_test == 0), len(test_cases), replace=False)])
balanced = prevail.evaluate(y_test[some], right[some], prevalence=0.02)
assert abs(balanced.stated[1] - 0.02) < 1e-12 and abs(balanced.log_loss.value - after.log_loss.value) < 0.02

# %% A clinic where it is more common, and nobody knows how much
clinic = np.concatenate([test_cases, rng.choice(np.flatnonzero(y_test == 0), 4 * len(test_cases), replace=False)])
there = model.for_population("unknown", X_test[clinic])
print(there.inferred_)
assert there.inferred_.prevalence > 0.05

# %% Decisions: a missed case costs thirty times a needless examination
action, cost = model.decide(X_test, {"wait": {0: 0, 1: 30}, "examine": {0: 1, 1: 1}})
print(f"{(action == 'examine').mean():.1%} are examined, {y_test[action == 'examine'].sum() / y_test.sum():.0%} of the ill found")
assert 0 < (action == "examine").mean() < 0.6

# %% The page for colleagues
page = prevail.report(y_test, right, prevalence=0.02, target="ill")
assert "Population explorer" in page.html

# %% Or a model of our own, with odds ratios
own = prevail.PrevalenceClassifier(prevalence=0.02, terms="log(x1)").fit(X_train[rows], y_train[rows])
print(own.odds_ratios_.round(2))
assert abs(np.log(own.odds_ratios_.loc["log(x1)", "odds_ratio"]) - 1.2) < 0.3
