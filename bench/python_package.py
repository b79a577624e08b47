"""The Python package and its peers, turn by turn. usage: python_package.py fit|evaluate|torch PREVAIL ROWS REPEATS

Prints seconds as JSON. fit: PrevalenceClassifier on rows x 50 doubles with a prevalence, the command on the same numbers in an
NPZ file, without one, and scikit-learn's lbfgs; the last two also by columns; and what a fit of 300 rows spends outside the
library. evaluate: with intervals, and roc_curve. torch:
a step of the ConvNet with cross-entropy and with SelectionLoss.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
command = os.path.abspath(sys.argv[2])
os.environ.setdefault("PREVAIL_LIBRARY", os.path.join(os.path.dirname(command), "libprevail.so"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "python"))

import numpy as np  # noqa: E402

import prevail  # noqa: E402
from prevail import _context  # noqa: E402

rows, repeats = int(sys.argv[3]), int(sys.argv[4])


def best_of(**works):
    """The least seconds of each, taking turns."""
    found = {}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            found[name] = min(found.get(name, float("inf")), time.perf_counter() - start)
    return found


def small_overhead():
    """What a fit of 300 rows spends outside the library's calls."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 8)), np.arange(300) % 2
    inside, call = [0.0], _context.Context.call

    def timed(self, *arguments):
        start = time.perf_counter()
        try:
            return call(self, *arguments)
        finally:
            inside[0] += time.perf_counter() - start

    _context.Context.call = timed
    least = float("inf")
    for _ in range(30):
        inside[0], start = 0.0, time.perf_counter()
        prevail.PrevalenceClassifier(0.05, threads=1).fit(X, y)
        least = min(least, time.perf_counter() - start - inside[0])
    _context.Context.call = call
    return least


def fit():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 50))
    y = (rng.random(rows) < 1 / (1 + np.exp(-(X @ (rng.standard_normal(50) / 7))))).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "numbers.npz")
        np.savez(path, y=y, **{f"x{i}": X[:, i] for i in range(X.shape[1])})
        found = best_of(
            ours=lambda: prevail.PrevalenceClassifier(0.05).fit(X, y),
            command=lambda: subprocess.run(
                [command, "fit", path, "--outcome", "y", "--prevalence", "0.05", "--json"],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            ),
            plain=lambda: prevail.PrevalenceClassifier().fit(X, y),
            peer=lambda: LogisticRegression(tol=1e-6, max_iter=500).fit(X, y),
        )
    columns = np.asfortranarray(X)  # as a data frame's columns lie
    del X
    found.update(
        best_of(
            plain_columns=lambda: prevail.PrevalenceClassifier().fit(columns, y),
            peer_columns=lambda: LogisticRegression(tol=1e-6, max_iter=500).fit(columns, y),
        )
    )
    return {**found, "small_overhead": small_overhead()}


def evaluate():
    from sklearn.metrics import roc_curve

    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.1).astype(np.int8)
    p = 1 / (1 + np.exp(-(rng.standard_normal(rows) + 2 * y - 2)))
    return best_of(ours=lambda: prevail.evaluate(y, p, prevalence=0.1), peer=lambda: roc_curve(y, p))


def torch_step():
    sys.argv = ["torch_convnet.py", "0"]
    sys.path.insert(0, os.path.join(HERE, "peers"))
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        import torch_convnet as convnet
    import torch

    from prevail.torch import SelectionLoss

    losses = {"ours": SelectionLoss([0.99, 0.01], [1000, 1000]), "peer": torch.nn.CrossEntropyLoss()}

    def step(loss):
        convnet.optimiser.zero_grad()
        loss(convnet.network(convnet.x), convnet.label).backward()
        convnet.optimiser.step()

    return best_of(**{name: lambda loss=loss: step(loss) for name, loss in losses.items()})


print(json.dumps({"fit": fit, "evaluate": evaluate, "torch": torch_step}[sys.argv[1]]()))
