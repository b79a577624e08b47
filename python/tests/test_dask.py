"""A fit over the workers of a Dask cluster, and the ranks it stands on."""

import os
import threading

import numpy as np
import pytest

from prevail import FileError, InputError, PrevailError, PrevalenceClassifier, Ranks


@pytest.fixture
def table(tmp_path):
    """A CSV file of 600 rows; its path."""
    random = np.random.default_rng(1)
    x = random.normal(size=(600, 3))
    y = random.random(600) < 1 / (1 + np.exp(-x @ [1, -0.5, 0.2]))
    path = tmp_path / "people.csv"
    np.savetxt(path, np.c_[x, y], delimiter=",", header="a,b,c,sick", comments="", fmt=["%.6f"] * 3 + ["%d"])
    return path


class Absent(PrevalenceClassifier):
    """Fails on one of the ranks, before the others could learn of it."""

    def fit_source(self, source, target, *, ranks=None, **arguments):
        if ranks.rank == 1:
            raise RuntimeError("not here")
        return super().fit_source(source, target, ranks=ranks, **arguments)


class Room:
    """Ranks that are threads."""

    def __init__(self, size):
        self.size, self.parts = size, [b""] * size
        self.barrier = threading.Barrier(size, timeout=60)

    def gather_of(self, rank):
        def gather(mine):
            self.parts[rank] = mine
            self.barrier.wait()
            parts = list(self.parts)
            self.barrier.wait()
            return parts

        return gather

    def run(self, work):
        """work(ranks) in each; what each returned or raised."""
        made = [None] * self.size

        def one(rank):
            try:
                made[rank] = work(Ranks(rank, self.size, self.gather_of(rank)))
            except BaseException as problem:
                made[rank] = problem

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return made


def test_source_is_as_arrays(table):
    model = PrevalenceClassifier(prevalence=0.1).fit_source(table, "sick")
    data = np.loadtxt(table, delimiter=",", skiprows=1)
    other = PrevalenceClassifier(prevalence=0.1).fit(data[:, :3], data[:, 3].astype(int))
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert list(model.classes_) == [0, 1]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    by_label = PrevalenceClassifier(prevalence={1: 0.1, 0: 0.9}, exclude="c").fit_source(str(table), "sick", memory=1 << 30)
    assert list(by_label.feature_names_in_) == ["a", "b"]


def test_source_mistakes(table):
    with pytest.raises(InputError, match="sicc.*did you mean 'sick'"):
        PrevalenceClassifier(prevalence=0.1).fit_source(table, "sicc")
    with pytest.raises(FileError, match="none.csv"):
        PrevalenceClassifier(prevalence=0.1).fit_source("none.csv", "sick")
    with pytest.raises(InputError, match="by label"):
        PrevalenceClassifier(prevalence=[0.9, 0.1]).fit_source(table, "sick")


@pytest.mark.parametrize("size", [2, 3])
def test_ranks(table, size):
    alone = PrevalenceClassifier(prevalence=0.1, infer="laplace", threads=1).fit_source(table, "sick")
    made = Room(size).run(
        lambda ranks: PrevalenceClassifier(prevalence=0.1, infer="laplace", threads=1).fit_source(table, "sick", ranks=ranks)
    )
    for model in made:
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        np.testing.assert_array_equal(model.posterior_, alone.posterior_)


MINIBATCHES = {"model": "mlp:4", "prior": "normal:1", "batch": 150, "epochs": 2, "marginal": "auxiliary:linear"}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("size", [2, 3])
def test_ranks_of_minibatches(table, size):
    def work(ranks):
        return PrevalenceClassifier(prevalence=0.1, threads=1, **MINIBATCHES).fit_source(table, "sick", ranks=ranks)

    x = np.loadtxt(table, delimiter=",", skiprows=1)[:, :3]
    alone = work(None).predict_proba(x)
    for model in Room(size).run(work):
        np.testing.assert_array_equal(model.predict_proba(x), alone)


def test_offset_of_an_array(table, tmp_path):
    data = np.loadtxt(table, delimiter=",", skiprows=1)
    x, y = data[:, :3], data[:, 3].astype(int)
    model = PrevalenceClassifier(prevalence=0.1, offset="x2").fit(x, y)
    model.save(tmp_path / "model")
    loaded = PrevalenceClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))


def test_order(table):
    data = np.loadtxt(table, delimiter=",", skiprows=1)
    y = np.where(data[:, 3] > 0, "ill", "well")
    one = PrevalenceClassifier(prevalence=0.1, order=["well", "ill"]).fit(data[:, :3], y)
    other = PrevalenceClassifier(prevalence=0.1, positive="ill").fit(data[:, :3], y)
    np.testing.assert_array_equal(one.predict_proba(data[:, :3]), other.predict_proba(data[:, :3]))


def test_rank_that_fails(table):
    def work(ranks):
        source = table if ranks.rank != 1 else "none.csv"
        return PrevalenceClassifier(prevalence=0.1, threads=1).fit_source(source, "sick", ranks=ranks)

    made = Room(2).run(work)
    assert isinstance(made[1], FileError)
    assert isinstance(made[0], PrevailError) and "rank 1" in str(made[0])


def test_gather_that_fails(table):
    def gather(mine):
        raise OSError("the network is down")

    with pytest.raises(OSError, match="the network is down"):
        PrevalenceClassifier(prevalence=0.1).fit_source(table, "sick", ranks=Ranks(0, 2, gather))
    with pytest.raises(ValueError, match="not .* from each of 2"):
        PrevalenceClassifier(prevalence=0.1).fit_source(table, "sick", ranks=Ranks(0, 2, lambda mine: [mine]))
    with pytest.raises(ValueError, match="ranks are 0 to size - 1"):
        Ranks(2, 2, gather)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_dask(table):
    distributed = pytest.importorskip("distributed")
    from prevail.dask import fit

    source = os.environ.get("PREVAIL_TEST_SOURCE") or table
    alone = PrevalenceClassifier(prevalence=0.1, threads=1).fit_source(source, "sick")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        estimator = PrevalenceClassifier(prevalence=0.1, threads=1)
        model = fit(estimator, source, "sick", client=client)
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        np.testing.assert_array_equal(model.intercept_, alone.intercept_)
        assert not hasattr(estimator, "classes_")
        network = PrevalenceClassifier(prevalence=0.1, threads=1, **MINIBATCHES)
        shared = fit(network, source, "sick", client=client)
        x = np.linspace(-2, 2, 30).reshape(10, 3)
        np.testing.assert_array_equal(shared.predict_proba(x), network.fit_source(source, "sick").predict_proba(x))
        with pytest.raises(InputError, match="sicc"):
            fit(estimator, source, "sicc", client=client)
        with pytest.raises(RuntimeError, match="not here"):  # one that fails before it takes part
            fit(Absent(prevalence=0.1, threads=1), source, "sick", client=client)
