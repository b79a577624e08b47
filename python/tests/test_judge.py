"""evaluate, net_benefit, scorers: against scikit-learn, and against plain sums."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

import prevail
from prevail._judge import CURVES


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(rng.normal(size=2000) + 2 * y - 1.5)))
    return y, p


def test_against_scikit_learn(judged):
    y, p = judged
    ev = prevail.evaluate(y, p, bootstrap=50)
    assert ev.auc.value == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-12)
    assert ev.log_loss.value == pytest.approx(metrics.log_loss(y, p), abs=1e-12)
    assert ev.brier.value == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)
    assert ev.mcc.value == pytest.approx(metrics.matthews_corrcoef(y, p > 0.5), abs=1e-12)
    assert ev.average_precision.value == pytest.approx(metrics.average_precision_score(y, p), abs=1e-12)
    for name in ("auc", "log_loss", "brier", "tpr"):
        assert ev[name].lo < ev[name].value < ev[name].hi
    assert ev.rows == 2000 and not ev.misleading


def test_stated_for_a_population(judged):
    """As weighting the rows by hand."""
    y, p = judged
    ev = prevail.evaluate(y, p, prevalence=0.3, stated_for=0.02, bootstrap=0)
    weight = np.where(y == 1, 0.02 / y.mean(), 0.98 / (1 - y.mean()))
    assert ev.ppv.value == pytest.approx(metrics.precision_score(y, p > 0.5, sample_weight=weight), abs=1e-12)
    assert ev.brier.value == pytest.approx(np.average((p - y) ** 2, weights=weight), abs=1e-12)
    np.testing.assert_allclose(ev.stated, [0.98, 0.02])
    default = prevail.evaluate(y, p, prevalence=0.02, bootstrap=0)
    np.testing.assert_allclose(default.stated, [0.98, 0.02])
    with pytest.warns(prevail.PrevailWarning, match="`stated_for='population'`"):
        assert prevail.evaluate(y, p, prevalence=0.02, stated_for="rows", bootstrap=0).misleading


def test_shapes_labels_and_weights(judged):
    y, p = judged
    wanted = prevail.evaluate(y, p, bootstrap=0)
    words = np.where(y == 1, "case", "control")
    flipped = prevail.evaluate(words, np.column_stack([p, 1 - p]), bootstrap=0)  # columns by classes, sorted
    assert flipped.positive == "case"
    for name in wanted:
        np.testing.assert_allclose(flipped[name].value, wanted[name].value, rtol=1e-9, err_msg=name)
    twice = prevail.evaluate(np.append(y, y[:500]), np.append(p, p[:500]), bootstrap=0)
    weighted = prevail.evaluate(y, p, sample_weight=np.where(np.arange(2000) < 500, 2, 1), bootstrap=0)
    assert weighted.auc.value == pytest.approx(twice.auc.value, abs=1e-12)
    assert prevail.evaluate(y.astype(bool), p, bootstrap=0).auc.value == wanted.auc.value


def test_three_classes():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    p = rng.dirichlet([1, 1, 1], 300)
    ev = prevail.evaluate(y, p, bootstrap=0)
    assert ev.accuracy.value == pytest.approx(metrics.accuracy_score(y, p.argmax(axis=1)))
    assert ev.auc.value == pytest.approx(metrics.roc_auc_score(y, p, multi_class="ovo"), abs=1e-12)
    assert "one_off_accuracy" in ev and "one_off_accuracy" not in prevail.evaluate([0, 1], [0.1, 0.9], bootstrap=0)


def test_curves(judged):
    y, p = judged
    ev = prevail.evaluate(y, p, bootstrap=0)
    for kind in CURVES:
        assert len(ev.curve(kind)) > 0, kind
    fpr, tpr, _ = metrics.roc_curve(y, p, drop_intermediate=False)
    roc = ev.curve("roc", points=0)
    np.testing.assert_allclose(np.sort(roc["tpr"]), np.sort(tpr), atol=1e-12)
    with pytest.raises(prevail.InputError, match="no curve 'lift'"):
        ev.curve("lift")
    again = pickle.loads(pickle.dumps(ev))
    np.testing.assert_array_equal(again.curve("roc"), ev.curve("roc"))
    assert again.auc.value == ev.auc.value


def test_net_benefit(judged):
    y, p = judged
    at = np.array([0.1, 0.25, 0.5, float(p[7]), 0.999999])
    curve = prevail.net_benefit(y, p, at)
    wanted = [np.mean((p >= t) & (y == 1)) - np.mean((p >= t) & (y == 0)) * t / (1 - t) for t in at]
    np.testing.assert_allclose(curve["net_benefit"], wanted, atol=1e-12)
    np.testing.assert_allclose(curve["treat_all"], y.mean() - (1 - y.mean()) * at / (1 - at), atol=1e-12)
    whole = prevail.net_benefit(y, p)
    assert {"threshold", "net_benefit", "net_benefit_lo", "treat_all"} <= set(whole)
    with pytest.raises(prevail.InputError, match="between 0 and 1"):
        prevail.net_benefit(y, p, [1.5])
    one = prevail.net_benefit(y, p, 0.25)
    assert len(one) == 1 and one["net_benefit"].iloc[0] == curve["net_benefit"].iloc[1]
    assert one["net_benefit_lo"].iloc[0] < one["net_benefit"].iloc[0] < one["net_benefit_hi"].iloc[0]


def test_rates_at_a_threshold(judged):
    y, p = judged
    ev = prevail.evaluate(y, p, stated_for=0.02, bootstrap=0)
    rates = ev.rates(0.3)
    tpr, fpr = (p[y == 1] >= 0.3).mean(), (p[y == 0] >= 0.3).mean()
    called = 0.02 * tpr + 0.98 * fpr
    wanted = {"tpr": tpr, "tnr": 1 - fpr, "ppv": 0.02 * tpr / called, "called": called, "net_benefit": 0.02 * tpr - 0.98 * fpr * 3 / 7}
    for name, value in wanted.items():
        assert rates[name].value == pytest.approx(value, abs=1e-12) and rates[name].lo < value < rates[name].hi
    assert rates["tpr"].hi - rates["tpr"].lo > ev.rates(0.3, level=0.5)["tpr"].hi - ev.rates(0.3, level=0.5)["tpr"].lo
    with pytest.raises(prevail.InputError, match="between 0 and 1"):
        ev.rates(1.5)


def test_texts(judged):
    ev = prevail.evaluate(*judged, bootstrap=20)
    assert "2000 rows" in repr(ev) and "auc" in repr(ev)
    assert "<table>" in ev._repr_html_() and "2000 rows" in ev._repr_html_()
    assert list(ev.to_frame().index) == list(ev)
    with pytest.raises(AttributeError, match="no metric 'f1'"):
        ev.f1


def test_threads_change_nothing(judged):
    one, two = (prevail.evaluate(*judged, bootstrap=30, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(list(one.values()), list(two.values()))


def test_report(judged, tmp_path):
    y, p = judged
    page = prevail.report(y, p, tmp_path / "a.html", prevalence=0.3, stated_for=0.02, target="ill", title="A <forest>",
                          figures=tmp_path / "charts", bootstrap=20)  # fmt: skip
    html = (tmp_path / "a.html").read_text()
    assert html == page.html and html.startswith("<!DOCTYPE html>")
    for part in ("A &lt;forest&gt;", "ill = 1", "Population explorer", "Decision curve", "a prevalence of 0.02"):
        assert part in html, part
    assert "<forest>" not in html
    assert (tmp_path / "charts" / "decision.svg").exists()
    shown = page._repr_html_()
    assert shown.startswith("<iframe") and "<html" not in shown
    assert prevail.evaluate(y, p, bootstrap=0).report().path is None
    with pytest.raises(prevail.FileError):
        prevail.report(y, p, tmp_path / "nowhere" / "a.html", bootstrap=0)


def test_clusters():
    """Intervals by cluster: clusters of one row are rows, other names change nothing, and rows that repeat a person are one."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=60)
    y, p = (rng.random(60) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-x))
    people = np.repeat(np.arange(60), 4)
    bounds = lambda ev: [(ev[m].lo, ev[m].hi) for m in ("auc", "log_loss", "brier")]
    one = bounds(prevail.evaluate(y, p, seed=3))
    assert bounds(prevail.evaluate(y, p, cluster=[f"c{i}" for i in range(60)], seed=3)) == one
    by_person = bounds(prevail.evaluate(y[people], p[people], cluster=people, seed=3))
    assert bounds(prevail.evaluate(y[people], p[people], cluster=1000 - people, seed=3)) == by_person
    naive = bounds(prevail.evaluate(y[people], p[people], seed=3))
    for (lo, hi), (low, high), (least, most) in zip(one, by_person, naive):
        assert abs((high - low) / (hi - lo) - 1) < 0.15  # other draws
        assert (most - least) / (hi - lo) < 0.65  # a half
    with pytest.raises(prevail.InputError, match="cluster"):
        prevail.evaluate(y, p, cluster=people)
