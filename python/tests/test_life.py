"""Pickling, copies, threads, forks, Ctrl-C, the log, and what is freed when."""

import copy
import gc
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import prevail

from conftest import sample


@pytest.fixture(scope="module")
def fitted():
    return prevail.PrevalenceClassifier(0.05, infer="laplace", draws=100).fit(*sample(80, 80))


X, y = sample(80, 80)


@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy", "joblib"])
def test_copies(fitted, way, tmp_path):
    if way == "joblib":
        joblib = pytest.importorskip("joblib")
        joblib.dump(fitted, tmp_path / "a.joblib")
        other = joblib.load(tmp_path / "a.joblib")
    else:
        make = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "copy": copy.copy, "deepcopy": copy.deepcopy}[way]
        other = make(fitted)
    np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(other.posterior_, fitted.posterior_)
    assert str(other.summary()) == str(fitted.summary())
    adjusted = prevail.PrevalenceAdjusted(LogisticRegression(), 0.1).fit(X, y)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(adjusted)).predict_proba(X), adjusted.predict_proba(X)
    )


def test_damaged_pickles_are_refused(fitted):
    data = bytearray(fitted._model.to_bytes())
    for at in range(0, len(data), max(1, len(data) // 40)):
        data[at] ^= 0xFF
        with pytest.raises(ValueError):
            type(fitted._model).from_bytes(bytes(data))
        data[at] ^= 0xFF
    with pytest.raises(ValueError):
        type(fitted._model).from_bytes(b"")


def test_any_order_of_garbage():
    """Results outlive what they came from."""
    model = prevail.PrevalenceClassifier(0.05).fit(X, y)
    view = model.for_population(0.2)
    del model
    gc.collect()
    assert view.predict_proba(X).shape == (160, 2)
    ev = prevail.evaluate(y, view.predict_proba(X)[:, 1], bootstrap=10)
    del view
    gc.collect()
    roc = ev.curve("roc")
    del ev
    gc.collect()
    assert len(roc) > 2
    loop = [prevail.PrevalenceClassifier(0.05).fit(X, y)]
    loop.append(loop)
    del loop
    gc.collect()


def test_no_leak():
    """Memory does not grow with the number of fits, predictions and judgements."""
    resource = pytest.importorskip("resource")

    def work():
        model = prevail.PrevalenceClassifier(0.05).fit(wide, many)
        prevail.evaluate(many, model.predict_proba(wide), bootstrap=5).curve("roc")
        pickle.loads(pickle.dumps(model))

    wide, many = sample(2500, 2500, features=20)  # 0.8 MB a matrix
    for _ in range(5):
        work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(15):
        work()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 8000, f"{grown} kB more"


def test_threads(fitted):
    """Several Python threads at once, fits and predictions of one model."""
    wanted = fitted.predict_proba(X)
    problems = []

    def work(seed):
        try:
            for _ in range(5):
                np.testing.assert_array_equal(fitted.predict_proba(X), wanted)
                prevail.PrevalenceClassifier(0.05, seed=seed, threads=1).fit(X, y)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(fitted):
    """A child has the parent's models and can fit its own."""
    fitted.predict_proba(X)
    child = os.fork()
    if child == 0:
        good = np.isfinite(fitted.predict_proba(X)).all()
        prevail.PrevalenceClassifier(0.05).fit(X, y)
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_loky():
    joblib = pytest.importorskip("joblib")
    from sklearn.model_selection import cross_val_score

    model = prevail.PrevalenceAdjusted(prevail.PrevalenceClassifier(0.5), prevalence=0.05)
    with joblib.parallel_backend("loky", n_jobs=2):
        scores = cross_val_score(model, X, y, scoring=prevail.Scorer("auc"), cv=2, n_jobs=2)
    np.testing.assert_allclose(scores, cross_val_score(model, X, y, scoring=prevail.Scorer("auc"), cv=2))


def test_the_interpreter_is_free():
    """Other Python threads run while the library works."""
    wide, many = sample(3000, 3000, features=12)
    count = [0]
    done = threading.Event()

    def tick():
        while not done.is_set():
            count[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    begin = time.monotonic()
    prevail.PrevalenceClassifier(0.05, infer="hmc", warmup=100, draws=100, chains=2, threads=1).fit(wide, many)
    spent, ticks = time.monotonic() - begin, count[0]
    done.set()
    other.join()
    assert ticks > 10 or spent < 0.05, f"{ticks} ticks in {spent:.2f} s"


INTERRUPTED = """
import os, signal, sys, threading, time, warnings
import numpy as np
import prevail
rng = np.random.default_rng(0)
y = np.repeat([0, 1], 4000)
X = rng.normal(size=(8000, 20)) + y[:, None] * 0.2
model = prevail.PrevalenceClassifier(0.05, model="mlp:16", prior="normal:2.5", batch="32", epochs=100000, threads=1)
def press(computed):  # once the fit has had half a second of the processor, however busy the machine is
    while time.process_time() < computed + 0.5:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, args=(time.process_time(),)).start()
begin = time.monotonic()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    assert time.monotonic() - begin < 20
    assert model.stop_ == "interrupted", model.stop_
    assert np.isfinite(model.predict_proba(X)).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print("stopped cleanly")
"""


def test_ctrl_c():
    """Stops, keeps what there is, and the exception comes through."""
    made = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    assert made.stdout == "stopped cleanly\n", made.stderr


def test_log_and_warnings(caplog):
    wide = np.column_stack([X, X[:, 0], np.ones(len(y))])
    with caplog.at_level(logging.INFO, "prevail"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        prevail.PrevalenceClassifier(0.05).fit(wide, y)
    assert any("left out: x4" in record.message for record in caplog.records)
    assert [w.category for w in told] == [prevail.PrevailWarning] * 2
    collinear, few = (str(w.message) for w in told)  # of 160 rows a handful decide the weighted estimate
    assert collinear.startswith("collinear columns: 'x3'") and few.startswith("Few rows determine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(prevail.PrevailWarning):
            prevail.PrevalenceClassifier(0.05).fit(wide, y)


def test_matched_sets_among_many_rows(capsys):
    """Columns of as many values as rows are passed over; sets are found, and told once."""
    labels = np.tile([1, 0, 0], 10_000)
    sets = np.repeat(np.arange(10_000.0), 3) * 1.37
    wide = np.column_stack([sets, np.random.default_rng(0).normal(size=30_000)])
    with pytest.warns(prevail.PrevailWarning, match="'x0' looks like matched sets .10000 groups, each with 1 case") as told:
        prevail.PrevalenceClassifier(0.05).fit(wide, labels)
    assert len(told) == 1 and not capsys.readouterr().err


def test_progress(capsys):
    prevail.PrevalenceClassifier(0.05, verbose=True, infer="hmc", warmup=100, draws=100, chains=1).fit(X, y)
    assert capsys.readouterr().err


def test_clone_and_repr(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    assert "prevalence=0.05" in repr(fitted)
