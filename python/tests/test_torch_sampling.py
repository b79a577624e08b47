"""Losses under sampling at known rates, on populations that are small enough to be enumerated; shapes, weights and reductions."""

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import prevail.torch as losses  # noqa: E402

CLASSES, PLACES = 3, 4


@pytest.fixture
def world():
    """p(x, y) of a population [x][y], and logits at its p(y|x)."""
    torch.manual_seed(2)
    joint = torch.rand(PLACES, CLASSES, dtype=torch.float64) ** 2
    joint = joint / joint.sum()
    return joint, (joint / joint.sum(1, keepdim=True)).log().requires_grad_()


def cells(logits):
    """Each pair of x and y as a row."""
    x, y = (torch.tensor(part) for part in zip(*itertools.product(range(PLACES), range(CLASSES))))
    return logits[x], y


def slope(value, logits):
    return torch.autograd.grad(value, logits, retain_graph=True)[0]


def test_rates_by_class(world):
    """Rows drawn at rates by label: the loss is least at the population's probabilities, where plain log-loss is not."""
    joint, logits = world
    rate = torch.tensor([0.05, 1.0, 0.4], dtype=torch.float64)
    drawn = joint * rate
    drawn = (drawn / drawn.sum()).reshape(-1)
    rows, labels = cells(logits)
    loss = losses.SelectionLoss(log_rate=rate.log())
    value = loss(rows, labels, weight=drawn)
    seen = (joint * rate / (joint * rate).sum(1, keepdim=True)).reshape(-1)
    assert float(value) == pytest.approx(-float((drawn * seen.log()).sum()), rel=1e-12)
    assert slope(value, logits).abs().max() < 1e-15
    assert slope(torch.nn.functional.cross_entropy(logits[:, None].expand(-1, CLASSES, -1).reshape(-1, CLASSES), labels, reduction="none") @ drawn, logits).abs().max() > 0.01
    by_prevalence = losses.SelectionLoss(joint.sum(0), drawn.reshape(PLACES, CLASSES).sum(0) * 1000)
    assert float(by_prevalence(rows, labels, weight=drawn)) == pytest.approx(float(value), rel=1e-12)
    weighted = losses.ImportanceWeightedLoss(log_rate=(rate / (joint * rate).sum()).log())
    plain = -(joint.reshape(-1) * torch.log_softmax(rows, 1).gather(1, labels[:, None])[:, 0]).sum()
    assert float(weighted(rows, labels, weight=drawn)) == pytest.approx(float(plain), rel=1e-12)


def test_sampled_negatives():
    """One in twenty negatives kept: log odds in one column, float labels."""
    p = torch.tensor([0.001, 0.02, 0.3], dtype=torch.float64)
    logit = (p / (1 - p)).log().requires_grad_()
    rows, labels = logit.repeat(2)[:, None], torch.tensor([0.0, 0, 0, 1, 1, 1])
    drawn = torch.cat([(1 - p) / 20, p])
    value = losses.SelectionLoss(log_rate=[math.log(1 / 20), 0.0])(rows, labels[:, None], weight=drawn)
    assert slope(value, logit).abs().max() < 1e-15
    assert slope(torch.nn.functional.binary_cross_entropy_with_logits(rows[:, 0], labels.double(), drawn), logit).abs().max() > 1e-3


def test_rates_by_row_and_class(world):
    """The rate depends on x and y: hard negatives are kept more often."""
    joint, logits = world
    torch.manual_seed(3)
    rate = torch.rand(PLACES, CLASSES, dtype=torch.float64) + 0.05
    drawn = (joint * rate / (joint * rate).sum()).reshape(-1)
    rows, labels = cells(logits)
    each = rate.log().repeat_interleave(CLASSES, dim=0)
    value = losses.SelectionLoss()(rows, labels, weight=drawn, log_rate=each)
    assert slope(value, logits).abs().max() < 1e-15
    by_row = (rate / (joint * rate).sum()).log().reshape(-1)
    value = losses.ImportanceWeightedLoss()(rows, labels, weight=drawn, log_rate=by_row)
    assert slope(value, logits).abs().max() < 1e-15


def test_patches_of_which_a_third_contains_foreground():
    """Every patch of a small image by its probability: the mean over patches is the log-loss of the image, and its gradient."""
    torch.manual_seed(4)
    image = torch.tensor([0, 0, 1, 0, 0, 0, 0, 1])
    width, starts = 3, range(6)
    patches = [list(range(start, start + width)) for start in starts]
    forced = [any(image[i] for i in patch) for patch in patches]
    anywhere = np.full(len(patches), 1 / len(patches))
    chance = 2 / 3 * anywhere + 1 / 3 * np.array(forced) / sum(forced)
    covers = np.array([[i in patch for i in range(len(image))] for patch in patches])
    rate = torch.tensor((chance @ covers) / (anywhere @ covers))
    logits = torch.randn(2, len(image), dtype=torch.float64, requires_grad=True)
    loss = losses.ImportanceWeightedLoss()
    wanted = got = 0.0
    for patch, uniform, actual in zip(patches, anywhere, chance):
        x, y = logits[:, patch][None, :, None], image[patch][None, None]  # (1, 2, 1, 3), (1, 1, 3)
        wanted = wanted + uniform * torch.nn.functional.cross_entropy(x, y)
        got = got + actual * loss(x, y, log_rate=rate[patch].log()[None, None])
    assert float(got) == pytest.approx(float(wanted), rel=1e-12)
    torch.testing.assert_close(slope(got, logits), slope(wanted, logits), rtol=1e-12, atol=1e-14)


MAKE = {
    "selection": lambda **more: losses.SelectionLoss([0.9, 0.07, 0.03], [40, 25, 10], **more),
    "iw": lambda **more: losses.ImportanceWeightedLoss([0.9, 0.07, 0.03], [40, 25, 10], **more),
    "ig": lambda **more: losses.InformationGainLoss([0.9, 0.07, 0.03], [40, 25, 10], **more),
}


@pytest.mark.parametrize("name", MAKE)
def test_images_are_rows_of_pixels(name):
    torch.manual_seed(5)
    logits = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    labels = torch.randint(0, 3, (2, 4, 5))
    loss = MAKE[name]()
    wanted = loss(logits.permute(0, 2, 3, 1).reshape(-1, 3), labels.reshape(-1))
    for given in (labels, labels[:, None], labels.double(), labels[:, None].to(torch.uint8)):
        assert float(loss(logits, given)) == pytest.approx(float(wanted), rel=1e-14)
    binary = losses.SelectionLoss(0.1, [5, 5])
    mask = labels > 0
    both = torch.stack([torch.zeros_like(logits[:, 0]), logits[:, 0]], dim=1)
    assert float(binary(logits[:, :1], mask[:, None])) == pytest.approx(float(binary(both, mask)), rel=1e-14)


@pytest.mark.parametrize("name", MAKE)
def test_weights_and_ignored_rows(name):
    """A weight of two is a row twice; an ignored row is one that is not there."""
    torch.manual_seed(6)
    logits, labels = torch.randn(9, 3, dtype=torch.float64), torch.tensor([0, 1, 2] * 3)
    loss = MAKE[name]()
    weight = torch.tensor([2.0, 1, 1, 1, 3, 1, 1, 1, 1])
    rows = torch.arange(9).repeat_interleave(weight.long())
    assert float(loss(logits, labels, weight=weight)) == pytest.approx(float(loss(logits[rows], labels[rows])), rel=1e-14)
    assert float(MAKE[name](expected=[1, 1, 1])(logits, labels, weight=weight)) == pytest.approx(
        float(MAKE[name](expected=[1, 1, 1])(logits[rows], labels[rows])), rel=1e-14
    )
    masked = labels.clone()
    masked[[0, 4]] = -100
    kept = torch.tensor([1, 2, 3, 5, 6, 7, 8])
    assert float(loss(logits, masked)) == pytest.approx(float(loss(logits[kept], labels[kept])), rel=1e-14)
    masked[[0, 4]] = 255
    assert float(MAKE[name](ignore_index=255)(logits, masked)) == pytest.approx(float(loss(logits[kept], labels[kept])), rel=1e-14)
    with pytest.raises(ValueError, match="the label 255 is not one of the 3 classes"):
        loss(logits, masked)


@pytest.mark.parametrize("name", ["selection", "iw"])
def test_reductions(name):
    torch.manual_seed(7)
    logits, labels = torch.randn(2, 3, 6, dtype=torch.float64), torch.tensor([[0, 1, 2, 0, 1, -100]] * 2)
    mean, total, each = (MAKE[name](reduction=reduction)(logits, labels) for reduction in ("mean", "sum", "none"))
    assert each.shape == labels.shape and (each[:, 5] == 0).all()
    assert float(total) == pytest.approx(10 * float(mean)) and float(each.sum()) == pytest.approx(float(total))
    rate = torch.tensor([0.1, 0.2, 0.3])
    plain = losses.SelectionLoss(log_rate=[0.0, 0, 0], reduction="none")(logits, labels)
    torch.testing.assert_close(plain, torch.nn.functional.cross_entropy(logits, labels, reduction="none"))
    assert losses.SelectionLoss()(logits, labels, log_rate=rate).item() == pytest.approx(losses.SelectionLoss(log_rate=rate)(logits, labels).item(), rel=1e-6)
    with pytest.raises(ValueError, match="choose mean, sum"):
        losses.InformationGainLoss(0.1, [5, 5], reduction="none")


def test_counts_by_label():
    """A Series of pandas, as value_counts makes it, and a mapping name their labels."""
    pandas = pytest.importorskip("pandas")
    counts, prevalence = [25, 40, 10], [0.2, 0.7, 0.1]
    wanted = losses.SelectionLoss(prevalence, counts)
    series = pandas.Series(np.repeat([0, 1, 2], counts)).value_counts()
    assert series.index[0] == 1
    for given in (series, dict(series)):
        made = losses.SelectionLoss({2: 0.1, 0: 0.2, 1: 0.7}, given)
        assert torch.equal(made.counts, wanted.counts) and torch.equal(made.prevalence, wanted.prevalence)
    with pytest.raises(ValueError, match="labels are the numbers of classes, 0 to 1, not a, b"):
        losses.SelectionLoss(0.1, {"a": 1, "b": 2})


def test_misuse():
    loss = losses.SelectionLoss(0.1, [5, 5])
    logits = torch.zeros(4, 2)
    for target, part in (
        (torch.eye(2)[[0, 1, 0, 1]], "have the same shape"),
        (torch.tensor([0.2, 0.8, 0.5, 0.1]), "probabilities are not supported"),
        (torch.tensor([0, 1, 2, 1]), "label 2 is not one of the 2"),
        (torch.tensor([0, 1, 1]), r"need labels of shape \(4,\), not \(3,\)"),
        (torch.full((4,), -100), "every row of the batch"),
    ):
        with pytest.raises(ValueError, match=part):
            loss(logits, target)
    labels = torch.tensor([0, 1, 0, 1])
    for call, part in (
        (lambda: losses.SelectionLoss(0.1, [5, 5], log_rate=[0, 0]), "give log_rate, or"),
        (lambda: losses.SelectionLoss(0.1), "give both"),
        (lambda: losses.SelectionLoss()(logits, labels), "needs prevalence and counts, or log_rate"),
        (lambda: losses.SelectionLoss(log_rate=[0.0, 0, 0])(logits, labels), "made for 3"),
        (lambda: loss(logits, labels, log_rate=torch.zeros(3)), "one number for each class"),
        (lambda: losses.ImportanceWeightedLoss()(logits, labels, log_rate=torch.zeros(2)), "one number for each row"),
        (lambda: loss(logits, labels, weight=torch.ones(3)), "weight has one number"),
        (lambda: losses.SelectionLoss(0.1, [5, 5], reduction="median"), "choose mean, sum, none"),
    ):
        with pytest.raises(ValueError, match=part):
            call()
